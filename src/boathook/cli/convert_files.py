"""Files of a conversion: read a settings file with its style, and write everything or nothing."""

from __future__ import annotations

import functools
import itertools
import os
import shutil
import tempfile
from typing import TYPE_CHECKING

from boathook.assembly import load_catalog
from boathook.core.catalog import Catalog
from boathook.core.hook import ARMED, HOOK_MD, SHADOWED
from boathook.errors import ConfigError
from boathook.install.file_transaction import FileTransaction, find_mode
from boathook.install.json_edit import EditError, JsonEditor
from boathook.sources.conversion import ConvertedFolder
from boathook.system.files import FileError, read_text

if TYPE_CHECKING:
    from boathook.cli.convert_plan import ConversionEnds, ConversionPlan


def open_settings(path: str) -> JsonEditor:
    """Open a settings file to edit it, an empty one if it is missing; ConfigError if it cannot be edited."""
    try:
        editor = JsonEditor(read_text(path) if os.path.lexists(path) else "")
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


def list_files(plan: ConversionPlan, ends: ConversionEnds) -> dict[str, bytes]:
    files = {f"{ends.hooks}/{folder.name}/HOOK.md": folder.manifest for folder in plan.folders}
    files |= {f"{ends.hooks}/{folder.name}/scripts/run.sh": folder.script for folder in plan.folders}
    return {**dict(sorted(files.items())), **({ends.settings: plan.settings} if plan.settings is not None else {})}


def apply_conversion(plan: ConversionPlan, ends: ConversionEnds, project: str | None) -> str:
    """Apply a plan, all of it or nothing; return the backup of the settings file, or an empty text."""
    backup = ""
    with FileTransaction() as transaction:
        _add_folders(plan.folders, ends.hooks, transaction)
        if plan.settings is not None:
            backup = _write_settings(plan.settings, ends.settings, transaction)
        for path in plan.manifests_to_rename:
            transaction.rename(path, find_backup_path(path))
        _require_running(plan, ends, load_catalog(project, trust_all=True))
    return backup


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
