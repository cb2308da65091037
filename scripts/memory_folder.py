"""Scratch files in memory: the tests make and remove some 100,000 folders, and a disk takes many times as long for each.

Only root may do this, and only on Linux; for others nothing changes. The mount is private to this process and what it starts, so
nobody else sees it, and it ends with the last of them.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import tempfile

_CLONE_NEWNS = 0x00020000
_MS_REC, _MS_PRIVATE = 0x4000, 0x40000
_MNT_DETACH = 2
_IN_USE = "in-use"


def mount_memory(folder: str | os.PathLike[str], mode: int, owner: int = 0) -> bool:
    """Have the files of a folder in memory, in the eyes of this process and its children; return False if it may not."""
    if sys.platform != "linux" or os.geteuid():
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    path, options = os.fsencode(folder), f"mode={mode:o},uid={owner},gid={owner}".encode()
    return bool(
        libc.unshare(_CLONE_NEWNS) == 0
        and libc.mount(None, b"/", None, ctypes.c_ulong(_MS_REC | _MS_PRIVATE), None) == 0
        and libc.mount(b"tmpfs", path, b"tmpfs", ctypes.c_ulong(0), options) == 0
    )


def keep_scratch_files_in_memory() -> None:
    """Make a folder in memory the one for temporary files, until this process ends; without the right to, change nothing."""
    folder = tempfile.mkdtemp(prefix="memory-")
    # Below the mount, others see the folder on the disk. As long as it has a file, `rmdir` cannot take it from under our feet.
    open(os.path.join(folder, _IN_USE), "w").close()
    # The mode of /tmp, because what is beside a file matters to boathook.
    if not mount_memory(folder, 0o1777):
        _remove_folder(folder)
        return
    tempfile.tempdir = os.environ["TMPDIR"] = folder
    atexit.register(_end_memory, folder, os.getpid())


def unmount_memory(folder: str | os.PathLike[str]) -> None:
    """Forget the files of a folder in memory; do nothing if they are on a disk."""
    if sys.platform == "linux":
        ctypes.CDLL(None).umount2(os.fsencode(folder), _MNT_DETACH)


def _end_memory(folder: str, pid: int) -> None:
    # A child that was forked ends, too.
    if os.getpid() == pid:
        unmount_memory(folder)
        _remove_folder(folder)


def _remove_folder(folder: str) -> None:
    os.unlink(os.path.join(folder, _IN_USE))
    os.rmdir(folder)
