"""The folder of a pack as it is copied, added, replaced and removed: all of it or nothing."""

from __future__ import annotations

import os
import shutil

from boathook.core.hashing import hexdigest
from boathook.core.hook import ERROR, INVALID, USER, Hook
from boathook.core.value import Value
from boathook.errors import ConfigError
from boathook.packs.pack_source import PackSource
from boathook.sources.pack_folders import PackFolder, read_pack
from boathook.sources.pack_md import PackManifest, read_pack_manifest
from boathook.trust.snapshot import FILE, FOLDER, Snapshot, SnapshotError, read_snapshot

_SCRIPT_START = b"#!"
# Linux: renameat2 with RENAME_EXCHANGE, so that there is no moment without the pack.
_AT_FDCWD, _EXCHANGE = -100, 2


class PackContent(Value):
    """A pack as its files say: its manifest, its hooks by their short names, and the hash of each file.

    `problem` is why none of its hooks can be read, "" if they can.
    """

    name: str
    manifest: PackManifest
    hooks: tuple[tuple[str, Hook], ...]
    snapshot: Snapshot
    problem: str = ""

    @property
    def files(self) -> dict[str, str]:
        return {item.path: hexdigest(item.data) for item in self.snapshot.items if item.kind != FOLDER}

    def find_hook_files(self, hook: str) -> dict[str, str]:
        return {path: digest for path, digest in self.files.items() if path.startswith(f"hooks/{hook}/")}


def read_pack_content(name: str, folder: str) -> PackContent:
    """Read a pack from its folder, whatever state it is in."""
    try:
        snapshot = read_snapshot(os.path.realpath(folder))
    except SnapshotError as error:
        raise ConfigError(f"the pack in {folder} cannot be read: {error}") from None
    read = read_pack(PackFolder(name, os.path.realpath(folder), USER), folder)
    hooks = tuple((hook.short_name, hook) for hook, _ in read.hooks if not hook.is_whole_pack)
    problem = read.diagnostics[0].message if any(hook.is_whole_pack for hook, _ in read.hooks) else ""
    return PackContent(name, read_pack_manifest(folder, USER), hooks, snapshot, problem)


def read_source_content(source: PackSource) -> PackContent:
    """Read a pack that is to be added; one that is not whole is refused."""
    content = read_pack_content(source.name, source.folder)
    if content.problem:
        raise ConfigError(f"the pack {source.name} cannot be added: {content.problem}")
    problems = [one for one in content.manifest.diagnostics if one.level == ERROR]
    problems += [one for _, hook in content.hooks if hook.state == INVALID for one in hook.diagnostics[-1:]]
    if problems:
        raise ConfigError(f"the pack {source.name} cannot be added, because it is not whole: {problems[0]}")
    return content


def place_pack(content: PackContent, target: str) -> None:
    """Copy a pack to its place, in one rename; the one that was there is replaced."""
    new = f"{os.path.dirname(target)}/.{os.path.basename(target)}-{os.getpid()}.new"
    os.makedirs(os.path.dirname(target), exist_ok=True)
    try:
        write_files(content.snapshot, new)
        if not os.path.lexists(target):
            os.rename(new, target)
        elif not _exchange(new, target):
            old = f"{new}.old"
            os.rename(target, old)
            try:
                os.rename(new, target)
            except OSError:
                os.rename(old, target)
                raise
            shutil.rmtree(old)
    finally:
        # What is left here is the old pack, or one that is not whole.
        shutil.rmtree(new, ignore_errors=True)


def write_files(snapshot: Snapshot, root: str) -> None:
    """Write the files of a pack; scripts are executable, whatever the archive was that they came in."""
    for item in snapshot.items:
        path = f"{root}/{item.path}" if item.path else root
        if item.kind == FOLDER:
            os.mkdir(path, 0o755)
        elif item.kind == FILE:
            with open(path, "xb") as file:
                file.write(item.data)
            os.chmod(path, 0o755 if item.data.startswith(_SCRIPT_START) else 0o644)
        else:
            os.symlink(os.fsdecode(item.data), path)


def remove_pack(target: str) -> None:
    """Remove a pack in one rename, and then its files and the folder of its owner if nothing else is in it."""
    owner = os.path.dirname(target)
    old = f"{owner}/.{os.path.basename(target)}-{os.getpid()}.old"
    os.rename(target, old)
    shutil.rmtree(old, ignore_errors=True)
    if not os.listdir(owner):
        os.rmdir(owner)


def _exchange(one: str, other: str) -> bool:
    """Exchange two folders in one step; return whether this system can."""
    import ctypes

    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    return bool(rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _EXCHANGE) == 0)
