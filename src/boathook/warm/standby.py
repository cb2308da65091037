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

from boathook.core.value import Value
from boathook.entry.fast_path import enter
from boathook.entry.hook_entry import answer_broken
from boathook.entry.run_once import read_all
from boathook.entry.surroundings import EXITED, STARTED
from boathook.process.child import make_memory_file
from boathook.process.reaper import set_caller_process
from boathook.process.supervisor import HOOK_ENTRY
from boathook.warm.caller_facts import parse_environment
from boathook.warm.page_copies import copy_pages, find_own_pages, merge_pages

if TYPE_CHECKING:
    from collections.abc import Callable

    from boathook.warm.caller_facts import CallerFacts
    from boathook.warm.page_copies import Ranges

# The exit code of a fork that could not answer.
_BROKEN_CODE = 70
_HANDLES = 7
_MAX_REPORT_BYTES = 1 << 17
# What Python itself ignores in every process.
_PYTHON_IGNORES = (signal.SIGPIPE, signal.SIGXFSZ)


class EventInput(Value):
    """What was read of an event, and what a fork should do with it."""

    # None: nothing was read.
    data: bytes | None
    is_complete: bool
    # The resident has seen that hooks are wanted.
    is_for_hooks: bool
    # It should say which memory it wrote to.
    reports_pages: bool


class Standby:
    """A fork that waits; it ends by itself if the resident does."""

    def __init__(self, pid: int, line: socket.socket) -> None:
        self.pid, self._line = pid, line
        self.pidfd = os.pidfd_open(pid)

    def start(self, facts: CallerFacts, event: EventInput, handles: list[int]) -> None:
        """Hand an event over; the handles are connection, 0, 1 and 2."""
        fields = (
            facts.pid,
            facts.args,
            facts.locale_name,
            facts.umask,
            facts.blocked,
            facts.ignored,
            facts.limits,
            *(event.data, event.is_complete, event.is_for_hooks, event.reports_pages),
        )
        body = make_memory_file(marshal.dumps(fields))
        try:
            socket.send_fds(self._line, [b"event"], [body, *handles, facts.process, facts.variables])
        finally:
            os.close(body)

    def read_pages(self) -> Ranges:
        """Return the memory that it wrote to, if it was to say so; [] otherwise."""
        try:
            data = self._line.recv(_MAX_REPORT_BYTES, socket.MSG_DONTWAIT)
            pages: Ranges = marshal.loads(data) if data else []
        except (OSError, EOFError, ValueError, TypeError):
            return []
        return pages

    def dismiss(self) -> None:
        """Let it end by itself; it is waited for as any other."""
        self._line.close()

    def close(self) -> None:
        self._line.close()
        os.close(self.pidfd)


def fork_standby(pages: Ranges) -> Standby:
    """Fork, and copy some memory in advance. The child returns from here only by ending; OSError if there can be none."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        pid = os.fork()
    except OSError:
        ours.close()
        theirs.close()
        raise
    if pid == 0:
        try:
            _wait_for_event(theirs, pages)
        except BaseException:  # noqa: BLE001, S110  (the resident reports it)
            pass
        finally:
            os._exit(_BROKEN_CODE)
    theirs.close()
    return Standby(pid, ours)


def _wait_for_event(line: socket.socket, pages: Ranges) -> None:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    # Callers of other events, the socket itself: nothing of the resident's is for a hook.
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) != line.fileno():
            _close(int(name))
    copy_pages(pages)
    _, handles, flags, _ = socket.recv_fds(line, 16, _HANDLES + 1, socket.MSG_CMSG_CLOEXEC)
    if not handles:
        os._exit(0)
    if flags & socket.MSG_CTRUNC:
        raise OSError("descriptors were lost")
    body, connection, *streams, process, variables = handles
    fields = marshal.loads(read_all(body))
    os.close(body)
    *taken, data, is_complete, is_for_hooks, reports_pages = fields
    # If the resident writes to a page, this process has the older one for itself: that is not a copy which an event needs.
    before = find_own_pages() if reports_pages else set[int]()
    if not reports_pages:
        line.close()
    _take_over(taken, streams, process, variables)
    event = EventInput(data, is_complete, is_for_hooks, reports_pages)
    _answer_event(taken[1], event, socket.socket(fileno=connection), lambda: _report_pages(line, before))


def _close(handle: int) -> None:
    try:
        os.close(handle)
    except OSError:
        return


def _take_over(taken: list[Any], streams: list[int], process: int, variables: int) -> None:
    """Become the process that the caller would have started."""
    pid, _, locale_name, umask, blocked, ignored, limits = taken
    for number, handle in enumerate(streams):
        os.dup2(handle, number)
        os.close(handle)
    os.chdir(f"/proc/self/fd/{process}/cwd")
    os.close(process)
    os.umask(umask)
    _replace_environment(parse_environment(variables, locale_name))
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


def _answer_event(args: list[str], event: EventInput, connection: socket.socket, report: Callable[[], None]) -> None:
    def leave(code: int) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        try:
            # Before the end: a fork whose client has gone is killed.
            if event.reports_pages:
                report()
            connection.send(EXITED + bytes((code & 0xFF,)))
        finally:
            # A client that has gone needs no answer.
            os._exit(0)

    sys.argv[:] = [HOOK_ENTRY, *args]
    try:
        handle = os.pidfd_open(os.getpid())
        socket.send_fds(connection, [STARTED], [handle])
        os.close(handle)
        data = event.data
        if data is not None and not event.is_complete:
            data = _read_rest(data)
        enter(args, data, leave, is_for_hooks=event.is_for_hooks)
    except KeyboardInterrupt:
        leave(130)
    except Exception as error:  # noqa: BLE001
        leave(answer_broken(error, sys.argv))


def _report_pages(line: socket.socket, before: set[int]) -> None:
    try:
        line.send(marshal.dumps(merge_pages(find_own_pages() - before)))
    except (OSError, ValueError):
        return


def _read_rest(data: bytes) -> bytes | None:
    try:
        return data + read_all(0)
    except OSError:
        return None
