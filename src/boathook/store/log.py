"""The log: what async hooks printed and how they ended, where nobody was waiting for them."""

from __future__ import annotations

import os
import stat

LIMIT = 1 << 20
LINE_LIMIT = 1 << 16


class Log:
    """An append-only text file of bounded size; writing to it never fails loudly and never waits."""

    def __init__(self, path: str) -> None:
        """Take the path; the file and its folder are made when needed."""
        self.path = path

    def write(self, text: str) -> bool:
        """Append lines in one write; say whether it worked."""
        data = text.encode("utf-8", "backslashreplace")[:LINE_LIMIT]
        try:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            handle = os.open(self.path, flags, 0o600)
        except OSError:
            return False
        try:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                return False
            done = os.write(handle, data) == len(data)
            if found.st_size + len(data) > LIMIT:
                os.replace(self.path, self.path + ".1")
            return done
        except OSError:
            return False
        finally:
            os.close(handle)
