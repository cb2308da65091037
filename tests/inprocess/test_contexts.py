"""Contexts: frozen, changed only as their event allows, and the same thing to file hooks (S3, S27)."""

from __future__ import annotations

import dataclasses
import enum
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.core.event import Event
from boathook.core.json_text import dumps, loads
from boathook.core.outcome import Decision, Outcome
from boathook.core.verdict import Skip, Verdict
from boathook.errors import HookError
from boathook.inprocess.contexts import (
    Context,
    StepContext,
    StopContext,
    ToolContext,
)
from boathook.inprocess.json_values import to_json_value
from tests.core.builders import json_values
from tests.inprocess.builders import EVERY, FAULT, fresh
from tests.tables import try_each

MAY_CHANGE = {
    "pre-tool-call": "args",
    "permission-request": "args",
    "post-tool-call": "result",
    "pre-agent-turn": "prompt",
    "pre-step": "state",
    "post-step": "state",
}
FIELDS = [(kind, field.name) for kind, context in EVERY.items() for field in dataclasses.fields(context)]
NEW = object()


@try_each("kind field", FIELDS)
def test_a_hook_changes_what_the_event_allows_and_nothing_else(kind, field):
    context = EVERY[kind]
    if MAY_CHANGE.get(kind) == field:
        change = {field: {"new": NEW} if field == "args" else NEW}
        changed = context.replace(**change)
        assert changed == dataclasses.replace(context, **change)
        assert type(changed) is type(context)
    else:
        can = f"only {MAY_CHANGE[kind]}" if kind in MAY_CHANGE else "nothing"
        with pytest.raises(HookError) as reported:
            context.replace(**{field: NEW})
        assert str(reported.value) == f"'{field}' cannot be changed at {kind}: {can} can"


def test_a_field_that_there_is_not_cannot_be_changed_either():
    with pytest.raises(HookError, match="'arguments' cannot be changed at pre-tool-call: only args can"):
        EVERY["pre-tool-call"].replace(arguments={})


@pytest.mark.parametrize("kind", EVERY)
def test_nothing_can_be_set_or_deleted(kind):
    context = EVERY[kind]
    before = dataclasses.replace(context)
    for name in (*(field.name for field in dataclasses.fields(context)), "novel"):
        with pytest.raises((AttributeError, TypeError)):
            setattr(context, name, NEW)
        with pytest.raises((AttributeError, TypeError)):
            delattr(context, name)
    assert context == before


@pytest.mark.parametrize("kind", EVERY)
def test_values_and_texts_are_added_to_a_new_context(kind):
    context = EVERY[kind]
    changed = context.with_metadata("a", 1).with_metadata("b", 2).with_metadata("a", 3)
    changed = changed.add_context("c1").add_context("c2").add_message("m1").add_message("m2")
    assert changed == dataclasses.replace(
        context, metadata={"a": 3, "b": 2}, additional_context=("c1", "c2"), messages=("m1", "m2")
    )
    assert (changed.get("a"), changed.get("x"), changed.get("x", 7)) == (3, None, 7)
    assert (context.get("a"), context.additional_context, context.messages) == (None, (), ())


def test_a_call_goes_on_with_all_it_had():
    state = object()
    before = (
        fresh("pre-tool-call", state=state, extra={"x": 1}).with_metadata("k", "v").add_context("c").add_message("m")
    )
    after, failed = before.after("done", 3.5), before.after_failure(FAULT, 4.5)
    assert after == dataclasses.replace(before, kind=EVERY["post-tool-call"].kind, result="done", duration_ms=3.5)
    kind = EVERY["post-tool-call-failure"].kind
    assert failed == dataclasses.replace(before, kind=kind, error=FAULT, duration_ms=4.5)
    assert (before.is_before, after.is_before, failed.is_before, EVERY["permission-request"].is_before) == (
        True,
        False,
        False,
        True,
    )


def test_no_field_of_a_call_is_forgotten_after_it():
    marks = {field.name: object() for field in dataclasses.fields(ToolContext) if field.name not in ("kind", "args")}
    before = fresh("pre-tool-call", **marks)
    changed = {"kind", "result", "error", "duration_ms"}
    for ended in (before.after("done", 3.5), before.after_failure(FAULT, 4.5)):
        kept = [name for name in marks if name not in changed]
        assert [getattr(ended, name) is marks[name] for name in kept] == [True] * len(kept)
        assert ended.args is before.args


def test_contexts_have_the_documented_properties():
    step, stop, failure = StepContext.before(0), StopContext.before(), EVERY["turn-failure"]
    assert (step.index, step.number, step.event) == (0, 1, "pre-step")
    assert (stop.was_refused, EVERY["pre-agent-turn-stop"].was_refused) == (False, True)
    assert (failure.error, failure.error_message, failure.error_class) == (FAULT, "broken", "ValueError")
    assert (EVERY["pre-agent-turn"].is_start, EVERY["post-agent-turn"].is_start) == (True, False)
    assert {name: context.tool for name, context in EVERY.items() if context.tool} == dict.fromkeys(
        ("pre-tool-call", "post-tool-call", "post-tool-call-failure", "permission-request"), "bash"
    )


# As file hooks see them

TOOL = {"tool_name": "bash", "tool_input": {"command": "ls"}, "tool_use_id": "c1"}
SENT = {
    "pre-session": {"model": "m", "args": {}, "source": "resume"},
    "post-session": {"exit_reason": "done", "total_steps": 3, "duration_seconds": 1.5},
    "pre-agent-turn": {"prompt": "hello"},
    "post-agent-turn": {"final_message": {"role": "assistant", "content": "bye"}, "step_count": 2},
    "pre-agent-turn-stop": {
        "stop_reason": "no_tool_calls",
        "step_count": 2,
        "final_message": {"role": "assistant", "content": "bye"},
        "stop_hook_active": True,
        "stop_block_count": 1,
    },
    "post-agent-turn-stop": {
        "stop_reason": "max_steps",
        "step_count": 9,
        "final_message": None,
        "stop_hook_active": False,
        "stop_block_count": 0,
    },
    "pre-tool-call": TOOL,
    "post-tool-call": {**TOOL, "tool_output": "a\nb", "duration_ms": 12.5},
    "post-tool-call-failure": {**TOOL, "tool_input": {}, "error": "broken", "duration_ms": 12.5},
    "permission-request": TOOL,
    "pre-subagent": {"subagent_name": "kid", "subagent_type": "digger", "task_description": "dig"},
    "post-subagent": {
        "subagent_name": "kid",
        "subagent_type": "digger",
        "task_description": "dig",
        "result": "a hole",
    },
    "pre-context-compact": {"trigger": "manual", "token_count": 900},
    "post-context-compact": {"trigger": "auto", "token_count": 900, "token_count_after": 90},
    "notification": {"message": "look here", "title": "a title"},
    "pre-step": {"step_count": 1},
    "post-step": {"step_count": 2},
    "turn-failure": {"error": "ValueError: broken"},
}


@pytest.mark.parametrize("kind", EVERY)
def test_file_hooks_see_the_fields_of_the_event(kind):
    context = EVERY[kind]
    assert context.to_event() == Event(context.kind, "", "s", "/w", {}, SENT[kind])
    with_more = dataclasses.replace(context, extra={"agent_id": "a", "path": Path("/x")}, metadata={"k": "v"})
    assert with_more.to_event().data == {**SENT[kind], "agent_id": "a", "path": "/x"}


def test_a_result_of_nothing_is_a_result():
    assert ToolContext.before("bash", {}).after(None).to_event().data["tool_output"] is None


def verdict(context: Context, outcome: Outcome, *, now: Event | None = None, skipped=()) -> Verdict:
    event = context.to_event()
    return Verdict(now or event, event, outcome, (), (), skipped)


@pytest.mark.parametrize("kind", EVERY)
def test_the_answers_of_file_hooks_are_applied(kind):
    context = EVERY[kind].add_context("c0").add_message("m0")
    answer = Outcome(contexts=("c1", "c2"), messages=("m1",))
    broken = Skip("guard", "it has no entry point", is_warning=True)
    taken = context.apply_verdict(verdict(context, answer, skipped=(broken,)))
    assert taken == dataclasses.replace(
        context,
        additional_context=("c0", "c1", "c2"),
        messages=("m0", "m1", "hook 'guard' did not run: it has no entry point"),
    )
    again = taken.apply_verdict(verdict(context, answer, skipped=(broken,)))
    assert again.messages == taken.messages
    assert context.apply_verdict(verdict(context, Outcome(Decision.BLOCK))) is context


def test_a_rewritten_input_is_taken_in_and_the_rest_of_it_stays_what_it_was():
    where = Path("/x")
    context = ToolContext.before("bash", {"command": "ls", "where": where, "n": 1, "old": 1})
    changed = {"command": "ls -l", "where": "/x", "n": 1.0, "new": True}
    taken = context.apply_verdict(verdict(context, Outcome(), now=context.to_event().with_data(tool_input=changed)))
    assert taken == dataclasses.replace(context, args={"command": "ls -l", "where": where, "n": 1, "new": True})
    assert taken.args["where"] is where
    same = context.apply_verdict(
        verdict(context, Outcome(), now=context.to_event().with_data(tool_input={**changed, "n": 2}))
    )
    assert same.args["n"] == 2


@pytest.mark.parametrize("output", ["new", None, {"a": 1}], ids=repr)
def test_a_replaced_output_is_taken_in(output):
    context = EVERY["post-tool-call"]
    assert context.apply_verdict(verdict(context, Outcome(output=output))) == dataclasses.replace(
        context, result=output
    )


# Anything as JSON


class Silent:
    def __str__(self) -> str:
        raise ValueError("I say nothing")


class Shade(enum.Enum):
    RED = "red"


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary(max_size=5)
    | st.complex_numbers()
    | st.sampled_from([Silent(), Shade.RED, Path("/x"), Decimal("1.5"), object, "\ud800", "\0"])
)
HASHABLE = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.tuples(st.integers(), st.text())
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(HASHABLE, inner, max_size=4)
        | st.dictionaries(st.text(), inner, max_size=3).map(MappingProxyType)
        | st.sets(HASHABLE, max_size=4)
        | st.frozensets(HASHABLE, max_size=4)
    ),
    max_leaves=20,
)


@given(ANYTHING)
def test_any_value_can_be_written_in_json(value):
    answer = to_json_value(value)
    assert loads(dumps(answer)) == answer
    assert to_json_value(answer) == answer


@given(json_values)
def test_json_values_stay_as_they_are_and_are_copied(value):
    answer = to_json_value(value)
    assert dumps(answer) == dumps(value)
    assert answer is not value or not isinstance(value, dict | list)


@dataclasses.dataclass
class NewFile:
    path: str
    content: str = dataclasses.field(default="", repr=False)
    parent: Any = None


class Model:
    """What pydantic's models look like, which need not be installed."""

    model_fields: ClassVar[dict[str, None]] = {"path": None, "absent": None}

    def __init__(self, path, **extra):
        self.path, self.model_extra = path, extra


class RootModel(Model):
    __pydantic_root_model__ = True

    def __init__(self, root):
        self.root = root


CONVERTED = {
    "a dataclass, also what its repr hides": (NewFile("/x", "key"), {"path": "/x", "content": "key", "parent": None}),
    "a model": ([Model("/x")], [{"path": "/x", "absent": None}]),
    "a model with more than its fields": (Model("/x", mode=5), {"path": "/x", "absent": None, "mode": 5}),
    "a model of one value": (RootModel([Model(5)]), [{"path": 5, "absent": None}]),
    "a class": (NewFile, str(NewFile)),
    "a path": (Path("/x"), "/x"),
    "bytes": (b"a", "b'a'"),
    "an exception": (FAULT, "broken"),
    "not a number": ([float("nan"), float("inf")], ["nan", "inf"]),
    "a number beyond writing": (-(16**4000), "-0x1" + "0" * 4000),
    "an object that has no repr": ([Silent()], ["<Silent>"]),
    "keys as JSON has them": ({None: 1, True: 2, 1.5: 3, (1, 2): 4}, {"null": 1, "true": 2, "1.5": 3, "[1, 2]": 4}),
    "keys that would be the same": ({1: "a", "1": "b", "1_": "c"}, {"1": "a", "1_": "b", "1__": "c"}),
    "a set in some order": ({"b", "a", "c"}, ["a", "b", "c"]),
    "a tuple": ((1, (2,)), [1, [2]]),
}


@pytest.mark.parametrize(("value", "expected"), CONVERTED.values(), ids=CONVERTED)
def test_what_json_cannot_express_becomes_text(value, expected):
    assert to_json_value(value) == expected


def test_a_value_that_holds_itself_is_written_once():
    circle = {"name": "a"}
    circle["self"] = [circle, circle]
    assert to_json_value(circle) == {"name": "a", "self": ["…", "…"]}
    file = NewFile("/x")
    file.parent = file
    assert to_json_value(file) == {"path": "/x", "content": "", "parent": "…"}
    twice = [1]
    assert to_json_value([twice, twice]) == [[1], [1]]


@pytest.mark.parametrize("depth", [180, 181, 500, 5000])
def test_a_value_that_is_too_deep_becomes_text_but_is_written(depth):
    value = "needle"
    for _ in range(depth):
        value = [value]
    answer = dumps(to_json_value(value))
    assert loads(answer) == to_json_value(value)
    assert "needle" in answer or depth == 5000


@pytest.mark.parametrize("args", [["x"], "x", None])
def test_arguments_that_are_not_a_mapping_are_refused(args):
    with pytest.raises(HookError, match=f"args must be a mapping, not {type(args).__name__}"):
        ToolContext.before("bash", {}).replace(args=args)


@pytest.mark.parametrize(
    ("make", "field", "hint"),
    [
        (lambda: ToolContext.before("x", {}).after("a"), "result", r"return context\.replace\(result=…\) instead"),
        (lambda: ToolContext.before("x", {}), "args", r"return context\.replace\(args=…\) instead"),
        (lambda: ToolContext.before("x", {}), "result", "at pre-tool-call hooks can replace only args, not 'result'"),
        (StopContext.before, "note", r"replace nothing, not 'note'.* context\.with_metadata\('note', …\)"),
    ],
)
def test_a_change_in_place_is_an_error_with_what_to_write(make, field, hint):
    with pytest.raises(dataclasses.FrozenInstanceError, match=hint):
        setattr(make(), field, 3)
