"""The paths that a call writes, with any tool: file tools, patches, redirections and programs that change files."""

from __future__ import annotations

import os
from fnmatch import fnmatch
from typing import Any

from boathook.guards import GuardedCall
from boathook.shell.arguments import UNKNOWN
from boathook.shell.path_change import CREATE, OVERLAY
from boathook.shell.path_changes import list_path_changes, list_redirected_paths
from boathook.shell.started_program import Started

# Programs that change a file without changing what is in it, or by rules of their own.
_NO_WRITERS = frozenset(
    ("chmod", "chown", "chgrp", "chattr", "setfacl", "touch", "git", "mkdir", "mount", "umount", "sqlite3")
)
_REMOVERS = frozenset(("rm", "unlink", "shred", "srm", "trash", "rimraf", "rmdir", "del", "wipe", "trash-put"))


_MAX_WORDS, _MAX_PROGRAMS = 1000, 1000


class WrittenPath:
    """A path that a call writes or deletes. `path` is from the root, as far as it is known; `shown` is as the agent wrote it."""

    def __init__(
        self, shown: str, path: str, *, is_deleted: bool, text: str = "", program: Started | None = None
    ) -> None:
        self.shown, self.path, self.is_deleted = shown.replace(UNKNOWN, "…"), path, is_deleted
        self.text, self.program = text, program

    @property
    def is_there(self) -> bool:
        """Whether there is such a file now."""
        return UNKNOWN not in self.path and os.path.exists(self.path)

    @property
    def is_absent(self) -> bool:
        """Whether it is certain that there is no such file now."""
        if UNKNOWN in self.path or not set("*?[{").isdisjoint(self.path) or not self.path.startswith("/"):
            return False
        try:
            os.lstat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return True
        except (OSError, ValueError):
            return False
        return False

    def matches(self, patterns: Any) -> bool:
        """Whether the path is one of some patterns: of a name, or of the end of a path, or of a folder (`x/`)."""
        name = self.path.rpartition("/")[2]
        for pattern in patterns:
            if pattern.endswith("/"):
                if f"/{pattern}" in f"{self.path}/":
                    return True
            elif fnmatch(self.path, f"*/{pattern}") if "/" in pattern else fnmatch(name, pattern):
                return True
        return False


def list_written_paths(call: GuardedCall) -> list[WrittenPath]:
    """Return every path that a call writes or deletes."""
    found = [
        WrittenPath(one.path, call.make_absolute(one.path), is_deleted=one.change == "delete", text=one.text)
        for one in call.writes
        if one.path
    ]
    for whole in call.programs[:_MAX_PROGRAMS]:
        program = whole if len(whole.words) <= _MAX_WORDS else whole.replace(words=whole.words[:_MAX_WORDS])
        changes = list_path_changes(program) if program.name not in _NO_WRITERS else None
        targets = {change.path.rstrip("/") for change in changes or ()}
        for change in (*list_redirected_paths(program), *(changes or ())):
            # `cp a b` writes b, or b/a if b is a folder.
            parent, _, name = change.path.rpartition("/")
            is_doubtful = name and parent in targets and not os.path.isdir(program.make_absolute(parent))
            if change.way not in (OVERLAY, CREATE) and not is_doubtful:
                found.append(
                    WrittenPath(
                        change.path,
                        _normalize(program.make_absolute(change.path)),
                        is_deleted=program.name in _REMOVERS and change.path not in program.outputs,
                        program=program,
                    )
                )
    return found


def _normalize(path: str) -> str:
    return path if UNKNOWN in path else os.path.normpath(path)
