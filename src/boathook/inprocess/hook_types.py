"""What can be a hook, for type checkers: callables that take a context, middleware, and objects with `handle`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Literal, Protocol, TypeVar

from boathook.core.outcome import Outcome
from boathook.inprocess.contexts import Context

ContextT = TypeVar("ContextT", bound=Context)
OnFailure = Literal["raise", "allow", "block"]
# Takes the context to go on with, or nothing for the one that the hook was given.
Next = Callable[..., Outcome]
AsyncNext = Callable[..., Coroutine[Any, Any, Outcome]]


class PlainHook(Protocol[ContextT]):
    def __call__(self, context: ContextT, /) -> Outcome | ContextT | None: ...


class AsyncHook(Protocol[ContextT]):
    def __call__(self, context: ContextT, /) -> Awaitable[Outcome | ContextT | None]: ...


class Middleware(Protocol[ContextT]):
    def __call__(self, context: ContextT, next: Next, /) -> Outcome | ContextT | None:  # noqa: A002
        ...


class AsyncMiddleware(Protocol[ContextT]):
    def __call__(self, context: ContextT, next: AsyncNext, /) -> Awaitable[Outcome | ContextT | None]:  # noqa: A002
        ...


class Handler(Protocol[ContextT]):
    def handle(self, context: ContextT, next: Next, /) -> Outcome | ContextT | None:  # noqa: A002
        ...


class AsyncHandler(Protocol[ContextT]):
    def handle(self, context: ContextT, next: AsyncNext, /) -> Awaitable[Outcome | ContextT | None]:  # noqa: A002
        ...


AnyHook = (
    PlainHook[ContextT]
    | AsyncHook[ContextT]
    | Middleware[ContextT]
    | AsyncMiddleware[ContextT]
    | Handler[ContextT]
    | AsyncHandler[ContextT]
    | type[Handler[ContextT]]
    | type[AsyncHandler[ContextT]]
)
