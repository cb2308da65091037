"""Find one record again by its place, unchanged: what a person permits counts only if the ledger has it."""

from __future__ import annotations

import os

from boathook.core.json_text import JsonError, decode, loads
from boathook.ledger.writer import MAX_LINE_BYTES, NOT_A_SEGMENT, is_unchanged, parse_segment_name, read_link

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MAX_OFFSET_DIGITS = 12


def find_record(folder: str, place: str) -> dict[str, Any]:
    """Return the record at a place (see `RecordPlace.to_text`); {} if the ledger has none there, or another one."""
    words = place.split(" ")
    if len(words) != 3 or parse_segment_name(words[0]) == NOT_A_SEGMENT:
        return {}
    if not words[1].isascii() or not words[1].isdigit() or len(words[1]) > _MAX_OFFSET_DIGITS:
        return {}
    line = _read_line(f"{folder}/{words[0]}", int(words[1]))
    link = read_link(line)
    if link is None or link.hash != words[2] or not is_unchanged(line, link):
        return {}
    try:
        record: Any = loads(decode(line))
    except (JsonError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}  # pyright: ignore[reportUnknownVariableType]


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
