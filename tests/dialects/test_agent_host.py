"""Hosts by their tables: payloads that were captured or documented are golden, and answers are what was seen to work there."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boathook.core.catalog import Selector
from boathook.core.event import SPELLINGS, UNMAPPED, Event
from boathook.core.matcher import Matcher, compile_names, compile_pattern
from boathook.core.outcome import Decision, Outcome
from boathook.core.verdict import OK, Run, Verdict
from boathook.dialects.claude import write_event
from boathook.dialects.dialect import find_host_dialect
from boathook.errors import BeyondLimits, DialectError
from boathook.hosts.host import CAPABILITIES, list_host_names, load_host
from boathook.hosts.tool_calls import LIST_MARK, restore_input, translate_call
from boathook.hosts.tool_names import TOOL_INPUT_KEYS, list_known_tools, list_tool_names
from tests.core.builders import a_hook, json_values
from tests.example_counts import count_examples
from tests.scratch_project import ScratchProject
from tests.tables import try_each

FIXTURES = Path(__file__).parent.parent / "fixtures/hosts"
CAPTURED = sorted(FIXTURES.glob("*/*.json"))
PASCAL = "-pascalcase"
HOSTS = tuple(name for name in list_host_names() if name != "claude")

BLOCK, ASK, ALLOW, STOP = Decision.BLOCK, Decision.ASK, Decision.ALLOW, Decision.STOP


def host_of(path: Path) -> str:
    return path.parent.name.removesuffix(PASCAL)


def read(path: Path) -> Event:
    return find_host_dialect(host_of(path)).read_event(path.read_bytes(), path.name.split(".")[0])


# Reading

MAPPED = {
    "cline": {
        "TaskStart": "pre-session",
        "PreToolUse": "pre-tool-call",
        "PostToolUse": "post-tool-call",
        "TaskComplete": "post-agent-turn",
        "TaskError": "turn-failure",
        "SessionShutdown": "post-session",
    },
    "copilot": {
        "sessionStart": "pre-session",
        "userPromptSubmitted": "pre-agent-turn",
        "preToolUse": "pre-tool-call",
        "permissionRequest": "permission-request",
        "postToolUse": "post-tool-call",
        "postToolUseFailure": "post-tool-call-failure",
        "agentStop": "pre-agent-turn-stop",
        "subagentStart": "pre-subagent",
        "subagentStop": "post-subagent",
        "errorOccurred": "turn-failure",
        "sessionEnd": "post-session",
    },
    "gemini": {
        "BeforeAgent": "pre-agent-turn",
        "BeforeTool": "pre-tool-call",
        "AfterTool": "post-tool-call",
        "AfterAgent": "pre-agent-turn-stop",
        "PreCompress": "pre-context-compact",
        "BeforeModel": "unmapped",
        "AfterModel": "unmapped",
        "BeforeToolSelection": "unmapped",
    },
    "kimi-code": {"TurnStarted": "unmapped"},
    "qwen": {"InstructionsLoaded": "unmapped", "MessageDisplay": "unmapped", "PostToolBatch": "unmapped"},
    "windsurf": {
        "pre_user_prompt": "pre-agent-turn",
        **dict.fromkeys(("pre_run_command", "pre_read_code", "pre_write_code", "pre_mcp_tool_use"), "pre-tool-call"),
        **dict.fromkeys(
            ("post_run_command", "post_read_code", "post_write_code", "post_mcp_tool_use"), "post-tool-call"
        ),
        "post_cascade_response": "post-agent-turn",
        "post_setup_worktree": "unmapped",
    },
}


FAILURES = {"kimi-cli/PostToolUse.ReadFile": "post-tool-call-failure"}  # a file that is not there


@try_each("path", CAPTURED)
def test_a_captured_payload_is_of_the_kind_in_its_name(path):
    name = path.name.split(".")[0]
    wanted = MAPPED.get(path.parent.name, {}).get(name) or SPELLINGS[name].name
    wanted = FAILURES.get(f"{path.parent.name}/{path.stem}", wanted)
    assert read(path).kind.name == wanted


@try_each("path", CAPTURED)
def test_a_captured_payload_needs_no_name_beside_it_if_it_has_one(path):
    if any(json.loads(path.read_text()).get(key) for key in ("hook_event_name", "hookName")):
        beside = read(path)
        alone = find_host_dialect(host_of(path)).read_event(path.read_bytes())
        assert (alone.kind, alone.session_id, alone.data) == (beside.kind, beside.session_id, beside.data)


@try_each("path", CAPTURED)
def test_session_and_folder_are_found_under_the_names_of_every_host(path):
    payload, event = json.loads(path.read_text()), read(path)
    if event.kind is not UNMAPPED:
        keys = ("session_id", "sessionId", "taskId", "trajectory_id")
        session = next(payload[key] for key in keys if key in payload)
        folder = "" if host_of(path) == "windsurf" else "/home/user/project"
        assert (event.session_id, event.work_dir) == (session, folder)


@try_each("path", CAPTURED)
def test_every_value_of_a_payload_is_kept(path):
    payload, event = json.loads(path.read_text()), read(path)
    reported = json.dumps([event.session_id, event.work_dir, event.timestamp, event.data])
    names = ("hook_event_name", "hookName", "agent_action_name", "tool_input", "toolArgs", "toolInput", "tool_info")
    for key, value in payload.items():
        assert key in names or json.dumps(value) in reported


CALLS = {
    "cline PreToolUse": ("Shell", "run_commands", {"command", "commands"}),
    "codex PreToolUse": ("Shell", "Bash", {"command"}),
    "codex PreToolUse.apply_patch": ("PatchFile", "apply_patch", {"patch"}),
    "copilot preToolUse": ("Shell", "bash", {"command", "description"}),
    "copilot preToolUse.create": ("WriteFile", "create", {"file_path", "content"}),
    "copilot preToolUse.view": ("ReadFile", "view", {"file_path"}),
    "copilot preToolUse.task": ("Agent", "task", {"description", "prompt", "subagent_type", "name", "mode"}),
    "copilot permissionRequest": ("Shell", "bash", {"command"}),
    "copilot-pascalcase PreToolUse": ("Shell", "Bash", {"command", "description"}),
    "droid PreToolUse": ("Shell", "Execute", {"command"}),
    "droid PreToolUse.Create": ("WriteFile", "Create", {"file_path", "content"}),
    "droid PreToolUse.Edit": ("EditFile", "Edit", {"file_path", "old_string", "new_string"}),
    "gemini BeforeTool": ("Shell", "run_shell_command", {"command", "description"}),
    "gemini BeforeTool.write_file": ("WriteFile", "write_file", {"file_path", "content"}),
    "kimi-cli PreToolUse": ("Shell", "Shell", {"command"}),
    "kimi-cli PreToolUse.ReadFile": ("ReadFile", "ReadFile", {"file_path"}),
    "kimi-cli PreToolUse.WriteFile": ("WriteFile", "WriteFile", {"file_path", "content"}),
    "kimi-code PreToolUse": ("Shell", "Bash", {"command"}),
    "kimi-code PreToolUse.Write": ("WriteFile", "Write", {"file_path", "content"}),
    "kimi-code PostToolUseFailure.NoSuchTool": ("NoSuchTool", "NoSuchTool", set()),
    "kiro-cli PreToolUse": ("Shell", "execute_bash", {"command"}),
    "kiro-cli PreToolUse.fs_read": ("ReadFile", "fs_read", {"operations", "file_path"}),
    "kiro-cli PreToolUse.fs_write": ("WriteFile", "fs_write", {"command", "file_path", "content"}),
    "qwen PreToolUse": ("Shell", "run_shell_command", {"command", "description"}),
    "qwen PreToolUse.agent": ("Agent", "agent", {"description", "prompt", "subagent_type"}),
    "windsurf pre_run_command": ("Shell", "run_command", {"command", "cwd"}),
    "windsurf pre_read_code": ("ReadFile", "read_code", {"file_path"}),
    "windsurf pre_write_code": ("EditFile", "write_code", {"file_path", "edits"}),
    "windsurf pre_mcp_tool_use": ("mcp__github__create_issue", "mcp__github__create_issue", {"owner", "title"}),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_tool_call_has_our_names_and_keeps_the_hosts_own(name):
    folder, _, stem = name.partition(" ")
    event = read(FIXTURES / folder / f"{stem}.json")
    assert (event.tool_name, event.data["host_tool_name"], set(event.tool_input)) == CALLS[name]


def test_fields_have_the_names_of_the_standard():
    def data(path: str) -> dict:
        return dict(read(FIXTURES / f"{path}.json").data)

    assert data("copilot/postToolUse")["tool_output"]["resultType"] == "success"
    assert data("copilot/agentStop")["host_stop_reason"] == "end_turn"
    assert data("gemini/AfterAgent")["final_message"] == {"role": "assistant", "content": "All done."}
    assert data("cline/TaskComplete")["final_message"] == {"role": "assistant", "content": "All done."}
    assert data("cline/PostToolUse")["duration_ms"] == 37
    assert data("kimi-code/PreToolUse")["tool_use_id"] == "call_825d7c6e7bcf"
    assert data("kimi-code/StopFailure")["error"] == "400 scripted error"
    assert data("kimi-code/UserPromptSubmit")["prompt"] == "E2E user prompt"
    assert data("kimi-cli/SubagentStart")["task_description"] == "E2E sub prompt"
    assert data("codex/SessionEnd") == {
        "transcript_path": data("codex/SessionEnd")["transcript_path"],
        "exit_reason": "other",
        "host_event_name": "SessionEnd",
    }


def event_of(host: str, name: str | None = None, **fields: object) -> Event:
    return find_host_dialect(host).read_event(json.dumps(fields).encode(), name)


def test_qwens_empty_prompt_is_not_a_prompt():
    assert event_of("qwen", hook_event_name="UserPromptSubmit", prompt="").kind is UNMAPPED
    assert event_of("qwen", hook_event_name="UserPromptSubmit", prompt="x").kind.name == "pre-agent-turn"


CURSORS_OTHER_EVENTS = {
    "beforeShellExecution": ({"command": "ls"}, "pre-tool-call", "Shell", {"command": "ls"}, None),
    "beforeReadFile": (
        {"file_path": "/p/.env", "content": "A=1"},
        "pre-tool-call",
        "ReadFile",
        {"file_path": "/p/.env"},
        None,
    ),
    "beforeMCPExecution": (
        {"tool_name": "delete", "tool_input": '{"id": 1}', "mcp_server_name": "tiny"},
        "pre-tool-call",
        "mcp__tiny__delete",
        {"id": 1},
        None,
    ),
    "afterShellExecution": ({"command": "ls", "output": "x"}, "post-tool-call", "Shell", {"command": "ls"}, "x"),
    "afterMCPExecution": (
        {"tool_name": "delete", "tool_input": '{"id": 1}', "mcp_server_name": "tiny", "result_json": "[]"},
        "post-tool-call",
        "mcp__tiny__delete",
        {"id": 1},
        "[]",
    ),
    "afterFileEdit": (
        {"file_path": "/p/a", "edits": [{"old_string": "a", "new_string": "b"}]},
        "post-tool-call",
        "EditFile",
        {"file_path": "/p/a", "edits": [{"old_string": "a", "new_string": "b"}]},
        None,
    ),
}


@pytest.mark.parametrize("name", CURSORS_OTHER_EVENTS)
def test_cursors_events_for_one_kind_of_tool_are_tool_calls(name):
    fields, kind, tool, tool_input, output = CURSORS_OTHER_EVENTS[name]
    event = event_of("cursor", hook_event_name=name, **fields)
    assert (event.kind.name, event.tool_name, event.tool_input) == (kind, tool, tool_input)
    assert event.data.get("tool_output") == output


def test_an_event_of_cursor_for_one_kind_of_tool_cannot_claim_another_tool():
    event = event_of("cursor", hook_event_name="beforeShellExecution", command="ls", tool_name="Read")
    assert (event.tool_name, event.tool_input) == ("Shell", {"command": "ls"})


def test_cursor_sends_its_folder_in_a_list():
    event = event_of(
        "cursor", hook_event_name="stop", conversation_id="c", session_id="s", workspace_roots=["/p", "/q"]
    )
    data = {"host_session_id": "s", "workspace_roots": ["/p", "/q"], "host_event_name": "stop"}
    assert (event.session_id, event.work_dir, event.data) == ("c", "/p", data)


def test_a_failed_tool_of_gemini_and_cline_is_a_failure():
    failed = event_of("gemini", "AfterTool", tool_name="read_file", tool_input={}, tool_response={"error": "no file"})
    assert (failed.kind.name, failed.data["error"]) == ("post-tool-call-failure", "no file")
    failed = event_of("cline", "PostToolUse", postToolUse={"toolName": "editor", "parameters": {}, "success": False})
    assert (failed.kind.name, failed.data["error"]) == ("post-tool-call-failure", "the tool failed")


def test_an_input_that_a_host_wrote_as_text_is_an_object():
    event = event_of("copilot", "preToolUse", toolName="create", toolArgs='{"path": "a"}')
    assert event.tool_input == {"file_path": "a"}
    assert event_of("copilot", "preToolUse", toolName="create", toolArgs="[1]").tool_input == "[1]"
    assert event_of("copilot", "postToolUse", toolName="create", toolArgs="{a").tool_input == "{a"


@pytest.mark.parametrize("tool", ["create", "apply_patch", "bash", "tiny-delete", "view"])
@pytest.mark.parametrize(
    "text", ['{"path":"a","path":".env"}', ' {"path":".env","x":1e999}', "{a", '{"a":' * 2000 + "1"]
)
@pytest.mark.parametrize("event", ["preToolUse", "permissionRequest"])
def test_an_object_that_cannot_be_read_within_the_limits_is_refused(event, text, tool):
    with pytest.raises(BeyondLimits, match="cannot be read as JSON"):
        event_of("copilot", event, toolName=tool, toolArgs=text)


def test_an_event_may_be_named_in_our_spelling():
    assert event_of("copilot", "pre-tool-call", toolName="bash").data["host_event_name"] == "preToolUse"


@pytest.mark.parametrize(
    ("host", "name", "fields"),
    [
        ("codex", None, {}),
        ("codex", None, {"hook_event_name": "Nonsense"}),
        ("codex", None, {"hook_event_name": 5}),
        ("codex", "Nonsense", {"hook_event_name": "Stop"}),
        ("codex", "PreToolUse", {"hook_event_name": "Stop"}),
        ("codex", "Stop", {"hook_event_name": "Stop", "cwd": 5}),
        ("codex", "PreToolUse", {"tool_name": ["Bash"]}),
        ("copilot", None, {"toolName": "bash"}),
        ("cline", "PreToolUse", {"workspaceRoots": [5]}),
    ],
)
def test_data_that_is_not_an_event_is_refused(host, name, fields):
    with pytest.raises(DialectError):
        event_of(host, name, **fields)


def test_a_newer_name_inside_does_not_disarm_the_one_on_the_command_line():
    assert event_of("cline", "PreToolUse", hookName="tool_call_2").kind.name == "pre-tool-call"


row_names = {
    host: [row.name for row in load_host(host).events] + list(load_host(host).unmapped_events) for host in HOSTS
}
field_names = st.sampled_from(
    [
        "hook_event_name",
        "hookName",
        "event_type",
        "session_id",
        "sessionId",
        "conversation_id",
        "taskId",
        "cwd",
        "work_dir",
        "workspaceRoots",
        "timestamp",
        "context",
        "toolName",
        "toolArgs",
        "toolInput",
        "tool_name",
        "tool_input",
        "tool_call",
        "tool_result",
        "tool_response",
        "postToolUse",
        "prompt",
        "reason",
        "error",
        "last_assistant_message",
        "host_tool_name",
        "host_event_name",
        "host_tool_keys",
        "path",
    ]
)


@given(st.data(), st.sampled_from(HOSTS))
@settings(max_examples=count_examples(400))
def test_any_object_is_read_or_refused_with_a_dialect_error(data, host):
    name = data.draw(st.none() | st.sampled_from(row_names[host]))
    fields = data.draw(st.dictionaries(field_names, json_values | st.sampled_from(row_names[host]), max_size=8))
    try:
        event = event_of(host, name, **fields)
    except DialectError:
        return
    outcome = Outcome(data.draw(st.sampled_from([Decision(n) for n in range(5)])), contexts=("c",), messages=("m",))
    changed = event.with_data(tool_input=data.draw(json_values))
    assert find_host_dialect(host).write_answer(Verdict(changed, event, outcome)).code in (0, 2)


# Tools

ALL_TOOLS = [(host, tool) for host in list_host_names() for tool in load_host(host).tools]


@pytest.mark.parametrize("host", list_host_names())
def test_tables_of_tools_use_known_names_and_keys(host):
    for name, (ours, renames) in load_host(host).tools.items():
        assert name in list_known_tools()
        assert name == ours or name in list_tool_names()[ours]
        assert {key for _, key in renames} <= set(TOOL_INPUT_KEYS[ours])
        theirs = {place.removesuffix(LIST_MARK) for place, key in renames if place != key}
        assert not theirs & {key for _, key in renames}


@given(st.data(), st.sampled_from(ALL_TOOLS))
@settings(max_examples=count_examples(500))
def test_an_input_comes_back_as_it_was(data, which):
    tools = load_host(which[0]).tools
    ours, renames = tools[which[1]]
    keys = {place.removesuffix(LIST_MARK) for place, _ in renames} | {
        "x",
        *TOOL_INPUT_KEYS[ours],
        *(f"host_{k}" for k in TOOL_INPUT_KEYS[ours]),
    }
    texts = st.lists(st.text(max_size=3), max_size=3) | st.text(max_size=3) | json_values
    given_input = data.draw(st.dictionaries(st.sampled_from(sorted(keys)), texts))
    name, found, renamed = translate_call(tools, which[1], given_input)
    assert name == ours
    assert restore_input(tools, which[1], renamed, found, found) == given_input


def test_a_changed_input_goes_back_under_the_hosts_keys_whole():
    tools = load_host("copilot").tools
    _, before, renamed = translate_call(tools, "create", {"path": "a", "file_text": "b", "more": 1})
    assert before == {"file_path": "a", "content": "b", "more": 1}
    now = {**before, "content": "c"}
    assert restore_input(tools, "create", renamed, before, now) == {"path": "a", "file_text": "c", "more": 1}
    assert restore_input(tools, "create", {}, {}, {"file_path": "z"}) == {"path": "z"}


def test_a_list_of_commands_is_one_text_and_a_list_again():
    tools = load_host("cline").tools
    _, before, renamed = translate_call(tools, "run_commands", {"commands": ["a", "b"]})
    assert before == {"commands": ["a", "b"], "command": "a\nb"}
    assert restore_input(tools, "run_commands", renamed, before, {"command": "c"}) == {"commands": ["c"]}
    assert restore_input(tools, "run_commands", renamed, before, {**before, "commands": ["d"]}) == {"commands": ["d"]}


@pytest.mark.parametrize(
    ("host", "tool", "given_input", "seen"),
    [
        ("copilot", "create", {"path": "/etc/x", "file_path": "ok"}, {"file_path": "/etc/x", "path": "ok"}),
        ("cline", "run_commands", {"commands": ["rm"], "command": "ls"}, {"command": "rm", "host_command": "ls"}),
        (
            "cline",
            "read_files",
            {"files": [{"path": ".env"}], "file_path": "ok"},
            {"host_file_path": "ok", "file_path": ".env"},
        ),
        ("cursor", "Read", {"file_path": "real", "path": "other"}, {"file_path": "real", "path": "other"}),
    ],
)
def test_a_key_of_ours_that_the_host_does_not_read_hides_nothing(host, tool, given_input, seen):
    _, found, _ = translate_call(load_host(host).tools, tool, given_input)
    assert {key: value for key, value in found.items() if key not in ("commands", "files")} == seen


def test_a_matcher_may_mean_our_name_the_hosts_or_claude_codes():
    event = event_of("gemini", "BeforeTool", tool_name="run_shell_command", tool_input={"command": "ls"})
    for tool in ("^Shell$", "^run_shell_command$", "^Bash$"):
        assert Matcher(compile_pattern(tool)).explain_mismatch(event) == ""
    assert Matcher(compile_names("Write|Edit")).explain_mismatch(event) == "tool 'Shell' does not match 'Write|Edit'"
    written = event_of("kimi-code", "PreToolUse", tool_name="Write", tool_input={"path": "a"})
    assert Matcher(compile_names("Write|Edit")).explain_mismatch(written) == ""


def test_many_hooks_are_not_sorted_out_by_one_of_several_names():
    selector = Selector(
        [a_hook(f"h{n}", tool="^Bash$" if n else "^run_shell_command$") for n in range(Selector.MIN_INDEXED_HOOKS)]
    )
    event = event_of("gemini", "BeforeTool", tool_name="run_shell_command", tool_input={"command": "ls"})
    assert [len(selector.select(event)) for _ in range(3)] == [Selector.MIN_INDEXED_HOOKS] * 3


def test_a_hook_of_settings_json_reads_claude_codes_names_under_any_host():
    event = event_of("copilot", "preToolUse", toolName="create", toolArgs={"path": "a", "file_text": "b"})
    fields = json.loads(write_event(event))
    assert (fields["tool_name"], fields["tool_input"]) == ("Write", {"file_path": "a", "content": "b"})


# Answering


def make_outcome(decision: Decision, text: str, **effects: object) -> Outcome:
    return Outcome(decision, ((decision, text),), **effects)


def nested(name: str, **fields: object) -> dict[str, object]:
    return {"hookSpecificOutput": {"hookEventName": name, **fields}}


TOOL_OF = {
    "codex": "Bash",
    "copilot": "bash",
    "gemini": "run_shell_command",
    "qwen": "run_shell_command",
    "kimi-code": "Bash",
    "kimi-cli": "Shell",
    "cline": "run_commands",
    "cursor": "Shell",
    "vscode": "run_in_terminal",
    "opencode": "bash",
}


def a_verdict(host: str, name: str, outcome: Outcome, **changes: object) -> Verdict:
    tool = TOOL_OF[host]
    given_input = {"commands": ["ls"]} if tool == "run_commands" else {"command": "ls"}
    call = {"tool_call": {"name": tool, "input": given_input}} if host == "cline" else {}
    fields = {"toolName": tool, "toolArgs": given_input, "tool_name": tool, "tool_input": given_input, **call}
    fields |= {"prompt": "do it"}
    event = event_of(host, name, **fields)
    return Verdict(event.with_data(**changes) if changes else event, event, outcome)


def answer(host: str, name: str, outcome: Outcome, **changes: object) -> tuple[int, object, str]:
    end = find_host_dialect(host).write_answer(a_verdict(host, name, outcome, **changes))
    assert end.code is not None
    try:
        message: object = json.loads(end.stdout) if end.stdout else None
    except ValueError:
        message = end.stdout.decode()
    return end.code, message, end.stderr.decode()


NO = make_outcome(BLOCK, "no")
SURE = make_outcome(ASK, "sure?")
KNOW = Outcome(contexts=("know",))
PWD = {"tool_input": {"command": "pwd"}}


def denied(name: str, reason: str = "no") -> dict[str, object]:
    return nested(name, permissionDecision="deny", permissionDecisionReason=reason)


BLOCKED = {"decision": "block", "reason": "no"}
EXPRESSED = {
    # what was seen in a run of the host, or (Cursor, VS Code, OpenCode) is in its documents
    "codex deny": ("codex", "PreToolUse", NO, {}, (0, denied("PreToolUse"), "")),
    "codex deny without a reason": (
        "codex",
        "PreToolUse",
        Outcome(BLOCK),
        {},
        (0, denied("PreToolUse", "blocked by a hook"), ""),
    ),
    "codex allow": ("codex", "PreToolUse", Outcome(ALLOW), {}, (0, None, "")),
    "codex rewrite": (
        "codex",
        "PreToolUse",
        Outcome(),
        PWD,
        (0, nested("PreToolUse", permissionDecision="allow", updatedInput={"command": "pwd"}), ""),
    ),
    "codex context": ("codex", "PreToolUse", KNOW, {}, (0, nested("PreToolUse", additionalContext="know"), "")),
    "codex prompt": ("codex", "UserPromptSubmit", NO, {}, (0, BLOCKED, "")),
    "codex feedback": ("codex", "PostToolUse", NO, {}, (0, BLOCKED, "")),
    "codex gate": ("codex", "Stop", NO, {}, (0, BLOCKED, "")),
    "codex start": ("codex", "SessionStart", KNOW, {}, (0, nested("SessionStart", additionalContext="know"), "")),
    "copilot deny": (
        "copilot",
        "preToolUse",
        NO,
        {},
        (0, {"permissionDecision": "deny", "permissionDecisionReason": "no"}, ""),
    ),
    "copilot ask": (
        "copilot",
        "preToolUse",
        SURE,
        {},
        (0, {"permissionDecision": "ask", "permissionDecisionReason": "sure?"}, ""),
    ),
    "copilot allow": ("copilot", "preToolUse", Outcome(ALLOW), {}, (0, {"permissionDecision": "allow"}, "")),
    "copilot rewrite": ("copilot", "preToolUse", Outcome(), PWD, (0, {"modifiedArgs": {"command": "pwd"}}, "")),
    "copilot context": ("copilot", "postToolUse", KNOW, {}, (0, {"additionalContext": "know"}, "")),
    "copilot output": (
        "copilot",
        "postToolUse",
        Outcome(output={"a": 1}),
        {},
        (0, {"modifiedResult": {"resultType": "success", "textResultForLlm": '{"a": 1}'}}, ""),
    ),
    "copilot prompt": ("copilot", "userPromptSubmitted", NO, {}, (0, BLOCKED, "")),
    "copilot gate": ("copilot", "agentStop", NO, {}, (0, BLOCKED, "")),
    "copilot permission": ("copilot", "permissionRequest", NO, {}, (0, {"behavior": "deny", "message": "no"}, "")),
    "copilot pascal deny": ("copilot", "PreToolUse", NO, {}, (0, denied("PreToolUse"), "")),
    "copilot pascal rewrite": (
        "copilot",
        "PreToolUse",
        Outcome(),
        PWD,
        (0, nested("PreToolUse", updatedInput={"command": "pwd"}), ""),
    ),
    "copilot pascal context": ("copilot", "SessionStart", KNOW, {}, (0, {"additionalContext": "know"}, "")),
    "gemini deny": (
        "gemini",
        "BeforeTool",
        NO,
        {},
        (0, {"decision": "deny", "reason": "no", "systemMessage": "boathook blocked Shell: no"}, ""),
    ),
    "gemini rewrite": (
        "gemini",
        "BeforeTool",
        Outcome(),
        PWD,
        (0, nested("BeforeTool", tool_input={"command": "pwd"}), ""),
    ),
    "gemini stop": (
        "gemini",
        "BeforeTool",
        make_outcome(STOP, "end"),
        {},
        (
            0,
            {
                "continue": False,
                "stopReason": "end",
                "decision": "deny",
                "reason": "end",
                "systemMessage": "boathook blocked Shell: end",
            },
            "",
        ),
    ),
    "gemini stop after a tool": (
        "gemini",
        "AfterTool",
        make_outcome(STOP, "end"),
        {},
        (0, {"continue": False, "stopReason": "end"}, ""),
    ),
    "gemini prompt": ("gemini", "BeforeAgent", NO, {}, (0, BLOCKED, "")),
    "gemini feedback": ("gemini", "AfterTool", NO, {}, (0, BLOCKED, "")),
    "gemini gate": ("gemini", "AfterAgent", NO, {}, (0, BLOCKED, "")),
    "gemini context": ("gemini", "AfterTool", KNOW, {}, (0, nested("AfterTool", additionalContext="know"), "")),
    "kimi code deny": ("kimi-code", "PreToolUse", NO, {}, (0, denied("PreToolUse"), "")),
    "kimi code prompt": ("kimi-code", "UserPromptSubmit", NO, {}, (2, None, "no\n")),
    "kimi code prompt context": ("kimi-code", "UserPromptSubmit", KNOW, {}, (0, "know\n", "")),
    "kimi code gate": ("kimi-code", "Stop", NO, {}, (2, None, "no\n")),
    "kimi-cli deny": ("kimi-cli", "PreToolUse", NO, {}, (0, denied("PreToolUse"), "")),
    "kimi-cli prompt": ("kimi-cli", "UserPromptSubmit", NO, {}, (2, None, "no\n")),
    "kimi-cli gate": ("kimi-cli", "Stop", NO, {}, (2, None, "no\n")),
    "qwen deny": ("qwen", "PreToolUse", NO, {}, (0, denied("PreToolUse"), "")),
    "qwen ask": (
        "qwen",
        "PreToolUse",
        SURE,
        {},
        (0, nested("PreToolUse", permissionDecision="ask", permissionDecisionReason="sure?"), ""),
    ),
    "qwen prompt": ("qwen", "UserPromptSubmit", NO, {}, (0, BLOCKED, "")),
    "qwen gate": ("qwen", "Stop", NO, {}, (0, BLOCKED, "")),
    "qwen feedback": ("qwen", "PostToolUse", NO, {}, (0, nested("PostToolUse", additionalContext="no"), "")),
    "qwen feedback with context": (
        "qwen",
        "PostToolUse",
        make_outcome(BLOCK, "no", contexts=("know",)),
        {},
        (0, nested("PostToolUse", additionalContext="no\nknow"), ""),
    ),
    "cline rewrite": ("cline", "PreToolUse", Outcome(), PWD, (0, {"overrideInput": {"commands": ["pwd"]}}, "")),
    "cline context": ("cline", "PreToolUse", KNOW, {}, (0, {"contextModification": "know"}, "")),
    "cline stop": (
        "cline",
        "PreToolUse",
        make_outcome(STOP, "end"),
        {},
        (0, {"cancel": True, "errorMessage": "end"}, ""),
    ),
    "cursor nothing": ("cursor", "preToolUse", Outcome(), {}, (0, {}, "")),
    "cursor deny": (
        "cursor",
        "preToolUse",
        NO,
        {},
        (0, {"permission": "deny", "user_message": "no", "agent_message": "no"}, ""),
    ),
    "cursor rewrite": ("cursor", "preToolUse", Outcome(), PWD, (0, {"updated_input": {"command": "pwd"}}, "")),
    "cursor prompt": ("cursor", "beforeSubmitPrompt", NO, {}, (0, {"continue": False, "user_message": "no"}, "")),
    "cursor context": ("cursor", "postToolUse", KNOW, {}, (0, {"additional_context": "know"}, "")),
    "cursor gate": ("cursor", "stop", NO, {}, (0, {"followup_message": "no"}, "")),
    "vscode deny": ("vscode", "PreToolUse", NO, {}, (0, denied("PreToolUse"), "")),
    "vscode prompt": ("vscode", "UserPromptSubmit", NO, {}, (0, {"continue": False, "stopReason": "no"}, "")),
    "vscode gate": ("vscode", "Stop", NO, {}, (0, {**BLOCKED, **nested("Stop", decision="block", reason="no")}, "")),
    "opencode deny": ("opencode", "pre-tool-call", NO, {}, (2, None, "no\n")),
    "opencode rewrite": ("opencode", "pre-tool-call", Outcome(), PWD, (0, {"modified_input": {"command": "pwd"}}, "")),
    "opencode output": ("opencode", "post-tool-call", Outcome(output="x"), {}, (0, {"modified_output": "x"}, "")),
}


@pytest.mark.parametrize("case", EXPRESSED)
def test_what_a_host_can_express_is_written_in_its_format(case):
    host, name, outcome, changes, wanted = EXPRESSED[case]
    assert answer(host, name, outcome, **changes) == wanted
    assert find_host_dialect(host).list_degraded(a_verdict(host, name, outcome, **changes)) == ()


ASKED = "a hook wanted to ask, which {} cannot at {}: denied instead. The reason: sure?"
CHANGED = "a hook changed the input, which {} cannot take at {}: refused instead, with the new input as the reason"
SEND_PWD = 'a hook wants another input, which {} cannot take here: call the tool with {{"command": "pwd"}}'
UNHEARD = "a hook has context for the model, which {} cannot take at {}: know"
ENDED = "a hook wanted to end the run, which {} cannot at {}: blocked instead"
REFUSED = "a hook wanted to block, which {} cannot at {}: no"
OUTPUT = "a hook changed the output, which {} cannot take at {}"
DEGRADED = {
    "codex ask": ("codex", "PreToolUse", SURE, {}, denied("PreToolUse", "sure?"), (ASKED,)),
    "codex ask with a rewrite": ("codex", "PreToolUse", SURE, PWD, denied("PreToolUse", "sure?"), (ASKED,)),
    "codex stop": ("codex", "PreToolUse", make_outcome(STOP, "no"), {}, denied("PreToolUse"), (ENDED,)),
    "codex refused session": ("codex", "SessionStart", NO, {}, {}, (REFUSED,)),
    "codex output": ("codex", "PostToolUse", Outcome(output="x"), {}, {}, (OUTPUT,)),
    "gemini ask": ("gemini", "BeforeTool", SURE, {}, {"decision": "deny", "reason": "sure?"}, (ASKED,)),
    "gemini context": ("gemini", "BeforeTool", KNOW, {}, {}, (UNHEARD,)),
    "qwen rewrite": (
        "qwen",
        "PreToolUse",
        Outcome(),
        PWD,
        denied("PreToolUse", SEND_PWD.format("Qwen Code")),
        (CHANGED,),
    ),
    "qwen context": ("qwen", "PreToolUse", KNOW, {}, {}, (UNHEARD,)),
    "vscode output": ("vscode", "PostToolUse", Outcome(output="x"), {}, {}, (OUTPUT,)),
    "copilot stop": (
        "copilot",
        "preToolUse",
        make_outcome(STOP, "no"),
        {},
        {"permissionDecision": "deny", "permissionDecisionReason": "no"},
        (ENDED,),
    ),
    "kimi code ask": ("kimi-code", "PreToolUse", SURE, {}, denied("PreToolUse", "sure?"), (ASKED,)),
    "kimi-cli rewrite with context": (
        "kimi-cli",
        "PreToolUse",
        KNOW,
        PWD,
        denied("PreToolUse", SEND_PWD.format("kimi-cli")),
        (CHANGED, UNHEARD),
    ),
    "kimi code feedback": ("kimi-code", "PostToolUse", NO, {}, {}, (REFUSED,)),
    "cline deny": (
        "cline",
        "PreToolUse",
        NO,
        {},
        {"cancel": True, "errorMessage": "no"},
        ("{0} ends the whole task when a tool call is refused and does not say why; `boathook log` does",),
    ),
    "cursor ask": (
        "cursor",
        "preToolUse",
        SURE,
        {},
        {"permission": "deny", "user_message": "sure?", "agent_message": "sure?"},
        (ASKED,),
    ),
    "opencode gate": ("opencode", "pre-agent-turn-stop", NO, {}, {}, (REFUSED,)),
}


@pytest.mark.parametrize("case", DEGRADED)
def test_what_a_host_cannot_express_is_reported_and_the_rest_is_written(case):
    host, name, outcome, changes, fields, notes = DEGRADED[case]
    table = load_host(host)
    reported = tuple(note.format(table.title, name) for note in notes)
    lines = "\n".join(reported)
    field = table.message[0][0] if table.message else ""
    wanted = (
        0,
        {**fields, field: lines} if field else fields or ({} if table.empty_answer else None),
        "" if field else f"{lines}\n",
    )
    assert answer(host, name, outcome, **changes) == wanted
    assert find_host_dialect(host).list_degraded(a_verdict(host, name, outcome, **changes)) == reported


def test_a_message_for_the_person_goes_where_the_host_shows_it():
    assert answer("codex", "Stop", Outcome(messages=("hi",))) == (0, {"systemMessage": "hi"}, "")
    assert answer("copilot", "agentStop", Outcome(messages=("hi",))) == (0, None, "hi\n")


def test_a_denied_question_names_the_hook_that_asked():
    event = a_verdict("codex", "PreToolUse", SURE)
    verdict = event.replace(runs=(Run(a_hook("careful"), OK, SURE),))
    (note,) = find_host_dialect("codex").list_degraded(verdict)
    text = "hook 'careful' wanted to ask, which Codex CLI cannot at PreToolUse: denied instead. The reason: sure?"
    assert note == text


def test_context_beside_a_refusal_by_exit_code_is_reported():
    end = answer("kimi-code", "UserPromptSubmit", make_outcome(BLOCK, "no", contexts=("know",)))
    assert end == (2, None, "no\n" + UNHEARD.format("Kimi Code", "UserPromptSubmit") + "\n")


def test_a_question_where_the_person_is_asked_anyway_is_silence():
    assert answer("codex", "PermissionRequest", SURE) == (0, None, "")


def test_a_stop_where_the_agent_stops_anyway_is_silence():
    assert answer("copilot", "agentStop", make_outcome(STOP, "end")) == (0, None, "")


def test_no_answer_comes_to_an_event_without_counterpart():
    event = event_of("cursor", hook_event_name="afterAgentThought")
    end = find_host_dialect("cursor").write_answer(Verdict(event, event, NO))
    assert (end.code, end.stdout, end.stderr) == (0, b"", b"")


# Tables


@pytest.mark.parametrize("host", list_host_names())
def test_a_table_is_sound(host):
    table = load_host(host)
    names = [name for row in table.events for name in (row.name, *row.other_names)] + list(table.unmapped_events)
    assert len(names) == len(set(names))
    assert table.name == host
    for row in table.events:
        assert row.kind_name in SPELLINGS
        assert all(row.get_template(what) for what in row.untested.split())
        assert set(row.untested.split()) <= set(CAPABILITIES)
        assert not row.input or row.kind.rewrites_input
        assert not row.output or row.kind.rewrites_output


@pytest.mark.parametrize("host", list_host_names())
def test_an_ask_is_only_sent_before_something_that_can_also_be_blocked(host):
    assert all(row.block and row.kind.is_pre for row in load_host(host).events if row.ask)


@pytest.mark.parametrize("host", ["cline", "codex", "cursor", "gemini", "kimi-cli", "kimi-code", "opencode"])
def test_no_ask_is_sent_where_that_hangs_or_is_ignored(host):
    asking = {row.name for row in load_host(host).events if row.ask}
    assert asking == ({"beforeShellExecution", "beforeMCPExecution"} if host == "cursor" else set())


def test_copilot_never_ends_with_another_exit_code_than_0():
    assert not any(
        place == "exit"
        for row in load_host("copilot").events
        for what in CAPABILITIES
        for place, _ in row.get_template(what)
    )


# Through the command line


def run(project: ScratchProject, host: str, event: dict[str, object], *args: str) -> tuple[int, object, str]:
    env = {"PATH": os.environ["PATH"], **project.variables}
    argv = project.make_argv("run", "--trust-all", "--host", host, *args)
    done = subprocess.run(
        argv, input=json.dumps(event), capture_output=True, text=True, env=env, timeout=60, cwd=project.path
    )
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


@pytest.fixture
def project(project: ScratchProject) -> ScratchProject:
    fields = {"trigger": "pre-tool-call", "matcher": "{tool: ^Shell$, pattern: forbidden}"}
    project.write_hook("guard", "echo no >&2\nexit 2", scope="project", fields=fields)
    return project


def test_one_hook_denies_in_every_host(project):
    def asked(host: str, name: str, **fields: object) -> tuple[int, object, str]:
        return run(project, host, {"cwd": str(project.path), **fields}, "--event", name)

    call = {"tool_input": {"command": "forbidden"}}
    deny = {"permissionDecision": "deny", "permissionDecisionReason": "no"}
    assert asked("codex", "PreToolUse", tool_name="Bash", **call) == (0, denied("PreToolUse"), "")
    assert asked("gemini", "BeforeTool", tool_name="run_shell_command", **call) == (
        0,
        {"decision": "deny", "reason": "no", "systemMessage": "hook 'guard' blocked Shell: no"},
        "",
    )
    assert asked("copilot", "preToolUse", toolName="bash", toolArgs={"command": "forbidden"}) == (0, deny, "")


def test_what_matches_nothing_answers_nothing(project):
    event = {"cwd": str(project.path), "tool_name": "write_file", "tool_input": {"content": "forbidden"}}
    assert run(project, "gemini", event, "--event", "BeforeTool") == (0, None, "")


def test_an_event_without_counterpart_answers_nothing_and_reports_that_no_hook_was_asked(project):
    message = "boathook: Gemini CLI's event 'BeforeModel' has no counterpart here: no hook was asked\n"
    assert run(project, "gemini", {"hook_event_name": "BeforeModel", "cwd": str(project.path)}) == (0, None, message)
