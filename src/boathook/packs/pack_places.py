"""Where packs are on this machine: those of the user and of a project, with their state."""

from __future__ import annotations

import os

from boathook.core.hook import ARMED, INVALID, USER, Hook
from boathook.core.value import Value
from boathook.packs.pack_change import find_edited_files
from boathook.packs.pack_folder import PackContent, place_pack, read_pack_content, remove_pack
from boathook.packs.pack_source import PackSource
from boathook.sources.fields import is_pack_name
from boathook.sources.pack_folders import PACKS_FOLDER, PackFolder, find_packs
from boathook.sources.pack_lock import LOCK_NAME, LockedPack, read_lock, write_lock
from boathook.system.locations import CONFIG_FOLDER, read_environment, resolve_folder

OK_STATE, EDITED, INCOMPLETE, UNLOCKED, OLDER = "ok", "edited", "incomplete", "unknown origin", "newer version here"
# packs.lock names it, and there is no such folder: its hooks do not guard.
MISSING = "missing"


class PackPlace(Value):
    """A folder that has packs: the user's, or `.agents` of a project."""

    scope: str
    folder: str

    @property
    def packs_folder(self) -> str:
        return f"{self.folder}/{PACKS_FOLDER}"

    @property
    def lock_path(self) -> str:
        return f"{self.folder}/{LOCK_NAME}"

    @property
    def config_path(self) -> str:
        return f"{self.folder}/hooks.toml"

    def get_pack_path(self, name: str) -> str:
        return f"{self.packs_folder}/{name}"

    def read_pack(self, name: str) -> PackContent | None:
        """Return a pack that is there, None if it is not."""
        return read_pack_content(name, self.get_pack_path(name)) if self.has_pack(name) else None

    def has_pack(self, name: str) -> bool:
        # An owner alone, or a path, would be a folder too.
        return is_pack_name(name) and os.path.isdir(self.get_pack_path(name))

    def add_pack(self, content: PackContent, origin: str) -> None:
        """Copy a pack here, in place of the one of its name, and lock it."""
        locked = read_lock(self.lock_path)
        place_pack(content, self.get_pack_path(content.name))
        pack = LockedPack(origin, content.manifest.version, tuple(content.files.items()))
        write_lock(self.lock_path, {**locked, content.name: pack})

    def remove_pack(self, name: str) -> None:
        """Remove a pack, and its lock; either may be gone already."""
        locked = read_lock(self.lock_path)
        if self.has_pack(name):
            remove_pack(self.get_pack_path(name))
        if name in locked:
            write_lock(self.lock_path, {pack: found for pack, found in locked.items() if pack != name})


def find_user_packs() -> PackPlace:
    return PackPlace(USER, resolve_folder(CONFIG_FOLDER, read_environment()))


class InstalledPack(Value):
    """A pack as `pack list` shows it: its states, the hooks by name with whether each is on, and edited files."""

    name: str
    scope: str
    path: str
    version: str
    description: str
    states: tuple[str, ...]
    hooks: tuple[tuple[str, str], ...]
    edited: tuple[str, ...] = ()
    newer: str = ""


def list_installed_packs(
    place: PackPlace, hooks: tuple[Hook, ...], sources: tuple[PackSource, ...]
) -> list[InstalledPack]:
    """Return the packs of a place; `hooks` are those of the catalogue, which knows what is on."""
    locked = read_lock(place.lock_path)
    level = find_packs(place.packs_folder, place.scope)
    packs = [_describe_pack(pack, hooks, locked.get(pack.name), sources) for pack in level.packs]
    known = {pack.name for pack in packs}
    return packs + [
        InstalledPack(name, place.scope, place.get_pack_path(name), pack.version, "", (MISSING,), ())
        for name, pack in locked.items()
        if name not in known
    ]


def _describe_pack(
    pack: PackFolder, hooks: tuple[Hook, ...], locked: LockedPack | None, sources: tuple[PackSource, ...]
) -> InstalledPack:
    content = read_pack_content(pack.name, pack.path)
    own = [
        hook
        for hook in hooks
        if not hook.is_whole_pack and hook.pack == pack.name and (hook.scope == USER) == (pack.scope == USER)
    ]
    edited = find_edited_files(content.files, dict(locked.files)) if locked is not None else ()
    newer = _find_newer(content, locked, sources)
    states = {
        INCOMPLETE: not content.manifest.is_readable or not own or any(hook.state == INVALID for hook in own),
        UNLOCKED: locked is None,
        EDITED: bool(edited),
        OLDER: bool(newer),
    }
    shown = tuple(state for state, holds in states.items() if holds) or (OK_STATE,)
    rows = tuple((hook.short_name, "on" if hook.state == ARMED else hook.state) for hook in own)
    manifest = content.manifest
    texts = (manifest.version, manifest.description)
    return InstalledPack(pack.name, pack.scope, pack.path, *texts, shown, rows, edited, newer)


def _find_newer(content: PackContent, locked: LockedPack | None, sources: tuple[PackSource, ...]) -> str:
    """Return the version of the pack that could be added now, if it is another one than was added; "" if not."""
    for source in sources:
        if source.name != content.name or locked is None or locked.origin.split()[0] != source.origin.split()[0]:
            continue
        offered = read_pack_content(source.name, source.folder)
        return offered.manifest.version if offered.files != dict(locked.files) else ""
    return ""
