"""What hooks return, and its effect (S20, S26)."""

from __future__ import annotations

import pytest

from boathook.core.outcome import NOTHING, Decision, Outcome
from boathook.errors import HookError
from boathook.inprocess.hooks import Hooks
from boathook.inprocess.stack import Stack
from tests.inprocess.builders import BEFORE, EVERY, as_async, stacked

CHANGED = BEFORE.replace(args={"command": "ls -l"})
ALLOW = Outcome(Decision.ALLOW, ((Decision.ALLOW, "fine"),))
ANSWERS = {
    "None": (None, NOTHING),
    "proceed": (Outcome.proceed(), NOTHING),
    "an empty outcome": (Outcome(), NOTHING),
    "proceed with the same context": (Outcome.proceed(BEFORE), NOTHING),
    "the same context": (BEFORE, NOTHING),
    "proceed with a changed context": (Outcome.proceed(CHANGED), Outcome(context=CHANGED)),
    "a changed context": (CHANGED, Outcome(context=CHANGED)),
    "block": (Outcome.block("no"), Outcome.block("no")),
    "stop": (Outcome.stop("enough"), Outcome.stop("enough")),
    "ask": (Outcome.ask("sure?"), Outcome.ask("sure?")),
    "allow": (ALLOW, ALLOW),
    "block with a changed context": (
        Outcome.block("no").replace(context=CHANGED),
        Outcome.block("no").replace(context=CHANGED),
    ),
    "an outcome with texts": (
        Outcome(contexts=("know this",), messages=("read this",)),
        Outcome(context=BEFORE.add_context("know this").add_message("read this")),
    ),
}
FORMS = {
    "plain": lambda said: lambda context: said,
    "plain async": lambda said: as_async(lambda context: said),
    "around": lambda said: lambda context, go_on: said,
    "after go_on": lambda said: lambda context, go_on: (go_on(context), said)[1],
    "one of several": lambda said: lambda context: said,
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize(("answer", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_an_answer_means_the_same_in_every_form(way, form, answer, expected):
    if answer is None and form is FORMS["around"]:
        # Middleware has to call `next`, or to say that it does not.
        with pytest.raises(HookError, match="returned nothing and did not call `next`"):
            way.process(stacked(form(answer)), BEFORE)
        return
    hooks = [form(answer), lambda context: None] if form is FORMS["one of several"] else [form(answer)]
    assert way.process(stacked(*hooks), BEFORE) == expected


def test_an_outcome_without_context_keeps_what_earlier_hooks_made(way):
    stack = stacked(lambda context: CHANGED, lambda context: Outcome.proceed(), lambda context: Outcome.ask("sure?"))
    assert way.process(stack, BEFORE) == Outcome.ask("sure?").replace(context=CHANGED)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_block_keeps_what_earlier_hooks_made(way, form):
    stack = stacked(lambda context: CHANGED.add_message("look"), form(Outcome.block("no")))
    assert way.process(stack, BEFORE) == Outcome.block("no").replace(context=CHANGED.add_message("look"))


def test_later_hooks_see_what_earlier_ones_changed(way):
    def more(context):
        return context.replace(args={"command": context.args["command"] + "!"})

    stack = stacked(
        more, lambda context: Outcome.proceed(more(context)), lambda context, go_on: go_on(more(context)), more
    )
    assert way.process(stack, BEFORE).context.args == {"command": "ls!!!!"}


def test_opinions_add_up_and_the_heaviest_counts(way):
    stack = stacked(lambda context: ALLOW, lambda context: Outcome.ask("sure?"), lambda context: Outcome.ask("really?"))
    outcome = way.process(stack, BEFORE)
    answers = ((Decision.ALLOW, "fine"), (Decision.ASK, "sure?"), (Decision.ASK, "really?"))
    assert outcome == Outcome(Decision.ASK, answers)
    assert outcome.reason == "sure?\nreally?"


# What is not an answer


async def some(context): ...
def yielding(context):
    yield context


def coroutine(context):
    return some(context)


async def async_yielding(context):
    yield context


WANTED = "it must return None, an Outcome or a changed context"
WRONG = {
    "True": (lambda context: True, f"{{}} returned bool; {WANTED}"),
    "False": (lambda context: False, f"{{}} returned bool; {WANTED}"),
    "a dict": (lambda context: {}, f"{{}} returned dict; {WANTED}"),
    "a text": (lambda context: "ok", f"{{}} returned str; {WANTED}"),
    "a decision": (lambda context: Decision.BLOCK, f"{{}} returned Decision; {WANTED}"),
    "another context": (lambda context: EVERY["notification"], "{} returned a NotificationContext at pre-tool-call"),
    "another context in an outcome": (
        lambda context: Outcome.proceed(EVERY["notification"]),
        "{} returned a NotificationContext at pre-tool-call",
    ),
    "the context of another moment": (
        lambda context: context.after("done"),
        "{} returned a ToolContext of post-tool-call at pre-tool-call",
    ),
    "no context in an outcome": (lambda context: Outcome.proceed("ls"), "{} returned a str at pre-tool-call"),
    "a coroutine": (coroutine, "{} returned something to await; declare it with `async def`"),
    "a generator": (yielding, f"{{}} returned generator; {WANTED}"),
    "an async generator": (async_yielding, f"{{}} returned async_generator; {WANTED}"),
}


@pytest.mark.parametrize("many", [False, True], ids=["alone", "behind a matcher"])
@pytest.mark.parametrize(("hook", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_answer_is_an_error_of_the_hook_and_reported(way, many, hook, message):
    hook.__qualname__ = "guard"
    with pytest.raises(HookError) as error:
        way.process(Stack().with_(hook, match="bash" if many else None), BEFORE)
    assert str(error.value) == message.format("guard")


NOT_AROUND = ("the context of another moment", "a generator", "an async generator")
WRONG_AROUND = {name: row for name, row in WRONG.items() if name not in NOT_AROUND}


@pytest.mark.parametrize(("hook", "message"), WRONG_AROUND.values(), ids=WRONG_AROUND)
def test_a_wrong_answer_of_middleware_is_reported_in_the_same_words(way, hook, message):
    def around(context, go_on):
        go_on(context)
        return hook(context)

    around.__qualname__ = "guard"
    with pytest.raises(HookError) as error:
        way.process(stacked(around), BEFORE)
    assert str(error.value) == message.format("guard")


@pytest.mark.parametrize(("failure", "expected"), [("allow", "none"), ("block", "block")])
def test_a_wrong_answer_is_a_failure_like_others(way, failure, expected):
    def guard(context):
        return True

    guard.__qualname__ = "guard"
    outcome = way.process(Stack().with_(guard, on_failure=failure), BEFORE)
    message = (
        "hook 'guard' failed: HookError: guard returned bool; it must return None, an Outcome or a changed context"
    )
    if expected == "block":
        assert outcome == Outcome.block(message)
    else:
        assert outcome == Outcome(context=BEFORE.add_message(message))


def test_a_change_that_the_event_does_not_allow_is_an_error_of_the_hook(way):
    hooks = Hooks(on_failure="block")

    @hooks.after_tool
    def meddling(context):
        return context.replace(args={})

    outcome = way.process(hooks.stack, EVERY["post-tool-call"])
    message = "HookError: 'args' cannot be changed at post-tool-call: only result can"
    assert outcome.reason.endswith(message)


def test_values_travel_along_a_run(way):
    def start(context):
        return context.with_metadata("started", 5)

    seen = []
    stack = Stack().with_(start, on="pre-tool-call").with_(lambda context: seen.append(context.get("started")))
    way.run_tool(stack, type("Call", (), {"name": "bash", "args": {}, "id": ""})(), lambda call: None)
    assert seen == [5, 5]


def test_the_error_of_an_async_hook_that_does_not_await_names_the_place(way):
    async def around(context, go_on):
        return go_on(context)

    async def alone(context):
        return coroutine(context)

    for hook, how in ((around, r"write `return await next\(context\)`"), (alone, "await it in the hook")):
        with pytest.raises(HookError, match=rf"returned something to await; {how}"):
            way.process(stacked(hook), BEFORE)
