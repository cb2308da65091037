"""The machine as self-protection asks it: real paths, whether something is there, what is in a folder, and programs."""

from __future__ import annotations

import os
import shutil
from typing import Protocol

_MAX_FILES = 2000


class FileView(Protocol):
    """What the rules ask of the machine."""

    def find_real(self, path: str) -> str: ...
    def exists(self, path: str) -> bool: ...
    def list_below(self, folder: str) -> tuple[str, ...]: ...
    def find_program(self, name: str) -> str: ...
    def get_variable(self, name: str) -> str: ...


class DiskView:
    """Answers from the disk, for one call; what cannot be read is as if it were not there."""

    def __init__(self) -> None:
        # A command with thousands of words is mostly about a few folders.
        self._folders: dict[str, str] = {}

    def find_real(self, path: str) -> str:
        folder, _, name = path.rpartition("/")
        try:
            if folder not in self._folders:
                self._folders[folder] = os.path.realpath(folder or "/").rstrip("/")
            real = f"{self._folders[folder]}/{name}"
            return os.path.realpath(real) if os.path.islink(real) else real
        except (OSError, ValueError):
            return path

    def find_program(self, name: str) -> str:
        """Return the path of a program that is started by its name, "" if there is none."""
        return shutil.which(name) or ""

    def get_variable(self, name: str) -> str:
        return os.environ.get(name, "")

    def exists(self, path: str) -> bool:
        return os.path.lexists(path)

    def list_below(self, folder: str) -> tuple[str, ...]:
        """Return the paths below a folder, relative to it, up to a limit."""
        found: list[str] = []
        for top, folders, files in os.walk(folder):
            found += [os.path.relpath(os.path.join(top, name), folder) for name in (*folders, *files)]
            if len(found) > _MAX_FILES:
                break
        return tuple(found[:_MAX_FILES])
