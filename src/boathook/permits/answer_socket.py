"""The wait for one answer, on a socket that this very process owns: until an answer, the deadline, or the end of the caller."""

# A peer that is slow, wrong or refused changes nothing for the wait. One that may not answer is refused when it connects, so that
# a crowd of them takes no place from a person; each other one has a few seconds and a small message, and is closed.

from __future__ import annotations

import os
import select
import socket
import time
from contextlib import suppress

from boathook.core.json_text import JsonError, decode, dump_line, loads
from boathook.core.waiting_question import MAX_ANSWER_BYTES, PersonAnswer
from boathook.permits.ask_folder import open_ask_folder
from boathook.permits.askpass import ASKPASS_SECONDS
from boathook.permits.waiting_questions import SOCKET_ENDING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Protocol

    from boathook.permits.askpass import AskpassRun

    class AnswerJudge(Protocol):
        """Decides about peers and answers. Each method returns why not, or ""."""

        def look(self, connection: socket.socket) -> str:
            """Whether the process that connected may answer at all."""
            ...

        def take(self, connection: socket.socket, answer: PersonAnswer) -> str | AskpassRun:
            """Take an answer, or return the program that asks the person about it."""
            ...

        def confirm(self, answer: PersonAnswer) -> str:
            """Take an answer that the program said yes to."""
            ...


_MAX_PEERS = 32
# How many may wait to be looked at. The system lets others wait until there is a place.
_BACKLOG = 128
_PEER_SECONDS = 5.0
_OUTPUT = 1
_GONE = select.POLLHUP | select.POLLERR | select.POLLNVAL
# How often the end of a program is looked for, where the system has no handle on processes.
_LOOK_SECONDS = 0.2


class _Peer:
    """A connection, what it has sent, and until when it may send more."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection, self.data = connection, bytearray()
        self.end = time.monotonic() + _PEER_SECONDS


class _Check:
    """A program that asks the person about the answer of a peer."""

    def __init__(self, peer: _Peer, answer: PersonAnswer, run: AskpassRun, seconds: float) -> None:
        self.peer, self.answer, self.run, self.seconds = peer, answer, run, seconds
        self.end = peer.end = time.monotonic() + seconds
        self.handle = -1
        with suppress(OSError):
            self.handle = os.pidfd_open(run.pid)

    def find_result(self) -> str | None:
        """Return "" if it said yes, else why not; None if it still asks."""
        result = self.run.wait(0)
        return self.run.describe_silence(self.seconds) if result is None and time.monotonic() >= self.end else result

    def close(self) -> None:
        self.run.end()
        if self.handle >= 0:
            os.close(self.handle)


class AnswerSocket:
    """Listens at a name in the folder of questions; `callers` are the processes that wait for the answer of this one."""

    def __init__(self, state: str, ask_id: str, callers: Iterable[int]) -> None:
        self._folder, self._name = open_ask_folder(state), f"{ask_id}{SOCKET_ENDING}"
        self._poll, self._peers = select.poll(), dict[int, _Peer]()
        self._check: _Check | None = None
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        # Through a handle, because the path of a socket may not be long.
        self._listener.bind(f"/proc/self/fd/{self._folder}/{self._name}")
        os.chmod(self._name, 0o600, dir_fd=self._folder)
        self._listener.listen(_BACKLOG)
        self._poll.register(self._listener, select.POLLIN)
        # Only its end is of interest: if nothing reads our output any more, there is no agent to answer.
        self._poll.register(_OUTPUT, 0)
        self._callers: list[int] = []
        for caller in callers:
            with suppress(OSError):
                self._callers.append(os.pidfd_open(caller))
                self._poll.register(self._callers[-1], select.POLLIN)

    def close(self) -> None:
        self._drop_check()
        for number in [*self._peers]:
            self._drop(number)
        self._listener.close()
        for handle in (self._folder, *self._callers):
            if handle >= 0:
                os.close(handle)
        self._folder, self._callers = -1, []

    def wait(self, end: float, judge: AnswerJudge) -> bool | None:
        """Wait until a monotonic time for an answer that the judge takes; return whether it came, None if a caller has ended."""
        while (now := time.monotonic()) < end:
            ends = [end, *(peer.end for peer in self._peers.values())]
            if self._check is not None and self._check.handle < 0:
                ends.append(now + _LOOK_SECONDS)
            for handle, event in self._poll.poll(max(0.0, min(ends) - now) * 1000 + 1):
                if handle in self._callers or (handle == _OUTPUT and event & _GONE):
                    return None
                number = self._accept(judge) if handle == self._listener.fileno() else handle
                if number in self._peers and self._serve(number, end, judge):
                    return True
            if self._finish_check(end, judge):
                return True
            for number, peer in [*self._peers.items()]:
                if time.monotonic() > peer.end:
                    self._drop(number)
        return False

    def _accept(self, judge: AnswerJudge) -> int:
        """Accept a connection and return its number, -1 if there is none, or if the process may not answer."""
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return -1
        connection.setblocking(False)  # noqa: FBT003
        try:
            reason = judge.look(connection)
        except BaseException:
            connection.close()
            raise
        if reason:
            _send_result(connection, reason)
            connection.close()
            return -1
        if len(self._peers) >= _MAX_PEERS:
            # The one that has been silent for longest. The one whose answer is being checked is not silent.
            checked = self._check.peer if self._check is not None else None
            self._drop(next(number for number, peer in self._peers.items() if peer is not checked))
        number = connection.fileno()
        self._peers[number] = _Peer(connection)
        self._poll.register(connection, select.POLLIN)
        return number

    def _drop(self, number: int) -> None:
        peer = self._peers.pop(number)
        with suppress(OSError, KeyError):
            self._poll.unregister(number)
        peer.connection.close()
        if self._check is not None and self._check.peer is peer:
            self._drop_check()

    def _drop_check(self) -> None:
        check, self._check = self._check, None
        if check is None:
            return
        if check.handle >= 0:
            with suppress(OSError, KeyError):
                self._poll.unregister(check.handle)
        check.close()

    def _serve(self, number: int, end: float, judge: AnswerJudge) -> bool:
        """Read from a peer; return whether its answer was taken."""
        peer = self._peers[number]
        try:
            part = peer.connection.recv(MAX_ANSWER_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            part = b""
        if self._check is not None and self._check.peer is peer:
            # It has said all it may say. If it has ended, no person waits for the result.
            if not part:
                self._drop(number)
            return False
        peer.data.extend(part)
        if part and not peer.data.endswith(b"\n") and len(peer.data) < MAX_ANSWER_BYTES:
            return False
        reason = self._judge(peer, end, judge)
        return reason is not None and self._answer_peer(number, reason)

    def _answer_peer(self, number: int, reason: str) -> bool:
        _send_result(self._peers[number].connection, reason)
        self._drop(number)
        return not reason

    def _judge(self, peer: _Peer, end: float, judge: AnswerJudge) -> str | None:
        """Return why an answer does not count, "" if it does, None if a program asks the person about it."""
        try:
            answer = PersonAnswer.parse(loads(decode(bytes(peer.data))))
        except (JsonError, TypeError, ValueError):
            return "the answer cannot be read"
        if time.monotonic() >= end:
            return "the answer came too late"
        if answer.is_yes and self._check is not None:
            return "the second factor of another answer is being checked. Wait for that, then try again"
        result = judge.take(peer.connection, answer)
        if isinstance(result, str):
            return result
        self._check = _Check(peer, answer, result, min(ASKPASS_SECONDS, end - time.monotonic()))
        if self._check.handle >= 0:
            self._poll.register(self._check.handle, select.POLLIN)
        return None

    def _finish_check(self, end: float, judge: AnswerJudge) -> bool:
        """Return whether the program that asks the person has said yes, and the answer was taken."""
        if self._check is None or (result := self._check.find_result()) is None:
            return False
        check = self._check
        if not result:
            result = judge.confirm(check.answer) if time.monotonic() < end else "the answer came too late"
        return self._answer_peer(check.peer.connection.fileno(), result)


def _send_result(connection: socket.socket, reason: str) -> None:
    with suppress(OSError):
        connection.send(dump_line({"is_taken": not reason, "reason": reason}))
