"""Reading and writing files that somebody else may have prepared."""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    Stamp = tuple[int, int, int] | None

MANIFEST_LIMIT = 1 << 20


class FileError(Exception):
    """A file that is not read: why."""


def read_regular(path: str, limit: int = MANIFEST_LIMIT) -> bytes:
    """Read a regular file up to a limit; never waits on a FIFO, never reads a device, never more than allowed."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except ValueError:
        raise FileError("cannot be opened: its path holds a NUL") from None
    except OSError as error:
        raise FileError(f"cannot be opened: {error.strerror}") from None
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise FileError("is not a regular file")
        if found.st_size > limit:
            raise FileError(f"is larger than {limit // 1024} KiB")
        parts, left = [], limit + 1
        while left > 0 and (part := os.read(handle, left)):
            parts.append(part)
            left -= len(part)
        if left <= 0:
            raise FileError(f"is larger than {limit // 1024} KiB")
        return b"".join(parts)
    except OSError as error:
        raise FileError(f"cannot be read: {error.strerror}") from None
    finally:
        os.close(handle)


def read_text(path: str, limit: int = MANIFEST_LIMIT) -> str:
    """Read a regular file as UTF-8, a byte-order mark forgiven."""
    data = read_regular(path, limit)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(f"is not UTF-8 at byte {error.start}") from None
    if "\0" in text:
        raise FileError("contains a NUL character")
    return text


def may_be_there(path: str) -> bool:
    """Whether something may be at a path: it is, or that cannot be found out, which must not pass for nothing."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True
    return True


def find_foreign_owner(path: str) -> str | None:
    """Return why a folder is not safe to run hooks from: somebody else owns it or anybody may write to it."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    if not hasattr(os, "getuid"):
        return None
    if found.st_uid not in (os.getuid(), 0):
        return f"belongs to another user (uid {found.st_uid})"
    if found.st_mode & stat.S_IWOTH:
        return "can be written by anybody (chmod o-w)"
    return None


def find_exposure(path: str) -> str | None:
    """Return why a file or folder of the user is not safe to run from: others can write to it; a private group is no other."""
    if why := find_foreign_owner(path):
        return why
    try:
        found = os.stat(path)
    except OSError:
        return None
    if found.st_mode & stat.S_IWGRP and found.st_gid != found.st_uid:
        return "can be written by its group (chmod g-w)"
    return None


def find_exposed_parent(path: str) -> str | None:
    """Return which folder above a path others can write to, so that they could put another in its place."""
    at = os.path.dirname(os.path.realpath(path))
    while at != "/":
        why = find_exposure(at)
        if why and not _is_sticky(at):
            return f"lies in {at}, which {why}"
        at = os.path.dirname(at)
    return None


def _is_sticky(path: str) -> bool:
    """Whether only the owners of what lies in a folder can move it, as in /tmp."""
    found = os.stat(path)
    return bool(found.st_mode & stat.S_ISVTX) and found.st_uid in (0, os.getuid())


def write_private(path: str, data: bytes) -> None:
    """Write a file that only the user can read, all of it or nothing, replacing what was there."""
    folder = os.path.dirname(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    temporary = f"{path}.{os.getpid()}.new"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
        os.close(handle)
        handle = -1
        os.replace(temporary, path)
    except BaseException:
        if handle >= 0:
            os.close(handle)
        os.unlink(temporary)
        raise


def make_stamp(path: str) -> Stamp:
    """Return what changes when a file or folder changes; of a path with a slash at its end, when the folder's mode changes."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    if path.endswith("/"):
        return (status.st_mode, status.st_uid, status.st_ino)
    return (status.st_ctime_ns, status.st_size, status.st_ino)
