"""Hooks in the files of agents: every payload of every agent is written as the agent of the hook would send it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.core.event import HOST_EVENT, KINDS, SPELLINGS, UNMAPPED, Event
from boathook.core.outcome import Decision
from boathook.core.verdict import AnswerError, Call, Exit
from boathook.dialects.agent_host import AgentHost
from boathook.dialects.dialect import HOOK_DIALECTS, find_hook_dialect
from boathook.errors import BoathookError
from boathook.hosts.host import EVENT_NAME, SERVER_IS_UNKNOWN, HostEvent, load_host
from tests.core.builders import a_hook

FIXTURES = Path(__file__).parent.parent / "fixtures"
FORMS = [name for name, row in HOOK_DIALECTS.items() if row.host]
# The folder of payloads and the agent that sent them.
SENDERS = {"claude-code": "claude", "copilot-pascalcase": "copilot"}
PAYLOADS = sorted([*(FIXTURES / "claude-code").glob("*.json"), *(FIXTURES / "hosts").glob("*/*.json")])
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=20)


def read_payload(path: Path) -> Event:
    host = SENDERS.get(path.parent.name, path.parent.name)
    return AgentHost(host).read_event(path.read_bytes(), path.name.split(".")[0])


def can_have(form: str, event: Event) -> bool:
    return event.kind.name not in HOOK_DIALECTS[form].missing_events


def write(form: str, event: Event, trigger: str = "") -> dict:
    return json.loads(find_hook_dialect(form).write_event(event, trigger))


def read_back(form: str, event: Event) -> Event:
    dialect = find_hook_dialect(form)
    # Some agents do not send the name of the event.
    name = find_event(form, event).name
    return AgentHost(dialect.host).read_event(dialect.write_event(event, ""), name)


def find_event(form: str, event: Event) -> HostEvent:
    host = load_host(find_hook_dialect(form).host)
    return next(one for one in host.events if event.kind.name in one.kind_names)


def list_event_names(form: str, event: Event, fields: dict) -> set[str]:
    host, row = load_host(find_hook_dialect(form).host), find_event(form, event)
    keys = row.own.keys or host.own.keys or ((host.event_keys[0], EVENT_NAME),)
    return {fields[key] for key, what in keys if what == EVENT_NAME}


@pytest.mark.parametrize("form", FORMS)
def test_a_payload_of_any_agent_becomes_one_of_the_agent_of_the_hook(form):
    for path in PAYLOADS:
        check_written_payload(form, path)


def check_written_payload(form: str, path: Path) -> None:
    event = read_payload(path)
    if event.kind is UNMAPPED or not can_have(form, event):
        return
    fields, host = write(form, event), load_host(find_hook_dialect(form).host)
    again = read_back(form, event)
    assert list_event_names(form, event, fields) <= {one.name for one in host.events}
    assert not [key for key in fields if key.startswith("host_tool") or key == HOST_EVENT]
    # Some agents say in a file whether a tool failed.
    row = next(one for one in host.events if event.kind.name in one.kind_names)
    assert again.kind.name == (row.kind_name if row.failure_at.startswith("@") else event.kind.name)
    assert (again.session_id, again.work_dir) == (event.session_id, event.work_dir)
    if again.tool_name != "PatchFile" or event.tool_name == "PatchFile":
        # Some agents have only the name of a server's tool, not the name of the server.
        name = event.tool_name.rpartition("__")[2] if host.server_tool == SERVER_IS_UNKNOWN else event.tool_name
        assert again.tool_name == name or event.tool_name == "DeleteFile"
        assert has_same_input(form, event, again) or event.tool_name == "DeleteFile"


def has_same_input(form: str, event: Event, again: Event) -> bool:
    # The model of Kimi Code called a tool that it does not have.
    if "path" in event.tool_input and event.tool_name == "ReadFile":
        return event.tool_input["path"] in again.tool_input.values()
    inside = {
        place.partition(".")[0] for one in load_host(HOOK_DIALECTS[form].host).own.inputs.values() for place, _ in one
    }
    if not inside & again.tool_input.keys():
        # The text of several edits is written in one key as well.
        added = {"new_string"} - event.tool_input.keys() if "edits" in event.tool_input else set()
        return {key: value for key, value in again.tool_input.items() if key not in added} == event.tool_input
    left = {key: value for key, value in again.tool_input.items() if key not in inside}
    return left.items() <= event.tool_input.items()


@pytest.mark.parametrize("form", FORMS)
def test_a_refusal_of_any_payload_stays_a_refusal(form):
    for path in PAYLOADS:
        check_refusal(form, path)


def check_refusal(form: str, path: Path) -> None:
    event = read_payload(path)
    if event.kind is UNMAPPED or not can_have(form, event):
        return
    dialect = find_hook_dialect(form)
    outcome, _ = dialect.read_answer(Call(a_hook().replace(dialect=dialect), event), Exit(2, stderr=b"no"))
    host = load_host(dialect.host)
    row = next(one for one in host.events if event.kind.name in one.kind_names)
    assert (outcome.decision == Decision.BLOCK) == (bool(row.block) and not row.own.ignores_exit_2)
    # What goes on in its own agent although it was refused is only the end of a turn.
    assert row.continues_agent or not row.own.ignores_exit_2
    assert "no" in " ".join((*outcome.reasons, *outcome.messages))


@pytest.mark.parametrize("form", FORMS)
def test_the_row_of_a_form_lists_every_event_that_its_agent_lacks(form):
    host = load_host(HOOK_DIALECTS[form].host)
    known = {name for one in host.events for name in one.kind_names}
    assert set(HOOK_DIALECTS[form].missing_events) == {kind.name for kind in KINDS} - known


@pytest.mark.parametrize("form", FORMS)
@given(
    session=TEXT,
    folder=TEXT,
    command=TEXT,
    more=st.dictionaries(st.sampled_from(["cwd", "description"]), TEXT),
)
def test_what_is_written_is_read_back_as_it_was(form, session, folder, command, more):
    data = {"tool_name": "Shell", "tool_input": {"command": command, **more}, "tool_use_id": "t"}
    event = Event(SPELLINGS["pre-tool-call"], "2026-01-01T00:00:00Z", session, folder, {}, data)
    again = read_back(form, event)
    assert (again.kind, again.session_id, again.work_dir) == (event.kind, session, folder)
    assert (again.tool_name, again.tool_input) == ("Shell", data["tool_input"])
    assert again.data["tool_use_id"] == "t"


@pytest.mark.parametrize("form", FORMS)
@given(path=TEXT, old=TEXT, new=TEXT, content=TEXT)
def test_the_files_that_a_call_writes_are_found_in_what_is_written(form, path, old, new, content):
    edit = {"file_path": f"/p/{path}", "old_string": old, "new_string": new}
    for tool, given_input in (("EditFile", edit), ("WriteFile", {"file_path": f"/p/{path}", "content": content})):
        event = Event(SPELLINGS["pre-tool-call"], "", "s", "/p", {}, {"tool_name": tool, "tool_input": given_input})
        again = read_back(form, event)
        if again.tool_name == "PatchFile":
            assert f"/p/{path}" in again.tool_input["patch"]
        else:
            assert again.tool_name == tool
            assert has_same_input(form, event, again)


@pytest.mark.parametrize("form", FORMS)
@given(
    answer=st.dictionaries(
        st.sampled_from(["decision", "reason", "continue", "hookSpecificOutput"]),
        st.text() | st.booleans() | st.dictionaries(TEXT, TEXT),
    ),
    code=st.sampled_from([0, 1, 2, 3, 127]),
)
def test_no_answer_approves_a_call_by_accident(form, answer, code):
    dialect = find_hook_dialect(form)
    event = Event(
        SPELLINGS["pre-tool-call"], "", "s", "/p", {}, {"tool_name": "Shell", "tool_input": {"command": "ls"}}
    )
    call = Call(a_hook().replace(dialect=dialect), event)
    try:
        outcome, _ = dialect.read_answer(call, Exit(code, stdout=json.dumps(answer).encode()))
    except AnswerError:
        return
    assert outcome.decision != Decision.ALLOW
    assert code != 2 or outcome.decision >= Decision.BLOCK


@pytest.mark.parametrize("form", ["gemini", "qwen"])
def test_an_answer_that_has_nothing_against_a_call_is_not_reported(form):
    dialect = find_hook_dialect(form)
    event = Event(
        SPELLINGS["pre-tool-call"], "", "s", "/p", {}, {"tool_name": "Shell", "tool_input": {"command": "ls"}}
    )
    outcome, notes = dialect.read_answer(
        Call(a_hook().replace(dialect=dialect), event), Exit(0, b'{"decision": "allow"}')
    )
    assert (outcome.decision, notes) == (Decision.NONE, ())


def test_the_first_names_of_messages_in_answers_for_cursor_count():
    dialect = find_hook_dialect("cursor")
    event = Event(
        SPELLINGS["pre-tool-call"], "", "s", "/p", {}, {"tool_name": "Shell", "tool_input": {"command": "ls"}}
    )
    call = Call(a_hook().replace(dialect=dialect), event)
    answer = {"permission": "deny", "agentMessage": "Use gh.", "userMessage": "Refused."}
    outcome, notes = dialect.read_answer(call, Exit(0, json.dumps(answer).encode()))
    assert (outcome.decision, outcome.reasons, outcome.messages, notes) == (
        Decision.BLOCK,
        ("Use gh.",),
        ("Refused.",),
        (),
    )


def test_a_tool_of_another_agent_has_the_name_and_the_keys_of_this_one():
    data = {"tool_name": "Edit", "tool_input": {"file_path": "/a", "old_string": "x", "new_string": "y"}}
    payload = json.dumps({"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/p", **data}).encode()
    fields = write("codex", AgentHost("claude").read_event(payload))
    assert fields["tool_name"] == "apply_patch"
    assert fields["tool_input"] == {"command": "*** Begin Patch\n*** Update File: /a\n@@\n-x\n+y\n*** End Patch"}


def test_a_dialect_of_an_unknown_agent_is_an_error():
    with pytest.raises(BoathookError, match="hooks cannot use the dialect 'nobody'"):
        find_hook_dialect("nobody")
