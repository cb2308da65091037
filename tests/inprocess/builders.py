"""What the tests of the stack make again and again: contexts of every event, hooks that take notes, and two ways to ask."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

from boathook.core.outcome import Outcome
from boathook.inprocess.contexts import (
    CompactionContext,
    Context,
    ExecutionContext,
    FailureContext,
    NotificationContext,
    SessionContext,
    StepContext,
    StopContext,
    SubagentContext,
    ToolContext,
)
from boathook.inprocess.operations import ToolCall
from boathook.inprocess.stack import Stack

CALL = ToolCall("bash", {"command": "ls"}, "c1")
BEFORE = ToolContext.before("bash", {"command": "ls"}, call_id="c1")
FAULT = ValueError("broken")
COMMON = {"session_id": "s", "work_dir": "/w"}
# A tool whose name means nothing to file hooks, as if it were mapped to itself.
UNNAMED: dict[str, Any] = {"call_id": "c1", "naming": None, **COMMON}
EVERY: dict[str, Context] = {
    "pre-session": SessionContext.on_start(model="m", source="resume", **COMMON),
    "post-session": SessionContext.on_end(exit_reason="done", total_steps=3, duration_seconds=1.5, **COMMON),
    "pre-agent-turn": ExecutionContext.on_start("hello", **COMMON),
    "post-agent-turn": ExecutionContext.on_end("hello", final_message="bye", step_count=2, **COMMON),
    "pre-agent-turn-stop": StopContext.before(step_count=2, final_message="bye", block_count=1, **COMMON),
    "post-agent-turn-stop": StopContext.after(reason="max_steps", step_count=9, **COMMON),
    "pre-tool-call": ToolContext.before("bash", {"command": "ls"}, **UNNAMED),
    "post-tool-call": ToolContext.before("bash", {"command": "ls"}, **UNNAMED).after("a\nb", 12.5),
    "post-tool-call-failure": ToolContext.before("bash", {}, call_id="c1", **COMMON).after_failure(FAULT, 12.5),
    "permission-request": ToolContext.permission("bash", {"command": "ls"}, **UNNAMED),
    "pre-subagent": SubagentContext.on_start("kid", "dig", type="digger", **COMMON),
    "post-subagent": SubagentContext.on_stop("kid", "dig", type="digger", result="a hole", **COMMON),
    "pre-context-compact": CompactionContext.before(900, trigger="manual", **COMMON),
    "post-context-compact": CompactionContext.after(900, 90, **COMMON),
    "notification": NotificationContext.of("look here", "a title", **COMMON),
    "pre-step": StepContext.before(0, state={"n": 1}, **COMMON),
    "post-step": StepContext.after(1, "a step", **COMMON),
    "turn-failure": FailureContext.of(FAULT, **COMMON),
}


def fresh(kind: str, **changes: Any) -> Any:
    """Return a context of an event, with any field changed: what tests may, hooks may not."""
    return dataclasses.replace(EVERY[kind], **changes)


def drop_same_context(outcome: Outcome, context: Context) -> Outcome:
    """Return an outcome without its context if that is the one that was given, so that a test compares what hooks said."""
    return outcome.replace(context=None) if outcome.context is context else outcome


class Sync:
    """Ask from a plain program, which would ask the person itself."""

    def process(self, stack: Stack, context: Context, terminal: Callable[[Any], Any] | None = None) -> Outcome:
        return drop_same_context(stack.process(context, terminal, can_ask=True), context)

    def run_tool(self, stack: Stack, call: ToolCall, operation: Callable[[ToolCall], Any], **fields: Any) -> Any:
        return stack.run_tool(call, operation, **fields)

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)


class Async:
    """Ask from an event loop."""

    def process(self, stack: Stack, context: Context, terminal: Callable[[Any], Any] | None = None) -> Outcome:
        return drop_same_context(asyncio.run(stack.aprocess(context, terminal, can_ask=True)), context)

    def run_tool(self, stack: Stack, call: ToolCall, operation: Callable[[ToolCall], Any], **fields: Any) -> Any:
        return asyncio.run(stack.arun_tool(call, operation, **fields))

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        async def run() -> Any:
            return await function(*args, **kwargs)

        return asyncio.run(run())


WAYS = {"sync": Sync(), "async": Async()}
Way = Sync | Async


def as_async(hook: Callable[..., Any]) -> Callable[..., Any]:
    """Return a hook as `async def`; one that takes `next` may call it as if it were sync."""
    if len(inspect.signature(hook).parameters) == 1:

        async def plain(context):
            return hook(context)

        return plain

    raise AssertionError("middleware has to be written twice: it waits in the middle")


def noting(notes: list[Any], name: str = "", answer: Any = None) -> Callable[[Context], Any]:
    """Return a hook that notes its name and answers the same each time."""

    def hook(context):
        notes.append(name or context.event)
        return answer

    return hook


def stacked(*hooks: Any, **fields: Any) -> Stack:
    """Return a stack of hooks, all added in the same way."""
    stack = Stack()
    for hook in hooks:
        stack = stack.with_(hook, **fields)
    return stack


def untimed(outcome: Outcome) -> Outcome:
    """Return an outcome without the one thing that differs each time."""
    if not isinstance(outcome.context, ToolContext):
        return outcome
    return outcome.replace(context=dataclasses.replace(outcome.context, duration_ms=None))
