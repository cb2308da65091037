"""File hooks as steps of a chain: those between two in-process hooks are dispatched together by the engine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar, cast

from boathook.core.event import STOP_KINDS, EventKind
from boathook.core.hook import ARMED, Hook
from boathook.core.outcome import NOTHING, Decision, Outcome
from boathook.engine import Engine
from boathook.inprocess.contexts import FILE_HOOKS, Context, StopContext, SubagentContext
from boathook.inprocess.layers import LOGGER

if TYPE_CHECKING:
    from boathook.core.verdict import Run, Verdict
    from boathook.inprocess.drivers import Driver

_StopT = TypeVar("_StopT", bound=StopContext | SubagentContext)


@dataclass(frozen=True, slots=True)
class FileHooks:
    engine: Engine
    priority: int

    async def run(self, context: Context, driver: Driver, questions: list[Run]) -> tuple[Outcome, Context]:
        """Run the hooks; those that want a person to be asked are added to `questions`."""
        if isinstance(context, StopContext | SubagentContext) and context.kind in STOP_KINDS:
            verdict, context = await self._ask_about_stop(context, driver)
        else:
            verdict = await driver.dispatch(self.engine, context.to_event())
        for text in verdict.warnings():
            LOGGER.warning("%s (at %s)", text, context.kind.name)
        questions += [run for run in verdict.runs if run.outcome.decision == Decision.ASK]
        opinion = Outcome(verdict.decision, verdict.outcome.all_reasons) if verdict.decision else NOTHING
        return opinion, context.apply_verdict(verdict)

    async def _ask_about_stop(self, context: _StopT, driver: Driver) -> tuple[Verdict, _StopT]:
        """Run the hooks at a stop: each may refuse it a few times in a turn. Return the context with those that refused now."""
        counts = context.file_hook_counts
        engine = self.engine if counts is None else self.engine.with_refusals(counts)
        verdict = await driver.dispatch(engine, context.to_event())
        if verdict.decision != Decision.BLOCK:
            return verdict, context
        limit = engine.catalog.settings.max_stop_blocks
        refused = {run.hook.identity: None for run in verdict.runs if run.outcome.decision == Decision.BLOCK}
        new = [each for each in refused if counts is None or counts.get(each, 0) < limit]
        return verdict, cast("_StopT", context.note_refusal(FILE_HOOKS, *new))


@dataclass(frozen=True, slots=True)
class BackgroundHooks:
    engine: Engine

    async def start(self, context: Context, driver: Driver) -> Context:
        event = context.to_event()
        # The plan leaves out what ran already as a sync hook.
        hooks = self.engine.catalog.plan(event).background
        if not hooks:
            return context
        return context.apply_verdict(await driver.dispatch(self.engine.only(hooks, diagnostics=False), event))


def make_file_steps(engine: Engine, kind: EventKind, cuts: Iterable[int]) -> list[FileHooks]:
    """Return the sync file hooks of a kind as steps, cut at the priorities of in-process hooks; the first reports diagnostics."""
    built_in = [hook for hook in engine.catalog.built_in if hook.kind is kind and hook.state == ARMED]
    hooks = [*built_in, *(hook for hook in engine.catalog.find_hooks(kind) if not _is_background(hook))]
    edges = sorted(set(cuts), reverse=True)
    groups: dict[int, list[Hook]] = {}
    for hook in hooks:
        groups.setdefault(sum(edge > hook.priority for edge in edges), []).append(hook)
    if not groups and engine.catalog.diagnostics:
        groups[0] = []
    steps: list[FileHooks] = []
    for _, group in sorted(groups.items()):
        priority = max((hook.priority for hook in group), default=100)
        steps.append(FileHooks(engine.only(tuple(group), diagnostics=not steps), priority))
    return steps


def find_background_hooks(engine: Engine, kind: EventKind) -> BackgroundHooks | None:
    return BackgroundHooks(engine) if any(map(_is_background, engine.catalog.find_hooks(kind))) else None


def _is_background(hook: Hook) -> bool:
    """Whether a hook starts in the background; one that cannot run is reported, or blocks, with the sync ones."""
    return hook.background and hook.state == ARMED
