"""Ask the resident (docs/adr/0038-warm-engine.md) to answer an event, where the client in C is missing; it imports little."""

import _signal  # pyright: ignore[reportMissingImports]
import _socket
import sys

from boathook.entry.surroundings import (
    ASK_STATUS,
    EXITED,
    GO,
    KEY_CHARS,
    KEY_HANDLE,
    KEY_PREFIX,
    KILLED,
    OFFER,
    PROTOCOL,
    SO_PEERPIDFD,
    STARTED,
    name_socket,
    open_own_process,
    open_private_folder,
    open_process,
    read_surroundings,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os as system
    from typing import Any, NoReturn
else:
    import posix as system

ACCEPT_SECONDS = 0.05
# How long it may take until the resident shows that it lives.
LIFE_SECONDS = 10.0


class WarmEngineEnded(Exception):
    """The resident accepted an event and did not answer: the event must not run a second time."""

    def __init__(self, cause: str = "the warm engine ended before it answered") -> None:
        # The same words as in client.c.
        self.sentence = f"boathook cannot answer ({cause}), so no hook decided"


def ask_resident(words: "list[str]") -> None:
    """End as the event ends; return only if it was not accepted, and then none of the input has been read."""
    connection, handlers, is_accepted = None, {}, False
    opened: list[int] = []
    try:
        state = words[words.index("--state") + 1]
        _check_input(state)
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET | _socket.SOCK_CLOEXEC)
        _connect(connection, words[0], state, opened)
        connection.settimeout(ACCEPT_SECONDS)
        is_accepted = connection.recv(16) == OFFER
        if is_accepted:
            connection.settimeout(LIFE_SECONDS)
            handlers = _forward_signals()
            _send_streams(connection)
    except (OSError, ValueError, LookupError, AttributeError):
        is_accepted = False
    finally:
        # If it was accepted, the path of the socket still goes through one of them.
        for handle in () if is_accepted else opened:
            system.close(handle)
    if connection is not None and is_accepted:
        _wait_for_end(connection)
    # What follows is the cold path, which must find everything as it was.
    for number, handler in handlers.items():
        _signal.signal(number, handler)
    if connection is not None:
        connection.close()


def _check_input(state: str) -> None:
    # Before anything is opened: it would get the number of a stream that is closed.
    for handle in (0, 1, 2):
        system.fstat(handle)
    if system.isatty(0) or not state.startswith("/"):
        raise ValueError("the input is a terminal, or the folder is relative")


def _connect(connection: "Any", entry: str, state: str, opened: "list[int]") -> None:
    """Connect to a resident that is like this process, and show that we may look at it. The caller closes what is opened."""
    opened.append(open_own_process())
    own = read_surroundings(opened[0])
    folder = open_private_folder(state + "/warm")
    opened.append(folder)
    name = name_socket(sys.executable, entry, own)
    connection.setblocking(False)  # noqa: FBT003
    connection.connect(f"/proc/self/fd/{folder}/{name}")
    credentials = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
    pid, user = (int.from_bytes(credentials[at : at + 4], sys.byteorder) for at in (0, 4))
    # Only a live process is known by its number: this fails if it has ended.
    pidfd = connection.getsockopt(_socket.SOL_SOCKET, SO_PEERPIDFD)
    opened.append(pidfd)
    process = open_process(pid)
    opened.append(process)
    _signal.pidfd_send_signal(pidfd, 0)
    if user != system.geteuid() or read_surroundings(process) != own:
        raise ValueError("a resident of another user, or in other surroundings")
    key = system.readlink(f"fd/{KEY_HANDLE}", dir_fd=process).removeprefix("/memfd:" + KEY_PREFIX)[:KEY_CHARS]
    connection.send(PROTOCOL + b" " + key.encode())


def _send_streams(connection: "Any") -> None:
    handles = b"".join([number.to_bytes(4, sys.byteorder) for number in (0, 1, 2)])
    connection.sendmsg([GO], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, handles)])


# A handle on the process that answers, once there is one.
_answering: "list[int]" = []
# The signals that were passed on to it.
_forwarded: "set[int]" = set()


def _forward_signals() -> "dict[int, Any]":
    """Pass signals on to the process that answers; return what handled them before."""
    numbers = (_signal.SIGTERM, _signal.SIGHUP, _signal.SIGINT)
    ignored = {number for number in numbers if _signal.getsignal(number) == _signal.SIG_IGN}

    def forward(number: int, _: object) -> None:
        if _answering:
            _forwarded.add(number)
            try:
                _signal.pidfd_send_signal(_answering[0], number)
            except OSError:
                # It has ended, and says so.
                return
        elif number == _signal.SIGINT:
            # As the cold path ends while it reads.
            system._exit(130)
        elif number not in ignored:
            _die(number)

    # The engine heeds the other two even if they are ignored.
    taken = [number for number in numbers if number not in ignored or number != _signal.SIGINT]
    return {number: _signal.signal(number, forward) for number in taken}


def _wait_for_end(connection: "Any") -> "NoReturn":
    # The exit codes of an engine that a signal ended.
    ended_apart = {128 + number for number in (_signal.SIGTERM, _signal.SIGHUP, _signal.SIGINT)}
    while True:
        try:
            message, ancillary, _, _ = connection.recvmsg(16, _socket.CMSG_SPACE(4))
        except TimeoutError:
            # The input may be slow, or the resident may hang.
            if _is_silent(connection):
                raise WarmEngineEnded("the warm engine hangs") from None
            continue
        except ConnectionError:
            message, ancillary = b"", []
        if message == STARTED and ancillary:
            connection.settimeout(None)
            _answering.append(int.from_bytes(ancillary[0][2][:4], sys.byteorder))
        elif message[:1] == EXITED and message[1] not in ended_apart - {128 + number for number in _forwarded}:
            system._exit(message[1])
        # Only a signal that was sent to us is one that we may end by: many agents take such an end for approval.
        elif message[:1] == KILLED and message[1] in _forwarded:
            _die(message[1])
        else:
            raise WarmEngineEnded


def _is_silent(connection: "Any") -> bool:
    """Whether the resident does not even say how it is, over a connection of its own.

    One that takes no connections any more is about to end, and answers those that it has accepted.
    """
    other = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET | _socket.SOCK_CLOEXEC)
    other.settimeout(LIFE_SECONDS)
    try:
        other.connect(connection.getpeername())
        other.send(ASK_STATUS)
        other.recv(1)
    except TimeoutError:
        return True
    except OSError:
        return False
    finally:
        other.close()
    return False


def _die(number: int) -> "NoReturn":
    """End as a process ends that is killed by a signal."""
    if number not in (_signal.SIGKILL, _signal.SIGSTOP):
        _signal.signal(number, _signal.SIG_DFL)
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, (number,))
    system.kill(system.getpid(), number)
    system._exit(128 + number)
