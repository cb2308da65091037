"""Events and the table of their kinds and spellings (S1, S2, S3)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.core.event import KINDS, SPELLINGS, Event, find_kind
from boathook.errors import UnknownEvent
from tests.core.builders import kinds

TABLE = {
    "pre-session": {"session_start", "session-start", "SessionStart"},
    "post-session": {"session_end", "session-end", "SessionEnd"},
    "pre-agent-turn": {"before_agent", "before-agent", "pre-agent", "UserPromptSubmit", "ExecutionStart"},
    "post-agent-turn": {"after_agent", "after-agent", "post-agent", "ExecutionEnd"},
    "pre-agent-turn-stop": {"before_stop", "Stop"},
    "post-agent-turn-stop": set(),
    "pre-tool-call": {"before_tool", "before-tool", "pre-tool-use", "PreToolUse"},
    "post-tool-call": {"after_tool", "after-tool", "post-tool-use", "PostToolUse"},
    "post-tool-call-failure": {"after_tool_failure", "PostToolUseFailure"},
    "pre-subagent": {"subagent_start", "SubagentStart"},
    "post-subagent": {"subagent_stop", "SubagentStop"},
    "pre-context-compact": {"pre_compact", "pre-compact", "PreCompact"},
    "post-context-compact": {"PostCompact"},
    "permission-request": {"PermissionRequest"},
    "notification": {"Notification"},
    "pre-step": {"BeforeStep"},
    "post-step": {"AfterStep"},
    "turn-failure": {"StopFailure", "AgentFailed"},
}
EXTENSIONS = {"permission-request", "notification", "pre-step", "post-step", "turn-failure"}
TOOL = ("tool_name", "tool_input", "tool_use_id")
SUBAGENT = ("subagent_name", "subagent_type", "task_description")
STOP = ("stop_reason", "step_count", "final_message", "stop_hook_active", "stop_block_count")
FIELDS = {
    "pre-session": ("model", "args", "source"),
    "post-session": ("duration_seconds", "total_steps", "exit_reason"),
    "pre-agent-turn": ("prompt",),
    "post-agent-turn": ("duration_seconds", "step_count", "final_message"),
    "pre-agent-turn-stop": STOP,
    "post-agent-turn-stop": STOP,
    "pre-tool-call": TOOL,
    "post-tool-call": (*TOOL, "tool_output", "duration_ms"),
    "post-tool-call-failure": (*TOOL, "error", "duration_ms"),
    "pre-subagent": SUBAGENT,
    "post-subagent": (*SUBAGENT, "result"),
    "pre-context-compact": ("trigger", "token_count"),
    "post-context-compact": ("trigger", "token_count", "token_count_after"),
    "permission-request": TOOL,
    "notification": ("message", "title"),
    "pre-step": ("step_count",),
    "post-step": ("step_count",),
    "turn-failure": ("error",),
}


def test_the_kinds_and_their_spellings_are_exactly_these():
    assert {kind.name: set(kind.spellings) for kind in KINDS} == TABLE


def test_every_spelling_leads_to_its_kind_and_no_spelling_to_two():
    expected = {spelling: name for name, others in TABLE.items() for spelling in (name, *others)}
    assert {spelling: kind.name for spelling, kind in SPELLINGS.items()} == expected
    assert len(SPELLINGS) == len(TABLE) + sum(map(len, TABLE.values()))


def test_every_kind_is_there_once():
    assert len({kind.name for kind in KINDS}) == len(KINDS) == 18
    assert [kind.name for kind in KINDS] == list(TABLE)


def test_thirteen_kinds_are_canonical_and_five_are_extensions():
    assert {kind.name for kind in KINDS if kind.extension} == EXTENSIONS
    assert [kind.extension for kind in KINDS] == [False] * 13 + [True] * 5


def test_every_kind_has_its_own_fields():
    assert {kind.name: kind.fields for kind in KINDS} == FIELDS


def test_what_may_be_rewritten_and_where_matchers_apply():
    tools = {"pre-tool-call", "post-tool-call", "post-tool-call-failure", "permission-request"}
    assert {kind.name for kind in KINDS if kind.has_tool} == tools
    assert {kind.name for kind in KINDS if kind.rewrites_input} == {"pre-tool-call", "permission-request"}
    assert {kind.name for kind in KINDS if kind.rewrites_output} == {"post-tool-call"}


def test_the_events_that_come_before_what_they_are_about():
    assert {kind.name for kind in KINDS if kind.is_pre} == {
        "pre-session",
        "pre-agent-turn",
        "pre-agent-turn-stop",
        "pre-tool-call",
        "pre-subagent",
        "pre-context-compact",
        "permission-request",
        "pre-step",
    }


@given(st.sampled_from(sorted(SPELLINGS)), st.sampled_from([str.upper, str.lower, str.title, str.swapcase]))
def test_nothing_is_derived_by_changing_case_or_separators(spelling, change):
    for changed in (change(spelling), spelling.replace("-", "_"), spelling.replace("_", "-"), f" {spelling}"):
        if changed not in SPELLINGS:
            with pytest.raises(UnknownEvent):
                find_kind(changed)
        else:
            assert find_kind(changed) is SPELLINGS[changed]


NEAREST = {
    "pre-tool-cal": "pre-tool-call",
    "pretooluse": "PreToolUse",
    "PRE-TOOL-CALL": "pre-tool-call",
    "sesion_start": "session_start",
    "permision-request": "permission-request",
    "zzzzzz": None,
    "": None,
}


@pytest.mark.parametrize(("name", "nearest"), NEAREST.items())
def test_an_unknown_name_suggests_the_nearest_known_one(name, nearest):
    with pytest.raises(UnknownEvent) as error:
        find_kind(name)
    hint = f" (did you mean '{nearest}'?)" if nearest else ""
    assert (str(error.value), error.value.name, error.value.nearest) == (f"unknown event '{name}'{hint}", name, nearest)


@given(st.text())
def test_any_name_is_known_or_refused(name):
    if name in SPELLINGS:
        assert find_kind(name) is SPELLINGS[name]
    else:
        with pytest.raises(UnknownEvent):
            find_kind(name)


@given(kinds, kinds)
def test_kinds_are_compared_by_identity(one, other):
    assert (one == other) == (one is other) == (one.name == other.name)
    assert {one: 1}.get(other) == (1 if one is other else None)


def test_a_kind_shows_its_name():
    assert repr(find_kind("Stop")) == "<EventKind pre-agent-turn-stop>"


def test_an_event_is_made_from_any_spelling_and_keeps_unknown_fields():
    event = Event.of("PreToolUse", event_type="ignored", session_id="s", tool_name="Shell", more=[1])
    assert event == Event(find_kind("pre-tool-call"), session_id="s", data={"tool_name": "Shell", "more": [1]})
    assert event.to_fields("before_tool") == {
        "event_type": "before_tool",
        "timestamp": "",
        "session_id": "s",
        "work_dir": "",
        "context": {},
        "tool_name": "Shell",
        "more": [1],
    }
    assert list(event.to_fields()) == [
        "event_type",
        "timestamp",
        "session_id",
        "work_dir",
        "context",
        "tool_name",
        "more",
    ]
    assert event.to_fields()["event_type"] == "pre-tool-call"


def test_a_tool_that_was_not_named_is_empty_and_an_input_that_was_not_given_an_empty_object():
    assert (Event.of("Stop").tool_name, Event.of("Stop").tool_input) == ("", {})
    odd = Event.of("PreToolUse", tool_name=7, tool_input=None)
    assert (odd.tool_name, odd.tool_input) == ("", {})
    assert Event.of("PreToolUse", tool_input=[]).tool_input == []


def test_changing_data_returns_another_event():
    event = Event.of("PreToolUse", tool_name="Shell", tool_input={"a": 1})
    assert event.with_data(tool_input={}).data == {"tool_name": "Shell", "tool_input": {}}
    assert event.data == {"tool_name": "Shell", "tool_input": {"a": 1}}
