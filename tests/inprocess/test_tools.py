"""Tool calls with hooks around them: results, errors, questions, ends (S1, S15, S20, S26)."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
import time

import pytest

from boathook.core.outcome import Decision, Outcome
from boathook.errors import Blocked, HookError, Stopped
from boathook.inprocess.contexts import ToolContext
from boathook.inprocess.hooks import Hooks
from boathook.inprocess.operations import ToolCall
from boathook.inprocess.stack import Stack
from tests.inprocess.builders import CALL, EVERY, noting

ALLOW = Outcome(Decision.ALLOW)


def run(call: ToolCall) -> str:
    return f"ran {call.args['command']}"


async def arun(call: ToolCall) -> str:
    await asyncio.sleep(0)
    return run(call)


def note_events(notes: list) -> Hooks:
    """Hooks that note the events of a call, without their times."""
    hooks = Hooks()
    for name in ("before_tool", "after_tool", "tool_failed", "permission"):
        getattr(hooks, name)(lambda context: notes.append(dataclasses.replace(context, duration_ms=None)))
    return hooks


# What comes of a call


def test_a_call_returns_its_result_and_hooks_receive_it(way):
    notes = []
    fields = {"session_id": "s", "work_dir": "/w", "state": {"n": 1}, "extra": {"agent_id": "a"}}
    assert way.run_tool(note_events(notes).stack, CALL, run, **fields) == "ran ls"
    before = ToolContext.before("bash", {"command": "ls"}, call_id="c1", **fields)
    assert notes == [before, before.after("ran ls")]


def test_an_operation_may_be_async_in_an_event_loop():
    notes = []
    assert asyncio.run(note_events(notes).stack.arun_tool(CALL, arun)) == "ran ls"
    assert [context.result for context in notes] == [None, "ran ls"]


def test_the_operation_gets_the_call_as_hooks_left_it(way):
    calls = []
    stack = Stack().with_(lambda context: context.replace(args={"command": "ls -l"}), on="pre-tool-call")
    way.run_tool(stack, CALL, calls.append)
    assert calls == [ToolCall("bash", {"command": "ls -l"}, "c1")]


def test_a_result_may_be_replaced(way):
    stack = Stack().with_(lambda context: context.replace(result=[context.result]), on="post-tool-call")
    stack = stack.with_(lambda context: Outcome.proceed(context.replace(result=[context.result])), on="post-tool-call")
    assert way.run_tool(stack, CALL, run) == [["ran ls"]]


def test_a_call_that_is_blocked_never_runs(way):
    notes = []
    hooks = note_events(notes)
    hooks.before_tool(lambda context: Outcome.block("no"))
    with pytest.raises(Blocked) as reported:
        way.run_tool(hooks.stack, CALL, noting(notes, "operation"))
    assert (reported.value.reason, reported.value.result) == ("no", None)
    assert [context.event for context in notes] == ["pre-tool-call"]


def test_a_result_that_is_objected_to_is_still_there(way):
    hooks = Hooks()
    hooks.after_tool(lambda context: Outcome.block("secret").replace(context=context.replace(result="***")))
    with pytest.raises(Blocked) as reported:
        way.run_tool(hooks.stack, CALL, run)
    assert (reported.value.reason, reported.value.result) == ("secret", "***")


def test_an_error_is_raised_as_it_is_and_hooks_receive_it(way):
    error, notes = ValueError("broken"), []

    def operation(call):
        raise error

    with pytest.raises(ValueError, match="broken") as reported:
        way.run_tool(note_events(notes).stack, CALL, operation)
    assert reported.value is error
    before = ToolContext.before("bash", {"command": "ls"}, call_id="c1")
    assert notes == [before, before.after_failure(error)]
    assert not hasattr(error, "__notes__")


def test_the_answer_of_a_hook_to_an_error_is_a_note_on_it(way):
    error = ValueError("broken")

    def operation(call):
        raise error

    stack = Stack().with_(lambda context: Outcome.block("try the other door"), on="post-tool-call-failure")
    with pytest.raises(ValueError, match="broken") as reported:
        way.run_tool(stack, CALL, operation)
    assert reported.value is error
    assert error.__notes__ == ["try the other door"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1), asyncio.CancelledError()], ids=repr)
def test_what_is_not_an_error_of_the_tool_is_not_an_event(way, error):
    notes = []

    def operation(call):
        raise error

    with pytest.raises(type(error)):
        way.run_tool(note_events(notes).stack, CALL, operation)
    assert [context.event for context in notes] == ["pre-tool-call"]


def test_a_tool_inside_of_a_tool_that_is_blocked_is_an_error_of_the_outer_one(way):
    notes = []
    hooks = Hooks()
    hooks.before_tool(match="inner")(lambda context: Outcome.block("not this"))
    hooks.tool_failed(lambda context: notes.append((context.name, str(context.error))))

    def operation(call):
        return hooks.stack.run_tool(ToolCall("inner"), run)

    with pytest.raises(Blocked, match="not this"):
        way.run_tool(hooks.stack, CALL, operation)
    assert notes == [("bash", "not this")]


def test_how_long_a_call_took_is_recorded(way):
    times, measured = [], []

    def operation(call):
        started = time.perf_counter()
        threading.Event().wait(0.01)
        measured.append((time.perf_counter() - started) * 1000)
        return int(call.name)

    stack = Stack().with_(lambda context: times.append(context.duration_ms))
    way.run_tool(stack, ToolCall("1"), operation)
    with pytest.raises(ValueError, match="invalid literal"):
        way.run_tool(stack, ToolCall("x"), operation)
    assert [took is None for took in times] == [True, False, True, False]
    assert [times[1] >= round(measured[0], 3), times[3] >= round(measured[1], 3)] == [True, True]


# The end of a run

STOPS = ["pre-tool-call", "post-tool-call", "post-tool-call-failure", "permission-request"]


@pytest.mark.parametrize("kind", STOPS)
@pytest.mark.parametrize("around", [False, True], ids=["plain", "around"])
def test_a_stop_anywhere_ends_the_run(way, kind, around):
    error = ValueError("broken")

    def operation(call):
        if kind == "post-tool-call-failure":
            raise error

    stop = (lambda context, go_on: Outcome.stop("enough")) if around else (lambda context: Outcome.stop("enough"))
    stack = Stack().with_(stop, on=kind)
    if kind == "permission-request":
        stack = stack.with_(lambda context: Outcome.ask("sure?"), on="pre-tool-call")
    with pytest.raises(Stopped) as reported:
        way.run_tool(stack, CALL, operation)
    assert reported.value.reason == "enough"
    assert reported.value.__cause__ is (error if kind == "post-tool-call-failure" else None)


def test_a_stop_in_the_operation_passes_through_and_is_not_a_failure(way):
    notes, stop = [], Stopped("enough")

    def operation(call):
        raise stop

    with pytest.raises(Stopped) as reported:
        way.run_tool(note_events(notes).stack, CALL, operation)
    assert reported.value is stop
    assert [context.event for context in notes] == ["pre-tool-call"]


@pytest.mark.parametrize(
    ("decision", "error", "message"),
    [(Decision.BLOCK, Blocked, "blocked by a hook"), (Decision.STOP, Stopped, "stopped by a hook")],
)
def test_who_objects_without_a_reason_is_given_one(way, decision, error, message):
    for kind in ("pre-tool-call", "post-tool-call"):
        with pytest.raises(error, match=message):
            way.run_tool(Stack().with_(lambda context: Outcome(decision), on=kind), CALL, run)


def test_middleware_that_lets_a_call_go_on_nowhere_is_reported(way):
    def broken(context):
        raise ValueError("oh")

    def around(context, go_on):
        try:
            go_on(context)
        except ValueError:
            return context.add_message("never mind")

    stack = Stack().with_(around, on="pre-tool-call").with_(broken, on="pre-tool-call")
    with pytest.raises(HookError, match="it has to call `next`"):
        way.run_tool(stack, CALL, run)


# With and without a person to ask


def asking(*reasons: str) -> Hooks:
    """Hooks that want a person to decide."""
    hooks = Hooks()
    for reason in reasons:
        hooks.before_tool(lambda context, reason=reason: Outcome.ask(reason))
    return hooks


def test_a_question_blocks_if_no_person_can_be_asked(way):
    notes = []
    with pytest.raises(Blocked) as reported:
        way.run_tool(asking("sure?", "really?").stack, CALL, noting(notes, "operation"))
    assert reported.value.reason == "sure?\nreally? (no person can be asked)"
    assert notes == []


def test_a_question_without_a_reason_has_one(way):
    asked = []
    stack = Stack().with_(lambda context: Outcome(Decision.ASK), on="pre-tool-call")
    with pytest.raises(Blocked, match=r"a hook wants a person to be asked \(no person can be asked\)"):
        way.run_tool(stack, CALL, run)
    way.run_tool(stack.with_ask(lambda context, reason: asked.append(reason) or True), CALL, run)
    assert asked == ["a hook wants a person to be asked"]


@pytest.mark.parametrize("later", [False, True], ids=["at once", "awaited"])
@pytest.mark.parametrize("answer", [True, False])
def test_a_person_decides(way, answer, later):
    asked, notes = [], []
    hooks = asking("sure?")
    hooks.before_tool(priority=1)(lambda context: context.replace(args={"command": "ls -l"}))

    def ask(context, reason):
        asked.append((context.kind.name, context.name, context.args, reason))
        return answer

    async def ask_later(context, reason):
        await asyncio.sleep(0)
        return ask(context, reason)

    chosen = ask_later if later else ask
    assert hooks.on_ask(chosen) is chosen
    if answer:
        assert way.run_tool(hooks.stack, CALL, run) == "ran ls -l"
    else:
        with pytest.raises(Blocked) as reported:
            way.run_tool(hooks.stack, CALL, noting(notes, "operation"))
        assert reported.value.reason == "sure? (refused by a person)"
    assert asked == [("pre-tool-call", "bash", {"command": "ls -l"}, "sure?")]
    assert notes == []


def test_a_callback_that_returns_nothing_is_an_error_because_it_asked(way):
    hooks = asking("sure?")

    @hooks.on_ask
    def person(_context, _reason):
        pass

    with pytest.raises(HookError, match="person' answered a question with None; it must return True or False"):
        way.run_tool(hooks.stack, CALL, run)


@pytest.mark.parametrize("answer", ["no", 1, 0, object()], ids=["text", "one", "zero", "object"])
def test_an_answer_is_yes_or_no_and_nothing_else(way, answer):
    notes, hooks = [], asking("sure?")
    hooks.on_ask(lambda context, reason: answer)
    with pytest.raises(HookError) as reported:
        way.run_tool(hooks.stack, CALL, noting(notes, "operation"))
    assert str(reported.value).endswith(
        f"answered a question with {type(answer).__name__}; it must return True or False"
    )
    assert notes == []


def test_an_answer_that_comes_later_is_waited_for(way):
    class Later:
        def __init__(self, answer):
            self.said = answer

        def __await__(self):
            yield from asyncio.sleep(0).__await__()
            return self.said

    for answer in (True, False):
        stack = asking("sure?").stack.with_ask(lambda context, reason, answer=answer: Later(answer))
        if answer:
            assert way.run_tool(stack, CALL, run) == "ran ls"
        else:
            with pytest.raises(Blocked):
                way.run_tool(stack, CALL, run)


def test_an_answer_that_comes_later_is_refused_where_an_event_loop_would_be_held_up():
    class Later:
        def __await__(self):
            yield

    async def main():
        asking("sure?").stack.with_ask(lambda context, reason: Later()).run_tool(CALL, pytest.fail)

    with pytest.raises(HookError, match="the question is async, and an event loop runs here"):
        asyncio.run(main())


def test_hooks_may_be_given_whom_to_ask_from_the_beginning(way):
    hooks = Hooks(ask=lambda context, reason: True)
    hooks.before_tool(lambda context: Outcome.ask("sure?"))
    assert way.run_tool(hooks.stack, CALL, run) == "ran ls"


def test_who_is_asked_and_raises_keeps_the_call_from_running(way):
    notes = []
    hooks = asking("sure?")

    @hooks.on_ask
    def ask(context, reason):
        raise EOFError("no terminal")

    with pytest.raises(EOFError):
        way.run_tool(hooks.stack, CALL, noting(notes, "operation"))
    assert notes == []


# Hooks for permissions, which are asked before the person


def test_a_hook_may_grant_permission_so_that_no_person_is_asked(way):
    asked, hooks = [], asking("sure?")
    hooks.permission(lambda context: ALLOW)
    hooks.on_ask(lambda context, reason: asked.append(reason))
    assert way.run_tool(hooks.stack, CALL, lambda call: "done") == "done"
    assert asked == []


def test_a_hook_may_deny_permission(way):
    asked, hooks = [], asking("sure?")
    hooks.permission(lambda context: Outcome.block("never"))
    hooks.on_ask(lambda context, reason: asked.append(reason) or True)
    with pytest.raises(Blocked) as reported:
        way.run_tool(hooks.stack, CALL, run)
    assert reported.value.reason == "never"
    assert asked == []


@pytest.mark.parametrize("answer", [None, Outcome.ask("I do not know")], ids=["nothing", "ask"])
def test_a_hook_that_does_not_know_leaves_it_to_the_person(way, answer):
    asked, hooks = [], asking("sure?")
    hooks.permission(lambda context: answer)
    hooks.on_ask(lambda context, reason: asked.append(reason) or True)
    assert way.run_tool(hooks.stack, CALL, run) == "ran ls"
    assert asked == ["sure?"]


def test_a_hook_for_permissions_may_rewrite_the_call_and_add_context_and_messages(way):
    seen = []
    hooks = asking("sure?")

    @hooks.permission
    def narrower(context):
        seen.append((context.event, context.call_id, context.session_id, context.get("k")))
        changed = context.replace(args={"command": "ls -l"}).with_metadata("p", 1)
        return ALLOW.replace(context=changed.add_context("narrowed").add_message("it was narrowed"))

    hooks.before_tool(priority=1)(lambda context: context.with_metadata("k", "v").add_message("first"))
    hooks.after_tool(
        lambda context: seen.append((context.additional_context, context.messages, context.get("p"), context.get("k")))
    )
    assert way.run_tool(hooks.stack, CALL, run, session_id="s") == "ran ls -l"
    assert seen == [
        ("permission-request", "c1", "s", "v"),
        (("narrowed",), ("first", "it was narrowed"), 1, "v"),
    ]


def test_the_person_is_asked_about_the_call_as_hooks_for_permissions_left_it(way):
    asked, hooks = [], asking("sure?")
    hooks.permission(lambda context: context.replace(args={"command": "ls -l"}))
    hooks.on_ask(lambda context, reason: asked.append(context.args) or True)
    assert way.run_tool(hooks.stack, CALL, run) == "ran ls -l"
    assert asked == [{"command": "ls -l"}]


def test_the_context_of_a_call_shows_whether_it_was_allowed(way):
    seen = []
    for answer, expected in ((ALLOW, True), (None, False), (Outcome.ask("sure?"), True)):
        stack = Stack(ask=lambda context, reason: True).with_(lambda context, answer=answer: answer, on="pre-tool-call")
        stack = stack.with_(lambda context: seen.append(context.is_allowed), on="post-tool-call")
        way.run_tool(stack, CALL, run)
        assert seen.pop() is expected


def test_a_question_at_another_event_is_for_the_program(way):
    stack = Stack(ask=pytest.fail).with_(lambda context: Outcome.ask("sure?"), on="pre-session")
    outcome = way.process(stack, EVERY["pre-session"], lambda context: None)
    assert outcome.decision == Decision.ASK


# Nothing to do


def test_an_idle_stack_calls_the_operation_and_nothing_else(way):
    stack = Stack().with_(pytest.fail, on="notification").with_(pytest.fail, on="permission-request")
    assert stack.is_idle
    assert way.run_tool(stack, CALL, lambda call: call) == CALL
    error = ValueError("broken")

    def operation(call):
        raise error

    with pytest.raises(ValueError, match="broken") as reported:
        way.run_tool(stack, CALL, operation)
    assert reported.value is error


def test_an_idle_stack_hands_the_very_call_on():
    calls = []
    Stack().run_tool(CALL, calls.append)
    assert calls[0] is CALL


@pytest.mark.parametrize("kind", ["pre-tool-call", "post-tool-call", "post-tool-call-failure"])
def test_a_stack_with_a_hook_for_a_call_is_not_idle(kind):
    assert not Stack().with_(noting([]), on=kind).is_idle
    assert not Stack().with_(noting([])).is_idle


def test_an_allow_is_for_the_arguments_it_was_given_for_and_for_no_others():
    seen = []

    def allows(context):
        return Outcome(Decision.ALLOW) if context.args["command"] == "ls" else None

    def rewrites(context):
        return context.replace(args={"command": "rm -rf /"})

    def notes(context):
        seen.append((context.args["command"], context.is_allowed))

    plain = Stack().with_(allows, on="PreToolUse", priority=2)
    changed = plain.with_(rewrites, on="PreToolUse", priority=1)
    for stack in (plain, changed):
        stack.with_(notes, on="PostToolUse").run_tool(ToolCall("Shell", {"command": "ls"}), lambda call: None)
    assert seen == [("ls", True), ("rm -rf /", False)]
