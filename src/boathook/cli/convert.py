"""`boathook convert`: hooks of settings.json as HOOK.md folders, and back. What cannot be taken along is named."""

from __future__ import annotations

import copy
import functools
import itertools
import json
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Callable
from typing import Any

import click

from boathook.assembly import load_catalog, locate
from boathook.cli.common_options import json_option, project_option
from boathook.cli.show import print_json, say
from boathook.core.catalog import Catalog
from boathook.core.hook import ARMED, HOOK_MD, PLUGIN, PROJECT, SETTINGS, SHADOWED, USER, Command, Hook
from boathook.core.value import Value
from boathook.errors import ConfigError
from boathook.install.file_transaction import FileTransaction, find_mode
from boathook.sources.conversion import (
    ConversionError,
    ConvertedFolder,
    add_entry,
    convert_to_entry,
    convert_to_folder,
    find_free_name,
    get_written_fields,
    remove_entries,
    suggest_name,
)
from boathook.sources.hook_md.folder import MANIFEST_NAMES, read_hook
from boathook.sources.hooks_toml import read_hooks_toml
from boathook.sources.own_commands import calls_boathook
from boathook.sources.settings_json.settings import find_settings_project
from boathook.sources.settings_json.settings_entry import DIALECT, SCRIPT
from boathook.sources.settings_json.settings_file import LOCAL, mentions_hooks, read_settings
from boathook.sources.source import SETTINGS_JSON_SOURCE
from boathook.system.files import FileError, read_regular, read_text
from boathook.system.locations import CONFIG_FOLDER, read_environment, resolve_folder
from boathook.system.programs import BINARIES, choose_command, find_entry, first_bytes, which

CONVERTED, LEFT = "converted", "left"
TO_HOOKS, TO_SETTINGS = "settings-to-hookmd", "hookmd-to-settings"
DIRECTIONS = (TO_HOOKS, TO_SETTINGS)
STYLES = {CONVERTED: "green", LEFT: "yellow"}
TUNED = {"timeout": "timeout", "priority": "priority", "background": "async", "on_failure": "on_failure"}
MOST_FILES = 200

IN_ORDER = "HOOK.md hooks run one after another, and the first block ends the rest; in settings.json they run together"
TOGETHER = "hooks of settings.json run together, and none ends the others; HOOK.md hooks run one after another"
TWICE = (
    "Without --move both run, each event twice, until the source is removed: do that, or call this again with --move."
)
SHARED = "settings.local.json is yours alone; .agents/hooks belongs to the project and to everybody who has it."
UNCALLED = (
    "Claude Code itself reads settings.json alone: it does not run these hooks any more, "
    "unless an entry there calls boathook run --host claude."
)


class Ends(Value):
    """The two ends of a conversion, at one level: a settings file and a folder of hooks. `top` is the project."""

    scope: str
    top: str
    settings: str
    hooks: str


class Row(Value):
    """What becomes of one hook."""

    name: str
    place: str
    event: str
    status: str
    to: str = ""
    reason: str = ""
    notes: tuple[str, ...] = ()


class ConversionPlan(Value):
    """What is to be done: hook folders to write, the settings file as it shall be (None: as it is), manifests to put aside."""

    rows: tuple[Row, ...]
    folders: tuple[ConvertedFolder, ...] = ()
    settings: bytes | None = None
    aside: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@click.command("convert")
@click.argument("direction", type=click.Choice(DIRECTIONS))
@click.option("--user", is_flag=True, help="Your own hooks, for all projects, instead of the project's.")
@click.option("--local", is_flag=True, help="Use settings.local.json instead of settings.json.")
@click.option("--move", is_flag=True, help="Remove the converted hooks from the source (keeps a backup).")
@click.option("--dry-run", is_flag=True, help="Show the changes without writing them.")
@json_option
@project_option
def convert_hooks(
    direction: str, user: bool, local: bool, move: bool, dry_run: bool, as_json: bool, project: str | None
) -> int:
    """Convert settings.json hooks to HOOK.md folders, or back.

    Nothing is overwritten. A hook that the other form cannot express stays where it is and is reported. Without
    --move both copies run, so each event runs the hook twice until you remove one.

    \b
    Exit codes: 0 all hooks were converted, 1 some were not.

    \b
    Examples:
      boathook convert settings-to-hookmd --dry-run
      boathook convert settings-to-hookmd --move
      boathook convert hookmd-to-settings --user --move
    """
    ends = ends_of(project, user=user, local=local)
    catalog = load_catalog(project, trust_all=True)
    make = plan_folders if direction == TO_HOOKS else plan_settings
    plan = make(ends, catalog, move=move)
    if any(row.status == CONVERTED for row in plan.rows) and not move:
        plan = plan.replace(notes=(*plan.notes, TWICE))
    backup = "" if dry_run else apply_conversion(plan, ends, project)
    files = files_of(plan, ends)
    source, target = (ends.settings, ends.hooks) if direction == TO_HOOKS else (ends.hooks, ends.settings)
    if as_json:
        shown = [{"path": path, "content": data.decode() if dry_run else None} for path, data in files.items()]
        about = {"direction": direction, "from": source, "to": target, "dry_run": dry_run, "move": move}
        rows = [{name: row.__dict__[name] for name in Row.FIELDS} for row in plan.rows]
        done = {"files": shown, "backed_up": plan.aside, "backup": backup or None}
        print_json({**about, "hooks": rows, "notes": plan.notes, **done})
    else:
        _print(plan, source, files if dry_run else None, backup)
    return int(any(row.status == LEFT for row in plan.rows))


def ends_of(project: str | None, *, user: bool, local: bool) -> Ends:
    """Find the two ends; ConfigError if they do not belong together."""
    locations = locate(project)
    hook_md, settings_json = locations.find(HOOK_MD), locations.find(SETTINGS)
    if user and local:
        raise ConfigError("--local is about a project's settings.local.json; it cannot stand with --user")
    if user:
        return Ends(USER, "", f"{_claude_dir()}/settings.json", f"{_config_dir()}/hooks")
    ours = hook_md.project
    theirs, seen = find_settings_project(settings_json.project, settings_json.find_project)
    if ours and not any(map(mentions_hooks, seen)):
        theirs = ours  # settings that say nothing of hooks are no place of theirs
    if ours and theirs and os.path.realpath(ours) != os.path.realpath(theirs):
        raise ConfigError(
            f"the nearest .agents/hooks is in {ours}, the nearest .claude/settings.json in {theirs}: "
            "hooks that change their project would change what they are for"
        )
    top = theirs or ours or locations.start
    if os.path.realpath(f"{top}/.claude") == os.path.realpath(_claude_dir()):
        raise ConfigError(f"the settings in {top}/.claude are the user's, for all projects (see --user)")
    return Ends(PROJECT, top, f"{top}/.claude/settings{'.local' * local}.json", f"{top}/.agents/hooks")


def _config_dir() -> str:
    return resolve_folder(CONFIG_FOLDER, read_environment())


def _claude_dir() -> str:
    return resolve_folder(SETTINGS_JSON_SOURCE.user_folder, read_environment())


def plan_folders(ends: Ends, catalog: Catalog, *, move: bool) -> ConversionPlan:
    """Plan the way from settings.json to hook folders."""
    local = ends.settings.endswith(".local.json")
    file = read_settings(ends.settings, LOCAL if local else ends.scope, ends.top)
    if broken := next((problem for problem in file.problems if not problem.key), None):
        raise ConfigError(str(broken))
    data, style = read_object(ends.settings)
    making = _Making(ends, catalog, data)
    rows = [making.row(written) for written in file.hooks]
    rows += [
        Row(problem.key, problem.key, "", LEFT, reason=problem.message)
        for problem in file.problems
        if problem.key.startswith("hooks")
    ]
    plugins = [hook for hook in catalog.hooks if hook.source == PLUGIN and hook.scope == ends.scope and not local]
    rows += [making.row(hook) for hook in plugins]
    places = [row.place for row in rows if row.status == CONVERTED]
    notes = [SHARED] if local and places else []
    if move and places:
        remove_entries(data, places)
        notes += [] if _calls_us(catalog) else [UNCALLED]
    expected = [f"{row.to}/{MANIFEST_NAMES[0]}" for row in rows if row.status == CONVERTED]
    settings = style.write(data) if move and places else None
    return ConversionPlan(
        tuple(rows), tuple(making.folders), settings, (), tuple(dict.fromkeys(expected)), tuple(notes)
    )


def _calls_us(catalog: Catalog) -> bool:
    """Whether Claude Code calls this engine, so that HOOK.md hooks run there too."""
    commands = (hook.handler for hook in catalog.hooks if isinstance(hook.handler, Command))
    return any(map(calls_boathook, commands))


class _Making:
    """Hook folders in the making: which names are used, and what has become of which entry."""

    def __init__(self, ends: Ends, catalog: Catalog, data: dict[str, Any]) -> None:
        self.ends, self.catalog, self.data = ends, catalog, data
        self.settled = {(hook.path, hook.place): hook for hook in catalog.hooks}
        self.folders: list[ConvertedFolder] = []
        self.done: dict[object, Row] = {}
        configs = [read_hooks_toml(f"{_config_dir()}/hooks.toml", USER)]
        configs += [read_hooks_toml(f"{ends.top}/.agents/hooks.toml", PROJECT)] if ends.top else []
        self.explicit = frozenset(key for config in configs for key in config.defaults)
        spoken = [name for config in configs for name in (*config.disable, *(name for name, _ in config.override))]
        unused = [name for name in spoken if not os.path.lexists(f"{ends.hooks}/{name}")]
        self.taken = {name.lower() for name in (*unused, *self._names_of_others())}
        self.shown = ".claude/" + os.path.basename(ends.settings) if ends.top else "the user's settings.json"

    def _names_of_others(self) -> list[str]:
        """Return the names of hooks that a new one of that name would replace, or be replaced by."""
        hooks = (hook for hook in self.catalog.hooks if hook.source == HOOK_MD)
        return [hook.name for hook in hooks if hook.folder != f"{self.ends.hooks}/{hook.name}"]

    def row(self, written: Hook) -> Row:
        """Return what becomes of an entry, and note the folder to be written for it."""
        hook = self.settled.get((written.path, written.place), written)
        row = Row(hook.name, hook.place, hook.trigger, CONVERTED)
        twin = self.done.get((hook.name, hook.handler)) if hook.state == SHADOWED else None
        if twin is not None:
            return row.replace(to=twin.to, notes=(f"the same entry as {twin.place}: one hook for both",))
        try:
            folder, notes = self._folder(hook)
        except ConversionError as error:
            return row.replace(status=LEFT, reason=str(error))
        notes = (*folder.notes, *notes, *tuning_note(written, hook), *self._company(hook))
        row = row.replace(to=f"{self.ends.hooks}/{folder.name}", notes=notes)
        self.done[hook.name, hook.handler] = row
        return row

    def _folder(self, hook: Hook) -> tuple[ConvertedFolder, tuple[str, ...]]:
        written = get_written_fields(self.data, hook.place) if hook.source == SETTINGS and hook.state == ARMED else {}
        name, bash = find_free_name(suggest_name(hook), self.taken), which("bash") is not None
        origin = f"{self.shown}, {hook.place}"
        folder = convert_to_folder(hook, name, origin, written, bash=bash, explicit=self.explicit)
        target = f"{self.ends.hooks}/{name}"
        self.taken.add(name.lower())
        if not os.path.lexists(target):
            self.folders.append(folder)
            return folder, ()
        if _is_there(folder, target):
            return folder, ("its folder is there already, just so",)
        raise ConversionError(f"{target} exists already{_way_back(target)}")

    def _company(self, hook: Hook) -> list[str]:
        """Note what changes because of other hooks of the event."""
        others = [h for h in self.catalog.hooks if h.kind is hook.kind and (h.path, h.place) != (hook.path, hook.place)]
        same = [h for h in others if h.name == hook.name and h.handler == hook.handler and h.path != hook.path]
        elsewhere = [h for h in same if h.state == SHADOWED or (h.state == ARMED and h.scope != USER)]
        armed = [h for h in others if h.state == ARMED and not h.background and h not in elsewhere]
        notes = [IN_ORDER] if armed and not hook.background else []
        if any(h.handler == hook.handler for h in armed):
            notes.append("another entry has the same command: both run where both match, not one for both")
        if not self.ends.top:
            notes.append(
                "its CLAUDE_PROJECT_DIR is the folder with .claude settings, else with .agents/hooks, else the work dir"
            )
        notes += [f"the same entry stands in {h.path}, and runs as well once this one is gone" for h in elsewhere]
        return notes


def _way_back(target: str) -> str:
    """Return how a hook comes back whose manifest was put aside by the other direction."""
    names = sorted(os.listdir(target)) if os.path.isdir(target) else []
    aside = next((name for name in names if name.startswith(f"{MANIFEST_NAMES[0]}.bak-")), "")
    return f" (name its {aside} HOOK.md to bring that hook back)" if aside and MANIFEST_NAMES[0] not in names else ""


def _is_there(folder: ConvertedFolder, target: str) -> bool:
    """Whether a folder holds just what would be written."""
    try:
        found = [read_regular(f"{target}/{name}") for name in ("HOOK.md", "scripts/run.sh")]
    except FileError:
        return False
    return found == [folder.manifest, folder.script] and find_entry(target) == f"{target}/scripts/run.sh"


def tuning_note(written: Hook, hook: Hook) -> list[str]:
    """Note what a hooks.toml changes in a hook: it is taken along as it holds here."""
    changed = [word for field, word in TUNED.items() if getattr(written, field) != getattr(hook, field)]
    return [f"hooks.toml sets its {', '.join(changed)}: taken along as it holds here"] if changed else []


def plan_settings(ends: Ends, catalog: Catalog, *, move: bool) -> ConversionPlan:
    """Plan the way from hook folders to settings.json."""
    data, style = read_object(ends.settings)
    before = copy.deepcopy(data)
    if not isinstance(data.get("hooks", {}), dict):
        raise ConfigError(f"'hooks' in {ends.settings} is not an object of events")
    filling = _Filling(ends, catalog, data)
    hooks = [hook for hook in catalog.hooks if hook.source == HOOK_MD and hook.scope == ends.scope]
    rows = [filling.row(hook) for hook in sorted(hooks, key=lambda hook: hook.path)]
    problems = [problem for problem in catalog.diagnostics if problem.path == ends.hooks]
    rows += [Row(ends.hooks, ends.hooks, "", LEFT, reason=problem.message) for problem in problems]
    done = [row for row in rows if row.status == CONVERTED]
    aside = tuple(row.place for row in done) if move else ()
    return ConversionPlan(
        tuple(rows), (), style.write(data) if data != before else None, aside, tuple(row.to for row in done)
    )


class _Filling:
    """A settings file in the making: its data as it fills, and whether its hooks run at all."""

    def __init__(self, ends: Ends, catalog: Catalog, data: dict[str, Any]) -> None:
        self.ends, self.catalog, self.data = ends, catalog, data
        local = ends.settings.endswith(".local.json")  # what the project disables is its own alone
        names = () if not ends.top else ("settings.local.json",) if local else ("settings.json", "settings.local.json")
        files = [read_settings(f"{_claude_dir()}/settings.json", USER)]
        files += [read_settings(f"{ends.top}/.claude/{name}", PROJECT, ends.top) for name in names]
        self.off = next((file.path for file in files if file.disables), "")

    def row(self, hook: Hook) -> Row:
        """Return what becomes of a hook, and put its entry into the data."""
        row = Row(hook.name, hook.path, hook.trigger, CONVERTED)
        try:
            self._must_be_free(hook)
            entry = convert_to_entry(hook, command_for(hook, self.ends), texts_of(hook))
            place, there = add_entry(self.data, entry)
        except ConversionError as error:
            return row.replace(status=LEFT, reason=str(error))
        others = [h for h in self.catalog.hooks if h.kind is hook.kind and h.path != hook.path and h.state == ARMED]
        notes = [*entry.notes, *tuning_note(read_hook(hook.path, hook.folder, hook.scope)[0], hook)]
        notes += [TOGETHER] if not hook.background and any(not other.background for other in others) else []
        notes += ["its entry is there already, just so"] if there else []
        return row.replace(to=place, notes=tuple(notes))

    def _must_be_free(self, hook: Hook) -> None:
        """Refuse a hook that does not run, one whose entry would not, and one whose going would let something else in."""
        if hook.state != ARMED:
            raise ConversionError(f"{hook.state}: {hook.why}")
        if self.off:
            raise ConversionError(f"its entry would not run: {self.off} says disableAllHooks")
        hidden = [h for h in self.catalog.hooks if h.name == hook.name and h.state == SHADOWED and h.source == HOOK_MD]
        if hidden:
            raise ConversionError(f"it stands before {hidden[0].path} of the same name, which would run in its place")
        both = [f"{hook.folder}/{name}" for name in MANIFEST_NAMES]
        if all(map(os.path.lexists, both)) and not os.path.samefile(*both):
            raise ConversionError("its folder has both HOOK.md and hook.md; the other would count instead")


def command_for(hook: Hook, ends: Ends) -> str:
    """Return the command that starts a hook's script where it is."""
    path = find_entry(hook.folder) or ""
    if odd := choose_command(path).warning:
        raise ConversionError(f"{odd.partition(';')[0]}, so a command cannot start it")
    if hook.dialect != DIALECT and first_bytes(path).startswith(BINARIES):
        raise ConversionError("its script is a binary: what it reads and answers cannot be seen")
    if not ends.top:
        return shlex.quote(path)
    return f'"$CLAUDE_PROJECT_DIR"/{shlex.quote(os.path.relpath(path, ends.top))}'


def texts_of(hook: Hook) -> tuple[str, ...]:
    """Return the texts of the programs in a hook folder, for a script may call another. A native hook's must all be seen."""
    files = (f"{at}/{name}" for at, _, names in os.walk(hook.folder) for name in names)
    paths = sorted(path for path in files if _is_program(path, hook.folder))
    whole = hook.dialect != DIALECT
    if whole and len(paths) > MOST_FILES:
        raise ConversionError(
            f"its folder has more than {MOST_FILES} programs, too many to look for words of the native dialect"
        )
    found = []
    for path in paths[:MOST_FILES]:
        try:
            found.append(read_regular(path).decode("utf-8", "replace"))
        except FileError as error:
            if whole:
                raise ConversionError(
                    f"{os.path.relpath(path, hook.folder)} {error}, so its words cannot be seen"
                ) from None
    return tuple(found)


def _is_program(path: str, folder: str) -> bool:
    name = os.path.basename(path)
    return path.startswith(f"{folder}/scripts/") or SCRIPT.fullmatch(name) is not None or os.access(path, os.X_OK)


class Style(Value):
    """How a settings file is written: its indentation, and what stands at its end."""

    indent: str = "  "
    end: str = "\n"

    def write(self, data: dict[str, Any]) -> bytes:
        """Return the bytes of the file."""
        try:
            text = json.dumps(data, indent=self.indent, ensure_ascii=False, allow_nan=False)
        except ValueError:
            raise ConfigError("the settings file holds a number that cannot be written again") from None
        try:
            return (text + self.end).encode()
        except UnicodeEncodeError:  # half a character, which only an escape can say
            return (json.dumps(data, indent=self.indent) + self.end).encode()


def read_object(path: str) -> tuple[dict[str, Any], Style]:
    """Read a settings file as it stands and how it is written; a missing one is empty; ConfigError if it must not be touched."""
    if not os.path.lexists(path):
        return {}, Style()
    try:
        text = read_text(path)
        data = json.loads(text, object_pairs_hook=_no_key_twice) if text.strip() else {}
    except (FileError, ValueError, RecursionError) as error:
        told = str(error) if isinstance(error, FileError) else f"is not valid JSON: {error}"
        raise ConfigError(f"{path} {told}") from None
    if not isinstance(data, dict):
        raise ConfigError(f"{path} is not a JSON object")
    indented = re.search(r"\n([ \t]+)\S", text)
    return data, Style(indented.group(1) if indented else "  ", "\n" if text.endswith("\n") or not text else "")


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key '{twice}' stands twice in one object; join the two")
    return found


def files_of(plan: ConversionPlan, ends: Ends) -> dict[str, bytes]:
    """Return the files that a plan writes."""
    files = {f"{ends.hooks}/{folder.name}/HOOK.md": folder.manifest for folder in plan.folders}
    files |= {f"{ends.hooks}/{folder.name}/scripts/run.sh": folder.script for folder in plan.folders}
    return {**dict(sorted(files.items())), **({ends.settings: plan.settings} if plan.settings is not None else {})}


def apply_conversion(plan: ConversionPlan, ends: Ends, project: str | None) -> str:
    """Apply a plan, all of it or nothing; return the backup of the settings file, or an empty text."""
    backup = ""
    with FileTransaction() as transaction:
        _add_folders(plan.folders, ends.hooks, transaction)
        if plan.settings is not None:
            backup = _write_settings(plan.settings, ends.settings, transaction)
        for path in plan.aside:
            transaction.rename(path, free_path(path))
        _verify(plan, ends, load_catalog(project, trust_all=True))
    return backup


def _verify(plan: ConversionPlan, ends: Ends, catalog: Catalog) -> None:
    """Make sure that what was converted will run; an entry may also be the twin of one that does."""
    states = {h.path: h for h in catalog.hooks if h.source == HOOK_MD and h.state == ARMED}
    states |= {h.place: h for h in catalog.hooks if h.path == ends.settings and h.state in (ARMED, SHADOWED)}
    for one in plan.expected:
        if one not in states:
            hook = next((h for h in catalog.hooks if one in (h.path, h.place)), None)
            why = f"{hook.state}: {hook.why}" if hook else "it is not found"
            raise ConfigError(f"{one} would not run ({why}); nothing was changed")


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
                raise ConfigError(f"{target} exists already; nothing was changed")
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
        backup = free_path(path)
        shutil.copy2(real, backup)
        transaction.add_undo(backup, lambda: os.unlink(backup))
    else:
        transaction.make_folder(os.path.dirname(path), 0o755)
    transaction.write(real, data, find_mode(real))
    return backup


def free_path(path: str) -> str:
    """Return the first path of the form FILE.bak-N that is free."""
    numbered: Callable[[int], str] = f"{path}.bak-{{}}".format
    return next(found for found in map(numbered, itertools.count(1)) if not os.path.lexists(found))


def _print(plan: ConversionPlan, source: str, planned: dict[str, bytes] | None, backup: str) -> None:
    """Report a person; `planned` are the files that would be written, None if they were."""
    if not plan.rows:
        say(f"there are no hooks in {source}: nothing to convert")
        return
    for row in plan.rows:
        say(f"{row.status:9}  {row.name}" + (f"  →  {row.to}" if row.to else ""), STYLES[row.status])
        for text in filter(None, (row.reason, *row.notes)):
            say(f"           {text}")
    for path, data in (planned or {}).items():
        say(f"would write {path}:", "bold")
        for line in data.decode().splitlines():
            say(f"    {line}")
    for path in plan.aside:
        say(f"{'put' if planned is None else 'would put'} aside, as .bak-N beside it: {path}", "dim")
    if backup:
        say(f"the settings file as it was: {backup}", "dim")
    left = sum(row.status == LEFT for row in plan.rows)
    say(f"{len(plan.rows) - left} converted, {left} left" + ("" if planned is None else " (nothing was written)"))
    for note in plan.notes:
        say(note, "yellow")
