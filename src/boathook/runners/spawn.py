"""Starting a process in a session of its own: two ways, one meaning.

`popen` is for any program that embeds the engine. `posix` costs less to import and changes the directory of the calling process, so
it is only for a process that is the engine's own.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Spawn = Callable[[Sequence[str], Mapping[bytes, bytes], str, int, int, int], int]

RESET_SIGNALS = (13, 25)  # SIGPIPE and SIGXFSZ, which Python ignores and its children would inherit ignored


def popen(argv: Sequence[str], env: Mapping[bytes, bytes], cwd: str, stdin: int, stdout: int, stderr: int) -> int:
    """Start a process through the standard library; give its pid. The caller waits for it."""
    import subprocess

    child = subprocess.Popen(argv, env=env, cwd=cwd, stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True)
    child.returncode = 0  # the wait is ours: keeps the object from waiting or warning when it goes
    return child.pid


def posix(argv: Sequence[str], env: Mapping[bytes, bytes], cwd: str, stdin: int, stdout: int, stderr: int) -> int:
    """Start a process with posix_spawn from this directory on; give its pid."""
    os.chdir(cwd)
    moves = [(os.POSIX_SPAWN_DUP2, source, target) for target, source in enumerate((stdin, stdout, stderr))]
    return os.posix_spawn(argv[0], list(argv), env, file_actions=moves, setsid=True, setsigdef=RESET_SIGNALS)


def own_process() -> Spawn:
    """Prepare a process that is the engine's own, and give its cheapest way to start others."""
    if not hasattr(os, "posix_spawn") or os.uname().sysname != "Linux":
        return popen
    _close_on_exec()
    return posix


def _close_on_exec() -> None:
    """Keep what the host left open from reaching hooks: posix_spawn closes nothing by itself."""
    try:
        names = os.listdir("/proc/self/fd")
    except OSError:
        names = [str(fd) for fd in range(3, 256)]
    for name in names:
        if int(name) > 2:
            try:
                os.set_inheritable(int(name), False)  # noqa: FBT003
            except OSError:
                continue
