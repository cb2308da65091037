"""Rows about hooks in process: what a chain costs against the same callables called plainly, and against other libraries."""

from __future__ import annotations

import asyncio
import time
import tracemalloc
from collections.abc import Awaitable, Callable
from typing import Any

import blinker
import pluggy

from boathook.core.outcome import Outcome
from boathook.inprocess.contexts import ToolContext
from boathook.inprocess.operations import ToolCall
from boathook.inprocess.stack import Stack

Measure = Callable[[], float]
CALLS = 2000
SIZES = (1, 5, 20)
specification, implementation = pluggy.HookspecMarker("bench"), pluggy.HookimplMarker("bench")


def hooks(count: int) -> list[Callable[[Any], None]]:
    """Give callables that look at the context and let it go on."""

    def make() -> Callable[[Any], None]:
        def hook(context: ToolContext) -> None:
            context.args.get("command")

        return hook

    return [make() for _ in range(count)]


def async_hooks(count: int) -> list[Callable[[Any], Awaitable[None]]]:
    def make() -> Callable[[Any], Awaitable[None]]:
        async def hook(context: ToolContext) -> None:
            context.args.get("command")

        return hook

    return [make() for _ in range(count)]


def stack_of(callables: list[Any]) -> Stack:
    stack = Stack()
    for one in callables:
        stack = stack.with_(one, on="pre-tool-call")
    return stack


def make_context() -> ToolContext:
    """Make the context of an event: every event has its own, so to make it is part of the measure, on both sides."""
    return ToolContext.before("bash", {"command": "ls"})


def timed(work: Callable[[Any], Any]) -> Measure:
    def once() -> float:
        start = time.perf_counter()
        for _ in range(CALLS):
            work(make_context())
        return (time.perf_counter() - start) / CALLS

    return once


def timed_async(work: Callable[[Any], Awaitable[Any]]) -> Measure:
    async def loop() -> float:
        start = time.perf_counter()
        for _ in range(CALLS):
            await work(make_context())
        return (time.perf_counter() - start) / CALLS

    return lambda: asyncio.run(loop())


def plainly(callables: list[Any]) -> Callable[[Any], None]:
    def loop(context: Any) -> None:
        for one in callables:
            one(context)

    return loop


def plainly_awaited(callables: list[Any]) -> Callable[[Any], Awaitable[None]]:
    async def loop(context: Any) -> None:
        for one in callables:
            await one(context)

    return loop


class Specification:
    @specification
    def before_tool(self, context: Any) -> None:
        """Be asked before a tool runs."""


def by_pluggy(callables: list[Any]) -> Callable[[Any], Any]:
    manager = pluggy.PluginManager("bench")
    manager.add_hookspecs(Specification)
    for one in callables:

        class Plugin:
            @implementation
            def before_tool(self, context: Any, one: Any = one) -> None:
                one(context)

        manager.register(Plugin())
    return lambda context: manager.hook.before_tool(context=context)


def by_blinker(callables: list[Any]) -> Callable[[Any], Any]:
    signal = blinker.Signal()
    for one in callables:
        signal.connect(one, weak=False)
    return signal.send


def empty_stack() -> tuple[Measure, Measure]:
    """Measure a tool call through an empty stack, and the plain call."""
    stack, call = Stack(), ToolCall("bash", {"command": "ls"})

    def operation(call: ToolCall) -> object:
        return call.args

    def once(work: Callable[[], object]) -> Measure:
        def measure() -> float:
            start = time.perf_counter()
            for _ in range(CALLS):
                work()
            return (time.perf_counter() - start) / CALLS

        return measure

    return once(lambda: stack.run_tool(call, operation)), once(lambda: operation(call))


def growth(events: int = 100_000) -> float:
    """Give by how many kilobytes a process grows while one session has many events, after a tenth of them."""
    stack = stack_of(hooks(3)).with_(_around, on="pre-tool-call").with_(hooks(1)[0], on="post-tool-call", match="b*")
    call = ToolCall("bash", {"command": "ls"})
    tracemalloc.start()
    before = 0
    for at in range(events):
        if at == events // 10:
            before = tracemalloc.get_traced_memory()[0]
        stack.run_tool(call, lambda made: made.args, session_id="bench")
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return (after - before) / 1024


def _around(context: ToolContext, rest: Callable[[ToolContext], Outcome]) -> Outcome:
    return rest(context)
