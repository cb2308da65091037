"""Read and write files that an attacker may have prepared."""

from __future__ import annotations

import os
import stat

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


def find_real_path(path: str) -> str:
    """Return the real path of a file or folder; the path itself if no file can have it, as with a NUL in it."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return path


def may_exist(path: str) -> bool:
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True
    return True


def is_private(status: os.stat_result, kind: int) -> bool:
    """Whether a file is of a kind (such as `stat.S_IFREG`), belongs to the user, and gives others no rights."""
    return stat.S_IFMT(status.st_mode) == kind and status.st_uid == os.geteuid() and not status.st_mode & 0o077


def open_own_folder(path: str) -> int:
    """Return a handle on a folder; OSError if it is missing, or gives others rights."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    if not is_private(os.fstat(handle), stat.S_IFDIR):
        os.close(handle)
        fix = f"chmod 700 {path}, or remove it if it belongs to another user"
        raise PermissionError(0, f"{path} must belong to you, and others must have no rights there. Fix: {fix}")
    return handle


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
