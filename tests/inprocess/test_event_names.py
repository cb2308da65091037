"""Names of events in Python: what type checkers know is what the program accepts."""

from __future__ import annotations

from typing import get_args

import pytest

from boathook import HookError, Hooks, Stack, UnknownEvent, event_is
from boathook.core.event import KINDS
from boathook.inprocess import event_names
from boathook.inprocess.contexts import CONTEXT_CLASSES
from boathook.inprocess.event_names import DECORATOR_EVENTS, EventName, find_event
from boathook.inprocess.hooks import list_decorators
from tests.inprocess.builders import EVERY, noting


def test_the_literals_are_the_names_of_the_events():
    decorators = list_decorators()
    for made in set(CONTEXT_CLASSES.values()):
        literal = getattr(event_names, made.__name__.replace("Context", "Event"))
        kinds = [kind for kind in KINDS if CONTEXT_CLASSES[kind.name] is made]
        names = {name for kind in kinds for name in (kind.name, *kind.spellings)}
        assert set(get_args(literal)) == names | {name for name, kind in decorators.items() if kind in kinds}
    assert {name for one in get_args(EventName) for name in get_args(one) or (one,)} == {
        name for kind in KINDS for name in (kind.name, *kind.spellings)
    } | set(decorators)


def test_every_decorator_is_a_name_of_its_event():
    assert {name: find_event(event) for name, event in DECORATOR_EVENTS.items()} == list_decorators()
    for name, kind in list_decorators().items():
        notes = []
        hooks = Hooks()
        hooks.on(name)(noting(notes))
        hooks.add(name, noting(notes))
        stack = hooks.stack.with_(noting(notes), on=name)
        stack.process(EVERY[kind.name])
        assert notes == [kind.name] * 3
        assert event_is(name)(EVERY[kind.name])


@pytest.mark.parametrize(
    ("name", "nearest"), [("PreTolUse", "PreToolUse"), ("turn_strat", "turn_start"), ("tool_fail", "tool_failed")]
)
def test_a_mistake_is_answered_with_the_nearest_name(name, nearest):
    for use in (Hooks().on, lambda name: Stack().with_(noting([]), on=name), event_is, find_event):
        with pytest.raises(UnknownEvent, match=f"did you mean '{nearest}'"):
            use(name)


def test_a_hook_in_the_place_of_the_event_is_an_error_with_what_to_write():
    with pytest.raises(HookError, match=r"not function: write hooks\.add\('before_tool', hook\)"):
        Hooks().add(lambda context: None, "before_tool")  # type: ignore[call-overload]
