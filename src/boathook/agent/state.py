"""The state of an agent, as a value that hooks can read."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Self

from boathook.agent.model import Message, Reply
from boathook.core.outcome import DEFAULT_BLOCK_REASON, Outcome
from boathook.inprocess.contexts import ToolContext
from boathook.inprocess.operations import ToolCall
from boathook.inprocess.read_only import thaw_arguments
from boathook.inprocess.run_outcome import describe_result

TurnStatus = Literal["done", "blocked", "stopped", "gate_lifted"]
# How a turn ends.
DONE: Final = "done"
BLOCKED: Final = "blocked"
STOPPED: Final = "stopped"
GATE_LIFTED: Final = "gate_lifted"
# Why an agent stops.
NO_TOOL_CALLS, TOOL_REJECTED, MAX_STEPS_REACHED = "no_tool_calls", "tool_rejected", "max_steps"


@dataclass(frozen=True, slots=True)
class ToolResult:
    call: ToolCall
    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One step: the reply of the model, and the results of the tools it called."""

    index: int
    reply: Reply
    results: tuple[ToolResult, ...] = ()

    @property
    def has_errors(self) -> bool:
        """Whether a tool call failed or was blocked."""
        return any(result.is_error for result in self.results)


@dataclass(frozen=True, slots=True)
class TurnResult:
    """How a turn ended, with the reason; the last text of the agent.

    `status` is "done", "blocked" (before it began), "stopped" (by a hook) or "gate_lifted" (the agent stopped although a hook
    refused that, because the refusals were used up or the stop could not be refused). `messages` are from hooks to the person;
    `stop_reason` is why the agent stopped.
    """

    status: TurnStatus
    text: str = ""
    reason: str = ""
    steps: tuple[Step, ...] = ()
    messages: tuple[str, ...] = ()
    stop_reason: str = ""


@dataclass(frozen=True, slots=True)
class AgentState:
    """An agent: its identity, its conversation, the steps of this turn, and the values that hooks stored."""

    agent_id: str
    parent_agent_id: str | None = None
    agent_type: str = ""
    messages: tuple[Message, ...] = ()
    steps: tuple[Step, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def step_count(self) -> int:
        """Count the steps of this turn."""
        return len(self.steps)

    @property
    def current_step(self) -> Step | None:
        """Return the last step, or None."""
        return self.steps[-1] if self.steps else None

    def with_messages(self, *messages: Message) -> Self:
        """Return the state with more messages in its conversation."""
        return dataclasses.replace(self, messages=(*self.messages, *messages))

    def with_metadata(self, key: str, value: Any) -> Self:
        """Return the state with a value that later hooks can read."""
        return dataclasses.replace(self, metadata={**self.metadata, key: value})


def join_reasons(outcome: Outcome, separator: str = "\n") -> str:
    """Return the reasons of a block as one text, which is never empty."""
    return separator.join(filter(None, outcome.reasons)) or DEFAULT_BLOCK_REASON


def make_tool_result(outcome: Outcome, context: ToolContext) -> ToolResult:
    """Return the result of a tool call from what its hooks left; a refused call is an error."""
    call = ToolCall(context.name, thaw_arguments(context.args), context.call_id)
    if context.kind.is_pre:
        return ToolResult(call, join_reasons(outcome), is_error=True)
    reasons = outcome.reason if outcome.is_blocked else ""
    text = "\n".join(filter(None, [describe_result(context), reasons]))
    return ToolResult(call, text, is_error=context.error is not None)
