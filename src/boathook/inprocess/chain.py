"""One run of an event through a chain, written once, as coroutines that a driver runs (`inprocess.drivers`)."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple

from boathook.core.dispatch import UNSETTLED
from boathook.core.event import PRE_TOOL
from boathook.core.json_text import is_same_json
from boathook.core.outcome import DEFAULT_ASK_REASON, NOTHING, Decision, Outcome, make_unchanged
from boathook.errors import HookError
from boathook.inprocess import layers
from boathook.inprocess.call_memory import AskLater, CallMemory
from boathook.inprocess.contexts import Context, ToolContext
from boathook.inprocess.file_hooks import FileHooks
from boathook.inprocess.hook_records import HookWatch, make_answer_verdict
from boathook.inprocess.json_values import to_json_value
from boathook.inprocess.layers import Layer
from boathook.inprocess.operations import close_coroutine
from boathook.inprocess.same_values import to_comparable
from boathook.inprocess.threads import make_late_error

if TYPE_CHECKING:
    from boathook.core.verdict import Run, Verdict
    from boathook.inprocess.drivers import Driver
    from boathook.inprocess.stack import Chain, ChainTerminal, Stack

    # The outcome of a middleware, the context it left, and whether that ends the run of the chain.
    _Conclusion = tuple[Outcome, Context, bool]

# How often file hooks look again at an input that was changed after them.
_MAX_RECHECKS = 2


class ChainRun:
    def __init__(
        self,
        stack: Stack,
        chain: Chain,
        terminal: ChainTerminal | None,
        driver: Driver,
        *,
        memory: CallMemory | None = None,
        can_ask: bool = False,
    ) -> None:
        # `can_ask`: a question is returned as a decision, because the caller asks the person.
        self._stack, self._chain, self._terminal, self._driver = stack, chain, terminal, driver
        self._memory, self._can_ask = memory, can_ask
        # The input as each step of file hooks saw it or left it.
        self._seen_inputs: dict[int, Any] = {}
        self._allowed_input: Any = None
        self._has_started_background = False
        # Whether the person's answer replaced what hooks said before.
        self._is_settled = False
        # The hooks that want a person to be asked, for the record of the answer.
        self._questions: list[Run] = [] if memory is None else memory.questions

    async def resume(self, answer: Any, context: Context, at: int) -> Outcome:
        layer = self._chain.steps[at - 1]
        assert isinstance(layer, Layer)  # noqa: S101
        outcome, changed = layers.read_hook_answer(layer, answer, context)
        self._note_allow(outcome, changed)
        return set_context(outcome, changed) if outcome.is_blocked else await self.run(changed, at, outcome)

    async def run(
        self, context: Context, at: int = 0, outcome: Outcome = NOTHING, earlier: Outcome = NOTHING
    ) -> Outcome:
        """Run the steps from one on; `earlier` is the outcome of those before a middleware that waits for this run."""
        steps = self._chain.steps
        while at < len(steps):
            step = steps[at]
            at += 1
            if isinstance(step, FileHooks):
                opinion, context = await self._run_file_hooks(step, at - 1, context)
            elif step.is_middleware:
                if self._terminal is None and self._memory is not None:
                    # Only the decision is wanted, and there is no operation to be around.
                    continue
                opinion, context, is_end = await self._run_middleware(step, context, at, earlier | outcome)
                if is_end:
                    return set_context(opinion if self._is_settled else outcome | opinion, context)
            else:
                opinion, context = await self._run_hook(step, at - 1, context)
            self._note_allow(opinion, context)
            outcome |= opinion
            if outcome.is_blocked:
                return set_context(outcome, await self._start_background(outcome, context))
        return await self._finish(context, outcome, earlier)

    async def _run_file_hooks(self, step: FileHooks, at: int, context: Context) -> tuple[Outcome, Context]:
        known = None if self._memory is None else self._memory.find_decision(at, context)
        if known is None:
            opinion, after = await step.run(context, self._driver, self._questions)
            self._remember(at, context, opinion, after)
            context = after
        else:
            opinion, context = known
        if isinstance(context, ToolContext) and context.kind.rewrites_input:
            self._seen_inputs[at] = to_json_value(context.args)
        return opinion, context

    def _remember(self, at: int, before: Context, opinion: Outcome, after: Context) -> None:
        if self._memory is not None:
            self._memory.note_decision(at, before, opinion, after)

    async def _run_hook(self, layer: Layer, at: int, context: Context) -> tuple[Outcome, Context]:
        known = None if self._memory is None else self._memory.find_decision(at, context)
        if known is not None:
            return known
        opinion, after = await self._call_hook(layer, context)
        self._remember(at, context, opinion, after)
        return opinion, after

    async def _call_hook(self, layer: Layer, context: Context) -> tuple[Outcome, Context]:
        watch = HookWatch(layer, context) if self._stack.is_recorded else None
        try:
            if layer.match is not None and not layer.match(context):
                return NOTHING, context
            if layer.is_async or layer.timeout is not None:
                answer = await self._driver.call_hook(layer, context)
            else:
                answer = layer.hook(context)
            opinion, after = layers.read_hook_answer(layer, answer, context)
        except (Exception, asyncio.CancelledError) as raised:  # noqa: BLE001
            error = layers.read_failure(layer.name, raised)
            await self._record_failure(watch, error)
            return layers.handle_failure(layer, error, context)
        if watch is not None and watch.has_effect(opinion, after):
            await self._record(watch, watch.make_verdict(opinion, after))
        return opinion, after

    async def _record_failure(self, watch: HookWatch | None, error: Exception) -> None:
        if watch is not None:
            await self._record(watch, watch.make_failure(error))

    async def _record(self, watch: HookWatch, verdict: Verdict) -> None:
        if verdict.decision == Decision.ASK:
            self._questions += verdict.runs
        await self._write_record(verdict, watch.seconds)

    async def _write_record(self, verdict: Verdict, seconds: float) -> None:
        engine = self._stack.engine
        error_message = "" if engine is None else await self._driver.record(engine, verdict, seconds)
        if error_message:
            layers.LOGGER.warning("%s", error_message)

    async def _run_middleware(self, layer: Layer, context: Context, at: int, earlier: Outcome) -> _Conclusion:
        rest = _Rest(layer, context)
        watch = HookWatch(layer, context) if self._stack.is_recorded else None

        async def run_rest(changed: Context | None = None) -> Outcome:
            next_context = rest.check_context(changed)
            if watch is not None:
                watch.pause()
                if watch.has_effect(NOTHING, next_context):
                    await self._record(watch, watch.make_verdict(NOTHING, next_context))
            try:
                rest.outcome, rest.error = await self.run(next_context, at, NOTHING, earlier), None
            except BaseException as error:
                rest.outcome, rest.error = None, error
                raise
            finally:
                if watch is not None:
                    watch.resume()
            return rest.outcome

        try:
            if layer.match is not None and not layer.match(context):
                return NOTHING, context, False
            conclusion = rest.conclude(await self._driver.call_middleware(layer, context, run_rest))
        except (Exception, asyncio.CancelledError) as raised:
            rest.close()
            if raised is rest.error:
                raise
            error = layers.read_failure(layer.name, raised)
            await self._record_failure(watch, error)
            return rest.conclude_failure(error)
        if watch is not None:
            watch.context = rest.final_context
            opinion = conclusion[0] if rest.is_own(conclusion[0]) else NOTHING
            if watch.has_effect(opinion, conclusion[1]):
                await self._record(watch, watch.make_verdict(opinion, conclusion[1]))
        return conclusion

    async def _finish(self, context: Context, outcome: Outcome, earlier: Outcome) -> Outcome:
        outcome, context = await self._recheck(outcome, context)
        is_question = (earlier | outcome).decision == Decision.ASK
        if is_question and context.kind is PRE_TOOL and not self._can_ask:
            assert isinstance(context, ToolContext)  # noqa: S101
            question = earlier | outcome
            answer = await _settle_question(self._driver, self._stack, context, question, self._memory)
            outcome, context = answer.outcome, answer.context
            if answer.is_final and self._stack.is_recorded and self._questions:
                await self._write_record(make_answer_verdict(context, outcome, question, self._questions), 0.0)
                self._questions.clear()
            self._note_allow(outcome, context)
            rechecked, context = await self._recheck(NOTHING, context)
            outcome, earlier = rechecked if rechecked.is_blocked else outcome, NOTHING
            self._is_settled = not outcome.is_blocked
        context = await self._start_background(outcome, context)
        if outcome.is_blocked or self._terminal is None:
            return set_context(outcome, context)
        context = self._mark_allowed(context, earlier | outcome)
        end = read_terminal_answer(await self._driver.resolve(self._terminal(context)))
        return set_context(outcome | end, context if end.context is None else end.context)

    async def _recheck(self, outcome: Outcome, context: Context) -> tuple[Outcome, Context]:
        for _ in range(_MAX_RECHECKS):
            for at in self._find_unseen(context):
                step = self._chain.steps[at]
                if not outcome.is_blocked and isinstance(step, FileHooks):
                    opinion, context = await self._run_file_hooks(step, at, context)
                    self._note_allow(opinion, context)
                    outcome |= opinion
        if not outcome.is_blocked and self._find_unseen(context):
            outcome |= Outcome.block(UNSETTLED)
        return outcome, context

    def _find_unseen(self, context: Context) -> list[int]:
        if not self._seen_inputs or not isinstance(context, ToolContext):
            return []
        now = to_json_value(context.args)
        return [at for at, args in self._seen_inputs.items() if not is_same_json(args, now)]

    def _note_allow(self, opinion: Outcome, context: Context) -> None:
        if opinion.decision == Decision.ALLOW and isinstance(context, ToolContext):
            self._allowed_input = to_comparable(context.args)

    def _mark_allowed(self, context: Context, outcome: Outcome) -> Context:
        if outcome.decision != Decision.ALLOW or not isinstance(context, ToolContext) or context.is_allowed:
            return context
        is_same = self._allowed_input is not None and is_same_json(self._allowed_input, to_comparable(context.args))
        return dataclasses.replace(context, is_allowed=True) if is_same else context

    async def _start_background(self, outcome: Outcome, context: Context) -> Context:
        """Start the async file hooks once, no matter how often middleware calls `next`."""
        background = self._chain.background
        if background is None or self._has_started_background or (outcome.is_blocked and context.kind.is_pre):
            return context
        self._has_started_background = True
        if self._memory is not None:
            if self._memory.has_started_background:
                return context
            self._memory.has_started_background = True
        return await background.start(context, self._driver)


class _Rest:
    def __init__(self, layer: Layer, context: Context) -> None:
        self._layer, self._context = layer, context
        self.outcome: Outcome | None = None
        self.error: BaseException | None = None
        self._is_over = False

    def check_context(self, changed: Any) -> Context:
        if self._is_over:
            raise make_late_error(self._layer)
        if changed is None:
            return self._context
        kind = self._context.kind
        if type(changed) is not type(self._context) or changed.kind is not kind:
            raise HookError(f"{self._layer.name} called `next` with a {type(changed).__name__} at {kind.name}")
        checked: Context = changed
        return checked

    @property
    def final_context(self) -> Context:
        return self._context if self.outcome is None or self.outcome.context is None else self.outcome.context

    @property
    def _opinion(self) -> Outcome:
        if self.outcome is None or self.outcome is NOTHING:
            return NOTHING
        return Outcome(self.outcome.decision, self.outcome.all_reasons)

    @property
    def _was_called(self) -> bool:
        return self.outcome is not None or self.error is not None

    def is_own(self, opinion: Outcome) -> bool:
        """Whether an opinion is that of the middleware, not that of the hooks and the operation after it."""
        return (opinion.decision, opinion.all_reasons) != (self._opinion.decision, self._opinion.all_reasons)

    def close(self) -> None:
        """Refuse `next` from now on: the middleware has ended, also if it was cancelled."""
        self._is_over = True

    def conclude(self, answer: Any) -> _Conclusion:
        self.close()
        final = self.final_context
        if self.outcome is not None and answer is self.outcome:
            return self.outcome, final, True
        if answer is None and not self._was_called:
            # Elsewhere this prevents the call, here it would let it pass: either may be meant.
            raise HookError(
                f"{self._layer.name} returned nothing and did not call `next`: call it to go on, or return a block"
            )
        opinion, changed = (NOTHING, final) if answer is None else layers.split_answer(self._layer, answer, final)
        if opinion is NOTHING and (changed is final or changed is self._context):
            if self.error is not None:
                raise self.error
            return self._opinion, final, self._was_called
        is_same_moment = changed.kind is self._context.kind
        if is_same_moment and final.kind is not changed.kind:
            raise layers.make_context_error(self._layer, changed, final)
        if opinion.all_reasons != self._opinion.all_reasons:
            opinion, changed = layers.limit_refusals(self._layer, opinion, changed)
        return opinion if opinion.decision else self._opinion, changed, self._was_called or not is_same_moment

    def conclude_failure(self, error: Exception) -> _Conclusion:
        if error is self.error:
            raise error
        opinion, changed = layers.handle_failure(self._layer, error, self.final_context)
        if self.error is not None and not opinion.is_blocked:
            raise self.error
        return self._opinion | opinion, changed, self._was_called


def read_terminal_answer(answer: Any) -> Outcome:
    if answer is None:
        return NOTHING
    if isinstance(answer, Outcome):
        return answer
    if isinstance(answer, Context):
        return Outcome(context=answer)
    close_coroutine(answer)
    raise HookError(f"a terminal must return an Outcome, a context or None, not {type(answer).__name__}")


def set_context(outcome: Outcome, context: Context) -> Outcome:
    if outcome is NOTHING:
        return make_unchanged(context)
    return outcome if outcome.context is context else outcome.replace(context=context)


async def ask_permission(
    driver: Driver, stack: Stack, context: ToolContext, outcome: Outcome, memory: CallMemory | None = None
) -> tuple[Outcome, ToolContext]:
    """Ask whether a call may go on: first the hooks for permissions, then the person if these leave it open.

    If a person has answered already, as the memory says, no one is asked again. If the host can ask, AskLater is raised.
    """
    answer = await _settle_question(driver, stack, context, outcome, memory)
    return answer.outcome, answer.context


class _Answer(NamedTuple):
    outcome: Outcome
    context: ToolContext
    # The hooks for permissions left it open: a person answered, or none could be asked.
    is_final: bool = False


async def _settle_question(
    driver: Driver, stack: Stack, context: ToolContext, outcome: Outcome, memory: CallMemory | None
) -> _Answer:
    if memory is not None and memory.asked is not None and (memory.can_ask or memory.permission is not None):
        if memory.permission is None:
            raise memory.asked
        question, context = memory.asked.question, _apply_permission_hooks(context, memory.asked.request)
        return _Answer(_apply_answer(memory.permission, question, memory.comment), context, is_final=True)
    common = {name: getattr(context, name) for name in ("session_id", "work_dir", "state", "metadata", "extra")}
    common["naming"] = context.naming
    request = ToolContext.permission(context.name, context.args, call_id=context.call_id, **common)
    answer = await driver.process(stack, request)
    context = _apply_permission_hooks(context, answer.context)
    if answer.is_blocked:
        return _Answer(Outcome(answer.decision, answer.all_reasons), context)
    if answer.decision == Decision.ALLOW:
        return _Answer(Outcome(Decision.ALLOW), context)
    question = outcome.reason or DEFAULT_ASK_REASON
    if memory is not None and memory.permission is not None:
        return _Answer(_apply_answer(memory.permission, question, memory.comment), context, is_final=True)
    if memory is not None and memory.can_ask:
        memory.asked = AskLater(context, answer.context, question)
        raise memory.asked
    if stack.ask is None:
        stack.report_no_person(context)
        return _Answer(Outcome.block(f"{question} (no person can be asked)"), context, is_final=True)
    permission = layers.read_person_answer(stack.ask, await driver.ask_person(stack.ask, context, question))
    return _Answer(_apply_answer(permission, question), context, is_final=True)


def _apply_answer(permission: bool, question: str, comment: str = "") -> Outcome:  # noqa: FBT001
    if permission:
        return Outcome(Decision.ALLOW)
    return Outcome.block(f"{question} (refused by a person{f': {comment}' if comment else ''})")


def _apply_permission_hooks(context: ToolContext, request: ToolContext) -> ToolContext:
    return dataclasses.replace(
        context,
        args=request.args,
        metadata=request.metadata,
        additional_context=(*context.additional_context, *request.additional_context),
        messages=(*context.messages, *request.messages),
    )
