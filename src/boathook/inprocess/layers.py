"""Layers of a stack: each is one in-process hook, with when it runs and what its failure means."""

from __future__ import annotations

import dataclasses
import inspect
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args

from boathook.core.event import PRE_STOP, EventKind
from boathook.core.outcome import NOTHING, Decision, Outcome
from boathook.errors import HookError
from boathook.inprocess.contexts import Context, StopContext
from boathook.inprocess.hook_types import OnFailure
from boathook.inprocess.matching import Match

LOGGER = logging.getLogger("boathook")
FAILURE_MODES = get_args(OnFailure)
DEFAULT_MAX_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Layer:
    """One in-process hook. Middleware gets the rest of the chain to call; `max_rounds` limits how often a hook refuses a stop."""

    hook: Callable[..., Any]
    kinds: tuple[EventKind, ...] | None = None
    priority: int = 0
    match: Match | None = None
    is_middleware: bool = False
    is_async: bool = False
    timeout: float | None = None
    on_failure: OnFailure = "raise"
    max_rounds: int | None = None
    name: str = ""

    @property
    def place(self) -> str:
        """Return the file and the line of the hook's function, "" if it has none."""
        code = getattr(self.hook, "__code__", None)
        return "" if code is None else f"{code.co_filename}:{code.co_firstlineno}"

    @property
    def is_simple(self) -> bool:
        has_limits = self.timeout is not None or self.max_rounds is not None
        is_special = self.is_middleware or has_limits or self.on_failure != "raise"
        return not is_special and (self.match is None or self.match.is_fixed)


def resolve_max_rounds(kind: EventKind | None, max_rounds: int | None) -> int | None:
    if max_rounds is not None and (isinstance(max_rounds, bool) or not isinstance(max_rounds, int) or max_rounds < 0):
        raise HookError(f"max_rounds must be a whole number, 0 or more, not {max_rounds!r}")
    if kind is None or kind is PRE_STOP:
        return DEFAULT_MAX_ROUNDS if max_rounds is None else max_rounds
    if max_rounds is not None:
        raise HookError(f"max_rounds is only for stops, and {kind.name} is not a stop")
    return None


def make_layer(hook: Any, **fields: Any) -> Layer:
    on_failure, timeout = fields.get("on_failure", "raise"), fields.get("timeout")
    if on_failure not in FAILURE_MODES:
        raise HookError(f"on_failure must be {', '.join(FAILURE_MODES)}, not {on_failure!r}")
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0):
        raise HookError(f"timeout must be more than 0 seconds, not {timeout!r}")
    handle = getattr(hook, "handle", None)
    function = handle if callable(handle) else hook
    name = getattr(hook, "__qualname__", "") or type(hook).__name__
    if not callable(function):
        raise HookError(f"{name} is not a hook: it is not callable and has no method 'handle'")
    is_middleware = _takes_next(function, name, is_handle=function is handle)
    return Layer(function, is_middleware=is_middleware, is_async=is_async_callable(function), name=name, **fields)


def is_async_callable(function: Any) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def _takes_next(function: Callable[..., Any], name: str, *, is_handle: bool) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        # A builtin without a signature.
        return is_handle
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p for p in positional if p.default is p.empty]
    required_keywords = [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    takes_any_number = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if is_handle:
        fits = len(required) <= 2 and (len(positional) >= 2 or takes_any_number)
        form = "handle(context, next)"
    else:
        fits = len(required) in (1, 2) or (not required and (bool(positional) or takes_any_number))
        form = "hook(context) or hook(context, next)"
    if not fits or required_keywords:
        raise HookError(f"{name} cannot be called as {form}: it takes {inspect.signature(function)}")
    return is_handle or len(required) == 2


def read_hook_answer(layer: Layer, answer: Any, context: Context) -> tuple[Outcome, Context]:
    if answer is None:
        return NOTHING, context
    opinion, changed = split_answer(layer, answer, context)
    if changed.kind is not context.kind:
        raise make_context_error(layer, changed, context)
    return limit_refusals(layer, opinion, changed)


def split_answer(layer: Layer, answer: Any, context: Context) -> tuple[Outcome, Context]:
    """Return the opinion alone, and the context with everything else in the answer; it may be of another moment."""
    if isinstance(answer, Context):
        return NOTHING, _check_class(layer, answer, context)
    if not isinstance(answer, Outcome):
        raise HookError(_describe_wrong_answer(layer, answer))
    changed = context if answer.context is None else _check_class(layer, answer.context, context)
    for text in answer.contexts:
        changed = changed.add_context(text)
    for text in answer.messages:
        changed = changed.add_message(text)
    if not answer.decision and not answer.all_reasons:
        return NOTHING, changed
    return answer if changed is context else Outcome(answer.decision, answer.all_reasons), changed


def _check_class(layer: Layer, changed: Any, context: Context) -> Context:
    if type(changed) is not type(context):
        raise make_context_error(layer, changed, context)
    checked: Context = changed
    return checked


def _describe_wrong_answer(layer: Layer, answer: Any) -> str:
    if inspect.iscoroutine(answer):
        answer.close()
    if inspect.isawaitable(answer):
        return f"{layer.name} returned something to await; declare it with `async def`"
    return f"{layer.name} returned {type(answer).__name__}; it must return None, an Outcome or a changed context"


def make_context_error(layer: Layer, changed: Any, context: Context) -> HookError:
    moment = f" of {changed.kind.name}" if type(changed) is type(context) else ""
    return HookError(f"{layer.name} returned a {type(changed).__name__}{moment} at {context.kind.name}")


def limit_refusals(layer: Layer, opinion: Outcome, context: Context) -> tuple[Outcome, Context]:
    """Drop a refusal to stop that was made too often, or that has no effect; the person gets a message instead."""
    if layer.max_rounds is None or opinion.decision != Decision.BLOCK or not isinstance(context, StopContext):
        return opinion, context
    count = context.count_refusals(id(layer))
    if context.reason != "no_tool_calls":
        message = f"a stop for '{context.reason}' cannot be refused; the hook's reason: {opinion.reason}"
    elif count >= layer.max_rounds:
        message = f"the stop was refused {count} times in this turn and is let through now; "
        message += f"the hook's reason: {opinion.reason}"
    else:
        return opinion, context.note_refusal(id(layer))
    lifted = (*context.lifted, opinion.reason)
    return NOTHING, dataclasses.replace(context.add_message(message), lifted=lifted)


def handle_failure(layer: Layer, error: Exception, context: Context) -> tuple[Outcome, Context]:
    if layer.on_failure == "raise":
        where = f", {layer.place}" if layer.place else ""
        ways = 'on_failure="block" or "allow" lets the run go on'
        error.add_note(f"raised by the hook '{layer.name}' at {context.kind.name}{where}; {ways}")
        raise error
    message = f"hook '{layer.name}' failed: {type(error).__name__}: {error}"
    LOGGER.warning("%s (at %s)", message, context.kind.name)
    if layer.on_failure == "block":
        return limit_refusals(layer, Outcome.block(message), context)
    return NOTHING, context.add_message(message)
