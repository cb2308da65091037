"""Read from and write to the streams of a caller without waiting, and without changing a flag that the caller shares."""

from __future__ import annotations

import os
import select
import stat

_READ_BYTES = 1 << 16


class HandOver(Exception):
    """The input cannot be read here, or not without waiting."""


def read_now(handle: int) -> bytes | None:
    """Return what can be read without waiting, None if there is nothing yet. It changes no flag: the caller shares them."""
    buffer = bytearray(_READ_BYTES)
    try:
        return bytes(buffer[: os.preadv(handle, [buffer], -1, os.RWF_NOWAIT)])
    except BlockingIOError:
        # A file that is not in memory would look ready for ever.
        if stat.S_ISREG(os.fstat(handle).st_mode):
            raise HandOver from None
        return None
    except OSError:
        raise HandOver from None


def write_now(handle: int, data: bytes) -> int:
    """Write an answer if that is possible without waiting; return how much was written, -1 if nothing was."""
    if not data:
        return 0
    # A pipe takes this much in one piece.
    if len(data) > select.PIPE_BUF:
        return -1
    try:
        return os.pwritev(handle, [data], -1, os.RWF_NOWAIT) or -1
    except OSError:
        return -1
