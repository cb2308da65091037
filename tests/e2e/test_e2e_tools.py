"""A tool that an agent offers and that no guard would know makes the judge report FAILED."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from boathook.hosts.host import list_host_names, load_host
from e2e.hosts import AGENTS, agent
from e2e.judge import BEHAVIOURS, FAILED, judge, offered
from e2e.server import Request
from e2e.stage import CONTROL, HOOKED, LOOK_UP, STEPS, Observation
from e2e.tools import HARMLESS, UNHEARD

TEXT = {"type": "string"}
TEXTS = {"type": "array", "items": TEXT}
ONE_OR_NONE = {"anyOf": [{"type": "null"}, TEXT]}
FILES = {"type": "array", "items": {"type": "object", "properties": {"path": TEXT, "line": {"type": "integer"}}}}


def tool(name: str, /, **keys: object) -> dict[str, object]:
    return {"name": name, "input_schema": {"type": "object", "properties": keys}}


def seen(host: str, tools: list[dict[str, object]], variant: str = CONTROL, said: str = "") -> Observation:
    body = json.dumps({"messages": [{"role": "user", "content": [{"text": said}]}], "tools": tools})
    return Observation(host, variant, "1", 0, 1.0, [Request(0.0, "/v1/messages", "stop", True, body)])


def find_problems(host: str, tools: list[dict[str, object]], variant: str = CONTROL, said: str = "") -> str:
    """Return what the judge reports about the tools alone, in one of the two runs."""
    one, other = seen(host, tools, variant, said), seen(host, [], HOOKED if variant == CONTROL else CONTROL)
    pair = (other, one) if variant == CONTROL else (one, other)
    found = judge(*pair, load_host(host))
    wrong = {result.note for result in found.values() if f"the run {variant}" in result.note}
    if wrong:
        assert {result.state for result in found.values()} == {FAILED}
        assert len(found) == len(BEHAVIOURS)
    return "; ".join(wrong)


@pytest.mark.parametrize("variant", [CONTROL, HOOKED])
def test_a_tool_that_nothing_is_known_of_fails_its_host_by_name(variant):
    found = find_problems(
        "gemini", [tool("run_shell_command", command=TEXT), tool("launch_rocket", command=TEXT)], variant
    )
    assert "the tool launch_rocket is neither in the table of Gemini CLI nor known as harmless" in found
    assert "run_shell_command" not in found


def test_known_tools_pass():
    assert find_problems("gemini", [tool("run_shell_command", command=TEXT), tool("update_topic", title=TEXT)]) == ""
    assert find_problems("opencode", [tool("bash", command=TEXT), tool("skill", name=TEXT)]) == ""


def test_a_tool_is_declared_harmless_for_one_host_at_a_time():
    assert "the tool update_topic is neither" in find_problems("opencode", [tool("update_topic", title=TEXT)])


@pytest.mark.parametrize(
    ("host", "name", "good", "bad", "key"),
    [
        ("gemini", "run_shell_command", {"command": TEXT}, {"script": TEXT}, "command"),
        ("gemini", "run_shell_command", {"command": {"type": "STRING"}}, {"command": {"type": "INTEGER"}}, "command"),
        ("gemini", "write_file", {"file_path": TEXT}, {"path": TEXT}, "file_path"),
        ("gemini", "replace", {"file_path": ONE_OR_NONE}, {"absolute_path": TEXT}, "file_path"),
        ("copilot", "view", {"path": TEXT}, {"filePath": TEXT}, "file_path"),
        ("copilot", "create", {"path": {"type": ["null", "string"]}}, {"target": TEXT}, "file_path"),
        ("opencode", "edit", {"filePath": TEXT}, {"path": TEXT}, "file_path"),
        ("cline", "run_commands", {"commands": TEXTS}, {"scripts": TEXTS}, "command"),
        ("cline", "run_commands", {"commands": TEXTS}, {"commands": {"type": "array", "items": {}}}, "command"),
        ("codex", "exec_command", {"cmd": TEXT}, {"argv": TEXTS}, "command"),
    ],
)
def test_what_guards_look_at_must_become_their_key(host, name, good, bad, key):
    assert find_problems(host, [tool(name, **good)]) == ""
    found = find_problems(host, [tool(name, **bad)])
    assert f"the tool {name} is " in found
    assert f"nothing of its input becomes {key}: {next(iter(bad))}" in found


def test_a_key_that_the_table_drops_is_a_failure():
    table = load_host("gemini")
    tools = {**table.tools, "read_file": ("ReadFile", (("", "file_path"),))}
    broken = type(table)(**{**table.__dict__, "tools": tools})
    run = seen("gemini", [tool("read_file", files=FILES)])
    found = judge(replace(run, variant=HOOKED), run, broken)["block"]
    assert (found.state, "nothing of its input becomes file_path: files" in found.note) == (FAILED, True)


LISTED = """The following deferred tools are now available via ToolSearch. Use it:
Monitor
NewTool

Available agent types:
- claude: anything"""
MENTIONED = """reachable through `tool_search` and `tool_call`. Review.

### Bundled
- "monitor": "Starts a \\"long\\" command."
- "new_tool": "x"
</system-reminder>
- "no_tool": "y"
"""
CLAUDE_SEARCH, QWEN_SEARCH = tool("ToolSearch", query=TEXT), tool("tool_search", query=TEXT)


def test_a_tool_that_is_only_named_counts_as_offered():
    for host, answer, name in (("claude", LISTED, "NewTool"), ("qwen", MENTIONED, "new_tool")):
        search = CLAUDE_SEARCH if host == "claude" else QWEN_SEARCH
        _, reported = offered(seen(host, [search], said=answer), agent(host))
        assert {one.lower() for one in reported} == {"monitor", name.lower()}
        assert f"the tool {name} is neither" in find_problems(host, [search], HOOKED, answer)


def test_a_list_of_names_that_is_not_found_is_an_error():
    assert "ToolSearch is offered, but the list" in find_problems("claude", [CLAUDE_SEARCH], said="other words")
    assert "tool_search is offered, but the list" in find_problems("qwen", [QWEN_SEARCH])


def test_the_input_of_what_is_only_named_must_be_looked_up():
    text = LISTED.replace("NewTool\n", "")
    assert "the tool Monitor is Shell here, but its input was not looked up" in find_problems("claude", [], said=text)
    assert find_problems("claude", [], HOOKED, text) == ""
    assert find_problems("claude", [tool("Monitor", command=TEXT)], said=text) == ""
    assert "nothing of its input becomes command: script" in find_problems(
        "claude", [tool("Monitor", script=TEXT)], said=text
    )


def test_what_is_declared_in_a_text_is_found():
    def declare(key: str) -> str:
        declared = {"name": "monitor", "parameters": {"properties": {key: TEXT}}}
        return f"{MENTIONED.replace('new_tool', 'task_stop')}<function>{json.dumps(declared)}</function>"

    assert find_problems("qwen", [], said=declare("command")) == ""
    assert "nothing of its input becomes command: script" in find_problems("qwen", [], said=declare("script"))


def test_the_look_up_is_not_a_request_of_the_proof():
    names = [LOOK_UP, *(step.name for step in STEPS[:-1])]
    requests = [Request(float(number), "/v1/messages", step, True, "") for number, step in enumerate(names)]
    control = replace(seen("claude", []), requests=requests)
    found = judge(seen("claude", [], HOOKED), control, load_host("claude"))["stop"]
    assert "without hooks the agent made" not in found.note


def test_a_tool_that_calls_no_hook_is_reported():
    shell = tool("exec_command", cmd=TEXT)
    assert find_problems("codex", [shell, tool("write_stdin", chars=TEXT)]) == ""
    files = {"forbidden-word": 1.0, "before-word": 1.0}
    control = replace(seen("codex", [shell]), files=files)

    def note(tools: list[dict[str, object]]) -> str:
        run = seen("codex", tools, HOOKED)
        steps = [replace(run.requests[0], step="block"), replace(run.requests[0], body=run.requests[0].body + BLOCKED)]
        return judge(replace(run, requests=steps), control, load_host("codex"))["block"].note

    from e2e.judge import BLOCKED

    assert note([shell]) == ""
    assert "calls no hook for write_stdin" in note([shell, tool("write_stdin", chars=TEXT)])


def test_a_tool_is_in_one_list_and_has_a_reason_there():
    assert {*HARMLESS, *UNHEARD} <= {one.name for one in AGENTS} <= set(list_host_names())
    for host in HARMLESS:
        lists = [set(HARMLESS[host]), set(UNHEARD.get(host, {})), set(load_host(host).tools)]
        assert len(set().union(*lists)) == sum(map(len, lists)), host
        assert all({**HARMLESS[host], **UNHEARD.get(host, {})}.values())


def test_an_alias_is_a_tool_of_the_table():
    for one in AGENTS:
        assert all(alias.name in load_host(one.name).tools for alias in one.aliases.values())
