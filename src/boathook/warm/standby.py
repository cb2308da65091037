"""A fork of the resident that waits for an event, as the resident sees it; what it does is in `standby_process`."""

from __future__ import annotations

import marshal
import os
import signal
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

from boathook.process.child import make_memory_file
from boathook.warm.standby_process import BEGUN, MAX_REPORT_BYTES, wait_for_event

if TYPE_CHECKING:
    from boathook.warm.caller_facts import CallerFacts
    from boathook.warm.memory_copies import Ranges
    from boathook.warm.standby_process import EventInput

# The exit code of a fork that could not answer.
_BROKEN_CODE = 70


class Standby:
    """A fork that waits; it ends by itself if the resident does. `can_report` if it can say which memory an event writes to."""

    def __init__(self, pid: int, line: socket.socket, *, can_report: bool) -> None:
        self.pid, self._line, self.can_report = pid, line, can_report
        self.is_prepared = self._has_begun = False
        self.pidfd = os.pidfd_open(pid)

    def prepare(self, pages: Ranges) -> None:
        """Let it copy memory that the next event will write to."""
        self.is_prepared = True
        with suppress(OSError):
            self._line.send(marshal.dumps(pages), socket.MSG_DONTWAIT)

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
            *(event.data, event.is_complete, event.is_for_hooks, event.reports_memory),
        )
        body = make_memory_file(marshal.dumps(fields))
        try:
            socket.send_fds(self._line, [b"event"], [body, *handles, facts.process, facts.variables])
        finally:
            os.close(body)

    def has_begun(self) -> bool:
        """Whether it has read its event."""
        with suppress(OSError):
            self._has_begun = self._has_begun or self._line.recv(len(BEGUN), socket.MSG_DONTWAIT) == BEGUN
        return self._has_begun

    def read_written_memory(self) -> Ranges:
        """Return the memory that it wrote to, if it was to say so; [] otherwise."""
        try:
            self.has_begun()
            data = self._line.recv(MAX_REPORT_BYTES, socket.MSG_DONTWAIT)
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


def fork_standby(*, can_report: bool) -> Standby:
    """Fork. The child returns from here only by ending; OSError if there can be none."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        pid = os.fork()
    except OSError:
        ours.close()
        theirs.close()
        raise
    if pid == 0:
        try:
            wait_for_event(theirs, can_report=can_report)
        except BaseException:  # noqa: BLE001, S110  (the client reports it)
            pass
        finally:
            os._exit(_BROKEN_CODE)
    theirs.close()
    try:
        return Standby(pid, ours, can_report=can_report)
    except OSError:
        # There is no handle left for it, so no one would wait for its end.
        ours.close()
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise
