"""Near misses: files and folders that look like hooks and are not read, because of their name or their place."""

# These are found when hooks are loaded, so the fast path knows them from the compiled catalogue.

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator

from boathook.core.hook import WARNING, Diagnostic
from boathook.core.value import Value
from boathook.sources.hook_md.folder import MANIFEST_NAMES, find_manifest, is_same_folder
from boathook.sources.source import HOOK_MD_SOURCE
from boathook.system.locations import Locations

_NEAR_NAMES = ("hook.md", "hooks.md", "hook.txt")
# A repository must not make every event slow.
_MAX_ENTRIES = 200
_MAX_MISSES = 100
# Every event looks at each folder that is watched: this is for all places together.
_MAX_WATCHED = 300


class NearMisses(Value):
    """What was found, and the folders in which more may appear."""

    diagnostics: tuple[Diagnostic, ...] = ()
    watch: tuple[str, ...] = ()


def find_near_misses(locations: Locations) -> NearMisses:
    folders = locations.find(HOOK_MD_SOURCE.name)
    user_root = f"{locations.config}/hooks" if locations.config else ""
    project_root = f"{folders.project}/.agents/hooks" if folders.project else ""
    found: list[Diagnostic] = []
    watch: list[str] = []
    for root in dict.fromkeys(filter(None, (user_root, project_root))):
        found += list_root_misses(root, watch)
    for place, root in _list_lookalikes(locations, user_root).items():
        found += _check_lookalike(place, root, watch)
    return NearMisses(tuple(dict.fromkeys(found))[:_MAX_MISSES], tuple(watch))


def _list_lookalikes(locations: Locations, user_root: str) -> dict[str, str]:
    """Return the folders that people take for folders of hooks, and where their hooks belong; not all of them exist."""
    claude = locations.folders.get("claude", "") if "claude" not in locations.untrusted else ""
    places = dict(locations.lookalikes)
    if user_root:
        places[user_root.removesuffix("s")] = user_root
        places |= {f"{claude}/hooks": user_root} if claude else {}
    return places


def list_lookalike_hooks(project: str) -> list[Diagnostic]:
    """Return the hooks of a project that are in a folder that people take for its folder of hooks."""
    pairs = ((project + place, project + root) for place, root in HOOK_MD_SOURCE.lookalikes)
    return [found for place, root in pairs for found in _check_lookalike(place, root, [])]


def _list_entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            names = sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name)
    except OSError:
        return []
    return names[:_MAX_ENTRIES]


def _list_folders(folder: str) -> list[str]:
    return [entry.path for entry in _list_entries(folder) if entry.is_dir(follow_symlinks=False)]


def list_root_misses(root: str, watch: list[str]) -> Iterator[Diagnostic]:
    """Yield the near misses in a folder of hooks, and note the folders in which more may appear."""
    for entry in _list_entries(root):
        if entry.is_file(follow_symlinks=False) and entry.name.lower() in _NEAR_NAMES:
            message = f"{entry.name} is not read here: each hook is a folder with a HOOK.md in it"
            folder, scripts = f"{_quote(root)}/my-hook", f"{root}/scripts"
            fix = f"mkdir {folder} && mv {_quote(entry.path)} {folder}/HOOK.md"
            fix += f" && mv {_quote(scripts)} {folder}/" if os.path.isdir(scripts) else ""
            yield _warn(entry.path, message, fix)
    for folder in _list_folders(root):
        if find_manifest(folder) is None:
            yield from _check_folder(folder, root, watch)


def _check_folder(folder: str, root: str, watch: list[str]) -> Iterator[Diagnostic]:
    """Yield what looks like a hook in a folder of a root that has no manifest."""
    if misnamed := find_misnamed_manifest(folder):
        yield misnamed
        return
    for inner in _list_folders(folder)[: max(_MAX_WATCHED - len(watch), 0)]:
        watch.append(inner)
        if find_manifest(inner) is not None:
            fix = f"mv {_quote(inner)} {_quote(root)}/"
            yield _warn(inner, "this hook is not read because it is one folder too deep", fix)


def find_misnamed_manifest(folder: str) -> Diagnostic | None:
    """Return the first near miss among the names in a folder of a hook that has no manifest."""
    for entry in _list_entries(folder):
        if entry.name.lower() in _NEAR_NAMES and entry.name not in MANIFEST_NAMES:
            fix = f"mv {_quote(entry.path)} {_quote(folder)}/HOOK.md"
            return _warn(entry.path, f"{entry.name} is not read: the manifest of a hook is called HOOK.md", fix)
    return None


def _check_lookalike(place: str, root: str, watch: list[str]) -> Iterator[Diagnostic]:
    """Yield the hooks in a folder that is not one of hooks; a folder that merely has scripts is nothing to report."""
    watch.append(place)
    # So it is where small and capital letters of a name are the same.
    if is_same_folder(place, root):
        return
    folders = _list_folders(place)[: max(_MAX_WATCHED - len(watch), 0)]
    watch += folders
    hooks = [folder for folder in folders if find_manifest(folder) is not None]
    if os.path.dirname(place) == os.path.dirname(root) and hooks:
        is_there = os.path.lexists(root)
        fix = f"mv {_quote(place)}/* {_quote(root)}/" if is_there else f"mv {_quote(place)} {_quote(root)}"
        yield _warn(place, "the hooks in this folder are not read: its name must be 'hooks'", fix)
        return
    for hook in hooks:
        fix = f"mkdir -p {_quote(root)} && mv {_quote(hook)} {_quote(root)}/"
        yield _warn(hook, f"this hook is not read: folders with a HOOK.md belong in {root}", fix)


def _warn(path: str, message: str, fix: str) -> Diagnostic:
    return Diagnostic(path, None, "", WARNING, message, fix)


def _quote(path: str) -> str:
    return shlex.quote(path)
