"""Many at once do not mix, and many one after the other leave nothing behind."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from boathook.core.outcome import Outcome
from boathook.errors import Blocked
from boathook.inprocess.contexts import ToolContext
from boathook.inprocess.hooks import Hooks
from boathook.inprocess.matching import where
from boathook.inprocess.operations import ToolCall

CROWD = 50


class Oops(Exception):
    """What an operation here raises."""


def all_forms(*, timeout: float | None = None, one_in: int = 1) -> Hooks:
    """Hooks of every form in process, each of which leaves its mark on the call, or on one in so many."""
    hooks = Hooks(on_failure="allow")

    def now_and_then(place):
        return where(lambda context: (context.args["n"] + place) % one_in == 0)

    def marked(context, mark):
        return context.replace(
            args={**context.args, "marks": f"{context.args.get('marks', '')}{mark} {context.args['n']};"}
        )

    @hooks.before_tool(priority=50, match=now_and_then(0))
    def plain(context):
        return marked(context, "plain")

    @hooks.before_tool(priority=40, match=now_and_then(1))
    async def later(context):
        await asyncio.sleep(0)
        return marked(context, "async")

    @hooks.before_tool(priority=30, timeout=timeout, match=now_and_then(2))
    def around(context, go_on):
        found = go_on(marked(context, "around"))
        assert found.context.args["n"] == context.args["n"]
        return found

    @hooks.before_tool(priority=25, match=now_and_then(3))
    class Handler:
        def handle(self, context, go_on):
            return go_on(marked(context, "handle"))

    @hooks.before_tool(priority=20, timeout=timeout, match=now_and_then(4))
    async def around_later(context, go_on):
        await asyncio.sleep(0)
        return await go_on(marked(context, "around async"))

    @hooks.before_tool(
        priority=10, match=now_and_then(5) & (lambda context: context.args["n"] % 2 == 0), timeout=timeout
    )
    def even(context):
        return marked(context, "even")

    @hooks.before_tool(priority=9, match=now_and_then(6) & "odd*")
    def odd(context):
        return marked(context, "odd")

    @hooks.before_tool(priority=8, match=now_and_then(7))
    def broken(context):
        raise ValueError(context.args["n"])

    @hooks.before_tool(priority=7, match=now_and_then(8))
    def seventh(context):
        return Outcome.block(f"no {context.args['n']}") if context.args["n"] % 7 == 6 else None

    @hooks.after_tool
    def after(context):
        return context.replace(result=(context.result, context.args["n"]))

    return hooks


def expected(n: int):
    """What becomes of the call with this number."""
    marks = ("plain", "async", "around", "handle", "around async", "odd" if n % 2 else "even")
    return f"no {n}" if n % 7 == 6 else ((n, "".join(f"{mark} {n};" for mark in marks)), n)


def call(n: int) -> ToolCall:
    return ToolCall("odd" if n % 2 else "even", {"n": n})


def test_fifty_tasks_on_one_stack_do_not_mix():
    stack = all_forms(timeout=60).stack
    everyone = asyncio.Event()
    arrived = []

    async def operation(one):
        arrived.append(one)
        if len(arrived) == sum(n % 7 != 6 for n in range(CROWD)):  # all that are let through are here at once
            everyone.set()
        await everyone.wait()
        return one.args["n"], one.args["marks"]

    async def run(n):
        try:
            return await stack.arun_tool(call(n), operation)
        except Blocked as blocked:
            return blocked.reason

    async def main():
        return await asyncio.gather(*map(run, range(CROWD)))

    assert asyncio.run(main()) == [expected(n) for n in range(CROWD)]


def test_fifty_threads_on_one_stack_do_not_mix():
    stack = all_forms(timeout=60).stack
    together = threading.Barrier(sum(n % 7 != 6 for n in range(CROWD)), timeout=60)

    def operation(one):
        together.wait()
        return one.args["n"], one.args["marks"]

    def run(n):
        try:
            return stack.run_tool(call(n), operation)
        except Blocked as blocked:
            return blocked.reason

    with ThreadPoolExecutor(CROWD) as pool:
        assert list(pool.map(run, range(CROWD))) == [expected(n) for n in range(CROWD)]


def test_threads_that_add_hooks_and_threads_that_call_do_not_disturb_each_other():
    hooks = Hooks()
    tool = hooks.guard(lambda n: n)
    done = threading.Event()

    def adds():
        for n in range(200):
            hooks.before_tool(match=f"x{n}")(lambda context: Outcome.block("never"))
        done.set()

    def calls():
        while not done.is_set():
            assert tool(5) == 5

    with ThreadPoolExecutor(4) as pool:
        for task in [pool.submit(calls), pool.submit(calls), pool.submit(calls), pool.submit(adds)]:
            task.result()
    assert len(hooks.stack) == 200


def test_first_calls_of_many_mapped_tools_at_once_do_not_disturb_each_other():
    names = {f"tool {n}, {n * 7919 % 1000}": "Shell" for n in range(CROWD)}
    switch_interval = sys.getswitchinterval()
    # So short that threads meet within a line.
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            run = Hooks().run(names=names)

            def make_call(name, run=run):
                return run.tool(ToolCall(name, {"command": "ls"}), lambda one: one.name).result

            with ThreadPoolExecutor(4) as pool:
                assert list(pool.map(make_call, names)) == list(names)
    finally:
        sys.setswitchinterval(switch_interval)


@pytest.fixture
def silent():
    """Let failures be logged nowhere: pytest would keep every record."""
    log = logging.getLogger("boathook")
    log.disabled = True
    yield
    log.disabled = False


# Those before the traced ones only fill what may be kept: were they too few, the traced ones would still grow.
EVENTS = 1_300
TRACED = 800
MOST_TOOLS = 16
# Ten bytes an event would be more.
SMALL = 8 * 1024


def test_many_events_of_one_session_leave_nothing_behind(project, silent, monkeypatch):
    monkeypatch.setattr("boathook.inprocess.stack._MAX_CACHED_TOOLS", MOST_TOOLS)
    monkeypatch.setattr("boathook.inprocess.name_map._MAX_FOUND", MOST_TOOLS)
    project.write_hook("elsewhere", script="exit 1", fields={"matcher": "{tool: '^Elsewhere$'}", "priority": 1})
    project.write_hook("later", script="exit 1", fields={"matcher": "{tool: '^Elsewhere$'}", "async": "true"})
    hooks = all_forms(one_in=20)
    hooks.tool_failed(lambda context: Outcome.block("try another"))
    hooks.before_tool(timeout=60, match=lambda context: context.args["n"] % 20 == 11)(lambda context: None)
    with hooks.load(project.path):
        live_through(hooks, range(EVENTS - TRACED))
        tracemalloc.start()
        try:
            live_through(hooks, range(TRACED // 10))
            before = tracemalloc.get_traced_memory()[0]
            live_through(hooks, range(EVENTS - TRACED, EVENTS))
            grown = tracemalloc.get_traced_memory()[0] - before
        finally:
            tracemalloc.stop()
    assert grown < SMALL


def live_through(hooks: Hooks, numbers: range) -> None:
    """Make an event or more for every number: most in an event loop, some in a plain program, many of tools never seen again."""

    def operation(one):
        if one.args["n"] % 5 == 0:
            raise Oops(one.args["n"])
        return one.args["n"]

    async def main():
        for n in numbers:
            if n % 4:
                await hooks.stack.aprocess(ToolContext.before(f"tool{n}", {"n": n}, session_id="s"))
                continue
            with suppress(Blocked, Oops):
                await hooks.stack.arun_tool(call(n), operation, session_id="s")

    asyncio.run(main())
    for n in numbers[::50]:
        hooks.stack.process(ToolContext.before(f"tool{n}", {"n": n}, session_id="s"))
    gc.collect()
