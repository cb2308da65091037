"""Hooks that cannot just be called: those with a limit of time, and middleware that waits where its caller must not.

They get a thread of their own, or a loop. What they hand on with `next` is done by whoever waits for them, so an operation stays
on the thread and in the task that called it, and its time is not the hook's. A hook that was given up or has ended hands on
nothing any more: an operation must not begin after its caller was told that it will not.
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from boathook.errors import HookError, HookTimeout

if TYPE_CHECKING:
    from boathook.inprocess.layers import Layer


@dataclass(frozen=True, slots=True)
class _Gave:
    """The end of a hook, or of what it handed on: what was given back."""

    value: Any

    def opened(self) -> Any:
        return self.value


@dataclass(frozen=True, slots=True)
class _Raised:
    """The end of a hook, or of what it handed on: what was raised."""

    error: BaseException

    def opened(self) -> Any:
        raise self.error


_End = _Gave | _Raised


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """A call of `next`: with what, among which context variables, and where the answer goes."""

    changed: Any
    variables: contextvars.Context
    answer: Callable[[_End], Any]


class _Aside:
    """A hook at work on a thread of its own; `tell` takes what it asks for, and at last how it ended."""

    def __init__(self, layer: Layer, tell: Callable[[_Asked | _End], Any]) -> None:
        self._layer, self._tell = layer, tell
        self._lock = threading.Lock()
        self._open: list[_Asked] = []
        self._over: HookError | None = None
        self._cancel: Callable[[], Any] = _nothing

    def start(self, *given: Any) -> None:
        """Call the hook; middleware gets a `next` of its own colour."""
        if self._layer.around:
            given = (*given, self._anext if self._layer.is_async else self._next)
        run = contextvars.copy_context().run
        name = f"boathook {self._layer.name}"
        threading.Thread(target=run, args=(self._work, given), name=name, daemon=True).start()

    def end(self, error: HookError) -> None:
        """Let the hook hand on nothing any more. A thread cannot be ended, it is left behind; a coroutine can."""
        with self._lock:
            if self._over is not None:
                return
            self._over, waiting = error, self._open
        for asked in waiting:
            asked.answer(_Raised(error))
        with suppress(RuntimeError):  # its loop is closed already
            self._cancel()

    def answer(self, asked: _Asked, end: _End) -> None:
        """Return a `next` what became of it."""
        with self._lock:
            self._open.remove(asked)
        asked.answer(end)

    def _work(self, given: tuple[Any, ...]) -> None:
        end: _End
        try:
            said = self._layer.hook(*given)
            end = _Gave(asyncio.run(self._awaited(said)) if self._layer.is_async else said)
        except BaseException as error:  # noqa: BLE001  (raised again where it is waited for)
            end = _Raised(error)
        self._tell(end)

    async def _awaited(self, said: Coroutine[Any, Any, Any]) -> Any:
        loop, work = asyncio.get_running_loop(), asyncio.ensure_future(said)
        self._cancel = lambda: loop.call_soon_threadsafe(work.cancel)
        return await work

    def _ask(self, changed: Any, answer: Callable[[_End], Any]) -> None:
        asked = _Asked(changed, contextvars.copy_context(), answer)
        with self._lock:
            if self._over is not None:
                raise self._over
            self._open.append(asked)
        self._tell(asked)

    def _next(self, changed: Any = None) -> Any:
        box: queue.SimpleQueue[_End] = queue.SimpleQueue()
        self._ask(changed, box.put)
        return box.get().opened()

    async def _anext(self, changed: Any = None) -> Any:
        box: asyncio.Queue[_End] = asyncio.Queue()
        self._ask(changed, _into(box))
        return (await box.get()).opened()


def _nothing() -> None:
    """There is nothing to cancel yet."""


def _into(box: asyncio.Queue[Any]) -> Callable[[Any], None]:
    """Return what puts something into a queue of this loop from another thread, if the loop is still there."""
    loop = asyncio.get_running_loop()

    def put(item: Any) -> None:
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(box.put_nowait, item)

    return put


def late(layer: Layer) -> HookError:
    """Return the fault of a hook that hands on when it has no say any more."""
    return HookError(f"{layer.name} called `next` after it had ended")


def too_slow(layer: Layer) -> HookTimeout:
    """Return the fault of a hook that took too long."""
    return HookTimeout(f"hook '{layer.name}' did not end within {layer.timeout:g} s")


def call_aside(layer: Layer, context: Any, go_on: Callable[[Any], Any] | None = None) -> Any:
    """Call a hook on a thread of its own and wait for it as long as it may take; do meanwhile what it hands on."""
    box: queue.SimpleQueue[_Asked | _End] = queue.SimpleQueue()
    aside = _Aside(layer, box.put)
    left = layer.timeout
    aside.start(context)
    try:
        while True:
            began = time.monotonic()
            told = _next_of(box, left)
            if told is None:
                aside.end(error := too_slow(layer))
                raise error
            if not isinstance(told, _Asked):
                return told.opened()
            left = _rest_of(left, time.monotonic() - began)
            assert go_on is not None  # noqa: S101
            aside.answer(told, _done(told, go_on))
    finally:
        aside.end(late(layer))


def _next_of(box: queue.SimpleQueue[_Asked | _End], left: float | None) -> _Asked | _End | None:
    try:
        return box.get(timeout=left)
    except queue.Empty:
        return None


def _rest_of(left: float | None, spent: float) -> float | None:
    return None if left is None else max(left - spent, 0)


def _done(asked: _Asked, go_on: Callable[[Any], Any]) -> _End:
    try:
        return _Gave(asked.variables.run(go_on, asked.changed))
    except BaseException as error:  # noqa: BLE001  (it goes to who asked)
        return _Raised(error)


def call_between(layer: Layer, context: Any, go_on: Callable[[Any], Any]) -> Any:
    """Call async middleware in a program without event loop; its loop stands still while the rest of the chain is at work."""
    box: asyncio.Queue[_Asked | None] = asyncio.Queue()
    with asyncio.Runner() as runner:
        loop = runner.get_loop()

        async def hand_on(changed: Any = None) -> Any:
            if work.done():
                raise late(layer)
            answers: asyncio.Queue[_End] = asyncio.Queue()
            box.put_nowait(_Asked(changed, contextvars.copy_context(), answers.put_nowait))
            return (await answers.get()).opened()

        work = loop.create_task(layer.hook(context, hand_on))
        work.add_done_callback(lambda _: box.put_nowait(None))
        while asked := loop.run_until_complete(box.get()):
            asked.answer(_done(asked, go_on))
        return work.result()


async def acall_aside(layer: Layer, context: Any, go_on: Callable[[Any], Awaitable[Any]] | None = None) -> Any:
    """Do the same in an event loop. What the hook hands on is done in a task that is cancelled with ours."""
    box: asyncio.Queue[_Asked | _End] = asyncio.Queue()
    aside = _Aside(layer, _into(box))
    clock = asyncio.get_running_loop().time
    left = layer.timeout
    aside.start(context)
    try:
        while True:
            began = clock()
            told = await _anext_of(box, left)
            if told is None:
                aside.end(error := too_slow(layer))
                raise error
            if not isinstance(told, _Asked):
                return told.opened()
            left = _rest_of(left, clock() - began)
            assert go_on is not None  # noqa: S101
            aside.answer(told, end := await _adone(told, go_on))
            if isinstance(end, _Raised) and isinstance(end.error, asyncio.CancelledError):
                raise end.error
    finally:
        aside.end(late(layer))


async def _anext_of(box: asyncio.Queue[_Asked | _End], left: float | None) -> _Asked | _End | None:
    try:
        async with asyncio.timeout(left):
            return await box.get()
    except TimeoutError:
        return None


async def _adone(asked: _Asked, go_on: Callable[[Any], Any]) -> _End:
    try:
        return _Gave(await asyncio.create_task(go_on(asked.changed), context=asked.variables))
    except BaseException as error:  # noqa: BLE001
        return _Raised(error)


async def acall_in_time(layer: Layer, context: Any, go_on: Callable[[Any], Awaitable[Any]] | None = None) -> Any:
    """Call an async hook in an event loop with a limit of time, in which the time of what it hands on does not count."""
    clock = asyncio.timeout(layer.timeout)
    try:
        async with clock:
            if go_on is None:
                return await layer.hook(context)
            return await layer.hook(context, _Paused(layer, clock, go_on))
    except TimeoutError as error:
        if not clock.expired():
            raise  # one of its own, or of what it handed on
        raise too_slow(layer) from error


class _Paused:
    """A `next` during which a clock stands still."""

    def __init__(self, layer: Layer, clock: asyncio.Timeout, go_on: Callable[[Any], Awaitable[Any]]) -> None:
        self._layer, self._clock, self._go_on = layer, clock, go_on
        self._inside, self._left = 0, 0.0

    async def __call__(self, changed: Any = None) -> Any:
        self._pause()
        try:
            return await self._go_on(changed)
        finally:
            self._resume()

    def _pause(self) -> None:
        if self._clock.expired():
            raise too_slow(self._layer)
        if not self._inside:
            self._left = (self._clock.when() or 0.0) - asyncio.get_running_loop().time()
            try:
                self._clock.reschedule(None)
            except RuntimeError:
                raise late(self._layer) from None
        self._inside += 1

    def _resume(self) -> None:
        self._inside -= 1
        if not self._inside:
            with suppress(RuntimeError):  # the hook has ended meanwhile
                self._clock.reschedule(asyncio.get_running_loop().time() + self._left)
