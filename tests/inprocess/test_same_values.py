"""Arguments that only look the same: a decision or an approval for one does not count for the other."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import pathlib
from typing import Any

import pytest
from pydantic import BaseModel

from boathook import Hooks, Outcome, ToolCall, ToolContext
from boathook.inprocess.same_values import is_same_input


class Command:
    """An object whose text does not say what it does."""

    def __init__(self, effect: str) -> None:
        self.effect = effect

    def __str__(self) -> str:
        return "ls"

    __repr__ = __str__


class Undecided(Command):
    def __eq__(self, other: object) -> bool:
        raise ValueError("these cannot be compared")

    __hash__ = object.__hash__


@dataclasses.dataclass
class Source:
    path: str


@dataclasses.dataclass
class Target:
    path: str


class Model(BaseModel):
    path: str


class Colour(enum.StrEnum):
    RED = "red"


look, remove = Command("look"), Command("remove")
LOOK_ALIKES: dict[str, tuple[Any, Any]] = {
    "objects": (look, remove),
    "objects that cannot be compared": (Undecided("look"), Undecided("remove")),
    "objects in a list": ([look], [remove]),
    "objects in a dict": ({"a": {"b": look}}, {"a": {"b": remove}}),
    "objects as keys": ({look: 1}, {remove: 1}),
    "objects in a set": ({look}, {remove}),
    "objects in a dataclass": (Source(look), Source(remove)),  # type: ignore[arg-type]
    "classes": (Source("x"), Target("x")),
    "a dataclass and its fields": (Source("x"), {"path": "x"}),
    "a model and its fields": (Model(path="x"), {"path": "x"}),
    "a path and its text": (pathlib.PurePosixPath("x"), "x"),
    "bytes and their text": (b"x", "b'x'"),
    "an infinite number and its text": (float("inf"), "inf"),
    "a long number and its text": (2**3000, hex(2**3000)),
    "a number as key and its text": ({1: 2}, {"1": 2}),
    "an enum and its text": (Colour.RED, "red"),
}
SAME: dict[str, tuple[Any, Any]] = {
    "the same object": (look, look),
    "dataclasses": (Source("x"), Source("x")),
    "models": (Model(path="x"), Model(path="x")),
    "paths": (pathlib.PurePosixPath("x"), pathlib.PurePosixPath("x")),
    "times": (dt.date(2020, 1, 1), dt.date(2020, 1, 1)),
    "decimals": (decimal.Decimal("1.5"), decimal.Decimal("1.5")),
    "not a number": (float("nan"), float("nan")),
    "bytes": (b"x", bytearray(b"x")),
    "sets": ({"a", "b", look}, {look, "b", "a"}),
    "an enum": (Colour.RED, Colour.RED),
    "JSON": ({"a": [1, None, True, {"b": "c"}]}, {"a": [1, None, True, {"b": "c"}]}),
}


@pytest.mark.parametrize(("one", "other"), LOOK_ALIKES.values(), ids=LOOK_ALIKES)
def test_look_alikes_are_different(one, other):
    assert not is_same_input({"v": one}, {"v": other})
    assert not is_same_input({"v": other}, {"v": one})


@pytest.mark.parametrize(("one", "other"), SAME.values(), ids=SAME)
def test_equal_values_are_the_same(one, other):
    assert is_same_input({"v": one}, {"v": other})


def test_values_that_contain_themselves_can_be_compared():
    def make_ring(value: Any) -> list[Any]:
        ring = [value]
        ring.append(ring)
        return ring

    assert is_same_input({"v": make_ring(1)}, {"v": make_ring(1)})
    assert not is_same_input({"v": make_ring(1)}, {"v": make_ring(2)})


@pytest.fixture
def hooks() -> Hooks:
    made = Hooks()
    made.before_tool(lambda _context: Outcome.ask("sure?"))
    return made


def call_with(value: Any) -> ToolCall:
    return ToolCall("work", {"v": value}, "c1")


@pytest.mark.parametrize(("one", "other"), LOOK_ALIKES.values(), ids=LOOK_ALIKES)
def test_an_approval_of_a_call_does_not_count_for_a_look_alike(hooks, one, other):
    run = hooks.run(can_ask=True)
    run.answer(run.tool(call_with(one), pytest.fail).ask.token, True)
    assert run.tool(call_with(other), pytest.fail).ask is not None


@pytest.mark.parametrize(("one", "other"), LOOK_ALIKES.values(), ids=LOOK_ALIKES)
def test_an_approval_before_the_question_does_not_count_for_a_look_alike(hooks, one, other):
    run = hooks.run(can_ask=True)
    run.answer_call(call_with(one), is_allowed=True)
    assert run.tool(call_with(other), pytest.fail).ask is not None


@pytest.mark.parametrize(("one", "other"), SAME.values(), ids=SAME)
def test_an_approval_counts_for_the_same_call_with_equal_objects(hooks, one, other):
    for way in ("token", "call"):
        run = hooks.run(can_ask=True)
        if way == "token":
            run.answer(run.tool(call_with(one), pytest.fail).ask.token, True)
        else:
            run.answer_call(call_with(one), is_allowed=True)
        assert run.tool(call_with(other), lambda _call: "ran").text == "ran"


@pytest.mark.parametrize("change", [lambda args: args["v"].append("x"), lambda args: args.update(v=["x"])])
def test_an_approval_does_not_count_if_the_program_changes_its_own_arguments_afterwards(hooks, change):
    args: dict[str, Any] = {"v": ["."]}
    call, run = ToolCall("work", args, "c1"), hooks.run(can_ask=True)
    run.answer(run.tool(call, pytest.fail).ask.token, True)
    change(args)
    assert run.tool(call, pytest.fail).ask is not None


def test_the_call_of_a_question_is_undone_to_the_arguments_that_were_given_then():
    hooks, seen = Hooks(), []

    @hooks.before_tool
    def change(context: ToolContext) -> Outcome:
        seen.append(context.args["v"])
        return Outcome.ask("sure?").replace(context=context.replace(args={"v": "changed"}))

    args: dict[str, Any] = {"v": "given"}
    run = hooks.run(can_ask=True)
    asked = run.tool(ToolCall("work", args, "c1"), pytest.fail).ask
    args["v"] = "other"
    run.answer(asked.token, True)
    assert run.tool(asked.call, lambda call: call.args["v"]).text == "changed"
    assert seen == ["given"]


@pytest.mark.parametrize(("one", "other"), LOOK_ALIKES.values(), ids=LOOK_ALIKES)
def test_a_guarded_function_with_a_look_alike_asks_hooks(one, other):
    hooks, asked = Hooks(), []
    hooks.before_tool(lambda context: asked.append(context.args["v"]))
    work = hooks.guard(lambda v: None, name="work")
    hooks.run().tool(call_with(one), lambda _call: work(other)).unwrap()
    assert len(asked) == 2


@pytest.mark.parametrize(("one", "other"), LOOK_ALIKES.values(), ids=LOOK_ALIKES)
def test_a_decision_before_the_call_does_not_count_for_a_look_alike(one, other):
    hooks, asked = Hooks(), []
    hooks.before_tool(lambda context: asked.append(context.args["v"]))
    run = hooks.run()
    run.decide(call_with(one))
    run.tool(call_with(other), lambda _call: None)
    assert len(asked) == 2
