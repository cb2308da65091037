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
import stat
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from boathook.entry.fast_path import find_answer, read_fast_options
from boathook.entry.surroundings import ASK_STATUS, ASK_STOP, EXITED, GO, KILLED, OFFER, PROTOCOL
from boathook.warm.caller_facts import CallerRefused, examine_caller, is_own_user
from boathook.warm.mount_watch import MountWatch
from boathook.warm.standby import EventInput, fork_standby
from boathook.warm.warm_folder import identify_socket, remove_socket

if TYPE_CHECKING:
    from collections.abc import Callable

    from boathook.entry.options import Options
    from boathook.warm.caller_facts import CallerFacts
    from boathook.warm.page_copies import Ranges
    from boathook.warm.source_watch import SourceWatch
    from boathook.warm.standby import Standby

IDLE_SECONDS = 15 * 60.0
BACKLOG = 128
_MAX_CALLERS = 64
_HANDLES_PER_CALLER = 8
# The first event of a project has no compiled catalogue yet, so it writes to other memory.
_ASKED_FORKS = 2
_READY_STANDBYS, _MAX_STANDBYS = 2, 8
# How long a caller may take to say what it wants.
_GREETING_SECONDS = 2.0
_CHECK_SECONDS = 60.0
_SCARCITY_SECONDS = 0.02
_READ_BYTES = 1 << 16
# What is longer is read, and judged, by a fork.
_MAX_DATA_BYTES = 1 << 20


class HandOver(Exception):
    """The input cannot be read here without waiting."""


class WarmCaller:
    """One connection, and what is known of the process behind it."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.deadline = time.monotonic() + _GREETING_SECONDS
        self.streams: list[int] = []
        self.facts: CallerFacts | None = None
        self.standby: Standby | None = None
        self.options: Options | None = None
        self.data = b""
        self.is_running = False
        self.begun = 0.0
        # "answered" or "forked", as soon as that is known.
        self.way = ""

    def close_handles(self) -> None:
        """Close what is the caller's, except for the connection."""
        streams, facts = self.streams, self.facts
        self.streams, self.facts, self.data = [], None, b""
        for handle in streams:
            os.close(handle)
        if facts is not None:
            facts.close()


class Resident:
    def __init__(
        self, listener: socket.socket, folder: int, name: str, key: bytes, watch: SourceWatch, surroundings: bytes
    ) -> None:
        self._listener, self._folder, self._name, self._key, self._watch = listener, folder, name, key, watch
        # Those of the moment are compared by the client.
        self._surroundings = surroundings
        self._mounts = MountWatch(sys.executable, os.readlink(f"/proc/self/fd/{folder}"))
        self._identity = identify_socket(folder, name)
        self._poll = select.poll()
        self._handlers: dict[int, Callable[[], None]] = {}
        self._callers: dict[int, WarmCaller] = {}
        self._free: list[Standby] = []
        # The memory that forks write to; the first ones say which it is.
        self._pages: Ranges = []
        self._forks_to_ask = _ASKED_FORKS
        self._is_ending = False
        self._last_event = self._last_look = time.monotonic()
        self._started = time.time()
        self._counts = {"answered": 0, "forked": 0}
        # How long they took, in all: from the client's go to the end.
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
                self._fill_standbys()
                for handle, _ in self._poll.poll(self._find_wait_ms()):
                    if handler := self._handlers.get(handle):
                        handler()
                self._check_time()
        finally:
            self._end()
            for standby in self._free:
                standby.close()

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
        is_greeting = any(not caller.is_running and caller.standby is None for caller in self._callers.values())
        return (_GREETING_SECONDS if is_greeting else _CHECK_SECONDS) * 1000

    def _check_time(self) -> None:
        now = time.monotonic()
        for caller in [*self._callers.values()]:
            # Who was made an offer may have said go by now: only its end is a reason to forget it.
            if now > caller.deadline and caller.standby is None and not caller.is_running:
                self._refuse(caller, "the caller did not say what it wants")
        is_idle = now - self._last_event > IDLE_SECONDS and not self._callers
        # After an upgrade no caller comes any more, because the name of the socket is another one.
        is_due = now - self._last_look > _CHECK_SECONDS / 2
        self._last_look = now if is_due else self._last_look
        is_gone = identify_socket(self._folder, self._name) != self._identity
        if is_idle or is_gone or (is_due and not self._watch.is_current()):
            self._end()

    def _end(self) -> None:
        """Take no more callers, and leave no file behind; those that are here get their answers."""
        if self._is_ending:
            return
        self._is_ending = True
        if identify_socket(self._folder, self._name) == self._identity:
            remove_socket(self._folder, self._name)
        self._unregister(self._listener.fileno())
        self._listener.close()

    # Forks

    def _fill_standbys(self) -> None:
        """Fork one process in advance if nothing else is to be done: it would take the processor from an event that is answered."""
        is_busy = bool(self._free and self._callers)
        if self._is_ending or is_busy or len(self._free) >= _READY_STANDBYS or self._poll.poll(0):
            return
        with suppress(OSError):
            self._free.append(self._fork())

    def _fork(self) -> Standby:
        # The newest is used next. Only that one has copies: they are five megabytes.
        standby = fork_standby(self._pages if self._free else [])
        self._register(standby.pidfd, select.POLLIN, lambda: self._reap(standby))
        return standby

    def _reap(self, standby: Standby) -> None:
        ended, status = os.waitpid(standby.pid, os.WNOHANG)
        if not ended:
            return
        self._unregister(standby.pidfd)
        pages = standby.read_pages()
        # A fork that has copies already would not name them, so there are none until the last one was asked.
        if not self._forks_to_ask:
            self._pages = pages or self._pages
        standby.close()
        if standby in self._free:
            self._free.remove(standby)
        caller = next((one for one in self._callers.values() if one.standby is standby), None)
        if caller is None:
            return
        caller.standby = None
        if caller.facts is not None:
            # It was ended before it had anything to do.
            with suppress(OSError):
                caller.standby = self._fork()
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
        if len(self._callers) >= self._max_callers:
            self._unregister(self._listener.fileno())

    def _turn_away(self) -> None:
        """Let a caller know that there is no descriptor left for it, with the one that is kept for this."""
        os.close(self._spare)
        try:
            self._listener.accept()[0].close()
        except OSError:
            time.sleep(_SCARCITY_SECONDS)
        self._spare = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def _greet(self, caller: WarmCaller) -> None:
        """Read what a caller wants, look at it, and offer to answer."""
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
        try:
            if message != PROTOCOL + b" " + self._key:
                raise CallerRefused("another version, or a caller that may not look at this process")
            caller.facts = examine_caller(caller.connection, self._surroundings)
            if self._mounts.may_hang(caller.facts.folder, b""):
                raise CallerRefused("a folder on a file system that may hang (of a network or a program)")
            # Whether a fork can enter it.
            os.chdir(f"/proc/self/fd/{caller.facts.process}/cwd")
            os.chdir("/")
            caller.standby = self._free.pop() if self._free else self._fork()
        except (CallerRefused, OSError) as error:
            # Reasons are counted, so they name no process and no path.
            self._refuse(caller, str(error) if isinstance(error, CallerRefused) else error.strerror or "an error")
            return
        self._handlers[caller.connection.fileno()] = lambda: self._begin(caller)
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
        # Whatever comes now says that the client has ended, so its hooks must end, too.
        self._poll.register(caller.connection.fileno(), select.POLLRDHUP)
        self._handlers[caller.connection.fileno()] = lambda: self._check_client(caller)
        caller.options = read_fast_options(caller.facts.args)
        if caller.options is None:
            self._hand_over(caller, None, is_complete=False)
            return
        self._register(caller.streams[0], select.POLLIN, lambda: self._read_input(caller))

    def _read_input(self, caller: WarmCaller) -> None:
        try:
            part = _read_now(caller.streams[0])
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
        answer, may_look = None, not self._mounts.may_hang(caller.facts.folder, caller.data)
        if may_look:
            answer = self._find_answer(caller.facts, caller.options, caller.data)
        written = -1 if answer is None else _write_now(caller.streams[1], answer)
        if answer is None or written < 0:
            self._hand_over(caller, caller.data, is_complete=True, is_for_hooks=may_look and answer is None)
            return
        if written < len(answer):
            # A second answer after half of one would be worse than none: the client reports a broken engine.
            self._abandon(caller)
            return
        self._note_way(caller, "answered")
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
        self._note_way(caller, "forked")
        try:
            handles = [caller.connection.fileno(), *caller.streams]
            event = EventInput(data, is_complete, is_for_hooks, self._forks_to_ask > 0)
            caller.standby.start(caller.facts, event, handles)
            self._forks_to_ask -= event.reports_pages
        except OSError:
            # The client sees that the connection ends without an answer.
            self._abandon(caller)
            return
        caller.close_handles()

    def _note_way(self, caller: WarmCaller, way: str) -> None:
        caller.way = way
        self._counts[way] += 1

    def _check_client(self, caller: WarmCaller) -> None:
        # A number that another caller had a moment ago may wake us for nothing.
        with suppress(BlockingIOError):
            with suppress(ConnectionError):
                # A client that sends something has another protocol than this one; it is as good as gone.
                caller.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
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
            self._seconds[caller.way] += time.monotonic() - caller.begun
        self._callers.pop(caller.connection.fileno(), None)
        self._unregister(caller.connection.fileno())
        if caller.streams:
            self._unregister(caller.streams[0])
        caller.close_handles()
        caller.connection.close()
        if caller.standby is not None:
            self._free.append(caller.standby)
            caller.standby = None
        if len(self._free) > _MAX_STANDBYS:
            self._free.pop().dismiss()
        if not self._is_ending and len(self._callers) < self._max_callers:
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
            "waiting_forks": len(self._free),
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
    return max(1, min(_MAX_CALLERS, soft // _HANDLES_PER_CALLER - 4)) if soft >= 0 else _MAX_CALLERS


def _read_now(handle: int) -> bytes | None:
    """Return what can be read without waiting, None if there is nothing yet. It changes no flag: the caller shares them."""
    buffer = bytearray(_READ_BYTES)
    try:
        if stat.S_ISREG(os.fstat(handle).st_mode):
            return os.read(handle, _READ_BYTES)
        return bytes(buffer[: os.preadv(handle, [buffer], -1, os.RWF_NOWAIT)])
    except BlockingIOError:
        return None
    except OSError:
        raise HandOver from None


def _write_now(handle: int, data: bytes) -> int:
    """Write an answer if that is possible without waiting; return how much was written, -1 if nothing was."""
    if not data:
        return 0
    # A pipe takes this much in one piece.
    if len(data) > select.PIPE_BUF:
        return -1
    try:
        return os.pwritev(handle, [data], -1, os.RWF_NOWAIT) or -1
    except OSError:
        return -1
