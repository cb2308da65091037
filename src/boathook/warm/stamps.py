"""Compare files with their stamps in one call of a small C library, if it was built: the resident does so at each event."""

# Python needs three times as long for each file, and writes to the memory of all paths and stamps, which the resident shares
# with its forks: each page of it would have to be copied. Without the library `catalog_cache.format` compares.

from __future__ import annotations

import ctypes
import errno
import os
import struct
from _imp import source_hash
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from boathook.system.programs import make_stamp

if TYPE_CHECKING:
    from boathook.system.programs import Stamp

    Watch = Iterable[tuple[str, Stamp]]
    PackLooks = Callable[[Watch], Callable[[], bool] | None]

SOURCE = os.path.join(os.path.dirname(__file__), "stamps.c")
# Its name has no ending, because Python would take a file `stamps.so` for this module.
LIBRARY = os.path.join(os.path.dirname(__file__), "stamps")
_DIGEST_KEY, _DIGEST_BYTES = 1, 8
_LOOK = struct.Struct("=qqqIIII")
_ABSENT, _CONTENT, _MODE = range(3)
_MAX_TEXT_BYTES = (1 << 32) - 1
# To open a folder takes as long as to look at a few files.
_MIN_FILES_OF_FOLDER = 4


def compute_library_digest(library: bytes, source: bytes) -> bytes:
    """Return the digest at the end of a library's file. It differs if the library is cut off or was built from another source."""
    # To load a file that is cut off may end the process.
    return source_hash(_DIGEST_KEY, source + library)


def load_stamps_library(library: str = LIBRARY, source: str = SOURCE) -> PackLooks | None:
    """Return what packs files and stamps for the library; None if it is missing, of another source, or does not work."""
    try:
        with open(source, "rb") as source_file, open(library, "rb") as file:
            data = file.read()
            if data[-_DIGEST_BYTES:] != compute_library_digest(data[:-_DIGEST_BYTES], source_file.read()):
                return None
        are_unchanged = _load_bytes(data).boathook_are_unchanged
    except (OSError, ValueError, AttributeError):
        return None
    are_unchanged.argtypes, are_unchanged.restype = (ctypes.c_char_p, ctypes.c_uint32, ctypes.c_char_p), ctypes.c_int

    def pack(watch: Watch) -> Callable[[], bool] | None:
        try:
            looks, texts = _pack_looks([*watch])
        except (OverflowError, UnicodeError, ValueError, struct.error):
            return None
        count = len(looks) // _LOOK.size
        return lambda: are_unchanged(looks, count, texts) == 1

    return pack if _works(pack, library) else None


def _load_bytes(library: bytes) -> ctypes.CDLL:
    """Load a library from memory: a file may be cut off or written to after it was looked at, which ends who has loaded it."""
    handle = os.memfd_create("boathook-stamps")
    try:
        if os.write(handle, library) != len(library):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        # The descriptor stays open: a library is known by its path, so no other one may get this number.
        return ctypes.CDLL(f"/proc/self/fd/{handle}")
    except OSError:
        os.close(handle)
        raise


def _works(pack: PackLooks, path: str) -> bool:
    """Whether the library says of a file, a folder and a missing file that they are as they are, and notices any difference."""
    for name in (path, os.path.dirname(path) + "/", path + "/missing"):
        stamp = make_stamp(name)
        others = [None, (1, 2, 3)] if stamp is None else [None, *_list_other_stamps(stamp)]
        for one in (stamp, *(other for other in others if other != stamp)):
            # Often enough that a folder is opened for it.
            is_unchanged = pack([*[(name, stamp)] * _MIN_FILES_OF_FOLDER, (name, one)])
            if is_unchanged is None or is_unchanged() != (one == stamp):
                return False
    return True


def _list_other_stamps(stamp: tuple[int, int, int]) -> list[tuple[int, int, int]]:
    first, second, third = stamp
    return [(first + 1, second, third), (first, second + 1, third), (first, second, third + 1)]


def _pack_looks(watch: list[tuple[str, Stamp]]) -> tuple[bytes, bytes]:
    """Return the looks as the library reads them, and the texts that these refer to."""
    paths = [(os.fsencode(path), stamp) for path, stamp in watch]
    if any(b"\0" in path for path, _ in paths):
        raise ValueError("a path with a zero byte")
    counts: dict[bytes, int] = {}
    for path, _ in paths:
        counts[_find_folder(path)] = counts.get(_find_folder(path), 0) + 1
    texts, looks = bytearray(1), bytearray()
    places: dict[bytes, int] = {b"": 0}
    for path, stamp in sorted(paths, key=lambda pair: _find_folder(pair[0])):
        folder = _find_folder(path)
        folder = folder if counts[folder] >= _MIN_FILES_OF_FOLDER else b""
        if folder not in places:
            places[folder] = len(texts)
            texts += folder + b"\0"
        place = len(texts)
        texts += path + b"\0"
        kind = _ABSENT if stamp is None else _MODE if path.endswith(b"/") else _CONTENT
        looks += _LOOK.pack(*(stamp or (0, 0, 0)), kind, place, places[folder], place + len(folder) if folder else 0)
    if len(texts) > _MAX_TEXT_BYTES:
        raise OverflowError
    return bytes(looks), bytes(texts)


def _find_folder(path: bytes) -> bytes:
    """Return the folder of the folder that a file is in, with a slash at its end: the manifests of all hooks have the same."""
    parent, _, name = path.rstrip(b"/").rpartition(b"/")
    folder, _, parent_name = parent.rpartition(b"/")
    # A name that is empty would make the rest of the path an absolute one.
    return folder + b"/" if folder.startswith(b"/") and name and parent_name else b""
