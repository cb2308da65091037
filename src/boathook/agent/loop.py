"""The loops: a session of turns, a turn of steps, a step of one request to the model and the tools it calls.

Every event of the life cycle is fired here, and nowhere else.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
import uuid
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from boathook.agent.model import ASSISTANT, TOOL, USER, Message, Reply, estimate_tokens
from boathook.agent.state import AgentState, Step, ToolResult
from boathook.agent.tools import Tool, ToolError, Workplace
from boathook.core.outcome import Decision, Outcome
from boathook.errors import Blocked, Stopped
from boathook.stack.contexts import (
    CompactionContext,
    Context,
    ExecutionContext,
    FailureContext,
    NotificationContext,
    StepContext,
    StopContext,
    SubagentContext,
    ToolContext,
)
from boathook.stack.operations import ToolCall, arun_tool
from boathook.stack.walk import ask_permission

if TYPE_CHECKING:
    from boathook.agent.agent import Agent

C = TypeVar("C", bound=Context)
SUBAGENT = "Subagent"
DONE, BLOCKED, STOPPED = "done", "blocked", "stopped"
NO_TOOL_CALLS, TOOL_REJECTED, MAX_STEPS = "no_tool_calls", "tool_rejected", "max_steps"
FEEDBACK = "[Hook blocked stop: {}]"
NOTE = "[Hook context: {}]"


@dataclass(frozen=True, slots=True)
class TurnResult:
    """How a turn ended: done, blocked before it began, or stopped by a hook; what the agent said, and why it stopped."""

    status: str
    text: str = ""
    reason: str = ""
    steps: tuple[Step, ...] = ()
    messages: tuple[str, ...] = ()


class Loop:
    """One agent at work: the main one, or a subagent with an identity of its own."""

    def __init__(self, agent: Agent, session_id: str, state: AgentState | None = None) -> None:
        """Take the agent and its session; a subagent brings its state."""
        self.agent = agent
        self.stack = agent.stack.with_ask(self._ask if agent.ask is not None else None)
        self.session_id = session_id
        self.state = state or AgentState(uuid.uuid4().hex[:12])
        self.told: list[str] = []
        self.rejected = False

    # What every event has in common

    @property
    def common(self) -> dict[str, Any]:
        """Give the fields that all contexts of this agent share; a subagent's events carry its identity."""
        more: Mapping[str, Any] = {}
        if self.state.parent_agent_id is not None:
            more = {"agent_id": self.state.agent_id, "agent_type": self.state.agent_type}
        return {
            "session_id": self.session_id,
            "work_dir": self.agent.work_dir,
            "state": self.state,
            "metadata": self.state.metadata,
            "more": more,
        }

    async def fire(self, context: C) -> tuple[Outcome, C]:
        """Run an event through the hooks and take in what they leave; Stopped if one ends the run."""
        outcome = await self.stack.aprocess(context)
        return outcome, self.absorb(outcome, context)

    def absorb(self, outcome: Outcome, context: C) -> C:
        """Take in what hooks left: values, messages to the person, the end of the run."""
        final: C = context if outcome.context is None else outcome.context
        if final.metadata is not context.metadata:
            metadata = {**self.state.metadata, **final.metadata}
            self.state = dataclasses.replace(self.state, metadata=metadata)
        self.told += final.messages
        for text in final.messages:
            self.agent.tell("message", text)
        self.agent.tell("event", (final.kind.name, outcome))
        if outcome.is_stopped:
            raise Stopped(outcome.reason or "stopped by a hook")
        return final

    def say(self, *messages: Message) -> None:
        """Add messages to the conversation."""
        self.state = self.state.with_messages(*messages)

    def note(self, context: Context) -> None:
        """Let the model know what hooks want it to know."""
        self.say(*(Message(USER, NOTE.format(text)) for text in context.added))

    # A turn

    async def turn(self, prompt: str) -> AsyncIterator[Step | TurnResult]:
        """Play one turn: yields its steps as they happen, and at last how it ended."""
        started = time.monotonic()
        self.state = dataclasses.replace(self.state, steps=())
        self.told, self.rejected = [], False
        status, text, reason = DONE, "", ""
        try:
            outcome, begun = await self.fire(ExecutionContext.on_start(prompt, **self.common))
            if outcome.is_blocked:
                yield TurnResult(BLOCKED, reason=outcome.reason, messages=tuple(self.told))
                return
            self.note(begun)
            self.say(Message(USER, begun.prompt))
            async for step in self.steps():
                yield step
            text = self.last_text
        except Stopped as stop:
            status, reason, text = STOPPED, stop.reason, self.last_text
        except (Exception, asyncio.CancelledError) as fault:
            await self._failed(fault)
            raise
        await self._turn_ended(prompt, text, time.monotonic() - started)
        yield TurnResult(status, text, reason, self.state.steps, tuple(self.told))

    @property
    def last_text(self) -> str:
        """Give what the agent said last."""
        return next((m.text for m in reversed(self.state.messages) if m.role == ASSISTANT and m.text), "")

    async def _failed(self, fault: BaseException) -> None:
        """Tell hooks of a failure; what they say to it cannot hide it."""
        if isinstance(fault, asyncio.CancelledError):
            return
        try:
            await self.fire(FailureContext.of(fault, **self.common))
        except Stopped:
            return

    async def _turn_ended(self, prompt: str, text: str, seconds: float) -> None:
        fields = {"final_message": text, "step_count": self.state.step_count, "duration_seconds": round(seconds, 3)}
        context = ExecutionContext.on_end(prompt, **fields, **self.common)
        try:
            outcome, final = await self.fire(context)
        except Stopped:
            return
        self.note(final)
        if outcome.is_blocked:  # the reason is offered to the next turn
            self.say(Message(USER, NOTE.format(outcome.reason)))

    # Steps

    async def steps(self, stop: str = "pre-agent-turn-stop") -> AsyncIterator[Step]:
        """Ask the model and call its tools until it is done and hooks agree."""
        refused = 0
        while True:
            await self.compact_if_needed()
            step = await self.step()
            yield step
            reason = self._stop_reason(step)
            if reason is None:
                continue
            feedback = await self._gate(stop, reason, refused)
            if feedback is None:
                return
            refused += 1
            self.say(Message(USER, FEEDBACK.format(feedback)))

    def _stop_reason(self, step: Step) -> str | None:
        if self.rejected:
            return TOOL_REJECTED
        if not step.reply.calls:
            return NO_TOOL_CALLS
        return MAX_STEPS if self.state.step_count >= self.agent.max_steps else None

    async def _gate(self, stop: str, reason: str, refused: int) -> str | None:
        """Ask whether the agent may stop; give what it is told if it may not."""
        if stop == "post-subagent":
            return await self._subagent_gate(reason, refused)
        fields = {
            "reason": reason,
            "step_count": self.state.step_count,
            "final_message": self.last_text or None,
            "block_count": refused,
        }
        outcome, final = await self.fire(StopContext.before(**fields, **self.common))
        self.note(final)
        limited = reason != NO_TOOL_CALLS or self.state.step_count >= self.agent.max_steps
        if outcome.is_blocked and not limited:
            return outcome.reason
        _, final = await self.fire(StopContext.after(**fields, **self.common))
        return None

    async def _subagent_gate(self, reason: str, refused: int) -> str | None:
        state = self.state
        context = SubagentContext.on_stop(
            state.agent_type, self._task, type=state.agent_type, result=self.last_text, **self.common
        )
        outcome, final = await self.fire(context)
        self.note(final)
        goes_on = outcome.is_blocked and reason == NO_TOOL_CALLS and refused < self.agent.max_rounds
        return outcome.reason if goes_on else None

    @property
    def _task(self) -> str:
        return next((message.text for message in self.state.messages if message.role == USER), "")

    async def step(self) -> Step:
        """Play one step."""
        index = self.state.step_count
        _, begun = await self.fire(StepContext.before(index, **self.common))
        self._take_state(begun)
        reply = await self.agent.model.reply(self.state.messages, [tool.spec for tool in self.agent.all_tools])
        self.say(Message(ASSISTANT, reply.text, reply.calls))
        results = await self._call_all(reply)
        step = Step(index, reply, tuple(result for result, _ in results))
        for result, notes in results:
            self.say(Message(TOOL, result.text, (), result.call.id, result.call.name, result.is_error), *notes)
        self.state = dataclasses.replace(self.state, steps=(*self.state.steps, step))
        self.agent.tell("step", step)
        _, ended = await self.fire(StepContext.after(index, step, **self.common))
        self._take_state(ended)
        return step

    def _take_state(self, context: Context) -> None:
        if context.state is not self.state and isinstance(context.state, AgentState):
            self.state = dataclasses.replace(context.state, metadata={**context.state.metadata, **self.state.metadata})
        self.note(context)

    async def _call_all(self, reply: Reply) -> list[tuple[ToolResult, tuple[Message, ...]]]:
        """Call the tools of one reply at the same time; results keep the order of the calls."""
        tasks = [asyncio.ensure_future(self.call(call)) for call in reply.calls]
        try:
            return list(await asyncio.gather(*tasks))
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise

    # Tools

    async def call(self, call: ToolCall) -> tuple[ToolResult, tuple[Message, ...]]:
        """Call one tool through its hooks; what hooks object to is the tool's error, which the model reads."""
        tool = self.agent.tools.get(call.name)
        context = ToolContext.before(call.name, call.args, call_id=call.id, **self.common)
        permit = self._permit if tool is not None and tool.asks and self.agent.ask is not None else None
        outcome = await arun_tool(self.stack, context, self._operation(tool, call.name), permit)
        final = self.absorb(outcome, context)
        notes = tuple(Message(USER, NOTE.format(text)) for text in final.added)
        return ToolResult(ToolCall(call.name, final.args, call.id), *_told(outcome, final)), notes

    def _operation(self, tool: Tool | None, name: str) -> Any:
        async def run(call: ToolCall) -> Any:
            if name == SUBAGENT and self.agent.subagents:
                return await self._subagent(call)
            if tool is None:
                raise ToolError(f"there is no tool '{name}'")
            said = tool.run(call.args, Workplace(self.agent.work_dir, self.agent))
            return await said if asyncio.iscoroutine(said) else said

        return run

    async def _permit(self, context: ToolContext) -> tuple[Outcome, ToolContext]:
        return await ask_permission(self.stack, context, Outcome.ask(f"{context.name} wants to run"))

    async def _ask(self, context: ToolContext, reason: str) -> bool:
        """Let the person decide, and let hooks know that somebody is waited for."""
        message = f"{context.name} needs your permission: {reason}"
        await self.fire(NotificationContext.of(message, "permission", **self.common))
        assert self.agent.ask is not None  # noqa: S101
        said = self.agent.ask(context, reason)
        said = bool(await said if asyncio.iscoroutine(said) else said)
        self.rejected = self.rejected or not said
        return said

    async def _subagent(self, call: ToolCall) -> str:
        """Run a child agent for a task; its own loop, the same hooks, an identity of its own."""
        name, task = str(call.args.get("name", "")), str(call.args.get("task", ""))
        child_agent = self.agent.subagents.get(name)
        if child_agent is None:
            raise ToolError(f"there is no subagent '{name}'; there are {', '.join(self.agent.subagents)}")
        state = AgentState(uuid.uuid4().hex[:12], self.state.agent_id, name, metadata=self.state.metadata)
        child = Loop(child_agent.within(self.agent), self.session_id, state)
        outcome, begun = await child.fire(SubagentContext.on_start(name, task, type=name, **child.common))
        if outcome.is_blocked:
            raise Blocked(outcome.reason)
        child.say(Message(USER, task))
        child.note(begun)
        async for _ in child.steps("post-subagent"):
            pass
        return child.last_text

    # Compaction

    async def compact_if_needed(self) -> None:
        """Make the conversation shorter when it is beyond the budget."""
        budget = self.agent.token_budget
        if budget is not None and estimate_tokens(self.state.messages) > budget:
            await self.compact("auto")

    async def compact(self, trigger: str) -> bool:
        """Make the conversation shorter; say whether hooks let it happen."""
        before = estimate_tokens(self.state.messages)
        outcome, final = await self.fire(CompactionContext.before(before, trigger=trigger, **self.common))
        if outcome.is_blocked:
            return False
        messages = self.agent.compactor(self.state.messages, self.agent.token_budget or before // 2)
        self.state = dataclasses.replace(self.state, messages=tuple(messages))
        self.note(final)
        after = estimate_tokens(self.state.messages)
        _, final = await self.fire(CompactionContext.after(before, after, trigger=trigger, **self.common))
        self.note(final)
        return True


def _told(outcome: Outcome, context: ToolContext) -> tuple[str, bool]:
    """Give what the model reads about a call, and whether it is an error."""
    if context.kind.is_pre:
        return outcome.reason or "blocked by a hook", True
    reasons = outcome.reason if outcome.decision == Decision.BLOCK else ""
    if context.error is not None:
        text = str(context.error) or type(context.error).__name__
        return "\n".join(filter(None, [text, reasons])), True
    result = context.result if isinstance(context.result, str) else _as_text(context.result)
    return "\n".join(filter(None, [result, reasons])), False


def _as_text(result: Any) -> str:
    from boathook.core.jsontext import dumps
    from boathook.stack.contexts import plain

    return "" if result is None else dumps(plain(result))
