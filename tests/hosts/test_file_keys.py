"""Hooks of settings.json read Claude Code's keys of a file tool, and the agent gets a change back under its own keys."""

from __future__ import annotations

import json
from typing import Any

import pytest

from boathook.core.event import Event
from boathook.core.outcome import NOTHING
from boathook.core.verdict import Call, Exit, Verdict
from boathook.dialects.claude import read_answer, write_event
from boathook.dialects.dialect import find_host_dialect
from boathook.hosts.host import HostEvent, list_host_names, load_host
from boathook.hosts.tool_calls import LIST_MARK, NO_KEY
from tests.core.builders import a_hook

FILE_TOOLS = ("ReadFile", "WriteFile", "EditFile", "DeleteFile")
# The keys that Claude Code itself has for the file of these tools.
CLAUDE_KEYS = {("claude", "NotebookEdit"): "notebook_path"}


def list_file_keys() -> list[tuple[str, str, str]]:
    """Return every host, file tool and key under which the host may send the path."""
    rows: list[tuple[str, str, str]] = []
    for host in map(load_host, list_host_names()):
        for tool, (ours, renames) in host.tools.items():
            places = [theirs for theirs, key in renames if key == "file_path"] or ["file_path"]
            keys = [place for place in places if place != NO_KEY and not place.endswith(LIST_MARK)]
            rows += [(host.name, tool, key) for key in keys if ours in FILE_TOOLS]
    return rows


def find_event(host: str, tool: str) -> HostEvent:
    rows = [row for row in load_host(host).events if row.kind_name == "pre-tool-call" and row.same_call_as is None]
    return next((row for row in rows if row.tool_name == tool), rows[0])


def read_call(host: str, tool: str, tool_input: dict[str, Any]) -> Event:
    row = find_event(host, tool)
    fields: dict[str, Any] = {"tool_name": tool, "tool_input": tool_input}
    for theirs, ours in row.renames:
        if theirs.count(".") == 0 and ours in fields:
            fields[theirs] = fields.pop(ours)
    if row.tool_name:
        del fields["tool_name"]
    if host == "cline":
        fields = {"tool_call": {"name": tool, "input": tool_input}}
    return find_host_dialect(host).read_event(json.dumps(fields).encode(), row.name)


@pytest.mark.parametrize(("host", "tool", "key"), list_file_keys())
def test_a_settings_hook_reads_claude_codes_key_of_a_path_from_any_host(host, tool, key):
    event = read_call(host, tool, {key: "/p/.env"})
    assert event.tool_input["file_path"] == "/p/.env"
    read = json.loads(write_event(event))["tool_input"]
    # A delete is an edit without texts there.
    texts = {"old_string": "", "new_string": ""} if event.tool_name == "DeleteFile" else {}
    assert read == {CLAUDE_KEYS.get((host, tool), "file_path"): "/p/.env"} | texts


@pytest.mark.parametrize(("host", "tool", "key"), list_file_keys())
def test_a_path_that_a_settings_hook_changed_goes_back_under_the_hosts_own_key(host, tool, key):
    event = read_call(host, tool, {key: "/p/.env", "other": 1})
    read = json.loads(write_event(event))["tool_input"]
    changed = {name: "/p/safe" if value == "/p/.env" else value for name, value in read.items()}
    answer = json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": changed}})
    outcome, notes = read_answer(Call(a_hook(), event), Exit(0, stdout=answer.encode()))
    assert (notes, outcome.input) == ((), {"file_path": "/p/safe", "other": 1})
    row, verdict = find_event(host, tool), Verdict(event.with_data(tool_input=outcome.input), event, NOTHING)
    written = find_host_dialect(host).write_answer(verdict)
    returned = json.dumps({key: "/p/safe", "other": 1})
    if row.input:
        assert returned in written.stdout.decode()


def test_a_key_of_ours_that_a_model_adds_does_not_hide_the_notebook():
    event = read_call("claude", "NotebookEdit", {"notebook_path": "/p/a.ipynb", "file_path": "/p/harmless"})
    assert event.tool_input["file_path"] == "/p/a.ipynb"
    read = json.loads(write_event(event))["tool_input"]
    assert read == {"notebook_path": "/p/a.ipynb", "file_path": "/p/harmless"}
