"""Starting, asking and ending residents from the command line."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

from boathook.core.value import Value
from boathook.entry.surroundings import (
    ASK_STATUS,
    ASK_STOP,
    PROTOCOL,
    SO_PEERPIDFD,
    find_session_keyring,
    name_boot,
    open_own_process,
    open_private_folder,
    read_surroundings,
)
from boathook.entry.warm_start import start_resident
from boathook.warm.resident_entry import IS_STARTING
from boathook.warm.warm_folder import (
    ANSWER_SECONDS,
    REHEARSAL_FOLDER,
    WARM_FOLDER,
    ask_socket,
    find_listener,
    has_listener,
    list_sockets,
    lock_folder,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "client")
# It ends by itself if it cannot start; a busy machine takes long.
_START_SECONDS = 120.0
# How long to wait for one that starts, which takes a second or two, before it is left alone.
_STOP_SECONDS = 20.0


def find_client() -> str:
    """Return the path of the client in C, "" if it was not built or does not work on this machine."""
    import subprocess

    try:
        done = subprocess.run([_CLIENT, "--version"], capture_output=True, timeout=ANSWER_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return _CLIENT if done.stdout == PROTOCOL + b"\n" else ""


def has_client_file() -> bool:
    """Whether the package has a client in C, whether or not that runs here."""
    return os.path.exists(_CLIENT)


def find_warm_obstacle() -> str:
    """Return why no process like this one can be answered by a warm engine, "" if it can be."""
    if os.environ.get("CI"):
        return "it is not for continuous integration (the variable CI is set)"
    if sys.platform != "linux":
        return "it needs Linux 6.5 or newer"
    try:
        _find_peer_handle()
        process = open_own_process()
        try:
            read_surroundings(process)
        finally:
            os.close(process)
        find_session_keyring()
    except (OSError, ImportError) as error:
        return (error.strerror if isinstance(error, OSError) else None) or str(error)
    return ""


def _find_peer_handle() -> None:
    import socket

    one, other = socket.socketpair()
    with one, other:
        try:
            os.close(one.getsockopt(socket.SOL_SOCKET, SO_PEERPIDFD))
        except OSError as error:
            raise OSError(error.errno, "it needs Linux 6.5 or newer") from None


class ResidentStatus(Value):
    """What a resident says about itself; `is_silent` if it listens and does not answer."""

    pid: int
    started: float = 0.0
    answered: int = 0
    forked: int = 0
    # How long the events of both kinds took in all.
    seconds: Mapping[str, float] = {}
    refused: Mapping[str, int] = {}
    is_silent: bool = False
    # How many events it is answering. One that is ending takes no more.
    running: int = 0
    is_ending: bool = False


def list_residents(state: str, message: bytes = ASK_STATUS) -> list[ResidentStatus]:
    """Return the residents of a state folder; with ASK_STOP they end when they have answered those who are waiting."""
    try:
        folder = open_private_folder(f"{state}/{WARM_FOLDER}")
    except OSError:
        return []
    try:
        return _ask_all(folder, message)
    finally:
        os.close(folder)


def stop_residents(state: str) -> list[ResidentStatus]:
    """End the residents of a state folder, also one that starts, and remove the folder if nothing else is in it."""
    path = f"{state}/{WARM_FOLDER}"
    try:
        folder = open_private_folder(path)
    except OSError:
        return []
    try:
        with ExitStack() as stack:
            with suppress(OSError):
                # One that starts has the lock, and cannot be asked before it listens.
                stack.enter_context(lock_folder(folder, _STOP_SECONDS))
                # Only a start that was killed leaves it behind.
                shutil.rmtree(f"{path}/{REHEARSAL_FOLDER}", ignore_errors=True)
                for name in list_sockets(folder):
                    # So does a resident that was killed.
                    has_listener(folder, name, name_boot())
            stopped = _ask_all(folder, ASK_STOP)
            with suppress(OSError):
                os.rmdir(path)
    finally:
        os.close(folder)
    return stopped


def _ask_all(folder: int, message: bytes) -> list[ResidentStatus]:
    deadline = time.monotonic() + ANSWER_SECONDS
    answers = (_ask(folder, name, message, deadline - time.monotonic()) for name in list_sockets(folder))
    return [answer for answer in answers if answer is not None]


def _ask(folder: int, name: str, message: bytes, seconds: float) -> ResidentStatus | None:
    """Return what a resident says, and None if none listens."""
    try:
        return _read_status(json.loads(ask_socket(folder, name, message, seconds)))
    except ConnectionRefusedError:
        return None
    # Others may listen there, too.
    except (OSError, ValueError, RecursionError):
        pid = find_listener(folder, name)
        return ResidentStatus(pid, is_silent=True) if pid else None


def _read_status(answer: Any) -> ResidentStatus:
    """Return what an answer says; ValueError if it is none of ours."""
    counts = ("pid", "answered", "forked", "running")
    if not isinstance(answer, dict) or not all(isinstance(answer.get(name), int) for name in counts):
        raise ValueError("not a status")
    seconds, refused, started = (answer.get(name) for name in ("seconds", "refused", "started"))
    if not (isinstance(started, float) and isinstance(seconds, dict) and isinstance(refused, dict)):
        raise ValueError("not a status")
    numbers = [*(seconds.get(name) for name in ("answered", "forked")), *refused.values()]
    if not all(isinstance(number, int | float) for number in numbers):
        raise ValueError("not a status")
    about = {name: answer[name] for name in counts}
    return ResidentStatus(
        **about, started=started, seconds=seconds, refused=refused, is_ending=answer.get("is_ending") is True
    )


def start_and_wait(state: str, config: str) -> ResidentStatus | None:
    """Start a resident for what calls from here; return it, or the one that is there already, None if it does not start."""
    os.makedirs(state, 0o700, exist_ok=True)
    pid = start_resident(state, config)
    deadline, code = time.monotonic() + _START_SECONDS, None
    while time.monotonic() < deadline:
        residents = list_residents(state)
        mine = next((one for one in residents if one.pid == pid and not one.is_silent), None)
        # If another one is about to listen, that is the one to wait for.
        if mine is not None or (code is not None and (residents or code != IS_STARTING)):
            return mine or next(iter(residents), None)
        if code is None:
            ended, status = os.waitpid(pid, os.WNOHANG)
            code = os.waitstatus_to_exitcode(status) if ended else None
        time.sleep(0.02)
    return None
