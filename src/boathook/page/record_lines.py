"""The lines of the ledger with their places: the newest first, so that the page need not wait for the oldest."""

# `LedgerReader` reads from the oldest record on, without places. A test holds both equal.

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from boathook.core.json_text import MAX_DEPTH, decode, loads
from boathook.core.value import Value
from boathook.ledger.schema import LedgerRecord, check_record
from boathook.ledger.writer import MAX_LINE_BYTES, SPILL_NAME, list_segments, read_link

_BLOCK_BYTES = 1 << 20
# A record contains an event that may itself be nested as deep as allowed.
_MAX_RECORD_DEPTH = 2 * MAX_DEPTH


class PlacedLine(Value):
    name: str
    offset: int
    line: bytes


def list_ledger_files(folder: str) -> list[str]:
    """Return the names of the files with records, the oldest first."""
    try:
        return [SPILL_NAME, *list_segments(folder)]
    except OSError:
        return []


def find_last_line_end(folder: str, name: str) -> int:
    """Return where the whole lines of a file end: a writer may be in the middle of the next one."""
    size = find_file_size(f"{folder}/{name}")
    start = max(0, size - 2 * MAX_LINE_BYTES)
    return start + _read_part(f"{folder}/{name}", start, size - start).rfind(b"\n") + 1


def find_file_size(path: str) -> int:
    try:
        status = os.lstat(path)
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def read_lines_backwards(folder: str, name: str, end: int, first_block: int) -> Iterator[list[PlacedLine]]:
    """Yield the whole lines of a file before an offset in blocks, the last block first; within a block they are in order."""
    size = first_block
    while end > 0:
        start = max(0, end - size)
        data = _read_part(f"{folder}/{name}", start, end - start)
        if len(data) < end - start:
            return
        cut = data.find(b"\n") + 1 if start else 0
        if start and not cut:
            # No line ends here: look further back.
            size *= 2
            continue
        yield _split_lines(name, start + cut, data[cut:])
        end, size = start + cut, _BLOCK_BYTES


def read_lines_after(folder: str, name: str, start: int) -> list[PlacedLine]:
    """Return the whole lines of a file from an offset on, at most one block of them."""
    data = _read_part(f"{folder}/{name}", start, _BLOCK_BYTES)
    return _split_lines(name, start, data[: data.rfind(b"\n") + 1])


def _split_lines(name: str, offset: int, data: bytes) -> list[PlacedLine]:
    lines = []
    for line in data.split(b"\n"):
        lines.append(PlacedLine(name, offset, line + b"\n"))
        offset += len(line) + 1
    # What follows the last line end is not a whole line.
    return lines[:-1]


def parse_line(placed: PlacedLine) -> LedgerRecord | None:
    """Return the record of a line, None if it is not one. What is outside of the chain is marked."""
    is_chained = placed.name != SPILL_NAME
    if len(placed.line) > MAX_LINE_BYTES or (is_chained and read_link(placed.line) is None):
        return None
    try:
        record = check_record(loads(decode(placed.line), _MAX_RECORD_DEPTH))
    except (ValueError, RecursionError):
        return None
    return record if is_chained else {**record, "spilled": True}


def read_line_at(folder: str, name: str, offset: int) -> PlacedLine:
    data = _read_part(f"{folder}/{name}", offset, MAX_LINE_BYTES + 1)
    return PlacedLine(name, offset, data[: data.find(b"\n") + 1])


def _read_part(path: str, start: int, size: int) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        return os.pread(handle, size, start) if stat.S_ISREG(os.fstat(handle).st_mode) else b""
    except OSError:
        return b""
    finally:
        os.close(handle)
