"""A pause of self-protection: a private file in the state folder says when it began, when it ends, and where its record is."""

from __future__ import annotations

import json
import os
import stat
import time

from boathook.ledger.writer import Ledger, make_local_record, make_timestamp
from boathook.system.files import FileError, is_private, read_regular, write_private

MAX_UNLOCK_SECONDS = 8 * 60 * 60
UNLOCK_FILE = "unlocked.json"
_MAX_BYTES = 1 << 10


def read_unlock_end(state: str) -> float:
    """Return when the pause ends that is on now, in seconds since 1970; 0.0 if there is none.

    A file that cannot be read, belongs to somebody else, is open to others, names a time that no command would
    write, or has no record in the ledger, is not a pause.
    """
    path = f"{state}/{UNLOCK_FILE}"
    try:
        status = os.lstat(path)
        data = json.loads(read_regular(path, _MAX_BYTES))
        begin, end, place = float(data["begin"]), float(data["end"]), str(data["record"])
    except (OSError, FileError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return 0.0
    is_possible = begin <= time.time() < end <= begin + MAX_UNLOCK_SECONDS
    return end if is_private(status, stat.S_IFREG) and is_possible and _is_recorded(state, end, place) else 0.0


def _is_recorded(state: str, end: float, place: str) -> bool:
    from boathook.ledger.find_record import is_on_record
    from boathook.ledger.record import UNLOCK_TYPE

    return is_on_record(state, place, type=UNLOCK_TYPE, until=make_timestamp(end))


def describe_pause(end: float) -> str:
    return f"paused until {make_timestamp(end)[11:16]} UTC. To end the pause: boathook unlock --end"


def write_unlock(state: str, seconds: float) -> float:
    """Pause self-protection from now on, and return when the pause ends; LedgerError if that cannot be recorded."""
    from boathook.ledger.record import make_unlock_record

    begin = time.time()
    end = begin + min(seconds, MAX_UNLOCK_SECONDS)
    record = make_local_record(state, make_unlock_record, make_timestamp(end), now=begin)
    # First the record: without it, the file is not a pause.
    place = Ledger(state).append_required(record)
    fields = {"begin": begin, "end": end, "record": place.to_text()}
    write_private(f"{state}/{UNLOCK_FILE}", json.dumps(fields).encode())
    return end


def remove_unlock(state: str) -> bool:
    """End a pause; return whether there was one."""
    had_pause = bool(read_unlock_end(state))
    try:
        os.unlink(f"{state}/{UNLOCK_FILE}")
    except FileNotFoundError:
        return False
    return had_pause
