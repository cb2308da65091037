"""The id of this machine in records: random, made once, and kept in a private file of the state folder."""

from __future__ import annotations

import os
import stat

MACHINE_FILE = "machine-id"
_ID_CHARS = 32
_HEX_DIGITS = frozenset("0123456789abcdef")


def find_machine_id(state: str) -> str:
    """Return the id of this machine, which is made if there is none yet; "" if it cannot be kept. Never raises."""
    try:
        known = _read_id(state)
        if known is None:
            _make_id(state)
            known = _read_id(state)
    except (OSError, ValueError):
        return ""
    return known or ""


def _read_id(state: str) -> str | None:
    """Return the id, None if there is no file, "" if it holds something else."""
    try:
        handle = os.open(f"{state}/{MACHINE_FILE}", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return ""
        text = os.read(handle, _ID_CHARS + 2).decode("ascii", "replace").removesuffix("\n")
    finally:
        os.close(handle)
    return text if len(text) == _ID_CHARS and _HEX_DIGITS.issuperset(text) else ""


def _make_id(state: str) -> None:
    """Write a new id, unless another process was first: a link is made only where nothing is, and to a whole file."""
    os.makedirs(state, mode=0o700, exist_ok=True)
    temporary = f"{state}/{MACHINE_FILE}.{os.getpid()}.{os.urandom(4).hex()}"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.write(handle, os.urandom(_ID_CHARS // 2).hex().encode() + b"\n")
        os.close(handle)
        handle = -1
        os.link(temporary, f"{state}/{MACHINE_FILE}")
    except FileExistsError:
        return
    finally:
        if handle >= 0:
            os.close(handle)
        os.unlink(temporary)
