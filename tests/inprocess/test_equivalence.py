"""A stack means the same in a plain program and in an event loop, for any hooks."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from boathook.core.outcome import Decision, Outcome
from boathook.inprocess.contexts import Context
from boathook.inprocess.stack import Stack
from tests.inprocess.builders import CALL, EVERY, Async, Sync, fresh, untimed

ALLOW = Outcome(Decision.ALLOW, ((Decision.ALLOW, "fine"),))


class Broken(Exception):
    """What hooks and operations here raise."""


def changed(context: Context, mark: str) -> Context:
    """Return the context changed in the way its event allows."""
    ways = {"pre-tool-call": "args", "permission-request": "args", "post-tool-call": "result"}
    if (name := ways.get(context.event)) is None:
        return context.with_metadata("mark", mark)
    return context.replace(**{name: {"command": mark}})


def raised(context: Context, mark: str) -> Any:
    raise Broken(mark)


REPLIES = {
    "nothing": lambda context, mark: None,
    "proceed": lambda context, mark: Outcome.proceed(),
    "the same": lambda context, mark: context,
    "changed": changed,
    "proceed changed": lambda context, mark: Outcome.proceed(changed(context, mark)),
    "texts": lambda context, mark: Outcome(contexts=(mark,), messages=(mark,)),
    "allow": lambda context, mark: ALLOW,
    "ask": lambda context, mark: Outcome.ask(mark),
    "block": lambda context, mark: Outcome.block(mark),
    "stop": lambda context, mark: Outcome.stop(mark),
    "wrong": lambda context, mark: mark,
    "another moment": lambda context, mark: EVERY["notification"],
    "raise": raised,
}
OUT = {**{f"own {name}": said for name, said in REPLIES.items()}, "what came": None, "what came first": None}
MATCHES = {
    "every": None,
    "bash": lambda context: context.tool == "bash",
    "marked": lambda context: context.get("mark") is not None,
    "broken": lambda context: raised(context, "match"),
}
EVENTS = (None, "pre-tool-call", "post-tool-call", "post-tool-call-failure", "permission-request")


@dataclass(frozen=True)
class Plain:
    """A plain hook, as data."""

    said: str
    is_async: bool

    def made(self, notes: list, mark: str):
        def hook(context):
            notes.append((mark, context.event, getattr(context, "args", None)))
            return REPLIES[self.said](context, mark)

        async def ahook(context):
            await asyncio.sleep(0)
            return hook(context)

        return ahook if self.is_async else hook


@dataclass(frozen=True)
class Around:
    """Middleware, as data: what it hands on, how often, and what it returns then."""

    hands_on: str
    times: int
    said: str
    swallows: bool
    is_async: bool

    def made(self, notes: list, mark: str):
        def before(context):
            notes.append((mark, "in", context.event))
            return changed(context, mark) if self.hands_on == "changed" else context

        def after(context, found):
            notes.append((mark, "out", len(found)))
            if not self.said.startswith("own "):
                return found[0 if self.said == "what came first" else -1] if found else None
            return REPLIES[self.said.removeprefix("own ")](context, mark)

        def hook(context, go_on):
            found = []
            given = before(context)
            for _ in range(self.times):
                try:
                    found.append(go_on(given))
                except Broken:
                    if not self.swallows:
                        raise
            return after(context, found)

        async def ahook(context, go_on):
            found = []
            given = before(context)
            for _ in range(self.times):
                try:
                    found.append(await go_on(given))
                except Broken:
                    if not self.swallows:
                        raise
            return after(context, found)

        return ahook if self.is_async else hook


@dataclass(frozen=True)
class Placed:
    """A hook and how it is added."""

    hook: Plain | Around
    on: str | None = None
    priority: int = 0
    match: str = "every"
    on_failure: str = "raise"
    timeout: float | None = None


@dataclass
class Observed:
    """What a stack made of an event: the outcome or the error, and what hooks noted on the way."""

    notes: list = field(default_factory=list)
    end: Any = None


FREQUENT = st.sampled_from(["nothing", "changed", "proceed"])
PLAIN = st.builds(Plain, FREQUENT | st.sampled_from(sorted(REPLIES)), st.booleans())
AROUND = st.builds(
    Around,
    st.sampled_from(["same", "changed"]),
    st.sampled_from([0, 1, 1, 1, 2]),
    st.just("what came") | st.sampled_from(sorted(OUT)),
    st.booleans(),
    st.booleans(),
)
PLACED = st.builds(
    Placed,
    PLAIN | AROUND,
    st.sampled_from(EVENTS),
    st.integers(-1, 1),
    st.sampled_from(["every", "every", *MATCHES]),
    st.sampled_from(["raise", "allow", "block"]),
    st.sampled_from([None, None, 60.0]),
)
STACKS = st.lists(PLACED, max_size=5)
ANSWERS = st.sampled_from([None, True, False])
LONGER = settings(max_examples=2 * settings().max_examples)


def built(placed: list[Placed], answer: bool | None, notes: list) -> Stack:
    stack = Stack() if answer is None else Stack(ask=lambda context, reason: notes.append(reason) or answer)
    for at, one in enumerate(placed):
        stack = stack.with_(
            named(one.hook.made(notes, f"h{at}"), f"h{at}"),
            on=one.on,
            priority=one.priority,
            match=MATCHES[one.match],
            on_failure=one.on_failure,
            timeout=one.timeout,
        )
    return stack


def named(hook, name: str):
    hook.__qualname__ = name
    return hook


def observe(act, placed: list[Placed], answer: bool | None) -> Observed:
    """Do something with a stack and return everything observed; errors as text, because each run raises new ones."""
    found = Observed()
    stack = built(placed, answer, found.notes)
    try:
        found.end = act(stack)
    except Exception as error:
        found.end = (type(error).__name__, str(error), getattr(error, "__notes__", None))
    return found


def shown(outcome: Outcome) -> tuple:
    """An outcome with its errors as text."""
    outcome = untimed(outcome)
    context = outcome.context
    error = getattr(context, "error", None)
    return outcome.replace(context=None), None if context is None else fresh_of(context), repr(error)


def fresh_of(context: Context) -> dict:
    return {name: getattr(context, name) for name in context.__dataclass_fields__ if name != "error"}


@LONGER
@given(STACKS, ANSWERS, st.sampled_from(["pre-tool-call", "post-tool-call", "permission-request"]))
def test_an_event_comes_to_the_same(placed, answer, kind):
    context = fresh(kind)

    def act(way):
        return lambda stack: shown(way.process(stack, context))

    assert observe(act(Sync()), placed, answer) == observe(act(Async()), placed, answer)


@LONGER
@given(STACKS, ANSWERS, st.sampled_from(["gives", "raises"]))
def test_a_call_comes_to_the_same(placed, answer, how):
    def operation(call):
        if how == "raises":
            raise Broken(str(call.args))
        return dict(call.args)

    def act(way):
        return lambda stack: way.run_tool(stack, CALL, operation)

    assert observe(act(Sync()), placed, answer) == observe(act(Async()), placed, answer)


@LONGER
@given(STACKS, ANSWERS)
def test_an_operation_never_runs_behind_a_block_and_never_without_an_answer(placed, answer):
    """What holds for any hooks: a plain hook that blocks first, or asks first, takes effect."""
    for reported in ("block", "ask"):
        ran = []
        first = Placed(Plain(reported, is_async=False), "pre-tool-call", 9)
        observe(lambda stack, ran=ran: stack.run_tool(CALL, ran.append), [*placed, first], answer)
        allowed = reported == "ask" and (answer is True or any(_permits(one) for one in placed))
        assert allowed or ran == []


def _permits(one: Placed) -> bool:
    return one.on in (None, "permission-request") and "allow" in one.hook.said
