"""Plain functions as tools with hooks around them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Protocol

from boathook.inprocess.layers import is_async_callable
from boathook.inprocess.operations import ToolCall

if TYPE_CHECKING:
    from boathook.inprocess.stack import Stack


class HasStack(Protocol):
    @property
    def stack(self) -> Stack: ...


def wrap_tool(hooks: HasStack, tool: Callable[..., Any], name: str = "") -> Callable[..., Any]:
    signature = inspect.signature(tool)
    tool_name = name or getattr(tool, "__name__", type(tool).__name__)

    def call_tool(call: ToolCall) -> Any:
        bound = unbind_arguments(signature, call.args)
        return tool(*bound.args, **bound.kwargs)

    if is_async_callable(tool):

        @functools.wraps(tool)
        async def call_async(*args: Any, **kwargs: Any) -> Any:
            return await hooks.stack.arun_tool(ToolCall(tool_name, bind_arguments(signature, args, kwargs)), call_tool)

        return call_async
    if inspect.isasyncgenfunction(tool):

        @functools.wraps(tool)
        async def stream_async(*args: Any, **kwargs: Any) -> Any:
            stream = await hooks.stack.arun_tool(
                ToolCall(tool_name, bind_arguments(signature, args, kwargs)), call_tool
            )
            async with aclosing(stream):
                async for part in stream:
                    yield part

        return stream_async

    @functools.wraps(tool)
    def call_sync(*args: Any, **kwargs: Any) -> Any:
        stack = hooks.stack
        if stack.is_idle:
            return tool(*args, **kwargs)
        return stack.run_tool(ToolCall(tool_name, bind_arguments(signature, args, kwargs)), call_tool)

    return call_sync


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
