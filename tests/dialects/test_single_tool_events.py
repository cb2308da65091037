"""Events of one tool: Cursor's hooks for shells, servers, reads and edits, with the calls of every agent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from boathook.core.event import SPELLINGS, Event
from boathook.core.outcome import Decision
from boathook.core.verdict import Call, Exit
from boathook.dialects.agent_host import AgentHost
from boathook.dialects.dialect import find_hook_dialect
from boathook.hosts.claude_events import HookEvent
from boathook.sources.agent_forms.hook_form import CURSOR_FORM
from boathook.sources.settings_json.settings_entry import FileContext, read_entry
from tests.core.builders import a_hook
from tests.dialects.test_agent_hook import PAYLOADS, read_payload

EVENTS = [row for row in CURSOR_FORM.events.values() if row.tools]


def make_hook(name: str):
    row = CURSOR_FORM.events[name]
    return read_entry(
        FileContext("/p/hooks.json", "user", "cursor", form=CURSOR_FORM), row, "x", None, {"command": "x"}
    )


@pytest.mark.parametrize("row", EVENTS, ids=lambda row: row.name)
def test_a_call_of_any_agent_is_written_as_cursor_sends_it(row):
    for path in PAYLOADS:
        check_written_call(row, path)


def check_written_call(row: HookEvent, path: Path) -> None:
    event, hook = read_payload(path), make_hook(row.name)
    if event.kind is not row.kind or hook.matcher.explain_mismatch(event):
        return
    for call in hook.matcher.select_calls(event):
        payload = hook.dialect.write_event(call, hook.trigger)
        fields = json.loads(payload)
        again = AgentHost("cursor").read_event(payload)
        assert (again.kind, again.session_id) == (call.kind, call.session_id)
        assert (fields["hook_event_name"], fields["workspace_roots"]) == (row.name, [call.work_dir])
        is_server = row.tools == ("mcp__.*",)
        assert ("tool_name" in fields) == is_server
        assert again.tool_name in (call.tool_name, "EditFile")
        if not is_server:
            key = "command" if row.matches_input else "file_path"
            assert fields[key] == call.tool_input[key]


@pytest.mark.parametrize("row", [row for row in EVENTS if row.kind_name == "pre-tool-call"], ids=lambda row: row.name)
@pytest.mark.parametrize(
    ("word", "decision"), [("deny", Decision.BLOCK), ("ask", Decision.ASK), ("allow", Decision.ALLOW)]
)
def test_a_permission_decides_about_the_call(row, word, decision):
    dialect = find_hook_dialect("cursor")
    event = Event(SPELLINGS["pre-tool-call"], "", "s", "/p", {}, {"tool_name": "Shell", "tool_input": {"command": "x"}})
    hook = a_hook().replace(dialect=dialect, trigger=row.name)
    outcome, _ = dialect.read_answer(Call(hook, event), Exit(0, json.dumps({"permission": word}).encode()))
    assert outcome.decision == decision


def test_texts_of_several_edits_stay_a_list():
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}]
    data = {"tool_name": "EditFile", "tool_input": {"file_path": "/a", "edits": edits}}
    event = Event(SPELLINGS["post-tool-call"], "", "s", "/p", {}, data)
    assert json.loads(find_hook_dialect("cursor").write_event(event, "afterFileEdit"))["edits"] == edits


def test_a_time_that_cannot_be_read_is_zero():
    event = Event(SPELLINGS["pre-session"], "yesterday", "s", "/p", {}, {})
    assert json.loads(find_hook_dialect("copilot").write_event(event, "sessionStart"))["timestamp"] == 0
