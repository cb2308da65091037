"""Read the hook files of an agent: the user's first, then those of a project."""

from __future__ import annotations

import os

from boathook.core.hook import DISABLED, ERROR, PROJECT, USER, WARNING, Diagnostic, Hook
from boathook.sources.agent_forms.hook_form import MAX_FILES, HookForm, find_form, list_json_names
from boathook.sources.hook_md.folder import is_same_folder
from boathook.sources.hooks_toml import KEYS_WITHOUT_DEFAULTS
from boathook.sources.settings_json.settings import shadow_equal_entries
from boathook.sources.settings_json.settings_file import SettingsFile, find_form_project, read_settings
from boathook.sources.source_hooks import SourceHooks
from boathook.system.locations import SourceFolders


def read_form_files(folders: SourceFolders) -> SourceHooks:
    """Read the files of the form that has the name of a source."""
    form = find_form(folders.name)
    project, searched = find_form_project(form, folders.project, folders.find_project)
    files = _read_files(form, folders.user, project)
    hooks = shadow_equal_entries([hook for file in files for hook in _apply_switch(file, files)])
    diagnostics = [problem for file in files for problem in (*file.diagnostics, *_report_switch(file))]
    diagnostics += _report_unread_files(form, [*dict.fromkeys(os.path.dirname(file.path) for file in files)])
    folders_read = [f"{folders.user}/{name}" for name in _list_user_names(form) if folders.user]
    paths = [*dict.fromkeys((*(file.path for file in files), *folders_read, *searched))]
    # The modes of the folders count, too.
    watch = (*paths, *dict.fromkeys(os.path.dirname(path) + "/" for path in paths))
    return SourceHooks(tuple((hook, KEYS_WITHOUT_DEFAULTS) for hook in hooks), tuple(diagnostics), watch, project)


def _read_files(form: HookForm, user: str, project: str) -> list[SettingsFile]:
    source, own = form.source.name, form.source.project_folder
    paths = form.list_user_files(user) if user else []
    files = [read_settings(path, USER, source=source, form=form) for path in paths]
    if project and not (user and is_same_folder(user, f"{project}{own}")):
        paths = form.list_project_files(project)
        files += [read_settings(path, PROJECT, project, source=source, form=form) for path in paths]
    return files


def _list_user_names(form: HookForm) -> list[str]:
    return [marker.rpartition("/")[2] for marker in form.source.markers]


def _apply_switch(file: SettingsFile, files: list[SettingsFile]) -> tuple[Hook, ...]:
    """Disable the hooks that a file turns off: the user's reaches all, that of a project only its own."""
    disabling = next((one for one in files if one.disables and one.scope in (USER, file.scope)), None)
    if disabling is None:
        return file.hooks
    why = f"disabled by {disabling.path}"
    return tuple(hook.replace(state=DISABLED, state_reason=why) for hook in file.hooks)


def _report_unread_files(form: HookForm, folders: list[str]) -> list[Diagnostic]:
    counts = {folder: len(list_json_names(folder)) for folder in folders if form.lists_folder}
    return [
        Diagnostic(folder, None, "", ERROR, f"only {MAX_FILES} of its {count:,} files are read", "join some of them")
        for folder, count in counts.items()
        if count > MAX_FILES
    ]


def _report_switch(file: SettingsFile) -> list[Diagnostic]:
    message = "this file turns hooks off; here that is so only for those of the project, and your own hooks still run"
    return [Diagnostic(file.path, None, "", WARNING, message)] if file.disables and file.scope != USER else []
