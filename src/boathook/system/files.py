"""Read and write files that an attacker may have prepared."""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    Stamp = tuple[int, int, int] | None

MAX_FILE_BYTES = 1 << 20


class FileError(Exception):
    """Why a file was not read, as the end of a sentence that begins with its name."""


def read_regular(path: str, limit: int = MAX_FILE_BYTES) -> bytes:
    """Return the content of a regular file up to a limit; never wait for a FIFO, and never read a device."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except ValueError:
        raise FileError("cannot be opened: its path contains a NUL") from None
    except OSError as error:
        raise FileError(f"cannot be opened: {error.strerror}") from None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise FileError("is not a regular file")
        if status.st_size > limit:
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


def read_text(path: str, limit: int = MAX_FILE_BYTES) -> str:
    data = read_regular(path, limit)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(f"is not UTF-8 at byte {error.start}") from None
    if "\0" in text:
        raise FileError("contains a NUL character")
    return text


def may_exist(path: str) -> bool:
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True
    return True


def find_foreign_owner(path: str) -> str | None:
    """Return why a folder is not safe to run hooks from: another user owns it or anybody can write to it."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    if not hasattr(os, "getuid"):
        return None
    if status.st_uid not in (os.getuid(), 0):
        return f"belongs to another user (uid {status.st_uid})"
    if status.st_mode & stat.S_IWOTH:
        return "can be written by anybody (chmod o-w)"
    return None


def find_exposure(path: str) -> str | None:
    """Return why a file or folder of the user is not safe to run from: others can write to it, the user's own group excepted."""
    if reason := find_foreign_owner(path):
        return reason
    try:
        status = os.stat(path)
    except OSError:
        return None
    if status.st_mode & stat.S_IWGRP and status.st_gid != status.st_uid:
        return "can be written by its group (chmod g-w)"
    return None


def find_exposed_parent(path: str) -> str | None:
    """Return which folder above a path others can write to: they could replace what is below it."""
    at = os.path.dirname(os.path.realpath(path))
    while at != "/":
        reason = find_exposure(at)
        if reason and not _is_sticky(at):
            return f"is in {at}, which {reason}"
        at = os.path.dirname(at)
    return None


def _is_sticky(path: str) -> bool:
    """Whether only the owner of a file in a folder can move it, as in /tmp."""
    status = os.stat(path)
    return bool(status.st_mode & stat.S_ISVTX) and status.st_uid in (0, os.getuid())


def write_private(path: str, data: bytes) -> None:
    """Write a file that only the user can read, completely or not at all, in the place of the old one."""
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
