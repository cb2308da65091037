"""The file system as self-protection asks it: real paths, whether something is there, and what is in a folder."""

from __future__ import annotations

import os

_MAX_FILES = 2000


class DiskView:
    """Answers from the disk; what cannot be read is as if it were not there."""

    def find_real(self, path: str) -> str:
        try:
            return os.path.realpath(path)
        except (OSError, ValueError):
            return path

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
