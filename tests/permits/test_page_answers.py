"""Answers on the page, with real processes: calls that wait, a page at a terminal, and a person who types its codes."""

from __future__ import annotations

import json
import signal
import time

import pytest

from boathook.permits.ask_listeners import has_ask_listener
from boathook.permits.totp import STEP_SECONDS, compute_code, write_secret
from tests.page.page_at_terminal import start_terminal_page
from tests.permits.waiting_calls import (
    ASK,
    WaitingCall,
    list_ask_files,
    make_call,
    read_records,
    set_up,
    wait_until,
)

WAIT = 'ask = "wait"'
SECRET = b"12345678901234567890"


@pytest.fixture
def page(project):
    set_up(project, WAIT)
    with start_terminal_page(project) as started:
        yield started


def begin(page, call, decision="allow-call"):
    ask_id = call.find_question()
    begun = page.begin(decision, ask_id, page.find_digest(ask_id))
    assert begun.get("is_open"), begun
    return begun


def test_a_code_from_the_terminal_of_the_page_lets_the_call_run(project, page):
    call = WaitingCall(project, event=make_call(project, "rm -rf build\n&& echo done"))
    begun = begin(page, call)
    assert (begun["way"], begun["wish"]) == ("shown", "Allow this call")
    assert ("rm -rf build" in begun["about"], ", session " in begun["about"]) == (True, True)
    # The terminal shows it a moment later; the code is its last line.
    assert page.read_code()
    shown = page.text[page.text.index("a call that hooks object to") :]
    assert "command: rm -rf build" in shown
    assert "| && echo done" in shown
    (asked,) = read_records(project, "asked")
    assert f"digest    {asked['digest']}" in shown
    assert page.finish(begun)["message"] == "You allowed this call."
    assert call.finish()["decision"] == "allow"
    assert read_records(project, "answered")[0]["via"] == "page"
    assert list_ask_files(project, ".json") == []
    assert page.read_code() not in json.dumps(read_records(project, "answered"))


def test_a_no_needs_the_code_too_and_blocks_the_call(project, page):
    call = WaitingCall(project)
    begun = begin(page, call, "deny-call")
    assert not page.finish(begun, "XXXXXX")["is_done"]
    assert page.finish(begun)["message"] == "You denied this call."
    assert call.finish()["decision"] == "block"
    assert read_records(project, "answered")[0]["result"] == "denied"


def test_a_wrong_code_answers_nothing_and_after_three_of_them_no_code_does(project, page):
    call = WaitingCall(project)
    begun = begin(page, call)
    code = page.read_code()
    messages = [page.finish(begun, typed)["message"] for typed in ("", "XXXXXX", code[:-1])]
    assert "the code is wrong" in messages[0]
    assert "wrong too often" in messages[2]
    assert not page.finish(begun, code)["is_done"]
    assert read_records(project, "answered") == []
    # It still waits, and can be answered by a new code.
    assert page.finish(begin(page, call))["is_done"]
    assert call.finish()["decision"] == "allow"


def test_a_code_counts_once_and_for_the_decision_that_was_begun_last(project, page):
    calls = [WaitingCall(project, event=make_call(project, f"rm {name}")) for name in ("one", "two")]
    first = begin(page, calls[0])
    code = page.read_code()
    second = begin(page, calls[1])
    wait_until(lambda: page.read_code() != code)
    assert not page.finish(first, code)["is_done"]
    assert not page.finish(first, page.read_code())["is_done"]
    assert not page.finish(second, code)["is_done"]
    assert page.finish(second)["is_done"]
    assert not page.finish(second)["is_done"]
    assert calls[1].finish()["decision"] == "allow"
    assert len(read_records(project, "answered")) == 1


def test_another_digest_than_the_one_that_was_shown_begins_nothing(project, page):
    ask_id = WaitingCall(project).find_question()
    for about, digest in ((ask_id, "0" * 64), (ask_id, ""), ("0" * 32, "0" * 64), ("../x", ""), ("", "")):
        answer = page.begin("allow-call", about, digest)
        assert (answer.get("is_open"), answer["is_done"]) == (None, False)
    assert "type this on the page" not in page.text


def test_with_an_authenticator_app_its_code_is_typed_and_the_terminal_shows_none(project):
    set_up(project, WAIT, "[hooks.approvals]", 'factor = "totp"')
    write_secret(str(project.state), SECRET, 0)
    project.write_hook("strict", ASK, fields={"ask": "strong"})
    with start_terminal_page(project) as page:
        call = WaitingCall(project)
        begun = begin(page, call)
        assert (begun["way"], "type this on the page" in page.text) == ("app", False)
        assert "a code has 6 digits" in page.finish(begun, "12")["message"]
        right = compute_code(SECRET, int(time.time()) // STEP_SECONDS)
        result = page.finish(begun, right)
        assert (result["is_done"], result["repeat"]) == (True, ""), result
        assert call.finish()["decision"] == "allow"
        other = WaitingCall(project, event=make_call(project, "rm other"))
        again = begin(page, other)
        assert "was used already" in page.finish(again, right)["message"]


def test_a_strong_hook_is_not_answered_on_the_page_without_a_second_factor(project, page):
    project.write_hook("strict", ASK, fields={"ask": "strong"})
    found = WaitingCall(project).finish()
    assert (found["decision"], "needs a second factor, and none is set" in found["end"]["stdout"]) == ("block", True)
    assert "type this on the page" not in page.text


def test_a_second_factor_that_is_set_while_a_call_waits_counts_on_the_page(project, page):
    call = WaitingCall(project)
    begun = begin(page, call)
    write_secret(str(project.state), SECRET, 0)
    set_up(project, WAIT, "[hooks.approvals]", 'factor = "totp"')
    assert "a second factor was set in the meantime" in page.finish(begun)["message"]
    begun = begin(page, call)
    assert begun["way"] == "app"
    assert page.finish(begun, compute_code(SECRET, int(time.time()) // STEP_SECONDS))["is_done"]
    assert call.finish()["decision"] == "allow"


def test_a_page_lets_hooks_wait_while_a_browser_shows_it_and_only_then(project):
    set_up(project)
    with start_terminal_page(project, is_opened=False) as page:
        wait_until(lambda: "wait for your answer while a browser shows this page (with ask = " in page.text)
        # Its server has looked for a reader by now.
        assert page.send("/").status == 200
        assert list_ask_files(project, ".listener") == []
        # The question of an agent that cannot ask is denied at once.
        assert WaitingCall(project).finish()["decision"] != "allow"
        assert read_records(project, "asked") == []
        page.open()
        with page.follow() as stream:
            assert len(wait_until(lambda: list_ask_files(project, ".listener"))) == 1
            assert stream.readline()
        # The window was closed.
        wait_until(lambda: not list_ask_files(project, ".listener"))
        page.show("now")
        wait_until(lambda: list_ask_files(project, ".listener"))
    # It was killed: what it left behind counts for nothing.
    assert not has_ask_listener(str(project.state))


STAGES = ("before the code", "after the code was shown", "after the answer")


@pytest.mark.parametrize("stage", STAGES)
def test_a_page_that_is_killed_approves_nothing_by_that(project, page, stage):
    call = WaitingCall(project)
    ask_id = call.find_question()
    page.find_digest(ask_id)
    if stage != STAGES[0]:
        begun = begin(page, call)
        if stage == STAGES[2]:
            assert page.finish(begun)["is_done"]
    page.process.send_signal(signal.SIGKILL)
    page.process.wait()
    if stage == STAGES[2]:
        assert call.finish()["decision"] == "allow"
    else:
        assert [path.stem for path in list_ask_files(project, ".json")] == [ask_id]
        assert read_records(project, "answered") == []
    # The next call asks anew.
    assert WaitingCall(project).find_question() != ask_id


def test_a_call_that_is_killed_while_the_page_shows_it_disappears_and_cannot_be_answered(project, page):
    call = WaitingCall(project)
    begun = begin(page, call)
    ask_id = call.find_question()
    call.kill("run")
    wait_until(lambda: ask_id not in page.show("now").html)
    assert "does not wait for an answer any more" in page.finish(begun)["message"]
    assert [record["result"] for record in read_records(project, "answered")] == ["killed"]


def test_a_page_below_an_agent_or_without_a_terminal_only_shows_the_command(project):
    from tests.page.served import serve_context

    set_up(project, WAIT)
    ask_id = WaitingCall(project).find_question()
    with serve_context(state=str(project.state)) as served:
        html = served.show("now").html
        assert (ask_id in html, "data-decision" in html) == (True, False)
        assert "You cannot decide this here" in html
        assert f"boathook asks {ask_id[:8]}" in html


# A call that is allowed again for a while


def allow_again(project, page):
    """Allow a call on the page, and let that hold for a while; return the answer of the page."""
    call = WaitingCall(project)
    result = page.finish(begin(page, call))
    assert call.finish()["decision"] == "allow"
    return page.post("/decide/repeat", id=result["repeat"]).fields


def test_a_call_is_allowed_again_without_a_question_and_each_use_is_recorded(project, page):
    answer = allow_again(project, page)
    assert (answer["is_done"], "allowed again until" in answer["message"]) == (True, True)
    for _ in range(2):
        verdict = WaitingCall(project).finish()
        assert (verdict["decision"], verdict["reasons"]) == (
            "allow",
            ["A person allowed this call to repeat, for a limited time."],
        )
    answered = read_records(project, "answered")
    assert [record["via"] for record in answered] == ["page", "repeat", "repeat"]
    assert len({record["question"] for record in answered}) == 1
    assert read_records(project, "dispatch")[-1]["asked"]["result"] == "allowed"
    (grant,) = read_records(project, "repeat")
    assert grant["digest"] == answered[0]["digest"]
    # Another call, and the same one to which another hook objects, are questions.
    WaitingCall(project, event=make_call(project, "rm -rf build2")).find_question()
    project.write_hook("other", ASK)
    WaitingCall(project).find_question()


def test_what_is_allowed_again_is_shown_with_its_end_and_ended_by_a_button_or_a_command(project, page):
    allow_again(project, page)
    listed = json.loads(project.run("asks", "--json").stdout)["repeats"]
    assert "rm -rf build" in listed[0]["text"]
    ask_id = listed[0]["id"]
    assert "Allowed again without a question:" in project.run("asks").stdout
    assert f'data-end="{ask_id}"' in page.show("now").html
    assert page.post("/decide/end", id=ask_id).fields["is_done"]
    assert not page.post("/decide/end", id=ask_id).fields["is_done"]
    assert "data-end" not in page.show("now").html
    call = WaitingCall(project)
    call.find_question()
    assert page.post("/decide/repeat", id=page.finish(begin(page, call))["repeat"]).fields["is_done"]
    ended = project.run("asks", json.loads(project.run("asks", "--json").stdout)["repeats"][0]["id"][:8], "--end")
    assert (ended.returncode, "is asked about again" in ended.stdout) == (0, True), ended
    assert project.run("asks", "0", "--end").returncode == 1
    WaitingCall(project).find_question()
    log = project.run("log").stdout
    assert "is not allowed again any more" in log


def test_it_is_offered_once_after_a_yes_only_and_never_for_a_strong_hook(project, page):
    call = WaitingCall(project)
    assert page.finish(begin(page, call, "deny-call"))["repeat"] == ""
    for repeat_id in ("", "x", "0" * 32):
        assert not page.post("/decide/repeat", id=repeat_id).fields["is_done"]
    result = page.finish(begin(page, WaitingCall(project)))
    assert page.post("/decide/repeat", id=result["repeat"]).fields["is_done"]
    assert not page.post("/decide/repeat", id=result["repeat"]).fields["is_done"]
    # The hook wants a second factor now: what was allowed before does not count.
    project.write_hook("careful", ASK, fields={"ask": "strong"})
    assert WaitingCall(project).finish()["decision"] == "block"
