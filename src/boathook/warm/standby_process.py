"""What a fork of the resident does: it waits for an event, becomes the process that the caller would have started, and answers."""

from __future__ import annotations

import _signal as signal  # pyright: ignore[reportMissingImports]
import marshal
import os
import resource
import socket
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from boathook.core.value import Value
from boathook.entry.fast_path import enter
from boathook.entry.hook_entry import answer_broken
from boathook.entry.run_once import read_all
from boathook.entry.surroundings import EXITED, STARTED
from boathook.process.reaper import set_caller_process
from boathook.process.spawn import replace_own_spawn
from boathook.process.supervisor import HOOK_ENTRY
from boathook.system.locations import RealPaths
from boathook.warm.caller_facts import CALLER_LIMITS, LIBRARY_SIGNALS, parse_environment
from boathook.warm.forked_hook import start_hook_process
from boathook.warm.memory_copies import WrittenMemory, copy_pages, find_own_pages, map_files, merge_pages
from boathook.warm.process_state import close_handle, close_other_handles, replace_environment, reset_signals

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_REPORT_BYTES = 1 << 17
# What a fork says when it has read its event.
BEGUN = b"begun"
_HANDLES = 7


class EventInput(Value):
    """What was read of an event, and what a fork should do with it."""

    # None: nothing was read.
    data: bytes | None
    is_complete: bool
    # The resident has seen that hooks are wanted.
    is_for_hooks: bool
    # It should say which memory it wrote to.
    reports_memory: bool


def wait_for_event(line: socket.socket, *, can_report: bool) -> None:
    """Wait until the resident hands an event over, answer it, and end."""
    reset_signals()
    own_limits = {which: resource.getrlimit(which) for which in CALLER_LIMITS}
    # Callers of other events, the socket itself: nothing of the resident's is for a hook.
    close_other_handles((line.fileno(),))
    written = WrittenMemory() if can_report else None
    handles = _receive_event(line)
    body, connection, *streams, process, variables = handles
    fields = marshal.loads(read_all(body))
    os.close(body)
    *taken, data, is_complete, is_for_hooks, reports_memory = fields
    with suppress(OSError):
        # Without the resident, the event is answered nevertheless.
        line.send(BEGUN)
    if written is not None and not reports_memory:
        written.close()
    if not reports_memory:
        line.close()
    _take_over(taken, streams, process, variables, own_limits)
    event = EventInput(data, is_complete, is_for_hooks, reports_memory)
    _answer_event(taken[1], event, socket.socket(fileno=connection), lambda: _report_memory(line, written))


def _receive_event(line: socket.socket) -> list[int]:
    """Wait for an event, and return its handles. What comes before it says which memory to copy."""
    while True:
        data, handles, flags, _ = socket.recv_fds(line, MAX_REPORT_BYTES, _HANDLES + 1, socket.MSG_CMSG_CLOEXEC)
        if flags & socket.MSG_CTRUNC:
            raise OSError("descriptors were lost")
        if handles:
            return handles
        if not data:
            os._exit(0)
        copy_pages(marshal.loads(data))
        map_files()


def _take_over(
    taken: list[Any], streams: list[int], process: int, variables: int, own_limits: dict[int, tuple[int, int]]
) -> None:
    """Become the process that the caller would have started."""
    pid, _, locale_name, umask, blocked, ignored, limits = taken
    for number, handle in enumerate(streams):
        os.dup2(handle, number)
        os.close(handle)
    os.chdir(f"/proc/self/fd/{process}/cwd")
    os.close(process)
    os.umask(umask)
    replace_environment(parse_environment(variables, locale_name))
    os.close(variables)
    time.tzset()
    set_caller_process(pid)
    # What hangs here hangs for this caller alone.
    RealPaths.avoided = ()
    replace_own_spawn(start_hook_process)
    for number in ignored:
        if number not in LIBRARY_SIGNALS:
            signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    for which, pair in limits:
        if own_limits[which] != pair:
            resource.setrlimit(which, pair)


def _answer_event(args: list[str], event: EventInput, connection: socket.socket, report: Callable[[], None]) -> None:
    def leave(code: int) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        try:
            # Before the end: a fork whose client has gone is killed.
            if event.reports_memory:
                report()
            # The caller waits until its streams are closed, and the end of a process first frees its memory, which takes a while.
            for stream in range(3):
                close_handle(stream)
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
        leave(
            answer_broken(
                error, sys.argv, f"boathook cannot answer ({type(error).__name__}: {error}), so no hook decided"
            )
        )


def _report_memory(line: socket.socket, written: WrittenMemory | None) -> None:
    try:
        if written is not None:
            line.send(marshal.dumps(merge_pages(find_own_pages())))
            written.close()
    except (OSError, ValueError):
        return


def _read_rest(data: bytes) -> bytes | None:
    try:
        return data + read_all(0)
    except OSError:
        return None
