"""Plain functions as tools with hooks around them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from boathook.core.outcome import Decision, Outcome
from boathook.errors import HookError
from boathook.inprocess.contexts import ToolContext
from boathook.inprocess.drivers import ASYNC, SYNC, Driver, run_sync
from boathook.inprocess.layers import is_async_callable
from boathook.inprocess.operations import (
    DECIDED_CALL,
    DecidedCall,
    ToolCall,
    hand_on_decision,
    log_messages,
    read_result,
    refuse_awaitable,
    run_tool,
)
from boathook.inprocess.run_outcome import make_tool_outcome
from boathook.inprocess.same_values import is_same_input

if TYPE_CHECKING:
    from boathook.inprocess.run_state import RunState
    from boathook.inprocess.stack import Stack


OnBlock = Literal["raise", "return"]
# The attribute of a guarded function that has the hooks that guard it.
_GUARDS = "_boathook_guards"


class HasHooks(Protocol):
    @property
    def stack(self) -> Stack: ...

    def find_active_run(self) -> RunState[Any] | None: ...


@dataclass(frozen=True, slots=True)
class _Guard:
    """The hooks of a guarded function. `report_outside` gets its name when it is called outside of every run."""

    hooks: HasHooks
    on_block: OnBlock
    report_outside: Callable[[str], None]


def wrap_tool(
    hooks: HasHooks,
    tool: Callable[..., Any],
    name: str,
    on_block: OnBlock,
    report_outside: Callable[[str], None],
) -> Callable[..., Any]:
    if on_block not in get_args(OnBlock):
        raise HookError(f"on_block must be {' or '.join(get_args(OnBlock))}, not {on_block!r}")
    tool_name = name or getattr(tool, "__name__", type(tool).__name__)
    guards: tuple[HasHooks, ...] = getattr(tool, _GUARDS, ())
    if any(each is hooks for each in guards):
        raise HookError(f"{tool_name} is guarded by these hooks already, and they would run twice: guard it once")
    guarded = _wrap_tool(_Guard(hooks, on_block, report_outside), tool, tool_name)
    setattr(guarded, _GUARDS, (*guards, hooks))
    return guarded


def _wrap_tool(guard: _Guard, tool: Callable[..., Any], tool_name: str) -> Callable[..., Any]:
    hooks, signature = guard.hooks, inspect.signature(tool)
    take_decision = functools.partial(_take_decision, hooks, tool_name, signature)

    def call_tool(call: ToolCall) -> Any:
        bound = unbind_arguments(signature, call.args)
        return tool(*bound.args, **bound.kwargs)

    def run(driver: Driver, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Coroutine[Any, Any, Any]:
        call = ToolCall(tool_name, bind_arguments(signature, args, kwargs))
        return _run_guarded(driver, guard, call, call_tool)

    if is_async_callable(tool):

        @functools.wraps(tool)
        async def call_async(*args: Any, **kwargs: Any) -> Any:
            if decided := take_decision(args, kwargs):
                with hand_on_decision(decided):
                    return await tool(*args, **kwargs)
            return await run(ASYNC, args, kwargs)

        return call_async
    if inspect.isasyncgenfunction(tool):

        @functools.wraps(tool)
        async def stream_async(*args: Any, **kwargs: Any) -> Any:
            stream = tool(*args, **kwargs) if take_decision(args, kwargs) else await run(ASYNC, args, kwargs)
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
            found = tool(*args, **kwargs)
            refuse_awaitable(found, tool_name)
            return found
        if decided := take_decision(args, kwargs):
            with hand_on_decision(decided):
                return tool(*args, **kwargs)
        result = run_sync(run(SYNC, args, kwargs))
        return iter((result,)) if is_stream and isinstance(result, str) else result

    return call_sync


def _find_decided_call(stack: Stack, tool_name: str) -> DecidedCall | None:
    """Return the call of a tool in whose operation the program is, if all hooks of a stack were asked about it."""
    decided = DECIDED_CALL.get()
    if decided is None or decided.is_over or decided.context.name != tool_name:
        return None
    return decided if decided.stack.has_hooks_of(stack) else None


def _take_decision(
    hooks: HasHooks, tool_name: str, signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> DecidedCall | None:
    """Use up the decision about a call of a tool with these arguments, and return it; None if there is none."""
    decided = _find_decided_call(hooks.stack, tool_name)
    if decided is None or not _has_arguments(decided.context, signature.bind(*args, **kwargs)):
        return None
    return decided if decided.use_up() else None


def _has_arguments(context: ToolContext, bound: inspect.BoundArguments) -> bool:
    """Whether a function gets the arguments that hooks have decided about."""
    try:
        decided = unbind_arguments(bound.signature, context.args)
    except TypeError:
        # The operation adds arguments, or gives them other names.
        return False
    for each in (bound, decided):
        each.apply_defaults()
    return is_same_input(bound.arguments, decided.arguments)


async def _run_guarded(driver: Driver, guard: _Guard, call: ToolCall, operation: Callable[[ToolCall], Any]) -> Any:
    """Call a tool with its hooks; within a run or a session it belongs to that."""
    hooks, active = guard.hooks, guard.hooks.find_active_run()
    if active is None:
        guard.report_outside(call.name)
        context = ToolContext.before(call.name, call.args, call_id=call.id)
        outcome = await run_tool(driver, hooks.stack, context, operation)
        log_messages(outcome)
    else:
        outcome = await _run_in_run(driver, hooks.stack, active, call, operation)
    is_returned = guard.on_block == "return" and outcome.decision == Decision.BLOCK and outcome.context.error is None
    return make_tool_outcome(outcome).text if is_returned else read_result(outcome)


async def _run_in_run(
    driver: Driver, stack: Stack, run: RunState[Any], call: ToolCall, operation: Callable[[ToolCall], Any]
) -> Outcome[ToolContext]:
    run.raise_stop()
    run.refuse_ended()
    context = run.make_call_context(call)
    if run.refusal[0] >= Decision.BLOCK:
        # Hooks refused the session.
        return Outcome.block("\n".join(run.refusal[1])).replace(context=context)
    turn = run.open_turn
    with run.keep_call_open():
        outcome = await run_tool(
            driver,
            stack,
            context,
            operation,
            report=run.accept_stream,
            find_late_refusal=lambda: run.find_late_refusal(turn),
        )
        run.accept(make_tool_outcome(outcome), context)
    return outcome


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
