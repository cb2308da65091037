"""The heart: one event through its hooks. A pure generator that yields calls, receives their runs and returns the verdict.

Everything that waits, starts or reads is done by whoever drives it; so the sync and the async engine cannot differ.
"""

from __future__ import annotations

from boathook.core.catalog import TOGETHER, UNTRUSTED_STATES, Stage
from boathook.core.json_text import is_same_json
from boathook.core.outcome import ABSENT, NOTHING, Decision, Outcome
from boathook.core.verdict import Call, Run, Skip, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any

    from boathook.core.catalog import Plan
    from boathook.core.event import Event
    from boathook.core.hook import Hook
    from boathook.core.policy import Policy

    Asking = Generator[tuple[Call, ...], tuple[Run, ...], None]
    Flow = Generator[tuple[Call, ...], tuple[Run, ...], tuple[Verdict, tuple[Call, ...]]]
    Place = tuple[int, int, str, str]

DOUBT, REVIEW = "hooks of this project did not run", "Review them: boathook trust"
UNSETTLED = "the hooks keep rewriting each other's input; none of them has seen the last version"


class _Course:
    """Where a dispatch stands: the event as changed, what was said, and which inputs each hook has seen."""

    def __init__(self, event: Event, select: Callable[[Event], Plan], policy: Policy) -> None:
        self.event = event
        self.select = select
        self.policy = policy
        self.plan = select(event)
        self.outcome = NOTHING
        self.runs: tuple[Run, ...] = ()
        self.changes = 0
        self.seen: dict[Place, tuple[Any, ...]] = {}
        self.last_change: Place | None = None
        self.not_reached: tuple[Hook, ...] = ()

    def walk(self, stages: Callable[[], tuple[Stage, ...]], look: int) -> Asking:
        """Ask stages one after the other, those that there are as the input then stands, until one halts."""
        place: Place | None = None
        while True:
            rest = [stage for stage in stages() if place is None or stage.order > place]
            if self.outcome.halts:
                hooks = (hook for stage in rest for hook in stage.hooks)
                self.not_reached = tuple(
                    hook for hook in hooks if hook.order not in self.seen
                )  # others ran, if earlier
            if self.outcome.halts or not rest:
                return
            place = rest[0].order
            yield from self._ask(rest[0], look)

    def _ask(self, stage: Stage, look: int) -> Asking:
        """Ask the hooks of a stage and take in what they say."""
        runs = yield tuple(Call(hook, self.event, look) for hook in stage.hooks)
        self.runs += runs
        for hook in stage.hooks:
            self._saw(hook)
        for run in runs:
            self.outcome |= self.policy.weigh(self.event, run.outcome)
        rewrites = [run for run in runs if self._is_rewrite(run.outcome.input)]
        if rewrites:
            last = rewrites[-1]  # of several in one stage
            self.outcome = self.outcome.without_allow() | _allowed(last.outcome)  # others allowed what it was before
            self.event = self.event.with_data(tool_input=last.outcome.input)
            self.plan = self.select(self.event)
            self.changes += 1
            self.last_change = stage.order
            self._saw(last.hook)

    def _is_rewrite(self, found: Any) -> bool:
        return found is not ABSENT and not is_same_json(found, self.event.tool_input)

    def _saw(self, hook: Hook) -> None:
        self.seen[hook.order] = (*self.seen.get(hook.order, ()), self.event.tool_input)

    def unseen(self, until: Place | None = None) -> tuple[Stage, ...]:
        """Return the stages of hooks that match the input as it stands and have not seen it so."""
        stages = (s for s in self.plan.stages if until is None or s.order < until or s.order == until == TOGETHER)
        fresh = (Stage(s.order, tuple(hook for hook in s.hooks if not self._has_seen(hook))) for s in stages)
        return tuple(stage for stage in fresh if stage.hooks)

    def _has_seen(self, hook: Hook) -> bool:
        now = self.event.tool_input
        return any(is_same_json(now, one) for one in self.seen.get(hook.order, ()))


def dispatch(
    event: Event, select: Callable[[Event], Plan], policy: Policy, skips: Callable[[Event], tuple[Skip, ...]]
) -> Flow:
    """Run an event through its hooks; return the verdict and the calls to start in the background."""
    course = _Course(event, select, policy)
    yield from course.walk(lambda: course.plan.stages, 1)
    if not course.outcome.halts and course.changes:
        yield from _look_again(course)
    outcome = policy.settle(course.event, course.outcome)
    late, waiting = course.not_reached, course.plan.background
    if outcome.halts and event.kind.is_pre:
        late, waiting = late + waiting, ()
    skipped = skips(course.event)
    if doubts := _doubts(skipped):
        outcome |= Outcome(messages=doubts)
    skipped += tuple(Skip(hook.name, _ended(course, outcome)) for hook in late)
    verdict = Verdict(course.event, event, outcome, course.runs, (), skipped)
    return verdict, tuple(Call(hook, course.event) for hook in waiting)


def _look_again(course: _Course) -> Asking:
    """Let hooks that match the rewritten input and have not seen it look again, so that no rewrite slips past a guard."""
    changes = course.changes
    yield from course.walk(course.unseen, 2)
    if course.outcome.halts or course.changes == changes:
        return
    changes, until = course.changes, course.last_change
    yield from course.walk(lambda: course.unseen(until), 3)
    if not course.outcome.halts and course.changes != changes:
        course.outcome |= Outcome(Decision.BLOCK, ((Decision.BLOCK, UNSETTLED),))


def _doubts(skipped: tuple[Skip, ...]) -> tuple[str, ...]:
    """Return the word to the person about hooks that nobody has trusted as they are."""
    names = [f"{skip.hook} ({skip.state})" for skip in skipped if skip.state in UNTRUSTED_STATES]
    return (f"{DOUBT}: {', '.join(names)}. {REVIEW}",) if names else ()


def _allowed(outcome: Outcome) -> Outcome:
    """Return the allow in an outcome, if it is one."""
    return Outcome(outcome.decision, outcome.said) if outcome.decision == Decision.ALLOW else NOTHING


def _ended(course: _Course, outcome: Outcome) -> str:
    """Report who kept the remaining hooks from running."""
    by = next((run.hook.name for run in course.runs if run.outcome.decision == outcome.decision), None)
    who = f" by '{by}'" if by else ""
    return f"not reached: {outcome.decision.word}{who}"
