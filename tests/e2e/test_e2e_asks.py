"""What counts as evidence in the runs in which hooks ask a person about calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from boathook.core.verdict import WITHDRAWN
from boathook.hosts.host import load_host
from e2e.ask_judge import KILLED_CODE, find_call_complaints, judge_questions
from e2e.asked_calls import ASK_SESSIONS, ASKS, BACKGROUND_CALLS, DEFAULT, WAITING, AskedCall, AskSession, list_sessions
from e2e.hosts import AGENTS, Place
from e2e.install import Cache
from e2e.matrix import ASK_COLUMNS, matrix_page, tables
from e2e.people import BY_CAREFUL, LAST_WORD, make_deeds
from e2e.server import Request
from e2e.stage import HERE, Observation

CALLS = {call.name: call for call in WAITING.calls}


def make_records(call: AskedCall) -> list[dict[str, Any]]:
    """Return what the ledger has about a call that went as it must."""
    dispatch: dict[str, Any] = {
        "type": "dispatch",
        "event": "pre-tool-call",
        "input": {"command": call.step.command},
        "hooks": [{"hook": call.hook}],
    }
    if not call.result:
        return [dispatch]
    asked = {"question": f"id-{call.name}", "result": call.result}
    answer = {"type": "answered", **asked, "refused": [f"{text} (X)" for text in call.refused]}
    return [{**dispatch, "asked": asked}, answer]


def observe(session: AskSession, **changes: Any) -> Observation:
    """A run in which all is well, but for the changes."""
    reasons = ["", *(call.reason for call in session.calls)]
    steps = [call.name for call in session.calls]
    is_killed = session is not DEFAULT
    requests = [
        Request(0.0, "/v1/messages", step, is_own=True, body=reason)
        for step, reason in zip([*steps, "stop"], reasons, strict=True)
    ][: len(steps) if is_killed else None]
    files = {call.name: 0.0 for call in session.calls if call.runs}
    ledger = [record for call in session.calls for record in make_records(call)]
    fields = {"requests": requests, "files": files, "ledger": ledger, "code": KILLED_CODE if is_killed else 0}
    return Observation("claude", ASKS, **{**fields, **changes})


def judge(**changed_runs: Observation) -> dict[str, str]:
    runs = {name: observe(session) for name, session in ASK_SESSIONS.items()} | changed_runs
    return {column: one.state for column, one in judge_questions(runs, load_host("claude")).items()}


def test_questions_that_were_answered_as_they_must_be_are_seen():
    assert judge() == dict.fromkeys(ASK_COLUMNS, "seen")


def test_an_agent_that_asks_no_person_is_not_expected_to():
    (codex,) = (who for who in AGENTS if who.name == "codex")
    runs = {name: observe(ASK_SESSIONS[name]) for name in list_sessions(codex)}
    states = {column: one.state for column, one in judge_questions(runs, load_host("codex")).items()}
    assert states == {**dict.fromkeys(ASK_COLUMNS, "seen"), "dialog": "not possible"}


WELL = observe(WAITING)


def drop_record(name: str, kind: str) -> list[dict[str, Any]]:
    dropped = [one for one in make_records(CALLS[name]) if one["type"] == kind]
    return [one for one in WELL.ledger if one not in dropped]


WRONG = [
    ("asked-yes", {"files": {}}, "it did not run"),
    ("asked-no", {"files": {"asked-no": 0.0}}, "it ran"),
    ("asked-killed", {"files": {"asked-killed": 0.0}}, "it ran"),
    ("asked-no", {"requests": WELL.requests[:2]}, "'A person denied this call' is not in the next request"),
    ("asked-silence", {"requests": WELL.requests[:5]}, "'This is not consent' is not in the next request"),
    ("asked-yes", {"requests": []}, "it was never tried"),
    ("asked-yes", {"ledger": []}, "the records of the call have the results []"),
    ("asked-yes", {"ledger": [*make_records(CALLS["asked-yes"]) * 2]}, "have the results ['allowed', 'allowed']"),
    ("asked-no", {"ledger": drop_record("asked-no", "answered")}, "the records of answers are []"),
    ("asked-killed", {"ledger": drop_record("asked-killed", "answered")}, "the records of answers are []"),
]


@pytest.mark.parametrize(("name", "changes", "complaint"), WRONG, ids=[f"{row[0]}: {row[2]}" for row in WRONG])
def test_a_call_in_which_something_is_wrong_is_complained_of(name, changes, complaint):
    assert complaint in "; ".join(find_call_complaints(CALLS[name], observe(WAITING, **changes)))


def test_an_answer_of_the_agent_that_is_not_refused_on_record_is_complained_of():
    ledger = [{**one, "refused": []} if "refused" in one else one for one in WELL.ledger]
    found = list(find_call_complaints(CALLS["asked-own"], observe(WAITING, ledger=ledger)))
    assert found == [f"no answer was refused because {text}" for text in CALLS["asked-own"].refused]


def test_a_question_of_another_hook_is_complained_of():
    ledger = [{**one, "hooks": [{"hook": "other"}]} if "hooks" in one else one for one in WELL.ledger]
    found = list(find_call_complaints(CALLS["own-asks"], observe(WAITING, ledger=ledger)))
    assert found == ["self-protection did not ask about it"]


def test_a_killed_hook_process_leaves_no_record_of_the_call():
    ledger = drop_record("asked-killed", "dispatch")
    assert list(find_call_complaints(CALLS["asked-killed"], observe(WAITING, ledger=ledger))) == []


@pytest.mark.parametrize("changes", [{"code": 0}, {"error": "no call waits for an answer"}])
def test_a_run_from_which_nothing_can_be_concluded_fails_all_its_columns(changes):
    states = judge(**{ASKS: observe(WAITING, **changes)})
    assert {column for column, state in states.items() if state == "FAILED"} == {one.column for one in WAITING.calls}


def test_everything_that_happens_beside_a_call_is_known(tmp_path):
    place = Place(Cache(tmp_path, {}), tmp_path, tmp_path, 0)
    deeds = make_deeds(place, {}, ())
    named = {name for one in ASK_SESSIONS.values() for call in one.calls for name in (call.before, call.meanwhile)}
    assert named - {""} == set(deeds)


def test_every_call_is_a_command_whose_end_no_list_shows():
    for session in ASK_SESSIONS.values():
        assert len({call.name for call in session.calls}) == len(session.calls)
        assert all(call.step.command.endswith(LAST_WORD) and len(call.step.command) > 300 for call in session.calls)


def test_the_agent_starts_its_own_answer_before_the_call_that_it_answers():
    for host in BACKGROUND_CALLS:
        names = [step.name for step in WAITING.list_steps(host)]
        assert names[names.index("own") + 1] == "asked-own"
    assert set(BACKGROUND_CALLS) <= {who.name for who in AGENTS}


def test_the_reason_of_the_hook_that_asks_is_the_one_that_is_looked_for():
    (script,) = Path(HERE / "ask_hooks").glob("*/scripts/*")
    assert BY_CAREFUL in script.read_text()


def test_questions_are_a_table_of_their_own():
    assert {call.column for session in ASK_SESSIONS.values() for call in session.calls} == set(ASK_COLUMNS)
    results = {name: {"state": "seen", "note": ""} for name in ASK_COLUMNS}
    row = {"host": "codex", "title": "T", "variant": ASKS, "version": "1", "seconds": 1.0, "results": results}
    page = matrix_page({"rows": [row]})
    assert f"| T | 1 {'| seen ' * len(ASK_COLUMNS)}|" in page
    assert "Also:" not in page
    assert [one.splitlines()[-1].split()[0] for one in tables([row])] == ["codex"]


def test_a_withdrawn_question_is_the_only_one_without_a_call():
    assert [call.name for call in WAITING.calls if call.result == WITHDRAWN] == ["asked-killed"]
