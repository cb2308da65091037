"""What hooks send along a run: context for the model, messages for the person, values for later hooks, another state."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from boathook import KINDS, AgentState, HookError, Outcome, Tool, ToolContext
from boathook.agent.model import Message
from tests.scratch_project import ScratchProject

from .builders import Witness, agent_of, call, child, failing_tool, list_lines, note, shown, text_tool
from .test_effects import Scene, once

NB = "mind the gap"
EVENTS = [kind.name for kind in KINDS]
HEARD_BY_THE_HELPER = ("pre-subagent",)
HEARD_BY_NOBODY = ("post-session",)


def events(*, without: tuple[str, ...] = ()) -> list[str]:
    return [event for event in EVENTS if event not in without]


# context


@pytest.mark.parametrize("event", events(without=HEARD_BY_THE_HELPER + HEARD_BY_NOBODY))
def test_context_of_any_event_reaches_the_model_once(event: str) -> None:
    scene = Scene(event)
    scene.play(scene.builder.add_hook(event, once(lambda context: context.add_context(NB))))
    assert list_lines(scene.model.requests[-1]).count(note(NB)) == 1


@pytest.mark.parametrize("event", events(without=HEARD_BY_THE_HELPER + HEARD_BY_NOBODY))
def test_context_of_a_script_reaches_the_model_too(project: ScratchProject, event: str) -> None:
    project.write_hook("teller", script=f"[ -e said ] || {{ : > said; echo '{NB}'; }}", fields={"trigger": event})
    scene = Scene(event)
    scene.play(scene.builder.in_dir(project.path).with_hooks_from(project.path))
    assert list_lines(scene.model.requests[-1]).count(note(NB)) == 1


def test_context_of_a_subagents_start_reaches_the_subagent() -> None:
    builder, model = agent_of(child(), "done", helper=("found",))
    agent = builder.add_hook("SubagentStart", lambda context: context.add_context(NB)).build()
    agent.run("go")
    helper: Any = agent.subagents["helper"].model
    assert list_lines(helper.requests[0]) == [note(NB), "user: look"]
    assert note(NB) not in list_lines(model.requests[-1])


def test_context_of_a_subagents_refused_stop_reaches_the_subagent_and_of_its_last_one_the_parent() -> None:
    builder, model = agent_of(child(), "done", helper=("found", "found more"))
    stops: list[str] = []

    def asks_for_more(context):
        stops.append(context.result)
        outcome = Outcome.block("more") if len(stops) == 1 else Outcome.proceed()
        return outcome.replace(contexts=(f"stop {len(stops)}",))

    agent = builder.on_subagent_stop(asks_for_more).build()
    agent.run("go")
    helper: Any = agent.subagents["helper"].model
    assert list_lines(helper.requests[1]) == [
        "user: look",
        "assistant: found",
        note("stop 1"),
        "user: [Hook blocked stop: more]",
    ]
    assert list_lines(model.requests[-1])[-2:] == ["tool: found more", note("stop 2")]


def test_context_of_a_session_and_a_turn_comes_before_the_prompt() -> None:
    builder, model = agent_of("done")
    builder = builder.with_system("be kind").add_hook("SessionStart", lambda context: context.add_context("one"))
    builder.on_execution_start(lambda context: context.add_context("two").add_context("three")).build().run("go")
    assert list_lines(model.requests[0]) == ["system: be kind", note("one"), note("two"), note("three"), "user: go"]


def test_no_message_comes_between_calls_and_their_results() -> None:
    """Providers refuse a conversation in which something does."""
    tools = (text_tool("deploy", needs_permission=True), failing_tool())
    builder, model = agent_of((call("deploy"), call("fail"), child()), "done", tools=tools, helper=("found",))
    for event in EVENTS:
        builder = builder.add_hook(
            event, lambda context: context.add_context(f"{context.event} {context.tool}".strip())
        )
    builder.with_permission(lambda *_: True).build().run("go")
    heard = list_lines(model.requests[-1])
    at = heard.index("tool: deploy is done")
    assert heard[at - 1].startswith("assistant:")
    assert heard[at : at + 3] == ["tool: deploy is done", "tool!: it broke", "tool: found"]
    assert set(heard[at + 3 : -2]) == {
        note("notification"),
        note("permission-request deploy"),
        note("pre-tool-call deploy"),
        note("post-tool-call deploy"),
        note("pre-tool-call fail"),
        note("post-tool-call-failure fail"),
        note("pre-tool-call Subagent"),
        note("post-tool-call Subagent"),
        note("post-subagent"),
    }
    assert heard[-2:] == [note("post-step"), note("pre-step")]


def test_context_that_came_with_a_block_reaches_the_model_with_it() -> None:
    builder, model = agent_of(call("work"), "done", tools=(text_tool("work"),))
    hook = lambda _: Outcome.block("no").replace(contexts=(NB,))  # noqa: E731
    builder.on_before_tool_use(hook).build().run("go")
    assert list_lines(model.requests[-1])[-2:] == ["tool!: no", note(NB)]


# messages


@pytest.mark.parametrize("event", events(without=("post-session",)))
def test_messages_of_any_event_reach_the_result_of_a_turn_and_the_listener_once(event: str) -> None:
    reported: list[str] = []
    scene = Scene(event)
    builder = scene.builder.with_listener(lambda what, value: reported.append(value) if what == "message" else None)
    hook = once(lambda context: context.add_message(NB))
    with builder.add_hook(event, hook).build().session() as session:
        results = [turn_messages(session, prompt) for prompt in ("go", "go on")]
    assert [text for messages in results for text in messages] == [NB]
    assert reported == [NB]


def turn_messages(session: Any, prompt: str) -> tuple[str, ...]:
    try:
        return session.run(prompt).messages
    except RuntimeError:
        return ()


def test_messages_at_the_end_of_a_session_reach_the_listener() -> None:
    reported: list[Any] = []
    builder, _ = agent_of("done")
    builder = builder.with_listener(lambda what, value: reported.append((what, value)))
    builder.add_hook("SessionEnd", lambda context: context.add_message(NB)).build().run("go")
    assert [value for what, value in reported if what == "message"] == [NB]


def test_a_message_of_a_script_and_the_news_of_a_broken_one_reach_the_person(project: ScratchProject) -> None:
    answer = '{"system_message": "mind the gap"}'
    project.write_hook("teller", script=f"echo '{answer}'", fields={"trigger": "pre-tool-call"})
    project.write_hook("wreck", script="exit 3", fields={"trigger": "post-tool-call"})
    builder, _ = agent_of(call("work"), "done", tools=(text_tool("work"),))
    result = builder.in_dir(project.path).with_hooks_from(project.path).build().run("go")
    assert result.messages == (NB, "hook 'wreck' failed: exit code 3")


def test_the_listener_receives_replies_steps_and_events_as_they_happen() -> None:
    heard: list[str] = []

    def listen(what, value):
        text = {
            "reply": lambda: f"reply {value[1].text}",
            "step": lambda: f"step {value.index}",
            "event": lambda: value[0],
        }
        heard.append(text[what]())

    builder, _ = agent_of(call("work"), "done", tools=(text_tool("work"),))
    builder.with_listener(listen).build().run("go")
    assert heard == [
        "pre-session",
        "pre-agent-turn",
        *("pre-step", "reply ", "post-tool-call", "step 0", "post-step"),
        *("pre-step", "reply done", "step 1", "post-step"),
        *("pre-agent-turn-stop", "post-agent-turn-stop", "post-agent-turn", "post-session"),
    ]


# values


def test_a_value_of_the_turns_start_is_there_at_every_later_event_and_in_subagents() -> None:
    builder, _ = agent_of(
        (call("work"), call("fail"), child()),
        "done",
        tools=(text_tool("work"), failing_tool()),
        helper=(call("work"), "found"),
    )
    witness = Witness()
    builder = builder.with_hooks(witness.stack)
    builder.on_execution_start(lambda context: context.with_metadata("ticket", 7)).build().run("go")
    values = {context.event: context.get("ticket") for context in witness.contexts}
    assert values == {"pre-session": None, "pre-agent-turn": None} | dict.fromkeys(list(values)[2:], 7)
    assert {"pre-tool-call", "post-tool-call-failure", "post-agent-turn", "post-subagent"} <= set(values)


@pytest.mark.parametrize("event", events(without=("post-session",)))
def test_a_value_of_any_event_is_there_when_the_session_ends(event: str) -> None:
    found: list[Any] = []
    scene = Scene(event)
    builder = scene.builder.add_hook(event, once(lambda context: context.with_metadata("ticket", 7)))
    scene.play(builder.add_hook("SessionEnd", lambda context: found.append(context.get("ticket"))))
    assert found == [7]


def test_calls_at_the_same_time_do_not_take_each_others_values_back() -> None:
    """Both were given the values as they were before: what a call did not set must not overwrite what the other set."""
    second_begun, first_ended, found = asyncio.Event(), asyncio.Event(), []

    async def first(args, _):
        await second_begun.wait()
        return "first"

    async def second(args, _):
        second_begun.set()
        await first_ended.wait()
        return "second"

    def count(context: ToolContext):
        if context.name == "first":
            first_ended.set()
            return context.with_metadata("count", 1)
        return context.with_metadata("other", 2)

    tools = (Tool("first", "", first), Tool("second", "", second))
    builder, _ = agent_of((call("first"), call("second")), "done", tools=tools)
    builder = builder.on_execution_start(lambda context: context.with_metadata("count", 0)).on_after_tool_use(count)
    builder.on_execution_end(lambda context: found.append(dict(context.metadata))).build().run("go")
    assert found == [{"count": 1, "other": 2}]


def test_a_value_that_a_subagents_hook_left_is_there_for_the_parent() -> None:
    found: list[Any] = []
    builder, _ = agent_of(child(), "done", helper=("found",))
    builder = builder.on_subagent_stop(lambda context: context.with_metadata("reviewed", context.result))
    builder.on_execution_end(lambda context: found.append(context.get("reviewed"))).build().run("go")
    assert found == ["found"]


def test_timing_a_turn_takes_two_hooks_and_a_value() -> None:
    spans: list[tuple[str, int]] = []
    builder, _ = agent_of("done")
    builder = builder.on_execution_start(lambda context: context.with_metadata("started", len(context.prompt)))
    builder.on_execution_end(lambda context: spans.append((context.prompt, context.get("started")))).build().run("go")
    assert spans == [("go", 2)]


# states


def test_a_state_replaced_before_a_step_is_what_the_model_receives() -> None:
    builder, model = agent_of(call("work"), "done", tools=(text_tool("work"),))

    def only_the_prompt(state: AgentState) -> AgentState:
        remaining = tuple(message for message in state.messages if message.role == "user")
        return AgentState(state.agent_id, messages=remaining, steps=state.steps, metadata=state.metadata)

    builder.on_before_step(only_the_prompt).build().run("go")
    assert [list_lines(heard) for heard in model.requests] == [["user: go"], ["user: go"]]


def test_a_state_replaced_after_a_step_is_what_the_model_receives_next() -> None:
    builder, model = agent_of(call("work"), "done", tools=(text_tool("work", "token abc123"),))

    def redacted(state: AgentState) -> AgentState:
        messages = tuple(
            Message(m.role, m.text.replace("abc123", "…"), m.calls, m.call_id, m.name) for m in state.messages
        )
        return AgentState(state.agent_id, messages=messages, steps=state.steps, metadata=state.metadata)

    builder.on_after_step(redacted).build().run("go")
    assert list_lines(model.requests[-1]) == ["user: go", "assistant:  work", "tool: token …"]


def test_a_value_in_a_replaced_state_counts_like_one_in_the_context_and_the_newer_wins() -> None:
    found: list[Any] = []
    builder, _ = agent_of(call("work"), call("work"), "done", tools=(text_tool("work"),))
    builder = builder.on_before_step(lambda state: state.with_metadata("seen", state.metadata.get("seen", 0) + 1))
    builder.on_execution_end(lambda context: found.append(context.get("seen"))).build().run("go")
    assert found == [3]


def test_values_of_one_hook_and_the_state_of_another_are_both_kept() -> None:
    found: list[Any] = []
    builder, _ = agent_of("done")
    builder = builder.add_hook("BeforeStep", lambda context: context.with_metadata("a", 1), priority=1)
    builder = builder.on_before_step(lambda state: state.with_metadata("b", 2))
    builder.on_execution_end(lambda context: found.append(dict(context.metadata))).build().run("go")
    assert found == [{"a": 1, "b": 2}]


def test_a_processor_that_returns_something_else_than_a_state_raises_an_error() -> None:
    builder, _ = agent_of("done")
    with pytest.raises(HookError, match="must return an AgentState or None, not list"):
        builder.on_after_step(lambda state: [state]).build().run("go")  # type: ignore[arg-type,return-value]


def test_hooks_see_the_state_of_the_turn() -> None:
    seen: list[tuple[int, bool | None]] = []

    def look(state: AgentState) -> None:
        seen.append((state.step_count, state.current_step.has_errors if state.current_step else None))

    builder, _ = agent_of(call("fail"), "done", "again", tools=(failing_tool(),))
    with builder.on_after_step(look).build().session() as session:
        session.run("go")
        session.run("again")
    assert seen == [(1, True), (2, False), (1, False)]


# hooks that fail


def raises(_: Any) -> Any:
    raise KeyError("oops")


ON_FAILURE = {
    "allow": ("done: done", ["work"], ("hook 'raises' failed: KeyError: 'oops'",), "tool: work is done"),
    "block": ("done: done", [], (), "tool!: hook 'raises' failed: KeyError: 'oops'"),
}


@pytest.mark.parametrize("choice", ON_FAILURE)
def test_a_hook_that_raises_is_let_pass_or_blocks_as_chosen(choice: str) -> None:
    ran: list[Any] = []
    builder, model = agent_of(call("work"), "done", tools=(text_tool("work", ran=ran),))
    result = builder.add_hook("PreToolUse", raises, on_failure=choice).build().run("go")
    found = (shown(result), [name for name, _ in ran], result.messages, list_lines(model.requests[-1])[-1])
    assert found == ON_FAILURE[choice]


@pytest.mark.parametrize("event", events(without=("pre-session", "post-session")))
def test_a_hook_that_raises_ends_the_turn_and_hooks_for_failures_run(event: str) -> None:
    heard: list[str] = []
    scene = Scene(event)
    builder = scene.builder.on_agent_failed(lambda context: heard.append(context.error_class), priority=1)
    with builder.add_hook(event, raises).build().session() as session:
        with pytest.raises((KeyError, RuntimeError)) as raised:
            session.run("go")
        failed = "RuntimeError" if event == "turn-failure" else "KeyError"
        assert (type(raised.value).__name__, heard) == (failed, [failed])


def test_a_hook_that_raises_at_a_failure_does_not_hide_it() -> None:
    builder, _ = agent_of(RuntimeError("down"))
    with pytest.raises(RuntimeError, match="down") as raised:
        builder.on_agent_failed(raises).build().run("go")
    assert raised.value.__notes__ == ["a hook failed at turn-failure: KeyError: 'oops'"]


def test_a_hook_that_raises_inside_a_subagent_is_not_an_error_of_a_tool() -> None:
    builder, model = agent_of(child(), "done", tools=(text_tool("work"),), helper=(call("work"), "found"))
    with pytest.raises(KeyError, match="oops"):
        builder.on_before_tool_use(raises, match="work").build().run("go")
    assert len(model.requests) == 1


def test_a_call_that_a_failure_cut_short_has_a_result_in_the_next_turn() -> None:
    """Providers refuse a conversation in which a call has none."""
    builder, model = agent_of((call("work", n=1), call("work", n=2)), "done", tools=(text_tool("work"),))
    with builder.on_before_tool_use(once(raises)).build().session() as session:
        with pytest.raises(KeyError):
            session.run("go")
        session.run("go on")
    cut = "tool!: the call did not end"
    assert list_lines(model.requests[-1]) == [
        "user: go",
        "assistant:  work{'n': 1} work{'n': 2}",
        cut,
        cut,
        "user: go on",
    ]
