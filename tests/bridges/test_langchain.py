"""What only langchain and langgraph have: interrupts, checkpointers, commands, other middleware, graphs of one's own."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("langgraph")

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRetryMiddleware
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, ToolRuntime, tools_condition
from langgraph.types import Command, interrupt

from boathook import Blocked, Hooks, Outcome, Stopped
from boathook.bridges.langchain import BoathookMiddleware, guard_tools
from boathook.errors import BridgeError
from tests.bridges.adapter import Call, Script
from tests.bridges.adapters.langchain import ScriptedModel
from tests.bridges.contract import block_rm
from tests.bridges.stage import call_bash

pytestmark = pytest.mark.bridge
THREAD: Any = {"configurable": {"thread_id": "t1"}}
APPROVE = {"decisions": [{"type": "approve"}]}


class Scene:
    """An agent with hooks, and what its tools ran."""

    def __init__(self, *moves: Any, middleware: Any = (), saver: Any = None, tools: Any = None, **options: Any) -> None:
        self.hooks, self.ran, self.events = Hooks(), [], []
        self.script = Script(*moves)

        @tool
        def bash(command: str) -> str:
            """Run a command."""
            self.ran.append(command)
            return f"ran {command}"

        self.bash = bash
        self.tools = [bash, *(tools or ())]
        self.middleware, self.saver = middleware, saver
        self.options = {"hooks": self.hooks, **options}
        for kind in ("pre-session", "pre-agent-turn", "turn-failure", "post-agent-turn", "post-session"):
            self.hooks.add(kind, lambda context: self.events.append(context.event))

    def build(self) -> Any:
        bridge = BoathookMiddleware(**self.options)
        model = ScriptedModel(script=self.script)
        return create_agent(model, self.tools, middleware=[*self.middleware, bridge], checkpointer=self.saver)

    def build_graph(self, node: Any = None, **options: Any) -> Any:
        model, graph = ScriptedModel(script=self.script), StateGraph(MessagesState)
        graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
        graph.add_node("tools", guard_tools(node or ToolNode(self.tools, **options), **self.options))
        graph.add_edge(START, "model")
        graph.add_conditional_edges("model", tools_condition)
        graph.add_edge("tools", "model")
        return graph.compile(self.saver)


def ask(context: Any) -> Outcome:
    return Outcome.ask("is that fine?")


def invoke(agent: Any, prompt: str = "go", config: Any = None) -> str:
    return str(agent.invoke({"messages": prompt}, config)["messages"][-1].text)


def test_without_a_checkpointer_no_person_can_be_asked_and_the_call_is_blocked():
    scene = Scene((call_bash("ls"),), "done")
    scene.hooks.before_tool(ask)
    assert invoke(scene.build(), config=THREAD) == "done"
    assert scene.ran == []
    assert "no person can be asked" in scene.script.requests[-1][-1].text


def test_an_interrupt_of_the_tool_itself_gets_its_own_answer_after_a_question_of_a_hook():
    heard = []

    @tool
    def book(city: str) -> str:
        """Book a trip."""
        heard.append(interrupt("when?"))
        return "booked"

    scene = Scene((Call("book", {"city": "Rome"}),), "done", tools=[book], saver=InMemorySaver())
    scene.hooks.before_tool(ask)
    agent = scene.build()
    first = agent.invoke({"messages": "go"}, THREAD)["__interrupt__"]
    assert first[0].value["action_requests"][0]["description"] == "is that fine?"
    second = agent.invoke(Command(resume=APPROVE), THREAD)["__interrupt__"]
    assert second[0].value == "when?"
    assert agent.invoke(Command(resume="tomorrow"), THREAD)["messages"][-1].text == "done"
    assert heard == ["tomorrow"]
    assert scene.events == ["pre-session", "pre-agent-turn", "post-agent-turn", "post-session"]


@pytest.mark.parametrize("build", [Scene.build, Scene.build_graph])
@pytest.mark.parametrize("command", ["ls", "pwd"])
def test_a_later_call_with_the_same_id_does_not_bring_back_an_old_question(build: Any, command: str):
    scene = Scene((call_bash("ls"),), (call_bash(command),), "done", saver=InMemorySaver())
    scene.hooks.before_tool(lambda context: None if scene.ran else Outcome.ask("is that fine?"))
    agent = build(scene)
    assert "__interrupt__" in agent.invoke({"messages": "go"}, THREAD)
    last = agent.invoke(Command(resume=APPROVE), THREAD)
    assert "__interrupt__" not in last
    assert last["messages"][-1].text == "done"
    assert scene.ran == ["ls", command]


def test_a_middleware_after_ours_changes_calls_that_hooks_have_seen_so_ours_has_to_be_the_last():
    class Changing(AgentMiddleware[Any, Any, Any]):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            return handler(request.override(tool_call={**request.tool_call, "args": {"command": "rm"}}))

    for is_last, ran in ((True, []), (False, ["rm"])):
        scene = Scene((call_bash("ls"),), "done")
        scene.hooks.before_tool(block_rm)
        order = [Changing(), BoathookMiddleware(scene.hooks)]
        model = ScriptedModel(script=scene.script)
        invoke(create_agent(model, scene.tools, middleware=order if is_last else [*reversed(order)]))
        assert scene.ran == ran


@pytest.mark.parametrize("answer", ["yes", {"decisions": []}, {"decisions": [{"type": "edit"}]}, 1])
def test_an_answer_that_is_none_lets_nothing_run(answer: Any):
    scene = Scene((call_bash("ls"),), "done", saver=InMemorySaver())
    scene.hooks.before_tool(ask)
    agent = scene.build()
    agent.invoke({"messages": "go"}, THREAD)
    with pytest.raises(BridgeError, match="approve"):
        agent.invoke(Command(resume=answer), THREAD)
    assert scene.ran == []


def test_a_run_goes_on_in_another_process_and_the_person_is_not_asked_again():
    saver = InMemorySaver()
    first = Scene((call_bash("ls"),), saver=saver)
    first.hooks.before_tool(ask)
    first.build().invoke({"messages": "go"}, THREAD)
    second = Scene("done", saver=saver)
    second.hooks.before_tool(ask)
    assert second.build().invoke(Command(resume=APPROVE), THREAD)["messages"][-1].text == "done"
    assert second.ran == ["ls"]
    assert second.events == ["post-agent-turn", "post-session"]


def test_a_new_prompt_in_place_of_an_answer_is_a_new_turn_of_the_same_session():
    scene = Scene((call_bash("ls"),), "never mind", saver=InMemorySaver())
    scene.hooks.before_tool(ask)
    agent = scene.build()
    agent.invoke({"messages": "go"}, THREAD)
    assert invoke(agent, "stop that", THREAD) == "never mind"
    assert scene.ran == []
    assert scene.events == ["pre-session", *(["pre-agent-turn", "post-agent-turn"] * 2), "post-session"]


def test_an_agent_in_a_tool_asks_and_goes_on():
    saver = InMemorySaver()
    helper = Scene((call_bash("git push"),), "helped")
    helper.hooks.before_tool(ask)
    agent = helper.build()

    @tool
    def ask_helper(task: str) -> str:
        """Let the helper do a task."""
        return invoke(agent, task)

    scene = Scene((Call("ask_helper", {"task": "push"}),), "done", tools=[ask_helper], saver=saver)
    main = scene.build()
    main.invoke({"messages": "go"}, THREAD)
    assert helper.ran == []
    assert main.invoke(Command(resume=APPROVE), THREAD)["messages"][-1].text == "done"
    assert helper.ran == ["git push"]
    assert scene.events == ["pre-session", "pre-agent-turn", "post-agent-turn", "post-session"]


def test_a_blocked_prompt_does_not_stay_in_the_conversation():
    scene = Scene("done", saver=InMemorySaver())
    scene.hooks.turn_start(lambda context: Outcome.block("there is a key") if "hunter2" in context.prompt else None)
    agent = scene.build()
    assert invoke(agent, "use hunter2", THREAD) == "there is a key"
    assert invoke(agent, "hello", THREAD) == "done"
    assert not any("hunter2" in message.text for message in scene.script.requests[0])


def test_a_hook_changes_the_prompt_and_an_image_stays():
    scene = Scene("done")
    scene.hooks.turn_start(lambda context: context.replace(prompt="in English, please"))
    image = {"type": "image", "url": "https://127.0.0.1/a.png"}
    prompt = HumanMessage([{"type": "text", "text": "auf Deutsch"}, image])
    messages = scene.build().invoke({"messages": [prompt]})["messages"]
    assert messages[0].content == [{"type": "text", "text": "in English, please"}, image]
    assert scene.script.requests[0][0].text == "in English, please"


def test_tools_that_the_provider_runs_are_refused_unless_the_program_accepts_it():
    scene = Scene("done", tools=[{"type": "web_search"}])
    with pytest.raises(BridgeError, match="web_search"):
        invoke(scene.build())
    assert scene.script.requests == []
    accepting = Scene("done", tools=[{"type": "web_search"}], allow_unguarded=True)
    assert invoke(accepting.build()) == "done"


def test_context_is_not_lost_when_a_request_is_made_again():
    scene = Scene(RuntimeError("busy"), "done", middleware=[ModelRetryMiddleware(initial_delay=0, jitter=False)])
    scene.hooks.turn_start(lambda context: context.add_context("the branch is main"))
    assert invoke(scene.build()) == "done"
    assert [message.text for message in scene.script.requests[1]] == ["go", "the branch is main"]
    assert "turn-failure" not in scene.events


def test_a_run_that_fails_in_another_middleware_ends_its_turn_and_its_session():
    class Failing(AgentMiddleware[Any, Any, Any]):
        def before_model(self, state: Any, runtime: Any) -> None:
            raise ValueError("no")

    scene = Scene("done", middleware=[Failing()])
    with pytest.raises(ValueError, match="no"):
        invoke(scene.build())
    assert scene.events == ["pre-session", "pre-agent-turn", "turn-failure", "post-agent-turn", "post-session"]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_stream_that_is_not_read_to_its_end_ends_its_turn_and_its_session(is_async: bool):
    scene = Scene((call_bash("ls"),), "done")
    agent = scene.build()

    async def read_one() -> None:
        stream = agent.astream({"messages": "go"})
        await anext(stream)
        await stream.aclose()

    if is_async:
        asyncio.run(read_one())
    else:
        stream = agent.stream({"messages": "go"})
        next(stream)
        stream.close()
    assert scene.events == ["pre-session", "pre-agent-turn", "post-agent-turn", "post-session"]


def test_a_hook_that_raises_lets_nothing_run():
    scene = Scene((call_bash("ls"),), "done")

    @scene.hooks.before_tool
    def broken(context: Any) -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        invoke(scene.build())
    assert scene.ran == []
    assert "turn-failure" in scene.events


def test_the_message_in_a_command_is_changed_and_the_rest_of_it_stays():
    @tool
    def remember(runtime: ToolRuntime) -> Command[Any]:
        """Remember something."""
        return Command(update={"messages": [ToolMessage("the key is k1", tool_call_id=runtime.tool_call_id)]})

    scene = Scene((Call("remember"),), "done", tools=[remember])
    scene.hooks.after_tool(lambda context: context.replace(result=context.result.replace("k1", "***")))
    invoke(scene.build())
    assert scene.script.requests[-1][-1].text == "the key is ***"


def test_content_blocks_of_a_result_stay_with_an_objection():
    @tool
    def look() -> list[Any]:
        """Look."""
        return [{"type": "text", "text": "a cat"}, {"type": "image", "url": "https://127.0.0.1/a.png"}]

    scene = Scene((Call("look"),), "done", tools=[look])
    scene.hooks.after_tool(lambda context: Outcome.block("no cats"))
    result = scene.build().invoke({"messages": "go"})["messages"][2]
    assert [block.get("text") for block in result.content] == ["a cat", None, "no cats"]


def test_middleware_of_hooks_is_around_a_tool():
    scene = Scene((call_bash("ls"),), "done")

    @scene.hooks.before_tool
    def shout(context: Any, next: Any) -> Any:  # noqa: A002
        outcome = next()
        return outcome.replace(context=outcome.context.replace(result=outcome.context.result.upper()))

    invoke(scene.build())
    assert scene.script.requests[-1][-1].text == "RAN LS"


# A ToolNode.


def test_a_bare_tool_node_is_not_called_before_the_model_calls_tools():
    """Why hooks cannot see a prompt, or the failure of a run, before that."""
    called: list[Any] = []

    class Spy(ToolNode):
        def invoke(self, *args: Any, **kwargs: Any) -> Any:
            called.append(args)
            return super().invoke(*args, **kwargs)

    scene = Scene(RuntimeError("the model is down"))
    model, graph = ScriptedModel(script=scene.script), StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", Spy(scene.tools))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    with pytest.raises(RuntimeError):
        graph.compile().invoke({"messages": "go"})
    assert called == []


def test_of_two_questions_at_once_each_gets_its_own_answer_in_a_tool_node():
    scene = Scene((call_bash("one", "a"), call_bash("two", "b")), "done", saver=InMemorySaver())
    scene.hooks.before_tool(ask)
    graph = scene.build_graph()
    asked = graph.invoke({"messages": "go"}, THREAD)["__interrupt__"][0].value
    assert [action["id"] for action in asked["action_requests"]] == ["a", "b"]
    answer = {"decisions": [{"type": "reject", "message": "not that"}, {"type": "approve"}]}
    graph.invoke(Command(resume=answer), THREAD)
    assert scene.ran == ["two"]
    results = {message.call_id: message.text for message in scene.script.requests[-1] if message.call_id}
    assert "not that" in results["a"]


def test_a_prompt_that_hooks_block_or_change_ends_a_graph_at_its_first_tool_call():
    scene = Scene((call_bash("ls"),), "done")
    scene.hooks.turn_start(lambda context: Outcome.block("there is a key"))
    with pytest.raises(Blocked, match="there is a key"):
        invoke(scene.build_graph())
    changing = Scene((call_bash("ls"),), "done")
    changing.hooks.turn_start(lambda context: context.replace(prompt="other"))
    with pytest.raises(BridgeError, match="changed the prompt"):
        invoke(changing.build_graph())
    assert scene.ran == changing.ran == []


def test_a_stop_ends_a_graph_even_if_its_node_handles_errors():
    scene = Scene((call_bash("ls"),), "done")
    scene.hooks.before_tool(lambda context: Outcome.stop("the budget is spent"))
    with pytest.raises(Stopped, match="the budget is spent"):
        invoke(scene.build_graph(handle_tool_errors=True))
    assert scene.ran == []
    assert scene.events[-1] == "post-session"


def test_a_graph_that_fails_after_its_tools_ends_its_session():
    scene = Scene((call_bash("ls"),), RuntimeError("the model is down"))
    with pytest.raises(RuntimeError):
        invoke(scene.build_graph())
    assert scene.events == ["pre-session", "pre-agent-turn", "turn-failure", "post-agent-turn", "post-session"]


def test_the_wrapper_of_a_node_stays_and_hooks_see_what_it_makes_of_a_call():
    scene = Scene((call_bash("ls"),), "done")
    seen: list[str] = []
    scene.hooks.before_tool(lambda context: seen.append(context.args["command"]))

    def wrap(request: Any, execute: Any) -> Any:
        return execute(request.override(tool_call={**request.tool_call, "args": {"command": "ls -l"}}))

    invoke(scene.build_graph(ToolNode(scene.tools, wrap_tool_call=wrap)))
    assert scene.ran == ["ls -l"]
    assert seen[-1] == "ls -l"


def test_a_list_of_tools_is_enough_for_a_guarded_node():
    scene = Scene()
    scene.hooks.before_tool(lambda context: Outcome.block("no"))
    call = AIMessage("", tool_calls=[{"name": "bash", "args": {"command": "ls"}, "id": "1"}])
    graph = StateGraph(MessagesState)
    graph.add_node("tools", guard_tools([scene.bash], scene.hooks))
    graph.add_edge(START, "tools")
    assert graph.compile().invoke({"messages": [HumanMessage("go"), call]})["messages"][-1].content == "no"


def test_a_guarded_node_outside_a_graph_is_refused():
    call = AIMessage("", tool_calls=[{"name": "bash", "args": {"command": "ls"}, "id": "1"}])
    scene = Scene()
    with pytest.raises(BridgeError, match="which run of a graph"):
        guard_tools([scene.bash], scene.hooks).invoke({"messages": [call]})
    assert scene.ran == []


def test_a_guarded_node_can_be_printed() -> None:
    assert repr(guard_tools([Scene().bash], Hooks())) == "GuardedToolNode(bash)"
