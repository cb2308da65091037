"""The events of a run, written once, as coroutines that a driver runs (`inprocess.drivers`)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from boathook.core.event import SPELLINGS
from boathook.core.outcome import DEFAULT_ASK_REASON, Decision, Outcome
from boathook.errors import HookError, Stopped
from boathook.inprocess.call_memory import AskLater
from boathook.inprocess.contexts import (
    Context,
    ExecutionContext,
    FailureContext,
    SessionContext,
    StepContext,
    StopContext,
    SubagentContext,
)
from boathook.inprocess.operations import ToolCall, measure_ms, record_refusal, run_tool
from boathook.inprocess.run_outcome import RunOutcome, ToolOutcome, make_run_outcome, make_tool_outcome

if TYPE_CHECKING:
    from boathook.inprocess.drivers import Driver
    from boathook.inprocess.run_state import RunState

_ContextT = TypeVar("_ContextT", bound=Context)
_INTERRUPTIONS = (KeyboardInterrupt, asyncio.CancelledError, GeneratorExit)
INTERRUPTED = "interrupted"
_POST_STEP = SPELLINGS["post-step"]


class RunFlow:
    """The events of one run with one driver. A bridge that has sync and async callbacks writes them once with this."""

    def __init__(self, run: RunState[Any], driver: Driver) -> None:
        self.run, self._driver = run, driver

    async def fire(self, context: _ContextT) -> RunOutcome[_ContextT]:
        """Run any event through the hooks; the run fills in session, folder, state and metadata."""
        given = self.run.complete_context(context)
        outcome = await self._driver.process(self.run.stack, given)
        return self.run.accept(make_run_outcome(refuse_question(outcome)), given)

    async def begin(self) -> RunOutcome[SessionContext]:
        """Begin the session, if it has not begun."""
        run = self.run
        context = SessionContext.on_start(model=run.model, source=run.source)
        if not run.mark_session_begun():
            return RunOutcome(run.complete_context(context), *run.start_refusal)
        has_decided = False
        try:
            outcome = await self.fire(context)
            if not outcome.proceeds:
                run.refuse_session(outcome)
            has_decided = True
        finally:
            # Hooks that failed have not let the session begin: the next prompt asks them again.
            run.mark_session_decided(has_decided=has_decided)
        return outcome

    async def prompt(self, text: str) -> RunOutcome[ExecutionContext]:
        """Begin a turn with a prompt, and the session if it has not begun; a refused session refuses the turn."""
        run = self.run
        context = ExecutionContext.on_start(text)
        run.refuse_ended()
        if run.is_turn_open:
            await self.end_turn()
        if run.subagent is not None:
            return await self._begin_subagent(context)
        session_outcome = await self.begin()
        if not session_outcome.proceeds or run.is_stopped:
            refusal = (
                (session_outcome.decision, session_outcome.reasons) if not session_outcome.proceeds else run.refusal
            )
            return RunOutcome(run.complete_context(context), *refusal)
        outcome = await self.fire(context)
        if outcome.proceeds:
            run.mark_turn_begun(text)
        return outcome

    async def _begin_subagent(self, context: ExecutionContext) -> RunOutcome[ExecutionContext]:
        run = self.run
        assert run.subagent is not None  # noqa: S101
        given, refusal = run.complete_context(context), run.start_refusal
        if refusal[0] >= Decision.BLOCK:
            return RunOutcome(given, *refusal)
        name, task = run.subagent, run.task or context.prompt
        start_outcome = await self.fire(SubagentContext.on_start(name, task, type=name))
        if start_outcome.proceeds:
            run.mark_turn_begun(task)
        texts = {"additional_context": start_outcome.additional_context, "messages": start_outcome.messages}
        return RunOutcome(run.complete_context(context, **texts), start_outcome.decision, start_outcome.reasons)

    async def begin_step(self) -> RunOutcome[StepContext]:
        """Begin a step, which is a request to the model and the calls that it makes; the step before it ends.

        Only a stop prevents it. A block cannot: its reason is a message for the person.
        """
        run = self.run
        run.refuse_ended()
        await self.end_step()
        context = StepContext.before(run.step_count, **run.shared_fields)
        if run.is_stopped:
            return RunOutcome(context, *run.refusal)
        outcome = await self._fire_step(context) if run.stack.has_hooks(context.kind) else RunOutcome(context)
        if outcome.proceeds:
            run.step_count, run.is_step_open = run.step_count + 1, True
        return outcome

    async def end_step(self) -> None:
        """End the step, if one is open; `begin_step` and `stop` do it, too."""
        run = self.run
        if run.is_step_open:
            run.is_step_open = False
            if run.stack.has_hooks(_POST_STEP):
                await self._fire_step(StepContext.after(run.step_count - 1))

    async def _fire_step(self, context: StepContext) -> RunOutcome[StepContext]:
        outcome = await self.fire(context)
        if outcome.decision != Decision.BLOCK:
            return outcome
        text = describe_step_block(context, outcome.reason)
        self.run.add_messages([text])
        return RunOutcome(outcome.context.add_message(text))

    async def tool(
        self,
        call: ToolCall,
        operation: Callable[[ToolCall], Any],
        *,
        can_ask: bool | None = None,
        passes: tuple[type[BaseException], ...] = (),
    ) -> ToolOutcome:
        """Call a tool with its hooks around it. Errors in `passes` are the framework's own: they leave it at once."""
        run = self.run
        opened = run.open_call(call, can_ask=can_ask)
        if isinstance(opened, ToolOutcome):
            return await self._record_refusal(opened)
        try:
            outcome = await run_tool(
                self._driver,
                run.stack,
                opened.context,
                operation,
                memory=opened.memory,
                passes=passes,
                report=run.accept_stream,
                find_late_refusal=lambda: run.find_late_refusal(opened.turn),
            )
        except AskLater as later:
            return run.keep_question(opened, later)
        except Stopped as stop:
            outcome = Outcome.stop(stop.reason).replace(context=opened.context)
        except passes:
            # The framework makes the same call again.
            opened.memory.release(opened.context)
            run.close_call(opened)
            raise
        except BaseException:
            run.close_call(opened, is_over=True)
            raise
        run.close_call(opened, is_over=True)
        return run.accept(make_tool_outcome(outcome), opened.context)

    async def _record_refusal(self, refused: ToolOutcome) -> ToolOutcome:
        # What comes after a stop is not recorded.
        if not refused.is_stopped:
            await record_refusal(self._driver, self.run.stack, refused.context, refused.reason)
        return refused

    async def decide(self, call: ToolCall, *, can_ask: bool | None = None) -> ToolOutcome:
        """Ask the hooks about a call that is made later, if at all; when it is made, they do not run again."""
        return await self._decide(call, can_ask=can_ask, is_made=False)

    async def before(self, call: ToolCall, *, can_ask: bool | None = None) -> ToolOutcome:
        """Ask the hooks about a call that the host makes itself if it proceeds; `after` has to follow then."""
        self.run.refuse_middleware()
        return await self._decide(call, can_ask=can_ask, is_made=True)

    async def _decide(self, call: ToolCall, *, can_ask: bool | None, is_made: bool) -> ToolOutcome:
        run = self.run
        opened = run.open_call(call, can_ask=can_ask, is_made=is_made)
        if isinstance(opened, ToolOutcome):
            return await self._record_refusal(opened)
        try:
            outcome = await self._driver.process_call(run.stack, opened.context, None, opened.memory)
        except AskLater as later:
            return run.keep_question(opened, later)
        except BaseException:
            run.close_call(opened, is_over=True)
            raise
        refusal = None if outcome.is_blocked else run.find_late_refusal(opened.turn)
        outcome = outcome if refusal is None else refusal.replace(context=outcome.context)
        decided = make_tool_outcome(outcome, has_run=False)
        # Texts of a call that is made come with its result.
        if not is_made:
            run.close_call(opened)
            return decided
        if decided.proceeds:
            reason = run.start_call(opened, decided.context)
            if not reason:
                return decided
            run.close_call(opened)
            run.note_refused(opened.context, decided.context)
            return make_tool_outcome(Outcome.block(reason).replace(context=decided.context), has_run=False)
        run.close_call(opened, is_over=True)
        run.note_refused(opened.context, decided.context)
        return run.accept(decided, opened.context)

    async def after(self, call: ToolCall | str, result: Any) -> ToolOutcome:
        """Show the hooks the result of a call for which `before` proceeded; `call` may be its id."""
        return await self._end_call(call, result, None)

    async def after_failure(self, call: ToolCall | str, error: BaseException) -> ToolOutcome:
        """Show the hooks the error of a call for which `before` proceeded; `call` may be its id."""
        return await self._end_call(call, None, error)

    async def _end_call(self, call: ToolCall | str, result: Any, error: BaseException | None) -> ToolOutcome:
        run = self.run
        started = run.finish_call(call)
        context, duration = started.context, measure_ms(started.time)
        ended = context.after(result, duration) if error is None else context.after_failure(error, duration)
        if started.is_refused:
            return make_tool_outcome(Outcome(context=ended))
        outcome = await self._driver.process(run.stack, ended)
        return run.accept(make_tool_outcome(refuse_question(outcome)), started.given)

    async def stop(
        self, text: str | None = None, *, can_continue: bool = True, reason: str = ""
    ) -> RunOutcome[StopContext] | RunOutcome[SubagentContext]:
        """Ask the hooks whether the agent may stop with this text; a block sends it back to work with `feedback`.

        Without `can_continue` (a limit was reached) nothing can send it back, and `reason` says why it stops.
        """
        run = self.run
        run.refuse_ended()
        await self.end_step()
        if run.subagent is not None:
            return await self._stop_subagent(text, can_continue=can_continue)
        fields: dict[str, Any] = {
            "reason": "no_tool_calls" if can_continue else reason or "max_steps",
            "final_message": text,
        }
        fields |= {"block_count": run.refused_stops, "refused_by": run.refused_by, "step_count": run.step_count}
        context = StopContext.before(**fields)
        if run.is_stopped:
            return RunOutcome(run.complete_context(context), *run.refusal)
        outcome = await self.fire(context)
        outcome = run.note_stop(outcome, text, can_continue=can_continue)
        if outcome.proceeds:
            await self.fire(StopContext.after(**fields))
        return outcome

    async def _stop_subagent(self, text: str | None, *, can_continue: bool) -> RunOutcome[SubagentContext]:
        run = self.run
        name = run.subagent or ""
        counts: dict[str, Any] = {"block_count": run.refused_stops, "refused_by": run.refused_by}
        context = SubagentContext.on_stop(name, run.task, type=name, result=text, **counts)
        if run.is_stopped:
            return RunOutcome(run.complete_context(context), *run.refusal)
        outcome = await self.fire(context)
        outcome = run.note_stop(outcome, text, can_continue=can_continue)
        if not outcome.is_blocked:
            run.mark_turn_ended()
        return outcome

    async def failed(self, error: BaseException) -> None:
        """Tell the hooks that an error ended the turn, and end it; an interruption only ends it."""
        if not isinstance(error, BaseException):
            raise HookError(f"a turn fails with an exception, not {type(error).__name__}: write RuntimeError(…)")
        if self.run.is_turn_open and not isinstance(error, (*_INTERRUPTIONS, Stopped)):
            await self._fire_at_end(FailureContext.of(error), error)
        self.run.forget_started_calls()
        await self.end_turn()

    async def end_turn(self, text: str | None = None) -> None:
        """End the turn, if one is open; `text` is what the agent said last."""
        run = self.run
        if not run.is_turn_open:
            return
        prompt, fields = run.mark_turn_ended(text)
        if run.subagent is not None:
            context = SubagentContext.on_stop(run.subagent, run.task, type=run.subagent, result=fields["final_message"])
            await self._fire_at_end(context)
            return
        outcome = await self._fire_at_end(ExecutionContext.on_end(prompt, **fields))
        if outcome is not None and outcome.decision == Decision.BLOCK:
            # Too late for this turn: the next one gets the reason.
            run.add_context(outcome.reason)

    async def end(self, reason: str = "", error: BaseException | None = None) -> None:
        """End the turn and the session, if they are open; more calls do nothing. An error is a failure or an interruption."""
        if error is None:
            if reason == INTERRUPTED:
                self.run.forget_started_calls()
            await self._end(reason)
            return
        try:
            await self.failed(error)
        finally:
            await self._end(reason or describe_end(error))

    async def _end(self, reason: str) -> None:
        try:
            await self.end_turn()
        finally:
            await self._end_session(reason)

    async def _end_session(self, reason: str) -> None:
        run = self.run
        fields = run.mark_session_ended(reason)
        if fields is None:
            return
        try:
            await self._fire_at_end(SessionContext.on_end(model=run.model, source=run.source, **fields))
        finally:
            # Background hooks may still run.
            await self._driver.drain(run.stack.engine)

    async def _fire_at_end(
        self, context: _ContextT, error: BaseException | None = None
    ) -> RunOutcome[_ContextT] | None:
        """Fire an event after which nothing can be prevented; a failing hook does not hide the first error."""
        try:
            return await self.fire(context)
        except Exception as hook_error:
            if error is None:
                raise
            error.add_note(f"a hook failed at {context.kind.name}: {type(hook_error).__name__}: {hook_error}")
            return None


def describe_end(error: BaseException | None) -> str:
    """Return why a session ends with an error; "" if it did not fail."""
    if error is None or isinstance(error, Stopped):
        return ""
    return INTERRUPTED if isinstance(error, _INTERRUPTIONS) else "error"


def refuse_question(outcome: Outcome[Any]) -> Outcome[Any]:
    """Turn a question at an event that no person is asked about into a block, or into a message if it is too late for that."""
    if outcome.decision != Decision.ASK:
        return outcome
    context, reasons = outcome.context, "; ".join(filter(None, outcome.reasons)) or DEFAULT_ASK_REASON
    text = f"{reasons} (a person can only be asked about tool calls, not at {context.kind.name})"
    if context.kind.is_pre and not isinstance(context, StopContext):
        return outcome | Outcome.block(text)
    return Outcome(context=context.add_message(text))


def describe_step_block(context: StepContext, reason: str) -> str:
    """Return the message for the person about a block that cannot prevent a step."""
    return f"a hook cannot block at {context.kind.name}, only stop the run; the hook's reason: {reason}"
