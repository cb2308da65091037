"""What shows that a file or folder changed."""

from __future__ import annotations

from boathook.system.locations import system

TYPE_CHECKING = False
if TYPE_CHECKING:
    Stamp = tuple[int, int, int] | None


def stamp(path: str) -> Stamp:
    """Return what changes when a file or folder changes, of a path with a slash at its end when that folder's mode does."""
    try:
        found = system.stat(path)
    except (OSError, ValueError):
        return None
    if path.endswith("/"):
        return (found.st_mode, found.st_uid, found.st_ino)
    return (found.st_ctime_ns, found.st_size, found.st_ino)
