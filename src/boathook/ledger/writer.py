"""The ledger: one line per record, each bound to the one before by its hash, in files of a day.

A line is JSON and ends with its link: `"seq":N,"prev":"<hash of the line before>","hash":"<of this line up to here>"}`. Writers
take turns by a lock on `ledger.lock`, which also holds the head: the segment, its size, and the last link. They open everything
anew for every record, so that whatever happens to the files is seen. Lean: a host waits for this.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from _thread import allocate_lock

from boathook.core.hashing import hexdigest
from boathook.core.json_text import dump_line
from boathook.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

LOCK, SPILL = "ledger.lock", "ledger-spill.jsonl"
PREFIX, SUFFIX = "ledger-", ".jsonl"
SEGMENT_LIMIT = 16 << 20
TOTAL_LIMIT = 256 << 20
LINE_LIMIT = 1 << 16
TAIL = 2 * LINE_LIMIT
PATIENCE = 1.0
HEAD_SIZE = 192
DIGITS = 18  # of the number of a record
HEADLESS = b', "headless": true'  # what a record says that was written when the head was gone
NAPS = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01)

_guard = allocate_lock()  # a lock of the system's is that of the whole process: its threads take turns by this one
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_guard._at_fork_reinit)  # type: ignore[attr-defined]


class Link(Value):
    """What binds a line to the one before it."""

    seq: int = 0
    hash: str = "0" * 64
    prev: str = ""


class Head(Value):
    """Where the ledger ends: the segment and its size, and the last link."""

    segment: str
    size: int
    link: Link


class Ledger:
    """Appends records; trouble comes back as words, never as an exception, and never takes longer than its patience."""

    def __init__(
        self,
        folder: str,
        *,
        segment_limit: int = SEGMENT_LIMIT,
        total_limit: int = TOTAL_LIMIT,
        patience: float = PATIENCE,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Take the folder; it and its files are made when needed."""
        self.folder = folder
        self._segment_limit = segment_limit
        self._total_limit = total_limit
        self._patience = patience
        self._now = now

    def append(self, record: dict[str, Any], *, sync: bool = False) -> str:
        """Append a record in one write, on the disk before this returns if `sync`; say what went wrong, if so."""
        body = dump_line(record)[:-2]
        if len(body) > LINE_LIMIT - 200:
            return f"{self._path('ledger')} cannot hold a record of {len(body):,} bytes: it is lost"
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            with Turn(self._path(LOCK), self._patience) as lock:
                handle = self._write(lock, body)
            try:
                if sync:
                    getattr(os, "fdatasync", os.fsync)(handle)
            finally:
                os.close(handle)
        except (OSError, ValueError) as error:
            return self._spill(body, getattr(error, "strerror", None) or str(error))
        return ""

    def _write(self, lock: int, body: bytes) -> int:
        """Write a line behind the last one; return the open segment."""
        head, today = read_head(lock), time.strftime("%Y-%m-%d", time.gmtime(self._now()))
        segment = head.segment if head else newest(self.folder) or segment_name(today)
        handle, size, last, torn = self._end_of(segment, head)
        try:
            if head is None and last.seq:
                body += HEADLESS  # what stood behind the last record cannot be known any more
            elif head is None:
                _put_head(lock, Head(segment, size, last))  # no record without a head, wherever a writer dies
            following = self._following(segment, today, size + len(body) + 256)
            if following != segment:
                os.close(handle)
                handle = -1
                handle, size, last, torn = self._end_of(following, Head(following, -1, last))
                if torn:
                    size, torn = _append(handle, b"\n", size), False
                size, last = self._prune(lock, handle, following, size, last)
            line, link = chained(body, last)
            size = _append(handle, b"\n" + line if torn else line, size)
            _keep_head(lock, Head(following, size, link))
        except BaseException:
            if handle >= 0:
                os.close(handle)
            raise
        return handle

    def _end_of(self, segment: str, head: Head | None) -> tuple[int, int, Link, bool]:
        """Open a segment; return it with its size, the last link, and whether it ends within a line.

        What the head says is true if the size is as it says. Else a writer died behind its write, which the tail shows, or
        something was taken away; the greater number counts, so that `verify` sees what is missing.
        """
        handle = open_private(self._path(segment), os.O_RDWR | os.O_APPEND)
        try:
            size = os.fstat(handle).st_size
            if head is not None and size == head.size:
                return handle, size, head.link, False
            tail = os.pread(handle, TAIL, max(size - TAIL, 0))
            found = last_link(tail)
            if found is None and head is None:
                found = self._link_before(segment)
            links = [link for link in (found, head.link if head else None) if link is not None]
            last = max(links, key=lambda link: link.seq, default=Link())
        except BaseException:
            os.close(handle)
            raise
        return handle, size, last, bool(tail) and not tail.endswith(b"\n")

    def _link_before(self, segment: str) -> Link | None:
        """Find the last link in the segments before one."""
        for name in reversed(segments(self.folder)):
            if order_of(name) < order_of(segment) and (found := last_link_of(self._path(name))):
                return found
        return None

    def _following(self, segment: str, today: str, size: int) -> str:
        """Return the segment to write to: the same, or the next one on a new day or if this one is full."""
        day, number = order_of(segment)
        if today > day:  # never back: a clock that was set back must not change the order
            return segment_name(today)
        while os.path.lexists(self._path(segment_name(day, number + 1))):
            number += 1  # somebody began it, wrote, and died before the head could say so
        begun = segment_name(day, number)
        return segment_name(day, number + 1) if begun == segment and size > self._segment_limit else begun

    def _prune(self, lock: int, handle: int, current: str, size: int, last: Link) -> tuple[int, Link]:
        """Remove the oldest segments if all together are too large, and write that down first."""
        names = [name for name in segments(self.folder) if name != current]
        sizes = {name: _size_of(self._path(name)) for name in names}
        total, gone = sum(sizes.values()) + self._segment_limit, []
        while names and total > self._total_limit:
            total -= sizes[names[0]]
            gone.append(names.pop(0))
        if gone:
            from boathook.ledger.record import pruned_record

            firsts = (first_link_of(self._path(name)) for name in names)
            first = next((link for link in firsts if link), Link(last.seq + 1))
            record = pruned_record(gone, first.seq, id=new_id(), time=stamp(self._now()))
            line, last = chained(dump_line(record)[:-2], last)
            size = _append(handle, line, size)
            _keep_head(lock, Head(current, size, last))
            for name in gone:
                os.unlink(self._path(name))
        return size, last

    def _spill(self, body: bytes, why: str) -> str:
        """Put a record aside, unbound, so that it is not lost; say so."""
        try:
            done = self._put_aside(body + b', "spilled": true}\n')
        except (OSError, ValueError):
            done = False
        where = f"the record went to {SPILL}" if done else "the record is lost"
        return f"{self._path('ledger')} cannot be written ({why}): {where}"

    def _put_aside(self, line: bytes) -> bool:
        handle = open_private(self._path(SPILL), os.O_RDWR | os.O_APPEND)
        try:
            size = os.fstat(handle).st_size
            if size + len(line) > self._segment_limit:
                return False
            torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
            line = b"\n" + line if torn else line
            return os.write(handle, line) == len(line)
        finally:
            os.close(handle)

    def _path(self, name: str) -> str:
        return f"{self.folder}/{name}"


class Turn:
    """The turn of one writer: waits for the lock, and gives up after a while."""

    def __init__(self, path: str, patience: float) -> None:
        self._path = path
        self._patience = patience
        self._handle = -1

    def __enter__(self) -> int:
        """Wait for the turn; return the lock file."""
        deadline = time.monotonic() + self._patience
        if not _guard.acquire(timeout=self._patience):
            raise TimeoutError(errno.ETIMEDOUT, self._late())
        try:
            while True:
                self._handle = open_private(self._path, os.O_RDWR)
                self._wait(deadline)
                if _same_file(self._handle, self._path):
                    return self._handle
                os.close(self._handle)  # it was removed while we waited; others lock the new one
                self._handle = -1
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        """End the turn."""
        if self._handle >= 0:
            os.close(self._handle)
        _guard.release()

    def _wait(self, deadline: float) -> None:
        naps = list(NAPS)
        while True:
            try:
                os.lockf(self._handle, os.F_TLOCK, 0)
                return
            except (BlockingIOError, PermissionError):
                if time.monotonic() >= deadline:
                    raise TimeoutError(errno.ETIMEDOUT, self._late()) from None
            time.sleep(naps.pop(0) if len(naps) > 1 else naps[0])

    def _late(self) -> str:
        return f"somebody holds {LOCK} for more than {self._patience:g} s"


def open_private(path: str, flags: int) -> int:
    """Open a file of the user's own, made if it is not there; what is no regular file is refused, and never waited for."""
    handle = os.open(path, flags | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, f"{path.rpartition('/')[2]} is no regular file")
    return handle


def _append(handle: int, data: bytes, size: int) -> int:
    """Write all or nothing; return the new size."""
    done = os.write(handle, data)
    if done != len(data):
        os.ftruncate(handle, size)
        raise OSError(errno.ENOSPC, "no room for a whole record")
    return size + done


def _same_file(handle: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except OSError:
        return False


def _size_of(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


# Lines


def chained(body: bytes, last: Link) -> tuple[bytes, Link]:
    """Return a line, made of a record's text without its last brace and bound to the line before, and its link."""
    text = b'%s, "seq":%d,"prev":"%s"' % (body, last.seq + 1, last.hash.encode())
    found = Link(last.seq + 1, hexdigest(text), last.hash)
    return b'%s,"hash":"%s"}\n' % (text, found.hash.encode()), found


def read_link(line: bytes) -> Link | None:
    """Return the link of a whole line as it says it; nothing if it has none."""
    body, _, end = line.rpartition(b',"hash":"')
    rest, _, prev = body.rpartition(b',"prev":"')
    number = rest.rpartition(b'"seq":')[2]
    if len(end) != 67 or not end.endswith(b'"}\n') or len(prev) != 65 or not number.isdigit() or len(number) > DIGITS:
        return None
    return Link(int(number), end[:64].decode("ascii", "replace"), prev[:64].decode("ascii", "replace"))


def is_true(line: bytes, link: Link) -> bool:
    """Whether a line is as it was written."""
    return hexdigest(line.rpartition(b',"hash":"')[0]) == link.hash


def last_link(data: bytes) -> Link | None:
    """Return the link of the last line of some bytes that is whole and as it was written."""
    for line in reversed(data.splitlines(keepends=True)):
        link = read_link(line)
        if link is not None and is_true(line, link):
            return link
    return None


def last_link_of(path: str) -> Link | None:
    """Return the last link of a segment."""
    return last_link(_some_of(path, from_the_end=True))


def first_link_of(path: str) -> Link | None:
    """Return the first link of a segment."""
    return next((link for line in _some_of(path).splitlines(keepends=True) if (link := read_link(line))), None)


def _some_of(path: str, *, from_the_end: bool = False) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        size = os.fstat(handle).st_size
        return os.pread(handle, TAIL, max(size - TAIL, 0) if from_the_end else 0)
    except OSError:
        return b""
    finally:
        os.close(handle)


# The head


def read_head(lock: int) -> Head | None:
    """Read the head from the lock file; nothing if there is none."""
    words = os.pread(lock, HEAD_SIZE, 0).decode("ascii", "replace").split()
    if len(words) != 4 or order_of(words[0]) == NOWHERE or len(words[3]) != 64:
        return None
    if not all(word.isdigit() and len(word) <= DIGITS for word in words[1:3]):
        return None
    return Head(words[0], int(words[1]), Link(int(words[2]), words[3]))


def peek_head(path: str, patience: float = PATIENCE) -> Head | None:
    """Read the head without a turn, if another process keeps it; nothing if it cannot be read.

    While a thread of this process has its turn nothing is opened: closing that would end the turn.
    """
    if not _guard.acquire(timeout=patience):
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
        _guard.release()


def _keep_head(lock: int, head: Head) -> None:
    """Write the head; if that fails the next writer looks at the tail."""
    try:
        _put_head(lock, head)
    except OSError:
        return


def _put_head(lock: int, head: Head) -> None:
    text = f"{head.segment} {head.size} {head.link.seq} {head.link.hash}"
    os.pwrite(lock, f"{text:<{HEAD_SIZE - 1}}\n".encode(), 0)


# Segments

NOWHERE = ("", -1)


def segment_name(day: str, number: int = 0) -> str:
    """Return the name of a segment of a day."""
    return f"{PREFIX}{day}{f'.{number}' if number else ''}{SUFFIX}"


def order_of(name: str) -> tuple[str, int]:
    """Return the day and the number of a segment; NOWHERE if that is none."""
    middle = name[len(PREFIX) : -len(SUFFIX)]
    day, dot, number = middle.partition(".")
    digits = day.replace("-", "")
    fits = len(day) == 10 and day[4] == day[7] == "-" and len(digits) == 8 and (digits + number).isdecimal()
    good = fits and bool(number) == bool(dot) and not number.startswith("0") and name.isascii()
    return (day, int(number or 0)) if good and name == f"{PREFIX}{middle}{SUFFIX}" else NOWHERE


def segments(folder: str) -> list[str]:
    """Return the names of the segments, the oldest first."""
    return sorted((name for name in os.listdir(folder) if order_of(name) != NOWHERE), key=order_of)


def newest(folder: str) -> str:
    """Return the name of the newest segment, nothing if there is none."""
    return max(segments(folder), key=order_of, default="")


def new_id() -> str:
    """Return a new id of a record."""
    return os.urandom(6).hex()


def stamp(seconds: float) -> str:
    """Return a time as ISO 8601 in UTC, with milliseconds."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds * 1000) % 1000:03d}Z"
