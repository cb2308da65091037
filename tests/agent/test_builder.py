"""AgentBuilder: every method returns a new builder, and every `on_…` is a hook of its event."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from boathook import (
    AgentBuilder,
    AgentState,
    ConfigError,
    HookError,
    Hooks,
    Outcome,
    ScriptedModel,
    Stack,
    UnknownEvent,
)
from boathook.agent.adapters import ContinuationCriteriaAdapter, StateProcessorAdapter, make_state_hook
from boathook.agent.builtin_tools import BUILTIN_TOOLS
from boathook.agent.loop import SUBAGENT_TOOL
from boathook.agent.model import Message
from tests.scratch_project import ScratchProject

from .builders import Witness, agent_of, call, child, failing_tool, feedback, list_lines, note, text_tool
from .test_effects import PLAYED_IN, Scene


def nothing(_: Any) -> None:
    return None


CHANGES: dict[str, Callable[[AgentBuilder], AgentBuilder]] = {
    "with_model": lambda builder: builder.with_model(ScriptedModel([])),
    "with_tools": lambda builder: builder.with_tools(text_tool("work")),
    "with_standard_tools": lambda builder: builder.with_standard_tools(),
    "with_subagent": lambda builder: builder.with_subagent("helper", agent_of()[0].build()),
    "with_system": lambda builder: builder.with_system("be kind"),
    "in_dir": lambda builder: builder.in_dir("/"),
    "with_limits": lambda builder: builder.with_limits(max_steps=1),
    "with_compactor": lambda builder: builder.with_compactor(lambda messages, _: messages),
    "with_permission": lambda builder: builder.with_permission(lambda *_: True),
    "with_listener": lambda builder: builder.with_listener(lambda *_: None),
    "with_hooks": lambda builder: builder.with_hooks(Stack().with_(nothing)),
    "with_hooks_from": lambda builder: builder.with_hooks_from("."),
    "add_hook": lambda builder: builder.add_hook("Stop", nothing),
    "on_before_tool_use": lambda builder: builder.on_before_tool_use(nothing),
    "on_after_tool_use": lambda builder: builder.on_after_tool_use(nothing),
    "on_before_step": lambda builder: builder.on_before_step(nothing),
    "on_after_step": lambda builder: builder.on_after_step(nothing),
    "on_execution_start": lambda builder: builder.on_execution_start(nothing),
    "on_execution_end": lambda builder: builder.on_execution_end(nothing),
    "on_stop": lambda builder: builder.on_stop(nothing),
    "on_subagent_stop": lambda builder: builder.on_subagent_stop(nothing),
    "on_agent_failed": lambda builder: builder.on_agent_failed(nothing),
}


def test_there_is_a_row_for_every_method() -> None:
    methods = {name for name, value in vars(AgentBuilder).items() if callable(value) and not name.startswith("_")}
    fields = {field.name for field in dataclasses.fields(AgentBuilder)}
    assert set(CHANGES) == methods - fields - {"build"}


@pytest.mark.parametrize("method", CHANGES)
def test_every_method_returns_a_new_builder_and_leaves_the_old_one_as_it_was(
    project: ScratchProject, method: str
) -> None:
    builder = AgentBuilder()
    before = vars(builder).copy()
    changed = CHANGES[method](builder)
    assert vars(builder) == before
    assert vars(changed) != before
    with pytest.raises(dataclasses.FrozenInstanceError):
        builder.system = "changed"  # type: ignore[misc]


def test_an_agent_does_not_change_when_its_builder_is_used_further() -> None:
    builder, _ = agent_of("done")
    agent = builder.build()
    builder.on_execution_start(lambda _: Outcome.block("no")).build()
    assert agent.run("go").status == "done"
    with pytest.raises(dataclasses.FrozenInstanceError):
        agent.system = "changed"  # type: ignore[misc]


ON: dict[str, tuple[str, ...]] = {
    "on_before_tool_use": ("pre-tool-call",),
    "on_after_tool_use": ("post-tool-call", "post-tool-call-failure"),
    "on_execution_start": ("pre-agent-turn",),
    "on_execution_end": ("post-agent-turn",),
    "on_stop": ("pre-agent-turn-stop",),
    "on_subagent_stop": ("post-subagent",),
    "on_agent_failed": ("turn-failure",),
}


def test_every_callback_method_has_its_events() -> None:
    with_states = {"on_before_step", "on_after_step"}
    assert set(ON) | with_states == {method for method in CHANGES if method.startswith("on_")}


@pytest.mark.parametrize(("method", "event"), [(method, event) for method, events in ON.items() for event in events])
def test_a_callback_is_asked_at_its_event(method: str, event: str) -> None:
    asked: list[str] = []
    scene = Scene(event)
    scene.play(getattr(scene.builder, method)(lambda context: asked.append(context.event)))
    assert set(asked) == {event}


@pytest.mark.parametrize(("method", "event"), [(method, event) for method, events in ON.items() for event in events])
def test_a_callback_is_asked_only_where_its_match_fits(method: str, event: str) -> None:
    asked: list[str] = []
    scene = Scene(event)
    builder = getattr(scene.builder, method)(lambda context: asked.append("no"), match=lambda context: False)
    scene.play(getattr(builder, method)(lambda context: asked.append("yes"), match=lambda context: True))
    assert set(asked) == {"yes"}


@pytest.mark.parametrize("method", ["on_stop", "on_subagent_stop", "on_before_step", "on_execution_start"])
def test_the_name_of_a_tool_is_an_error_where_there_is_no_tool(method: str) -> None:
    with pytest.raises(HookError, match=r"'bash' is the name of a tool, but .* has no tool: match with a callable"):
        getattr(AgentBuilder(), method)(nothing, match="bash")


@pytest.mark.parametrize("event", PLAYED_IN)
def test_any_event_can_have_a_hook_in_any_spelling(event: str) -> None:
    from boathook.core.event import find_kind

    asked: list[str] = []
    scene = Scene(event)
    builder = scene.builder
    for spelling in (event, *find_kind(event).spellings):
        builder = builder.add_hook(spelling, lambda context, spelling=spelling: asked.append(spelling))
    scene.play(builder)
    assert set(asked) == {event, *find_kind(event).spellings}


def test_callbacks_of_steps_get_the_state() -> None:
    seen: list[tuple[str, int]] = []
    builder, _ = agent_of("done")
    builder = builder.on_before_step(lambda state: seen.append(("before", state.step_count)))
    builder.on_after_step(lambda state: seen.append(("after", state.step_count))).build().run("go")
    assert seen == [("before", 0), ("after", 1)]


def test_a_callback_after_tools_also_receives_failures_with_their_error() -> None:
    seen: list[tuple[str, Any, str]] = []
    builder, _ = agent_of((call("work"), call("fail")), "done", tools=(text_tool("work"), failing_tool()))
    hook = lambda context: seen.append((context.name, context.result, str(context.error or "")))  # noqa: E731
    builder.on_after_tool_use(hook).build().run("go")
    assert sorted(seen) == [("fail", None, "it broke"), ("work", "work is done", "")]


def test_a_matcher_chooses_tools_and_a_priority_the_order() -> None:
    asked: list[str] = []
    tools = (text_tool("read_file"), text_tool("read_dir"), text_tool("write_file"))
    builder, _ = agent_of(call("read_file"), call("read_dir"), call("write_file"), "done", tools=tools)
    for name, matcher, priority in (("files", "*_file", 0), ("reads", "read_*", 5), ("all", None, -5)):
        hook = lambda context, name=name: asked.append(f"{name} {context.name}")  # noqa: E731
        builder = builder.on_before_tool_use(hook, priority, matcher)
    builder.build().run("go")
    assert asked == [
        *("reads read_file", "files read_file", "all read_file"),
        *("reads read_dir", "all read_dir"),
        *("files write_file", "all write_file"),
    ]


def test_hooks_of_one_priority_are_asked_in_the_order_in_which_they_were_added() -> None:
    asked: list[int] = []
    hooks = Hooks()
    hooks.turn_start(lambda _: asked.append(2))
    builder, _ = agent_of("done")
    builder = builder.on_execution_start(lambda _: asked.append(1)).with_hooks(hooks)
    builder.on_execution_start(lambda _: asked.append(3)).build().run("go")
    assert asked == [1, 2, 3]


@pytest.mark.parametrize(
    ("event", "fields", "error"),
    [
        ("BeforeTool", {}, UnknownEvent),
        ("Stop", {"match": "Shell"}, HookError),
        ("PreToolUse", {"max_rounds": 1}, HookError),
        ("PreToolUse", {"on_failure": "ignore"}, HookError),
        ("PreToolUse", {"timeout": 0}, HookError),
        ("PreToolUse", {"priority": 1.5}, HookError),
    ],
)
def test_a_hook_that_cannot_be_is_refused_when_it_is_added(
    event: str, fields: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        AgentBuilder().add_hook(event, nothing, **fields)


# hooks from elsewhere


def test_hooks_that_were_declared_elsewhere_take_part_with_the_files_they_loaded_and_whom_they_ask(
    project: ScratchProject,
) -> None:
    project.write_hook("note", script="echo from a file", fields={"trigger": "SessionStart"})
    hooks = Hooks()
    hooks.load(project.path)
    hooks.session_start(lambda context: context.add_context("from a decorator"))
    hooks.before_tool(lambda _: Outcome.ask("sure?"))
    asked: list[tuple[str, str]] = []
    hooks.on_ask(lambda context, reason: not asked.append((context.name, reason)))
    builder, model = agent_of(call("work"), "done", tools=(text_tool("work"),))
    builder.with_hooks(hooks).build().run("go")
    assert list_lines(model.requests[-1]) == [
        note("from a file"),
        note("from a decorator"),
        "user: go",
        "assistant:  work",
        "tool: work is done",
    ]
    assert asked == [("work", "sure?")]


def test_hooks_of_a_project_take_part(project: ScratchProject) -> None:
    project.write_hook("no-wipe", scope="project", script="echo never >&2; exit 2", fields={"matcher": "{tool: wipe}"})
    tools = (text_tool("wipe"), text_tool("work"))
    builder, model = agent_of((call("wipe"), call("work")), "done", tools=tools)
    builder.in_dir(project.path).with_hooks_from(project.path, trust_all=True).build().run("go")
    assert list_lines(model.requests[-1])[2:] == ["tool!: never", "tool: work is done"]


def test_a_missing_project_raises_an_error_at_once(project: ScratchProject) -> None:
    with pytest.raises(ConfigError, match="is not a folder"):
        AgentBuilder().with_hooks_from(project.base / "none")


def test_scripts_and_in_process_hooks_share_one_order(project: ScratchProject) -> None:
    """A hook in process above the scripts sees the call first, one below sees what the scripts made of it."""
    seen: list[tuple[int, Any]] = []
    project.write_hook("rewrite", script="""echo '{"modified_input": {"n": 2}}'""", fields={"trigger": "PreToolUse"})
    builder, _ = agent_of(call("work", n=1), "done", tools=(text_tool("work"),))
    for priority in (200, 50):
        hook = lambda context, priority=priority: seen.append((priority, dict(context.args)))  # noqa: E731
        builder = builder.on_before_tool_use(hook, priority)
    builder.in_dir(project.path).with_hooks_from(project.path, trust_all=True).build().run("go")
    assert seen == [(200, {"n": 1}), (50, {"n": 2})]


# building


def test_an_agent_needs_a_model() -> None:
    with pytest.raises(ConfigError, match=r"an agent needs a model: call with_model\(…\)"):
        AgentBuilder().build()


def test_two_tools_or_two_subagents_of_one_name_are_refused() -> None:
    helper = agent_of()[0].build()
    builder = AgentBuilder().with_model(ScriptedModel([]))
    twice = {
        "tools named Shell": builder.with_standard_tools().with_tools(text_tool("Shell")),
        f"tools named {SUBAGENT_TOOL}": builder.with_tools(text_tool(SUBAGENT_TOOL)).with_subagent("helper", helper),
        "subagents named helper": builder.with_subagent("helper", helper).with_subagent("helper", helper),
        "tools named a, b": builder.with_tools(*map(text_tool, "abab")),
    }
    for reported, broken in twice.items():
        with pytest.raises(ConfigError, match=f"^there are two {reported}$"):
            broken.build()


def test_the_model_knows_of_subagents_as_of_a_tool() -> None:
    builder, _ = agent_of(right=(), left=())
    spec = builder.build().all_tools[-1].spec
    assert (spec.name, spec.description) == ("Subagent", "Delegate a task to a subagent: left, right.")
    assert spec.parameters["properties"]["name"]["enum"] == ["left", "right"]
    assert [tool.name for tool in agent_of()[0].with_standard_tools().build().all_tools] == [
        t.name for t in BUILTIN_TOOLS
    ]


# subagents


def test_a_subagent_works_in_its_parents_place_with_its_own_system_text_and_limits(tmp_path: Any) -> None:
    helper, model = agent_of(call("WriteFile", path="x", content="y"), call("ReadFile", path="x"), "never said")
    helper = helper.with_standard_tools().with_system("you help").with_limits(max_steps=2).in_dir("/")
    builder, _ = agent_of(child(), "done")
    builder.with_subagent("helper", helper.build()).with_system("you lead").in_dir(tmp_path).build().run("go")
    assert list_lines(model.requests[1]) == [
        "system: you help",
        "user: look",
        "assistant:  WriteFile{'path': 'x', 'content': 'y'}",
        "tool: wrote 1 characters to x",
    ]
    assert (len(model.requests), (tmp_path / "x").read_text()) == (2, "y")


def test_a_subagent_is_under_its_parents_hooks_and_its_own_and_none_is_asked_twice() -> None:
    asked: list[str] = []
    shared = Hooks()
    shared.before_tool(lambda context: asked.append(f"shared {context.name}"))
    helper, _ = agent_of(call("work"), "found", tools=(text_tool("work"),))
    helper = helper.with_hooks(shared).on_before_tool_use(lambda context: asked.append(f"own {context.name}"))
    builder, _ = agent_of(child(), "done")
    builder = builder.with_subagent("helper", helper.build()).with_hooks(shared)
    builder.on_before_tool_use(lambda context: asked.append(f"parent {context.name}")).build().run("go")
    assert asked == ["shared Subagent", "parent Subagent", "shared work", "parent work", "own work"]


def test_a_guard_that_a_subagent_brings_is_not_lost() -> None:
    ran: list[Any] = []
    helper, model = agent_of(
        (call("wipe"), call("deploy")),
        "found",
        tools=(
            text_tool("wipe", ran=ran),
            text_tool("deploy", ran=ran, needs_permission=True),
        ),
    )
    helper = helper.on_before_tool_use(lambda _: Outcome.block("never"), match="wipe").with_permission(lambda *_: False)
    builder, _ = agent_of(child(), "done")
    builder.with_subagent("helper", helper.build()).build().run("go")
    assert ran == []
    assert len(model.requests) == 1


def test_subagents_may_have_subagents() -> None:
    leaf, _ = agent_of("leaf is done")
    middle, _ = agent_of(child("deeper", "leaf"), "middle is done")
    builder, _ = agent_of(child("deep", "middle"), "done")
    witness = Witness()
    middle_agent = middle.with_subagent("leaf", leaf.build()).build()
    builder.with_subagent("middle", middle_agent).with_hooks(witness.stack).build().run("go")
    assert [(who, data["task_description"]) for who, kind, data in witness.events if kind == "post-subagent"] == [
        ("leaf-1", "deeper"),
        ("middle-1", "deep"),
    ]


# adapters


class Shorter:
    """Something with a method, as processors were written before there were hooks."""

    def process(self, state: AgentState) -> AgentState:
        return AgentState(state.agent_id, messages=state.messages[-1:], steps=state.steps)


def add_a_word(state: AgentState) -> AgentState:
    return state.with_messages(Message("user", "please"))


@pytest.mark.parametrize(
    ("position", "event", "heard"),
    [
        ("before", "pre-step", [["user: go", "user: please"], ["user: go", "user: please", "…", "user: please"]]),
        ("after", "post-step", [["user: go"], ["user: go", "…", "user: please"]]),
    ],
)
def test_a_processor_of_the_state_is_a_hook_before_or_after_steps(
    position: str, event: str, heard: list[list[str]]
) -> None:
    adapter = StateProcessorAdapter(add_a_word, position)
    assert adapter.event == event
    builder, model = agent_of(call("work"), "done", tools=(text_tool("work"),))
    builder.with_hooks(Stack().with_(adapter)).build().run("go")
    short = [[line for line in list_lines(one) if line.startswith("user")] for one in model.requests]
    assert short == [[line for line in one if line != "…"] for one in heard]


def test_a_processor_may_be_an_object_and_works_after_steps_by_default() -> None:
    builder, model = agent_of(call("work"), "done", tools=(text_tool("work"),))
    adapter = StateProcessorAdapter(Shorter())
    builder.add_hook(adapter.event, adapter).build().run("go")
    assert list_lines(model.requests[-1]) == ["tool: work is done"]


def test_a_processor_has_a_place() -> None:
    with pytest.raises(HookError, match="position must be before or after, not 'around'"):
        StateProcessorAdapter(add_a_word, "around")


def test_a_processor_that_leaves_the_state_returns_nothing() -> None:
    context: Any = type("Context", (), {"state": AgentState("a")})()
    assert [make_state_hook(hook)(context) for hook in (nothing, lambda state: state)] == [None, None]
    assert make_state_hook(add_a_word).__qualname__ == "add_a_word"


class Tests:
    """A criterion as an object: there is work left until the tests were run."""

    def should_continue(self, state: AgentState) -> bool:
        return not any(result.call.name == "test" for step in state.steps for result in step.results)


@pytest.mark.parametrize("criterion", [Tests(), Tests().should_continue])
def test_a_criterion_for_going_on_is_a_gate(criterion: Any) -> None:
    builder, model = agent_of("done", call("test"), "done, and tested", tools=(text_tool("test"),))
    adapter = ContinuationCriteriaAdapter(criterion, "run the tests")
    result = builder.add_hook("Stop", adapter).build().run("go")
    assert result.text == "done, and tested"
    assert list_lines(model.requests[1])[-1] == feedback("run the tests")


def test_a_criterion_on_a_whole_stack_is_asked_at_stops_alone() -> None:
    states: list[int] = []

    def count(state: AgentState) -> bool:
        states.append(state.step_count)
        return False

    builder, _ = agent_of(call("test"), "done", tools=(text_tool("test"),))
    builder.with_hooks(Stack().with_(ContinuationCriteriaAdapter(count))).build().run("go")
    assert states == [2]
