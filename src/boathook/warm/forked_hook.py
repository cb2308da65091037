"""Start the processes of some hooks as forks of the process that answers an event.

These are hooks that ask a model or a server, and the guards of boathook's own packs: to start an interpreter and to import what
they need takes longer than all else, and the resident has it in memory. Guards of others get an interpreter of their own: what
they import, and find in it, must not depend on the resident.
"""

from __future__ import annotations

import _signal as signal  # pyright: ignore[reportMissingImports]
import os
import stat
import sys
from typing import TYPE_CHECKING

from boathook.guards.known_scripts import NAME_VARIABLE, OWN_PREFIX
from boathook.guards.preloaded_code import preload_shared_code
from boathook.guards.shared_process import run_alone, run_shared
from boathook.process.command import ASK_COMMAND
from boathook.process.remote_hooks import NoAnswerError, import_httpx, run_remote_hook
from boathook.process.shared_jobs import start_python
from boathook.process.spawn import spawn_posix, start_in_folder
from boathook.warm.process_state import close_other_handles, replace_environment, reset_signals

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

# As the interpreter ends after an exception.
_BROKEN_CODE = 1
# Libraries read them when they are loaded, which was in the resident.
_LIBRARY_VARIABLES = (b"LD_", b"OPENSSL_", b"MALLOC_", b"GLIBC_TUNABLES")
_NAME, _OWN = NAME_VARIABLE.encode(), OWN_PREFIX.encode()
# How the command begins, and what does the same here; it gets the rest of the command, and the whole of it is in `sys.orig_argv`.
_FORKED: dict[tuple[str, ...], Callable[..., int | None]] = {
    ASK_COMMAND: run_remote_hook,
    start_python(run_shared.__name__): lambda cache: run_shared(cache, only_known=True),
    start_python(run_alone.__name__): lambda *words: run_alone(*words, only_known=True),
}


def preload_modules() -> None:
    """Import what the forks need: the code of guards, and the library that asks over HTTP, if it is installed."""
    preload_shared_code()
    try:
        import_httpx("")
    except NoAnswerError:
        return


def start_hook_process(
    argv: Sequence[str], env: Mapping[bytes, bytes], cwd: str, stdin: int, stdout: int, stderr: int
) -> int:
    """Start the process of a hook. In a sandbox it has another command, so it is not forked."""
    words = tuple(argv)
    start = next((start for start in _FORKED if words[: len(start)] == start), None)
    if start is None or not _can_fork(start, env, stdin):
        return spawn_posix(argv, env, cwd, stdin, stdout, stderr)
    return start_in_folder(cwd, lambda: _fork_hook(words, len(start), dict(env), (stdin, stdout, stderr)))


def _can_fork(start: tuple[str, ...], env: Mapping[bytes, bytes], stdin: int) -> bool:
    """Whether a fork can do what a new interpreter would."""
    if any(name.startswith(_LIBRARY_VARIABLES) for name in env):
        return False
    if start == ASK_COMMAND:
        return "httpx" in sys.modules
    # The name proves nothing: the fork looks at the bytes, and becomes a new interpreter if they are not boathook's own. That
    # one reads the input from its beginning, so it must be a file.
    return env.get(_NAME, b"").startswith(_OWN) and stat.S_ISREG(os.fstat(stdin).st_mode)


def _fork_hook(words: tuple[str, ...], at: int, env: dict[bytes, bytes], streams: tuple[int, int, int]) -> int:
    reading, writing = os.pipe()
    try:
        pid = os.fork()
        if pid == 0:
            _become_hook(words, at, env, streams, writing)
        os.close(writing)
        writing = -1
        # From now on it has a session of its own, so that its group can be killed.
        os.read(reading, 1)
    finally:
        os.close(reading)
        if writing >= 0:
            os.close(writing)
    return pid


def _become_hook(
    words: tuple[str, ...], at: int, env: dict[bytes, bytes], streams: tuple[int, int, int], writing: int
) -> None:
    """Become the process that would have been started, do what it does, and end."""
    code = _BROKEN_CODE
    try:
        os.setsid()
        reset_signals(keeps_ignored=True)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for number, handle in enumerate(streams):
            os.dup2(handle, number)
        close_other_handles((writing,))
        replace_environment(env)
        sys.orig_argv[:] = words
        os.close(writing)
        code = _FORKED[words[:at]](*words[at:]) or 0
    except BaseException as error:  # noqa: BLE001
        sys.excepthook(type(error), error, error.__traceback__)
    finally:
        os._exit(code)
