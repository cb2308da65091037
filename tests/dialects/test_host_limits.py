"""The limits of hosts: events that they do not have, what they cannot express, and what goes wrong, through the command line."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from boathook.core.event import SPELLINGS
from boathook.core.outcome import Outcome
from boathook.core.verdict import Verdict
from boathook.dialects.dialect import find_host_dialect
from boathook.hosts.capabilities import find_unsupported, list_wanted_capabilities
from boathook.hosts.detection import detect_caller
from boathook.hosts.host import list_derived_kinds, list_host_names, load_host
from boathook.hosts.tool_calls import join_lines
from boathook.hosts.tool_names import FAMILIAR_TOOLS
from tests import forked
from tests.core.builders import a_hook
from tests.scratch_project import ScratchProject
from tests.tables import try_each

End = tuple[int, object, str]
FIXTURES = Path(__file__).parent.parent / "fixtures"


@pytest.fixture
def hook(project: ScratchProject) -> Callable[..., None]:
    def write(name: str, trigger: str, script: str, **fields: str) -> None:
        project.write_hook(name, script, scope="project", fields={"trigger": trigger, **fields})

    return write


def command(
    project: ScratchProject, *args: str, data: str = "", cwd: Path | None = None, **variables: str
) -> tuple[int, str, str]:
    """Run `boathook`, by default outside of the project, with only these variables: some show which host calls."""
    env = {"PATH": os.environ["PATH"], **project.variables, **variables}
    argv = project.make_argv(*args)
    done = forked.run(argv, input=data, text=True, env=env, timeout=60, cwd=cwd or project.base)
    return done.returncode, done.stdout, done.stderr


def run(project: ScratchProject, host: str, name: str, event: dict[str, object] | str, **variables: str) -> End:
    data = event if isinstance(event, str) else json.dumps({"cwd": str(project.path), **event})
    words = ("run", "--trust-all", "--host", host, "--event", name)
    # Codex starts us in the folder of its session, and no payload names that.
    code, out, err = command(project, *words, data=data, cwd=project.path, **variables)
    return code, json.loads(out) if out else None, err


def records(project: ScratchProject) -> list[dict[str, object]]:
    _, out, _ = command(project, "log", "--json")
    return [json.loads(line) for line in out.splitlines()]


# Events that a host has not


def test_the_turn_that_ended_is_derived_from_a_stop_that_no_hook_refused(project, hook):
    hook("after", "post-agent-turn", f"cat >> {project.base}/seen; echo >> {project.base}/seen")
    hook("stopped", "post-agent-turn-stop", f"cat >> {project.base}/seen")
    event = {"hook_event_name": "Stop", "session_id": "s", "stop_hook_active": False, "last_assistant_message": "done"}
    assert run(project, "codex", "Stop", event) == (0, None, "")
    seen = [json.loads(line) for line in (project.base / "seen").read_text().splitlines() if line]
    expected = ("event_type", "session_id", "derived_from", "final_message")
    message = {"role": "assistant", "content": "done"}
    assert [[one[key] for key in expected] for one in seen] == [
        ["post-agent-turn", "s", "Stop", message],
        ["post-agent-turn-stop", "s", "Stop", message],
    ]
    assert [(one["event"], one["derived"]) for one in records(project)] == [
        ("post-agent-turn", "Stop"),
        ("post-agent-turn-stop", "Stop"),
    ]


@pytest.mark.parametrize("flags", [(), ("--project", ".")], ids=["the host's folder", "a relative option"])
def test_a_hook_that_runs_in_another_folder_does_not_hide_the_hooks_of_the_next_event(project, hook, flags):
    hook("after", "post-agent-turn", f"pwd >> {project.base}/seen")
    hook("stopped", "post-agent-turn-stop", f"pwd >> {project.base}/seen")
    other = project.base / "other"
    other.mkdir()
    words = ("run", "--trust-all", "--host", "codex", "--event", "Stop", *flags)
    end = command(project, *words, data=json.dumps({"session_id": "s", "cwd": str(other)}), cwd=project.path)
    assert end == (0, "", "")
    assert (project.base / "seen").read_text().splitlines() == [str(other)] * 2


@pytest.mark.parametrize(
    ("host", "name", "event", "refused"),
    [
        ("copilot", "agentStop", {"stopReason": "end_turn"}, True),
        ("copilot", "Stop", {"stop_reason": "end_turn"}, True),
        ("cursor", "stop", {"status": "completed", "loop_count": 0}, True),
        ("cursor", "stop", {"status": "aborted", "loop_count": 0}, False),
        ("codex", "Stop", {}, True),
    ],
)
def test_an_agent_that_has_finished_can_be_sent_back_with_any_name_of_its_event(
    project, hook, host, name, event, refused
):
    hook("gate", "pre-agent-turn-stop", "echo 'test first' >&2; exit 2")
    folder = {"workspace_roots": [str(project.path)]}
    _, out, _ = run(project, host, name, {**folder, **event})
    assert ("test first" in json.dumps(out)) is refused


def test_a_stop_that_is_refused_ends_no_turn(project, hook):
    hook("gate", "pre-agent-turn-stop", "echo 'test first' >&2; exit 2")
    hook("after", "post-agent-turn", f"touch {project.base}/seen")
    assert run(project, "codex", "Stop", {}) == (0, {"decision": "block", "reason": "test first"}, "")
    assert not (project.base / "seen").exists()


def test_what_a_hook_of_an_event_that_was_made_wants_is_reported_to_the_person(project, hook):
    hook("after", "post-agent-turn", "echo 'not good' >&2; exit 2")
    message = "a hook of post-agent-turn, which Claude Code does not have, wanted block: not good"
    assert run(project, "claude", "Stop", {}) == (0, {"systemMessage": message}, "")
    (record,) = records(project)
    assert record["degraded"] == [message]
    assert f"  {message}" in command(project, "why", str(record["id"]))[1].splitlines()


@pytest.mark.parametrize("host", list_host_names())
def test_every_host_that_asks_before_a_stop_has_all_events_of_a_turn(host):
    table = load_host(host)
    stops = [row for row in table.events if row.kind_name == "pre-agent-turn-stop"]
    known = {name for row in table.events for name in (*row.kind_names, *list_derived_kinds(table, row))}
    assert not stops or {"post-agent-turn", "post-agent-turn-stop"} <= known


def test_a_call_that_failed_is_a_failure_where_the_host_has_no_event_for_it(project, hook):
    hook("failure", "post-tool-call-failure", f"cat > {project.base}/seen")
    event = {"tool_name": "run_shell_command", "tool_input": {"command": "ls"}, "tool_response": {"error": "boom"}}
    assert run(project, "gemini", "AfterTool", event) == (0, None, "")
    seen = json.loads((project.base / "seen").read_text())
    assert (seen["event_type"], seen["tool_name"], seen["error"]) == ("post-tool-call-failure", "Shell", "boom")


@pytest.mark.parametrize(
    ("status", "kind"), [("failed", "post-tool-call-failure"), ("completed", "post-tool-call"), ("", "post-tool-call")]
)
def test_a_call_that_failed_in_codex_is_known_by_its_transcript(project, hook, status, kind):
    for name in ("post-tool-call", "post-tool-call-failure"):
        hook(name, name, f"cat > {project.base}/seen")
    item = {"type": "CommandExecution", "id": "call_1", "status": status, "exit_code": 3}
    lines = [{"payload": {"item": {**item, "id": "call_0", "status": "failed"}}}, {"payload": {"call_id": "call_1"}}]
    lines += [{"payload": {"type": "item_completed", "item": item}}] if status else []
    transcript = project.base / "rollout.jsonl"
    transcript.write_text("".join(json.dumps(line) + "\n" for line in lines))
    event = {"tool_name": "Bash", "tool_input": {"command": "exit 3"}, "tool_use_id": "call_1", "tool_response": ""}
    assert run(project, "codex", "PostToolUse", {**event, "transcript_path": str(transcript)}) == (0, None, "")
    seen = json.loads((project.base / "seen").read_text())
    assert (seen["event_type"], seen.get("error")) == (kind, "exit code 3" if status == "failed" else None)
    assert run(project, "codex", "PostToolUse", {**event, "transcript_path": str(project.base)}) == (0, None, "")
    assert json.loads((project.base / "seen").read_text())["event_type"] == "post-tool-call"


# What a host cannot express


def test_what_a_host_cannot_express_is_in_the_ledger_without_secrets(project, hook):
    hook(
        "note", "pre-tool-call", """echo '{"additional_context": "the key is sk-ant-api03-abcdefghijklmnopqrstuvwx"}'"""
    )
    code, out, err = run(project, "kimi-code", "PreToolUse", {"tool_name": "Bash", "tool_input": {"command": "ls"}})
    assert (code, out) == (0, None)
    assert "context for the model, which Kimi Code cannot take at PreToolUse" in err
    (record,) = records(project)
    (reported,) = record["degraded"]
    assert reported.startswith(
        "a hook has context for the model, which Kimi Code cannot take at PreToolUse: the key is "
    )
    assert "sk-ant-api03-abcdefghijklmnopqrstuvwx" not in json.dumps(record)


def test_by_policy_what_a_host_cannot_express_is_refused_instead(project, hook):
    hook("note", "pre-tool-call", """echo '{"additional_context": "know this"}'""")
    project.write_hooks_toml("user", '[hooks]\ndegraded = "refuse"\n')
    call = {"tool_name": "Bash", "tool_input": {"command": "rm x"}}
    message = "a hook has context for the model, which Kimi Code cannot take at PreToolUse: know this"
    code, out, err = run(project, "kimi-code", "PreToolUse", call)
    nested = {"permissionDecision": "deny", "permissionDecisionReason": message}
    assert (code, out) == (0, {"hookSpecificOutput": {"hookEventName": "PreToolUse", **nested}})
    assert err == f"{message}\nso it was refused (hooks.degraded)\n"
    assert [one["degraded"] for one in records(project)] == [[message, "so it was refused (hooks.degraded)"]]
    _, out, _ = run(project, "claude", "PreToolUse", call)
    assert out == {"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "know this"}}
    hook("note", "pre-agent-turn-stop", """echo '{"additional_context": "x"}'""")
    assert (
        run(project, "kimi-code", "Stop", {})[0] == 0
    )  # a stop is not refused for that: the agent would go on for ever


def test_what_a_host_can_express_is_not_degraded(project, hook):
    hook("guard", "pre-tool-call", "echo no >&2; exit 2")
    run(project, "kimi-code", "PreToolUse", {"tool_name": "Bash", "tool_input": {"command": "ls"}})
    (record,) = records(project)
    assert (record["decision"], record.get("degraded")) == ("block", None)


def test_an_approval_of_a_turn_that_ended_is_nothing_to_lose(project, hook):
    hook("after", "post-agent-turn", """echo '{"decision": "allow", "reason": "fine"}'""")
    assert run(project, "codex", "Stop", {"hook_event_name": "Stop", "session_id": "s"}) == (0, None, "")
    (record,) = records(project)
    assert (record["decision"], record.get("degraded")) == ("allow", None)


# One call on two paths

COPILOTS = {"hook_event_name": "PreToolUse", "timestamp": "2026-11-16T05:00:00Z", "tool_name": "list_dir"}


def install(
    project: ScratchProject, host: str, installed_in: str = "", text: str = "/x/hook_entry.py --host vscode --event E"
) -> None:
    state = project.state
    state.mkdir(parents=True, exist_ok=True)
    (state / "hooks.json").write_text(text)
    found = {"host": host, "scope": "user", "project": installed_in, "files": [{"path": str(state / "hooks.json")}]}
    (state / "installed.json").write_text(json.dumps({"version": 1, "installations": [found]}))


def test_another_agent_that_reads_claude_codes_settings_is_answered_in_its_own_protocol(project, hook):
    hook("guard", "pre-tool-call", "echo no >&2; exit 2", matcher="{tool: ^Shell$}")
    call = {"tool_name": "run_in_terminal", "tool_input": {"command": "ls"}, "timestamp": "2026-11-16T05:00:00Z"}
    _, answer, _ = run(project, "claude", "PreToolUse", {"hook_event_name": "PreToolUse", **call})
    assert answer == {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "no",
        }
    }
    assert [one["host"] for one in records(project)] == ["vscode"]


@pytest.mark.parametrize(
    ("installed_in", "runs"), [("", 0), ("PROJECT", 0), ("/elsewhere", 1)], ids=["everywhere", "here", "elsewhere"]
)
def test_a_call_that_comes_on_two_paths_runs_hooks_once(project, hook, installed_in, runs):
    hook("seen", "pre-tool-call", f"echo >> {project.base}/seen; exit 0")
    install(project, "vscode", installed_in.replace("PROJECT", str(project.path)))
    assert run(project, "claude", "PreToolUse", COPILOTS) == (0, None, "")
    assert len(records(project)) == runs
    assert run(project, "vscode", "PreToolUse", COPILOTS) == (0, None, "")
    assert len((project.base / "seen").read_text()) == runs + 1


CURSORS = {"hook_event_name": "beforeShellExecution", "cursor_version": "3.1", "command": "ls"}
INSTALLED = "/x/hook_entry.py --host cursor --event {} --without settings"


@pytest.mark.parametrize(
    ("event", "version", "runs"),
    [
        pytest.param("preToolUse", "3.1", 0, id="installed"),
        pytest.param("preToolUse", "2026.07.01", 0, id="installed, of the command line"),
        pytest.param("preToolUse", "2.0.77", 1, id="installed, but a Cursor that may not have that event"),
        pytest.param("preToolUse", None, 1, id="installed, but a Cursor without a version"),
        pytest.param("beforeShellExecution", "3.1", 1, id="by hand"),
        pytest.param("stop", "3.1", 1, id="installed for another event"),
    ],
)
def test_a_call_that_cursor_reports_by_two_events_runs_hooks_once(project, hook, event, version, runs):
    hook("seen", "pre-tool-call", f"echo >> {project.base}/seen; exit 0")
    install(project, "cursor", text=INSTALLED.format(event))
    assert run(project, "cursor", "beforeShellExecution", {**CURSORS, "cursor_version": version}) == (0, {}, "")
    assert len(records(project)) == runs


def test_a_record_alone_leaves_no_call_to_another_path(project, hook):
    hook("seen", "pre-tool-call", f"echo >> {project.base}/seen; exit 0")
    install(project, "vscode", text="{}")
    run(project, "claude", "PreToolUse", COPILOTS)
    assert (project.base / "seen").exists()


def test_claude_code_itself_is_answered_if_another_host_is_installed(project, hook):
    hook("guard", "pre-tool-call", "echo no >&2; exit 2")
    install(project, "vscode")
    event = {key: value for key, value in COPILOTS.items() if key != "timestamp"}
    assert run(project, "claude", "PreToolUse", event)[1] is not None


def test_a_sender_is_known_by_what_it_sends():
    assert detect_caller(load_host("claude"), {"timestamp": "t"}, {b"COPILOT_CLI": b"1"}) == "copilot"
    assert detect_caller(load_host("claude"), {"timestamp": "t"}, {b"CLAUDECODE": b"1"}) == "vscode"
    assert (
        detect_caller(load_host("claude"), {"timestamp": "t", "tool_name": "run_in_terminal"}, {b"COPILOT_CLI": b"1"})
        == "vscode"
    )
    assert detect_caller(load_host("claude"), {"timestamp": "t", "tool_name": "Bash"}, {}) == "copilot"
    assert (
        detect_caller(load_host("claude"), {"timestamp": "t", "hook_event_name": "BeforeTool"}, {b"COPILOT_CLI": b"1"})
        == "gemini"
    )
    assert FAMILIAR_TOOLS.isdisjoint(load_host("vscode").tools)
    assert (
        detect_caller(load_host("claude"), {"cursor_version": "3", "timestamp": "t"}, {b"COPILOT_CLI": b"1"})
        == "cursor"
    )
    assert detect_caller(load_host("claude"), {"transcript_path": "t"}, {b"COPILOT_CLI": b"1"}) == ""


def test_a_key_that_only_an_agent_itself_sends_outweighs_one_that_it_was_not_known_to_send():
    fields = {"timestamp": "t", "permission_mode": "default", "tool_name": "Bash"}
    assert detect_caller(load_host("claude"), fields, {b"COPILOT_CLI": b"1"}) == ""
    assert detect_caller(load_host("claude"), {**fields, "cursor_version": "3"}, {}) == "cursor"


@try_each(
    "tool more",
    product(
        sorted({*load_host("cursor").tools, *FAMILIAR_TOOLS, *load_host("vscode").tools}),
        [{}, {"timestamp": "t"}, {"hook_event_name": "BeforeTool"}],
    ),
)
def test_cursor_is_recognized_by_its_version_with_every_tool(tool, more):
    fields = {"cursor_version": "1.7.2", "tool_name": tool, **more}
    assert detect_caller(load_host("claude"), fields, {b"COPILOT_CLI": b"1"}) == "cursor"


def test_a_block_reaches_cursor_through_the_command_of_claude_code(project, hook):
    hook("guard", "pre-tool-call", "echo no >&2; exit 2")
    event = {
        "hook_event_name": "preToolUse",
        "cursor_version": "1",
        "tool_name": "Write",
        "tool_input": {"content": "x"},
    }
    assert run(project, "claude", "PreToolUse", event)[1]["permission"] == "deny"


@pytest.mark.parametrize("path", sorted((FIXTURES / "claude-code").glob("*.json")), ids=lambda path: path.stem)
def test_no_payload_of_claude_code_is_taken_for_anothers(path):
    assert detect_caller(load_host("claude"), json.loads(path.read_text()), {b"COPILOT_CLI": b"1"}) == ""


# What goes wrong

DEEP = '{"tool_name": "Bash", "tool_input": ' + "[" * 5000 + "]" * 5000 + "}"
NOT_JSON = "boathook: the event on standard input is not JSON:"
BEYOND = "boathook: the event on standard input is beyond limits, so no hook could look at it:"


@pytest.mark.parametrize("host", list_host_names())
def test_what_no_hook_could_look_at_is_refused_in_the_hosts_own_protocol(project, host):
    row = next(row for row in load_host(host).events if row.kind_name == "pre-tool-call")
    code, out, err = run(project, host, row.name, DEEP)
    answer = json.dumps([out, err])
    assert BEYOND in answer
    places = dict(row.block)
    assert code == places.get("exit", 0)
    words = [value for value in places.values() if isinstance(value, str) and value != "$"]
    assert all(f'"{word}"' in answer for word in words)


@pytest.mark.parametrize("host", list_host_names())
@pytest.mark.parametrize(
    "data", ["{", '{"tool_name": "Shell", "tool_input": {"command": "rm", "x": NaN}}'], ids=["cut", "NaN"]
)
def test_a_call_that_is_not_json_is_refused_because_a_model_may_have_written_it(project, host, data):
    row = next(row for row in load_host(host).events if row.kind_name == "pre-tool-call")
    code, out, err = run(project, host, row.name, data)
    assert code == dict(row.block).get("exit", 0)
    assert NOT_JSON in json.dumps([out, err])
    assert out is not None or code == 2
    (record,) = records(project)
    expected = (record["host"], record["event"], record["decision"], record["hooks"])
    assert (expected, "is not JSON" in record["reasons"][0]) == ((host, "pre-tool-call", "block", []), True)


@pytest.mark.parametrize("host", list_host_names())
@pytest.mark.parametrize("data", ["", "[]"], ids=["nothing", "a list"])
def test_a_call_without_an_event_on_standard_input_is_refused_because_no_hook_was_asked(project, host, data):
    row = next(row for row in load_host(host).events if row.kind_name == "pre-tool-call")
    code, out, err = run(project, host, row.name, data)
    assert code == dict(row.block).get("exit", 0)
    assert "boathook: " in json.dumps([out, err])
    assert (out is not None or code == 2, [record["decision"] for record in records(project)]) == (True, ["block"])


@pytest.mark.parametrize("data", [DEEP, "{"], ids=["deep", "cut"])
def test_a_call_whose_event_is_not_named_beside_it_is_refused_by_exit_2(project, data):
    code, out, err = command(project, "run", "--host", "claude", data=data)
    assert (code, out, err.startswith("boathook: the event on standard input is")) == (2, "", True)


def test_a_host_that_wants_an_answer_to_everything_gets_one(project):
    assert run(project, "cursor", "afterFileEdit", {"hook_event_name": "afterFileEdit"}) == (0, {}, "")
    install(project, "cursor", text="/x/hook_entry.py --host cursor --event E")
    call = {
        "hook_event_name": "PreToolUse",
        "cursor_version": "3",
        "tool_name": "Shell",
        "tool_input": {"command": "ls"},
    }
    assert run(project, "claude", "PreToolUse", call) == (0, {}, "")


def test_a_stop_that_is_not_json_is_a_failure_and_sends_no_agent_back_to_work(project):
    for host, name in (("claude", "Stop"), ("kimi-code", "Stop"), ("copilot", "agentStop"), ("gemini", "AfterAgent")):
        code, out, err = run(project, host, name, "{")
        assert (code, out) == (1, None)
        assert err.startswith(NOT_JSON)


def test_copilot_which_refuses_on_every_failure_gets_the_reason(project):
    code, out, _ = run(project, "copilot", "preToolUse", '{"toolName": 5}')
    assert (code, out["permissionDecision"]) == (0, "deny")
    assert out["permissionDecisionReason"] == "boathook: the tool's name must be text, not a number"
    assert run(project, "claude", "PreToolUse", '{"tool_name": 5}')[:2] == (1, None)


# Calls that a guard must see


SHAPES = {
    "texts": {"commands": ["rm -rf /"]},
    "a program": {"commands": [{"command": "rm", "args": ["-rf", "/"]}]},
    "both": {"commands": ["ls", {"command": "rm", "args": ["-rf", "/"]}]},
    "no list": {"commands": {"command": "rm", "args": ["-rf", "/"]}},
    "cmd": {"cmd": "rm -rf /"},
    "a command": {"command": "rm -rf /"},
    "a program alone": {"command": "rm", "args": ["-rf", "/"]},
    "a bare list": ["rm -rf /"],
    "a bare text": "rm -rf /",
}


@pytest.mark.parametrize("given", SHAPES.values(), ids=SHAPES)
def test_every_shape_in_which_cline_takes_commands_is_one_text_for_a_guard(given):
    call = {"hookName": "PreToolUse", "preToolUse": {"toolName": "run_commands", "parameters": given}}
    event = find_host_dialect("cline").read_event(json.dumps(call).encode(), "PreToolUse")
    assert event.tool_name == "Shell"
    assert event.tool_input["command"].endswith("rm -rf /")
    changed = event.with_data(tool_input={**event.tool_input, "command": "ls"})
    end = find_host_dialect("cline").write_answer(Verdict(changed, event, Outcome()))
    assert json.loads(end.stdout) == {"overrideInput": {"commands": ["ls"]}}


def test_arguments_with_spaces_stay_one_word():
    assert join_lines({"command": "rm", "args": ["-r", "a b", "it's"]}) == """rm -r 'a b' 'it'"'"'s'"""
    assert join_lines([]) is None
    assert join_lines([1]) is None


@pytest.mark.parametrize("given", [{"commands": [5]}, {"shell": "rm -rf /"}, [[]], {"commands": []}], ids=str)
def test_a_call_of_a_shell_in_which_no_command_can_be_read_is_refused(project, given):
    call = {"hookName": "PreToolUse", "preToolUse": {"toolName": "run_commands", "parameters": given}}
    _, out, _ = run(project, "cline", "PreToolUse", call)
    assert out["cancel"] is True
    assert "no command can be read in the input of run_commands" in out["errorMessage"]
    _, out, _ = run(project, "claude", "PreToolUse", {"tool_name": "Bash", "tool_input": {"command": [5]}})
    assert out["hookSpecificOutput"]["permissionDecision"] == "deny"


@pytest.mark.parametrize(
    ("host", "event", "call"),
    [
        ("claude", "PreToolUse", {"tool_name": "Monitor", "tool_input": {"command": "rm -rf /"}}),
        ("qwen", "PreToolUse", {"tool_name": "monitor", "tool_input": {"command": "rm -rf /"}}),
        ("codex", "PreToolUse", {"tool_name": "run_in_terminal", "tool_input": {"command": "rm -rf /"}}),
        ("claude", "PreToolUse", {"tool_name": "run_in_terminal", "timestamp": "t", "tool_input": {"command": "rm -rf /"}}),
        (
            "claude",
            "PreToolUse",
            {"hook_event_name": "BeforeTool", "timestamp": "t", "tool_name": "run_shell_command",
             "tool_input": {"command": "rm -rf /"}},
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("variables", [{}, {"COPILOT_CLI": "1"}], ids=["", "COPILOT_CLI"])
def test_a_shell_is_a_shell_under_any_name_and_in_every_host(project, hook, host, event, call, variables):
    hook("guard", "pre-tool-call", "echo 'not that' >&2; exit 2", matcher="{tool: ^Shell$, pattern: rm -rf}")
    _, out, _ = run(project, host, event, call, **variables)
    assert "not that" in json.dumps(out)


@pytest.mark.parametrize(
    ("tool", "given", "ours"),
    [
        ("Write", {"path": "a", "file_text": "x"}, ("WriteFile", {"file_path": "a", "content": "x"})),
        (
            "Edit",
            {"path": "a", "old_str": "x", "new_str": "y"},
            ("EditFile", {"file_path": "a", "old_string": "x", "new_string": "y"}),
        ),
    ],
)
def test_copilot_has_claude_codes_names_and_its_own_keys_on_claude_codes_path(tool, given, ours):
    fields = {"hook_event_name": "PreToolUse", "timestamp": "t", "tool_name": tool, "tool_input": given}
    assert detect_caller(load_host("claude"), fields, {}) == "copilot"
    event = find_host_dialect("copilot").read_event(json.dumps(fields).encode(), "PreToolUse")
    assert (event.tool_name, event.tool_input) == ours


# What does not fit


def test_a_hook_needs_the_capabilities_it_lists_and_a_guard_needs_to_block():
    answers = {"effects": ["context", "rewrite", "fly"]}
    assert list_wanted_capabilities(a_hook(metadata=answers)) == ("input", "context")
    assert list_wanted_capabilities(a_hook(metadata={"effects": "ask, block"})) == ("block", "ask")
    assert list_wanted_capabilities(a_hook()) == ("block",)
    assert list_wanted_capabilities(a_hook(background=True, metadata=answers)) == ()
    assert list_wanted_capabilities(a_hook(kind=SPELLINGS["SessionEnd"])) == ()


def list_unsupported(hook, host):
    return tuple(one.text for one in find_unsupported(hook, host))


def test_what_a_hook_cannot_do_in_a_host_is_reported():
    everything = a_hook(metadata={"effects": ["block", "ask", "stop", "rewrite", "context"]})
    where = "in Kimi Code at PreToolUse"
    assert list_unsupported(everything, load_host("kimi-code")) == (
        f"it cannot ask {where}: what it asks about is denied instead",
        f"it cannot end the run {where}: the call is blocked instead",
        f"it cannot rewrite anything {where}: what it changes is refused, and the reason names the new input",
        f"the model cannot receive context {where}: you see it instead",
    )
    assert list_unsupported(everything, load_host("claude")) == ()
    assert list_unsupported(a_hook(), load_host("cline")) == (load_host("cline").block_side_effect,)
    assert list_unsupported(a_hook(kind=SPELLINGS["pre-session"]), load_host("codex")) == (
        "it cannot block in Codex CLI at SessionStart: you get a message instead",
    )
    assert list_unsupported(a_hook(kind=SPELLINGS["post-session"]), load_host("vscode")) == (
        "it never runs: VS Code has no event like post-session",
    )
    after = a_hook(kind=SPELLINGS["post-agent-turn"])
    assert list_unsupported(after, load_host("codex")) == ()
    assert list_unsupported(after.replace(metadata={"effects": ["context"]}), load_host("codex")) == (
        "it runs after Stop, but Codex CLI cannot receive its answers: you see them instead",
    )
    assert list_unsupported(after, load_host("opencode")) == ()


def test_a_hook_for_a_tool_that_a_host_has_not_is_reported():
    message = "it matches no tool that Codex CLI is known to have (its matcher: ^NotebookEdit$)"
    assert list_unsupported(a_hook(tool="^NotebookEdit$"), load_host("codex")) == (message,)
    assert list_unsupported(a_hook(tool="^NotebookEdit$"), load_host("claude")) == ()
    assert list_unsupported(a_hook(tool="^mcp__db__.*$"), load_host("codex")) == ()
    assert list_unsupported(a_hook(tool="^Shell$"), load_host("codex")) == ()


@pytest.mark.parametrize(
    ("tool", "host", "about"),
    [
        ("^(WriteFile|EditFile)$", "codex", None),
        ("^(WriteFile|EditFile|Write|Edit|Shell)$", "claude", None),
        ("^WriteFile$", "claude", "it misses file changes in Claude Code: MultiEdit, Edit, NotebookEdit"),
        ("^WriteFile$", "codex", "it misses file changes in Codex CLI: edits by apply_patch"),
        ("^(Write|Edit)$", "claude", "Claude Code: NotebookEdit"),
        ("^run_shell_command$", "claude", "there it would be Bash, PowerShell, Monitor; Shell holds in every agent"),
        ("^(run_shell_command|Write|Edit)$", "codex", "not asked about every tool that it names"),
        ("^run_shell_command$", "gemini", None),
        ("^mcp__db__drop$", "opencode", "by '_', and every split is tried"),
        ("^mcp__db__drop$", "gemini", None),
        ("^mcp__", "opencode", None),
        (
            "^mcp__db__drop$",
            "kimi-cli",
            "does not tell hooks which server a tool is of, so `mcp__` never matches there",
        ),
        ("^mcp__", "kimi-cli", "so `mcp__` never matches there"),
        ("^(mcp__db__.*|Shell)$", "kimi-cli", "`mcp__` never matches there"),
        ("^(mcp__db__)?drop$", "kimi-cli", None),
        ("^(mcp__db__drop|drop)$", "kimi-cli", None),
    ],
)
def test_a_tool_that_has_another_name_or_shape_in_a_host_is_reported_once(tool, host, about):
    found = list_unsupported(a_hook(tool=tool), load_host(host))
    assert len(found) == (about is not None)
    assert about is None or about in found[0]


@pytest.mark.parametrize(
    ("hook", "fix"),
    [
        ({"tool": "^WriteFile$"}, "replace `tool: ^WriteFile$` by `kind: writes`"),
        ({"tool": "^(WriteFile|Shell)$"}, "replace `tool: ^(WriteFile|Shell)$` by `kind: [writes, shell]`"),
        ({"tool": "^WriteFile$", "source": "settings.json"}, "name them in its matcher, too"),
        ({"tool": "^NotebookEdit$"}, "if it is meant for Codex CLI, match one of: Shell,"),
        ({"tool": "^run_shell_command$"}, "add Shell to its matcher"),
        ({"metadata": {"effects": ["ask"]}}, "in Codex CLI a question is a refusal: block instead if you want that"),
        ({"metadata": {"effects": ["stop"]}}, "boathook hosts --capabilities lists what each agent can do"),
    ],
)
def test_each_finding_about_a_host_has_a_fix_that_fits(hook, fix):
    (found,) = find_unsupported(a_hook(**hook), load_host("codex"))
    assert found.fix.startswith(fix)


def test_everything_that_is_wrong_with_a_matcher_is_reported_at_once():
    found = find_unsupported(a_hook(tool="^(run_shell_command|WriteFile|mcp__db__drop)$"), load_host("opencode"))
    assert [each.text.partition(" (")[0].partition(", and")[0] for each in found] == [
        "it is not asked about every tool that it names",
        "it misses file changes in OpenCode: edit, edits by apply_patch",
        "OpenCode joins the names of a server and of its tool by '_'",
    ]
    renamed = find_unsupported(a_hook(tool="^(StrReplaceFile|WriteFile)$"), load_host("gemini"))
    assert [each.text[:47] for each in renamed] == ["it is not asked about every tool that it names "]


def test_a_hook_that_names_a_kind_needs_no_other_names():
    for host in map(load_host, list_host_names()):
        known = list_unsupported(a_hook(), host)
        assert list_unsupported(a_hook(tool_kinds=("writes",)), host) == known
        assert list_unsupported(a_hook(tool="^WriteFile$", tool_kinds=("writes",)), host)[: len(known)] == known


def test_a_hook_that_looks_at_files_afterwards_may_leave_some_out():
    late = a_hook(tool="^WriteFile$", kind=SPELLINGS["post-tool-call"], metadata={"effects": []})
    assert list_unsupported(late, load_host("claude")) == ()


def test_check_reports_what_does_not_fit_and_is_strict_if_asked(project, hook):
    hook("guard", "pre-session", "exit 2")
    folder = ("--project", str(project.path))
    code, out, _ = command(project, "check", "--host", "codex", "--host", "claude", "--json", *folder)
    messages = [(one["key"], one["level"], one["message"]) for one in json.loads(out)["diagnostics"]]
    words = "hook 'guard': it cannot block in {} at SessionStart: you get a message instead"
    assert (code, messages) == (
        0,
        [
            ("host codex", "warning", words.format("Codex CLI")),
            ("host claude", "warning", words.format("Claude Code")),
        ],
    )
    assert command(project, "check", "--strict", "--host", "codex", *folder)[0] == 1
    assert command(project, "check", "--strict", *folder)[0] == 0
