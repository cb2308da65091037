"""What failures, gates and questions come to (S18, S20, S22)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.core.event import KINDS, Event
from boathook.core.outcome import Decision, Outcome
from boathook.core.verdict import (
    FAILED,
    OK,
    REFUSED,
    TIMEOUT,
    UNREADABLE,
    AnswerError,
    Call,
    Exit,
    Policy,
    Run,
    make_failure_outcome,
)
from tests.core.builders import a_call, a_hook

BLOCK = Outcome(Decision.BLOCK, ((Decision.BLOCK, "not yet"),))
ASK = Outcome(Decision.ASK, ((Decision.ASK, "really?"),))


class Answering:
    """A dialect that has one answer, or raises."""

    name = "answering"

    def __init__(self, answer):
        self.answer = answer

    def read_answer(self, call, end, *, strict):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


NEVER = Answering(AssertionError("a failed end has no answer to read"))


def answering(dialect, **fields):
    return a_hook(**fields).replace(dialect=dialect)


@pytest.mark.parametrize("status", [FAILED, TIMEOUT, REFUSED])
def test_a_failure_is_let_pass_and_reported_by_default(status):
    end = Exit(None, seconds=1.5, error=status, detail="it \x1b[31mbroke\x1b[0m", warnings=("odd",))
    hook = answering(NEVER)
    run = Policy().make_run(Call(hook, a_call(), 2), end)
    assert run == Run(hook, status, Outcome(), None, 1.5, "it broke", ("odd",), 2)


WORDS = {FAILED: "failed", TIMEOUT: "timed out", REFUSED: "was refused"}


@pytest.mark.parametrize("status", WORDS)
def test_a_failure_blocks_with_on_failure_block_and_names_hook_and_error(status):
    hook = answering(NEVER, on_failure="block")
    run = Policy().make_run(Call(hook, a_call()), Exit(error=status, detail="it broke"))
    reason = f"hook 'guard' {WORDS[status]}: it broke"
    assert run == Run(hook, status, Outcome(Decision.BLOCK, ((Decision.BLOCK, reason),)), error="it broke")


def test_the_signal_with_which_the_engine_ends_a_hook_is_not_its_exit_code():
    hook = answering(NEVER)
    run = Policy().make_run(Call(hook, a_call()), Exit(-15, error=TIMEOUT, detail="too slow"))
    assert run == Run(hook, TIMEOUT, Outcome(), None, error="too slow")


def test_an_answer_that_cannot_be_read_is_a_failure():
    unreadable = Answering(AnswerError(UNREADABLE, "two documents"))
    end = Exit(0, b"{}{}", seconds=0.25)
    hook = answering(unreadable)
    assert Policy().make_run(Call(hook, a_call()), end) == Run(hook, UNREADABLE, Outcome(), 0, 0.25, "two documents")
    blocking = answering(unreadable, on_failure="block")
    assert Policy().make_run(Call(blocking, a_call()), end).outcome.reasons == (
        "hook 'guard' gave an unreadable answer: two documents",
    )


def test_an_answer_that_is_read_keeps_its_outcome_and_notes():
    hook = answering(Answering((BLOCK, ("no effect",))))
    run = Policy().make_run(Call(hook, a_call()), Exit(0, warnings=("slow",)))
    assert run == Run(hook, OK, BLOCK, 0, notes=("slow", "no effect"))


def test_what_an_answering_hook_wrote_on_stderr_is_kept_clean():
    hook = answering(Answering((Outcome(), ())))
    run = Policy().make_run(Call(hook, a_call()), Exit(0, stderr=b"\x1b[1mhello\n"))
    assert run == Run(hook, OK, Outcome(), 0, stderr="hello")


def test_a_long_error_is_cut():
    run = Policy().make_run(Call(answering(NEVER), a_call()), Exit(error=FAILED, detail="x" * 9000))
    assert run.error == "x" * 8192 + "… [cut, 9,000 characters]"


def test_a_failure_has_no_opinion_or_blocks_and_never_allows():
    assert make_failure_outcome(Call(a_hook(), a_call()), FAILED, "w") == Outcome()
    assert make_failure_outcome(Call(a_hook(on_failure="block"), a_call()), FAILED, "w").decision == Decision.BLOCK


def stop(**fields) -> Event:
    return Event.of("pre-agent-turn-stop", **fields)


GATE = {
    "the first time": ({"stop_block_count": 0}, 3, ""),
    "the third time": ({"stop_block_count": 2, "stop_reason": "no_tool_calls"}, 3, ""),
    "beyond the limit": (
        {"stop_block_count": 3},
        3,
        "the stop was refused 3 times in this turn and is let through now; the hook's reason: not yet",
    ),
    "with no limit left at all": (
        {"stop_block_count": 0},
        0,
        "the stop was refused 0 times in this turn and is let through now; the hook's reason: not yet",
    ),
    "a higher limit": ({"stop_block_count": 9}, 10, ""),
    "another reason to stop": (
        {"stop_reason": "max_steps"},
        3,
        "a stop for 'max_steps' cannot be refused; the hook's reason: not yet",
    ),
    "a reason that is missing": ({"stop_reason": None}, 3, ""),
    "no count": ({}, 3, ""),
}


@pytest.mark.parametrize(("fields", "limit", "lifted"), GATE.values(), ids=GATE)
def test_the_quality_gate_holds_until_its_limit(fields, limit, lifted):
    expected = Outcome(messages=("hello", lifted)) if lifted else BLOCK.replace(messages=("hello",))
    assert Policy(limit).limit_stop_blocks(stop(**fields), BLOCK.replace(messages=("hello",))) == expected


@given(st.sampled_from(KINDS), st.integers(0, 9), st.sampled_from([0, 1, 2, 4]))
def test_nothing_but_a_block_of_a_stop_is_ever_lifted(kind, count, rank):
    event = Event.of(kind, stop_block_count=count)
    other = Outcome(Decision(rank), ((Decision(rank), "x"),))
    assert Policy().limit_stop_blocks(event, other) == other
    if kind.name != "pre-agent-turn-stop":
        assert Policy().limit_stop_blocks(event, BLOCK) == BLOCK


def test_a_question_goes_to_the_host():
    assert Policy(can_ask=True).finish_outcome(a_call(), ASK) == ASK


def test_a_question_blocks_a_tool_call_if_no_person_can_be_asked():
    settled = Policy(can_ask=False).finish_outcome(a_call(), ASK)
    assert (settled.decision, settled.reasons) == (Decision.BLOCK, ("really? (no person can be asked)",))
    silent = Policy(can_ask=False).finish_outcome(a_call(), Outcome(Decision.ASK))
    assert silent.reasons == ("a hook wants a person to be asked (no person can be asked)",)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.name != "pre-tool-call"], ids=lambda kind: kind.name)
def test_a_question_stays_a_question_elsewhere_if_no_person_can_be_asked(kind):
    assert Policy(can_ask=False).finish_outcome(Event.of(kind), ASK) == ASK


@pytest.mark.parametrize("rank", [0, 1, 3, 4])
def test_other_decisions_do_not_care_who_is_there(rank):
    outcome = Outcome(Decision(rank), ((Decision(rank), "x"),))
    assert Policy(can_ask=False).finish_outcome(a_call(), outcome) == outcome


def test_settling_keeps_the_contexts_within_their_limit():
    settled = Policy().finish_outcome(a_call(), Outcome(contexts=("x" * 10_001,)))
    assert settled.contexts == ("x" * 10_000,)
    assert settled.messages == ("context of hooks was cut: 10,001 characters, the limit is 10,000",)
