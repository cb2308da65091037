"""Runs with file hooks: HOOK.md and settings.json see calls under the names they know, and their changes come back under ours."""

from __future__ import annotations

import json

import pytest

from boathook import ConfigError, Hooks, ToolCall
from boathook.inprocess.name_map import NameMap

BASH = ToolCall("bash", {"cmd": "rm -rf /"}, "c1")
GUARD = """#!/bin/sh
read -r event
echo "$event" >> "{seen}"
case "$event" in
  *rm*) echo "no rm" >&2; exit 2;;
  *slow*) echo '{{"modified_input": {{"command": "fast"}}, "additional_context": "hurry"}}';;
  *maybe*) echo '{{"decision": "ask", "reason": "sure?"}}';;
esac
"""


@pytest.fixture
def hooks(project):
    """Hooks with a guard for `Shell`, which notes the events that it reads and answers by what the command says."""
    project.write_hook(
        "guard", GUARD.format(seen=project.base / "seen"), fields={"matcher": {"tool": "Shell"}}, scope="project"
    )
    made = Hooks()
    with made.load(project.path, trust_all=True):
        yield made


def read_seen(project):
    path = project.base / "seen"
    return [json.loads(line) for line in path.read_text().splitlines() if line] if path.exists() else []


def get_args(call: ToolCall) -> dict[str, str]:
    return dict(call.args)


def test_a_hook_for_shell_guards_a_tool_named_bash(project, hooks):
    with hooks.run("s1", work_dir=project.path) as run:
        assert run.tool(BASH, pytest.fail).text == "no rm"
        assert run.tool(ToolCall("bash", {"cmd": "ls"}), get_args).result == {"cmd": "ls"}
    event = read_seen(project)[0]
    assert (event["tool_name"], event["tool_input"]) == ("Shell", {"command": "rm -rf /"})
    assert (event["host_tool_name"], event["session_id"], event["tool_use_id"]) == ("bash", "s1", "c1")


def test_a_change_comes_back_under_the_names_of_the_program(hooks):
    run = hooks.run()
    outcome = run.tool(ToolCall("bash", {"cmd": "slow"}), get_args)
    assert outcome.result == {"cmd": "fast"}
    assert run.take_context() == ("hurry",)


@pytest.mark.parametrize("method", ["tool", "before"])
def test_a_question_of_a_script_is_asked_once_and_the_script_runs_once(project, hooks, method):
    call, run = ToolCall("bash", {"cmd": "maybe"}, "c1"), hooks.run(can_ask=True)
    arguments = (call, get_args) if method == "tool" else (call,)
    asked = getattr(run, method)(*arguments)
    assert asked.ask.reason == "sure?"
    run.answer(asked.ask.token, True)
    assert getattr(run, method)(*arguments).proceeds
    assert len(read_seen(project)) == 1


def test_a_question_of_a_script_blocks_if_no_person_can_be_asked(hooks):
    assert hooks.run().before(ToolCall("bash", {"cmd": "maybe"})).text == "sure? (no person can be asked)"


def test_a_mapped_tool_is_guarded_under_its_mapped_name_and_keys(project, hooks):
    run = hooks.run(names={"do_it": "Bash"}, arguments={"do_it": {"what": "command"}})
    assert run.tool(ToolCall("do_it", {"what": "rm x"}), pytest.fail).text == "no rm"
    assert run.tool(ToolCall("do_it", {"what": "slow"}), get_args).result == {"what": "fast"}
    assert not hooks.run().tool(ToolCall("do_it", {"what": "rm x"}), get_args).is_blocked


def test_a_tool_that_is_mapped_to_itself_is_not_guessed(project, hooks):
    assert hooks.run(names={"bash": "bash"}).tool(BASH, get_args).proceeds
    assert read_seen(project) == []


def test_two_keys_for_one_thing_that_differ_block_the_call(hooks):
    outcome = hooks.run().tool(ToolCall("bash", {"cmd": "rm x", "command": "ls"}), pytest.fail)
    assert outcome.text.startswith("the keys 'cmd' and 'command' differ")
    assert hooks.run().tool(ToolCall("bash", {"cmd": "ls", "command": "ls"}), get_args).proceeds


def test_a_python_hook_may_match_either_name_and_sees_those_of_the_program(hooks):
    seen = []
    for name in ("bash", "Shell", "Bash", "She*", "/^bash$/", "ReadFile"):
        hooks.before_tool(match=name)(lambda context, name=name: seen.append((name, context.name, dict(context.args))))
    hooks.run().tool(ToolCall("bash", {"cmd": "ls"}), get_args)
    assert seen == [(name, "bash", {"cmd": "ls"}) for name in ("bash", "Shell", "Bash", "She*", "/^bash$/")]


@pytest.mark.parametrize(
    ("name", "args", "tool", "keys"),
    [
        ("bash", {"command": "ls"}, "Shell", ()),
        ("run-command", {"cmd": "ls"}, "Shell", (("cmd", "command"),)),
        ("read_file", {"path": "x"}, "ReadFile", (("path", "file_path"),)),
        ("Shell", {"script": "ls"}, "Shell", (("script", "command"),)),
        ("task", {"title": "x"}, None, ()),
        ("create", {"name": "x"}, None, ()),
        ("weather", {"city": "x"}, None, ()),
        ("Shell", {"command": "ls"}, None, ()),
    ],
)
def test_a_tool_is_guessed_only_if_name_and_input_fit(name, args, tool, keys):
    naming = NameMap().find(name, args)
    assert (None if naming is None else (naming.tool, naming.keys)) == (None if tool is None else (tool, keys))


def test_what_is_guessed_can_be_read():
    names = NameMap({"do_it": "Shell"})
    assert names.describe("bash", {"cmd": "x"}) == (
        "'bash': file hooks call it 'Shell', 'cmd' is 'command' (guessed; set it with names= and arguments=)"
    )
    assert names.describe("do_it", {"command": "x"}) == "'do_it': file hooks call it 'Shell'"
    assert names.describe("weather", {}) == "'weather': file hooks use the same name"


def test_two_arguments_cannot_be_the_same_key():
    with pytest.raises(ConfigError, match="two arguments of the tool 'x'"):
        NameMap(arguments={"x": {"a": "command", "b": "command"}})


def test_settings_hooks_see_the_names_of_claude_code(project):
    seen = project.base / "seen"
    entry = {"type": "command", "command": f"cat >> {seen}; echo >> {seen}"}
    project.write_settings("project", {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [entry]}]}})
    hooks = Hooks()
    with hooks.load(project.path, trust_all=True):
        hooks.run("s1").tool(ToolCall("bash", {"cmd": "ls"}), get_args)
    event = read_seen(project)[0]
    assert (event["tool_name"], event["tool_input"]) == ("Bash", {"command": "ls"})


def test_the_ledger_has_the_calls_of_a_run(project):
    project.write_hook(
        "guard", GUARD.format(seen=project.base / "seen"), fields={"matcher": {"tool": "Shell"}}, scope="project"
    )
    project.trust("guard")
    hooks = Hooks()
    with hooks.load(project.path, state=project.state, config=project.config):
        assert hooks.run("s1").tool(BASH, pytest.fail).text.startswith("no rm")
    assert "no rm" in project.run("why").stdout


def test_an_untrusted_hook_does_not_run_and_the_person_reads_it(project):
    project.write_hook(
        "guard", GUARD.format(seen=project.base / "seen"), fields={"matcher": {"tool": "Shell"}}, scope="project"
    )
    hooks = Hooks()
    with hooks.load(project.path, state=project.state, config=project.config):
        run = hooks.run("s1")
        assert run.tool(BASH, get_args).proceeds
    assert run.take_messages() == ("hooks of this project did not run: guard (untrusted). Review them: boathook trust",)
