"""More windows of a page that runs: it gives out addresses by a private socket in the state folder (`boathook page --open`)."""

# The folder is for the user alone, and so is the socket. An address works once, within a minute; the token of the page is not
# sent here. Whoever wants one is looked at as one who answers a question: an agent of the same user does not get one.

from __future__ import annotations

import contextlib
import os
import socket
import stat
import threading
from collections.abc import Callable, Iterator

from boathook.errors import ConfigError
from boathook.permits.peer_check import find_agent_refusal
from boathook.system.files import open_own_folder
from boathook.system.peer_credentials import is_own_user

_FOLDER, _SUFFIX = "page", ".socket"
_REQUEST = b"open\n"
_REFUSED = "refused: "
_MAX_ADDRESS_BYTES = 1 << 10
_SECONDS = 5.0
_USE_OWN = "Run it in a terminal of your own, or press Enter in the terminal that runs the page"
_NO_PAGE = "no page runs{}. Start one: boathook page"


class NewWindows:
    """Answers other processes of the person with new addresses of this page, until it is closed."""

    def __init__(
        self,
        state: str,
        port: int,
        make_address: Callable[[], str],
        find_refusal: Callable[[socket.socket], str] = find_agent_refusal,
    ) -> None:
        """`find_refusal` returns why the process at the other end may not open the page, or ""."""
        self._state, self._make_address, self._find_refusal = state, make_address, find_refusal
        self._name = f"{port}-{os.getpid()}{_SUFFIX}"
        self._listener: socket.socket | None = None

    def start(self, listen: Callable[[str], socket.socket]) -> None:
        """Begin to answer; `listen` makes a private socket at a path. OSError or ConfigError if that is impossible."""
        os.makedirs(f"{self._state}/{_FOLDER}", mode=0o700, exist_ok=True)
        with _open_folder(self._state) as folder:
            self._listener = listen(f"{folder}/{self._name}")
        threading.Thread(target=self._serve, args=(self._listener,), name="boathook-page-windows", daemon=True).start()

    def close(self) -> None:
        """Answer no longer, and remove the socket."""
        if self._listener is None:
            return
        with contextlib.suppress(OSError):
            os.unlink(f"{self._state}/{_FOLDER}/{self._name}")
        with contextlib.suppress(OSError):
            # A thread that waits in `accept` does not notice a close.
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            # One that is slow keeps no other waiting.
            threading.Thread(target=self._answer, args=(connection,), name="boathook-page-window", daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(_SECONDS)
            if not is_own_user(connection):
                return
            if refusal := self._find_refusal(connection):
                connection.sendall(f"{_REFUSED}{refusal}".encode())
            elif connection.recv(len(_REQUEST)) == _REQUEST:
                connection.sendall(self._make_address().encode())


def request_address(state: str, port: int = 0) -> str:
    """Return a new address of the page that was started last, or of the one with a port; ConfigError if there is none."""
    try:
        with _open_folder(state) as folder:
            for name in _list_sockets(folder, f"{port}-" if port else ""):
                address = _request(f"{folder}/{name}")
                if address.startswith(_REFUSED):
                    raise ConfigError(
                        f"this process may not open the page: {address.removeprefix(_REFUSED)}. {_USE_OWN}"
                    )
                if address:
                    return address
    except FileNotFoundError:
        pass
    except OSError as error:
        raise ConfigError(f"the page cannot be asked ({error.strerror or error}): look at {state}/{_FOLDER}") from None
    raise ConfigError(_NO_PAGE.format(f" at port {port}" if port else ""))


def _request(path: str) -> str:
    """Return the answer of a page, "" if nothing answers there."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_SECONDS)
        try:
            connection.connect(path)
            if not is_own_user(connection):
                return ""
        except OSError:
            return ""
        parts: list[bytes] = []
        # A page that refuses this process does not read what it sends.
        with contextlib.suppress(OSError):
            connection.sendall(_REQUEST)
        with contextlib.suppress(OSError):
            parts.extend(iter(lambda: connection.recv(_MAX_ADDRESS_BYTES), b""))
        return b"".join(parts)[:_MAX_ADDRESS_BYTES].decode("utf-8", "replace")


def _list_sockets(folder: str, prefix: str) -> list[str]:
    """Return the sockets of pages, the newest first."""
    times: dict[str, int] = {}
    for name in os.listdir(folder):
        # A page that ends in this moment removes its socket; a link to one elsewhere is not of a page.
        with contextlib.suppress(FileNotFoundError):
            status = os.lstat(f"{folder}/{name}")
            if name.endswith(_SUFFIX) and name.startswith(prefix) and stat.S_ISSOCK(status.st_mode):
                times[name] = status.st_mtime_ns
    return sorted(times, key=lambda name: times[name], reverse=True)


@contextlib.contextmanager
def _open_folder(state: str) -> Iterator[str]:
    """Open the folder of the sockets, and return a path of it that is short, because that of a socket may not be long."""
    path = f"{state}/{_FOLDER}"
    handle = open_own_folder(path)
    try:
        yield f"/proc/self/fd/{handle}" if os.path.isdir("/proc/self/fd") else path
    finally:
        os.close(handle)
