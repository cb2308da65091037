"""HOOK.md folders: discovery at two levels, and which of two hooks with one name counts."""

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
from boathook.core.value import Value
from boathook.dialects.dialect import NATIVE, find_dialect
from boathook.sources.hook_md.manifest import parse_manifest
from boathook.sources.source_hooks import SourceHooks
from boathook.system.files import (
    MANIFEST_LIMIT,
    FileError,
    find_exposed_parent,
    find_exposure,
    find_foreign_owner,
    read_text,
)
from boathook.system.locations import SourceFolders
from boathook.system.programs import CANDIDATES, find_entry

MANIFEST_NAMES = ("HOOK.md", "hook.md")
_MAX_FOLDERS = 10_000
MAX_PROJECT_FOLDERS = 1_000  # a repository must not make every event slow
MAX_PROJECT_BYTES = 2 << 20


class HookLevel(Value):
    """One level of discovery: what was found, what is wrong with the level itself, and what to watch for changes."""

    scope: str
    hooks: tuple[tuple[Hook, frozenset[str]], ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    watch: tuple[str, ...] = ()


def scan_hooks(root: str, scope: str, top: str) -> HookLevel:
    """Read every hook folder directly below a root; one that cannot be read is an invalid hook, no more."""
    watch = [root, root + "/"]
    try:
        entries = sorted((e for e in os.scandir(root) if not e.name.startswith(".")), key=lambda e: e.name)
    except OSError as error:
        if not os.path.lexists(root):
            return HookLevel(scope, watch=(root,))
        told = Diagnostic(root, None, "", ERROR, f"the hooks folder cannot be read: {error.strerror}")
        return HookLevel(scope, diagnostics=(told,), watch=(root,))
    if why := find_foreign_owner(root) if scope == PROJECT else find_exposure(root) or find_exposed_parent(root):
        told = Diagnostic(root, None, "", ERROR, f"no hook of this folder runs: it {why}")
        return HookLevel(scope, diagnostics=(told,), watch=(root, *_list_parents(root)))
    read, too_many = _select_folders(entries, scope)
    problems = (Diagnostic(root, None, "", ERROR, too_many),) if too_many else ()
    watch += filter(
        None, [find_manifest(entry.path) for entry in entries[len(read) :][:1]]
    )  # if it shrinks, it may come
    found = []
    for entry in read:
        hook, paths = _read_folder(entry, scope, top)
        watch += paths
        if hook is not None:
            found.append(hook)
    return HookLevel(scope, tuple(found), problems, (*watch, *(_list_parents(root) if scope != PROJECT else ())))


def _select_folders(entries: list[os.DirEntry[str]], scope: str) -> tuple[list[os.DirEntry[str]], str]:
    """Return the folders that are read, and what is said of the rest; those of a project may not hold any amount."""
    most = MAX_PROJECT_FOLDERS if scope == PROJECT else _MAX_FOLDERS
    told = f"more than {most} hook folders; the rest is not loaded" if len(entries) > most else ""
    left = MAX_PROJECT_BYTES
    for at, entry in enumerate(entries[:most] if scope == PROJECT else ()):
        left -= _get_size(find_manifest(entry.path))
        if left < 0:
            name = entry.name.encode("utf-8", "backslashreplace").decode()
            told = f"its hooks' manifests are more than {MAX_PROJECT_BYTES >> 20} MiB"
            return entries[:at], f"{told}; {name} and what follows is not loaded"
    return entries[:most], told


def _get_size(path: str | None) -> int:
    """Return the size of a file as far as it would be read."""
    try:
        size = os.stat(path).st_size if path else 0
    except OSError:
        return 0
    return size if size <= MANIFEST_LIMIT else 0


def _list_parents(root: str) -> list[str]:
    """Name the folders above a folder, whose modes count."""
    parts = os.path.realpath(root).split("/")
    return ["/".join(parts[:count]) + "/" for count in range(2, len(parts))]


def _read_folder(entry: os.DirEntry[str], scope: str, top: str) -> tuple[tuple[Hook, frozenset[str]] | None, list[str]]:
    """Read one hook folder; return its hook, if it is one, and what to watch."""
    folder = entry.path
    try:
        if not entry.is_dir():
            return None, [folder] if entry.is_symlink() else []
    except OSError as error:
        return (_build_invalid(folder, folder, scope, f"cannot be read: {error.strerror}"), frozenset()), [folder]
    path = find_manifest(folder)
    if path is None:
        if not os.access(folder, os.R_OK | os.X_OK):
            return (_build_invalid(folder, folder, scope, "cannot be read: permission denied"), frozenset()), [folder]
        return None, [folder]
    watch = [path] if path.endswith(MANIFEST_NAMES[0]) else [path, folder]
    if scope == PROJECT and (outside := find_link_outside(path, top)):
        return (_build_invalid(path, folder, scope, outside), frozenset()), watch
    return read_hook(path, folder, scope), watch


def find_link_outside(path: str, project: str) -> str | None:
    """Report so if a manifest is reached through a link that leaves the project; its content is never shown."""
    real, top = os.path.realpath(path), os.path.realpath(project)
    return None if real.startswith(top.rstrip("/") + "/") else "is a link that leaves the project"


def find_manifest(folder: str) -> str | None:
    """Return the manifest of a hook folder, whatever kind of file it is."""
    return next((f"{folder}/{name}" for name in MANIFEST_NAMES if os.path.lexists(f"{folder}/{name}")), None)


def read_hook(path: str, folder: str, scope: str) -> tuple[Hook, frozenset[str]]:
    """Read a manifest file; one that cannot be read is an invalid hook."""
    try:
        text = read_text(path)
    except FileError as error:
        return _build_invalid(path, folder, scope, str(error)), frozenset()
    return parse_manifest(text, path=path, folder=folder, scope=scope)


def _build_invalid(path: str, folder: str, scope: str, why: str) -> Hook:
    name = folder.rpartition("/")[2].encode("utf-8", "backslashreplace").decode()
    told = f"{path.rpartition('/')[2]} {why}".encode("utf-8", "backslashreplace").decode()
    problem = Diagnostic(path, None, "", ERROR, told)
    return Hook(
        name,
        None,
        "",
        scope,
        Script(folder),
        path,
        find_dialect(NATIVE),
        state=INVALID,
        state_reason=told,
        diagnostics=(problem,),
    )


def read_hook_folders(folders: SourceFolders) -> SourceHooks:
    """Read the hooks of the user and of a project; a project whose folder of hooks is the user's has none of its own."""
    user_root, project_root = f"{folders.user}/hooks", f"{folders.project}/.agents/hooks"
    user = scan_hooks(user_root, USER, folders.user) if folders.user else HookLevel(USER)
    project = "" if folders.user and _is_same_folder(user_root, project_root) else folders.project
    local = scan_hooks(project_root, PROJECT, project) if project else HookLevel(PROJECT)
    diagnostics, watch = (*user.diagnostics, *local.diagnostics), (*user.watch, *local.watch)
    return SourceHooks((*user.hooks, *local.hooks), diagnostics, watch, project, _settle_hooks)


def _is_same_folder(one: str, other: str) -> bool:
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)


def _settle_hooks(hooks: tuple[Hook, ...], settings: Settings) -> tuple[tuple[Hook, ...], tuple[str, ...]]:
    """Look for entry points and settle equal names; return the hooks and what else to watch."""
    seen: list[str] = []
    users, projects = (
        _shadow_repeated_names(
            [_check_entry_point(hook, seen) for hook in hooks if (hook.scope == USER) is is_user], seen
        )
        for is_user in (True, False)
    )
    _settle_names(users, projects, seen, settings.untrusted)
    return tuple(users + projects), tuple(seen)


def _check_entry_point(hook: Hook, seen: list[str]) -> Hook:
    """Mark an otherwise armed hook that has no entry point."""
    if hook.state != ARMED or find_entry(hook.folder) is not None:
        return hook
    scripts = f"{hook.folder}/scripts"
    seen += [hook.folder, scripts, *(f"{scripts}/{name}" for name in CANDIDATES)]
    why = "no entry point: none of scripts/run, scripts/run.sh, scripts/run.py is a file"
    return hook.replace(
        state=NO_ENTRY, state_reason=why, diagnostics=(*hook.diagnostics, Diagnostic(hook.path, None, "", ERROR, why))
    )


def _shadow_repeated_names(hooks: list[Hook], seen: list[str]) -> list[Hook]:
    """On one level the first armed hook of a name counts; the others are shadowed."""
    first: dict[str, Hook] = {}
    kept = []
    for hook in hooks:
        winner = first.setdefault(hook.name, hook) if hook.state == ARMED else hook
        same = f"the {hook.scope} hook in {winner.folder} has the same name"
        if winner is not hook:
            seen.append(f"{winner.folder}/scripts")  # without its script the winner would give way
        kept.append(hook if winner is hook else _shadow_hook(hook, same, warn=True))
    return kept


def _settle_names(users: list[Hook], projects: list[Hook], seen: list[str], untrusted: str) -> None:
    """Let an armed project hook replace the user's of the same name, unless that one is protected."""
    armed = {hook.name: at for at, hook in enumerate(users) if hook.state == ARMED}
    for place, hook in enumerate(projects):
        at = armed.get(hook.name)
        if at is None or hook.state != ARMED:
            continue
        seen.append(f"{hook.folder}/scripts")
        if users[at].protected:
            projects[place] = _shadow_hook(hook, f"the user's hook '{hook.name}' is protected", warn=True)
        elif hook.approval is not None and not hook.approval.override:
            why = f"it would replace your hook '{hook.name}', and is not trusted to (boathook trust {hook.name} --override)"
            projects[place] = mark_untrusted(hook, UNTRUSTED, why, untrusted)
        else:
            users[at] = _shadow_hook(users[at], f"replaced by the project's hook in {hook.folder}")


def _shadow_hook(hook: Hook, why: str, *, warn: bool = False) -> Hook:
    problems = (*hook.diagnostics, Diagnostic(hook.path, None, "name", WARNING, why)) if warn else hook.diagnostics
    return hook.replace(state=SHADOWED, state_reason=why, diagnostics=problems)
