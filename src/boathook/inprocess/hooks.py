"""`Hooks`: hooks in process, declared with decorators.

hooks = Hooks()

@hooks.before_tool(match="bash*", priority=100)
def no_rm(context): …
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, Protocol, TypeVar, overload

from boathook.core.event import SPELLINGS, EventKind, find_kind
from boathook.core.outcome import Outcome
from boathook.errors import Blocked, Stopped
from boathook.inprocess.contexts import (
    CLASSES,
    CompactionContext,
    Context,
    ExecutionContext,
    FailureContext,
    NotificationContext,
    SessionContext,
    StepContext,
    StopContext,
    SubagentContext,
    ToolContext,
)
from boathook.inprocess.guard import guarded
from boathook.inprocess.layers import make_layer, rounds_of
from boathook.inprocess.matching import MatchLike, match_for
from boathook.inprocess.stack import Ask, Stack

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from boathook.engine import Engine

C = TypeVar("C", bound=Context)
A = TypeVar("A", bound=Ask)
P = ParamSpec("P")
R = TypeVar("R")
OnFailure = Literal["raise", "allow", "block"]
Next = Callable[..., Outcome]  # takes the context to go on with, or nothing for the one that was given
AsyncNext = Callable[..., Coroutine[Any, Any, Outcome]]


class PlainHook(Protocol[C]):
    """A hook that is asked: `hook(context)`."""

    def __call__(self, context: C, /) -> Outcome | C | None:
        """Return an opinion, or the context with changes; None lets it go on."""
        ...


class AsyncHook(Protocol[C]):
    """A plain hook that is awaited."""

    def __call__(self, context: C, /) -> Awaitable[Outcome | C | None]:
        """Return an opinion, or the context with changes; None lets it go on."""
        ...


class Middleware(Protocol[C]):
    """A hook around the rest of the chain: `hook(context, next)`."""

    def __call__(self, context: C, next: Next, /) -> Outcome | C | None:  # noqa: A002
        """Go on with `next(context)`, or do not."""
        ...


class AsyncMiddleware(Protocol[C]):
    """Middleware that is awaited, and awaits the rest."""

    def __call__(self, context: C, next: AsyncNext, /) -> Awaitable[Outcome | C | None]:  # noqa: A002
        """Go on with `await next(context)`, or do not."""
        ...


class Handler(Protocol[C]):
    """A hook as an object with a method `handle(context, next)`."""

    def handle(self, context: C, next: Next, /) -> Outcome | C | None:  # noqa: A002
        """Go on with `next(context)`, or do not."""
        ...


class AsyncHandler(Protocol[C]):
    """A hook as an object whose `handle` is awaited."""

    def handle(self, context: C, next: AsyncNext, /) -> Awaitable[Outcome | C | None]:  # noqa: A002
        """Go on with `await next(context)`, or do not."""
        ...


AnyHook = (
    PlainHook[C]
    | AsyncHook[C]
    | Middleware[C]
    | AsyncMiddleware[C]
    | Handler[C]
    | AsyncHandler[C]
    | type[Handler[C]]
    | type[AsyncHandler[C]]
)
# A hook is given back as the very type it has. One variable for each class of contexts, for no bound can depend on another.
SessionHook = TypeVar("SessionHook", bound="AnyHook[SessionContext]")
ExecutionHook = TypeVar("ExecutionHook", bound="AnyHook[ExecutionContext]")
StopHook = TypeVar("StopHook", bound="AnyHook[StopContext]")
ToolHook = TypeVar("ToolHook", bound="AnyHook[ToolContext]")
SubagentHook = TypeVar("SubagentHook", bound="AnyHook[SubagentContext]")
CompactionHook = TypeVar("CompactionHook", bound="AnyHook[CompactionContext]")
NotificationHook = TypeVar("NotificationHook", bound="AnyHook[NotificationContext]")
StepHook = TypeVar("StepHook", bound="AnyHook[StepContext]")
FailureHook = TypeVar("FailureHook", bound="AnyHook[FailureContext]")


class Registrar(Generic[C]):
    """Adds hooks for one kind of event in one way; what a decorator of `Hooks` is once it belongs to one."""

    def __init__(self, hooks: Hooks, kind: EventKind, fields: dict[str, Any]) -> None:
        """Take whose hooks, for what, and how."""
        self._hooks, self._kind, self._fields = hooks, kind, fields

    @overload
    def __call__(
        self,
        *,
        match: MatchLike | None = None,
        priority: int = 0,
        timeout: float | None = None,
        on_failure: OnFailure | None = None,
        max_rounds: int | None = None,
    ) -> Registrar[C]: ...
    @overload
    def __call__(self: Registrar[SessionContext], hook: SessionHook, /) -> SessionHook: ...
    @overload
    def __call__(self: Registrar[ExecutionContext], hook: ExecutionHook, /) -> ExecutionHook: ...
    @overload
    def __call__(self: Registrar[StopContext], hook: StopHook, /) -> StopHook: ...
    @overload
    def __call__(self: Registrar[ToolContext], hook: ToolHook, /) -> ToolHook: ...
    @overload
    def __call__(self: Registrar[SubagentContext], hook: SubagentHook, /) -> SubagentHook: ...
    @overload
    def __call__(self: Registrar[CompactionContext], hook: CompactionHook, /) -> CompactionHook: ...
    @overload
    def __call__(self: Registrar[NotificationContext], hook: NotificationHook, /) -> NotificationHook: ...
    @overload
    def __call__(self: Registrar[StepContext], hook: StepHook, /) -> StepHook: ...
    @overload
    def __call__(self: Registrar[FailureContext], hook: FailureHook, /) -> FailureHook: ...
    def __call__(self, hook: Any = None, **fields: Any) -> Any:
        """Add a hook and give it back as it was; or take how hooks are to be added, and return what adds them so."""
        if hook is None:
            return Registrar(self._hooks, self._kind, {**self._fields, **fields})
        self._hooks.add(self._kind, hook() if isinstance(hook, type) else hook, **self._fields, **fields)
        return hook


class On(Generic[C]):
    """A decorator for one kind of event, as a row of the class below."""

    def __init__(self, name: str) -> None:
        """Take the event's name."""
        self.kind = SPELLINGS[name]

    def __get__(self, hooks: Hooks, owner: type[Hooks]) -> Registrar[C]:
        """Return the decorator of one collection of hooks."""
        return Registrar(hooks, self.kind, {})


class Hooks:
    """A collection of hooks in process; `stack` is what it comes to, with the hooks of files if some were loaded.

    `on_failure` is what a hook that raises means, unless it says so itself: raise, allow or block.
    """

    session_start: On[SessionContext] = On("pre-session")
    session_end: On[SessionContext] = On("post-session")
    turn_start: On[ExecutionContext] = On("pre-agent-turn")
    turn_end: On[ExecutionContext] = On("post-agent-turn")
    before_stop: On[StopContext] = On("pre-agent-turn-stop")
    after_stop: On[StopContext] = On("post-agent-turn-stop")
    before_tool: On[ToolContext] = On("pre-tool-call")
    after_tool: On[ToolContext] = On("post-tool-call")
    tool_failed: On[ToolContext] = On("post-tool-call-failure")
    subagent_start: On[SubagentContext] = On("pre-subagent")
    subagent_stop: On[SubagentContext] = On("post-subagent")
    before_compact: On[CompactionContext] = On("pre-context-compact")
    after_compact: On[CompactionContext] = On("post-context-compact")
    permission: On[ToolContext] = On("permission-request")
    notification: On[NotificationContext] = On("notification")
    before_step: On[StepContext] = On("pre-step")
    after_step: On[StepContext] = On("post-step")
    on_failure: On[FailureContext] = On("turn-failure")

    def __init__(self, *, on_failure: OnFailure = "raise", ask: Ask | None = None) -> None:
        """Begin with none. `ask` decides what a hook wants a person to decide."""
        self._on_failure = on_failure
        self._stack = Stack(ask=ask)

    @property
    def stack(self) -> Stack:
        """Return the hooks as they are now, as a value."""
        return self._stack

    def on(self, event: str | EventKind, /, **fields: Any) -> Registrar[Any]:
        """Return the decorator of any event, in any spelling."""
        return Registrar(self, event if isinstance(event, EventKind) else find_kind(event), fields)

    def add(
        self,
        event: str | EventKind,
        hook: Any,
        *,
        match: MatchLike | None = None,
        priority: int = 0,
        timeout: float | None = None,
        on_failure: OnFailure | None = None,
        max_rounds: int | None = None,
    ) -> None:
        """Add a hook for an event. A stop is refused by one hook at most `max_rounds` times in a turn (3)."""
        kind = event if isinstance(event, EventKind) else find_kind(event)
        layer = make_layer(
            hook,
            kinds=(kind,),
            priority=priority,
            match=match_for(match, kind),
            timeout=timeout,
            on_failure=self._on_failure if on_failure is None else on_failure,
            rounds=rounds_of(kind, max_rounds),
        )
        self._stack = self._stack.with_layer(layer)

    def load(self, project: str | os.PathLike[str] | None = None, **fields: Any) -> Engine:
        """Let the hooks of files take part: those of the user and of a project (default: here). Gives their engine.

        Takes what `boathook.load` takes.
        """
        from boathook.assembly import load

        engine = load(project, **fields)
        self._stack = self._stack.with_engine(engine)
        return engine

    def asked(self, ask: A) -> A:
        """Let a callable decide what hooks want a person to decide: it gets the call and the reason, and says yes or no."""
        self._stack = self._stack.with_ask(ask)
        return ask

    @overload
    def guard(self, tool: Callable[P, R], /) -> Callable[P, R]: ...
    @overload
    def guard(self, *, name: str) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
    def guard(self, tool: Any = None, *, name: str = "") -> Any:
        """Wrap a plain function as a tool: hooks are asked before it runs, and hear of its result or its failure.

        Blocked or Stopped is raised if they do not let it. Hooks that are added later count too.
        """
        if tool is None:
            return lambda function: guarded(self, function, name)
        return guarded(self, tool, name)

    @contextmanager
    def session(self, session_id: str = "", **fields: Any) -> Iterator[SessionContext]:
        """Begin a session and end it, whatever happens in between; Blocked if hooks refuse it."""
        context = SessionContext.on_start(session_id=session_id, **fields)
        begun = admitted(self._stack.process(context), context)
        reason = "error"
        try:
            yield begun
            reason = "done"
        finally:
            self._stack.process(_ended(begun, reason))

    @asynccontextmanager
    async def asession(self, session_id: str = "", **fields: Any) -> AsyncIterator[SessionContext]:
        """Do the same in an event loop."""
        context = SessionContext.on_start(session_id=session_id, **fields)
        begun = admitted(await self._stack.aprocess(context), context)
        reason = "error"
        try:
            yield begun
            reason = "done"
        finally:
            await self._stack.aprocess(_ended(begun, reason))


def _ended(begun: SessionContext, reason: str) -> SessionContext:
    """Return the context of the end of a session, with all that goes along with it."""
    common = {name: getattr(begun, name) for name in ("session_id", "work_dir", "state", "metadata", "more")}
    return SessionContext.on_end(model=begun.model, source=begun.source, exit_reason=reason, **common)


def admitted(outcome: Outcome, context: C) -> C:
    """Return the context to go on with; Blocked or Stopped if hooks say no."""
    if outcome.is_stopped:
        raise Stopped(outcome.reason or "stopped by a hook")
    if outcome.is_blocked:
        raise Blocked(outcome.reason or "blocked by a hook")
    return context if outcome.context is None else outcome.context


def decorators() -> dict[str, EventKind]:
    """Return the decorators of `Hooks` by name, with their events."""
    return {name: found.kind for name, found in vars(Hooks).items() if isinstance(found, On)}


def context_class(kind: EventKind) -> type[Context]:
    """Return the class of the contexts of a kind."""
    return CLASSES[kind.name]
