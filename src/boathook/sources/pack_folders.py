"""Packs: folders of hooks that somebody else wrote, copied to the user's folder or to a project. What runs is what is there."""

from __future__ import annotations

import os

from boathook.core.catalog import Settings
from boathook.core.event import PRE_TOOL
from boathook.core.hook import ERROR, INVALID, PACK, PROJECT, USER, Diagnostic, Hook
from boathook.core.near_words import suggest
from boathook.core.text import reveal_text
from boathook.core.value import Value
from boathook.errors import ConfigError
from boathook.sources.fields import is_hook_name, is_pack_name
from boathook.sources.hook_md.folder import build_invalid_hook, is_same_folder, list_parents, scan_hooks, settle_hooks
from boathook.sources.pack_lock import LOCK_NAME, read_lock
from boathook.sources.pack_md import PACK_MANIFEST, PackManifest, read_pack_manifest
from boathook.sources.source_hooks import ReadHook, SourceHooks
from boathook.system.locations import SourceFolders
from boathook.system.programs import find_exposed_parent, find_exposure, find_foreign_owner

PACKS_FOLDER, PROJECT_PACKS_FOLDER = "packs", ".agents/packs"
SHARED_CODE = "lib"
# A repository must not make every event slow.
MAX_PACKS = 64


class PackFolder(Value):
    """The folder of a pack, with its name `OWNER/NAME`."""

    name: str
    path: str
    scope: str


class _PackLevel(Value):
    packs: tuple[PackFolder, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    watch: tuple[str, ...] = ()


def read_packs(folders: SourceFolders) -> SourceHooks:
    """Read the packs of the user and of a project."""
    user_root, project_root = f"{folders.user}/{PACKS_FOLDER}", f"{folders.project}/{PROJECT_PACKS_FOLDER}"
    levels = [(find_packs(user_root, USER), folders.user)] if folders.user else []
    project = "" if folders.user and is_same_folder(user_root, project_root) else folders.project
    if project:
        levels.append((find_packs(project_root, PROJECT), project))
    hooks: list[ReadHook] = []
    diagnostics: list[Diagnostic] = []
    watch: list[str] = []
    for level, top in levels:
        diagnostics += level.diagnostics
        watch += level.watch
        missing = _find_missing_packs(level, folders.user) if top == folders.user else SourceHooks()
        for read in (*(read_pack(pack, top) for pack in level.packs), missing):
            hooks += read.hooks
            diagnostics += read.diagnostics
            watch += read.watch
    return SourceHooks(tuple(hooks), tuple(diagnostics), tuple(watch), project, settle_pack_hooks)


def settle_pack_hooks(hooks: tuple[Hook, ...], settings: Settings) -> tuple[tuple[Hook, ...], tuple[str, ...]]:
    """Settle hooks as those of folders; a pack that cannot be read refuses tool calls, unless the user wants it otherwise."""
    is_allowed = settings.broken == "allow"
    return settle_hooks(tuple(hook for hook in hooks if not (is_allowed and hook.is_whole_pack)), settings)


def _find_missing_packs(level: _PackLevel, user: str) -> SourceHooks:
    """Return the packs that a person added, and whose folders are not there."""
    path, present = f"{user}/{LOCK_NAME}", {pack.name for pack in level.packs}
    try:
        missing = [name for name in read_lock(path) if name not in present and is_pack_name(name)]
    except ConfigError as error:
        return SourceHooks(diagnostics=(Diagnostic(path, None, "", ERROR, str(error)),), watch=(path,))
    places = [PackFolder(name, f"{user}/{PACKS_FOLDER}/{name}", USER) for name in missing]
    found = [_refuse_pack(pack, f"its folder is not there, and {LOCK_NAME} says that you added it") for pack in places]
    hooks = tuple(hook for one in found for hook in one.hooks)
    return SourceHooks(hooks, tuple(problem for one in found for problem in one.diagnostics), (path,))


def _refuse_pack(pack: PackFolder, reason: str, watch: tuple[str, ...] = ()) -> SourceHooks:
    """Return a pack of which nothing can be read: an error and, if it is the user's, a hook that refuses tool calls for it.

    Nobody knows what its guards would say, and an agent takes silence for consent.
    """
    message = f"the pack '{pack.name}' cannot be read, so none of its hooks runs: {reason}"
    fix = f"repair it or add it again, or remove it with: boathook pack remove {pack.name}"
    problem = Diagnostic(pack.path, None, "", ERROR, message, fix)
    if pack.scope == PROJECT:
        return SourceHooks(diagnostics=(problem,), watch=watch)
    hook, written = build_invalid_hook(f"{pack.path}/{PACK_MANIFEST}", pack.path, pack.scope, message)
    why = f"{message}. Tool calls are refused until you {fix}"
    hook = hook.replace(name=pack.name, pack=pack.name, source=PACK, state_reason=why, diagnostics=())
    hook = hook.replace(kind=PRE_TOOL, trigger=PRE_TOOL.name, on_failure="block")
    return SourceHooks(((hook, written),), (problem,), watch)


def find_packs(root: str, scope: str) -> _PackLevel:
    """Find the packs in a folder: two levels of folders, the owner and the name."""
    packs: list[PackFolder] = []
    problems: list[Diagnostic] = []
    watch = [root]
    for owner in _list_folders(root, problems):
        watch.append(f"{root}/{owner}")
        for name in _list_folders(f"{root}/{owner}", problems):
            path = f"{root}/{owner}/{name}"
            if not (is_hook_name(owner) and is_hook_name(name)):
                message = f"{reveal_text(path)} is not a pack: OWNER and NAME have letters, digits, '-', '_' and '.'"
                problems.append(Diagnostic(root, None, "", ERROR, message, "rename the folder"))
            elif len(packs) == MAX_PACKS:
                message = f"there are more than {MAX_PACKS} packs; {owner}/{name} is not loaded"
                problems.append(Diagnostic(root, None, "", ERROR, message, "remove those that you do not use"))
            else:
                packs.append(PackFolder(f"{owner}/{name}", path, scope))
    return _PackLevel(tuple(packs), tuple(problems), tuple(watch))


def _list_folders(root: str, problems: list[Diagnostic]) -> list[str]:
    try:
        with os.scandir(root) as entries:
            return sorted(one.name for one in entries if not one.name.startswith(".") and one.is_dir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        problems.append(Diagnostic(root, None, "", ERROR, f"the packs in it cannot be read: {error.strerror}"))
        return []


def read_pack(pack: PackFolder, top: str) -> SourceHooks:
    """Read the hooks of one pack, each with the pack before its name; one too few or too many is an invalid hook."""
    root = f"{pack.path}/hooks"
    watch = [pack.path, f"{pack.path}/{PACK_MANIFEST}", f"{pack.path}/{SHARED_CODE}"]
    if pack.scope != PROJECT:
        watch += [f"{pack.path}/", *list_parents(pack.path)]
    reason = find_foreign_owner(pack.path) if pack.scope == PROJECT else find_exposure(pack.path)
    reason = reason or (find_exposed_parent(pack.path) if pack.scope != PROJECT else "")
    if reason:
        return _refuse_pack(pack, f"its folder {reason}", tuple(watch))
    manifest = read_pack_manifest(pack.path, pack.scope, top)
    level = scan_hooks(root, pack.scope, top)
    if not level.hooks and (manifest.hooks or not os.access(pack.path, os.R_OK | os.X_OK)):
        return _refuse_pack(pack, f"none of them can be read in {root}", (*watch, *level.watch))
    present = {os.path.basename(hook.folder) for hook, _ in level.hooks}
    hooks = [(_adopt_hook(hook, pack, manifest), written) for hook, written in level.hooks]
    hooks += [(_make_missing_hook(pack, name), frozenset[str]()) for name in manifest.hooks if name not in present]
    return SourceHooks(tuple(hooks), (*manifest.diagnostics, *level.diagnostics), (*watch, *level.watch))


def _adopt_hook(hook: Hook, pack: PackFolder, manifest: PackManifest) -> Hook:
    hook = name_pack_hook(hook, pack.name, manifest)
    name = os.path.basename(hook.folder)
    if not manifest.is_readable or name in manifest.hooks:
        return hook
    message = f"'hooks' of {PACK_MANIFEST} does not name it, so it does not run"
    fix = f"add it there, or remove its folder ({suggest(name, manifest.hooks)})"
    problem = Diagnostic(hook.path, None, "", ERROR, message, fix)
    return hook.replace(state=INVALID, state_reason=message, diagnostics=(*hook.diagnostics, problem), is_on=True)


def name_pack_hook(hook: Hook, pack: str, manifest: PackManifest) -> Hook:
    """Return a hook of HOOK.md as one of a pack."""
    name = hook.folder.rpartition("/")[2]
    return hook.replace(name=f"{pack}:{reveal_text(name)}", source=PACK, pack=pack, is_on=manifest.has_on(name))


def _make_missing_hook(pack: PackFolder, name: str) -> Hook:
    folder = f"{pack.path}/hooks/{name}"
    reason = f"is missing: 'hooks' of {PACK_MANIFEST} names it. Add the pack again, or remove the name"
    hook, _ = build_invalid_hook(f"{folder}/HOOK.md", folder, pack.scope, reason)
    return hook.replace(name=f"{pack.name}:{name}", source=PACK, pack=pack.name)


def find_pack_name(folder: str) -> str:
    """Return the pack of a hook's folder by its path, "" if it is not in one."""
    parts = folder.split("/")
    is_in_pack = len(parts) > 5 and parts[-5] == PACKS_FOLDER and parts[-2] == "hooks"
    return f"{parts[-4]}/{parts[-3]}" if is_in_pack else ""


def list_pack_roots(folder: str) -> tuple[str, ...]:
    """Return what a hook of a pack consists of besides its own folder: the code that the hooks share, and PACK.md."""
    top = os.path.realpath(folder.rpartition("/hooks/")[0])
    return tuple(f"{top}/{name}" for name in (SHARED_CODE, PACK_MANIFEST))
