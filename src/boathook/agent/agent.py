"""The agent and its sessions: what a program holds in its hands. The work is done by `agent.loop`."""

from __future__ import annotations

import asyncio
import dataclasses
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from boathook.agent.loop import SUBAGENT, Loop, TurnResult
from boathook.agent.model import TOOL, USER, Message, Model, estimate_tokens
from boathook.agent.state import AgentState, Step
from boathook.agent.tools import Tool, Workplace
from boathook.errors import Blocked, BoathookError, Stopped
from boathook.stack.contexts import SessionContext
from boathook.stack.stack import Ask, Stack

MAX_STEPS = 50
MAX_ROUNDS = 3
Compactor = Callable[[Sequence[Message], int], Sequence[Message]]
Listener = Callable[[str, Any], None]


def shorten(messages: Sequence[Message], budget: int) -> Sequence[Message]:
    """Leave out the middle of a conversation: the first message and as many of the last as half the budget holds stay."""
    kept = list(messages[1:])
    left_out = 0
    while kept and (estimate_tokens(kept) > budget // 2 or kept[0].role == TOOL):
        kept.pop(0)
        left_out += 1
    note = Message(USER, f"[{left_out} earlier messages were left out to save room]")
    return [*messages[:1], *([note] if left_out else []), *kept]


@dataclass(frozen=True)
class Agent:
    """A model, its tools, and the hooks that watch it. Immutable; `AgentBuilder` makes one."""

    model: Model
    stack: Stack = field(default_factory=Stack)
    tools: Mapping[str, Tool] = field(default_factory=dict)
    subagents: Mapping[str, Agent] = field(default_factory=dict)
    work_dir: str = "."
    system: str = ""
    ask: Ask | None = None
    max_steps: int = MAX_STEPS
    max_rounds: int = MAX_ROUNDS
    token_budget: int | None = None
    compactor: Compactor = shorten
    listener: Listener | None = None

    @property
    def all_tools(self) -> tuple[Tool, ...]:
        """Give the tools that the model is told of."""
        return (*self.tools.values(), *([_subagent_tool(self.subagents)] if self.subagents else []))

    def tell(self, what: str, value: Any) -> None:
        """Let whoever watches know what happens."""
        if self.listener is not None:
            self.listener(what, value)

    def within(self, parent: Agent) -> Agent:
        """Give the agent as a child of another: under the same hooks, in the same place."""
        names = ("stack", "work_dir", "ask", "listener")
        return dataclasses.replace(self, **{name: getattr(parent, name) for name in names})

    def session(self, session_id: str = "", source: str = "startup") -> Session:
        """Give a session for many turns, to be used in a `with` or `async with` block."""
        return Session(self, session_id or uuid.uuid4().hex, source)

    def run(self, prompt: str) -> TurnResult:
        """Run one turn in a session of its own."""
        with self.session() as session:
            return session.run(prompt)

    async def arun(self, prompt: str) -> TurnResult:
        """Run one turn in a session of its own, in an event loop."""
        async with self.session() as session:
            return await session.arun(prompt)

    def stream(self, prompt: str) -> Iterator[Step | TurnResult]:
        """Run one turn in a session of its own; gives its steps as they happen, and at last its result."""
        with self.session() as session:
            yield from session.stream(prompt)

    async def astream(self, prompt: str) -> AsyncIterator[Step | TurnResult]:
        """Do the same in an event loop."""
        async with self.session() as session:
            async for step in session.astream(prompt):
                yield step


def _subagent_tool(subagents: Mapping[str, Agent]) -> Tool:
    names = sorted(subagents)
    properties = {
        "name": {"type": "string", "enum": names, "description": "which subagent"},
        "task": {"type": "string", "description": "what it is to do, in full"},
    }
    schema = {"type": "object", "properties": properties, "required": ["name", "task"]}
    return Tool(SUBAGENT, f"Give a task to a subagent: {', '.join(names)}.", _never, schema)


def _never(_args: Mapping[str, Any], _place: Workplace) -> Any:
    raise BoathookError("a subagent is run by the loop")


class Session:
    """Many turns of one agent, with one conversation. Its end is told to hooks whatever ends it."""

    def __init__(self, agent: Agent, session_id: str, source: str = "startup") -> None:
        """Take the agent."""
        self.agent, self.id, self._source = agent, session_id, source
        self._loop = Loop(agent, session_id)
        self._runner: asyncio.Runner | None = None
        self._started = 0.0
        self._steps = 0
        self._stopped = ""

    @property
    def state(self) -> AgentState:
        """Give where the agent stands."""
        return self._loop.state

    # In an event loop

    async def __aenter__(self) -> Self:
        """Begin; Blocked if hooks refuse the session."""
        self._started = time.monotonic()
        loop = self._loop
        if self.agent.system:
            loop.say(Message("system", self.agent.system))
        fields = {"model": self.agent.model.name, "source": self._source}
        outcome, begun = await loop.fire(SessionContext.on_start(**fields, **loop.common))
        if outcome.is_blocked:
            raise Blocked(outcome.reason)
        loop.note(begun)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End, and tell hooks why."""
        seconds = round(time.monotonic() - self._started, 3)
        fields = {"exit_reason": _why(fault), "total_steps": self._steps, "duration_seconds": seconds}
        work = self._loop.stack.aprocess(SessionContext.on_end(**fields, **self._loop.common))
        outcome = await asyncio.shield(asyncio.ensure_future(work))
        try:
            self._loop.absorb(outcome, SessionContext.on_end(**fields, **self._loop.common))
        except Stopped:
            return

    async def arun(self, prompt: str) -> TurnResult:
        """Run one turn."""
        result = TurnResult("done")
        async for found in self.astream(prompt):
            result = found if isinstance(found, TurnResult) else result
        return result

    async def astream(self, prompt: str) -> AsyncIterator[Step | TurnResult]:
        """Run one turn; gives its steps as they happen, and at last its result."""
        if self._stopped:
            raise Stopped(self._stopped)
        async for found in self._loop.turn(prompt):
            if isinstance(found, Step):
                self._steps += 1
            elif found.status == "stopped":
                self._stopped = found.reason
            yield found

    async def acompact(self) -> bool:
        """Make the conversation shorter now; say whether hooks let it happen."""
        return await self._loop.compact("manual")

    async def anotify(self, message: str, title: str = "") -> None:
        """Tell the person something, through the hooks."""
        from boathook.stack.contexts import NotificationContext

        await self._loop.fire(NotificationContext.of(message, title, **self._loop.common))

    # In a plain program

    def __enter__(self) -> Self:
        """Begin; Blocked if hooks refuse the session."""
        self._runner = asyncio.Runner()
        try:
            self._runner.run(self.__aenter__())
        except BaseException:
            self._runner.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End, and tell hooks why."""
        runner = self._started_runner()
        try:
            runner.run(self.__aexit__(kind, fault, trace))
        finally:
            runner.close()
            self._runner = None

    def run(self, prompt: str) -> TurnResult:
        """Run one turn."""
        return self._started_runner().run(self.arun(prompt))

    def stream(self, prompt: str) -> Iterator[Step | TurnResult]:
        """Run one turn; gives its steps as they happen, and at last its result."""
        runner, steps = self._started_runner(), self.astream(prompt)
        try:
            while True:
                try:
                    yield runner.run(_next(steps))
                except StopAsyncIteration:
                    return
        finally:
            runner.run(_close(steps))

    def compact(self) -> bool:
        """Make the conversation shorter now; say whether hooks let it happen."""
        return self._started_runner().run(self.acompact())

    def notify(self, message: str, title: str = "") -> None:
        """Tell the person something, through the hooks."""
        self._started_runner().run(self.anotify(message, title))

    def _started_runner(self) -> asyncio.Runner:
        if self._runner is None:
            raise BoathookError("the session has not begun: use it in a `with` block")
        return self._runner


async def _next(steps: AsyncIterator[Any]) -> Any:
    return await anext(steps)


async def _close(steps: Any) -> None:
    await steps.aclose()


def _why(fault: BaseException | None) -> str:
    if fault is None:
        return "done"
    return "interrupted" if isinstance(fault, KeyboardInterrupt | asyncio.CancelledError) else "error"
