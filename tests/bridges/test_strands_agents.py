"""What only strands has: conversations in agents, interrupts, calls by the program, swarms, other hooks."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("strands")

import strands.hooks
from pydantic import BaseModel
from strands import Agent, tool
from strands.hooks import AfterInvocationEvent, BeforeToolCallEvent, HookProvider, HookRegistry
from strands.middleware import ExecuteToolStage, InvokeModelStage
from strands.multiagent import GraphBuilder, Swarm
from strands.session import FileSessionManager

from boathook import Hooks, Outcome
from boathook.bridges.attachment import attach, enter_call
from boathook.bridges.strands_agents import BoathookHooks
from boathook.errors import BridgeError
from tests.bridges.adapter import Call, Script
from tests.bridges.adapters.strands_agents import ScriptedModel
from tests.bridges.stage import call_bash
from tests.scratch_project import ScratchProject

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


def test_no_hook_or_middleware_is_called_while_a_tool_runs_an_agent_that_does_not_have_it():
    """Why an agent without the bridge, in a tool function, is neither guarded nor refused."""
    called: dict[str, set[str]] = {"main": set(), "helper": set()}
    running = ["main"]

    class Spy(HookProvider):
        def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
            for kind in (getattr(strands.hooks, name) for name in strands.hooks.__all__ if name.endswith("Event")):
                registry.add_callback(kind, lambda event: called[running[0]].add(type(event).__name__))

    async def see_stage(context: Any, next_fn: Any) -> Any:
        called[running[0]].add(type(context).__name__)
        async for event in next_fn(context):
            yield event

    scene = Scene()
    bare = {"tools": scene.tools, "callback_handler": None}
    helper = Agent(ScriptedModel(Script((call_bash("ls"),), "helped")), **bare)

    @tool
    def ask_helper() -> str:
        """Let the helper do a task."""
        running[0] = "helper"
        try:
            return str(helper("go"))
        finally:
            running[0] = "main"

    bare["tools"] = [ask_helper]
    main = Agent(ScriptedModel(Script((Call("ask_helper"),), "done")), hooks=[Spy()], **bare)
    for stage in (InvokeModelStage, ExecuteToolStage):
        main.add_middleware(stage, see_stage)
    assert read(main("go")) == "done"
    assert scene.ran == ["ls"]
    assert {"BeforeInvocationEvent", "BeforeModelCallEvent", "BeforeToolCallEvent", "ExecuteToolContext"} <= called[
        "main"
    ]
    assert called["helper"] == set()


def test_a_hook_that_raises_lets_nothing_run():
    scene = Scene((call_bash("ls"),), "done")

    @scene.hooks.before_tool
    def broken(context: Any) -> None:
        raise ValueError("broken")

    assert read(scene.build()("go")) == "done"
    assert scene.ran == []
    assert "broken" in scene.script.requests[-1][-1].text


def test_an_answer_counts_once_for_agents_that_are_restored_from_one_session(tmp_path: Path):
    scene = Scene((call_bash("git push"),), "done", "done")
    scene.hooks.before_tool(ask)

    def restore() -> Agent:
        return scene.build(session_manager=FileSessionManager("s1", storage_dir=str(tmp_path)), agent_id="main")

    result = restore()("go")
    restored = [restore(), restore()]
    last = [agent(answer(result, True)) for agent in restored]
    assert scene.ran == ["git push"]
    assert [each.stop_reason for each in last] == ["end_turn", "interrupt"]
    # A new answer to the question, which was asked again.
    assert read(restored[1](answer(last[1], True))) == "done"
    assert scene.ran == ["git push", "git push"]


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


@pytest.mark.parametrize("response", ["maybe", "aprove", 1, {"ok": True}, ["approve"]])
def test_an_answer_that_is_neither_yes_nor_no_lets_nothing_run(response: Any, caplog: pytest.LogCaptureFixture):
    scene = Scene((call_bash("ls"),), "done")
    scene.hooks.before_tool(ask)
    agent = scene.build()
    agent(answer(agent("go"), response))
    assert scene.ran == []
    assert "the answer is" in scene.script.requests[-1][-1].text
    [record] = [each for each in caplog.records if each.name == "boathook"]
    assert record.levelname == "ERROR"
    assert f"the answer is {response!r}, neither yes nor no. Fix: answer with True or False" in record.getMessage()


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


def test_a_call_by_the_program_in_a_tool_asks_the_hooks_of_its_own_agent_if_the_caller_does_not_have_them():
    scene = Scene()
    scene.hooks.before_tool(lambda context: Outcome.block("no"))
    agent = scene.build()
    caller = attach("pydantic-ai", Hooks()).make_run("outer")
    caller.prompt("go")
    with enter_call(caller):
        assert agent.tool.bash(command="rm")["content"] == [{"text": "no"}]
    assert (scene.ran, scene.events) == ([], ["pre-session", "post-session"])


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
    with pytest.raises(BridgeError, match="attached twice"):
        scene.build(BoathookHooks(scene.hooks))


def test_bridges_that_load_the_same_file_hooks_are_refused(project: ScratchProject):
    project.write_hook("no-rm", "exit 2")
    scene, included = Scene("done"), Hooks()
    included.include(scene.hooks)
    for bridges in ([BoathookHooks(), BoathookHooks()], [scene.bridge, BoathookHooks(included)]):
        with pytest.raises(BridgeError, match="attached twice"):
            Agent(ScriptedModel(scene.script), hooks=bridges)
    # Different hooks run once each.
    assert read(scene.build(BoathookHooks())("go")) == "done"


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


def test_hooks_see_all_new_messages_of_the_person():
    scene = Scene("done")
    scene.hooks.turn_start(lambda context: Outcome.block("there is a key") if "sk-" in context.prompt else None)
    new: list[Any] = [{"role": "user", "content": [{"text": text}]} for text in ("use sk-1", "please")]
    assert read(scene.build()(new)) == "there is a key"
    assert scene.script.requests == []
    scene.hooks.turn_start(lambda context: context.replace(prompt="look closely"))
    scene.build()([{"role": "user", "content": [{"text": "look"}]}, new[1]])
    assert [message.text for message in scene.script.requests[0]] == ["look closely"]


@pytest.mark.parametrize("moment", ["session_start", "turn_start", "before_stop", "turn_end"])
def test_a_session_ends_although_a_hook_fails_where_strands_reports_no_end(moment: str):
    scene, ended = Scene("done"), []
    getattr(scene.hooks, moment)(lambda context: 1 / 0)
    scene.hooks.session_end(lambda context: ended.append(context.event))
    with pytest.raises(ZeroDivisionError):
        scene.build()("go")
    assert ended == ["post-session"]


def test_a_call_by_the_program_does_not_run_if_hooks_refuse_its_session():
    scene = Scene()
    scene.hooks.session_start(lambda context: Outcome.block("no sessions today"))
    agent = scene.build()
    result = agent.tool.bash(command="ls")
    assert (result["status"], scene.ran) == ("error", [])
    assert "no sessions today" in result["content"][0]["text"]


def test_a_subagent_that_waits_for_an_answer_goes_on_in_the_next_run_of_its_caller():
    scene = Scene((call_bash("ls", "h"),), "helped")
    scene.hooks.before_tool(match="bash")(ask)
    helper, waiting = scene.build(name="helper"), []

    @tool
    async def ask_helper() -> str:
        """Ask."""
        if waiting:
            return read(await helper.invoke_async(answer(waiting[0], response=True)))
        waiting.append(await helper.invoke_async("help"))
        return "it waits"

    for result, commands in (("it waits", []), ("helped", ["ls"])):
        script = Script((Call("ask_helper", {}),), "done")
        agent = Agent(
            ScriptedModel(script), tools=[ask_helper], hooks=[BoathookHooks(scene.hooks)], callback_handler=None
        )
        assert read(agent("go")) == "done"
        assert (script.requests[-1][-1].text, scene.ran) == (result, commands)
