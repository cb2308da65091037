"""Starting, asking and ending residents from the command line."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import Any

from boathook.core.value import Value
from boathook.entry.surroundings import (
    ASK_STATUS,
    ASK_STOP,
    PROTOCOL,
    SO_PEERPIDFD,
    find_session_keyring,
    open_own_process,
    open_private_folder,
    read_surroundings,
)
from boathook.entry.warm_start import start_resident
from boathook.warm.resident_entry import IS_STARTING
from boathook.warm.warm_folder import WARM_FOLDER, connect_socket, list_sockets

_CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "client")
_ANSWER_SECONDS = 5.0
# It ends by itself if it cannot start; a busy machine takes long.
_START_SECONDS = 120.0


def find_client() -> str:
    """Return the path of the client in C, "" if it was not built or does not work on this machine."""
    import subprocess

    try:
        done = subprocess.run([_CLIENT, "--version"], capture_output=True, timeout=_ANSWER_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return _CLIENT if done.stdout == PROTOCOL + b"\n" else ""


def can_be_warm() -> bool:
    """Whether this system can have a warm engine, and this is not continuous integration."""
    import socket

    one, other = socket.socketpair()
    with one, other:
        try:
            os.close(one.getsockopt(socket.SOL_SOCKET, SO_PEERPIDFD))
            process = open_own_process()
            read_surroundings(process)
            os.close(process)
            find_session_keyring()
        except (OSError, ImportError):
            return False
    return not os.environ.get("CI")


class ResidentStatus(Value):
    """What a resident says about itself."""

    pid: int
    started: float
    answered: int
    forked: int
    # How long the events of both kinds took in all.
    seconds: dict[str, float]
    refused: dict[str, int]


def list_residents(state: str, message: bytes = ASK_STATUS) -> list[ResidentStatus]:
    """Return the residents of a state folder; with ASK_STOP they end when they have answered those who are waiting."""
    try:
        folder = open_private_folder(f"{state}/{WARM_FOLDER}")
    except OSError:
        return []
    try:
        answers = [_ask(folder, name, message) for name in list_sockets(folder)]
    finally:
        os.close(folder)
    fields = ResidentStatus.FIELDS
    return [ResidentStatus(*(answer[field] for field in fields)) for answer in answers if answer]


def stop_residents(state: str) -> list[ResidentStatus]:
    """End the residents of a state folder, and remove the folder if nothing else is in it."""
    stopped = list_residents(state, ASK_STOP)
    with suppress(OSError):
        os.rmdir(f"{state}/{WARM_FOLDER}")
    return stopped


def _ask(folder: int, name: str, message: bytes) -> dict[str, Any]:
    try:
        with connect_socket(folder, name) as connection:
            connection.settimeout(_ANSWER_SECONDS)
            connection.send(message)
            answer: dict[str, Any] = json.loads(connection.recv(1 << 16) or b"{}")
            return answer
    except (OSError, ValueError):
        return {}


def start_and_wait(state: str, config: str) -> ResidentStatus | None:
    """Start a resident for what calls from here; return it, or the one that is there already, None if it does not start."""
    import time

    os.makedirs(state, 0o700, exist_ok=True)
    pid = start_resident(state, config)
    deadline, code = time.monotonic() + _START_SECONDS, None
    while time.monotonic() < deadline:
        residents = list_residents(state)
        mine = next((one for one in residents if one.pid == pid), None)
        # If another one is about to listen, that is the one to wait for.
        if mine is not None or (code is not None and (residents or code != IS_STARTING)):
            return mine or next(iter(residents), None)
        if code is None:
            ended, status = os.waitpid(pid, os.WNOHANG)
            code = os.waitstatus_to_exitcode(status) if ended else None
        time.sleep(0.02)
    return None
