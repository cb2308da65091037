"""Plain functions as tools with hooks around them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from boathook.core.outcome import Decision
from boathook.errors import HookError, Stopped
from boathook.inprocess.contexts import ToolContext
from boathook.inprocess.drivers import ASYNC, SYNC, Driver, run_sync
from boathook.inprocess.layers import is_async_callable
from boathook.inprocess.operations import ToolCall, log_messages, read_result, run_tool
from boathook.inprocess.run_outcome import make_tool_outcome

if TYPE_CHECKING:
    from boathook.inprocess.run_state import RunState
    from boathook.inprocess.stack import Stack


OnBlock = Literal["raise", "return"]


class HasHooks(Protocol):
    @property
    def stack(self) -> Stack: ...

    def find_active_run(self) -> RunState[Any] | None: ...


def wrap_tool(
    hooks: HasHooks, tool: Callable[..., Any], name: str = "", on_block: OnBlock = "raise"
) -> Callable[..., Any]:
    if on_block not in get_args(OnBlock):
        raise HookError(f"on_block must be {' or '.join(get_args(OnBlock))}, not {on_block!r}")
    signature = inspect.signature(tool)
    tool_name = name or getattr(tool, "__name__", type(tool).__name__)

    def call_tool(call: ToolCall) -> Any:
        bound = unbind_arguments(signature, call.args)
        return tool(*bound.args, **bound.kwargs)

    def run(driver: Driver, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Coroutine[Any, Any, Any]:
        call = ToolCall(tool_name, bind_arguments(signature, args, kwargs))
        return _run_guarded(driver, hooks, call, call_tool, on_block)

    if is_async_callable(tool):

        @functools.wraps(tool)
        async def call_async(*args: Any, **kwargs: Any) -> Any:
            return await run(ASYNC, args, kwargs)

        return call_async
    if inspect.isasyncgenfunction(tool):

        @functools.wraps(tool)
        async def stream_async(*args: Any, **kwargs: Any) -> Any:
            stream = await run(ASYNC, args, kwargs)
            if isinstance(stream, str):
                yield stream
                return
            async with aclosing(stream):
                async for part in stream:
                    yield part

        return stream_async
    is_stream = inspect.isgeneratorfunction(tool)

    @functools.wraps(tool)
    def call_sync(*args: Any, **kwargs: Any) -> Any:
        if hooks.stack.is_idle and hooks.find_active_run() is None:
            return tool(*args, **kwargs)
        result = run_sync(run(SYNC, args, kwargs))
        return iter((result,)) if is_stream and isinstance(result, str) else result

    return call_sync


async def _run_guarded(
    driver: Driver, hooks: HasHooks, call: ToolCall, operation: Callable[[ToolCall], Any], on_block: OnBlock
) -> Any:
    """Call a tool with its hooks; within a run or a session it belongs to that."""
    active = hooks.find_active_run()
    if active is None:
        context = ToolContext.before(call.name, call.args, call_id=call.id)
    elif active.is_stopped:
        raise Stopped(active.stop_reason)
    else:
        context = active.make_call_context(call)
    report = None if active is None else active.accept_stream
    outcome = await run_tool(driver, hooks.stack, context, operation, report=report)
    if active is None:
        log_messages(outcome)
    else:
        active.accept(make_tool_outcome(outcome), context)
    is_returned = on_block == "return" and outcome.decision == Decision.BLOCK and outcome.context.error is None
    return make_tool_outcome(outcome).text if is_returned else read_result(outcome)


def bind_arguments(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    # Those of a `**more` are put beside the others, unless a name would be there twice: then they stay together as `more`.
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    named = dict(bound.arguments)
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD and not named.keys() & named[parameter.name].keys():
            named |= named.pop(parameter.name)
    return named


def unbind_arguments(signature: inspect.Signature, named: Mapping[str, Any]) -> inspect.BoundArguments:
    args: list[Any] = []
    kwargs = dict(named)
    parameters = signature.parameters.values()
    has_extra = any(kwargs.get(p.name) for p in parameters if p.kind is p.VAR_POSITIONAL)
    for parameter in parameters:
        if parameter.kind is parameter.POSITIONAL_ONLY or (
            has_extra and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        ):
            args.append(_pop_value(parameter, kwargs))
        elif parameter.kind is parameter.VAR_POSITIONAL:
            args += _check_type(kwargs.pop(parameter.name, ()), (list, tuple), f"'*{parameter.name}' takes a list")
        elif parameter.kind is parameter.VAR_KEYWORD and parameter.name in kwargs:
            kwargs |= _check_type(kwargs.pop(parameter.name), Mapping, f"'**{parameter.name}' takes an object")
    return signature.bind(*args, **kwargs)


def _pop_value(parameter: inspect.Parameter, kwargs: dict[str, Any]) -> Any:
    if parameter.name in kwargs:
        return kwargs.pop(parameter.name)
    if parameter.default is parameter.empty:
        raise TypeError(f"missing a required argument: '{parameter.name}'")
    return parameter.default


def _check_type(value: Any, expected: Any, rule: str) -> Any:
    if not isinstance(value, expected):
        raise TypeError(f"{rule}, not {type(value).__name__}")
    return value
