"""The agent, the process that waits and the page are killed at every stage: no approval counts later, and no question stays."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from boathook.core.waiting_question import WaitingQuestion
from boathook.permits.ask_listeners import has_ask_listener
from boathook.permits.waiting_questions import count_waiting, list_waiting, make_ask_id, write_waiting
from boathook.system.process_facts import read_process_facts
from tests.page.page_at_terminal import TerminalPage
from tests.permits.test_waiting_ends import is_nothing_left
from tests.permits.waiting_calls import (
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
# Runs the command line. The first call of a function of a module waits until a file is there.
STOPPING = """
import importlib, os, sys, time
module, name, mark, go = sys.argv[1:5]
del sys.argv[1:5]
owner = importlib.import_module(module)
*outer, last = name.split(".")
for one in outer:
    owner = getattr(owner, one)
original = getattr(owner, last)
def stop(*args, **options):
    open(mark, "w").close()
    while not os.path.exists(go):
        time.sleep(0.02)
    return original(*args, **options)
setattr(owner, last, stop)
from boathook.cli.main import main
main()
"""
_ASKER = "boathook.permits.person_asker"
# The stages of the process that waits, each with a function that begins it.
STAGES = {
    "before the question is on record": (_ASKER, "_Wait.begin"),
    "before the file": (_ASKER, "write_waiting"),
    "between the file and the socket": (_ASKER, "AnswerSocket"),
    "before it waits": ("boathook.permits.answer_socket", "AnswerSocket.wait"),
    "when an answer comes": (_ASKER, "_Wait.take"),
    "before the answer is on record": (_ASKER, "_Wait.confirm"),
    "before the question is removed": (_ASKER, "_Wait.end"),
    "before the agent reads the answer": ("boathook.entry.run_once", "EventRun._write_answer"),
}
ANSWERED = tuple(STAGES)[4:]


class Stop:
    """A place where a process stops until it may go on."""

    def __init__(self, project, module: str, name: str) -> None:
        self.mark, self._go = project.base / "stopped", project.base / "go"
        self._words = [sys.executable, "-c", STOPPING, module, name, str(self.mark), str(self._go)]

    def make_argv(self, *arguments: str) -> list[str]:
        return [*self._words, *arguments]

    def wait(self) -> None:
        wait_until(self.mark.exists)

    def go_on(self) -> None:
        self._go.touch()


def is_ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def check_nothing_stays(project) -> None:
    """No question stays, nothing is stored that would allow a call, and the same call asks anew."""
    # A page that was killed does not count as a listener, and this look removes its file.
    assert not has_ask_listener(str(project.state))
    assert is_nothing_left(project)
    status = json.loads(project.run("status", "--json").stdout)
    assert status["waiting"] == []
    assert json.loads(project.run("asks", "--json").stdout)["repeats"] == []
    again = WaitingCall(project)
    assert answer(project, again.find_question(), typed="no")[0] == 0
    assert again.finish()["decision"] == "block"


@pytest.mark.parametrize("who", ["run", "agent"])
@pytest.mark.parametrize("stage", STAGES)
def test_nothing_stays_of_a_call_whose_process_or_agent_is_killed(project, stage, who):
    set_up(project, WAIT)
    stop = Stop(project, *STAGES[stage])
    call = WaitingCall(project, argv=stop.make_argv(*project.make_argv("run", "--json")[3:]))
    person = None
    if stage in ANSWERED:
        ask_id = call.find_question()
        person = threading.Thread(target=lambda: answer(project, ask_id))
        person.start()
    stop.wait()
    pids = call.pids
    call.kill(who)
    stop.go_on()
    wait_until(lambda: is_ended(pids["run"]))
    if who == "run":
        # The agent reads nothing that could be taken for an answer.
        assert call.finish()["end"] == {"code": -9, "stdout": "", "stderr": ""}
    if person is not None:
        person.join()
    # A yes that a person gave stays on record; it is the only one, and it is of this call.
    results = [record["result"] for record in read_records(project, "answered")]
    assert len(results) <= 1
    assert "allowed" not in results or stage in ANSWERED
    check_nothing_stays(project)


PAGE_STAGES = {
    "before the answer is sent": ("boathook.page.decision_rows", "send_answer"),
    "before a permit is on record": ("boathook.permits.repeat_permits", "_record"),
    "between the record of a permit and its file": ("boathook.permits.repeat_permits", "write_private"),
}


@pytest.mark.parametrize("stage", PAGE_STAGES)
def test_nothing_stays_of_what_a_page_that_is_killed_was_about_to_do(project, stage):
    set_up(project, WAIT)
    stop = Stop(project, *PAGE_STAGES[stage])
    page = TerminalPage(project.path, make_person_environment(project), argv=tuple(stop.make_argv("page", "--no-open")))
    try:
        page.open()
        call = WaitingCall(project)
        ask_id = call.find_question()
        begun = page.begin("allow-call", ask_id, page.find_digest(ask_id))
        code = page.read_code()
        is_sent = stage != "before the answer is sent"
        if is_sent:
            result = page.finish(begun, code)
            assert call.finish()["decision"] == "allow"
            path, fields = "/decide/repeat", {"id": result["repeat"]}
        else:
            path, fields = "/decide/finish", {"id": begun["id"], "code": code}
        request = threading.Thread(target=lambda: send_anyway(page, path, fields))
        request.start()
        stop.wait()
        page.process.send_signal(signal.SIGKILL)
        page.process.wait()
        request.join()
    finally:
        page.end()
    if not is_sent:
        # The call still waits, and a person can answer it elsewhere.
        assert [path.stem for path in list_ask_files(project, ".json")] == [ask_id]
        assert answer(project, ask_id, typed="no")[0] == 0
        assert call.finish()["decision"] == "block"
    check_nothing_stays(project)


def send_anyway(page: TerminalPage, path: str, fields: dict[str, str]) -> None:
    """Send a request to a page that may be killed meanwhile."""
    with suppress(OSError, http.client.HTTPException):
        page.post(path, **fields)


def write_left_question(state, *, pid, start):
    question = make_question(make_ask_id()).replace(time=time.time())
    write_waiting(state, WaitingQuestion(question.id, question, pid, start, question.time + 60))
    return question.id


def test_many_questions_of_killed_processes_are_removed_by_the_next_question(tmp_path):
    state, own = str(tmp_path), read_process_facts(os.getpid())
    for _ in range(66):
        write_left_question(state, pid=own.pid, start=own.start + 1)
    live = write_left_question(state, pid=own.pid, start=own.start)
    assert count_waiting(state, 32) == 1
    assert os.listdir(tmp_path / "asks") == [f"{live}.json"]


def test_a_socket_that_lost_its_question_is_removed_later_and_one_that_has_it_stays(tmp_path):
    state, own = str(tmp_path), read_process_facts(os.getpid())
    live = write_left_question(state, pid=own.pid, start=own.start)
    names = [f"{one}.sock" for one in (live, make_ask_id(), make_ask_id())]
    for name in names:
        with socket.socket(socket.AF_UNIX) as left, shorten_path(tmp_path / "asks" / name) as path:
            left.bind(path)
    for name in names[:2]:
        os.utime(tmp_path / "asks" / name, (0, 0))
    assert [waiting.id for waiting in list_waiting(state)] == [live]
    assert set(os.listdir(tmp_path / "asks")) == {f"{live}.json", names[0], names[2]}
