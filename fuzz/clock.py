"""Time without a clock on the wall: what an input costs, counted in the time of a plain loop measured beside it.

The promise is 50 ms per 64 KiB on a quiet machine. Machines are noisy and differ, so the promise is kept as a ratio: on the
machine it was made for, the loop below takes about 4.2 ms, and 50 ms are twelve of it. Only processor time counts, of several runs
the least, and the loop runs in between, so that a slow minute is slow for both. Objects of the tester are kept from the garbage
collector meanwhile: how many of them there are is no matter of the input, and walking over them made linear readers look quadratic.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import NamedTuple

NEAR = 0.5  # of what is allowed: what takes less is within it even if the machine has become half as fast since the loop was timed
SURE = 0.8  # of what is allowed, with a loop timed just now: more runs would only find less
FRAMES = 16  # between two runs
LOOPS = 12.0  # what an input of 64 KiB may cost: 50 ms, where the loop takes 4.2
TEXT = "the quick brown fox " * 3277  # 64 KiB


class Cost(NamedTuple):
    """What something took: seconds, and the same in loops."""

    seconds: float
    loops: float


def plain_loop() -> int:
    """Do what a reader in Python does: look at every character of 64 KiB once."""
    count: dict[str, int] = {}
    for char in TEXT:
        count[char] = count.get(char, 0) + 1
    return len(count)


def seconds_of(what: Callable[[], object]) -> float:
    """Give the processor time of a call."""
    start = time.process_time()
    what()
    return time.process_time() - start


def call_below(frames: int, what: Callable[[], object]) -> object:
    """Make a call that many frames deeper.

    CPython 3.11 keeps frames in pieces of 16 KiB; a loop whose calls cross the end of a piece again and again gets and frees
    one each time, and takes three times as long. Whether it does depends only on how deep its caller is.
    """
    return call_below(frames - 1, what) if frames else what()


@contextmanager
def only_its_garbage() -> Iterator[None]:
    """Let the garbage collector see only what is made from here on."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@cache
def loop_once() -> float:
    """Give the time of the loop, measured once in this process: enough to tell what is far from the limit."""
    return min(seconds_of(plain_loop) for _ in range(3))


def cost_of(what: Callable[[], object], passes: int = 1, runs: int = 5, *, allowed: float = LOOPS) -> Cost:
    """Measure a pass of a call; what is anywhere near the limit, in loops, is measured again, in turns with the loop."""
    with only_its_garbage():
        best, loop = seconds_of(what) / passes, loop_once()
        if best > loop * allowed * NEAR:
            loops = []
            for run in range(runs):
                loops.append(seconds_of(plain_loop))
                if best <= min(loops) * allowed * SURE:
                    break
                best = min(best, seconds_of(partial(call_below, run * FRAMES, what)) / passes)
            loop = min(loops)
    return Cost(best, best / loop)
