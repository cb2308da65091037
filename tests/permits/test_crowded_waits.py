"""What happens beside a wait: a crowd of wrong peers, and a program that asks the person, change nothing about its end."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from boathook.core.waiting_question import BY_TERMINAL, CHECKED_DIGEST, PersonAnswer, WaitingQuestion
from boathook.permits.waiting_questions import ANSWER_CHECK_SECONDS, make_ask_id, send_answer, write_waiting
from boathook.system.process_facts import read_process_facts
from e2e.terminal import start_at_terminal
from tests.permits.waiting_calls import (
    ASK,
    WaitingCall,
    answer,
    list_ask_files,
    make_person_environment,
    make_question,
    read_records,
    set_up,
    wait_until,
)
from tests.socket_paths import shorten_path

WAIT = 'ask = "wait"'
# Connects to the socket of a question again and again, keeps every connection, and sends nothing.
CROWD = """
import os, socket, sys
folder, name, mark = os.open(sys.argv[1], os.O_RDONLY), sys.argv[2], sys.argv[3]
kept = []
while True:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(f"/proc/self/fd/{folder}/{name}.sock")
    except OSError:
        sys.exit()
    kept = [*kept[-200:], connection]
    if len(kept) > 60:
        open(mark, "w").close()
"""


@contextmanager
def start_crowd(project, ask_id, *, has_terminal):
    """Start a process that takes as many connections as it gets, at a terminal of its own or at none."""
    mark = project.base / "crowded"
    words = [sys.executable, "-I", "-S", "-c", CROWD, str(project.state / "asks"), ask_id, str(mark)]
    env, leader = make_person_environment(project), -1
    if has_terminal:
        crowd, leader = start_at_terminal(words, cwd=project.path, env=env)
    else:
        crowd = subprocess.Popen(words, stdin=subprocess.DEVNULL, start_new_session=True, env=env)
    try:
        wait_until(mark.exists)
        yield crowd
    finally:
        crowd.kill()
        crowd.wait()
        if leader >= 0:
            os.close(leader)


@pytest.mark.parametrize("has_terminal", [False, True])
def test_a_crowd_of_processes_does_not_keep_a_person_from_answering(project, has_terminal):
    set_up(project, WAIT)
    call = WaitingCall(project)
    ask_id = call.find_question()
    with start_crowd(project, ask_id, has_terminal=has_terminal) as crowd:
        code, text = answer(project, ask_id)
        assert (code, "You allowed this call." in text) == (0, True), text
        assert crowd.poll() is None or call.finish()
    assert call.finish()["decision"] == "allow"


def test_an_answer_to_a_process_that_accepts_nothing_any_more_is_given_up(project):
    """It is stopped, and others have taken all places: a page or a command must not hang."""
    state, own = str(project.state), read_process_facts(os.getpid())
    question = make_question(make_ask_id()).replace(time=time.time())
    waiting = WaitingQuestion(question.id, question, own.pid, own.start, question.time + 60)
    write_waiting(state, waiting)
    listener, connections = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), []
    with shorten_path(project.state / f"asks/{waiting.id}.sock") as path:
        listener.bind(path)
        listener.listen(0)
        while not connections or not connections[-1].connect_ex(path):
            connections.append(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK))
    results = []
    reply = PersonAnswer(waiting.id, waiting.digest, True, BY_TERMINAL, CHECKED_DIGEST)
    thread = threading.Thread(target=lambda: results.append(send_answer(state, waiting, reply)), daemon=True)
    thread.start()
    thread.join(60)
    assert [result.is_taken for result in results] == [False]
    for one in (listener, *connections):
        one.close()


def test_the_end_of_the_agent_is_noticed_in_a_crowd(project):
    set_up(project, WAIT)
    call = WaitingCall(project)
    with start_crowd(project, call.find_question(), has_terminal=False):
        call.kill("agent")
        wait_until(lambda: list_ask_files(project) == [])
    wait_until(lambda: read_records(project, "answered"))
    assert read_records(project, "answered")[0]["result"] == "withdrawn"


# Runs the command line, and takes every folder for safe: that of a test is open to all.
UNCHECKED = """
import sys
from boathook.permits import askpass
askpass._find_place_problem = lambda place: ""
from boathook.cli.main import main
main()
"""


class SlowProgram:
    """A program that asks, and never gets an answer."""

    def __init__(self, project) -> None:
        self.path, self._pid_file = project.base / "ask", project.base / "ask-pid"
        self.path.write_text(
            f"#!/bin/sh\necho $$ >{self._pid_file}.new; mv {self._pid_file}.new {self._pid_file}\nsleep 600\n"
        )
        self.path.chmod(0o755)

    def wait_for_start(self) -> int:
        wait_until(self._pid_file.exists)
        return int(self._pid_file.read_text())


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture
def asking(project):
    """A call whose yes a program asks the person about, and which never gets an answer."""
    program = SlowProgram(project)
    started = []

    def start(*lines: str):
        approvals = f'[hooks.approvals]\nfactor = "askpass"\naskpass = "{program.path}"\n'
        project.write_hooks_toml("user", "\n".join(["[hooks]", WAIT, *lines, approvals]))
        project.write_hook("careful", ASK, fields={"ask": "strong"})
        call = WaitingCall(project, argv=[sys.executable, "-c", UNCHECKED, *project.make_argv("run", "--json")[3:]])
        ask_id = call.find_question()
        ends = []
        person = threading.Thread(target=lambda: ends.append(answer(project, ask_id)))
        person.start()
        started.append(person)
        return call, ask_id, program.wait_for_start(), ends

    yield start
    for person in started:
        person.join(ANSWER_CHECK_SECONDS)
        assert not person.is_alive()


def test_the_end_of_the_agent_is_noticed_while_a_program_asks(project, asking):
    call, _, pid, ends = asking()
    call.kill("agent")
    wait_until(lambda: list_ask_files(project) == [])
    wait_until(lambda: not is_running(pid))
    wait_until(lambda: ends)
    # The program was not waited for.
    assert (ends[0][0], "had no answer" in ends[0][1]) == (1, False), ends
    assert [record["result"] for record in read_records(project, "answered")] == ["withdrawn"]


def test_the_deadline_is_kept_while_a_program_asks(project, asking):
    call, _, pid, ends = asking("ask_timeout = 8000")
    found = call.finish()
    assert found["decision"] == "block"
    assert "No person answered within 8 s. This is not consent." in json.dumps(found["reasons"])
    wait_until(lambda: not is_running(pid))
    wait_until(lambda: ends)
    assert ends[0][0] == 1
    assert [record["result"] for record in read_records(project, "answered")] == ["unanswered"]


def test_a_no_counts_while_a_program_asks_about_a_yes(project, asking):
    call, ask_id, pid, ends = asking()
    assert answer(project, ask_id, typed="no")[0] == 0
    assert call.finish()["decision"] == "block"
    wait_until(lambda: not is_running(pid))
    wait_until(lambda: ends)
    assert (ends[0][0], "had no answer" in ends[0][1]) == (1, False), ends
    assert [record["result"] for record in read_records(project, "answered")] == ["denied"]


def test_only_one_yes_is_checked_at_a_time(project, asking):
    call, ask_id, _, _ = asking()
    code, text = answer(project, ask_id)
    assert (code, "the second factor of another answer is being checked. Wait for that, then try again" in text) == (
        1,
        True,
    ), text
    call.kill("agent")


def test_a_signal_ends_the_program_that_asks(project, asking):
    call, _, pid, _ = asking()
    call.kill("run", 15)
    assert call.finish()["decision"] == "block"
    wait_until(lambda: not is_running(pid))
    assert [record["result"] for record in read_records(project, "answered")] == ["killed"]
