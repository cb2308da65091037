"""The quality gate: stops that hooks refuse, what the agent reads, and where that ends (S22)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from boathook import HookError, Hooks, Outcome, Stack, StopContext, SubagentContext
from tests.scratch_project import ScratchProject

from .builders import Witness, agent_of, call, child, feedback, list_lines, text_tool

REPLIES = ("one", "two", "three", "four", "five", "six", "seven", "eight")
MORE = "write the tests"
LET_THROUGH = "the stop was refused {} times in this turn and is let through now; the hook's reason: " + MORE


def refuse(_: Any) -> Outcome:
    return Outcome.block(MORE)


def test_a_refused_stop_is_reported_to_the_agent_in_these_words() -> None:
    builder, model = agent_of("done", "done, with tests")
    result = builder.on_stop(lambda context: None if context.was_refused else refuse(context)).build().run("go")
    assert list_lines(model.requests[-1]) == ["user: go", "assistant: done", f"user: [Hook blocked stop: {MORE}]"]
    assert (result.status, result.text, result.stop_reason) == ("done", "done, with tests", "no_tool_calls")


def test_a_stop_is_refused_three_times_in_a_turn_and_the_fourth_is_reported() -> None:
    builder, model = agent_of(*REPLIES)
    with builder.on_stop(refuse).build().session() as session:
        first, second = session.run("go"), session.run("go on")
    assert [(one.status, one.reason, one.text, one.messages) for one in (first, second)] == [
        ("gate_lifted", MORE, "four", (LET_THROUGH.format(3),)),
        ("gate_lifted", MORE, "eight", (LET_THROUGH.format(3),)),
    ]
    assert list_lines(model.requests[3]).count(feedback(MORE)) == 3


@pytest.mark.parametrize("rounds", [0, 1, 5])
def test_how_often_a_hook_may_refuse_can_be_set(rounds: int) -> None:
    builder, _ = agent_of(*REPLIES)
    result = builder.on_stop(refuse, max_rounds=rounds).build().run("go")
    assert (result.text, result.messages) == (REPLIES[rounds], (LET_THROUGH.format(rounds),))


def refuse_around(context: Any, next: Any) -> Outcome:  # noqa: A002
    return next(context) | Outcome.block(MORE)


def test_the_limit_holds_however_the_hook_was_added() -> None:
    hooks = Hooks()
    hooks.before_stop(refuse)
    texts = []
    for add in (
        lambda builder: builder.add_hook("Stop", refuse),
        lambda builder: builder.with_hooks(hooks),
        lambda builder: builder.on_stop(refuse_around),
    ):
        builder, _ = agent_of(*REPLIES)
        texts.append(add(builder).build().run("go").text)
    assert texts == ["four", "four", "four"]


def test_rounds_are_for_stops_alone() -> None:
    builder, _ = agent_of()
    with pytest.raises(HookError, match="max_rounds is only for stops"):
        builder.add_hook("PreToolUse", refuse, max_rounds=2)


def test_each_hook_has_rounds_of_its_own() -> None:
    builder, _ = agent_of(*REPLIES)
    builder = builder.on_stop(lambda _: Outcome.block("short"), priority=1, max_rounds=1)
    witness = Witness()
    result = builder.on_stop(refuse, max_rounds=2).with_hooks(witness.stack).build().run("go")
    assert result.text == "four"
    # File hooks count their own refusals, and read whether any hook refused.
    stops = witness.of("pre-agent-turn-stop")
    assert [(stop["stop_hook_active"], stop["stop_block_count"]) for stop in stops] == [(False, 0), *[(True, 0)] * 3]


def test_a_gate_that_fails_is_bounded_like_one_that_refuses() -> None:
    builder, model = agent_of(*REPLIES)
    result = builder.add_hook("Stop", lambda _: 1 / 0, on_failure="block").build().run("go")
    assert (result.status, result.text, len(model.requests)) == ("gate_lifted", "four", 4)
    assert "refused 3 times" in result.messages[0]


def test_the_gates_of_scripts_and_of_the_program_count_for_themselves(project: ScratchProject) -> None:
    project.write_hook("gate", script=f"echo '{MORE}' >&2; exit 2", fields={"trigger": "Stop"})
    builder, _ = agent_of(*REPLIES)
    builder = builder.on_stop(lambda _: Outcome.block("first"), priority=500, max_rounds=2)
    result = builder.in_dir(project.path).with_hooks_from(project.path).build().run("go")
    assert (result.text, result.messages[-1]) == ("six", LET_THROUGH.format(3))


def test_a_gate_sees_how_often_it_was_refused() -> None:
    seen: list[tuple[int, bool, str | None, int]] = []

    def look(context: StopContext) -> Outcome:
        seen.append((context.block_count, context.was_refused, context.final_message, context.step_count))
        return refuse(context)

    builder, _ = agent_of(*REPLIES)
    builder.on_stop(look).build().run("go")
    assert seen == [(0, False, "one", 1), (1, True, "two", 2), (2, True, "three", 3), (3, True, "four", 4)]


def test_a_gate_of_a_script_has_the_same_limit_and_sees_the_same_fields(project: ScratchProject) -> None:
    script = f"cat >> stops; echo '{MORE}' >&2; exit 2"
    project.write_hook("gate", script=script, fields={"trigger": "Stop"})
    builder, model = agent_of(*REPLIES)
    result = builder.in_dir(project.path).with_hooks_from(project.path).build().run("go")
    stops = [json.loads(line) for line in (project.path / "stops").read_text().splitlines()]
    assert [(stop["stop_hook_active"], stop["stop_block_count"], stop["stop_reason"]) for stop in stops] == [
        (False, 0, "no_tool_calls"),
        (True, 1, "no_tool_calls"),
        (True, 2, "no_tool_calls"),
        (True, 3, "no_tool_calls"),
    ]
    assert (result.text, result.messages) == ("four", (LET_THROUGH.format(3),))
    assert (result.status, result.reason) == ("gate_lifted", MORE)
    assert list_lines(model.requests[3]).count(feedback(MORE)) == 3
    printed = project.run("log", "--json").stdout.splitlines()
    assert [json.loads(line).get("lifted") for line in printed] == [*[None] * 3, [MORE]]


def test_a_stop_for_want_of_steps_cannot_be_refused() -> None:
    builder, _ = agent_of(*[call("work")] * 5, tools=(text_tool("work"),))
    witness = Witness()
    builder = builder.with_limits(max_steps=2).with_hooks(witness.stack)
    result = builder.on_stop(refuse).build().run("go")
    assert (len(result.steps), result.status, result.stop_reason) == (2, "gate_lifted", "max_steps")
    assert result.messages == (f"a stop for 'max_steps' cannot be refused; the hook's reason: {MORE}",)
    assert [stop["stop_reason"] for stop in witness.of("pre-agent-turn-stop", "post-agent-turn-stop")] == [
        "max_steps",
        "max_steps",
    ]


def test_a_stop_after_a_persons_refusal_cannot_be_refused() -> None:
    builder, model = agent_of(call("deploy"), "done", tools=(text_tool("deploy", needs_permission=True),))
    result = builder.with_permission(lambda *_: False).on_stop(refuse).build().run("go")
    assert (len(result.steps), result.stop_reason) == (1, "tool_rejected")
    assert result.messages == (f"a stop for 'tool_rejected' cannot be refused; the hook's reason: {MORE}",)
    assert [(one.text, one.is_error) for one in result.steps[0].results] == [
        ("deploy wants to run (refused by a person)", True)
    ]
    assert len(model.requests) == 1


def test_a_stop_at_the_last_step_cannot_be_refused_and_that_is_reported() -> None:
    builder, _ = agent_of("one", "two", "three")
    result = builder.with_limits(max_steps=2).on_stop(refuse).build().run("go")
    assert (result.text, result.stop_reason, result.status) == ("two", "no_tool_calls", "gate_lifted")
    assert result.messages == (f"the stop could not be refused after 2 steps; the hook's reason: {MORE}",)


def test_a_stack_put_together_by_hand_has_the_limit_too() -> None:
    builder, _ = agent_of(*REPLIES)
    assert builder.with_hooks(Stack().with_(refuse, on="Stop")).build().run("go").text == "four"


def test_a_patient_gate_is_held_by_the_steps_and_by_the_reason_to_stop() -> None:
    stack = Stack().with_(refuse, on="Stop", max_rounds=100)
    builder, _ = agent_of(*REPLIES)
    result = builder.with_hooks(stack).with_limits(max_steps=6).build().run("go")
    assert result.text == "six"
    builder, _ = agent_of(*[call("work")] * 5, tools=(text_tool("work"),))
    result = builder.with_hooks(stack).with_limits(max_steps=2).build().run("go")
    assert result.messages == (f"a stop for 'max_steps' cannot be refused; the hook's reason: {MORE}",)


def test_the_last_message_of_an_earlier_turn_is_not_that_of_this_turn() -> None:
    builder, _ = agent_of("first", "")
    witness = Witness()
    with builder.with_hooks(witness.stack).build().session() as session:
        results = [session.run("one"), session.run("two")]
    assert [result.text for result in results] == ["first", ""]
    assert [stop.get("final_message") for stop in witness.of("pre-agent-turn-stop")] == [
        {"role": "assistant", "content": "first"},
        None,
    ]
    assert [turn["final_message"] for turn in witness.of("post-agent-turn")] == [
        {"role": "assistant", "content": "first"},
        None,
    ]


# subagents


def test_a_subagent_is_sent_back_three_times_and_the_fourth_stop_is_reported() -> None:
    builder, model = agent_of(child(), "done", helper=REPLIES)
    witness = Witness()
    agent = builder.on_subagent_stop(refuse).with_hooks(witness.stack).build()
    result = agent.run("go")
    helper: Any = agent.subagents["helper"].model
    assert list_lines(helper.requests[-1]).count(feedback(MORE)) == 3
    assert list_lines(model.requests[-1])[-1] == "tool: four"
    assert [stop["result"] for stop in witness.of("post-subagent")] == ["one", "two", "three", "four"]
    assert result.messages == (LET_THROUGH.format(3),)


@pytest.mark.parametrize("rounds", [0, 1, 4])
def test_how_often_a_hook_sends_a_subagent_back_can_be_set_for_it(rounds: int) -> None:
    seen: list[int] = []

    def look(context: SubagentContext) -> Outcome:
        seen.append(context.block_count)
        return refuse(context)

    builder, model = agent_of(child(), "done", helper=REPLIES)
    result = builder.on_subagent_stop(look, max_rounds=rounds).build().run("go")
    assert seen == list(range(rounds + 1))
    assert list_lines(model.requests[-1])[-1] == f"tool: {REPLIES[rounds]}"
    assert result.messages == (LET_THROUGH.format(rounds),)


def test_each_hook_has_rounds_of_its_own_for_a_subagent() -> None:
    builder, _ = agent_of(child(), "done", helper=REPLIES)
    builder = builder.on_subagent_stop(lambda _: Outcome.block("first"), priority=1)
    agent = builder.on_subagent_stop(refuse, max_rounds=2).build()
    result = agent.run("go")
    helper: Any = agent.subagents["helper"].model
    feedbacks = [line for line in list_lines(helper.requests[-1]) if line.startswith("user: [Hook blocked")]
    assert feedbacks == [*[feedback("first")] * 3, *[feedback(MORE)] * 2]
    assert result.messages[-1] == LET_THROUGH.format(2)


def test_each_subagent_begins_with_all_rounds() -> None:
    builder, model = agent_of(child(), child(), "done", helper=REPLIES)
    builder.on_subagent_stop(refuse, max_rounds=1).build().run("go")
    assert [line for line in list_lines(model.requests[-1]) if line.startswith("tool:")] == ["tool: two", "tool: four"]


def test_a_gate_of_a_script_has_rounds_of_its_own_for_a_subagent(project: ScratchProject) -> None:
    project.write_hook("gate", script=f"echo '{MORE}' >&2; exit 2", fields={"trigger": "SubagentStop"})
    builder, model = agent_of(child(), "done", helper=REPLIES)
    builder = builder.on_subagent_stop(lambda _: Outcome.block("first"), priority=500, max_rounds=2)
    builder.in_dir(project.path).with_hooks_from(project.path).build().run("go")
    assert list_lines(model.requests[-1])[-1] == "tool: six"


def test_a_subagent_that_has_no_steps_left_is_not_sent_back() -> None:
    helper, _ = agent_of(*[call("work")] * 5, tools=(text_tool("work"),))
    builder, _ = agent_of(child(), "done")
    builder = builder.with_subagent("helper", helper.with_limits(max_steps=2).build())
    witness = Witness()
    result = builder.on_subagent_stop(refuse).with_hooks(witness.stack).build().run("go")
    assert len(witness.of("post-subagent")) == 1
    assert result.messages == (f"a stop for 'max_steps' cannot be refused; the hook's reason: {MORE}",)


def test_a_stop_of_the_main_agent_is_not_asked_about_for_a_subagent() -> None:
    builder, _ = agent_of(child(), "done", helper=("found",))
    witness = Witness()
    builder.with_hooks(witness.stack).build().run("go")
    stops = [who for who, kind, _ in witness.events if kind in ("pre-agent-turn-stop", "post-agent-turn-stop")]
    assert stops == ["main", "main"]
