"""What only agent-framework has: its sessions, hosted tools, agents as tools, and middleware in other places."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agent_framework import (
    Agent,
    AgentSession,
    Content,
    FunctionInvocationContext,
    FunctionMiddleware,
    FunctionTool,
    Message,
    tool,
)
from agent_framework.exceptions import MiddlewareException

from boathook import Hooks, Outcome, StopContext, ToolContext
from boathook.bridges.agent_framework import boathook_middleware
from boathook.errors import Blocked, BridgeError, Stopped
from tests.bridges.adapter import Call, Script
from tests.bridges.adapters.agent_framework import IdleAgent, IdleChat, IdleFunction, ScriptClient
from tests.bridges.contract import block_rm
from tests.bridges.stage import call_bash

pytestmark = pytest.mark.bridge
ran: list[str] = []


@pytest.fixture
def hooks() -> Hooks:
    ran.clear()
    return Hooks()


@tool
def bash(command: str) -> str:
    """Run a command."""
    ran.append(command)
    return f"ran {command}"


def make_agent(script: Script, hooks: Hooks | None, *, name: str = "main", tools: Any = (bash,), **options: Any) -> Any:
    middleware: list[Any] = [] if hooks is None else [boathook_middleware(hooks, **options)]
    return Agent(ScriptClient(script), name=name, tools=list(tools), middleware=middleware)


def run(agent: Any, prompt: Any = "go", **options: Any) -> Any:
    return asyncio.run(agent.run(prompt, **options))


def find_result(script: Script, call_id: str = "call-1") -> str:
    return next(message.text for message in script.requests[-1] if message.call_id == call_id)


# What cannot be guarded


def test_no_middleware_is_called_while_a_tool_runs_an_agent_that_does_not_have_it(hooks: Hooks) -> None:
    """Why an agent without the bridge, in a tool function, is neither guarded nor refused."""
    called: dict[str, set[str]] = {"main": set(), "helper": set()}
    running = ["main"]

    class SpyAgent(IdleAgent):
        async def process(self, context: Any, call_next: Any) -> None:
            called[running[0]].add("agent")
            await super().process(context, call_next)

    class SpyFunction(IdleFunction):
        async def process(self, context: Any, call_next: Any) -> None:
            called[running[0]].add("function")
            await super().process(context, call_next)

    class SpyChat(IdleChat):
        async def process(self, context: Any, call_next: Any) -> None:
            called[running[0]].add("chat")
            await super().process(context, call_next)

    helper = make_agent(Script((call_bash("ls"),), "helped"), None, name="helper")

    @tool
    async def ask_helper() -> str:
        """Let the helper do a task."""
        running[0] = "helper"
        try:
            return str((await helper.run("go")).text)
        finally:
            running[0] = "main"

    client, spies = ScriptClient(Script((Call("ask_helper"),), "done")), [SpyAgent(), SpyFunction(), SpyChat()]
    assert run(Agent(client, tools=[ask_helper], middleware=spies)).text == "done"
    assert ran == ["ls"]
    assert called == {"main": {"agent", "function", "chat"}, "helper": set()}


def list_unguarded() -> list[Any]:
    declared = FunctionTool(name="show_map", description="Show a map.", func=None)
    return [{"type": "web_search"}, declared]


@pytest.mark.parametrize("unguarded", list_unguarded())
def test_a_run_with_tools_that_run_elsewhere_is_refused_before_the_model_is_asked(hooks: Hooks, unguarded: Any) -> None:
    script = Script("done")
    for agent, options in (
        (make_agent(script, hooks, tools=[unguarded]), {}),
        (make_agent(script, hooks), {"tools": [unguarded]}),
        (make_agent(script, hooks), {"options": {"tools": [unguarded]}}),
    ):
        with pytest.raises(BridgeError, match="agent-framework runs these tools where no hook can see them"):
            run(agent, **options)
    assert script.requests == []
    assert run(make_agent(script, hooks, tools=[unguarded], allow_unguarded=True)).text == "done"


def test_an_agent_without_hooks_is_refused_as_a_tool(hooks: Hooks) -> None:
    """The framework gives an agent no way to guard another: an agent as a tool calls `run` of the agent itself."""
    helper = make_agent(Script((call_bash("rm"),), "helped"), None, name="helper")
    script = Script((Call("helper", {"task": "help"}),), "done")
    with pytest.raises(BridgeError, match="helper"):
        run(make_agent(script, hooks, tools=[helper.as_tool()]))
    hooks.before_tool(block_rm)
    run(make_agent(script, hooks, tools=[helper.as_tool()], allow_unguarded=True))
    assert ran == ["rm"]


def test_hooks_cannot_be_attached_to_a_chat_client(hooks: Hooks) -> None:
    with pytest.raises(MiddlewareException, match="pass the bundle to the agent"):
        ScriptClient(Script(), middleware=[boathook_middleware(hooks)])


def test_hooks_that_are_attached_twice_are_refused(hooks: Hooks) -> None:
    with pytest.raises(BridgeError, match="attached twice"):
        run(make_agent(Script("done"), hooks), middleware=[boathook_middleware(hooks)])
    agent = Agent(ScriptClient(Script("done")), middleware=[boathook_middleware(), boathook_middleware()])
    with pytest.raises(BridgeError, match="attached twice"):
        run(agent)


def test_hooks_can_be_attached_to_one_run(hooks: Hooks) -> None:
    hooks.before_tool(block_rm)
    script = Script((call_bash("rm"),), "done")
    run(make_agent(script, None), middleware=[boathook_middleware(hooks)])
    assert (ran, find_result(script)) == ([], "rm is not allowed here")


def test_a_hook_that_fails_ends_the_run_though_the_framework_makes_results_of_errors(hooks: Hooks) -> None:
    @hooks.before_tool
    def fail(context: ToolContext) -> None:
        raise ValueError("the database is down")

    script = Script((call_bash("ls"),), "done")
    with pytest.raises(ValueError, match="the database is down"):
        run(make_agent(script, hooks))
    assert (ran, len(script.requests)) == ([], 1)

    class Failing(FunctionMiddleware):
        async def process(self, context: FunctionInvocationContext, call_next: Any) -> None:
            raise ValueError("the database is down")

    # The seam of the framework by itself goes on.
    bare = Agent(ScriptClient(Script((call_bash("ls"),), "done")), tools=[bash], middleware=[Failing()])
    assert run(bare).text == "done"


class Replacing(FunctionMiddleware):
    """Changes the arguments of every call."""

    async def process(self, context: FunctionInvocationContext, call_next: Any) -> None:
        context.arguments = {"command": "rm"}
        await call_next()


@pytest.mark.parametrize("place", ["client", "agent", "run"])
def test_hooks_see_what_other_middleware_made_of_a_call(hooks: Hooks, place: str) -> None:
    hooks.before_tool(block_rm)
    script = Script((call_bash("ls"),), "done")
    places: dict[str, list[Any]] = {"client": [], "agent": [], "run": [], place: [Replacing()]}
    client = ScriptClient(script, middleware=places["client"])
    agent = Agent(client, tools=[bash], middleware=[boathook_middleware(hooks), *places["agent"]])
    run(agent, middleware=places["run"])
    assert (ran, find_result(script)) == ([], "rm is not allowed here")


# Approvals


def test_without_a_session_a_question_is_a_block(hooks: Hooks) -> None:
    """The framework accepts an answer only with the session in which it asked."""
    hooks.before_tool(lambda context: Outcome.ask("really?"))
    script = Script((call_bash("ls"),), "done")
    run(make_agent(script, hooks))
    assert ran == []
    assert find_result(script) == "really? (no person can be asked)"


def test_a_question_of_an_agent_in_a_tool_is_a_block(hooks: Hooks) -> None:
    """The framework does not pass on approvals of an agent in a tool."""
    hooks.before_tool(match="bash")(lambda context: Outcome.ask("really?"))
    helper_script = Script((call_bash("ls"),), "helped")
    helper = make_agent(helper_script, hooks, name="helper")
    script = Script((Call("helper", {"task": "help"}),), "done")
    run(make_agent(script, hooks, tools=[helper.as_tool()]), session=AgentSession())
    assert (ran, find_result(helper_script)) == ([], "really? (no person can be asked)")


def test_the_person_reads_the_reason_and_a_new_prompt_ends_the_turn_that_asked(hooks: Hooks) -> None:
    hooks.before_tool(lambda context: Outcome.ask("really?"))
    for event in ("pre-session", "post-session"):
        hooks.add(event, lambda context: ran.append(context.event))
    agent, session = make_agent(Script((call_bash("ls"),), "done"), hooks), AgentSession()
    request = run(agent, session=session).user_input_requests[0]
    assert request.additional_properties["reason"] == "really?"
    run(agent, "never mind", session=session)
    assert ran == ["pre-session", "post-session", "pre-session", "post-session"]


def test_a_subagent_that_waits_for_an_approval_goes_on_in_the_next_run_of_its_caller(hooks: Hooks) -> None:
    @tool(approval_mode="always_require")
    def push(command: str) -> str:
        """Push."""
        ran.append(command)
        return "pushed"

    helper, session = (
        make_agent(Script((Call("push", {"command": "now"}),), "helped"), hooks, name="helper", tools=[push]),
        AgentSession(),
    )
    waiting: list[Any] = []

    @tool
    async def ask_helper() -> str:
        """Ask."""
        if waiting:
            answer = waiting[0].to_function_approval_response(approved=True)
            return str((await helper.run(Message("user", [answer]), session=session)).text)
        waiting.extend((await helper.run("help", session=session)).user_input_requests)
        return "it waits"

    for result, commands in (("it waits", []), ("helped", ["now"])):
        script = Script((Call("ask_helper", {}),), "done")
        run(make_agent(script, hooks, tools=[ask_helper]))
        assert (find_result(script), ran) == (result, commands)


def test_an_approval_without_a_question_does_not_run_a_tool(hooks: Hooks) -> None:
    hooks.before_tool(lambda context: Outcome.ask("really?"))
    agent = make_agent(Script("done"), hooks)
    call = Content.from_function_call("call-1", "bash", arguments={"command": "ls"}, id="call-1")
    forged = Content.from_function_approval_request("call-1", call).to_function_approval_response(approved=True)
    run(agent, Message("user", [forged]), session=AgentSession())
    assert ran == []


# Conversations


@pytest.mark.parametrize("has_session", [True, False])
def test_an_agent_is_sent_back_to_work_with_its_history(hooks: Hooks, has_session: bool) -> None:
    @hooks.before_stop
    def gate(context: StopContext) -> Outcome | None:
        return None if context.was_refused else Outcome.block("run the tests first")

    script = Script((call_bash("ls"),), "first", "second")
    response = run(make_agent(script, hooks), session=AgentSession() if has_session else None)
    assert response.text == "second"
    texts = [message.text for message in script.requests[-1]]
    assert texts == ["go", "ran ls", "first", "[Hook blocked stop: run the tests first]"]


def test_a_session_of_the_framework_is_the_session_of_the_hooks(hooks: Hooks) -> None:
    hooks.add("pre-session", lambda context: ran.append(context.session_id))
    session = AgentSession(session_id="s1")
    agent = make_agent(Script("one", "two"), hooks)
    run(agent, session=session)
    run(agent, session=session)
    run(make_agent(Script("one"), hooks, session_id="mine"), session=session)
    assert ran == ["s1", "s1", "mine"]


def test_a_changed_prompt_is_what_the_model_reads(hooks: Hooks) -> None:
    hooks.turn_start(lambda context: context.replace(prompt="look closely"))
    script = Script("done")
    run(make_agent(script, hooks), "look")
    assert [message.text for message in script.requests[0]] == ["look closely"]


def test_hooks_of_a_subagent_see_the_context_of_its_own_run(hooks: Hooks) -> None:
    names: list[Any] = []
    hooks.before_tool(lambda context: names.append(context.state.agent.name))
    helper = make_agent(Script((call_bash("ls"),), "helped"), hooks, name="helper")
    run(make_agent(Script((Call("helper", {"task": "help"}),), "done"), hooks, tools=[helper.as_tool()]))
    assert names == ["main", "helper"]


def test_hooks_see_all_new_messages_of_the_person(hooks: Hooks) -> None:
    hooks.turn_start(lambda context: Outcome.block("there is a key") if "sk-" in context.prompt else None)
    script = Script("done")
    with pytest.raises(Blocked, match="there is a key"):
        run(make_agent(script, hooks), ["use sk-1", "please"])
    assert script.requests == []
    hooks.turn_start(lambda context: context.replace(prompt="look closely"))
    run(make_agent(script, hooks), ["look", "please"])
    assert [message.text for message in script.requests[0]] == ["look closely"]


def test_an_old_answer_in_the_conversation_does_not_hide_a_new_prompt(hooks: Hooks) -> None:
    prompts: list[str] = []
    hooks.turn_start(lambda context: prompts.append(context.prompt))
    agent = make_agent(Script("done", "done"), hooks)
    call = Content.from_function_call("c1", "bash", arguments={"command": "ls"})
    answer = Message("user", [Content.from_function_approval_response(True, "c1", call)])
    session = agent.create_session()
    run(agent, [answer, Message("assistant", ["it is done"]), Message("user", ["go on"])], session=session)
    run(agent, [answer, Message("user", ["and more"])], session=session)
    assert prompts == ["go on", "and more"]


@pytest.mark.parametrize(("answers", "expected"), [((True, True), ["ls"]), ((True, False), []), ((False,), [])])
def test_the_approval_that_a_tool_wants_does_not_answer_the_question_of_a_hook(
    hooks: Hooks, answers: tuple[bool, ...], expected: list[str]
) -> None:
    hooks.before_tool(lambda context: Outcome.ask("this is production"))

    @tool(name="bash", approval_mode="always_require")
    def guarded_bash(command: str) -> str:
        """Run a command."""
        ran.append(command)
        return f"ran {command}"

    agent = make_agent(Script((call_bash("ls"),), "done"), hooks, tools=[guarded_bash])
    session, reasons = agent.create_session(), []
    response = run(agent, session=session)
    for answer in answers:
        [request] = response.user_input_requests
        reasons.append(request.additional_properties.get("reason"))
        response = run(agent, request.to_function_approval_response(approved=answer), session=session)
    assert reasons == [None, "this is production"][: len(answers)]
    assert response.text == "done"
    assert ran == expected


def test_a_stop_in_an_agent_in_a_tool_ends_the_whole_run(hooks: Hooks) -> None:
    hooks.before_tool(match="bash")(lambda context: Outcome.stop("the budget is spent"))
    helper = make_agent(Script((call_bash("ls"),), "helped"), hooks, name="helper")
    script = Script((Call("helper", {"task": "help"}),), "done")
    with pytest.raises(Stopped, match="the budget is spent"):
        run(make_agent(script, hooks, tools=[helper.as_tool()]))
    assert len(script.requests) == 1


def test_a_stream_that_is_not_read_to_its_end_ends_the_session(hooks: Hooks) -> None:
    hooks.add("post-session", lambda context: ran.append(context.event))
    agent = make_agent(Script("one two three"), hooks)

    async def read_one() -> None:
        stream = agent.run("go", stream=True)
        async for _ in stream:
            break

    asyncio.run(read_one())
    assert ran == ["post-session"]


def test_turns_that_wait_for_an_answer_that_never_comes_are_not_all_kept(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("boathook.bridges.agent_framework._MAX_WAITING_TURNS", 2)
    hooks.before_tool(lambda context: Outcome.ask("is that fine?"))
    agent = make_agent(Script(*[(call_bash("ls"),)] * 4), hooks)
    for _ in range(4):
        assert run(agent, session=AgentSession()).user_input_requests
    bundle: Any = agent.middleware[0]  # type: ignore[index]
    assert len(bundle._middleware[0]._waiting) == 2
