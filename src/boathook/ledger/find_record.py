"""Find a record again by its place, unchanged, and those after it: what a person permits counts only as the ledger has it."""

from __future__ import annotations

import os

from boathook.core.json_text import MAX_DEPTH, JsonError, decode, loads
from boathook.ledger.writer import (
    LOCK_NAME,
    MAX_LINE_BYTES,
    NOT_A_SEGMENT,
    RecordPlace,
    is_unchanged,
    list_segments,
    parse_segment_name,
    peek_head,
    read_link,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from boathook.ledger.writer import ChainLink

_MAX_OFFSET_DIGITS = 12
# A record contains an event that may itself be nested as deep as allowed.
_MAX_RECORD_DEPTH = 2 * MAX_DEPTH


def find_record(folder: str, place: str) -> dict[str, Any]:
    """Return the record at a place (see `RecordPlace.to_text`); {} if the ledger has none there, or another one."""
    found = _parse_place(place)
    if found is None:
        return {}
    line = _read_line(f"{folder}/{found.segment}", found.offset)
    link = read_link(line)
    if link is None or link.hash != found.hash or not is_unchanged(line, link):
        return {}
    return _parse_record(line)


def is_on_record(folder: str, place: str, **expected: Any) -> bool:
    """Whether the ledger has a record with these fields at a place."""
    record = find_record(folder, place)
    return all(record.get(name) == value for name, value in expected.items()) if record else False


def find_later_records(folder: str, place: str, *texts: str) -> list[dict[str, Any]] | None:
    """Return the records after a place whose lines contain one of some texts, in their order.

    None if the ledger has no record there, or not all that were written after it, as they were written.
    """
    # Before the lines: a record is written before the head that knows of it.
    found, head = _parse_place(place), peek_head(f"{folder}/{LOCK_NAME}")
    if found is None or head is None:
        return None
    wanted = [text.encode() for text in texts]
    last: ChainLink | None = None
    records: list[dict[str, Any]] = []
    for line in _read_lines_from(folder, found):
        link = read_link(line)
        # What is not chained is not a record; if it was one, the next number is missing.
        if link is None:
            continue
        is_next = link.hash == found.hash if last is None else (link.seq, link.prev) == (last.seq + 1, last.hash)
        if not is_next or not is_unchanged(line, link):
            return None
        if last is not None and any(text in line for text in wanted):
            records.append(_parse_record(line))
        last = link
    return records if last is not None and last.seq >= head.link.seq and all(records) else None


def _parse_place(place: str) -> RecordPlace | None:
    words = place.split(" ")
    if len(words) != 3 or parse_segment_name(words[0]) == NOT_A_SEGMENT:
        return None
    if not words[1].isascii() or not words[1].isdigit() or len(words[1]) > _MAX_OFFSET_DIGITS:
        return None
    return RecordPlace(words[0], int(words[1]), words[2])


def _parse_record(line: bytes) -> dict[str, Any]:
    try:
        record: Any = loads(decode(line), _MAX_RECORD_DEPTH)
    except (JsonError, ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def _read_lines_from(folder: str, place: RecordPlace) -> Iterator[bytes]:
    """Yield the whole lines from a place to the end of the ledger."""
    try:
        names = [
            name for name in list_segments(folder) if parse_segment_name(name) >= parse_segment_name(place.segment)
        ]
    except OSError:
        return
    for name in names:
        yield from _read_lines(f"{folder}/{name}", place.offset if name == place.segment else 0)


def _read_lines(path: str, offset: int) -> Iterator[bytes]:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            file.seek(offset)
            # One without an end is being written, or too long to be a record.
            while (line := file.readline(MAX_LINE_BYTES + 1)).endswith(b"\n"):
                yield line
    except OSError:
        return


def _read_line(path: str, offset: int) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        data = os.pread(handle, MAX_LINE_BYTES + 1, offset)
    except OSError:
        return b""
    finally:
        os.close(handle)
    return data[: data.find(b"\n") + 1]
