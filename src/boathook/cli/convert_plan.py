"""What `boathook convert` would do: from settings.json to hook folders, and from hook folders to settings.json."""

from __future__ import annotations

import os
import shlex
from typing import Any

from boathook.assembly import locate
from boathook.cli.convert_files import encode_settings, open_settings
from boathook.core.catalog import Catalog
from boathook.core.hook import ARMED, HOOK_MD, PLUGIN, PROJECT, SETTINGS, SHADOWED, USER, Command, Hook
from boathook.core.value import Value
from boathook.errors import ConfigError
from boathook.install.formats import remove_json_path
from boathook.install.json_edit import JsonEditor
from boathook.sources import conversion
from boathook.sources.conversion import ConversionError, ConvertedFolder
from boathook.sources.hook_md.folder import MANIFEST_NAMES, read_hook
from boathook.sources.hooks_toml import read_hooks_toml
from boathook.sources.own_commands import is_own_command
from boathook.sources.settings_json.settings import find_settings_project
from boathook.sources.settings_json.settings_entry import DIALECT, SCRIPT
from boathook.sources.settings_json.settings_file import LOCAL, mentions_hooks, read_settings
from boathook.sources.source import SETTINGS_JSON_SOURCE
from boathook.system.files import FileError, read_regular
from boathook.system.locations import CONFIG_FOLDER, read_environment, resolve_folder
from boathook.system.programs import BINARIES, choose_command, find_entry_point, find_program, read_first_bytes

CONVERTED, LEFT = "converted", "left"
_MAX_PROGRAMS = 200
# Fields that a hooks.toml can override, by their keys.
_OVERRIDABLE = {"timeout": "timeout", "priority": "priority", "background": "async", "on_failure": "on_failure"}

_RUNS_IN_ORDER = "HOOK.md hooks run one after another, and a block skips the rest; settings.json hooks run together"
_RUNS_TOGETHER = "settings.json hooks run together, and a block skips none; HOOK.md hooks run one after another"
_FOLDERS = "the folder with .claude settings, else the one with .agents/hooks, else the work dir"
_PROJECT_VARIABLE = f"its CLAUDE_PROJECT_DIR is {_FOLDERS}"
_SHARED_WITH_ALL = "settings.local.json is private to you; .agents/hooks is shared with everyone who has the project."
_NOT_CALLED = (
    "Claude Code reads only settings.json, so it no longer runs these hooks. "
    "To make it call boathook: boathook install claude"
)


class ConversionEnds(Value):
    """A settings file and a folder of hooks, of the user or of one project (`top`)."""

    scope: str
    top: str
    settings: str
    hooks: str


class ConversionRow(Value):
    name: str
    place: str
    event: str
    status: str
    to: str = ""
    reason: str = ""
    notes: tuple[str, ...] = ()


class ConversionPlan(Value):
    """Hook folders to write, the new settings file (None: no change), and manifests to rename; `expected` must run then."""

    rows: tuple[ConversionRow, ...]
    folders: tuple[ConvertedFolder, ...] = ()
    settings: bytes | None = None
    manifests_to_rename: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def find_conversion_ends(project: str | None, *, user: bool, local: bool) -> ConversionEnds:
    """Return the settings file and the folder of hooks; ConfigError if they do not belong together."""
    locations = locate(project)
    hook_md, settings_json = locations.find(HOOK_MD), locations.find(SETTINGS)
    if user and local:
        raise ConfigError("--local and --user exclude each other, because settings.local.json belongs to a project")
    if user:
        return ConversionEnds(USER, "", f"{_find_settings_folder()}/settings.json", f"{_find_config_folder()}/hooks")
    hooks_project = hook_md.project
    settings_project, checked = find_settings_project(settings_json.project, settings_json.find_project)
    if hooks_project and not any(map(mentions_hooks, checked)):
        settings_project = hooks_project
    if hooks_project and settings_project and os.path.realpath(hooks_project) != os.path.realpath(settings_project):
        raise ConfigError(
            f"the nearest .agents/hooks is in {hooks_project}, but the nearest .claude/settings.json is in "
            f"{settings_project}. A conversion would move hooks to another project; pass --project to choose one"
        )
    top = settings_project or hooks_project or locations.start
    if os.path.realpath(f"{top}/.claude") == os.path.realpath(_find_settings_folder()):
        raise ConfigError(f"the settings in {top}/.claude are yours, for all projects: use --user")
    return ConversionEnds(PROJECT, top, f"{top}/.claude/settings{'.local' * local}.json", f"{top}/.agents/hooks")


def _find_config_folder() -> str:
    return resolve_folder(CONFIG_FOLDER, read_environment())


def _find_settings_folder() -> str:
    return resolve_folder(SETTINGS_JSON_SOURCE.user_folder, read_environment())


def plan_folders(ends: ConversionEnds, catalog: Catalog, *, move: bool) -> ConversionPlan:
    is_local = ends.settings.endswith(".local.json")
    file = read_settings(ends.settings, LOCAL if is_local else ends.scope, ends.top)
    if error := next((diagnostic for diagnostic in file.diagnostics if not diagnostic.key), None):
        raise ConfigError(str(error))
    editor = open_settings(ends.settings)
    builder = _FolderBuilder(ends, catalog, editor.value)
    rows = [builder.plan_folder(written) for written in file.hooks]
    problems = [problem for problem in file.diagnostics if problem.key.startswith("hooks")]
    rows += [ConversionRow(problem.key, problem.key, "", LEFT, reason=problem.message) for problem in problems]
    plugins = [hook for hook in catalog.hooks if hook.source == PLUGIN and hook.scope == ends.scope and not is_local]
    rows += [builder.plan_folder(hook) for hook in plugins]
    places = [row.place for row in rows if row.status == CONVERTED]
    notes = [_SHARED_WITH_ALL] if is_local and places else []
    if move and places:
        _remove_entries(editor, places)
        # If Claude Code calls boathook, HOOK.md hooks run there too.
        commands = [hook.handler for hook in catalog.hooks if isinstance(hook.handler, Command)]
        notes += [] if any(map(is_own_command, commands)) else [_NOT_CALLED]
    expected = dict.fromkeys(f"{row.to}/{MANIFEST_NAMES[0]}" for row in rows if row.status == CONVERTED)
    settings = encode_settings(editor) if move and places else None
    return ConversionPlan(tuple(rows), tuple(builder.folders), settings, (), tuple(expected), tuple(notes))


def _remove_entries(editor: JsonEditor, places: list[str]) -> None:
    # From the end, so that the earlier places stay right.
    for event, group, index in sorted(map(conversion.parse_place, places), reverse=True):
        is_last = len(editor.get("hooks", event, group, "hooks")) == 1
        remove_json_path(editor, ("hooks", event, group, *(() if is_last else ("hooks", index))), {})


class _FolderBuilder:
    def __init__(self, ends: ConversionEnds, catalog: Catalog, data: dict[str, Any]) -> None:
        self.ends, self.catalog, self.data = ends, catalog, data
        self.loaded = {(hook.path, hook.place): hook for hook in catalog.hooks}
        self.folders: list[ConvertedFolder] = []
        self.rows: dict[object, ConversionRow] = {}
        configs = [read_hooks_toml(f"{_find_config_folder()}/hooks.toml", USER)]
        configs += [read_hooks_toml(f"{ends.top}/.agents/hooks.toml", PROJECT)] if ends.top else []
        self.explicit = frozenset(key for config in configs for key in config.defaults)
        named = [name for config in configs for name in (*config.disable, *(name for name, _ in config.override))]
        unused = [name for name in named if not os.path.lexists(f"{ends.hooks}/{name}")]
        # A new hook of such a name would replace another one, or be replaced by it.
        others = [hook for hook in catalog.hooks if hook.source == HOOK_MD]
        other_names = [hook.name for hook in others if hook.folder != f"{ends.hooks}/{hook.name}"]
        self.taken = {name.lower() for name in (*unused, *other_names)}
        self.origin = ".claude/" + os.path.basename(ends.settings) if ends.top else "the user's settings.json"

    def plan_folder(self, written: Hook) -> ConversionRow:
        hook = self.loaded.get((written.path, written.place), written)
        row = ConversionRow(hook.name, hook.place, hook.trigger, CONVERTED)
        twin = self.rows.get((hook.name, hook.handler)) if hook.state == SHADOWED else None
        if twin is not None:
            return row.replace(to=twin.to, notes=(f"the same entry as {twin.place}: one hook for both",))
        try:
            folder, notes = self._build_folder(hook)
        except ConversionError as error:
            return row.replace(status=LEFT, reason=str(error))
        notes = (*folder.notes, *notes, *_note_overrides(written, hook), *self._note_other_hooks(hook))
        row = row.replace(to=f"{self.ends.hooks}/{folder.name}", notes=notes)
        self.rows[hook.name, hook.handler] = row
        return row

    def _build_folder(self, hook: Hook) -> tuple[ConvertedFolder, tuple[str, ...]]:
        is_written = hook.source == SETTINGS and hook.state == ARMED
        written = conversion.get_written_fields(self.data, hook.place) if is_written else {}
        name = conversion.find_free_name(conversion.suggest_name(hook), self.taken)
        origin, bash = f"{self.origin}, {hook.place}", find_program("bash") is not None
        folder = conversion.convert_to_folder(hook, name, origin, written, bash=bash, explicit=self.explicit)
        target = f"{self.ends.hooks}/{name}"
        self.taken.add(name.lower())
        if not os.path.lexists(target):
            self.folders.append(folder)
            return folder, ()
        if _is_same_folder(folder, target):
            return folder, ("its folder exists already, with the same content",)
        raise ConversionError(f"{target} exists already{_describe_restore(target)}")

    def _note_other_hooks(self, hook: Hook) -> list[str]:
        others = [h for h in self.catalog.hooks if h.kind is hook.kind and (h.path, h.place) != (hook.path, hook.place)]
        same = [h for h in others if h.name == hook.name and h.handler == hook.handler and h.path != hook.path]
        elsewhere = [h for h in same if h.state == SHADOWED or (h.state == ARMED and h.scope != USER)]
        armed = [h for h in others if h.state == ARMED and not h.background and h not in elsewhere]
        notes = [_RUNS_IN_ORDER] if armed and not hook.background else []
        if any(h.handler == hook.handler for h in armed):
            notes.append("another entry has the same command: both run if both match, no longer one for both")
        if not self.ends.top:
            notes.append(_PROJECT_VARIABLE)
        notes += [f"{h.path} has the same entry, which runs too once this one is removed" for h in elsewhere]
        return notes


def _describe_restore(target: str) -> str:
    names = sorted(os.listdir(target)) if os.path.isdir(target) else []
    backup = next((name for name in names if name.startswith(f"{MANIFEST_NAMES[0]}.bak-")), "")
    is_renamed = backup and MANIFEST_NAMES[0] not in names
    return f" (to restore that hook, rename its {backup} to HOOK.md)" if is_renamed else ""


def _is_same_folder(folder: ConvertedFolder, target: str) -> bool:
    try:
        contents = [read_regular(f"{target}/{name}") for name in ("HOOK.md", "scripts/run.sh")]
    except FileError:
        return False
    return contents == [folder.manifest, folder.script] and find_entry_point(target) == f"{target}/scripts/run.sh"


def _note_overrides(written: Hook, hook: Hook) -> list[str]:
    """Return a note on the fields that a hooks.toml sets, which are converted with their current values."""
    changed = [key for field, key in _OVERRIDABLE.items() if getattr(written, field) != getattr(hook, field)]
    return [f"hooks.toml sets its {', '.join(changed)}: converted with the current value"] if changed else []


def plan_settings(ends: ConversionEnds, catalog: Catalog, *, move: bool) -> ConversionPlan:
    editor = open_settings(ends.settings)
    before = editor.text
    if not isinstance(editor.value.get("hooks", {}), dict):
        raise ConfigError(f"'hooks' in {ends.settings} is not an object of events")
    builder = _SettingsBuilder(ends, catalog, editor)
    hooks = [hook for hook in catalog.hooks if hook.source == HOOK_MD and hook.scope == ends.scope]
    rows = [builder.add_hook(hook) for hook in sorted(hooks, key=lambda hook: hook.path)]
    diagnostics = [diagnostic for diagnostic in catalog.diagnostics if diagnostic.path == ends.hooks]
    rows += [ConversionRow(ends.hooks, ends.hooks, "", LEFT, reason=diagnostic.message) for diagnostic in diagnostics]
    converted = [row for row in rows if row.status == CONVERTED]
    settings = encode_settings(editor) if editor.text != before else None
    manifests = tuple(row.place for row in converted) if move else ()
    return ConversionPlan(tuple(rows), (), settings, manifests, tuple(row.to for row in converted))


class _SettingsBuilder:
    """Adds entries to a settings file. `disabled_by` is the file that disables all its hooks, or ""."""

    def __init__(self, ends: ConversionEnds, catalog: Catalog, editor: JsonEditor) -> None:
        self.ends, self.catalog, self.editor = ends, catalog, editor
        # settings.json of a project cannot disable what is in settings.local.json.
        is_local = ends.settings.endswith(".local.json")
        names = ("settings.local.json",) if is_local else ("settings.json", "settings.local.json")
        files = [read_settings(f"{_find_settings_folder()}/settings.json", USER)]
        files += [read_settings(f"{ends.top}/.claude/{name}", PROJECT, ends.top) for name in names if ends.top]
        self.disabled_by = next((file.path for file in files if file.disables), "")

    def add_hook(self, hook: Hook) -> ConversionRow:
        row = ConversionRow(hook.name, hook.path, hook.trigger, CONVERTED)
        try:
            self._require_convertible(hook)
            entry = conversion.convert_to_entry(hook, _make_command(hook, self.ends), _read_programs(hook))
            place, exists = conversion.find_place(self.editor.value, entry)
        except ConversionError as error:
            return row.replace(status=LEFT, reason=str(error))
        if not exists:
            self.editor.append(("hooks", entry.event), entry.group)
        others = [h for h in self.catalog.hooks if h.kind is hook.kind and h.path != hook.path and h.state == ARMED]
        notes = [*entry.notes, *_note_overrides(read_hook(hook.path, hook.folder, hook.scope)[0], hook)]
        notes += [_RUNS_TOGETHER] if not hook.background and any(not other.background for other in others) else []
        notes += ["its entry exists already, with the same content"] if exists else []
        return row.replace(to=place, notes=tuple(notes))

    def _require_convertible(self, hook: Hook) -> None:
        """Raise ConversionError if a hook does not run, if its entry would not, or if another hook would take its place."""
        if hook.state != ARMED:
            raise ConversionError(hook.state_text)
        if self.disabled_by:
            raise ConversionError(f"its entry would not run: {self.disabled_by} sets disableAllHooks")
        shadowed = [h for h in self.catalog.hooks if (h.name, h.state, h.source) == (hook.name, SHADOWED, HOOK_MD)]
        if shadowed:
            raise ConversionError(f"it replaces {shadowed[0].path} of the same name, which would run instead")
        both = [f"{hook.folder}/{name}" for name in MANIFEST_NAMES]
        if all(map(os.path.lexists, both)) and not os.path.samefile(*both):
            raise ConversionError("its folder has both HOOK.md and hook.md; the second would be used instead")


def _make_command(hook: Hook, ends: ConversionEnds) -> str:
    path = find_entry_point(hook.folder) or ""
    if warning := choose_command(path).warning:
        raise ConversionError(f"{warning.partition(';')[0]}, so a command cannot start it")
    if hook.dialect != DIALECT and read_first_bytes(path).startswith(BINARIES):
        raise ConversionError("its script is a binary, so boathook cannot see what it reads and answers")
    if not ends.top:
        return shlex.quote(path)
    return f'"$CLAUDE_PROJECT_DIR"/{shlex.quote(os.path.relpath(path, ends.top))}'


def _read_programs(hook: Hook) -> tuple[str, ...]:
    """Return the programs in a hook folder as texts, because a script may call another; those of a native hook must be readable."""
    files = (f"{folder}/{name}" for folder, _, names in os.walk(hook.folder) for name in names)
    paths = sorted(path for path in files if _is_program(path, hook.folder))
    is_native = hook.dialect != DIALECT
    if is_native and len(paths) > _MAX_PROGRAMS:
        error = f"its folder has more than {_MAX_PROGRAMS} programs"
        raise ConversionError(f"{error}, too many to search for native fields")
    texts = []
    for path in paths[:_MAX_PROGRAMS]:
        try:
            texts.append(read_regular(path).decode("utf-8", "replace"))
        except FileError as error:
            if is_native:
                name = os.path.relpath(path, hook.folder)
                raise ConversionError(f"{name} {error}, so boathook cannot search it for native fields") from None
    return tuple(texts)


def _is_program(path: str, folder: str) -> bool:
    name = os.path.basename(path)
    return path.startswith(f"{folder}/scripts/") or SCRIPT.fullmatch(name) is not None or os.access(path, os.X_OK)
