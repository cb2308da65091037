"""What a fork does at its end."""

from __future__ import annotations

import socket
import subprocess
import sys

from boathook.entry.surroundings import EXITED, STARTED

# The end of a process frees its memory before it closes its files, so a caller that reads to the end would wait for both.
ANSWER = """
import os, socket, sys
from boathook.warm import standby_process


class Connection(socket.socket):
    def send(self, message):
        def is_open(handle):
            try:
                return bool(os.fstat(handle))
            except OSError:
                return False
        return super().send(message + bytes(is_open(handle) for handle in range(3)))


def enter(args, data, leave, **_):
    os.write(1, b"answer")
    leave(2)


standby_process.enter = enter
event = standby_process.EventInput(b"{}", True, True, False)
standby_process._answer_event([], event, Connection(fileno=int(sys.argv[1])), lambda: None)
"""


def test_a_fork_closes_the_streams_of_the_caller_before_it_reports_its_end():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        process = subprocess.run(
            [sys.executable, "-c", ANSWER, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
        )
        ours.settimeout(60)
        assert ours.recv(16) == STARTED
        assert ours.recv(16) == EXITED + b"\2" + bytes(3)
    assert process.stdout == b"answer"
