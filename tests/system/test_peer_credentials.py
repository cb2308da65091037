"""Who is at the other end of a socket: one module reads it."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

import boathook
from boathook.system.peer_credentials import is_own_user, read_peer_credentials

# The client of the warm engine imports as little as possible.
_READERS = {"system/peer_credentials.py", "entry/warm_client.py"}


def test_the_process_and_its_user_are_read():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert read_peer_credentials(ours) == (os.getpid(), os.geteuid())
        assert is_own_user(ours)


def test_another_user_and_a_closed_connection_are_not_this_user(monkeypatch):
    ours, theirs = socket.socketpair()
    with theirs, monkeypatch.context() as patch, ours:
        user = os.geteuid()
        patch.setattr(os, "geteuid", lambda: user + 1)
        assert not is_own_user(ours)
    assert not is_own_user(ours)
    with pytest.raises(OSError, match="Bad file descriptor"):
        read_peer_credentials(ours)


def test_no_other_module_reads_it():
    top = Path(boathook.__file__).parent
    readers = {str(path.relative_to(top)) for path in top.rglob("*.py") if "SO_PEERCRED" in path.read_text()}
    assert readers == _READERS
