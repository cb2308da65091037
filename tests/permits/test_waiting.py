"""boathook waits for a person's answer: real processes, and a person at a pseudo terminal."""

from __future__ import annotations

import pytest

from tests.permits.waiting_calls import WaitingCall, answer, list_ask_files, read_records, set_up

WAIT = 'ask = "wait"'


def test_a_yes_lets_the_call_run(project):
    set_up(project, WAIT)
    call = WaitingCall(project)
    ask_id = call.find_question()
    code, text = answer(project, ask_id[:8])
    assert (code, "You allowed this call." in text) == (0, True), text
    verdict = call.finish()
    assert (verdict["decision"], verdict["reasons"]) == ("allow", ["A person allowed this call."])
    assert verdict["runs"][0]["notes"] == [f"allowed by a person ({ask_id}): its question does not count"]
    assert list_ask_files(project) == []
    (asked,), (answered,), (dispatch,) = (read_records(project, kind) for kind in ("asked", "answered", "dispatch"))
    assert (asked["question"], asked["asking"], answered["result"]) == (ask_id, ["careful"], "allowed")
    assert (answered["via"], answered["digest"]) == ("terminal", asked["digest"])
    assert dispatch["asked"] == {"question": ask_id, "result": "allowed"}
    assert dispatch["hooks"][0]["allowed"] == ask_id


def test_a_no_blocks_the_call_and_it_cannot_be_allowed_later(project):
    set_up(project, WAIT)
    call = WaitingCall(project)
    code, text = answer(project, call.find_question(), typed="no")
    assert (code, "You denied this call." in text) == (0, True), text
    verdict = call.finish()
    assert verdict["decision"] == "block"
    assert verdict["reasons"][:2][0] == "sure?"
    assert verdict["reasons"][1].startswith("A person denied this call.")
    assert not (project.state / "questions").exists()
    assert read_records(project, "answered")[0]["result"] == "denied"


def test_an_answer_that_does_not_come_is_not_one_of_a_person(project):
    set_up(project, WAIT, "ask_timeout = 1000")
    verdict = WaitingCall(project).finish()
    assert verdict["decision"] == "block"
    assert "No person answered within 1 s. This is not consent." in verdict["reasons"][1]
    assert read_records(project, "answered")[0]["result"] == "unanswered"
    assert read_records(project, "dispatch")[0]["asked"]["result"] == "unanswered"
    assert list_ask_files(project) == []
