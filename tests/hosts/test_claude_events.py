"""The table of Claude Code's events: every row fits the events of this engine, and no row promises what another takes back."""

from __future__ import annotations

import pytest

from boathook.core.event import KINDS, SPELLINGS
from boathook.hosts.claude import UNMAPPED_CLAUDE_EVENTS
from boathook.hosts.claude_events import CLAUDE_EVENTS, CLAUDE_EVENTS_BY_KIND, CLAUDE_EVENTS_BY_NAME, HookEvent

rows = pytest.mark.parametrize("row", CLAUDE_EVENTS, ids=lambda row: row.name)

KIND_NAMES = {
    "SessionStart": "pre-session",
    "UserPromptSubmit": "pre-agent-turn",
    "PreToolUse": "pre-tool-call",
    "PermissionRequest": "permission-request",
    "PostToolUse": "post-tool-call",
    "PostToolUseFailure": "post-tool-call-failure",
    "Stop": "pre-agent-turn-stop",
    "SubagentStart": "pre-subagent",
    "SubagentStop": "post-subagent",
    "PreCompact": "pre-context-compact",
    "PostCompact": "post-context-compact",
    "SessionEnd": "post-session",
    "StopFailure": "turn-failure",
    "Notification": "notification",
}


def test_the_table_has_these_events():
    assert {row.name: row.kind_name for row in CLAUDE_EVENTS} == KIND_NAMES
    assert {row.name: row for row in CLAUDE_EVENTS} == CLAUDE_EVENTS_BY_NAME
    assert {row.kind_name: row for row in CLAUDE_EVENTS} == CLAUDE_EVENTS_BY_KIND


@rows
def test_a_row_is_the_kind_that_its_name_spells(row):
    assert row.kind is SPELLINGS[row.name]
    assert row.kind.name == row.kind_name


@rows
def test_a_matcher_asks_for_the_tool_where_there_is_one_and_never_by_a_name_that_is_not_ours(row):
    assert (row.subject == "tool_name") is row.kind.has_tool
    assert row.subject not in {theirs for theirs, _ in row.renames}


@rows
def test_a_field_is_renamed_one_way_and_filled_in_under_their_name(row):
    theirs, ours = {one for one, _ in row.renames}, {other for _, other in row.renames}
    filled = [name for name, _ in row.filled]
    assert len(theirs) == len(ours) == len(row.renames)
    assert theirs <= set(filled)
    assert not (ours | {"session_id", "cwd", "hook_event_name"}) & (theirs | set(filled))
    assert len(set(filled)) == len(filled)


@rows
def test_what_a_matcher_asks_for_is_filled_in(row):
    names = {ours: theirs for theirs, ours in row.renames}
    assert not row.subject or names.get(row.subject, row.subject) in dict(row.filled)


@rows
def test_a_model_is_asked_only_where_its_refusal_counts_and_plain_text_counts_only_where_context_does(row):
    assert row.refuses or not row.prompts
    assert row.context or not row.plain


def test_an_event_is_either_in_the_table_or_elsewhere():
    assert not set(UNMAPPED_CLAUDE_EVENTS) & {spelling for kind in KINDS for spelling in (kind.name, *kind.spellings)}
    assert len(set(UNMAPPED_CLAUDE_EVENTS)) == len(UNMAPPED_CLAUDE_EVENTS)


def test_a_bare_row_can_do_nothing():
    assert HookEvent("X", "pre-step") == HookEvent("X", "pre-step", "", False, False, False, False, False, (), ())
