"""Any plain function as a tool with hooks around it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Protocol

from boathook.inprocess.layers import is_async
from boathook.inprocess.operations import ToolCall

if TYPE_CHECKING:
    from boathook.inprocess.stack import Stack


class HasStack(Protocol):
    """Whatever has a stack that may grow."""

    @property
    def stack(self) -> Stack:
        """Return the stack as it is now."""
        ...


def guarded(hooks: HasStack, tool: Callable[..., Any], name: str = "") -> Callable[..., Any]:
    """Wrap a function, sync or async, a generator of either sort included."""
    signature = inspect.signature(tool)
    called = name or getattr(tool, "__name__", type(tool).__name__)

    def operation(call: ToolCall) -> Any:
        bound = unbind(signature, call.args)
        return tool(*bound.args, **bound.kwargs)

    if is_async(tool):

        @functools.wraps(tool)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            return await hooks.stack.arun_tool(ToolCall(called, bind(signature, args, kwargs)), operation)

        return awaited
    if inspect.isasyncgenfunction(tool):

        @functools.wraps(tool)
        async def streamed(*args: Any, **kwargs: Any) -> Any:
            stream = await hooks.stack.arun_tool(ToolCall(called, bind(signature, args, kwargs)), operation)
            async with aclosing(stream):
                async for part in stream:
                    yield part

        return streamed

    @functools.wraps(tool)
    def plainly(*args: Any, **kwargs: Any) -> Any:
        stack = hooks.stack
        if stack.is_idle:
            return tool(*args, **kwargs)
        return stack.run_tool(ToolCall(called, bind(signature, args, kwargs)), operation)

    return plainly


def bind(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by name, defaults included, as hooks see them.

    Those of a `**more` stand beside the others, unless one has the name of another or of `more`: then they stay together.
    """
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    found = dict(bound.arguments)
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD and not found.keys() & found[parameter.name].keys():
            found |= found.pop(parameter.name)
    return found


def unbind(signature: inspect.Signature, named: Mapping[str, Any]) -> inspect.BoundArguments:
    """Return the arguments as the function takes them; TypeError if hooks left something it does not take."""
    args: list[Any] = []
    kwargs = dict(named)
    parameters = signature.parameters.values()
    many = any(kwargs.get(p.name) for p in parameters if p.kind is p.VAR_POSITIONAL)
    for parameter in parameters:
        if parameter.kind is parameter.POSITIONAL_ONLY or (many and parameter.kind is parameter.POSITIONAL_OR_KEYWORD):
            args.append(_value(parameter, kwargs))
        elif parameter.kind is parameter.VAR_POSITIONAL:
            args += _sequence(parameter, kwargs.pop(parameter.name, ()))
        elif parameter.kind is parameter.VAR_KEYWORD and parameter.name in kwargs:
            kwargs |= _mapping(parameter, kwargs.pop(parameter.name))
    return signature.bind(*args, **kwargs)


def _value(parameter: inspect.Parameter, kwargs: dict[str, Any]) -> Any:
    """Take the value of an argument that has to stand in its place."""
    if parameter.name in kwargs:
        return kwargs.pop(parameter.name)
    if parameter.default is parameter.empty:
        raise TypeError(f"missing a required argument: '{parameter.name}'")
    return parameter.default


def _sequence(parameter: inspect.Parameter, value: Any) -> Any:
    if not isinstance(value, list | tuple):
        raise TypeError(f"'*{parameter.name}' takes a list, not {type(value).__name__}")
    return value


def _mapping(parameter: inspect.Parameter, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"'**{parameter.name}' takes an object, not {type(value).__name__}")
    return value
