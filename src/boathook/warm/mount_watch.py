"""The file systems that may hang: of a network, of a program, of another machine. The resident must not touch them itself."""

from __future__ import annotations

import os

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


class MountWatch:
    """Where such file systems are mounted; the handle can be polled for changes (POLLPRI)."""

    def __init__(self, *needed: str) -> None:
        self._needed = [os.fsencode(os.path.realpath(path)) for path in needed]
        self.handle = os.open("/proc/self/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
        self._points: list[bytes] = []
        self.refresh()

    def refresh(self) -> None:
        parts, offset = [], 0
        while part := os.pread(self.handle, 1 << 16, offset):
            parts.append(part)
            offset += len(part)
        points = find_doubtful_points(b"".join(parts))
        # If what the resident itself needs hangs, there is nothing to save.
        self._points = [point for point in points if not any(is_below(path, point) for path in self._needed)]

    def may_hang(self, folder: str, data: bytes) -> bool:
        """Whether an event in a folder may be about files on such a file system. Links that lead there are not seen."""
        if not self._points:
            return False
        # Any path can be written like this.
        if b"\\u" in data:
            return True
        path, text = os.fsencode(folder), data.replace(b"\\/", b"/")
        return any(is_below(path, point) or point in text for point in self._points)


def find_doubtful_points(text: bytes) -> list[bytes]:
    """Return the mount points in a text of /proc/PID/mountinfo whose file systems may hang."""
    points = []
    for line in text.split(b"\n"):
        before, _, after = line.partition(b" - ")
        fields, kind = before.split(b" "), after.partition(b" ")[0].decode("ascii", "replace")
        if len(fields) > 4 and kind not in _LOCAL_TYPES:
            points.append(_unescape(fields[4]))
    return points


def is_below(path: bytes, point: bytes) -> bool:
    return point == b"/" or path == point or path.startswith(point + b"/")


def _unescape(path: bytes) -> bytes:
    for escape, sign in _ESCAPES:
        path = path.replace(escape, sign)
    return path
