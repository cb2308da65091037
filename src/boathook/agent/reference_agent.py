"""The agent and its sessions, as a program uses them. `agent.loop` does the work."""

from __future__ import annotations

import asyncio
import dataclasses
import time
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any, Self

from boathook.agent.builtin_tools import Tool, Workplace
from boathook.agent.loop import SUBAGENT_TOOL, Loop
from boathook.agent.model import ASSISTANT, CHARS_PER_TOKEN, SYSTEM, TOOL, USER, Message, Model, count_characters
from boathook.agent.state import AgentState, Step, TurnResult, join_reasons
from boathook.errors import Blocked, BoathookError, Stopped
from boathook.inprocess.contexts import SessionContext
from boathook.inprocess.drivers import finish_despite_cancel
from boathook.inprocess.stack import Ask, Stack

MAX_STEPS = 50
# Seconds for one request to the model; long answers of slow models take minutes.
REQUEST_TIMEOUT = 600.0
OMISSION_NOTE = Message(USER, "[earlier messages were left out to save space]")
Compactor = Callable[[Sequence[Message], int], Sequence[Message] | Awaitable[Sequence[Message]]]
Listener = Callable[[str, Any], None]


def drop_middle(messages: Sequence[Message], budget: int) -> Sequence[Message]:
    """Compact a conversation: keep its opening, and as many of the last messages as fit into half the budget.

    Messages that the model has not answered yet stay in any case, and calls stay together with their results.
    """
    head = _count_opening(messages)
    start = min(max(_count_answered(messages), head), len(messages))
    size = sum(map(count_characters, messages[start:]))
    # Results whose calls come earlier: there must be no cut between them.
    open_results: set[str] = set()
    for at in reversed(range(head, start)):
        message = messages[at]
        size += count_characters(message)
        if size // CHARS_PER_TOKEN > budget // 2:
            break
        if message.role == TOOL:
            open_results.add(message.call_id)
        else:
            open_results -= {call.id for call in message.calls}
        start = start if open_results else at
    return [*messages[:head], *([OMISSION_NOTE] if start > head else []), *messages[start:]]


def _count_opening(messages: Sequence[Message]) -> int:
    """Count the messages before the first answer: the instructions and the first task, without which the rest makes no sense."""
    ends = (at for at, message in enumerate(messages) if at and (message.role == ASSISTANT or message == OMISSION_NOTE))
    return next(ends, len(messages))


def _count_answered(messages: Sequence[Message]) -> int:
    """Count the messages up to the last answer; without that one if it called tools."""
    last = next((at for at in reversed(range(1, len(messages))) if messages[at].role == ASSISTANT), 0)
    is_answered = last == 0 or (last < len(messages) - 1 and not messages[last].calls)
    return last + 1 if is_answered else last


@dataclass(frozen=True)
class Agent:
    """A model with tools and hooks. Immutable; `AgentBuilder` makes one."""

    model: Model
    stack: Stack = field(default_factory=Stack)
    tools: Mapping[str, Tool] = field(default_factory=dict)
    subagents: Mapping[str, Agent] = field(default_factory=dict)
    work_dir: str = "."
    system: str = ""
    ask: Ask | None = None
    max_steps: int = MAX_STEPS
    token_budget: int | None = None
    request_timeout: float | None = REQUEST_TIMEOUT
    compactor: Compactor = drop_middle
    listener: Listener | None = None

    @property
    def all_tools(self) -> tuple[Tool, ...]:
        """Return the tools of the model, with the one that starts subagents."""
        return (*self.tools.values(), *([_make_subagent_tool(self.subagents)] if self.subagents else []))

    def notify_listener(self, what: str, value: Any) -> None:
        """Call the listener, if there is one, with what happened."""
        if self.listener is not None:
            self.listener(what, value)

    def attach_to(self, parent: Agent) -> Agent:
        """Return the agent as a subagent of another: in the same folder, under the same hooks and its own."""
        stack = parent.stack.with_stack(self.stack)
        ask, listener = parent.ask or self.ask, parent.listener or self.listener
        return dataclasses.replace(self, stack=stack, work_dir=parent.work_dir, ask=ask, listener=listener)

    def session(self, session_id: str = "", source: str = "startup", args: Mapping[str, Any] | None = None) -> Session:
        """Return a session for many turns; use it in a `with` or `async with` block. Hooks read `args` when it begins."""
        return Session(self, session_id or uuid.uuid4().hex, source, args)

    def run(self, prompt: str) -> TurnResult:
        """Run one turn in a new session."""
        with self.session() as session:
            return session.run(prompt)

    async def arun(self, prompt: str) -> TurnResult:
        """Run one turn in a new session, in an event loop."""
        async with self.session() as session:
            return await session.arun(prompt)

    def stream(self, prompt: str) -> Generator[Step | TurnResult, None, None]:
        """Run one turn in a new session; yield each step, and at last the result."""
        with self.session() as session:
            yield from session.stream(prompt)

    async def astream(self, prompt: str) -> AsyncGenerator[Step | TurnResult, None]:
        """Do the same in an event loop."""
        async with self.session() as session, aclosing(session.astream(prompt)) as steps:
            async for step in steps:
                yield step


def _make_subagent_tool(subagents: Mapping[str, Agent]) -> Tool:
    names = sorted(subagents)
    properties = {
        "name": {"type": "string", "enum": names, "description": "the subagent"},
        "task": {"type": "string", "description": "the complete task"},
    }
    schema = {"type": "object", "properties": properties, "required": ["name", "task"]}
    return Tool(SUBAGENT_TOOL, f"Delegate a task to a subagent: {', '.join(names)}.", _refuse_direct_call, schema)


def _refuse_direct_call(_args: Mapping[str, Any], _place: Workplace) -> Any:
    raise BoathookError("only the loop of an agent can run a subagent")


class Session:
    """Many turns of one agent in one conversation. Hooks see its end, no matter what ends it."""

    def __init__(
        self, agent: Agent, session_id: str, source: str = "startup", args: Mapping[str, Any] | None = None
    ) -> None:
        self.agent, self.id, self._source, self._args = agent, session_id, source, args or {}
        self._loop = Loop(agent, session_id)
        self._runner: asyncio.Runner | None = None
        self._is_open = False
        self._started = 0.0
        self._steps = 0

    @property
    def state(self) -> AgentState:
        """Return the state of the agent."""
        return self._loop.state

    async def __aenter__(self) -> Self:
        """Begin; raises Blocked if hooks refuse the session."""
        self._started = time.monotonic()
        loop = self._loop
        if self.agent.system:
            loop.add_messages(Message(SYSTEM, self.agent.system))
        fields: dict[str, Any] = {"model": self.agent.model.name, "source": self._source, "args": self._args}
        outcome, begun = await loop.fire(SessionContext.on_start(**fields, **loop.common_fields))
        if outcome.is_blocked:
            raise Blocked(join_reasons(outcome))
        loop.add_notes(*begun.additional_context)
        self._is_open = True
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """End the session."""
        self._is_open = False
        await finish_despite_cancel(self._end(self._find_exit_reason(error)))

    async def _end(self, reason: str) -> None:
        loop = self._loop
        seconds = round(time.monotonic() - self._started)
        fields: dict[str, Any] = {"exit_reason": reason, "total_steps": self._steps, "duration_seconds": seconds}
        try:
            with suppress(Stopped):
                await loop.fire(SessionContext.on_end(**fields, **loop.common_fields))
        finally:
            # Background hooks may still run.
            if loop.stack.engine is not None:
                await asyncio.to_thread(loop.stack.engine.drain)

    def _find_exit_reason(self, error: BaseException | None) -> str:
        if isinstance(error, KeyboardInterrupt | asyncio.CancelledError | GeneratorExit):
            return "interrupted"
        if self._loop.stop_text and (error is None or isinstance(error, Stopped)):
            return "stopped"
        return "done" if error is None else "error"

    async def arun(self, prompt: str) -> TurnResult:
        """Run one turn."""
        result = TurnResult("done")
        async for item in self.astream(prompt):
            result = item if isinstance(item, TurnResult) else result
        return result

    async def astream(self, prompt: str) -> AsyncGenerator[Step | TurnResult, None]:
        """Run one turn; yield each step, and at last the result."""
        self._require_open()
        if self._loop.stop_text:
            raise Stopped(self._loop.stop_text)
        async with aclosing(self._loop.run_turn(prompt)) as turn:
            async for item in turn:
                self._steps += isinstance(item, Step)
                yield item

    async def acompact(self) -> bool:
        """Compact the conversation now; return whether hooks allowed it."""
        self._require_open()
        return await self._loop.compact("manual")

    async def anotify(self, message: str, title: str = "") -> None:
        """Send the person a notification, through the hooks."""
        self._require_open()
        await self._loop.notify(message, title)

    def _require_open(self) -> None:
        if not self._is_open:
            raise BoathookError("the session is not open: use it in a `with` or `async with` block")

    def __enter__(self) -> Self:
        """Begin; raises Blocked if hooks refuse the session."""
        with suppress(RuntimeError):
            asyncio.get_running_loop()
            raise BoathookError("an event loop runs here: use `async with`, and `arun` or `astream`")
        self._runner = asyncio.Runner()
        try:
            self._runner.run(self.__aenter__())
        except BaseException:
            self._runner.close()
            self._runner = None
            raise
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """End the session."""
        runner = self._open_runner()
        try:
            _cancel_leftovers(runner.get_loop())
            runner.run(self.__aexit__(kind, error, trace))
        finally:
            self._runner = None
            runner.close()

    def run(self, prompt: str) -> TurnResult:
        """Run one turn."""
        return self._open_runner().run(self.arun(prompt))

    def stream(self, prompt: str) -> Generator[Step | TurnResult, None, None]:
        """Run one turn; yield each step, and at last the result."""
        runner, steps = self._open_runner(), self.astream(prompt)
        try:
            while True:
                try:
                    yield runner.run(_get_next_step(steps))
                except StopAsyncIteration:
                    return
        finally:
            if self._runner is runner:
                runner.run(_close_steps(steps))

    def compact(self) -> bool:
        """Compact the conversation now; return whether hooks allowed it."""
        return self._open_runner().run(self.acompact())

    def notify(self, message: str, title: str = "") -> None:
        """Send the person a notification, through the hooks."""
        self._open_runner().run(self.anotify(message, title))

    def _open_runner(self) -> asyncio.Runner:
        if self._runner is None:
            raise BoathookError("the session is not open: use it in a `with` block")
        return self._runner


async def _get_next_step(steps: AsyncGenerator[Any, None]) -> Any:
    return await anext(steps)


async def _close_steps(steps: AsyncGenerator[Any, None]) -> None:
    await steps.aclose()


def _cancel_leftovers(loop: asyncio.AbstractEventLoop) -> None:
    for _ in range(2):
        if tasks := asyncio.all_tasks(loop):
            for task in tasks:
                task.cancel()
            with suppress(BaseException):
                loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
