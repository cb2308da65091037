"""The loops: a session of turns, a turn of steps, a step of one request to the model and the tools it calls.

Every event of the life cycle is fired here, and nowhere else.
"""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import time
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from boathook.agent.builtin_tools import Tool, ToolError, Workplace, run_whole
from boathook.agent.model import ASSISTANT, SYSTEM, TOOL, USER, Message, Reply, estimate_tokens
from boathook.agent.state import AgentState, Step, ToolResult
from boathook.core.outcome import Decision, Outcome
from boathook.errors import Blocked, Stopped
from boathook.inprocess.chain import ask_permission
from boathook.inprocess.contexts import (
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
from boathook.inprocess.drivers import ASYNC
from boathook.inprocess.operations import ToolCall, run_tool

if TYPE_CHECKING:
    from boathook.agent.reference_agent import Agent

C = TypeVar("C", bound=Context)
SUBAGENT = "Subagent"
DONE, BLOCKED, STOPPED = "done", "blocked", "stopped"
NO_TOOL_CALLS, TOOL_REJECTED, MAX_STEPS = "no_tool_calls", "tool_rejected", "max_steps"
FEEDBACK = "[Hook blocked stop: {}]"
NOTE = "[Hook context: {}]"
UNFINISHED = "the call did not end"


@dataclass(frozen=True, slots=True)
class TurnResult:
    """How a turn ended: done, blocked before it began, or stopped by a hook, with the reason; what the agent said.

    `messages` are what hooks want the person to know, `stop_reason` is why a turn that is done is done.
    """

    status: str
    text: str = ""
    reason: str = ""
    steps: tuple[Step, ...] = ()
    messages: tuple[str, ...] = ()
    stop_reason: str = ""


class Loop:
    """One agent at work: the main one, or a subagent with an identity of its own."""

    def __init__(self, agent: Agent, session_id: str, state: AgentState | None = None) -> None:
        """Take the agent and its session; a subagent brings its state."""
        self.agent = agent
        self.stack = agent.stack.with_ask(self._ask if agent.ask is not None else None)
        self.session_id = session_id
        self.state = state or AgentState(uuid.uuid4().hex[:12])
        self.told: list[str] = []
        self.asking = asyncio.Lock()
        self.rejected = False
        self.stopped = ""
        self._stop_reason = ""
        self._prompt: Message | None = None
        self._notes: list[Message] | None = None
        self._counted = (0, 0)

    # What every event has in common

    @property
    def common(self) -> dict[str, Any]:
        """Return the fields that all contexts of this agent share; a subagent's events carry its identity."""
        extra: Mapping[str, Any] = {}
        if self.state.parent_agent_id is not None:
            extra = {"agent_id": self.state.agent_id, "agent_type": self.state.agent_type}
        return {
            "session_id": self.session_id,
            "work_dir": self.agent.work_dir,
            "state": self.state,
            "metadata": self.state.metadata,
            "extra": extra,
        }

    async def fire(self, context: C) -> tuple[Outcome, C]:
        """Run an event through the hooks and take in what they leave; Stopped if one ends the run."""
        outcome = await self.stack.aprocess(context)
        return outcome, self.absorb(outcome, context)

    def absorb(self, outcome: Outcome, context: C) -> C:
        """Take in what hooks left: values, messages to the person, the end of the run."""
        final: C = context if outcome.context is None else outcome.context
        self.remember(changes(context.metadata, final.metadata))
        self.told += final.messages
        for text in final.messages:
            self.agent.tell("message", text)
        self.agent.tell("event", (final.kind.name, outcome))
        if outcome.is_stopped:
            self.stopped = outcome.reason or "stopped by a hook"
            raise Stopped(self.stopped)
        return final

    def remember(self, values: Mapping[str, Any]) -> None:
        """Keep values that hooks left for later ones."""
        if values:
            self.state = dataclasses.replace(self.state, metadata={**self.state.metadata, **values})

    def say(self, *messages: Message) -> None:
        """Add messages to the conversation."""
        self.state = self.state.with_messages(*messages)

    def note(self, *texts: str) -> None:
        """Let the model know what hooks want it to know; nothing may stand between calls and their results."""
        notes = [Message(USER, NOTE.format(text)) for text in texts]
        if self._notes is None:
            self.say(*notes)
        else:
            self._notes += notes

    # A turn

    async def turn(self, prompt: str) -> AsyncGenerator[Step | TurnResult, None]:
        """Play one turn: yields its steps as they happen, and at last how it ended."""
        started = time.monotonic()
        self.state = dataclasses.replace(self.state, steps=())
        self.rejected, self._prompt, self._stop_reason = False, None, ""
        try:
            try:
                outcome, begun = await self.fire(ExecutionContext.on_start(prompt, **self.common))
                if outcome.is_blocked:
                    yield self._result(BLOCKED, why(outcome))
                    return
                self.begin(begun.prompt, *begun.additional_context)
                async with aclosing(self.steps()) as steps:
                    async for step in steps:
                        yield step
            except Stopped as stop:
                self.stopped = stop.reason
            await self._turn_ended(prompt, time.monotonic() - started)
        except Exception as error:
            await self._failed(error)
            raise
        yield self._result(STOPPED if self.stopped else DONE, self.stopped)

    def begin(self, prompt: str, *notes: str) -> None:
        """Put what is to be done into the conversation, after what hooks have to say to it."""
        self.note(*notes)
        self._prompt = Message(USER, prompt)
        self.say(self._prompt)

    def _result(self, status: str, reason: str) -> TurnResult:
        """Return the result of a turn, with everything the person has not been told yet."""
        told, self.told = tuple(self.told), []
        return TurnResult(status, self.last_text, reason, self.state.steps, told, self._stop_reason)

    @property
    def last_text(self) -> str:
        """Return what the agent said last in this turn."""
        for message in reversed(self.state.messages if self._prompt is not None else ()):
            if message is self._prompt:
                break
            if message.role == ASSISTANT and message.text:
                return message.text
        return ""

    async def _failed(self, error: Exception) -> None:
        """Report hooks of a failure; whatever they do cannot hide it."""
        try:
            _, final = await self.fire(FailureContext.of(error, **self.common))
            self.note(*final.additional_context)
        except Stopped:
            return
        except Exception as another:  # noqa: BLE001  (the failure itself is what is raised)
            error.add_note(f"a hook failed at turn-failure: {type(another).__name__}: {another}")

    async def _turn_ended(self, prompt: str, seconds: float) -> None:
        fields = {
            "final_message": self.last_text,
            "step_count": self.state.step_count,
            "duration_seconds": round(seconds, 3),
        }
        try:
            outcome, final = await self.fire(ExecutionContext.on_end(prompt, **fields, **self.common))
        except Stopped:
            return
        self.note(*final.additional_context)
        if outcome.is_blocked:  # the reason is offered to the next turn
            self.note(why(outcome))

    # Steps

    async def steps(self) -> AsyncGenerator[Step, None]:
        """Ask the model and call its tools until it is done and hooks agree."""
        refused = 0
        while True:
            await self.compact_if_needed()
            step = await self.step()
            yield step
            reason = self._why_stop(step)
            if reason is None:
                continue
            feedback = await self._gate(reason, refused)
            if feedback is None:
                self._stop_reason = reason
                return
            refused += 1
            self.say(Message(USER, FEEDBACK.format(feedback)))

    def _why_stop(self, step: Step) -> str | None:
        if self.rejected:
            return TOOL_REJECTED
        if not step.reply.calls:
            return NO_TOOL_CALLS
        return MAX_STEPS if self.state.step_count >= self.agent.max_steps else None

    async def _gate(self, reason: str, refused: int) -> str | None:
        """Ask whether the agent may stop; return what it is told if it may not."""
        fields = {
            "reason": reason,
            "step_count": self.state.step_count,
            "final_message": self.last_text or None,
            "block_count": refused,
        }
        outcome, final = await self.fire(StopContext.before(**fields, **self.common))
        self.note(*final.additional_context)
        if self._goes_on(outcome, reason):
            return why(outcome, "; ")
        _, final = await self.fire(StopContext.after(**fields, **self.common))
        self.note(*final.additional_context)
        return None

    def _goes_on(self, outcome: Outcome, reason: str, limit: str = "") -> bool:
        """Whether a refused stop sends the agent back to work; the person hears of a refusal that does not."""
        if not outcome.is_blocked:
            return False
        if reason != NO_TOOL_CALLS:
            limit = f"a stop for '{reason}' cannot be refused"
        elif self.state.step_count >= self.agent.max_steps:
            limit = f"the stop could not be refused after {self.state.step_count} steps"
        if limit:
            told = f"{limit}; the gate said: {why(outcome, '; ')}"
            self.told.append(told)
            self.agent.tell("message", told)
        return not limit

    async def step(self) -> Step:
        """Play one step."""
        index, given = self.state.step_count, self.state
        _, begun = await self.fire(StepContext.before(index, **self.common))
        self._take_state(begun, given)
        reply = await self._reply()
        self.say(Message(ASSISTANT, reply.text, reply.calls))
        if reply.tokens is not None:
            self._counted = (reply.tokens, len(self.state.messages))
        step = Step(index, reply, await self._call_all(reply))
        self.state = dataclasses.replace(self.state, steps=(*self.state.steps, step))
        self.agent.tell("step", step)
        given = self.state
        _, ended = await self.fire(StepContext.after(index, step, **self.common))
        self._take_state(ended, given)
        return step

    async def _reply(self) -> Reply:
        return await self.agent.model.reply(self.state.messages, [tool.spec for tool in self.agent.all_tools])

    def _take_state(self, context: Context, given: AgentState) -> None:
        """Go on with the state that hooks gave for the one they were given, and with the values they left."""
        if context.state is not given and isinstance(context.state, AgentState):
            values = changes(given.metadata, self.state.metadata)
            self.state = dataclasses.replace(context.state, metadata={**context.state.metadata, **values})
            if self.state.messages is not given.messages:
                self._counted = (0, 0)  # the model has not counted these
        self.note(*context.additional_context)

    async def _call_all(self, reply: Reply) -> tuple[ToolResult, ...]:
        """Call the tools of one reply at the same time; results keep the order of the calls, notes come after them."""
        self._notes = []
        tasks = [asyncio.ensure_future(self.call(call)) for call in reply.calls]
        try:
            ended = await asyncio.gather(*tasks)
        except BaseException:
            self._answer(*(ToolResult(call, UNFINISHED, is_error=True) for call in reply.calls))
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise
        results = tuple(result for result, _ in ended)
        self._answer(*results)
        self.note(*(text for _, texts in ended for text in texts))
        return results

    def _answer(self, *results: ToolResult) -> None:
        """Put results into the conversation: no call may be without one, and then what was noted meanwhile."""
        self.say(*(Message(TOOL, one.text, (), one.call.id, one.call.name, one.is_error) for one in results))
        self.say(*(self._notes or ()))
        self._notes = None

    # Tools

    async def call(self, call: ToolCall) -> tuple[ToolResult, tuple[str, ...]]:
        """Call one tool through its hooks; what hooks object to is the tool's error, which the model reads."""
        tool = self.agent.tools.get(call.name)
        context = ToolContext.before(call.name, call.args, call_id=call.id, **self.common)
        permit = self._permit if tool is not None and tool.asks and self.agent.ask is not None else None
        outcome = await run_tool(ASYNC, self.stack, context, self._operation(tool, call.name), permit)
        final = self.absorb(outcome, context)
        if self._is_subagent(call.name) and not isinstance(final.error, None | ToolError | Blocked):
            raise final.error  # a hook in there failed, which is no more an error of a tool than it is out here
        return ToolResult(ToolCall(call.name, final.args, call.id), *_told(outcome, final)), final.additional_context

    def _operation(self, tool: Tool | None, name: str) -> Any:
        async def run(call: ToolCall) -> Any:
            if self._is_subagent(name):
                return await self._subagent(call)
            if tool is None:
                raise ToolError(f"there is no tool '{name}'")
            return await run_whole(tool, call.args, Workplace(self.agent.work_dir, self.agent))

        return run

    def _is_subagent(self, name: str) -> bool:
        return name == SUBAGENT and bool(self.agent.subagents)

    async def _permit(self, context: ToolContext) -> tuple[Outcome, ToolContext]:
        return await ask_permission(ASYNC, self.stack, context, Outcome.ask(f"{context.name} wants to run"))

    async def _ask(self, context: ToolContext, reason: str) -> bool:
        """Let the person decide, one thing after the other, and let hooks know that somebody is waited for."""
        assert self.agent.ask is not None  # noqa: S101
        async with self.asking:
            await self.notify(f"{context.name} needs your permission: {reason}", "permission")
            said = self.agent.ask(context, reason)
            said = bool(await said if inspect.isawaitable(said) else said)
        self.rejected = self.rejected or not said
        return said

    async def notify(self, message: str, title: str = "") -> None:
        """Report the person something, through the hooks."""
        _, final = await self.fire(NotificationContext.of(message, title, **self.common))
        self.note(*final.additional_context)

    # Subagents

    async def _subagent(self, call: ToolCall) -> str:
        """Run a child agent for a task; its own loop, the same hooks, an identity of its own."""
        name, task = str(call.args.get("name", "")), str(call.args.get("task", ""))
        agent = self.agent.subagents.get(name)
        if agent is None:
            raise ToolError(f"there is no subagent '{name}'; there are {', '.join(self.agent.subagents)}")
        child = Subloop(agent.within(self.agent), self, name, task)
        given = self.state.metadata
        try:
            return await child.work()
        finally:
            self.remember(changes(given, child.state.metadata))
            self.note(*child.left)

    # Compaction

    @property
    def token_count(self) -> int:
        """Count the tokens of the conversation: what the model said last, and a guess for what came since."""
        said, until = self._counted
        return said + estimate_tokens(self.state.messages[until:])

    async def compact_if_needed(self) -> None:
        """Make the conversation shorter when it is beyond the budget."""
        budget = self.agent.token_budget
        if budget is not None and self.token_count > budget:
            await self.compact("auto")

    async def compact(self, trigger: str) -> bool:
        """Make the conversation shorter; say whether hooks let it happen."""
        before = self.token_count
        outcome, final = await self.fire(CompactionContext.before(before, trigger=trigger, **self.common))
        if outcome.is_blocked:
            return False
        shorter = self.agent.compactor(self.state.messages, self.agent.token_budget or before // 2)
        messages = await shorter if inspect.isawaitable(shorter) else shorter
        self.state = dataclasses.replace(self.state, messages=tuple(messages))
        self._counted = (0, 0)
        self.note(*final.additional_context)
        _, final = await self.fire(CompactionContext.after(before, self.token_count, trigger=trigger, **self.common))
        self.note(*final.additional_context)
        return True


class Subloop(Loop):
    """A subagent at work for another loop. `left` is what hooks want the model of that one to know."""

    def __init__(self, agent: Agent, parent: Loop, name: str, task: str) -> None:
        """Take the agent and its task; what hooks tell the person goes where the parent's does."""
        state = AgentState(uuid.uuid4().hex[:12], parent.state.agent_id, name, metadata=parent.state.metadata)
        super().__init__(agent, parent.session_id, state)
        self.told, self.asking = parent.told, parent.asking
        self.left: tuple[str, ...] = ()
        self._name, self._task = name, task

    async def work(self) -> str:
        """Do the task and give the result; Blocked if hooks refuse the subagent."""
        context = SubagentContext.on_start(self._name, self._task, type=self._name, **self.common)
        outcome, begun = await self.fire(context)
        if outcome.is_blocked:
            raise Blocked(why(outcome))
        if self.agent.system:
            self.say(Message(SYSTEM, self.agent.system))
        self.begin(self._task, *begun.additional_context)
        async with aclosing(self.steps()) as steps:
            async for _ in steps:
                pass
        return self.last_text

    async def _reply(self) -> Reply:
        try:
            return await super()._reply()
        except Exception as error:
            raise ToolError(f"the subagent failed: {type(error).__name__}: {error}") from error

    async def _gate(self, reason: str, refused: int) -> str | None:
        """Ask whether the subagent may stop; a refusal has the limits that one of the main agent has."""
        fields = {"type": self._name, "result": self.last_text}
        outcome, final = await self.fire(SubagentContext.on_stop(self._name, self._task, **fields, **self.common))
        rounds = self.agent.max_rounds
        limit = f"the stop was refused {refused} times and is let through now" if refused >= rounds else ""
        if self._goes_on(outcome, reason, limit):
            self.note(*final.additional_context)
            return why(outcome, "; ")
        self.left = final.additional_context
        return None


def why(outcome: Outcome, between: str = "\n") -> str:
    """Return the reasons of a block; there is always one."""
    return between.join(filter(None, outcome.reasons)) or "blocked by a hook"


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that are new or different: those that stayed must not overwrite what somebody else did meanwhile."""
    if after is before:
        return {}
    return {key: value for key, value in after.items() if key not in before or before[key] is not value}


def _told(outcome: Outcome, context: ToolContext) -> tuple[str, bool]:
    """Return what the model reads about a call, and whether it is an error."""
    if context.kind.is_pre:
        return why(outcome), True
    reasons = outcome.reason if outcome.decision == Decision.BLOCK else ""
    if context.error is not None:
        text = str(context.error) or type(context.error).__name__
        return "\n".join(filter(None, [text, reasons])), True
    result = context.result if isinstance(context.result, str) else _as_text(context.result)
    return "\n".join(filter(None, [result, reasons])), False


def _as_text(result: Any) -> str:
    from boathook.core.json_text import dumps
    from boathook.inprocess.json_values import to_json_value

    return "" if result is None else dumps(to_json_value(result))
