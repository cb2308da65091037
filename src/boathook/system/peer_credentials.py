"""Who is at the other end of a Unix socket: the process that connected, as the system knows it (Linux)."""

# The client of the warm engine reads this itself, because it imports as little as possible.

from __future__ import annotations

import os
import socket
import struct

_FORMAT = "3i"


def can_read_peers() -> bool:
    return hasattr(socket, "SO_PEERCRED")


def read_peer_credentials(connection: socket.socket) -> tuple[int, int]:
    """Return the number and the user of the process that connected; OSError if the system does not say.

    The number is 0 if the process is in another namespace; the process may have ended since.
    """
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize(_FORMAT))
    pid, user, _ = struct.unpack(_FORMAT, data)
    return pid, user


def is_own_user(connection: socket.socket) -> bool:
    """Whether the other end is a process of this user. Where the system does not say, the modes of the files decide."""
    if not can_read_peers():
        return True
    try:
        return read_peer_credentials(connection)[1] == os.geteuid()
    except OSError:
        return False
