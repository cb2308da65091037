"""The heart: one event through its hooks. A pure generator that yields calls, receives their runs and returns the verdict.

Everything that waits, starts or reads is done by whoever drives it; so the sync and the async engine cannot differ.
"""

from __future__ import annotations

from boathook.core.outcome import ABSENT, NOTHING, Decision, Outcome
from boathook.core.run import Call, Run, Skip, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from boathook.core.catalog import Plan, Stage
    from boathook.core.event import Event
    from boathook.core.hook import Hook
    from boathook.core.policy import Policy

    Flow = Generator[tuple[Call, ...], tuple[Run, ...], tuple[Verdict, tuple[Call, ...]]]
    Place = tuple[int, int, str, str]

UNSETTLED = "the hooks keep rewriting each other's input; none of them has seen the last version"


class _Course:
    """Where a dispatch stands: the event as changed, what was said, and which version of the input each hook saw."""

    def __init__(self, event: Event, select: Callable[[Event], Plan], policy: Policy) -> None:
        self.event = event
        self.select = select
        self.policy = policy
        self.plan = select(event)
        self.outcome = NOTHING
        self.runs: tuple[Run, ...] = ()
        self.version = 0
        self.seen: dict[Place, int] = {}
        self.last_change: Place | None = None

    def run(self, stage: Stage, look: int) -> Generator[tuple[Call, ...], tuple[Run, ...], None]:
        """Ask the hooks of a stage and take in what they say."""
        runs = yield tuple(Call(hook, self.event, look) for hook in stage.hooks)
        self.runs += runs
        for hook in stage.hooks:
            self.seen[hook.order] = self.version
        said = NOTHING
        for run in runs:
            said |= self.policy.weigh(self.event, run.outcome)
        self.outcome |= said
        if said.input is not ABSENT and said.input != self.event.tool_input:
            self._rewrite(stage, said.input)

    def _rewrite(self, stage: Stage, tool_input: object) -> None:
        self.event = self.event.with_data(tool_input=tool_input)
        self.plan = self.select(self.event)
        self.version += 1
        self.last_change = stage.order
        for hook in stage.hooks[-1:]:  # the author of a rewrite has seen it
            self.seen[hook.order] = self.version

    def unseen(self, before: Place | None = None) -> list[Stage]:
        """Give the stages with hooks that match the input as it stands and have not seen it so."""
        return [
            stage
            for stage in self.plan.stages
            if (before is None or stage.order < before)
            and any(self.seen.get(hook.order, -1) != self.version for hook in stage.hooks)
        ]


def dispatch(
    event: Event, select: Callable[[Event], Plan], policy: Policy, skips: Callable[[Event], tuple[Skip, ...]]
) -> Flow:
    """Run an event through its hooks; return the verdict and the calls to start in the background."""
    course = _Course(event, select, policy)
    place = yield from _first_looks(course)
    if not course.outcome.halts and course.version:
        yield from _second_looks(course)
    outcome = policy.settle(course.event, course.outcome)
    late = _after(course, place) if outcome.halts else ()
    waiting = course.plan.background
    if outcome.halts and event.kind.is_pre:
        late, waiting = late + waiting, ()
    ended = _ended(course, outcome)
    skipped = skips(course.event) + tuple(Skip(hook.name, ended) for hook in late)
    verdict = Verdict(course.event, event, outcome, course.runs, (), skipped)
    return verdict, tuple(Call(hook, course.event) for hook in waiting)


def _after(course: _Course, place: Place | None) -> tuple[Hook, ...]:
    """Give the matching hooks that come after a place."""
    return tuple(h for s in course.plan.stages if place is None or s.order > place for h in s.hooks)


def _ended(course: _Course, outcome: Outcome) -> str:
    """Say who kept the remaining hooks from running."""
    by = next((run.hook.name for run in course.runs if run.outcome.decision == outcome.decision), None)
    who = f" by '{by}'" if by else ""
    return f"not reached: {outcome.decision.word}{who}"


def _first_looks(course: _Course) -> Generator[tuple[Call, ...], tuple[Run, ...], Place | None]:
    """Ask one stage after the other, each about the input as it then stands; give the place of the last one asked."""
    place: Place | None = None
    while not course.outcome.halts:
        stage = next((s for s in course.plan.stages if place is None or s.order > place), None)
        if stage is None:
            break
        place = stage.order
        yield from course.run(stage, 1)
    return place


def _second_looks(course: _Course) -> Generator[tuple[Call, ...], tuple[Run, ...], None]:
    """Let hooks that match the rewritten input and have not seen it look again, so that no rewrite slips past a guard."""
    version = course.version
    yield from _look_again(course, None, 2)
    if course.outcome.halts or course.version == version:
        return
    before, version = course.last_change, course.version
    yield from _look_again(course, before, 3)
    if not course.outcome.halts and course.version != version:
        course.outcome |= Outcome(Decision.BLOCK, ((Decision.BLOCK, UNSETTLED),))


def _look_again(course: _Course, before: Place | None, look: int) -> Generator[tuple[Call, ...], tuple[Run, ...], None]:
    place: Place | None = None
    while not course.outcome.halts:
        stage = next((s for s in course.unseen(before) if place is None or s.order > place), None)
        if stage is None:
            return
        place = stage.order
        yield from course.run(stage, look)
