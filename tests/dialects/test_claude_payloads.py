"""Claude Code's payloads as captured from a real one are golden: each reads, and is written back as it was."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from boathook.core.event import SPELLINGS, UNMAPPED, Event
from boathook.core.outcome import Decision, Outcome
from boathook.core.verdict import Verdict
from boathook.dialects import claude
from boathook.dialects.dialect import find_host_dialect
from boathook.errors import BeyondLimits, DialectError
from boathook.hosts.claude import UNMAPPED_CLAUDE_EVENTS
from boathook.hosts.claude_events import CLAUDE_EVENTS_BY_NAME
from tests.scratch_project import ScratchProject

HOST = find_host_dialect("claude")
CAPTURED = sorted((Path(__file__).parent.parent / "fixtures/claude-code").glob("*.json"))


@pytest.mark.parametrize("path", CAPTURED, ids=lambda path: path.stem)
def test_every_captured_payload_reads_and_is_written_for_hooks_with_all_that_was_in_it(path):
    payload = json.loads(path.read_text())
    event = HOST.read_event(path.read_bytes())
    if event.kind is not UNMAPPED:
        written = claude.write_event(event)
        assert {**json.loads(written), **payload} == json.loads(written)
        assert HOST.read_event(json.dumps(payload).encode()) == event


@pytest.mark.parametrize("path", CAPTURED, ids=lambda path: path.stem)
def test_a_captured_event_is_of_the_kind_its_name_spells(path):
    event = HOST.read_event(path.read_bytes())
    name = json.loads(path.read_text())["hook_event_name"]
    assert event.kind is (UNMAPPED if name in UNMAPPED_CLAUDE_EVENTS else SPELLINGS[name])


def test_there_are_captured_payloads_of_most_events():
    assert len(CAPTURED) >= 25


def test_fields_have_the_names_of_the_standard():
    stop = HOST.read_event(
        b'{"hook_event_name": "Stop", "cwd": "/p", "session_id": "s", "last_assistant_message": "done"}'
    )
    assert (stop.work_dir, stop.data) == (
        "/p",
        {"final_message": {"role": "assistant", "content": "done"}, "host_event_name": "Stop"},
    )
    end = HOST.read_event(b'{"hook_event_name": "SessionEnd", "reason": "clear"}')
    assert end.data == {"exit_reason": "clear", "host_event_name": "SessionEnd"}
    after = HOST.read_event(
        b'{"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_response": {"stdout": "x"}}'
    )
    assert after.data == {
        "tool_name": "Shell",
        "host_tool_name": "Bash",
        "tool_output": {"stdout": "x"},
        "host_event_name": "PostToolUse",
    }


@pytest.mark.parametrize(
    ("data", "name", "error"),
    [
        (b"", None, DialectError),
        (b"[]", None, DialectError),
        (b"{}", None, DialectError),
        (b'{"hook_event_name": "Nonsense"}', None, DialectError),
        (b'{"hook_event_name": "Stop"}', "PreToolUse", DialectError),
        (b'{"hook_event_name": "Stop", "cwd": 5}', None, DialectError),
        (b'{"hook_event_name": "PreToolUse", "x": ' + b"[" * 300 + b"]" * 300 + b"}", None, BeyondLimits),
    ],
)
def test_data_that_is_not_an_event_is_refused(data, name, error):
    with pytest.raises(error):
        HOST.read_event(data, name)


def answer(name: str, outcome: Outcome, **changes: object) -> object:
    event = Event.of(name, tool_name="Bash", tool_input={"command": "ls"})
    end = HOST.write_answer(Verdict(event.with_data(**changes) if changes else event, event, outcome))
    assert (end.code, end.stderr) == (0, b"")
    return json.loads(end.stdout) if end.stdout else None


def make_outcome(decision: Decision, text: str, **effects: object) -> Outcome:
    return Outcome(decision, ((decision, text),), **effects)


def nested(name: str, **fields: object) -> dict[str, object]:
    return {"hookSpecificOutput": {"hookEventName": name, **fields}}


BLOCK, ASK, ALLOW, STOP = Decision.BLOCK, Decision.ASK, Decision.ALLOW, Decision.STOP
ANSWERS = {
    "no opinion": ("PreToolUse", Outcome(), {}, None),
    "deny": (
        "PreToolUse",
        make_outcome(BLOCK, "no"),
        {},
        nested("PreToolUse", permissionDecision="deny", permissionDecisionReason="no"),
    ),
    "ask": (
        "PreToolUse",
        make_outcome(ASK, "sure?"),
        {},
        nested("PreToolUse", permissionDecision="ask", permissionDecisionReason="sure?"),
    ),
    "allow": ("PreToolUse", Outcome(ALLOW), {}, nested("PreToolUse", permissionDecision="allow")),
    "a rewrite without opinion": (
        "PreToolUse",
        Outcome(),
        {"tool_input": {"command": "pwd"}},
        nested("PreToolUse", updatedInput={"command": "pwd"}),
    ),
    "stop": ("SessionStart", make_outcome(STOP, "enough"), {}, {"continue": False, "stopReason": "enough"}),
    "context": (
        "UserPromptSubmit",
        Outcome(contexts=("a", "b")),
        {},
        nested("UserPromptSubmit", additionalContext="a\nb"),
    ),
    "a message": ("Notification", Outcome(messages=("hi",)), {}, {"systemMessage": "hi"}),
    "a refused prompt": ("UserPromptSubmit", make_outcome(BLOCK, "no"), {}, {"decision": "block", "reason": "no"}),
    "a refused stop": ("Stop", make_outcome(BLOCK, "test first"), {}, {"decision": "block", "reason": "test first"}),
    "feedback after a tool": ("PostToolUse", make_outcome(BLOCK, "ugly"), {}, {"decision": "block", "reason": "ugly"}),
    "a replaced output": ("PostToolUse", Outcome(output="short"), {}, nested("PostToolUse", updatedToolOutput="short")),
    "feedback after a failure": (
        "PostToolUseFailure",
        make_outcome(BLOCK, "try again"),
        {},
        nested("PostToolUseFailure", additionalContext="try again"),
    ),
    "a denied permission": (
        "PermissionRequest",
        make_outcome(BLOCK, "no"),
        {},
        nested("PermissionRequest", decision={"behavior": "deny", "message": "no"}),
    ),
    "a granted permission": (
        "PermissionRequest",
        Outcome(ALLOW),
        {},
        nested("PermissionRequest", decision={"behavior": "allow"}),
    ),
    "a granted permission with another input": (
        "PermissionRequest",
        Outcome(ALLOW),
        {"tool_input": {"command": "pwd"}},
        nested("PermissionRequest", decision={"behavior": "allow", "updatedInput": {"command": "pwd"}}),
    ),
    "another input for a permission that no hook granted": (
        "PermissionRequest",
        Outcome(),
        {"tool_input": {"command": "pwd"}},
        {"systemMessage": "a hook changed the input, which Claude Code cannot take at PermissionRequest"},
    ),
    "another input and a question about a permission": (
        "PermissionRequest",
        make_outcome(ASK, "sure?"),
        {"tool_input": {"command": "pwd"}},
        {"systemMessage": "a hook changed the input, which Claude Code cannot take at PermissionRequest"},
    ),
    "another input for a permission that is denied": (
        "PermissionRequest",
        make_outcome(BLOCK, "no"),
        {"tool_input": {"command": "pwd"}},
        nested("PermissionRequest", decision={"behavior": "deny", "message": "no"}),
    ),
    "an approval that the event cannot express": ("UserPromptSubmit", make_outcome(ALLOW, "fine"), {}, None),
    "feedback and context after a failure": (
        "PostToolUseFailure",
        make_outcome(BLOCK, "try again", contexts=("c",)),
        {},
        nested("PostToolUseFailure", additionalContext="try again\nc"),
    ),
    "a session that cannot be refused": (
        "SessionStart",
        make_outcome(BLOCK, "no"),
        {},
        {"systemMessage": "a hook wanted to block, which Claude Code cannot at SessionStart: no"},
    ),
    "context where there is no place for it": (
        "PreCompact",
        Outcome(contexts=("x",)),
        {},
        {"systemMessage": "a hook has context for the model, which Claude Code cannot take at PreCompact: x"},
    ),
}


@pytest.mark.parametrize("title", ANSWERS)
def test_a_verdict_is_written_in_the_format_of_claude_code(title):
    name, outcome, changes, expected = ANSWERS[title]
    assert answer(name, outcome, **changes) == expected


REFUSING = {"UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "Stop", "SubagentStop", "PreCompact"}
every_event = pytest.mark.parametrize("name", CLAUDE_EVENTS_BY_NAME)


@every_event
@pytest.mark.parametrize("rewritten", [False, True])
def test_claude_code_gets_an_allow_only_if_a_hook_allowed(name, rewritten):
    for decision in (Decision.NONE, ALLOW, ASK, BLOCK, STOP):
        reported = answer(name, Outcome(decision), **({"tool_input": {"command": "pwd"}} if rewritten else {})) or {}
        inside = reported.get("hookSpecificOutput", {})
        allows = "allow" in (inside.get("permissionDecision"), inside.get("decision", {}).get("behavior"))
        assert allows == (decision == ALLOW and name in ("PreToolUse", "PermissionRequest"))


@every_event
def test_claude_code_gets_a_block_where_it_can_and_the_person_gets_it_elsewhere(name):
    reported = answer(name, make_outcome(BLOCK, "no"))
    inside = reported.get("hookSpecificOutput", {})
    words = (reported.get("decision"), inside.get("permissionDecision"), inside.get("decision", {}).get("behavior"))
    assert any(word in ("block", "deny") for word in words) == (name in REFUSING)
    assert "no" in json.dumps(reported)


@every_event
def test_claude_code_gets_a_stop_at_every_event_and_what_is_about_to_happen_does_not(name):
    refused = {
        "PreToolUse": nested(name, permissionDecision="deny", permissionDecisionReason="enough"),
        "PermissionRequest": nested(name, decision={"behavior": "deny", "message": "enough", "interrupt": True}),
        "UserPromptSubmit": {"decision": "block", "reason": "enough"},
        "PreCompact": {"decision": "block", "reason": "enough"},
    }
    assert answer(name, make_outcome(STOP, "enough")) == {
        "continue": False,
        "stopReason": "enough",
        **refused.get(name, {}),
    }


def run(project: ScratchProject, event: dict[str, object], *args: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], **project.variables}
    argv = project.make_argv("run", "--trust-all", "--host", "claude", *args)
    return subprocess.run(
        argv, input=json.dumps(event), capture_output=True, text=True, env=env, timeout=60, cwd=project.base
    )


@pytest.fixture
def project(project: ScratchProject) -> ScratchProject:
    fields = {"trigger": "PreToolUse", "matcher": "{tool: Bash, pattern: forbidden}"}
    project.write_hook("guard", "echo no >&2\nexit 2", scope="project", fields=fields)
    return project


def test_a_hook_denies_through_the_command_line(project):
    event = {
        "hook_event_name": "PreToolUse",
        "cwd": str(project.path),
        "tool_name": "Bash",
        "tool_input": {"command": "forbidden"},
    }
    done = run(project, event)
    expected = nested("PreToolUse", permissionDecision="deny", permissionDecisionReason="no")
    assert (done.returncode, json.loads(done.stdout), done.stderr) == (0, expected, "")


def test_what_matches_nothing_answers_nothing(project):
    event = {
        "hook_event_name": "PreToolUse",
        "cwd": str(project.path),
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
    }
    done = run(project, event, "--event", "PreToolUse")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_event_without_counterpart_answers_nothing(project):
    done = run(project, {"hook_event_name": "CwdChanged", "cwd": str(project.base), "new_cwd": "/x"})
    message = "boathook: Claude Code's event 'CwdChanged' has no counterpart here: no hook was asked\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, "", message)


def test_a_failing_hook_is_reported_where_the_person_sees_it(project):
    (project.hooks_folder("project") / "guard/scripts/run.sh").write_text("#!/bin/sh\nexit 3\n")
    event = {
        "hook_event_name": "PreToolUse",
        "cwd": str(project.path),
        "tool_name": "Bash",
        "tool_input": {"command": "forbidden"},
    }
    assert json.loads(run(project, event).stdout) == {"systemMessage": "hook 'guard' failed: exit code 3"}
