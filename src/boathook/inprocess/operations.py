"""A tool call with its hooks: before it, after it, after a failure. Streams pass through part by part."""

from __future__ import annotations

import inspect
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterator, Mapping
from contextlib import aclosing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from boathook.core.outcome import DEFAULT_BLOCK_REASON, DEFAULT_STOP_REASON, Outcome
from boathook.core.verdict import Verdict
from boathook.errors import Blocked, HookError, Stopped
from boathook.inprocess.call_memory import ANSWER_IS_TAKEN, CallMemory
from boathook.inprocess.contexts import ToolContext
from boathook.inprocess.layers import LOGGER
from boathook.inprocess.read_only import thaw_arguments

if TYPE_CHECKING:
    from boathook.inprocess.drivers import Driver
    from boathook.inprocess.stack import Stack

# Takes what hooks decided when a stream ended, and the context that they were given when it began.
Report = Callable[[Outcome[ToolContext], ToolContext], object]
Permit = Callable[[ToolContext], Awaitable[tuple[Outcome, ToolContext]]]


class DecidedCall:
    """A call as hooks left it, and these hooks: while its operation runs, a guarded function in there does not ask them again.

    That counts once, because hooks decided about one call.
    """

    __slots__ = ("_uses", "context", "is_over", "stack")

    def __init__(self, stack: Stack, context: ToolContext) -> None:
        self.stack, self.context, self.is_over = stack, context, False
        self._uses = [self]

    def use_up(self) -> bool:
        """Use up the decision; False if a call before did."""
        try:
            # In one step, because threads may call at once.
            self._uses.pop()
        except IndexError:
            return False
        return True


DECIDED_CALL: ContextVar[DecidedCall | None] = ContextVar("decided call", default=None)


@contextmanager
def hand_on_decision(decided: DecidedCall) -> Iterator[None]:
    """Let a guarded function in this block use a decision that was used up: it is the same call."""
    outer, inner = DECIDED_CALL.get(), DecidedCall(decided.stack, decided.context)
    DECIDED_CALL.set(inner)
    try:
        yield
    finally:
        # A task that was started in the block, and that goes on, has a copy of the variable.
        inner.is_over = True
        # Not `reset`: what is closed late may be closed in another context.
        DECIDED_CALL.set(outer)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool to call, and its arguments."""

    name: str
    args: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""


async def run_tool(
    driver: Driver,
    stack: Stack,
    context: ToolContext,
    operation: Callable[[ToolCall], Any],
    permit: Permit | None = None,
    *,
    memory: CallMemory | None = None,
    passes: tuple[type[BaseException], ...] = (),
    report: Report | None = None,
    find_late_refusal: Callable[[], Outcome | None] | None = None,
) -> Outcome[ToolContext]:
    # In an event loop the operation may be async. `permit` decides about calls that no hook allowed. Errors in `passes` are not
    # failures of the tool. `report` gets the outcome of a stream, which ends after this. `find_late_refusal` is asked last: a run
    # may end while hooks decide.

    raised_at_once: tuple[type[BaseException], ...] = (Stopped, *passes)

    async def call_tool(final: ToolContext) -> Outcome:
        if permit is not None and not final.is_allowed:
            outcome, final = await _request_permission(stack, permit, final)
            if outcome.is_blocked:
                return outcome.replace(context=final)
        refusal = None if find_late_refusal is None else find_late_refusal()
        if refusal is not None:
            return refusal.replace(context=final)
        if memory is not None and not memory.claim(context):
            return Outcome.block(ANSWER_IS_TAKEN).replace(context=final)
        started = time.perf_counter()
        result, failure = await _call_operation(driver, stack, final, operation, raised_at_once)
        if failure is not None:
            _refuse_tool_itself(operation, final.args, failure)
            return await process_after(final.after_failure(failure, measure_ms(started)))
        if not driver.in_loop:
            refuse_awaitable(result, final.name)
        if inspect.isgenerator(result):
            return Outcome(context=final.after(_stream(_StreamEnd(stack, final, started, report), result)))
        if driver.in_loop and inspect.isasyncgen(result):
            return Outcome(context=final.after(_astream(_StreamEnd(stack, final, started, report), result)))
        return await process_after(final.after(result, measure_ms(started)))

    async def process_after(after: ToolContext) -> Outcome:
        return await driver.process(stack, after)

    if memory is not None:
        return await driver.process_call(stack, context, call_tool, memory)
    if context.naming_conflict:
        await record_refusal(driver, stack, context, context.naming_conflict)
        return Outcome.block(context.naming_conflict).replace(context=context)
    return await driver.process(stack, context, call_tool)


async def record_refusal(driver: Driver, stack: Stack, context: ToolContext, reason: str) -> None:
    """Record a call that is blocked before any hook is asked about it; nothing else would show why."""
    if stack.engine is None or not stack.is_recorded:
        return
    event = context.to_event()
    error_message = await driver.record(stack.engine, Verdict(event, event, Outcome.block(reason)), 0.0)
    if error_message:
        LOGGER.warning("%s", error_message)


async def _call_operation(
    driver: Driver,
    stack: Stack,
    final: ToolContext,
    operation: Callable[[ToolCall], Any],
    raised_at_once: tuple[type[BaseException], ...],
) -> tuple[Any, Exception | None]:
    try:
        with hand_on_decision(DecidedCall(stack, final)):
            result = operation(ToolCall(final.name, thaw_arguments(final.args), final.call_id))
            return await driver.resolve(result) if driver.in_loop else result, None
    except raised_at_once:
        # The end of the run is not a failure of the tool.
        raise
    except Exception as error:  # noqa: BLE001  (the error is the result)
        return None, error


def _refuse_tool_itself(operation: Callable[..., Any], args: Mapping[str, Any], error: Exception) -> None:
    """Raise HookError if an operation failed because it is the tool, and got the call in place of its arguments."""
    if not isinstance(error, TypeError | AttributeError):
        return
    try:
        signature = inspect.signature(operation)
    except (TypeError, ValueError):
        return
    try:
        names = [*signature.bind(None).arguments]
    except TypeError:
        is_tool = isinstance(error, TypeError)
    else:
        first = signature.parameters[names[0]]
        is_tool = first.name in args and first.name != "call" and "ToolCall" not in str(first.annotation)
    if is_tool:
        name = getattr(operation, "__name__", type(operation).__name__)
        raise HookError(f"the operation gets the ToolCall: write lambda call: {name}(**call.args)") from error


async def _request_permission(stack: Stack, permit: Permit, context: ToolContext) -> tuple[Outcome, ToolContext]:
    outcome, changed = await permit(context)
    if outcome.is_blocked or changed.args is context.args:
        return outcome, changed
    rechecked = await stack.arun_file_hooks(changed)
    return rechecked if rechecked.is_blocked else outcome, rechecked.context


def refuse_awaitable(result: Any, name: str) -> None:
    """Raise HookError if an operation in a plain program is async: it has not run, and nothing waits for it."""
    if not hasattr(result, "__await__") and not inspect.isasyncgen(result):
        return
    close_coroutine(result)
    raise HookError(
        f"the tool '{name}' is async, so it has not run: a plain call cannot wait for it. Use `await run.atool(…)` or "
        "`await stack.arun_tool(…)`; give `guard` a function that is declared with `async def`"
    )


def close_coroutine(value: Any) -> None:
    """End a coroutine that nothing will await, so that Python does not warn about it."""
    if inspect.iscoroutine(value):
        value.close()


def log_messages(outcome: Outcome[ToolContext]) -> None:
    """Log messages for the person and context for the model: a plain function has no other way to pass them on."""
    for text in outcome.context.messages:
        LOGGER.info("%s", text)
    for text in outcome.context.additional_context:
        LOGGER.info("context for the model: %s", text)


def raise_refusal(outcome: Outcome, result: Any = None) -> None:
    """Raise Stopped or Blocked if hooks ended the run, or blocked something; `result` is what they object to."""
    if outcome.is_stopped:
        raise Stopped(outcome.reason or DEFAULT_STOP_REASON)
    if outcome.is_blocked:
        raise Blocked(outcome.reason or DEFAULT_BLOCK_REASON, result)


def read_result(outcome: Outcome[ToolContext]) -> Any:
    context = outcome.context
    if context.error is not None:
        raise _add_objection(outcome, context.error)
    raise_refusal(outcome, context.result)
    if context.kind.is_pre:
        raise HookError("middleware did not block the call but did not go on either: it has to call `next`")
    return context.result


def _add_objection(outcome: Outcome, error: BaseException) -> BaseException:
    if outcome.is_stopped:
        end = Stopped(outcome.reason or DEFAULT_STOP_REASON)
        end.__cause__ = error
        return end
    if outcome.reason:
        error.add_note(outcome.reason)
    return error


def measure_ms(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)


class _RecordedStream(Generator[Any, Any, Any]):
    def __init__(self, stream: Generator[Any, Any, Any]) -> None:
        self._stream = stream
        self.parts: list[Any] = []

    def send(self, value: Any, /) -> Any:
        self.parts.append(part := self._stream.send(value))
        return part

    def throw(self, *error: Any) -> Any:
        self.parts.append(part := self._stream.throw(*error))
        return part

    def close(self) -> None:
        self._stream.close()


@dataclass(frozen=True, slots=True)
class _StreamEnd:
    """The events after a stream."""

    stack: Stack
    context: ToolContext
    started: float
    report: Report | None

    def make_after(self, parts: list[Any]) -> ToolContext:
        return self.context.after(tuple(parts), measure_ms(self.started))

    def make_failure(self, error: BaseException) -> ToolContext:
        return self.context.after_failure(error, measure_ms(self.started))

    def process(self, after: ToolContext) -> Outcome[ToolContext]:
        return self.note(self.stack.process(after))

    async def aprocess(self, after: ToolContext) -> Outcome[ToolContext]:
        return self.note(await self.stack.aprocess(after))

    def note(self, outcome: Outcome[ToolContext]) -> Outcome[ToolContext]:
        if self.report is not None:
            self.report(outcome, self.context)
        return outcome

    def note_stop(self, stop: Stopped) -> None:
        self.note(Outcome.stop(stop.reason).replace(context=self.context))


def _stream(end: _StreamEnd, stream: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    recorded = _RecordedStream(stream)
    try:
        value = yield from recorded
    except GeneratorExit:
        end.process(end.make_after(recorded.parts))
        raise
    except Stopped as stop:
        end.note_stop(stop)
        raise
    except Exception as error:  # noqa: BLE001
        raise _add_objection(end.process(end.make_failure(error)), error)  # noqa: B904
    _check_stream_end(end.process(end.make_after(recorded.parts)), recorded.parts)
    return value


async def _astream(end: _StreamEnd, stream: AsyncGenerator[Any, Any]) -> AsyncGenerator[Any, Any]:
    parts: list[Any] = []
    try:
        async with aclosing(stream):
            async for part in stream:
                parts.append(part)
                yield part
    except GeneratorExit:
        await end.aprocess(end.make_after(parts))
        raise
    except Stopped as stop:
        end.note_stop(stop)
        raise
    except Exception as error:  # noqa: BLE001
        raise _add_objection(await end.aprocess(end.make_failure(error)), error)  # noqa: B904
    _check_stream_end(await end.aprocess(end.make_after(parts)), parts)


def _check_stream_end(outcome: Outcome[ToolContext], parts: list[Any]) -> None:
    raise_refusal(outcome, tuple(parts))
    if outcome.context.result != tuple(parts):
        raise HookError("a hook replaced the result of a stream, but its parts were passed on already")
