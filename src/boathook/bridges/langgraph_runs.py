"""Runs of graphs of langgraph, as hooks see them. Only callbacks see every end of a graph, also errors and cancellation."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.tracers.context import register_configure_hook
from langgraph.errors import GraphDrained, GraphInterrupt, ParentCommand

from boathook.bridges.attachment import Attachment, find_caller
from boathook.errors import BridgeError
from boathook.inprocess.agent_run import AgentRun
from boathook.inprocess.contexts import ExecutionContext
from boathook.inprocess.drivers import is_in_loop, run_sync
from boathook.inprocess.hooks import Hooks
from boathook.inprocess.run_flow import RunFlow
from boathook.inprocess.run_outcome import RunOutcome
from boathook.inprocess.run_state import RunState

# langgraph marks the run of a node with it.
_NODE_TAG = "graph:step:"
_CHECKPOINTER = "__pregel_checkpointer"
_Pause = GraphInterrupt | GraphDrained
FlowOf = Callable[[AgentRun], RunFlow]
# What hooks said of a prompt; None if one of them failed.
PromptFuture = Future[RunOutcome[ExecutionContext] | None]
SYNC_FLOW: FlowOf = attrgetter("sync_flow")
ASYNC_FLOW: FlowOf = attrgetter("async_flow")


@dataclass(frozen=True, slots=True)
class GraphPlace:
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
class GraphTurn:
    """The run of one graph. With `tells_end` it closes its turn itself, so that a graph that ends with an open turn is paused."""

    run: AgentRun
    place: GraphPlace
    attachment: Attachment
    tells_end: bool
    is_paused: bool = False
    # Calls that are made at once wait for it: none may proceed before hooks have decided. None if there was no prompt.
    prompt_future: PromptFuture | None = None
    text: str = ""
    # The model was not asked, so that there is no stop to ask hooks about.
    is_refused: bool = False

    async def prompt(self, flow_of: FlowOf, text: str) -> RunOutcome[ExecutionContext]:
        """Ask hooks about the prompt of this turn."""
        prompt_outcome: RunOutcome[ExecutionContext] | None = None
        token, self.text = _deciding_turn.set(self), text
        try:
            prompt_outcome = await flow_of(self.run).prompt(text)
            self.is_refused = not prompt_outcome.proceeds
            return prompt_outcome
        finally:
            _deciding_turn.reset(token)
            if self.prompt_future is not None and not self.prompt_future.done():
                self.prompt_future.set_result(prompt_outcome)

    async def wait_for_prompt(self, flow_of: FlowOf) -> RunOutcome[ExecutionContext]:
        """Return what hooks said of the prompt, which another call has asked about."""
        prompt_outcome = (
            None if self.prompt_future is None else await wait_for_prompt_outcome(flow_of, self.prompt_future)
        )
        if prompt_outcome is None:
            raise BridgeError("a hook failed, so that hooks have not decided about the prompt of this run")
        return prompt_outcome


# The turn whose prompt hooks decide about: an agent that a hook runs cannot wait for that.
_deciding_turn: ContextVar[GraphTurn | None] = ContextVar("boathook_deciding_turn", default=None)


@dataclass(frozen=True, slots=True)
class GraphSession:
    """The session of one root: its run, the turn that began it, all attachments whose agents ran in it, by their ids."""

    run: AgentRun
    first: GraphTurn
    attachments: dict[int, Attachment] = field(default_factory=dict)
    # The keys of its turns that wait for a person, also of agents in nodes: it goes on later.
    paused: set[str] = field(default_factory=set)

    @property
    def thread(self) -> str:
        return self.first.place.thread

    def is_paused(self, turns: Sequence[GraphTurn]) -> bool:
        """Whether the session goes on later; `turns` are those of its root, which may catch a pause of an agent within."""
        return not self.paused.isdisjoint({turn.place.key for turn in turns} or self.paused)


class GraphRuns(BaseCallbackHandler):
    """The runs of all graphs in this process that have hooks. Knows when each of them ends, and ends its turn and its session."""

    raise_error = True
    run_inline = True
    ignore_llm = ignore_chat_model = ignore_retriever = ignore_retry = ignore_custom_event = True  # type: ignore[assignment]

    def __init__(self) -> None:
        self._parents: dict[UUID, UUID | None] = {}
        # Nodes of graphs, which are not other chains.
        self._nodes: set[UUID] = set()
        # By graph, and there by the id of a hooks object.
        self._turns: dict[UUID, dict[int, GraphTurn]] = {}
        # By root.
        self._sessions: dict[UUID, GraphSession] = {}
        # Nodes of a graph, and agents in them, may begin at once.
        self._lock = threading.RLock()

    def find_turn(self, config: Mapping[str, Any], hooks: Hooks) -> GraphTurn | None:
        """Return the turn of the graph in which a node runs; `config` is the one of the node."""
        return self._turns.get(self._find_graph(config), {}).get(id(hooks))

    def list_turns(self, graph: UUID) -> list[GraphTurn]:
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

    def find_place(self, config: Mapping[str, Any]) -> GraphPlace:
        """Return where a node runs; `config` is the one of the node."""
        graph = self._find_graph(config)
        values = config.get("configurable") or {}
        namespace = str(values.get("checkpoint_ns") or "").rpartition("|")[0]
        name = (config.get("metadata") or {}).get("lc_agent_name") or "agent"
        can_ask = values.get(_CHECKPOINTER) is not None
        return GraphPlace(
            graph, self._find_root(graph), str(values.get("thread_id") or ""), namespace, str(name), can_ask
        )

    def _find_root(self, graph: UUID) -> UUID:
        """Return the outermost graph that has this one in a node. Another chain around it may serve several conversations."""
        root = at = graph
        while (parent := self._parents.get(at)) is not None and parent in self._parents:
            root = parent if at in self._nodes else root
            at = parent
        return root

    async def start_turn(
        self, flow_of: FlowOf, place: GraphPlace, attachment: Attachment, prompt: str, *, tells_end: bool
    ) -> tuple[GraphTurn, RunOutcome[ExecutionContext]]:
        """Begin the turn of a graph with its prompt; if another call does that already, wait for what hooks say."""
        while True:
            with self._lock:
                place = self._leave_other_session(place)
                turn = self._turns.get(place.graph, {}).get(id(attachment.hooks))
                session = self._sessions.get(place.root)
                prompt_future = None if session is None else session.first.prompt_future
                if turn is None and (prompt_future is None or prompt_future.done()):
                    turn = self.begin_turn(place, attachment, tells_end=tells_end, task=prompt)
                    turn.prompt_future = Future()
                    break
            if turn is not None:
                return turn, await turn.wait_for_prompt(flow_of)
            if prompt_future is not None:
                await wait_for_prompt_outcome(flow_of, prompt_future)
        return turn, await turn.prompt(flow_of, prompt)

    def _leave_other_session(self, place: GraphPlace) -> GraphPlace:
        """Return a place that is its own root if an agent runs there for another conversation, or for a hook of a prompt."""
        known = self._sessions.get(place.root)
        is_other = known is not None and (known.thread != place.thread or known.first is _deciding_turn.get())
        return dataclasses.replace(place, root=place.graph) if is_other else place

    def begin_turn(self, place: GraphPlace, attachment: Attachment, *, tells_end: bool, task: str | None) -> GraphTurn:
        """Return the turn of a graph that begins; without `task`, of one that goes on after a pause."""
        with self._lock:
            known = self._turns.get(place.graph, {}).get(id(attachment.hooks))
            return known or self._add_turn(self._leave_other_session(place), attachment, tells_end, task)

    def _add_turn(self, place: GraphPlace, attachment: Attachment, tells_end: bool, task: str | None) -> GraphTurn:  # noqa: FBT001
        run = attachment.find_waiting_run(place.key) if place.key else None
        if run is not None:
            run.resume()
        else:
            run = self._open_run(place, attachment, task or "")
            if place.key:
                attachment.refuse_other_answers(run, place.key)
            run = run if task is not None else run.resume()
        turn = GraphTurn(run, place, attachment, tells_end)
        session = self._sessions.get(place.root)
        main = run if find_caller() is not None else _find_main(run)
        if main.subagent is None and (session is None or session.run is not main):
            session = self._sessions[place.root] = GraphSession(main, turn)
        if session is not None:
            session.attachments[id(attachment)] = attachment
            session.paused.discard(place.key)
        self._turns.setdefault(place.graph, {})[id(attachment.hooks)] = turn
        return turn

    def _open_run(self, place: GraphPlace, attachment: Attachment, task: str) -> AgentRun:
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

    def _list_turns_of(self, run: AgentRun) -> list[GraphTurn]:
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
            run_sync(self._end_graph(SYNC_FLOW, outcome, run_id))

    async def _end_async(self, outcome: Any, *, run_id: UUID, **kwargs: Any) -> None:
        if self._note_end(outcome, run_id):
            await self._end_graph(ASYNC_FLOW, outcome, run_id)

    def _note_end(self, outcome: Any, run_id: UUID) -> bool:
        """Note the end of a node or graph; return whether there is something to end."""
        parent = self._parents.pop(run_id, None)
        self._nodes.discard(run_id)
        if isinstance(outcome, GraphInterrupt) and parent is not None and parent in self._turns:
            for turn in self._turns[parent].values():
                turn.is_paused = True
        return run_id in self._turns or run_id in self._sessions

    async def _end_graph(self, flow_of: FlowOf, outcome: Any, run_id: UUID) -> None:
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

    async def _end_turn(self, flow: RunFlow, turn: GraphTurn, error: BaseException | None) -> None:
        if _is_paused(turn, error):
            turn.attachment.suspend(turn.run, turn.place.key)
            if session := self._sessions.get(turn.place.root):
                session.paused.add(turn.place.key)
        elif error is None or isinstance(error, ParentCommand):
            await flow.end_turn()
        else:
            await flow.failed(error)


def _is_paused(turn: GraphTurn, error: BaseException | None) -> bool:
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


graph_runs = GraphRuns()
# Every run in this process has this handler: a middleware cannot add one to the run that it is in.
handler_of_runs: ContextVar[GraphRuns | None] = ContextVar("boathook_graph_runs", default=graph_runs)
register_configure_hook(handler_of_runs, inheritable=True)


def find_turn(config: Mapping[str, Any], attachment: Attachment) -> GraphTurn:
    """Return the turn of a graph that has begun, or that goes on after a pause."""
    turn = graph_runs.find_turn(config, attachment.hooks)
    if turn is not None:
        return turn
    return graph_runs.begin_turn(graph_runs.find_place(config), attachment, tells_end=True, task=None)


async def wait_for_prompt_outcome(flow_of: FlowOf, prompt_future: PromptFuture) -> RunOutcome[ExecutionContext] | None:
    """Wait until hooks have decided about the prompt of another call."""
    if not prompt_future.done() and flow_of is ASYNC_FLOW:
        # Shielded, because others wait for it, too.
        return await asyncio.shield(asyncio.wrap_future(prompt_future))
    if not prompt_future.done() and is_in_loop():
        raise BridgeError("a plain call would block this event loop, in which hooks still decide: use `ainvoke`")
    return prompt_future.result()
