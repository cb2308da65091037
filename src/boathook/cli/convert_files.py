"""Files of a conversion: read the hook file of an agent with its style, and write everything or nothing."""

from __future__ import annotations

import functools
import itertools
import os
import shutil
import tempfile
from typing import TYPE_CHECKING, Any

from boathook.assembly import load_catalog
from boathook.core.catalog import Catalog
from boathook.core.hook import ARMED, HOOK_MD, SHADOWED
from boathook.errors import ConfigError
from boathook.install.file_transaction import FileTransaction, find_mode
from boathook.install.formats import remove_json_path
from boathook.install.json_edit import EditError, JsonEditor
from boathook.install.toml_edit import list_tables, parse_toml, remove_tables
from boathook.sources import conversion
from boathook.sources.agent_forms.hook_form import SETTINGS_FORM, HookForm
from boathook.sources.conversion import ConvertedFolder
from boathook.system.files import FileError, read_text

if TYPE_CHECKING:
    from boathook.cli.convert_plan import ConversionEnds, ConversionPlan


Steps = tuple[str | int, ...]


def open_settings(path: str, form: HookForm = SETTINGS_FORM) -> JsonEditor:
    """Open a JSON file to edit it, an empty one if it is missing; ConfigError if it cannot be edited."""
    try:
        editor = JsonEditor(read_text(path) if os.path.lexists(path) else "", comments=form.has_comments)
    except FileError as error:
        raise ConfigError(f"{path} {error}") from None
    except EditError as error:
        raise ConfigError(f"{path} is not valid JSON: {error}") from None
    if not isinstance(editor.value, dict):
        raise ConfigError(f"{path} is not a JSON object")
    return editor


def encode_settings(editor: JsonEditor) -> bytes:
    # Half a surrogate pair can only be written as an escape.
    return editor.render().encode("utf-8", "backslashreplace")


def read_hook_data(path: str, form: HookForm) -> dict[str, Any]:
    """Return what is in a file of hooks, JSON or TOML; ConfigError if it cannot be edited."""
    if not path.endswith(".toml"):
        data: dict[str, Any] = open_settings(path, form).value
        return data
    return _parse_toml_file(path)[1]


def _parse_toml_file(path: str) -> tuple[str, dict[str, Any]]:
    try:
        text = read_text(path) if os.path.lexists(path) else ""
        return text, parse_toml(text)
    except FileError as error:
        raise ConfigError(f"{path} {error}") from None
    except EditError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from None


def remove_hook_entries(path: str, form: HookForm, places: list[str]) -> bytes:
    """Return a file without some entries and without the groups that are empty then; all the rest stays as it is."""
    data = read_hook_data(path, form)
    unwanted = _add_whole_groups(data, {conversion.parse_place(place) for place in places})
    if path.endswith(".toml"):
        text = _remove_toml_entries(path, unwanted)
    else:
        editor = open_settings(path, form)
        # From the end, so that the earlier places stay right.
        for steps in sorted(unwanted, key=_make_sort_key, reverse=True):
            remove_json_path(editor, steps, {})
        text = editor.render()
    return text.encode("utf-8", "backslashreplace")


def _make_sort_key(steps: Steps) -> list[tuple[str, int]]:
    return [(step, 0) if isinstance(step, str) else ("", step) for step in steps]


def _add_whole_groups(data: dict[str, Any], unwanted: set[Steps]) -> set[Steps]:
    """Return what to remove: a group in place of its entries if all of them are unwanted."""
    lists: dict[Steps, set[Steps]] = {}
    for steps in unwanted:
        lists.setdefault(steps[:-1], set()).add(steps)
    found: set[Steps] = set()
    for parent, entries in lists.items():
        value: Any = data
        for step in parent:
            value = value[step]
        is_group = len(parent) > 1 and isinstance(parent[-2], int)
        found |= {parent[:-1]} if is_group and len(value) == len(entries) else entries
    return found


def _remove_toml_entries(path: str, unwanted: set[Steps]) -> str:
    text, data = _parse_toml_file(path)
    counts: dict[Steps, int] = {}
    starts: set[int] = set()
    for table in list_tables(text):
        steps: Steps = ()
        for number, key in enumerate(table.name, 1):
            steps += (key,)
            if table.is_item and number == len(table.name):
                counts[steps] = counts.get(steps, -1) + 1
            steps += (counts[steps],) if steps in counts else ()
        if any(steps[: len(one)] == one for one in unwanted):
            starts.add(table.start)
    result = remove_tables(text, lambda table: table.start in starts)
    if _drop_empty(parse_toml(result)) != _drop_empty(_cut_out(data, unwanted)):
        message = f"hooks in {path} are not written as tables, so they cannot be removed one by one"
        raise ConfigError(f"{message}. Convert without --move and remove them yourself. Nothing was changed")
    return result


def _cut_out(value: Any, unwanted: set[Steps], steps: Steps = ()) -> Any:
    if isinstance(value, dict):
        return {key: _cut_out(inner, unwanted, (*steps, key)) for key, inner in value.items()}
    if isinstance(value, list):
        items = [(number, item) for number, item in enumerate(value) if (*steps, number) not in unwanted]
        return [_cut_out(item, unwanted, (*steps, number)) for number, item in items]
    return value


def _drop_empty(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    inner = {key: _drop_empty(one) for key, one in value.items()}
    return {key: one for key, one in inner.items() if one not in ({}, [])}


def list_files(plan: ConversionPlan, ends: ConversionEnds) -> dict[str, bytes]:
    files = {f"{ends.hooks}/{folder.name}/HOOK.md": folder.manifest for folder in plan.folders}
    files |= {f"{ends.hooks}/{folder.name}/scripts/run.sh": folder.script for folder in plan.folders}
    return {**dict(sorted(files.items())), **plan.changed_files}


def apply_conversion(plan: ConversionPlan, ends: ConversionEnds, project: str | None) -> list[str]:
    """Apply a plan, all of it or nothing; return the backups of the files that existed."""
    transaction = FileTransaction()
    try:
        return _apply(plan, ends, project, transaction)
    except OSError as error:
        place = next(filter(None, (error.filename2, error.filename, transaction.path)), ends.hooks)
        lost = ", ".join(transaction.unrestored)
        state = f"{lost} could not be restored" if lost else "Nothing was changed"
        is_in_the_way = isinstance(error, FileExistsError | NotADirectoryError)
        why = (
            "it is a file, and hooks need a folder there. Move it away"
            if is_in_the_way
            else error.strerror or str(error)
        )
        raise ConfigError(f"{place} cannot be written: {why}. {state}") from None


def _apply(plan: ConversionPlan, ends: ConversionEnds, project: str | None, transaction: FileTransaction) -> list[str]:
    backups: list[str] = []
    with transaction:
        _add_folders(plan.folders, ends.hooks, transaction)
        for path, data in plan.changed_files.items():
            backups.append(_write_settings(data, path, transaction))
        for path in plan.manifests_to_rename:
            transaction.rename(path, find_backup_path(path))
        _require_running(plan, ends, load_catalog(project, trust_all=True))
    return [*filter(None, backups)]


def _require_running(plan: ConversionPlan, ends: ConversionEnds, catalog: Catalog) -> None:
    """Raise an error unless every converted hook runs; a shadowed entry is the same as one that runs."""
    running = {hook.path for hook in catalog.hooks if hook.source == HOOK_MD and hook.state == ARMED}
    running |= {hook.place for hook in catalog.hooks if hook.path == ends.settings and hook.state in (ARMED, SHADOWED)}
    for position in plan.expected:
        if position not in running:
            hook = next((hook for hook in catalog.hooks if position in (hook.path, hook.place)), None)
            why = hook.state_text if hook else "it was not found"
            raise ConfigError(f"{position} would not run ({why}). Nothing was changed")


def _add_folders(folders: tuple[ConvertedFolder, ...], root: str, transaction: FileTransaction) -> None:
    """Write hook folders into a scratch folder, then move each to its place in one step."""
    if not folders:
        return
    transaction.make_folder(root, 0o755)
    # the loader ignores names that start with a dot
    with tempfile.TemporaryDirectory(prefix=".convert-", dir=root) as scratch:
        for folder in folders:
            _write_folder(f"{scratch}/{folder.name}", folder)
        for folder in folders:
            target = f"{root}/{folder.name}"
            if os.path.lexists(target):
                raise ConfigError(f"{target} exists already. Nothing was changed")
            os.rename(f"{scratch}/{folder.name}", target)
            transaction.add_undo(target, functools.partial(shutil.rmtree, target, ignore_errors=True))


def _write_folder(path: str, folder: ConvertedFolder) -> None:
    os.mkdir(path, 0o755)
    os.mkdir(f"{path}/scripts", 0o755)
    for name, data, mode in (("HOOK.md", folder.manifest, 0o644), ("scripts/run.sh", folder.script, 0o755)):
        handle = os.open(f"{path}/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with open(handle, "wb") as file:
            file.write(data)


def _write_settings(data: bytes, path: str, transaction: FileTransaction) -> str:
    """Write the settings file, through a link if it is one; return the backup, or an empty text if there was no file."""
    real, backup = os.path.realpath(path), ""
    if os.path.lexists(path):
        backup = find_backup_path(path)
        shutil.copy2(real, backup)
        transaction.add_undo(backup, lambda: os.unlink(backup))
    else:
        transaction.make_folder(os.path.dirname(path), 0o755)
    transaction.write(real, data, find_mode(real))
    return backup


def find_backup_path(path: str) -> str:
    candidates = (f"{path}.bak-{number}" for number in itertools.count(1))
    return next(candidate for candidate in candidates if not os.path.lexists(candidate))
