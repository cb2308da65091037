"""Time as it would be on a machine that is not busy."""

from __future__ import annotations

import os
import time
from pathlib import Path


class Stopwatch:
    """Counts seconds, but none in which anything on this machine waited for a processor or a disk.

    Promises of a time are made for a machine that has both. Where the kernel does not account for such waits, no time is counted.
    """

    def __init__(self) -> None:
        self._began, self._waits = time.monotonic(), _waited_seconds()

    @property
    def seconds(self) -> float:
        return max(time.monotonic() - self._began - (_waited_seconds() - self._waits), 0.0)


def _waited_seconds() -> float:
    """Return how long tasks have waited, at most: the account is an average over the processors."""
    processors, total = os.cpu_count() or 1, 0.0
    for resource in ("cpu", "io"):
        try:
            some = Path(f"/proc/pressure/{resource}").read_text().splitlines()[0]
        except OSError:
            return time.monotonic()
        total += processors * int(some.rpartition("=")[2]) / 1e6
    # What another guest of the same hardware took from us, in hundredths.
    stolen = int(Path("/proc/stat").read_text().split()[8])
    return total + stolen / 100
