"""Tools that yield: what they yield is handed on as it comes, hooks receive the whole at the end."""

from __future__ import annotations

import asyncio
import gc
from contextlib import aclosing

import pytest

from boathook.core.outcome import Outcome
from boathook.errors import Blocked, HookError, Stopped
from boathook.inprocess.hooks import Hooks
from boathook.inprocess.stack import Stack
from tests.inprocess.builders import CALL

WHOLE = [("pre-tool-call", None), ("post-tool-call", ("a", "b", "c"))]


class Stream:
    """A tool that yields three items and notes when it makes each."""

    def __init__(self, notes: list, error: Exception | None = None) -> None:
        self.notes, self.error = notes, error

    def sync(self, call):
        try:
            for item in "abc":
                self.notes.append(f"made {item}")
                yield item
                if self.error is not None:
                    raise self.error
        finally:
            self.notes.append("closed")

    async def asynchronous(self, call):
        try:
            for item in "abc":
                self.notes.append(f"made {item}")
                yield item
                if self.error is not None:
                    raise self.error
        finally:
            self.notes.append("closed")


def listening(notes: list) -> Hooks:
    """Hooks that note every event of a call with its result or error."""
    hooks = Hooks()
    for name in ("before_tool", "after_tool", "tool_failed"):
        getattr(hooks, name)(lambda context: notes.append((context.event, context.result or context.error)))
    return hooks


class Plain:
    """Consume a stream in a plain program."""

    def run(self, stack: Stack, stream: Stream, most: int | None = None) -> list:
        return self._taken(stack.run_tool(CALL, stream.sync), stream, most)

    def _taken(self, items, stream: Stream, most: int | None) -> list:
        found = []
        for item in items:
            stream.notes.append(f"got {item}")
            found.append(item)
            if len(found) == most:
                break
        items.close()
        return found


class PlainInLoop(Plain):
    """Consume the stream of a sync tool in an event loop."""

    def run(self, stack: Stack, stream: Stream, most: int | None = None) -> list:
        async def main():
            return self._taken(await stack.arun_tool(CALL, stream.sync), stream, most)

        return asyncio.run(main())


class InLoop:
    """Consume the stream of an async tool."""

    def run(self, stack: Stack, stream: Stream, most: int | None = None) -> list:
        return asyncio.run(self._run(stack, stream, most))

    async def _run(self, stack, stream, most):
        found = []
        async with aclosing(await stack.arun_tool(CALL, stream.asynchronous)) as items:
            async for item in items:
                stream.notes.append(f"got {item}")
                found.append(item)
                if len(found) == most:
                    break
        return found


WAYS = {"plain": Plain(), "plain in a loop": PlainInLoop(), "async": InLoop()}


@pytest.fixture(params=WAYS.values(), ids=WAYS)
def consumer(request):
    return request.param


def test_items_are_handed_on_one_by_one(consumer):
    notes = []
    assert consumer.run(listening(notes).stack, Stream(notes)) == ["a", "b", "c"]
    steps = ["made a", "got a", "made b", "got b", "made c", "got c", "closed"]
    assert notes == [WHOLE[0], *steps, WHOLE[1]]


def test_a_consumer_that_stops_early_closes_the_tool_and_hooks_receive_its_items(consumer):
    notes = []
    assert consumer.run(listening(notes).stack, Stream(notes), most=1) == ["a"]
    assert notes == [WHOLE[0], "made a", "got a", "closed", ("post-tool-call", ("a",))]


def test_an_error_in_a_stream_is_raised_as_it_is_and_hooks_receive_it(consumer):
    notes, error = [], ValueError("broken")
    hooks = listening(notes)
    hooks.tool_failed(lambda context: Outcome.block("try another"))
    with pytest.raises(ValueError, match="broken") as reported:
        consumer.run(hooks.stack, Stream(notes, error))
    assert reported.value is error
    assert error.__notes__ == ["try another"]
    assert notes == [WHOLE[0], "made a", "got a", "closed", ("post-tool-call-failure", error)]


def test_a_stop_in_a_stream_ends_the_run_and_is_not_a_failure(consumer):
    notes, stop = [], Stopped("enough")
    with pytest.raises(Stopped) as reported:
        consumer.run(listening(notes).stack, Stream(notes, stop))
    assert reported.value is stop
    assert notes == [WHOLE[0], "made a", "got a", "closed"]


def test_a_hook_may_end_the_run_after_the_error_of_a_stream(consumer):
    error = ValueError("broken")
    stack = Stack().with_(lambda context: Outcome.stop("enough"), on="post-tool-call-failure")
    with pytest.raises(Stopped, match="enough") as reported:
        consumer.run(stack, Stream([], error))
    assert reported.value.__cause__ is error


def test_an_objection_comes_when_all_was_handed_on(consumer):
    notes = []
    stack = Stack().with_(lambda context: Outcome.block("secret"), on="post-tool-call")
    with pytest.raises(Blocked) as reported:
        consumer.run(stack, Stream(notes))
    assert (reported.value.reason, reported.value.result) == ("secret", ("a", "b", "c"))
    assert notes[-2:] == ["got c", "closed"]


def test_a_stop_after_a_stream_ends_the_run(consumer):
    stack = Stack().with_(lambda context: Outcome.stop("enough"), on="post-tool-call")
    with pytest.raises(Stopped, match="enough"):
        consumer.run(stack, Stream([]))


def test_what_was_handed_on_cannot_be_replaced(consumer):
    stack = Stack().with_(lambda context: context.replace(result="***"), on="post-tool-call")
    with pytest.raises(HookError) as reported:
        consumer.run(stack, Stream([]))
    assert str(reported.value) == "a hook replaced the result of a stream, but its parts were passed on already"
    same = Stack().with_(lambda context: context.replace(result=("a", "b", "c")), on="post-tool-call")
    assert consumer.run(same, Stream([])) == ["a", "b", "c"]


def test_a_stream_that_is_blocked_never_begins(consumer):
    notes = []
    with pytest.raises(Blocked):
        consumer.run(Stack().with_(lambda context: Outcome.block("no"), on="pre-tool-call"), Stream(notes))
    assert notes == []


def test_middleware_lets_a_stream_pass(consumer):
    notes = []
    stack = listening(notes).stack.with_(lambda context, go_on: go_on(context), on="pre-tool-call")
    assert consumer.run(stack, Stream(notes)) == ["a", "b", "c"]
    assert notes[-1] == WHOLE[1]


def test_how_long_a_stream_took_is_recorded(consumer):
    times = []
    consumer.run(Stack().with_(lambda context: times.append(context.duration_ms)), Stream([]))
    assert [took is None for took in times] == [True, False]


def test_a_generator_is_the_same_generator_to_its_caller():
    def talking(call):
        heard = []
        try:
            heard.append((yield "first"))
            heard.append((yield "second"))
        except KeyError:
            heard.append((yield "forgiven"))
        return heard

    results = []
    stack = Stack().with_(lambda context: results.append(context.result), on="post-tool-call")
    stream = stack.run_tool(CALL, talking)
    assert (next(stream), stream.send(1), stream.throw(KeyError("x"))) == ("first", "second", "forgiven")
    with pytest.raises(StopIteration) as end:
        stream.send(2)
    assert end.value.value == [1, 2]
    assert results == [("first", "second", "forgiven")]


def test_a_stream_that_is_never_begun_is_not_a_call(way):
    notes = []
    hooks = listening(notes)
    if way.__class__.__name__ == "Sync":
        hooks.stack.run_tool(CALL, Stream(notes).sync).close()
    else:

        async def main():
            await (await hooks.stack.arun_tool(CALL, Stream(notes).asynchronous)).aclose()

        asyncio.run(main())
    gc.collect()
    assert notes == [WHOLE[0]]


def test_async_hooks_receive_the_result_of_an_async_stream():
    notes = []

    async def after(context):
        await asyncio.sleep(0)
        notes.append(context.result)

    assert InLoop().run(Stack().with_(after, on="post-tool-call"), Stream([])) == ["a", "b", "c"]
    assert InLoop().run(Stack().with_(after, on="post-tool-call"), Stream([]), most=2) == ["a", "b"]
    assert notes == [("a", "b", "c"), ("a", "b")]


def test_an_iterator_that_is_not_a_generator_is_a_result_like_others(way):
    results = []
    stack = Stack().with_(lambda context: results.append(context.result), on="post-tool-call")
    found = way.run_tool(stack, CALL, lambda call: iter("abc"))
    assert results == [found]
    assert list(found) == ["a", "b", "c"]
