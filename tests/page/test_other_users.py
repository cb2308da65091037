"""Another user of the machine tries everything that reaches the page: its port, its sockets, its files and its process."""

from __future__ import annotations

import http.client
import json
import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from boathook.permits.answer_socket import AnswerSocket
from boathook.permits.waiting_questions import make_ask_id
from tests.page.test_page_server import LOOPBACK, read_address, start_page
from tests.scratch_project import ScratchProject, make_project

_NOBODY = 65534
_DATA = ("/data/screen/now", "/data/stream", "/data/export/live.json")


@pytest.fixture
def open_project() -> Iterator[ScratchProject]:
    """A project in a folder that others can enter: what keeps them out are the page's own modes."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        yield make_project(Path(folder) / "base")


def try_as(user: int, attempts: dict[str, Callable[[], object]]) -> dict[str, str]:
    """Return what each attempt came to in a process of a user."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        # It must not go on with the tests, whatever happens.
        try:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            os.write(writer, json.dumps({name: _try(attempt) for name, attempt in attempts.items()}).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        results = json.load(file)
    os.waitpid(pid, 0)
    return results


def _try(attempt: Callable[[], object]) -> str:
    try:
        return str(attempt())
    except Exception as error:
        return type(error).__name__


def connect(path: Path) -> str:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(str(path))
    return "connected"


def read(path: Path) -> str:
    path.read_bytes()
    return "read"


def get(port: int, path: str) -> int:
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=60)
    connection.request("GET", path, headers={"Authorization": f"Bearer {'x' * 43}"})
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_user_reaches_nothing_of_the_page(open_project: ScratchProject) -> None:
    project, top = open_project, open_project.base
    ask_id = make_ask_id()
    tunnel = top / "tunnel.sock"
    with (
        start_page(project, "--no-open") as page,
        start_page(project, "--socket", str(tunnel)) as other,
    ):
        port = int(read_address(page)[2])
        read_address(other)
        question = AnswerSocket(str(project.state), ask_id, ())
        [own, *_] = sorted(project.state.glob("page/*.socket"))
        attempts: dict[str, Callable[[], object]] = {
            "the socket for a tunnel": lambda: connect(tunnel),
            "the socket for new windows": lambda: connect(own),
            "the socket of a question": lambda: connect(project.state / f"asks/{ask_id}.sock"),
            "the list of questions": lambda: os.listdir(project.state / "asks"),
            "the list of pages": lambda: os.listdir(project.state / "page"),
            "the variables": lambda: read(Path(f"/proc/{page.pid}/environ")),
            "the memory": lambda: read(Path(f"/proc/{page.pid}/maps")),
            **{f"GET {path}": lambda path=path: get(port, path) for path in _DATA},
        }
        # What another user may not read of Python is imported by this.
        assert get(port, "/") == 200
        theirs, ours = try_as(_NOBODY, attempts), try_as(0, attempts)
        question.close()
    refused = {f"GET {path}": "401" for path in _DATA}
    assert theirs == {**dict.fromkeys(attempts, "PermissionError"), **refused}
    # The same attempts work for the user, so that it is the modes that kept the other one out.
    assert "PermissionError" not in ours.values()
    assert {name: ours[name] for name in refused} == refused
