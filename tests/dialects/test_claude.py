"""The protocol of hooks in settings.json: what they read at every event, and what their answers come to (S24, S25)."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from boathook.core.event import HOST_EVENT, HOST_KEYS, HOST_TOOL, SPELLINGS, UNMAPPED, Event
from boathook.core.hook import Command, HookHandler, Http, Prompt, Script
from boathook.core.json_text import MAX_DEPTH
from boathook.core.outcome import ABSENT, Decision, Outcome
from boathook.core.verdict import FAILED, UNREADABLE, AnswerError, Call, Exit, Verdict
from boathook.dialects.claude import (
    ANSWER_TYPES,
    JUDGEMENT_TYPES,
    NESTED_TYPES,
    PERMISSION_TYPES,
    read_answer,
    write_event,
)
from boathook.dialects.dialect import find_host_dialect
from boathook.hosts.claude_events import CLAUDE_EVENTS_BY_NAME
from tests.core.builders import a_settings_hook, json_objects, json_values
from tests.tables import try_each

HOST = find_host_dialect("claude")
CAPTURED = sorted((Path(__file__).parent.parent / "fixtures/claude-code").glob("*.json"))
MAPPED = [path for path in CAPTURED if HOST.read_event(path.read_bytes()).kind is not UNMAPPED]
NONE, ALLOW, ASK, BLOCK, STOP = map(Decision, range(5))
NAMES = tuple(CLAUDE_EVENTS_BY_NAME)
DEFAULT = "blocked by hook 'guard'"


def make_outcome(decision: Decision, reason: str = "", **effects: Any) -> Outcome:
    return Outcome(decision, ((decision, reason),) if reason else (), **effects)


def a_call(name: str = "PreToolUse", handler: HookHandler | None = None) -> Call:
    event = Event.of(name, session_id="s", work_dir="/w", tool_name="Bash", tool_input={"command": "ls"})
    return Call(a_settings_hook("guard", handler, kind=event.kind, trigger=name), event)


def answer_to(call: Call, end: Exit) -> tuple[Any, Any]:
    try:
        return read_answer(call, end)
    except AnswerError as error:
        return error.status, error.message


def prints(answer: Any, code: int = 0, stderr: bytes = b"") -> Exit:
    return Exit(code, json.dumps(answer).encode(), stderr)


def nested(**fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": fields}


def junk(detail: str) -> tuple[str, str]:
    return UNREADABLE, f"the answer is not valid: {detail}"


# What hooks read


def written(event: Event) -> dict[str, Any]:
    return json.loads(write_event(event))


SILENT = {
    "SessionStart": {"source": "startup"},
    "UserPromptSubmit": {"prompt": ""},
    "PreToolUse": {"tool_name": "", "tool_input": {}, "tool_use_id": ""},
    "PermissionRequest": {"tool_name": "", "tool_input": {}},
    "PostToolUse": {"tool_name": "", "tool_input": {}, "tool_use_id": "", "tool_response": None},
    "PostToolUseFailure": {"tool_name": "", "tool_input": {}, "tool_use_id": "", "error": ""},
    "Stop": {"stop_hook_active": False, "last_assistant_message": ""},
    "SubagentStart": {"agent_id": "", "agent_type": ""},
    "SubagentStop": {"stop_hook_active": False, "agent_id": "", "agent_type": "", "last_assistant_message": ""},
    "PreCompact": {"trigger": "auto", "custom_instructions": ""},
    "PostCompact": {"trigger": "auto", "compact_summary": ""},
    "SessionEnd": {"reason": "other"},
    "StopFailure": {"error": ""},
    "Notification": {"message": "", "notification_type": ""},
}
COMMON = {"session_id": "s", "cwd": "/w", "transcript_path": "", "permission_mode": "default"}


@pytest.mark.parametrize("name", NAMES)
def test_what_a_silent_host_leaves_out_is_filled_in(name):
    event = Event(SPELLINGS[name], "t", "s", "/w")
    assert written(event) == {**COMMON, "hook_event_name": name, **SILENT[name]}


@pytest.mark.parametrize("name", NAMES)
def test_what_a_host_sends_is_not_filled_over(name):
    names = dict(CLAUDE_EVENTS_BY_NAME[name].renames)
    sent = {key: ["sent", None] for key in ("transcript_path", "permission_mode", *SILENT[name])}
    event = Event(SPELLINGS[name], "t", "s", "/w", {}, {names.get(key, key): value for key, value in sent.items()})
    assert written(event) == {"session_id": "s", "cwd": "/w", "hook_event_name": name, **sent}
    silent = event.replace(data=dict.fromkeys(event.data))
    assert written(silent) == {"session_id": "s", "cwd": "/w", "hook_event_name": name, **dict.fromkeys(sent)}


RENAMED = {
    "an output": ("PostToolUse", {"tool_output": {"stdout": "x"}}, {"tool_response": {"stdout": "x"}}),
    "a last message": (
        "Stop",
        {"final_message": {"role": "assistant", "content": "done"}},
        {"last_assistant_message": "done"},
    ),
    "a last message of parts": (
        "Stop",
        {"final_message": {"role": "assistant", "content": [{"type": "text"}]}},
        {"last_assistant_message": {"role": "assistant", "content": [{"type": "text"}]}},
    ),
    "no last message": ("Stop", {"final_message": None}, {"last_assistant_message": None}),
    "a subagent that starts": ("SubagentStart", {"subagent_type": "explore"}, {"agent_type": "explore"}),
    "a subagent that stops": (
        "SubagentStop",
        {"subagent_type": "explore", "result": "found"},
        {"agent_type": "explore", "last_assistant_message": "found"},
    ),
    "the end of a session": ("SessionEnd", {"exit_reason": "clear"}, {"reason": "clear"}),
}


@pytest.mark.parametrize(("name", "ours", "theirs"), RENAMED.values(), ids=RENAMED)
def test_fields_have_their_names_on_their_side_and_ours_on_ours(name, ours, theirs):
    event = Event(SPELLINGS[name], "", "s", "/w", {}, ours)
    assert written(event) == {**COMMON, "hook_event_name": name, **SILENT[name], **theirs}
    sent = {"hook_event_name": name, "session_id": "s", "cwd": "/w", **theirs}
    assert HOST.read_event(json.dumps(sent).encode()) == event.with_data(host_event_name=name)


def test_every_renamed_field_is_in_the_table_above():
    shown = {(name, key) for name, ours, _ in RENAMED.values() for key in ours}
    assert shown == {(name, ours) for name, row in CLAUDE_EVENTS_BY_NAME.items() for _, ours in row.renames}


@given(st.sampled_from(NAMES), json_objects)
def test_fields_that_the_engine_does_not_know_are_kept(name, fields):
    row = CLAUDE_EVENTS_BY_NAME[name]
    taken = {"session_id", "cwd", "hook_event_name", HOST_EVENT, HOST_KEYS, HOST_TOOL}
    taken |= {one for pair in row.renames for one in pair}
    unknown = {key: value for key, value in fields.items() if key not in taken}
    line = write_event(Event(row.kind, "t", "s", "/w", {}, unknown))
    found = json.loads(line)
    assert {key: found[key] for key in unknown} == unknown
    assert (line.count(b"\n"), line[-1:]) == (1, b"\n")


@pytest.mark.parametrize("path", MAPPED, ids=lambda path: path.stem)
def test_a_hook_reads_every_field_of_a_captured_payload_as_it_was(path):
    payload = json.loads(path.read_bytes())
    found = written(HOST.read_event(path.read_bytes()))
    assert {key: found[key] for key in payload} == payload
    assert (
        found.keys() - payload.keys()
        <= {"transcript_path", "permission_mode"} | SILENT.get(payload["hook_event_name"], {}).keys()
    )


def test_a_host_cannot_hide_the_event_behind_fields_of_its_own():
    event = Event.of("pre-tool-call", session_id="s", work_dir="/w", hook_event_name="BeforeTool", cwd="/x")
    assert written(event) == {**COMMON, "hook_event_name": "PreToolUse", **SILENT["PreToolUse"]}


def test_the_context_of_an_event_is_given_if_there_is_one():
    event = Event.of("StopFailure", session_id="s", work_dir="/w", context={"a": 1})
    common = {**COMMON, "hook_event_name": "StopFailure", "error": ""}
    assert written(event) == {**common, "context": {"a": 1}}
    assert written(event.replace(context={})) == common


def test_an_event_without_counterpart_keeps_its_name():
    event = Event(UNMAPPED, "", "s", "/w", {}, {"hook_event_name": "CwdChanged", "old_cwd": "/v"})
    assert written(event) == {**COMMON, "hook_event_name": "CwdChanged", "old_cwd": "/v"}


# Answers at every event

REFUSED = {
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "SubagentStop",
    "PreCompact",
}
INFORMED = {
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "SubagentStart",
    "SubagentStop",
}
LISTENING = {"SessionStart", "UserPromptSubmit"}
REWRITTEN = {"PreToolUse", "PermissionRequest"}


def idle(what: str, name: str) -> str:
    return f"{what} has no effect on {name}"


def make_message(name: str, text: str, *before: str) -> Outcome:
    return Outcome(messages=(*before, f"{text} ({name} cannot be blocked)"))


EVERYWHERE = {
    "exit 2 with stderr": (
        Exit(2, stderr=b"no\n"),
        lambda n: (make_outcome(BLOCK, "no") if n in REFUSED else make_message(n, "no"), ()),
    ),
    "exit 2, silent": (
        Exit(2),
        lambda n: (
            make_outcome(BLOCK, DEFAULT) if n in REFUSED else make_message(n, "hook 'guard' ended with exit 2"),
            (),
        ),
    ),
    "exit 2 with JSON": (
        prints({"decision": "block", "reason": "json"}, 2, b"no"),
        lambda n: (
            (make_outcome(BLOCK, "no"), ()) if n in REFUSED else (make_message(n, "no", "json"), (idle("a block", n),))
        ),
    ),
    "a block": (
        prints({"decision": "block", "reason": "no"}),
        lambda n: (
            (make_outcome(BLOCK, "no"), ()) if n in REFUSED else (Outcome(messages=("no",)), (idle("a block", n),))
        ),
    ),
    "a block without reason": (
        prints({"decision": "block"}),
        lambda n: (make_outcome(BLOCK, DEFAULT), ()) if n in REFUSED else (Outcome(), (idle("a block", n),)),
    ),
    "a deny": (
        prints(nested(permissionDecision="deny", permissionDecisionReason="no")),
        lambda n: (
            (make_outcome(BLOCK, "no"), ()) if n == "PreToolUse" else (Outcome(), (idle("'permissionDecision'", n),))
        ),
    ),
    "a denied permission": (
        prints(nested(decision={"behavior": "deny", "message": "no"})),
        lambda n: (
            (make_outcome(BLOCK, "no"), ())
            if n == "PermissionRequest"
            else (Outcome(), (idle("'hookSpecificOutput.decision'", n),))
        ),
    ),
    "an approval": (
        prints({"decision": "approve", "reason": "fine"}),
        lambda n: (make_outcome(ALLOW, "fine"), ()) if n in REWRITTEN else (Outcome(), (idle("'approve'", n),)),
    ),
    "context": (
        prints(nested(additionalContext=" know \u001b[1mthis ")),
        lambda n: (
            (make_outcome(BLOCK, "know this"), ())
            if n in ("Stop", "SubagentStop")
            else (Outcome(contexts=("know this",)), ())
            if n in INFORMED
            else (Outcome(), (idle("'additionalContext'", n),))
        ),
    ),
    "an input": (
        prints(nested(updatedInput={"command": "ls -l"})),
        lambda n: (
            (Outcome(input={"command": "ls -l"}), ()) if n in REWRITTEN else (Outcome(), (idle("'updatedInput'", n),))
        ),
    ),
    "an output": (
        prints(nested(updatedToolOutput=False)),
        lambda n: (Outcome(output=False), ()) if n == "PostToolUse" else (Outcome(), (idle("'updatedToolOutput'", n),)),
    ),
    "plain text": (
        Exit(0, b" hello\n\x1b[1mthere\x1b[0m\n"),
        lambda n: (Outcome(contexts=("hello\nthere",)) if n in LISTENING else Outcome(logs=("hello\nthere",)), ()),
    ),
    "a stop": (
        prints({"continue": False, "stopReason": "enough"}),
        lambda n: (make_outcome(STOP, "enough"), ()),
    ),
    "a message": (prints({"systemMessage": "look"}), lambda n: (Outcome(messages=("look",)), ())),
    "another event": (
        prints(nested(hookEventName="Setup")),
        lambda n: (Outcome(), (f"'hookEventName' says 'Setup', but the event is {n}",)),
    ),
    "silence": (Exit(0, b" \n", b"noise"), lambda n: (Outcome(), ())),
    "an empty object": (prints({}), lambda n: (Outcome(), ())),
    "a failure": (Exit(3, b"hello", b"oops"), lambda n: (FAILED, "exit code 3: oops")),
}


@try_each("title name", product(EVERYWHERE, NAMES))
def test_an_answer_means_at_every_event_what_that_event_can_do(title, name):
    end, expected = EVERYWHERE[title]
    assert answer_to(a_call(name), end) == expected(name)


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_that_names_its_own_event_leaves_no_note(name):
    assert answer_to(a_call(name), prints(nested(hookEventName=name))) == (Outcome(), ())


def test_an_event_that_is_not_in_the_table_can_be_refused():
    call = Call(a_settings_hook("guard"), Event.of("post-agent-turn"))
    assert answer_to(call, Exit(2, stderr=b"no")) == (make_outcome(BLOCK, "no"), ())
    assert answer_to(call, prints(nested(additionalContext="x"))) == (Outcome(contexts=("x",)), ())


def test_a_folder_that_speaks_this_dialect_is_read_the_same_way():
    call = a_call(handler=Script("/h/guard"))
    assert answer_to(call, prints(nested(permissionDecision="deny"))) == (make_outcome(BLOCK, DEFAULT), ())


# Answers before a tool call

DENY = '{"hookSpecificOutput": {"permissionDecision": "deny"}}'
BURIED = "text before the JSON object at"
UNKNOWN = "unknown keys: '{}'"
MISPLACED = "'{}' has no effect there: write it inside 'hookSpecificOutput'"
CALLS = {
    "allow": (nested(permissionDecision="allow"), make_outcome(ALLOW)),
    "allow with a reason": (
        nested(permissionDecision="allow", permissionDecisionReason="ok"),
        make_outcome(ALLOW, "ok"),
    ),
    "deny": (nested(permissionDecision="deny", permissionDecisionReason="no\u0007"), make_outcome(BLOCK, "no")),
    "deny without reason": (nested(permissionDecision="deny"), make_outcome(BLOCK, DEFAULT)),
    "deny with an empty reason": (
        nested(permissionDecision="deny", permissionDecisionReason=" "),
        make_outcome(BLOCK, DEFAULT),
    ),
    "deny with a reason of old": ({"reason": "old", **nested(permissionDecision="deny")}, make_outcome(BLOCK, "old")),
    "ask": (nested(permissionDecision="ask", permissionDecisionReason="sure?"), make_outcome(ASK, "sure?")),
    "defer": (
        nested(permissionDecision="defer"),
        make_outcome(ASK),
        "'defer' is read as 'ask', because a call cannot be deferred here",
    ),
    "block": ({"decision": "block", "reason": "no"}, make_outcome(BLOCK, "no")),
    "approve": ({"decision": "approve"}, make_outcome(ALLOW)),
    "a block of old beside an allow": (
        {"decision": "block", "reason": "no", **nested(permissionDecision="allow", permissionDecisionReason="ok")},
        make_outcome(BLOCK, "no"),
    ),
    "a block of old beside a question": (
        {"decision": "block", **nested(permissionDecision="ask")},
        make_outcome(BLOCK, DEFAULT),
    ),
    "a deny beside an approval of old": (
        {"decision": "approve", "reason": "ok", **nested(permissionDecision="deny", permissionDecisionReason="no")},
        make_outcome(BLOCK, "no"),
    ),
    "a question beside an approval of old": (
        {"decision": "approve", **nested(permissionDecision="ask", permissionDecisionReason="sure?")},
        make_outcome(ASK, "sure?"),
    ),
    "a deny beside a block of old": (
        {"decision": "block", "reason": "old", **nested(permissionDecision="deny", permissionDecisionReason="new")},
        make_outcome(BLOCK, "new"),
    ),
    "a reason alone": ({"reason": "because"}, make_outcome(NONE)),
    "an empty input": (nested(updatedInput={}), make_outcome(NONE, input={})),
    "an input with an allow": (
        nested(permissionDecision="allow", updatedInput={"a": 1}, additionalContext="c"),
        make_outcome(ALLOW, input={"a": 1}, contexts=("c",)),
    ),
    "go on": ({"continue": True, "stopReason": "unused", "suppressOutput": True}, make_outcome(NONE)),
    "stop without reason": ({"continue": False}, make_outcome(STOP)),
    "stop with another's reason": ({"continue": False, "reason": "r"}, make_outcome(STOP, "r")),
    "stop and deny": (
        {"continue": False, "stopReason": "enough", "decision": "block", "reason": "no"},
        Outcome(STOP, ((BLOCK, "no"), (STOP, "enough"))),
    ),
    "stop and allow": (
        {"continue": False, "stopReason": "enough", **nested(permissionDecision="allow")},
        make_outcome(STOP, "enough"),
    ),
    "empty texts": ({"systemMessage": " ", "reason": "", **nested(additionalContext="")}, make_outcome(NONE)),
    "nulls": (dict.fromkeys(ANSWER_TYPES), make_outcome(NONE)),
    "nulls inside": (nested(**dict.fromkeys(NESTED_TYPES)), make_outcome(NONE)),
    "an unknown key": ({"colour": "blue"}, make_outcome(NONE), UNKNOWN.format("colour")),
    "an unknown key inside": (nested(colour=1), make_outcome(NONE), UNKNOWN.format("hookSpecificOutput.colour")),
    "a deny in the wrong place": (
        {"permissionDecision": "deny"},
        make_outcome(NONE),
        MISPLACED.format("permissionDecision"),
    ),
    "an input in the wrong place": ({"updatedInput": {}}, make_outcome(NONE), MISPLACED.format("updatedInput")),
    "everything at once": (
        {
            "continue": True,
            "suppressOutput": False,
            "systemMessage": "m",
            **nested(
                hookEventName="PreToolUse",
                permissionDecision="ask",
                permissionDecisionReason="r",
                updatedInput={"command": "pwd"},
                additionalContext="c",
            ),
        },
        make_outcome(ASK, "r", input={"command": "pwd"}, contexts=("c",), messages=("m",)),
    ),
}


@pytest.mark.parametrize("title", CALLS)
def test_an_answer_before_a_tool_call_means_what_the_table_lists(title):
    answer, outcome, *notes = CALLS[title]
    assert answer_to(a_call(), prints(answer)) == (outcome, tuple(notes))


PERMISSIONS = {
    "granted": ({"behavior": "allow"}, make_outcome(ALLOW)),
    "granted with an input": ({"behavior": "allow", "updatedInput": {"a": 1}}, make_outcome(ALLOW, input={"a": 1})),
    "denied": ({"behavior": "deny", "message": "no"}, make_outcome(BLOCK, "no")),
    "denied without reason": ({"behavior": "deny"}, make_outcome(BLOCK, DEFAULT)),
    "denied for good": ({"behavior": "deny", "message": "no", "interrupt": True}, make_outcome(STOP, "no")),
    "denied, not for good": ({"behavior": "deny", "message": "no", "interrupt": False}, make_outcome(BLOCK, "no")),
    "granted for good": ({"behavior": "allow", "interrupt": True}, make_outcome(ALLOW)),
    "an input alone": ({"updatedInput": {"a": 1}}, make_outcome(NONE, input={"a": 1})),
    "a message alone": ({"message": "m"}, make_outcome(NONE)),
    "nulls": (dict.fromkeys(PERMISSION_TYPES), make_outcome(NONE)),
    "an unknown key": ({"colour": 1}, make_outcome(NONE), UNKNOWN.format("hookSpecificOutput.decision.colour")),
}


@pytest.mark.parametrize("title", PERMISSIONS)
def test_an_answer_to_a_permission_request_means_what_the_table_lists(title):
    decision, outcome, *notes = PERMISSIONS[title]
    assert answer_to(a_call("PermissionRequest"), prints(nested(decision=decision))) == (outcome, tuple(notes))


def test_a_permission_that_is_granted_and_blocked_is_blocked():
    answer = {"decision": "block", "reason": "no", **nested(decision={"behavior": "allow"})}
    assert answer_to(a_call("PermissionRequest"), prints(answer)) == (make_outcome(BLOCK, "no"), ())


OUTPUTS = {
    "an output": ({"updatedToolOutput": [1]}, [1]),
    "an output of old": ({"updatedMCPToolOutput": "x"}, "x"),
    "both": ({"updatedToolOutput": "new", "updatedMCPToolOutput": "old"}, "new"),
    "a null beside one of old": ({"updatedToolOutput": None, "updatedMCPToolOutput": "old"}, "old"),
    "an empty one": ({"updatedToolOutput": ""}, ""),
    "null": ({"updatedToolOutput": None}, ABSENT),
}


@pytest.mark.parametrize(("answer", "output"), OUTPUTS.values(), ids=OUTPUTS)
def test_an_output_is_replaced_after_a_tool_call(answer, output):
    assert answer_to(a_call("PostToolUse"), prints(nested(**answer))) == (Outcome(output=output), ())


def test_long_texts_are_cut():
    cut = "x" * 8192 + "… [cut, 9,000 characters]"
    assert answer_to(a_call(), Exit(2, stderr=b"x" * 9000)) == (make_outcome(BLOCK, cut), ())
    for answer in (
        {"decision": "block", "reason": "x" * 9000},
        nested(permissionDecision="deny") | {"reason": "x" * 9000},
    ):
        assert answer_to(a_call(), prints(answer)) == (make_outcome(BLOCK, cut), ())
    assert answer_to(a_call(), prints({"continue": False, "stopReason": "x" * 9000})) == (make_outcome(STOP, cut), ())


# Answers that cannot be read


def asked(**fields: Any) -> dict[str, Any]:
    return nested(decision=fields)


HINT = "(a tool call is denied with hookSpecificOutput.permissionDecision)"
WRONG = {
    "continue": ({"continue": "no"}, "'continue' must be true or false, not text"),
    "a number for continue": ({"continue": 0}, "'continue' must be true or false, not a number"),
    "stopReason": ({"stopReason": 1}, "'stopReason' must be text, not a number"),
    "suppressOutput": ({"suppressOutput": "x"}, "'suppressOutput' must be true or false, not text"),
    "systemMessage": ({"systemMessage": False}, "'systemMessage' must be text, not a flag"),
    "decision": ({"decision": True}, "'decision' must be text, not a flag"),
    "an object for decision": ({"decision": {}}, "'decision' must be text, not an object"),
    "reason": ({"reason": ["x"]}, "'reason' must be text, not a list"),
    "hookSpecificOutput": ({"hookSpecificOutput": "x"}, "'hookSpecificOutput' must be an object, not text"),
    "a list for hookSpecificOutput": ({"hookSpecificOutput": []}, "'hookSpecificOutput' must be an object, not a list"),
    "hookEventName": (nested(hookEventName=1), "'hookSpecificOutput.hookEventName' must be text, not a number"),
    "permissionDecision": (
        nested(permissionDecision=True),
        "'hookSpecificOutput.permissionDecision' must be text, not a flag",
    ),
    "permissionDecisionReason": (
        nested(permissionDecisionReason={}),
        "'hookSpecificOutput.permissionDecisionReason' must be text, not an object",
    ),
    "updatedInput": (nested(updatedInput="x"), "'hookSpecificOutput.updatedInput' must be an object, not text"),
    "additionalContext": (
        nested(additionalContext=[]),
        "'hookSpecificOutput.additionalContext' must be text, not a list",
    ),
    "a text for a permission": (
        nested(decision="deny"),
        "'hookSpecificOutput.decision' must be an object, not text",
    ),
    "behavior": (asked(behavior=1.5), "'hookSpecificOutput.decision.behavior' must be text, not a number"),
    "message": (asked(message={}), "'hookSpecificOutput.decision.message' must be text, not an object"),
    "updatedInput of a permission": (
        asked(updatedInput=[]),
        "'hookSpecificOutput.decision.updatedInput' must be an object, not a list",
    ),
    "interrupt": (asked(interrupt="yes"), "'hookSpecificOutput.decision.interrupt' must be true or false, not text"),
    "a word of another protocol": (
        {"decision": "deny"},
        f"unknown 'decision' 'deny' (known: approve, block) {HINT}",
    ),
    "an empty word": (
        {"decision": ""},
        f"unknown 'decision' '' (known: approve, block) {HINT}",
    ),
    "an old word in the new place": (
        nested(permissionDecision="block"),
        "unknown 'hookSpecificOutput.permissionDecision' 'block' (known: allow, deny, ask, defer)",
    ),
    "upper case": (
        nested(permissionDecision="DENY"),
        "unknown 'hookSpecificOutput.permissionDecision' 'DENY' (known: allow, deny, ask, defer)",
    ),
    "an unknown behaviour": (
        asked(behavior="ask"),
        "unknown 'hookSpecificOutput.decision.behavior' 'ask' (known: allow, deny)",
    ),
}


@pytest.mark.parametrize("name", ["PreToolUse", "PermissionRequest", "SessionEnd"])
@pytest.mark.parametrize(("answer", "detail"), WRONG.values(), ids=WRONG)
def test_a_wrong_type_and_an_unknown_word_are_named_at_every_event(answer, detail, name):
    assert answer_to(a_call(name), prints(answer)) == junk(detail)


def test_every_field_that_has_a_type_is_in_the_table_above():
    found: set[str] = set()
    for answer, _ in WRONG.values():
        top = answer if isinstance(answer, dict) else {}
        inside = top.get("hookSpecificOutput") if isinstance(top.get("hookSpecificOutput"), dict) else {}
        deep = inside.get("decision") if isinstance(inside.get("decision"), dict) else {}
        found |= {*top, *(f".{key}" for key in inside), *(f"..{key}" for key in deep)}
    free = {".updatedToolOutput", ".updatedMCPToolOutput"}
    assert found | free == {
        *ANSWER_TYPES,
        *(f".{key}" for key in NESTED_TYPES),
        *(f"..{key}" for key in PERMISSION_TYPES),
    }


INFO = '{"level": "info"}\n'
UNREAD = {
    "text behind": (f"{DENY} ok", f"text after the JSON value at line 1 column {len(DENY) + 1}"),
    "two documents": ("{}\n{}", "a second document after the JSON value at line 1 column 3"),
    "a repeated key": ('{"decision": "approve", "decision": "block"}', "repeated key 'decision'"),
    "a repeated key inside": ('{"x": {"y": 1, "y": 2}}', "repeated key 'y'"),
    "not a number": ('{"x": NaN}', "NaN is not JSON"),
    "infinity": ('{"x": -Infinity}', "-Infinity is not JSON"),
    "a number beyond limits": ('{"x": 1e400}', "number 1e400 is beyond limits"),
    "nesting": ('{"x": ' + "[" * 100_000, f"nested too deep (more than {MAX_DEPTH} levels)"),
    "an open brace": ("{", "Expecting property name enclosed in double quotes at line 1 column 2"),
    "a NUL": ("hello\0", "NUL at character 5"),
    "a deny behind a line": (f"log\n{DENY}", f"{BURIED} line 2 column 1"),
    "a deny behind a word": (f"log {DENY}", f"{BURIED} line 1 column 5"),
    "a deny between lines": (f"log\n{DENY}\nbye", f"{BURIED} line 2 column 1"),
    "a block behind objects": (f'log\n{INFO * 9}{{"decision": "block"}}', f"{BURIED} line 11 column 1"),
    "a stop behind a line": ('log\n{"continue": false}', f"{BURIED} line 2 column 1"),
    "a message behind a line": ('log\n{"systemMessage": "m"}', f"{BURIED} line 2 column 1"),
    "a deny in a list": (f"[{DENY}]", f"{BURIED} line 1 column 2"),
    "a deny cut off at its head": ('log {"permissionDecision": "deny"}', f"{BURIED} line 1 column 5"),
}


@pytest.mark.parametrize("name", ["PreToolUse", "UserPromptSubmit", "Notification"])
@pytest.mark.parametrize(("stdout", "detail"), UNREAD.values(), ids=UNREAD)
def test_an_answer_that_cannot_be_read_is_reported_with_its_error(stdout, detail, name):
    assert answer_to(a_call(name), Exit(0, stdout.encode())) == junk(detail)
    assert answer_to(a_call(name), Exit(1, stdout.encode(), b"oops")) == (
        FAILED,
        "exit code 1 (only exit 2 blocks): oops",
    )


TEXT = {
    "text": "hello",
    "a brace": "see {x}",
    "an object that is not an answer": 'see {"level": "info"}',
    "a word of an answer": 'the "decision" is {yours}',
    "a number": "42",
    "a list": "[1]",
    "an open bracket": "[info] done",
    "a text in quotes": '"deny"',
}


@pytest.mark.parametrize("text", TEXT.values(), ids=TEXT)
def test_plain_text_is_not_an_answer(text):
    assert answer_to(a_call("SessionStart"), Exit(0, text.encode())) == (Outcome(contexts=(text,)), ())
    assert answer_to(a_call(), Exit(0, text.encode())) == (Outcome(logs=(text,)), ())


def test_bytes_that_are_not_text_are_unreadable_and_a_byte_order_mark_is_forgiven():
    assert answer_to(a_call(), Exit(0, b"hello \xff")) == junk("not UTF-8 at byte 6")
    assert answer_to(a_call(), Exit(0, b"\xef\xbb\xbf" + DENY.encode())) == (make_outcome(BLOCK, DEFAULT), ())


def test_an_answer_that_is_too_long_is_unreadable_and_no_less_a_failure_or_a_block():
    whole = Exit(0, DENY.encode(), overflow=True)
    assert answer_to(a_call(), whole) == junk("it is longer than 1 MiB")
    assert answer_to(a_call(), whole.replace(code=1)) == (FAILED, "exit code 1 (only exit 2 blocks)")
    assert answer_to(a_call(), Exit(2, b"x" * 99, b"no", overflow=True)) == (make_outcome(BLOCK, "no"), ())


# Answers at other exit codes

COUNTS = "exit code {}, but its JSON answer counts"
VOID = "its 'allow' is ignored because the hook failed"
CODES = {
    "a deny": (prints(nested(permissionDecision="deny"), 1), make_outcome(BLOCK, DEFAULT), COUNTS.format(1)),
    "a question": (prints(nested(permissionDecision="ask"), 3), make_outcome(ASK), COUNTS.format(3)),
    "a stop": (prints({"continue": False}, 127), make_outcome(STOP), COUNTS.format(127)),
    "a message": (prints({"systemMessage": "m"}, 1, b"e"), make_outcome(NONE, messages=("m",)), COUNTS.format(1)),
    "an approval with context": (
        prints({"decision": "approve", **nested(additionalContext="c", colour=1)}, 1),
        make_outcome(NONE, contexts=("c",)),
        UNKNOWN.format("hookSpecificOutput.colour"),
        COUNTS.format(1),
        VOID,
    ),
    "a deny before a signal": (
        prints({"decision": "block", "reason": "no"}, -9),
        make_outcome(BLOCK, "no"),
        COUNTS.format(-9),
    ),
}


@pytest.mark.parametrize("answer", [{}, nested(permissionDecision="allow"), {"decision": "approve"}])
def test_a_hook_that_failed_and_answers_nothing_or_allows_has_failed(answer):
    assert answer_to(a_call(), prints(answer, 1)) == (FAILED, "exit code 1 (only exit 2 blocks)")


def test_with_on_failure_block_a_failure_counts_unless_the_answer_is_a_block():
    call = a_call()
    call = call.replace(hook=call.hook.replace(on_failure="block"))
    assert answer_to(call, prints({"systemMessage": "m"}, 1)) == (FAILED, "exit code 1 (only exit 2 blocks)")
    assert answer_to(call, prints({"decision": "block", "reason": "no"}, 1)) == (
        make_outcome(BLOCK, "no"),
        (COUNTS.format(1),),
    )


@pytest.mark.parametrize("title", CODES)
def test_json_counts_at_any_exit_code_but_never_as_an_approval(title):
    end, outcome, *notes = CODES[title]
    assert answer_to(a_call(), end) == (outcome, tuple(notes))


FAILURES = {
    "exit 1": (Exit(1), "exit code 1 (only exit 2 blocks)"),
    "exit 1 with text": (Exit(1, b"hello", b"oops"), "exit code 1 (only exit 2 blocks): oops"),
    "exit 127": (Exit(127, stderr=b"sh: x: not found\n"), "exit code 127: sh: x: not found"),
    "a signal": (Exit(-15, b"{", b""), "killed by signal 15"),
    "no end": (Exit(None), "it did not run"),
}


@pytest.mark.parametrize(("end", "why"), FAILURES.values(), ids=FAILURES)
def test_an_end_without_an_answer_is_a_failure(end, why):
    assert answer_to(a_call(), end) == (FAILED, why)


BESIDE = {
    "an allow": (nested(permissionDecision="allow"), b"no", make_outcome(BLOCK, "no")),
    "an allow without stderr": (
        nested(permissionDecision="allow", permissionDecisionReason="fine"),
        b"",
        make_outcome(BLOCK, "fine"),
    ),
    "a question": (nested(permissionDecision="ask"), b"", make_outcome(BLOCK, DEFAULT)),
    "a deny": (nested(permissionDecision="deny", permissionDecisionReason="json"), b"no", make_outcome(BLOCK, "no")),
    "a deny without reason": (nested(permissionDecision="deny"), b"no", make_outcome(BLOCK, "no")),
    "a deny without stderr": (
        nested(permissionDecision="deny", permissionDecisionReason="json"),
        b" \n",
        make_outcome(BLOCK, "json"),
    ),
    "a reason alone": ({"reason": "json"}, b"", make_outcome(BLOCK, "json")),
    "no reason": ({"reason": None}, b"", make_outcome(BLOCK, DEFAULT)),
    "effects": (
        {"systemMessage": "m", **nested(additionalContext="c", updatedInput={"a": 1})},
        b"no",
        make_outcome(BLOCK, "no", input={"a": 1}, contexts=("c",), messages=("m",)),
    ),
    "a stop": (
        {"continue": False, "stopReason": "enough"},
        b"no",
        Outcome(STOP, ((BLOCK, "no"), (STOP, "enough"))),
    ),
    "a stop and a block": (
        {"continue": False, "stopReason": "enough", "decision": "block", "reason": "json"},
        b"",
        Outcome(STOP, ((BLOCK, "json"), (STOP, "enough"))),
    ),
    "an unknown key": ({"colour": 1}, b"no", make_outcome(BLOCK, "no"), UNKNOWN.format("colour")),
    "a wrong type": ({"reason": 7}, b"", make_outcome(BLOCK, DEFAULT)),
    "a list": (["reason"], b"no", make_outcome(BLOCK, "no")),
}


@pytest.mark.parametrize("title", BESIDE)
def test_exit_2_blocks_with_any_answer_beside_it_which_can_only_add(title):
    answer, stderr, outcome, *notes = BESIDE[title]
    assert answer_to(a_call(), prints(answer, 2, stderr)) == (outcome, tuple(notes))


def test_exit_2_blocks_beside_junk():
    for stdout in (b"\xff", b"{", b"plain", b'{"a": 1, "a": 2}', b"{}{}", b"log\n" + DENY.encode()):
        assert answer_to(a_call(), Exit(2, stdout, b"\x1b[31mno\x1b[0m\r\n")) == (make_outcome(BLOCK, "no"), ())


def test_exit_2_where_nothing_can_be_refused_shows_the_person_all_of_it():
    answer = {"decision": "block", "reason": "json", "systemMessage": "m", **nested(additionalContext="c")}
    outcome = Outcome(contexts=("c",), messages=("m", "json", "no (SessionStart cannot be blocked)"))
    assert answer_to(a_call("SessionStart"), prints(answer, 2, b"no")) == (outcome, (idle("a block", "SessionStart"),))
    stop = prints({"continue": False, "stopReason": "enough"}, 2, b"no")
    assert answer_to(a_call("SessionEnd"), stop) == (
        make_message("SessionEnd", "no") | make_outcome(STOP, "enough"),
        (),
    )


# Models and servers

MODEL, SERVER = Prompt("Is $ARGUMENTS fine?"), Http("https://h/")
NO_OK = 'there is no "ok": the model is to answer {"ok": true} or {"ok": false, "reason": "…"}'
JUDGED = {
    "fine": (b'{"ok": true}', (Outcome(), ())),
    "fine, with a reason": (b'{"ok": true, "reason": "looks good"}', (Outcome(logs=("looks good",)), ())),
    "fine, with an empty reason": (b'{"ok": true, "reason": " "}', (Outcome(), ())),
    "not fine": (b'{"ok": false, "reason": "tests\\u0007 fail"}\n', (make_outcome(BLOCK, "tests fail"), ())),
    "not fine, no reason": (b'{"ok": false, "reason": null}', (make_outcome(BLOCK, DEFAULT), ())),
    "more keys": (b'{"ok": true, "decision": "block"}', (Outcome(), ())),
    "no judgement": (b'{"reason": "x"}', junk(NO_OK)),
    "an answer of another kind": (b'{"decision": "block"}', junk(NO_OK)),
    "null": (b'{"ok": null}', junk(NO_OK)),
    "a text": (b'{"ok": "yes"}', junk("'ok' must be true or false, not text")),
    "a number": (b'{"ok": 0}', junk("'ok' must be true or false, not a number")),
    "a wrong reason": (b'{"ok": false, "reason": []}', junk("'reason' must be text, not a list")),
    "a list": (b"[]", junk("the top level is a list, not an object")),
    "plain text": (b"ok", junk("no JSON value at line 1 column 1")),
    "nothing": (b"", junk("no JSON value at line 1 column 1")),
    "a word before it": (b'Sure: {"ok": true}', junk("no JSON value at line 1 column 1")),
    "bytes": (b"\xff", junk("not UTF-8 at byte 0")),
}


@pytest.mark.parametrize("name", [name for name, row in CLAUDE_EVENTS_BY_NAME.items() if row.prompts])
@pytest.mark.parametrize(("stdout", "expected"), JUDGED.values(), ids=JUDGED)
def test_a_judgement_of_a_model_lets_pass_or_blocks_and_never_approves(stdout, expected, name):
    assert answer_to(a_call(name, MODEL), Exit(0, stdout)) == expected


def test_the_fields_of_a_judgement_are_in_the_table_above():
    assert set(JUDGEMENT_TYPES) == {"ok", "reason"}
    assert answer_to(a_call(handler=MODEL), Exit(0, b'{"ok": true}', overflow=True)) == junk("it is longer than 1 MiB")


POSTED = {
    "nothing": (b"", (Outcome(), ())),
    "an empty object": (b"{}", (Outcome(), ())),
    "a deny": (DENY.encode(), (make_outcome(BLOCK, DEFAULT), ())),
    "text": (b"ok", (Outcome(logs=("ok",)), ())),
    "a judgement": (b'{"ok": false}', (Outcome(), (UNKNOWN.format("ok"),))),
    "a page": (b"<html>", (Outcome(logs=("<html>",)), ())),
}


@pytest.mark.parametrize(("stdout", "expected"), POSTED.values(), ids=POSTED)
def test_a_server_answers_as_a_command_does(stdout, expected):
    assert answer_to(a_call(handler=SERVER), Exit(0, stdout)) == expected


UNASKED = {
    "its words": (Exit(3, stderr=b"the server answered 500\n"), "the server answered 500"),
    "no words": (Exit(3), "exit code 3"),
    "exit 1, no words": (Exit(1), "exit code 1 (only exit 2 blocks)"),
    "exit 2": (Exit(2, stderr=b"no"), "no"),
    "exit 2 with an answer": (Exit(2, DENY.encode()), "exit code 2"),
    "an answer before it failed": (Exit(1, b'{"ok": true}', b"oops"), "oops"),
    "a signal": (Exit(-9), "killed by signal 9"),
    "no end": (Exit(None), "it did not run"),
}


@pytest.mark.parametrize("handler", [MODEL, SERVER], ids=["prompt", "http"])
@pytest.mark.parametrize(("end", "why"), UNASKED.values(), ids=UNASKED)
def test_a_question_that_could_not_be_asked_has_failed_with_any_exit_code(end, why, handler):
    assert answer_to(a_call(handler=handler), end) == (FAILED, why)


# Anything at all

SNIPPETS = [
    b"{",
    b"}",
    b"[",
    b'"',
    b'"decision"',
    b": ",
    b'"block"',
    b"null",
    b",",
    b"1e999",
    b"\xff",
    b"\0",
    b" ",
    b"\n",
]
noise = st.binary(max_size=60) | st.lists(st.sampled_from(SNIPPETS), max_size=12).map(b"".join)
words = st.sampled_from(["allow", "deny", "ask", "defer", "approve", "block", "", "x"])
values = words | st.booleans() | st.none() | json_values
deep = st.dictionaries(st.sampled_from([*PERMISSION_TYPES, "x"]), values, max_size=4)
inner = st.dictionaries(st.sampled_from([*NESTED_TYPES, "x"]), values | deep, max_size=5)
objects = st.dictionaries(st.sampled_from([*ANSWER_TYPES, "ok", "x"]), values | inner, max_size=5)
outputs = noise | objects.map(lambda found: json.dumps(found).encode())
codes = st.sampled_from([0, 0, 0, 1, 2, 2, 3, -9, None])
exits = st.builds(
    lambda code, out, err, over: Exit(code, out, err, overflow=over), codes, outputs, noise, st.booleans()
)
names = st.sampled_from(NAMES)
handlers = st.sampled_from([Command("x"), Script("/h"), MODEL, SERVER])


@given(names, handlers, exits)
@example("PreToolUse", Command("x"), prints({"hookSpecificOutput": {"decision": {"behavior": None}}}))
def test_any_end_is_an_outcome_or_a_failure_and_nothing_else(name, handler, end):
    found, rest = answer_to(a_call(name, handler), end)
    if isinstance(found, Outcome):
        assert all(isinstance(note, str) for note in rest)
    else:
        assert found == (UNREADABLE if end.code == 0 else FAILED)


@given(names, exits)
def test_exit_2_is_never_less_than_a_block_where_the_event_can_be_refused(name, end):
    outcome, _ = answer_to(a_call(name), end.replace(code=2))
    assert outcome.decision >= BLOCK if name in REFUSED else outcome.messages


SURE = nested(permissionDecision="allow", decision={"behavior": "allow"}) | {"decision": "approve"}


@given(names, handlers, exits, st.sampled_from([1, 2, 3, 127, 255, -1, -9, None]))
@example("PreToolUse", Command("x"), prints(SURE), 1)
@example("PermissionRequest", Command("x"), prints(SURE), 255)
def test_an_approval_never_comes_from_a_hook_that_failed(name, handler, end, code):
    outcome, _ = answer_to(a_call(name, handler), end.replace(code=code))
    assert not isinstance(outcome, Outcome) or outcome.decision != ALLOW
    assert not isinstance(outcome, Outcome) or ALLOW not in {decision for decision, _ in outcome.all_reasons}


line = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12)
inputs = st.fixed_dictionaries({"command": st.sampled_from(["ls", "pwd"])})
speech = st.fixed_dictionaries(
    {},
    optional={
        "continue": st.booleans(),
        "stopReason": line,
        "systemMessage": line,
        "decision": st.sampled_from(["approve", "block"]),
        "reason": line,
        "hookSpecificOutput": st.fixed_dictionaries(
            {},
            optional={
                "permissionDecision": st.sampled_from(["allow", "deny", "ask", "defer"]),
                "permissionDecisionReason": line,
                "updatedInput": inputs,
                "additionalContext": line,
                "updatedToolOutput": json_values,
            },
        ),
    },
)
spoken = st.builds(prints, speech, st.sampled_from([0, 0, 0, 2]), line.map(str.encode))
NESTING = st.sampled_from(["PreToolUse", "Stop", "UserPromptSubmit", "PostToolUse"])


@given(NESTING, spoken)
@example("PostToolUse", prints({"hookSpecificOutput": {"updatedToolOutput": ""}}, 0, b""))
def test_what_a_host_gets_is_itself_an_answer_with_the_same_meaning(name, end):
    call = a_call(name)
    outcome, _ = read_answer(call, end)
    now = outcome.input if outcome.input is not ABSENT else call.event.tool_input
    verdict = Verdict(call.event.with_data(tool_input=now), call.event, outcome)
    again = read_answer(call, HOST.write_answer(verdict))
    reason = "\n".join(outcome.reasons) or ("stopped by a hook" if outcome.decision == STOP else "")
    contexts, messages = "\n".join(outcome.contexts), "\n".join(outcome.messages)
    refused = outcome.decision == STOP and name in ("PreToolUse", "UserPromptSubmit")  # it is refused as well
    if name == "Stop" and contexts:
        message = f"a hook has context for the model, which Claude Code cannot take at Stop: {contexts}"
        contexts, messages = "", "\n".join(filter(None, [messages, message]))
    changed = now != call.event.tool_input and outcome.decision < BLOCK  # what is refused needs no other input
    expected = Outcome(
        outcome.decision,
        (*(((BLOCK, reason),) if refused else ()), *(((outcome.decision, reason),) if reason else ())),
        now if changed else ABSENT,
        outcome.output,
        (contexts,) if contexts else (),
        (messages,) if messages else (),
    )
    assert again == (expected, ())


@pytest.mark.parametrize("text", ["[memory] 3 notes", '"quoted"', "[]"])
def test_what_does_not_begin_with_a_brace_is_plain_text(text):
    end = Exit(0, text.encode())
    found = {name: read_answer(a_call(name), end) for name in ("SessionStart", "PreToolUse")}
    assert found == {"SessionStart": (Outcome(contexts=(text,)), ()), "PreToolUse": (Outcome(logs=(text,)), ())}


def test_a_logger_that_prints_its_input_means_nothing_by_it():
    event = Event.of("pre-tool-call", tool_name="Bash", tool_input={"command": "ls"})
    assert read_answer(a_call(), Exit(0, write_event(event))) == (Outcome(), ())
