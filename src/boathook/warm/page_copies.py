"""Copy the memory that an event writes to before the event comes: in a fork, the first write to each page copies it."""

# An event writes to a thousand pages or so, nearly always the same ones, because Python counts references in its objects. To
# copy them takes up to a third of the time of an event. So a fork that has answered says which ones they were.

from __future__ import annotations

import array
import ctypes
import os

_PAGE = os.sysconf("SC_PAGESIZE")
# Bits of /proc/PID/pagemap: the page is in memory, and no other process has it.
_OWN = 1 << 63 | 1 << 56
_MADV_POPULATE_WRITE = 23
_MAX_RANGES = 4096

Ranges = list[tuple[int, int]]

_madvise = ctypes.CDLL(None).madvise
_madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


def find_own_pages() -> set[int]:
    """Return the numbers of the pages that this process does not share with the one it was forked from."""
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


def copy_pages(ranges: Ranges) -> None:
    """Make own copies of memory now; what is not there any more is left out (and so is all of it before Linux 5.14)."""
    for start, size in ranges:
        _madvise(start, size, _MADV_POPULATE_WRITE)
