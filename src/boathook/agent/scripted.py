"""A model that plays a script: for tests, demonstrations, and agents without a network."""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from boathook.agent.model import Message, Reply, ToolSpec
from boathook.errors import ConfigError
from boathook.inprocess.operations import ToolCall

Move = str | Reply | ToolCall | Sequence[ToolCall] | BaseException | Callable[[Sequence[Message]], Any]


class ScriptedModel:
    """Plays its moves in order: a text ends a turn, calls are made together, an error is raised.

    A callable, async or not, gets the conversation and returns the move. `requests` has the conversation of each request.
    """

    def __init__(self, moves: Iterable[Move], name: str = "scripted") -> None:
        self.name = name
        self.requests: list[tuple[Message, ...]] = []
        self._moves = iter(moves)
        self._calls = 0

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Reply:  # noqa: ARG002
        """Return the next move; after the last one, an empty text."""
        self.requests.append(tuple(messages))
        move: Any = next(self._moves, "")
        while callable(move) and not isinstance(move, Reply | ToolCall):
            move = move(messages)
            move = await move if inspect.isawaitable(move) else move
        if isinstance(move, BaseException):
            raise move
        if isinstance(move, str):
            return Reply(move)
        if isinstance(move, Reply):
            return Reply(move.text, self._add_ids(move.calls), move.tokens)
        return Reply("", self._add_ids((move,) if isinstance(move, ToolCall) else tuple(move)))

    def _add_ids(self, calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
        calls_with_ids = []
        for call in calls:
            self._calls += 1
            calls_with_ids.append(dataclasses.replace(call, id=call.id or f"call-{self._calls}"))
        return tuple(calls_with_ids)


def read_script(path: str) -> ScriptedModel:
    """Read a script from a JSON file: a list of moves, each a text or {"text": …, "calls": [{"name": …, "args": {…}}]}."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"the script {path} cannot be read: {error}") from None
    if not isinstance(data, list):
        raise ConfigError(f"the script {path} must be a list of moves")
    return ScriptedModel([_read_move(path, at, move) for at, move in enumerate(data, 1)], f"script {Path(path).name}")


def _read_move(path: str, at: int, data: Any) -> Move:
    if isinstance(data, str):
        return data
    calls = data.get("calls", []) if isinstance(data, dict) else None
    has_calls = isinstance(calls, list) and all(map(_is_call, calls))
    if not has_calls or not isinstance(data, dict) or not isinstance(data.get("text", ""), str):
        form = 'a move is a text, or {"text": …, "calls": [{"name": …, "args": {…}}]}'
        raise ConfigError(f"move {at} of the script {path} cannot be read: {form}")
    tool_calls = tuple(ToolCall(c["name"], c.get("args", {}), str(c.get("id", ""))) for c in calls or ())
    return Reply(data.get("text", ""), tool_calls)


def _is_call(data: Any) -> bool:
    return isinstance(data, dict) and isinstance(data.get("name"), str) and isinstance(data.get("args", {}), dict)
