"""Copy the memory that an event writes to before the event comes: in a fork, the first write to each page copies it."""

# An event writes to a thousand pages or so, nearly always the same ones, because Python counts references in its objects. To
# copy them takes up to a third of the time of an event. So the first forks say which ones they were (/proc/self/pagemap), and
# of later ones the next to be used copies them before an event comes. The others do not, because copies are six megabytes.
# Memory is shared in both directions: after each fork the next event would copy the resident's own pages again, 450 of them. So
# the resident notes which of its pages it writes to while it answers, and copies them after each fork, when no caller waits.

from __future__ import annotations

import array
import ctypes
import os

_PAGE = os.sysconf("SC_PAGESIZE")
# Bits of /proc/PID/pagemap: the page is in memory, and no other process has it.
_OWN = 1 << 63 | 1 << 56
_MADV_POPULATE_READ, _MADV_POPULATE_WRITE = 22, 23
_MAX_RANGES = 4096
# A fork that waits has closed everything above.
_MAX_HANDLES = 1 << 10

Ranges = list[tuple[int, int]]

_madvise = ctypes.CDLL(None).madvise
_madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


class WrittenMemory:
    """Keeps a fork that does nothing: it shares all pages with this process that are not written to from now on.

    Without that fork, a page that the resident has written to since would belong to this process alone, as if it had been
    written to here.
    """

    def __init__(self) -> None:
        reading, self._writing = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                os.close(self._writing)
                os.closerange(0, reading)
                os.closerange(reading + 1, _MAX_HANDLES)
                # It ends with the other process.
                os.read(reading, 1)
            finally:
                os._exit(0)
        os.close(reading)

    def close(self) -> None:
        os.close(self._writing)
        os.waitpid(self._pid, 0)


def find_own_pages() -> set[int]:
    """Return the numbers of the pages that this process shares with no other one."""
    own: set[int] = set()
    with open("/proc/self/maps", "rb") as maps, open("/proc/self/pagemap", "rb", buffering=0) as pages:
        for line in maps:
            bounds, rights, *_ = line.split(maxsplit=2)
            if rights == b"rw-p" and b"[stack" not in line:
                start, end = (int(bound, 16) // _PAGE for bound in bounds.split(b"-"))
                pages.seek(start * 8)
                entries = array.array("Q", pages.read((end - start) * 8))
                own.update(start + at for at, entry in enumerate(entries) if entry & _OWN == _OWN)
    return own


def merge_pages(pages: set[int]) -> Ranges:
    """Return start and size of the memory that pages are in."""
    ranges: Ranges = []
    first = last = -1
    for page in sorted(pages):
        if first >= 0 and page != last + 1:
            ranges.append((first * _PAGE, (last + 1 - first) * _PAGE))
            first = page
        first, last = (page if first < 0 else first), page
    return [*ranges, (first * _PAGE, (last + 1 - first) * _PAGE)][:_MAX_RANGES] if first >= 0 else []


def map_files() -> None:
    """Map what is mapped of files, such as libraries: a fork has to find each page of them again when it reads it."""
    with open("/proc/self/maps", "rb") as maps:
        lines = [line.split(maxsplit=5) for line in maps]
    for bounds, rights, _, _, inode, *_ in lines:
        if inode != b"0" and rights in (b"r-xp", b"r--p"):
            start, end = (int(bound, 16) for bound in bounds.split(b"-"))
            _madvise(start, end - start, _MADV_POPULATE_READ)


def copy_pages(ranges: Ranges) -> None:
    """Make own copies of memory now; what is not there any more is left out (and so is all of it before Linux 5.14)."""
    for start, size in ranges:
        _madvise(start, size, _MADV_POPULATE_WRITE)
