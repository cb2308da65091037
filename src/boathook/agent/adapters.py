"""Hooks made of things that were not written as hooks: processors of the state, criteria for going on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from boathook.agent.state import AgentState
from boathook.core.outcome import Outcome
from boathook.errors import HookError
from boathook.inprocess.contexts import StepContext, StopContext

Processor = Callable[[AgentState], AgentState | None]


class StateProcessor(Protocol):
    """Makes another state of a state."""

    def process(self, state: AgentState) -> AgentState | None:
        """Return the state to go on with; None leaves it."""
        ...


class ContinuationCriterion(Protocol):
    """Says whether an agent should go on."""

    def should_continue(self, state: AgentState) -> bool:
        """Whether there is work left."""
        ...


def from_state(callback: Processor | StateProcessor) -> Callable[[StepContext], Outcome | None]:
    """Make a hook for steps of something that takes a state and gives one."""
    found: Any = getattr(callback, "process", callback)

    def hook(context: StepContext) -> Outcome | None:
        state = found(context.state)
        if state is None or state is context.state:
            return None
        if not isinstance(state, AgentState):
            raise HookError(f"a processor of the state gives an AgentState back, not {type(state).__name__}")
        return Outcome.proceed(context.replace(state=state))

    hook.__qualname__ = getattr(found, "__qualname__", type(callback).__name__)
    return hook


class StateProcessorAdapter:
    """A processor of the state as a hook: `position` says whether it works before or after a step."""

    def __init__(self, processor: Processor | StateProcessor, position: str = "after") -> None:
        """Take the processor and its place."""
        if position not in ("before", "after"):
            raise HookError(f"position must be before or after, not {position!r}")
        self.event = "pre-step" if position == "before" else "post-step"
        self._hook = from_state(processor)

    def __call__(self, context: StepContext) -> Outcome | None:
        """Process the state at the right moment."""
        return self._hook(context) if context.kind.name == self.event else None


class ContinuationCriteriaAdapter:
    """A criterion for going on as a hook: while it says that there is work left, a stop is refused."""

    def __init__(
        self, criterion: Callable[[AgentState], bool] | ContinuationCriterion, reason: str = "there is work left"
    ) -> None:
        """Take the criterion and what the agent is told."""
        found: Any = getattr(criterion, "should_continue", criterion)
        self._asked: Callable[[AgentState], bool] = found
        self._reason = reason

    def __call__(self, context: StopContext) -> Outcome | None:
        """Refuse a stop while there is work left."""
        if context.kind.name != "pre-agent-turn-stop":
            return None
        return Outcome.block(self._reason) if self._asked(context.state) else None
