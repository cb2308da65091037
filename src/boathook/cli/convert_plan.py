"""What `boathook convert` would do: from the hook files of agents to hook folders, and from hook folders to settings.json."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from typing import Any

from boathook.assembly import locate, locate_all
from boathook.cli.convert_files import encode_settings, open_settings, read_hook_data, remove_hook_entries
from boathook.core.catalog import Catalog
from boathook.core.hook import ARMED, HOOK_MD, PLUGIN, PROJECT, SHADOWED, USER, Command, Hook
from boathook.core.near_words import ask_if_meant, find_near_word
from boathook.core.value import Value
from boathook.errors import ConfigError
from boathook.install.json_edit import JsonEditor
from boathook.sources import conversion
from boathook.sources.agent_forms.hook_form import HOOK_FORMS, SETTINGS_FORM, HookForm, find_form_of_file
from boathook.sources.conversion import ConversionError, ConvertedFolder
from boathook.sources.hook_md.folder import MANIFEST_NAMES, read_hook
from boathook.sources.hooks_toml import read_hooks_toml
from boathook.sources.own_commands import is_own_command
from boathook.sources.settings_json.settings_entry import DIALECT, SCRIPT
from boathook.sources.settings_json.settings_file import LOCAL, find_form_project, mentions_hooks, read_settings
from boathook.sources.source import SETTINGS_JSON_SOURCE, find_source
from boathook.system.files import FileError, read_regular
from boathook.system.locations import CONFIG_FOLDER, Locations, read_environment, resolve_folder
from boathook.system.programs import BINARIES, choose_command, find_entry_point, find_program, read_first_bytes

CONVERTED, LEFT = "converted", "left"
_MAX_PROGRAMS = 200
# Fields that a hooks.toml can override, by their keys.
_OVERRIDABLE = {"timeout": "timeout", "priority": "priority", "background": "async", "on_failure": "on_failure"}

_RUNS_IN_ORDER = "HOOK.md hooks run one after another, and a block skips the rest; {} hooks run together"
_RUNS_TOGETHER = "settings.json hooks run together, and a block skips none; HOOK.md hooks run one after another"
_PROJECT_VARIABLE = "In these hooks, {} is {}the folder with .agents/hooks, else the work dir."
_SHARED_WITH_ALL = "settings.local.json is private to you; .agents/hooks is shared with everyone who has the project."
_NOT_CALLED = "{} reads only {}, so it no longer runs these hooks. To make it call boathook: boathook install {}"
# Measured in docs/reference/benchmarks.md, as a ratio to a bare start.
_COST = (
    "Through boathook, {} waits about one start of Python longer for each event, and about three where a hook runs, than "
    "for hooks that it starts itself."
)
_RENAME = "To rename a hook, rename its folder, and change `name` in its HOOK.md."
_OTHER_ENTRY = "it is left because the same entry is also another kind of event, which cannot be converted: {}"


class ConversionEnds(Value):
    """Files of one form and a folder of hooks, of the user or of one project (`top`)."""

    scope: str
    top: str
    files: tuple[str, ...]
    hooks: str
    form: HookForm = SETTINGS_FORM

    @property
    def settings(self) -> str:
        """Return the settings file that hooks are written to."""
        return self.files[0]

    @property
    def shown_files(self) -> str:
        """Return the files in one text: the only one, or the folder that all of them are in."""
        return self.files[0] if len(self.files) == 1 else os.path.commonpath(self.files)


class ConversionRow(Value):
    name: str
    place: str
    event: str
    status: str
    to: str = ""
    reason: str = ""
    notes: tuple[str, ...] = ()


class ConversionPlan(Value):
    """Hook folders to write, the agents' files that change, and manifests to rename; `expected` must run then."""

    rows: tuple[ConversionRow, ...]
    folders: tuple[ConvertedFolder, ...] = ()
    changed_files: Mapping[str, bytes] = {}
    manifests_to_rename: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def find_conversion_ends(
    project: str | None, *, user: bool, local: bool, origin: str = SETTINGS_JSON_SOURCE.without
) -> ConversionEnds:
    """Return the files of a form and the folder of hooks; ConfigError if they do not belong together.

    `origin` is the form, by the name of its source or of its agent, or by the path of a file.
    """
    if user and local:
        raise ConfigError("--local and --user exclude each other, because settings.local.json belongs to a project")
    form = next((form for form in HOOK_FORMS if origin in (form.source.without, form.source.host)), None)
    if form is None:
        return _find_file_ends(os.path.abspath(origin), is_user=user)
    if local and form is not SETTINGS_FORM:
        raise ConfigError(f"--local is for settings.local.json, which {form.title} does not have")
    locations = locate_form(project, form)
    folders = locations.find(form.source.name)
    if user or not form.source.markers:
        files = [f"{folders.user}/settings.json"] if form is SETTINGS_FORM else form.list_user_files(folders.user)
        return ConversionEnds(USER, "", _choose_files(files, form), f"{_find_config_folder()}/hooks", form)
    hooks_project = locations.find(HOOK_MD).project
    form_project = find_form_project(form, folders.project, folders.find_project)[0]
    if hooks_project and not any(mentions_hooks(path, form) for path in form.list_project_files(form_project)):
        form_project = hooks_project
    if hooks_project and form_project and os.path.realpath(hooks_project) != os.path.realpath(form_project):
        raise ConfigError(
            f"the nearest .agents/hooks is in {hooks_project}, but the nearest {form.source.markers[0][1:]} is in "
            f"{form_project}. A conversion would move hooks to another project; pass --project to choose one"
        )
    top, own = form_project or hooks_project or locations.start, form.source.project_folder
    if os.path.realpath(f"{top}{own}") == os.path.realpath(_find_user_folder(form)):
        raise ConfigError(f"the settings in {top}{own} are yours, for all projects: use --user")
    files = form.list_project_files(top)
    if form is SETTINGS_FORM:
        files = [f"{top}/.claude/settings{'.local' * local}.json"]
    return ConversionEnds(PROJECT, top, _choose_files(files, form), f"{top}/.agents/hooks", form)


def locate_form(project: str | None, form: HookForm) -> Locations:
    """Resolve the locations with this form, also if the user's hooks.toml does not name it."""
    enabled = [find_source(folders.name).without for folders in locate(project).sources]
    return locate_all(project, enabled=(*enabled, form.source.without), trust_all=True)


def _choose_files(files: list[str], form: HookForm) -> tuple[str, ...]:
    """Return the files that mention hooks; if none does, the first one, so that a message can name it."""
    if not files:
        raise ConfigError(f"there is no file with hooks of {form.title} here")
    return tuple(path for path in files if mentions_hooks(path, form)) or (files[0],)


def _find_file_ends(path: str, *, is_user: bool) -> ConversionEnds:
    form = next((form for form in HOOK_FORMS if path in form.list_user_files(_find_user_folder(form))), None)
    if form is not None:
        return ConversionEnds(USER, "", (path,), f"{_find_config_folder()}/hooks", form)
    form = find_form_of_file(path)
    top = form.find_project(path) if form is not None else ""
    if not os.path.isfile(path) or form is None or not top or is_user:
        what = "is not one of your own hook files" if is_user else "is not a file with hooks that an agent reads"
        raise ConfigError(f"{path} {what}. Pass such a file, or an agent: {_suggest_form(path)}")
    return ConversionEnds(PROJECT, top, (path,), f"{top}/.agents/hooks", form)


def _suggest_form(path: str) -> str:
    forms = [form.source.without for form in HOOK_FORMS]
    near = find_near_word(os.path.basename(path), (*forms, *(form.source.host for form in HOOK_FORMS)))
    return ask_if_meant(near) if near else ", ".join(forms)


def _find_config_folder() -> str:
    return resolve_folder(CONFIG_FOLDER, read_environment())


def _find_user_folder(form: HookForm) -> str:
    return resolve_folder(form.source.user_folder, read_environment())


def plan_folders(ends: ConversionEnds, catalog: Catalog, *, move: bool) -> ConversionPlan:
    builder = _FolderBuilder(ends, catalog)
    rows: list[ConversionRow] = []
    changed: dict[str, bytes] = {}
    for path in ends.files:
        file_rows = builder.plan_file(path)
        places = [row.place for row in file_rows if row.status == CONVERTED]
        if move and places:
            changed[path] = remove_hook_entries(path, ends.form, list(dict.fromkeys(places)))
        rows += file_rows
    is_local = ends.settings.endswith(".local.json")
    plugins = [hook for hook in catalog.hooks if hook.source == PLUGIN and hook.scope == ends.scope and not is_local]
    rows += [builder.plan_folder(hook) for hook in (plugins if ends.form is SETTINGS_FORM else ())]
    converted = [row for row in rows if row.status == CONVERTED]
    notes = [_SHARED_WITH_ALL] if is_local and converted else []
    notes += [_describe_project_variable(ends.form)] if converted and not ends.top else []
    notes += [_COST.format(ends.form.title), _RENAME] if converted else []
    if move and converted:
        # If the agent calls boathook, HOOK.md hooks run there too.
        hooks = [hook for hook in catalog.hooks if hook.source in (ends.form.source.name, PLUGIN)]
        commands = [hook.handler for hook in hooks if isinstance(hook.handler, Command)]
        notes += [] if any(map(is_own_command, commands)) else [_describe_uncalled_hooks(ends.form)]
    expected = dict.fromkeys(f"{row.to}/{MANIFEST_NAMES[0]}" for row in converted)
    wanted = {row.to.rpartition("/")[2] for row in converted}
    folders = tuple(folder for folder in builder.folders if folder.name in wanted)
    return ConversionPlan(tuple(rows), folders, changed, (), tuple(expected), tuple(notes))


def _describe_project_variable(form: HookForm) -> str:
    folder, variable = form.source.project_folder, form.dialect.folder_variables[0]
    first = f"the folder with {folder[1:]} settings, else " if form.source.is_default else ""
    return _PROJECT_VARIABLE.format(variable or "CLAUDE_PROJECT_DIR", first)


def _describe_uncalled_hooks(form: HookForm) -> str:
    names = form.user_names or tuple(marker.rpartition("/")[2] for marker in form.source.markers[:1])
    what = f"the files in {form.source.markers[0][1:]}" if form.lists_folder else names[0]
    return _NOT_CALLED.format(form.title, what, form.source.host)


class _FolderBuilder:
    def __init__(self, ends: ConversionEnds, catalog: Catalog) -> None:
        self.ends, self.catalog, self.form = ends, catalog, ends.form
        self.data: dict[str, Any] = {}
        # An entry may be hooks of two kinds of events.
        self.loaded = {(hook.path, hook.place, hook.kind): hook for hook in catalog.hooks}
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
        self.origin = ""

    def plan_file(self, path: str) -> list[ConversionRow]:
        """Plan the entries of one file. An entry that is two hooks is converted with both, or left."""
        scope = LOCAL if path.endswith(".local.json") else self.ends.scope
        file = read_settings(path, scope, self.ends.top, source=self.form.source.name, form=self.form)
        if error := next((diagnostic for diagnostic in file.diagnostics if not diagnostic.key), None):
            raise ConfigError(str(error))
        self.data = read_hook_data(path, self.form)
        top = self.ends.top
        self.origin = os.path.relpath(path, top) if top else f"the user's {os.path.basename(path)}"
        # Our own entries are how the agent reaches converted hooks.
        rows = [self.plan_folder(written) for written in file.hooks if not written.is_installed_call]
        left = {row.place: row.reason for row in rows if row.status == LEFT}
        rows = [
            row.replace(status=LEFT, to="", notes=(), reason=_OTHER_ENTRY.format(left[row.place]))
            if row.status == CONVERTED and row.place in left
            else row
            for row in rows
        ]
        problems = [problem for problem in file.diagnostics if problem.key.startswith("hooks")]
        return rows + [ConversionRow(one.key, one.key, "", LEFT, reason=one.message) for one in problems]

    def plan_folder(self, written: Hook) -> ConversionRow:
        hook = self.loaded.get((written.path, written.place, written.kind), written)
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
        is_written = hook.source == self.form.source.name and hook.state == ARMED
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
        notes = [_RUNS_IN_ORDER.format(self.form.shown_name)] if armed and not hook.background else []
        if any(h.handler == hook.handler for h in armed):
            notes.append("another entry has the same command: both run if both match, no longer one for both")
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
    settings = {ends.settings: encode_settings(editor)} if editor.text != before else {}
    manifests = tuple(row.place for row in converted) if move else ()
    return ConversionPlan(tuple(rows), (), settings, manifests, tuple(row.to for row in converted))


class _SettingsBuilder:
    """Adds entries to a settings file. `disabled_by` is the file that disables all its hooks, or ""."""

    def __init__(self, ends: ConversionEnds, catalog: Catalog, editor: JsonEditor) -> None:
        self.ends, self.catalog, self.editor = ends, catalog, editor
        # settings.json of a project cannot disable what is in settings.local.json.
        is_local = ends.settings.endswith(".local.json")
        names = ("settings.local.json",) if is_local else ("settings.json", "settings.local.json")
        files = [read_settings(f"{_find_user_folder(SETTINGS_FORM)}/settings.json", USER)]
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
