"""Ask a model or a server in a fork of the process that answers an event.

The fork has the library for HTTP in memory. To start an interpreter and to import it takes longer than all else.
"""

from __future__ import annotations

import _signal as signal  # pyright: ignore[reportMissingImports]
import os
import sys
from typing import TYPE_CHECKING

from boathook.process.command import ASK_COMMAND
from boathook.process.remote_hooks import NoAnswerError, import_httpx, run_remote_hook
from boathook.process.spawn import spawn_posix, start_in_folder
from boathook.warm.process_state import close_other_handles, replace_environment, reset_signals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_BROKEN_CODE = 70


def preload_library() -> None:
    """Import the library that asks, if it is installed."""
    try:
        import_httpx("")
    except NoAnswerError:
        return


def start_hook_process(
    argv: Sequence[str], env: Mapping[bytes, bytes], cwd: str, stdin: int, stdout: int, stderr: int
) -> int:
    """Start the process of a hook; a question becomes a fork of this process. In a sandbox it has another command."""
    if tuple(argv) != ASK_COMMAND or "httpx" not in sys.modules:
        return spawn_posix(argv, env, cwd, stdin, stdout, stderr)
    return start_in_folder(cwd, lambda: _fork_question(dict(env), (stdin, stdout, stderr)))


def _fork_question(env: dict[bytes, bytes], streams: tuple[int, int, int]) -> int:
    reading, writing = os.pipe()
    try:
        pid = os.fork()
        if pid == 0:
            _ask(env, streams, writing)
        os.close(writing)
        writing = -1
        # From now on it has a session of its own, so that its group can be killed.
        os.read(reading, 1)
    finally:
        os.close(reading)
        if writing >= 0:
            os.close(writing)
    return pid


def _ask(env: dict[bytes, bytes], streams: tuple[int, int, int], writing: int) -> None:
    """Become the process that would have been started, ask, and end."""
    code = _BROKEN_CODE
    try:
        os.setsid()
        reset_signals(keeps_ignored=True)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for number, handle in enumerate(streams):
            os.dup2(handle, number)
        close_other_handles((writing,))
        replace_environment(env)
        os.close(writing)
        code = run_remote_hook()
    finally:
        os._exit(code)
