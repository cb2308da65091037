"""What only langchain and langgraph have: interrupts, checkpointers, commands, other middleware, graphs of one's own."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
from typing import Annotated, Any, TypedDict

import pytest

pytest.importorskip("langgraph")

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware, ModelRetryMiddleware, hook_config
from langchain_core.messages import AIMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph, add_messages
from langgraph.prebuilt import ToolNode, ToolRuntime, tools_condition
from langgraph.types import Command, Send, interrupt

from boathook import Blocked, Hooks, Outcome, Stopped
from boathook.bridges.attachment import attach, enter_call, find_caller
from boathook.bridges.langchain import BoathookMiddleware, guard_tools
from boathook.bridges.langchain_calls import add_texts, find_prompt_messages
from boathook.errors import BridgeError
from tests.bridges.adapter import Call, Script
from tests.bridges.adapters.langchain import ScriptedModel
from tests.bridges.contract import block_rm
from tests.bridges.stage import PATIENCE, call_bash
from tests.scratch_project import ScratchProject

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
def test_an_answer_that_is_neither_yes_nor_no_lets_nothing_run(answer: Any):
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


@pytest.mark.parametrize("build", [Scene.build, Scene.build_graph], ids=["agent", "ToolNode"])
def test_an_approval_counts_once_if_a_checkpoint_goes_on_twice(build: Any):
    scene = Scene((call_bash("git push"),), "done", "done again", saver=InMemorySaver())
    scene.hooks.before_tool(ask)
    agent = build(scene)
    agent.invoke({"messages": "go"}, THREAD)
    paused = agent.get_state(THREAD).config
    assert agent.invoke(Command(resume=APPROVE), THREAD)["messages"][-1].text == "done"
    asked = agent.invoke(Command(resume=APPROVE), paused)
    assert [each.value["action_requests"][0]["id"] for each in asked["__interrupt__"]] == ["call-1"]
    assert scene.ran == ["git push"]
    # A new answer to the question, which was asked again.
    assert agent.invoke(Command(resume=APPROVE), paused)["messages"][-1].text == "done again"
    assert scene.ran == ["git push", "git push"]


def test_an_approval_counts_once_if_two_tasks_go_on_at_once():
    scene = Scene((call_bash("git push"),), "done", "done again", saver=InMemorySaver())
    scene.hooks.before_tool(ask)
    agent = scene.build()

    async def play() -> None:
        await agent.ainvoke({"messages": "go"}, THREAD)
        await asyncio.gather(*(agent.ainvoke(Command(resume=APPROVE), THREAD) for _ in range(2)))

    asyncio.run(play())
    assert scene.ran == ["git push"]


def test_the_answer_to_an_interrupt_of_the_tool_does_not_answer_a_question_of_changed_hooks():
    @tool
    def deploy(target: str) -> str:
        """Deploy."""
        return f"deployed with {interrupt('how?')}"

    scene = Scene((Call("deploy", {"target": "prod"}),), "done", saver=InMemorySaver(), tools=[deploy])
    scene.hooks.before_tool(ask)
    agent = scene.build()
    agent.invoke({"messages": "go"}, THREAD)
    assert agent.invoke(Command(resume=APPROVE), THREAD)["__interrupt__"][0].value == "how?"
    scene.hooks.before_tool(lambda context: None)
    # It would be an answer to the question of a hook, too.
    asked = agent.invoke(Command(resume=True), THREAD)["__interrupt__"]
    assert asked[0].value["action_requests"][0]["description"] == "is that fine?"
    assert agent.invoke(Command(resume=APPROVE), THREAD)["__interrupt__"][0].value == "how?"
    assert agent.invoke(Command(resume="care"), THREAD)["messages"][-1].text == "done"
    assert scene.script.requests[-1][-1].text == "deployed with care"


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


@dataclasses.dataclass
class Update:
    messages: Annotated[list[Any], add_messages]


COMMANDS: dict[str, Any] = {
    "an object": lambda message: {"messages": [message]},
    "a dataclass": lambda message: Update([message]),
    "pairs": lambda message: (("messages", [message]),),
}


@pytest.mark.parametrize("form", COMMANDS)
def test_the_message_in_a_command_is_changed_and_the_rest_of_it_stays(form: str):
    @tool
    def remember(runtime: ToolRuntime) -> Command[Any]:
        """Remember something."""
        return Command(update=COMMANDS[form](ToolMessage("the key is k1", tool_call_id=runtime.tool_call_id)))

    scene = Scene((Call("remember"),), "done", tools=[remember])
    scene.hooks.after_tool(lambda context: context.replace(result=context.result.replace("k1", "***")))
    invoke(scene.build())
    assert scene.script.requests[-1][-1].text == "the key is ***"


class Chat(TypedDict):
    chat: Annotated[list[Any], add_messages]


def test_the_message_in_a_command_is_changed_below_another_key_of_the_state():
    hooks = Hooks()
    hooks.after_tool(lambda context: context.replace(result=context.result.replace("k1", "***")))

    @tool
    def remember(runtime: ToolRuntime) -> Command[Any]:
        """Remember something."""
        return Command(update={"chat": [ToolMessage("the key is k1", tool_call_id=runtime.tool_call_id)]})

    graph = StateGraph(Chat)
    graph.add_node("tools", guard_tools(ToolNode([remember], messages_key="chat"), hooks))
    graph.add_edge(START, "tools")
    call = AIMessage("", tool_calls=[{"name": "remember", "args": {}, "id": "1"}])
    assert graph.compile().invoke({"chat": [call]})["chat"][-1].text == "the key is ***"


@pytest.mark.parametrize("is_in_node", [False, True])
def test_two_conversations_in_one_chain_have_a_session_each(is_in_node: bool):
    scene = Scene("done", "done", saver=InMemorySaver())
    agent, seen = scene.build(), []

    @scene.hooks.turn_start
    def no_keys(context: Any) -> Outcome | None:
        seen.append((context.session_id, context.prompt))
        return Outcome.block("a key") if "sk-" in context.prompt else None

    async def ask(thread: str, text: str) -> str:
        result = await agent.ainvoke({"messages": text}, {"configurable": {"thread_id": thread}})
        return str(result["messages"][-1].text)

    async def serve(_: Any) -> Any:
        return {"messages": await asyncio.gather(ask("ann", "hello"), ask("bob", "use sk-123"))}

    chain: Any = RunnableLambda(serve)
    if is_in_node:
        graph = StateGraph(MessagesState)
        graph.add_node("serve", serve)
        graph.add_edge(START, "serve")
        chain = graph.compile()
    answers = asyncio.run(chain.ainvoke({"messages": []}))["messages"]
    assert sorted(seen) == [("ann", "hello"), ("bob", "use sk-123")]
    assert "a key" in str(answers[1] if isinstance(answers[1], str) else answers[1].text)
    assert scene.events.count("pre-session") == scene.events.count("post-session") == 2


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


# Agents without the bridge, beside a guarded one.


def build_handoff(first: Any, second: Any, saver: Any = None) -> Any:
    """Return a graph in which the first agent hands over to the second by its tool."""
    graph = StateGraph(MessagesState)
    graph.add_node("first", first, destinations=("second",))
    graph.add_node("second", second)
    graph.add_edge(START, "first")
    return graph.compile(saver)


@tool
def hand_over(runtime: ToolRuntime) -> Command[Any]:
    """Let the second agent go on."""
    messages = [*runtime.state["messages"], ToolMessage("it is yours", tool_call_id=runtime.tool_call_id)]
    return Command(goto="second", graph=Command.PARENT, update={"messages": messages})


def build_bare_agent(scene: Scene, *moves: Any, middleware: Any = ()) -> Any:
    return create_agent(ScriptedModel(script=Script(*moves)), [scene.bash], middleware=middleware)


@pytest.mark.parametrize("wraps", [False, True])
def test_an_agent_without_the_bridge_is_refused_after_a_handoff(wraps: bool):
    scene = Scene((Call("hand_over"),), tools=[hand_over])
    bare = build_bare_agent(scene, (call_bash("rm -r build"),), "done")

    def run_bare(state: Any) -> Any:
        return bare.invoke(state)

    with pytest.raises(BridgeError, match=r"bash \(of an agent that has no hooks, in a run with a guarded agent"):
        invoke(build_handoff(scene.build(), run_bare if wraps else bare))
    assert scene.ran == []
    assert scene.events[-1] == "post-session"


def test_an_agent_without_the_bridge_is_refused_in_an_agent_of_another_framework_in_a_tool():
    @tool
    def ask_helper() -> str:
        """Ask an agent of another framework, which asks one of langchain."""
        caller = find_caller()
        assert caller is not None
        child = attach("pydantic-ai", Hooks()).make_child(caller, "helper")
        with enter_call(child):
            return invoke(build_bare_agent(scene, (call_bash("rm -r build", "h"),), "helped"))

    scene = Scene((Call("ask_helper"),), "done", tools=[ask_helper])
    with pytest.raises(BridgeError, match="of an agent that has no hooks, in a tool of"):
        invoke(scene.build())
    assert scene.ran == []


@pytest.mark.parametrize("accepting", [(True, True), (True, False), (False, True)])
def test_every_guarded_agent_of_a_run_must_accept_one_without_the_bridge(accepting: tuple[bool, bool]):
    first, second = (Scene("done", allow_unguarded=is_accepting) for is_accepting in accepting)
    bare = build_bare_agent(first, (call_bash("ls"),), "done")
    graph = StateGraph(MessagesState)
    graph.add_sequence([("first", first.build()), ("second", second.build()), ("bare", bare)])
    graph.add_edge(START, "first")
    if all(accepting):
        assert invoke(graph.compile()) == "done"
        assert first.ran == ["ls"]
        return
    with pytest.raises(BridgeError, match="where no hook can see them"):
        invoke(graph.compile())
    assert first.ran == []


def test_a_node_of_a_graph_may_call_a_tool_itself_after_a_guarded_agent():
    scene = Scene("done")
    graph = StateGraph(MessagesState)
    graph.add_sequence(
        [("guarded", scene.build()), ("clean", lambda state: scene.bash.invoke({"command": "ls"}) and {})]
    )
    graph.add_edge(START, "guarded")
    invoke(graph.compile())
    assert scene.ran == ["ls"]


def test_after_a_pause_the_agent_that_handed_over_is_not_called_so_the_other_one_is_not_seen():
    """Why an agent without the bridge that pauses before its first tool call is not refused when it goes on."""
    called: list[str] = []

    class Spy(AgentMiddleware[Any, Any, Any]):
        def before_agent(self, state: Any, runtime: Any) -> None:
            called.append("before_agent")

        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            called.append("wrap_model_call")
            return handler(request)

    scene = Scene((Call("hand_over"),), tools=[hand_over], middleware=[Spy()])
    pauses = HumanInTheLoopMiddleware(interrupt_on={"bash": True})
    bare = build_bare_agent(scene, (call_bash("ls"),), "done", middleware=[pauses])
    graph = build_handoff(scene.build(), bare, InMemorySaver())
    assert "__interrupt__" in graph.invoke({"messages": "go"}, THREAD)
    assert called == ["before_agent", "wrap_model_call"]
    called.clear()
    graph.invoke(Command(resume=APPROVE), THREAD)
    assert (called, scene.ran) == ([], ["ls"])


@pytest.mark.parametrize("has_saver", [False, True])
def test_an_agent_that_hands_over_ends_its_turn_with_or_without_a_checkpointer(has_saver: bool):
    first, second = Scene((Call("hand_over"),), tools=[hand_over]), Scene("done")
    second.hooks, second.options = first.hooks, first.options
    graph = build_handoff(first.build(), second.build(), InMemorySaver() if has_saver else None)
    assert invoke(graph, config=THREAD) == "done"
    assert first.events == ["pre-session", *(["pre-agent-turn", "post-agent-turn"] * 2), "post-session"]


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


def test_a_tool_node_without_questions_does_not_write_its_calls_as_json(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("boathook.bridges.langchain.make_question_key", pytest.fail)
    scene = Scene((call_bash("one", "a"), call_bash("two", "b")), "done", saver=InMemorySaver())
    assert invoke(scene.build_graph(), config=THREAD) == "done"
    # The node runs its calls in threads.
    assert sorted(scene.ran) == ["one", "two"]


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


def build_sending_graph(scene: Scene, *, with_state: bool = True) -> Any:
    """Return a graph that sends every call to a node of its own, as create_react_agent of langgraph does."""
    model, graph = ScriptedModel(script=scene.script), StateGraph(MessagesState)

    def route(state: Any) -> Any:
        calls = getattr(state["messages"][-1], "tool_calls", ())
        given = [{"__type": "tool_call_with_context", "tool_call": call, "state": state} for call in calls]
        return [Send("tools", each if with_state else {**each, "state": {}}) for each in given]

    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", guard_tools(ToolNode(scene.tools), scene.hooks))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", route, ["tools"])
    graph.add_edge("tools", "model")
    return graph.compile()


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("event", ["pre-session", "pre-agent-turn"])
def test_no_call_is_made_while_hooks_decide_about_the_session_and_the_prompt_of_calls_that_are_sent_one_by_one(
    event: Any, is_async: bool
):
    scene, prompts = Scene((call_bash("one", "a"), call_bash("two", "b")), "done"), []

    async def decide(context: Any) -> Outcome:
        prompts.append(getattr(context, "prompt", ""))
        await asyncio.sleep(0.1)
        return Outcome.block("not today")

    scene.hooks.add(event, decide)
    agent = build_sending_graph(scene)
    with pytest.raises(Blocked, match="not today"):
        asyncio.run(agent.ainvoke({"messages": "go"})) if is_async else invoke(agent)
    assert scene.ran == []
    assert prompts == ["go" if event == "pre-agent-turn" else ""]


def test_hooks_see_a_prompt_once_if_calls_are_sent_one_by_one():
    scene = Scene((call_bash("one", "a"), call_bash("two", "b")), "done")
    assert invoke(build_sending_graph(scene)) == "done"
    assert sorted(scene.ran) == ["one", "two"]
    assert scene.events == ["pre-session", "pre-agent-turn", "post-agent-turn", "post-session"]


@pytest.mark.parametrize("is_async", [False, True])
def test_context_never_comes_between_the_results_of_calls_that_are_sent_one_by_one(is_async: bool):
    scene = Scene((call_bash("one", "a"), call_bash("two", "b")), (call_bash("three", "c"),), "done")
    scene.hooks.before_tool(lambda context: context.add_context(f"before {context.args['command']}"))
    scene.hooks.after_tool(lambda context: context.add_context(f"after {context.args['command']}"))
    agent = build_sending_graph(scene)
    state = asyncio.run(agent.ainvoke({"messages": "go"})) if is_async else agent.invoke({"messages": "go"})
    messages = state["messages"]
    assert [message.type for message in messages] == ["human", "ai", "tool", "tool", "ai", "tool", "ai"]
    results = [message.text for message in messages if message.type == "tool"]
    for command, result in zip(("one", "two", "three"), results, strict=True):
        assert f"ran {command}" in result
        read = "\n".join(results).split("\n")
        assert (read.count(f"before {command}"), read.count(f"after {command}")) == (1, 1)


def test_context_is_a_block_of_a_result_of_blocks():
    message = ToolMessage([{"type": "text", "text": "ran"}], tool_call_id="a")
    assert add_texts(message, ["one", "two"]).content == [
        {"type": "text", "text": text} for text in ("ran", "one", "two")
    ]


def test_a_call_that_is_sent_without_messages_is_refused_because_hooks_would_not_see_the_prompt():
    scene = Scene((call_bash("one"),), "done")
    with pytest.raises(BridgeError, match="without messages, so that hooks cannot see the prompt"):
        invoke(build_sending_graph(scene, with_state=False))
    assert scene.ran == []


def build_side_by_side(*agents: Any, saver: Any = None) -> Any:
    graph = StateGraph(MessagesState)
    for at, agent in enumerate(agents):
        graph.add_node(str(at), agent)
        graph.add_edge(START, str(at))
    return graph.compile(saver)


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("event", ["pre-session", "pre-agent-turn"])
def test_agents_side_by_side_are_one_session_and_each_is_asked_before_it_stops(event: Any, is_async: bool):
    asked: list[str] = []
    arrived, have_met = [], threading.Event()
    first, second = (Scene(*(f"{name} {at}" for at in range(5))) for name in ("first", "second"))
    second.hooks, second.options = first.hooks, first.options

    async def decide(context: Any) -> None:
        await asyncio.sleep(0.1)

    async def meet(context: Any) -> None:
        # Neither may end before the other has begun: they would be turns one after the other then.
        arrived.append(context)
        if len(arrived) > 1:
            have_met.set()
        assert await asyncio.to_thread(have_met.wait, PATIENCE)

    def gate(text: str) -> Outcome:
        asked.append(text.split(maxsplit=1)[0])
        return Outcome.block("run the tests first")

    first.hooks.add(event, decide)
    first.hooks.add("pre-step", meet)
    first.hooks.before_stop(lambda context: gate(context.final_message))
    first.hooks.subagent_stop(lambda context: gate(context.result))
    agent, given = build_side_by_side(first.build(), second.build()), {"messages": "go"}
    asyncio.run(agent.ainvoke(given)) if is_async else agent.invoke(given)
    assert sorted(asked) == ["first"] * 4 + ["second"] * 4
    # The other agent is a subagent in the same session.
    assert first.events == ["pre-session", "pre-agent-turn", "post-agent-turn", "post-session"]


def test_an_agent_that_begins_while_hooks_see_the_end_of_the_turn_beside_it_is_a_subagent():
    first, second = Scene((call_bash("ls"),), "done"), Scene((call_bash("pwd"),), "done")
    second.hooks, second.options = first.hooks, first.options
    is_ending, has_begun = threading.Event(), threading.Event()

    @first.hooks.turn_end
    def let_second_begin(context: Any) -> None:
        is_ending.set()
        assert has_begun.wait(PATIENCE)

    @first.hooks.before_tool
    def note_second(context: Any) -> None:
        if context.args["command"] == "pwd":
            has_begun.set()

    def run_second(state: Any) -> Any:
        assert is_ending.wait(PATIENCE)
        return second.build_graph().invoke(state)

    build_side_by_side(first.build_graph(), run_second).invoke({"messages": "go"})
    assert (first.ran, second.ran) == (["ls"], ["pwd"])
    assert first.events == ["pre-session", "pre-agent-turn", "post-agent-turn", "post-session"]


# Agents that are nodes of a graph without hooks.


def test_an_agent_in_a_node_that_asks_goes_on_in_the_same_session_and_hooks_do_not_run_again():
    scene, asked = Scene((call_bash("ls"),), "done"), []
    scene.hooks.before_tool(lambda context: asked.append(context.args) or Outcome.ask("is that fine?"))
    graph = build_side_by_side(scene.build(), saver=InMemorySaver())
    assert "__interrupt__" in graph.invoke({"messages": "go"}, THREAD)
    assert scene.events == ["pre-session", "pre-agent-turn"]
    assert graph.invoke(Command(resume=APPROVE), THREAD)["messages"][-1].text == "done"
    assert (scene.ran, len(asked)) == (["ls"], 1)
    assert scene.events == ["pre-session", "pre-agent-turn", "post-agent-turn", "post-session"]


def test_an_agent_in_a_node_gets_a_new_prompt_in_place_of_an_answer_in_the_same_session():
    scene = Scene((call_bash("ls"),), "never mind")
    scene.hooks.before_tool(ask)
    graph = build_side_by_side(scene.build(), saver=InMemorySaver())
    graph.invoke({"messages": "go"}, THREAD)
    assert invoke(graph, "stop that", THREAD) == "never mind"
    assert scene.ran == []
    assert scene.events == ["pre-session", *(["pre-agent-turn", "post-agent-turn"] * 2), "post-session"]


@pytest.mark.parametrize("asking", [{"main"}, {"subagent"}, {"main", "subagent"}])
def test_a_session_with_agents_side_by_side_ends_when_all_answers_have_come(asking: set[str]):
    main_has_begun, subagent_has_begun = threading.Event(), threading.Event()

    class BeginsLater(AgentMiddleware[Any, Any, Any]):
        def before_agent(self, state: Any, runtime: Any) -> None:
            assert main_has_begun.wait(PATIENCE)

    main = Scene((call_bash("main"),), "done")
    subagent = Scene((call_bash("subagent"),), "done", middleware=[BeginsLater()])
    subagent.hooks, subagent.options = main.hooks, main.options

    @main.hooks.before_tool
    def ask_about_some(context: Any) -> Outcome | None:
        return Outcome.ask("is that fine?") if context.args["command"] in asking else None

    main.hooks.turn_start(lambda context: main_has_begun.set())
    main.hooks.add("pre-subagent", lambda context: subagent_has_begun.set())

    @main.hooks.before_step
    def wait_for_subagent(context: Any) -> None:
        # The main agent does not end before the other has begun.
        assert subagent_has_begun.wait(PATIENCE)

    graph = build_side_by_side(main.build(), subagent.build(), saver=InMemorySaver())
    questions = graph.invoke({"messages": "go"}, THREAD)["__interrupt__"]
    assert (len(questions), "post-session" in main.events) == (len(asking), False)
    graph.invoke(Command(resume={question.id: APPROVE for question in questions}), THREAD)
    assert (main.ran, subagent.ran) == (["main"], ["subagent"])
    assert main.events == ["pre-session", "pre-agent-turn", "post-agent-turn", "post-session"]


def test_a_graph_that_fails_beside_an_agent_that_asks_ends_its_session():
    scene, has_asked = Scene((call_bash("ls"),), "done"), threading.Event()
    scene.hooks.before_tool(lambda context: has_asked.set() or Outcome.ask("is that fine?"))

    def fail(state: Any) -> Any:
        assert has_asked.wait(PATIENCE)
        raise ValueError("the disk is full")

    graph = build_side_by_side(scene.build(), fail, saver=InMemorySaver())
    with pytest.raises(ValueError, match="the disk is full"):
        graph.invoke({"messages": "go"}, THREAD)
    assert scene.events[-1] == "post-session"


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("event", ["pre-session", "pre-agent-turn"])
def test_an_agent_that_a_hook_of_the_prompt_runs_is_a_run_of_its_own(event: Any, is_async: bool):
    judge, scene = Scene("fine"), Scene((call_bash("ls"),), "done")
    judging = judge.build()

    def ask_judge(context: Any) -> None:
        assert invoke(judging, "judge this") == "fine"

    scene.hooks.add(event, ask_judge)
    agent = scene.build()
    (asyncio.run(agent.ainvoke({"messages": "go"})) if is_async else invoke(agent))
    assert scene.ran == ["ls"]
    for each in (judge, scene):
        assert each.events == ["pre-session", "pre-agent-turn", "post-agent-turn", "post-session"]


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


class _JumpsToModel(AgentMiddleware[Any, Any, Any]):
    """Lets the agent begin with the model, past the starts of other middleware."""

    @hook_config(can_jump_to=["model"])
    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
        return {"jump_to": "model"}


class _SendsBack(AgentMiddleware[Any, Any, Any]):
    """Sends the agent back to work, once."""

    is_done = False

    @hook_config(can_jump_to=["model"])
    def after_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        if self.is_done:
            return None
        self.is_done = True
        return {"messages": [HumanMessage("again")], "jump_to": "model"}


def test_a_jump_of_another_middleware_over_the_start_does_not_hide_the_prompt():
    hooks, script = Hooks(), Script("done")
    hooks.turn_start(lambda context: Outcome.block("there is a key") if "sk-" in context.prompt else None)
    agent: Any = create_agent(ScriptedModel(script=script), middleware=[_JumpsToModel(), BoathookMiddleware(hooks)])
    assert agent.invoke({"messages": [("user", "use sk-1")]})["messages"][-1].text == "there is a key"
    assert script.requests == []
    assert agent.invoke({"messages": [("user", "hi")]})["messages"][-1].text == "done"


def test_an_agent_that_another_middleware_sends_back_has_another_turn_with_its_own_stop():
    hooks, events = Hooks(), []
    for name in ("pre-session", "pre-agent-turn", "pre-agent-turn-stop", "post-agent-turn", "post-session"):
        hooks.on(name)(lambda context: events.append(context.event))
    script = Script("done", "done again")
    agent: Any = create_agent(ScriptedModel(script=script), middleware=[_SendsBack(), BoathookMiddleware(hooks)])
    agent.invoke({"messages": [("user", "go")]})
    turn = ["pre-agent-turn", "pre-agent-turn-stop", "post-agent-turn"]
    assert events == ["pre-session", *turn, *turn, "post-session"]


def test_the_prompt_is_looked_for_once_in_a_turn_because_a_conversation_may_be_long(monkeypatch: pytest.MonkeyPatch):
    scene, searched = Scene(*[(call_bash("ls", f"c{at}"),) for at in range(5)], "done"), []

    def find_prompt(messages: Any) -> Any:
        searched.append(len(messages))
        return find_prompt_messages(messages)

    monkeypatch.setattr("boathook.bridges.langchain.find_prompt_messages", find_prompt)
    assert invoke(scene.build()) == "done"
    assert len(scene.script.requests) == 6
    assert searched == [1]


@pytest.mark.parametrize(
    "messages",
    [
        [HumanMessage("use sk-1"), SystemMessage("be brief"), HumanMessage("please")],
        [ChatMessage("use sk-1", role="user")],
    ],
)
def test_hooks_see_all_new_messages_of_the_person(messages: list[Any]):
    hooks, script = Hooks(), Script("done")
    hooks.turn_start(lambda context: Outcome.block("there is a key") if "sk-" in context.prompt else None)
    agent: Any = create_agent(ScriptedModel(script=script), middleware=[BoathookMiddleware(hooks)])
    assert agent.invoke({"messages": messages})["messages"][-1].text == "there is a key"
    assert script.requests == []


class RenamedMiddleware(BoathookMiddleware):
    """langchain refuses two middlewares of one name."""


def test_hooks_that_are_attached_twice_are_refused(project: ScratchProject):
    project.write_hook("no-rm", "exit 2")
    scene = Scene("done", middleware=[RenamedMiddleware()])
    scene.options = {}
    with pytest.raises(BridgeError, match="attached twice"):
        invoke(scene.build())
    scene.middleware = [BoathookMiddleware()]
    with pytest.raises(AssertionError, match="duplicate"):
        scene.build()
    # Different hooks run once each.
    scene.options, scene.middleware = {"hooks": scene.hooks}, [RenamedMiddleware()]
    assert invoke(scene.build()) == "done"


def test_a_tool_node_is_not_guarded_twice_by_the_same_hooks(project: ScratchProject):
    project.write_hook("no-rm", "exit 2")
    node = guard_tools(guard_tools(ToolNode(Scene().tools)), Hooks())
    with pytest.raises(BridgeError, match="attached twice"):
        guard_tools(node)
