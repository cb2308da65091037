"""A hook that catches the cancellation of its task, or of its timeout, lets nothing pass; the errors of tools stay as they are."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from boathook import Decision, HookError, Hooks, HookTimeout, Outcome, ToolCall

LS = ToolCall("list", {"where": "."}, "c1")
FAILURES = ("raise", "block", "allow")


async def wait_for_ever() -> None:
    await asyncio.Event().wait()


async def catch_cancellation(is_waiting: asyncio.Event, answer: Any = None) -> Any:
    with suppress(asyncio.CancelledError):
        is_waiting.set()
        await wait_for_ever()
    return answer


def add_hook(hooks: Hooks, is_waiting: asyncio.Event, **options: Any) -> None:
    @hooks.before_tool(**options)
    async def hook(_context):
        return await catch_cancellation(is_waiting)


def add_matched_hook(hooks: Hooks, is_waiting: asyncio.Event, **options: Any) -> None:
    # It cannot be called without a chain, in which nothing else is different.
    add_hook(hooks, is_waiting, match=lambda _context: True, **options)


def add_failing_hook(hooks: Hooks, is_waiting: asyncio.Event, **options: Any) -> None:
    @hooks.before_tool(**options)
    async def hook(_context):
        await catch_cancellation(is_waiting)
        raise ValueError("another error")


def add_middleware(hooks: Hooks, is_waiting: asyncio.Event, **options: Any) -> None:
    @hooks.before_tool(**options)
    async def around(context, next):  # noqa: A002
        await catch_cancellation(is_waiting)
        return await next(context)


def add_question(hooks: Hooks, is_waiting: asyncio.Event, **_options: Any) -> None:
    hooks.before_tool(lambda _context: Outcome.ask("sure?"))

    @hooks.on_ask
    async def ask(_context, _reason):
        return await catch_cancellation(is_waiting, answer=True)


ADDERS = [add_hook, add_matched_hook, add_failing_hook, add_middleware, add_question]
CALLS: dict[str, Callable[[Hooks], Awaitable[Any]]] = {
    "run": lambda hooks: hooks.run().atool(LS, pytest.fail),
    "decide": lambda hooks: hooks.run().adecide(LS),
    "stack": lambda hooks: hooks.stack.arun_tool(LS, pytest.fail),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("add", ADDERS)
def test_a_hook_that_catches_the_cancellation_of_its_task_lets_no_call_pass(add, failure, call):
    if add is add_middleware and call is CALLS["decide"]:
        # It is not around a call that is only decided about.
        return
    hooks = Hooks()

    async def play() -> None:
        add(hooks, is_waiting := asyncio.Event(), on_failure=failure)
        task = asyncio.ensure_future(call(hooks))
        await is_waiting.wait()
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(play())


def test_the_end_of_a_scope_of_anyio_is_not_an_error_although_a_hook_catches_it():
    anyio, hooks = pytest.importorskip("anyio"), Hooks()

    async def play() -> bool:
        add_hook(hooks, is_waiting := asyncio.Event())
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(hooks.run().atool, LS, pytest.fail)
                await is_waiting.wait()
                scope.cancel()
        return scope.cancelled_caught

    assert asyncio.run(play())


def test_a_hook_may_end_what_it_waits_for_itself():
    hooks = Hooks()

    @hooks.before_tool
    async def look(_context):
        with suppress(TimeoutError):
            async with asyncio.timeout(0.01):
                await wait_for_ever()

    @hooks.before_tool
    async def around(context, next):  # noqa: A002
        task = asyncio.ensure_future(wait_for_ever())
        task.cancel()
        await asyncio.wait([task])
        return await next(context)

    assert asyncio.run(hooks.run().atool(LS, lambda _call: "ran")).text == "ran"


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("add", [add_hook, add_middleware])
def test_a_hook_that_catches_the_end_of_its_time_has_failed(add, failure):
    hooks, made = Hooks(), []

    async def play() -> Any:
        add(hooks, asyncio.Event(), on_failure=failure, timeout=0.01)
        return await hooks.run().atool(LS, made.append)

    if failure == "raise":
        with pytest.raises(HookTimeout):
            asyncio.run(play())
    else:
        outcome = asyncio.run(play())
        assert outcome.is_blocked is (failure == "block")
        assert ("did not end within" in outcome.text) is (failure == "block")
    assert len(made) == (failure == "allow")


def test_a_late_answer_of_a_hook_that_catches_the_end_of_its_time_is_a_timeout():
    hooks = Hooks()

    @hooks.before_tool(timeout=0.01)
    async def slow(_context):
        return await catch_cancellation(asyncio.Event(), answer=Outcome(Decision.ALLOW))

    with pytest.raises(HookTimeout):
        asyncio.run(hooks.run().atool(LS, pytest.fail))


def test_a_call_in_a_thread_whose_caller_was_cancelled_is_not_made_after_the_end_of_the_run(gate):
    hooks, made = Hooks(), []

    async def play() -> Any:
        is_waiting, loop = asyncio.Event(), asyncio.get_running_loop()

        @hooks.before_tool
        def wait(_context):
            loop.call_soon_threadsafe(is_waiting.set)
            gate.wait()

        async with hooks.run() as run:
            await run.aprompt("hi")
            with ThreadPoolExecutor(1) as threads:
                call = threads.submit(run.tool, LS, made.append)
                task = asyncio.ensure_future(asyncio.wrap_future(call))
                await is_waiting.wait()
                task.cancel()
                await run.acancel()
                gate.set()
        return call

    call = asyncio.run(play())
    assert made == []
    assert "the run ended" in call.result().text


# Errors of tools


def add_timed_hook(hooks: Hooks) -> None:
    hooks.before_tool(lambda _context: None, timeout=60)


def add_sync_middleware(hooks: Hooks, **options: Any) -> None:
    hooks.before_tool(lambda context, next: next(context), **options)  # noqa: A006


def add_async_middleware(hooks: Hooks, **options: Any) -> None:
    @hooks.before_tool(**options)
    async def around(context, next):  # noqa: A002
        return await next(context)


AROUND: dict[str, Callable[[Hooks], None]] = {
    "nothing": lambda hooks: None,
    "a timed hook": add_timed_hook,
    "middleware": add_sync_middleware,
    "timed middleware": lambda hooks: add_sync_middleware(hooks, timeout=60),
    "async middleware": add_async_middleware,
    "timed async middleware": lambda hooks: add_async_middleware(hooks, timeout=60),
}


@pytest.mark.parametrize("add", AROUND.values(), ids=AROUND)
@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("error", [asyncio.CancelledError("mine"), TimeoutError("mine")], ids=["cancelled", "timeout"])
def test_the_error_of_a_tool_reaches_the_caller_as_it_is(error, way, add):
    hooks = Hooks()
    add(hooks)

    def fail(_call: ToolCall) -> None:
        raise error

    def call_tool() -> None:
        run = hooks.run()
        outcome = run.tool(LS, fail) if way == "sync" else asyncio.run(run.atool(LS, fail))
        outcome.unwrap()

    with pytest.raises(type(error)) as raised:
        call_tool()
    assert raised.value is error


@pytest.mark.parametrize("call", ["run", "stack"])
def test_middleware_that_was_cancelled_cannot_hand_on_the_call_later(call):
    hooks, errors = Hooks(), []

    @hooks.before_tool
    async def around(context, next):  # noqa: A002
        async def go_on_later() -> None:
            is_waiting.set()
            await may_go_on.wait()
            try:
                await next(context)
            except HookError as error:
                errors.append(str(error))

        tasks.append(asyncio.ensure_future(go_on_later()))
        return await asyncio.shield(tasks[0])

    async def play() -> None:
        nonlocal is_waiting, may_go_on
        is_waiting, may_go_on = asyncio.Event(), asyncio.Event()
        caller = asyncio.ensure_future(CALLS[call](hooks))
        await is_waiting.wait()
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        may_go_on.set()
        await tasks[0]

    is_waiting = may_go_on = asyncio.Event()
    tasks: list[asyncio.Task[None]] = []
    asyncio.run(play())
    assert len(errors) == 1
    assert "after it had ended" in errors[0]
