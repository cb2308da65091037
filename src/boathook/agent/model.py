"""Messages between an agent and its model: one small protocol, for any provider."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from boathook.inprocess.operations import ToolCall

SYSTEM, USER, ASSISTANT, TOOL = "system", "user", "assistant", "tool"
# An estimate.
CHARS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation; one of an assistant may call tools, one of a tool is the result of a call."""

    role: str
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    name: str = ""
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer of a model: text, tools to call, and the tokens of the conversation if the model reports them."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class BrokenCall(ToolCall):
    """A call that cannot be read; `problem` says why. The model reads it, and no hook is asked."""

    problem: str = ""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """The description of a tool for a model; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


class Model(Protocol):
    """What the agent asks: a name, and a reply to a conversation."""

    @property
    def name(self) -> str:
        """Return the name that records and requests use."""
        ...

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Reply:
        """Return the next text or tool calls for a conversation."""
        ...


def estimate_tokens(messages: Sequence[Message]) -> int:
    """Estimate the tokens of a conversation, for models that do not report them."""
    return sum(map(count_characters, messages)) // CHARS_PER_TOKEN


def count_characters(message: Message) -> int:
    return len(message.text) + sum(len(call.name) + len(str(dict(call.args))) for call in message.calls)
