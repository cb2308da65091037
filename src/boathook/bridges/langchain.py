"""Hooks in agents of langchain and in graphs of langgraph.

from boathook.bridges.langchain import BoathookMiddleware, guard_tools

agent = create_agent(model, tools=[bash], middleware=[BoathookMiddleware()])  # the file hooks of the user and of this folder
graph.add_node("tools", guard_tools(ToolNode([bash])))  # a graph of your own: only its tool calls
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from boathook.bridges.attachment import Attachment, BridgeOptions, attach, require_version
from boathook.errors import BridgeError
from boathook.inprocess.agent_run import AgentRun
from boathook.inprocess.contexts import ExecutionContext
from boathook.inprocess.drivers import ASYNC, run_sync
from boathook.inprocess.hooks import Hooks
from boathook.inprocess.run_outcome import RunOutcome

require_version("langchain", "1.4", before="2", extra="langchain")
require_version("langgraph", "1.2", before="2", extra="langchain")

from langchain.agents.middleware import AgentMiddleware, ModelResponse, hook_config
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt import ToolNode

from boathook.bridges.langchain_calls import (
    ToolExecution,
    add_texts,
    find_prompt_messages,
    find_tool_message,
    make_tool_call,
    replace_message_text,
    replace_tool_message,
)
from boathook.bridges.langgraph_questions import PersonQuestion, make_question_key, questions_by_run
from boathook.bridges.langgraph_runs import ASYNC_FLOW, SYNC_FLOW, FlowOf, GraphTurn, find_turn, graph_runs

# Agents of langchain.


class BoathookMiddleware(AgentMiddleware[Any, Any, Any]):
    """Hooks around an agent: its prompts, its tool calls, its stops, and the start and end of every run.

    Without `hooks` they are the file hooks of the user and of `work_dir` (the current folder). `names` and `arguments` map tools
    and their arguments to the names that file hooks know; the rest is guessed. A run is a session with the id of its thread,
    unless `session_id` is given. Tools that the model's provider runs cannot be guarded: they are refused unless
    `allow_unguarded` is set. Make it the last middleware, so that hooks see what really runs.
    """

    def __init__(self, hooks: Hooks | None = None, **options: Unpack[BridgeOptions]) -> None:
        super().__init__()
        self.tools: Sequence[Any] = []
        self._attachment = attach("langchain", hooks, **options)

    @hook_config(can_jump_to=["end"])
    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Begin the turn, and the session if it has not begun."""
        return run_sync(self._begin(SYNC_FLOW, state))

    @hook_config(can_jump_to=["end"])
    async def abefore_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Do the same in an event loop."""
        return await self._begin(ASYNC_FLOW, state)

    async def _begin(self, flow_of: FlowOf, state: Any) -> dict[str, Any] | None:
        messages, prompt = find_prompt_messages(state["messages"])
        place = graph_runs.find_place(get_config())
        others = (turn.attachment for turn in graph_runs.list_turns(place.graph))
        self._attachment.refuse_shared_hooks(others, "pass BoathookMiddleware once")
        _, prompt_outcome = await graph_runs.start_turn(flow_of, place, self._attachment, prompt, tells_end=True)
        if not prompt_outcome.proceeds:
            # The conversation goes on without what was refused.
            refused = [replace_message_text(message, "[This message was blocked by a hook.]") for message in messages]
            return {"messages": [*refused, AIMessage(prompt_outcome.reason)], "jump_to": "end"}
        if prompt_outcome.context.prompt == prompt:
            return None
        if not messages:
            raise BridgeError("a hook changed the prompt, but this run has no new message that could be changed")
        first, *rest = messages
        return {
            "messages": [
                replace_message_text(first, prompt_outcome.context.prompt),
                *(replace_message_text(each, "") for each in rest),
            ]
        }

    @hook_config(can_jump_to=["model"])
    def after_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Ask hooks whether the agent may stop, and send it back to work if not."""
        return run_sync(self._stop(SYNC_FLOW, state))

    @hook_config(can_jump_to=["model"])
    async def aafter_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Do the same in an event loop."""
        return await self._stop(ASYNC_FLOW, state)

    async def _stop(self, flow_of: FlowOf, state: Any) -> dict[str, Any] | None:
        turn = find_turn(get_config(), self._attachment)
        flow, text = flow_of(turn.run), str(state["messages"][-1].text) if state["messages"] else ""
        if not turn.is_refused and not turn.run.is_stopped:
            outcome = await flow.stop(text)
            if outcome.feedback:
                return {"messages": [HumanMessage(outcome.feedback)], "jump_to": "model"}
            if outcome.is_stopped:
                await flow.end_turn(outcome.reason)
                return {"messages": [AIMessage(outcome.reason)]}
        await flow.end_turn(text)
        return None

    def _find_run(self) -> AgentRun:
        return find_turn(get_config(), self._attachment).run

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        """Give the model the context of hooks, after all results of tools."""
        return run_sync(self._ask_model(SYNC_FLOW, request, handler))

    # Not `async def`: langchain traces these methods, and for a coroutine function that takes two jobs of a thread and a task
    # per call, even if nothing is traced. What they return is awaited in any case.

    def awrap_model_call(self, request: Any, handler: Any) -> Any:
        """Do the same in an event loop."""
        return self._ask_model(ASYNC_FLOW, request, handler)

    async def _ask_model(self, flow_of: FlowOf, request: Any, handler: Any) -> Any:
        refusal = await self._begin_missing_turn(flow_of, request)
        if refusal:
            return ModelResponse(result=[AIMessage(refusal)])
        run = self._find_run()
        hosted = [tool.get("name") or tool.get("type") or "tool" for tool in request.tools if isinstance(tool, dict)]
        self._attachment.refuse_unguarded(map(str, hosted))
        self._attachment.check_names(str(getattr(tool, "name", "")) for tool in request.tools)
        step = await flow_of(run).begin_step()
        if not step.proceeds:
            return ModelResponse(result=[AIMessage(step.reason)])
        texts = run.take_context()
        if not texts:
            return await ASYNC.resolve(handler(request))
        added = [HumanMessage(text) for text in texts]
        try:
            response = await ASYNC.resolve(handler(request.override(messages=[*request.messages, *added])))
        except BaseException:
            # The request may be made again.
            run.add_context(*texts)
            raise
        return dataclasses.replace(response, result=[*added, *response.result])

    async def _begin_missing_turn(self, flow_of: FlowOf, request: Any) -> str:
        """Begin a turn that another middleware began by a jump: over our own start, or back to work after our stop.

        Returns why hooks refuse it, or "".
        """
        config = get_config()
        turn = graph_runs.find_turn(config, self._attachment.hooks)
        if turn is not None and (turn.run.is_turn_open or turn.run.is_stopped):
            return ""
        messages, prompt = find_prompt_messages(request.messages)
        if turn is None:
            place = graph_runs.find_place(config)
            is_paused = place.key and self._attachment.has_waiting_run(place.key)
            if is_paused or not messages:
                # It goes on after a pause, perhaps in another process.
                return ""
            _, prompt_outcome = await graph_runs.start_turn(flow_of, place, self._attachment, prompt, tells_end=True)
        else:
            prompt_outcome = await turn.prompt(flow_of, prompt)
        if prompt_outcome.proceeds and prompt_outcome.context.prompt != prompt:
            raise BridgeError("a hook changed the prompt, but another middleware has jumped to the model already")
        return prompt_outcome.reason

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        """Call a tool with its hooks around it."""
        return run_sync(self._call_tool(SYNC_FLOW, request, handler))

    def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        """Do the same in an event loop."""
        return self._call_tool(ASYNC_FLOW, request, handler)

    async def _call_tool(self, flow_of: FlowOf, request: Any, handler: Any) -> Any:
        turn = find_turn(request.runtime.config, self._attachment)
        run, flow, tool_call = turn.run, flow_of(turn.run), request.tool_call
        questions, config = questions_by_run.setdefault(run, {}), request.runtime.config
        call = make_tool_call(tool_call)
        # Most runs have no question, and the key takes a while.
        if questions and (asked := questions.get(make_question_key(config, [call]))):
            asked.ask_person(run)
        while True:
            executed = ToolExecution(run, request, handler)
            can_ask = turn.place.can_ask
            outcome = await flow.tool(call, executed.execute, can_ask=can_ask, passes=(GraphBubbleUp,))
            if outcome.ask is None:
                return executed.read_outcome(outcome)
            key = make_question_key(config, [call])
            questions[key] = question = PersonQuestion(key, [outcome.ask], is_again=run.must_ask_again)
            question.ask_person(run)


for _method in (
    *(BoathookMiddleware.wrap_model_call, BoathookMiddleware.awrap_model_call),
    *(BoathookMiddleware.wrap_tool_call, BoathookMiddleware.awrap_tool_call),
):
    # langchain asks for their signatures at every call, even if nothing is traced.
    _method.__signature__ = inspect.signature(_method)  # type: ignore[attr-defined]


# Graphs of langgraph without an agent of langchain.


class GuardedToolNode(ToolNode):
    """A ToolNode with hooks around its tool calls. `guard_tools` makes it."""

    def __init__(self, node: ToolNode, attachment: Attachment) -> None:
        self._attachment = attachment
        inner = node._attachments if isinstance(node, GuardedToolNode) else ()
        self._attachments: tuple[Attachment, ...] = (attachment, *inner)
        self._given_wrap, self._given_awrap = node._wrap_tool_call, node._awrap_tool_call
        super().__init__(
            [*node.tools_by_name.values()],
            name=node.name or "tools",
            tags=None if node.tags is None else [*node.tags],
            handle_tool_errors=node._handle_tool_errors,
            messages_key=node._messages_key,
            wrap_tool_call=self._wrap,
            awrap_tool_call=self._awrap,
        )

    def refuse_shared_hooks(self, attachment: Attachment) -> None:
        """Refuse hooks that this node has already, or that a node around which it was made has."""
        attachment.refuse_shared_hooks(self._attachments, "call guard_tools once for a ToolNode")

    def __repr__(self) -> str:
        # The base class shows its wrappers, which are methods of this node.
        return f"GuardedToolNode({', '.join(self.tools_by_name)})"

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:  # noqa: A002
        """Ask hooks about all calls, then make them."""
        turn = run_sync(self._begin(SYNC_FLOW, input, config))
        return self._end(turn, input, super().invoke(input, config, **kwargs))

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:  # noqa: A002
        """Do the same in an event loop."""
        turn = await self._begin(ASYNC_FLOW, input, config)
        return self._end(turn, input, await super().ainvoke(input, config, **kwargs))

    async def _begin(self, flow_of: FlowOf, given: Any, config: Any) -> GraphTurn:
        """Begin the turn if this is its first call; decide about all calls before any of them is made."""
        config = config or {}
        calls = [make_tool_call(each) for each in self._parse_input(given)[0]]
        turn = graph_runs.find_turn(config, self._attachment.hooks)
        if turn is None:
            turn = await self._begin_turn(flow_of, config, given)
        if turn.prompt_future is not None and not turn.tells_end:
            _check_prompt(turn, await turn.wait_for_prompt(flow_of))
        run = turn.run
        questions = questions_by_run.setdefault(run, {})
        if questions and (asked := questions.get(make_question_key(config, calls))):
            asked.ask_person(run)
        while True:
            decided = [await flow_of(run).decide(call, can_ask=True) for call in calls if turn.place.can_ask]
            asks = [outcome.ask for outcome in decided if outcome.ask is not None]
            if not asks:
                return turn
            # Calls are made again after an answer, all of them, so none may be made before.
            key = make_question_key(config, calls)
            questions[key] = question = PersonQuestion(key, asks, is_again=run.must_ask_again)
            question.ask_person(run)

    async def _begin_turn(self, flow_of: FlowOf, config: Mapping[str, Any], given: Any) -> GraphTurn:
        """Begin the turn, or wait until another node has that the same request of the model reached by `Send`."""
        place = graph_runs.find_place(config)
        if place.key and self._attachment.has_waiting_run(place.key):
            return graph_runs.begin_turn(place, self._attachment, tells_end=False, task=None)
        prompt = find_prompt_messages(self._read_messages(given, config))[1]
        turn, _ = await graph_runs.start_turn(flow_of, place, self._attachment, prompt, tells_end=False)
        return turn

    def _read_messages(self, given: Any, config: Any) -> Sequence[Any]:
        """Return the messages of the graph, also if the node is reached by `Send`, with one call."""
        state: Any = self._extract_state(given, config)
        if not isinstance(state, list | tuple):
            key = self._messages_key
            state = state.get(key) if isinstance(state, dict) else getattr(state, key, None)
        if not isinstance(state, list | tuple) or not state:
            raise BridgeError(
                f"the ToolNode was given tool calls without messages, so that hooks cannot see the prompt: '{self._messages_key}' "
                "of the state is empty. Send it the state, too, as create_react_agent does"
            )
        return state

    def _wrap(self, request: Any, handler: Any) -> Any:
        if self._given_wrap is None:
            return run_sync(self._call_tool(SYNC_FLOW, request, handler))
        return self._given_wrap(request, lambda changed: run_sync(self._call_tool(SYNC_FLOW, changed, handler)))

    async def _awrap(self, request: Any, handler: Any) -> Any:
        async def call(changed: Any) -> Any:
            return await self._call_tool(ASYNC_FLOW, changed, handler)

        if self._given_awrap is not None:
            return await self._given_awrap(request, call)
        if self._given_wrap is not None:
            raise BridgeError(
                "the ToolNode has wrap_tool_call but not awrap_tool_call: add it, or run the graph with invoke"
            )
        return await call(request)

    async def _call_tool(self, flow_of: FlowOf, request: Any, handler: Any) -> Any:
        turn = find_turn(request.runtime.config, self._attachment)
        executed = ToolExecution(turn.run, request, handler)
        call = make_tool_call(request.tool_call)
        # Questions were settled for all calls.
        outcome = await flow_of(turn.run).tool(call, executed.execute, can_ask=False, passes=(GraphBubbleUp,))
        return executed.read_outcome(outcome)

    def _end(self, turn: GraphTurn, given: Any, output: Any) -> Any:
        """Add the context of hooks after all results; end the run if a hook stopped it."""
        turn.run.raise_stop()
        texts = turn.run.take_context()
        if not texts:
            return output
        calls, kind = self._parse_input(given)
        if kind == "tool_calls" and (message := find_tool_message(output, calls[-1]["id"] or "")) is not None:
            # Reached by `Send`: the results of other calls may come after these messages, and nothing may be between results.
            return replace_tool_message(output, message, add_texts(message, texts))
        added = [HumanMessage(text) for text in texts]
        if isinstance(output, dict):
            return {**output, self._messages_key: [*output[self._messages_key], *added]}
        if all(isinstance(each, ToolMessage) for each in output):
            return [*output, *added]
        return [*output, added if any(isinstance(each, list) for each in output) else {self._messages_key: added}]


def _check_prompt(turn: GraphTurn, prompt_outcome: RunOutcome[ExecutionContext]) -> None:
    """Raise an error if hooks refused or changed the prompt of a graph: every call of it does."""
    prompt_outcome.raise_refusal()
    if prompt_outcome.context.prompt != turn.text:
        raise BridgeError(
            "a hook changed the prompt, but a ToolNode sees it only after the model. Use create_agent with "
            "BoathookMiddleware, or remove the hook"
        )


def guard_tools(
    tools: ToolNode | Sequence[Any], hooks: Hooks | None = None, **options: Unpack[BridgeOptions]
) -> GuardedToolNode:
    """Return a ToolNode with hooks around its tool calls, for a graph of your own.

    A ToolNode knows nothing of the prompt before the model has read it, nor of the end of the agent's work: hooks for prompts see
    them at the first tool call, and hooks for stops and steps do not run. `create_agent` with `BoathookMiddleware` has all of it.
    """
    attachment = attach("langgraph", hooks, **options)
    node = tools if isinstance(tools, ToolNode) else ToolNode(tools)
    if isinstance(node, GuardedToolNode):
        node.refuse_shared_hooks(attachment)
    attachment.check_names(node.tools_by_name)
    return GuardedToolNode(node, attachment)
