"""A resident that callers or other processes hold up can be asked, ended, and tidied up after; so can what only looks like one."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from boathook.cli.warm import describe_warm
from boathook.warm.resident_control import list_residents, stop_residents
from boathook.warm.warm_folder import bind_socket, make_warm_folder
from tests.scratch_project import ScratchProject
from tests.warm.warm_harness import (
    PACKAGE,
    PATIENCE_SECONDS,
    Client,
    TestResident,
    compile_client,
    is_running,
    wait_until,
)

EVENT = ("--event", "PreToolUse")
CALL = {"tool_name": "Shell", "tool_input": {"command": "make deploy"}}
BLOCK = "echo no >&2; exit 2"
MAX_CALLERS = 64


@pytest.fixture
def own_client(project: ScratchProject, resident: TestResident, patient_client: str) -> Client:
    assert resident.state == project.state
    return Client(project, patient_client)


def compile_changed_client(folder: Path, old: str, new: str) -> str:
    """Return a client that was changed as an attacker might do it."""
    text = (PACKAGE / "warm/client.c").read_text()
    assert text.count(old) == 1
    (folder / "changed.c").write_text(text.replace(old, new))
    return compile_client(folder, "-DACCEPT_MS=60000", source=folder / "changed.c", small=False)


def test_a_client_that_sends_its_own_end_of_the_connection_is_forgotten_when_it_ends(
    project: ScratchProject, resident: TestResident, tmp_path: Path
) -> None:
    project.write_hook("guard", script=BLOCK)
    line = "int streams[3] = {0, 1, 2};"
    client = Client(
        project, compile_changed_client(tmp_path, line, "int streams[3] = {connection, connection, connection};")
    )
    with client.start(*EVENT) as process:
        wait_until(lambda: resident.find_status().get("running") == 1, "an event that runs")
        process.kill()
    wait_until(lambda: resident.find_status().get("running") == 0, "the end of the event")
    assert resident.end() == 0


def test_an_input_that_cannot_be_read_is_an_error_as_in_the_cold_path(
    project: ScratchProject, own_client: Client, cold: Client
) -> None:
    project.write_hook("guard", script=BLOCK)
    reading, writing = os.pipe()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        for handle in (writing, listener.fileno()):
            answers = []
            for client in (own_client, cold):
                with client.start(*EVENT, stdin=handle) as process:
                    out, err = process.communicate(timeout=PATIENCE_SECONDS)
                answers.append((process.returncode, out, err.split(b"\n")[0]))
            assert answers[0] == answers[1]
            assert answers[0][0] == 2
    os.close(reading)
    os.close(writing)


def test_a_fork_that_was_stopped_before_it_had_an_event_is_ended_and_the_call_is_refused(
    project: ScratchProject, own_client: Client, resident: TestResident
) -> None:
    project.write_hook("guard", script=BLOCK)
    children = Path(f"/proc/{resident.process.pid}/task/{resident.process.pid}/children")
    wait_until(lambda: resident.find_status()["waiting_forks"] == 2, "two forks")
    for pid in children.read_text().split():
        os.kill(int(pid), signal.SIGSTOP)
    code, _, err = own_client.run(CALL, *EVENT)
    assert (code, b"boathook" in err) == (2, True)
    # The ones that were stopped are used up, at the latest now.
    wait_until(lambda: own_client.run(CALL, *EVENT) == (2, b"", b"no\n"), "an event as before")


@contextlib.contextmanager
def hold_callers(client: Client, count: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Start clients whose input does not end."""
    reading, writing = os.pipe()
    started = [client.start(*EVENT, stdin=reading) for _ in range(count)]
    try:
        yield started
    finally:
        os.close(writing)
        os.close(reading)
        for process in started:
            process.communicate()


def test_a_resident_with_as_many_callers_as_it_may_have_can_be_asked_and_others_take_the_cold_path(
    project: ScratchProject, own_client: Client, resident: TestResident
) -> None:
    project.write_hook("guard", script=BLOCK)
    # Who asks for the status has a place for a moment, too.
    with hold_callers(own_client, MAX_CALLERS + 12):
        wait_until(lambda: resident.find_status()["running"] == MAX_CALLERS, "all callers")
        assert own_client.run(CALL, *EVENT) == (2, b"", b"no\n")
        assert [*resident.find_status()["refused"]] == ["too many callers at once"]
        [found] = list_residents(str(project.state))
        assert (found.pid, found.is_silent) == (resident.process.pid, False)
        assert [one.pid for one in stop_residents(str(project.state))] == [resident.process.pid]
    assert resident.process.wait(PATIENCE_SECONDS) == 0


def test_a_resident_that_does_not_answer_is_named_and_not_taken_for_none(
    project: ScratchProject, resident: TestResident
) -> None:
    pid = resident.process.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        done = project.run("warm", "stop")
        assert (done.returncode, f"Process {pid} did not answer" in done.stdout) == (1, True)
        assert "kill -9" in done.stdout
        shown = project.run("warm", "status").stdout
        assert f"process {pid}: it did not answer: it may be busy, stopped, or ending" in shown
        # It may answer in a moment.
        assert ("kill -9" in shown, "boathook warm stop" in shown) == (False, True)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert project.run("warm", "stop").returncode == 0


def test_a_resident_that_still_answers_is_named_as_one_that_is_ending(
    project: ScratchProject, own_client: Client, resident: TestResident
) -> None:
    project.write_hook("guard", script=BLOCK)
    with hold_callers(own_client, 1):
        wait_until(lambda: resident.find_status()["running"] == 1, "the event")
        done = project.run("warm", "stop")
    message = f"Process {resident.process.pid} is ending: it answers 1 event first, and takes no more.\n"
    assert (done.returncode, done.stdout) == (0, message)
    assert resident.process.wait(PATIENCE_SECONDS) == 0


def test_a_resident_that_is_ending_is_not_shown_as_one_that_runs(
    project: ScratchProject, own_client: Client, resident: TestResident, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write_hook("guard", script=BLOCK)
    with hold_callers(own_client, 1):
        wait_until(lambda: resident.find_status()["running"] == 1, "the event")
        [status] = stop_residents(str(project.state))
    monkeypatch.setattr("boathook.cli.warm.list_residents", lambda _: [status])
    shown = describe_warm(str(project.state), is_on=True)[-1]
    pid = resident.process.pid
    assert shown == f"process {pid}: it is ending, and takes no more events. It answers 1 event first."
    assert resident.process.wait(PATIENCE_SECONDS) == 0


ANSWERS = [b"[1]", b"{}", b"null", b"no JSON", json.dumps({"pid": "x"}).encode(), b"[" * 5000,
           json.dumps({"pid": 1, "started": 1.0, "answered": 1, "forked": 1, "seconds": {}, "refused": {}}).encode()]  # fmt: skip


def test_what_only_looks_like_a_resident_is_named_and_disturbs_no_command(project: ScratchProject) -> None:
    project.state.mkdir(parents=True)
    folder = make_warm_folder(str(project.state))
    with bind_socket(folder, "boot0000-1.socket", 8) as listener:
        listener.setblocking(True)

        def answer() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection, contextlib.suppress(OSError):
                        if connection.recv(256):
                            connection.send(current[0])

        threading.Thread(target=answer, daemon=True).start()
        for current in ([text] for text in ANSWERS):
            [found] = list_residents(str(project.state))
            assert (found.pid, found.is_silent) == (os.getpid(), True), current
        for words in (("status",), ("doctor",), ("install", "claude", "--yes"), ("uninstall", "claude", "--yes")):
            done = project.run(*words)
            assert "Error" not in done.stdout + done.stderr
        listener.shutdown(socket.SHUT_RDWR)
    os.close(folder)


def test_what_a_killed_resident_leaves_behind_is_removed_by_stop(
    project: ScratchProject, resident: TestResident
) -> None:
    [socket_path] = (project.state / "warm").glob("*.socket")
    children = Path(f"/proc/{resident.process.pid}/task/{resident.process.pid}/children").read_text().split()
    resident.process.kill()
    resident.process.wait()
    wait_until(lambda: not any(is_running(int(pid)) for pid in children), "the end of the forks")
    # That of another machine which shares the home folder.
    other = socket_path.with_name("00000000-1.socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as unused:
        os.chdir(socket_path.parent)
        unused.bind(other.name)
        os.chdir("/")
    assert project.run("warm", "stop").stdout.strip() == "No warm engine runs, so there is nothing to end."
    assert [path.name for path in (project.state / "warm").iterdir()] == [other.name]
