"""Reading the ledger: its records in the order of time, and whether it is as it was written. Streams; never all at once."""

from __future__ import annotations

import heapq
import os
import stat
import time
from collections.abc import Iterator
from typing import Any, BinaryIO

from boathook.core.json_text import MAX_DEPTH, decode, loads
from boathook.core.value import Value
from boathook.ledger.record import PRUNED
from boathook.ledger.schema import shaped
from boathook.ledger.writer import (
    HEADLESS,
    LINE_LIMIT,
    LOCK,
    NOWHERE,
    PATIENCE,
    SPILL,
    Head,
    Link,
    Turn,
    is_true,
    order_of,
    peek_head,
    read_head,
    read_link,
    segments,
)

Record = dict[str, Any]

EDITED, GAP, MISSING, FOREIGN, REWRITTEN = "edited", "gap", "missing", "foreign", "rewritten"
DISORDER = 64  # records that writers of one moment may have put down in another order
CHUNK = LINE_LIMIT + 1024
FOLLOW_SECONDS = 0.2
DEPTH = 2 * MAX_DEPTH  # of a record: it holds what was itself as deep as may be
NO_HEAD = "the head is missing or unreadable: whether records were cut from the end cannot be said"


class Finding(Value):
    """Something wrong with the ledger: where (file:line), what kind, and in words."""

    place: str
    kind: str
    message: str

    def to_json(self) -> dict[str, str]:
        """Return the fields for output."""
        return {name: self.__dict__[name] for name in self.FIELDS}


class Report(Value):
    """What a walk through the ledger found.

    Torn lines are of writers that were ended in the middle, before anybody was told that a record is kept.
    """

    segments: int = 0
    records: int = 0
    first: int = 0
    last: int = 0
    hash: str = ""
    spilled: int = 0
    torn: tuple[str, ...] = ()
    pruned: int = 0
    findings: tuple[Finding, ...] = ()

    @property
    def is_good(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings

    def to_json(self) -> dict[str, Any]:
        """Return the report for output."""
        fields = {name: self.__dict__[name] for name in self.FIELDS}
        lists = {"torn": list(self.torn), "findings": [finding.to_json() for finding in self.findings]}
        return {"ok": self.is_good, **fields, **lists}


# Records


class Reader:
    """The records of a ledger; `odd` counts the lines that were passed over because they are none."""

    def __init__(self, folder: str) -> None:
        """Take the folder."""
        self.folder = folder
        self.odd = 0
        # what is there now is read, what comes later is followed
        self._places = {name: _size_of(f"{folder}/{name}") for name in self._names()}

    def read(self, since: str = "") -> Iterator[Record]:
        """Return the records from a time on (ISO 8601, UTC), those that were put aside included, in the order of time."""
        streams = (self._sorted(self._chained(since)), self._sorted(self._spilled()))
        for record in heapq.merge(*streams, key=_time_of):
            if record["time"] >= since:
                yield record

    def follow(self, seconds: float = FOLLOW_SECONDS) -> Iterator[Record | None]:
        """Return what is written after this reader was made, segment after segment, without an end; None if nothing is new."""
        while True:
            fresh = False
            for name in self._names():
                for record in self._fresh(name):
                    fresh = True
                    yield record
            if not fresh:
                yield None
                time.sleep(seconds)

    def _fresh(self, name: str) -> Iterator[Record]:
        """Return the records of a file that were not given before."""
        path = f"{self.folder}/{name}"
        size, at = _size_of(path), self._places.get(name, 0)
        self._places[name] = at if at <= size else 0  # it was made anew
        for line, _ in _lines(path, self._places[name], size):
            if not line.endswith(b"\n"):
                return  # not all there yet
            self._places[name] += len(line)
            record = self._record(line, bound=name != SPILL)
            if record is not None:
                yield record

    def _names(self) -> list[str]:
        try:
            return [*segments(self.folder), SPILL]
        except OSError:
            return []

    def _chained(self, since: str) -> Iterator[Record]:
        for name in self._places:
            if name != SPILL and order_of(name)[0] >= since[:10]:
                yield from self._records(name, bound=True)

    def _spilled(self) -> Iterator[Record]:
        yield from self._records(SPILL, bound=False)

    def _records(self, name: str, *, bound: bool) -> Iterator[Record]:
        path = f"{self.folder}/{name}"
        for line, _ in _lines(path, 0, self._places.get(name, 0)):
            record = self._record(line, bound=bound)
            if record is not None:
                yield record

    def _record(self, line: bytes, *, bound: bool) -> Record | None:
        """Read a line; one that is no record is counted."""
        found = _parsed(line) if not bound or read_link(line) is not None else None
        if found is None and line.strip():
            self.odd += 1
        return found

    def _sorted(self, records: Iterator[Record]) -> Iterator[Record]:
        """Put a little disorder right."""
        waiting: list[tuple[str, int, Record]] = []
        for number, record in enumerate(records):
            heapq.heappush(waiting, (_time_of(record), number, record))
            if len(waiting) > DISORDER:
                yield heapq.heappop(waiting)[2]
        while waiting:
            yield heapq.heappop(waiting)[2]


def _time_of(record: Record) -> str:
    found: str = record["time"]
    return found


def _parsed(line: bytes) -> Record | None:
    """Read a line as a record of the shape that everybody here relies on; None if it is none."""
    try:
        return shaped(loads(decode(line), DEPTH))
    except (ValueError, RecursionError):
        return None


def _lines(path: str, start: int, end: int) -> Iterator[tuple[bytes, int]]:
    """Return the lines of a part of a regular file with their numbers; of one that is too long only the beginning."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return
        file.seek(start)
        number, left = 0, end - start
        while left > 0 and (line := file.readline(min(CHUNK, left))):
            number += 1
            left -= len(line)
            yield line, number
            if not line.endswith(b"\n") and left > 0:
                left -= _skip_line(file, left)


def _skip_line(file: BinaryIO, left: int) -> int:
    """Pass over the rest of a line; return how much that was."""
    passed = 0
    while left > passed and (part := file.readline(min(CHUNK, left - passed))):
        passed += len(part)
        if part.endswith(b"\n"):
            break
    return passed


def _size_of(path: str) -> int:
    try:
        found = os.lstat(path)
    except OSError:
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


# Verifying


def verify(folder: str) -> Report:
    """Walk through the whole chain, in the state it is in now, and say what is wrong with it."""
    if not os.path.isdir(folder):
        return Report()
    head, sizes = _still(folder)
    return _Walk(folder, head).report(sizes)


def _still(folder: str) -> tuple[Head | None, dict[str, int]]:
    """Return the head and the sizes of the segments at one moment, between two writers if they let us."""

    def sizes() -> dict[str, int]:
        return {name: _size_of(f"{folder}/{name}") for name in segments(folder)}

    if not os.path.lexists(f"{folder}/{LOCK}"):
        return None, sizes()
    try:
        with Turn(f"{folder}/{LOCK}", PATIENCE) as lock:
            return read_head(lock), sizes()
    except OSError:
        return peek_head(f"{folder}/{LOCK}"), sizes()  # in this order: records come before the head that knows of them


class _Walk:
    """A walk from line to line."""

    def __init__(self, folder: str, head: Head | None) -> None:
        self.folder, self.head = folder, head
        self.findings: list[Finding] = []
        self.torn: list[str] = []
        self.first: tuple[Link, str] | None = None
        self.last = Link()
        self.records = self.pruned = self.kept_from = 0

    def report(self, sizes: dict[str, int]) -> Report:
        """Walk, and return the report."""
        for name, size in sizes.items():
            for line, number in _lines(f"{self.folder}/{name}", 0, size):
                self._line(line, f"{name}:{number}")
        self._check_ends()
        self._check_files()
        spilled = sum(_parsed(line) is not None for line, _ in self._spill_lines())
        return Report(
            len(sizes),
            self.records,
            self.first[0].seq if self.first else 0,
            self.last.seq,
            self.last.hash if self.records else "",
            spilled,
            tuple(self.torn),
            self.pruned,
            tuple(self.findings),
        )

    def _spill_lines(self) -> Iterator[tuple[bytes, int]]:
        path = f"{self.folder}/{SPILL}"
        return _lines(path, 0, _size_of(path))

    def _line(self, line: bytes, place: str) -> None:
        link = read_link(line)
        if link is None:
            self._unbound(line, place)
            return
        self.records += 1
        if not is_true(line, link):
            self._find(place, EDITED, f"record {link.seq} is not as it was written")
        elif _parsed(line) is None:
            self._find(place, FOREIGN, f"record {link.seq} has a shape that the ledger does not write")
        if self.first is None:
            self.first = (link, place)
        elif link.seq != self.last.seq + 1:
            self._find(place, GAP, _numbers(self.last.seq, link.seq))
        elif link.prev != self.last.hash:
            self._find(place, GAP, f"record {link.seq} does not belong behind the record before it")
        if self.head is not None and link.seq == self.head.link.seq and link.hash != self.head.link.hash:
            self._find(place, REWRITTEN, f"record {link.seq} is another than the one that {LOCK} knows")
        if HEADLESS in line:
            self._note_headless(line, link, place)
        if b'"type": "pruned"' in line:
            self._note_pruned(line)
        self.last = link

    def _unbound(self, line: bytes, place: str) -> None:
        """Take a line without a link: what a writer left unfinished, or what somebody else wrote."""
        if _parsed(line) is not None:
            self._find(place, FOREIGN, "a record that is bound to no other: it was not written by the ledger")
        elif line.strip():
            self.torn.append(place)

    def _note_headless(self, line: bytes, link: Link, place: str) -> None:
        if (_parsed(line) or {}).get("headless"):
            told = f"the head was gone when record {link.seq} was written: whether records were cut before it cannot be said"
            self._find(place, MISSING, told)

    def _note_pruned(self, line: bytes) -> None:
        record = _parsed(line) or {}
        if record.get("type") == PRUNED:
            self.pruned += len(record["segments"])
            self.kept_from = max(self.kept_from, record["before"])

    def _check_ends(self) -> None:
        """Look for what is missing before the first record and behind the last."""
        if self.first is not None and self.first[0].seq > max(self.kept_from, 1):
            told = f"{_numbers(0, self.first[0].seq)}, and no record says that they were removed for their size"
            self.findings.insert(0, Finding(self.first[1], GAP, told))
        head = self.head
        if head is None and self.records:
            self._find(LOCK, MISSING, NO_HEAD)
        if head is not None and head.link.seq > self.last.seq:
            told = f"the records end with {self.last.seq}, but {LOCK} knows of {head.link.seq}"
            self._find(head.segment, MISSING, told)

    def _check_files(self) -> None:
        """Name what has no place among the files of the ledger."""
        for name in sorted(os.listdir(self.folder)):
            if not name.startswith("ledger"):
                continue
            if name not in (LOCK, SPILL) and order_of(name) == NOWHERE:
                self._find(name, FOREIGN, "a file that the ledger did not make")
            elif not stat.S_ISREG(os.lstat(f"{self.folder}/{name}").st_mode):
                self._find(name, FOREIGN, "it is no regular file")

    def _find(self, place: str, kind: str, message: str) -> None:
        self.findings.append(Finding(place, kind, message))


def _numbers(last: int, found: int) -> str:
    """Return which numbers are missing between two."""
    if found <= last:
        return f"record {found} stands behind record {last}"
    first, until = last + 1, found - 1
    return f"record {first} is missing" if first == until else f"records {first} to {until} are missing"
