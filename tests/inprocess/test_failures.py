"""Hooks that fail (S26): by raising, by taking too long, as plain hooks and as middleware; and what that means.

Hooks that take too long wait for something that comes after the test. Nothing is measured.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from contextlib import suppress

import pytest

from boathook.core.outcome import NOTHING, Decision, Outcome
from boathook.errors import Blocked, HookError, HookTimeout
from boathook.inprocess.event_names import find_event
from boathook.inprocess.hooks import Hooks
from boathook.inprocess.stack import Stack
from tests.inprocess.builders import BEFORE, CALL, EVERY, noting, stacked

SOON = 0.02
LATER = 0.25  # time enough to go on, even on a busy machine
PATIENCE = 60.0


class Broken(Exception):
    """What the hooks here raise."""


def raising(gate):
    def guard(context):
        raise Broken("oh")

    return guard


def raising_async(gate):
    async def guard(context):
        raise Broken("oh")

    return guard


def hanging(gate):
    def guard(context):
        gate.wait()

    return guard


def hanging_async(gate):
    async def guard(context):
        await asyncio.Event().wait()

    return guard


def raising_around(gate):
    def guard(context, go_on):
        raise Broken("oh")

    return guard


def raising_around_async(gate):
    async def guard(context, go_on):
        raise Broken("oh")

    return guard


def hanging_around(gate):
    def guard(context, go_on):
        gate.wait()

    return guard


def hanging_around_async(gate):
    async def guard(context, go_on):
        await asyncio.Event().wait()

    return guard


RAISED = "hook 'guard' failed: Broken: oh"
SLOW = "hook 'guard' failed: HookTimeout: hook 'guard' did not end within 0.02 s"
FORMS = {
    "a plain hook": (raising, None, Broken, RAISED),
    "an async hook": (raising_async, None, Broken, RAISED),
    "a plain hook in time": (raising, PATIENCE, Broken, RAISED),
    "an async hook in time": (raising_async, PATIENCE, Broken, RAISED),
    "middleware": (raising_around, None, Broken, RAISED),
    "async middleware": (raising_around_async, None, Broken, RAISED),
    "middleware in time": (raising_around, PATIENCE, Broken, RAISED),
    "async middleware in time": (raising_around_async, PATIENCE, Broken, RAISED),
    "a slow hook": (hanging, SOON, HookTimeout, SLOW),
    "a slow async hook": (hanging_async, SOON, HookTimeout, SLOW),
    "slow middleware": (hanging_around, SOON, HookTimeout, SLOW),
    "slow async middleware": (hanging_around_async, SOON, HookTimeout, SLOW),
}


@pytest.fixture(params=FORMS.values(), ids=FORMS)
def failing(request, gate):
    """A hook that fails, its limit of time, what it raises and how that is reported."""
    make, timeout, error, reported = request.param
    hook = make(gate)
    hook.__qualname__ = "guard"
    return hook, timeout, error, reported


def test_a_failure_is_raised_by_default(way, failing):
    hook, timeout, error, reported = failing
    notes = []
    stack = Stack().with_(hook, timeout=timeout).with_(noting(notes, "later"))
    with pytest.raises(error) as raised:
        way.process(stack, BEFORE)
    assert reported == f"hook 'guard' failed: {type(raised.value).__name__}: {raised.value}"
    assert notes == []


def test_an_allowed_failure_is_reported_and_logged_and_the_rest_goes_on(way, failing, caplog):
    hook, timeout, _, reported = failing
    notes = []
    stack = Stack().with_(hook, timeout=timeout, on_failure="allow").with_(noting(notes, "later"))
    with caplog.at_level(logging.WARNING, "boathook"):
        assert way.process(stack, BEFORE) == Outcome(context=BEFORE.add_message(reported))
    assert notes == ["later"]
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", f"{reported} (at pre-tool-call)")
    ]


def test_a_failure_that_blocks_has_a_reason_and_is_logged(way, failing, caplog):
    hook, timeout, _, reported = failing
    notes = []
    stack = Stack().with_(hook, timeout=timeout, on_failure="block").with_(noting(notes, "later"))
    with caplog.at_level(logging.WARNING, "boathook"):
        assert way.process(stack, BEFORE) == Outcome.block(reported)
    assert notes == []
    assert [record.getMessage() for record in caplog.records] == [f"{reported} (at pre-tool-call)"]


def test_the_operation_runs_once_after_any_failure_before_it(way, failing):
    hook, timeout, _, _ = failing
    notes = []
    stack = Stack().with_(hook, on="pre-tool-call", timeout=timeout, on_failure="allow")
    assert way.run_tool(stack, CALL, lambda call: notes.append("operation") or "done") == "done"
    assert notes == ["operation"]


def test_hooks_in_time_are_like_others(way):
    changed = BEFORE.replace(args={"command": "ls -l"})

    async def later(context):
        return changed

    async def around(context, go_on):
        return await go_on(context)

    for hook in (lambda context: changed, later):
        assert way.process(stacked(hook, timeout=PATIENCE), BEFORE) == Outcome(context=changed)
    for hook in (lambda context, go_on: go_on(context), around):
        assert way.process(stacked(hook, timeout=PATIENCE), BEFORE) == NOTHING


# Middleware that fails after it went on


def on_the_way_out(way_of, gate):
    """Middleware that goes on and then fails in some way."""

    def guard(context, go_on):
        go_on(context)
        if way_of == "slow":
            gate.wait()
        raise Broken("oh")

    async def aguard(context, go_on):
        await go_on(context)
        if way_of == "slow":
            await asyncio.Event().wait()
        raise Broken("oh")

    for hook in (guard, aguard):
        hook.__qualname__ = "guard"
    return guard, aguard


@pytest.mark.parametrize("at", [0, 1], ids=["sync", "async"])
@pytest.mark.parametrize(
    ("how", "timeout", "message"),
    [("raise", None, RAISED), ("slow", LATER, SLOW.replace("0.02", "0.25"))],
    ids=["raising", "slow"],
)
def test_middleware_that_fails_on_the_way_out_does_not_run_the_operation_again(way, gate, at, how, timeout, message):
    notes = []
    guard = on_the_way_out(how, gate)[at]

    def operation(call):
        notes.append("operation")
        return "done"

    def stack(failure):
        return Stack().with_(guard, on="pre-tool-call", timeout=timeout, on_failure=failure)

    with pytest.raises((Broken, HookTimeout)):
        way.run_tool(stack("raise"), CALL, operation)
    assert way.run_tool(stack("allow"), CALL, operation) == "done"
    with pytest.raises(Blocked) as blocked:
        way.run_tool(stack("block"), CALL, operation)
    assert (blocked.value.reason, blocked.value.result) == (message, "done")
    assert notes == ["operation"] * 3


def test_an_allowed_failure_on_the_way_out_is_reported_with_what_came(way):
    guard, _ = on_the_way_out("raise", None)
    changed = BEFORE.replace(args={"command": "ls -l"})
    stack = (
        Stack().with_(guard, on_failure="allow").with_(lambda context: Outcome.ask("sure?").replace(context=changed))
    )
    assert way.process(stack, BEFORE) == Outcome.ask("sure?").replace(context=changed.add_message(RAISED))
    stopping = Stack().with_(guard, on_failure="block").with_(lambda context: Outcome.stop("enough"))
    assert way.process(stopping, BEFORE).is_stopped


def test_an_error_made_of_an_error_inside_is_one_of_the_middleware(way):
    def broken(context):
        raise Broken("inside")

    def guard(context, go_on):
        try:
            return go_on(context)
        except Broken as error:
            raise KeyError("outside") from error

    guard.__qualname__ = "guard"

    def stack(failure):
        return Stack().with_(guard, on_failure=failure).with_(broken)

    with pytest.raises(KeyError):
        way.process(stack("raise"), BEFORE)
    with pytest.raises(Broken, match="inside"):
        way.process(stack("allow"), BEFORE)
    assert way.process(stack("block"), BEFORE) == Outcome.block("hook 'guard' failed: KeyError: 'outside'")


# Time


def test_a_hook_that_runs_out_of_time_by_itself_is_not_too_slow(way):
    async def guard(context):
        raise TimeoutError("of the net")

    async def around(context, go_on):
        raise TimeoutError("of the net")

    for hook in (guard, around):
        with pytest.raises(TimeoutError, match="of the net"):
            way.process(stacked(hook, timeout=PATIENCE), BEFORE)


@pytest.mark.parametrize("colour", ["sync", "async"])
def test_the_time_of_the_operation_is_not_that_of_the_middleware(way, colour):
    def around(context, go_on):
        return go_on(context)

    async def aaround(context, go_on):
        return await go_on(context)

    def operation(call):
        # It is never set: this takes longer than the middleware may.
        threading.Event().wait(timeout * 1.5)
        return "done"

    # On a busy machine the middleware itself may take longer than the least of them.
    for timeout in (0.1, 1.0, PATIENCE):
        stack = stacked(around if colour == "sync" else aaround, on="pre-tool-call", timeout=timeout)
        with suppress(HookTimeout):
            assert way.run_tool(stack, CALL, operation) == "done"
            return
    pytest.fail("the operation counted as the middleware")


def test_a_sync_hook_that_was_given_up_cannot_start_the_operation_any_more(way, gate):
    notes, ended = [], threading.Event()

    def guard(context, go_on):
        gate.wait()
        try:
            return go_on(context)
        except HookError as error:
            notes.append(str(error))
            raise
        finally:
            ended.set()

    guard.__qualname__ = "guard"
    stack = Stack().with_(guard, on="pre-tool-call", timeout=SOON, on_failure="block")
    with pytest.raises(Blocked):
        way.run_tool(stack, CALL, noting(notes, "operation"))
    gate.set()
    assert ended.wait(PATIENCE)
    assert notes == ["hook 'guard' did not end within 0.02 s"]


def test_an_async_hook_that_outlives_its_timeout_cannot_start_the_operation_either(way):
    notes, ended = [], threading.Event()

    async def guard(context, go_on):
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        try:
            return await go_on(context)
        except HookError as error:
            notes.append(str(error))
            raise
        finally:
            ended.set()

    guard.__qualname__ = "guard"
    with pytest.raises(HookTimeout):
        way.run_tool(stacked(guard, on="pre-tool-call", timeout=SOON), CALL, noting(notes, "operation"))
    assert ended.wait(PATIENCE)
    assert notes == ["hook 'guard' did not end within 0.02 s"]


@pytest.mark.parametrize("around", [False, True], ids=["plain", "around"])
def test_an_async_hook_that_is_too_slow_is_cancelled(way, around):
    notes, ended = [], threading.Event()

    async def guard(context, *go_on):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            notes.append("cancelled")
            raise
        finally:
            ended.set()

    class Guard:
        async def handle(self, context, go_on):
            await guard(context)

    with pytest.raises(HookTimeout):
        way.process(stacked(Guard() if around else guard, timeout=SOON), BEFORE)
    assert ended.wait(PATIENCE)
    assert notes == ["cancelled"]


def test_the_event_loop_goes_on_while_a_sync_hook_takes_its_time(gate):
    opened = []

    async def opens():
        gate.set()

    async def main():
        stack = stacked(lambda context: opened.append(gate.wait(PATIENCE)), timeout=PATIENCE)
        await asyncio.gather(stack.aprocess(BEFORE), opens())

    asyncio.run(main())
    assert opened == [True]


def test_a_hook_left_behind_holds_up_no_call(way, gate):
    hooks = Hooks(on_failure="allow")
    hooks.before_tool(timeout=SOON)(hanging(gate))
    for _ in range(5):
        assert way.run_tool(hooks.stack, CALL, lambda call: "done") == "done"
    behind = [thread for thread in threading.enumerate() if thread.name.startswith("boathook hanging")]
    assert len(behind) == 5
    gate.set()
    for thread in behind:
        thread.join(PATIENCE)
    assert [thread for thread in behind if thread.is_alive()] == []


@pytest.mark.parametrize("event", ["before_tool", "after_tool", "before_stop"])
@pytest.mark.parametrize("fields", [{}, {"timeout": 60}, {"match": "*"}])
def test_a_hook_that_raises_cancelled_error_has_failed(way, event, fields):
    if event == "before_stop" and "match" in fields:
        return
    stack = Stack()

    def give_up(context):
        raise asyncio.CancelledError

    async def give_up_later(context):
        give_up(context)

    def around(context, next):  # noqa: A002
        give_up(context)

    context = EVERY[find_event(event).name]
    for hook in (give_up, give_up_later, around):
        with pytest.raises(HookError, match="raised CancelledError, although the run is not being cancelled"):
            way.process(stack.with_(hook, on=event, **fields), context)
        blocking = stack.with_(hook, on=event, on_failure="block", **fields)
        assert way.process(blocking, context).decision == Decision.BLOCK


def test_a_hook_in_a_task_that_is_cancelled_has_not_failed():
    async def main(fields):
        began = asyncio.Event()

        async def wait(context):
            began.set()
            await asyncio.sleep(600)

        stack = Stack().with_(wait, on="before_tool", on_failure="block", **fields)
        task = asyncio.ensure_future(stack.aprocess(EVERY["pre-tool-call"]))
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    for fields in ({}, {"timeout": 60}):
        asyncio.run(main(fields))


@pytest.mark.parametrize("match", [None, lambda context: True], ids=["simple", "with a condition"])
def test_a_block_that_a_hook_raises_has_a_note_how_to_return_it(way, match):
    def guard(context):
        raise Blocked("no")

    guard.__qualname__ = "guard"
    with pytest.raises(Blocked) as raised:
        way.process(Stack().with_(guard, match=match), BEFORE)
    assert raised.value.__notes__[0] == "raised by the hook 'guard'; to block, return Outcome.block(reason)"
