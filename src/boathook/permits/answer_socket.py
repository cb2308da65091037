"""The wait for one answer, on a socket that this very process owns: until an answer, the deadline, or the end of the caller."""

# A peer that is slow, wrong or refused changes nothing for the wait: each has a few seconds and a small message, and is closed.

from __future__ import annotations

import os
import select
import socket
import time
from contextlib import suppress

from boathook.core.json_text import JsonError, decode, dump_line, loads
from boathook.core.value import Value
from boathook.core.waiting_question import MAX_ANSWER_BYTES, PersonAnswer
from boathook.permits.ask_folder import open_ask_folder
from boathook.permits.waiting_questions import SOCKET_ENDING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_MAX_PEERS = 8
_PEER_SECONDS = 5.0
_OUTPUT = 1
_GONE = select.POLLHUP | select.POLLERR | select.POLLNVAL


class _Peer(Value):
    connection: socket.socket
    end: float
    data: bytearray


class AnswerSocket:
    """Listens at a name in the folder of questions; `callers` are the processes that wait for the answer of this one."""

    def __init__(self, state: str, ask_id: str, callers: Iterable[int]) -> None:
        self._folder, self._name = open_ask_folder(state), f"{ask_id}{SOCKET_ENDING}"
        self._poll, self._peers = select.poll(), dict[int, _Peer]()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        # Through a handle, because the path of a socket may not be long.
        self._listener.bind(f"/proc/self/fd/{self._folder}/{self._name}")
        os.chmod(self._name, 0o600, dir_fd=self._folder)
        self._listener.listen(_MAX_PEERS)
        self._poll.register(self._listener, select.POLLIN)
        # Only its end is of interest: if nothing reads our output any more, there is no agent to answer.
        self._poll.register(_OUTPUT, 0)
        self._callers: list[int] = []
        for caller in callers:
            with suppress(OSError):
                self._callers.append(os.pidfd_open(caller))
                self._poll.register(self._callers[-1], select.POLLIN)

    def close(self) -> None:
        for number in [*self._peers]:
            self._drop(number)
        self._listener.close()
        for handle in (self._folder, *self._callers):
            if handle >= 0:
                os.close(handle)
        self._folder, self._callers = -1, []

    def wait(self, end: float, take: Callable[[socket.socket, PersonAnswer], str]) -> bool | None:
        """Wait until a monotonic time for an answer that `take` accepts (it returns ""); return whether it came.

        None if a caller has ended. `take` gets the connection and the answer.
        """
        while (now := time.monotonic()) < end:
            ends = [end, *(peer.end for peer in self._peers.values())]
            for handle, event in self._poll.poll(max(0.0, min(ends) - now) * 1000 + 1):
                if handle in self._callers or (handle == _OUTPUT and event & _GONE):
                    return None
                if handle == self._listener.fileno():
                    self._accept()
                elif handle in self._peers and self._serve(handle, end, take):
                    return True
            for number, peer in [*self._peers.items()]:
                if time.monotonic() > peer.end:
                    self._drop(number)
        return False

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        if len(self._peers) >= _MAX_PEERS:
            connection.close()
            return
        connection.setblocking(False)  # noqa: FBT003
        self._peers[connection.fileno()] = _Peer(connection, time.monotonic() + _PEER_SECONDS, bytearray())
        self._poll.register(connection, select.POLLIN)

    def _drop(self, number: int) -> None:
        peer = self._peers.pop(number)
        with suppress(OSError, KeyError):
            self._poll.unregister(number)
        peer.connection.close()

    def _serve(self, number: int, end: float, take: Callable[[socket.socket, PersonAnswer], str]) -> bool:
        """Read from a peer; return whether its answer was taken."""
        peer = self._peers[number]
        try:
            part = peer.connection.recv(MAX_ANSWER_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            part = b""
        peer.data.extend(part)
        if part and not peer.data.endswith(b"\n") and len(peer.data) < MAX_ANSWER_BYTES:
            return False
        reason = self._judge(peer, end, take)
        with suppress(OSError):
            peer.connection.send(dump_line({"is_taken": not reason, "reason": reason}))
        self._drop(number)
        return not reason

    def _judge(self, peer: _Peer, end: float, take: Callable[[socket.socket, PersonAnswer], str]) -> str:
        try:
            answer = PersonAnswer.parse(loads(decode(bytes(peer.data))))
        except (JsonError, TypeError, ValueError):
            return "the answer cannot be read"
        if time.monotonic() >= end:
            return "the answer came too late"
        return take(peer.connection, answer)
