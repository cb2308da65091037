"""Write the ledger: one line per record, each chained to the one before by its hash, in one file or more per day."""

# A line ends with its link: `"seq":N,"prev":"<hash of the line before>","hash":"<of this line up to here>"}`. Writers take
# turns by a lock on `ledger.lock`, which also holds the head: the segment, its size, and the last link. They open everything
# anew for every record, so that they see every change of the files. An agent waits for this, so it imports little.

from __future__ import annotations

import errno
import os
import stat
import time
from _thread import allocate_lock

from boathook.core.hashing import sha256
from boathook.core.json_text import dump_line
from boathook.core.value import Value
from boathook.errors import LedgerError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    from boathook.core.event import EventKind
    from boathook.core.verdict import Exit, Verdict
    from boathook.ledger.background_log import BackgroundLog

    class DegradingDialect(Protocol):
        def list_degraded(self, verdict: Verdict, *, refuses: bool) -> tuple[str, ...]: ...


LOCK_NAME, SPILL_NAME = "ledger.lock", "ledger-spill.jsonl"
MAX_LINE_BYTES = 1 << 16
LEDGER_LOCK_SECONDS = 1.0
# the field of a record that was written when the head was lost
HEAD_LOST_FIELD = b', "head_lost": true'
_PREFIX, _SUFFIX = "ledger-", ".jsonl"
_MAX_SEGMENT_BYTES = 16 << 20
_MAX_TOTAL_BYTES = 256 << 20
_TAIL_BYTES = 2 * MAX_LINE_BYTES
_HEAD_BYTES = 192
_MAX_DIGITS = 18
_LOCK_PAUSES = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01)

# the lock of a file belongs to the whole process: its threads take turns by this one
_thread_lock = allocate_lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_thread_lock._at_fork_reinit)  # type: ignore[attr-defined]


class ChainLink(Value):
    seq: int = 0
    hash: str = "0" * 64
    prev: str = ""


class LedgerHead(Value):
    segment: str
    size: int
    link: ChainLink


class RecordPlace(Value):
    """Where a record is: what depends on it finds it again without a search."""

    segment: str
    offset: int
    hash: str

    def to_text(self) -> str:
        return f"{self.segment} {self.offset} {self.hash}"


class Recorder:
    """Writes what the hooks of a project did to the ledger, and how async hooks ended to their log as well."""

    # `origin` has the "host", the "project" and the "folder" of the event, and the "hook_set" if it is known; the "machine" and
    # the version of "boathook" are found if they are not there. `dialect` lists what its host cannot do of a verdict.
    # `measure_wait` says for how many seconds an agent has waited, if one waits.
    def __init__(
        self,
        state: str,
        origin: dict[str, str],
        dialect: DegradingDialect | None = None,
        *,
        is_whole: bool = False,
        refuses_degraded: bool = False,
        measure_wait: Callable[[], float | None] = lambda: None,
    ) -> None:
        self._state, self._origin, self._dialect = state, origin, dialect
        self.ledger_path, self.log_path = f"{state}/ledger", f"{state}/background.log"
        self._is_whole, self._refuses_degraded, self._measure_wait = is_whole, refuses_degraded, measure_wait

    def write(self, verdict: Verdict, seconds: float) -> str:
        """Write a verdict; return an error message, or ""."""
        from boathook.ledger.record import make_dispatch_record, must_sync

        degraded: tuple[str, ...] = ()
        if self._dialect is not None:
            degraded = self._dialect.list_degraded(verdict, refuses=self._refuses_degraded)
        waited = self._measure_wait()
        record = make_dispatch_record(
            verdict,
            self._find_origin(),
            time=make_timestamp(),
            seconds=seconds,
            # It is less exact than the other, which it includes.
            waited=None if waited is None else max(waited, seconds),
            whole=self._is_whole,
            degraded=degraded,
        )
        return Ledger(self._state).append(record, sync=must_sync(record))

    def write_refusal(self, kind: EventKind, reason: str) -> str:
        """Write that an event was refused before any hook could run; return an error message, or ""."""
        from boathook.core.event import Event
        from boathook.core.outcome import Outcome
        from boathook.core.verdict import Verdict

        event = Event(kind, make_timestamp())
        return self.write(Verdict(event, event, Outcome.block(reason), id=make_record_id()), 0.0)

    def write_async_end(self, call: dict[str, str], trigger: str, end: Exit) -> str:
        """Write the end of an async hook to the ledger and the log; return what the log got."""
        from boathook.ledger.background_log import format_async_end
        from boathook.ledger.record import make_end_record

        now = make_timestamp()
        record = make_end_record({**self._find_origin(), **call}, end, id=make_record_id(), time=now)
        error_message = Ledger(self._state).append(record)
        text = format_async_end(now, call["hook"], trigger, end)
        if error_message:
            text += f"  warning: {error_message}\n"
        self._open_log().write(text)
        return text

    def _find_origin(self) -> dict[str, str]:
        # A compiled catalogue has both, so that a run reads no further file.
        if not self._origin.get("machine") or "boathook" not in self._origin:
            self._origin = {**self._origin, **describe_machine(self._state)}
        return self._origin

    def find_log_error(self) -> str:
        """Return why the log of async hooks cannot be written, or ""."""
        return self._open_log().find_error()

    def _open_log(self) -> BackgroundLog:
        from boathook.ledger.background_log import BackgroundLog

        return BackgroundLog(self.log_path)


def describe_machine(state: str) -> dict[str, str]:
    """Return what records say about the machine and this version, as far as it is known."""
    from boathook.system.machine_id import find_machine_id
    from boathook.version import __version__

    machine = find_machine_id(state)
    return {**({"machine": machine} if machine else {}), "boathook": __version__}


def make_local_record(
    state: str, make_record: Callable[..., dict[str, Any]], *about: Any, now: float | None = None, **fields: Any
) -> dict[str, Any]:
    """Return a record that a function makes, with an id, the time, and what is known of this machine."""
    return make_record(*about, id=make_record_id(), time=make_timestamp(now), **fields) | describe_machine(state)


class Ledger:
    """Appends records. It returns errors as text, never raises, and never waits longer than `lock_seconds`."""

    def __init__(
        self,
        folder: str,
        *,
        segment_limit: int = _MAX_SEGMENT_BYTES,
        total_limit: int = _MAX_TOTAL_BYTES,
        lock_seconds: float = LEDGER_LOCK_SECONDS,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.folder, self._segment_limit, self._total_limit = folder, segment_limit, total_limit
        self._lock_seconds, self._now = lock_seconds, now

    def append(self, record: dict[str, Any], *, sync: bool = False) -> str:
        """Append a record in one write, on the disk before this returns if `sync`; return an error message, or an empty text."""
        body = dump_line(record)[:-2]
        if len(body) > MAX_LINE_BYTES - 200:
            return f"{self._path('ledger')} cannot hold a record of {len(body):,} bytes: it is lost"
        try:
            self._append_line(body, sync=sync)
        except (OSError, ValueError) as error:
            return self._spill(body, _describe_error(error))
        return ""

    def append_required(self, record: dict[str, Any]) -> RecordPlace:
        """Append a record without which something must not count, on the disk before this returns; LedgerError if it cannot be."""
        try:
            return self._append_line(dump_line(record)[:-2], sync=True)
        except (OSError, ValueError) as error:
            # It is not spilled: a record outside the chain would say that something happened which did not.
            raise LedgerError(f"{self._path('ledger')} cannot be written ({_describe_error(error)})") from None

    def _append_line(self, body: bytes, *, sync: bool) -> RecordPlace:
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        with WriterLock(self._path(LOCK_NAME), self._lock_seconds) as lock:
            handle, place = self._write(lock, body)
        try:
            if sync:
                getattr(os, "fdatasync", os.fsync)(handle)
        finally:
            os.close(handle)
        return place

    def _write(self, lock: int, body: bytes) -> tuple[int, RecordPlace]:
        head, today = read_head(lock), time.strftime("%Y-%m-%d", time.gmtime(self._now()))
        segment = head.segment if head else find_newest_segment(self.folder) or make_segment_name(today)
        handle, size, last, is_torn = self._open_end(segment, head)
        try:
            if head is None and last.seq:
                # records after the last one may have been cut off, which can no longer be known
                body += HEAD_LOST_FIELD
            elif head is None:
                # no record without a head, wherever a writer is killed
                _write_head(lock, LedgerHead(segment, size, last))
            target = self._choose_segment(segment, today, size + len(body) + 256)
            if target != segment:
                os.close(handle)
                handle = -1
                handle, size, last, is_torn = self._open_end(target, LedgerHead(target, -1, last))
                if is_torn:
                    size, is_torn = _append(handle, b"\n", size), False
                size, last = self._prune(lock, handle, target, size, last)
            line, link = chain_line(body, last)
            size = _append(handle, b"\n" + line if is_torn else line, size)
            _try_write_head(lock, LedgerHead(target, size, link))
        except BaseException:
            if handle >= 0:
                os.close(handle)
            raise
        return handle, RecordPlace(target, size - len(line), link.hash)

    def _open_end(self, segment: str, head: LedgerHead | None) -> tuple[int, int, ChainLink, bool]:
        """Open a segment; return it with its size, the last link, and whether its last line is incomplete."""
        # The head is right if the size is as it says. Otherwise a writer was killed after its write, which the tail shows, or
        # something was removed; the greater number counts, so that `ledger verify` sees what is missing.
        handle = open_private(self._path(segment), os.O_RDWR | os.O_APPEND)
        try:
            size = os.fstat(handle).st_size
            if head is not None and size == head.size:
                return handle, size, head.link, False
            tail = os.pread(handle, _TAIL_BYTES, max(size - _TAIL_BYTES, 0))
            found = _find_last_link(tail)
            if found is None and head is None:
                found = self._find_link_before(segment)
            links = [link for link in (found, head.link if head else None) if link is not None]
            last = max(links, key=lambda link: link.seq, default=ChainLink())
        except BaseException:
            os.close(handle)
            raise
        return handle, size, last, bool(tail) and not tail.endswith(b"\n")

    def _find_link_before(self, segment: str) -> ChainLink | None:
        for name in reversed(list_segments(self.folder)):
            if parse_segment_name(name) < parse_segment_name(segment):
                link = _find_last_link(_read_part(self._path(name), is_tail=True))
                if link is not None:
                    return link
        return None

    def _choose_segment(self, segment: str, today: str, size: int) -> str:
        day, number = parse_segment_name(segment)
        # never back: a clock that was set back must not change the order
        if today > day:
            return make_segment_name(today)
        # somebody began the next one, wrote, and was killed before updating the head
        while os.path.lexists(self._path(make_segment_name(day, number + 1))):
            number += 1
        newest = make_segment_name(day, number)
        return make_segment_name(day, number + 1) if newest == segment and size > self._segment_limit else newest

    def _prune(self, lock: int, handle: int, current: str, size: int, last: ChainLink) -> tuple[int, ChainLink]:
        names = [name for name in list_segments(self.folder) if name != current]
        sizes = {name: _get_size(self._path(name)) for name in names}
        total, removed = sum(sizes.values()) + self._segment_limit, []
        while names and total > self._total_limit:
            total -= sizes[names[0]]
            removed.append(names.pop(0))
        if removed:
            from boathook.ledger.record import make_pruned_record

            lines = (line for name in names for line in _read_part(self._path(name)).splitlines(keepends=True))
            first = next((link for line in lines if (link := read_link(line))), ChainLink(last.seq + 1))
            record = make_pruned_record(removed, first.seq, id=make_record_id(), time=make_timestamp(self._now()))
            line, last = chain_line(dump_line(record)[:-2], last)
            size = _append(handle, line, size)
            _try_write_head(lock, LedgerHead(current, size, last))
            for name in removed:
                os.unlink(self._path(name))
        return size, last

    def _spill(self, body: bytes, error: str) -> str:
        """Write a record to the spill file, unchained, so that it is not lost; return an error message."""
        try:
            is_kept = self._append_spill(body + b', "spilled": true}\n')
        except (OSError, ValueError):
            is_kept = False
        result = f"the record went to {SPILL_NAME}" if is_kept else "the record is lost"
        return f"{self._path('ledger')} cannot be written ({error}): {result}"

    def _append_spill(self, line: bytes) -> bool:
        handle = open_private(self._path(SPILL_NAME), os.O_RDWR | os.O_APPEND)
        try:
            size = os.fstat(handle).st_size
            if size + len(line) > self._segment_limit:
                return False
            is_torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
            line = b"\n" + line if is_torn else line
            return os.write(handle, line) == len(line)
        finally:
            os.close(handle)

    def _path(self, name: str) -> str:
        return f"{self.folder}/{name}"


class WriterLock:
    def __init__(self, path: str, seconds: float) -> None:
        self._path, self._seconds = path, seconds
        self._handle = -1

    def __enter__(self) -> int:
        deadline = time.monotonic() + self._seconds
        if not _thread_lock.acquire(timeout=self._seconds):
            raise self._make_timeout()
        try:
            while True:
                self._handle = open_private(self._path, os.O_RDWR)
                self._wait(deadline)
                if _is_same_file(self._handle, self._path):
                    return self._handle
                # it was removed while we waited; others lock the new one
                os.close(self._handle)
                self._handle = -1
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        if self._handle >= 0:
            os.close(self._handle)
        _thread_lock.release()

    def _wait(self, deadline: float) -> None:
        pauses = list(_LOCK_PAUSES)
        while True:
            try:
                os.lockf(self._handle, os.F_TLOCK, 0)
                return
            except (BlockingIOError, PermissionError):
                if time.monotonic() >= deadline:
                    raise self._make_timeout() from None
            time.sleep(pauses.pop(0) if len(pauses) > 1 else pauses[0])

    def _make_timeout(self) -> TimeoutError:
        return TimeoutError(errno.ETIMEDOUT, f"another process has held {LOCK_NAME} for more than {self._seconds:g} s")


def open_private(path: str, flags: int) -> int:
    """Open or create a file of the user's own; anything but a regular file is refused without waiting for it."""
    handle = os.open(path, flags | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, f"{path.rpartition('/')[2]} is not a regular file")
    return handle


def _append(handle: int, data: bytes, size: int) -> int:
    written = os.write(handle, data)
    if written != len(data):
        os.ftruncate(handle, size)
        raise OSError(errno.ENOSPC, "not enough space for a whole record")
    return size + written


def _describe_error(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)


def _is_same_file(handle: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except OSError:
        return False


def _get_size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


# Lines


def chain_line(body: bytes, last: ChainLink) -> tuple[bytes, ChainLink]:
    """Return a line made of a record's text without its last brace and chained to the line before, and its link."""
    text = b'%s, "seq":%d,"prev":"%s"' % (body, last.seq + 1, last.hash.encode())
    link = ChainLink(last.seq + 1, sha256(text).hexdigest(), last.hash)
    return b'%s,"hash":"%s"}\n' % (text, link.hash.encode()), link


def read_link(line: bytes) -> ChainLink | None:
    body, _, end = line.rpartition(b',"hash":"')
    rest, _, prev = body.rpartition(b',"prev":"')
    seq = rest.rpartition(b'"seq":')[2]
    if len(end) != 67 or not end.endswith(b'"}\n') or len(prev) != 65 or not seq.isdigit() or len(seq) > _MAX_DIGITS:
        return None
    return ChainLink(int(seq), end[:64].decode("ascii", "replace"), prev[:64].decode("ascii", "replace"))


def is_unchanged(line: bytes, link: ChainLink) -> bool:
    return sha256(line.rpartition(b',"hash":"')[0]).hexdigest() == link.hash


def _find_last_link(data: bytes) -> ChainLink | None:
    for part in reversed(data.splitlines(keepends=True)):
        # a writer may have been killed when only the end of its line was missing
        line = part if part.endswith(b"\n") else part + b"\n"
        link = read_link(line)
        if link is not None and is_unchanged(line, link):
            return link
    return None


def _read_part(path: str, *, is_tail: bool = False) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        size = os.fstat(handle).st_size
        return os.pread(handle, _TAIL_BYTES, max(size - _TAIL_BYTES, 0) if is_tail else 0)
    except OSError:
        return b""
    finally:
        os.close(handle)


# The head


def read_head(lock: int) -> LedgerHead | None:
    words = os.pread(lock, _HEAD_BYTES, 0).decode("ascii", "replace").split()
    if len(words) != 4 or parse_segment_name(words[0]) == NOT_A_SEGMENT or len(words[3]) != 64:
        return None
    if not all(word.isdigit() and len(word) <= _MAX_DIGITS for word in words[1:3]):
        return None
    return LedgerHead(words[0], int(words[1]), ChainLink(int(words[2]), words[3]))


def peek_head(path: str, seconds: float = LEDGER_LOCK_SECONDS) -> LedgerHead | None:
    """Read the head without the lock, which another process holds; None if it cannot be read."""
    # While a thread of this process holds the lock nothing is opened: closing the file would release it.
    if not _thread_lock.acquire(timeout=seconds):
        return None
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            return read_head(handle) if stat.S_ISREG(os.fstat(handle).st_mode) else None
        finally:
            os.close(handle)
    except OSError:
        return None
    finally:
        _thread_lock.release()


def _try_write_head(lock: int, head: LedgerHead) -> None:
    try:
        _write_head(lock, head)
    except OSError:
        return


def _write_head(lock: int, head: LedgerHead) -> None:
    text = f"{head.segment} {head.size} {head.link.seq} {head.link.hash}"
    os.pwrite(lock, f"{text:<{_HEAD_BYTES - 1}}\n".encode(), 0)


# Segments

NOT_A_SEGMENT = ("", -1)


def make_segment_name(day: str, number: int = 0) -> str:
    return f"{_PREFIX}{day}{f'.{number}' if number else ''}{_SUFFIX}"


def parse_segment_name(name: str) -> tuple[str, int]:
    """Return the day and the number of a segment, by which segments are ordered; NOT_A_SEGMENT for another name."""
    middle = name[len(_PREFIX) : -len(_SUFFIX)]
    day, dot, number = middle.partition(".")
    digits = day.replace("-", "")
    is_day = len(day) == 10 and day[4] == day[7] == "-" and len(digits) == 8 and (digits + number).isdecimal()
    is_segment = is_day and bool(number) == bool(dot) and not number.startswith("0") and name.isascii()
    if not is_segment or name != f"{_PREFIX}{middle}{_SUFFIX}":
        return NOT_A_SEGMENT
    return day, int(number or 0)


def list_segments(folder: str) -> list[str]:
    names = (name for name in os.listdir(folder) if parse_segment_name(name) != NOT_A_SEGMENT)
    return sorted(names, key=parse_segment_name)


def find_newest_segment(folder: str) -> str:
    return max(list_segments(folder), key=parse_segment_name, default="")


def make_record_id() -> str:
    return os.urandom(6).hex()


def make_timestamp(seconds: float | None = None) -> str:
    if seconds is None:
        seconds = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds * 1000) % 1000:03d}Z"
