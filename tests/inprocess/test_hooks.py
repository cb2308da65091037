"""`Hooks` and its decorators: every one for its event, bare or with fields, on functions, classes and instances."""

from __future__ import annotations

import copy
import dataclasses
import functools

import pytest

from boathook.core.event import KINDS
from boathook.core.outcome import Decision, Outcome
from boathook.errors import HookError
from boathook.inprocess.contexts import CONTEXT_CLASSES, Context
from boathook.inprocess.hooks import Hooks, list_decorators
from boathook.inprocess.matching import Match
from boathook.inprocess.stack import Stack
from tests.inprocess.builders import BEFORE, EVERY, fresh

NAMES = {
    "session_start": "pre-session",
    "session_end": "post-session",
    "turn_start": "pre-agent-turn",
    "turn_end": "post-agent-turn",
    "before_stop": "pre-agent-turn-stop",
    "after_stop": "post-agent-turn-stop",
    "before_tool": "pre-tool-call",
    "after_tool": "post-tool-call",
    "tool_failed": "post-tool-call-failure",
    "subagent_start": "pre-subagent",
    "subagent_stop": "post-subagent",
    "before_compact": "pre-context-compact",
    "after_compact": "post-context-compact",
    "permission": "permission-request",
    "notification": "notification",
    "before_step": "pre-step",
    "after_step": "post-step",
    "on_failure": "turn-failure",
}


def test_there_is_a_decorator_for_every_event():
    assert {name: kind.name for name, kind in list_decorators().items()} == NAMES
    assert sorted(NAMES.values()) == sorted(kind.name for kind in KINDS)


def test_every_event_has_a_class_of_contexts():
    assert {kind.name for kind in KINDS} == set(CONTEXT_CLASSES)
    assert {name: type(context) for name, context in EVERY.items()} == CONTEXT_CLASSES


@pytest.mark.parametrize(("name", "kind"), NAMES.items(), ids=NAMES)
def test_a_decorator_adds_for_its_event_and_no_other(way, name, kind):
    hooks, heard = Hooks(), []
    getattr(hooks, name)(lambda context: heard.append(("bare", context.event)))
    getattr(hooks, name)(priority=1)(lambda context: heard.append(("with fields", context.event)))
    for context in EVERY.values():
        way.process(hooks.stack, context)
    assert heard == [("with fields", kind), ("bare", kind)]


@pytest.mark.parametrize("name", NAMES)
def test_a_decorator_returns_what_it_was_given(name):
    decorate = getattr(Hooks(), name)

    def hook(context): ...

    class Guard:
        def handle(self, context, go_on):
            return go_on(context)

    guard = Guard()
    for given in (hook, Guard, guard):
        assert decorate(given) is given
        assert decorate(priority=3)(given) is given


def test_a_class_is_made_once_and_asked_each_time(way):
    hooks, made = Hooks(), []

    @hooks.before_tool
    class Counting:
        def __init__(self):
            made.append(self)
            self.count = 0

        def handle(self, context, go_on):
            self.count += 1
            return go_on(context)

    way.process(hooks.stack, BEFORE)
    way.process(hooks.stack, BEFORE)
    assert [one.count for one in made] == [2]
    assert isinstance(made[0], Counting)


def test_an_instance_brings_its_own_state(way):
    class Limit:
        def __init__(self, most):
            self.left = most

        def handle(self, context, go_on):
            self.left -= 1
            return go_on(context) if self.left >= 0 else Outcome.block("too often")

    hooks = Hooks()
    hooks.before_tool(Limit(2))
    answers = [way.process(hooks.stack, BEFORE).is_blocked for _ in range(4)]
    assert answers == [False, False, True, True]


def test_a_class_with_a_call_is_a_plain_hook(way):
    hooks = Hooks()

    @hooks.before_tool
    class Refusing:
        def __call__(self, context):
            return Outcome.block("no")

    assert way.process(hooks.stack, BEFORE) == Outcome.block("no")


def test_any_event_has_a_decorator_in_any_spelling(way):
    hooks, heard = Hooks(), []

    @hooks.on("AgentFailed", priority=1)
    def failed(context):
        heard.append(context.error_message)

    @hooks.on(EVERY["notification"].kind)
    def notified(context):
        heard.append(context.message)

    for context in EVERY.values():
        way.process(hooks.stack, context)
    assert heard == ["look here", "broken"]


def test_hooks_are_a_stack_that_stays_as_it_is():
    hooks = Hooks()
    before = hooks.stack
    hooks.before_tool(lambda context: None)
    assert (len(before), len(hooks.stack), isinstance(hooks.stack, Stack)) == (0, 1, True)


# What cannot be a hook


def three(context, go_on, more): ...
def nothing(): ...
def keyword(context, *, wanted): ...
def both(context, go_on, *, wanted): ...


class Short:
    def handle(self, context): ...


class Long:
    def handle(self, context, go_on, more): ...


class Data:
    handle = 5


EITHER = "hook(context) or hook(context, next)"
UNFIT = {
    "three parameters": (three, f"three cannot be called as {EITHER}: it takes (context, go_on, more)"),
    "no parameter": (nothing, f"nothing cannot be called as {EITHER}: it takes ()"),
    "a needed keyword": (keyword, f"keyword cannot be called as {EITHER}: it takes (context, *, wanted)"),
    "a needed keyword beside next": (
        both,
        f"both cannot be called as {EITHER}: it takes (context, go_on, *, wanted)",
    ),
    "handle without next": (Short(), "Short cannot be called as handle(context, next): it takes (context)"),
    "handle with more": (Long(), "Long cannot be called as handle(context, next): it takes (context, go_on, more)"),
    "an object": (Data(), "Data is not a hook: it is not callable and has no method 'handle'"),
    "a text": ("hook", "str is not a hook: it is not callable and has no method 'handle'; did you mean match='hook'?"),
}


@pytest.mark.parametrize(("hook", "message"), UNFIT.values(), ids=UNFIT)
def test_what_cannot_be_called_as_a_hook_is_refused_when_it_is_added(hook, message):
    hooks = Hooks()
    for add in (hooks.before_tool, hooks.before_tool(priority=1), lambda one: Stack().with_(one)):
        with pytest.raises(HookError) as error:
            add(hook)
        assert str(error.value) == message
    assert len(hooks.stack) == 0


def defaulted(context, more=None): ...
def many(*contexts): ...
def only_positional(context, /): ...


FITTING = {
    "a default": defaulted,
    "any number": many,
    "positional only": only_positional,
    "a lambda": lambda context: None,
    "a partial": functools.partial(lambda limit, context: None, 5),
    "a method": [].append,
    "a builtin": print,
}


@pytest.mark.parametrize("hook", FITTING.values(), ids=FITTING)
def test_what_can_be_called_with_a_context_is_a_plain_hook(way, hook):
    assert way.process(Stack().with_(hook), BEFORE) == Outcome()


def test_a_builtin_without_a_signature_is_called_and_seen(way):
    with pytest.raises(HookError, match="dir returned list"):
        way.process(Stack().with_(dir), BEFORE)


REFUSED = {
    "a wrong on_failure": ({"on_failure": "ignore"}, "on_failure must be raise, allow, block, not 'ignore'"),
    "no time": ({"timeout": 0}, "timeout must be more than 0 seconds, not 0"),
    "less than no time": ({"timeout": -1.5}, "timeout must be more than 0 seconds, not -1.5"),
    "time that is not a number": ({"timeout": float("nan")}, "timeout must be more than 0 seconds, not nan"),
    "time as a text": ({"timeout": "5"}, "timeout must be more than 0 seconds, not '5'"),
    "time as a flag": ({"timeout": True}, "timeout must be more than 0 seconds, not True"),
    "a half priority": ({"priority": 0.5}, "priority must be a whole number, not 0.5"),
    "a number to match": ({"match": 5}, "a matcher must be a name, a callable or a Match, not int"),
    "rounds of a tool": ({"max_rounds": 2}, "max_rounds is only for stops, and pre-tool-call is not a stop"),
}


@pytest.mark.parametrize(("fields", "message"), REFUSED.values(), ids=REFUSED)
def test_wrong_fields_are_refused_when_a_hook_is_added(fields, message):
    hooks = Hooks()
    with pytest.raises(HookError) as error:
        hooks.before_tool(**fields)(lambda context: None)
    assert str(error.value) == message
    assert len(hooks.stack) == 0


def test_an_unknown_field_is_refused():
    with pytest.raises(TypeError, match="prioritty"):
        Hooks().before_tool(prioritty=5)(lambda context: None)


def test_a_broken_pattern_is_refused_when_a_hook_is_added():
    with pytest.raises(HookError, match="a parenthesis is not closed"):
        Hooks().before_tool(match="/(/")(lambda context: None)


WITHOUT_TOOL = [name for name, context in EVERY.items() if not context.kind.has_tool]


@pytest.mark.parametrize("kind", WITHOUT_TOOL)
def test_the_name_of_a_tool_cannot_match_where_there_is_none(kind):
    message = f"'bash' is the name of a tool, but {kind} has no tool: match with a callable instead"
    for add in (Hooks().on(kind, match="bash"), lambda hook: Stack().with_(hook, on=kind, match="bash")):
        with pytest.raises(HookError) as error:
            add(lambda context: None)
        assert str(error.value) == message


def test_an_async_matcher_is_refused_because_its_answer_is_needed_at_once():
    async def match(context):
        return True

    with pytest.raises(HookError) as error:
        Hooks().before_tool(match=match)(lambda context: None)
    assert str(error.value) == "a matcher cannot be async, because its answer is needed at once"


# Failures and rounds, where hooks set nothing themselves


def test_hooks_take_over_on_failure_unless_one_sets_it_itself(way):
    hooks = Hooks(on_failure="block")

    def broken(context):
        raise ValueError("oh")

    hooks.before_tool(broken)
    hooks.after_tool(on_failure="raise")(broken)
    assert way.process(hooks.stack, BEFORE).is_blocked
    with pytest.raises(ValueError, match="oh"):
        way.process(hooks.stack, EVERY["post-tool-call"])


STOPS = [
    ({"block_count": 2}, True),
    ({"block_count": 3}, False),
    ({"block_count": 0, "reason": "max_steps"}, False),
]


@pytest.mark.parametrize("around", [False, True], ids=["plain", "around"])
@pytest.mark.parametrize(("fields", "blocked"), STOPS)
def test_a_stop_is_refused_three_times_in_a_turn_and_only_if_it_can_be(way, around, fields, blocked):
    hooks = Hooks()
    hooks.before_stop(
        (lambda context, go_on: Outcome.block("go on")) if around else (lambda context: Outcome.block("go on"))
    )
    context = fresh("pre-agent-turn-stop", **fields)
    outcome = way.process(hooks.stack, context)
    expected = {
        3: "the stop was refused 3 times in this turn and is let through now; the hook's reason: go on",
        0: "a stop for 'max_steps' cannot be refused; the hook's reason: go on",
    }
    if blocked:
        assert (outcome.decision, outcome.reason) == (Decision.BLOCK, "go on")
    else:
        lifted = context.add_message(expected[fields["block_count"]])
        assert outcome == Outcome(context=dataclasses.replace(lifted, lifted=("go on",)))


def test_a_gate_inside_may_refuse_more_often_than_the_one_around_it(way):
    hooks = Hooks()
    hooks.before_stop(max_rounds=1, priority=1)(lambda context, go_on: go_on(context))
    hooks.before_stop(max_rounds=9)(lambda context: Outcome.block("go on"))
    assert way.process(hooks.stack, fresh("pre-agent-turn-stop", block_count=5)).reason == "go on"


@pytest.mark.parametrize("form", ["says no", "fails", "around says no", "around fails"])
def test_each_gate_has_its_own_rounds_however_it_refuses(way, form):
    hooks = Hooks(on_failure="block")

    def refuse(_context):
        return 1 / 0 if "fails" in form else Outcome.block("first")

    hooks.before_stop(priority=1)((lambda context, next: refuse(context)) if "around" in form else refuse)  # noqa: A006
    hooks.before_stop(max_rounds=2)(lambda _: Outcome.block("second"))
    reasons, refused_by = [], ()
    for count in range(7):
        context = fresh("pre-agent-turn-stop", block_count=count, refused_by=refused_by)
        outcome = way.process(hooks.stack, context)
        reasons.append(outcome.reason)
        if outcome.proceeds:
            break
        refused_by = outcome.context.refused_by
    first = reasons[0]
    assert reasons == [first, first, first, "second", "second", ""]
    assert outcome.context.lifted == (first, "second")


def test_how_often_a_gate_may_refuse_can_be_set(way):
    hooks = Hooks()
    hooks.before_stop(max_rounds=1)(lambda context: Outcome.block("go on"))
    answers = [way.process(hooks.stack, fresh("pre-agent-turn-stop", block_count=n)).is_blocked for n in range(3)]
    assert answers == [True, False, False]


def test_the_base_matcher_raises_and_the_base_context_has_no_tool():
    with pytest.raises(NotImplementedError):
        Match()(BEFORE)
    assert Context(BEFORE.kind).tool == ""


@pytest.mark.parametrize(
    ("name", "hint"),
    [("tool", ", did you mean 'match'?"), ("matcher", ", did you mean 'match'?"), ("zzz", "")],
)
def test_an_unknown_option_of_a_decorator_is_an_error_that_names_both_and_all_options(name, hint):
    hooks = Hooks()
    options = "(its options: match, priority, timeout, on_failure, max_rounds)"
    for add in (hooks.before_tool, hooks.before_tool(priority=1), lambda **fields: hooks.on("PreToolUse", **fields)):
        with pytest.raises(TypeError) as raised:
            add(**{name: "bash"})
        assert str(raised.value) == f"before_tool has no option '{name}'{hint} {options}"


def test_a_method_without_its_object_is_refused():
    hooks = Hooks()

    add = r"hooks\.add\('pre-tool-call', Guards\(\)\.check\)"
    with pytest.raises(HookError, match=rf"Guards\.check is a method without its object: write {add}"):

        class Guards:
            @hooks.before_tool
            def check(self, context): ...

    class Bound:
        def check(self, context): ...

    hooks.add("before_tool", Bound().check)
    hooks.before_tool(lambda self: None)
    assert len(hooks.stack) == 2


@pytest.mark.parametrize("ask", [lambda: True, lambda context: True, lambda context, reason, more: True, "yes"])
def test_what_cannot_answer_a_question_is_refused_when_it_is_set(ask):
    for set_ask in (Hooks().on_ask, lambda one: Hooks(ask=one), Stack().with_ask):
        with pytest.raises(HookError, match=r"cannot be called as ask\(context, reason\)|needs a callable .*, not str"):
            set_ask(ask)
    for fitting in (lambda context, reason: True, lambda *any_number: True, print, None):
        Stack().with_ask(fitting)


def test_a_wrong_mode_for_failures_is_an_error_at_once():
    for make in (lambda: Hooks(on_failure="deny"), lambda: Hooks().before_tool(on_failure="deny")(print)):
        with pytest.raises(HookError, match="on_failure must be raise, allow, block, not 'deny'"):
            make()


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("pre_tool", "before_tool"),
        ("PreToolUse", "before_tool"),
        ("before_tol", "before_tool"),
        ("includes", "include"),
    ],
)
def test_a_name_that_hooks_do_not_have_is_an_error_with_the_one_that_was_meant(name, near):
    with pytest.raises(AttributeError, match=f"Hooks has no attribute '{name}'; did you mean '{near}'"):
        getattr(Hooks(), name)


def test_other_names_that_hooks_do_not_have_are_plain_errors():
    for name in ("xyz", "_stak", "__wrapped__"):
        with pytest.raises(AttributeError, match=f"Hooks has no attribute '{name}'$"):
            getattr(Hooks(), name)
    assert not hasattr(copy.copy(Hooks()), "xyz")
    assert Hooks[int]().stack.layers == ()
