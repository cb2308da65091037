"""What an agent says to its model and hears from it: one small protocol, for any provider."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from boathook.inprocess.operations import ToolCall

SYSTEM, USER, ASSISTANT, TOOL = "system", "user", "assistant", "tool"
CHARACTERS = 4  # of a token, as a guess


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation; an assistant's may call tools, a tool's is the result of a call."""

    role: str
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    name: str = ""
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered: text, tools to call, and how many tokens the conversation had, if it says so."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model is told of it; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


class Model(Protocol):
    """Answers a conversation."""

    @property
    def name(self) -> str:
        """Return the model's name."""
        ...

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Reply:
        """Answer."""
        ...


def estimate_tokens(messages: Sequence[Message]) -> int:
    """Guess how many tokens a conversation has, where the model does not say."""
    return sum(map(characters, messages)) // CHARACTERS


def characters(message: Message) -> int:
    """Count the characters of a message."""
    return len(message.text) + sum(len(call.name) + len(str(dict(call.args))) for call in message.calls)
