"""Folders of HOOK.md hooks: those of the user and of a project, and which of two hooks with the same name counts."""

from __future__ import annotations

import os

from boathook.core.catalog import Settings, mark_untrusted
from boathook.core.hook import (
    ARMED,
    ERROR,
    INVALID,
    NO_ENTRY,
    PROJECT,
    SHADOWED,
    UNTRUSTED,
    USER,
    WARNING,
    Diagnostic,
    Hook,
    Script,
)
from boathook.core.matcher import PatternAllowance
from boathook.core.text import reveal_text
from boathook.dialects.dialect import NATIVE, find_hook_dialect
from boathook.sources.hook_md.manifest import parse_manifest
from boathook.sources.source_hooks import ReadHook, SourceHooks
from boathook.system import files
from boathook.system.files import FileError, read_text
from boathook.system.locations import SourceFolders
from boathook.system.programs import (
    ENTRY_NAMES,
    find_entry_point,
    find_exposed_parent,
    find_exposure,
    find_foreign_owner,
)

MANIFEST_NAMES = ("HOOK.md", "hook.md")
# A repository must not make every event slow.
MAX_PROJECT_FOLDERS, MAX_PROJECT_BYTES = 1_000, 2 << 20
NO_ENTRY_POINT = "no entry point: none of scripts/run, scripts/run.sh, scripts/run.py is a file"
_MAX_FOLDERS = 10_000


def read_hook_folders(folders: SourceFolders) -> SourceHooks:
    """Read the hooks of the user and of a project; a project whose folder of hooks is the user's has none of its own."""
    user_root, project_root = f"{folders.user}/hooks", f"{folders.project}/.agents/hooks"
    user = scan_hooks(user_root, USER, folders.user) if folders.user else SourceHooks()
    project = "" if folders.user and is_same_folder(user_root, project_root) else folders.project
    local = scan_hooks(project_root, PROJECT, project) if project else SourceHooks()
    diagnostics, watch = (*user.diagnostics, *local.diagnostics), (*user.watch, *local.watch)
    return SourceHooks((*user.hooks, *local.hooks), diagnostics, watch, project, settle_hooks)


def is_same_folder(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        return False


def scan_hooks(root: str, scope: str, top: str) -> SourceHooks:
    """Read every hook folder directly in a folder; one that cannot be read is an invalid hook."""
    try:
        entries = sorted((e for e in os.scandir(root) if not e.name.startswith(".")), key=lambda e: e.name)
    except OSError as error:
        if isinstance(error, FileNotFoundError | NotADirectoryError) and not os.path.lexists(root):
            return SourceHooks(watch=(root,))
        return _fail(root, f"the hooks folder cannot be read: {error.strerror}", (root,))
    reason = find_foreign_owner(root) if scope == PROJECT else find_exposure(root) or find_exposed_parent(root)
    if reason:
        return _fail(root, f"no hook of this folder runs: it {reason}", (root, *list_parents(root)))
    selected, error_message = _select_folders(entries, scope)
    problems = (Diagnostic(root, None, "", ERROR, error_message),) if error_message else ()
    watch = [root, root + "/"]
    # The first folder that is left out may be read once it is smaller.
    watch += filter(None, [find_manifest(entry.path) for entry in entries[len(selected) :][:1]])
    hooks = []
    allowance = PatternAllowance() if scope == PROJECT else None
    for entry in selected:
        hook, paths = _read_folder(entry, scope, top, allowance)
        watch += paths
        if hook is not None:
            hooks.append(hook)
    parents = list_parents(root) if scope != PROJECT else ()
    return SourceHooks(tuple(hooks), problems, (*watch, *parents))


def _fail(root: str, message: str, watch: tuple[str, ...]) -> SourceHooks:
    return SourceHooks(diagnostics=(Diagnostic(root, None, "", ERROR, message),), watch=watch)


def _select_folders(entries: list[os.DirEntry[str]], scope: str) -> tuple[list[os.DirEntry[str]], str]:
    """Return the folders to read, and an error message if some are left out; for a project there are limits."""
    limit = MAX_PROJECT_FOLDERS if scope == PROJECT else _MAX_FOLDERS
    bytes_left = MAX_PROJECT_BYTES
    for index, entry in enumerate(entries[:limit] if scope == PROJECT else ()):
        bytes_left -= _get_size(find_manifest(entry.path))
        if bytes_left < 0:
            message = f"the manifests of its hooks are larger than {MAX_PROJECT_BYTES >> 20} MiB together"
            return entries[:index], f"{message}; {reveal_text(entry.name)} and the following are not loaded"
    message = f"more than {limit} hook folders; the rest is not loaded" if len(entries) > limit else ""
    return entries[:limit], message


def _get_size(path: str | None) -> int:
    try:
        size = os.stat(path).st_size if path else 0
    except OSError:
        return 0
    return size if size <= files.MAX_FILE_BYTES else 0


def list_parents(root: str) -> list[str]:
    """Return the folders above a folder, whose modes count."""
    parts = os.path.realpath(root).split("/")
    return ["/".join(parts[:count]) + "/" for count in range(2, len(parts))]


def _read_folder(
    entry: os.DirEntry[str], scope: str, top: str, allowance: PatternAllowance | None
) -> tuple[ReadHook | None, list[str]]:
    """Return the hook of a folder, if it has one, and the paths to watch."""
    folder = entry.path
    try:
        if not entry.is_dir():
            return None, [folder] if entry.is_symlink() else []
    except OSError as error:
        return build_invalid_hook(folder, folder, scope, f"cannot be read: {error.strerror}"), [folder]
    path = find_manifest(folder)
    if path is None and os.access(folder, os.R_OK | os.X_OK):
        return None, [folder]
    if path is None:
        return build_invalid_hook(folder, folder, scope, "cannot be read: permission denied"), [folder]
    watch = [path] if path.endswith(MANIFEST_NAMES[0]) else [path, folder]
    if scope == PROJECT and (reason := find_link_outside(path, top)):
        return build_invalid_hook(path, folder, scope, reason), watch
    return read_hook(path, folder, scope, allowance), watch


def find_link_outside(path: str, project: str) -> str:
    """Return why a file may not be read, "" if it may: it is reached through a link that leaves the project."""
    real_path, real_project = os.path.realpath(path), os.path.realpath(project)
    return "" if real_path.startswith(real_project.rstrip("/") + "/") else "is a link that leaves the project"


def find_manifest(folder: str) -> str | None:
    return next((f"{folder}/{name}" for name in MANIFEST_NAMES if os.path.lexists(f"{folder}/{name}")), None)


def read_hook(path: str, folder: str, scope: str, allowance: PatternAllowance | None = None) -> ReadHook:
    """Read a manifest; one that cannot be read is an invalid hook."""
    try:
        text = read_text(path)
    except FileError as error:
        return build_invalid_hook(path, folder, scope, str(error))
    return parse_manifest(text, path=path, folder=folder, scope=scope, allowance=allowance)


def build_invalid_hook(path: str, folder: str, scope: str, reason: str) -> ReadHook:
    name, file = (reveal_text(os.path.basename(one)) for one in (folder, path))
    message = f"{file} {reason}"
    hook = Hook(
        name, None, "", scope, Script(folder), path, find_hook_dialect(NATIVE), state=INVALID, state_reason=message
    )
    return hook.replace(diagnostics=(Diagnostic(path, None, "", ERROR, message),)), frozenset()


def settle_hooks(hooks: tuple[Hook, ...], settings: Settings) -> tuple[tuple[Hook, ...], tuple[str, ...]]:
    """Look for entry points, and decide which of the hooks with the same name counts; return more paths to watch, too."""
    watch: list[str] = []
    checked = [_check_entry_point(hook, watch) for hook in hooks]
    users = _shadow_repeated_names([hook for hook in checked if hook.scope == USER], watch)
    projects = _shadow_repeated_names([hook for hook in checked if hook.scope != USER], watch)
    _settle_names(users, projects, watch, settings.untrusted)
    return tuple(users + projects), tuple(watch)


def _check_entry_point(hook: Hook, watch: list[str]) -> Hook:
    if hook.state != ARMED or find_entry_point(hook.folder) is not None:
        return hook
    scripts = f"{hook.folder}/scripts"
    watch += [hook.folder, scripts, *(f"{scripts}/{name}" for name in ENTRY_NAMES)]
    problems = (*hook.diagnostics, report_no_entry_point(hook))
    return hook.replace(state=NO_ENTRY, state_reason=NO_ENTRY_POINT, diagnostics=problems)


def report_no_entry_point(hook: Hook) -> Diagnostic:
    has_singular = os.path.isdir(f"{hook.folder}/script")
    fix = "rename the folder script to scripts" if has_singular else f"add {hook.edited_folder}/scripts/run.sh"
    return Diagnostic(hook.path, None, "", ERROR, NO_ENTRY_POINT, fix)


def _shadow_repeated_names(hooks: list[Hook], watch: list[str]) -> list[Hook]:
    """Shadow every armed hook of a level but the first of each name."""
    first: dict[str, Hook] = {}
    settled = []
    for hook in hooks:
        winner = first.setdefault(hook.name, hook) if hook.state == ARMED else hook
        if winner is not hook:
            # Without its script the winner would not count.
            watch.append(f"{winner.folder}/scripts")
            why = f"the {hook.scope} hook in {winner.edited_folder} has the same name"
            hook = _shadow_hook(hook, why, warn=True)  # noqa: PLW2901
        settled.append(hook)
    return settled


def _settle_names(users: list[Hook], projects: list[Hook], watch: list[str], untrusted: str) -> None:
    """Let an armed project hook replace the user's hook of the same name, unless that one is protected."""
    armed = {hook.name: index for index, hook in enumerate(users) if hook.state == ARMED}
    for place, hook in enumerate(projects):
        index = armed.get(hook.name)
        if index is None or hook.state != ARMED:
            continue
        watch.append(f"{hook.folder}/scripts")
        if users[index].protected:
            projects[place] = _shadow_hook(hook, f"your hook '{hook.name}' is protected", warn=True)
        elif hook.approval is not None and not hook.approval.override:
            command = f"boathook trust {hook.name} --override"
            why = f"it would replace your hook '{hook.name}', and is not trusted to ({command})"
            projects[place] = mark_untrusted(hook, UNTRUSTED, why, untrusted)
        else:
            users[index] = _shadow_hook(users[index], f"replaced by the project's hook in {hook.edited_folder}")


def _shadow_hook(hook: Hook, why: str, *, warn: bool = False) -> Hook:
    problems = (*hook.diagnostics, Diagnostic(hook.path, None, "name", WARNING, why)) if warn else hook.diagnostics
    return hook.replace(state=SHADOWED, state_reason=why, diagnostics=problems)
