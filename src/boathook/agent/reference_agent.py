"""The agent and its sessions: what a program holds in its hands. The work is done by `agent.loop`."""

from __future__ import annotations

import asyncio
import dataclasses
import time
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from boathook.agent.builtin_tools import Tool, Workplace
from boathook.agent.loop import SUBAGENT, Loop, TurnResult, why
from boathook.agent.model import ASSISTANT, CHARACTERS, SYSTEM, TOOL, USER, Message, Model, characters
from boathook.agent.state import AgentState, Step
from boathook.errors import Blocked, BoathookError, Stopped
from boathook.inprocess.contexts import SessionContext
from boathook.inprocess.stack import Ask, Stack

MAX_STEPS = 50
MAX_ROUNDS = 3
LEFT_OUT = Message(USER, "[earlier messages were left out to save room]")
Compactor = Callable[[Sequence[Message], int], Sequence[Message] | Awaitable[Sequence[Message]]]
Listener = Callable[[str, Any], None]


def shorten(messages: Sequence[Message], budget: int) -> Sequence[Message]:
    """Leave out the middle of a conversation: what it began with and as many of the last as half the budget holds stay.

    What the model has not answered yet stays in any case, and so do calls with their results, together.
    """
    head = _beginning(messages)
    start = min(max(_unanswered(messages), head), len(messages))
    size = sum(map(characters, messages[start:]))
    waiting: set[str] = set()  # results whose calls come earlier: no place to cut
    for at in reversed(range(head, start)):
        message = messages[at]
        size += characters(message)
        if size // CHARACTERS > budget // 2:
            break
        waiting = waiting | {message.call_id} if message.role == TOOL else waiting - {call.id for call in message.calls}
        start = start if waiting else at
    return [*messages[:head], *([LEFT_OUT] if start > head else []), *messages[start:]]


def _beginning(messages: Sequence[Message]) -> int:
    """Count the messages that a conversation began with: instructions and the first task, without which all else is vain."""
    ends = (at for at, message in enumerate(messages) if at and (message.role == ASSISTANT or message == LEFT_OUT))
    return next(ends, len(messages))


def _unanswered(messages: Sequence[Message]) -> int:
    """Return where that begins which the model is to answer: after what it said last, or with it if it called tools."""
    last = next((at for at in reversed(range(1, len(messages))) if messages[at].role == ASSISTANT), 0)
    done = last == 0 or (last < len(messages) - 1 and not messages[last].calls)
    return last + 1 if done else last


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
        """Return the tools that the model is told of."""
        return (*self.tools.values(), *([_subagent_tool(self.subagents)] if self.subagents else []))

    def tell(self, what: str, value: Any) -> None:
        """Let whoever watches know what happens."""
        if self.listener is not None:
            self.listener(what, value)

    def within(self, parent: Agent) -> Agent:
        """Return the agent as a child of another: in the same place, under the same hooks, and its own besides."""
        known = {id(layer) for layer in parent.stack.layers}
        own = tuple(layer for layer in self.stack.layers if id(layer) not in known)
        return dataclasses.replace(
            self,
            stack=Stack((*parent.stack.layers, *own), parent.stack.engine or self.stack.engine),
            work_dir=parent.work_dir,
            ask=parent.ask or self.ask,
            listener=parent.listener or self.listener,
        )

    def session(self, session_id: str = "", source: str = "startup") -> Session:
        """Return a session for many turns, to be used in a `with` or `async with` block."""
        return Session(self, session_id or uuid.uuid4().hex, source)

    def run(self, prompt: str) -> TurnResult:
        """Run one turn in a session of its own."""
        with self.session() as session:
            return session.run(prompt)

    async def arun(self, prompt: str) -> TurnResult:
        """Run one turn in a session of its own, in an event loop."""
        async with self.session() as session:
            return await session.arun(prompt)

    def stream(self, prompt: str) -> Generator[Step | TurnResult, None, None]:
        """Run one turn in a session of its own; gives its steps as they happen, and at last its result."""
        with self.session() as session:
            yield from session.stream(prompt)

    async def astream(self, prompt: str) -> AsyncGenerator[Step | TurnResult, None]:
        """Do the same in an event loop."""
        async with self.session() as session, aclosing(session.astream(prompt)) as steps:
            async for step in steps:
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
        self._begun = False
        self._started = 0.0
        self._steps = 0

    @property
    def state(self) -> AgentState:
        """Return where the agent stands."""
        return self._loop.state

    # In an event loop

    async def __aenter__(self) -> Self:
        """Begin; Blocked if hooks refuse the session."""
        self._started = time.monotonic()
        loop = self._loop
        if self.agent.system:
            loop.say(Message(SYSTEM, self.agent.system))
        fields = {"model": self.agent.model.name, "source": self._source}
        outcome, begun = await loop.fire(SessionContext.on_start(**fields, **loop.common))
        if outcome.is_blocked:
            raise Blocked(why(outcome))
        loop.note(*begun.additional_context)
        self._begun = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End, and tell hooks why."""
        self._begun = False
        await _to_its_end(self._end(self._why(error)))

    async def _end(self, reason: str) -> None:
        loop = self._loop
        seconds = round(time.monotonic() - self._started, 3)
        fields = {"exit_reason": reason, "total_steps": self._steps, "duration_seconds": seconds}
        try:
            with suppress(Stopped):
                await loop.fire(SessionContext.on_end(**fields, **loop.common))
        finally:
            if loop.stack.engine is not None:  # async hooks of files may be at work, whether or not one waits for this
                await asyncio.to_thread(loop.stack.engine.drain)

    def _why(self, error: BaseException | None) -> str:
        if isinstance(error, KeyboardInterrupt | asyncio.CancelledError | GeneratorExit):
            return "interrupted"
        if self._loop.stopped and (error is None or isinstance(error, Stopped)):
            return "stopped"
        return "done" if error is None else "error"

    async def arun(self, prompt: str) -> TurnResult:
        """Run one turn."""
        result = TurnResult("done")
        async for found in self.astream(prompt):
            result = found if isinstance(found, TurnResult) else result
        return result

    async def astream(self, prompt: str) -> AsyncGenerator[Step | TurnResult, None]:
        """Run one turn; gives its steps as they happen, and at last its result."""
        self._check()
        if self._loop.stopped:
            raise Stopped(self._loop.stopped)
        async with aclosing(self._loop.turn(prompt)) as turn:
            async for found in turn:
                self._steps += isinstance(found, Step)
                yield found

    async def acompact(self) -> bool:
        """Make the conversation shorter now; say whether hooks let it happen."""
        self._check()
        return await self._loop.compact("manual")

    async def anotify(self, message: str, title: str = "") -> None:
        """Report the person something, through the hooks."""
        self._check()
        await self._loop.notify(message, title)

    def _check(self) -> None:
        if not self._begun:
            raise BoathookError("the session is not open: use it in a `with` or `async with` block")

    # In a plain program

    def __enter__(self) -> Self:
        """Begin; Blocked if hooks refuse the session."""
        with suppress(RuntimeError):
            asyncio.get_running_loop()
            raise BoathookError("an event loop runs here: use `async with`, and arun or astream")
        self._runner = asyncio.Runner()
        try:
            self._runner.run(self.__aenter__())
        except BaseException:
            self._runner.close()
            self._runner = None
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End, and tell hooks why."""
        runner = self._open_runner()
        try:
            _clear(runner.get_loop())
            runner.run(self.__aexit__(kind, error, trace))
        finally:
            self._runner = None
            runner.close()

    def run(self, prompt: str) -> TurnResult:
        """Run one turn."""
        return self._open_runner().run(self.arun(prompt))

    def stream(self, prompt: str) -> Generator[Step | TurnResult, None, None]:
        """Run one turn; gives its steps as they happen, and at last its result."""
        runner, steps = self._open_runner(), self.astream(prompt)
        try:
            while True:
                try:
                    yield runner.run(_next(steps))
                except StopAsyncIteration:
                    return
        finally:
            if self._runner is runner:
                runner.run(_close(steps))

    def compact(self) -> bool:
        """Make the conversation shorter now; say whether hooks let it happen."""
        return self._open_runner().run(self.acompact())

    def notify(self, message: str, title: str = "") -> None:
        """Report the person something, through the hooks."""
        self._open_runner().run(self.anotify(message, title))

    def _open_runner(self) -> asyncio.Runner:
        if self._runner is None:
            raise BoathookError("the session is not open: use it in a `with` block")
        return self._runner


async def _next(steps: AsyncGenerator[Any, None]) -> Any:
    return await anext(steps)


async def _close(steps: AsyncGenerator[Any, None]) -> None:
    await steps.aclose()


async def _to_its_end(work: Coroutine[Any, Any, None]) -> None:
    """Do work that a first cancellation does not keep from its end."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        if not task.done():
            await task
        raise


def _clear(loop: asyncio.AbstractEventLoop) -> None:
    """End what an interrupt of the loop itself left behind, or it would interrupt the end of the session too."""
    for _ in range(2):
        if left := asyncio.all_tasks(loop):
            for task in left:
                task.cancel()
            with suppress(BaseException):
                loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
