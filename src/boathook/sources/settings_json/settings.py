"""Hooks of settings.json: those of the user, of a project, of its local file and of plugins. They are merged."""

from __future__ import annotations

import os

from boathook.core.hook import ARMED, DISABLED, PROJECT, SHADOWED, USER, WARNING, Diagnostic, Hook
from boathook.core.value import Value
from boathook.sources.agent_forms.hook_form import SETTINGS_FORM
from boathook.sources.hook_md.folder import is_same_folder
from boathook.sources.hooks_toml import KEYS_WITHOUT_DEFAULTS
from boathook.sources.settings_json.plugins import list_kept_plugins, load_plugins
from boathook.sources.settings_json.settings_file import (
    LOCAL,
    SETTINGS_NAMES,
    SettingsFile,
    find_form_project,
    read_settings,
)
from boathook.sources.source_hooks import SourceHooks
from boathook.system.locations import SourceFolders

# Which files a `disableAllHooks` reaches, by the scope of its own file.
_REACH = {USER: (USER, PROJECT, LOCAL), LOCAL: (PROJECT, LOCAL), PROJECT: (PROJECT,)}


class LoadedSettings(Value):
    hooks: tuple[Hook, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    watch: tuple[str, ...] = ()


def read_settings_files(folders: SourceFolders) -> SourceHooks:
    project, searched = find_form_project(SETTINGS_FORM, folders.project, folders.find_project)
    loaded = load_settings(folders.user, project)
    hooks = tuple((hook, KEYS_WITHOUT_DEFAULTS) for hook in loaded.hooks)
    return SourceHooks(hooks, loaded.diagnostics, (*loaded.watch, *searched), project)


def load_settings(claude: str, project: str) -> LoadedSettings:
    files = [read_settings(f"{claude}/settings.json", USER)] if claude else []
    if project and not (claude and is_same_folder(claude, f"{project}/.claude")):
        named = zip(SETTINGS_NAMES, (PROJECT, LOCAL), strict=True)
        files += [read_settings(f"{project}/.claude/{name}", scope, project) for name, scope in named]
    plugins, plugin_paths = load_plugins(claude, project, files)
    hooks = [hook for file in (*files, *plugins) for hook in _apply_disabling(file, files)]
    problems = [problem for file in (*files, *plugins) for problem in file.diagnostics]
    limited = "disableAllHooks disables only hooks of the project here; your own hooks still run"
    in_project = [file.path for file in files if file.disables and file.scope != USER]
    problems += [Diagnostic(path, None, "disableAllHooks", WARNING, limited) for path in in_project]
    problems += list_kept_plugins(files)
    paths = [*(file.path for file in files), *plugin_paths]
    # The modes of the folders count, too.
    folders = dict.fromkeys(os.path.dirname(path) + "/" for path in paths)
    return LoadedSettings(shadow_equal_entries(hooks), tuple(problems), (*paths, *folders))


def _apply_disabling(file: SettingsFile, files: list[SettingsFile]) -> tuple[Hook, ...]:
    disabling = next((other for other in files if other.disables and file.scope in _REACH[other.scope]), None)
    if disabling is None:
        return file.hooks
    why = f"disabled by {disabling.path} (disableAllHooks)"
    return tuple(
        hook if hook.is_installed_call else hook.replace(state=DISABLED, state_reason=why) for hook in file.hooks
    )


def shadow_equal_entries(hooks: list[Hook]) -> tuple[Hook, ...]:
    """Shadow equal entries: the user's counts, else the first of each scope, because it is not known yet which of them may run."""
    first: dict[object, dict[str, Hook]] = {}
    equal_entries = []
    for hook in hooks:
        by_scope = first.setdefault((hook.name, hook.handler), {})
        equal_entries.append(by_scope)
        if hook.state == ARMED:
            by_scope.setdefault(hook.scope, hook)
    pairs = zip(hooks, equal_entries, strict=True)
    return tuple(_shadow(hook, by_scope.get(USER) or by_scope.get(hook.scope)) for hook, by_scope in pairs)


def _shadow(hook: Hook, winner: Hook | None) -> Hook:
    if winner is None or winner is hook or hook.state != ARMED:
        return hook
    why = f"the same entry is in {winner.path} ({winner.place}); it runs once"
    return hook.replace(state=SHADOWED, state_reason=why)
