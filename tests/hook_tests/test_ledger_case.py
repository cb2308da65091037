from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.core.event import find_kind
from boathook.core.hook import USER, Hook, Script
from boathook.dialects.dialect import find_hook_dialect
from boathook.errors import ConfigError
from boathook.hook_tests.case_event import make_case_event
from boathook.hook_tests.case_file import parse_cases
from boathook.hook_tests.ledger_case import format_call, format_event, format_recorded_case

SIGNS = st.text(st.sampled_from(["a", " ", "\n", "\t", "#", '"', ":", "@", "{", "\\", "\r", "é", "T"]), max_size=12)
VALUES = st.one_of(SIGNS, st.text(max_size=8), st.integers(), st.none(), st.lists(SIGNS, max_size=2))
INPUTS = st.dictionaries(st.one_of(st.sampled_from(["command", "content"]), SIGNS), VALUES, max_size=3)
ABOUT = st.sampled_from(["", "Bash:", "@permission-request", "@PreToolUse mcp__a__b:"])


def make_hook(event: str = "pre-tool-call") -> Hook:
    return Hook("guard", find_kind(event), event, USER, Script("/x"), "/x/HOOK.md", find_hook_dialect("native"))


@given(ABOUT, INPUTS)
def test_any_input_is_read_again_as_it_was_written(about, tool_input):
    text = format_call("pass", about, tool_input, "command")
    read = parse_cases(f"{text}block after\n")
    assert read.diagnostics == ()
    [case, after] = read.cases
    # The main field of another tool than the shell is called otherwise.
    tool = case.replace(tool="") if case.tool.startswith("mcp__") else case
    assert make_case_event(tool, make_hook(), "/x").tool_input == tool_input
    assert after.value == "after"


@given(st.dictionaries(st.sampled_from(["prompt", "other"]), SIGNS, max_size=2))
def test_any_event_is_read_again_as_it_was_written(fields):
    hook = make_hook("pre-agent-turn")
    [case] = parse_cases(format_event("pass", "", fields, "prompt")).cases
    data = make_case_event(case, hook, "/x").data
    assert {name: data[name] for name in fields} == fields


def make_record(**fields: Any) -> dict[str, Any]:
    common = {"id": "0197c3a1b2c3d4", "time": "2026-01-01T00:00:00Z", "decision": "block", "hooks": []}
    return {**common, "event": "pre-tool-call", "tool": "Shell", "input": {"command": "ls"}, **fields}


FORMATTED = {
    "plain": (make_record(), "block  ls\n"),
    "other tool": (
        make_record(tool="WriteFile", input={"file_path": "a", "content": "x"}),
        "block  WriteFile: a\n       with content x\n",
    ),
    "other event": (make_record(event="permission-request"), "block  @permission-request ls\n"),
    "whole": (make_record(input=None, whole={"tool_input": {"command": "id"}}), "block  id\n"),
    "prompt": (
        make_record(event="pre-agent-turn", tool=None, input=None, whole={"prompt": "hi", "work_dir": "/x"}),
        "block  @pre-agent-turn hi\n",
    ),
}


@pytest.mark.parametrize(("record", "text"), FORMATTED.values(), ids=FORMATTED)
def test_a_record_becomes_lines(record, text):
    assert format_recorded_case(record, "block", make_hook()) == text


REFUSED = {
    "was redacted": make_record(input={"command": "curl [redacted 40 characters, sha256 abc]"}),
    "does not hold the whole event": make_record(input='{"command": "ls… [cut, 9,000 characters]'),
    "does not hold the whole event: set record": make_record(event="pre-agent-turn", tool=None, input=None),
    "a tool that no case can name": make_record(tool="a b"),
}


@pytest.mark.parametrize(("message", "record"), REFUSED.items(), ids=REFUSED)
def test_a_record_that_cannot_be_repeated_is_refused(message, record):
    with pytest.raises(ConfigError, match=message):
        format_recorded_case(record, "block", make_hook())
