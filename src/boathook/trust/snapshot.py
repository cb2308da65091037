"""A folder or file as one value: read once, with limits, without following a link; hashed and copied from the same bytes."""

from __future__ import annotations

import os
import stat

from boathook.core.approval import resolve_copy_path
from boathook.core.hashing import hexdigest, sha256
from boathook.core.value import Value

FILE, FOLDER, LINK = "file", "folder", "link"
# Made by tools; never copied, so never run.
IGNORED_NAMES = ("__pycache__", ".git", ".DS_Store")
# Beside a HOOK.md: its tests. A new test must not ask a whole team again. They are never copied, so no trusted hook can run them.
TEST_NAMES = ("tests.txt", "tests")
_MANIFEST_NAMES = ("HOOK.md", "hook.md")
MAX_SNAPSHOT_FILES = 512
MAX_SNAPSHOT_BYTES = 8 << 20
MAX_SNAPSHOT_DEPTH = 16
_MAX_LINKS = 40
_FILE_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_FOLDER_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | getattr(os, "O_DIRECTORY", 0)


class SnapshotError(Exception):
    """Why a folder cannot be trusted as it is; it holds as long as nothing changes at `watch`, if there is any."""

    def __init__(self, message: str, watch: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.watch = watch


class SnapshotItem(Value):
    path: str
    kind: str
    mode: int
    data: bytes = b""


class Snapshot(Value):
    items: tuple[SnapshotItem, ...]

    def find_target(self, path: str) -> SnapshotItem | None:
        """Return what is at a path, links followed; None if there is nothing."""
        items = {item.path: item for item in self.items}
        done: list[str] = []
        rest = path.split("/")
        links_left = _MAX_LINKS
        while rest and links_left:
            name = rest.pop(0)
            item = items.get("/".join((*done, name)))
            if name in ("", "."):
                continue
            if name == "..":
                done = done[:-1]
            elif item is not None and item.kind == LINK:
                links_left -= 1
                rest = [*item.data.decode("utf-8", "surrogateescape").split("/"), *rest]
            else:
                done.append(name)
        return items.get("/".join(done)) if links_left else None

    def compute_digest(self) -> str:
        digest = sha256(b"boathook tree 1\n")
        for item in self.items:
            name = item.path.encode("utf-8", "surrogateescape")
            head = f"{item.kind} {item.mode:o} {len(name)} {len(item.data)}\n".encode()
            digest.update(head + name + item.data)
        return digest.hexdigest()

    def summarize_items(self) -> dict[str, str]:
        return {item.path: f"{item.kind} {item.mode:o} {hexdigest(item.data)}" for item in self.items}


def read_snapshot(root: str) -> Snapshot:
    reader = _SnapshotReader(root)
    try:
        handle = os.open(root, _FILE_FLAGS)
    except (OSError, ValueError) as error:
        raise SnapshotError(f"{root} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    try:
        status = os.fstat(handle)
        if stat.S_ISDIR(status.st_mode):
            reader.read_folder(handle, "", 0)
        else:
            reader.read_file(handle, status, "")
    except SnapshotError as error:
        error.watch = reader.list_paths()
        raise
    except OSError as error:
        raise SnapshotError(f"{root} cannot be read: {error.strerror}") from None
    finally:
        os.close(handle)
    return Snapshot(tuple(reader.items))


class _SnapshotReader:
    def __init__(self, root: str) -> None:
        self.root = root
        self.items: list[SnapshotItem] = []
        self.size = 0
        self._last_file = ""
        self._has_tests = False

    def list_paths(self) -> tuple[str, ...]:
        return tuple(map(self._get_full_path, (*(item.path for item in self.items), self._last_file)))

    def read_folder(self, handle: int, path: str, depth: int) -> None:
        if depth > MAX_SNAPSHOT_DEPTH:
            raise SnapshotError(f"{self._get_full_path(path)} is more than {MAX_SNAPSHOT_DEPTH} folders deep")
        self._add(SnapshotItem(path, FOLDER, stat.S_IMODE(os.fstat(handle).st_mode)))
        names = sorted(os.listdir(handle))
        if not path:
            self._has_tests = any(name in _MANIFEST_NAMES for name in names)
        for name in names:
            if name in IGNORED_NAMES or (not path and self._has_tests and name in TEST_NAMES):
                continue
            below = f"{path}/{name}" if path else name
            mode = os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode):
                target = os.readlink(name, dir_fd=handle)
                if _leaves_folder(target, below.count("/")):
                    raise SnapshotError(f"{self._get_full_path(below)} is a link that leaves the folder")
                if self._has_tests and _points_to_tests(target, below):
                    problem = f"{self._get_full_path(below)} is a link to the tests of the hook"
                    raise SnapshotError(f"{problem}, which are no part of what is trusted. Move what the hook needs")
                self._add(SnapshotItem(below, LINK, 0, target.encode("utf-8", "surrogateescape")))
            elif stat.S_ISDIR(mode):
                self._read_below(handle, name, _FOLDER_FLAGS, below, depth + 1)
            elif stat.S_ISREG(mode):
                self._read_below(handle, name, _FILE_FLAGS, below, depth + 1)
            else:
                raise SnapshotError(f"{self._get_full_path(below)} is neither a file nor a folder")

    def _read_below(self, parent: int, name: str, flags: int, path: str, depth: int) -> None:
        handle = os.open(name, flags, dir_fd=parent)
        try:
            if flags == _FOLDER_FLAGS:
                self.read_folder(handle, path, depth)
            else:
                self.read_file(handle, os.fstat(handle), path)
        finally:
            os.close(handle)

    def read_file(self, handle: int, status: os.stat_result, path: str) -> None:
        if not stat.S_ISREG(status.st_mode):
            raise SnapshotError(f"{self._get_full_path(path)} is neither a file nor a folder")
        self._last_file = path
        chunks: list[bytes] = []
        while chunk := os.read(handle, 1 << 18):
            chunks.append(chunk)
            self.size += len(chunk)
            if self.size > MAX_SNAPSHOT_BYTES:
                raise SnapshotError(
                    f"{self.root} has more than {MAX_SNAPSHOT_BYTES >> 20} MiB. Move large files out of it"
                )
        self._add(SnapshotItem(path, FILE, stat.S_IMODE(status.st_mode), b"".join(chunks)))

    def _add(self, item: SnapshotItem) -> None:
        self.items.append(item)
        if len(self.items) > MAX_SNAPSHOT_FILES:
            problem = f"{self.root} has more than {MAX_SNAPSHOT_FILES} files and folders"
            raise SnapshotError(f"{problem}. Move those that the hook does not need out of it")

    def _get_full_path(self, path: str) -> str:
        return f"{self.root}/{path}" if path else self.root


def describe_root(root: str, snapshot: Snapshot) -> str:
    return f"{snapshot.compute_digest()} {os.path.basename(root)}"


def is_copy_of(snapshot: Snapshot, root: str) -> bool:
    """Whether the copy at `root` still has the content of a snapshot; its modes differ."""
    try:
        copy = read_snapshot(root)
    except SnapshotError:
        return False
    contents = [[(item.path, item.kind, item.data) for item in each.items] for each in (copy, snapshot)]
    return contents[0] == contents[1]


def has_copies(copy_folder: str, snapshots: dict[str, Snapshot]) -> bool:
    copies = [resolve_copy_path(copy_folder, index, root) for index, root in enumerate(snapshots)]
    return all(map(is_copy_of, snapshots.values(), copies))


def _leaves_folder(target: str, depth: int) -> bool:
    """Whether a link leads out of its folder; so does `..` after a name, because that name may be a link, too."""
    if not target or target.startswith("/"):
        return True
    has_name = False
    for name in target.split("/"):
        if name == "..":
            depth -= 1
            if has_name or depth < 0:
                return True
        elif name not in ("", "."):
            has_name = True
    return False


def _points_to_tests(target: str, path: str) -> bool:
    """Whether a link within a hook folder leads to its tests; it has no `..` after a name."""
    steps = [step for step in target.split("/") if step not in ("", ".")]
    folders = path.split("/")[:-1]
    ups = steps.count("..")
    return [*folders[: len(folders) - ups], *steps[ups:]][:1] in [[name] for name in TEST_NAMES]


def write_snapshot(snapshot: Snapshot, root: str) -> None:
    """Write a copy that its owner can read and run but not change; `root` must not exist yet."""
    folders: list[str] = []
    for item in snapshot.items:
        path = f"{root}/{item.path}" if item.path else root
        if item.kind == FOLDER:
            os.mkdir(path, 0o700)
            folders.append(path)
        elif item.kind == LINK:
            os.symlink(item.data.decode("utf-8", "surrogateescape"), path)
        else:
            _write_file(path, item)
    for path in reversed(folders):
        os.chmod(path, 0o500)


def _write_file(path: str, item: SnapshotItem) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    handle = os.open(path, flags, 0o600)
    try:
        view = memoryview(item.data)
        while view:
            view = view[os.write(handle, view) :]
        os.fchmod(handle, 0o500 if item.mode & 0o111 else 0o400)
    finally:
        os.close(handle)


def remove_snapshot(root: str) -> None:
    import shutil

    for folder, _, _ in os.walk(root):
        os.chmod(folder, 0o700)
    shutil.rmtree(root, ignore_errors=True)
