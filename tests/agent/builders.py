"""What the tests of the agent have in common: tools that remember, a witness of every event, conversations as short lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from boathook import AgentBuilder, Context, ScriptedModel, Stack, Tool, ToolCall, TurnResult
from boathook.agent.model import Message

FIRST = 10_000  # the priority of a witness: it sees what is asked, independent of what others then decide
TIMINGS = ("duration_ms", "duration_seconds")


def call(tool: str, /, **args: Any) -> ToolCall:
    return ToolCall(tool, args)


def child(task: str = "look", name: str = "helper") -> ToolCall:
    return call("Subagent", name=name, task=task)


def text_tool(tool: str, says: str = "", *, ran: list[Any] | None = None, needs_permission: bool = False) -> Tool:
    """A tool that returns a text, and notes with what it was called."""

    async def run(args, _):
        if ran is not None:
            ran.append((tool, dict(args)))
        return says or f"{tool} is done"

    return Tool(tool, f"{tool} something", run, {}, needs_permission)


def failing_tool(tool: str = "fail", says: str = "it broke", *, ran: list[Any] | None = None) -> Tool:
    async def run(args, _):
        if ran is not None:
            ran.append((tool, dict(args)))
        raise OSError(says)

    return Tool(tool, f"{tool} something", run)


def agent_of(*moves: Any, tools: Sequence[Tool] = (), **models: Sequence[Any]) -> tuple[AgentBuilder, ScriptedModel]:
    """A builder with a scripted model, and the model; subagents by name, with their moves and the same tools."""
    model = ScriptedModel(moves)
    builder = AgentBuilder().with_model(model).with_tools(*tools)
    for name, scripted in models.items():
        helper = AgentBuilder().with_model(ScriptedModel(scripted, name)).with_tools(*tools).build()
        builder = builder.with_subagent(name, helper)
    return builder, model


def list_lines(messages: Sequence[Message]) -> list[str]:
    """A conversation, a line a message."""
    return [_line(message) for message in messages]


def _line(message: Message) -> str:
    calls = "".join(f" {call.name}{dict(call.args) or ''}" for call in message.calls)
    failed = "!" if message.is_error else ""
    return f"{message.role}{failed}: {message.text}{calls}".rstrip()


def note(text: str) -> str:
    return f"user: [Hook context: {text}]"


def feedback(text: str) -> str:
    return f"user: [Hook blocked stop: {text}]"


def shown(result: TurnResult) -> str:
    return ": ".join(filter(None, [result.status, result.reason or result.text]))


class Witness:
    """Sees every event first, and has no opinion. `events` are (who, kind, data), with timings and random ids replaced."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, dict[str, Any]]] = []
        self.contexts: list[Context] = []
        self._names: dict[str, str] = {}

    @property
    def stack(self) -> Stack:
        return Stack().with_(self.see, priority=FIRST)

    def see(self, context: Context) -> None:
        self.contexts.append(context)
        data = dict(context.to_event().data)
        for name in TIMINGS:
            if name in data:
                assert data[name] >= 0
                data[name] = "some"
        if "agent_id" in data:
            data["agent_id"] = self.name_of(data["agent_id"], data["agent_type"])
        self.events.append((self.name_of(context.state.agent_id), context.event, data))

    def name_of(self, agent_id: str, kind: str = "") -> str:
        """Name agents in the order they are seen: the main one, then each subagent by its type and number."""
        if agent_id not in self._names:
            same = sum(name.startswith(f"{kind}-") for name in self._names.values()) + 1
            self._names[agent_id] = f"{kind}-{same}" if kind else "main"
        return self._names[agent_id]

    @property
    def kinds(self) -> list[str]:
        return [kind for _, kind, _ in self.events]

    def of(self, *kinds: str) -> list[dict[str, Any]]:
        return [data for _, kind, data in self.events if kind in kinds]
