"""Walking through a chain that is more than a loop of calls: matchers, middleware, failures, hooks of files, questions.

Two walks, one for plain programs and one for event loops. They differ in how they call and wait; what is decided is decided
by the functions they share.
"""

from __future__ import annotations

import dataclasses
import inspect
from typing import TYPE_CHECKING, Any

from boathook.core.dispatch import UNSETTLED
from boathook.core.event import PRE_TOOL
from boathook.core.json_text import is_same_json
from boathook.core.outcome import ABSENT, NOTHING, Decision, Outcome
from boathook.errors import HookError
from boathook.inprocess.contexts import Context, ToolContext, plain
from boathook.inprocess.file_hooks import Scripts
from boathook.inprocess.layers import (
    Layer,
    acall,
    acall_around,
    answer_of,
    bounded,
    call,
    call_around,
    failed,
    misplaced,
    taken,
    wait_for,
)
from boathook.inprocess.threads import late

if TYPE_CHECKING:
    from boathook.inprocess.stack import Chain, Stack, Terminal

NOBODY = "{} (nobody to ask)"
REFUSED = "{} (refused by a person)"
UNREASONED = "a hook wants a person to be asked"
LOOKS = 2  # rounds in which hooks of files look at what was changed after them
Word = tuple[Outcome, Context, bool]  # what a step said, the context it left, and whether that is the end of the chain


def as_outcome(said: Any) -> Outcome:
    """Read what a terminal gave back."""
    if said is None:
        return NOTHING
    if isinstance(said, Outcome):
        return said
    if isinstance(said, Context):
        return Outcome(context=said)
    raise HookError(f"the end of a chain gives back an Outcome, a context or None, not {type(said).__name__}")


def news(outcome: Outcome, given: Context) -> Outcome:
    """Return an outcome as `process` does: with a context only if it is another one than was given."""
    if outcome.context is not given:
        return outcome
    said = outcome.said or outcome.decision or outcome.contexts or outcome.messages or outcome.logs
    return outcome.replace(context=None) if said else NOTHING


class _Course:
    """What both walks know: the chain and its end, what hooks of files have seen and started, and whether all was settled."""

    def __init__(self, stack: Stack, chain: Chain, terminal: Terminal | None) -> None:
        self.stack, self.chain, self.terminal = stack, chain, terminal
        self.seen: dict[int, Any] = {}
        self.begun = self.settled = False
        self.allowed_for: Any = None

    def heard(self, one: Outcome, context: Context) -> Outcome:
        """Take in an opinion; an allow is for the input as it then stands, and for no other."""
        if one.decision == Decision.ALLOW and isinstance(context, ToolContext):
            self.allowed_for = plain(context.args)
        return one

    def permitted(self, context: Context, outcome: Outcome) -> Context:
        """Return the context with a note that the call was allowed, if it was, as it now is."""
        if outcome.decision != Decision.ALLOW or not isinstance(context, ToolContext) or context.allowed:
            return context
        same = self.allowed_for is not None and is_same_json(self.allowed_for, plain(context.args))
        return dataclasses.replace(context, allowed=True) if same else context

    def saw(self, at: int, context: Context) -> None:
        """Note what a step of hooks of files has seen, or made of it; as a copy, for arguments can be changed in place."""
        if isinstance(context, ToolContext) and context.kind.rewrites_input:
            self.seen[at] = plain(context.args)

    def unseen(self, context: Context) -> list[int]:
        """Return the steps of hooks of files that have not seen the input as it stands."""
        if not self.seen or not isinstance(context, ToolContext):
            return []
        now = plain(context.args)
        return [at for at, args in self.seen.items() if not is_same_json(args, now)]

    def asks(self, context: Context, outcome: Outcome) -> bool:
        """Whether a person is to decide before the terminal is reached."""
        return outcome.decision == Decision.ASK and context.kind is PRE_TOOL and self.terminal is not None

    def starts_background(self, context: Context, outcome: Outcome) -> bool:
        """Whether async hooks of files are to start now: once, whatever middleware does."""
        starts = self.chain.background is not None and not self.begun and not (outcome.halts and context.kind.is_pre)
        self.begun = self.begun or starts
        return starts

    def left_of(self, outcome: Outcome) -> Outcome:
        """Return what hooks before a middleware said, as far as it was not settled behind it."""
        return NOTHING if self.settled else outcome

    def scripts(self, at: int) -> Scripts:
        """Return a step of hooks of files."""
        step = self.chain.steps[at]
        assert isinstance(step, Scripts)  # noqa: S101
        return step

    def layer(self, at: int) -> Layer:
        """Return a step that is a hook in process."""
        step = self.chain.steps[at]
        assert isinstance(step, Layer)  # noqa: S101
        return step


def closed(outcome: Outcome, context: Context) -> Outcome:
    """Return an outcome with the context it ended with."""
    if outcome is NOTHING:  # as replace would, but three times as fast
        return Outcome(Decision.NONE, (), ABSENT, ABSENT, (), (), (), context)
    return outcome if outcome.context is context else outcome.replace(context=context)


def joined(outcome: Outcome, last: Outcome, context: Context) -> Outcome:
    """Return what hooks and the end of their chain say together."""
    return closed(outcome | last, context if last.context is None else last.context)


def is_open(answer: Outcome) -> bool:
    """Whether the hooks for permissions left a question to the person."""
    return answer.decision in (Decision.NONE, Decision.ASK)


def answered(outcome: Outcome, answer: Outcome, said: Any) -> Outcome:
    """Return the outcome after a question: of the hooks for permissions if they know, else of the person."""
    if said is not None and not isinstance(said, bool):
        raise HookError(f"the question was answered with {type(said).__name__}; wanted is True or False")
    if answer.halts:
        return Outcome(answer.decision, answer.said)
    if said or not is_open(answer):
        return Outcome(Decision.ALLOW)
    return Outcome.block((NOBODY if said is None else REFUSED).format(outcome.reason or UNREASONED))


def permission_of(context: ToolContext) -> ToolContext:
    """Return the context in which permission is asked for a call."""
    common = {name: getattr(context, name) for name in ("session_id", "work_dir", "state", "metadata", "more")}
    return ToolContext.permission(context.name, context.args, call_id=context.call_id, **common)


def after_permission(context: ToolContext, asked: Context | None) -> ToolContext:
    """Return the call as the hooks for permissions left it, with what they want to be known."""
    if not isinstance(asked, ToolContext):
        return context
    return dataclasses.replace(
        context,
        args=asked.args,
        metadata=asked.metadata,
        added=(*context.added, *asked.added),
        messages=(*context.messages, *asked.messages),
    )


class _Rest:
    """The rest of a chain as one middleware sees it: what came of it last, or what it raised last."""

    def __init__(self, layer: Layer, context: Context) -> None:
        self.layer, self.context = layer, context
        self.last: Outcome | None = None
        self.error: BaseException | None = None
        self.over = False

    def begin(self, changed: Any) -> Context:
        """Return the context that `next` goes on with."""
        if self.over:
            raise late(self.layer)
        if changed is None:
            return self.context
        if type(changed) is not type(self.context) or changed.kind is not self.context.kind:
            raise HookError(f"{self.layer.name} handed on a {type(changed).__name__} at {self.context.kind.name}")
        found: Context = changed
        return found

    def came(self, outcome: Outcome) -> Outcome:
        """Remember what came of it."""
        self.last, self.error = outcome, None
        return outcome

    def raised(self, error: BaseException) -> None:
        """Remember what it raised."""
        self.last, self.error = None, error

    @property
    def base(self) -> Context:
        """Return the context as it stands: after the rest, else as it was given."""
        return self.context if self.last is None or self.last.context is None else self.last.context

    @property
    def opinion(self) -> Outcome:
        """Return the mere opinion of the rest."""
        return NOTHING if self.last is None or self.last is NOTHING else Outcome(self.last.decision, self.last.said)

    @property
    def was_called(self) -> bool:
        """Whether the middleware went on."""
        return self.last is not None or self.error is not None

    def concluded(self, said: Any) -> Word:
        """Return what the answer of the middleware comes to; one without decision leaves that of the rest."""
        self.over = True
        if self.last is not None and said is self.last:
            return self.last, self.base, True
        opinion, found = (NOTHING, self.base) if said is None else answer_of(self.layer, said, self.base)
        if opinion is NOTHING and (found is self.base or found is self.context):
            return self._silent()
        here = found.kind is self.context.kind
        if here and self.base.kind is not found.kind:
            raise misplaced(self.layer, found, self.base)
        if opinion.said != self.opinion.said:
            opinion, found = bounded(self.layer, opinion, found)
        return opinion if opinion.decision else self.opinion, found, self.was_called or not here

    def _silent(self) -> Word:
        """Return what a middleware comes to that says nothing: what the rest came to, which is still to be walked if it was not."""
        if self.error is not None:
            raise self.error
        return self.opinion, self.base, self.was_called

    def broken(self, error: Exception) -> Word:
        """Return what the failure of the middleware comes to; what the rest raised passes through."""
        self.over = True
        if error is self.error:
            raise error
        one, found = failed(self.layer, error, self.base)
        if self.error is not None and not one.halts:
            raise self.error
        return self.opinion | one, found, self.was_called


class Walk(_Course):
    """The walk of a plain program."""

    def walk(self, context: Context, at: int = 0, outcome: Outcome = NOTHING, before: Outcome = NOTHING) -> Outcome:
        """Go through the steps from one on; `before` is what was said before a middleware that is in the middle of its work."""
        steps = self.chain.steps
        while at < len(steps):
            step = steps[at]
            at += 1
            if isinstance(step, Scripts):
                one, context = step.run(context)
                self.saw(at - 1, context)
            elif step.around:
                one, context, done = self._around(step, context, at, before | outcome)
                if done:
                    return closed(self.left_of(outcome) | one, context)
            else:
                one, context = self._ask(step, context)
            outcome |= self.heard(one, context)
            if outcome.halts:
                return closed(outcome, self._background(outcome, context))
        return self._end(context, outcome, before)

    def go_on(self, said: Any, context: Context, at: int) -> Outcome:
        """Take what the hook before a step said, and go on from there."""
        outcome, found = taken(self.layer(at - 1), said, context)
        self.heard(outcome, found)
        return news(closed(outcome, found) if outcome.halts else self.walk(found, at, outcome), context)

    def _ask(self, layer: Layer, context: Context) -> tuple[Outcome, Context]:
        try:
            if layer.match is not None and not layer.match(context):
                return NOTHING, context
            return taken(layer, call(layer, context), context)
        except Exception as error:  # noqa: BLE001
            return failed(layer, error, context)

    def _around(self, layer: Layer, context: Context, at: int, before: Outcome) -> Word:
        rest = _Rest(layer, context)

        def go_on(changed: Context | None = None) -> Outcome:
            given = rest.begin(changed)
            try:
                return rest.came(self.walk(given, at, NOTHING, before))
            except BaseException as error:
                rest.raised(error)
                raise

        try:
            if layer.match is not None and not layer.match(context):
                return NOTHING, context, False
            return rest.concluded(call_around(layer, context, go_on))
        except Exception as error:  # noqa: BLE001
            return rest.broken(error)

    def _end(self, context: Context, outcome: Outcome, before: Outcome) -> Outcome:
        outcome, context = self._look_again(outcome, context)
        if self.asks(context, before | outcome):
            outcome, context = self._permission(context, before | outcome)
            self.heard(outcome, context)
            looked, context = self._look_again(NOTHING, context)
            outcome, before = looked if looked.halts else outcome, NOTHING
            self.settled = not outcome.halts
        context = self._background(outcome, context)
        if outcome.halts or self.terminal is None:
            return closed(outcome, context)
        context = self.permitted(context, before | outcome)
        return joined(outcome, as_outcome(self.terminal(context)), context)

    def _look_again(self, outcome: Outcome, context: Context) -> tuple[Outcome, Context]:
        """Let hooks of files look at an input that was changed after them, until they have all seen it so."""
        for _ in range(LOOKS):
            for at in self.unseen(context):
                if not outcome.halts:
                    one, context = self.scripts(at).run(context)
                    self.saw(at, context)
                    outcome |= self.heard(one, context)
        return outcome if outcome.halts or not self.unseen(context) else outcome | Outcome.block(UNSETTLED), context

    def _background(self, outcome: Outcome, context: Context) -> Context:
        if self.chain.background is not None and self.starts_background(context, outcome):
            return self.chain.background.run(context)
        return context

    def _permission(self, context: Context, outcome: Outcome) -> tuple[Outcome, Context]:
        assert isinstance(context, ToolContext)  # noqa: S101
        answer = self.stack.process(permission_of(context))
        context = after_permission(context, answer.context)
        said: Any = None
        if self.stack.ask is not None and is_open(answer):
            said = self.stack.ask(context, outcome.reason or UNREASONED)
            said = wait_for(said, "the question") if inspect.isawaitable(said) else said
        return answered(outcome, answer, said), context


class AsyncWalk(_Course):
    """The walk in an event loop."""

    async def walk(
        self, context: Context, at: int = 0, outcome: Outcome = NOTHING, before: Outcome = NOTHING
    ) -> Outcome:
        """Go through the steps from one on; `before` is what was said before a middleware that is in the middle of its work."""
        steps = self.chain.steps
        while at < len(steps):
            step = steps[at]
            at += 1
            if isinstance(step, Scripts):
                one, context = await step.arun(context)
                self.saw(at - 1, context)
            elif step.around:
                one, context, done = await self._around(step, context, at, before | outcome)
                if done:
                    return closed(self.left_of(outcome) | one, context)
            else:
                one, context = await self._ask(step, context)
            outcome |= self.heard(one, context)
            if outcome.halts:
                return closed(outcome, await self._background(outcome, context))
        return await self._end(context, outcome, before)

    async def go_on(self, said: Any, context: Context, at: int) -> Outcome:
        """Take what the hook before a step said, and go on from there."""
        outcome, found = taken(self.layer(at - 1), said, context)
        self.heard(outcome, found)
        return news(closed(outcome, found) if outcome.halts else await self.walk(found, at, outcome), context)

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
        except Exception as error:  # noqa: BLE001
            return failed(layer, error, context)

    async def _around(self, layer: Layer, context: Context, at: int, before: Outcome) -> Word:
        rest = _Rest(layer, context)

        async def go_on(changed: Context | None = None) -> Outcome:
            given = rest.begin(changed)
            try:
                return rest.came(await self.walk(given, at, NOTHING, before))
            except BaseException as error:
                rest.raised(error)
                raise

        try:
            if layer.match is not None and not layer.match(context):
                return NOTHING, context, False
            return rest.concluded(await acall_around(layer, context, go_on))
        except Exception as error:  # noqa: BLE001
            return rest.broken(error)

    async def _end(self, context: Context, outcome: Outcome, before: Outcome) -> Outcome:
        outcome, context = await self._look_again(outcome, context)
        if self.asks(context, before | outcome):
            outcome, context = await self._permission(context, before | outcome)
            self.heard(outcome, context)
            looked, context = await self._look_again(NOTHING, context)
            outcome, before = looked if looked.halts else outcome, NOTHING
            self.settled = not outcome.halts
        context = await self._background(outcome, context)
        if outcome.halts or self.terminal is None:
            return closed(outcome, context)
        context = self.permitted(context, before | outcome)
        return joined(outcome, await self.ended(self.terminal, context), context)

    async def _look_again(self, outcome: Outcome, context: Context) -> tuple[Outcome, Context]:
        for _ in range(LOOKS):
            for at in self.unseen(context):
                if not outcome.halts:
                    one, context = await self.scripts(at).arun(context)
                    self.saw(at, context)
                    outcome |= self.heard(one, context)
        return outcome if outcome.halts or not self.unseen(context) else outcome | Outcome.block(UNSETTLED), context

    async def _background(self, outcome: Outcome, context: Context) -> Context:
        if self.chain.background is not None and self.starts_background(context, outcome):
            return await self.chain.background.arun(context)
        return context

    async def _permission(self, context: Context, outcome: Outcome) -> tuple[Outcome, Context]:
        assert isinstance(context, ToolContext)  # noqa: S101
        return await ask_permission(self.stack, context, outcome)


async def ask_permission(stack: Stack, context: ToolContext, outcome: Outcome) -> tuple[Outcome, ToolContext]:
    """Ask whether a call may go on: first the hooks for permissions, then the person."""
    answer = await stack.aprocess(permission_of(context))
    context = after_permission(context, answer.context)
    said: Any = None
    if stack.ask is not None and is_open(answer):
        said = stack.ask(context, outcome.reason or UNREASONED)
        said = await said if inspect.isawaitable(said) else said
    return answered(outcome, answer, said), context
