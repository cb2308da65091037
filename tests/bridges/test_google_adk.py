"""What only google-adk has: plugins for all agents, callbacks of agents, tools that ask themselves, answers that are calls."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from google.adk.agents import LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.agents.live_request_queue import LiveRequestQueue
from google.adk.agents.run_config import RunConfig
from google.adk.apps import App
from google.adk.code_executors import UnsafeLocalCodeExecutor
from google.adk.models import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import InMemoryRunner
from google.adk.tools import FunctionTool, LongRunningFunctionTool, google_search
from google.adk.tools.agent_tool import AgentTool
from google.adk.workflow import START, Workflow
from google.genai import types
from pydantic import BaseModel

from boathook import ExecutionContext, Hooks, Outcome, SessionContext, StopContext, ToolContext
from boathook.bridges.google_adk import BoathookPlugin
from boathook.errors import Blocked, BridgeError, HookError, Stopped
from tests.bridges.adapter import Answers, Call, Ran, Script
from tests.bridges.adapters.google_adk import PERSON, GoogleAdk, ScriptedLlm, make_model
from tests.bridges.contract import block_rm
from tests.bridges.stage import PATIENCE, call_bash, transcribe

pytestmark = [pytest.mark.bridge, pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")]
ran: list[str] = []


@pytest.fixture
def hooks() -> Hooks:
    ran.clear()
    return Hooks()


def bash(command: str) -> str:
    """Run a command."""
    ran.append(command)
    return f"ran {command}"


def make_agent(*moves: Any, name: str = "main", tools: list[Any] | None = None, **fields: Any) -> LlmAgent:
    return LlmAgent(name=name, model=make_model(Script(*moves)), tools=[bash] if tools is None else tools, **fields)


def make_runner(agent: Any, *plugins: BasePlugin) -> InMemoryRunner:
    return InMemoryRunner(app=App(name="app", root_agent=agent, plugins=[*plugins]))


def run(agent: Any, *plugins: BasePlugin, prompt: str = "go") -> Ran:
    return asyncio.run(asyncio.wait_for(GoogleAdk().run_async(make_runner(agent, *plugins), prompt), PATIENCE))


def find_script(agent: LlmAgent) -> Script:
    model: Any = agent.model
    script: Script = model.script
    return script


def read_last(agent: LlmAgent) -> str:
    return transcribe(find_script(agent).requests[-1])


def note_events(hooks: Hooks, *names: str) -> list[str]:
    events: list[str] = []
    for name in names:
        hooks.add(name, lambda context: events.append(context.event))
    return events


def test_nothing_of_a_plugin_is_used_while_a_tool_runs_an_agent_with_a_runner_that_does_not_have_it() -> None:
    """Why an agent in a Runner without the plugin, in a tool function, is neither guarded nor refused."""
    used: dict[str, set[str]] = {"main": set(), "helper": set()}
    running = ["main"]
    ran.clear()

    class Spy(BasePlugin):
        def __getattribute__(self, name: str) -> Any:
            used[running[0]].add(name)
            return super().__getattribute__(name)

    helper = make_agent((call_bash("ls"),), "helped", name="helper")

    async def ask_helper() -> str:
        """Let the helper do a task."""
        running[0] = "helper"
        try:
            return str((await GoogleAdk().run_async(make_runner(helper), "go")).output)
        finally:
            running[0] = "main"

    assert run(make_agent((Call("ask_helper"),), "done", tools=[ask_helper]), Spy("spy")).output == "done"
    assert ran == ["ls"]
    assert {"before_run_callback", "before_model_callback", "before_tool_callback"} <= used["main"]
    assert used["helper"] == set()


# What cannot be guarded


class Gemini(ScriptedLlm):
    """A model of which ADK believes that it is served live."""

    def connect(self, llm_request: Any) -> Any:
        raise AssertionError("it runs live")


def make_gemini() -> Any:
    return Gemini(model="gemini-2.5-flash", script=Script("done"))


def make_helper(**fields: Any) -> AgentTool:
    return AgentTool(make_agent("helped", name="helper"), **fields)


UNGUARDED: dict[str, Any] = {
    "google_search": {"model": make_gemini(), "tools": [google_search]},
    "the agent helper": {"model": make_model(Script("done")), "tools": [make_helper(include_plugins=False)]},
    "the code executor of the agent main": {
        "model": make_model(Script("done")),
        "code_executor": UnsafeLocalCodeExecutor(),
    },
}


@pytest.mark.parametrize("name", UNGUARDED)
def test_what_no_plugin_sees_is_refused_before_the_model_is_asked(hooks: Hooks, name: str) -> None:
    agent = LlmAgent(name="main", **UNGUARDED[name])
    with pytest.raises(RuntimeError, match=f"no hook can see them: .*{name}") as raised:
        run(agent, BoathookPlugin(hooks))
    assert isinstance(raised.value.__cause__, BridgeError)
    assert find_script(agent).requests == []
    assert run(agent, BoathookPlugin(hooks, allow_unguarded=True)).output == "done"


def test_an_agent_that_works_elsewhere_is_refused(hooks: Hooks) -> None:
    class RemoteA2aAgent(LlmAgent):
        pass

    agent = RemoteA2aAgent(name="far", model=make_model(Script("done")))
    with pytest.raises(RuntimeError, match="no hook can see them: those of the agent far"):
        run(agent, BoathookPlugin(hooks))
    assert find_script(agent).requests == []


def test_a_live_run_is_refused(hooks: Hooks) -> None:
    agent, plugin = make_agent("done"), BoathookPlugin(hooks)

    async def run_live() -> None:
        runner = make_runner(agent, plugin)
        await runner.session_service.create_session(app_name="app", user_id=PERSON, session_id="s")
        live = runner.run_live(user_id=PERSON, session_id="s", live_request_queue=LiveRequestQueue())
        async for _ in live:
            raise AssertionError("it runs")

    with pytest.raises(RuntimeError, match="cannot guard a live run"):
        asyncio.run(asyncio.wait_for(run_live(), PATIENCE))


def test_compositional_calls_are_refused_because_they_run_live(hooks: Hooks) -> None:
    agent = LlmAgent(name="main", model=make_gemini())

    async def run_cfc() -> None:
        runner = make_runner(agent, BoathookPlugin(hooks))
        await runner.session_service.create_session(app_name="app", user_id=PERSON, session_id="s")
        message = types.Content(role="user", parts=[types.Part(text="go")])
        config = RunConfig(support_cfc=True)
        async for _ in runner.run_async(user_id=PERSON, session_id="s", new_message=message, run_config=config):
            raise AssertionError("it runs")

    with pytest.raises(RuntimeError, match="cannot guard a live run"):
        asyncio.run(asyncio.wait_for(run_cfc(), PATIENCE))


def test_middleware_around_tools_is_refused_when_it_is_attached(hooks: Hooks) -> None:
    @hooks.before_tool
    def around(context: ToolContext, next: Any) -> Any:  # noqa: A002
        return next(context)

    with pytest.raises(HookError, match="middleware cannot be around tools here"):
        BoathookPlugin(hooks)


def test_it_cannot_be_attached_twice(hooks: Hooks) -> None:
    with pytest.raises(ValueError, match="boathook"):
        make_runner(make_agent("done"), BoathookPlugin(hooks), BoathookPlugin(hooks))


def test_an_agent_that_a_function_runs_is_guarded_only_by_the_plugins_of_its_own_runner(hooks: Hooks) -> None:
    """ADK gives the plugins of a runner to no other one."""
    hooks.before_tool(block_rm)

    def play(*plugins: BasePlugin) -> list[str]:
        helper = make_agent((call_bash("rm"),), "helped", name="helper")

        async def ask_helper(task: str) -> str:
            """Let the helper do a task."""
            return str((await GoogleAdk().run_async(make_runner(helper, *plugins), task)).output)

        run(make_agent((Call("ask_helper", {"task": "clean up"}),), "done", tools=[ask_helper]), BoathookPlugin(hooks))
        return [*ran]

    assert play(BoathookPlugin(hooks)) == []
    assert play() == ["rm"]


class Answering(BasePlugin):
    """A plugin that answers in place of those after it."""

    async def on_user_message_callback(self, *, invocation_context: Any, user_message: Any) -> Any:
        return user_message


def test_a_plugin_that_could_answer_before_the_hooks_are_asked_is_refused(hooks: Hooks) -> None:
    hooks.turn_start(lambda context: Outcome.block("no prompts today"))
    agent = make_agent("done")
    with pytest.raises(RuntimeError, match="the plugin 'answering' is before boathook"):
        run(agent, Answering(name="answering"), BoathookPlugin(hooks))
    with pytest.raises(RuntimeError, match="no prompts today"):
        run(agent, BoathookPlugin(hooks), Answering(name="answering"))
    assert find_script(agent).requests == []
    # ADK does not ask the plugins that come after one that answered.
    assert run(agent, Answering(name="answering"), BoathookPlugin(hooks, allow_unguarded=True)).output == "done"


# Nothing fails open


def test_a_hook_that_fails_ends_the_run_and_the_tool_does_not_run(hooks: Hooks) -> None:
    @hooks.before_tool
    def fail(context: ToolContext) -> None:
        raise ValueError("the database is down")

    with pytest.raises(RuntimeError, match="the database is down"):
        run(make_agent((call_bash("ls"),), "done"), BoathookPlugin(hooks))
    assert ran == []


def test_arguments_that_a_callback_of_the_agent_changes_are_shown_to_hooks(hooks: Hooks) -> None:
    hooks.before_tool(block_rm)

    def change(tool: Any, args: dict[str, Any], tool_context: Any) -> None:
        args["command"] = "rm -r build"

    agent = make_agent((call_bash("ls"),), "done", before_tool_callback=change)
    run(agent, BoathookPlugin(hooks))
    assert (ran, "rm is not allowed here" in read_last(agent)) == ([], True)
    run(make_agent((call_bash("ls"),), "done", before_tool_callback=change))
    assert ran == ["rm -r build"]


def test_arguments_that_a_later_plugin_changes_are_shown_to_hooks(hooks: Hooks) -> None:
    class Changing(BasePlugin):
        async def before_tool_callback(self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any) -> None:
            tool_args["command"] = "rm -r build"

    hooks.before_tool(block_rm)
    run(make_agent((call_bash("ls"),), "done"), BoathookPlugin(hooks), Changing(name="changing"))
    assert ran == []


def test_callbacks_of_the_agent_still_work(hooks: Hooks) -> None:
    seen: list[str] = []

    def before(tool: Any, args: dict[str, Any], tool_context: Any) -> dict[str, str] | None:
        seen.append("before")
        return {"result": "from the cache"} if args["command"] == "cached" else None

    def after(tool: Any, args: dict[str, Any], tool_context: Any, tool_response: Any) -> None:
        seen.append("after")

    moves = (call_bash("cached", "a"),), (call_bash("ls", "b"),), "done"
    agent = make_agent(*moves, before_tool_callback=before, after_tool_callback=after)
    run(agent, BoathookPlugin(hooks))
    assert (ran, seen) == (["ls"], ["before", "after", "before", "after"])
    assert "from the cache" in read_last(agent)


# Prompts and stops


def test_a_blocked_prompt_is_not_in_the_history(hooks: Hooks) -> None:
    hooks.turn_start(lambda context: Outcome.block("there is a key") if "hunter2" in context.prompt else None)
    agent = make_agent("done")
    runner = make_runner(agent, BoathookPlugin(hooks))

    async def talk(text: str) -> None:
        message = types.Content(role="user", parts=[types.Part(text=text)])
        async for _ in runner.run_async(user_id=PERSON, session_id="s", new_message=message):
            pass

    async def talk_twice() -> None:
        await runner.session_service.create_session(app_name="app", user_id=PERSON, session_id="s")
        with pytest.raises(RuntimeError, match="there is a key") as raised:
            await talk("hunter2")
        assert isinstance(raised.value.__cause__, Blocked)
        await talk("hello")

    asyncio.run(asyncio.wait_for(talk_twice(), PATIENCE))
    assert [message.text for message in find_script(agent).requests[0]] == ["hello"]


def test_a_changed_prompt_is_what_the_model_reads(hooks: Hooks) -> None:
    @hooks.turn_start
    def hide(context: ExecutionContext) -> ExecutionContext:
        return context.replace(prompt=context.prompt.replace("hunter2", "***"))

    agent = make_agent("done")
    run(agent, BoathookPlugin(hooks), prompt="it is hunter2")
    assert read_last(agent) == "it is ***"


def refuse_stops(hooks: Hooks) -> list[str]:
    """Refuse every stop; return the texts with which agents wanted to."""
    asked: list[str] = []

    @hooks.before_stop
    def gate(context: StopContext) -> Outcome:
        asked.append(context.final_message or "")
        return Outcome.block("run the tests first")

    return asked


@pytest.mark.parametrize("kind", [SequentialAgent, ParallelAgent])
def test_each_agent_of_a_run_is_sent_back_to_work_three_times(hooks: Hooks, kind: Any) -> None:
    asked = refuse_stops(hooks)
    agents = [make_agent(*(f"{name} {at}" for at in range(6)), name=name) for name in ("one", "two")]
    run(kind(name="main", sub_agents=agents), BoathookPlugin(hooks))
    assert sorted(asked) == [f"{name} {at}" for name in ("one", "two") for at in range(4)]


class MuteLlm(BaseLlm):
    """Answers with parts that have no text the first time, and with text from then on."""

    parts: list[types.Part]
    requests: int = 0

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        self.requests += 1
        parts = self.parts if self.requests == 1 else [types.Part(text="done")]
        yield LlmResponse(content=types.Content(role="model", parts=parts))


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [types.Part(text="hm", thought=True)],
        [types.Part(inline_data=types.Blob(data=b"x", mime_type="image/png"))],
    ],
    ids=["nothing", "thought", "image"],
)
def test_an_answer_without_text_is_a_stop_too(hooks: Hooks, parts: list[types.Part]) -> None:
    hooks.before_stop(lambda context: None if context.was_refused else Outcome.block("run the tests first"))
    model = MuteLlm(model="mute", parts=parts)
    assert run(LlmAgent(name="main", model=model), BoathookPlugin(hooks)).output == "done"
    assert model.requests == 2


class Answer(BaseModel):
    text: str


def test_an_answer_that_is_the_input_of_a_tool_can_be_refused(hooks: Hooks) -> None:
    """An agent with tools and an output schema gives its answer by a call."""

    @hooks.before_stop
    def gate(context: StopContext) -> Outcome | None:
        return None if context.was_refused else Outcome.block("run the tests first")

    moves = (
        (Call("set_model_response", {"text": "one"}, "a"),),
        (Call("set_model_response", {"text": "two"}, "b"),),
    )
    agent = make_agent(*moves, output_schema=Answer)
    assert "two" in (run(agent, BoathookPlugin(hooks)).output or "")
    assert (len(find_script(agent).requests), "run the tests first" in read_last(agent)) == (2, True)


def test_the_model_cannot_make_the_call_that_refuses_a_stop(hooks: Hooks) -> None:
    agent = make_agent((Call("boathook_feedback"),), "done")
    run(agent, BoathookPlugin(hooks))
    assert "no tool with that name" in read_last(agent)


def test_a_stop_in_an_agent_in_a_tool_ends_the_whole_run(hooks: Hooks) -> None:
    hooks.before_tool(match="bash")(lambda context: Outcome.stop("the budget is spent"))
    helper = make_agent((call_bash("ls"),), "helped", name="helper")
    agent = make_agent((Call("helper", {"request": "go"}),), "done", tools=[AgentTool(helper)])
    with pytest.raises(RuntimeError, match="the budget is spent") as raised:
        run(agent, BoathookPlugin(hooks))
    assert isinstance(raised.value.__cause__, Stopped)
    assert (ran, len(find_script(agent).requests)) == ([], 1)


def test_the_model_reads_why_an_agent_in_a_tool_was_blocked(hooks: Hooks) -> None:
    hooks.add("pre-subagent", lambda context: Outcome.block("no helpers today"))
    helper = make_agent("helped", name="helper")
    agent = make_agent((Call("helper", {"request": "go"}),), "done", tools=[AgentTool(helper)])
    assert run(agent, BoathookPlugin(hooks)).output == "done"
    assert ("no helpers today" in read_last(agent), find_script(helper).requests) == (True, [])


@pytest.mark.parametrize("kind", [SequentialAgent, LoopAgent])
def test_agents_that_run_others_are_one_run(hooks: Hooks, kind: Any) -> None:
    hooks.before_tool(block_rm)
    events = note_events(hooks, "pre-session", "pre-agent-turn", "post-agent-turn", "post-session")
    one, two = make_agent((call_bash("rm -r x"),), "one", name="one"), make_agent("two", name="two")
    fields = {"max_iterations": 1} if kind is LoopAgent else {}
    assert run(kind(name="main", sub_agents=[one, two], **fields), BoathookPlugin(hooks)).output == "two"
    assert (ran, events) == ([], ["pre-session", "pre-agent-turn", "post-agent-turn", "post-session"])


# Questions


def play_own_question(hooks: Hooks, *, is_allowed: bool) -> list[str]:
    events = note_events(hooks, "pre-session", "pre-tool-call", "post-tool-call", "post-session")
    agent = make_agent((call_bash("ls"),), "done", tools=[FunctionTool(bash, require_confirmation=True)])
    runner, adapter = make_runner(agent, BoathookPlugin(hooks)), GoogleAdk()

    async def play() -> None:
        waiting = await adapter.run_async(runner, "go")
        assert ([each.tool for each in waiting.approvals], ran) == (["bash"], [])
        assert (await adapter.run_async(runner, Answers(waiting, {"call-1": is_allowed}))).output == "done"

    asyncio.run(asyncio.wait_for(play(), PATIENCE))
    return events


def test_an_approval_counts_once_if_two_tasks_go_on_at_once(hooks: Hooks) -> None:
    ran.clear()
    hooks.before_tool(lambda context: Outcome.ask("sure?"))
    runner = make_runner(make_agent((call_bash("git push"),), "done", "done again"), BoathookPlugin(hooks))

    async def play() -> None:
        paused = await GoogleAdk().run_async(runner, "go")
        answers = Answers(paused, {each.call_id: True for each in paused.approvals})
        await asyncio.gather(*(GoogleAdk().run_async(runner, answers) for _ in range(2)))

    asyncio.run(asyncio.wait_for(play(), PATIENCE))
    assert ran == ["git push"]


def test_a_tool_that_asks_itself_is_asked_about_once(hooks: Hooks) -> None:
    hooks.before_tool(lambda context: Outcome.ask("may it?"))
    events = play_own_question(hooks, is_allowed=True)
    assert (ran, events) == (["ls"], ["pre-session", "pre-tool-call", "post-tool-call", "post-session"])


def test_a_tool_that_asks_itself_and_is_refused_does_not_run(hooks: Hooks) -> None:
    events = play_own_question(hooks, is_allowed=False)
    assert (ran, events) == ([], ["pre-session", "pre-tool-call", "post-session"])


def run_tool_node(hooks: Hooks) -> list[str]:
    events = note_events(hooks, "pre-session", "pre-tool-call", "post-tool-call", "post-session")
    run(Workflow(name="flow", edges=[(START, FunctionTool(bash))]), BoathookPlugin(hooks), prompt="ls")
    return events


def test_a_tool_that_is_a_node_of_a_workflow_is_guarded(hooks: Hooks) -> None:
    assert run_tool_node(hooks) == ["pre-session", "pre-tool-call", "post-tool-call", "post-session"]
    assert ran == ["ls"]
    hooks.before_tool(match="bash")(lambda context: Outcome.block("no"))
    run_tool_node(hooks)
    assert ran == ["ls"]


def test_a_question_about_a_node_of_a_workflow_is_put_to_the_program_or_is_a_block(hooks: Hooks) -> None:
    hooks.before_tool(lambda context: Outcome.ask("may it?"))
    assert "post-tool-call" not in run_tool_node(hooks)
    hooks.on_ask(lambda *question: True)
    assert "post-tool-call" in run_tool_node(hooks)


def test_a_question_in_an_agent_in_a_tool_is_a_block(hooks: Hooks) -> None:
    """ADK forgets the conversation of such an agent, so that it could not go on."""
    hooks.before_tool(match="bash")(lambda context: Outcome.ask("may it?"))
    helper = make_agent((call_bash("ls"),), "helped", name="helper")
    agent = make_agent((Call("helper", {"request": "go"}),), "done", tools=[AgentTool(helper)])
    assert run(agent, BoathookPlugin(hooks)).output == "done"
    assert (ran, "may it?" in read_last(helper)) == ([], True)


# Ends


def test_a_time_limit_within_a_task_ends_the_session(hooks: Hooks) -> None:
    """The task goes on, and ADK calls no plugin."""
    events = note_events(hooks, "post-agent-turn")

    async def wait() -> str:
        """Wait."""
        limits[0].reschedule(0)
        await asyncio.sleep(PATIENCE)
        return "waited"

    async def play() -> None:
        is_over = asyncio.Event()

        # Async, because an event of asyncio may be set in its loop only.
        @hooks.session_end
        async def note_end(context: SessionContext) -> None:
            events.append(context.event)
            is_over.set()

        runner = make_runner(make_agent((Call("wait"),), "done", tools=[wait]), BoathookPlugin(hooks))
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE) as limit:
                limits.append(limit)
                await GoogleAdk().run_async(runner, "go")
        assert limit.expired()
        await is_over.wait()

    limits: list[asyncio.Timeout] = []
    asyncio.run(asyncio.wait_for(play(), PATIENCE))
    assert events == ["post-agent-turn", "post-session"]


def test_a_caller_that_does_not_read_to_the_end_ends_the_session(hooks: Hooks) -> None:
    events = note_events(hooks, "pre-session", "post-session")

    async def play() -> None:
        runner = make_runner(make_agent((call_bash("ls"),), "done"), BoathookPlugin(hooks))
        await runner.session_service.create_session(app_name="app", user_id=PERSON, session_id="s")
        message = types.Content(role="user", parts=[types.Part(text="go")])
        reading = runner.run_async(user_id=PERSON, session_id="s", new_message=message)
        async for _ in reading:
            break
        await reading.aclose()

    asyncio.run(asyncio.wait_for(play(), PATIENCE))
    assert events == ["pre-session", "post-session"]


@pytest.mark.parametrize("name", ["later", "adk_request_input"])
def test_hooks_see_a_result_that_the_program_sends_later(hooks: Hooks, name: str) -> None:
    def later(job: str) -> None:
        """Do a job that takes long."""

    seen: list[Any] = []

    @hooks.after_tool
    def redact(context: ToolContext) -> ToolContext | None:
        seen.append((context.name, dict(context.args), context.result))
        return None if context.result is None else context.replace(result="***")

    agent = make_agent((Call("later", {"job": "build"}),), "it runs", "done", tools=[LongRunningFunctionTool(later)])
    runner = make_runner(agent, BoathookPlugin(hooks))
    response = types.FunctionResponse(id="call-1", name=name, response={"result": "hunter2"})
    answer = types.Content(role="user", parts=[types.Part(function_response=response)])

    async def run_twice() -> None:
        session = (await runner.session_service.create_session(app_name="app", user_id=PERSON)).id
        for message in (types.Content(role="user", parts=[types.Part(text="go")]), answer):
            async for _ in runner.run_async(user_id=PERSON, session_id=session, new_message=message):
                pass

    asyncio.run(run_twice())
    # With the name of a request of its own, ADK calls the tool once more.
    assert seen[:2] == [("later", {"job": "build"}, None), ("later", {"job": "build"}, "hunter2")]
    assert "hunter2" not in read_last(agent)
    assert name != "later" or "***" in read_last(agent)
