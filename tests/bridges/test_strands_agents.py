"""What only strands has: conversations in agents, interrupts, calls by the program, swarms, other hooks."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("strands")

from pydantic import BaseModel
from strands import Agent, tool
from strands.hooks import AfterInvocationEvent, BeforeToolCallEvent
from strands.middleware import ExecuteToolStage
from strands.multiagent import GraphBuilder, Swarm

from boathook import Hooks, Outcome
from boathook.bridges.strands_agents import BoathookHooks
from boathook.errors import BridgeError
from tests.bridges.adapter import Call, Script
from tests.bridges.adapters.strands_agents import ScriptedModel
from tests.bridges.stage import call_bash

pytestmark = pytest.mark.bridge
WHOLE_RUN = ["pre-session", "pre-agent-turn", "post-agent-turn", "post-session"]


class Scene:
    """An agent with hooks, and what its tools ran."""

    def __init__(self, *moves: Any, tools: Any = (), **options: Any) -> None:
        self.hooks, self.ran, self.events = Hooks(), [], []
        self.script = Script(*moves)

        @tool
        def bash(command: str) -> str:
            """Run a command."""
            self.ran.append(command)
            return f"ran {command}"

        self.tools = [bash, *tools]
        self.bridge = BoathookHooks(self.hooks, **options)
        for kind in ("pre-session", "pre-agent-turn", "turn-failure", "post-agent-turn", "post-session"):
            self.hooks.add(kind, lambda context: self.events.append(context.event))

    def build(self, *others: Any, **fields: Any) -> Agent:
        options = {"tools": self.tools, "hooks": [self.bridge, *others], "callback_handler": None, **fields}
        return Agent(ScriptedModel(self.script), **options)


def ask(context: Any) -> Outcome:
    return Outcome.ask("is that fine?")


def read(result: Any) -> str:
    return "".join(block.get("text", "") for block in result.message["content"])


def answer(result: Any, response: Any) -> list[Any]:
    return [{"interruptResponse": {"interruptId": each.id, "response": response}} for each in result.interrupts]


def test_a_hook_that_raises_lets_nothing_run():
    scene = Scene((call_bash("ls"),), "done")

    @scene.hooks.before_tool
    def broken(context: Any) -> None:
        raise ValueError("broken")

    assert read(scene.build()("go")) == "done"
    assert scene.ran == []
    assert "broken" in scene.script.requests[-1][-1].text


@pytest.mark.parametrize("commands", [("rm", "ls"), ("ls", "rm")])
def test_two_calls_with_one_id_have_an_answer_each(commands: tuple[str, str]):
    scene = Scene(tuple(call_bash(command, "same") for command in commands), "done")
    scene.hooks.before_tool(ask)
    agent = scene.build()
    asked = agent("go").interrupts or []
    assert [each.reason["args"]["command"] for each in asked] == [*commands]
    answers = [(each.id, each.reason["args"]["command"] == "ls") for each in asked]
    agent([{"interruptResponse": {"interruptId": key, "response": is_fine}} for key, is_fine in answers])
    assert scene.ran == ["ls"]


@pytest.mark.parametrize("response", ["maybe", 1, {"ok": True}, ["approve"]])
def test_an_answer_that_is_none_lets_nothing_run(response: Any):
    scene = Scene((call_bash("ls"),), "done")
    scene.hooks.before_tool(ask)
    agent = scene.build()
    agent(answer(agent("go"), response))
    assert scene.ran == []
    assert "the answer is" in scene.script.requests[-1][-1].text


@pytest.mark.parametrize(("response", "ran"), [("approve", ["ls"]), ("Y", ["ls"]), ("deny", []), ("n", [])])
def test_an_answer_may_be_a_word(response: str, ran: list[str]):
    scene = Scene((call_bash("ls"),), "done")
    scene.hooks.before_tool(ask)
    agent = scene.build()
    agent(answer(agent("go"), response))
    assert scene.ran == ran
    assert scene.events == WHOLE_RUN


def test_an_agent_as_a_tool_asks_and_goes_on():
    helper = Scene((call_bash("git push"),), "helped")
    helper.hooks.before_tool(ask)
    scene = Scene(
        (Call("ask_helper", {"input": "push"}),), "done", tools=[helper.build(name="helper").as_tool(name="ask_helper")]
    )
    agent = scene.build()
    asked = agent("go")
    assert helper.ran == []
    assert read(agent(answer(asked, True))) == "done"
    assert helper.ran == ["git push"]
    assert scene.events == WHOLE_RUN


def test_a_blocked_prompt_does_not_stay_in_the_conversation():
    scene = Scene("done")
    scene.hooks.turn_start(lambda context: Outcome.block("there is a key") if "hunter2" in context.prompt else None)
    agent = scene.build()
    assert read(agent("use hunter2")) == "there is a key"
    assert read(agent("hello")) == "done"
    assert not any("hunter2" in message.text for message in scene.script.requests[0])


def test_a_hook_changes_the_prompt_and_a_document_stays():
    scene = Scene("done")
    scene.hooks.turn_start(lambda context: context.replace(prompt="in English, please"))
    document: Any = {"document": {"name": "a", "format": "txt", "source": {"bytes": b"x"}}}
    agent = scene.build()
    agent([{"text": "auf Deutsch"}, document])
    assert agent.messages[0]["content"] == [{"text": "in English, please"}, document]


def test_a_call_by_the_program_is_guarded_and_is_a_session_of_its_own():
    scene = Scene()
    scene.hooks.before_tool(lambda context: Outcome.block("no") if context.args["command"] == "rm" else None)
    agent = scene.build()
    assert agent.tool.bash(command="ls")["content"] == [{"text": "ran ls"}]
    assert agent.tool.bash(command="rm")["content"] == [{"text": "no"}]
    assert scene.ran == ["ls"]
    assert scene.events == ["pre-session", "post-session"] * 2


def test_hooks_see_a_call_as_other_hooks_of_the_agent_left_it():
    scene = Scene((call_bash("ls"),), "done")
    seen: list[str] = []
    scene.hooks.before_tool(lambda context: seen.append(context.args["command"]))
    agent = scene.build()

    def change(event: BeforeToolCallEvent) -> None:
        event.tool_use["input"]["command"] = "ls -l"

    agent.hooks.add_callback(BeforeToolCallEvent, change)
    agent("go")
    assert seen == scene.ran == ["ls -l"]


def test_middleware_of_hooks_is_around_a_tool():
    scene = Scene((call_bash("ls"),), "done")

    @scene.hooks.before_tool
    def shout(context: Any, next: Any) -> Any:  # noqa: A002
        outcome = next()
        return outcome.replace(context=outcome.context.replace(result=outcome.context.result.upper()))

    scene.build()("go")
    assert scene.script.requests[-1][-1].text == "RAN LS"


def test_parts_of_a_tool_that_streams_are_passed_on():
    @tool
    async def count(end: int) -> Any:
        """Count."""
        for number in range(end):
            yield number
        yield "counted"

    scene = Scene((Call("count", {"end": 2}),), "done", tools=[count])
    agent = scene.build()

    async def listen() -> list[Any]:
        events = [event async for event in agent.stream_async("go")]
        return [event["tool_stream_event"]["data"] for event in events if "tool_stream_event" in event]

    assert asyncio.run(listen())[:2] == [0, 1]
    assert scene.script.requests[-1][-1].text == "counted"


def test_an_agent_that_something_else_lets_go_on_has_another_turn_in_the_same_session():
    scene = Scene("one", "two")
    resumed: list[str] = []

    def go_on(event: AfterInvocationEvent) -> None:
        if not resumed:
            resumed.append("again")
            event.resume = "again"

    agent = scene.build()
    agent.hooks.add_callback(AfterInvocationEvent, go_on)
    assert read(agent("go")) == "two"
    turn = ["pre-agent-turn", "post-agent-turn"]
    assert scene.events == ["pre-session", *turn, *turn, "post-session"]


def test_an_error_that_is_being_handled_where_an_agent_is_called_is_not_its_own():
    scene = Scene("done")
    agent = scene.build()

    async def call() -> None:
        try:
            raise ValueError("other")
        except ValueError:
            await agent.invoke_async("go")

    asyncio.run(call())
    assert scene.events == WHOLE_RUN


def test_a_stream_that_is_not_read_to_its_end_ends_its_turn_and_its_session():
    scene = Scene((call_bash("ls"),), "done")
    agent = scene.build()

    async def read_one() -> None:
        stream = agent.stream_async("go")
        async for event in stream:
            if "data" in event or "current_tool_use" in event:
                break
        await stream.aclose()

    asyncio.run(read_one())
    assert scene.events == WHOLE_RUN


def test_an_agent_that_is_cancelled_ends_its_turn_and_its_session():
    scene = Scene((call_bash("ls"),), "done")
    agent = scene.build()
    scene.hooks.before_tool(lambda context: agent.cancel())
    assert agent("go").stop_reason == "cancelled"
    assert scene.events == WHOLE_RUN


def test_hooks_that_are_added_to_an_agent_later_guard_it():
    scene = Scene((call_bash("ls"),), "done")
    scene.hooks.before_tool(lambda context: Outcome.block("no"))
    agent = Agent(ScriptedModel(scene.script), tools=scene.tools, callback_handler=None)
    agent.hooks.add_hook(scene.bridge)
    agent("go")
    assert scene.ran == []


def test_the_same_hooks_twice_are_refused():
    scene = Scene("done")
    with pytest.raises(BridgeError, match="twice"):
        scene.build(BoathookHooks(scene.hooks))


@pytest.mark.parametrize(
    "config", [{"anthropic_tools": [{"name": "web_search"}]}, {"params": {"tools": [{"type": "web_search"}]}}]
)
def test_tools_that_the_provider_runs_are_refused_unless_the_program_accepts_it(config: Any):
    scene, accepting = Scene("done"), Scene("done", allow_unguarded=True)
    for each in (scene, accepting):
        each.model = ScriptedModel(each.script)
        each.model.update_config(**config)
    with pytest.raises(BridgeError, match="web_search"):
        Agent(scene.model, hooks=[scene.bridge])
    assert read(Agent(accepting.model, hooks=[accepting.bridge], callback_handler=None)("go")) == "done"


def test_structured_output_is_refused_because_it_does_not_show_the_prompt():
    """`structured_output` fires the event without messages, and does not listen to a cancel."""

    class Answer(BaseModel):
        text: str

    scene = Scene()
    with (
        pytest.warns(DeprecationWarning, match="structured_output"),
        pytest.raises(BridgeError, match="structured_output_model"),
    ):
        scene.build().structured_output(Answer, "go")
    assert scene.script.requests == []


def test_hooks_of_a_swarm_or_graph_are_refused_because_they_see_no_tool_call():
    scene = Scene()
    agent = Agent(ScriptedModel(scene.script), name="one", callback_handler=None)
    with pytest.raises(BridgeError, match="each of its agents"):
        Swarm([agent], hooks=[scene.bridge])
    builder = GraphBuilder()
    builder.add_node(agent, "one")
    builder.set_hook_providers([scene.bridge])
    builder.set_max_node_executions(1)
    with pytest.raises(BridgeError, match="each of its agents"):
        builder.build()


def test_the_agents_of_a_swarm_are_guarded():
    first = Scene((Call("handoff_to_agent", {"agent_name": "two", "message": "yours"}),), "handed over")
    second = Scene((call_bash("rm"),), "done")
    second.hooks.before_tool(lambda context: Outcome.block("no rm") if context.name == "bash" else None)
    Swarm([first.build(name="one"), second.build(name="two")])("go")
    assert second.ran == []
    assert any("no rm" in message.text for message in second.script.requests[-1])
    assert first.events == second.events == WHOLE_RUN


def test_the_events_of_hooks_alone_could_not_be_around_a_tool():
    """Why the bridge adds middleware: without it a call that another middleware changes would run unseen."""
    scene = Scene((call_bash("ls"),), "done")
    seen: list[str] = []
    agent = Agent(ScriptedModel(scene.script), tools=scene.tools, callback_handler=None)
    agent.hooks.add_callback(BeforeToolCallEvent, lambda event: seen.append(event.tool_use["input"]["command"]))

    async def change(context: Any, next_fn: Any) -> Any:
        changed = context.replace(tool_use={**context.tool_use, "input": {"command": "rm"}})
        async for event in next_fn(changed):
            yield event

    agent.add_middleware(ExecuteToolStage, change)
    agent("go")
    assert (seen, scene.ran) == (["ls"], ["rm"])
