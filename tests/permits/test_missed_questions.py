"""Questions that no person answered: the log and the page show them."""

from __future__ import annotations

import json
import re

from boathook.page.needs import MISSED, list_needs
from tests.page.made_ledger import load_all
from tests.page.served import serve_context
from tests.permits.test_allow import allow
from tests.permits.waiting_calls import WaitingCall, answer, make_call, set_up


def test_a_call_without_an_answer_is_in_the_log_and_on_the_page_with_its_command(project):
    set_up(project, 'ask = "wait"', "ask_timeout = 1000")
    verdict = WaitingCall(project).finish()
    with serve_context(state=str(project.state)) as page:
        load_all(page.context.index)
        text = page.show("now").text
    assert f"boathook allow {verdict['id']}" in text
    assert "No person answered in time, so the call was denied" in text
    assert "Other questions of this session are denied at once until you allow one." in text
    rows = project.run("log", "--decision", "unanswered").stdout.splitlines()
    assert (len(rows), " unanswered " in rows[1]) == (2, True), rows
    asked = [line for line in project.run("log").stdout.splitlines() if " asked " in line]
    assert "rm -rf build" in asked[0], asked


def test_secrets_of_a_call_are_not_in_the_record_of_its_question(project):
    set_up(project, 'ask = "wait"', "ask_timeout = 1000")
    for command in ("export TOKEN=hunter2hunter2", f"export TOKEN=hunter2hunter2; {'x' * 9000}"):
        WaitingCall(project, event=make_call(project, command, session_id=str(len(command)))).finish()
    records = [json.loads(line) for line in project.run("log", "--json").stdout.splitlines()]
    asked = [record for record in records if record["type"] == "asked"]
    assert (len(asked), "hunter2" in json.dumps(asked)) == (2, False)
    assert len(json.dumps(asked[1]["input"])) < 5000


def list_missed(project):
    with serve_context(state=str(project.state)) as page:
        load_all(page.context.index)
        return [need for need in list_needs(page.context) if need.kind == MISSED]


def test_a_call_that_a_person_allowed_since_is_not_on_the_page_any_more(project):
    set_up(project, 'ask = "wait"', "ask_timeout = 1000")
    verdict = WaitingCall(project).finish()
    other = WaitingCall(project, event=make_call(project, "rm -rf dist", session_id="t")).finish()
    first, second = list_missed(project)
    assert re.search(r" This goes away by itself at \d\d:\d\d, or when you allow or answer this call\.$", first.text)
    assert allow(project, verdict)[0] == 0
    assert list_missed(project) == [second]
    assert second.command == f"boathook allow {other['id']}"


def test_a_call_that_came_again_and_was_answered_is_not_on_the_page_any_more(project):
    set_up(project, 'ask = "wait"', "ask_timeout = 1000")
    WaitingCall(project).finish()
    set_up(project, 'ask = "wait"')
    again = WaitingCall(project, event=make_call(project, session_id="t"))
    again.find_question()
    assert len(list_missed(project)) == 1
    assert answer(project, typed="no")[0] == 0
    assert again.finish()["decision"] == "block"
    assert list_missed(project) == []
