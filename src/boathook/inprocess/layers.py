"""Layers of a stack: one hook in process each, with when it is asked and what its failure means."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from boathook.core.event import PRE_STOP, EventKind
from boathook.core.outcome import NOTHING, Decision, Outcome
from boathook.errors import HookError
from boathook.inprocess.contexts import Context, StopContext
from boathook.inprocess.matching import Match
from boathook.inprocess.threads import acall_aside, acall_in_time, call_aside, call_between

LOG = logging.getLogger("boathook")
RAISE, ALLOW, BLOCK = "raise", "allow", "block"
FAILURES = (RAISE, ALLOW, BLOCK)
STOP_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Layer:
    """One hook in process. `around`: it is given the rest of the chain to call; `rounds`: how often it may refuse a stop."""

    hook: Callable[..., Any]
    kinds: tuple[EventKind, ...] | None = None
    priority: int = 0
    match: Match | None = None
    around: bool = False
    is_async: bool = False
    timeout: float | None = None
    on_failure: str = RAISE
    rounds: int | None = None
    name: str = ""

    @property
    def simple(self) -> bool:
        """Whether calling the hook is all there is to do."""
        special = self.around or self.timeout is not None or self.rounds is not None or self.on_failure != RAISE
        return not special and (self.match is None or self.match.fixed)


def rounds_of(kind: EventKind | None, wanted: int | None) -> int | None:
    """Return how often a hook may refuse a stop, None where there is none; HookError if that was asked for elsewhere."""
    gate = kind is None or kind is PRE_STOP
    if wanted is not None and not gate:
        raise HookError(f"max_rounds is for stops; {kind.name if kind else ''} is none")
    return (STOP_ROUNDS if wanted is None else wanted) if gate else None


def make_layer(hook: Any, **fields: Any) -> Layer:
    """Make a layer of a callable or of an object with `handle`; HookError if it cannot be one."""
    on_failure, timeout = fields.get("on_failure", RAISE), fields.get("timeout")
    if on_failure not in FAILURES:
        raise HookError(f"on_failure must be {', '.join(FAILURES)}, not {on_failure!r}")
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0):
        raise HookError(f"timeout must be more than 0 seconds, not {timeout!r}")
    handle = getattr(hook, "handle", None)
    called = handle if callable(handle) else hook
    name = getattr(hook, "__qualname__", "") or type(hook).__name__
    if not callable(called):
        raise HookError(f"{name} is no hook: it is neither callable nor has it a method 'handle'")
    around = _takes_next(called, name, handles=called is handle)
    return Layer(called, around=around, is_async=is_async(called), name=name, **fields)


def is_async(called: Any) -> bool:
    """Whether a callable gives a coroutine: a function, or an object that is called like one."""
    return inspect.iscoroutinefunction(called) or inspect.iscoroutinefunction(getattr(called, "__call__", None))  # noqa: B004


def _takes_next(called: Callable[..., Any], name: str, *, handles: bool) -> bool:
    """Whether a hook takes (context, next) rather than (context)."""
    try:
        parameters = inspect.signature(called).parameters.values()
    except (TypeError, ValueError):  # a builtin that does not say
        return handles
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in places if p.default is p.empty]
    keywords = [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    many = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if handles:
        fits = len(needed) <= 2 and (len(places) >= 2 or many)
        wanted = "handle(context, next)"
    else:
        fits = len(needed) in (1, 2) or (not needed and (bool(places) or many))
        wanted = "hook(context) or hook(context, next)"
    if not fits or keywords:
        raise HookError(f"{name} cannot be called as {wanted}: it takes {inspect.signature(called)}")
    return handles or len(needed) == 2


def taken(layer: Layer, said: Any, context: Context) -> tuple[Outcome, Context]:
    """Read what a hook gave back: the opinion, and the context to go on with."""
    if said is None:
        return NOTHING, context
    opinion, found = answer_of(layer, said, context)
    if found.kind is not context.kind:
        raise misplaced(layer, found, context)
    return bounded(layer, opinion, found)


def answer_of(layer: Layer, said: Any, context: Context) -> tuple[Outcome, Context]:
    """Return the mere opinion in an answer, and the context with all that was said for it; it may be of another moment."""
    if isinstance(said, Context):
        return NOTHING, _of_its_class(layer, said, context)
    if not isinstance(said, Outcome):
        raise HookError(_no_answer(layer, said))
    found = context if said.context is None else _of_its_class(layer, said.context, context)
    for text in said.contexts:
        found = found.add_context(text)
    for text in said.messages:
        found = found.add_message(text)
    if not said.decision and not said.said:
        return NOTHING, found
    return said if found is context else Outcome(said.decision, said.said), found


def _of_its_class(layer: Layer, found: Any, context: Context) -> Context:
    if type(found) is not type(context):
        raise misplaced(layer, found, context)
    same: Context = found
    return same


def _no_answer(layer: Layer, said: Any) -> str:
    if inspect.iscoroutine(said):
        said.close()  # nobody will wait for it
    if inspect.isawaitable(said):
        return f"{layer.name} gave back something to await; declare it with `async def`"
    return f"{layer.name} gave back {type(said).__name__}; wanted is None, an Outcome or a changed context"


def misplaced(layer: Layer, found: Any, context: Context) -> HookError:
    """Return the fault of a hook that gave back a context of something else."""
    moment = f" of {found.kind.name}" if type(found) is type(context) else ""
    return HookError(f"{layer.name} gave back a {type(found).__name__}{moment} at {context.kind.name}")


def bounded(layer: Layer, said: Outcome, context: Context) -> tuple[Outcome, Context]:
    """Lift a refusal to stop that has been made often enough, or cannot be made."""
    if layer.rounds is None or said.decision != Decision.BLOCK or not isinstance(context, StopContext):
        return said, context
    if context.reason != "no_tool_calls":
        told = f"a stop for '{context.reason}' cannot be refused; the gate said: {said.reason}"
    elif context.block_count >= layer.rounds:
        told = f"the stop was refused {context.block_count} times in this turn and is let through now; "
        told += f"the gate said: {said.reason}"
    else:
        return said, context
    return NOTHING, context.add_message(told)


def failed(layer: Layer, error: Exception, context: Context) -> tuple[Outcome, Context]:
    """Return what the failure of a hook comes to; raises it if that is what was chosen."""
    if layer.on_failure == RAISE:
        raise error
    told = f"hook '{layer.name}' failed: {type(error).__name__}: {error}"
    LOG.warning("%s (at %s)", told, context.kind.name)
    if layer.on_failure == BLOCK:
        return Outcome.block(told), context
    return NOTHING, context.add_message(told)


def call(layer: Layer, context: Context) -> Any:
    """Call a plain hook from a program without event loop."""
    if layer.timeout is not None:
        return call_aside(layer, context)
    said = layer.hook(context)
    return wait_for(said, layer.name) if layer.is_async else said


def call_around(layer: Layer, context: Context, go_on: Callable[..., Any]) -> Any:
    """Call middleware from a program without event loop."""
    if layer.is_async:
        refuse_in_loop(layer.name)
    if layer.timeout is not None:
        return call_aside(layer, context, go_on)
    return call_between(layer, context, go_on) if layer.is_async else layer.hook(context, go_on)


async def acall(layer: Layer, context: Context) -> Any:
    """Call a plain hook from an event loop; a sync one with a limit of time aside, so that the loop is not held up."""
    if layer.timeout is None:
        said = layer.hook(context)
        return await said if layer.is_async else said
    return await (acall_in_time if layer.is_async else acall_aside)(layer, context)


async def acall_around(layer: Layer, context: Context, go_on: Callable[..., Any]) -> Any:
    """Call middleware from an event loop; a sync one aside, for it waits for the rest."""
    if not layer.is_async:
        return await acall_aside(layer, context, go_on)
    if layer.timeout is not None:
        return await acall_in_time(layer, context, go_on)
    return await layer.hook(context, go_on)


def wait_for(work: Awaitable[Any], name: str) -> Any:
    """Wait for something in a program without event loop."""
    try:
        refuse_in_loop(name)
    except HookError:
        if inspect.iscoroutine(work):
            work.close()
        raise
    return asyncio.run(_awaited(work))


async def _awaited(work: Awaitable[Any]) -> Any:
    return await work


def refuse_in_loop(name: str) -> None:
    """Refuse to hold up an event loop for something that could be awaited in it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise HookError(f"{name} is async, and an event loop runs here: await the async form instead")
