"""Walking through a chain that is more than a loop of calls: matchers, middleware, failures, hooks of files, questions.

Two walks, one for plain programs and one for event loops. They differ in how they call and wait; what is decided is decided
by the functions they share.
"""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from boathook.core.dispatch import UNSETTLED
from boathook.core.event import PRE_TOOL
from boathook.core.jsontext import alike
from boathook.core.outcome import NOTHING, Decision, Outcome
from boathook.errors import HookFault
from boathook.stack.contexts import Context, ToolContext
from boathook.stack.layers import Layer, acall, call, failed, taken, wait_for
from boathook.stack.scripts import Scripts

if TYPE_CHECKING:
    from boathook.stack.stack import Chain, Stack, Terminal

NOBODY = "{} (nobody to ask)"
REFUSED = "{} (refused by a person)"


def as_outcome(said: Any) -> Outcome:
    """Read what a terminal gave back."""
    if said is None:
        return NOTHING
    if isinstance(said, Outcome):
        return said
    if isinstance(said, Context):
        return Outcome(context=said)
    raise HookFault(f"the end of a chain gives back an Outcome, a context or None, not {type(said).__name__}")


class _Course:
    """What both walks know: the chain, where it ends, and which inputs hooks of files have seen."""

    def __init__(self, stack: Stack, chain: Chain, terminal: Terminal | None) -> None:
        self.stack, self.chain, self.terminal = stack, chain, terminal
        self.seen: dict[int, Any] = {}

    def saw(self, at: int, context: Context) -> None:
        """Note what a step of hooks of files has seen, or made of it."""
        if isinstance(context, ToolContext) and context.kind.rewrites_input:
            self.seen[at] = context.args

    def unseen(self, context: Context) -> list[int]:
        """Give the steps of hooks of files that have not seen the input as it stands."""
        if not isinstance(context, ToolContext):
            return []
        return [at for at, args in self.seen.items() if args is not context.args and not alike(args, context.args)]

    def asks(self, context: Context, outcome: Outcome) -> bool:
        """Say whether a person is to decide before the terminal is reached."""
        return outcome.decision == Decision.ASK and context.kind is PRE_TOOL and self.terminal is not None

    def starts_background(self, context: Context, outcome: Outcome) -> bool:
        """Say whether async hooks of files are to start."""
        return self.chain.background is not None and not (outcome.halts and context.kind.is_pre)


def closed(outcome: Outcome, context: Context) -> Outcome:
    """Give an outcome with the context it ended with."""
    return outcome if outcome.context is context else outcome.replace(context=context)


def joined(outcome: Outcome, last: Outcome, context: Context) -> Outcome:
    """Give what hooks and the end of their chain say together."""
    return closed(outcome | last, context if last.context is None else last.context)


def answered(outcome: Outcome, answer: Outcome, said: Any) -> Outcome:
    """Give the outcome after a question: of the hooks for permissions if they know, else of the person."""
    reason = outcome.reason or "a hook wants a person to be asked"
    if answer.halts:
        return answer
    if answer.decision == Decision.ALLOW or said:
        return Outcome(Decision.ALLOW)
    return Outcome.block((NOBODY if said is None else REFUSED).format(reason))


def permitted(context: Context, outcome: Outcome) -> Context:
    """Give the context with a note that the call was allowed, if it was."""
    if outcome.decision == Decision.ALLOW and isinstance(context, ToolContext) and not context.allowed:
        return dataclasses.replace(context, allowed=True)
    return context


def permission_of(context: ToolContext) -> ToolContext:
    """Give the context in which permission is asked for a call."""
    common = {name: getattr(context, name) for name in ("session_id", "work_dir", "state", "metadata", "more")}
    return ToolContext.permission(context.name, context.args, call_id=context.call_id, **common)


def after_permission(context: ToolContext, asked: Context | None) -> ToolContext:
    """Give the call as the hooks for permissions left it."""
    if not isinstance(asked, ToolContext) or asked.args is context.args:
        return context
    return context.replace(args=asked.args)


def checked(layer: Layer, changed: Any, context: Context) -> Context:
    """Give the context that middleware hands on."""
    if changed is None:
        return context
    if type(changed) is not type(context) or changed.kind is not context.kind:
        raise HookFault(f"{layer.name} handed on a {type(changed).__name__} at {context.kind.name}")
    found: Context = changed
    return found


class _Rest:
    """The rest of a chain, as middleware sees it: remembers what came of it, and what it raised."""

    def __init__(self) -> None:
        self.last: Outcome | None = None
        self.fault: BaseException | None = None

    def result(self, said: Any) -> Outcome | None:
        """Give what a middleware decided; None if it neither said anything nor went on."""
        return self.last if said is None else as_outcome(said)


class Walk(_Course):
    """The walk of a plain program."""

    def walk(self, context: Context, at: int = 0, outcome: Outcome = NOTHING) -> Outcome:
        """Go through the steps from one on."""
        steps = self.chain.steps
        while at < len(steps):
            step = steps[at]
            at += 1
            if isinstance(step, Scripts):
                one, context = step.run(context)
                self.saw(at - 1, context)
            elif step.around:
                return self._around(step, context, at, outcome)
            else:
                one, context = self._ask(step, context)
            outcome |= one
            if outcome.halts:
                return closed(self._background(outcome, context), context)
        return self._end(context, outcome)

    def go_on(self, said: Any, context: Context, at: int) -> Outcome:
        """Take what the hook before a step said, and go on from there."""
        layer = self.chain.steps[at - 1]
        assert isinstance(layer, Layer)  # noqa: S101
        outcome, context = taken(layer, said, context)
        return closed(outcome, context) if outcome.halts else self.walk(context, at, outcome)

    def _ask(self, layer: Layer, context: Context) -> tuple[Outcome, Context]:
        try:
            if layer.match is not None and not layer.match(context):
                return NOTHING, context
            return taken(layer, call(layer, context), context)
        except Exception as fault:  # noqa: BLE001
            return failed(layer, fault, context)

    def _around(self, layer: Layer, context: Context, at: int, outcome: Outcome) -> Outcome:
        if layer.match is not None and not layer.match(context):
            return self.walk(context, at, outcome)
        rest = _Rest()

        def go_on(changed: Context | None = None) -> Outcome:
            try:
                rest.last = self.walk(checked(layer, changed, context), at)
            except BaseException as fault:
                rest.fault = fault
                raise
            return rest.last

        async def go_on_awaited(changed: Context | None = None) -> Outcome:
            return go_on(changed)

        try:
            given: Callable[..., Any] = go_on_awaited if layer.is_async else go_on
            found = rest.result(call(layer, context, given))
        except Exception as fault:
            if fault is rest.fault:
                raise
            one, context = failed(layer, fault, context)
            found = one if one.halts else rest.last
        return outcome | (self.walk(context, at) if found is None else found)

    def _end(self, context: Context, outcome: Outcome) -> Outcome:
        for at in self.unseen(context):
            one, context = self._scripts(at).run(context)
            self.saw(at, context)
            outcome |= one
        if not outcome.halts and self.unseen(context):
            outcome |= Outcome.block(UNSETTLED)
        outcome = self._background(outcome, context)
        if outcome.halts or self.terminal is None:
            return closed(outcome, context)
        if self.asks(context, outcome):
            outcome, context = self._permission(context, outcome)
            if outcome.halts:
                return closed(outcome, context)
        context = permitted(context, outcome)
        return joined(outcome, as_outcome(self.terminal(context)), context)

    def _scripts(self, at: int) -> Scripts:
        step = self.chain.steps[at]
        assert isinstance(step, Scripts)  # noqa: S101
        return step

    def _background(self, outcome: Outcome, context: Context) -> Outcome:
        if self.chain.background is not None and self.starts_background(context, outcome):
            self.chain.background.run(context)
        return outcome

    def _permission(self, context: Context, outcome: Outcome) -> tuple[Outcome, Context]:
        assert isinstance(context, ToolContext)  # noqa: S101
        answer = self.stack.process(permission_of(context))
        context = after_permission(context, answer.context)
        said: Any = None
        if self.stack.ask is not None and answer.decision < Decision.ALLOW:
            said = self.stack.ask(context, outcome.reason)
            if inspect.iscoroutine(said):
                said = wait_for(said, "the question")
        return answered(outcome, answer, said), context


class AsyncWalk(_Course):
    """The walk in an event loop."""

    async def walk(self, context: Context, at: int = 0, outcome: Outcome = NOTHING) -> Outcome:
        """Go through the steps from one on."""
        steps = self.chain.steps
        while at < len(steps):
            step = steps[at]
            at += 1
            if isinstance(step, Scripts):
                one, context = await step.arun(context)
                self.saw(at - 1, context)
            elif step.around:
                return await self._around(step, context, at, outcome)
            else:
                one, context = await self._ask(step, context)
            outcome |= one
            if outcome.halts:
                return closed(await self._background(outcome, context), context)
        return await self._end(context, outcome)

    async def go_on(self, said: Any, context: Context, at: int) -> Outcome:
        """Take what the hook before a step said, and go on from there."""
        layer = self.chain.steps[at - 1]
        assert isinstance(layer, Layer)  # noqa: S101
        outcome, context = taken(layer, said, context)
        return closed(outcome, context) if outcome.halts else await self.walk(context, at, outcome)

    @staticmethod
    async def ended(terminal: Terminal, context: Context) -> Outcome:
        """Call the end of a chain."""
        said = terminal(context)
        return as_outcome(await said if inspect.isawaitable(said) else said)

    async def _ask(self, layer: Layer, context: Context) -> tuple[Outcome, Context]:
        try:
            if layer.match is not None and not layer.match(context):
                return NOTHING, context
            return taken(layer, await acall(layer, context), context)
        except Exception as fault:  # noqa: BLE001
            return failed(layer, fault, context)

    async def _around(self, layer: Layer, context: Context, at: int, outcome: Outcome) -> Outcome:
        if layer.match is not None and not layer.match(context):
            return await self.walk(context, at, outcome)
        rest = _Rest()
        loop = asyncio.get_running_loop()

        async def go_on(changed: Context | None = None) -> Outcome:
            try:
                rest.last = await self.walk(checked(layer, changed, context), at)
            except BaseException as fault:
                rest.fault = fault
                raise
            return rest.last

        def go_on_waiting(changed: Context | None = None) -> Outcome:
            return asyncio.run_coroutine_threadsafe(go_on(changed), loop).result()

        try:
            if layer.is_async:
                found = rest.result(await acall(layer, context, go_on))
            else:  # sync middleware waits for the rest of the chain, so it gets a thread to wait on
                found = rest.result(await asyncio.to_thread(call, layer, context, go_on_waiting))
        except Exception as fault:
            if fault is rest.fault:
                raise
            one, context = failed(layer, fault, context)
            found = one if one.halts else rest.last
        return outcome | (await self.walk(context, at) if found is None else found)

    async def _end(self, context: Context, outcome: Outcome) -> Outcome:
        for at in self.unseen(context):
            step = self.chain.steps[at]
            assert isinstance(step, Scripts)  # noqa: S101
            one, context = await step.arun(context)
            self.saw(at, context)
            outcome |= one
        if not outcome.halts and self.unseen(context):
            outcome |= Outcome.block(UNSETTLED)
        outcome = await self._background(outcome, context)
        if outcome.halts or self.terminal is None:
            return closed(outcome, context)
        if self.asks(context, outcome):
            outcome, context = await self._permission(context, outcome)
            if outcome.halts:
                return closed(outcome, context)
        context = permitted(context, outcome)
        return joined(outcome, await self.ended(self.terminal, context), context)

    async def _background(self, outcome: Outcome, context: Context) -> Outcome:
        if self.chain.background is not None and self.starts_background(context, outcome):
            await self.chain.background.arun(context)
        return outcome

    async def _permission(self, context: Context, outcome: Outcome) -> tuple[Outcome, Context]:
        assert isinstance(context, ToolContext)  # noqa: S101
        return await ask_permission(self.stack, context, outcome)


async def ask_permission(stack: Stack, context: ToolContext, outcome: Outcome) -> tuple[Outcome, ToolContext]:
    """Ask whether a call may go on: first the hooks for permissions, then the person."""
    answer = await stack.aprocess(permission_of(context))
    context = after_permission(context, answer.context)
    said: Any = None
    if stack.ask is not None and answer.decision < Decision.ALLOW:
        said = stack.ask(context, outcome.reason)
        said = await said if inspect.isawaitable(said) else said
    return answered(outcome, answer, said), context
