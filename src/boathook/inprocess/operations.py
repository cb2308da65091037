"""A tool call with its hooks around it: before, after, after a failure; streams are handed on as they come."""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from boathook.core.outcome import Outcome
from boathook.errors import Blocked, HookError, Stopped
from boathook.inprocess.contexts import ToolContext

if TYPE_CHECKING:
    from boathook.inprocess.stack import Stack

LOG = logging.getLogger("boathook")
Permit = Callable[[ToolContext], Awaitable[tuple[Outcome, ToolContext]]]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that is to be called, and with what."""

    name: str
    args: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""


def run_tool(stack: Stack, context: ToolContext, operation: Callable[[ToolCall], Any]) -> Outcome:
    """Call a tool through the hooks of a stack; the outcome's context has the result, or the error."""

    def terminal(final: ToolContext) -> Outcome:
        started = time.perf_counter()
        try:
            result = operation(ToolCall(final.name, final.args, final.call_id))
        except Stopped:
            raise  # the end of the run is no failure of the tool
        except Exception as error:  # noqa: BLE001  (it is the result)
            return _with_context(stack.process(after := final.failed(error, _since(started))), after)
        if inspect.isgenerator(result):
            return Outcome(context=final.after(_stream(stack, final, result, started)))
        after = final.after(result, _since(started))
        return _with_context(stack.process(after), after)

    return stack.process(context, terminal)


async def arun_tool(
    stack: Stack, context: ToolContext, operation: Callable[[ToolCall], Any], permit: Permit | None = None
) -> Outcome:
    """Do the same in an event loop; the operation may be async or not. `permit` is asked about calls that no hook allowed."""

    async def terminal(final: ToolContext) -> Outcome:
        if permit is not None and not final.allowed:
            said, final = await _permitted(stack, permit, final)
            if said.halts:
                return said.replace(context=final)
        started = time.perf_counter()
        try:
            result = operation(ToolCall(final.name, final.args, final.call_id))
            result = await result if inspect.isawaitable(result) else result
        except Stopped:
            raise
        except Exception as error:  # noqa: BLE001
            return _with_context(await stack.aprocess(after := final.failed(error, _since(started))), after)
        if inspect.isasyncgen(result):
            return Outcome(context=final.after(_astream(stack, final, result, started)))
        if inspect.isgenerator(result):
            return Outcome(context=final.after(_stream(stack, final, result, started)))
        after = final.after(result, _since(started))
        return _with_context(await stack.aprocess(after), after)

    return await stack.aprocess(context, terminal)


async def _permitted(stack: Stack, permit: Permit, context: ToolContext) -> tuple[Outcome, ToolContext]:
    """Ask for permission; a call that was changed on the way is looked at again by the hooks of files."""
    said, found = await permit(context)
    if said.halts or found.args is context.args:
        return said, found
    looked = await stack.alook_again(found)
    return looked if looked.halts else said, looked.context


def told(outcome: Outcome) -> Outcome:
    """Log what hooks want a person or a model to know: around a plain function there is nobody else to tell."""
    if outcome.context is not None:
        for text in outcome.context.messages:
            LOG.info("%s", text)
        for text in outcome.context.added:
            LOG.info("context for the model: %s", text)
    return outcome


def result_of(outcome: Outcome) -> Any:
    """Return the result of a tool call, or raise what kept it from having one."""
    context = outcome.context
    if context is not None and context.error is not None:
        raise _objected(outcome, context.error)
    if outcome.is_stopped:
        raise Stopped(outcome.reason or "stopped by a hook")
    if context is None or context.kind.is_pre:
        if not outcome.halts:
            raise HookError("a hook let the call go on, but went on with it nowhere: middleware has to call `next`")
        raise Blocked(outcome.reason or "blocked by a hook")
    if outcome.is_blocked:
        raise Blocked(outcome.reason or "blocked by a hook", context.result)
    return context.result


def _objected(outcome: Outcome, error: BaseException) -> BaseException:
    """Return what is raised for a tool's error: that very one, with what hooks say of it, or the end of the run."""
    if outcome.is_stopped:
        end = Stopped(outcome.reason or "stopped by a hook")
        end.__cause__ = error
        return end
    if outcome.reason:
        error.add_note(outcome.reason)
    return error


def _with_context(outcome: Outcome, context: ToolContext) -> Outcome:
    return outcome if outcome.context is not None else outcome.replace(context=context)


def _since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)


class _Kept(Generator[Any, Any, Any]):
    """A generator as it is, except that what it yields is kept."""

    def __init__(self, stream: Generator[Any, Any, Any]) -> None:
        self.stream = stream
        self.parts: list[Any] = []

    def send(self, value: Any, /) -> Any:
        self.parts.append(part := self.stream.send(value))
        return part

    def throw(self, *error: Any) -> Any:
        self.parts.append(part := self.stream.throw(*error))
        return part

    def close(self) -> None:
        self.stream.close()


def _stream(
    stack: Stack, context: ToolContext, stream: Generator[Any, Any, Any], started: float
) -> Generator[Any, Any, Any]:
    """Hand on what a tool yields; hooks hear of the whole when it is through, and cannot take it back."""
    kept = _Kept(stream)
    try:
        value = yield from kept
    except GeneratorExit:
        stack.process(context.after(tuple(kept.parts), _since(started)))
        raise
    except Stopped:
        raise
    except Exception as error:  # noqa: BLE001
        raise _objected(stack.process(context.failed(error, _since(started))), error)  # noqa: B904
    _settle(stack.process(context.after(tuple(kept.parts), _since(started))), kept.parts)
    return value


async def _astream(
    stack: Stack, context: ToolContext, stream: AsyncGenerator[Any, Any], started: float
) -> AsyncGenerator[Any, Any]:
    parts: list[Any] = []
    try:
        async with aclosing(stream):
            async for part in stream:
                parts.append(part)
                yield part
    except GeneratorExit:
        await stack.aprocess(context.after(tuple(parts), _since(started)))
        raise
    except Stopped:
        raise
    except Exception as error:  # noqa: BLE001
        raise _objected(await stack.aprocess(context.failed(error, _since(started))), error)  # noqa: B904
    _settle(await stack.aprocess(context.after(tuple(parts), _since(started))), parts)


def _settle(outcome: Outcome, parts: list[Any]) -> None:
    """Raise what hooks say of a stream that is through."""
    if outcome.is_stopped:
        raise Stopped(outcome.reason or "stopped by a hook")
    if outcome.is_blocked:
        raise Blocked(outcome.reason or "blocked by a hook", tuple(parts))
    changed = outcome.context is not None and outcome.context.result != tuple(parts)
    if changed:
        raise HookError("a hook replaced the result of a stream, but that was handed on already")
