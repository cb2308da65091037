"""Hooks made of state processors and continuation criteria."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from boathook.agent.state import AgentState
from boathook.core.outcome import Outcome
from boathook.errors import HookError
from boathook.inprocess.contexts import StepContext, StopContext

Processor = Callable[[AgentState], AgentState | None]


class StateProcessor(Protocol):
    """Changes the state of an agent; None leaves it as it is."""

    def process(self, state: AgentState) -> AgentState | None: ...


class ContinuationCriterion(Protocol):
    def should_continue(self, state: AgentState) -> bool: ...


def make_state_hook(callback: Processor | StateProcessor) -> Callable[[StepContext], Outcome | None]:
    """Make a hook for steps from a callable or a processor that takes a state and returns one."""
    process: Any = getattr(callback, "process", callback)

    def hook(context: StepContext) -> Outcome | None:
        state = process(context.state)
        if state is None or state is context.state:
            return None
        if not isinstance(state, AgentState):
            raise HookError(f"a state processor must return an AgentState or None, not {type(state).__name__}")
        return Outcome.proceed(context.replace(state=state))

    hook.__qualname__ = getattr(process, "__qualname__", type(callback).__name__)
    return hook


class StateProcessorAdapter:
    """A state processor as a hook; `position` is "before" or "after" a step."""

    def __init__(self, processor: Processor | StateProcessor, position: str = "after") -> None:
        if position not in ("before", "after"):
            raise HookError(f"position must be before or after, not {position!r}")
        self.event = "pre-step" if position == "before" else "post-step"
        self._hook = make_state_hook(processor)

    def __call__(self, context: StepContext) -> Outcome | None:
        return self._hook(context) if context.kind.name == self.event else None


class ContinuationCriteriaAdapter:
    """A continuation criterion as a hook: it refuses a stop while the criterion returns True; `reason` goes to the agent."""

    def __init__(
        self, criterion: Callable[[AgentState], bool] | ContinuationCriterion, reason: str = "there is work left"
    ) -> None:
        should_continue: Any = getattr(criterion, "should_continue", criterion)
        self._should_continue: Callable[[AgentState], bool] = should_continue
        self._reason = reason

    def __call__(self, context: StopContext) -> Outcome | None:
        if context.kind.name != "pre-agent-turn-stop":
            return None
        return Outcome.block(self._reason) if self._should_continue(context.state) else None
