"""The log of async hooks: what they printed and how they ended."""

from __future__ import annotations

import errno
import os
import stat

from boathook.core.text import clean_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from boathook.core.verdict import Exit

MAX_LOG_BYTES = 1 << 20
MAX_ENTRY_BYTES = 1 << 16


class BackgroundLog:
    def __init__(self, path: str) -> None:
        self.path = path

    def find_error(self) -> str:
        try:
            os.close(self._open())
        except OSError as error:
            return f"{self.path} cannot be written ({error.strerror}): the output of async hooks is lost"
        return ""

    def write(self, text: str) -> bool:
        data = text.encode("utf-8", "backslashreplace")[:MAX_ENTRY_BYTES]
        try:
            handle = self._open()
        except OSError:
            return False
        try:
            size = os.fstat(handle).st_size
            is_written = os.write(handle, data) == len(data)
            if size + len(data) > MAX_LOG_BYTES:
                os.replace(self.path, self.path + ".1")
            return is_written
        except OSError:
            return False
        finally:
            os.close(handle)

    def _open(self) -> int:
        """Open the file for appending; anything but a regular file is refused without waiting for it."""
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        handle = os.open(self.path, flags, 0o600)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise OSError(errno.EINVAL, "it is not a regular file")
        return handle


def format_async_end(time: str, name: str, trigger: str, end: Exit) -> str:
    result = f"{end.error}: {end.detail}" if end.error else f"exit={end.code}"
    milliseconds = round(end.seconds * 1000)
    lines = [f"{time} [ASYNC] Completed hook '{name}' for event '{trigger}' in {milliseconds}ms: {result}"]
    for stream, data in (("stdout", end.stdout), ("stderr", end.stderr)):
        text = clean_text(data.decode("utf-8", "replace"), 16384)
        lines += [f"  {stream}: {line}" for line in text.splitlines()]
    lines += [f"  warning: {text}" for text in end.warnings]
    return "\n".join(lines) + "\n"
