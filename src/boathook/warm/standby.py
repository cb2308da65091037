"""A fork of the resident that waits for an event, becomes the process that the caller would have started, answers, and ends."""

from __future__ import annotations

import _signal as signal  # pyright: ignore[reportMissingImports]
import marshal
import os
import posix
import resource
import socket
import sys
import time
from typing import TYPE_CHECKING, Any

from boathook.entry.fast_path import enter
from boathook.entry.hook_entry import answer_broken
from boathook.entry.run_once import read_all
from boathook.entry.surroundings import EXITED, STARTED
from boathook.process.child import make_memory_file
from boathook.process.reaper import set_caller_process
from boathook.process.supervisor import HOOK_ENTRY
from boathook.warm.caller_facts import read_variables

if TYPE_CHECKING:
    from boathook.warm.caller_facts import CallerFacts

# The exit code of a fork that could not answer.
_BROKEN_CODE = 70
_HANDLES = 7
# What Python itself ignores in every process.
_PYTHON_IGNORES = (signal.SIGPIPE, signal.SIGXFSZ)


class Standby:
    """A fork that waits; it ends by itself if the resident does."""

    def __init__(self, pid: int, line: socket.socket) -> None:
        self.pid, self._line = pid, line
        self.pidfd = os.pidfd_open(pid)

    def start(self, facts: CallerFacts, data: bytes | None, *, is_complete: bool, handles: list[int]) -> None:
        """Hand an event over: `data` is what was read of its input (None: nothing), the handles are connection, 0, 1 and 2."""
        limits = tuple(facts.limits)
        fields = (
            facts.pid,
            facts.args,
            facts.locale_name,
            facts.umask,
            facts.blocked,
            facts.ignored,
            limits,
            data,
            is_complete,
        )
        body = make_memory_file(marshal.dumps(fields))
        try:
            socket.send_fds(self._line, [b"event"], [body, *handles, facts.process, facts.variables])
        finally:
            os.close(body)

    def dismiss(self) -> None:
        """Let it end by itself; it is waited for as any other."""
        self._line.close()

    def close(self) -> None:
        self._line.close()
        os.close(self.pidfd)


def fork_standby() -> Standby:
    """Fork; the child returns from here only by ending. OSError if there cannot be another process."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        pid = os.fork()
    except OSError:
        ours.close()
        theirs.close()
        raise
    if pid == 0:
        try:
            _wait_for_event(theirs)
        except BaseException:  # noqa: BLE001, S110  (the resident reports it)
            pass
        finally:
            os._exit(_BROKEN_CODE)
    theirs.close()
    return Standby(pid, ours)


def _wait_for_event(line: socket.socket) -> None:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    # Callers of other events, the socket itself: nothing of the resident's is for a hook.
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) != line.fileno():
            _close(int(name))
    _, handles, flags, _ = socket.recv_fds(line, 16, _HANDLES + 1, socket.MSG_CMSG_CLOEXEC)
    if not handles:
        os._exit(0)
    if flags & socket.MSG_CTRUNC:
        raise OSError("descriptors were lost")
    line.close()
    body, connection, *streams, process, variables = handles
    fields = marshal.loads(read_all(body))
    os.close(body)
    _take_over(fields, streams, process, variables)
    _answer_event(fields, socket.socket(fileno=connection))


def _close(handle: int) -> None:
    try:
        os.close(handle)
    except OSError:
        return


def _take_over(fields: tuple[Any, ...], streams: list[int], process: int, variables: int) -> None:
    """Become the process that the caller would have started."""
    pid, _, locale_name, umask, blocked, ignored, limits, _, _ = fields
    for number, handle in enumerate(streams):
        os.dup2(handle, number)
        os.close(handle)
    os.chdir(f"/proc/self/fd/{process}/cwd")
    os.close(process)
    os.umask(umask)
    _replace_environment(read_variables(variables, locale_name))
    os.close(variables)
    time.tzset()
    set_caller_process(pid)
    for number in range(1, 65):
        if number in (signal.SIGKILL, signal.SIGSTOP) or 32 <= number <= 33:
            continue
        is_ignored = number in ignored or number in _PYTHON_IGNORES
        handler = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, signal.SIG_IGN if is_ignored else handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    for which, pair in limits:
        if resource.getrlimit(which) != pair:
            resource.setrlimit(which, pair)


def _replace_environment(env: dict[bytes, bytes]) -> None:
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


def _answer_event(fields: tuple[Any, ...], connection: socket.socket) -> None:
    args, data, is_complete = fields[1], fields[7], fields[8]

    def leave(code: int) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        try:
            connection.send(EXITED + bytes((code & 0xFF,)))
        finally:
            # A client that has gone needs no answer.
            os._exit(0)

    sys.argv[:] = [HOOK_ENTRY, *args]
    try:
        handle = os.pidfd_open(os.getpid())
        socket.send_fds(connection, [STARTED], [handle])
        os.close(handle)
        if data is not None and not is_complete:
            data = _read_rest(data)
        enter(args, data, leave)
    except KeyboardInterrupt:
        leave(130)
    except Exception as error:  # noqa: BLE001
        leave(answer_broken(error, sys.argv))


def _read_rest(data: bytes) -> bytes | None:
    try:
        return data + read_all(0)
    except OSError:
        return None
