"""Read the ledger: its records in the order of time, and whether it is as it was written. Reads line by line, never all at once."""

from __future__ import annotations

import heapq
import os
import stat
import time
from collections.abc import Iterator
from typing import Any, BinaryIO

from boathook.core.json_text import MAX_DEPTH, decode, loads
from boathook.core.value import Value
from boathook.ledger import writer
from boathook.ledger.record import PRUNED_TYPE, RECORD_VERSION
from boathook.ledger.schema import LedgerRecord, check_record

_EDITED, _GAP, _MISSING, _FOREIGN, _REWRITTEN = "edited", "gap", "missing", "foreign", "rewritten"
# records of writers that ran at the same time may be in another order
_MAX_UNORDERED = 64
_CHUNK_BYTES = writer.MAX_LINE_BYTES + 1024
_FOLLOW_SECONDS = 0.2
# a record contains an event that may itself be nested as deep as allowed
_MAX_RECORD_DEPTH = 2 * MAX_DEPTH
_RECORD_START = b'{"v": %d, "id": "' % RECORD_VERSION
_NO_HEAD = "the head is missing or unreadable, so records may have been cut from the end"


class LedgerProblem(Value):
    place: str
    kind: str
    message: str


class LedgerReport(Value):
    """The result of verifying; torn lines begin like a record, as of a writer that was killed before it reported its record."""

    segments: int = 0
    records: int = 0
    first: int = 0
    last: int = 0
    hash: str = ""
    spilled: int = 0
    torn: tuple[str, ...] = ()
    pruned: int = 0
    findings: tuple[LedgerProblem, ...] = ()

    @property
    def is_good(self) -> bool:
        return not self.findings

    def to_json(self) -> dict[str, Any]:
        lists = {"torn": list(self.torn), "findings": [problem.to_dict() for problem in self.findings]}
        return {"ok": self.is_good, **self.to_dict(), **lists}


# Records


class LedgerReader:
    """The records of a ledger; `invalid_lines` counts the lines that were skipped because they are not records."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.invalid_lines = 0
        # what exists now is read, what comes later is followed
        self._offsets = {name: _get_size(f"{folder}/{name}") for name in self._list_files()}

    def read(self, since: str = "") -> Iterator[LedgerRecord]:
        chained = (
            record
            for name in self._offsets
            if name != writer.SPILL_NAME and writer.parse_segment_name(name)[0] >= since[:10]
            for record in self._read_file(name)
        )
        streams = (self._sort(chained), self._sort(self._read_file(writer.SPILL_NAME)))
        for record in heapq.merge(*streams, key=_get_time):
            if record["time"] >= since:
                yield record

    def follow(self, seconds: float = _FOLLOW_SECONDS) -> Iterator[LedgerRecord | None]:
        """Yield what is written after this reader was made, without an end; None if there is nothing new."""
        while True:
            has_new = False
            for name in self._list_files():
                for record in self._read_new(name):
                    has_new = True
                    yield record
            if not has_new:
                yield None
                time.sleep(seconds)

    def _read_new(self, name: str) -> Iterator[LedgerRecord]:
        path = f"{self.folder}/{name}"
        size, offset = _get_size(path), self._offsets.get(name, 0)
        # a file that shrank was made anew
        self._offsets[name] = offset if offset <= size else 0
        for line, _ in _iter_lines(path, self._offsets[name], size):
            # not complete yet
            if not line.endswith(b"\n"):
                return
            self._offsets[name] += len(line)
            record = self._parse(line, is_chained=name != writer.SPILL_NAME)
            if record is not None:
                yield record

    def _list_files(self) -> list[str]:
        try:
            return [*writer.list_segments(self.folder), writer.SPILL_NAME]
        except OSError:
            return []

    def _read_file(self, name: str) -> Iterator[LedgerRecord]:
        path = f"{self.folder}/{name}"
        for line, _ in _iter_lines(path, 0, self._offsets.get(name, 0)):
            record = self._parse(line, is_chained=name != writer.SPILL_NAME)
            if record is not None:
                yield record

    def _parse(self, line: bytes, *, is_chained: bool) -> LedgerRecord | None:
        record = _parse_record(line) if not is_chained or writer.read_link(line) is not None else None
        if record is None and line.strip():
            self.invalid_lines += 1
        if record is not None and not is_chained:
            # whatever the line says of itself: anybody can add one to that file
            record["spilled"] = True
        return record

    def _sort(self, records: Iterator[LedgerRecord]) -> Iterator[LedgerRecord]:
        waiting: list[tuple[str, int, LedgerRecord]] = []
        for number, record in enumerate(records):
            heapq.heappush(waiting, (_get_time(record), number, record))
            if len(waiting) > _MAX_UNORDERED:
                yield heapq.heappop(waiting)[2]
        while waiting:
            yield heapq.heappop(waiting)[2]


def _get_time(record: LedgerRecord) -> str:
    time_text: str = record["time"]
    return time_text


def _parse_record(line: bytes) -> LedgerRecord | None:
    try:
        return check_record(loads(decode(line), _MAX_RECORD_DEPTH))
    except (ValueError, RecursionError):
        return None


def _iter_lines(path: str, start: int, end: int) -> Iterator[tuple[bytes, int]]:
    """Yield the lines of a part of a regular file with their numbers; of a line that is too long only the beginning."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return
        file.seek(start)
        number, left = 0, end - start
        while left > 0 and (line := file.readline(min(_CHUNK_BYTES, left))):
            number += 1
            left -= len(line)
            yield line, number
            if not line.endswith(b"\n") and left > 0:
                left -= _skip_line(file, left)


def _skip_line(file: BinaryIO, left: int) -> int:
    skipped = 0
    while left > skipped and (part := file.readline(min(_CHUNK_BYTES, left - skipped))):
        skipped += len(part)
        if part.endswith(b"\n"):
            break
    return skipped


def _get_size(path: str) -> int:
    try:
        status = os.lstat(path)
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


# Verifying


def verify_chain(folder: str) -> LedgerReport:
    if not os.path.isdir(folder):
        return LedgerReport()
    head, sizes = _read_state(folder)
    return _ChainCheck(folder, head).run(sizes)


def _read_state(folder: str) -> tuple[writer.LedgerHead | None, dict[str, int]]:

    def get_sizes() -> dict[str, int]:
        return {name: _get_size(f"{folder}/{name}") for name in writer.list_segments(folder)}

    path = f"{folder}/{writer.LOCK_NAME}"
    if not os.path.lexists(path):
        return None, get_sizes()
    try:
        with writer.WriterLock(path, writer.LEDGER_LOCK_SECONDS) as lock:
            return writer.read_head(lock), get_sizes()
    except OSError:
        # in this order: records are written before the head that knows of them
        return writer.peek_head(path), get_sizes()


class _ChainCheck:
    def __init__(self, folder: str, head: writer.LedgerHead | None) -> None:
        self.folder, self.head = folder, head
        self.problems: list[LedgerProblem] = []
        self.torn: list[str] = []
        self.first: tuple[writer.ChainLink, str] | None = None
        self.last = writer.ChainLink()
        self.records = self.pruned = self.first_kept = 0

    def run(self, sizes: dict[str, int]) -> LedgerReport:
        for name, size in sizes.items():
            for line, number in _iter_lines(f"{self.folder}/{name}", 0, size):
                self._check_line(line, f"{name}:{number}")
        self._check_ends()
        self._check_files()
        path = f"{self.folder}/{writer.SPILL_NAME}"
        spilled = sum(_parse_record(line) is not None for line, _ in _iter_lines(path, 0, _get_size(path)))
        return LedgerReport(
            len(sizes),
            self.records,
            self.first[0].seq if self.first else 0,
            self.last.seq,
            self.last.hash if self.records else "",
            spilled,
            tuple(self.torn),
            self.pruned,
            tuple(self.problems),
        )

    def _check_line(self, line: bytes, place: str) -> None:
        link = writer.read_link(line)
        if link is None:
            if _parse_record(line) is not None:
                self._add(place, _FOREIGN, "a record that is not chained: the ledger did not write it")
            elif _may_be_unfinished(line):
                self.torn.append(place)
            elif line.strip():
                message = "neither a record nor the beginning of one: the ledger did not write this line"
                self._add(place, _FOREIGN, message)
            return
        self.records += 1
        if not writer.is_unchanged(line, link):
            self._add(place, _EDITED, f"record {link.seq} is not as it was written")
        elif _parse_record(line) is None:
            self._add(place, _FOREIGN, f"record {link.seq} has fields that the ledger does not write")
        if self.first is None:
            self.first = (link, place)
        elif link.seq != self.last.seq + 1:
            self._add(place, _GAP, _describe_gap(self.last.seq, link.seq))
        elif link.prev != self.last.hash:
            self._add(place, _GAP, f"record {link.seq} does not follow the record before it")
        if self.head is not None and link.seq == self.head.link.seq and link.hash != self.head.link.hash:
            self._add(place, _REWRITTEN, f"record {link.seq} is not the one that {writer.LOCK_NAME} knows")
        if writer.HEAD_LOST_FIELD in line and (_parse_record(line) or {}).get("head_lost"):
            message = f"the head was lost when record {link.seq} was written, so records may have been cut before it"
            self._add(place, _MISSING, message)
        if b'"type": "pruned"' in line and (record := _parse_record(line) or {}).get("type") == PRUNED_TYPE:
            self.pruned += len(record["segments"])
            self.first_kept = max(self.first_kept, record["before"])
        self.last = link

    def _check_ends(self) -> None:
        if self.first is not None and self.first[0].seq > max(self.first_kept, 1):
            message = f"{_describe_gap(0, self.first[0].seq)}, and no record says that they were removed for their size"
            self.problems.insert(0, LedgerProblem(self.first[1], _GAP, message))
        head = self.head
        if head is None and self.records:
            self._add(writer.LOCK_NAME, _MISSING, _NO_HEAD)
        if head is not None and head.link.seq > self.last.seq:
            message = f"the records end with {self.last.seq}, but {writer.LOCK_NAME} knows of {head.link.seq}"
            self._add(head.segment, _MISSING, message)

    def _check_files(self) -> None:
        for name in sorted(os.listdir(self.folder)):
            if not name.startswith("ledger"):
                continue
            is_segment = writer.parse_segment_name(name) != writer.NOT_A_SEGMENT
            if not is_segment and name not in (writer.LOCK_NAME, writer.SPILL_NAME):
                self._add(name, _FOREIGN, "a file that the ledger did not make")
            elif not stat.S_ISREG(os.lstat(f"{self.folder}/{name}").st_mode):
                self._add(name, _FOREIGN, "it is not a regular file")

    def _add(self, place: str, kind: str, message: str) -> None:
        self.problems.append(LedgerProblem(place, kind, message))


def _may_be_unfinished(line: bytes) -> bool:
    """Whether a line can be what a writer left that was killed, or a disk that lost its power."""
    text = line.rstrip(b"\0\n")
    if not text:
        return b"\0" in line
    if len(line) >= _CHUNK_BYTES or text[: len(_RECORD_START)] != _RECORD_START[: len(text)]:
        return False
    try:
        loads(decode(text), _MAX_RECORD_DEPTH)
    except (ValueError, RecursionError):
        return True
    # It is whole, and still not a record.
    return False


def _describe_gap(last: int, found: int) -> str:
    if found <= last:
        return f"record {found} comes after record {last}"
    first, until = last + 1, found - 1
    return f"record {first} is missing" if first == until else f"records {first} to {until} are missing"
