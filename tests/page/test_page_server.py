"""The command: what it prints, how it opens a browser, whom it lets in, and how it ends."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from boathook.errors import ConfigError
from boathook.page.page_context import PageContext
from boathook.page.page_server import (
    LOOPBACK,
    PageOptions,
    can_show_browser,
    describe_tunnel,
    open_page_socket,
    serve_page,
)
from tests.permits.waiting_calls import make_person_environment
from tests.scratch_project import ScratchProject
from tests.tables import try_each

pytestmark = pytest.mark.usefixtures("default_sigint")


@contextmanager
def start_page(project: ScratchProject, *arguments: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """Start the command as a process of its own, and end it if the test has not."""
    env = {
        name: value
        for name, value in project.environment.items()
        if name not in ("DISPLAY", "BROWSER", "SSH_CONNECTION")
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "boathook", "page", *arguments],
        cwd=project.path,
        env={**env, "PYTHONUNBUFFERED": "1", **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def read_address(process: subprocess.Popen[str]) -> re.Match[str]:
    assert process.stdout is not None
    for line in process.stdout:
        if match := re.search(r"(http://127\.0\.0\.1:(\d+))/#t=([\w-]{43})", line):
            return match
    raise AssertionError("no address")


def exchange(address: re.Match[str], connection: http.client.HTTPConnection | None = None) -> str:
    """Exchange the ticket of an address for the token."""
    connection = connection or http.client.HTTPConnection(LOOPBACK, int(address[2]), timeout=60)
    headers = {"Origin": address[1], "Host": address[1].removeprefix("http://")}
    connection.request("POST", "/session", address[3], headers)
    token = json.loads(connection.getresponse().read())["token"]
    connection.close()
    return token


def test_the_command_prints_one_address_and_ends_at_once_with_ctrl_c_even_while_somebody_reads(
    project: ScratchProject,
) -> None:
    with start_page(project, "--no-open") as process:
        address = read_address(process)
        token = exchange(address)
        stream = http.client.HTTPConnection(LOOPBACK, int(address[2]), timeout=60)
        stream.request("GET", "/data/stream", headers={"Authorization": f"Bearer {token}"})
        assert stream.getresponse().readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        stream.close()
    assert (process.returncode, err) == (0, "")
    # Only what can be decided on it: nothing if there is no terminal, or an agent above.
    assert re.fullmatch(r"((Nothing can be decided on this page: |Calls that hooks ask about wait ).*\n)?", out)


def test_the_token_is_in_no_argument_no_variable_and_no_output(project: ScratchProject) -> None:
    with start_page(project, "--no-open") as process:
        address = read_address(process)
        token = exchange(address)
        seen = b""
        if sys.platform == "linux":
            seen = Path(f"/proc/{process.pid}/cmdline").read_bytes() + Path(f"/proc/{process.pid}/environ").read_bytes()
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert (bool(token), process.returncode, err) == (True, 0, "")
    assert token not in out + err + seen.decode(errors="replace")
    files = [path for path in project.base.rglob("*") if path.is_file()]
    assert not [path for path in files if token.encode() in path.read_bytes()]


def test_a_browser_is_started_with_a_private_file_and_without_the_ticket(
    project: ScratchProject, tmp_path: Path
) -> None:
    seen, browser = tmp_path / "seen", tmp_path / "browser"
    browser.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" >{seen}.part; cat "${{1#file://}}" >>{seen}.part; mv {seen}.part {seen}\n'
    )
    browser.chmod(0o755)
    with start_page(project, BROWSER=str(browser)) as process:
        deadline = time.monotonic() + 60
        while not seen.exists():
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.02)
        argument, _, page = seen.read_text().partition("\n")
        path = Path(argument.removeprefix("file://"))
        assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0o600, 0o700)
        address = re.search(r"(http://127\.0\.0\.1:(\d+))/#t=([\w-]{43})", page)
        assert address is not None
        assert address[3] not in argument
        assert exchange(address)
        # It was used.
        assert not path.exists()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (address[3] not in out, err, path.parent.exists()) == (True, "", False)
    assert f"Opening {address[1]}/ in your browser" in out


def test_enter_at_the_terminal_prints_another_address(project: ScratchProject) -> None:
    master, slave = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "boathook", "page", "--no-open"],
        cwd=project.path,
        env={**project.environment, "COLUMNS": "200"},
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    try:
        text = ""
        while "Press Enter" not in text:
            text += os.read(master, 1000).decode()
        os.write(master, b"\n")
        while text.count("#t=") < 2 or not text.endswith("\n"):
            text += os.read(master, 1000).decode()
        tickets = re.findall(r"(http://127\.0\.0\.1:\d+)/#t=([\w-]{43})", text)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0
    finally:
        process.kill()
        process.wait()
        os.close(master)
    assert (len(tickets), len(set(tickets)), len({origin for origin, _ in tickets})) == (2, 2, 1)


def test_the_page_ends_by_itself_if_it_has_no_reader(project: ScratchProject) -> None:
    lines: list[str] = []
    assert serve_page(PageOptions(None, can_open=False, idle_seconds=0.2), lines.append) == 0
    assert lines[-1].startswith("Ended: nobody has read the page")


def test_only_a_reader_with_the_token_keeps_the_page_alive(project: ScratchProject) -> None:
    context = PageContext("http://127.0.0.1:1", None)
    before = context.find_idle_seconds()
    with context.count_stream():
        assert context.find_idle_seconds() == 0
    assert before >= 0
    context.close()


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder with a short path, as that of a socket must have, wherever the tests keep their files."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


def test_a_socket_is_private_is_for_the_address_of_the_tunnel_and_goes_with_the_page(
    project: ScratchProject, short_folder: Path
) -> None:
    path = short_folder / "page.sock"
    with start_page(project, "--socket", str(path), "--port", "9000") as process:
        address = read_address(process)
        assert address[1] == "http://127.0.0.1:9000"
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600

        def connect() -> http.client.HTTPConnection:
            connection = http.client.HTTPConnection(LOOPBACK, 9000)
            connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.sock.settimeout(60)
            connection.sock.connect(str(path))
            return connection

        wrong = connect()
        wrong.request("GET", "/", headers={"Host": "127.0.0.1:8471"})
        assert wrong.getresponse().status == 421
        wrong.close()
        assert exchange(address, connect())
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0
    assert not path.exists()


def test_a_socket_of_a_page_that_was_killed_is_replaced_and_nothing_else(short_folder: Path) -> None:
    path = short_folder / "page.sock"
    left = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    left.bind(str(path))
    left.close()
    listener = open_page_socket(0, str(path))
    with pytest.raises(ConfigError, match="cannot use"):
        open_page_socket(0, str(path))
    listener.close()
    path.unlink()
    path.write_text("mine")
    with pytest.raises(ConfigError, match="Choose another path"):
        open_page_socket(0, str(path))
    assert path.read_text() == "mine"


def test_a_port_that_is_taken_is_an_error_with_what_to_do(project: ScratchProject) -> None:
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = project.run("page", "--no-open", "--port", str(port))
    assert done.returncode == 1
    assert f"the page cannot use 127.0.0.1:{port}" in done.stderr
    assert "Choose another --port" in done.stderr


@try_each(
    "environ expected",
    [
        ({"DISPLAY": ":0"}, True),
        ({"WAYLAND_DISPLAY": "w"}, True),
        ({"BROWSER": "x"}, True),
        ({"DISPLAY": ":0", "SSH_CONNECTION": "1.2.3.4 5 6.7.8.9 22"}, False),
        ({"DISPLAY": ":0", "SSH_TTY": "/dev/pts/1"}, False),
        ({}, sys.platform == "darwin"),
    ],
)
def test_a_browser_is_started_only_where_the_person_sees_it(environ: dict[str, str], expected: bool) -> None:
    assert can_show_browser(environ) is expected


def test_over_ssh_the_line_for_the_own_machine_is_printed() -> None:
    (line,) = describe_tunnel({"SSH_CONNECTION": "1.2.3.4 5 6.7.8.9 22"}, 8000, "")
    assert re.fullmatch(r"On your own machine, first: ssh -N -L 8000:127\.0\.0\.1:8000 (\S+@)?6\.7\.8\.9", line)
    (line,) = describe_tunnel({}, 8471, "/x/page.sock")
    assert "ssh -N -L 8471:/x/page.sock " in line
    assert describe_tunnel({}, 8000, "") == []


def test_over_ssh_each_line_is_a_line_of_its_own(project: ScratchProject) -> None:
    with start_page(project, "--no-open", SSH_CONNECTION="1.2.3.4 5 6.7.8.9 22") as process:
        assert process.stdout is not None
        # Whether a person can answer on the page.
        assert "this page" in process.stdout.readline()
        assert re.fullmatch(r"On your own machine, first: ssh -N -L \S+ \S+\n", process.stdout.readline())
        assert process.stdout.readline().startswith("Open within a minute, once: http://127.0.0.1:")


def test_there_is_no_option_to_answer_to_the_network(project: ScratchProject) -> None:
    text = project.run("page", "--help").stdout
    known = {"--port", "--socket", "--open", "--no-open", "--project", "--state", "--help"}
    assert set(re.findall(r"--[a-z-]+", text)) == known


def test_without_the_extra_the_command_names_the_command_that_installs_it(project: ScratchProject) -> None:
    code = (
        "import importlib.util as u; real = u.find_spec\n"
        "u.find_spec = lambda name, *more: None if name == 'starlette' else real(name, *more)\n"
        "import sys; sys.argv = ['boathook', 'page', '--no-open']\n"
        "from boathook.cli.main import main; sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=project.environment, cwd=project.path
    )
    assert done.returncode == 1
    assert re.search(r"Install them: \S+ (-m pip|inject) .*starlette.* .*uvicorn", done.stderr), done.stderr
    assert "boathook[page]" not in done.stderr


def test_a_page_without_a_terminal_prints_at_once_that_nothing_can_be_decided_on_it(project: ScratchProject) -> None:
    # A session of its own has no terminal, also if the tests have one.
    words = (
        sys.executable,
        "-c",
        "import os, sys; os.setsid(); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])",
    )
    argv = [*words, "-m", "boathook", "page", "--no-open"]
    env = {**make_person_environment(project), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        argv, cwd=project.path, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as page:
        assert page.stdout is not None
        lines = [page.stdout.readline() for _ in range(2)]
        page.kill()
    assert lines[1].startswith("Open within a minute, once: ")
    assert lines[0].startswith("Nothing can be decided on this page: the page was ")
    assert lines[0].endswith(". Answer in a terminal of your own: boathook asks\n")
