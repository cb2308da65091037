"""Short paths of sockets: the path of a Unix socket may have about 100 bytes, and the folders of tests are often longer."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def shorten_path(path: Path) -> Iterator[str]:
    """Return a short path of the same file, which works in this process until the block ends."""
    handle = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{handle}/{path.name}"
    finally:
        os.close(handle)
