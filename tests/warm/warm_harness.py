"""A resident for tests, and clients that wait long enough for it on a busy machine."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import boathook
from boathook.warm.resident import ASK_STATUS
from boathook.warm.warm_folder import connect_socket, list_sockets, make_warm_folder
from hatch_build import build_client
from tests.scratch_project import HOOK_ENTRY, ScratchProject

PACKAGE = Path(boathook.__file__).parent
COLD = (sys.executable, "-I", "-S", HOOK_ENTRY)
# Long enough for a busy machine; a test that waits for it has failed.
PATIENCE_SECONDS = 60.0
COMPILER = shutil.which("cc") or shutil.which("gcc") or ""


def is_supported() -> bool:
    """Whether this system can have a warm engine with its client in C."""
    one, other = socket.socketpair()
    with one, other:
        try:
            os.close(one.getsockopt(socket.SOL_SOCKET, 77))
        except OSError:
            return False
    return bool(COMPILER) and os.path.exists("/proc/self/ns/time_for_children")


def compile_client(folder: Path, *flags: str, source: Path = PACKAGE / "warm/client.c", small: bool = True) -> str:
    path = folder / "client"
    assert build_client(source, path, "-Wall", "-Wextra", "-Werror", *flags, small=small)
    return str(path)


# How long a resident that lives and says nothing is asked again.
ONE_MORE_LOOK_SECONDS = 1.0


def wait_until(condition: Callable[[], object], what: str = "it") -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen"
        time.sleep(0.01)


def wait_for_age(package: Path) -> None:
    """Wait until the files of a package are old enough for a resident to be certain of them."""
    newest = max(path.stat().st_ctime for path in package.rglob("*.py"))
    wait_until(lambda: time.time() - newest > 2.5, "the age of a package")


def is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except (FileNotFoundError, ProcessLookupError):
        return False


class TestResident:
    """A resident in a state folder; callers of other state folders may be led to it."""

    __test__ = False

    def __init__(self, state: Path, *options: str, package: Path = PACKAGE, python: str = sys.executable) -> None:
        self.state = state
        # How many callers were led here.
        self.asked = 0
        state.mkdir(parents=True, exist_ok=True)
        words = [python, "-I", "-S", str(package / "warm/resident_entry.py"), "--state", str(state), *options]
        self.process = subprocess.Popen(words, env={}, start_new_session=True, cwd="/", stdin=subprocess.DEVNULL)
        wait_until(lambda: self.find_status() or self.process.poll() is not None, "the start of a resident")

    @property
    def socket_path(self) -> Path:
        (path,) = (self.state / "warm").glob("*.socket")
        return path

    def find_status(self) -> dict[str, Any]:
        """Return what the resident says about itself, {} if it does not listen."""
        end = time.monotonic() + ONE_MORE_LOOK_SECONDS
        while not (status := self._ask_status()) and self.process.poll() is None and time.monotonic() < end:
            # It may be busy with its own start, or with that of a fork.
            time.sleep(0.02)
        return status

    def _ask_status(self) -> dict[str, Any]:
        try:
            folder = make_warm_folder(str(self.state))
        except OSError:
            return {}
        try:
            for name in list_sockets(folder):
                with connect_socket(folder, name) as connection:
                    # Longer than `ask_socket`: the machine may be busy.
                    connection.settimeout(PATIENCE_SECONDS)
                    connection.send(ASK_STATUS)
                    return json.loads(connection.recv(1 << 16) or b"{}")
        except OSError:
            return {}
        finally:
            os.close(folder)
        return {}

    def count_events(self) -> int:
        status = self.find_status()
        return status["answered"] + status["forked"]

    def lead_here(self, state: Path) -> None:
        """Let callers with another state folder find this resident."""
        folder = state / "warm"
        if not folder.exists():
            folder.mkdir(mode=0o700, parents=True)
            os.link(self.socket_path, folder / self.socket_path.name)

    def end(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_SECONDS)


class Client:
    """Runs events by a client, or by the cold command if there is none."""

    def __init__(self, project: ScratchProject, *before: str, package: Path = PACKAGE) -> None:
        self.project, self._before = project, before
        self._cold = (*COLD[:-1], str(package / "entry/hook_entry.py"))

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a caller; the tests may run in continuous integration, in which no caller is accepted."""
        return {name: value for name, value in self.project.environment.items() if name != "CI"}

    def make_command(self, *args: str) -> list[str]:
        return [*self._before, *self._cold, "--state", str(self.project.state), *args]

    def run_words(self, words: Sequence[str], event: object) -> tuple[int, bytes, bytes]:
        """Run another command in the same surroundings."""
        env = self.environment
        data = json.dumps(event).encode()
        done = subprocess.run(words, input=data, capture_output=True, cwd=self.project.path, env=env)
        return done.returncode, done.stdout, done.stderr

    def start(self, *args: str, before: Sequence[str] = (), **options: Any) -> subprocess.Popen[bytes]:
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        settings = {**pipes, "cwd": self.project.path, "env": self.environment, **options}
        return subprocess.Popen([*before, *self.make_command(*args)], **settings)

    def run(self, event: object, *args: str, **options: Any) -> tuple[int, bytes, bytes]:
        data = event if isinstance(event, bytes) else json.dumps(event).encode()
        with self.start(*args, **options) as process:
            out, err = process.communicate(data, PATIENCE_SECONDS)
        return process.returncode, out, err
