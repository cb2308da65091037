"""langchain and langgraph for the contract. The model is a chat model with a script; approvals are interrupts."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, ToolRuntime, tools_condition
from langgraph.types import Command

from tests.bridges.adapter import (
    ASSISTANT,
    SYSTEM,
    TOOL,
    USER,
    Adapter,
    AgentPlan,
    Answers,
    Approval,
    Call,
    Cannot,
    Message,
    Ran,
    Script,
)

ONLY_TOOLS = "a ToolNode is only reached when the model calls tools"
# The scenes about steps.
STEP_SCENES = (
    "a_hook_that_stops_before_a_step_ends_the_run",
    "context_of_a_step_reaches_its_request_and_a_block_does_not_prevent_it",
)
ROLES: dict[str, Any] = {"human": USER, "ai": ASSISTANT, "tool": TOOL, "system": SYSTEM}


class ScriptedModel(BaseChatModel):
    """A chat model that plays a script."""

    script: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        message = make_reply(self.script, messages)
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        await self.script.wait()
        return await super()._agenerate(messages, *args, **kwargs)

    async def _astream(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        await self.script.wait()
        async for chunk in super()._astream(messages, *args, **kwargs):
            yield chunk

    def _stream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        reply = make_reply(self.script, messages)
        if reply.tool_calls:
            yield ChatGenerationChunk(message=AIMessageChunk("", tool_calls=reply.tool_calls))
            return
        text = str(reply.text)
        for word in text.split(" "):
            part = word if text.startswith(word) else f" {word}"
            yield ChatGenerationChunk(message=AIMessageChunk(part))


def make_reply(script: Script, messages: list[BaseMessage]) -> AIMessage:
    move = script.next_move([read_message(message) for message in messages])
    if isinstance(move, str):
        return AIMessage(move)
    calls = [{"name": call.tool, "args": dict(call.args), "id": call.id, "type": "tool_call"} for call in move]
    return AIMessage("", tool_calls=calls)


def read_message(message: BaseMessage) -> Message:
    call_id = message.tool_call_id if isinstance(message, ToolMessage) else ""
    return Message(ROLES[message.type], str(message.text), call_id)


class IdleMiddleware(AgentMiddleware[Any, Any, Any]):
    """Does nothing around a run, its requests and its tool calls."""

    def before_agent(self, state: Any, runtime: Any) -> None:
        return None

    def after_agent(self, state: Any, runtime: Any) -> None:
        return None

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return handler(request)

    # As in the bridge not `async def`, which would take more than twice as long.

    def awrap_model_call(self, request: Any, handler: Any) -> Any:
        return handler(request)

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        return handler(request)

    def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        return handler(request)


class IdleHandler(BaseCallbackHandler):
    """Does nothing when a chain begins or ends; only callbacks see every end of a run."""

    run_inline = True
    ignore_llm = ignore_chat_model = ignore_retriever = ignore_retry = ignore_custom_event = True  # type: ignore[assignment]


class LangChain(Adapter):
    name = framework = "langchain"
    distributions = ("langchain", "langgraph")
    notes: ClassVar[Mapping[str, str]] = {
        "delegation": "each agent needs the bridge itself: an agent without it, in a tool or after a handoff, is refused when it "
        "calls a tool; after a handoff and a pause, it is not seen"
    }
    delegations: ClassVar[Mapping[str, Call]] = {
        "an agent in a tool": Call("ask_helper", {"task": "clean up"}),
        "a handoff": Call("transfer_to_helper"),
    }
    bare_helpers: ClassVar[Mapping[str, Any]] = {"an agent in a tool": "refused", "a handoff": "refused"}

    def build(self, plan: AgentPlan, options: Mapping[str, Any] | None) -> Any:
        if plan.helper is not None and plan.delegation == "a handoff":
            return self.build_handoff(plan, plan.helper, options)
        return self.build_agent(plan, options, self.make_tools(plan, options), InMemorySaver())

    def build_idle(self, plan: AgentPlan) -> Any:
        tools = [make_tool(function) for function in plan.tools]
        agent = create_agent(
            ScriptedModel(script=plan.script), tools, middleware=[IdleMiddleware()], checkpointer=InMemorySaver()
        )
        return agent.with_config(callbacks=[IdleHandler()])

    @contextmanager
    def leave_bridge(self) -> Iterator[None]:
        from boathook.bridges.langgraph_runs import handler_of_runs

        token = handler_of_runs.set(None)
        try:
            yield
        finally:
            handler_of_runs.reset(token)

    def build_handoff(self, plan: AgentPlan, helper: AgentPlan, options: Mapping[str, Any] | None) -> Any:
        @tool
        def transfer_to_helper(runtime: ToolRuntime) -> Command[Any]:
            """Let the helper go on."""
            messages = [*runtime.state["messages"], ToolMessage("it is yours", tool_call_id=runtime.tool_call_id)]
            return Command(goto="helper", graph=Command.PARENT, update={"messages": messages})

        graph = StateGraph(MessagesState)
        main = self.build_agent(plan, options, [*plan.tools, transfer_to_helper], None)
        graph.add_node("main", main, destinations=("helper",))
        graph.add_node("helper", self.build_agent(helper, helper.choose_options(options), [*helper.tools], None))
        graph.add_edge(START, "main")
        return graph.compile(InMemorySaver())

    def make_tools(self, plan: AgentPlan, options: Mapping[str, Any] | None) -> list[Any]:
        tools = [make_tool(function) for function in plan.tools]
        if plan.helper is not None:
            helper_options = plan.helper.choose_options(options)
            tools_of_helper = self.make_tools(plan.helper, helper_options)
            helper = self.build_agent(plan.helper, helper_options, tools_of_helper, None)

            def ask_helper(task: str) -> str:
                """Let the helper do a task."""
                return str(helper.invoke({"messages": task})["messages"][-1].text)

            async def ask_helper_async(task: str) -> str:
                return str((await helper.ainvoke({"messages": task}))["messages"][-1].text)

            tools.append(StructuredTool.from_function(ask_helper, ask_helper_async))
        return tools

    def build_agent(self, plan: AgentPlan, options: Mapping[str, Any] | None, tools: list[Any], saver: Any) -> Any:
        middleware = [] if options is None else [self.make_bridge(options)]
        model = ScriptedModel(script=plan.script)
        return create_agent(model, tools, middleware=middleware, checkpointer=saver, name=plan.name)

    def make_bridge(self, options: Mapping[str, Any]) -> Any:
        from boathook.bridges.langchain import BoathookMiddleware

        return BoathookMiddleware(**options)

    def run(self, agent: Any, prompt: str | Answers) -> Ran:
        given, config = make_input(prompt)
        return read_result(agent.invoke(given, config), config)

    async def run_async(self, agent: Any, prompt: str | Answers) -> Ran:
        given, config = make_input(prompt)
        return read_result(await agent.ainvoke(given, config), config)

    async def run_stream(self, agent: Any, prompt: str | Answers) -> Ran:
        given, config = make_input(prompt)
        parts: list[str] = []
        values: dict[str, Any] = {}
        async for mode, chunk in agent.astream(given, config, stream_mode=["messages", "values"]):
            if mode == "values":
                values |= chunk
            elif isinstance(chunk[0], AIMessageChunk):
                parts.append(str(chunk[0].text))
        return read_result(values, config, parts)


def make_tool(function: Any) -> Any:
    return tool(function)


def make_input(prompt: str | Answers) -> tuple[Any, dict[str, Any]]:
    if isinstance(prompt, str):
        return {"messages": prompt}, {"configurable": {"thread_id": uuid.uuid4().hex}}
    interrupts, config = prompt.ran.state
    resume = {}
    for each in interrupts:
        allowed = [prompt.by_call[action["id"]] for action in each.value["action_requests"]]
        resume[each.id] = {"decisions": [{"type": "approve" if is_allowed else "reject"} for is_allowed in allowed]}
    return Command(resume=resume), config


def read_result(values: dict[str, Any], config: Any, parts: list[str] | None = None) -> Ran:
    said = [part for part in parts or () if part]
    interrupts = values.get("__interrupt__")
    if not interrupts:
        return Ran(str(values["messages"][-1].text), said)
    actions = [action for each in interrupts for action in each.value["action_requests"]]
    approvals = [Approval(each["id"], each["name"], each["args"], each["description"]) for each in actions]
    return Ran(None, said, approvals, (interrupts, config))


class BareToolNode(LangChain):
    """A graph of langgraph with a model and a ToolNode, without an agent of langchain."""

    name, bridge = "langgraph ToolNode", "langgraph"
    delegations: ClassVar[Mapping[str, Call]] = {"an agent in a tool": Call("ask_helper", {"task": "clean up"})}
    notes: ClassVar[Mapping[str, str]] = {
        "delegation": "each agent needs the bridge itself: an agent without it, in a tool, is refused when it calls a tool"
    }
    bare_helpers: ClassVar[Mapping[str, Any]] = {"an agent in a tool": "refused"}
    cannot: ClassVar[Mapping[str | tuple[str, str], Cannot]] = {
        **{behaviour: Cannot(ONLY_TOOLS, "accepted") for behaviour in ("prompt", "stop gate", "session")},
        "context_for_a_prompt_reaches_the_model": Cannot(
            f"{ONLY_TOOLS}: context for the prompt comes with the first results", "accepted"
        ),
        "hooks_see_that_a_run_failed": Cannot(f"{ONLY_TOOLS}: a run that fails before that is not seen", "accepted"),
        **dict.fromkeys(STEP_SCENES, Cannot(f"{ONLY_TOOLS}: it does not see requests to the model", "accepted")),
    }

    def build_idle(self, plan: AgentPlan) -> Any:
        idle = IdleMiddleware()
        tools = [make_tool(function) for function in plan.tools]
        node = ToolNode(tools, wrap_tool_call=idle.wrap_tool_call, awrap_tool_call=idle.awrap_tool_call)
        return self.build_graph(plan, node, InMemorySaver()).with_config(callbacks=[IdleHandler()])

    def build_agent(self, plan: AgentPlan, options: Mapping[str, Any] | None, tools: list[Any], saver: Any) -> Any:
        return self.build_graph(plan, self.make_node(tools, options), saver)

    def build_graph(self, plan: AgentPlan, node: ToolNode, saver: Any) -> Any:
        model = ScriptedModel(script=plan.script)

        def ask_model(state: MessagesState) -> dict[str, Any]:
            return {"messages": [model.invoke(state["messages"])]}

        async def ask_model_async(state: MessagesState) -> dict[str, Any]:
            return {"messages": [await model.ainvoke(state["messages"])]}

        graph = StateGraph(MessagesState)
        graph.add_node("model", RunnableLambda(ask_model, ask_model_async))
        graph.add_node("tools", node)
        graph.add_edge(START, "model")
        graph.add_conditional_edges("model", tools_condition)
        graph.add_edge("tools", "model")
        return graph.compile(saver)

    def make_node(self, tools: list[Any], options: Mapping[str, Any] | None) -> Any:
        from boathook.bridges.langchain import guard_tools

        return ToolNode(tools) if options is None else guard_tools(ToolNode(tools), **options)


ADAPTERS = [LangChain(), BareToolNode()]
