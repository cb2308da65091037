"""Questions that no person answered: the log and the page show them."""

from __future__ import annotations

import json

from tests.page.served import serve_context
from tests.permits.waiting_calls import WaitingCall, make_call, set_up


def test_a_call_without_an_answer_is_in_the_log_and_on_the_page_with_its_command(project):
    set_up(project, 'ask = "wait"', "ask_timeout = 1000")
    verdict = WaitingCall(project).finish()
    with serve_context(state=str(project.state)) as page:
        page.context.index.load_all()
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
