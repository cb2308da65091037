"""Where an agent stands, as a value that hooks can look at."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from boathook.agent.model import Message, Reply
from boathook.inprocess.operations import ToolCall


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What became of one tool call, as the model reads it."""

    call: ToolCall
    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One step: what the model answered, and the results of the tools it called."""

    index: int
    reply: Reply
    results: tuple[ToolResult, ...] = ()

    @property
    def has_errors(self) -> bool:
        """Whether a tool call failed or was blocked."""
        return any(result.is_error for result in self.results)


@dataclass(frozen=True, slots=True)
class AgentState:
    """An agent between two moves: who it is, its conversation, the steps of this turn, and what hooks left along the way."""

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
        """Return the last step."""
        return self.steps[-1] if self.steps else None

    def with_messages(self, *messages: Message) -> Self:
        """Return the state with more messages in its conversation."""
        return dataclasses.replace(self, messages=(*self.messages, *messages))

    def with_metadata(self, key: str, value: Any) -> Self:
        """Return the state with a value that later hooks find."""
        return dataclasses.replace(self, metadata={**self.metadata, key: value})
