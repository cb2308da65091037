"""What a fork of the resident has of its own: signals, environment, handles."""

from __future__ import annotations

import _signal as signal  # pyright: ignore[reportMissingImports]
import os
import posix

from boathook.warm.caller_facts import LIBRARY_SIGNALS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

# What Python itself ignores in every process.
_PYTHON_IGNORES = (signal.SIGPIPE, signal.SIGXFSZ)


def reset_signals(*, keeps_ignored: bool = False) -> None:
    """Handle signals as a fresh interpreter does, whose caller ignores none, or those that are ignored now."""
    signal.set_wakeup_fd(-1)
    for number in range(1, 65):
        if number in (signal.SIGKILL, signal.SIGSTOP, *LIBRARY_SIGNALS):
            continue
        if keeps_ignored and signal.getsignal(number) == signal.SIG_IGN:
            continue
        handler = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, signal.SIG_IGN if number in _PYTHON_IGNORES else handler)


def replace_environment(env: dict[bytes, bytes]) -> None:
    """Give this process other variables."""
    # `os.environ` and `boathook.system.locations` look into this very object.
    known = posix.environ
    for name in known.keys() - env.keys():
        posix.unsetenv(name)
    for name, value in env.items():
        # The C library takes no variable without a name; Python has it nevertheless.
        if name:
            posix.putenv(name, value)
    known.clear()
    known.update(env)


def close_other_handles(kept: Container[int]) -> None:
    """Close all handles but the first three and those that are kept."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) not in kept:
            close_handle(int(name))


def close_handle(handle: int) -> None:
    try:
        os.close(handle)
    except OSError:
        return
