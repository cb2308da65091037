"""A run or its turn ends while hooks still decide about a call, or while a person is asked: the call is not made."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

import pytest

from boathook import AgentRun, Decision, Hooks, Outcome, ToolCall, ToolOutcome

LS = ToolCall("list", {"where": "."}, "c1")
RUN_ENDED = "the run ended before hooks had decided about this call"
TURN_ENDED = "the turn ended before hooks had decided about this call"


def decide_in_hook(hooks: Hooks, meanwhile: Callable[[], Any]) -> None:
    hooks.before_tool(lambda _context: meanwhile() and None)


def decide_in_middleware(hooks: Hooks, meanwhile: Callable[[], Any]) -> None:
    @hooks.before_tool
    def around(context, next):  # noqa: A002
        meanwhile()
        return next(context)


def decide_by_a_person(hooks: Hooks, meanwhile: Callable[[], Any]) -> None:
    hooks.before_tool(lambda _context: Outcome.ask("sure?"))

    @hooks.on_ask
    def ask(_context, _reason):
        meanwhile()
        return True


def decide_later(hooks: Hooks, meanwhile: Callable[[], Any]) -> None:
    @hooks.before_tool
    def ask(_context):
        meanwhile()
        return Outcome.ask("sure?")


MOMENTS = [
    # Middleware is only around calls that the run makes.
    ("tool", decide_in_middleware),
    *product(["tool", "before", "decide"], [decide_in_hook, decide_by_a_person, decide_later]),
]
ENDS: dict[str, tuple[Callable[[AgentRun], Any], Decision, str]] = {
    "end": (lambda run: run.end(), Decision.BLOCK, RUN_ENDED),
    "cancel": (lambda run: run.cancel(), Decision.BLOCK, RUN_ENDED),
    "end_turn": (lambda run: run.end_turn(), Decision.BLOCK, TURN_ENDED),
    "prompt": (lambda run: run.prompt("the next one"), Decision.BLOCK, TURN_ENDED),
    "stop": (lambda run: run.stop("done"), Decision.STOP, "enough"),
}


def call_tool(run: AgentRun, method: str, operation: Callable[[ToolCall], Any]) -> ToolOutcome:
    outcome: ToolOutcome = getattr(run, method)(*((LS, operation) if method == "tool" else (LS,)))
    return outcome


@pytest.fixture
def hooks() -> Hooks:
    made = Hooks()
    made.add("pre-agent-turn-stop", lambda _context: Outcome.stop("enough"))
    return made


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
@pytest.mark.parametrize(("method", "decide"), MOMENTS)
def test_a_call_is_not_made_if_its_run_or_its_turn_has_ended_meanwhile(hooks, method, decide, end):
    end_run, decision, reason = end
    run = hooks.run("s1", can_ask=decide is decide_later)

    def end_elsewhere() -> None:
        with ThreadPoolExecutor(1) as other_thread:
            other_thread.submit(end_run, run).result()

    decide(hooks, end_elsewhere)
    run.stack = hooks.stack
    run.prompt("hi")
    outcome = call_tool(run, method, pytest.fail)
    assert (outcome.proceeds, outcome.has_run, outcome.ask) == (False, False, None)
    assert (outcome.decision, outcome.text) == (decision, reason)


@pytest.mark.parametrize("method", ["atool", "abefore", "adecide"])
def test_a_call_in_an_event_loop_is_not_made_if_its_run_has_ended_meanwhile(method):
    hooks = Hooks()

    async def play() -> ToolOutcome:
        is_deciding, may_go_on = asyncio.Event(), asyncio.Event()

        @hooks.before_tool
        async def wait(_context):
            is_deciding.set()
            await may_go_on.wait()

        run = hooks.run("s1")
        await run.aprompt("hi")
        arguments = (LS, pytest.fail) if method == "atool" else (LS,)
        call = asyncio.create_task(getattr(run, method)(*arguments))
        await is_deciding.wait()
        await run.aend()
        may_go_on.set()
        return await call

    outcome = asyncio.run(play())
    assert (outcome.decision, outcome.has_run, outcome.text) == (Decision.BLOCK, False, RUN_ENDED)


def test_the_call_of_a_subagent_is_not_made_if_the_run_that_it_works_for_has_ended_meanwhile():
    hooks = Hooks()
    run = hooks.run("s1")
    decide_in_hook(hooks, run.end)
    run.stack = hooks.stack
    run.prompt("hi")
    child = run.child("helper", "help")
    child.prompt("help")
    assert child.tool(LS, pytest.fail).text == RUN_ENDED


def test_a_guarded_function_is_not_called_if_its_run_has_ended_meanwhile():
    hooks = Hooks()
    run = hooks.run("s1")
    decide_in_hook(hooks, run.end)

    @hooks.guard(name="list", on_block="return")
    def list_files(where: str) -> str:
        pytest.fail(where)

    with run:
        run.prompt("hi")
        assert list_files(".") == RUN_ENDED


def test_a_call_that_was_begun_without_a_turn_is_made_although_a_turn_begins_meanwhile():
    hooks = Hooks()
    is_deciding, may_go_on = threading.Event(), threading.Event()

    @hooks.before_tool
    def wait(_context):
        is_deciding.set()
        may_go_on.wait()

    run = hooks.run("s1")
    with ThreadPoolExecutor(1) as other_thread:
        call = other_thread.submit(run.tool, LS, lambda _call: "ran")
        is_deciding.wait()
        run.prompt("hi")
        may_go_on.set()
        assert call.result().text == "ran"
