"""The two ways to run chains and tool calls: in an event loop, and in a plain program, where one `send` runs a coroutine."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from boathook.core.event import Event
from boathook.core.outcome import Outcome
from boathook.core.verdict import Verdict
from boathook.engine import Engine
from boathook.errors import HookError
from boathook.inprocess import threads
from boathook.inprocess.cancellation import await_hook, count_cancellations, raise_caught_cancellation
from boathook.inprocess.contexts import Context, ToolContext
from boathook.inprocess.layers import Layer
from boathook.inprocess.threads import RunRest

if TYPE_CHECKING:
    from boathook.inprocess.call_memory import CallMemory
    from boathook.inprocess.stack import Ask, Stack

_Result = TypeVar("_Result")
_ContextT = TypeVar("_ContextT", bound=Context)
AsyncTerminal = Callable[[Any], Coroutine[Any, Any, Outcome]]


def run_sync(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Run a coroutine that never has to wait, as all are that a `SyncDriver` drives."""
    try:
        work.send(None)
    except StopIteration as end:
        result: _Result = end.value
        return result
    work.close()
    raise RuntimeError("a coroutine waited in a plain program")


async def finish_despite_cancel(work: Coroutine[Any, Any, None]) -> None:
    """Run work to its end even if it is cancelled once meanwhile; the cancellation is raised afterwards. A second one ends it."""
    task = asyncio.ensure_future(work)
    cancellation: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            if cancellation is None:
                cancellation = error
            # anyio cancels a task at every turn of the loop until it leaves the scope, each time with the name of the scope.
            elif not error.args or error.args != cancellation.args:
                task.cancel()
    task.result()
    if cancellation is not None:
        raise cancellation


class SyncDriver:
    in_loop = False
    make_inbox = threads.ThreadInbox

    async def call_hook(self, layer: Layer, context: Context) -> Any:
        if layer.timeout is not None:
            return await threads.call_on_thread(self, layer, context)
        return _wait_for(layer.hook(context), layer.name)

    async def call_middleware(self, layer: Layer, context: Context, run_rest: RunRest) -> Any:
        if layer.is_async:
            _refuse_in_loop(layer.name)
        if layer.timeout is not None:
            return await threads.call_on_thread(self, layer, context, run_rest)
        if layer.is_async:
            return await threads.call_in_private_loop(self, layer, context, run_rest)
        return layer.hook(context, lambda changed=None: run_sync(run_rest(changed)))

    async def process(
        self, stack: Stack, context: _ContextT, terminal: AsyncTerminal | None = None
    ) -> Outcome[_ContextT]:
        return stack.process(context, None if terminal is None else lambda final: run_sync(terminal(final)))

    async def process_call(
        self, stack: Stack, context: ToolContext, terminal: AsyncTerminal | None, memory: CallMemory
    ) -> Outcome[ToolContext]:
        run = None if terminal is None else lambda final: run_sync(terminal(final))
        return await stack.process_call(self, context, run, memory)

    async def drain(self, engine: Engine | None) -> None:
        if engine is not None:
            engine.drain()

    async def dispatch(self, engine: Engine, event: Event) -> Verdict:
        return engine.dispatch(event)

    async def record(self, engine: Engine, verdict: Verdict, seconds: float) -> str:
        return engine.record_elsewhere(verdict, seconds)

    async def resolve(self, value: Any) -> Any:
        """Return the value of a terminal as it is: a plain program does not wait for awaitables."""
        return value

    async def ask_person(self, ask: Ask, context: ToolContext, reason: str) -> Any:
        answer = ask(context, reason)
        return _wait_for(answer, "the question") if inspect.isawaitable(answer) else answer

    async def run_in_context(self, variables: contextvars.Context, work: Coroutine[Any, Any, Any]) -> Any:
        return variables.run(run_sync, work)


class AsyncDriver:
    in_loop = True
    make_inbox = threads.LoopInbox

    async def call_hook(self, layer: Layer, context: Context) -> Any:
        if not layer.is_async:
            # A thread, so that the hook does not block the loop.
            return await threads.call_on_thread(self, layer, context)
        work = layer.hook(context) if layer.timeout is None else threads.call_with_timeout(layer, context)
        return await await_hook(work)

    async def call_middleware(self, layer: Layer, context: Context, run_rest: RunRest) -> Any:
        # Sync middleware gets a thread, because it waits for the rest of the chain.
        if not layer.is_async:
            return await threads.call_on_thread(self, layer, context, run_rest)
        count = count_cancellations()

        async def go_on(changed: Any = None) -> Any:
            await raise_caught_cancellation(count)
            return await run_rest(changed)

        if layer.timeout is not None:
            return await await_hook(threads.call_with_timeout(layer, context, go_on))
        return await await_hook(layer.hook(context, go_on))

    async def process(
        self, stack: Stack, context: _ContextT, terminal: AsyncTerminal | None = None
    ) -> Outcome[_ContextT]:
        return await stack.aprocess(context, terminal)

    async def process_call(
        self, stack: Stack, context: ToolContext, terminal: AsyncTerminal | None, memory: CallMemory
    ) -> Outcome[ToolContext]:
        return await stack.process_call(self, context, terminal, memory)

    async def drain(self, engine: Engine | None) -> None:
        if engine is not None:
            await asyncio.to_thread(engine.drain)

    async def dispatch(self, engine: Engine, event: Event) -> Verdict:
        return await engine.adispatch(event)

    async def record(self, engine: Engine, verdict: Verdict, seconds: float) -> str:
        # In a thread, because a record may have to reach the disk.
        return await asyncio.to_thread(engine.record_elsewhere, verdict, seconds)

    async def resolve(self, value: Any) -> Any:
        return await value if inspect.isawaitable(value) else value

    async def ask_person(self, ask: Ask, context: ToolContext, reason: str) -> Any:
        answer = ask(context, reason)
        return await await_hook(answer) if inspect.isawaitable(answer) else answer

    async def run_in_context(self, variables: contextvars.Context, work: Coroutine[Any, Any, Any]) -> Any:
        return await asyncio.create_task(work, context=variables)


Driver = SyncDriver | AsyncDriver
SYNC, ASYNC = SyncDriver(), AsyncDriver()


def _wait_for(work: Awaitable[Any], name: str) -> Any:
    try:
        _refuse_in_loop(name)
    except HookError:
        if inspect.iscoroutine(work):
            work.close()
        raise
    return asyncio.run(_await(work))


async def _await(work: Awaitable[Any]) -> Any:
    return await work


def is_in_loop() -> bool:
    """Whether an event loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _refuse_in_loop(name: str) -> None:
    """Refuse to block an event loop for something that could be awaited in it."""
    if not is_in_loop():
        return
    raise HookError(
        f"{name} is async, and an event loop runs here: await the async form instead, or write `async with`"
    )
