"""Layers of a stack: each is one in-process hook, with when it runs and what its failure means."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args

from boathook.core.event import STOP_KINDS, EventKind
from boathook.core.near_words import DID_YOU_MEAN, ask_if_meant
from boathook.core.outcome import NOTHING, Decision, Outcome
from boathook.errors import Blocked, HookError
from boathook.inprocess.cancellation import count_cancellations
from boathook.inprocess.contexts import Context, StopContext, SubagentContext
from boathook.inprocess.hook_types import OnFailure
from boathook.inprocess.matching import Match, list_exact_names

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
        return _find_place(self.hook)

    @property
    def description(self) -> str:
        """Return the name of the hook and where it is, for messages."""
        return _join_place(self.name, self.place)

    @property
    def is_simple(self) -> bool:
        has_limits = self.timeout is not None or self.max_rounds is not None
        is_special = self.is_middleware or has_limits or self.on_failure != "raise"
        return not is_special and (self.match is None or self.match.is_fixed)


def _find_place(function: Any) -> str:
    code = getattr(function, "__code__", None)
    return "" if code is None else f"{code.co_filename}:{code.co_firstlineno}"


def describe_hook(hook: Any) -> str:
    """Return the name of a hook and where it is, for messages about one that cannot be added."""
    return _join_place(name_hook(hook), _find_place(hook))


def _join_place(name: str, place: str) -> str:
    return f"hook '{name}'{f' ({place})' if place else ''}"


def resolve_max_rounds(kind: EventKind | None, max_rounds: int | None) -> int | None:
    if max_rounds is not None and (isinstance(max_rounds, bool) or not isinstance(max_rounds, int) or max_rounds < 0):
        raise HookError(f"max_rounds must be a whole number, 0 or more, not {max_rounds!r}")
    if kind is None or kind in STOP_KINDS:
        return DEFAULT_MAX_ROUNDS if max_rounds is None else max_rounds
    if max_rounds is not None:
        raise HookError(f"max_rounds is only for stops, and {kind.name} is not a stop")
    return None


def check_failure_mode(on_failure: object) -> None:
    if on_failure not in FAILURE_MODES:
        raise HookError(f"on_failure must be {', '.join(FAILURE_MODES)}, not {on_failure!r}")


def make_layer(hook: Any, **fields: Any) -> Layer:
    on_failure, timeout = fields.get("on_failure", "raise"), fields.get("timeout")
    check_failure_mode(on_failure)
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0):
        raise HookError(f"timeout must be more than 0 seconds, not {timeout!r}")
    handle = getattr(hook, "handle", None)
    function = handle if callable(handle) else hook
    name = name_hook(hook)
    if not callable(function):
        hint = f"; {DID_YOU_MEAN} match='{hook}'?" if isinstance(hook, str) else ""
        raise HookError(f"{name} is not a hook: it is not callable and has no method 'handle'{hint}")
    _refuse_method(function, name, fields.get("kinds") or ())
    is_middleware = _takes_next(function, name, is_handle=function is handle)
    return Layer(function, is_middleware=is_middleware, is_async=is_async_callable(function), name=name, **fields)


def report_other_case(layer: Layer, tool_names: tuple[str, ...]) -> None:
    """Log once that a hook would match a tool if its name had other capital letters: `shell` does not mean the tool `bash`."""
    match = layer.match
    if match is None or not match.is_in_doubt:
        return
    wanted = list_exact_names(match.pattern)
    if any(name in tool_names for name in wanted):
        match.is_in_doubt = False
        return
    lowered = {name.lower() for name in wanted}
    other = next((name for name in tool_names if name.lower() in lowered), "")
    if other:
        match.is_in_doubt = False
        LOGGER.warning(
            "%s does not match the tool '%s': match='%s' has other capital letters; %s",
            layer.description,
            tool_names[0],
            match.pattern,
            ask_if_meant(other),
        )


def name_hook(hook: Any) -> str:
    return getattr(hook, "__qualname__", "") or type(hook).__name__


def is_async_callable(function: Any) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def _refuse_method(function: Any, name: str, kinds: tuple[EventKind, ...]) -> None:
    """Raise HookError for a function in the body of a class: its `self` would get the context, and its context be `next`."""
    path, _, method = name.rpartition(".")
    owner = path.rpartition(".")[2]
    if not owner or owner == "<locals>" or not inspect.isfunction(function):
        return
    if function.__code__.co_varnames[:1] == ("self",):
        event = kinds[0].name if kinds else "pre-tool-call"
        raise HookError(f"{name} is a method without its object: write hooks.add('{event}', {owner}().{method})")


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


def read_person_answer(ask: Any, answer: Any) -> bool:
    """Return what the callable of `on_ask` answered; HookError if it is not a bool, because it may have forgotten `return`."""
    if isinstance(answer, bool):
        return answer
    what = "None" if answer is None else type(answer).__name__
    raise HookError(f"'{name_hook(ask)}' answered a question with {what}; it must return True or False")


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
    if inspect.isawaitable(answer) and layer.is_async:
        how = "write `return await next(context)`" if layer.is_middleware else "await it in the hook"
        return f"{layer.name} returned something to await; {how}"
    if inspect.isawaitable(answer):
        return f"{layer.name} returned something to await; declare it with `async def`"
    return f"{layer.name} returned {type(answer).__name__}; it must return None, an Outcome or a changed context"


def make_context_error(layer: Layer, changed: Any, context: Context) -> HookError:
    moment = f" of {changed.kind.name}" if type(changed) is type(context) else ""
    return HookError(f"{layer.name} returned a {type(changed).__name__}{moment} at {context.kind.name}")


def limit_refusals(layer: Layer, opinion: Outcome, context: Context) -> tuple[Outcome, Context]:
    """Drop a refusal to stop that was made too often, or that has no effect; the person gets a message instead."""
    if (
        layer.max_rounds is None
        or opinion.decision != Decision.BLOCK
        or not isinstance(context, StopContext | SubagentContext)
    ):
        return opinion, context
    count = context.count_refusals(id(layer))
    if isinstance(context, StopContext) and context.reason != "no_tool_calls":
        message = f"a stop for '{context.reason}' cannot be refused; the hook's reason: {opinion.reason}"
    elif count >= layer.max_rounds:
        message = f"the stop was refused {count} times in this turn and is let through now; "
        message += f"the hook's reason: {opinion.reason}"
    else:
        return opinion, context.note_refusal(id(layer))
    return NOTHING, context.add_message(message).note_lifted(opinion.reason)


def read_failure(name: str, error: BaseException) -> Exception:
    """Return the error of a hook; raise a CancelledError that is not its own, because its task is being cancelled.

    Frameworks would take the one of a hook for the end of a single task, and go on.
    """
    if isinstance(error, Exception):
        if isinstance(error, Blocked):
            error.add_note(f"raised by the hook '{name}'; to block, return Outcome.block(reason)")
        return error
    if not isinstance(error, asyncio.CancelledError) or count_cancellations():
        raise error
    failure = HookError(f"the hook '{name}' raised CancelledError, although the run is not being cancelled")
    failure.__cause__ = error
    return failure


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
