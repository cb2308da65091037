"""Hooks in agents of langchain and in graphs of langgraph.

from boathook.bridges.langchain import BoathookMiddleware, guard_tools

agent = create_agent(model, tools=[bash], middleware=[BoathookMiddleware()])  # the file hooks of the user and of this folder
graph.add_node("tools", guard_tools(ToolNode([bash])))  # a graph of your own: only its tool calls
"""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Unpack
from uuid import UUID
from weakref import WeakKeyDictionary

from boathook.bridges.attachment import Attachment, BridgeOptions, attach, require_version
from boathook.errors import BridgeError
from boathook.inprocess.agent_run import AgentRun
from boathook.inprocess.drivers import run_sync
from boathook.inprocess.hooks import Hooks
from boathook.inprocess.json_values import to_json_value
from boathook.inprocess.operations import ToolCall
from boathook.inprocess.run_flow import RunFlow
from boathook.inprocess.run_outcome import AskRequest, ToolOutcome

require_version("langchain", "1.4", before="2", extra="langchain")
require_version("langgraph", "1.2", before="2", extra="langchain")

from langchain.agents.middleware import AgentMiddleware, ModelResponse, hook_config
from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tracers.context import register_configure_hook
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp, GraphDrained, GraphInterrupt, ParentCommand
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt

# The run whose tool is being called: an agent that runs in there is a subagent.
_calling_run: ContextVar[AgentRun | None] = ContextVar("boathook_calling_run", default=None)
# By run, the questions about its calls. A call that comes again after its answer must ask again: langgraph counts the interrupts
# of a task, so that a question left out would give its answer to the next one, for example to one of the tool itself.
_questions: WeakKeyDictionary[AgentRun, dict[str, _Question]] = WeakKeyDictionary()
_CHECKPOINTER = "__pregel_checkpointer"
_FlowOf = Callable[[AgentRun], RunFlow]
_SYNC: _FlowOf = attrgetter("sync_flow")
_ASYNC: _FlowOf = attrgetter("async_flow")


# Runs of graphs. Only callbacks see every end of a graph: errors, cancellation, a stream that is not read.


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a node runs: its graph, the outermost run around that, and what identifies the graph when it goes on after a pause."""

    graph: UUID
    root: UUID
    thread: str
    namespace: str
    agent: str
    can_ask: bool

    @property
    def key(self) -> str:
        """Return what finds the run of this graph again after a pause, "" if there is nothing from which it could go on."""
        return f"langgraph {self.thread} {self.namespace}" if self.thread and self.can_ask else ""


@dataclass(slots=True)
class _Turn:
    """The run of one graph. With `tells_end` it closes its turn itself, so that a graph that ends with an open turn is paused."""

    run: AgentRun
    place: _Place
    attachment: Attachment
    tells_end: bool
    is_paused: bool = False


class _GraphRuns(BaseCallbackHandler):
    """The runs of all graphs in this process that have hooks. Knows when each of them ends, and ends its turn and its session."""

    raise_error = True
    run_inline = True
    ignore_llm = ignore_chat_model = ignore_agent = ignore_retriever = ignore_retry = ignore_custom_event = True  # type: ignore[assignment]

    def __init__(self) -> None:
        self._parents: dict[UUID, UUID | None] = {}
        # By graph, and there by the id of a hooks object.
        self._turns: dict[UUID, dict[int, _Turn]] = {}
        # By root: the run that began the session.
        self._sessions: dict[UUID, AgentRun] = {}

    def find_turn(self, config: Mapping[str, Any], hooks: Hooks) -> _Turn | None:
        """Return the turn of the graph in which a node runs; `config` is the one of the node."""
        return self._turns.get(self._find_graph(config), {}).get(id(hooks))

    def _find_graph(self, config: Mapping[str, Any]) -> UUID:
        callbacks: Any = config.get("callbacks")
        node = callbacks.parent_run_id if isinstance(callbacks, BaseCallbackManager) else None
        graph = self._parents.get(node) if node is not None else None
        if graph is None:
            raise BridgeError(
                "boathook cannot tell which run of a graph this is. Attach it to an agent or a graph of langgraph, and run that"
            )
        return graph

    def find_place(self, config: Mapping[str, Any]) -> _Place:
        """Return where a node runs; `config` is the one of the node."""
        root = graph = self._find_graph(config)
        while (parent := self._parents.get(root)) is not None and parent in self._parents:
            root = parent
        values = config.get("configurable") or {}
        namespace = str(values.get("checkpoint_ns") or "").rpartition("|")[0]
        name = (config.get("metadata") or {}).get("lc_agent_name") or "agent"
        can_ask = values.get(_CHECKPOINTER) is not None
        return _Place(graph, root, str(values.get("thread_id") or ""), namespace, str(name), can_ask)

    def begin_turn(self, place: _Place, attachment: Attachment, *, tells_end: bool, task: str | None) -> _Turn:
        """Return the turn of a graph that begins; without `task`, of one that goes on after a pause."""
        run = attachment.hooks.find_run(place.key) if place.key else None
        if run is not None:
            run.resume()
        else:
            run = self._open_run(place, attachment, task or "")
            run = run if task is not None else run.resume()
        if run.subagent is None:
            self._sessions[place.root] = run
        turn = _Turn(run, place, attachment, tells_end)
        self._turns.setdefault(place.graph, {})[id(attachment.hooks)] = turn
        return turn

    def _open_run(self, place: _Place, attachment: Attachment, task: str) -> AgentRun:
        """Return the run of a subagent in a tool or beside another agent, of the next agent of a session, or a new one."""
        session, caller = self._sessions.get(place.root), _calling_run.get()
        if caller is not None and caller.is_session_open:
            return attachment.make_child(caller, place.agent, task)
        if session is None or not session.is_session_open:
            return attachment.make_run(place.thread)
        if session.is_turn_open or session.stack is not attachment.hooks.stack:
            return attachment.make_child(session, place.agent, task)
        return session

    def on_chain_start(
        self, serialized: Any, inputs: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        """Note which run a run belongs to."""
        self._parents[run_id] = parent_run_id

    # An event loop awaits these; a plain program calls them.

    @property
    def on_chain_end(self) -> Any:
        """Return what is called at the end of a chain."""
        return self._end_async if _is_in_loop() else self._end_sync

    @property
    def on_chain_error(self) -> Any:
        """Return what is called when a chain fails."""
        return self._end_async if _is_in_loop() else self._end_sync

    def _end_sync(self, outcome: Any, *, run_id: UUID, **kwargs: Any) -> None:
        if self._note_end(outcome, run_id):
            run_sync(self._end_graph(_SYNC, outcome, run_id))

    async def _end_async(self, outcome: Any, *, run_id: UUID, **kwargs: Any) -> None:
        if self._note_end(outcome, run_id):
            await self._end_graph(_ASYNC, outcome, run_id)

    def _note_end(self, outcome: Any, run_id: UUID) -> bool:
        """Note the end of a node or graph; return whether there is something to end."""
        parent = self._parents.pop(run_id, None)
        if isinstance(outcome, GraphInterrupt) and parent is not None and parent in self._turns:
            for turn in self._turns[parent].values():
                turn.is_paused = True
        return run_id in self._turns or run_id in self._sessions

    async def _end_graph(self, flow_of: _FlowOf, outcome: Any, run_id: UUID) -> None:
        error = outcome if isinstance(outcome, BaseException) and not isinstance(outcome, ParentCommand) else None
        turns, session = self._turns.pop(run_id, {}), self._sessions.pop(run_id, None)
        is_paused = False
        try:
            for turn in turns.values():
                is_paused |= _is_paused(turn, error)
                await self._end_turn(flow_of(turn.run), turn, error)
        finally:
            if session is not None and not is_paused:
                await flow_of(session).end(error=error)

    async def _end_turn(self, flow: RunFlow, turn: _Turn, error: BaseException | None) -> None:
        if _is_paused(turn, error):
            turn.run.suspend(turn.place.key)
        elif error is None:
            await flow.end_turn()
        else:
            await flow.failed(error)


def _is_paused(turn: _Turn, error: BaseException | None) -> bool:
    """Whether a graph will go on later: it waits for a person, or the program ends."""
    if not turn.place.key or not isinstance(error, GraphInterrupt | GraphDrained | None):
        return False
    return turn.is_paused or error is not None or (turn.tells_end and turn.run.is_turn_open)


def _is_in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


_graph_runs = _GraphRuns()
# Every run in this process has this handler: a middleware cannot add one to the run that it is in.
register_configure_hook(ContextVar("boathook_graph_runs", default=_graph_runs), inheritable=True)


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
        return run_sync(self._begin(_SYNC, state))

    @hook_config(can_jump_to=["end"])
    async def abefore_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Do the same in an event loop."""
        return await self._begin(_ASYNC, state)

    async def _begin(self, flow_of: _FlowOf, state: Any) -> dict[str, Any] | None:
        messages, prompt = _find_prompt(state["messages"])
        place = _graph_runs.find_place(get_config())
        turn = _graph_runs.begin_turn(place, self._attachment, tells_end=True, task=prompt)
        begun = await flow_of(turn.run).prompt(prompt)
        if not begun.proceeds:
            # The conversation goes on without what was refused.
            refused = [_replace_text(message, "[This message was blocked by a hook.]") for message in messages]
            return {"messages": [*refused, AIMessage(begun.reason)], "jump_to": "end"}
        if begun.context.prompt == prompt:
            return None
        if not messages:
            raise BridgeError("a hook changed the prompt, but this run has no new message that could be changed")
        first, *rest = messages
        return {"messages": [_replace_text(first, begun.context.prompt), *(_replace_text(each, "") for each in rest)]}

    @hook_config(can_jump_to=["model"])
    def after_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Ask hooks whether the agent may stop, and send it back to work if not."""
        return run_sync(self._stop(_SYNC, state))

    @hook_config(can_jump_to=["model"])
    async def aafter_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Do the same in an event loop."""
        return await self._stop(_ASYNC, state)

    async def _stop(self, flow_of: _FlowOf, state: Any) -> dict[str, Any] | None:
        run = self._find_run()
        flow, text = flow_of(run), str(state["messages"][-1].text) if state["messages"] else ""
        if run.is_turn_open and not run.is_stopped:
            outcome = await flow.stop(text)
            if outcome.feedback:
                return {"messages": [HumanMessage(outcome.feedback)], "jump_to": "model"}
            if outcome.is_stopped:
                await flow.end_turn(outcome.reason)
                return {"messages": [AIMessage(outcome.reason)]}
        await flow.end_turn(text)
        return None

    def _find_run(self) -> AgentRun:
        return _find_turn(get_config(), self._attachment).run

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        """Give the model the context of hooks, after all results of tools."""
        return run_sync(self._ask_model(_SYNC, request, handler))

    # Not `async def`: langchain traces these methods, and for a coroutine function that takes two jobs of a thread and a task
    # per call, even if nothing is traced. What they return is awaited in any case.

    def awrap_model_call(self, request: Any, handler: Any) -> Any:
        """Do the same in an event loop."""
        return self._ask_model(_ASYNC, request, handler)

    async def _ask_model(self, flow_of: _FlowOf, request: Any, handler: Any) -> Any:
        run = self._find_run()
        hosted = [tool.get("name") or tool.get("type") or "tool" for tool in request.tools if isinstance(tool, dict)]
        self._attachment.refuse_unguarded(map(str, hosted))
        self._attachment.check_names(str(getattr(tool, "name", "")) for tool in request.tools)
        step = await flow_of(run).begin_step()
        if not step.proceeds:
            return ModelResponse(result=[AIMessage(step.reason)])
        texts = run.take_context()
        if not texts:
            return await _resolve(handler(request))
        added = [HumanMessage(text) for text in texts]
        try:
            response = await _resolve(handler(request.override(messages=[*request.messages, *added])))
        except BaseException:
            # The request may be made again.
            run.add_context(*texts)
            raise
        return dataclasses.replace(response, result=[*added, *response.result])

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        """Call a tool with its hooks around it."""
        return run_sync(self._call_tool(_SYNC, request, handler))

    def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        """Do the same in an event loop."""
        return self._call_tool(_ASYNC, request, handler)

    async def _call_tool(self, flow_of: _FlowOf, request: Any, handler: Any) -> Any:
        turn = _find_turn(request.runtime.config, self._attachment)
        run, flow, tool_call = turn.run, flow_of(turn.run), request.tool_call
        questions = _questions.setdefault(run, {})
        call = _make_call(tool_call)
        key = _make_question_key(request.runtime.config, [call])
        if key in questions:
            questions[key].ask_person(run)
        while True:
            executed = _Execution(run, request, handler)
            can_ask = turn.place.can_ask
            outcome = await flow.tool(call, executed.execute, can_ask=can_ask, passes=(GraphBubbleUp,))
            if outcome.ask is None:
                return executed.read_outcome(outcome)
            questions[key] = _Question([outcome.ask])
            questions[key].ask_person(run)


# Tool calls.


class _ToolFailure(Exception):
    """A tool failed, and the framework made a message for the model of it."""


class _Execution:
    """One tool call that the framework carries out: what hooks see of its result, and the result as hooks left it."""

    def __init__(self, run: AgentRun, request: Any, handler: Any) -> None:
        self._run, self._request, self._handler = run, request, handler
        self._response: Any = None
        self._content: Any = None

    def execute(self, call: ToolCall) -> Any:
        """Call the tool with the arguments that hooks left; an awaitable in an event loop."""
        request = self._request
        if call.args != request.tool_call["args"]:
            request = request.override(tool_call={**request.tool_call, "args": dict(call.args)})
        token = _calling_run.set(self._run)
        try:
            response = self._handler(request)
            return self._read_later(response) if inspect.isawaitable(response) else self._read_response(response)
        finally:
            _calling_run.reset(token)

    async def _read_later(self, response: Any) -> Any:
        token = _calling_run.set(self._run)
        try:
            return self._read_response(await response)
        finally:
            _calling_run.reset(token)

    def _read_response(self, response: Any) -> Any:
        """Return the content that the model would read; raise it if it is an error."""
        self._response = response
        message = self._find_message(response)
        if message is None:
            return None
        self._content = message.content
        if message.status == "error":
            raise _ToolFailure(message.text)
        return self._content

    def _find_message(self, response: Any) -> ToolMessage | None:
        """Return the result of the call in what a tool returned: a message, a command with messages, or a list of these."""
        if isinstance(response, ToolMessage):
            return response if response.tool_call_id == self._request.tool_call["id"] else None
        if isinstance(response, Command):
            return self._find_message(_list_messages(response))
        if isinstance(response, list):
            return next(filter(None, map(self._find_message, response)), None)
        return None

    def read_outcome(self, outcome: ToolOutcome) -> Any:
        """Return what the framework gets: the tool's own response, changed only where hooks changed it."""
        tool_call = self._request.tool_call
        if not outcome.has_run or self._response is None:
            if outcome.has_run and outcome.error is not None:
                if outcome.objection:
                    outcome.error.add_note(outcome.objection)
                raise outcome.error
            return ToolMessage(outcome.text, tool_call_id=tool_call["id"], name=tool_call["name"], status="error")
        message = self._find_message(self._response)
        content = self._make_content(outcome)
        if message is None or content is self._content:
            if message is None and outcome.objection:
                self._run.add_context(outcome.objection)
            return self._response
        return _replace_message(self._response, message, message.model_copy(update={"content": content}))

    def _make_content(self, outcome: ToolOutcome) -> Any:
        content = self._content if outcome.error is not None else outcome.result
        is_changed = content is not self._content and to_json_value(content) != to_json_value(self._content)
        if not is_changed and not outcome.objection:
            return self._content
        blocks = to_json_value(content) if isinstance(content, list | tuple) else None
        if blocks is None or not all(isinstance(block, str | dict) for block in blocks):
            return outcome.text
        return [*blocks, {"type": "text", "text": outcome.objection}] if outcome.objection else blocks


def _list_messages(command: Command[Any]) -> list[Any]:
    update = command.update
    found = update.get("messages") if isinstance(update, dict) else update
    return found if isinstance(found, list) else []


def _replace_message(response: Any, old: ToolMessage, new: ToolMessage) -> Any:
    if response is old:
        return new
    if isinstance(response, list):
        return [_replace_message(each, old, new) for each in response]
    if not isinstance(response, Command) or not _list_messages(response):
        return response
    messages, update = _replace_message(_list_messages(response), old, new), response.update
    changed = {**update, "messages": messages} if isinstance(update, dict) else messages
    return dataclasses.replace(response, update=changed)


def _make_call(tool_call: Any) -> ToolCall:
    return ToolCall(tool_call["name"], tool_call["args"], tool_call["id"] or "")


def _find_turn(config: Mapping[str, Any], attachment: Attachment) -> _Turn:
    """Return the turn of a graph that has begun, or that goes on after a pause."""
    turn = _graph_runs.find_turn(config, attachment.hooks)
    if turn is not None:
        return turn
    return _graph_runs.begin_turn(_graph_runs.find_place(config), attachment, tells_end=True, task=None)


async def _resolve(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def _find_prompt(messages: Sequence[AnyMessage]) -> tuple[list[HumanMessage], str]:
    """Return the new messages of the person at the end of a conversation, and the prompt: their text, or the one before."""
    new: list[HumanMessage] = []
    for message in reversed(messages):
        if not isinstance(message, HumanMessage):
            break
        new.insert(0, message)
    if new:
        return new, "\n".join(str(message.text) for message in new)
    older = (str(message.text) for message in reversed(messages) if isinstance(message, HumanMessage))
    return [], next(older, "")


def _replace_text(message: HumanMessage, text: str) -> HumanMessage:
    """Return a message with another text; images and files stay."""
    content = message.content
    if isinstance(content, str):
        return message.model_copy(update={"content": text})
    blocks = [block for block in content if not isinstance(block, str) and block.get("type") != "text"]
    return message.model_copy(update={"content": [{"type": "text", "text": text}, *blocks]})


# Questions to a person: the request and the answers have the form of langchain's own HumanInTheLoopMiddleware.


class _Question:
    """What a person is asked about one call, or about several at once."""

    def __init__(self, asks: Sequence[AskRequest]) -> None:
        self._asks, self._is_answered = asks, False
        actions = [
            {"name": ask.call.name, "args": to_json_value(ask.call.args), "description": ask.reason, "id": ask.call.id}
            for ask in asks
        ]
        reviews = [{"action_name": ask.call.name, "allowed_decisions": ["approve", "reject"]} for ask in asks]
        self._request = {"action_requests": actions, "review_configs": reviews}

    def ask_person(self, run: AgentRun) -> None:
        """Ask a person, which ends the run of the graph; when it goes on, give the hooks the answers, once."""
        answer = interrupt(self._request)
        if self._is_answered:
            return
        asks, decisions = self._asks, answer.get("decisions") if isinstance(answer, dict) else answer
        if isinstance(decisions, bool):
            decisions = [decisions]
        if not isinstance(decisions, list) or len(decisions) != len(asks):
            raise BridgeError(
                f"a person was asked about {len(asks)} calls, but the answer is {answer!r:.200}. "
                'Resume with Command(resume={"decisions": [{"type": "approve"}, …]}), one for each call'
            )
        for ask, (is_allowed, reason) in zip(asks, [*map(_read_decision, decisions)], strict=True):
            run.answer(ask.token, is_allowed, reason=reason)
        self._is_answered = True


def _make_question_key(config: Mapping[str, Any], calls: Sequence[ToolCall]) -> str:
    """Return what a task of langgraph and its calls have in common when they come again, but with no later call of the same id."""
    task = str((config.get("configurable") or {}).get("checkpoint_ns") or "")
    return json.dumps([task, *([call.id, call.name, to_json_value(call.args)] for call in calls)], sort_keys=True)


def _read_decision(decision: Any) -> tuple[bool, str]:
    if isinstance(decision, bool):
        return decision, ""
    kind = decision.get("type") if isinstance(decision, dict) else None
    if kind not in ("approve", "reject"):
        raise BridgeError(f'a decision about a call must have the type "approve" or "reject", not {decision!r:.200}')
    return kind == "approve", str(decision.get("message") or "")


# Graphs of langgraph without an agent of langchain.


class GuardedToolNode(ToolNode):
    """A ToolNode with hooks around its tool calls. `guard_tools` makes it."""

    def __init__(self, node: ToolNode, attachment: Attachment) -> None:
        self._attachment = attachment
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

    def __repr__(self) -> str:
        # The base class shows its wrappers, which are methods of this node.
        return f"GuardedToolNode({', '.join(self.tools_by_name)})"

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:  # noqa: A002
        """Ask hooks about all calls, then make them."""
        turn = run_sync(self._begin(_SYNC, input, config))
        return self._end(turn, super().invoke(input, config, **kwargs))

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:  # noqa: A002
        """Do the same in an event loop."""
        turn = await self._begin(_ASYNC, input, config)
        return self._end(turn, await super().ainvoke(input, config, **kwargs))

    async def _begin(self, flow_of: _FlowOf, given: Any, config: Any) -> _Turn:
        """Begin the turn if this is its first call; decide about all calls before any of them is made."""
        turn = _graph_runs.find_turn(config or {}, self._attachment.hooks)
        calls, messages = self._read_input(given)
        if turn is None:
            turn = await self._begin_turn(flow_of, _graph_runs.find_place(config or {}), messages)
        run = turn.run
        questions = _questions.setdefault(run, {})
        key = _make_question_key(config or {}, calls)
        if key in questions:
            questions[key].ask_person(run)
        while True:
            decided = [await flow_of(run).decide(call, can_ask=True) for call in calls if turn.place.can_ask]
            asks = [outcome.ask for outcome in decided if outcome.ask is not None]
            if not asks:
                return turn
            # Calls are made again after an answer, all of them, so none may be made before.
            questions[key] = _Question(asks)
            questions[key].ask_person(run)

    async def _begin_turn(self, flow_of: _FlowOf, place: _Place, messages: Sequence[Any]) -> _Turn:
        prompt = _find_prompt(messages)[1]
        if place.key and self._attachment.hooks.find_run(place.key) is not None:
            return _graph_runs.begin_turn(place, self._attachment, tells_end=False, task=None)
        turn = _graph_runs.begin_turn(place, self._attachment, tells_end=False, task=prompt)
        begun = await flow_of(turn.run).prompt(prompt)
        begun.raise_refusal()
        if begun.context.prompt != prompt:
            raise BridgeError(
                "a hook changed the prompt, but a ToolNode sees it only after the model. Use create_agent with "
                "BoathookMiddleware, or remove the hook"
            )
        return turn

    def _read_input(self, given: Any) -> tuple[list[ToolCall], Sequence[Any]]:
        tool_calls, _ = self._parse_input(given)
        messages = given if isinstance(given, list) else self._read_messages(given)
        return [_make_call(each) for each in tool_calls], messages

    def _read_messages(self, state: Any) -> Sequence[Any]:
        found = state.get(self._messages_key) if isinstance(state, dict) else getattr(state, self._messages_key, None)
        return found if isinstance(found, list) else []

    def _wrap(self, request: Any, handler: Any) -> Any:
        if self._given_wrap is None:
            return run_sync(self._call_tool(_SYNC, request, handler))
        return self._given_wrap(request, lambda changed: run_sync(self._call_tool(_SYNC, changed, handler)))

    async def _awrap(self, request: Any, handler: Any) -> Any:
        async def call(changed: Any) -> Any:
            return await self._call_tool(_ASYNC, changed, handler)

        if self._given_awrap is not None:
            return await self._given_awrap(request, call)
        if self._given_wrap is not None:
            raise BridgeError(
                "the ToolNode has wrap_tool_call but not awrap_tool_call: add it, or run the graph with invoke"
            )
        return await call(request)

    async def _call_tool(self, flow_of: _FlowOf, request: Any, handler: Any) -> Any:
        turn = _find_turn(request.runtime.config, self._attachment)
        executed = _Execution(turn.run, request, handler)
        call = _make_call(request.tool_call)
        # Questions were settled for all calls.
        outcome = await flow_of(turn.run).tool(call, executed.execute, can_ask=False, passes=(GraphBubbleUp,))
        return executed.read_outcome(outcome)

    def _end(self, turn: _Turn, output: Any) -> Any:
        """Add the context of hooks after all results; end the run if a hook stopped it."""
        turn.run.raise_stop()
        added = [HumanMessage(text) for text in turn.run.take_context()]
        if not added:
            return output
        if isinstance(output, dict):
            return {**output, self._messages_key: [*output[self._messages_key], *added]}
        if all(isinstance(each, ToolMessage) for each in output):
            return [*output, *added]
        return [*output, added if any(isinstance(each, list) for each in output) else {self._messages_key: added}]


def guard_tools(
    tools: ToolNode | Sequence[Any], hooks: Hooks | None = None, **options: Unpack[BridgeOptions]
) -> GuardedToolNode:
    """Return a ToolNode with hooks around its tool calls, for a graph of your own.

    A ToolNode knows nothing of the prompt before the model has read it, nor of the end of the agent's work: hooks for prompts see
    them at the first tool call, and hooks for stops do not run. `create_agent` with `BoathookMiddleware` has all of it.
    """
    attachment = attach("langgraph", hooks, **options)
    node = tools if isinstance(tools, ToolNode) else ToolNode(tools)
    attachment.check_names(node.tools_by_name)
    return GuardedToolNode(node, attachment)
