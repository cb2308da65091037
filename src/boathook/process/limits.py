"""What one process of a hook may use up; inherited by all that it starts.

A process of the engine's own lowers its soft limits for the moment of the start, so that a hook begins under them. Hard ones
cannot be taken back, and a program that embeds us has threads that must not be hindered: there they are set from outside
when the hook has just started, and once more for all that it started when it has run for a while (Linux).
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Limits = list[tuple[int, tuple[int, int]]]

MOST_FILES = 1024
LONGEST_FILE = 1 << 30
GRACE_SECONDS = 5


def limits_for(timeout: float) -> Limits:
    """Work out the limits of a hook, never above those that are there; before it starts, for then there is no time to lose."""
    import resource

    most = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: MOST_FILES,
        resource.RLIMIT_FSIZE: LONGEST_FILE,
        resource.RLIMIT_CPU: int(timeout + GRACE_SECONDS + 0.999) * (os.cpu_count() or 1),
    }
    return [(which, _within(resource.getrlimit(which), limit)) for which, limit in most.items()]


def _within(there: tuple[int, int], limit: int) -> tuple[int, int]:
    soft, hard = (limit if value < 0 else min(value, limit) for value in there)  # below zero: no limit
    return soft, hard


def start_under(limits: Limits, start: Callable[[], int]) -> int:
    """Start a process from one that is the engine's own, with our own soft limits lowered for that moment."""
    from resource import getrlimit, setrlimit

    before = [(which, getrlimit(which)) for which, _ in limits]
    try:
        for (which, (soft, _)), (_, (_, hard)) in zip(limits, before, strict=True):
            setrlimit(which, (soft, hard))
        return start()
    finally:
        for which, pair in before:
            setrlimit(which, pair)


def as_words(limits: Limits) -> tuple[str, ...]:
    """Return a command that limits itself and becomes another: bwrap starts its own processes before we could limit it."""
    import resource

    flags = {
        resource.RLIMIT_CORE: "c",
        resource.RLIMIT_NOFILE: "n",
        resource.RLIMIT_FSIZE: "f",
        resource.RLIMIT_CPU: "t",
    }
    blocks = (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE)  # a shell counts these by 512 bytes
    line = ""
    for which, pair in limits:
        for kind, value in zip("SH", pair, strict=True):
            line += f"ulimit -{kind}{flags[which]} {value // 512 if which in blocks else value}; "
    return "/bin/sh", "-c", f'{line}exec "$@"', "sh"


def put_on(pid: int, limits: Limits) -> None:
    """Set the limits of a process from outside, where that can be done."""
    import resource

    try:
        for which, pair in limits:
            resource.prlimit(pid, which, pair)
    except (AttributeError, OSError, ValueError):
        return  # no such call here; or it has ended already, or runs as somebody else
