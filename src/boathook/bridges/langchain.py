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
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NoReturn, Unpack
from uuid import UUID
from weakref import WeakKeyDictionary

from boathook.bridges.attachment import Attachment, BridgeOptions, attach, enter_call, find_caller, require_version
from boathook.bridges.used_answers import used_answers
from boathook.errors import BridgeError
from boathook.inprocess.agent_run import AgentRun
from boathook.inprocess.contexts import ExecutionContext
from boathook.inprocess.drivers import ASYNC, is_in_loop, run_sync
from boathook.inprocess.hooks import Hooks
from boathook.inprocess.json_values import to_json_value
from boathook.inprocess.operations import ToolCall
from boathook.inprocess.run_flow import RunFlow
from boathook.inprocess.run_outcome import AskRequest, RunOutcome, ToolOutcome
from boathook.inprocess.run_state import RunState

require_version("langchain", "1.4", before="2", extra="langchain")
require_version("langgraph", "1.2", before="2", extra="langchain")

from langchain.agents.middleware import AgentMiddleware, ModelResponse, hook_config
from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ChatMessage, HumanMessage, ToolMessage
from langchain_core.tracers.context import register_configure_hook
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp, GraphDrained, GraphInterrupt, ParentCommand
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt
from pydantic import BaseModel

# By run, the questions about its calls. A call that comes again after its answer must ask again: langgraph counts the interrupts
# of a task, so that a question left out would give its answer to the next one, for example to one of the tool itself.
_questions: WeakKeyDictionary[AgentRun, dict[str, _Question]] = WeakKeyDictionary()
# langgraph marks the run of a node with it.
_NODE_TAG = "graph:step:"
_CHECKPOINTER = "__pregel_checkpointer"
_Pause = GraphInterrupt | GraphDrained
_FlowOf = Callable[[AgentRun], RunFlow]
# What hooks said of a prompt; None if one of them failed.
_Begun = Future[RunOutcome[ExecutionContext] | None]
_SYNC: _FlowOf = attrgetter("sync_flow")
_ASYNC: _FlowOf = attrgetter("async_flow")


# Runs of graphs. Only callbacks see every end of a graph: errors, cancellation, a stream that is not read.


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a node runs: its graph, the outermost graph around that, and what finds the graph again after a pause."""

    graph: UUID
    root: UUID
    thread: str
    namespace: str
    agent: str
    can_ask: bool

    @property
    def key(self) -> str:
        """Return what finds the run of this graph again after a pause, "" if there is nothing from which it could go on."""
        return _make_key(self.thread, self.namespace) if self.thread and self.can_ask else ""


def _make_key(thread: str, namespace: str = "") -> str:
    """Return what finds the run of a graph again after a pause; without a namespace, the run of its session."""
    return f"langgraph {thread} {namespace}"


@dataclass(slots=True)
class _Turn:
    """The run of one graph. With `tells_end` it closes its turn itself, so that a graph that ends with an open turn is paused."""

    run: AgentRun
    place: _Place
    attachment: Attachment
    tells_end: bool
    is_paused: bool = False
    # Calls that are made at once wait for it: none may proceed before hooks have decided. None if there was no prompt.
    begun: _Begun | None = None
    text: str = ""
    # The model was not asked, so that there is no stop to ask hooks about.
    is_refused: bool = False

    async def prompt(self, flow_of: _FlowOf, text: str) -> RunOutcome[ExecutionContext]:
        """Ask hooks about the prompt of this turn."""
        begun: RunOutcome[ExecutionContext] | None = None
        token, self.text = _deciding_turn.set(self), text
        try:
            begun = await flow_of(self.run).prompt(text)
            self.is_refused = not begun.proceeds
            return begun
        finally:
            _deciding_turn.reset(token)
            if self.begun is not None and not self.begun.done():
                self.begun.set_result(begun)

    async def wait_for_prompt(self, flow_of: _FlowOf) -> RunOutcome[ExecutionContext]:
        """Return what hooks said of the prompt, which another call has asked about."""
        begun = None if self.begun is None else await _wait_for(flow_of, self.begun)
        if begun is None:
            raise BridgeError("a hook failed, so that hooks have not decided about the prompt of this run")
        return begun


# The turn whose prompt hooks decide about: an agent that a hook runs cannot wait for that.
_deciding_turn: ContextVar[_Turn | None] = ContextVar("boathook_deciding_turn", default=None)


@dataclass(frozen=True, slots=True)
class _Session:
    """The session of one root: its run, the turn that began it, all attachments whose agents ran in it, by their ids."""

    run: AgentRun
    first: _Turn
    attachments: dict[int, Attachment] = field(default_factory=dict)
    # The keys of its turns that wait for a person, also of agents in nodes: it goes on later.
    paused: set[str] = field(default_factory=set)

    @property
    def thread(self) -> str:
        return self.first.place.thread

    def is_paused(self, turns: Sequence[_Turn]) -> bool:
        """Whether the session goes on later; `turns` are those of its root, which may catch a pause of an agent within."""
        return not self.paused.isdisjoint({turn.place.key for turn in turns} or self.paused)


class _GraphRuns(BaseCallbackHandler):
    """The runs of all graphs in this process that have hooks. Knows when each of them ends, and ends its turn and its session."""

    raise_error = True
    run_inline = True
    ignore_llm = ignore_chat_model = ignore_retriever = ignore_retry = ignore_custom_event = True  # type: ignore[assignment]

    def __init__(self) -> None:
        self._parents: dict[UUID, UUID | None] = {}
        # Nodes of graphs, which are not other chains.
        self._nodes: set[UUID] = set()
        # By graph, and there by the id of a hooks object.
        self._turns: dict[UUID, dict[int, _Turn]] = {}
        # By root.
        self._sessions: dict[UUID, _Session] = {}
        # Nodes of a graph, and agents in them, may begin at once.
        self._lock = threading.RLock()

    def find_turn(self, config: Mapping[str, Any], hooks: Hooks) -> _Turn | None:
        """Return the turn of the graph in which a node runs; `config` is the one of the node."""
        return self._turns.get(self._find_graph(config), {}).get(id(hooks))

    def list_turns(self, graph: UUID) -> list[_Turn]:
        """Return the turns of a graph: one for each bridge that is attached to it."""
        return [*self._turns.get(graph, {}).values()]

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
        graph = self._find_graph(config)
        values = config.get("configurable") or {}
        namespace = str(values.get("checkpoint_ns") or "").rpartition("|")[0]
        name = (config.get("metadata") or {}).get("lc_agent_name") or "agent"
        can_ask = values.get(_CHECKPOINTER) is not None
        return _Place(graph, self._find_root(graph), str(values.get("thread_id") or ""), namespace, str(name), can_ask)

    def _find_root(self, graph: UUID) -> UUID:
        """Return the outermost graph that has this one in a node. Another chain around it may serve several conversations."""
        root = at = graph
        while (parent := self._parents.get(at)) is not None and parent in self._parents:
            root = parent if at in self._nodes else root
            at = parent
        return root

    async def start_turn(
        self, flow_of: _FlowOf, place: _Place, attachment: Attachment, prompt: str, *, tells_end: bool
    ) -> tuple[_Turn, RunOutcome[ExecutionContext]]:
        """Begin the turn of a graph with its prompt; if another call does that already, wait for what hooks say."""
        while True:
            with self._lock:
                place = self._leave_other_session(place)
                turn = self._turns.get(place.graph, {}).get(id(attachment.hooks))
                session = self._sessions.get(place.root)
                begun = None if session is None else session.first.begun
                if turn is None and (begun is None or begun.done()):
                    turn = self.begin_turn(place, attachment, tells_end=tells_end, task=prompt)
                    turn.begun = Future()
                    break
            if turn is not None:
                return turn, await turn.wait_for_prompt(flow_of)
            if begun is not None:
                await _wait_for(flow_of, begun)
        return turn, await turn.prompt(flow_of, prompt)

    def _leave_other_session(self, place: _Place) -> _Place:
        """Return a place that is its own root if an agent runs there for another conversation, or for a hook of a prompt."""
        known = self._sessions.get(place.root)
        is_other = known is not None and (known.thread != place.thread or known.first is _deciding_turn.get())
        return dataclasses.replace(place, root=place.graph) if is_other else place

    def begin_turn(self, place: _Place, attachment: Attachment, *, tells_end: bool, task: str | None) -> _Turn:
        """Return the turn of a graph that begins; without `task`, of one that goes on after a pause."""
        with self._lock:
            known = self._turns.get(place.graph, {}).get(id(attachment.hooks))
            return known or self._add_turn(self._leave_other_session(place), attachment, tells_end, task)

    def _add_turn(self, place: _Place, attachment: Attachment, tells_end: bool, task: str | None) -> _Turn:  # noqa: FBT001
        run = attachment.find_waiting_run(place.key) if place.key else None
        if run is not None:
            run.resume()
        else:
            run = self._open_run(place, attachment, task or "")
            if place.key:
                attachment.refuse_other_answers(run, place.key)
            run = run if task is not None else run.resume()
        turn = _Turn(run, place, attachment, tells_end)
        session = self._sessions.get(place.root)
        main = run if find_caller() is not None else _find_main(run)
        if main.subagent is None and (session is None or session.run is not main):
            session = self._sessions[place.root] = _Session(main, turn)
        if session is not None:
            session.attachments[id(attachment)] = attachment
            session.paused.discard(place.key)
        self._turns.setdefault(place.graph, {})[id(attachment.hooks)] = turn
        return turn

    def _open_run(self, place: _Place, attachment: Attachment, task: str) -> AgentRun:
        """Return the run of a subagent in a tool or beside another agent, of the next agent of a session, or a new one."""
        known, caller = self._sessions.get(place.root), find_caller()
        if caller is not None:
            return attachment.make_child(caller, place.agent, task)
        session = known.run if known is not None else None
        if session is None or not session.is_session_open:
            # A session that waits for a person may get a new prompt in place of the answer.
            paused = attachment.find_waiting_run(_make_key(place.thread)) if place.key else None
            return paused or attachment.make_run(place.thread)
        is_busy = session.is_turn_open or self._list_turns_of(session)
        is_same = known is not None and known.first.attachment.is_same(attachment)
        if is_busy or not is_same or session.stack is not attachment.hooks.stack:
            return attachment.make_child(session, place.agent, task)
        return session

    def on_chain_start(
        self,
        serialized: Any,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        **kwargs: Any,
    ) -> None:
        """Note which run a run belongs to."""
        self._parents[run_id] = parent_run_id
        if any(tag.startswith(_NODE_TAG) for tag in tags or ()):
            self._nodes.add(run_id)

    def on_tool_start(
        self, serialized: Any, input_str: str, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        """Refuse a call in a graph without hooks that runs in a tool of a guarded agent, or after one, unless that is accepted."""
        graph = self._parents.get(parent_run_id) if parent_run_id in self._nodes else None
        if graph is None or graph in self._turns:
            return
        name, caller = (serialized or {}).get("name") or "tool", find_caller()
        if caller is not None:
            for turn in self._list_turns_of(caller):
                turn.attachment.refuse_unguarded(
                    [f"{name} (of an agent that has no hooks, in a tool of {turn.place.agent})"]
                )
            return
        session = self._sessions.get(self._find_root(graph))
        # A call without an id is one of the program, for example of a node that is a function.
        if session is None or not session.run.is_session_open or kwargs.get("tool_call_id", "unknown") is None:
            return
        for attachment in [*session.attachments.values()]:
            attachment.refuse_unguarded([f"{name} (of an agent that has no hooks, in a run with a guarded agent)"])

    def _list_turns_of(self, run: AgentRun) -> list[_Turn]:
        """Return the turns of a run; if an agent of another framework has it, those of the run that this agent works for."""
        caller: RunState[Any] | None = run
        while caller is not None:
            found = [turn for turns in [*self._turns.values()] for turn in turns.values() if turn.run is caller]
            if found:
                return found
            caller = caller.parent
        return []

    # An event loop awaits these; a plain program calls them.

    @property
    def on_chain_end(self) -> Any:
        """Return what is called at the end of a chain."""
        return self._end_async if is_in_loop() else self._end_sync

    @property
    def on_chain_error(self) -> Any:
        """Return what is called when a chain fails."""
        return self._end_async if is_in_loop() else self._end_sync

    def _end_sync(self, outcome: Any, *, run_id: UUID, **kwargs: Any) -> None:
        if self._note_end(outcome, run_id):
            run_sync(self._end_graph(_SYNC, outcome, run_id))

    async def _end_async(self, outcome: Any, *, run_id: UUID, **kwargs: Any) -> None:
        if self._note_end(outcome, run_id):
            await self._end_graph(_ASYNC, outcome, run_id)

    def _note_end(self, outcome: Any, run_id: UUID) -> bool:
        """Note the end of a node or graph; return whether there is something to end."""
        parent = self._parents.pop(run_id, None)
        self._nodes.discard(run_id)
        if isinstance(outcome, GraphInterrupt) and parent is not None and parent in self._turns:
            for turn in self._turns[parent].values():
                turn.is_paused = True
        return run_id in self._turns or run_id in self._sessions

    async def _end_graph(self, flow_of: _FlowOf, outcome: Any, run_id: UUID) -> None:
        error = outcome if isinstance(outcome, BaseException) else None
        turns = self.list_turns(run_id)
        try:
            for turn in turns:
                await self._end_turn(flow_of(turn.run), turn, error)
        finally:
            # Not before: until hooks have seen the end of a turn, an agent beside it cannot begin the next one.
            self._turns.pop(run_id, None)
            session = self._sessions.pop(run_id, None)
            if session is not None and isinstance(error, _Pause | None) and session.is_paused(turns):
                session.first.attachment.suspend(session.run, _make_key(session.thread))
            elif session is not None:
                await flow_of(session.run).end(error=None if isinstance(error, ParentCommand) else error)

    async def _end_turn(self, flow: RunFlow, turn: _Turn, error: BaseException | None) -> None:
        if _is_paused(turn, error):
            turn.attachment.suspend(turn.run, turn.place.key)
            if session := self._sessions.get(turn.place.root):
                session.paused.add(turn.place.key)
        elif error is None or isinstance(error, ParentCommand):
            await flow.end_turn()
        else:
            await flow.failed(error)


def _is_paused(turn: _Turn, error: BaseException | None) -> bool:
    """Whether a graph will go on later: it waits for a person, or the program ends."""
    if not turn.place.key or not isinstance(error, _Pause | ParentCommand | None):
        return False
    if isinstance(error, ParentCommand):
        # It has handed over to another agent.
        return turn.is_paused
    return turn.is_paused or error is not None or (turn.tells_end and turn.run.is_turn_open)


def _find_main(run: Any) -> Any:
    """Return the run of the session in which an agent runs beside others."""
    while run.parent is not None:
        run = run.parent
    return run


_graph_runs = _GraphRuns()
# Every run in this process has this handler: a middleware cannot add one to the run that it is in.
_handler_of_runs: ContextVar[_GraphRuns | None] = ContextVar("boathook_graph_runs", default=_graph_runs)
register_configure_hook(_handler_of_runs, inheritable=True)


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
        others = (turn.attachment for turn in _graph_runs.list_turns(place.graph))
        self._attachment.refuse_shared_hooks(others, "pass BoathookMiddleware once")
        _, begun = await _graph_runs.start_turn(flow_of, place, self._attachment, prompt, tells_end=True)
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
        turn = _find_turn(get_config(), self._attachment)
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

    async def _begin_missing_turn(self, flow_of: _FlowOf, request: Any) -> str:
        """Begin a turn that another middleware began by a jump: over our own start, or back to work after our stop.

        Returns why hooks refuse it, or "".
        """
        config = get_config()
        turn = _graph_runs.find_turn(config, self._attachment.hooks)
        if turn is not None and (turn.run.is_turn_open or turn.run.is_stopped):
            return ""
        messages, prompt = _find_prompt(request.messages)
        if turn is None:
            place = _graph_runs.find_place(config)
            is_paused = place.key and self._attachment.has_waiting_run(place.key)
            if is_paused or not messages:
                # It goes on after a pause, perhaps in another process.
                return ""
            _, begun = await _graph_runs.start_turn(flow_of, place, self._attachment, prompt, tells_end=True)
        else:
            begun = await turn.prompt(flow_of, prompt)
        if begun.proceeds and begun.context.prompt != prompt:
            raise BridgeError("a hook changed the prompt, but another middleware has jumped to the model already")
        return begun.reason

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        """Call a tool with its hooks around it."""
        return run_sync(self._call_tool(_SYNC, request, handler))

    def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        """Do the same in an event loop."""
        return self._call_tool(_ASYNC, request, handler)

    async def _call_tool(self, flow_of: _FlowOf, request: Any, handler: Any) -> Any:
        turn = _find_turn(request.runtime.config, self._attachment)
        run, flow, tool_call = turn.run, flow_of(turn.run), request.tool_call
        questions, config = _questions.setdefault(run, {}), request.runtime.config
        call = _make_call(tool_call)
        # Most runs have no question, and the key takes a while.
        if questions and (asked := questions.get(_make_question_key(config, [call]))):
            asked.ask_person(run)
        while True:
            executed = _Execution(run, request, handler)
            can_ask = turn.place.can_ask
            outcome = await flow.tool(call, executed.execute, can_ask=can_ask, passes=(GraphBubbleUp,))
            if outcome.ask is None:
                return executed.read_outcome(outcome)
            key = _make_question_key(config, [call])
            questions[key] = question = _Question(key, [outcome.ask], is_again=run.must_ask_again)
            question.ask_person(run)


for _method in (
    *(BoathookMiddleware.wrap_model_call, BoathookMiddleware.awrap_model_call),
    *(BoathookMiddleware.wrap_tool_call, BoathookMiddleware.awrap_tool_call),
):
    # langchain asks for their signatures at every call, even if nothing is traced.
    _method.__signature__ = inspect.signature(_method)  # type: ignore[attr-defined]


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
        with enter_call(self._run):
            response = self._handler(request)
            return self._read_later(response) if inspect.isawaitable(response) else self._read_response(response)

    async def _read_later(self, response: Any) -> Any:
        with enter_call(self._run):
            return self._read_response(await response)

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
        return _find_result(response, self._request.tool_call["id"])

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


# A state that is larger than a command with messages is not searched to its end.
_MAX_UPDATE_DEPTH = 5


def _list_parts(value: Any) -> list[tuple[Any, Any]]:
    """Return the parts of a command, an update, or a list, each with its key: messages can be below any key of a state."""
    if isinstance(value, Command):
        return [("update", value.update)]
    if isinstance(value, dict):
        return [*value.items()]
    if isinstance(value, list | tuple):
        return [*enumerate(value)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(each.name, getattr(value, each.name)) for each in dataclasses.fields(value)]
    if isinstance(value, BaseModel) and not isinstance(value, BaseMessage):
        return [(name, getattr(value, name)) for name in type(value).model_fields]
    return []


def _find_result(value: Any, call_id: str, depth: int = 0) -> ToolMessage | None:
    """Return the result of a call in what a tool returned: a message, a command with messages, or a list of these."""
    if isinstance(value, ToolMessage):
        return value if value.tool_call_id == call_id else None
    if depth > _MAX_UPDATE_DEPTH:
        return None
    found = (_find_result(part, call_id, depth + 1) for _, part in _list_parts(value))
    return next(filter(None, found), None)


def _replace_message(value: Any, old: ToolMessage, new: ToolMessage, depth: int = 0) -> Any:
    if isinstance(value, ToolMessage):
        return new if value == old else value
    if depth > _MAX_UPDATE_DEPTH:
        return value
    parts = _list_parts(value)
    changed = {key: _replace_message(part, old, new, depth + 1) for key, part in parts}
    if all(changed[key] is part for key, part in parts):
        return value
    if isinstance(value, dict):
        return changed
    if isinstance(value, list | tuple):
        return type(value)(changed.values())
    return value.model_copy(update=changed) if isinstance(value, BaseModel) else dataclasses.replace(value, **changed)


def _add_texts(message: ToolMessage, texts: Sequence[str]) -> ToolMessage:
    """Return a result with texts after it."""
    content: Any = message.content
    if isinstance(content, str):
        content = "\n\n".join((content, *texts))
    else:
        content = [*content, *({"type": "text", "text": text} for text in texts)]
    return message.model_copy(update={"content": content})


def _make_call(tool_call: Any) -> ToolCall:
    return ToolCall(tool_call["name"], tool_call["args"], tool_call["id"] or "")


def _find_turn(config: Mapping[str, Any], attachment: Attachment) -> _Turn:
    """Return the turn of a graph that has begun, or that goes on after a pause."""
    turn = _graph_runs.find_turn(config, attachment.hooks)
    if turn is not None:
        return turn
    return _graph_runs.begin_turn(_graph_runs.find_place(config), attachment, tells_end=True, task=None)


async def _wait_for(flow_of: _FlowOf, begun: _Begun) -> RunOutcome[ExecutionContext] | None:
    """Wait until hooks have decided about the prompt of another call."""
    if not begun.done() and flow_of is _ASYNC:
        # Shielded, because others wait for it, too.
        return await asyncio.shield(asyncio.wrap_future(begun))
    if not begun.done() and is_in_loop():
        raise BridgeError("a plain call would block this event loop, in which hooks still decide: use `ainvoke`")
    return begun.result()


def _find_prompt(messages: Sequence[AnyMessage]) -> tuple[list[AnyMessage], str]:
    """Return the new messages of the person, after those of the model, and the prompt: their text, or the one before."""
    new: list[AnyMessage] = []
    for message in reversed(messages):
        if isinstance(message, AIMessage | ToolMessage):
            break
        if _is_of_person(message):
            new.insert(0, message)
    if new:
        return new, "\n".join(str(message.text) for message in new)
    older = (str(message.text) for message in reversed(messages) if _is_of_person(message))
    return [], next(older, "")


def _is_of_person(message: AnyMessage) -> bool:
    is_chat = isinstance(message, ChatMessage) and message.role in ("user", "human")
    return is_chat or isinstance(message, HumanMessage)


def _replace_text(message: AnyMessage, text: str) -> AnyMessage:
    """Return a message with another text; images and files stay."""
    content = message.content
    if isinstance(content, str):
        return message.model_copy(update={"content": text})
    blocks = [block for block in content if not isinstance(block, str) and block.get("type") != "text"]
    return message.model_copy(update={"content": [{"type": "text", "text": text}, *blocks]})


# Questions to a person: the request and the answers have the form of langchain's own HumanInTheLoopMiddleware.


class _Question:
    """What a person is asked about one call, or about several at once."""

    def __init__(self, place: str, asks: Sequence[AskRequest], *, is_again: bool = False) -> None:
        # `is_again`: langgraph may have answers already, to questions of other hooks about these calls.
        self._place, self._asks, self._is_answered, self._is_again = place, asks, False, is_again
        # How many answers in this task are not for this question, as soon as that is known.
        self._other_answers: int | None = None
        actions = [
            {"name": ask.call.name, "args": to_json_value(ask.call.args), "description": ask.reason, "id": ask.call.id}
            for ask in asks
        ]
        reviews = [{"action_name": ask.call.name, "allowed_decisions": ["approve", "reject"]} for ask in asks]
        self._request = {"action_requests": actions, "review_configs": reviews}

    def ask_person(self, run: AgentRun) -> None:
        """Ask a person, which ends the run of the graph; when it goes on, give the hooks the answers, once."""
        if self._is_again and self._other_answers is None:
            self._ask_again(run, 0)
        # Each time, because langgraph counts the interrupts.
        for _ in range(self._other_answers or 0):
            interrupt(self._request)
        answer = interrupt(self._request)
        if self._is_answered:
            return
        asks, decisions = self._asks, answer.get("decisions") if isinstance(answer, dict) else answer
        if isinstance(decisions, bool):
            decisions = [decisions]
        if not isinstance(decisions, list) or len(decisions) != len(asks):
            raise BridgeError(
                f"a person was asked about {len(asks)} call{'s' * (len(asks) != 1)}, but the answer is {answer!r:.200}. "
                'Resume with Command(resume={"decisions": [{"type": "approve"}, …]}), one for each call'
            )
        read = [*map(_read_decision, decisions)]
        if not used_answers.use("langgraph", self._place, str(self._other_answers or 0)):
            # The program went on from the same place before, with the same answer.
            self._ask_again(run, (self._other_answers or 0) + 1)
        for ask, (is_allowed, reason) in zip(asks, read, strict=True):
            run.answer(ask.token, is_allowed, reason=reason)
        self._is_answered = True

    def _ask_again(self, run: AgentRun, count: int) -> NoReturn:
        """Ask after all answers that langgraph has here, `count` of which were taken: none is for this question."""
        try:
            while True:
                interrupt(self._request)
                count += 1
        except GraphInterrupt:
            self._other_answers = count
            if self._is_again and count:
                for ask in self._asks:
                    run.report_other_answer(ask.call)
            raise


def _make_question_key(config: Mapping[str, Any], calls: Sequence[ToolCall]) -> str:
    """Return what a task of langgraph and its calls have in common when they come again, but with no later call of the same id."""
    values = config.get("configurable") or {}
    place = [str(values.get(name) or "") for name in ("thread_id", "checkpoint_ns")]
    return json.dumps([*place, *([call.id, call.name, to_json_value(call.args)] for call in calls)], sort_keys=True)


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
        turn = run_sync(self._begin(_SYNC, input, config))
        return self._end(turn, input, super().invoke(input, config, **kwargs))

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:  # noqa: A002
        """Do the same in an event loop."""
        turn = await self._begin(_ASYNC, input, config)
        return self._end(turn, input, await super().ainvoke(input, config, **kwargs))

    async def _begin(self, flow_of: _FlowOf, given: Any, config: Any) -> _Turn:
        """Begin the turn if this is its first call; decide about all calls before any of them is made."""
        config = config or {}
        calls = [_make_call(each) for each in self._parse_input(given)[0]]
        turn = _graph_runs.find_turn(config, self._attachment.hooks)
        if turn is None:
            turn = await self._begin_turn(flow_of, config, given)
        if turn.begun is not None and not turn.tells_end:
            _check_prompt(turn, await turn.wait_for_prompt(flow_of))
        run = turn.run
        questions = _questions.setdefault(run, {})
        if questions and (asked := questions.get(_make_question_key(config, calls))):
            asked.ask_person(run)
        while True:
            decided = [await flow_of(run).decide(call, can_ask=True) for call in calls if turn.place.can_ask]
            asks = [outcome.ask for outcome in decided if outcome.ask is not None]
            if not asks:
                return turn
            # Calls are made again after an answer, all of them, so none may be made before.
            key = _make_question_key(config, calls)
            questions[key] = question = _Question(key, asks, is_again=run.must_ask_again)
            question.ask_person(run)

    async def _begin_turn(self, flow_of: _FlowOf, config: Mapping[str, Any], given: Any) -> _Turn:
        """Begin the turn, or wait until another node has that the same request of the model reached by `Send`."""
        place = _graph_runs.find_place(config)
        if place.key and self._attachment.has_waiting_run(place.key):
            return _graph_runs.begin_turn(place, self._attachment, tells_end=False, task=None)
        prompt = _find_prompt(self._read_messages(given, config))[1]
        turn, _ = await _graph_runs.start_turn(flow_of, place, self._attachment, prompt, tells_end=False)
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

    def _end(self, turn: _Turn, given: Any, output: Any) -> Any:
        """Add the context of hooks after all results; end the run if a hook stopped it."""
        turn.run.raise_stop()
        texts = turn.run.take_context()
        if not texts:
            return output
        calls, kind = self._parse_input(given)
        if kind == "tool_calls" and (message := _find_result(output, calls[-1]["id"] or "")) is not None:
            # Reached by `Send`: the results of other calls may come after these messages, and nothing may be between results.
            return _replace_message(output, message, _add_texts(message, texts))
        added = [HumanMessage(text) for text in texts]
        if isinstance(output, dict):
            return {**output, self._messages_key: [*output[self._messages_key], *added]}
        if all(isinstance(each, ToolMessage) for each in output):
            return [*output, *added]
        return [*output, added if any(isinstance(each, list) for each in output) else {self._messages_key: added}]


def _check_prompt(turn: _Turn, begun: RunOutcome[ExecutionContext]) -> None:
    """Raise an error if hooks refused or changed the prompt of a graph: every call of it does."""
    begun.raise_refusal()
    if begun.context.prompt != turn.text:
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
