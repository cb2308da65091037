"""The records of a question and of its answer say which call they are about."""

from __future__ import annotations

import re

from tests.page.served import serve_context
from tests.permits.test_allow import NO, allow, send
from tests.permits.waiting_calls import WaitingCall, answer, make_call, read_records, set_up

COMMAND = "curl -H 'Authorization: Bearer ghp_abcdefghijklmnopqrstuvwxyz0123456789' x; rm -rf build"


def test_the_log_and_the_page_show_the_call_of_an_answer(project):
    set_up(project, 'ask = "wait"')
    call = WaitingCall(project, event=make_call(project, COMMAND))
    question = call.find_question()
    assert answer(project, question[:8])[0] == 0
    assert call.finish()["decision"] == "allow"
    for kind in ("asked", "answered"):
        (record,) = read_records(project, kind)
        assert (record["asking"], record["tool"]) == (["careful"], "Shell")
        assert "rm -rf build" in record["input"]["command"]
        assert "ghp_" not in str(record)
    (line,) = [line for line in project.run("log", "--decision", "allowed").stdout.splitlines() if "a person" in line]
    assert "rm -rf build" in line
    assert re.search(r"allowed +careful ", line)
    assert line.endswith(f"a person allowed the call that was asked about ({question[:12]})")
    assert "rm -rf build" in project.run("why", read_records(project, "answered")[0]["id"]).stdout
    assert question[:12] in project.run("log", "--hook", "careful").stdout
    [passed] = [record for record in read_records(project, "dispatch") if record["decision"] == "allow"]
    assert "decision: allow (a person allowed this call), after" in project.run("why", passed["id"]).stdout
    with serve_context() as page:
        html = page.show("live").html
        shown = page.show("record", id=passed["id"]).text
        assert "A person allowed this call. What careful said against it does not count." in shown
    rows = [dict(re.findall(r'class="cell (\w+)">([^<]*)<', row)) for row in html.split("<li")[1:]]
    # The dispatch, the answer, the question.
    assert len(rows) == 3
    assert all("rm -rf build" in row["input"] for row in rows)
    assert rows[1]["hooks"] == rows[2]["hooks"] == "careful"
    assert re.fullmatch(
        r"boathook waits for a person until \d\d-\d\d \d\d:\d\d:\d\d: boathook asks \w{12}", rows[2]["reason"]
    )


def test_the_log_shows_the_call_that_a_person_allowed_once(project):
    project.write_hook("guard", NO)
    allow(project, send(project))
    (line,) = [line for line in project.run("log").stdout.splitlines() if "a person allowed the call of" in line]
    assert re.search(r"allow +guard ", line)
    (record,) = read_records(project, "allow")
    assert record["input"]["command"] in line
