"""Whether work takes time in proportion to its size: no clock on the wall, no limit in seconds."""

from __future__ import annotations

import time
from collections.abc import Callable

from fuzz.clock import only_its_garbage

TIMES = 8
# Of eight times the size: linear work takes 8 times as long, quadratic work 64 times.
MOST = 24
ATTEMPTS = 6
ENOUGH_SECONDS = 0.005


def grows_in_proportion(work: Callable[[int], object], size: int) -> bool:
    """Whether `work` on a size eight times as large takes at most some times the processor time; noise is tried again."""
    with only_its_garbage():
        return any(_seconds(work, size * TIMES) <= _seconds(work, size) * MOST for _ in range(ATTEMPTS))


def costs_at_most(times: float, work: Callable[[], object], other: Callable[[], object]) -> bool:
    """Whether work takes at most so many times the processor time of other work; noise is tried again."""
    with only_its_garbage():
        return any(_seconds(lambda _: work(), 0) <= times * _seconds(lambda _: other(), 0) for _ in range(ATTEMPTS))


def _seconds(work: Callable[[int], object], size: int) -> float:
    """Return the processor time of one run, of so many that their time can be measured."""
    runs = 1
    while True:
        began = time.process_time()
        for _ in range(runs):
            work(size)
        took = time.process_time() - began
        if took >= ENOUGH_SECONDS:
            return took / runs
        runs *= 4
