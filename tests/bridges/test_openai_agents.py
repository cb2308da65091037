"""What only openai-agents has: its runner, handoffs, agents as tools, MCP servers, sessions, states that are stored."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agents import (
    Agent,
    HostedMCPTool,
    ModelSettings,
    RunConfig,
    Runner,
    RunState,
    SQLiteSession,
    WebSearchTool,
    function_tool,
    handoff,
)
from agents.mcp import MCPServer
from agents.run import AgentRunner, get_default_agent_runner, set_default_agent_runner
from mcp.types import CallToolResult, TextContent
from mcp.types import Tool as McpTool

from boathook import Hooks, Outcome, StopContext, ToolContext
from boathook.bridges.openai_agents import find_reason, guard
from boathook.errors import Blocked, BridgeError, Stopped
from tests.bridges.adapter import Call, Script
from tests.bridges.adapters.openai_agents import ScriptModel
from tests.bridges.contract import block_rm
from tests.bridges.stage import call_bash

pytestmark = pytest.mark.bridge
ran: list[str] = []


@pytest.fixture
def hooks() -> Hooks:
    ran.clear()
    return Hooks()


@function_tool
def bash(command: str) -> str:
    """Run a command."""
    ran.append(command)
    return f"ran {command}"


def make_agent(*moves: Any, name: str = "main", **fields: Any) -> Agent[Any]:
    return Agent(name=name, model=ScriptModel(Script(*moves)), **{"tools": [bash], **fields})


def find_script(agent: Agent[Any]) -> Script:
    assert isinstance(agent.model, ScriptModel)
    return agent.model.script


def find_results(agent: Agent[Any]) -> dict[str, str]:
    return {message.call_id: message.text for message in find_script(agent).requests[-1] if message.call_id}


def read_all(agent: Agent[Any]) -> str:
    return "\n".join(message.text for message in find_script(agent).requests[-1])


# What cannot be guarded


def test_a_second_guard_is_refused_if_hooks_of_the_first_would_not_run(hooks: Hooks) -> None:
    hooks.before_tool(block_rm)
    agent, more = guard(make_agent("done"), hooks), Hooks()
    for others in (None, more):
        with pytest.raises(BridgeError, match="attached twice: the agent main is guarded already"):
            guard(agent, others)
    more.include(hooks)
    guard(agent, more)
    with pytest.raises(BridgeError, match="attached twice"):
        guard(guard(make_agent("done")), hooks)
    guard(guard(make_agent("done")))


def make_hosted() -> Any:
    return HostedMCPTool({"type": "mcp", "server_label": "files", "server_url": "http://127.0.0.1:9"})


@pytest.mark.parametrize("tool", [WebSearchTool(), make_hosted()])
def test_tools_that_the_provider_runs_are_refused_when_the_agent_is_guarded(hooks: Hooks, tool: Any) -> None:
    helper = make_agent("done", name="helper", tools=[tool])
    for agent in (
        helper,
        make_agent("done", handoffs=[helper]),
        make_agent("done", handoffs=[handoff(helper)]),
        make_agent("done", tools=[helper.as_tool("ask", "Ask.")]),
    ):
        with pytest.raises(BridgeError, match="where no hook can see them"):
            guard(agent, hooks)
        guard(agent, hooks, allow_unguarded=True)


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"prompt": {"id": "pmpt_1"}}, "stored prompt of main"),
        ({"model_settings": ModelSettings(extra_body={"tools": [{"type": "web_search"}]})}, "tools in extra_body"),
        ({"model_settings": ModelSettings(extra_args={"tools": [{"type": "web_search"}]})}, "tools in extra_args"),
    ],
)
def test_hosted_tools_that_are_not_in_the_list_of_tools_are_refused(hooks: Hooks, fields: Any, name: str) -> None:
    with pytest.raises(BridgeError, match=name):
        guard(make_agent("done", **fields), hooks)
    guard(make_agent("done", **fields), hooks, allow_unguarded=True)
    # They may also come later.
    agent = guard(make_agent("done"), hooks)
    for field, value in fields.items():
        setattr(agent, field, value)
    with pytest.raises(BridgeError, match=name):
        asyncio.run(Runner.run(agent, "go"))


def test_hosted_tools_in_the_settings_of_a_run_are_refused(hooks: Hooks) -> None:
    agent = guard(make_agent("done"), hooks)
    settings = ModelSettings(extra_body={"tools": [{"type": "web_search"}]})
    with pytest.raises(BridgeError, match="model settings of the run"):
        asyncio.run(Runner.run(agent, "go", run_config=RunConfig(model_settings=settings)))


def test_a_tool_that_is_added_later_is_guarded_or_refused(hooks: Hooks) -> None:
    hooks.before_tool(block_rm)
    agent = guard(make_agent((call_bash("rm -r build"),), "done", tools=[]), hooks)
    agent.tools.append(bash)
    asyncio.run(Runner.run(agent, "go"))
    assert (ran, find_results(agent)["call-1"]) == ([], "rm is not allowed here")
    agent.tools.append(WebSearchTool())
    with pytest.raises(BridgeError, match="web_search"):
        asyncio.run(Runner.run(agent, "go"))


def test_an_agent_that_is_handed_over_to_but_not_guarded_is_refused_before_its_model_is_asked(hooks: Hooks) -> None:
    helper = make_agent("done", name="helper")
    agent = guard(make_agent((Call("transfer_to_helper"),)), hooks)
    agent.handoffs.append(helper)
    with pytest.raises(BridgeError, match="the agent helper is not guarded"):
        asyncio.run(Runner.run(agent, "go"))
    assert find_script(helper).requests == []


def test_a_guarded_agent_does_not_run_without_its_hooks(hooks: Hooks) -> None:
    """The SDK lets anybody replace its runner: then nothing would begin the run of the hooks."""
    agent, runner = guard(make_agent((call_bash("ls"),), "done"), hooks), get_default_agent_runner()
    set_default_agent_runner(AgentRunner())
    try:
        with pytest.raises(BridgeError, match="they are not in this run"):
            asyncio.run(Runner.run(agent, "go"))
    finally:
        set_default_agent_runner(runner)
    assert (ran, find_script(agent).requests) == ([], [])


def test_only_agents_can_be_guarded(hooks: Hooks) -> None:
    with pytest.raises(BridgeError, match="guard takes an Agent"):
        guard(bash, hooks)  # type: ignore[type-var]


def test_a_hook_that_fails_ends_the_run_and_the_tool_does_not_run(hooks: Hooks) -> None:
    @hooks.before_tool
    def fail(context: ToolContext) -> None:
        raise ValueError("the database is down")

    with pytest.raises(ValueError, match="the database is down"):
        asyncio.run(Runner.run(guard(make_agent((call_bash("ls"),), "done"), hooks), "go"))
    assert ran == []


# What guard leaves alone


def test_an_agent_whose_guarded_copy_was_forgotten_is_named_in_a_warning(
    hooks: Hooks, caplog: pytest.LogCaptureFixture
) -> None:
    hooks.before_tool(block_rm)
    agent, other = make_agent("done", "done", name="forgotten"), make_agent("done", name="other")
    guard(agent, hooks)
    for each in (agent, agent, other):
        asyncio.run(Runner.run(each, "go"))
    [message] = [message for message in caplog.messages if "runs without hooks" in message]
    assert message.startswith(
        "the agent forgotten runs without hooks: `guard` does not change it, but returns a guarded copy."
    )


def test_the_agent_itself_and_other_agents_run_as_before(hooks: Hooks) -> None:
    hooks.before_tool(block_rm)
    agent = make_agent((call_bash("rm"),), "done", (call_bash("rm"),), "done")
    guarded = guard(agent, hooks)
    asyncio.run(Runner.run(agent, "go"))
    assert ran == ["rm"]
    asyncio.run(Runner.run(guarded, "go"))
    assert ran == ["rm"]


def test_a_copy_of_a_guarded_agent_is_guarded_and_hooks_run_once_if_it_is_guarded_again(hooks: Hooks) -> None:
    seen: list[str] = []
    hooks.before_tool(lambda context: seen.append(context.args["command"]))
    agent = guard(make_agent((call_bash("ls"),), "done", (call_bash("ls -l"),), "done"), hooks)
    asyncio.run(Runner.run(agent.clone(name="copy"), "go"))
    asyncio.run(Runner.run(guard(agent, hooks), "go"))
    assert seen == ["ls", "ls -l"]


# Handoffs and agents as tools


def test_a_handoff_that_is_blocked_leaves_the_agent_at_work(hooks: Hooks) -> None:
    hooks.before_tool(match="transfer_to_helper")(lambda context: Outcome.block("the helper is not there"))
    helper = make_agent("helped", name="helper")
    agent = guard(make_agent((Call("transfer_to_helper"),), "done", handoffs=[helper]), hooks)
    result = asyncio.run(Runner.run(agent, "go"))
    assert (result.final_output, result.last_agent) == ("done", agent)
    assert "the helper is not there" in read_all(agent)


def test_agents_that_hand_over_to_each_other_are_guarded(hooks: Hooks) -> None:
    hooks.before_tool(block_rm)
    helper = make_agent((Call("transfer_to_main", id="b"),), name="helper")
    main = make_agent((Call("transfer_to_helper", id="a"),), (call_bash("rm"),), "done", handoffs=[helper])
    helper.handoffs.append(main)
    result = asyncio.run(Runner.run(guard(main, hooks), "go"))
    assert (result.final_output, ran) == ("done", [])


def answer_all(state: Any) -> Any:
    for item in state.get_interruptions():
        state.approve(item)
    return state


def test_a_question_of_an_agent_in_a_tool_is_the_question_of_the_run(hooks: Hooks) -> None:
    seen: list[str] = []
    hooks.before_tool(lambda context: seen.append(context.name))
    hooks.before_tool(match="bash")(lambda context: Outcome.ask("really?"))
    hooks.after_tool(lambda context: seen.append(f"after {context.name}"))
    helper = make_agent((call_bash("ls", "h"),), "helped", name="helper")
    tools = [helper.as_tool("ask_helper", "Ask.")]
    agent = guard(make_agent((Call("ask_helper", {"input": "help"}),), "done", tools=tools), hooks)
    result = asyncio.run(Runner.run(agent, "go"))
    assert ([item.tool_name for item in result.interruptions], ran) == (["bash"], [])
    result = asyncio.run(Runner.run(agent, answer_all(result.to_state())))
    assert (result.final_output, ran) == ("done", ["ls"])
    assert seen == ["ask_helper", "bash", "after bash", "after ask_helper"]


def test_a_subagent_that_waits_for_an_answer_goes_on_in_the_next_run_of_its_caller(hooks: Hooks) -> None:
    hooks.before_tool(match="bash")(lambda context: Outcome.ask("really?"))
    helper = guard(make_agent((call_bash("ls", "h"),), "helped", name="helper"), hooks)
    waiting: list[Any] = []

    @function_tool
    async def ask_helper() -> str:
        if waiting:
            return str((await Runner.run(helper, answer_all(waiting[0].to_state()))).final_output)
        waiting.append(await Runner.run(helper, "help"))
        return "it waits"

    call = Call("ask_helper", {})
    agent = guard(make_agent((call,), "first", (call,), "second", tools=[ask_helper]), hooks)
    for commands in ([], ["ls"]):
        asyncio.run(Runner.run(agent, "go"))
        assert ran == commands
    assert find_results(agent)["call-1"] == "helped"


def test_an_agent_as_a_tool_that_is_streamed_is_guarded(hooks: Hooks) -> None:
    hooks.before_tool(block_rm)
    events: list[Any] = []
    helper = make_agent((call_bash("rm", "h"),), "helped", name="helper")
    tool = helper.as_tool("ask_helper", "Ask.", on_stream=events.append)
    agent = guard(make_agent((Call("ask_helper", {"input": "help"}),), "done", tools=[tool]), hooks)
    asyncio.run(Runner.run(agent, "go"))
    assert (ran, find_results(agent)["call-1"]) == ([], "helped")
    assert events


def test_a_subagent_is_sent_back_to_work(hooks: Hooks) -> None:
    texts = iter(["not yet"])
    hooks.add("post-subagent", lambda context: Outcome.block(next(texts, "")) if context.result == "1" else None)
    helper = make_agent("1", "2", name="helper")
    tool = helper.as_tool("ask_helper", "Ask.")
    agent = guard(make_agent((Call("ask_helper", {"input": "help"}),), "done", tools=[tool]), hooks)
    asyncio.run(Runner.run(agent, "go"))
    assert find_results(agent)["call-1"] == "2"
    assert "not yet" in read_all(helper)


def test_hooks_of_a_subagent_see_the_context_of_its_run(hooks: Hooks) -> None:
    states: list[Any] = []
    hooks.before_tool(lambda context: states.append(context.state))
    tool = make_agent((call_bash("ls", "h"),), "helped", name="helper").as_tool("ask_helper", "Ask.")
    agent = guard(make_agent((Call("ask_helper", {"input": "help"}),), "done", tools=[tool]), hooks)
    asyncio.run(Runner.run(agent, "go", context={"user": "ann"}))
    assert states == [{"user": "ann"}] * 2


def test_a_stop_in_an_agent_in_a_tool_ends_the_whole_run(hooks: Hooks) -> None:
    hooks.before_tool(match="bash")(lambda context: Outcome.stop("the budget is spent"))
    helper = make_agent((call_bash("ls", "h"),), "helped", name="helper")
    tool = helper.as_tool("ask_helper", "Ask.")
    agent = guard(make_agent((Call("ask_helper", {"input": "help"}),), "done", tools=[tool]), hooks)
    with pytest.raises(Stopped, match="the budget is spent"):
        asyncio.run(Runner.run(agent, "go"))


# Approvals


def test_a_state_that_was_stored_goes_on_with_the_answer(hooks: Hooks) -> None:
    hooks.before_tool(lambda context: Outcome.ask("really?"))
    agent = guard(make_agent((call_bash("ls"),), "done"), hooks)

    async def store_and_load() -> Any:
        stored = (await Runner.run(agent, "go")).to_state().to_string()
        return await Runner.run(agent, answer_all(await RunState.from_string(agent, stored)))

    result = asyncio.run(store_and_load())
    assert (result.final_output, ran) == ("done", ["ls"])


def test_an_approval_counts_once_if_a_result_goes_on_twice(hooks: Hooks) -> None:
    hooks.before_tool(lambda context: Outcome.ask("is that fine?"))
    agent = guard(make_agent((call_bash("git push"),), "done", "done"), hooks)
    result = asyncio.run(Runner.run(agent, "go"))
    for _ in range(2):
        state = result.to_state()
        for item in state.get_interruptions():
            state.approve(item)
        assert asyncio.run(Runner.run(agent, state)).final_output == "done"
    assert ran == ["git push"]
    assert "no person can be asked" in find_results(agent)["call-1"]


@pytest.mark.parametrize("order", [("stored", "stored"), ("stored", "kept"), ("kept", "stored")])
def test_an_approval_in_a_state_that_was_stored_counts_once(hooks: Hooks, order: tuple[str, str]) -> None:
    hooks.before_tool(lambda context: Outcome.ask("is that fine?"))
    agent = guard(make_agent((call_bash("git push"),), "done", "done"), hooks)

    async def go_on_twice() -> None:
        kept = answer_all((await Runner.run(agent, "go")).to_state())
        stored = kept.to_string()
        for each in order:
            state = kept if each == "kept" else await RunState.from_string(agent, stored)
            assert (await Runner.run(agent, state)).final_output == "done"

    asyncio.run(go_on_twice())
    assert ran == ["git push"]
    assert "no person can be asked" in find_results(agent)["call-1"]


def test_an_approval_of_all_calls_does_not_answer_the_question_about_another_call(hooks: Hooks) -> None:
    hooks.before_tool(lambda context: None if context.args["command"] == "ls" else Outcome.ask("is that fine?"))
    calls = (call_bash("git push", "a"),), (call_bash("rm", "b"), call_bash("ls", "c")), "done"
    agent = guard(make_agent(*calls), hooks)
    state = asyncio.run(Runner.run(agent, "go")).to_state()
    for item in state.get_interruptions():
        state.approve(item, always_approve=True)
    assert asyncio.run(Runner.run(agent, state)).final_output == "done"
    assert ran == ["git push", "ls"]
    assert "no person can be asked" in find_results(agent)["b"]


def test_a_tool_that_needs_approval_itself_still_does_but_not_if_a_hook_blocks_it(hooks: Hooks) -> None:
    hooks.before_tool(block_rm)

    @function_tool(needs_approval=True)
    def push(command: str) -> str:
        """Push."""
        ran.append(command)
        return "pushed"

    moves = (Call("push", {"command": "rm"}, "a"), Call("push", {"command": "ls"}, "b"))
    agent = guard(make_agent(moves, "done", tools=[push]), hooks)
    result = asyncio.run(Runner.run(agent, "go"))
    assert [item.raw_item.call_id for item in result.interruptions] == ["b"]
    asyncio.run(Runner.run(agent, answer_all(result.to_state())))
    assert (ran, find_results(agent)) == (["ls"], {"a": "rm is not allowed here", "b": "pushed"})


# MCP servers


class FilesServer(MCPServer):
    """A server with one tool."""

    def __init__(self) -> None:
        super().__init__()

    @property
    def name(self) -> str:
        return "files"

    async def connect(self) -> None: ...

    async def cleanup(self) -> None: ...

    async def list_tools(self, run_context: Any = None, agent: Any = None) -> list[McpTool]:
        schema = {"type": "object", "properties": {"command": {"type": "string"}}}
        return [McpTool.model_validate({"name": "bash", "inputSchema": schema})]

    async def call_tool(self, tool_name: str, arguments: Any, meta: Any = None) -> CallToolResult:
        ran.append(arguments["command"])
        return CallToolResult(content=[TextContent(type="text", text="ran")])

    async def list_prompts(self) -> Any: ...

    async def get_prompt(self, name: str, arguments: Any = None) -> Any: ...


def test_tools_of_mcp_servers_that_the_sdk_calls_are_guarded(hooks: Hooks) -> None:
    hooks.before_tool(block_rm)
    moves = (call_bash("rm", "a"), call_bash("ls", "b"))
    agent = guard(make_agent(moves, "done", tools=[], mcp_servers=[FilesServer()]), hooks)
    asyncio.run(Runner.run(agent, "go"))
    assert ran == ["ls"]
    assert find_results(agent)["a"] == "rm is not allowed here"


# Conversations


def test_an_agent_with_a_session_is_sent_back_to_work_with_its_history(hooks: Hooks) -> None:
    @hooks.before_stop
    def gate(context: StopContext) -> Outcome | None:
        ran.append(context.session_id)
        return None if context.was_refused else Outcome.block("run the tests first")

    agent, session = guard(make_agent("first", "second"), hooks), SQLiteSession("s1")
    result = asyncio.run(Runner.run(agent, "go", session=session))
    assert (result.final_output, ran) == ("second", ["s1", "s1"])
    texts = [message.text for message in find_script(agent).requests[-1]]
    assert texts == ["go", "first", "[Hook blocked stop: run the tests first]"]


def test_a_changed_prompt_keeps_its_images(hooks: Hooks) -> None:
    hooks.turn_start(lambda context: context.replace(prompt="look closely"))
    agent = guard(make_agent("done"), hooks)
    image = {"type": "input_image", "image_url": "data:,", "detail": "auto"}
    message = {"role": "user", "content": [{"type": "input_text", "text": "look"}, image]}
    result = asyncio.run(Runner.run(agent, [message]))  # type: ignore[list-item]
    assert result.input[0]["content"][1] == image  # type: ignore[index, typeddict-item]
    assert read_all(agent) == "look closely"


def test_hooks_see_all_new_messages_of_the_person(hooks: Hooks) -> None:
    hooks.turn_start(lambda context: Outcome.block("there is a key") if "sk-" in context.prompt else None)
    agent = guard(make_agent("done"), hooks)
    old: list[Any] = [{"role": "user", "content": "sk-0"}, {"role": "assistant", "content": "that is a key"}]
    new: list[Any] = [{"role": "user", "content": "use sk-1"}, {"role": "user", "content": "please"}]
    with pytest.raises(Blocked, match="there is a key"):
        asyncio.run(Runner.run(agent, [*old, *new]))
    assert find_script(agent).requests == []
    hooks.turn_start(lambda context: context.replace(prompt="look closely"))
    asyncio.run(Runner.run(agent, [*old, {"role": "user", "content": "look"}, new[1]]))
    assert read_all(agent) == "sk-0\nthat is a key\nlook closely"


def test_no_tool_runs_after_the_session_if_the_events_are_not_read_to_their_end(hooks: Hooks) -> None:
    events: list[str] = []
    for name in ("post-session", "pre-tool-call"):
        hooks.on(name)(lambda context: events.append(context.event))

    @function_tool
    async def work(task: str) -> str:
        """Do a task."""
        ran.append(task)
        return "done"

    calls = [(Call("work", {"task": task}, task),) for task in ("one", "two", "three")]
    agent = guard(make_agent(*calls, "done", tools=[work]), hooks)

    async def read_one_event() -> None:
        stream: Any = Runner.run_streamed(agent, "go").stream_events()
        await anext(stream)
        await stream.aclose()
        # More than the rounds of the loop that all three calls take.
        for _ in range(1000):
            await asyncio.sleep(0)

    asyncio.run(read_one_event())
    assert "three" not in ran
    assert events[-1] == "post-session"


def test_a_streamed_run_that_is_cancelled_by_its_result_ends_its_session(hooks: Hooks) -> None:
    hooks.add("post-session", lambda context: ran.append(context.event))
    agent = guard(make_agent("one two three"), hooks)

    async def cancel_early() -> None:
        result = Runner.run_streamed(agent, "go")
        async for _ in result.stream_events():
            result.cancel()

    asyncio.run(cancel_early())
    assert ran == ["post-session"]


def test_the_reason_of_a_question_is_found_for_copies_and_agents_in_tools_and_not_for_other_questions(
    hooks: Hooks,
) -> None:
    hooks.before_tool(match="bash")(lambda context: Outcome.ask("is that fine?"))

    @function_tool(needs_approval=True)
    def pay(sum: int) -> str:  # noqa: A002
        """Pay."""
        return "paid"

    helper = make_agent((call_bash("ls", "inner"),), "helped", name="helper")
    tools = [bash, pay, helper.as_tool("ask_helper", "Let the helper do a task.")]
    calls = (call_bash("ls", "a"), Call("pay", {"sum": 1}, "b"), Call("ask_helper", {"input": "x"}, "c"))
    agent = guard(make_agent(calls, "done", tools=tools), hooks)
    result = asyncio.run(Runner.run(agent, "go"))
    expected = {"a": "is that fine?", "b": "", "inner": "is that fine?"}
    for items in (result.interruptions, result.to_state().get_interruptions()):
        assert {item.raw_item.call_id: find_reason(item) for item in items} == expected
