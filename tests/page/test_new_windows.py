"""`boathook page --open`: another address of a page that runs, for the same user alone."""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from boathook.errors import ConfigError
from boathook.page.access import PageAccess
from boathook.page.new_windows import NewWindows, request_address
from boathook.page.page_server import open_page_socket
from e2e.terminal import run_at_terminal
from tests.page.test_page_server import exchange, read_address, start_page
from tests.permits.waiting_calls import make_person_environment
from tests.scratch_project import ScratchProject
from tests.socket_paths import shorten_path

pytestmark = pytest.mark.usefixtures("default_sigint")


@contextmanager
def answer_requests(
    state: Path, port: int, access: PageAccess, find_refusal: Callable[[socket.socket], str] = lambda _: ""
) -> Iterator[NewWindows]:
    # The tests themselves may have no terminal, and an agent may run them.
    requests = NewWindows(str(state), port, access.make_address, find_refusal)
    requests.start(lambda path: open_page_socket(0, path))
    try:
        yield requests
    finally:
        requests.close()


def list_sockets(state: Path) -> list[Path]:
    return list((state / "page").iterdir())


def connect(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    with shorten_path(path) as short:
        connection.connect(short)
    return connection


def test_the_command_prints_another_address_of_the_page_that_runs(project: ScratchProject) -> None:
    with start_page(project, "--no-open") as process:
        first = read_address(process)
        code, text = open_at_terminal(project)
        second = re.search(r"(http://127\.0\.0\.1:(\d+))/#t=([\w-]{43})", text)
        assert second is not None, text
        assert (second[1], second[3] == first[3], code) == (first[1], False, 0)
        # Both lead to the same page, each once.
        token = exchange(first)
        assert (token, exchange(second), exchange(second)) == (token, token, "")
        files = [path for path in project.base.rglob("*") if path.is_file()]
        assert not [
            path for path in files if {token, second[3]} & set(re.findall(r"[\w-]{43}", path.read_text("latin-1")))
        ]
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, second[3] in out, err, list_sockets(project.state)) == (0, False, "", [])


def open_at_terminal(project: ScratchProject, **variables: str) -> tuple[int | None, str]:
    env = {**make_person_environment(project), **variables}
    return run_at_terminal(project.make_argv("page", "--open"), [], cwd=project.path, env=env, prompt="$^")


def test_a_process_of_an_agent_or_without_a_terminal_gets_no_address(project: ScratchProject) -> None:
    with start_page(project, "--no-open") as process:
        read_address(process)
        code, text = open_at_terminal(project, CLAUDECODE="1")
        assert (code, "it was started by an agent (CLAUDECODE)" in " ".join(text.split())) == (1, True), text
        # No variable of an agent, no terminal: a job in the background.
        done = subprocess.run(
            project.make_argv("page", "--open"), capture_output=True, text=True, start_new_session=True, check=False,
            cwd=project.path, env=make_person_environment(project), stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert (done.returncode, "it has no terminal" in done.stderr, "#t=" in done.stdout) == (1, True, False), done
        assert "#t=" in open_at_terminal(project)[1]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def test_a_silent_peer_keeps_no_other_waiting(tmp_path: Path) -> None:
    with answer_requests(tmp_path, 1, PageAccess("http://127.0.0.1:1")):
        [path] = list_sockets(tmp_path)
        silent = [connect(path) for _ in range(20)]
        assert request_address(str(tmp_path)).startswith("http://127.0.0.1:1/")
        for connection in silent:
            # None of them was closed for the other.
            connection.setblocking(False)
            with pytest.raises(BlockingIOError):
                connection.recv(1)
            connection.close()


def test_every_request_gets_an_address_of_its_own(tmp_path: Path) -> None:
    access = PageAccess("http://127.0.0.1:1")
    with answer_requests(tmp_path, 1, access):
        addresses = [request_address(str(tmp_path)) for _ in range(3)]
    assert len(set(addresses)) == 3
    assert all(access.exchange_ticket(address.partition("#t=")[2]) for address in addresses)
    assert list_sockets(tmp_path) == []


def test_of_several_pages_the_newest_answers_or_the_one_with_the_port(tmp_path: Path) -> None:
    with answer_requests(tmp_path, 1, PageAccess("http://127.0.0.1:1")):
        old = list_sockets(tmp_path)[0]
        os.utime(old, ns=(0, 0))
        with answer_requests(tmp_path, 22, PageAccess("http://127.0.0.1:22")):
            assert request_address(str(tmp_path)).startswith("http://127.0.0.1:22/")
            assert request_address(str(tmp_path), 1).startswith("http://127.0.0.1:1/")
            with pytest.raises(ConfigError, match="no page runs at port 2"):
                request_address(str(tmp_path), 2)
        assert request_address(str(tmp_path)).startswith("http://127.0.0.1:1/")


def test_a_page_that_ends_in_this_moment_and_a_link_hide_no_other_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    with answer_requests(tmp_path, 1, PageAccess("http://127.0.0.1:1")) as _:
        with answer_requests(elsewhere, 7, PageAccess("http://127.0.0.1:7")):
            link = tmp_path / "page" / "7-7.socket"
            link.symlink_to(list_sockets(elsewhere)[0])
            names = os.listdir(tmp_path / "page")
            monkeypatch.setattr(os, "listdir", lambda _: [*names, "99-99.socket"])
            assert request_address(str(tmp_path)).startswith("http://127.0.0.1:1/")
            with pytest.raises(ConfigError, match="no page runs at port 7"):
                request_address(str(tmp_path), 7)
        monkeypatch.undo()


def test_where_no_page_runs_the_error_names_the_command_that_starts_one(project: ScratchProject) -> None:
    done = project.run("page", "--open")
    assert (done.returncode, "no page runs. Start one: boathook page" in done.stderr) == (1, True)
    # Of a page that was killed.
    folder = project.state / "page"
    folder.mkdir(mode=0o700, parents=True)
    with socket.socket(socket.AF_UNIX) as killed, shorten_path(folder / "5-5.socket") as path:
        killed.bind(path)
    assert "no page runs" in project.run("page", "--open").stderr
    assert "--open is for a page that runs" in project.run("page", "--open", "--socket", "x").stderr


def test_the_socket_and_its_folder_are_private(tmp_path: Path) -> None:
    with answer_requests(tmp_path, 1, PageAccess("http://127.0.0.1:1")):
        [path] = list_sockets(tmp_path)
        assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0o600, 0o700)
        path.parent.chmod(0o755)
        with pytest.raises(ConfigError, match="chmod 700"):
            request_address(str(tmp_path))
    with pytest.raises(PermissionError), answer_requests(tmp_path, 2, PageAccess("http://127.0.0.1:2")):
        pass


def test_a_long_state_folder_and_other_words_do_no_harm(tmp_path: Path) -> None:
    state = tmp_path / ("long" * 30)
    with answer_requests(state, 1, PageAccess("http://127.0.0.1:1")):
        [path] = list_sockets(state)
        for data in (b"", b"token\n", b"open", b"\xff" * 10_000):
            with connect(path) as connection:
                connection.settimeout(60)
                try:
                    connection.sendall(data)
                    connection.shutdown(socket.SHUT_WR)
                    assert connection.recv(100) == b""
                except (ConnectionResetError, BrokenPipeError):
                    pass
        assert request_address(str(state)).startswith("http://127.0.0.1:1/")
