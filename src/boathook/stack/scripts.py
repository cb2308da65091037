"""Hooks of files as layers of a stack: those between two hooks in process are dispatched together by the engine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from boathook.core.event import EventKind
from boathook.core.hook import Hook
from boathook.core.outcome import NOTHING, Outcome
from boathook.core.run import Verdict
from boathook.engine import Engine
from boathook.stack.contexts import Context


@dataclass(frozen=True, slots=True)
class Scripts:
    """Some hooks of files, as one step of a chain."""

    engine: Engine
    priority: int

    def run(self, context: Context) -> tuple[Outcome, Context]:
        """Dispatch the event to them."""
        return _absorbed(self.engine.dispatch(context.to_event()), context)

    async def arun(self, context: Context) -> tuple[Outcome, Context]:
        """Dispatch the event to them without holding up the event loop."""
        return _absorbed(await self.engine.adispatch(context.to_event()), context)


def _absorbed(verdict: Verdict, context: Context) -> tuple[Outcome, Context]:
    said = Outcome(verdict.decision, verdict.outcome.said) if verdict.decision else NOTHING
    return said, context.absorb(verdict)


def steps_of(engine: Engine, kind: EventKind, cuts: Iterable[int]) -> list[Scripts]:
    """Give the sync hooks of a kind as steps, cut wherever a hook in process has its place; the first tells what cannot run."""
    hooks = [hook for hook in engine.catalog.concerned(kind) if not hook.background]
    edges = sorted(set(cuts), reverse=True)
    groups: dict[int, list[Hook]] = {}
    for hook in hooks:
        groups.setdefault(sum(edge > hook.priority for edge in edges), []).append(hook)
    if not groups and engine.catalog.diagnostics:
        groups[0] = []
    return [_step(engine, groups[key], first=at == 0) for at, key in enumerate(sorted(groups))]


def background_of(engine: Engine, kind: EventKind) -> Scripts | None:
    """Give the async hooks of a kind, which start when all others have had their say."""
    hooks = [hook for hook in engine.catalog.concerned(kind) if hook.background]
    return _step(engine, hooks, first=False) if hooks else None


def _step(engine: Engine, hooks: list[Hook], *, first: bool) -> Scripts:
    priority = max((hook.priority for hook in hooks), default=100)
    return Scripts(engine.only(tuple(hooks), diagnostics=first), priority)
