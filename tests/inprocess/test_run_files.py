"""Runs with file hooks: HOOK.md and settings.json see calls under the names they know, and their changes come back under ours."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import Any

import pytest

from boathook import AgentBuilder, Blocked, ConfigError, Hooks, Outcome, ScriptedModel, ToolCall
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


@pytest.mark.parametrize("method", ["tool", "before"])
def test_a_call_without_an_id_that_is_made_again_has_its_answer(project, hooks, method):
    for is_allowed, is_same_object in itertools.product((True, False), (True, False)):
        call, run = ToolCall("bash", {"cmd": "maybe"}), hooks.run(can_ask=True)
        count = len(read_seen(project))
        rest = (get_args,) if method == "tool" else ()
        asked = getattr(run, method)(call, *rest)
        assert getattr(run, method)(call, *rest).ask.token == asked.ask.token
        run.answer(asked.ask.token, is_allowed)
        again = getattr(run, method)(call if is_same_object else asked.ask.call, *rest)
        assert (again.proceeds, again.ask) == (is_allowed, None)
        assert len(read_seen(project)) == count + 1
        if method == "tool":
            # An answer is for one call: the same object is a new one then.
            assert run.tool(call, get_args).ask.token not in ("", asked.ask.token)


def test_the_call_of_a_question_can_be_made_although_hooks_have_changed_it():
    hooks, seen = Hooks(), []

    @hooks.before_tool(priority=2)
    def add_more(context):
        seen.append(context.args["line"])
        return context.replace(args={"line": f"{context.args['line']}!"})

    hooks.before_tool(priority=1)(lambda context: Outcome.ask("sure?"))
    for call in (ToolCall("run_it", {"line": "ls"}), ToolCall("run_it", {"line": "ls"}, "c1")):
        run = hooks.run(can_ask=True)
        asked = run.tool(call, get_args).ask
        assert asked is not None
        assert asked.call.args == {"line": "ls!"}
        run.answer(asked.token, True)
        assert run.tool(asked.call, get_args).result == {"line": "ls!"}
    assert seen == ["ls", "ls"]


def test_a_question_of_a_script_blocks_where_no_person_can_be_asked(hooks):
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


def run_bare_calls(hooks, line):
    """Call a tool named bash in every way that needs no run; return what each returned, or why it was blocked."""

    def bash(cmd):
        return cmd

    async def abash(cmd):
        return cmd

    call = ToolCall("bash", {"cmd": line})
    ways = [
        lambda: hooks.guard(bash)(line),
        lambda: asyncio.run(hooks.guard(abash, name="bash")(line)),
        lambda: hooks.stack.run_tool(call, lambda made: made.args["cmd"]),
        lambda: asyncio.run(hooks.stack.arun_tool(call, lambda made: made.args["cmd"])),
        lambda: run_agent(hooks, bash, line),
    ]
    return [_call_or_read_refusal(way) for way in ways]


def run_agent(hooks, tool, line):
    model = ScriptedModel([ToolCall("bash", {"cmd": line}), "done"])
    result = AgentBuilder().with_model(model).with_hooks(hooks).with_tools(tool).build().run("go")
    return result.steps[0].results[0].text


def _call_or_read_refusal(way):
    try:
        return way()
    except Blocked as error:
        return str(error)


def test_calls_outside_of_a_run_are_guessed_as_in_a_run(project, hooks):
    assert run_bare_calls(hooks, "rm x") == ["no rm"] * 5
    assert run_bare_calls(hooks, "slow") == ["fast"] * 5
    assert {(event["tool_name"], event["host_tool_name"]) for event in read_seen(project)} == {("Shell", "bash")}


def test_a_python_hook_for_shell_matches_a_tool_named_bash_outside_of_a_run():
    hooks = Hooks()
    hooks.before_tool(match="Shell")(lambda context: Outcome.block(f"no {context.tool_input['command']}"))
    assert run_bare_calls(hooks, "ls") == ["no ls"] * 5


def test_two_keys_for_one_thing_block_a_guarded_function_too(hooks):
    with pytest.raises(Blocked, match="the keys 'cmd' and 'command' differ"):
        hooks.guard(lambda cmd, command: pytest.fail("it ran"), name="bash")("rm x", "ls")
    with hooks.run(), pytest.raises(Blocked, match="the keys 'cmd' and 'command' differ"):
        hooks.guard(lambda cmd, command: pytest.fail("it ran"), name="bash")("rm x", "ls")


def test_a_python_hook_reads_the_input_under_the_keys_of_file_hooks():
    hooks, seen = Hooks(), []
    hooks.before_tool(match="Shell")(lambda context: seen.append((context.tool_input, context.args)))
    hooks.before_tool(match="weather")(lambda context: seen.append((context.tool_input, context.args)))
    run = hooks.run(names={"run_it": "Shell"}, arguments={"run_it": {"line": "command"}})
    run.tool(ToolCall("run_it", {"line": "ls"}), get_args)
    run.tool(ToolCall("weather", {"city": "Cork"}), get_args)
    assert seen == [({"command": "ls"}, {"line": "ls"}), ({"city": "Cork"}, {"city": "Cork"})]
    with pytest.raises(TypeError, match="read-only"):
        seen[0][0]["command"] = "rm x"


def test_a_python_hook_may_match_either_name_and_sees_those_of_the_program(hooks):
    seen = []
    for name in ("bash", "Shell", "Bash", "She*", "/^bash$/", "ReadFile"):
        hooks.before_tool(match=name)(lambda context, name=name: seen.append((name, context.name, dict(context.args))))
    hooks.run().tool(ToolCall("bash", {"cmd": "ls"}), get_args)
    assert seen == [(name, "bash", {"cmd": "ls"}) for name in ("bash", "Shell", "Bash", "She*", "/^bash$/")]


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"names": {"bash": "Shel"}}, "names= maps 'bash' to 'Shel', which file hooks do not know; did you mean 'Shell'?"),
    ({"names": {"x": "SHELL"}}, "did you mean 'Shell'?"),
    ({"names": {"x": "WebSerch"}}, "did you mean 'WebSearch'?"),
    ({"names": {"bash": ""}}, "names cannot map 'bash' to ''; write it as in {\"bash\": \"Shell\"}"),
    ({"names": {"bash": None}}, "names cannot map 'bash' to None"),
    ({"names": ["bash"]}, 'names must be a mapping such as {"bash": "Shell"}, not [\'bash\']'),
    ({"arguments": {"bash": "command"}}, "arguments cannot map 'bash' to 'command'"),
    (
        {"arguments": {"x": {"a": "command", "b": "command"}}},
        "two arguments of the tool 'x' are mapped to the same key",
    ),
    (
        {"names": {"go": "Shell"}, "arguments": {"go": {"x": "comand"}}},
        "arguments= of the tool 'go': 'comand' is not a key of Shell, as file hooks know it; did you mean 'command'?",
    ),
    (
        {"names": {"go": "Shell"}, "arguments": {"go": {"x": "town"}}},
        "its keys are command, cwd, timeout, run_in_background, description",
    ),
    (
        {"names": {"go": "Shell"}, "arguments": {"go": {"command": "cmd"}}},
        "your own key comes first: write {'cmd': 'command'}",
    ),
    ({"arguments": {"bash": {"cmd": "comand"}}}, "did you mean 'command'?"),
    ({"names": {"Shell": "run_it"}}, "Your own name comes first: write {'run_it': 'Shell'}"),
    ({"names": {"Shell": "bash"}}, "Your own name comes first: write {'bash': 'Shell'}"),
]


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


def test_mistakes_in_a_map_of_names_are_errors_with_what_to_write():
    for mistake, message in MISTAKES:
        with pytest.raises(ConfigError) as raised:
            Hooks().run(**mistake)
        assert message in str(raised.value)


def test_maps_of_names_may_have_what_only_the_program_knows():
    for names, arguments in (
        ({"deploy": "release"}, {"deploy": {"to": "environment"}}),
        ({"x": "mcp__files__read_file"}, None),
        ({"x": "x"}, {"x": {"a": "b"}}),
        ({"Shell": "Shell", "Grep": "Glob"}, None),
        (None, {"execute": {"q": "sql"}, "weather": {"town": "city"}}),
    ):
        found = NameMap(names, arguments)
        for name, keys in (arguments or {}).items():
            naming = found.find(name, dict.fromkeys(keys, "text"))
            assert naming is not None
            assert naming.keys == tuple(keys.items())
        for name, tool in (names or {}).items():
            naming = found.find(name, {})
            assert (name if naming is None else naming.tool) == tool


def test_arguments_alone_leave_the_name_of_the_tool_to_a_guess():
    naming = NameMap(arguments={"bash": {"text": "command"}}).find("bash", {"text": "ls"})
    assert naming is not None
    assert (naming.tool, naming.keys, naming.is_guess) == ("Shell", (("text", "command"),), True)
    own = NameMap({"bash": "bash"}, {"bash": {"text": "command"}}).find("bash", {"text": "ls"})
    assert own is not None
    assert own.tool == "bash"


def test_names_that_an_agent_does_not_have_are_found_once_its_tools_are_known():
    names = NameMap({"run_bsh": "Shell", "deploy": "Shell"}, {"reed": {"p": "file_path"}})
    assert names.check_tools(["run_bsh", "deploy", "reed"]) == ()
    assert names.check_tools(["run_bsh", "weather"]) == ("deploy", "reed")
    with pytest.raises(ConfigError, match="'run_bsh', which is not a tool of the agent; did you mean 'run_bash'"):
        names.check_tools(["run_bash", "deploy", "reed"])
    with pytest.raises(ConfigError, match="'bahs', which is not a tool of the agent; did you mean 'bash'"):
        NameMap({"bahs": "Shell"}).check_tools(["bash", "write"])
    # Both are tools of the program.
    assert names.check_tools(["run_bsh", "run_bash", "deploy", "reed"]) == ()


def test_a_call_of_a_tool_that_is_named_almost_like_a_mapped_one_is_reported_once(caplog):
    run = Hooks().run(names={"my_bsh": "Shell"})
    for _ in range(2):
        run.tool(ToolCall("my_bash", {"x": "ls"}), get_args)
    run.tool(ToolCall("my_bash", {"y": "ls"}), get_args)
    assert [record.getMessage() for record in caplog.records] == [
        "the agent calls the tool 'my_bash', but names= or arguments= has 'my_bsh'; did you mean 'my_bash' there?"
    ]


def test_a_mistake_in_arguments_is_found_although_names_has_the_tool(caplog):
    given: dict[str, Any] = {"names": {"run_it": "Shell"}, "arguments": {"runit": {"line": "command"}}}
    with pytest.raises(
        ConfigError, match="arguments= has 'runit', which is not a tool of the agent; did you mean 'run_it'"
    ):
        NameMap(**given).check_tools(["run_it", "weather"])
    Hooks().run(**given).tool(ToolCall("run_it", {"command": "ls"}), get_args)
    assert "did you mean 'run_it' there?" in caplog.text
    caplog.clear()
    both = {"run_it": "Shell", "run_its": "Shell"}
    Hooks().run(names=both, arguments={"run_its": {"line": "command"}}).tool(
        ToolCall("run_it", {"command": "ls"}), get_args
    )
    assert not caplog.records


@pytest.mark.parametrize(
    ("maps", "name"),
    [
        ({"names": {"run_it": "Shell"}, "arguments": {"run_it": {"lin": "command"}}}, "run_it"),
        ({"names": {"run_it": "Shell"}}, "run_it"),
        ({"arguments": {"bash": {"lin": "command"}}}, "bash"),
    ],
)
def test_a_call_of_a_mapped_tool_without_its_main_key_is_reported_once(caplog, maps, name):
    run = Hooks().run(**maps)
    for args in ({"line": "ls"}, {"line": "ls", "more": 1}, {}):
        run.tool(ToolCall(name, args), get_args)
    [message] = [record.getMessage() for record in caplog.records]
    assert message.startswith(f"hooks for Shell cannot see what the tool '{name}' gets: a call has no 'command'")
    assert message.endswith(f'(they are: line). Write arguments={{"{name}": {{"your_key": "command"}}}}')


def test_a_call_of_a_mapped_tool_with_its_main_key_is_not_reported(caplog):
    run = Hooks().run(names={"run_it": "Shell", "ls": "ls"}, arguments={"run_it": {"line": "command"}})
    for name, args in (("run_it", {"line": "x"}), ("run_it", {"command": "x"}), ("ls", {"x": 1}), ("bash", {"x": 1})):
        run.tool(ToolCall(name, args), get_args)
    assert not caplog.records


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


def test_each_file_hook_may_refuse_a_stop_three_times(project):
    for name, priority in (("first", 90), ("second", 80)):
        script = f"echo {name} says no >&2; exit 2"
        project.write_hook(name, script, fields={"trigger": "pre-agent-turn-stop", "priority": priority})
    hooks = Hooks()
    with hooks.load(project.path):
        run = hooks.run()
        for _ in range(2):
            run.prompt("go")
            outcomes = [run.stop("x") for _ in range(7)]
            assert [outcome.reason for outcome in outcomes] == ["first says no"] * 3 + ["second says no"] * 3 + [""]
            assert [outcome.context.file_hook_refusals for outcome in outcomes[:3]] == [1, 2, 3]
    messages = [text for text in run.take_messages() if "is let through now" in text]
    assert messages == [
        f"the stop was refused 3 times in this turn and is let through now; the hook's reason: {name} says no"
        for name in ("first", "second")
    ]


def test_each_file_hook_may_send_a_subagent_back_three_times(project):
    for name, priority in (("first", 90), ("second", 80)):
        script = f"echo {name} says no >&2; exit 2"
        project.write_hook(name, script, fields={"trigger": "post-subagent", "priority": priority})
    hooks = Hooks()
    with hooks.load(project.path):
        child = hooks.run().child("helper", "dig")
        child.prompt("dig")
        outcomes = [child.stop("a hole") for _ in range(7)]
    assert [outcome.reason for outcome in outcomes] == ["first says no"] * 3 + ["second says no"] * 3 + [""]
