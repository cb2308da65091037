"""Any plain function as a tool with hooks around it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from boathook.stack.operations import ToolCall

if TYPE_CHECKING:
    from boathook.stack.stack import Stack


class HasStack(Protocol):
    """Whatever has a stack that may grow."""

    @property
    def stack(self) -> Stack:
        """Give the stack as it is now."""
        ...


def guarded(hooks: HasStack, tool: Callable[..., Any], name: str = "") -> Callable[..., Any]:
    """Wrap a function, sync or async, a generator of either sort included."""
    signature = inspect.signature(tool)
    called = name or tool.__name__

    def operation(call: ToolCall) -> Any:
        bound = unbind(signature, call.args)
        return tool(*bound.args, **bound.kwargs)

    if inspect.iscoroutinefunction(tool):

        @functools.wraps(tool)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            return await hooks.stack.arun_tool(ToolCall(called, bind(signature, args, kwargs)), operation)

        return awaited
    if inspect.isasyncgenfunction(tool):

        @functools.wraps(tool)
        async def streamed(*args: Any, **kwargs: Any) -> Any:
            stream = await hooks.stack.arun_tool(ToolCall(called, bind(signature, args, kwargs)), operation)
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
    """Give the arguments of a call by name, defaults included, as hooks see them."""
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    found = dict(bound.arguments)
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            found |= found.pop(parameter.name, {})
    return found


def unbind(signature: inspect.Signature, named: Mapping[str, Any]) -> inspect.BoundArguments:
    """Give the arguments as the function takes them; TypeError if hooks left something it does not take."""
    args: list[Any] = []
    kwargs = dict(named)
    for parameter in signature.parameters.values():
        if parameter.name not in kwargs:
            continue
        if parameter.kind is parameter.POSITIONAL_ONLY:
            args.append(kwargs.pop(parameter.name))
        elif parameter.kind is parameter.VAR_POSITIONAL and (more := kwargs.pop(parameter.name)):
            before = [p.name for p in signature.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
            args += [kwargs.pop(name) for name in before]
            args += more
    return signature.bind(*args, **kwargs)
