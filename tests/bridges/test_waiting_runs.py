"""A run that waits for a person goes on only with the hooks and the options of its bridge; others ask again, in every framework."""

from __future__ import annotations

from typing import Any

import pytest

from boathook import Hooks, Outcome, ToolCall, ToolContext
from boathook.bridges.attachment import attach
from tests.bridges.adapter import Adapter, Answers, Ran, Script
from tests.bridges.contract import ask_about_pushes
from tests.bridges.stage import Stage, call_bash

# They carry out what a person approved, and ask nothing more about it.
ASK_ONCE = ("openai-agents", "google-adk")


def approve(stage: Stage, agent: Any, ran: Ran) -> Ran:
    assert [each.args for each in ran.approvals] == [{"command": "git push"}]
    return stage.run(agent, Answers(ran, {each.call_id: True for each in ran.approvals}))


def list_ways(adapter: Adapter) -> tuple[str, ...]:
    """Return the ways of running in which a run is suspended."""
    if adapter.framework == "claude-agent-sdk":
        pytest.skip("its program asks the person while the call waits, so that no run is suspended")
    return adapter.ways


def pause(adapter: Adapter, way: str) -> tuple[Stage, Any, Ran]:
    """Run an agent until a hook has asked about its call."""
    stage = Stage(adapter, way, is_attached=True)
    stage.hooks.before_tool(ask_about_pushes)
    agent = stage.build(Script((call_bash("git push"),), "done"))
    return stage, agent, stage.run(agent, "go")


def block_push(context: ToolContext) -> Outcome:
    return Outcome.block(f"{context.args['command']} is not allowed any more")


@pytest.mark.bridge
def test_hooks_that_were_added_while_a_run_waited_decide_about_its_call(adapter: Adapter) -> None:
    for way in list_ways(adapter):
        stage, agent, ran = pause(adapter, way)
        stage.hooks.before_tool(block_push)
        ran = approve(stage, agent, ran)
        assert (stage.ran, stage.error, ran.output) == ([], None, "done")
        assert "git push is not allowed any more" in stage.find_results()["call-1"]


@pytest.mark.bridge
def test_the_answer_to_a_question_of_earlier_hooks_does_not_count_and_is_not_lost_silently(
    adapter: Adapter, caplog: pytest.LogCaptureFixture
) -> None:
    for way in list_ways(adapter):
        caplog.clear()
        stage, agent, ran = pause(adapter, way)
        stage.hooks.before_tool(lambda context: Outcome.ask("really?"), priority=1)
        ran = approve(stage, agent, ran)
        assert stage.ran == []
        assert "does not count" in caplog.text
        if adapter.framework in ASK_ONCE:
            assert "really?" in stage.find_results()["call-1"]
            continue
        assert "really?" in ran.approvals[0].reason
        ran = approve(stage, agent, ran)
        assert (stage.ran, stage.error, ran.output) == (["git push"], None, "done")
        events = ("pre-session", "pre-agent-turn", "post-tool-call", "post-agent-turn", "post-session")
        assert {*stage.count_events(*events).values()} == {1}


# What bridges have in common


LS = ToolCall("list", {"where": "."}, "c1")
OTHERS: dict[str, dict[str, Any]] = {
    "names": {"names": {"list": "Shell"}},
    "arguments": {"arguments": {"list": {"where": "path"}}},
    "session_id": {"session_id": "another"},
    "work_dir": {"work_dir": "/"},
}


@pytest.fixture
def hooks() -> Hooks:
    made = Hooks()
    made.before_tool(lambda context: Outcome.ask("sure?"))
    return made


def test_a_run_that_waits_is_found_by_a_bridge_with_the_same_hooks_and_options(hooks: Hooks) -> None:
    for first, second in (({}, {}), (OTHERS["names"], OTHERS["names"]), ({}, {"work_dir": "."})):
        run = attach("pydantic-ai", hooks, **first).make_run("s1")
        attach("pydantic-ai", hooks, **first).suspend(run, "s1")
        assert attach("pydantic-ai", hooks, **second).find_waiting_run("s1") is run


@pytest.mark.parametrize("options", OTHERS.values(), ids=OTHERS)
def test_a_run_that_waits_is_not_found_by_a_bridge_with_other_options(hooks: Hooks, options: dict[str, Any]) -> None:
    bridge, other = attach("pydantic-ai", hooks), attach("pydantic-ai", hooks, **options)
    bridge.suspend(waiting := bridge.make_run("s1"), "s1")
    assert other.find_waiting_run("s1") is None
    other.refuse_other_answers(run := other.make_run("s1", can_ask=True), "s1")
    run.answer_call(LS, is_allowed=True)
    asked = run.tool(LS, pytest.fail)
    assert asked.ask is not None
    # The answer to its own question counts.
    run.answer_call(LS, is_allowed=True)
    assert run.tool(LS, lambda call: "ran").has_run
    assert bridge.find_waiting_run("s1") is waiting


def test_a_run_that_waits_is_not_found_by_a_bridge_to_another_framework(hooks: Hooks) -> None:
    bridge, other = attach("pydantic-ai", hooks), attach("strands-agents", hooks)
    bridge.suspend(bridge.make_run("s1"), "s1")
    assert other.find_waiting_run("s1") is None


def test_an_answer_to_earlier_hooks_does_not_count_after_a_run_that_failed_before_it_asked(hooks: Hooks) -> None:
    bridge = attach("pydantic-ai", hooks)
    bridge.suspend(bridge.make_run("s1"), "s1")
    hooks.before_tool(lambda context: None)
    bridge.refuse_other_answers(first := bridge.make_run("s1", can_ask=True), "s1")
    first.end(error=ValueError("the framework failed"))
    for _ in range(2):
        bridge.refuse_other_answers(run := bridge.make_run("s1", can_ask=True), "s1")
        run.answer_call(LS, is_allowed=True)
        assert run.tool(LS, pytest.fail).ask is not None
    # Now it is asked by the hooks of now.
    bridge.suspend(run, "s1")
    assert bridge.find_waiting_run("s1") is run
    bridge.refuse_other_answers(run, "s1")
    run.answer_call(LS, is_allowed=True)
    assert run.tool(LS, lambda call: "ran").has_run


def test_a_refusal_counts_although_other_hooks_asked(hooks: Hooks) -> None:
    bridge = attach("pydantic-ai", hooks)
    bridge.suspend(bridge.make_run("s1"), "s1")
    hooks.before_tool(lambda context: None)
    bridge.refuse_other_answers(run := bridge.make_run("s1", can_ask=True), "s1")
    assert bridge.find_waiting_run("s1") is None
    run.answer_call(LS, is_allowed=False)
    assert "refused by a person" in run.tool(LS, pytest.fail).text
