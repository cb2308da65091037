"""The folder of the residents' sockets: private to the user, below the state folder."""

from __future__ import annotations

import fcntl
import os
import socket
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from boathook.entry.surroundings import ASK_STATUS, BOOT_CHARS, open_private_folder
from boathook.system.peer_credentials import read_peer_credentials

if TYPE_CHECKING:
    from collections.abc import Iterator

WARM_FOLDER = "warm"
# Below it, while a resident starts.
REHEARSAL_FOLDER = "rehearsal"
MAX_RESIDENTS = 4
_SUFFIX = ".socket"
_FOREIGN_SECONDS = 24 * 3600.0
# How long a resident may take to answer before another one replaces it: its file system may hang.
ANSWER_SECONDS = 5.0
_RETRY_SECONDS = 0.05


def make_warm_folder(state: str) -> int:
    """Return a handle on the folder, which is made if it is missing; OSError if it is not private."""
    path = f"{state}/{WARM_FOLDER}"
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
        # The mask of a caller may be anything.
        os.chmod(path, 0o700)
    return open_private_folder(path)


@contextmanager
def lock_folder(folder: int, patience_seconds: float = 0.0) -> Iterator[None]:
    """Hold the lock of the folder: a lock of the kernel, so none is left behind. BlockingIOError if another process keeps it."""
    handle = os.open(f"/proc/self/fd/{folder}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    deadline = time.monotonic() + patience_seconds
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise
            time.sleep(_RETRY_SECONDS)
        yield
    finally:
        os.close(handle)


def list_sockets(folder: int) -> list[str]:
    return sorted(name for name in os.listdir(f"/proc/self/fd/{folder}") if name.endswith(_SUFFIX))


def connect_socket(folder: int, name: str) -> socket.socket:
    """Return a connection; OSError if nobody listens. The path goes through a handle, because a socket's may not be long."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        connection.setblocking(False)  # noqa: FBT003
        connection.connect(f"/proc/self/fd/{folder}/{name}")
    except OSError:
        connection.close()
        raise
    return connection


def ask_socket(folder: int, name: str, message: bytes, seconds: float = ANSWER_SECONDS) -> bytes:
    """Return what a resident answers, b"" if it has no descriptor left for it; OSError if it does not answer in time."""
    with connect_socket(folder, name) as connection:
        connection.settimeout(max(seconds, _RETRY_SECONDS))
        connection.send(message)
        return connection.recv(1 << 16)


def find_listener(folder: int, name: str) -> int:
    """Return the number of the process that listens, 0 if there is none."""
    try:
        with connect_socket(folder, name) as connection:
            return read_peer_credentials(connection)[0]
    except OSError:
        return 0


def has_place(folder: int, name: str) -> bool:
    """Whether a resident may begin to listen: none does so at this name, and there are not too many of them."""
    living = [other for other in list_sockets(folder) if has_listener(folder, other, name)]
    return (name not in living or not _is_answering(folder, name)) and len(living) - (name in living) < MAX_RESIDENTS


def _is_answering(folder: int, name: str) -> bool:
    """Whether a resident answers; one that hangs loses its socket, and ends when it notices."""
    deadline = time.monotonic() + ANSWER_SECONDS
    while time.monotonic() < deadline:
        try:
            if ask_socket(folder, name, ASK_STATUS):
                return True
        except BlockingIOError:
            # So many callers wait that there is no place for one more.
            pass
        except OSError:
            break
        time.sleep(_RETRY_SECONDS)
    remove_socket(folder, name)
    return False


def bind_socket(folder: int, name: str, backlog: int) -> socket.socket:
    """Return a listening socket."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
    try:
        listener.bind(f"/proc/self/fd/{folder}/{name}")
        listener.listen(backlog)
    except OSError:
        listener.close()
        raise
    return listener


def has_listener(folder: int, name: str, own_name: str) -> bool:
    """Whether somebody listens; a file that a crash left behind is removed."""
    try:
        connect_socket(folder, name).close()
    except BlockingIOError:
        # It has more to do than it can.
        return True
    except OSError:
        # Names begin with the boot. One of another boot may be that of a machine which shares the home folder.
        if name[:BOOT_CHARS] == own_name[:BOOT_CHARS] or _is_old(folder, name):
            remove_socket(folder, name)
        return False
    return True


def _is_old(folder: int, name: str) -> bool:
    with suppress(OSError):
        return abs(time.time() - os.lstat(name, dir_fd=folder).st_ctime) > _FOREIGN_SECONDS
    return False


def remove_socket(folder: int, name: str) -> bool:
    try:
        os.unlink(name, dir_fd=folder)
    except OSError:
        return False
    return True


def identify_socket(folder: int, name: str) -> tuple[int, int] | None:
    """Return what tells a socket file from one that took its name; None if there is none."""
    try:
        found = os.lstat(name, dir_fd=folder)
    except OSError:
        return None
    return found.st_dev, found.st_ino
