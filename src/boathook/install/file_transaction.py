"""Change several files, all or none."""

from __future__ import annotations

import contextlib
import functools
import os
import stat
import tempfile
from collections.abc import Callable
from typing import Self


class FileTransaction:
    """Changes of files that are undone, the last first, if the block fails.

    `path` is the file that was changed last, for a message about an OSError; `unrestored` are files that could not be restored.
    """

    def __init__(self) -> None:
        self.path = ""
        self.unrestored: list[str] = []
        self._undo_steps: list[tuple[str, Callable[[], object]]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        for path, undo in reversed(self._undo_steps if kind is not None else ()):
            try:
                undo()
            except OSError:
                self.unrestored.append(path)

    def add_undo(self, path: str, undo: Callable[[], object]) -> None:
        self._undo_steps.append((path, undo))

    def make_folder(self, path: str, mode: int = 0o777) -> None:
        for folder in find_missing_folders(path):
            self.path = folder
            os.mkdir(folder, mode)
            self.add_undo(folder, functools.partial(remove_empty_folder, folder))

    def write(self, path: str, data: bytes | None, mode: int) -> None:
        if data is not None:
            self.make_folder(os.path.dirname(path))
        self.path = path
        old, old_mode = _read_if_exists(path)
        replace_file(path, data, mode)
        self.add_undo(path, lambda: replace_file(path, old, old_mode))

    def rename(self, path: str, target: str) -> None:
        self.path = path
        os.rename(path, target)
        self.add_undo(path, lambda: os.rename(target, path))


def _read_if_exists(path: str) -> tuple[bytes | None, int]:
    try:
        with open(path, "rb") as file:
            return file.read(), stat.S_IMODE(os.fstat(file.fileno()).st_mode)
    except FileNotFoundError:
        return None, 0


def remove_empty_folder(path: str) -> None:
    """Remove a folder unless there is something in it."""
    with contextlib.suppress(OSError):
        os.rmdir(path)


def find_missing_folders(path: str) -> list[str]:
    """Return the folders to make so that a path is a folder, the outermost first."""
    missing: list[str] = []
    while not os.path.isdir(path):
        missing.insert(0, path)
        path = os.path.dirname(path)
    return missing


def replace_file(path: str, data: bytes | None, mode: int) -> None:
    """Replace a file in one step, or remove it if there is no data; until it is complete, other users cannot read it."""
    if data is None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        return
    # mkstemp makes it readable for its owner only
    handle, temporary = tempfile.mkstemp(prefix=".boathook-", dir=os.path.dirname(path))
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def find_mode(path: str, default: int = 0o666) -> int:
    """Return the mode of a file; for one that does not exist, the default without the bits of the person's umask."""
    with contextlib.suppress(FileNotFoundError):
        return stat.S_IMODE(os.stat(path).st_mode)
    mask = os.umask(0o077)
    os.umask(mask)
    return default & ~mask
