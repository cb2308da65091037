"""Hooks of `pre-subagent` can refuse a subagent in every agent: they are asked at the tool call that starts it, and only once."""

from __future__ import annotations

import json

import pytest

from boathook.hosts.host import HostEvent, find_subagent_call, list_host_names, load_host
from tests.scratch_project import ScratchProject

CALLED = [host for host in list_host_names() if find_subagent_call(load_host(host)) is not None]
STARTED = [host for host in CALLED if any(row.kind_name == "pre-subagent" for row in load_host(host).events)]


def list_agent_tools(host: str) -> list[str]:
    return [name for name, (ours, _) in load_host(host).tools.items() if ours == "Agent"]


def send(project: ScratchProject, host: str, row: HostEvent, fields: dict[str, object]) -> tuple[int, str]:
    table = load_host(host)
    data = {table.session_keys[0]: "s", table.folder_keys[0].partition(".")[0]: str(project.path), **fields}
    if "." in table.folder_keys[0]:
        data[table.folder_keys[0].partition(".")[0]] = [str(project.path)]
    done = project.run("run", "--host", host, "--event", row.name, stdin=json.dumps(data))
    return done.returncode, done.stdout + done.stderr


def call(project: ScratchProject, host: str, tool: str, prompt: str = "look around") -> tuple[int, str]:
    row = next(row for row in load_host(host).events if row.kind_name == "pre-tool-call")
    renames = load_host(host).tools[tool][1]
    prompt_key = next((theirs for theirs, ours in renames if ours == "prompt"), "prompt")
    type_key = next((theirs for theirs, ours in renames if ours == "subagent_type"), "subagent_type")
    tool_input = {prompt_key: prompt, type_key: "explore"}
    fields: dict[str, object] = {"tool_name": tool, "tool_input": tool_input}
    if host == "cline":
        fields = {"tool_call": {"name": tool, "input": tool_input}}
    return send(project, host, row, fields)


def start(project: ScratchProject, host: str, agent_type: str = "explore") -> tuple[int, str]:
    row = next(row for row in load_host(host).events if row.kind_name == "pre-subagent")
    return send(project, host, row, {"agent_type": agent_type, "agentType": agent_type, "agent_name": agent_type})


def count_runs(project: ScratchProject) -> int:
    seen = project.base / "seen"
    return len(seen.read_text().splitlines()) if seen.exists() else 0


def test_the_agents_that_cannot_refuse_a_subagent_by_their_own_event_are_known():
    never = {"kiro-cli", "windsurf"}
    assert {*CALLED} == {*list_host_names()} - {"cursor"} - never
    assert {*STARTED} == {"claude", "codex", "copilot", "kimi-cli", "kimi-code", "qwen", "vscode"}


@pytest.mark.parametrize(("host", "tool"), [(host, tool) for host in CALLED for tool in list_agent_tools(host)])
def test_a_hook_refuses_the_call_that_starts_a_subagent(project, host, tool):
    guard = f"cat > {project.base}/read.json; echo too many >&2; exit 2"
    project.write_hook("cap", guard, fields={"trigger": "pre-subagent"})
    code, output = call(project, host, tool)
    row = next(row for row in load_host(host).events if row.kind_name == "pre-tool-call")
    assert "too many" in output
    assert code == dict(row.block).get("exit", 0)
    assert all(f'"{value}"' in output for _, value in row.block if isinstance(value, str) and value != "$")
    read = json.loads((project.base / "read.json").read_text())
    wanted = ("pre-subagent", row.name, "look around")
    assert (read["event_type"], read["derived_from"], read["task_description"]) == wanted
    assert "tool_name" not in read


@pytest.mark.parametrize("host", CALLED)
def test_another_tool_asks_no_hook_of_subagents(project, host):
    project.write_hook("cap", "exit 2", fields={"trigger": "pre-subagent"})
    row = next(row for row in load_host(host).events if row.kind_name == "pre-tool-call")
    assert send(project, host, row, {"tool_name": "Glob", "tool_input": {"pattern": "x"}})[0] == 0


@pytest.mark.parametrize("host", STARTED)
def test_hooks_are_asked_once_if_the_agents_own_event_follows(project, host):
    project.write_hook("seen", f"echo x >> {project.base}/seen", fields={"trigger": "pre-subagent"})
    call(project, host, list_agent_tools(host)[0])
    assert count_runs(project) == 1
    start(project, host)
    assert count_runs(project) == 1
    # Another one, which no tool call announced.
    start(project, host)
    assert count_runs(project) == 2


def test_a_call_announces_a_subagent_of_its_own_type_only(project):
    project.write_hook("seen", f"echo x >> {project.base}/seen", fields={"trigger": "pre-subagent"})
    call(project, "claude", "Agent")
    start(project, "claude", "deployer")
    assert count_runs(project) == 2
    start(project, "claude", "explore")
    assert count_runs(project) == 2


@pytest.mark.parametrize("host", [host for host in STARTED if find_subagent_call(load_host(host)).context])
def test_context_for_the_subagent_waits_for_the_agents_own_event(project, host):
    context = """echo '{"additional_context": "know this"}'"""
    project.write_hook("context", context, fields={"trigger": "pre-subagent"})
    assert "know this" not in call(project, host, list_agent_tools(host)[0])[1]
    assert "know this" in start(project, host)[1]


def test_context_that_no_event_can_deliver_is_reported(project):
    project.write_hook("context", """echo '{"additional_context": "know this"}'""", fields={"trigger": "pre-subagent"})
    message = "a hook has context for a subagent, which Gemini CLI cannot take: know this"
    assert message in call(project, "gemini", "invoke_agent")[1]
    (record,) = [json.loads(line) for line in project.run("log", "--json").stdout.splitlines()]
    assert (record["event"], record["derived"], record["degraded"]) == ("pre-subagent", "BeforeTool", [message])


def test_a_refused_call_starts_nothing_that_hooks_would_be_asked_about(project):
    project.write_hook("guard", "echo no >&2; exit 2", fields={"trigger": "pre-tool-call"})
    project.write_hook("seen", f"echo x >> {project.base}/seen", fields={"trigger": "pre-subagent"})
    assert "no" in call(project, "claude", "Agent")[1]
    assert count_runs(project) == 0


def test_an_approval_of_the_subagent_is_not_one_of_the_call(project):
    project.write_hook("yes", """echo '{"decision": "allow"}'""", fields={"trigger": "pre-subagent"})
    assert call(project, "claude", "Agent") == (0, "")


def test_a_hook_that_asks_makes_the_agent_ask_about_the_call(project):
    project.write_hook("ask", """echo '{"decision": "ask", "reason": "sure?"}'""", fields={"trigger": "pre-subagent"})
    answer = json.loads(call(project, "claude", "Agent")[1])["hookSpecificOutput"]
    assert (answer["permissionDecision"], answer["permissionDecisionReason"]) == ("ask", "sure?")


def test_cursor_refuses_by_its_own_event_and_hooks_are_not_asked_at_the_call(project):
    project.write_hook("seen", f"echo x >> {project.base}/seen; exit 2", fields={"trigger": "pre-subagent"})
    call(project, "cursor", "Task")
    assert count_runs(project) == 0
    assert '"deny"' in start(project, "cursor")[1]


def test_what_was_remembered_of_a_subagent_is_forgotten_with_the_session(project):
    project.write_hook("seen", f"echo x >> {project.base}/seen", fields={"trigger": "pre-subagent"})
    call(project, "claude", "Agent")
    row = load_host("claude").find_event("SessionEnd")
    assert row is not None
    project.write_hook("end", "exit 0", fields={"trigger": "post-session"})
    send(project, "claude", row, {})
    assert [path.name for path in (project.state / "sessions").iterdir()] == []


def test_a_call_in_a_folder_that_the_model_chose_does_not_hide_the_projects_guard_of_subagents(project):
    project.write_hook("watch", "exit 0", scope="project")
    project.write_hook("cap", "echo too many >&2; exit 2", scope="project", fields={"trigger": "pre-subagent"})
    project.trust()
    other = project.base / "other"
    other.mkdir()
    (tool, *_) = list_agent_tools("codex")
    row = next(row for row in load_host("codex").events if row.kind_name == "pre-tool-call")
    fields = {"tool_name": tool, "tool_input": {"prompt": "x"}, "cwd": str(other)}
    # The hook of the call runs in that folder; the project is the folder in which Codex started us.
    assert "too many" in send(project, "codex", row, fields)[1]
