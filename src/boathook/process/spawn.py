"""Starting a process in a session of its own, with limits."""

# posix_spawn costs least but cannot change the directory. A process that is the engine's own changes its own directory first,
# and goes back, because the next dispatch may look for the project there;
# one that embeds the engine uses it where the hook's directory is the present one, and `subprocess` elsewhere.

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    ProcessLimits = list[tuple[int, tuple[int, int]]]
    Spawn = Callable[[Sequence[str], Mapping[bytes, bytes], str, int, int, int], int]

_HAS_SETSID = os.uname().sysname == "Linux" and hasattr(os, "posix_spawn")
# SIGPIPE and SIGXFSZ, which Python ignores and its children would inherit ignored
_RESET_SIGNALS = (13, 25)
_MAX_VARIABLE_BYTES = 4096
MAX_WRITTEN_FILE_BYTES = 1 << 30
_MAX_OPEN_FILES = 1024
_GRACE_SECONDS = 5
# more than an engine above lowers a limit of this process
_LIMIT_ATTEMPTS = 4


def encode_variable(text: str) -> bytes:
    """Return a text as a value that every environment accepts: no NUL, no lone surrogate, bounded."""
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        data = text.encode("utf-8", "replace")
    return data.replace(b"\0", b"")[:_MAX_VARIABLE_BYTES]


def spawn_shared(
    argv: Sequence[str], env: Mapping[bytes, bytes], cwd: str, stdin: int, stdout: int, stderr: int
) -> int:
    if can_use_posix(cwd):
        return spawn_posix(argv, env, "", stdin, stdout, stderr, close=_inheritable())
    import subprocess

    child = subprocess.Popen(argv, env=env, cwd=cwd, stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True)
    # The wait is ours: this keeps the object from waiting or warning when it is deleted.
    child.returncode = 0
    return child.pid


def spawn_posix(
    argv: Sequence[str],
    env: Mapping[bytes, bytes],
    cwd: str,
    stdin: int,
    stdout: int,
    stderr: int,
    close: Sequence[int] = (),
) -> int:
    if cwd:
        return start_in_folder(cwd, lambda: spawn_posix(argv, env, "", stdin, stdout, stderr, close))
    moves: list[tuple[int, ...]] = [(os.POSIX_SPAWN_DUP2, stdin, 0), (os.POSIX_SPAWN_DUP2, stdout, 1)]
    moves.append((os.POSIX_SPAWN_DUP2, stderr, 2))
    moves += [(os.POSIX_SPAWN_CLOSE, handle) for handle in close]
    return os.posix_spawn(
        argv[0], list(argv), env, file_actions=moves, setsid=True, setsigmask=(), setsigdef=_RESET_SIGNALS
    )


_own_spawn: Spawn = spawn_posix


def start_in_folder(cwd: str, start: Callable[[], int]) -> int:
    """Start a process while this one is in another folder."""
    # Also if the present folder was deleted, or may not be read.
    own_folder = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.chdir(cwd)
        return start()
    finally:
        os.fchdir(own_folder)
        os.close(own_folder)


def can_use_posix(cwd: str) -> bool:
    try:
        return _HAS_SETSID and os.getcwd() == cwd
    except OSError:
        return False


def _inheritable() -> list[int]:
    """Name the descriptors that a new process would inherit besides the first three."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            if int(name) > 2 and os.get_inheritable(int(name)):
                found.append(int(name))
        except OSError:
            continue
    return found


def prepare_own_process() -> Spawn:
    if not _HAS_SETSID:
        return spawn_shared
    _take_standard_numbers()
    _close_on_exec()
    return _own_spawn


def replace_own_spawn(spawn: Spawn) -> None:
    """Start the processes of a process of the engine's own in another way: see `boathook.warm`."""
    global _own_spawn
    _own_spawn = spawn


def _take_standard_numbers() -> None:
    """Take 0, 1 and 2 where the caller closed them, so that no pipe or file of ours gets one of these numbers.

    What takes them can be neither read nor written as the number says: an answer that has nowhere to go must fail, because
    then the exit code says what was decided.
    """
    for number, flags in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_RDONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)


def _close_on_exec() -> None:
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


# Limits, which are inherited by everything that a hook starts.
# A process of the engine's own lowers its soft limits while it starts a hook. A program that embeds us has threads that must
# not be affected: there they are set from outside when the hook has just started, and once more for everything it started
# (Linux).


def compute_limits(timeout: float) -> ProcessLimits:
    import resource

    most = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: _MAX_OPEN_FILES,
        resource.RLIMIT_FSIZE: MAX_WRITTEN_FILE_BYTES,
        resource.RLIMIT_CPU: int(timeout + _GRACE_SECONDS + 0.999) * _count_processors(),
    }
    limits: ProcessLimits = []
    for which, limit in most.items():
        # below zero: no limit
        soft, hard = (limit if value < 0 else min(value, limit) for value in resource.getrlimit(which))
        limits.append((which, (soft, hard)))
    return limits


_processor_counts: list[int] = []


def _count_processors() -> int:
    # it reads a file every time
    if not _processor_counts:
        _processor_counts.append(os.cpu_count() or 1)
    return _processor_counts[0]


def start_with_limits(limits: ProcessLimits, start: Callable[[], int]) -> int:
    from resource import getrlimit

    before = [(which, getrlimit(which)[0]) for which, _ in limits]
    try:
        for which, (soft, _) in limits:
            set_soft_limit(which, soft)
        return start()
    finally:
        for which, soft in before:
            set_soft_limit(which, soft)


def set_soft_limit(which: int, soft: int) -> None:
    """Set a soft limit of this process, as far as its hard limit allows."""
    from resource import RLIM_INFINITY, getrlimit, setrlimit

    # An engine whose hook started this process may lower the hard limit at any moment, and no user can raise it again: that
    # must not look like a hook that could not be started.
    for _ in range(_LIMIT_ATTEMPTS):
        hard = getrlimit(which)[1]
        is_too_high = hard != RLIM_INFINITY and (soft == RLIM_INFINITY or soft > hard)
        try:
            setrlimit(which, (hard if is_too_high else soft, hard))
        except ValueError:
            continue
        return


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
