"""Arguments are read-only for hooks, all the way down, and the tool gets its own objects."""

from __future__ import annotations

import copy
import json
import pickle
from collections import deque
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from boathook import Hooks, ToolCall, ToolContext
from boathook.inprocess.json_values import to_json_value
from boathook.inprocess.read_only import freeze_arguments, thaw_arguments

DEEP = {"command": "ls", "env": {"A": ["x", {"y": 1}]}, "tags": {1, 2}, "pair": ({"z": 1}, 2)}
CHANGES = {
    "a value": lambda args: args.__setitem__("command", "evil"),
    "a new value": lambda args: args.update(more=1),
    "a default": lambda args: args.setdefault("more", 1),
    "a merge": lambda args: args.__ior__({"command": "evil"}),
    "one less": lambda args: args.pop("command"),
    "del": lambda args: args.__delitem__("command"),
    "nothing left": lambda args: args.clear(),
    "a value within": lambda args: args["env"].__setitem__("A", []),
    "a list within": lambda args: args["env"]["A"].append("evil"),
    "an item of a list": lambda args: args["env"]["A"].__setitem__(0, "evil"),
    "more of a list": lambda args: args["env"]["A"].__iadd__(["evil"]),
    "the order of a list": lambda args: args["env"]["A"].reverse(),
    "a dict in a list": lambda args: args["env"]["A"][1].update(y=2),
    "a dict in a tuple": lambda args: args["pair"][0].update(z=2),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_hook_cannot_change_arguments_in_place(way, change):
    hooks, given = Hooks(), copy.deepcopy(DEEP)
    hooks.before_tool(lambda context: change(context.args))
    with pytest.raises(TypeError, match=r"read-only: return context\.replace\(args="):
        way.run_tool(hooks.stack, ToolCall("bash", given), pytest.fail)
    assert given == DEEP


def test_a_set_has_no_way_to_change():
    assert not hasattr(ToolContext.before("x", DEEP).args["tags"], "add")


def test_arguments_behave_like_dicts_and_lists():
    args = ToolContext.before("x", DEEP).args
    assert args == DEEP
    assert repr(args["env"]) == repr(DEEP["env"])
    assert isinstance(args, dict)
    assert isinstance(args["env"]["A"], list)
    assert json.loads(json.dumps({"env": args["env"]})) == {"env": DEEP["env"]}
    assert {**args, "command": "pwd"}["command"] == "pwd"
    assert (args | {"command": "pwd"})["command"] == "pwd"


@pytest.mark.parametrize("make", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_a_copy_is_an_ordinary_one(make):
    copied = make(ToolContext.before("x", DEEP).args)
    assert copied == DEEP
    copied["env"]["A"].append("more")
    copied["tags"].add(3)


def test_a_tool_gets_its_own_objects(way):
    """A function may be called with a list in order to fill it."""
    hooks, items, seen = Hooks(), [1], []
    hooks.before_tool(lambda context: context.replace(args={**context.args, "more": 2}))
    hooks.after_tool(lambda context: seen.append(dict(context.args)))
    given = {"items": items, "tags": (tags := {1}), "env": (env := {"a": 1})}

    def fill(call: ToolCall) -> Any:
        assert call.args["tags"] is tags
        assert call.args["env"] is env
        call.args["items"].append(call.args["more"])

    way.run_tool(hooks.stack, ToolCall("fill", given), fill)
    assert items == [1, 2]
    assert seen[0]["items"] == [1]


def test_a_tool_gets_what_hooks_saw_even_if_its_own_object_changed_meanwhile(way):
    hooks, given, ran = Hooks(), {"words": ["ls"]}, []

    @hooks.before_tool
    def sly(_context):
        given["words"].append("evil")

    way.run_tool(hooks.stack, ToolCall("bash", given), lambda call: ran.append(call.args))
    assert ran == [{"words": ["ls"]}]
    assert type(ran[0]["words"]) is list


def test_any_mapping_becomes_read_only_and_frozen_ones_stay_the_same():
    frozen = freeze_arguments(MappingProxyType({"a": {}}))
    assert freeze_arguments(frozen) is frozen
    context = ToolContext.before("x", frozen)
    assert context.after(1).args is context.args is frozen


def test_objects_that_contain_themselves_are_frozen():
    args: dict[str, Any] = {"n": 1}
    args["self"] = [args]
    frozen = freeze_arguments(args)
    assert frozen["self"][0] is frozen
    thawed = thaw_arguments(frozen)
    assert thawed["self"][0]["n"] == 1
    assert copy.deepcopy(frozen)["self"][0]["n"] == 1


def test_objects_that_cannot_be_compared_are_copied():
    class Odd:
        def __eq__(self, other):
            raise ValueError("no")

        __hash__ = None

    odd = Odd()
    assert thaw_arguments(freeze_arguments({"items": [odd]}))["items"][0] is odd


def test_very_deep_arguments_are_frozen():
    value: Any = []
    for _ in range(5000):
        value = [value]
    assert freeze_arguments({"deep": value})["deep"][0]


class Pair(NamedTuple):
    first: Any
    second: Any = None


CONTAINERS = {
    "a named tuple": (Pair(["x"]), lambda value: value.first.append("evil")),
    "a named tuple in a list": ([Pair(["x"])], lambda value: value[0].first.append("evil")),
    "a deque": (deque(["x"], 3), lambda value: value.append("evil")),
    "a list in a deque": (deque([["x"]]), lambda value: value[0].append("evil")),
    "a bytearray": (bytearray(b"x"), lambda value: value.extend(b"evil")),
}


@pytest.mark.parametrize(("given", "change"), CONTAINERS.values(), ids=CONTAINERS)
def test_a_hook_cannot_change_other_containers_in_place(given, change, way):
    hooks, before, ran = Hooks(on_failure="allow"), copy.deepcopy(given), []
    hooks.before_tool(lambda context: change(context.args["value"]))
    way.run_tool(hooks.stack, ToolCall("bash", {"value": given}), lambda call: ran.append(call.args["value"]))
    assert given == before
    assert ran == [before]
    assert type(ran[0]) is type(given)


@pytest.mark.parametrize(("given", "change"), CONTAINERS.values(), ids=CONTAINERS)
def test_other_containers_look_as_they_are_and_are_copied_as_ordinary_ones(given, change):
    frozen = freeze_arguments({"value": given})["value"]
    assert frozen == given
    assert to_json_value(frozen) == to_json_value(given)
    for copied in (copy.deepcopy(frozen), pickle.loads(pickle.dumps(frozen))):
        assert copied == given
        assert type(copied) is type(given)
        change(copied)


def test_a_tuple_without_anything_to_change_stays_the_same_object():
    pair, plain = Pair(1, "x"), (1, "x")
    frozen = freeze_arguments({"pair": pair, "plain": plain, "list": []})
    assert frozen["pair"] is pair
    assert frozen["plain"] is plain


def test_objects_of_other_types_are_the_tools_own():
    """As the documentation says: hooks get the object itself, and what they change in it the tool gets."""

    @dataclass
    class Request:
        command: str

    request = Request("ls")
    assert freeze_arguments({"request": request})["request"] is request
