"""The resident: one thread that accepts callers, answers "nothing to do" itself, and hands every other event to a fork."""

# A caller is accepted in two steps, so that no event runs twice: the resident offers to answer, and the client says go. Before
# that, each may give up, and the client starts the cold path with an input that has not been read.

from __future__ import annotations

import errno
import json
import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from boathook.entry.fast_path import find_answer, read_fast_options
from boathook.entry.surroundings import ASK_STATUS, ASK_STOP, EXITED, GO, KILLED, OFFER, PROTOCOL
from boathook.system.peer_credentials import is_own_user
from boathook.warm.caller_facts import CallerRefused, examine_caller, has_process_ended
from boathook.warm.caller_streams import HandOver, read_now, write_now
from boathook.warm.mount_watch import MayHangError, MountWatch
from boathook.warm.standby_pool import StandbyPool
from boathook.warm.warm_caller import WarmCaller
from boathook.warm.warm_folder import identify_socket, remove_socket

if TYPE_CHECKING:
    from collections.abc import Callable

    from boathook.entry.options import Options
    from boathook.warm.caller_facts import CallerFacts
    from boathook.warm.source_watch import SourceWatch
    from boathook.warm.standby import Standby

IDLE_SECONDS = 15 * 60.0
BACKLOG = 128
_MAX_CALLERS = 64
_HANDLES_PER_CALLER = 9
# How many connections are taken beyond that: to be asked for the status, or to end. Callers among them are refused.
_MORE_CONNECTIONS = 8
# How long nothing may have happened before forks are prepared for later: the agent is about to read an answer.
_CALM_MS = 3.0
# How long an offer holds. Clients take it at once, unless they are stopped.
_OFFER_SECONDS = 10.0
# How long callers that have not said go may take if this process is about to end.
_LAST_SECONDS = 1.0
_CHECK_SECONDS = 60.0
_SCARCITY_SECONDS = 0.02
# How long a fork may take until it has read its event. One that was stopped would never do so.
_START_SECONDS = 10.0
# What is longer is read, and judged, by a fork.
_MAX_DATA_BYTES = 1 << 20


class Resident:
    def __init__(
        self,
        listener: socket.socket,
        folder: int,
        name: str,
        key: bytes,
        watch: SourceWatch,
        surroundings: bytes,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._listener, self._folder, self._name, self._key, self._watch = listener, folder, name, key, watch
        self._idle_seconds = idle_seconds
        # Those of the moment are compared by the client.
        self._surroundings = surroundings
        self._mounts = MountWatch(sys.executable, os.readlink(f"/proc/self/fd/{folder}"))
        self._identity = identify_socket(folder, name)
        self._poll = select.poll()
        self._handlers: dict[int, Callable[[], None]] = {}
        self._callers: dict[int, WarmCaller] = {}
        self._pool = StandbyPool(self._register, self._unregister, self._finish)
        self._is_ending = False
        self._last_event = self._last_look = time.monotonic()
        self._started = time.time()
        # The events that are over, and how long they took in all: from the client's go to the end.
        self._counts = {"answered": 0, "forked": 0}
        self._seconds = {"answered": 0.0, "forked": 0.0}
        self._refusals: dict[str, int] = {}
        self._max_callers = _find_max_callers()
        self._wakeup = socket.socketpair()
        self._spare = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def serve(self) -> None:
        """Answer callers until there is a reason to end, and all of them have their answers."""
        self._catch_signals()
        self._register(self._listener.fileno(), select.POLLIN, self._accept)
        self._register(self._mounts.handle, select.POLLPRI, self._mounts.refresh)
        try:
            while not self._is_ending or self._callers:
                has_worked = self._handle_events(self._find_wait_ms())
                self._check_time()
                if not has_worked or not self._pool.free_count:
                    self._fill_standbys()
        finally:
            self._end()
            self._pool.close()

    def _handle_events(self, wait_ms: float) -> bool:
        """Wait for something to happen, and do what it asks for; False if nothing happened."""
        events = self._poll.poll(wait_ms)
        for handle, _ in events:
            if handler := self._handlers.get(handle):
                handler()
        return bool(events)

    def _catch_signals(self) -> None:
        for end in self._wakeup:
            end.setblocking(False)  # noqa: FBT003
        # A signal alone would not end the wait for callers.
        signal.set_wakeup_fd(self._wakeup[1].fileno())
        self._register(self._wakeup[0].fileno(), select.POLLIN, self._end)
        signal.signal(signal.SIGTERM, lambda *_: None)

    def _register(self, handle: int, events: int, handler: Callable[[], None]) -> None:
        self._poll.register(handle, events)
        self._handlers[handle] = handler

    def _unregister(self, handle: int) -> None:
        if self._handlers.pop(handle, None):
            self._poll.unregister(handle)

    def _find_wait_ms(self) -> float:
        if self._lacks_standbys():
            return max(_CALM_MS, self._pool.retry_seconds * 1000)
        now = time.monotonic()
        ends = (caller.deadline - now for caller in self._callers.values() if caller.deadline > now)
        return max(min(_CHECK_SECONDS, self._idle_seconds, *ends), 0.001) * 1000 + 1

    def _check_time(self) -> None:
        now = time.monotonic()
        for caller in [*self._callers.values()]:
            if now <= caller.deadline:
                continue
            if not caller.is_running:
                self._give_up(caller)
            elif caller.standby is not None and caller.way == "forked" and not caller.standby.has_begun():
                # The client gets to know how it ended, and refuses the call.
                with suppress(OSError):
                    os.kill(caller.standby.pid, signal.SIGKILL)
        is_idle = now - self._last_event > self._idle_seconds and not self._callers
        # After an upgrade no caller comes any more, because the name of the socket is another one.
        is_due = now - self._last_look > _CHECK_SECONDS / 2
        self._last_look = now if is_due else self._last_look
        is_gone = identify_socket(self._folder, self._name) != self._identity
        if is_idle or is_gone or (is_due and not self._watch.is_current()):
            self._end()

    def _give_up(self, caller: WarmCaller) -> None:
        """Forget a caller that does not say what it wants, unless it has said so by now."""
        with suppress(BlockingIOError, ConnectionError):
            if caller.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT):
                return
        # A client that says go now takes the cold path, or refuses the call if it was a moment too late.
        self._refuse(caller, "the caller did not say what it wants")

    def _end(self) -> None:
        """Take no more callers, and leave no file behind; those that are here get their answers."""
        if self._is_ending:
            return
        self._is_ending = True
        for caller in self._callers.values():
            if not caller.is_running:
                caller.deadline = min(caller.deadline, time.monotonic() + _LAST_SECONDS)
        if identify_socket(self._folder, self._name) == self._identity:
            remove_socket(self._folder, self._name)
        # The signal that ended it can be read for ever.
        self._unregister(self._wakeup[0].fileno())
        self._unregister(self._listener.fileno())
        self._listener.close()

    # Forks

    def _fill_standbys(self) -> None:
        """Prepare forks while nothing else is to be done: they would take the processor from an event that is answered."""
        # What has happened is handled here, too: the kernel reports a change of the mounts only once.
        while self._lacks_standbys() and not self._pool.retry_seconds and not self._handle_events(0):
            self._pool.improve()

    def _lacks_standbys(self) -> bool:
        is_busy = self._is_ending or (self._pool.free_count and self._callers)
        return not is_busy and not self._pool.is_complete

    def _finish(self, standby: Standby, status: int) -> None:
        """Tell the caller of a fork that has ended how it ended."""
        caller = next((one for one in self._callers.values() if one.standby is standby), None)
        if caller is None:
            return
        caller.standby = None
        if caller.facts is not None:
            # It was ended before it had anything to do.
            with suppress(OSError):
                caller.standby = self._pool.fork()
                return
        # A fork that ended by itself has told the client how; without a word the client knows that the engine is broken.
        if os.WIFSIGNALED(status):
            self._send(caller, KILLED + bytes((os.WTERMSIG(status),)))
        self._drop(caller)

    # Callers

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                self._turn_away()
            return
        caller = self._callers[connection.fileno()] = WarmCaller(connection)
        if not self._watch.is_current():
            self._refuse(caller, "the package, the interpreter or hooks.toml has changed")
            self._end()
            return
        self._register(connection.fileno(), select.POLLIN, lambda: self._greet(caller))
        if len(self._callers) <= self._max_callers:
            # While the client looks at this process.
            self._examine(caller)
        else:
            caller.refusal = "too many callers at once"
        if len(self._callers) >= self._max_callers + _MORE_CONNECTIONS:
            self._unregister(self._listener.fileno())

    def _examine(self, caller: WarmCaller) -> None:
        try:
            caller.facts, caller.process = examine_caller(caller.connection, self._surroundings)
            self._mounts.check_process(caller.facts.process)
            # Whether a fork can enter it.
            os.chdir(f"/proc/self/fd/{caller.facts.process}/cwd")
            os.chdir("/")
        except (CallerRefused, MayHangError, OSError) as error:
            # Reasons are counted, so they name no process and no path.
            caller.refusal = error.strerror or "an error" if isinstance(error, OSError) else str(error)

    def _turn_away(self) -> None:
        """Let a caller know that there is no descriptor left for it, with the one that is kept for this."""
        if self._spare >= 0:
            os.close(self._spare)
            self._spare = -1
        try:
            self._listener.accept()[0].close()
        except OSError:
            time.sleep(_SCARCITY_SECONDS)
        # Other processes may have taken the last one of the system.
        with suppress(OSError):
            self._spare = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def _greet(self, caller: WarmCaller) -> None:
        """Read what a caller wants, and offer to answer."""
        try:
            message = caller.connection.recv(256, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            message = b""
        if message in (ASK_STATUS, ASK_STOP) and is_own_user(caller.connection):
            if message == ASK_STOP:
                # Before the answer: whoever reads it finds no socket any more.
                self._end()
            self._send(caller, json.dumps(self._describe()).encode())
            self._drop(caller)
            return
        if not message:
            # Others only look whether somebody listens.
            self._drop(caller)
            return
        try:
            if message != PROTOCOL + b" " + self._key:
                raise CallerRefused("another version, or a caller that may not look at this process")
            if caller.refusal:
                raise CallerRefused(caller.refusal)
            caller.standby = self._pool.take()
        except (CallerRefused, OSError) as error:
            self._refuse(caller, str(error) if isinstance(error, CallerRefused) else error.strerror or "an error")
            return
        self._handlers[caller.connection.fileno()] = lambda: self._begin(caller)
        caller.deadline = time.monotonic() + _OFFER_SECONDS
        self._send(caller, OFFER)

    def _begin(self, caller: WarmCaller) -> None:
        """Begin to answer, if the client says go. It sends its streams now: they must not wait in a process that hangs."""
        try:
            wanted = socket.MSG_CMSG_CLOEXEC | socket.MSG_DONTWAIT
            message, caller.streams, flags, _ = socket.recv_fds(caller.connection, 16, 3, wanted)
        except BlockingIOError:
            return
        except OSError:
            message, flags = b"", 0
        if message != GO or len(caller.streams) != 3 or flags & socket.MSG_CTRUNC or caller.facts is None:
            self._drop(caller)
            return
        caller.is_running = True
        self._last_event = caller.begun = time.monotonic()
        # Its own end of the connection may be among the streams that it has sent, so that it stays open when the process ends.
        self._register(caller.process, select.POLLIN, lambda: self._check_process(caller))
        # Whatever comes now says that the client has ended, so its hooks must end, too.
        self._poll.register(caller.connection.fileno(), select.POLLRDHUP)
        self._handlers[caller.connection.fileno()] = lambda: self._check_client(caller)
        caller.options = read_fast_options(caller.facts.args)
        if caller.options is None:
            self._hand_over(caller, None, is_complete=False)
            return
        self._register(caller.streams[0], select.POLLIN, lambda: self._read_input(caller))
        # What cannot be read at all may never become ready.
        self._read_input(caller)

    def _read_input(self, caller: WarmCaller) -> None:
        try:
            part = read_now(caller.streams[0])
        except HandOver:
            self._hand_over(caller, caller.data, is_complete=False)
            return
        if part is None:
            return
        caller.data += part
        if len(caller.data) > _MAX_DATA_BYTES:
            self._hand_over(caller, caller.data, is_complete=False)
        elif not part:
            self._unregister(caller.streams[0])
            self._answer(caller)

    def _answer(self, caller: WarmCaller) -> None:
        """Answer that there is nothing to do, or let a fork find out what is."""
        if caller.facts is None or caller.options is None:
            return
        answer, may_look = None, not self._mounts.is_named(caller.data)
        if may_look:
            answer = self._find_answer(caller.facts, caller.options, caller.data)
        written = -1 if answer is None else write_now(caller.streams[1], answer)
        if answer is None or written < 0:
            self._hand_over(caller, caller.data, is_complete=True, is_for_hooks=may_look and answer is None)
            return
        if written < len(answer):
            # A second answer after half of one would be worse than none: the client reports a broken engine.
            self._abandon(caller)
            return
        caller.way = "answered"
        # First: the agent waits until its streams are closed, too.
        caller.close_handles()
        self._send(caller, EXITED + b"\0")
        self._drop(caller)

    def _find_answer(self, facts: CallerFacts, options: Options, data: bytes) -> bytes | None:
        try:
            os.chdir(f"/proc/self/fd/{facts.process}/cwd")
            return find_answer(options, data, facts.env)
        except OSError:
            return None
        finally:
            os.chdir("/")

    def _hand_over(
        self, caller: WarmCaller, data: bytes | None, *, is_complete: bool, is_for_hooks: bool = False
    ) -> None:
        if caller.facts is None or caller.standby is None:
            return
        self._unregister(caller.streams[0])
        caller.way, caller.deadline = "forked", time.monotonic() + _START_SECONDS
        try:
            handles = [caller.connection.fileno(), *caller.streams]
            about = {"is_complete": is_complete, "is_for_hooks": is_for_hooks}
            self._pool.start(caller.standby, caller.facts, data, handles, **about)
        except OSError:
            # The client sees that the connection ends without an answer.
            self._abandon(caller)
            return
        caller.close_handles()

    def _check_client(self, caller: WarmCaller) -> None:
        # A number that another caller had a moment ago may wake us for nothing.
        with suppress(BlockingIOError):
            with suppress(ConnectionError):
                # A client that sends something has another protocol than this one; it is as good as gone.
                caller.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
            self._abandon(caller)

    def _check_process(self, caller: WarmCaller) -> None:
        if caller.process >= 0 and has_process_ended(caller.process):
            self._abandon(caller)

    def _abandon(self, caller: WarmCaller) -> None:
        """End the fork of a caller that has gone."""
        if caller.standby is not None:
            with suppress(OSError):
                os.kill(caller.standby.pid, signal.SIGKILL)
            caller.standby = None
        self._drop(caller)

    def _refuse(self, caller: WarmCaller, reason: str) -> None:
        self._refusals[reason] = self._refusals.get(reason, 0) + 1
        self._drop(caller)

    def _drop(self, caller: WarmCaller) -> None:
        """Forget a caller; a fork that it did not need waits for the next one."""
        if caller.way:
            self._counts[caller.way] += 1
            self._seconds[caller.way] += time.monotonic() - caller.begun
        self._callers.pop(caller.connection.fileno(), None)
        self._unregister(caller.connection.fileno())
        if caller.streams:
            self._unregister(caller.streams[0])
        caller.close_handles()
        caller.connection.close()
        if caller.standby is not None:
            self._pool.give_back(caller.standby)
            caller.standby = None
        if caller.process >= 0:
            self._unregister(caller.process)
            os.close(caller.process)
            caller.process = -1
        if not self._is_ending and len(self._callers) < self._max_callers + _MORE_CONNECTIONS:
            self._register(self._listener.fileno(), select.POLLIN, self._accept)

    def _send(self, caller: WarmCaller, message: bytes) -> None:
        with suppress(OSError):
            caller.connection.send(message, socket.MSG_DONTWAIT)

    def _describe(self) -> dict[str, object]:
        return {
            "pid": os.getpid(),
            "started": self._started,
            **self._counts,
            "seconds": self._seconds,
            "waiting_forks": self._pool.free_count,
            "is_ending": self._is_ending,
            "running": sum(caller.is_running for caller in self._callers.values()),
            "refused": dict(sorted(self._refusals.items())),
        }


def _find_max_callers() -> int:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MAX_CALLERS * _HANDLES_PER_CALLER * 2
    if 0 <= soft < wanted:
        soft = wanted if hard < 0 else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(1, min(_MAX_CALLERS, soft // _HANDLES_PER_CALLER - 5)) if soft >= 0 else _MAX_CALLERS
