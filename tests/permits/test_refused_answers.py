"""Answers that do not count are on record with the question: why a process may not answer, once for each reason."""

from __future__ import annotations

import os
import socket
import time

import pytest

from boathook.core.catalog import Settings
from boathook.core.event import Event
from boathook.core.outcome import NOTHING
from boathook.core.permit import CallObjections, Objection, Question, make_question
from boathook.core.verdict import Verdict
from boathook.core.waiting_question import BY_TERMINAL, CHECKED_DIGEST, PersonAnswer, WaitingQuestion
from boathook.permits import person_asker
from boathook.permits.person_asker import AskingHost, PersonAsker
from tests.permits.waiting_calls import WaitingCall, answer, read_records, set_up

WAIT = 'ask = "wait"'


def test_a_refused_answer_is_in_the_record_of_its_question(project):
    set_up(project, WAIT)
    call = WaitingCall(project)
    ask_id = call.find_question()
    for _ in range(2):
        assert answer(project, ask_id, CLAUDECODE="1")[0] == 1
    assert answer(project, ask_id, typed="no")[0] == 0
    assert call.finish()["decision"] == "block"
    (record,) = read_records(project, "answered")
    assert (record["result"], record["refused"]) == ("denied", ["it was started by an agent (CLAUDECODE)"])
    shown = " ".join(project.run("log", "--all").stdout.split())
    assert "An answer of a process was refused: it was started by an agent (CLAUDECODE)" in shown


def test_a_question_without_refused_answers_has_none_on_record(project):
    set_up(project, WAIT)
    call = WaitingCall(project)
    assert answer(project, call.find_question())[0] == 0
    assert call.finish()["decision"] == "allow"
    (record,) = read_records(project, "answered")
    assert "refused" not in record


class FakeTime:
    """The time of a process, which passes only when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.now + 1_800_000_000


@pytest.mark.parametrize(("check_seconds", "result"), [(49.0, "allowed"), (50.0, "unanswered")])
def test_a_yes_whose_check_ends_after_the_deadline_does_not_count(project, monkeypatch, check_seconds, result):
    """The deadline is looked at again when the second factor was checked, and the check knows how much time is left."""
    objection = Objection("careful", "user", "HOOK.md", "/hook", "", "ok", "ask", "seen", ask="strong")
    about = ("codex", "/p", "s", "pre-tool-call", "/p", "Shell", "Bash")
    question = Question("a" * 32, time.time(), *about, {"command": "ls"}, (objection,))
    waiting = WaitingQuestion(question.id, question, os.getpid(), 0, time.time() + 60)
    reply = PersonAnswer(waiting.id, waiting.digest, True, BY_TERMINAL, CHECKED_DIGEST)
    lefts, reasons, clock = [], [], FakeTime()

    def check_slowly(_settings, _state, answer):
        lefts.append(answer.seconds)
        clock.now += check_seconds
        return ""

    class AnsweredSocket:
        def __init__(self, *_):
            self.peers = socket.socketpair()

        def wait(self, end, judge):
            reasons.append(judge.take(self.peers[0], reply))
            return not reasons[-1]

        def close(self):
            for one in self.peers:
                one.close()

    monkeypatch.setattr(person_asker, "time", clock)
    monkeypatch.setattr(person_asker, "begin_factor_check", check_slowly)
    monkeypatch.setattr(person_asker, "find_refusal", lambda *_: "")
    monkeypatch.setattr(person_asker, "AnswerSocket", AnsweredSocket)
    wait = person_asker._Wait(str(project.state), Settings(), Settings, waiting)
    wait.begin()
    assert wait.run(clock.now + 50) == result
    wait.end()
    assert (lefts, reasons) == ([50.0], [""] if result == "allowed" else ["the answer came too late"])
    assert [record["result"] for record in read_records(project, "answered")] == [result]


def test_the_time_until_a_person_is_asked_is_taken_from_the_wait(project, monkeypatch):
    """An agent that gives 46 s is answered after 41 s, however long the look at other questions takes."""
    clock, ends, hosts = FakeTime(), [], []

    class FakeWait:
        def __init__(self, _state, _settings, _read_settings, waiting):
            ends.append(waiting.deadline - clock.time())

        def begin(self):
            clock.now += 1

        def run(self, end):
            ends.append(end - clock.now)
            return "unanswered"

        def end(self):
            pass

    def count_slowly(*_):
        clock.now += 13
        return 0

    def find_wait_seconds():
        hosts.append(clock.now)
        return 46.0

    monkeypatch.setattr(person_asker, "time", clock)
    monkeypatch.setattr(person_asker, "_Wait", FakeWait)
    monkeypatch.setattr(person_asker, "count_waiting", count_slowly)
    objection = Objection("careful", "user", "HOOK.md", "/hook", "", "ok", "ask", "seen")
    event = Event.of("pre-tool-call", tool_name="Shell", tool_input={"command": "ls"}, session_id="s")
    objections = CallObjections(make_question(event, "codex", "/p", clock.time()), lambda _: None)
    objections._open.append(objection)
    host = AskingHost("codex", False, "", find_wait_seconds)
    asker = PersonAsker(str(project.state), Settings(ask="wait"), host, Settings)
    verdict = asker.settle(Verdict(event, event, NOTHING), objections, 2.0)
    # The margin of 5 s, 2 s of hooks, 13 s of the look, and 1 s to write the question.
    assert ends == [26.0, 25.0]
    assert "No person answered within 26 s" in verdict.reasons[-1]
