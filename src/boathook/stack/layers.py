"""Layers of a stack: one hook in process each, with when it is asked and what its failure means."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from boathook.core.event import EventKind
from boathook.core.outcome import NOTHING, Decision, Outcome
from boathook.errors import HookFault, HookTimeout
from boathook.stack.contexts import Context, StopContext
from boathook.stack.matching import Match

LOG = logging.getLogger("boathook")
RAISE, ALLOW, BLOCK = "raise", "allow", "block"
FAILURES = (RAISE, ALLOW, BLOCK)


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
        """Say whether calling the hook is all there is to do."""
        special = self.around or self.timeout is not None or self.rounds is not None or self.on_failure != RAISE
        return not special and (self.match is None or self.match.fixed)

    def wants(self, context: Context) -> bool:
        """Say whether the hook is to be asked."""
        return (self.kinds is None or context.kind in self.kinds) and (self.match is None or self.match(context))


def make_layer(hook: Any, **fields: Any) -> Layer:
    """Make a layer of a callable or of an object with `handle`; HookFault if it cannot be one."""
    on_failure, timeout = fields.get("on_failure", RAISE), fields.get("timeout")
    if on_failure not in FAILURES:
        raise HookFault(f"on_failure must be {', '.join(FAILURES)}, not {on_failure!r}")
    if timeout is not None and not timeout > 0:
        raise HookFault(f"timeout must be more than 0 seconds, not {timeout!r}")
    handle = getattr(hook, "handle", None)
    called = handle if callable(handle) else hook
    name = getattr(hook, "__qualname__", "") or type(hook).__name__
    if not callable(called):
        raise HookFault(f"{name} is no hook: it is neither callable nor has it a method 'handle'")
    around = _takes_next(called, name, handles=called is handle)
    return Layer(called, around=around, is_async=_is_async(called), name=name, **fields)


def _is_async(called: Any) -> bool:
    return inspect.iscoroutinefunction(called) or inspect.iscoroutinefunction(getattr(called, "__call__", None))  # noqa: B004


def _takes_next(called: Callable[..., Any], name: str, *, handles: bool) -> bool:
    """Say whether a hook takes (context, next) rather than (context)."""
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
        raise HookFault(f"{name} cannot be called as {wanted}: it takes {inspect.signature(called)}")
    return handles or len(needed) == 2


def taken(layer: Layer, said: Any, context: Context) -> tuple[Outcome, Context]:
    """Read what a hook gave back: the opinion, and the context to go on with."""
    if isinstance(said, Outcome):
        found = said.context
    elif isinstance(said, Context):
        said, found = NOTHING, said
    elif said is None:
        return NOTHING, context
    else:
        told = f"{layer.name} gave back {type(said).__name__}; wanted is None, an Outcome or a changed context"
        if inspect.isawaitable(said):
            told = f"{layer.name} gave back something to await; declare it with `async def`"
            if inspect.iscoroutine(said):
                said.close()
        raise HookFault(told)
    if found is not None and (type(found) is not type(context) or found.kind is not context.kind):
        raise HookFault(f"{layer.name} gave back a {type(found).__name__} at {context.kind.name}")
    context = context if found is None else found
    for text in said.contexts:
        context = context.add_context(text)
    for text in said.messages:
        context = context.add_message(text)
    if said.contexts or said.messages or said.context is not None:
        said = Outcome(said.decision, said.said)
    return _bounded(layer, said, context)


def _bounded(layer: Layer, said: Outcome, context: Context) -> tuple[Outcome, Context]:
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


def failed(layer: Layer, fault: Exception, context: Context) -> tuple[Outcome, Context]:
    """Give what the failure of a hook comes to; raises it if that is what was chosen."""
    if layer.on_failure == RAISE:
        raise fault
    told = f"hook '{layer.name}' failed: {type(fault).__name__}: {fault}"
    LOG.warning("%s (at %s)", told, context.kind.name)
    if layer.on_failure == BLOCK:
        return Outcome.block(told), context
    return NOTHING, context.add_message(told)


def call(layer: Layer, *given: Any) -> Any:
    """Call a hook from a program without event loop."""
    if layer.timeout is not None:
        return _in_time(layer, *given)
    said = layer.hook(*given)
    return wait_for(said, layer.name) if layer.is_async else said


def _in_time(layer: Layer, *given: Any) -> Any:
    """Call a hook on a thread of its own; one that is too slow is left behind, for threads cannot be ended."""
    box: list[tuple[bool, Any]] = []

    def work() -> None:
        try:
            said = layer.hook(*given)
            box.append((True, asyncio.run(said) if layer.is_async else said))
        except BaseException as fault:  # noqa: BLE001  (raised again where it is waited for)
            box.append((False, fault))

    thread = threading.Thread(target=work, name=f"boathook {layer.name}", daemon=True)
    thread.start()
    thread.join(layer.timeout)
    if not box:
        raise too_slow(layer)
    good, value = box[0]
    if not good:
        raise value
    return value


def too_slow(layer: Layer) -> HookTimeout:
    """Give the fault of a hook that took too long."""
    return HookTimeout(f"hook '{layer.name}' did not end within {layer.timeout:g} s")


async def acall(layer: Layer, *given: Any) -> Any:
    """Call a hook from an event loop; a sync one with a timeout on a thread, so that the loop is not held up."""
    if layer.timeout is None:
        said = layer.hook(*given)
        return await said if layer.is_async else said
    if not layer.is_async:
        return await asyncio.to_thread(_in_time, layer, *given)
    try:
        return await asyncio.wait_for(layer.hook(*given), layer.timeout)
    except TimeoutError as fault:
        raise too_slow(layer) from fault


def wait_for(work: Coroutine[Any, Any, Any], name: str) -> Any:
    """Run a coroutine to its end in a program without event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    work.close()
    raise HookFault(f"{name} is async, and an event loop runs here: await the async form instead")
