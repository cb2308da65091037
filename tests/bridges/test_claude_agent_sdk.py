"""What only claude-agent-sdk has: the program that it starts, with tools and settings of its own, and blocks around sessions."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

import claude_agent_sdk
import pytest
from claude_agent_sdk import (
    ClaudeAgentOptions,
    HookMatcher,
    PermissionResultAllow,
    ResultMessage,
    create_sdk_mcp_server,
    query,
    tool,
)

from boathook import ExecutionContext, HookError, Hooks, Outcome, SubagentContext, ToolContext
from boathook.bridges.claude_agent_sdk import boathook_hooks, guard_session
from boathook.errors import BridgeError, Stopped
from tests.bridges.adapter import Call, Script
from tests.bridges.adapters.claude_agent_sdk import ADAPTERS, ScriptedModel, make_environment, start_model
from tests.bridges.contract import block_rm
from tests.bridges.stage import PATIENCE, transcribe
from tests.scratch_project import ScratchProject

pytestmark = [pytest.mark.bridge, *(pytest.mark.filterwarnings(text) for text in ADAPTERS[0].ignored_warnings)]
ran: list[str] = []
PROGRAM = Path(claude_agent_sdk.__file__).with_name("_bundled") / "claude"


@pytest.fixture
def hooks() -> Hooks:
    ran.clear()
    return Hooks()


@tool("bash", "Run a command.", {"command": str})
async def bash(args: dict[str, Any]) -> dict[str, Any]:
    ran.append(args["command"])
    return {"content": [{"type": "text", "text": f"ran {args['command']}"}]}


def make_options(script: Script, guarded: Mapping[str, Any], home: str = "", **fields: Any) -> ClaudeAgentOptions:
    """Return options for the scripted model; `guarded` is what the bridge returns."""
    key = secrets.token_hex(8)
    ScriptedModel.scripts[key] = script
    env = make_environment(f"{start_model()}/{key}")
    env |= {"HOME": home} if home else {}
    given = {
        "mcp_servers": {"box": create_sdk_mcp_server("box", tools=[bash])},
        "tools": ["Bash"],
        "allowed_tools": ["mcp__box__bash", "Bash", "Agent"],
    }
    return ClaudeAgentOptions(**{**given, **guarded, **fields, "env": {**guarded.get("env", {}), **env}})


async def read_result(options: ClaudeAgentOptions, prompt: str = "go") -> str | None:
    result = None
    async with aclosing(query(prompt=prompt, options=options)) as messages:  # type: ignore[type-var]
        async for message in messages:
            if isinstance(message, ResultMessage):
                result = message.result
    return result


def run_bare(options: ClaudeAgentOptions, prompt: str = "go") -> str | None:
    """Run without a block."""
    return asyncio.run(asyncio.wait_for(read_result(options, prompt), PATIENCE))


def run(options: ClaudeAgentOptions, prompt: str = "go") -> str | None:
    """Run in a block."""

    async def run_in_block() -> str | None:
        async with guard_session(options) as own:
            return await read_result(own, prompt)

    return asyncio.run(asyncio.wait_for(run_in_block(), PATIENCE))


def call_box(command: str, call_id: str = "call-1") -> Call:
    return Call("mcp__box__bash", {"command": command}, call_id)


def find_result(script: Script, call_id: str = "call-1") -> str:
    return next(message.text for message in script.requests[-1] if message.call_id == call_id)


def call_shell(command: str, call_id: str = "call-1") -> Call:
    """Return a call of the program's own shell."""
    return Call("Bash", {"command": command, "description": "a command"}, call_id)


def test_a_mistake_in_arguments_is_reported_once_and_not_in_every_session(
    hooks: Hooks, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[tuple[str, ...]] = []
    hooks.before_tool(lambda context: seen.append(context.tool_names))
    guarded = boathook_hooks(hooks, names={"run_it": "Shell"}, arguments={"run_it": {"lin": "command"}})
    call: Any = {"tool_name": "mcp__box__run_it", "tool_input": {"line": "ls"}, "tool_use_id": "call-1"}

    async def call_in_sessions() -> None:
        for session in ("one", "two"):
            for matcher in guarded["hooks"]["PreToolUse"]:
                await matcher.hooks[0]({**call, "session_id": session}, "call-1", {"signal": None})

    asyncio.run(call_in_sessions())
    assert [names[:2] for names in seen] == [("mcp__box__run_it", "Shell")] * 2
    [message] = caplog.messages
    assert message.startswith("hooks for Shell cannot see what the tool 'run_it' gets")


# Hooks that are also in the settings of the program

COUNTING = """#!/bin/sh
echo once >> {path}
"""


def count_lines(path: Path) -> int:
    return len(path.read_text().splitlines()) if path.exists() else 0


def install_in_program(project: ScratchProject) -> None:
    done = project.run("install", "claude", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "boathook" in (project.claude_folder / "settings.json").read_text()


def test_a_hook_that_is_installed_in_the_program_too_runs_once(project: ScratchProject) -> None:
    path = project.base / "count.txt"
    project.write_hook("count", COUNTING.format(path=path), fields={"matcher": "{tool: Shell}"})
    install_in_program(project)
    moves = ((call_shell("echo hi"),), "done")
    # Without the bridge, the program runs it.
    assert run_bare(make_options(Script(*moves), {}, str(project.home))) == "done"
    assert count_lines(path) == 1
    assert run(make_options(Script(*moves), boathook_hooks(), str(project.home))) == "done"
    assert count_lines(path) == 2


def test_a_hook_of_the_programs_own_settings_runs_once(project: ScratchProject) -> None:
    path = project.base / "count.txt"
    entry = {"matcher": "Bash", "hooks": [{"type": "command", "command": f"echo once >> {path}"}]}
    project.write_settings("user", {"hooks": {"PreToolUse": [entry]}})
    run(make_options(Script((call_shell("echo hi"),), "done"), boathook_hooks(), str(project.home)))
    assert count_lines(path) == 1


@pytest.mark.parametrize("is_installed", [True, False])
def test_a_program_that_a_tool_starts_stays_guarded_by_its_settings(
    project: ScratchProject, is_installed: bool
) -> None:
    """What leaves the hooks to the bridge is an argument of one process, not a variable that others inherit."""
    guard = 'grep -q forbidden && { echo "not allowed here" >&2; exit 2; }; exit 0'
    project.write_hook("guard", f"#!/bin/sh\n{guard}\n", fields={"matcher": "{tool: Shell}"})
    if is_installed:
        install_in_program(project)
    nested = call_shell(f"{PROGRAM} -p nested --allowedTools Bash < /dev/null", "outer")
    touched = project.base / "touched"
    inner = call_shell(f"touch {touched} # forbidden", "inner")
    script = Script((nested,), (inner,), "nested is done", "done")
    assert run(make_options(script, boathook_hooks(), str(project.home))) == "done"
    assert touched.exists() is not is_installed
    assert ("not allowed here" in find_result_of(script, "inner")) is is_installed


def find_result_of(script: Script, call_id: str) -> str:
    found = [message.text for messages in script.requests for message in messages if message.call_id == call_id]
    return found[0]


def test_with_python_hooks_alone_the_program_runs_the_hooks_of_its_settings(
    hooks: Hooks, project: ScratchProject
) -> None:
    path = project.base / "count.txt"
    project.write_hook("count", COUNTING.format(path=path), fields={"matcher": "{tool: Shell}"})
    install_in_program(project)
    run(make_options(Script((call_shell("echo hi"),), "done"), boathook_hooks(hooks), str(project.home)))
    assert count_lines(path) == 1


def test_hooks_of_another_folder_than_the_agents_are_refused(project: ScratchProject, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / ".agents/hooks").mkdir(parents=True)
    script = Script("done")
    with pytest.raises(BridgeError, match="another folder"):
        run(make_options(script, boathook_hooks(), cwd=other))
    assert script.requests == []
    assert run(make_options(script, boathook_hooks(work_dir=other), cwd=other)) == "done"


# What would switch hooks off


def test_the_program_asks_no_hooks_with_bare_so_it_is_refused(hooks: Hooks) -> None:
    hooks.before_tool(block_rm)
    with pytest.raises(BridgeError, match="--bare"):
        boathook_hooks(hooks, extra_args={"bare": None})
    accepted = boathook_hooks(hooks, extra_args={"bare": None}, allow_unguarded=True)
    # The seam of the SDK: even `on_failure="block"` does not help.
    assert run_bare(make_options(Script((call_box("rm"),), "done"), accepted)) == "done"
    assert ran == ["rm"]
    with pytest.raises(BridgeError, match="never asked the hooks"):
        run(make_options(Script("done"), accepted))


def test_variables_and_settings_that_switch_hooks_off_are_refused(
    hooks: Hooks, project: ScratchProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BridgeError, match="CLAUDE_CODE_SIMPLE"):
        boathook_hooks(hooks, env={"CLAUDE_CODE_SIMPLE": "1"})
    with pytest.raises(BridgeError, match="without hooks"):
        boathook_hooks(settings='{"hooks": {}}')
    without = Hooks()
    without.load(without=["settings"])
    with pytest.raises(BridgeError, match="which the program would run itself"):
        boathook_hooks(without)
    monkeypatch.setenv("CLAUDE_CODE_SIMPLE", "1")
    with pytest.raises(BridgeError, match="CLAUDE_CODE_SIMPLE"):
        boathook_hooks(hooks)


OFF_SETTINGS = '{"env": {"CLAUDE_CODE_SIMPLE": "1"}}'


@pytest.mark.parametrize(
    "given",
    [
        {"settings": OFF_SETTINGS},
        {"extra_args": {f"settings={OFF_SETTINGS}": None}},
        {"extra_args": {"debug": "--bare"}},
    ],
)
def test_settings_and_arguments_that_bring_such_a_variable_or_argument_are_refused(
    hooks: Hooks, given: dict[str, Any]
) -> None:
    with pytest.raises(BridgeError, match=r"CLAUDE_CODE_SIMPLE|--settings|--bare"):
        boathook_hooks(hooks, **given)
    assert boathook_hooks(hooks, allow_unguarded=True, **given)


def test_settings_in_a_file_are_refused_like_those_in_a_text(hooks: Hooks, tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    path.write_text(OFF_SETTINGS)
    with pytest.raises(BridgeError, match="CLAUDE_CODE_SIMPLE"):
        boathook_hooks(hooks, settings=str(path))
    with pytest.raises(BridgeError, match="must be an object"):
        boathook_hooks(hooks, settings='{"env": []}')


@pytest.mark.parametrize("has_files", [True, False])
def test_a_settings_file_of_the_user_cannot_switch_hooks_off(
    hooks: Hooks, project: ScratchProject, has_files: bool
) -> None:
    """An agent may be able to write that file."""
    project.write_settings("user", json.loads(OFF_SETTINGS))
    hooks.before_tool(block_rm)
    if has_files:
        hooks.load()
    script = Script((call_box("rm"),), "done")
    bare = {"hooks": {"PreToolUse": [HookMatcher(hooks=[refuse_call])]}}
    # The seam of the SDK.
    run_bare(make_options(Script((call_box("rm"),), "done"), bare, str(project.home)))
    assert ran == ["rm"]
    assert run(make_options(script, boathook_hooks(hooks), str(project.home))) == "done"
    assert ran == ["rm"]
    assert "rm is not allowed here" in find_result(script)


async def refuse_call(*_: Any) -> Any:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}


def test_plugins_with_hooks_that_no_settings_enable_are_refused(project: ScratchProject, tmp_path: Path) -> None:
    plugins = [{"type": "local", "path": str(tmp_path)}]
    assert boathook_hooks(plugins=plugins)["plugins"] == plugins
    (tmp_path / "hooks").mkdir()
    with pytest.raises(BridgeError, match="these plugins have hooks"):
        boathook_hooks(plugins=plugins)
    # With Python hooks alone the program runs them itself.
    assert boathook_hooks(Hooks(), plugins=plugins)["plugins"] == plugins


def test_own_settings_and_callbacks_are_kept(project: ScratchProject) -> None:
    path = project.base / "own.json"
    path.write_text('{"model": "opus"}')
    matcher = HookMatcher(matcher="Bash")
    for settings in (str(path), '{"model": "opus"}'):
        guarded = boathook_hooks(settings=settings, callbacks={"PreToolUse": [matcher], "SessionStart": [matcher]})
        written = json.loads(guarded["settings"])
        assert written == {"model": "opus", "disableAllHooks": True, "env": written["env"]}
        assert set(written["env"].values()) == {""}
        assert guarded["hooks"]["PreToolUse"][0] == guarded["hooks"]["SessionStart"][0] == matcher
        assert len(guarded["hooks"]["PreToolUse"]) == 2


def test_options_that_are_given_beside_the_bridge_are_an_error_of_python(hooks: Hooks) -> None:
    with pytest.raises(TypeError, match="multiple values"):
        ClaudeAgentOptions(can_use_tool=None, **boathook_hooks(hooks))


def test_middleware_is_refused_because_the_program_calls_the_tools(hooks: Hooks) -> None:
    @hooks.before_tool
    def around(context: ToolContext, next: Any) -> Any:  # noqa: A002
        return next(context)

    with pytest.raises(HookError, match="middleware cannot be around tools here"):
        boathook_hooks(hooks)


# Errors of hooks


def test_a_stop_gate_that_raises_is_raised_though_the_program_would_let_it_through(hooks: Hooks) -> None:
    async def fail(*_: Any) -> Any:
        raise ValueError("the database is down")

    # The seam of the SDK: it ignores `on_failure` there.
    bare = {"hooks": {"Stop": [HookMatcher(hooks=[fail], on_failure="block")]}}
    assert run_bare(make_options(Script("first", "second"), bare)) == "first"

    @hooks.before_stop
    def gate(context: Any) -> None:
        raise ValueError("the database is down")

    with pytest.raises(ValueError, match="the database is down"):
        run(make_options(Script("first"), boathook_hooks(hooks)))
    # Without a block there is no one to raise it to: the agent is sent back to work, three times.
    assert run_bare(make_options(Script(*"1234"), boathook_hooks(hooks))) == "4"


@pytest.mark.parametrize("is_asked", [True, False])
def test_a_hook_that_raises_cancelled_error_is_one_that_failed(hooks: Hooks, is_asked: bool) -> None:
    """The SDK would never answer the program then, which waits for a day. A cancelled run stays cancelled."""

    @hooks.before_tool
    async def guard(context: ToolContext) -> Any:
        if is_asked and context.args["command"] == "ls":
            return Outcome.ask("really?")
        raise asyncio.CancelledError

    person = make_person(lambda: PermissionResultAllow(updated_input={"command": "pwd"}), [])
    script = Script((call_box("ls"),), "done")
    with pytest.raises(HookError, match="raised CancelledError, although the run is not being cancelled"):
        run(make_options(script, boathook_hooks(hooks, can_use_tool=person)))
    assert (ran, len(script.requests)) == ([], 1)


def test_a_run_that_is_cancelled_while_a_hook_waits_stays_cancelled(hooks: Hooks) -> None:
    began = asyncio.Event()

    @hooks.before_tool
    async def wait(context: ToolContext) -> None:
        began.set()
        await asyncio.sleep(PATIENCE)

    async def cancel() -> None:
        options = make_options(Script((call_box("ls"),), "done"), boathook_hooks(hooks))

        async def run_in_block() -> None:
            async with guard_session(options) as own:
                await read_result(own)

        task = asyncio.create_task(run_in_block())
        await began.wait()
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(asyncio.wait_for(cancel(), PATIENCE))
    assert ran == []


def test_without_a_block_a_failing_hook_ends_the_run_before_the_call(hooks: Hooks) -> None:
    @hooks.before_tool
    def guard(context: ToolContext) -> None:
        raise ValueError("the database is down")

    script = Script((call_box("ls"),), "done")
    run_bare(make_options(script, boathook_hooks(hooks)))
    assert (ran, len(script.requests)) == ([], 1)


def test_without_a_block_hooks_decide_and_only_the_end_of_the_session_is_missing(
    hooks: Hooks, caplog: pytest.LogCaptureFixture
) -> None:
    events: list[str] = []
    hooks.before_tool(block_rm)
    for name in ("pre-session", "pre-agent-turn", "post-agent-turn", "post-session"):
        hooks.add(name, lambda context: events.append(context.event))
    script = Script((call_box("rm"),), "done")
    assert run_bare(make_options(script, boathook_hooks(hooks))) == "done"
    assert ran == []
    assert "rm is not allowed here" in find_result(script)
    assert events == ["pre-session", "pre-agent-turn", "post-agent-turn"]
    assert "only in `async with guard_session(options)`" in caplog.text


def test_without_a_block_a_stop_is_logged_because_the_result_is_empty(
    hooks: Hooks, caplog: pytest.LogCaptureFixture
) -> None:
    hooks.before_tool(lambda context: Outcome.stop("the budget is spent"))
    assert run_bare(make_options(Script((call_box("ls"),), "done"), boathook_hooks(hooks))) == ""
    assert ran == []
    assert "the budget is spent" in caplog.text


def test_a_block_needs_options_of_the_bridge() -> None:
    with pytest.raises(BridgeError, match="no hooks of boathook"):
        run(ClaudeAgentOptions())


def test_a_changed_prompt_is_refused_because_the_program_cannot_send_another_one(hooks: Hooks) -> None:
    @hooks.turn_start
    def change(context: ExecutionContext) -> Any:
        return context.replace(prompt="look closely")

    script = Script("done")
    with pytest.raises(BridgeError, match="changed the prompt"):
        run(make_options(script, boathook_hooks(hooks)))
    assert script.requests == []


# Steps


def test_steps_are_seen_around_every_request_and_a_stop_there_ends_the_run(hooks: Hooks) -> None:
    steps: list[tuple[str, int]] = []

    def note(context: Any) -> Any:
        steps.append((context.event, context.index))
        return Outcome.stop("the budget is spent") if len(steps) == 3 else None

    hooks.before_step(note)
    hooks.after_step(note)
    script = Script((call_box("ls"),), "done")
    with pytest.raises(Stopped, match="the budget is spent"):
        run(make_options(script, boathook_hooks(hooks)))
    assert len(script.requests) == 1
    assert len(steps) == 3


# Tools of the program


def test_a_result_of_a_tool_of_the_program_is_changed_in_its_own_shape(hooks: Hooks) -> None:
    hooks.after_tool(match="Bash")(lambda context: context.replace(result="the key is hidden"))
    script = Script((call_shell("echo the key is 123"),), "done")
    run(make_options(script, boathook_hooks(hooks)))
    assert find_result(script) == "the key is hidden"


def test_a_result_of_another_shape_ends_the_run_because_the_program_would_keep_the_old_one(hooks: Hooks) -> None:
    hooks.after_tool(match="Bash")(lambda context: context.replace(result={"secret": "hidden"}))
    script = Script((call_shell("echo the key is 123"),), "done")
    with pytest.raises(BridgeError, match="another shape"):
        run(make_options(script, boathook_hooks(hooks)))
    assert len(script.requests) == 1


def test_a_call_that_the_program_itself_refuses_does_not_hold_back_context(hooks: Hooks) -> None:
    hooks.before_tool(lambda context: context.add_context("mind the gap"))
    script = Script((call_box("ls"),), "done")
    run(make_options(script, boathook_hooks(hooks), allowed_tools=[]))
    assert ran == []
    assert "mind the gap" in transcribe(script.requests[-1])


# Permissions


def make_person(answer: Callable[[], Any], asked: list[str]) -> Any:
    async def decide(name: str, tool_input: dict[str, Any], context: Any) -> Any:
        asked.append(tool_input["command"])
        return answer()

    return decide


async def never_answer(*_: Any) -> Any:
    await asyncio.sleep(PATIENCE)


def test_without_can_use_tool_a_question_is_a_block(hooks: Hooks) -> None:
    hooks.before_tool(lambda context: Outcome.ask("really?"))
    script = Script((call_box("ls"),), "done")
    run(make_options(script, boathook_hooks(hooks)))
    assert ran == []
    assert "really? (no person can be asked)" in find_result(script)


@pytest.mark.parametrize("allowed", [["mcp__box__bash"], []])
def test_hooks_see_an_input_that_can_use_tool_changed(hooks: Hooks, allowed: list[str]) -> None:
    """Both for the question of a hook, and for one of the program itself."""
    asked: list[str] = []
    hooks.before_tool(block_rm)
    if allowed:
        hooks.before_tool(lambda context: Outcome.ask("really?"))
    person = make_person(lambda: PermissionResultAllow(updated_input={"command": "rm"}), asked)
    script = Script((call_box("ls"),), "done")
    run(make_options(script, boathook_hooks(hooks, can_use_tool=person), allowed_tools=allowed))
    assert (ran, asked) == ([], ["ls"])
    assert "rm is not allowed here" in find_result(script)


def test_an_input_that_hooks_changed_is_what_the_person_sees_and_what_runs(hooks: Hooks) -> None:
    asked: list[str] = []
    hooks.before_tool(lambda context: context.replace(args={"command": "ls -l"}))
    hooks.before_tool(lambda context: Outcome.ask("really?"))
    guarded = boathook_hooks(hooks, can_use_tool=make_person(PermissionResultAllow, asked))
    run(make_options(Script((call_box("ls"),), "done"), guarded))
    assert (asked, ran) == (["ls -l"], ["ls -l"])


def set_input(event: str, command: str) -> Any:
    """Return callbacks of the SDK that let a call pass with another input."""
    fields = {"updatedInput": {"command": command}}
    specific: Any = {"permissionDecision": "allow", **fields}
    if event == "PermissionRequest":
        specific = {"decision": {"behavior": "allow", **fields}}

    async def change(*_: Any) -> Any:
        return {"hookSpecificOutput": {"hookEventName": event, **specific}}

    return {event: [HookMatcher(hooks=[change])]}


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
def test_hooks_see_an_input_that_a_callback_of_the_sdk_sets(hooks: Hooks, event: str) -> None:
    # The question of the program itself is what a PermissionRequest is for.
    allowed = ["mcp__box__bash"] if event == "PreToolUse" else []
    bare = {"hooks": set_input(event, "rm"), "can_use_tool": never_answer}
    # The seam of the SDK.
    run_bare(make_options(Script((call_box("ls"),), "done"), bare, allowed_tools=allowed))
    assert ran == ["rm"]
    hooks.before_tool(block_rm)
    for command, is_blocked in (("rm", True), ("pwd", False)):
        ran.clear()
        script = Script((call_box("ls"),), "done")
        guarded = boathook_hooks(hooks, callbacks=set_input(event, command), can_use_tool=never_answer)
        run(make_options(script, guarded, allowed_tools=allowed))
        assert ran == ([] if is_blocked else [command])
        assert ("rm is not allowed here" in find_result(script)) is is_blocked


def test_an_input_that_hooks_change_stays_changed_if_a_callback_of_the_sdk_sets_it_again(hooks: Hooks) -> None:
    hooks.before_tool(lambda context: context.replace(args={"command": "pwd"}))
    guarded = boathook_hooks(hooks, callbacks=set_input("PreToolUse", "ls"))
    run(make_options(Script((call_box("ls"),), "done"), guarded))
    assert ran == ["pwd"]


def test_a_hook_that_fails_at_the_input_of_a_callback_of_the_sdk_lets_nothing_run(hooks: Hooks) -> None:
    @hooks.before_tool
    def guard(context: ToolContext) -> None:
        if context.args["command"] == "pwd":
            raise ValueError("the database is down")

    guarded = boathook_hooks(hooks, callbacks=set_input("PreToolUse", "pwd"))
    with pytest.raises(ValueError, match="the database is down"):
        run(make_options(Script((call_box("ls"),), "done"), guarded))
    assert ran == []


def test_a_call_that_something_else_allowed_before_the_person_answered_ends_the_run(hooks: Hooks) -> None:
    async def allow(*_: Any) -> Any:
        return {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}}

    hooks.before_tool(lambda context: Outcome.ask("really?"))
    callbacks = {"PermissionRequest": [HookMatcher(hooks=[allow])]}
    script = Script((call_box("ls"),), "done")
    guarded = boathook_hooks(hooks, can_use_tool=never_answer, callbacks=callbacks)
    with pytest.raises(BridgeError, match="no person has answered"):
        run(make_options(script, guarded))
    assert len(script.requests) == 1


# Subagents


def call_helper(prompt: str, call_id: str = "call-1") -> Call:
    fields = {"description": "x", "prompt": prompt, "subagent_type": "helper", "run_in_background": False}
    return Call("Agent", fields, call_id)


def add_helper(*moves: Any) -> tuple[Script, dict[str, Any]]:
    """Return the script of subagents of the type 'helper', and the options with which they can be started."""
    script, key = Script(*moves), secrets.token_hex(8)
    ScriptedModel.scripts[key] = script
    agents = {"helper": claude_agent_sdk.AgentDefinition("helps", f"You are agent {key}.")}
    return script, {"agents": agents, "tools": ["Agent"]}


def refuse_keys(seen: list[str]) -> Any:
    def refuse(context: SubagentContext) -> Outcome | None:
        seen.append(context.task)
        return Outcome.block(f"a key for {context.name}") if "sk-" in context.task else None

    return refuse


def test_a_subagent_that_hooks_refuse_is_not_started_and_the_model_reads_why(hooks: Hooks) -> None:
    hooks.subagent_start(lambda context: Outcome.block(f"no {context.name} for: {context.task}"))
    helper, options = add_helper((call_box("ls", "h"),), "helped")
    script = Script((call_helper("tidy"),), "done")
    assert run(make_options(script, boathook_hooks(hooks), **options)) == "done"
    assert (ran, helper.requests) == ([], [])
    assert "no helper for: tidy" in find_result(script)


def test_a_hook_that_stops_at_a_subagent_ends_the_run_before_it_starts(hooks: Hooks) -> None:
    hooks.subagent_start(lambda context: Outcome.stop("enough"))
    helper, options = add_helper("helped")
    with pytest.raises(Stopped, match="enough"):
        run(make_options(Script((call_helper("tidy"),), "done"), boathook_hooks(hooks), **options))
    assert helper.requests == []


@pytest.mark.parametrize("prompts", [("use sk-1", "tidy"), ("tidy", "use sk-1")])
def test_of_two_subagents_of_one_type_the_one_that_hooks_refuse_is_not_started(
    hooks: Hooks, prompts: tuple[str, str]
) -> None:
    seen: list[str] = []
    hooks.subagent_start(refuse_keys(seen))
    ends: list[str] = []
    hooks.subagent_stop(lambda context: ends.append(context.task))
    helper, options = add_helper("helped", "helped")
    calls = [call_helper(prompt, f"call-{at}") for at, prompt in enumerate(prompts)]
    script = Script(tuple(calls), "done")
    assert run(make_options(script, boathook_hooks(hooks), **options)) == "done"
    assert (seen, ends) == ([*prompts], ["tidy"])
    texts = [message.text for request in helper.requests for message in request]
    assert any("tidy" in text for text in texts)
    assert not any("sk-1" in text for text in texts)
    assert "a key for helper" in find_result(script, f"call-{prompts.index('use sk-1')}")


def test_two_subagents_of_one_type_read_the_context_that_belongs_to_them(hooks: Hooks) -> None:
    hooks.subagent_start(lambda context: context.add_context(f"context of {context.task}"))
    helper, options = add_helper("helped", "helped")
    calls = (call_helper("task one", "a"), call_helper("task two", "b"))
    run(make_options(Script(calls, "done"), boathook_hooks(hooks), **options))
    texts = ["\n".join(message.text for message in request) for request in helper.requests]
    assert len(texts) == 2
    for name, other in (("one", "two"), ("two", "one")):
        assert any(f"context of task {name}" in text and f"task {other}" not in text for text in texts)


def test_hooks_see_the_task_that_can_use_tool_sets_for_a_subagent(hooks: Hooks) -> None:
    seen: list[str] = []
    hooks.subagent_start(refuse_keys(seen))
    hooks.before_tool(match="Agent")(lambda context: Outcome.ask("sure?") if context.args["prompt"] == "tidy" else None)

    async def person(name: str, tool_input: dict[str, Any], context: Any) -> Any:
        return PermissionResultAllow(updated_input={**tool_input, "prompt": "use sk-1"})

    helper, options = add_helper("helped")
    script = Script((call_helper("tidy"),), "done")
    run(make_options(script, boathook_hooks(hooks, can_use_tool=person), **options))
    assert (seen, helper.requests) == (["tidy", "use sk-1"], [])
    assert "a key for helper" in find_result(script)


def send(guarded: Mapping[str, Any], event: str, **fields: Any) -> dict[str, Any]:
    """Return the last answer to an event that the program could send."""
    given = {"session_id": "s1", "hook_event_name": event, **fields}
    output: dict[str, Any] = {}
    for matcher in guarded["hooks"][event]:
        for callback in matcher.hooks:
            output = asyncio.run(callback(given, None, None))
    return output


def make_agent_call(prompt: str, call_id: str = "1", agent_type: str = "helper") -> dict[str, Any]:
    tool_input = {"prompt": prompt, "subagent_type": agent_type}
    return {"tool_name": "Agent", "tool_use_id": call_id, "tool_input": tool_input}


def test_hooks_see_the_task_that_a_callback_of_the_sdk_sets_for_a_subagent(hooks: Hooks) -> None:
    seen: list[str] = []
    hooks.subagent_start(refuse_keys(seen))

    async def change(*_: Any) -> Any:
        return {
            "hookSpecificOutput": {
                "hookEventName": "PermissionRequest",
                "decision": {"behavior": "allow", "updatedInput": {"prompt": "use sk-1", "subagent_type": "helper"}},
            }
        }

    guarded = boathook_hooks(hooks, callbacks={"PermissionRequest": [HookMatcher(hooks=[change])]})
    assert send(guarded, "PreToolUse", **make_agent_call("tidy")) == {}
    output = send(guarded, "PermissionRequest", **make_agent_call("tidy"))
    assert output["hookSpecificOutput"]["decision"] == {"behavior": "deny", "message": "a key for helper"}
    assert seen == ["tidy", "use sk-1"]


def test_a_subagent_that_no_call_started_can_call_no_tool_if_hooks_refuse_it(hooks: Hooks) -> None:
    """The program cannot be kept from starting it."""
    hooks.subagent_start(lambda context: Outcome.block(f"no {context.name}"))
    guarded, agent = boathook_hooks(hooks), {"agent_id": "a", "agent_type": "helper"}
    output = send(guarded, "SubagentStart", **agent)
    assert "end at once: no helper" in output["hookSpecificOutput"]["additionalContext"]
    output = send(guarded, "PreToolUse", tool_name="Bash", tool_use_id="1", tool_input={"command": "ls"}, **agent)
    assert output["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_a_call_that_started_no_subagent_does_not_count_for_a_later_one(hooks: Hooks) -> None:
    ends: list[str] = []
    hooks.subagent_stop(lambda context: ends.append(context.task))
    guarded, agent = boathook_hooks(hooks), {"agent_id": "a", "agent_type": "helper"}
    send(guarded, "PreToolUse", **make_agent_call("one", "1"))
    send(guarded, "PostToolUseFailure", error="no such agent", **make_agent_call("one", "1"))
    send(guarded, "PreToolUse", **make_agent_call("two", "2"))
    # The program itself refuses this one.
    send(guarded, "PostToolBatch", tool_calls=[{"tool_use_id": "2"}])
    send(guarded, "PreToolUse", **make_agent_call("three", "3"))
    send(guarded, "SubagentStart", **agent)
    send(guarded, "SubagentStop", **agent)
    assert ends == ["three"]


def test_hooks_that_are_attached_twice_are_refused(hooks: Hooks) -> None:
    with pytest.raises(BridgeError, match="attached twice"):
        boathook_hooks(Hooks(), callbacks=boathook_hooks(hooks)["hooks"])
