"""The resource limits of a hook's process, inherited by everything it starts."""

# A process of the engine's own lowers its soft limits while it starts a hook. A program that embeds us has threads that must
# not be affected: there they are set from outside when the hook has just started, and once more for everything it started
# (Linux).

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    ProcessLimits = list[tuple[int, tuple[int, int]]]

MAX_WRITTEN_FILE_BYTES = 1 << 30
_MAX_OPEN_FILES = 1024
_GRACE_SECONDS = 5


def compute_limits(timeout: float) -> ProcessLimits:
    """Return the limits of a hook, never above the current ones. Called before a hook starts, when there is time."""
    import resource

    most = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: _MAX_OPEN_FILES,
        resource.RLIMIT_FSIZE: MAX_WRITTEN_FILE_BYTES,
        resource.RLIMIT_CPU: int(timeout + _GRACE_SECONDS + 0.999) * (os.cpu_count() or 1),
    }
    return [(which, _lower(resource.getrlimit(which), limit)) for which, limit in most.items()]


def _lower(current: tuple[int, int], limit: int) -> tuple[int, int]:
    # below zero: no limit
    soft, hard = (limit if value < 0 else min(value, limit) for value in current)
    return soft, hard


def start_with_limits(limits: ProcessLimits, start: Callable[[], int]) -> int:
    """Start a process from one of the engine's own, whose soft limits are lowered meanwhile."""
    from resource import getrlimit, setrlimit

    before = [(which, getrlimit(which)) for which, _ in limits]
    try:
        for (which, (soft, _)), (_, (_, hard)) in zip(limits, before, strict=True):
            setrlimit(which, (soft, hard))
        return start()
    finally:
        for which, pair in before:
            setrlimit(which, pair)


def make_ulimit_command(limits: ProcessLimits) -> tuple[str, ...]:
    """Return a command that limits itself and becomes another: bwrap starts its own processes before we could limit it."""
    import resource

    flags = {
        resource.RLIMIT_CORE: "c",
        resource.RLIMIT_NOFILE: "n",
        resource.RLIMIT_FSIZE: "f",
        resource.RLIMIT_CPU: "t",
    }
    # a shell counts these in blocks of 512 bytes
    in_blocks = (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE)
    line = ""
    for which, pair in limits:
        for kind, value in zip("SH", pair, strict=True):
            line += f"ulimit -{kind}{flags[which]} {value // 512 if which in in_blocks else value}; "
    return "/bin/sh", "-c", f'{line}exec "$@"', "sh"


def set_limits(pid: int, limits: ProcessLimits) -> None:
    import resource

    try:
        for which, pair in limits:
            resource.prlimit(pid, which, pair)
    except (AttributeError, OSError, ValueError):
        # no such call here; or it has ended already, or runs as another user
        return
