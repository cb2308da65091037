"""Middleware (S26): around the rest of a chain, of either colour, in either kind of program."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from contextlib import nullcontext, suppress

import pytest

from boathook.core.outcome import NOTHING, Decision, Outcome
from boathook.errors import Blocked, HookError, Stopped
from boathook.inprocess.operations import ToolCall
from boathook.inprocess.stack import Stack
from tests.inprocess.builders import BEFORE, CALL, EVERY, noting, stacked

VARIABLE = contextvars.ContextVar("VARIABLE", default="outside")


class Both:
    """Middleware in both colours, from two functions: what is handed on, and what is made of what came of it."""

    def __init__(self, way_in=None, way_out=None):
        self.way_in = way_in or (lambda context: context)
        self.way_out = way_out or (lambda context, found: found)

    def sync(self):
        def around(context, go_on):
            return self.way_out(context, go_on(self.way_in(context)))

        return around

    def asynchronous(self):
        async def around(context, go_on):
            await asyncio.sleep(0)
            return self.way_out(context, await go_on(self.way_in(context)))

        return around


@pytest.fixture(params=["sync", "asynchronous"])
def colour(request):
    """Return middleware of one colour."""
    return lambda *args: getattr(Both(*args), request.param)()


def run(call: ToolCall) -> str:
    return f"ran {call.args['command']}"


# In and out


def test_middleware_is_around_the_operation(way, colour):
    notes = []
    around = colour(lambda context: notes.append("in") or context, lambda context, found: notes.append("out") or found)
    assert way.run_tool(stacked(around, on="pre-tool-call"), CALL, lambda call: notes.append("operation")) is None
    assert notes == ["in", "operation", "out"]


def test_middleware_changes_the_call_on_the_way_in_and_the_result_on_the_way_out(way, colour):
    around = colour(
        lambda context: context.replace(args={"command": "ls -l"}),
        lambda context, found: Outcome.proceed(found.context.replace(result=found.context.result.upper())),
    )
    assert way.run_tool(stacked(around, on="pre-tool-call"), CALL, run) == "RAN LS -L"


def test_middleware_is_nested_in_the_order_of_its_priority(way):
    notes = []

    def named(name):
        return Both(lambda context: notes.append(f"{name} in") or context, lambda c, found: notes.append(f"{name} out"))

    stack = Stack()
    for place, name in enumerate("abcdef"):
        made = named(name)
        stack = stack.with_(made.sync() if place % 2 else made.asynchronous(), on="pre-tool-call", priority=-place)
    stack = stack.with_(noting(notes, "plain"), on="pre-tool-call", priority=-3)
    assert way.run_tool(stack, CALL, run) == "ran ls"
    ins = ["a in", "b in", "c in", "d in", "plain", "e in", "f in"]
    assert notes == ins + [f"{name} out" for name in "fedcba"]


@pytest.mark.parametrize("inner_async", [False, True], ids=["sync inside", "async inside"])
def test_colours_can_be_mixed_at_every_depth(way, colour, inner_async):
    async def later(context):
        await asyncio.sleep(0)
        return context.with_metadata("seen", True)

    def now(context):
        return context.with_metadata("seen", True)

    stack = stacked(colour(), colour(), later if inner_async else now, colour())
    assert way.process(stack, BEFORE).context.get("seen") is True


def test_a_class_with_handle_may_be_async(way):
    class Guard:
        async def handle(self, context, go_on):
            found = await go_on(context.with_metadata("guarded", True))
            assert found.context.get("guarded")
            return found

    assert way.run_tool(stacked(Guard(), on="pre-tool-call"), CALL, run) == "ran ls"


# How often it goes on


def test_middleware_that_goes_on_nowhere_may_block(way):
    notes = []
    stack = stacked(lambda context, go_on: Outcome.block("no"), noting(notes, "later"))
    with pytest.raises(Blocked, match="no"):
        way.run_tool(stack, CALL, noting(notes, "operation"))
    assert notes == []


SILENT = {
    "None": lambda context: None,
    "proceed": lambda context: Outcome.proceed(),
    "proceed with the context": Outcome.proceed,
    "the context": lambda context: context,
}


EXPLICIT = {name: answer for name, answer in SILENT.items() if answer(BEFORE) is not None}


@pytest.mark.parametrize("failure", ["raise", "block", "allow"])
def test_middleware_that_returns_nothing_and_does_not_go_on_has_failed(way, failure):
    notes = []

    def forget(context, go_on): ...

    async def aforget(context, go_on): ...

    for hook in (forget, aforget):
        hook.__qualname__ = "forget"
        stack = Stack().with_(hook, on="pre-tool-call", on_failure=failure)
        error = {"raise": HookError, "block": Blocked, "allow": None}[failure]
        with pytest.raises(error, match="forget returned nothing and did not call `next`") if error else nullcontext():
            way.run_tool(stack, CALL, lambda call: notes.append("operation"))
    assert notes == (["operation"] * 2 if failure == "allow" else [])


@pytest.mark.parametrize("answer", EXPLICIT.values(), ids=EXPLICIT)
def test_middleware_that_returns_its_context_and_does_not_go_on_lets_the_call_go_on(way, answer):
    notes = []

    def around(context, go_on):
        return answer(context)

    stack = stacked(around, noting(notes, "later"), on="pre-tool-call")
    assert way.run_tool(stack, CALL, lambda call: notes.append("operation") or "done") == "done"
    assert notes == ["later", "operation"]


@pytest.mark.parametrize("answer", SILENT.values(), ids=SILENT)
def test_middleware_that_forgets_to_return_the_outcome_is_forgiven(way, colour, answer):
    stack = stacked(colour(None, lambda context, found: answer(context)), on="pre-tool-call")
    assert way.run_tool(stack, CALL, run) == "ran ls"
    guard = stack.with_(lambda context: Outcome.block("no"), on="pre-tool-call")
    with pytest.raises(Blocked, match="no"):
        way.run_tool(guard, CALL, run)


def test_an_opinion_without_going_on_counts_like_that_of_a_plain_hook(way):
    notes = []
    changed = BEFORE.replace(args={"command": "ls -l"})
    stack = stacked(lambda context, go_on: Outcome.ask("sure?").replace(context=changed), noting(notes, "later"))
    assert way.process(stack, BEFORE) == Outcome.ask("sure?").replace(context=changed)
    assert notes == ["later"]


def test_middleware_may_answer_in_place_of_the_operation(way):
    notes = []
    stack = stacked(lambda context, go_on: Outcome.proceed(context.after("from memory")), on="pre-tool-call")
    assert way.run_tool(stack.with_(noting(notes)), CALL, noting(notes, "operation")) == "from memory"
    assert notes == []


def test_middleware_may_try_again(way):
    tries = []

    def operation(call):
        tries.append(call.args["command"])
        if len(tries) < 3:
            raise OSError(f"try {len(tries)}")
        return "done"

    def retry(context, go_on):
        found = go_on(context)
        while found.context.error is not None:
            found = go_on(context.replace(args={"command": f"ls {len(tries)}"}))
        return found

    assert way.run_tool(stacked(retry, on="pre-tool-call"), CALL, operation) == "done"
    assert tries == ["ls", "ls 1", "ls 2"]


def test_the_last_of_several_counts_if_none_is_given_back_and_any_may_be(way):
    def thrice(context, go_on):
        return [go_on(context.replace(args={"command": str(n)})) for n in range(3)]

    assert way.run_tool(stacked(lambda c, go_on: thrice(c, go_on) and None, on="pre-tool-call"), CALL, run) == "ran 2"
    assert way.run_tool(stacked(lambda c, go_on: thrice(c, go_on)[0], on="pre-tool-call"), CALL, run) == "ran 0"


@pytest.mark.parametrize("timeout", [None, 60], ids=["any time", "in time"])
def test_async_middleware_may_go_on_twice_at_once(timeout):
    async def race(context, go_on):
        one, other = await asyncio.gather(
            go_on(context.replace(args={"command": "a"})), go_on(context.replace(args={"command": "b"}))
        )
        return Outcome.proceed(one.context.replace(result=(one.context.result, other.context.result)))

    stack = stacked(race, on="pre-tool-call", timeout=timeout)
    assert stack.run_tool(CALL, run) == ("ran a", "ran b")
    assert asyncio.run(stack.arun_tool(CALL, run)) == ("ran a", "ran b")


def test_next_without_an_argument_goes_on_with_the_context_as_given(way):
    assert way.run_tool(stacked(lambda context, go_on: go_on(), on="pre-tool-call"), CALL, run) == "ran ls"


# What it may and may not return


def test_an_answer_without_decision_leaves_that_of_the_rest(way):
    noted = stacked(
        lambda context, go_on: go_on(context).context.add_message("I was there"), lambda context: Outcome.block("no")
    )
    assert way.process(noted, BEFORE) == Outcome.block("no").replace(context=BEFORE.add_message("I was there"))


def test_middleware_may_object_on_the_way_out(way, colour):
    stack = stacked(colour(None, lambda context, found: Outcome.block("not this")), on="pre-tool-call")
    with pytest.raises(Blocked, match="not this") as reported:
        way.run_tool(stack, CALL, run)
    assert reported.value.result == "ran ls"


def test_middleware_cannot_go_back_before_the_operation(way):
    def guard(context, go_on):
        go_on(context)
        return context.add_message("too late")

    guard.__qualname__ = "guard"
    with pytest.raises(HookError) as reported:
        way.run_tool(stacked(guard, on="pre-tool-call"), CALL, run)
    assert str(reported.value) == "guard returned a ToolContext of pre-tool-call at post-tool-call"


WRONG_NEXT = {
    "another context": (EVERY["notification"], "guard called `next` with a NotificationContext at pre-tool-call"),
    "the context of another moment": (
        EVERY["post-tool-call"],
        "guard called `next` with a ToolContext at pre-tool-call",
    ),
    "arguments": ({"command": "ls"}, "guard called `next` with a dict at pre-tool-call"),
}


@pytest.mark.parametrize(("handed_on", "message"), WRONG_NEXT.values(), ids=WRONG_NEXT)
def test_middleware_hands_on_a_context_of_the_event(way, colour, handed_on, message):
    guard = colour(lambda context: handed_on)
    guard.__qualname__ = "guard"
    with pytest.raises(HookError) as error:
        way.process(stacked(guard), BEFORE)
    assert str(error.value) == message
    blocked = way.process(stacked(guard, on_failure="block"), BEFORE)
    assert blocked == Outcome.block(f"hook 'guard' failed: HookError: {message}")


@pytest.mark.parametrize("timeout", [None, 60], ids=["any time", "in time"])
def test_next_is_of_no_use_after_its_middleware_has_ended(way, colour, timeout):
    remaining, notes = [], []
    stack = stacked(colour(None, lambda context, found: found), noting(notes, "later"))
    around = stack.layers[0].hook

    def keeping(context, go_on):
        remaining.append(go_on)
        return around(context, go_on)

    async def akeeping(context, go_on):
        remaining.append(go_on)
        return await around(context, go_on)

    keep = akeeping if stack.layers[0].is_async else keeping
    keep.__qualname__ = "guard"
    way.process(Stack().with_(keep, timeout=timeout).with_(noting(notes, "later")), BEFORE)

    def again():
        answer = remaining[0](BEFORE)
        return asyncio.run(answer) if asyncio.iscoroutine(answer) else answer

    with pytest.raises(HookError, match="guard called `next` after it had ended"):
        again()
    assert notes == ["later"]


# Outcomes before it


def test_a_question_before_middleware_is_asked_before_the_operation(way, colour):
    asked, notes = [], []
    stack = stacked(lambda context: Outcome.ask("sure?"), colour(), on="pre-tool-call")
    with pytest.raises(Blocked, match=r"sure\? \(no person can be asked\)"):
        way.run_tool(stack, CALL, noting(notes, "operation"))
    assert notes == []
    with_person = stack.with_ask(lambda context, reason: asked.append(reason) or True)
    assert way.run_tool(with_person, CALL, run) == "ran ls"
    assert asked == ["sure?"]


def test_a_question_that_was_answered_inside_is_settled(way, colour):
    stack = stacked(lambda context: Outcome.ask("sure?"), colour(), on="pre-tool-call").with_ask(lambda *_: True)
    outcome = way.process(stack, BEFORE, lambda context: context.after(context.is_allowed))
    assert outcome == Outcome(Decision.ALLOW, context=outcome.context)
    assert outcome.context.result is True


def test_outcomes_before_middleware_are_not_lost(way, colour):
    stack = stacked(lambda context: Outcome.ask("sure?").replace(messages=("m",)), colour())
    assert way.process(stack, BEFORE) == Outcome.ask("sure?").replace(context=BEFORE.add_message("m"))
    allowing = stacked(lambda context: Outcome(Decision.ALLOW), colour(), on="pre-tool-call")
    assert way.process(allowing, BEFORE, lambda context: context.after(context.is_allowed)).context.result is True


# What comes from inside


class Custom(Exception):
    """An error that middleware knows nothing of."""


@pytest.mark.parametrize("failure", ["raise", "allow", "block"])
@pytest.mark.parametrize("error", [Custom("inside"), Stopped("enough"), TimeoutError("slow")], ids=repr)
def test_what_is_raised_inside_passes_through_untouched(way, colour, failure, error):
    def broken(context):
        raise error

    around = colour()
    stack = Stack().with_(around, on_failure=failure, timeout=60).with_(around, on_failure=failure).with_(broken)
    with pytest.raises(type(error)) as reported:
        way.process(stack, BEFORE)
    assert reported.value is error


@pytest.mark.parametrize("failure", ["raise", "allow", "block"])
def test_a_stop_in_the_operation_is_not_a_failure_of_a_hook(way, colour, failure):
    stop, notes = Stopped("enough"), []

    def operation(call):
        raise stop

    stack = Stack().with_(colour(), on_failure=failure).with_(noting(notes), on="post-tool-call-failure")
    with pytest.raises(Stopped) as reported:
        way.run_tool(stack, CALL, operation)
    assert reported.value is stop
    assert notes == []


def test_middleware_that_swallows_an_error_and_returns_nothing_does_not_hide_it(way):
    tries = []

    def broken(context):
        tries.append(1)
        raise Custom("inside")

    def swallowing(context, go_on):
        with suppress(Custom):
            go_on(context)

    with pytest.raises(Custom, match="inside"):
        way.process(stacked(swallowing, broken), BEFORE)
    assert tries == [1]


def test_middleware_may_make_something_of_an_error(way):
    def broken(context):
        raise Custom("inside")

    def handling(context, go_on):
        try:
            return go_on(context)
        except Custom as error:
            return Outcome.block(f"handled: {error}")

    assert way.process(stacked(handling, broken), BEFORE) == Outcome.block("handled: inside")


def test_a_system_exit_passes_through(way, colour):
    def leaving(context):
        raise SystemExit(3)

    with pytest.raises(SystemExit) as reported:
        way.process(stacked(colour(), leaving, on_failure="allow"), BEFORE)
    assert reported.value.code == 3


# Where it runs


def test_the_operation_stays_on_the_thread_that_called_it(colour):
    stack = stacked(colour(), colour(), timeout=60).with_(colour())
    threads = []

    def operation(call):
        threads.append(threading.current_thread())

    stack.run_tool(CALL, operation)
    asyncio.run(stack.arun_tool(CALL, operation))
    assert threads == [threading.current_thread()] * 2


def test_context_variables_reach_the_operation(way, colour):
    seen = []

    def setting(context):
        VARIABLE.set(VARIABLE.get() + "+")
        return context

    VARIABLE.set("outside")
    stack = stacked(colour(setting), colour(setting), on="pre-tool-call").with_(
        colour(setting), on="PreToolUse", timeout=60
    )
    way.run_tool(stack, CALL, lambda call: seen.append(VARIABLE.get()))
    assert seen == ["outside+++"]


def test_cancelling_reaches_the_operation_through_sync_middleware():
    notes = []

    def around(context, go_on):
        try:
            return go_on(context)
        except BaseException as error:
            notes.append(type(error).__name__)
            raise
        finally:
            ended.set()

    async def operation(call):
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            notes.append("operation cancelled")
            raise

    async def main():
        task = asyncio.ensure_future(stacked(around, on="pre-tool-call").arun_tool(CALL, operation))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    ended, begun = threading.Event(), asyncio.Event()
    asyncio.run(main())
    assert ended.wait(30)
    assert notes == ["operation cancelled", "CancelledError"]


def test_async_hooks_are_refused_where_an_event_loop_would_be_held_up(colour):
    async def later(context): ...

    async def main(stack):
        stack.process(BEFORE)

    around = colour()
    for hook in (later, around) if asyncio.iscoroutinefunction(around) else (later,):
        hook.__qualname__ = "guard"
        with pytest.raises(HookError) as reported:
            asyncio.run(main(stacked(hook)))
        message = "await the async form instead, or write `async with`"
        assert str(reported.value) == f"guard is async, and an event loop runs here: {message}"


def test_sync_middleware_works_in_a_plain_program_inside_of_an_event_loop():
    async def main():
        return stacked(lambda context, go_on: go_on(context), on="pre-tool-call").run_tool(CALL, run)

    assert asyncio.run(main()) == "ran ls"


def test_an_empty_rest_of_the_chain_returns_nothing(way, colour):
    found = []
    assert way.process(stacked(colour(None, lambda context, rest: found.append(rest))), BEFORE) == NOTHING
    assert [(rest.decision, rest.context) for rest in found] == [(Decision.NONE, BEFORE)]
