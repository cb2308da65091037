"""What the page keeps of the ledger: a short row per record and a few sums. Whole records stay on the disk."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

from boathook.cli.call_history import CallHistory
from boathook.cli.record_text import (
    describe_deciders,
    describe_effects,
    describe_input,
    find_folder,
    has_problem,
    is_objection,
    is_of_doctor,
    list_record_hooks,
    name_decision,
)
from boathook.core.value import Value
from boathook.ledger.record import END_TYPE
from boathook.ledger.schema import LedgerRecord
from boathook.page.ledger_sums import LedgerSums
from boathook.page.record_lines import (
    PlacedLine,
    find_file_size,
    find_last_line_end,
    list_ledger_files,
    parse_line,
    read_line_at,
    read_lines_after,
    read_lines_backwards,
)

# More records than this are not listed; `boathook log` shows them.
MAX_ROWS = 120_000
_MAX_TEXT_CHARS = 160
_FIRST_BLOCK_BYTES = 256 << 10
POLL_SECONDS = 0.2
# So many records are read at a time while somebody may want to read the page.
_CHUNK_RECORDS = 50
_NO_MORE: list[PlacedLine] = []
_NAMES: dict[tuple[str, ...], tuple[str, ...]] = {}


class RecordRow:
    """The part of a record that lists show."""

    __slots__ = (
        "_input",
        "boathook",
        "call",
        "deciders",
        "decision",
        "dispatch",
        "event",
        "file",
        "folder",
        "has_problem",
        "hook_set",
        "hooks",
        "host",
        "id",
        "is_objection",
        "is_spilled",
        "machine",
        "ms",
        "offset",
        "reason",
        "session",
        "time",
        "tool",
        "type",
        "unreached",
    )  # fmt: skip

    def __init__(self, record: LedgerRecord, file: str, offset: int) -> None:
        self.file, self.offset = file, offset
        self.id, self.time, self.type = record["id"], record["time"], sys.intern(record["type"])
        self.host, self.session = _intern(record.get("host")), _intern(record.get("session"))
        self.folder, self.event = _intern(find_folder(record)), _intern(record.get("event"))
        self.tool, self.decision = _intern(record.get("tool")), _intern(name_decision(record))
        self.hooks = _share(tuple(map(_intern, dict.fromkeys(list_record_hooks(record)))))
        self.unreached = _list_unreached(record)
        self.deciders = _intern(_cut(describe_deciders(record)))
        # A text with an ellipsis takes two bytes for every character, and there is one of these in every record.
        self._input = describe_input(record)[: _MAX_TEXT_CHARS + 1]
        self.reason = _intern(_cut(describe_effects(record)))
        self.ms = float(record.get("ms") or 0)
        self.has_problem, self.is_objection = has_problem(record), is_objection(record)
        self.is_spilled = bool(record.get("spilled"))
        self.call, self.machine = record.get("tool_use_id") or "", _intern(record.get("machine"))
        self.boathook, self.hook_set = _intern(record.get("boathook")), _intern(record.get("hook_set"))
        self.dispatch = record.get("dispatch", "") if self.type == END_TYPE else ""

    @property
    def input(self) -> str:
        return _cut(self._input)

    def to_record(self) -> LedgerRecord:
        """Return what a filter of the log looks at."""
        names = [{"hook": name} for name in self.hooks]
        about = {"type": self.type, "host": self.host, "session": self.session, "event": self.event, "tool": self.tool}
        return {**about, "decision": self.decision, "hooks": names}


def _list_unreached(record: LedgerRecord) -> tuple[str, ...]:
    """Return the hooks that were to run and did not, because another one had decided already."""
    ran = {run["hook"] for run in record.get("hooks") or ()}
    passed = (one["hook"] for one in record.get("skipped") or () if not one.get("state"))
    return _share(tuple(_intern(name) for name in passed if name not in ran))


def _share(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return one tuple for all records in which the same hooks are."""
    return _NAMES.setdefault(names, names)


def _intern(text: str | None) -> str:
    return sys.intern(str(text or ""))


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_TEXT_CHARS else f"{text[:_MAX_TEXT_CHARS]}…"


class IndexState(Value):
    """How far the index is: how many rows it has, whether older records are still to be read, and what could not be read."""

    rows: int
    is_complete: bool
    is_cut: bool
    invalid_lines: int


class RecordIndex:
    """The rows of a ledger, which a thread keeps up to date: the newest are there at once, older ones follow.

    The history and the sums have every record, too; they are changed under the lock of the index.
    """

    def __init__(self, folder: str, history: CallHistory | None = None, *, max_rows: int = MAX_ROWS) -> None:
        self.folder = folder
        self.history = history if history is not None else CallHistory((), (), ())
        self.sums = LedgerSums(self.history.find_place)
        self.lock = threading.Lock()
        self._max_rows = max_rows
        # Those that were there at the start, the newest first, and those that came later, the oldest first.
        self._older: list[RecordRow] = []
        self._newer: list[RecordRow] = []
        self._dropped = self._invalid_lines = self._readers = 0
        self._is_complete = self._is_cut = False
        self._is_closed = threading.Event()
        self._ends = {name: find_last_line_end(folder, name) for name in list_ledger_files(folder)}
        self._backlog = self._read_backlog(dict(self._ends))
        self._waiting_lines: list[PlacedLine] = []
        self.load_chunk(sys.maxsize)

    # Reading

    @property
    def position(self) -> int:
        """How many records came since the start; a reader that knows it asks for those after it."""
        return self._dropped + len(self._newer)

    def describe_state(self) -> IndexState:
        rows = len(self._newer) + len(self._older)
        return IndexState(rows, self._is_complete, self._is_cut, self._invalid_lines)

    def list_rows(self) -> Iterator[RecordRow]:
        """Yield the rows, the newest first."""
        newer, older = self._newer, self._older
        for at in range(len(newer) - 1, -1, -1):
            yield newer[at]
        yield from islice(older, len(older))

    def list_rows_after(self, position: int) -> tuple[list[RecordRow], int]:
        """Return the rows that came after a position, the oldest first, and the position after them."""
        with self.lock:
            return self._newer[max(position - self._dropped, 0) :], self.position

    def find_row(self, prefix: str) -> RecordRow | None:
        """Return the row of an id or of its beginning, None if there is none or if several begin like this."""
        found: dict[str, RecordRow] = {}
        for row in self.list_rows() if prefix else ():
            # A record of the chain counts before one of the same id that anybody can have added.
            if row.id.startswith(prefix) and (row.id not in found or found[row.id].is_spilled):
                found[row.id] = row
        return found.get(prefix) or (next(iter(found.values())) if len(found) == 1 else None)

    def read_record(self, row: RecordRow) -> LedgerRecord | None:
        """Return the whole record of a row, None if it is no longer in the ledger."""
        record = parse_line(read_line_at(self.folder, row.file, row.offset))
        return record if record is not None and record["id"] == row.id else None

    def read_ends(self, row: RecordRow) -> list[LedgerRecord]:
        """Return the records of how the async hooks of a record ended."""
        ends = [self.read_record(one) for one in self.list_rows() if one.dispatch == row.id]
        return [end for end in reversed(ends) if end is not None]

    # Keeping up

    @contextmanager
    def serve_reader(self) -> Iterator[None]:
        """Let the thread wait while a reader is served."""
        self._readers += 1
        try:
            yield
        finally:
            self._readers -= 1

    def start(self) -> None:
        threading.Thread(target=self._keep_up, name="boathook-page-index", daemon=True).start()

    def close(self) -> None:
        self._is_closed.set()

    def _keep_up(self) -> None:
        while not self._is_closed.wait(0 if not self._is_complete and not self._readers else POLL_SECONDS):
            self.poll()
            if not self._is_complete and not self._readers:
                self.load_chunk(_CHUNK_RECORDS)

    def poll(self) -> bool:
        """Read what was written since the last time; return whether there was anything."""
        has_new = False
        for name in list_ledger_files(self.folder):
            start, size = self._ends.get(name, 0), find_file_size(f"{self.folder}/{name}")
            # A file that shrank was made anew.
            start = start if start <= size else 0
            lines = read_lines_after(self.folder, name, start) if size > start else []
            self._ends[name] = lines[-1].offset + len(lines[-1].line) if lines else start
            rows = self._add_lines(lines)
            with self.lock:
                self._newer += rows
            has_new = has_new or bool(rows)
        with self.lock:
            self._limit_rows()
        return has_new

    def _read_backlog(self, ends: dict[str, int]) -> Iterator[list[PlacedLine]]:
        size = _FIRST_BLOCK_BYTES
        for name in reversed(ends):
            for block in read_lines_backwards(self.folder, name, ends[name], size):
                yield block
                size = 1 << 20

    def load_chunk(self, count: int) -> None:
        """Add the next older records: at most so many, and at most those of one block."""
        waiting = self._waiting_lines or next(self._backlog, _NO_MORE)
        if waiting is _NO_MORE:
            self._finish_loading()
            return
        chunk = waiting[-count:]
        self._waiting_lines = waiting[: len(waiting) - len(chunk)]
        self._older += reversed(self._add_lines(chunk))
        if len(self._older) + len(self._newer) >= self._max_rows:
            self._is_cut = True
            self._finish_loading()

    def _finish_loading(self) -> None:
        # Records of writers that ran at the same time, and those outside of the chain, are in another order.
        self._older = sorted(self._older, key=lambda row: row.time, reverse=True)
        self._waiting_lines = []
        self._is_complete = True

    def _add_lines(self, lines: list[PlacedLine]) -> list[RecordRow]:
        rows = []
        with self.lock:
            for placed in lines:
                record = parse_line(placed)
                if record is None:
                    self._invalid_lines += bool(placed.line.strip())
                elif not is_of_doctor(record):
                    try:
                        rows.append(RecordRow(record, sys.intern(placed.name), placed.offset))
                        self.sums.add(record)
                        if not record.get("spilled"):
                            self.history.add(record)
                    except Exception:  # noqa: BLE001  (one odd record must not end the thread that reads all others)
                        self._invalid_lines += 1
        return rows

    def _limit_rows(self) -> None:
        excess = len(self._newer) + len(self._older) - self._max_rows
        if excess <= 0:
            return
        self._is_cut = True
        if self._older:
            self._older = self._older[:-excess]
        else:
            self._newer = self._newer[excess:]
            self._dropped += excess
