"""The loops of an agent: turns of steps, and steps of one request and the tools it calls; all events but a session's."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import time
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, TypeVar

from boathook.agent import state as states
from boathook.agent.builtin_tools import Tool, ToolError, Workplace, run_to_end
from boathook.agent.call_arguments import find_argument_error
from boathook.agent.model import ASSISTANT, SYSTEM, TOOL, USER, BrokenCall, Message, Reply, estimate_tokens
from boathook.agent.state import (
    NO_TOOL_CALLS,
    AgentState,
    Step,
    ToolResult,
    TurnResult,
    TurnStatus,
    join_reasons,
    make_tool_result,
)
from boathook.core.outcome import DEFAULT_BLOCK_REASON, DEFAULT_STOP_REASON, Outcome
from boathook.core.verdict import STOP_FEEDBACK
from boathook.errors import Blocked, RequestTimeout, Stopped
from boathook.inprocess import contexts
from boathook.inprocess.call_memory import find_changed_values
from boathook.inprocess.chain import ask_permission
from boathook.inprocess.contexts import Context, ExecutionContext, StepContext, StopContext, ToolContext
from boathook.inprocess.drivers import ASYNC, finish_despite_cancel
from boathook.inprocess.layers import read_person_answer
from boathook.inprocess.operations import ToolCall, run_tool
from boathook.inprocess.run_flow import describe_step_block, refuse_question

if TYPE_CHECKING:
    from boathook.agent.reference_agent import Agent

_ContextT = TypeVar("_ContextT", bound=Context)
SUBAGENT_TOOL = "Subagent"
_CONTEXT_NOTE = "[Hook context: {}]"
_INTERRUPTED_CALL = "the call did not end"


class Loop:
    def __init__(self, agent: Agent, session_id: str, state: AgentState | None = None) -> None:
        self.agent = agent
        self.stack = agent.stack.with_ask(self._ask_person if agent.ask is not None else None)
        self.session_id = session_id
        self.state = state or AgentState(uuid.uuid4().hex[:12])
        # For the person; they go into the result of the turn.
        self.messages: list[str] = []
        self.ask_lock = asyncio.Lock()
        self.stop_text = ""
        self._has_rejected_call = False
        self._stop_reason = self._lifted_reason = ""
        self._refused_by: tuple[int | str, ...] = ()
        self._prompt: Message | None = None
        # Notes that wait for the results of calls, while there are any.
        self._delayed_notes: list[Message] | None = None
        # Tokens that the model reported, and for how many messages.
        self._reported_tokens = (0, 0)

    @property
    def common_fields(self) -> dict[str, Any]:
        """Return the fields that all contexts of this agent share; those of a subagent have its identity."""
        state, places = self.state, {"session_id": self.session_id, "work_dir": self.agent.work_dir}
        identity = {"agent_id": state.agent_id, "agent_type": state.agent_type}
        extra = {} if state.parent_agent_id is None else identity
        return {**places, "state": state, "metadata": state.metadata, "extra": extra}

    async def fire(self, context: _ContextT) -> tuple[Outcome, _ContextT]:
        """Run an event through the hooks and apply their outcome; raises Stopped if one ends the run."""
        outcome = refuse_question(await self.stack.aprocess(context))
        return outcome, self._apply_outcome(outcome, context)

    async def _fire_and_note(self, context: Context) -> Outcome:
        outcome, final = await self.fire(context)
        self.add_notes(*final.additional_context)
        return outcome

    def _apply_outcome(self, outcome: Outcome[_ContextT], context: _ContextT) -> _ContextT:
        """Keep values and messages of hooks; raises Stopped if one ends the run."""
        final = outcome.context
        self._store_values(find_changed_values(context.metadata, final.metadata))
        for text in final.messages:
            self._send_message(text)
        self.agent.notify_listener("event", (final.kind.name, outcome))
        if outcome.is_stopped:
            self.stop_text = outcome.reason or DEFAULT_STOP_REASON
            raise Stopped(self.stop_text)
        return final

    def _send_message(self, text: str) -> None:
        self.messages.append(text)
        self.agent.notify_listener("message", text)

    def _store_values(self, values: Mapping[str, Any]) -> None:
        if values:
            self.state = dataclasses.replace(self.state, metadata={**self.state.metadata, **values})

    def add_messages(self, *messages: Message) -> None:
        self.state = self.state.with_messages(*messages)

    def add_notes(self, *texts: str) -> None:
        """Add context of hooks to the conversation; nothing may come between calls and their results."""
        notes = [Message(USER, _CONTEXT_NOTE.format(text)) for text in texts]
        if self._delayed_notes is None:
            self.add_messages(*notes)
        else:
            self._delayed_notes += notes

    async def run_turn(self, prompt: str) -> AsyncGenerator[Step | TurnResult, None]:
        """Run one turn; yield each step, and at last the result."""
        started = time.monotonic()
        self.state = dataclasses.replace(self.state, steps=())
        self._has_rejected_call, self._prompt, self._stop_reason, self._lifted_reason = False, None, "", ""
        has_begun = False
        try:
            try:
                outcome, begun = await self.fire(ExecutionContext.on_start(prompt, **self.common_fields))
                if outcome.is_blocked:
                    yield self._make_result(states.BLOCKED, join_reasons(outcome))
                    return
                has_begun = True
                self._add_prompt(begun.prompt, *begun.additional_context)
                async with aclosing(self._run_steps()) as steps:
                    async for step in steps:
                        yield step
            except Stopped as stop:
                self.stop_text = stop.reason
            has_begun = False
            await self._end_turn(prompt, time.monotonic() - started)
        except BaseException as error:
            await finish_despite_cancel(self._end_broken_turn(error, prompt, started if has_begun else None))
            raise
        reason = self.stop_text or self._lifted_reason
        lifted: TurnStatus = states.GATE_LIFTED if self._lifted_reason else states.DONE
        yield self._make_result(states.STOPPED if self.stop_text else lifted, reason)

    def _add_prompt(self, prompt: str, *notes: str) -> None:
        self.add_notes(*notes)
        self._prompt = Message(USER, prompt)
        self.add_messages(self._prompt)

    def _make_result(self, status: TurnStatus, reason: str) -> TurnResult:
        messages, self.messages = tuple(self.messages), []
        return TurnResult(status, self.last_text, reason, self.state.steps, messages, self._stop_reason)

    @property
    def last_text(self) -> str:
        """Return the last text of the agent in this turn, or ""."""
        for message in reversed(self.state.messages if self._prompt is not None else ()):
            if message is self._prompt:
                break
            if message.role == ASSISTANT and message.text:
                return message.text
        return ""

    async def _end_broken_turn(self, error: BaseException, prompt: str, started: float | None) -> None:
        """Tell the hooks of an error, and of the end of the turn if it had begun; an interruption is not a failure."""
        if isinstance(error, Exception):
            await self._report_failure(error)
        if started is not None:
            try:
                await self._end_turn(prompt, time.monotonic() - started)
            except Exception as hook_error:  # noqa: BLE001  (the first error is raised)
                error.add_note(f"a hook failed at post-agent-turn: {type(hook_error).__name__}: {hook_error}")

    async def _report_failure(self, error: Exception) -> None:
        try:
            await self._fire_and_note(contexts.FailureContext.of(error, **self.common_fields))
        except Stopped:
            return
        except Exception as hook_error:  # noqa: BLE001  (the first error is raised)
            error.add_note(f"a hook failed at turn-failure: {type(hook_error).__name__}: {hook_error}")

    async def _end_turn(self, prompt: str, seconds: float) -> None:
        fields: dict[str, Any] = {"final_message": self.last_text or None, "step_count": self.state.step_count}
        fields |= {"duration_seconds": round(seconds), **self.common_fields}
        try:
            outcome = await self._fire_and_note(ExecutionContext.on_end(prompt, **fields))
        except Stopped:
            return
        # A block comes too late for this turn; the next one gets the reason.
        if outcome.is_blocked:
            self.add_notes(join_reasons(outcome))

    async def _run_steps(self) -> AsyncGenerator[Step, None]:
        refusals, self._refused_by = 0, ()
        while True:
            budget = self.agent.token_budget
            if budget is not None and self.token_count > budget:
                await self.compact("auto")
            step = await self._run_step()
            yield step
            reason = self._find_stop_reason(step)
            if reason is None:
                continue
            feedback = await self._ask_to_stop(reason, refusals)
            if feedback is None:
                self._stop_reason = reason
                return
            refusals += 1
            text = STOP_FEEDBACK.format(feedback)
            self.agent.notify_listener("feedback", (self.state.agent_type, text))
            self.add_messages(Message(USER, text))

    def _find_stop_reason(self, step: Step) -> str | None:
        if self._has_rejected_call:
            return states.TOOL_REJECTED
        if not step.reply.calls:
            return NO_TOOL_CALLS
        return states.MAX_STEPS_REACHED if self.state.step_count >= self.agent.max_steps else None

    async def _ask_to_stop(self, reason: str, refusals: int) -> str | None:
        """Ask hooks whether the agent may stop; return their feedback if it may not."""
        fields: dict[str, Any] = {"reason": reason, "block_count": refusals, "refused_by": self._refused_by}
        fields |= {"step_count": self.state.step_count, "final_message": self.last_text or None}
        outcome, final = await self.fire(StopContext.before(**fields, **self.common_fields))
        self.add_notes(*final.additional_context)
        if self._can_refuse(outcome, reason):
            self._refused_by = final.refused_by
            return join_reasons(outcome, "; ")
        lifted = (*final.lifted, *(outcome.reasons if outcome.is_blocked else ()))
        self._lifted_reason = "; ".join(filter(None, lifted)) or (DEFAULT_BLOCK_REASON if lifted else "")
        await self._fire_and_note(StopContext.after(**fields, **self.common_fields))
        return None

    def _can_refuse(self, outcome: Outcome, reason: str) -> bool:
        """Whether a refusal sends the agent back to work; if not, the person gets a message."""
        if not outcome.is_blocked:
            return False
        limit = ""
        if reason != NO_TOOL_CALLS:
            limit = f"a stop for '{reason}' cannot be refused"
        elif self.state.step_count >= self.agent.max_steps:
            limit = f"the stop could not be refused after {self.state.step_count} steps"
        if limit:
            self._send_message(f"{limit}; the hook's reason: {join_reasons(outcome, '; ')}")
        return not limit

    async def _run_step(self) -> Step:
        index, before = self.state.step_count, self.state
        begun = await self._fire_step(StepContext.before(index, **self.common_fields))
        self._apply_state(begun, before)
        reply = await self._request_reply()
        self.agent.notify_listener("reply", (self.state.agent_type, reply))
        self.add_messages(Message(ASSISTANT, reply.text, reply.calls))
        if reply.tokens is not None:
            self._reported_tokens = (reply.tokens, len(self.state.messages))
        step = Step(index, reply, await self._call_tools(reply))
        self.state = dataclasses.replace(self.state, steps=(*self.state.steps, step))
        self.agent.notify_listener("step", step)
        before = self.state
        ended = await self._fire_step(StepContext.after(index, step, **self.common_fields))
        self._apply_state(ended, before)
        return step

    async def _fire_step(self, context: StepContext) -> StepContext:
        """Run an event of a step through the hooks; a block cannot prevent it, so the person gets the reason."""
        outcome, final = await self.fire(context)
        if outcome.is_blocked:
            self._send_message(describe_step_block(context, outcome.reason))
        return final

    async def _request_reply(self) -> Reply:
        seconds = self.agent.request_timeout
        timeout = asyncio.timeout(seconds)
        try:
            async with timeout:
                return await self.agent.model.reply(self.state.messages, [tool.spec for tool in self.agent.all_tools])
        except TimeoutError as error:
            # The model may raise a TimeoutError of its own.
            if not timeout.expired():
                raise
            raise RequestTimeout(f"the model {self.agent.model.name} did not answer within {seconds:g} s") from error

    def _apply_state(self, context: Context, before: AgentState) -> None:
        """Go on with the state that hooks returned, if they did, and with the values they stored."""
        if context.state is not before and isinstance(context.state, AgentState):
            values = find_changed_values(before.metadata, self.state.metadata)
            self.state = dataclasses.replace(context.state, metadata={**context.state.metadata, **values})
            # The model has not counted these messages.
            if self.state.messages is not before.messages:
                self._reported_tokens = (0, 0)
        self.add_notes(*context.additional_context)

    async def _call_tools(self, reply: Reply) -> tuple[ToolResult, ...]:
        """Call the tools of one reply at the same time; the results have the order of the calls, notes come after them."""
        self._delayed_notes = []
        tasks = [asyncio.ensure_future(self._call_tool(call)) for call in reply.calls]
        try:
            results_and_notes = await asyncio.gather(*tasks)
        except BaseException:
            self._add_results(*(ToolResult(call, _INTERRUPTED_CALL, is_error=True) for call in reply.calls))
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise
        results = tuple(result for result, _ in results_and_notes)
        self._add_results(*results)
        self.add_notes(*(text for _, notes in results_and_notes for text in notes))
        return results

    def _add_results(self, *results: ToolResult) -> None:
        self.add_messages(*(Message(TOOL, r.text, (), r.call.id, r.call.name, r.is_error) for r in results))
        self.add_messages(*(self._delayed_notes or ()))
        self._delayed_notes = None

    async def _call_tool(self, call: ToolCall) -> tuple[ToolResult, tuple[str, ...]]:
        """Call one tool through its hooks; return its result, and notes for the model. A refused call is an error."""
        tool = self.agent.tools.get(call.name)
        problem = call.problem if isinstance(call, BrokenCall) else self._find_argument_error(call)
        if problem:
            # An error of the model, which hooks need not expect.
            return ToolResult(call, f"the call of {call.name} is wrong: {problem}", is_error=True), ()
        context = ToolContext.before(call.name, call.args, call_id=call.id, **self.common_fields)
        must_ask = tool is not None and tool.needs_permission and self.agent.ask is not None
        permit = self._request_permission if must_ask else None
        outcome = await run_tool(ASYNC, self.stack, context, self._make_operation(tool, call.name), permit)
        final = self._apply_outcome(outcome, context)
        if self._is_subagent(call.name) and not isinstance(final.error, None | ToolError | Blocked):
            # A hook in there failed, which is not an error of a tool.
            raise final.error
        return make_tool_result(outcome, final), final.additional_context

    def _find_argument_error(self, call: ToolCall) -> str:
        tool = next((tool for tool in self.agent.all_tools if tool.name == call.name), None)
        return "" if tool is None else find_argument_error(tool.parameters, call.args)

    def _make_operation(self, tool: Tool | None, name: str) -> Any:
        async def run(call: ToolCall) -> Any:
            if self._is_subagent(name):
                return await self._run_subagent(call)
            if tool is None:
                raise ToolError(f"there is no tool '{name}'")
            engine = self.stack.engine
            variables = engine.load_session_variables(self.session_id) if engine is not None else {}
            return await run_to_end(tool, call.args, Workplace(self.agent.work_dir, self.agent, variables))

        return run

    def _is_subagent(self, name: str) -> bool:
        return name == SUBAGENT_TOOL and bool(self.agent.subagents)

    async def _request_permission(self, context: ToolContext) -> tuple[Outcome, ToolContext]:
        return await ask_permission(ASYNC, self.stack, context, Outcome.ask(f"{context.name} wants to run"))

    async def _ask_person(self, context: ToolContext, reason: str) -> bool:
        """Ask the person, one question at a time, after a notification to the hooks."""
        assert self.agent.ask is not None  # noqa: S101
        async with self.ask_lock:
            await self.notify(f"{context.name} needs your permission: {reason}", "permission")
            answer = self.agent.ask(context, reason)
            is_allowed = read_person_answer(self.agent.ask, await answer if inspect.isawaitable(answer) else answer)
        self._has_rejected_call = self._has_rejected_call or not is_allowed
        return is_allowed

    async def notify(self, message: str, title: str = "") -> None:
        await self._fire_and_note(contexts.NotificationContext.of(message, title, **self.common_fields))

    async def _run_subagent(self, call: ToolCall) -> str:
        """Run a subagent for a task: in its own loop and with its own identity, under the same hooks."""
        name, task = str(call.args.get("name", "")), str(call.args.get("task", ""))
        agent = self.agent.subagents.get(name)
        if agent is None:
            raise ToolError(f"there is no subagent '{name}'; there are {', '.join(self.agent.subagents)}")
        child = SubagentLoop(agent.attach_to(self.agent), self, name, task)
        before = self.state.metadata
        try:
            return await child.run_task()
        finally:
            self._store_values(find_changed_values(before, child.state.metadata))
            self.add_notes(*child.notes_for_parent)

    @property
    def token_count(self) -> int:
        """Return the tokens that the model reported, and an estimate for the messages since then."""
        reported, message_count = self._reported_tokens
        return reported + estimate_tokens(self.state.messages[message_count:])

    async def compact(self, trigger: str) -> bool:
        before = self.token_count
        context = contexts.CompactionContext.before(before, trigger=trigger, **self.common_fields)
        outcome, final = await self.fire(context)
        if outcome.is_blocked:
            return False
        compacted = self.agent.compactor(self.state.messages, self.agent.token_budget or before // 2)
        messages = await compacted if inspect.isawaitable(compacted) else compacted
        self.state = dataclasses.replace(self.state, messages=tuple(messages))
        self._reported_tokens = (0, 0)
        self.add_notes(*final.additional_context)
        after = contexts.CompactionContext.after(before, self.token_count, trigger=trigger, **self.common_fields)
        await self._fire_and_note(after)
        return True


class SubagentLoop(Loop):
    """A subagent at work for another loop; hooks may leave notes for the model of that one."""

    def __init__(self, agent: Agent, parent: Loop, name: str, task: str) -> None:
        state = AgentState(uuid.uuid4().hex[:12], parent.state.agent_id, name, metadata=parent.state.metadata)
        super().__init__(agent, parent.session_id, state)
        self.messages, self.ask_lock = parent.messages, parent.ask_lock
        self.notes_for_parent: tuple[str, ...] = ()
        self._name, self._task = name, task

    async def run_task(self) -> str:
        context = contexts.SubagentContext.on_start(self._name, self._task, type=self._name, **self.common_fields)
        outcome, begun = await self.fire(context)
        if outcome.is_blocked:
            raise Blocked(join_reasons(outcome))
        if self.agent.system:
            self.add_messages(Message(SYSTEM, self.agent.system))
        self._add_prompt(self._task, *begun.additional_context)
        try:
            async with aclosing(self._run_steps()) as steps:
                async for _ in steps:
                    pass
        except BaseException as error:
            if not isinstance(error, Stopped):
                await finish_despite_cancel(self._end_broken_task(error))
            raise
        return self.last_text

    async def _end_broken_task(self, error: BaseException) -> None:
        """Tell the hooks of the end of a subagent that failed or was interrupted; nothing can send it back to work."""
        fields: dict[str, Any] = {"type": self._name, "result": self.last_text}
        try:
            await self.fire(contexts.SubagentContext.on_stop(self._name, self._task, **fields, **self.common_fields))
        except Exception as hook_error:  # noqa: BLE001  (the first error is raised)
            error.add_note(f"a hook failed at post-subagent: {type(hook_error).__name__}: {hook_error}")

    async def _request_reply(self) -> Reply:
        try:
            return await super()._request_reply()
        except Exception as error:
            raise ToolError(f"the subagent failed: {type(error).__name__}: {error}") from error

    async def _ask_to_stop(self, reason: str, refusals: int) -> str | None:
        """Ask hooks whether the subagent may stop; a refusal has the same limits as for the main agent."""
        fields: dict[str, Any] = {"type": self._name, "result": self.last_text}
        fields |= {"block_count": refusals, "refused_by": self._refused_by}
        context = contexts.SubagentContext.on_stop(self._name, self._task, **fields, **self.common_fields)
        outcome, final = await self.fire(context)
        if self._can_refuse(outcome, reason):
            self._refused_by = final.refused_by
            self.add_notes(*final.additional_context)
            return join_reasons(outcome, "; ")
        self.notes_for_parent = final.additional_context
        return None
