"""Compaction: when a conversation is made shorter, what stays of it, and what hooks decide about that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from boathook import Outcome, ToolCall
from boathook.agent.model import ASSISTANT, SYSTEM, TOOL, USER, Message, Reply, estimate_tokens
from boathook.agent.reference_agent import OMISSION_NOTE, drop_middle

from .builders import Witness, agent_of, call, list_lines, text_tool

LONG = "z" * 4_000  # a thousand tokens
OMITTED = "user: [earlier messages were left out to save space]"

texts = st.text("ab ", max_size=60)


@st.composite
def exchanges(draw: st.DrawFn, at: int) -> list[Message]:
    """A step: an answer, with the results of its calls, and perhaps something a hook noted."""
    calls = tuple(ToolCall("look", {"n": n}, f"{at}-{n}") for n in range(draw(st.integers(0, 3))))
    results = [Message(TOOL, draw(texts), (), one.id, one.name) for one in calls]
    notes = [Message(USER, text) for text in draw(st.lists(texts, max_size=2))]
    return [Message(ASSISTANT, draw(texts), calls), *results, *notes]


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    begin = [Message(SYSTEM, draw(texts))] if draw(st.booleans()) else []
    begin.append(Message(USER, draw(texts)))
    steps = [draw(exchanges(at)) for at in range(draw(st.integers(0, 8)))]
    return [*begin, *(message for step in steps for message in step)]


def is_whole(messages: Sequence[Message]) -> bool:
    """Whether every result comes after its call."""
    known: set[str] = set()
    for message in messages:
        if message.role == TOOL and message.call_id not in known:
            return False
        known |= {one.id for one in message.calls}
    return True


@given(conversations(), st.integers(0, 400))
@example([Message(USER, "go")], 0)
def test_a_shortened_conversation_is_whole_and_keeps_its_beginning_and_its_end(
    messages: list[Message], budget: int
) -> None:
    found = list(drop_middle(messages, budget))
    head = beginning(messages)
    assert found[:head] == messages[:head]
    assert is_whole(found)
    rest = found[head:]
    if rest[:1] == [OMISSION_NOTE]:
        rest = rest[1:]
        assert len(rest) < len(messages) - head
    else:
        assert found == messages
    assert rest == messages[len(messages) - len(rest) :]
    assert estimate_tokens(rest) <= budget // 2 or is_least(messages, len(messages) - len(rest))


def beginning(messages: list[Message]) -> int:
    """Count what comes before the model's first word."""
    return next((at for at, message in enumerate(messages) if message.role == ASSISTANT), len(messages))


def is_least(messages: list[Message], start: int) -> bool:
    """Whether nothing more could be left out: the model has answered nothing of it, or has not received its results."""
    rest = messages[start:]
    answers = [at for at, message in enumerate(rest) if message.role == ASSISTANT]
    return answers in ([], [0])


@given(conversations(), st.integers(0, 400))
def test_nothing_is_left_out_that_there_is_room_for(messages: list[Message], budget: int) -> None:
    found = list(drop_middle(messages, budget))
    if OMISSION_NOTE in found:
        head = beginning(messages)
        start = len(messages) - (len(found) - head - 1)
        longer = next(at for at in reversed(range(head, start)) if is_whole(messages[at:]))
        assert estimate_tokens(messages[longer:]) > budget // 2


@given(conversations(), st.integers(0, 400))
def test_shortening_twice_is_shortening_once(messages: list[Message], budget: int) -> None:
    once = list(drop_middle(messages, budget))
    again = list(drop_middle(once, budget))
    assert len(again) <= len(once)
    assert [message for message in again if message is not OMISSION_NOTE] == [m for m in once if m is not OMISSION_NOTE]


def test_what_the_model_is_to_answer_stays_even_beyond_the_budget() -> None:
    steps = [Message(ASSISTANT, "", (ToolCall("look", {}, "1"),)), Message(TOOL, LONG, (), "1", "look")]
    asked = [Message(USER, "go"), Message(ASSISTANT, "gone"), Message(USER, LONG)]
    begun = [Message(SYSTEM, "s"), Message(USER, LONG)]
    assert drop_middle([*begun, Message(ASSISTANT, LONG), *steps], 100) == [*begun, OMISSION_NOTE, *steps]
    assert drop_middle(asked, 100) == [asked[0], OMISSION_NOTE, asked[2]]


def test_results_with_notes_between_them_stay_with_their_calls() -> None:
    """A hook that returns another state may have put them there."""
    calls = (ToolCall("a", {}, "1"), ToolCall("b", {}, "2"))
    messages = [
        Message(USER, "go"),
        Message(ASSISTANT, LONG, calls),
        Message(TOOL, "a", (), "1", "a"),
        Message(USER, "note"),
        Message(TOOL, "b", (), "2", "b"),
        Message(ASSISTANT, "done"),
        Message(USER, "more"),
    ]
    assert drop_middle(messages, 100) == [messages[0], OMISSION_NOTE, *messages[5:]]


def test_an_empty_conversation_stays_empty() -> None:
    assert drop_middle([], 10) == []


# in the agent


def a_long_run(*moves: Any, budget: int | None = 1_500, **fields: Any) -> tuple[Any, Any, Witness]:
    witness = Witness()
    builder, model = agent_of(*moves, tools=(text_tool("look", LONG), text_tool("work")), **fields)
    return builder.with_limits(token_budget=budget).with_hooks(witness.stack), model, witness


def compactions(witness: Witness) -> list[tuple[str, ...]]:
    names = ("pre-context-compact", "post-context-compact")
    return [(kind, *map(str, data.values())) for _, kind, data in witness.events if kind in names]


def test_a_conversation_beyond_the_budget_is_shortened_before_the_next_step() -> None:
    builder, model, witness = a_long_run(call("look"), call("look"), call("work"), "done")
    builder.build().run("go")
    assert [len(list_lines(heard)) for heard in model.requests] == [1, 3, 4, 6]
    assert list_lines(model.requests[2]) == ["user: go", OMITTED, "assistant:  look", f"tool: {LONG}"]
    assert [name for name, *_ in compactions(witness)] == ["pre-context-compact", "post-context-compact"]


def test_a_conversation_within_the_budget_is_left_alone() -> None:
    builder, model, witness = a_long_run(call("look"), call("look"), "done", budget=10_000)
    builder.build().run("go")
    assert compactions(witness) == []
    assert len(model.requests[-1]) == 5


def test_without_a_budget_nothing_is_shortened() -> None:
    builder, model, witness = a_long_run(*[call("look")] * 5, "done", budget=None)
    builder.build().run("go")
    assert (compactions(witness), len(model.requests[-1])) == ([], 11)


def test_what_the_model_counted_is_believed_and_what_came_since_is_guessed() -> None:
    builder, _, witness = a_long_run(Reply("", (call("look"),), 600), "done")
    builder.build().run("go")
    assert witness.of("pre-context-compact") == [{"trigger": "auto", "token_count": 600 + len(LONG) // 4}]


def test_a_model_that_does_not_count_is_guessed_for() -> None:
    builder, _, witness = a_long_run(call("look"), call("look"), "done")
    builder.build().run("go")
    whole = (len("go") + 2 * (len("look{}") + len(LONG))) // 4
    remaining = (len("go") + len(OMISSION_NOTE.text) + len("look{}") + len(LONG)) // 4
    assert compactions(witness) == [
        ("pre-context-compact", "auto", str(whole)),
        ("post-context-compact", "auto", str(whole), str(remaining)),
    ]


def test_a_state_that_a_hook_replaced_is_counted_anew() -> None:
    """The model counted another conversation."""
    builder, _, witness = a_long_run(Reply("", (call("work"),), 9_000), "done")
    builder.on_after_step(lambda state: state.with_messages(Message(USER, "x"))).build().run("go")
    assert compactions(witness) == []


def test_a_blocked_compaction_keeps_the_conversation_and_is_asked_about_again() -> None:
    builder, model, witness = a_long_run(call("look"), call("look"), call("work"), "done")
    builder.add_hook("PreCompact", lambda _: Outcome.block("not now")).build().run("go")
    assert [len(heard) for heard in model.requests] == [1, 3, 5, 7]
    assert [name for name, *_ in compactions(witness)] == ["pre-context-compact"] * 2


def test_a_conversation_is_shortened_on_request() -> None:
    builder, _, witness = a_long_run("a" * 400, "b" * 400, "c" * 40, budget=None)
    with builder.build().session() as session:
        for prompt in ("one", "two", "three"):
            session.run(prompt)
        assert session.compact() is True
        assert list_lines(session.state.messages) == ["user: one", OMITTED, "user: three", f"assistant: {'c' * 40}"]
    assert [name for name, trigger, *_ in compactions(witness) if trigger == "manual"] == [
        "pre-context-compact",
        "post-context-compact",
    ]


def test_hooks_can_refuse_that_too() -> None:
    builder, _, _ = a_long_run("a" * 400, "b" * 400)
    with builder.add_hook("PreCompact", lambda _: Outcome.block("no")).build().session() as session:
        session.run("one")
        before = session.state.messages
        assert session.compact() is False
        assert session.state.messages == before


@pytest.mark.parametrize("is_async", [False, True])
def test_another_compactor_gets_the_conversation_and_the_budget(is_async: bool) -> None:
    given_to: list[tuple[int, int]] = []

    def summary(messages: Sequence[Message], budget: int) -> list[Message]:
        given_to.append((len(messages), budget))
        return [Message(USER, "so far: nothing")]

    async def slow_summary(messages: Sequence[Message], budget: int) -> list[Message]:
        return summary(messages, budget)

    builder, model, _ = a_long_run(call("look"), call("look"), "done")
    builder.with_compactor(slow_summary if is_async else summary).build().run("go")
    assert given_to == [(5, 1_500)]
    assert list_lines(model.requests[-1]) == ["user: so far: nothing"]


def test_a_compactor_that_fails_is_a_failure_of_the_turn() -> None:
    def broken(messages: Sequence[Message], budget: int) -> list[Message]:
        raise ValueError("no summary")

    builder, _, witness = a_long_run(call("look"), call("look"), "done")
    with pytest.raises(ValueError, match="no summary"):
        builder.with_compactor(broken).build().run("go")
    assert witness.of("turn-failure") == [{"error": "ValueError: no summary"}]


def test_a_subagent_has_a_budget_of_its_own_and_remembers_its_task() -> None:
    helper, model = agent_of(call("look"), call("look"), "found", tools=(text_tool("look", LONG),))
    helper = helper.with_system("you help").with_limits(token_budget=1_500)
    witness = Witness()
    builder, _ = agent_of(call("Subagent", name="helper", task="look twice"), "done")
    builder.with_subagent("helper", helper.build()).with_hooks(witness.stack).build().run("go")
    begun = ["system: you help", "user: look twice"]
    assert list_lines(model.requests[-1]) == [*begun, OMITTED, "assistant:  look", f"tool: {LONG}"]
    assert [who for who, kind, _ in witness.events if kind == "pre-context-compact"] == ["helper-1"]
    assert [data["task_description"] for data in witness.of("post-subagent")] == ["look twice"]
