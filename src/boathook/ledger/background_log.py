"""The log: what async hooks printed and how they ended, where nobody was waiting for them."""

from __future__ import annotations

import errno
import os
import stat

LIMIT = 1 << 20
LINE_LIMIT = 1 << 16


class Log:
    """An append-only text file of bounded size; writing to it never fails loudly and never waits."""

    def __init__(self, path: str) -> None:
        """Take the path; the file and its folder are made when needed."""
        self.path = path

    def trouble(self) -> str:
        """Return why nothing can be written to the log, if so."""
        try:
            os.close(self._open())
        except OSError as error:
            return f"{self.path} cannot be written ({error.strerror}): what async hooks say is lost"
        return ""

    def write(self, text: str) -> bool:
        """Append lines in one write; say whether it worked."""
        data = text.encode("utf-8", "backslashreplace")[:LINE_LIMIT]
        try:
            handle = self._open()
        except OSError:
            return False
        try:
            size = os.fstat(handle).st_size
            done = os.write(handle, data) == len(data)
            if size + len(data) > LIMIT:
                os.replace(self.path, self.path + ".1")
            return done
        except OSError:
            return False
        finally:
            os.close(handle)

    def _open(self) -> int:
        """Open the file for appending; what is no regular file is refused, and never waited for."""
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        handle = os.open(self.path, flags, 0o600)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise OSError(errno.EINVAL, "it is no regular file")
        return handle
