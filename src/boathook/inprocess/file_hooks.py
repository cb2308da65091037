"""Hooks of files as layers of a stack: those between two hooks in process are dispatched together by the engine."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from boathook.core.event import Event, EventKind
from boathook.core.hook import ARMED, Hook
from boathook.core.outcome import NOTHING, Outcome
from boathook.core.verdict import Verdict
from boathook.engine import Engine
from boathook.inprocess.contexts import Context

LOG = logging.getLogger("boathook")


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


@dataclass(frozen=True, slots=True)
class Background:
    """The async hooks of files of a kind, which start when all others have had their say."""

    engine: Engine

    def run(self, context: Context) -> Context:
        """Start them; return the context with what they could not do."""
        event = context.to_event()
        meant = self._meant(event)
        return context.absorb(meant.dispatch(event)) if meant else context

    async def arun(self, context: Context) -> Context:
        """Do the same in an event loop."""
        event = context.to_event()
        meant = self._meant(event)
        return context.absorb(await meant.adispatch(event)) if meant else context

    def _meant(self, event: Event) -> Engine | None:
        """Return an engine for those that the event asks for; the plan leaves out what ran already as a sync hook."""
        hooks = self.engine.catalog.plan(event).background
        return self.engine.only(hooks, diagnostics=False) if hooks else None


def _absorbed(verdict: Verdict, context: Context) -> tuple[Outcome, Context]:
    for text in verdict.warnings():
        LOG.warning("%s (at %s)", text, context.kind.name)
    said = Outcome(verdict.decision, verdict.outcome.said) if verdict.decision else NOTHING
    return said, context.absorb(verdict)


def steps_of(engine: Engine, kind: EventKind, cuts: Iterable[int]) -> list[Scripts]:
    """Return the sync hooks of a kind as steps, cut wherever a hook in process has its place; the first tells what cannot run."""
    hooks = [hook for hook in engine.catalog.concerned(kind) if not _waits(hook)]
    edges = sorted(set(cuts), reverse=True)
    groups: dict[int, list[Hook]] = {}
    for hook in hooks:
        groups.setdefault(sum(edge > hook.priority for edge in edges), []).append(hook)
    if not groups and engine.catalog.diagnostics:
        groups[0] = []
    return [_step(engine, groups[key], first=at == 0) for at, key in enumerate(sorted(groups))]


def background_of(engine: Engine, kind: EventKind) -> Background | None:
    """Return the async hooks of a kind, if there are any."""
    return Background(engine) if any(map(_waits, engine.catalog.concerned(kind))) else None


def _waits(hook: Hook) -> bool:
    """Whether a hook is to start in the background; one that cannot run is told of, or blocks, with the sync ones."""
    return hook.background and hook.state == ARMED


def _step(engine: Engine, hooks: list[Hook], *, first: bool) -> Scripts:
    priority = max((hook.priority for hook in hooks), default=100)
    return Scripts(engine.only(tuple(hooks), diagnostics=first), priority)
