"""Answers that do not count are on record with the question: why a process may not answer, once for each reason."""

from __future__ import annotations

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
    assert (record["result"], record["refused"]) == ("denied", ["it runs below an agent (CLAUDECODE)"])
    shown = " ".join(project.run("log", "--all").stdout.split())
    assert "An answer of a process was refused: it runs below an agent (CLAUDECODE)" in shown


def test_a_question_without_refused_answers_has_none_on_record(project):
    set_up(project, WAIT)
    call = WaitingCall(project)
    assert answer(project, call.find_question())[0] == 0
    assert call.finish()["decision"] == "allow"
    (record,) = read_records(project, "answered")
    assert "refused" not in record
