"""One event through its hooks: order, the first block, rewriting and its second and last looks, what waits (S14 to S16)."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boathook.core.catalog import Catalog
from boathook.core.dispatch import UNSETTLED, dispatch
from boathook.core.event import Event
from boathook.core.hook import DENIED, DISABLED, INVALID, MODIFIED, UNTRUSTED
from boathook.core.outcome import ABSENT, Decision, Outcome
from boathook.core.verdict import OK, Call, Policy, Run, Skip, Verdict
from tests.core.builders import a_call, a_hook, a_settings_hook
from tests.example_counts import count_examples

BLOCK = Outcome(Decision.BLOCK, ((Decision.BLOCK, "no"),))
STOP = Outcome(Decision.STOP, ((Decision.STOP, "enough"),))
ALLOW = Outcome(Decision.ALLOW, ((Decision.ALLOW, "fine"),))


def rewrite(command) -> Outcome:
    return Outcome(input={"command": command})


class Course(NamedTuple):
    """What a dispatch came to: the verdict, the calls for the background, and all calls with their answers."""

    verdict: Verdict
    background: tuple[Call, ...]
    asked: list[tuple[Call, Outcome]]

    @property
    def looks(self):
        return [(call.hook.name, call.look_number, call.event.tool_input.get("command")) for call, _ in self.asked]

    @property
    def waiting(self):
        return [call.hook.name for call in self.background]


def drive(hooks, answers, event=None, policy=None) -> Course:
    """Run an event; an answer is an outcome, or outcomes by the command that the hook sees."""
    asked = []
    ordered = tuple(sorted(hooks, key=lambda hook: hook.order))
    catalog = Catalog(ordered)

    def run(call: Call) -> Run:
        answer = answers.get(call.hook.name, Outcome())
        if isinstance(answer, dict):
            answer = answer.get(call.event.tool_input.get("command"), Outcome())
        asked.append((call, answer))
        return Run(call.hook, OK, answer, 0, look_number=call.look_number)

    flow = dispatch(event or a_call("v0"), catalog.plan, policy or Policy(), catalog.find_skips)
    try:
        calls = next(flow)
        while True:
            calls = flow.send(tuple(map(run, calls)))
    except StopIteration as end:
        return Course(*end.value, asked)


ABC = [a_hook("a", priority=300), a_hook("b", priority=200), a_hook("c", priority=100)]


def test_an_event_without_matching_hooks_has_no_decision():
    course = drive([], {})
    assert course == Course(Verdict(a_call("v0"), a_call("v0"), Outcome()), (), [])


def test_hooks_run_by_priority_then_user_before_project_then_name():
    hooks = [
        a_hook("low", priority=1),
        a_hook("theirs", scope="project"),
        a_hook("zeta"),
        a_hook("alpha"),
        a_hook("high", priority=1000, scope="project"),
    ]
    assert [name for name, _, _ in drive(hooks, {}).looks] == ["high", "alpha", "zeta", "theirs", "low"]


@pytest.mark.parametrize(("answer", "word"), [(BLOCK, "block"), (STOP, "stop")])
def test_the_first_block_or_stop_ends_the_rest_which_are_named(answer, word):
    course = drive(ABC, {"a": ALLOW, "b": answer})
    assert course.looks == [("a", 1, "v0"), ("b", 1, "v0")]
    assert course.verdict.skipped == (Skip("c", f"not reached: {word} by 'b'"),)
    assert course.verdict.decision.word == word


def test_hooks_that_do_not_match_are_not_named_after_a_block():
    course = drive([*ABC, a_hook("d", pattern="mkfs", priority=1)], {"a": BLOCK})
    assert [skip.subject for skip in course.verdict.skipped] == ["b", "c"]


def test_opinions_that_do_not_halt_let_the_rest_run():
    course = drive(ABC, {"a": ALLOW, "b": Outcome(Decision.ASK, ((Decision.ASK, "sure?"),)), "c": ALLOW})
    assert course.looks == [("a", 1, "v0"), ("b", 1, "v0"), ("c", 1, "v0")]
    assert (course.verdict.decision, course.verdict.reasons) == (Decision.ASK, ("sure?",))


def test_contexts_and_messages_are_in_the_order_of_running():
    course = drive(ABC, {name: Outcome(contexts=(name,), messages=(name.upper(),)) for name in "abc"})
    assert (course.verdict.additional_context, course.verdict.system_message) == (("a", "b", "c"), ("A", "B", "C"))


def test_hooks_that_follow_see_the_rewritten_input_and_earlier_ones_look_again():
    course = drive(ABC, {"b": rewrite("v1")})
    assert course.looks == [("a", 1, "v0"), ("b", 1, "v0"), ("c", 1, "v1"), ("a", 2, "v1")]
    assert course.verdict.modified_input == {"command": "v1"}
    assert course.verdict.original == a_call("v0")
    assert course.verdict.event == a_call("v1")


def test_the_author_of_a_rewrite_does_not_look_at_its_own_work_again():
    assert drive(ABC[:1], {"a": rewrite("v1")}).looks == [("a", 1, "v0")]


def test_the_matchers_of_hooks_that_follow_are_asked_about_the_new_input():
    hooks = [ABC[0], a_hook("old", pattern="v0", priority=50), a_hook("new", pattern="v1", priority=50)]
    assert drive(hooks, {"a": rewrite("v1")}).looks == [("a", 1, "v0"), ("new", 1, "v1")]


def test_an_earlier_hook_that_matches_only_the_new_input_gets_its_look():
    hooks = [a_hook("first", pattern="v1", priority=500), *ABC]
    course = drive(hooks, {"c": rewrite("v1"), "first": BLOCK})
    assert course.looks == [("a", 1, "v0"), ("b", 1, "v0"), ("c", 1, "v0"), ("first", 2, "v1")]
    assert course.verdict.decision == Decision.BLOCK


def test_an_earlier_hook_that_no_longer_matches_does_not_look_again():
    hooks = [a_hook("first", pattern="v0", priority=500), *ABC]
    assert drive(hooks, {"c": rewrite("v1")}).looks[4:] == [("a", 2, "v1"), ("b", 2, "v1")]


def test_a_rewrite_into_the_present_input_is_not_a_change():
    course = drive(ABC, {"b": rewrite("v0")})
    assert course.looks == [("a", 1, "v0"), ("b", 1, "v0"), ("c", 1, "v0")]
    assert course.verdict.modified_input is None


def test_a_flag_is_another_input_than_a_number():
    course = drive(ABC[:2], {"b": rewrite(1)}, event=a_call(command=True))
    assert course.verdict.to_json()["modified_input"] == {"command": 1}
    assert [(name, look) for name, look, _ in course.looks] == [("a", 1), ("b", 1), ("a", 2)]


def test_after_two_rewrites_in_a_row_the_earlier_hooks_get_one_look_at_the_last():
    course = drive(ABC, {"b": {"v0": rewrite("v1")}, "c": {"v1": rewrite("v2")}})
    assert course.looks == [("a", 1, "v0"), ("b", 1, "v0"), ("c", 1, "v1"), ("a", 2, "v2"), ("b", 2, "v2")]
    assert course.verdict.modified_input == {"command": "v2"}


def test_a_second_look_that_rewrites_lets_those_behind_it_look_and_those_before_it_look_a_last_time():
    course = drive(ABC, {"c": {"v0": rewrite("v1")}, "b": {"v1": rewrite("v2")}})
    assert course.looks == [
        ("a", 1, "v0"),
        ("b", 1, "v0"),
        ("c", 1, "v0"),
        ("a", 2, "v1"),
        ("b", 2, "v1"),
        ("c", 2, "v2"),
        ("a", 3, "v2"),
    ]
    assert (course.verdict.decision, course.verdict.modified_input) == (Decision.NONE, {"command": "v2"})


def test_a_last_look_that_rewrites_yet_again_blocks():
    course = drive(ABC, {"c": {"v0": rewrite("v1")}, "b": {"v1": rewrite("v2")}, "a": {"v2": rewrite("v3")}})
    assert course.looks[-1] == ("a", 3, "v2")
    assert (course.verdict.decision, course.verdict.reasons) == (Decision.BLOCK, (UNSETTLED,))


def test_hooks_that_rewrite_for_ever_are_blocked_after_their_third_looks():
    forever = {f"v{n}": rewrite(f"v{n + 1}") for n in range(99)}
    course = drive(ABC, dict.fromkeys("abc", forever))
    assert max(look for _, look, _ in course.looks) == 3
    assert (course.verdict.decision, course.verdict.reasons) == (Decision.BLOCK, (UNSETTLED,))


def test_a_hook_that_a_second_look_brings_in_cannot_slip_a_rewrite_past_the_others():
    hooks = [a_hook("a", priority=300, pattern="v2"), *ABC[1:]]
    answers = {"c": {"v0": rewrite("v1")}, "b": {"v1": rewrite("v2"), "v3": BLOCK}, "a": {"v2": rewrite("v3")}}
    course = drive(hooks, answers)
    assert course.looks == [("b", 1, "v0"), ("c", 1, "v0"), ("b", 2, "v1"), ("c", 2, "v2"), ("a", 3, "v2")]
    assert (course.verdict.decision, course.verdict.reasons) == (Decision.BLOCK, (UNSETTLED,))


def test_a_block_at_a_second_look_ends_the_looking():
    course = drive(ABC, {"c": {"v0": rewrite("v1")}, "a": {"v1": BLOCK}})
    assert course.looks[-1] == ("a", 2, "v1")
    assert course.verdict.decision == Decision.BLOCK


def test_a_block_with_a_rewrite_leaves_nothing_to_look_at_again():
    course = drive(ABC, {"b": BLOCK | rewrite("v1")})
    assert course.looks == [("a", 1, "v0"), ("b", 1, "v0")]
    assert course.verdict.decision == Decision.BLOCK


BACKGROUND = [*ABC, a_hook("later", background=True), a_hook("much-later", background=True, pattern="v1")]


def test_async_hooks_come_after_the_sync_ones_with_the_event_as_it_then_is():
    course = drive(BACKGROUND, {"c": rewrite("v1")})
    assert course.background == (Call(BACKGROUND[3], a_call("v1")), Call(BACKGROUND[4], a_call("v1")))
    assert drive(BACKGROUND, {}).waiting == ["later"]


@pytest.mark.parametrize(("answer", "word"), [(BLOCK, "block"), (STOP, "stop")])
def test_async_hooks_do_not_start_after_a_halted_pre_event_and_are_named(answer, word):
    course = drive(BACKGROUND, {"c": answer})
    assert course.waiting == []
    assert course.verdict.skipped == (Skip("later", f"not reached: {word} by 'c'"),)


def test_async_hooks_start_after_a_blocked_post_event():
    event = a_call("v0", kind="post-tool-call")
    hooks = [hook.replace(kind=event.kind) for hook in BACKGROUND]
    course = drive(hooks, {"b": BLOCK}, event)
    assert course.waiting == ["later"]
    assert course.verdict.skipped == (Skip("c", "not reached: block by 'b'"),)


def test_async_hooks_do_not_start_when_no_person_can_be_asked():
    ask = Outcome(Decision.ASK, ((Decision.ASK, "sure?"),))
    course = drive(BACKGROUND, {"a": ask}, policy=Policy(can_ask=False))
    assert course.waiting == []
    assert course.verdict.skipped == (Skip("later", "not reached: block"),)
    assert course.verdict.reasons == ("sure? (no person can be asked)",)


def test_hooks_that_are_not_armed_are_named_before_those_not_reached():
    hooks = [
        *ABC,
        a_hook("off", state=DISABLED, state_reason="disabled"),
        a_hook("bad", state=INVALID, state_reason="broken"),
    ]
    assert drive(hooks, {"b": BLOCK}).verdict.skipped == (
        Skip("bad", "broken", is_warning=True, state=INVALID),
        Skip("off", "disabled", state=DISABLED),
        Skip("c", "not reached: block by 'b'"),
    )


def test_one_message_names_all_hooks_that_are_not_trusted_as_they_are():
    states = {"new": UNTRUSTED, "other": MODIFIED, "no": DENIED, "off": DISABLED}
    hooks = [*ABC, *(a_hook(name, state=state, state_reason="why", is_hidden=True) for name, state in states.items())]
    expected = ("hooks of this project did not run: new (untrusted), other (modified). Review them: boathook trust",)
    for answers in ({}, {"b": BLOCK}):
        assert drive(hooks, answers).verdict.system_message == expected
    assert drive([*ABC, *hooks[-2:]], {}).verdict.system_message == ()


def test_a_gate_that_is_lifted_lets_the_other_hooks_run():
    event = Event.of("Stop", stop_block_count=3)
    hooks = [hook.replace(kind=event.kind) for hook in ABC]
    course = drive(hooks, {"a": BLOCK}, event)
    assert [name for name, _, _ in course.looks] == ["a", "b", "c"]
    assert (course.verdict.decision, len(course.verdict.system_message)) == (Decision.NONE, 1)


# Hooks that run together, as those of settings.json do

XYZ = [a_settings_hook(name) for name in "xyz"]
FRAMED = [a_hook("first", priority=200), *XYZ, a_hook("last", priority=50)]


def batches(hooks, answers=None):
    """Return the names of the hooks that are asked at the same time, one group after the other."""
    catalog = Catalog(tuple(sorted(hooks, key=lambda hook: hook.order)))
    flow = dispatch(a_call("v0"), catalog.plan, Policy(), catalog.find_skips)
    found = []
    try:
        calls = next(flow)
        while True:
            found.append("".join(call.hook.name for call in calls))
            messages = [(answers or {}).get(call.hook.name, {}).get(call.event.tool_input["command"]) for call in calls]
            calls = flow.send(
                tuple(
                    Run(c.hook, OK, s or Outcome(), 0, look_number=c.look_number)
                    for c, s in zip(calls, messages, strict=True)
                )
            )
    except StopIteration:
        return found


def test_hooks_that_run_together_are_asked_at_once_between_the_others():
    assert batches(FRAMED) == ["first", "xyz", "last"]
    assert drive(FRAMED, {}).looks == [(name, 1, "v0") for name in ("first", "x", "y", "z", "last")]


def test_a_block_of_one_of_three_lets_its_neighbours_speak_and_ends_the_rest():
    ask = Outcome(Decision.ASK, ((Decision.ASK, "sure?"),), contexts=("know",))
    course = drive(FRAMED, {"x": ALLOW, "y": BLOCK, "z": ask})
    assert course.looks == [(name, 1, "v0") for name in ("first", "x", "y", "z")]
    outcome = Outcome(Decision.BLOCK, (*ALLOW.all_reasons, *BLOCK.all_reasons, *ask.all_reasons), contexts=("know",))
    skipped = (Skip("last", "not reached: block by 'y'"),)
    assert course.verdict == Verdict(a_call("v0"), a_call("v0"), outcome, course.verdict.runs, (), skipped)
    assert course.verdict.reasons == ("no",)


def test_all_blocks_of_a_stage_are_reported_and_a_stop_outweighs_them():
    other = Outcome(Decision.BLOCK, ((Decision.BLOCK, "never"),))
    assert drive(FRAMED, {"x": BLOCK, "z": other}).verdict.reasons == ("no", "never")
    stopped = drive(FRAMED, {"x": BLOCK, "y": STOP, "z": other}).verdict
    assert (stopped.decision, stopped.reasons) == (Decision.STOP, ("enough",))
    assert stopped.skipped == (Skip("last", "not reached: stop by 'y'"),)


def test_a_block_before_the_stage_names_every_hook_of_it():
    course = drive(FRAMED, {"first": BLOCK})
    assert [skip.subject for skip in course.verdict.skipped] == ["x", "y", "z", "last"]


def test_a_rewrite_by_one_is_looked_at_by_its_neighbours_but_not_by_its_author():
    answers = {"y": {"v0": rewrite("v1")}}
    assert drive(FRAMED, answers).looks == [
        ("first", 1, "v0"),
        ("x", 1, "v0"),
        ("y", 1, "v0"),
        ("z", 1, "v0"),
        ("last", 1, "v1"),
        ("first", 2, "v1"),
        ("x", 2, "v1"),
        ("z", 2, "v1"),
    ]
    assert batches(FRAMED, answers) == ["first", "xyz", "last", "first", "xz"]


def test_of_two_rewrites_the_last_wins_and_the_other_author_looks_again():
    course = drive(XYZ, {"x": {"v0": rewrite("v1")}, "y": {"v0": rewrite("v2")}})
    assert course.looks[3:] == [("x", 2, "v2"), ("z", 2, "v2")]
    assert course.verdict.modified_input == {"command": "v2"}


def test_of_two_equal_rewrites_the_last_is_the_author():
    course = drive(XYZ, {"x": {"v0": rewrite("v1")}, "y": {"v0": rewrite("v1")}})
    assert course.looks[3:] == [("x", 2, "v1"), ("z", 2, "v1")]


def test_a_neighbour_that_repeats_the_input_does_not_undo_a_rewrite():
    course = drive(XYZ, {"x": {"v0": rewrite("v1")}, "z": {"v0": rewrite("v0")}})
    assert course.verdict.modified_input == {"command": "v1"}
    assert course.looks[3:] == [("y", 2, "v1"), ("z", 2, "v1")]


def test_a_block_beside_a_rewrite_leaves_nothing_to_look_at_again():
    course = drive(FRAMED, {"x": {"v0": rewrite("v1")}, "y": BLOCK})
    assert [name for name, _, _ in course.looks] == ["first", "x", "y", "z"]
    assert (course.verdict.decision, course.verdict.reasons) == (Decision.BLOCK, ("no",))


def test_a_neighbour_may_block_what_it_sees_at_its_second_look():
    course = drive(FRAMED, {"x": {"v0": rewrite("v1")}, "z": {"v1": BLOCK}})
    assert course.looks[5:] == [("first", 2, "v1"), ("y", 2, "v1"), ("z", 2, "v1")]
    assert course.verdict.decision == Decision.BLOCK


def test_a_rewrite_behind_the_stage_lets_all_of_it_look_again_at_once():
    answers = {"last": {"v0": rewrite("v1")}}
    assert batches(FRAMED, answers) == ["first", "xyz", "last", "first", "xyz"]
    assert drive(FRAMED, answers).looks[5:] == [(name, 2, "v1") for name in ("first", "x", "y", "z")]


def test_a_second_look_that_rewrites_is_looked_at_a_last_time_by_neighbours_and_those_before():
    course = drive(FRAMED, {"x": {"v0": rewrite("v1")}, "y": {"v1": rewrite("v2")}})
    assert course.looks[4:] == [
        ("last", 1, "v1"),
        ("first", 2, "v1"),
        ("y", 2, "v1"),
        ("z", 2, "v1"),
        ("last", 2, "v2"),
        ("first", 3, "v2"),
        ("x", 3, "v2"),
        ("z", 3, "v2"),
    ]
    assert (course.verdict.decision, course.verdict.modified_input) == (Decision.NONE, {"command": "v2"})


@pytest.mark.parametrize("late", ["first", "x", "z"])
def test_a_last_look_that_rewrites_yet_again_blocks_for_any_hook(late):
    answers = {"x": {"v0": rewrite("v1")}, "y": {"v1": rewrite("v2")}}
    answers[late] = {**answers.get(late, {}), "v2": rewrite("v3")}
    course = drive(FRAMED, answers)
    assert (course.verdict.decision, course.verdict.reasons) == (Decision.BLOCK, (UNSETTLED,))


def test_two_that_each_insist_on_their_own_input_are_blocked():
    course = drive(XYZ, {"x": rewrite("v1"), "y": rewrite("v2")})
    assert course.looks == [
        ("x", 1, "v0"),
        ("y", 1, "v0"),
        ("z", 1, "v0"),
        ("x", 2, "v2"),
        ("z", 2, "v2"),
        ("y", 3, "v1"),
        ("z", 3, "v1"),
    ]
    assert (course.verdict.decision, course.verdict.reasons) == (Decision.BLOCK, (UNSETTLED,))


def test_a_hook_of_the_stage_that_matches_only_the_new_input_joins_at_the_second_look():
    narrow = a_settings_hook("w", matcher=a_hook(pattern="v1").matcher)
    assert batches([*XYZ, narrow], {"y": {"v0": rewrite("v1")}, "w": {"v1": BLOCK}}) == ["xyz", "wxz"]


VERSIONS = [f"v{n}" for n in range(4)]
answers_to_versions = st.dictionaries(
    st.sampled_from(VERSIONS),
    st.sampled_from([*map(rewrite, VERSIONS), *map(rewrite, VERSIONS), Outcome(), BLOCK, ALLOW]),
    max_size=4,
)
some_hooks = st.lists(
    st.tuples(
        st.sampled_from(["", "v0", "v1", "v[23]", "v[12]"]),
        st.sampled_from([99, 100, 101]),
        st.sampled_from([False, False, True]),
        st.booleans(),
        answers_to_versions,
    ),
    max_size=5,
)


@given(some_hooks, st.sampled_from(["pre-tool-call", "permission-request"]))
@settings(max_examples=count_examples(400))
def test_no_answers_of_hooks_let_a_call_pass_by_a_guard(found, kind):
    event = a_call("v0", kind=kind)
    hooks = [
        a_hook(f"h{n}", pattern=pattern, priority=priority, background=background, kind=event.kind)
        for n, (pattern, priority, background, *_) in enumerate(found)
    ]
    hooks = [
        a_settings_hook(hook.name, matcher=hook.matcher, background=hook.background, kind=hook.kind)
        if together
        else hook
        for hook, (*_, together, _) in zip(hooks, found, strict=True)
    ]
    course = drive(hooks, {f"h{n}": answers for n, (*_, answers) in enumerate(found)}, event)
    last = course.verdict.event
    assert [run.look_number for run in course.verdict.runs] == sorted(run.look_number for run in course.verdict.runs)
    assert len({(call.hook.name, call.look_number) for call, _ in course.asked}) == len(course.asked)
    assert course.verdict.runs == tuple(
        Run(c.hook, OK, answer, 0, look_number=c.look_number) for c, answer in course.asked
    )
    matching = {hook.name for hook in hooks if not hook.matcher.explain_mismatch(last)}
    if course.verdict.is_blocked:
        assert course.waiting == []
    else:
        assert set(course.waiting) == {h.name for h in hooks if h.background} & matching
        assert {h.name for h in hooks if not h.background} & matching <= _has_seen(course, last)


def _has_seen(course, event):
    """Name the hooks that were asked about an event as it is, or made it so."""
    made = {
        c.hook.name for c, answer in course.asked if answer.input is not ABSENT and answer.input == event.tool_input
    }
    return made | {call.hook.name for call, _ in course.asked if call.event == event}
