"""Decisions and how they add up."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from boathook.core.outcome import ABSENT, MAX_CONTEXT_CHARS, Decision, Outcome

NONE, ALLOW, ASK, BLOCK, STOP = map(Decision, range(5))
decisions = st.sampled_from([NONE, ALLOW, ASK, BLOCK, STOP])
texts = st.lists(st.text(max_size=5), max_size=3).map(tuple)
effects = st.just(ABSENT) | st.none() | st.integers() | st.dictionaries(st.text(max_size=2), st.integers(), max_size=2)
said = st.lists(st.tuples(decisions, st.text(max_size=4)), max_size=3).map(tuple)
outcomes = st.builds(Outcome, decisions, said, effects, effects, texts, texts, texts)


@given(outcomes, outcomes, outcomes)
def test_adding_up_is_associative(a, b, c):
    assert (a | b) | c == a | (b | c)


@given(outcomes)
def test_an_empty_outcome_changes_nothing(outcome):
    assert outcome | Outcome() == outcome
    assert Outcome() | outcome == outcome


@given(st.lists(outcomes, max_size=5))
def test_the_sum_of_outcomes_is_the_heaviest_decision_and_all_texts_in_order(many):
    total = Outcome()
    for outcome in many:
        total |= outcome
    inputs = [o.input for o in many if o.input is not ABSENT]
    outputs = [o.output for o in many if o.output is not ABSENT]
    assert total == Outcome(
        max((o.decision for o in many), default=NONE),
        tuple(s for o in many for s in o.all_reasons),
        inputs[-1] if inputs else ABSENT,
        outputs[-1] if outputs else ABSENT,
        tuple(c for o in many for c in o.contexts),
        tuple(m for o in many for m in o.messages),
        tuple(x for o in many for x in o.logs),
    )


@given(outcomes)
def test_reasons_are_those_of_the_winning_decision_only(outcome):
    assert outcome.reasons == tuple(text for decision, text in outcome.all_reasons if decision == outcome.decision)


def test_the_reasons_of_a_sum_are_the_winners_in_the_order_they_ran():
    one = Outcome(ALLOW, ((ALLOW, "fine"),))
    two = Outcome(BLOCK, ((BLOCK, "no"),))
    three = Outcome(BLOCK, ((BLOCK, "never"),))
    assert (one | two | three).reasons == ("no", "never")
    assert (three | one | two).reasons == ("never", "no")


def test_decisions_are_ordered_and_have_words():
    order = [Decision.NONE, Decision.ALLOW, Decision.ASK, Decision.BLOCK, Decision.STOP]
    assert order == sorted(order)
    assert [decision.word for decision in order] == ["none", "allow", "ask", "block", "stop"]
    assert repr(order) == "[Decision.NONE, Decision.ALLOW, Decision.ASK, Decision.BLOCK, Decision.STOP]"


def test_only_a_block_and_a_stop_halt():
    assert [Outcome(Decision(rank)).is_blocked for rank in range(5)] == [False, False, False, True, True]


def test_null_is_an_effect_and_absence_is_none():
    assert (Outcome(output=None) | Outcome()).output is None
    assert (Outcome(output=1) | Outcome(output=None)).output is None
    assert bool(ABSENT) is False
    assert repr(ABSENT) == "ABSENT"


def test_contexts_within_the_limit_stay_as_they_are():
    outcome = Outcome(contexts=("x" * (MAX_CONTEXT_CHARS - 1), "y"))
    assert outcome.limit_contexts() == outcome


def test_contexts_beyond_the_limit_are_cut_together_and_the_cut_is_reported():
    outcome = Outcome(contexts=("x" * 9_999, "yz", "gone"), messages=("hello",))
    assert outcome.limit_contexts() == Outcome(
        contexts=("x" * 9_999, "y"),
        messages=("hello", "context of hooks was cut: 10,005 characters, the limit is 10,000"),
    )


@given(st.lists(st.integers(0, 9_000), max_size=5))
def test_contexts_are_never_longer_than_the_limit(sizes):
    cut = Outcome(contexts=tuple("x" * size for size in sizes)).limit_contexts()
    assert sum(map(len, cut.contexts)) == min(sum(sizes), MAX_CONTEXT_CHARS)
