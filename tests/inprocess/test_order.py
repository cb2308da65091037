"""One order: higher priority first, equal ones as they were added. A stack is a value (S14, S26)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.core.event import KINDS
from boathook.core.outcome import NOTHING, Outcome
from boathook.errors import HookError, UnknownEvent
from boathook.inprocess.stack import Stack
from tests.inprocess.builders import BEFORE, EVERY, WAYS, noting

PRIORITIES = st.lists(st.integers(-3, 3), max_size=8)


def ordered(priorities: list[int], match=None) -> tuple[Stack, list]:
    """A stack of hooks with these priorities, and where they note their places."""
    notes: list[int] = []
    stack = Stack()
    for place, priority in enumerate(priorities):
        stack = stack.with_(noting(notes, place or "first"), on="pre-tool-call", priority=priority, match=match)
    return stack, notes


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("match", [None, "bash", lambda context: True], ids=["every tool", "one tool", "a callable"])
@given(priorities=PRIORITIES)
def test_higher_priority_comes_first_and_equal_ones_as_they_were_added(way, match, priorities):
    stack, notes = ordered(priorities, match)
    assert way.process(stack, BEFORE) == NOTHING
    places = sorted(range(len(priorities)), key=lambda place: (-priorities[place], place))
    assert notes == [place or "first" for place in places]


def test_middleware_and_plain_hooks_share_one_order(way):
    notes = []

    def around(context, go_on):
        notes.append("in")
        answer = go_on(context)
        notes.append("out")
        return answer

    stack = Stack()
    stack = stack.with_(noting(notes, "last"), priority=-5).with_(around).with_(noting(notes, "first"), priority=5)
    assert way.process(stack, BEFORE) == NOTHING
    assert notes == ["first", "in", "last", "out"]


def test_a_hook_added_twice_is_asked_twice(way):
    notes = []
    hook = noting(notes, "hook")
    stack = Stack().with_(hook).with_(noting(notes, "other")).with_(hook)
    way.process(stack, BEFORE)
    assert notes == ["hook", "other", "hook"]


def test_a_hook_that_calls_everything_its_equal_keeps_its_place(way):
    notes = []

    class Same:
        def __init__(self, name, answer=None):
            self.name, self.said = name, answer

        def __call__(self, context):
            notes.append(self.name)
            return self.said

        def __eq__(self, other):
            return True

        __hash__ = None

    stack = Stack().with_(Same("a")).with_(Same("b", Outcome.proceed(BEFORE))).with_(Same("c"))
    way.process(stack, BEFORE)
    assert notes == ["a", "b", "c"]


def test_a_stack_does_not_change(way):
    notes = []
    empty = Stack()
    one = empty.with_(noting(notes, "one"))
    two = one.with_(noting(notes, "two"), priority=1)
    assert [len(stack) for stack in (empty, one, two)] == [0, 1, 2]
    for stack in (empty, one, two, one):
        way.process(stack, BEFORE)
    assert notes == ["one", "two", "one", "one"]


def test_what_a_stack_is_given_beside_hooks_makes_a_new_one_too():
    stack = Stack().with_(noting([]))
    asked = stack.with_ask(lambda context, reason: True)
    assert (stack.ask, asked.ask is None, asked.layers) == (None, False, stack.layers)
    assert stack.with_engine(None).layers == stack.layers


@pytest.mark.parametrize("kind", EVERY)
def test_a_hook_without_an_event_receives_every_one(way, kind):
    notes = []
    stack = Stack().with_(noting(notes, "any")).with_(noting(notes, "this"), on=kind)
    stack = stack.with_(noting(notes, "other"), on="notification" if kind != "notification" else "pre-step")
    assert way.process(stack, EVERY[kind]) == NOTHING
    assert notes == ["any", "this"]


def test_the_contexts_of_these_tests_are_of_every_kind():
    assert [context.kind for context in EVERY.values()] == [EVERY[kind.name].kind for kind in map(_named, EVERY)]
    assert {kind.name for kind in KINDS} == set(EVERY)


def _named(name: str):
    return next(kind for kind in KINDS if kind.name == name)


@pytest.mark.parametrize("spelling", ["pre-tool-call", "before_tool", "PreToolUse", EVERY["pre-tool-call"].kind])
def test_an_event_may_be_named_in_any_spelling(way, spelling):
    notes = []
    way.process(Stack().with_(noting(notes), on=spelling), BEFORE)
    assert notes == ["pre-tool-call"]


def test_an_unknown_event_is_refused_with_the_nearest_known():
    with pytest.raises(UnknownEvent, match=r"unknown event 'PreToolUze' \(did you mean 'PreToolUse'\?\)"):
        Stack().with_(noting([]), on="PreToolUze")


@pytest.mark.parametrize("priority", [True, 1.5, "1", None], ids=repr)
def test_a_priority_is_a_whole_number(priority):
    with pytest.raises(HookError) as reported:
        Stack().with_(noting([]), priority=priority)
    assert str(reported.value) == f"priority must be a whole number, not {priority!r}"


@pytest.mark.parametrize("answer", [Outcome.block("no"), Outcome.stop("enough")], ids=["block", "stop"])
def test_the_first_that_objects_ends_the_rest(way, answer):
    notes = []
    stack = Stack().with_(noting(notes, "a")).with_(noting(notes, "b", answer)).with_(noting(notes, "c"))
    assert way.process(stack, BEFORE, noting(notes, "end")) == answer
    assert notes == ["a", "b"]


def test_an_empty_stack_goes_straight_to_the_end(way):
    assert way.process(Stack(), BEFORE) == NOTHING
    assert way.process(Stack(), BEFORE, lambda context: Outcome.block("no")) == Outcome.block("no")


@pytest.mark.parametrize("hook", [None, noting([]), lambda context, go_on: go_on()], ids=["none", "plain", "around"])
def test_the_outcome_has_a_context_only_if_it_is_another_one(way, hook):
    changed = BEFORE.add_message("hello")
    stack = Stack() if hook is None else Stack().with_(hook)
    assert way.process(stack, BEFORE) == NOTHING
    assert way.process(stack, BEFORE, lambda context: context) == NOTHING
    assert way.process(stack, BEFORE, lambda context: changed) == Outcome(context=changed)


def test_the_end_of_a_chain_may_be_async_in_an_event_loop():
    async def terminal(context):
        return Outcome.block(context.name)

    assert WAYS["async"].process(Stack(), BEFORE, terminal) == Outcome.block("bash")
    around = Stack().with_(lambda context, go_on: go_on())
    assert WAYS["async"].process(around, BEFORE, terminal) == Outcome.block("bash")


@pytest.mark.parametrize("stack", [Stack(), Stack().with_(lambda context, go_on: go_on())], ids=["empty", "around"])
def test_a_terminal_that_returns_something_else_is_reported(way, stack):
    with pytest.raises(HookError) as reported:
        way.process(stack, BEFORE, lambda context: 5)
    assert str(reported.value) == "a terminal must return an Outcome, a context or None, not int"
