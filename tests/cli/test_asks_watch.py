"""`boathook asks --watch` stays until a person ends it."""

from __future__ import annotations

from boathook.cli.asks import describe_outcome
from boathook.ledger.record import make_answered_record
from boathook.ledger.writer import Ledger, make_record_id, make_timestamp
from e2e.terminal import run_at_terminal
from tests.permits.waiting_calls import (
    ASKS_PROMPT,
    WaitingCall,
    list_ask_files,
    make_call,
    make_person_environment,
    make_question,
    set_up,
)


def test_ctrl_c_ends_the_watch_quietly_and_nothing_listens_any_more(project):
    argv, env = project.make_argv("asks", "--watch"), make_person_environment(project)
    code, text = run_at_terminal(argv, ["\x03"], cwd=project.path, env=env, prompt=r"Ctrl-C ends this\.\n$")
    assert (code, "Aborted" in text) == (0, False), text
    assert list_ask_files(project) == []


def test_after_a_wrong_text_the_question_is_shown_again_with_how_many_wait(project):
    set_up(project, 'ask = "wait"')
    first = WaitingCall(project)
    first.find_question()
    second = WaitingCall(project, event=make_call(project, "rm other"))
    second.find_question()
    argv, env = project.make_argv("asks", "--watch"), make_person_environment(project)
    code, text = run_at_terminal(
        argv, ["oops", "no", "{digits}", "\x03"], cwd=project.path, env=env,
        prompt=rf"{ASKS_PROMPT}|You allowed this call\.\n$",
    )  # fmt: skip
    assert code == 0, text
    assert (text.count("Calls that wait after this one: 1"), text.count("\a")) == (2, 1), text
    assert [call.finish()["decision"] for call in (first, second)] == ["block", "allow"]


OUTCOMES = {
    "allowed": "Answered elsewhere: the call was allowed.",
    "denied": "Answered elsewhere: the call was denied.",
    "unanswered": "You did not answer in time, so the call was denied.",
    "withdrawn": "The agent stopped waiting for your answer.",
}


def test_a_question_that_ended_elsewhere_is_shown_with_what_became_of_it(tmp_path):
    for result in OUTCOMES:
        question = make_question(result)
        record = make_answered_record(
            question, 1.0, (), id=make_record_id(), time=make_timestamp(), result=result, via="page"
        )
        Ledger(str(tmp_path)).append(record)
    assert {result: describe_outcome(str(tmp_path), result) for result in OUTCOMES} == OUTCOMES
