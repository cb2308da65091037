"""A folder or file as one value: read once, bounded, without following a link; hashed and copied from the same bytes.

What is trusted is such a value, and what runs is a copy made from it, so nothing can be changed between the look and the use.
"""

from __future__ import annotations

import os
import stat

from boathook.core.hashing import hexdigest, sha256
from boathook.core.value import Value

MAX_SNAPSHOT_FILES = 512
MAX_SNAPSHOT_BYTES = 8 << 20
MAX_SNAPSHOT_DEPTH = 16
IGNORED_NAMES = ("__pycache__", ".git", ".DS_Store")  # made by tools, never copied, so never run
O_FILE = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
O_FOLDER = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | getattr(os, "O_DIRECTORY", 0)
FILE, FOLDER, LINK = "file", "folder", "link"


class SnapshotError(Exception):
    """A folder that cannot be trusted as it is: why."""


class SnapshotItem(Value):
    """One thing in a tree: its path below the root, what it is, its mode, and its content (of a link: where it leads)."""

    path: str
    kind: str
    mode: int
    data: bytes = b""


class Snapshot(Value):
    """Everything below a root, in order; a tree of one file has one part without a path."""

    parts: tuple[SnapshotItem, ...]

    def digest(self) -> str:
        """Return the digest of names, kinds, modes and contents."""
        whole = sha256(b"boathook tree 1\n")
        for part in self.parts:
            name = part.path.encode("utf-8", "surrogateescape")
            head = f"{part.kind} {part.mode:o} {len(name)} {len(part.data)}\n".encode()
            whole.update(head + name + part.data)
        return whole.hexdigest()

    def listing(self) -> dict[str, str]:
        """Return the paths with a word about each that changes with it: mode and digest."""
        return {part.path: f"{part.kind} {part.mode:o} {hexdigest(part.data)}" for part in self.parts}


def read_snapshot(root: str) -> Snapshot:
    """Read a folder, or a single file, whole; what must not be in it is a fault that names the path."""
    reading = _Reading(root)
    try:
        handle = os.open(root, O_FILE)
    except (OSError, ValueError) as error:
        raise SnapshotError(f"{root} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    try:
        found = os.fstat(handle)
        if stat.S_ISDIR(found.st_mode):
            reading.folder(handle, "", 0)
        else:
            reading.file(handle, found, "")
    except OSError as error:
        raise SnapshotError(f"{root} cannot be read: {error.strerror}") from None
    finally:
        os.close(handle)
    return Snapshot(tuple(reading.parts))


class _Reading:
    """A tree on its way: what was found, and how much."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.parts: list[SnapshotItem] = []
        self.bytes = 0

    def folder(self, handle: int, path: str, depth: int) -> None:
        if depth > MAX_SNAPSHOT_DEPTH:
            raise SnapshotError(f"{self._show(path)} lies more than {MAX_SNAPSHOT_DEPTH} folders deep")
        self._add(SnapshotItem(path, FOLDER, stat.S_IMODE(os.fstat(handle).st_mode)))
        for name in sorted(os.listdir(handle)):
            if name in IGNORED_NAMES:
                continue
            below = f"{path}/{name}" if path else name
            found = os.stat(name, dir_fd=handle, follow_symlinks=False)
            if stat.S_ISLNK(found.st_mode):
                self._link(os.readlink(name, dir_fd=handle), below)
            elif stat.S_ISDIR(found.st_mode):
                self._inside(handle, name, O_FOLDER, below, depth + 1)
            elif stat.S_ISREG(found.st_mode):
                self._inside(handle, name, O_FILE, below, depth + 1)
            else:
                raise SnapshotError(f"{self._show(below)} is neither a file nor a folder")

    def _inside(self, parent: int, name: str, flags: int, path: str, depth: int) -> None:
        handle = os.open(name, flags, dir_fd=parent)
        try:
            if flags == O_FOLDER:
                self.folder(handle, path, depth)
            else:
                self.file(handle, os.fstat(handle), path)
        finally:
            os.close(handle)

    def file(self, handle: int, found: os.stat_result, path: str) -> None:
        if not stat.S_ISREG(found.st_mode):
            raise SnapshotError(f"{self._show(path)} is neither a file nor a folder")
        parts, size = [], 0
        while part := os.read(handle, 1 << 18):
            parts.append(part)
            size += len(part)
            if self.bytes + size > MAX_SNAPSHOT_BYTES:
                raise SnapshotError(f"{self.root} holds more than {MAX_SNAPSHOT_BYTES >> 20} MiB")
        self.bytes += size
        self._add(SnapshotItem(path, FILE, stat.S_IMODE(found.st_mode), b"".join(parts)))

    def _link(self, target: str, path: str) -> None:
        if _leaves(target, path.count("/")):
            raise SnapshotError(f"{self._show(path)} is a link that leaves the folder")
        self._add(SnapshotItem(path, LINK, 0, target.encode("utf-8", "surrogateescape")))

    def _add(self, part: SnapshotItem) -> None:
        self.parts.append(part)
        if len(self.parts) > MAX_SNAPSHOT_FILES:
            raise SnapshotError(f"{self.root} holds more than {MAX_SNAPSHOT_FILES} files and folders")

    def _show(self, path: str) -> str:
        return f"{self.root}/{path}" if path else self.root


def describe_root(root: str, tree: Snapshot) -> str:
    """Return what stands for a tree in the digest of a hook: its digest and the name of its root, which a script may see."""
    return f"{tree.digest()} {os.path.basename(root)}"


def is_copy_of(tree: Snapshot, root: str) -> bool:
    """Whether a copy still holds what it was made of; its modes are its own."""
    try:
        found = read_snapshot(root)
    except SnapshotError:
        return False
    return [(p.path, p.kind, p.data) for p in found.parts] == [(p.path, p.kind, p.data) for p in tree.parts]


def _leaves(target: str, depth: int) -> bool:
    """Whether a link leads out of the tree; `..` behind a name may follow another link, so it counts as out."""
    if not target or target.startswith("/"):
        return True
    inside = False
    for word in target.split("/"):
        if word == "..":
            depth -= 1
            if inside or depth < 0:
                return True
        elif word not in ("", "."):
            inside = True
    return False


def write_snapshot(tree: Snapshot, root: str) -> None:
    """Make a copy of a tree that its owner can read and run, and nobody write to; `root` must not be there yet."""
    folders = []
    for part in tree.parts:
        path = f"{root}/{part.path}" if part.path else root
        if part.kind == FOLDER:
            os.mkdir(path, 0o700)
            folders.append(path)
        elif part.kind == LINK:
            os.symlink(part.data.decode("utf-8", "surrogateescape"), path)
        else:
            _write(path, part)
    for path in reversed(folders):
        os.chmod(path, 0o500)


def _write(path: str, part: SnapshotItem) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    handle = os.open(path, flags, 0o600)
    try:
        view = memoryview(part.data)
        while view:
            view = view[os.write(handle, view) :]
        os.fchmod(handle, 0o500 if part.mode & 0o111 else 0o400)
    finally:
        os.close(handle)


def remove_snapshot(root: str) -> None:
    """Remove a copy, whose folders nobody can write to."""
    import shutil

    for folder, _, _ in os.walk(root):
        os.chmod(folder, 0o700)
    shutil.rmtree(root, ignore_errors=True)
