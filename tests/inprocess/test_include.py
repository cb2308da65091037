"""Collections of hooks joined, and hooks that installed packages offer."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest

from boathook import AgentBuilder, ConfigError, HookError, Hooks, Outcome, ScriptedModel, Stack, ToolCall
from boathook.inprocess.hooks import HOOKS_GROUP
from tests.inprocess.builders import BEFORE, noting


def collect(notes, name, priority=0):
    hooks = Hooks()
    hooks.before_tool(priority=priority)(noting(notes, name))
    return hooks


def test_included_hooks_are_in_one_order_with_the_others(way):
    notes = []
    hooks = collect(notes, "own", 5)
    hooks.include(collect(notes, "first", 9))
    hooks.include(collect(notes, "last").stack)
    way.process(hooks.stack, BEFORE)
    assert notes == ["first", "own", "last"]


def test_a_hook_that_is_included_twice_runs_once(way):
    notes = []
    base, left, right, hooks = collect(notes, "base"), Hooks(), Hooks(), Hooks()
    for other in (left, right):
        other.include(base)
    for other in (left, right, base):
        hooks.include(other)
    way.process(hooks.stack, BEFORE)
    assert notes == ["base"]


@pytest.mark.parametrize("other", [[Hooks()], None, print, Hooks])
def test_what_is_not_a_collection_of_hooks_cannot_be_included(other):
    with pytest.raises(HookError, match=r"include takes a Hooks or a Stack, not .*: call it once for each"):
        Hooks().include(other)


def test_what_is_added_later_to_the_other_is_not_included(way):
    notes = []
    hooks, other = Hooks(), collect(notes, "then")
    hooks.include(other)
    other.before_tool(noting(notes, "later"))
    way.process(hooks.stack, BEFORE)
    assert notes == ["then"]


def test_file_hooks_and_the_person_come_with_a_collection_if_there_are_none(project):
    other, hooks = Hooks(ask=lambda *_: True), Hooks()
    with other.load(project.path) as engine:
        hooks.include(other)
        assert (hooks.stack.engine, hooks.stack.ask) == (engine, other.stack.ask)
        with hooks.load(project.path) as own:
            hooks.include(other)
            assert hooks.stack.engine is own


def test_hooks_that_a_builder_gets_twice_run_once():
    notes = []
    hooks = collect(notes, "one")
    model = ScriptedModel([ToolCall("greet", {}), "done"])
    AgentBuilder().with_model(model).with_tools(greet).with_hooks(hooks).with_hooks(hooks).build().run("go")
    assert notes == ["one"]


def greet() -> str:
    return "hello"


@pytest.fixture
def offer(monkeypatch):
    """Let packages be installed that offer hooks by these names."""
    module = ModuleType("offered_hooks")
    monkeypatch.setitem(sys.modules, "offered_hooks", module)
    points: list[EntryPoint] = []
    monkeypatch.setattr("importlib.metadata.entry_points", lambda *, group: points if group == HOOKS_GROUP else [])

    def add(name: str, value: object) -> None:
        setattr(module, name, value)
        points.append(EntryPoint(name, f"offered_hooks:{name}", HOOKS_GROUP))

    return add


def test_hooks_of_installed_packages_are_included_by_name_or_all(way, offer):
    notes = []
    offer("zebra", collect(notes, "zebra"))
    offer("apple", lambda: collect(notes, "apple").stack)
    hooks = Hooks()
    assert hooks.include_installed("zebra") == ("zebra",)
    way.process(hooks.stack, BEFORE)
    assert notes == ["zebra"]
    hooks = Hooks()
    assert hooks.include_installed() == ("apple", "zebra")
    notes.clear()
    way.process(hooks.stack, BEFORE)
    assert notes == ["apple", "zebra"]


def test_hooks_that_no_package_offers_are_an_error(offer):
    offer("guards", Hooks())
    with pytest.raises(ConfigError, match=r"no installed package offers the hooks gards \(there are: guards\)"):
        Hooks().include_installed("gards")
    offer("broken", lambda: 1 / 0)
    with pytest.raises(ConfigError, match=r"broken \(offered_hooks:broken\) cannot be loaded: ZeroDivisionError"):
        Hooks().include_installed("broken")
    offer("text", lambda: "hooks")
    with pytest.raises(ConfigError, match=r"text .* must be Hooks or a Stack, not str"):
        Hooks().include_installed("text")


def test_without_packages_nothing_is_included():
    hooks = Hooks()
    assert hooks.include_installed() == ()
    assert hooks.stack.process(BEFORE).decision == Outcome().decision
    assert len(Stack()) == len(hooks.stack)
