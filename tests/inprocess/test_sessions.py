"""`hooks.session()` and `hooks.asession()`: a start, an end in every case, and a start that is refused."""

from __future__ import annotations

import asyncio
import dataclasses
from contextlib import nullcontext, suppress

import pytest

from boathook.core.outcome import Outcome
from boathook.errors import Blocked, Stopped
from boathook.inprocess.contexts import SessionContext
from boathook.inprocess.hooks import Hooks


class Sync:
    """Sessions of a plain program."""

    def during(self, hooks: Hooks, work, **fields):
        with hooks.session("s", **fields) as context:
            return work(context)


class Async:
    """Sessions in an event loop."""

    def during(self, hooks: Hooks, work, **fields):
        async def main():
            async with hooks.asession("s", **fields) as context:
                return work(context)

        return asyncio.run(main())


@pytest.fixture(params=[Sync(), Async()], ids=["sync", "async"])
def sessions(request):
    return request.param


def listening() -> tuple[Hooks, list[SessionContext]]:
    hooks, heard = Hooks(), []
    hooks.session_start(priority=-1)(heard.append)
    hooks.session_end(heard.append)
    return hooks, heard


def test_a_session_begins_and_ends_with_all_that_belongs_to_it(sessions):
    hooks, heard = listening()
    state = object()
    fields = {"work_dir": "/w", "state": state, "extra": {"x": 1}, "model": "m", "source": "resume"}
    given = sessions.during(hooks, lambda context: context, **fields)
    begun = SessionContext.on_start(session_id="s", **fields)
    end = dataclasses.replace(begun, kind=SessionContext.on_end().kind, exit_reason="done")
    assert (given, heard) == (begun, [begun, end])


def test_values_left_at_the_start_are_there_at_the_end(sessions):
    hooks, heard = listening()
    hooks.session_start(lambda context: context.with_metadata("started", 5).add_context("be kind"))
    given = sessions.during(hooks, lambda context: context)
    assert (given.get("started"), given.additional_context) == (5, ("be kind",))
    assert [context.get("started") for context in heard] == [5, 5]


@pytest.mark.parametrize(
    ("error", "exit_reason"),
    [(ValueError("broken"), "error"), (Stopped("enough"), "done"), (KeyboardInterrupt(), "interrupted")],
    ids=repr,
)
def test_a_session_ends_also_after_an_error_for_the_reason_that_a_run_has(sessions, error, exit_reason):
    hooks, heard = listening()

    def work(context):
        raise error

    with pytest.raises(type(error)) as reported:
        sessions.during(hooks, work)
    assert reported.value is error
    assert [(context.event, context.exit_reason) for context in heard] == [
        ("pre-session", None),
        ("post-session", exit_reason),
    ]
    run = hooks.run()
    run.begin()
    run.end(error=error)
    assert heard[-1].exit_reason == exit_reason


@pytest.mark.parametrize("is_caught", [True, False])
def test_a_session_that_a_hook_stopped_ends_as_stopped(sessions, is_caught):
    hooks, heard = listening()
    hooks.before_tool(lambda _: Outcome.stop("enough"))
    tool = hooks.guard(lambda: None, name="tool")

    def work(context):
        with suppress(Stopped) if is_caught else nullcontext():
            tool()

    with nullcontext() if is_caught else pytest.raises(Stopped):
        sessions.during(hooks, work)
    assert heard[-1].exit_reason == "stopped"


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (Outcome.block("not today"), Blocked, "not today"),
        (Outcome.stop("enough"), Stopped, "enough"),
        (Outcome.block(""), Blocked, "blocked by a hook"),
        (Outcome.stop(""), Stopped, "stopped by a hook"),
    ],
    ids=["block", "stop", "block without reason", "stop without reason"],
)
def test_a_session_that_is_refused_neither_happens_nor_ends(sessions, answer, error, message):
    hooks, heard = listening()
    hooks.session_start(lambda context: answer)
    with pytest.raises(error) as raised:
        sessions.during(hooks, pytest.fail)
    assert raised.value.reason == message
    assert heard == []


def test_a_question_about_a_session_refuses_it(sessions):
    hooks, heard = listening()
    hooks.session_start(lambda context: Outcome.ask("sure?"))
    with pytest.raises(Blocked, match=r"sure\? \(a person can only be asked about tool calls, not at pre-session\)"):
        sessions.during(hooks, pytest.fail)
    assert [context.event for context in heard] == ["pre-session"]


@pytest.mark.parametrize("answer", [Outcome.block("no"), Outcome.stop("no")], ids=["block", "stop"])
def test_the_end_of_a_session_cannot_be_refused(sessions, answer):
    hooks, _ = listening()
    hooks.session_end(lambda context: answer)
    assert sessions.during(hooks, lambda context: "done") == "done"


def test_hooks_that_are_added_in_a_session_receive_its_end(sessions):
    hooks, heard = Hooks(), []
    sessions.during(hooks, lambda context: hooks.session_end(heard.append))
    assert [context.event for context in heard] == ["post-session"]


def test_async_hooks_work_in_both(sessions):
    hooks, heard = Hooks(), []

    @hooks.session_start
    async def start(context):
        await asyncio.sleep(0)
        return context.with_metadata("later", True)

    @hooks.session_end
    async def end(context):
        await asyncio.sleep(0)
        heard.append(context.get("later"))

    sessions.during(hooks, lambda context: None)
    assert heard == [True]


def test_a_session_that_is_cancelled_ends():
    hooks, heard = listening()

    async def main():
        async with hooks.asession("s"):
            begun.set()
            await asyncio.Event().wait()

    async def outer():
        task = asyncio.ensure_future(main())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    begun = asyncio.Event()
    asyncio.run(outer())
    assert [(context.event, context.exit_reason) for context in heard][-1] == ("post-session", "interrupted")
