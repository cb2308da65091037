"""In-process hooks that cannot just be called: hooks with a timeout, and middleware that waits where its caller must not."""

# They run on their own thread or loop. What they hand on with `next` runs where the caller waits, so an operation stays on the
# thread and in the task that called it, and its time does not count as the hook's. A hook that has ended can hand on nothing:
# an operation must not begin after its caller has learned that it will not.

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from boathook.errors import HookError, HookTimeout

if TYPE_CHECKING:
    from boathook.inprocess.drivers import Driver
    from boathook.inprocess.layers import Layer

# Runs the rest of a chain with a context, or with the one that the middleware was given.
RunRest = Callable[..., Coroutine[Any, Any, Any]]


@dataclass(frozen=True, slots=True)
class _Returned:
    value: Any

    def unwrap(self) -> Any:
        return self.value


@dataclass(frozen=True, slots=True)
class _Raised:
    error: BaseException

    def unwrap(self) -> Any:
        raise self.error


_End = _Returned | _Raised


@dataclass(frozen=True, slots=True, eq=False)
class _NextCall:
    context: Any
    variables: contextvars.Context
    reply: Callable[[_End], Any]


class _HookThread:
    def __init__(self, layer: Layer, report: Callable[[_NextCall | _End], Any]) -> None:
        self._layer, self._report = layer, report
        self._lock = threading.Lock()
        self._open_calls: list[_NextCall] = []
        self._end_error: HookError | None = None
        self._cancel: Callable[[], Any] | None = None

    def start(self, *args: Any) -> None:
        if self._layer.is_middleware:
            args = (*args, self._anext if self._layer.is_async else self._next)
        run = contextvars.copy_context().run
        name = f"boathook {self._layer.name}"
        threading.Thread(target=run, args=(self._run_hook, args), name=name, daemon=True).start()

    def end(self, error: HookError) -> None:
        """Let the hook hand on nothing more. A coroutine is cancelled; a thread cannot be ended and is left behind."""
        with self._lock:
            if self._end_error is not None:
                return
            self._end_error, open_calls = error, self._open_calls
        for call in open_calls:
            call.reply(_Raised(error))
        # RuntimeError: its loop is closed already.
        with suppress(RuntimeError):
            if self._cancel is not None:
                self._cancel()

    def reply(self, call: _NextCall, end: _End) -> None:
        with self._lock:
            self._open_calls.remove(call)
        call.reply(end)

    def _run_hook(self, args: tuple[Any, ...]) -> None:
        end: _End
        try:
            answer = self._layer.hook(*args)
            end = _Returned(asyncio.run(self._run_cancellable(answer)) if self._layer.is_async else answer)
        except BaseException as error:  # noqa: BLE001  (raised again where it is waited for)
            end = _Raised(error)
        self._report(end)

    async def _run_cancellable(self, work: Coroutine[Any, Any, Any]) -> Any:
        loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)
        self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
        return await task

    def _request(self, context: Any, reply: Callable[[_End], Any]) -> None:
        call = _NextCall(context, contextvars.copy_context(), reply)
        with self._lock:
            if self._end_error is not None:
                raise self._end_error
            self._open_calls.append(call)
        self._report(call)

    def _next(self, context: Any = None) -> Any:
        ends: queue.SimpleQueue[_End] = queue.SimpleQueue()
        self._request(context, ends.put)
        return ends.get().unwrap()

    async def _anext(self, context: Any = None) -> Any:
        ends: asyncio.Queue[_End] = asyncio.Queue()
        self._request(context, _make_thread_safe_put(ends))
        return (await ends.get()).unwrap()


def _make_thread_safe_put(items: asyncio.Queue[Any]) -> Callable[[Any], None]:
    loop = asyncio.get_running_loop()

    def put(item: Any) -> None:
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(items.put_nowait, item)

    return put


class ThreadInbox:
    def __init__(self) -> None:
        self._items: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.put: Callable[[Any], None] = self._items.put

    async def get(self, seconds: float | None) -> Any:
        try:
            return self._items.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError from None


class LoopInbox:
    def __init__(self) -> None:
        self._items: asyncio.Queue[Any] = asyncio.Queue()
        self.put: Callable[[Any], None] = _make_thread_safe_put(self._items)

    async def get(self, seconds: float | None) -> Any:
        async with asyncio.timeout(seconds):
            return await self._items.get()


def make_late_error(layer: Layer) -> HookError:
    return HookError(f"{layer.name} called `next` after it had ended")


def make_timeout_error(layer: Layer) -> HookTimeout:
    return HookTimeout(f"hook '{layer.name}' did not end within {layer.timeout:g} s")


async def call_on_thread(driver: Driver, layer: Layer, context: Any, run_rest: RunRest | None = None) -> Any:
    inbox = driver.make_inbox()
    thread = _HookThread(layer, inbox.put)
    seconds_left = layer.timeout
    thread.start(context)
    try:
        while True:
            started = time.monotonic()
            try:
                report: _NextCall | _End = await inbox.get(seconds_left)
            except TimeoutError:
                thread.end(error := make_timeout_error(layer))
                raise error from None
            if not isinstance(report, _NextCall):
                return report.unwrap()
            if seconds_left is not None:
                seconds_left = max(seconds_left - (time.monotonic() - started), 0)
            assert run_rest is not None  # noqa: S101
            end = await _run_next(driver, report, run_rest)
            thread.reply(report, end)
            if isinstance(end, _Raised) and isinstance(end.error, asyncio.CancelledError):
                raise end.error
    finally:
        thread.end(make_late_error(layer))


async def _run_next(driver: Driver, call: _NextCall, run_rest: RunRest) -> _End:
    try:
        return _Returned(await driver.run_in_context(call.variables, run_rest(call.context)))
    except BaseException as error:  # noqa: BLE001  (raised again in the hook that called `next`)
        return _Raised(error)


async def call_in_private_loop(driver: Driver, layer: Layer, context: Any, run_rest: RunRest) -> Any:
    """Call async middleware in a plain program; its loop is blocked while the rest of the chain runs."""
    calls: asyncio.Queue[_NextCall | None] = asyncio.Queue()
    with asyncio.Runner() as runner:
        loop = runner.get_loop()

        async def call_next(context: Any = None) -> Any:
            if task.done():
                raise make_late_error(layer)
            ends: asyncio.Queue[_End] = asyncio.Queue()
            calls.put_nowait(_NextCall(context, contextvars.copy_context(), ends.put_nowait))
            return (await ends.get()).unwrap()

        task = loop.create_task(layer.hook(context, call_next))
        task.add_done_callback(lambda _: calls.put_nowait(None))
        while call := loop.run_until_complete(calls.get()):
            call.reply(await _run_next(driver, call, run_rest))
        return task.result()


async def call_with_timeout(layer: Layer, context: Any, run_rest: RunRest | None = None) -> Any:
    """Call an async hook in this event loop with its timeout; the time of what it hands on does not count."""
    timeout = asyncio.timeout(layer.timeout)
    try:
        async with timeout:
            if run_rest is None:
                answer = await layer.hook(context)
            else:
                answer = await layer.hook(context, _PausingNext(layer, timeout, run_rest))
    except TimeoutError as error:
        # The hook, or what it handed on, may raise a TimeoutError of its own.
        if not timeout.expired():
            raise
        raise make_timeout_error(layer) from error
    if timeout.expired():
        # The hook caught the cancellation, and answered too late.
        raise make_timeout_error(layer)
    return answer


class _PausingNext:
    """A `next` that pauses the timeout of its hook."""

    def __init__(self, layer: Layer, timeout: asyncio.Timeout, run_rest: RunRest) -> None:
        self._layer, self._timeout, self._run_rest = layer, timeout, run_rest
        self._running, self._seconds_left = 0, 0.0

    async def __call__(self, context: Any = None) -> Any:
        self._pause()
        try:
            return await self._run_rest(context)
        finally:
            self._resume()

    def _pause(self) -> None:
        if self._timeout.expired():
            raise make_timeout_error(self._layer)
        if not self._running:
            self._seconds_left = (self._timeout.when() or 0.0) - asyncio.get_running_loop().time()
            try:
                self._timeout.reschedule(None)
            except RuntimeError:
                raise make_late_error(self._layer) from None
        self._running += 1

    def _resume(self) -> None:
        self._running -= 1
        if not self._running:
            # RuntimeError: the hook has ended meanwhile.
            with suppress(RuntimeError):
                self._timeout.reschedule(asyncio.get_running_loop().time() + self._seconds_left)
