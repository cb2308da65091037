"""The catalogue: which hooks an event concerns, found one by one or through an index, always the same ones."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boathook.core.catalog import GROUP_ORDER, Catalog, Plan, Selector, Settings, Stage, can_take_part, mark_untrusted
from boathook.core.event import KINDS, POST_TOOL, PRE_STOP, PRE_TOOL, Event
from boathook.core.hook import (
    ABSENT_STATES,
    ARMED,
    DENIED,
    DISABLED,
    INVALID,
    MODIFIED,
    NO_ENTRY,
    PLUGIN,
    SHADOWED,
    UNTRUSTED,
    Command,
    Diagnostic,
    Prompt,
)
from boathook.core.matcher import Matcher, Pattern
from boathook.core.prefilter import CONTAINS, PrefilterWords
from boathook.core.verdict import Skip
from tests.core.builders import a_call, a_hook, a_settings_hook, patterns, tool_events, tool_patterns
from tests.example_counts import count_examples

MANY = Selector.MIN_INDEXED_HOOKS
STATES = (ARMED, INVALID, SHADOWED, DISABLED, NO_ENTRY, UNTRUSTED, MODIFIED, DENIED, *ABSENT_STATES)
matchers = st.lists(st.tuples(tool_patterns, patterns), min_size=1, max_size=12)


def one_by_one(hooks, event):
    return tuple(hook for hook in hooks if not hook.matcher.explain_mismatch(event))


@given(matchers, st.lists(tool_events.map(lambda e: e.replace(kind=PRE_TOOL)), min_size=2, max_size=6))
@settings(max_examples=count_examples(60))
def test_selecting_through_the_index_equals_asking_every_hook(found, events):
    hooks = [a_hook(f"h{n:03}", tool=t, pattern=p) for n, (t, p) in enumerate(found * (MANY // len(found) + 1))]
    selector = Selector(hooks)
    assert [selector.select(event) for event in events] == [one_by_one(hooks, event) for event in events]


letters = st.text(alphabet="abc.", min_size=1, max_size=6)


@given(
    st.lists(letters, min_size=1, max_size=MANY), st.lists(st.text(alphabet="abc", max_size=9), min_size=2, max_size=4)
)
@settings(max_examples=count_examples(60))
def test_the_index_finds_words_of_any_length(sources, texts):
    hooks = [a_hook(f"h{n:03}", pattern=source) for n, source in enumerate((sources * MANY)[:MANY])]
    selector = Selector(hooks)
    events = [a_call(text) for text in texts]
    assert [selector.select(event) for event in events] == [one_by_one(hooks, event) for event in events]


def test_hooks_are_returned_in_the_order_of_running_with_any_index():
    hooks = [a_hook(f"h{n:03}", pattern=("mkfs", "", "rm -rf", "x|rm ")[n % 4]) for n in range(MANY)]
    selector, event = Selector(hooks), a_call("rm -rf / && mkfs")
    assert [selector.select(event) for _ in range(3)] == [tuple(hooks)] * 3


def test_an_input_beyond_the_index_and_one_beyond_the_search_are_asked_one_by_one():
    hooks = [a_hook(f"h{n:03}", pattern="needle" if n % 2 else "absent") for n in range(MANY)]
    selector = Selector(hooks)
    selector.select(a_call())
    assert selector.select(a_call("x" * Selector.MAX_INDEXED_CHARS + "needle")) == tuple(hooks[1::2])
    assert selector.select(a_call("x" * (1 << 20))) == tuple(hooks)


class Slow(PrefilterWords):
    """Words that hold up their first reader, so that a second thread comes in meanwhile."""

    reached, go_on = threading.Event(), threading.Event()

    @property
    def any_of(self):
        self.reached.set()
        self.go_on.wait(0.5)
        return ("rm ",)


def test_a_thread_that_comes_while_another_builds_the_index_sees_all_hooks():
    slow = Matcher(None, Pattern("rm ", Slow(("rm ",), CONTAINS)))
    hooks = [a_hook("h000").replace(matcher=slow), *(a_hook(f"h{n:03}", pattern="rm -rf") for n in range(1, MANY))]
    selector, event = Selector(hooks), a_call("rm -rf /")
    Slow.go_on.set()
    selector.select(event)
    Slow.go_on.clear()
    Slow.reached.clear()
    builder = threading.Thread(target=selector.select, args=(event,))
    builder.start()
    Slow.reached.wait(10)
    meanwhile = selector.select(event)
    Slow.go_on.set()
    builder.join()
    assert meanwhile == tuple(hooks)
    assert selector.select(event) == tuple(hooks)


states = st.sampled_from(STATES)
any_hooks = st.lists(
    st.builds(
        lambda t, p, state, failing, background, kind: a_hook(
            tool=t,
            pattern=p,
            state=state,
            on_failure=failing,
            background=background,
            kind=kind,
            state_reason=f"is {state}",
        ),
        tool_patterns,
        patterns,
        states,
        st.sampled_from(["allow", "block"]),
        st.booleans(),
        st.sampled_from([PRE_TOOL, POST_TOOL]),
    ),
    max_size=8,
).map(lambda found: tuple(hook.replace(name=f"h{n}", path=f"/{n}") for n, hook in enumerate(found)))


@given(any_hooks, tool_events)
def test_a_hook_that_matches_is_either_in_the_plan_or_among_the_skipped(hooks, event):
    catalog = Catalog(hooks)
    plan = catalog.plan(event)
    meant = {hook.name for hook in one_by_one(hooks, event) if hook.kind is event.kind}
    planned = {hook.name for stage in plan.stages for hook in stage.hooks} | {hook.name for hook in plan.background}
    skipped = {skip.subject for skip in catalog.find_skips(event)}
    invalid = {h.name for h in hooks if h.state == INVALID and h.kind is event.kind and not can_take_part(h)}
    assert planned == {hook.name for hook in hooks if can_take_part(hook)} & meant
    assert skipped == (meant - planned) | invalid


def test_a_plan_has_a_stage_for_every_sync_hook_and_the_async_ones_beside():
    one, two, three = a_hook("one"), a_hook("two", background=True), a_hook("three", pattern="mkfs")
    catalog = Catalog((one, two, three))
    assert catalog.plan(a_call()) == Plan((Stage(one.order, (one,)),), (two,))
    assert catalog.plan(a_call("mkfs")) == Plan((Stage(one.order, (one,)), Stage(three.order, (three,))), (two,))
    assert catalog.plan(Event.of("Stop")) == Plan()


def test_the_skipped_are_named_with_their_reason_and_only_what_is_broken_is_loud():
    hooks = tuple(
        a_hook(state, state=state, state_reason=f"because {state}", path=f"/{state}")
        for state in STATES
        if state != ARMED
    )
    assert Catalog(hooks).find_skips(a_call()) == (
        Skip("invalid", "because invalid", is_warning=True, state="invalid"),
        Skip("shadowed", "because shadowed", is_warning=True, state="shadowed"),
        Skip("disabled", "because disabled", state="disabled"),
        Skip("no-entry-point", "because no-entry-point", is_warning=True, state="no-entry-point"),
        Skip("untrusted", "because untrusted", is_warning=True, state="untrusted"),
        Skip("modified", "because modified", is_warning=True, state="modified"),
        Skip("denied", "because denied", state="denied"),
        *(Skip(state, f"because {state}", is_warning=True, state=state) for state in ABSENT_STATES),
    )


def test_an_untrusted_hook_is_named_only_where_it_matches():
    hook = a_hook(pattern="mkfs", state=UNTRUSTED, state_reason="not yet")
    assert Catalog((hook,)).find_skips(a_call("ls")) == ()
    assert [skip.subject for skip in Catalog((hook,)).find_skips(a_call("mkfs"))] == ["guard"]


def test_a_doubted_hook_blocks_tool_calls_to_come_if_the_user_wants_that_and_nothing_else():
    for state in (UNTRUSTED, MODIFIED, *ABSENT_STATES):
        for on_failure in ("allow", "block"):
            hooks = [a_hook(kind=kind, on_failure=on_failure) for kind in KINDS]
            skipped = [mark_untrusted(hook, state, "why", "skip") for hook in hooks]
            blocking = [mark_untrusted(hook, state, "why", "block") for hook in hooks]
            assert {(hook.state, hook.state_reason, hook.on_failure) for hook in skipped} == {(state, "why", "allow")}
            assert [hook.kind for hook in blocking if can_take_part(hook)] == [PRE_TOOL]
            assert not any(map(can_take_part, skipped))


def test_an_invalid_hook_is_named_whether_or_not_its_matcher_could_be_read():
    hook = a_hook(pattern="mkfs", state=INVALID, state_reason="broken")
    assert Catalog((hook,)).find_skips(a_call("ls")) == (Skip("guard", "broken", is_warning=True, state=INVALID),)
    assert Catalog((hook,)).find_skips(Event.of("Stop")) == ()


def test_a_hook_whose_kind_could_not_be_read_is_named_at_every_event():
    for on_failure in ("allow", "block"):
        hook = a_hook(kind=None, trigger="", state=INVALID, state_reason="no trigger", on_failure=on_failure)
        named = (Skip("guard", "no trigger", is_warning=True, state=INVALID),)
        assert [Catalog((hook,)).find_skips(event) for event in (a_call(), Event.of("Stop"))] == [named, named]


def test_a_broken_hook_that_is_set_to_block_takes_part():
    for state in (INVALID, NO_ENTRY):
        hook = a_hook(state=state, state_reason="broken", on_failure="block")
        assert Catalog((hook,)).plan(a_call()) == Plan((Stage(hook.order, (hook,)),))
        assert Catalog((hook,)).find_skips(a_call()) == ()
    assert [can_take_part(a_hook(state=state, on_failure="block")) for state in (SHADOWED, DISABLED)] == [False, False]


def test_an_error_outside_of_hooks_is_reported_at_every_event_and_a_warning_is_not():
    error = Diagnostic("/hooks.toml", 3, "hooks", "error", "is broken", "fix it")
    warning = Diagnostic("/hooks.toml", None, "", "warning", "is odd")
    catalog = Catalog(diagnostics=(error, warning), user_folders=("",))
    expected = (
        Skip(
            "/hooks.toml",
            "ignored: /hooks.toml:3: [hooks] is broken (fix it)",
            is_warning=True,
            is_hook=False,
            is_for_model=True,
        ),
    )
    assert [catalog.find_skips(event) for event in (a_call(), Event.of("Stop"))] == [expected, expected]


def test_the_concerned_hooks_are_those_of_a_kind_in_any_state():
    pre, post, unknown = a_hook("pre"), a_hook("post", kind=POST_TOOL), a_hook("unknown", kind=None, state=INVALID)
    off = a_hook("off", state=DISABLED)
    catalog = Catalog((pre, post, unknown, off))
    assert catalog.find_hooks(PRE_TOOL) == (pre, unknown, off)
    assert catalog.find_hooks(PRE_STOP) == (unknown,)


def test_a_catalogue_that_was_used_still_equals_one_that_was_not():
    used, fresh = Catalog((a_hook(),)), Catalog((a_hook(),))
    used.plan(a_call())
    assert used == fresh


def test_an_empty_catalogue_has_the_default_settings():
    assert Catalog().settings == Settings(debug=False, strict_exit_codes=False, max_stop_blocks=3)


# Hooks that run together


def planned(*hooks, event=None) -> Plan:
    return Catalog(tuple(sorted(hooks, key=lambda hook: hook.order))).plan(event or a_call())


def test_hooks_of_settings_form_one_stage_behind_all_others_of_priority_100():
    high, even, low = a_hook("z", scope="project"), a_hook("a"), a_hook("b", priority=99)
    mine, theirs, local = (a_settings_hook(scope, scope=scope) for scope in ("user", "project", "local"))
    assert planned(low, theirs, high, local, even, mine) == Plan(
        (
            Stage(even.order, (even,)),
            Stage(high.order, (high,)),
            Stage(GROUP_ORDER, (mine, theirs, local)),
            Stage(low.order, (low,)),
        )
    )


def test_a_stage_of_settings_holds_only_what_matches():
    edits, all_tools, stop = (
        a_settings_hook("a", tool="Edit"),
        a_settings_hook("b"),
        a_settings_hook("c", kind=PRE_STOP),
    )
    assert planned(edits, all_tools, stop) == Plan((Stage(GROUP_ORDER, (all_tools,)),))
    assert planned(edits, event=a_call(tool="EditFile")) == Plan()


def test_of_equal_handlers_the_first_runs_and_only_those_of_settings_are_compared():
    one, two, three = (a_settings_hook(name, Command("x")) for name in "abc")
    other, mine, again = a_settings_hook("d", Command("x", ())), a_hook("e"), a_hook("f")
    again = again.replace(handler=mine.handler)
    assert planned(three, one, two, other, mine, again) == Plan(
        (Stage(mine.order, (mine,)), Stage(again.order, (again,)), Stage(GROUP_ORDER, (one, other)))
    )


def test_an_equal_handler_that_does_not_match_takes_no_place_from_one_that_does():
    other, this = a_settings_hook("a", Command("x"), tool="Edit"), a_settings_hook("b", Command("x"), tool="Shell")
    assert planned(other, this) == Plan((Stage(GROUP_ORDER, (this,)),))


def test_a_copy_of_a_plugin_is_another_handler():
    hooks = [a_settings_hook(root, Command("x", root=root), source=PLUGIN) for root in ("/p", "/q")]
    assert planned(*hooks) == Plan((Stage(GROUP_ORDER, tuple(hooks)),))


def test_a_hook_in_the_background_takes_no_place_from_one_whose_answer_counts():
    late, guard = (
        a_settings_hook("a", Command("x"), background=True),
        a_settings_hook("b", Command("x"), scope="project"),
    )
    assert planned(late, guard) == Plan((Stage(GROUP_ORDER, (guard,)),), (late,))
    assert planned(late, guard.replace(scope="user")) == Plan((Stage(GROUP_ORDER, (guard.replace(scope="user"),)),))
    assert planned(late, a_settings_hook("b", Command("x"), background=True)) == Plan((), (late,))


PROJECTS = {"patient": {"timeout": 600.0}, "strict": {"on_failure": "block"}, "async": {"background": True}}


@pytest.mark.parametrize("more", PROJECTS.values(), ids=PROJECTS)
@pytest.mark.parametrize("scope", ["project", "local"])
def test_no_hook_of_a_project_replaces_the_user_s(scope, more):
    mine, other = a_settings_hook("b", Command("x")), a_settings_hook("a", Command("x"), scope=scope, **more)
    assert planned(other, mine) == Plan((Stage(GROUP_ORDER, (mine,)),))


def test_every_broken_hook_of_settings_that_is_set_to_block_takes_part():
    broken = [a_settings_hook(name, Command(""), state=INVALID, on_failure="block") for name in "ab"]
    assert planned(*broken) == Plan((Stage(GROUP_ORDER, tuple(broken)),))


def test_a_shadowed_hook_of_settings_is_skipped_in_silence_for_its_like_runs():
    hook = a_settings_hook(state=SHADOWED, state_reason="the same entry stands elsewhere")
    assert Catalog((hook,)).find_skips(a_call()) == (Skip("guard", "the same entry stands elsewhere", state=SHADOWED),)


few_handlers = st.sampled_from([Command("x"), Command("x", ()), Command("y"), Prompt("x")])
mixed = st.lists(
    st.builds(
        lambda made, handler, tool, **fields: made(tool=tool, handler=handler, **fields),
        st.sampled_from([a_settings_hook, lambda handler, **fields: a_hook(**fields)]),
        few_handlers,
        st.sampled_from(["", "Shell", "Write", "Sh|Wr"]),
        scope=st.sampled_from(["user", "project"]),
        priority=st.sampled_from([0, 99, 100, 100, 100, 101]),
        background=st.sampled_from([False, False, True]),
        state=st.sampled_from([ARMED, ARMED, ARMED, INVALID, DISABLED]),
        on_failure=st.sampled_from(["allow", "block"]),
    ),
    max_size=10,
).map(lambda found: [hook.replace(name=f"h{at}", path=f"/{at}") for at, hook in enumerate(found)])


@given(mixed, st.sampled_from(["Shell", "Write", "Read"]))
@settings(max_examples=count_examples(300))
def test_stages_are_in_order_and_hooks_that_run_together_are_one_stage(hooks, tool):
    stages = planned(*hooks, event=a_call(tool=tool)).stages
    orders = [stage.order for stage in stages]
    assert orders == sorted(set(orders))
    for stage in stages:
        assert [hook.runs_together for hook in stage.hooks] == [stage.order == GROUP_ORDER] * len(stage.hooks)
        assert stage.order == GROUP_ORDER or stage.order == stage.hooks[0].order
        assert list(stage.hooks) == sorted(stage.hooks, key=lambda hook: hook.order)
    alone = [(hook.priority, at) for at, stage in enumerate(stages) for hook in stage.hooks if not hook.runs_together]
    middle = [at for at, stage in enumerate(stages) if stage.order == GROUP_ORDER]
    assert len(middle) <= 1
    assert all((at < middle[0]) == (priority >= 100) for priority, at in alone if middle)


def guards_as_well(hook) -> tuple[object, ...]:
    """Order hooks of one handler: the first is the one that stays."""
    return (hook.scope != "user", hook.background, hook.on_failure != "block", -hook.timeout, hook.order)


@given(mixed, st.sampled_from(["Shell", "Write", "Read"]))
@settings(max_examples=count_examples(300))
def test_a_hook_that_matches_has_one_place_unless_its_like_has_it(hooks, tool):
    event = a_call(tool=tool)
    plan = planned(*hooks, event=event)
    staged = [hook for stage in plan.stages for hook in stage.hooks]
    placed = [hook.name for hook in (*staged, *plan.background)]
    meant = [hook for hook in hooks if can_take_part(hook) and not hook.matcher.explain_mismatch(event)]
    left_out = [hook for hook in meant if hook.name not in placed]
    assert len(set(placed)) == len(placed)
    assert set(placed) | {hook.name for hook in left_out} == {hook.name for hook in meant}
    for hook in left_out:
        assert hook.runs_together
        assert hook.state == ARMED
        likes = [one for one in staged if one.runs_together and one.state == ARMED and one.handler == hook.handler]
        late = [one for one in plan.background if one.runs_together and one.handler == hook.handler]
        assert (len(likes) <= 1, len(late) <= 1, hook.background or bool(likes)) == (True, True, True)
        assert min(map(guards_as_well, (*likes, *late))) <= guards_as_well(hook)
        assert not (likes and late) or late[0].scope == "user" != likes[0].scope


def test_hooks_with_one_handler_are_all_asked_about_a_patch():
    # One matches the shell command, the other the file that a patch in it writes.
    same = {"runs_together": True, "handler": Command("guard.sh"), "source": "settings.json"}
    shell = a_hook("a", tool="^Bash$", timeout=10.0).replace(**same)
    files = a_hook("b", tool="^Write$", timeout=30.0).replace(**same)
    catalog = Catalog((shell, files))
    command = {"command": "rm -rf ~ # apply_patch\n*** Add File: x"}
    event = Event.of("pre-tool-call", tool_name="Shell", tool_input=command).replace(tool_aliases=("Bash",))
    (stage,) = catalog.plan(event).stages
    assert stage.hooks == (shell, files)
