"""The file systems that may hang: of a network, of a program, of another machine. The resident must not touch them itself."""

from __future__ import annotations

import os
from collections.abc import Collection

from boathook.catalog_cache.format import forget_catalogues
from boathook.entry.surroundings import read_process_file
from boathook.system.locations import RealPaths

# A file system of any other kind may wait for something else than a disk or memory.
_LOCAL_TYPES = frozenset(
    (
        *("bcachefs", "btrfs", "devtmpfs", "erofs", "exfat", "ext2", "ext3", "ext4", "f2fs", "iso9660", "jfs"),
        *("overlay", "proc", "ramfs", "reiserfs", "rootfs", "squashfs", "sysfs", "tmpfs", "vfat", "xfs", "zfs"),
        # Of the kernel itself.
        *("binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "efivarfs", "fusectl"),
        *("hugetlbfs", "mqueue", "nsfs", "pstore", "securityfs", "selinuxfs", "tracefs"),
    )
)
_ESCAPES = ((b"\\040", b" "), (b"\\011", b"\t"), (b"\\012", b"\n"), (b"\\134", b"\\"))


class MayHangError(Exception):
    """The resident must not touch something; the text says what."""


class MountWatch:
    """Where such file systems are mounted; the handle can be polled for changes (POLLPRI)."""

    def __init__(self, *needed: str) -> None:
        self._needed = [os.fsencode(os.path.realpath(path)) for path in needed]
        self.handle = os.open("/proc/self/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
        self._points: list[bytes] = []
        # By their numbers: those that may hang, and all.
        self._doubtful: Collection[int] = ()
        self._known: Collection[int] = ()
        self.refresh()

    def refresh(self) -> None:
        parts, offset = [], 0
        while part := os.pread(self.handle, 1 << 16, offset):
            parts.append(part)
            offset += len(part)
        mounts = read_mounts(b"".join(parts))
        # If what the resident itself needs hangs, there is nothing to save.
        doubtful = {
            number: point
            for number, (point, is_local) in mounts.items()
            if not is_local and not any(is_below(path, point) for path in self._needed)
        }
        self._points, self._doubtful, self._known = [*doubtful.values()], doubtful.keys(), mounts.keys()
        # What an event names relative to its folder, or by a link.
        RealPaths.avoided = tuple(os.fsdecode(point) for point in self._points)
        # Their files were not looked for there.
        forget_catalogues()

    def is_named(self, data: bytes) -> bool:
        """Whether an event names a file on such a file system."""
        if not self._points:
            return False
        # Any path can be written like this.
        if b"\\u" in data:
            return True
        text = data.replace(b"\\/", b"/")
        return any(point in text for point in self._points)

    def check_process(self, process: int) -> None:
        """Raise MayHangError if a process has its folder or a stream on such a file system; to find out touches none of them.

        Streams count because to close a file may take for ever, too.
        """
        folder = os.open("cwd", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=process)
        try:
            number = _find_mount(process, f"/proc/self/fdinfo/{folder}")
        finally:
            os.close(folder)
        # A mount that was taken away may still hang: it has no line any more.
        if number in self._doubtful or number not in self._known:
            raise MayHangError("a folder on a file system that may hang (of a network or a program)")
        if self._doubtful and any(_find_mount(process, f"fdinfo/{stream}") in self._doubtful for stream in range(3)):
            raise MayHangError("a stream on a file system that may hang (of a network or a program)")


def read_mounts(text: bytes) -> dict[int, tuple[bytes, bool]]:
    """Return where each mount of /proc/PID/mountinfo is, by its number, and whether its file system is local."""
    mounts: dict[int, tuple[bytes, bool]] = {}
    for line in text.split(b"\n"):
        before, _, after = line.partition(b" - ")
        fields, kind = before.split(b" "), after.partition(b" ")[0].decode("ascii", "replace")
        if len(fields) > 4:
            mounts[int(fields[0])] = _unescape(fields[4]), kind in _LOCAL_TYPES
    return mounts


def _find_mount(process: int, path: str) -> int:
    lines = read_process_file(process, path).split(b"\n")
    return next(int(line.split()[1]) for line in lines if line.startswith(b"mnt_id:"))


def is_below(path: bytes, point: bytes) -> bool:
    return point == b"/" or path == point or path.startswith(point + b"/")


def _unescape(path: bytes) -> bytes:
    for escape, sign in _ESCAPES:
        path = path.replace(escape, sign)
    return path
