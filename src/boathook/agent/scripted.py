"""A model that plays a script: for tests, demonstrations, and agents without a network."""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from boathook.agent.model import Message, Reply, ToolSpec
from boathook.core.near_words import ask_if_meant, find_near_word
from boathook.errors import ConfigError
from boathook.inprocess.operations import ToolCall

_MOVE_FORM = 'a move is a text, or {"text": …, "calls": [{"name": …, "args": {…}}]}'
_OTHER_KEYS = {
    "tool": ("calls", "name"),
    "tools": ("calls",),
    "name": ("calls",),
    "arguments": ("args",),
    "input": ("args",),
    "content": ("text",),
}
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
    if not isinstance(data, list) or not data:
        raise ConfigError(f"the script {path} must be a list of moves, with at least one")
    return ScriptedModel([_read_move(path, at, move) for at, move in enumerate(data, 1)], f"script {Path(path).name}")


def _read_move(path: str, at: int, data: Any) -> Move:
    if isinstance(data, str):
        return data
    mistake = _find_mistake(data)
    if mistake:
        raise ConfigError(f"move {at} of the script {path} cannot be read: {mistake} ({_MOVE_FORM})")
    tool_calls = tuple(ToolCall(c["name"], c.get("args", {}), str(c.get("id", ""))) for c in data.get("calls", ()))
    return Reply(data.get("text", ""), tool_calls)


def _find_mistake(move: Any) -> str:
    """Return what is wrong with a move that is not a text, or ""."""
    if not isinstance(move, dict):
        return f"it is {type(move).__name__}"
    if unknown := _find_unknown_key(move, ("text", "calls")):
        return unknown
    if not isinstance(move.get("text", ""), str):
        return "its text is not a text"
    calls = move.get("calls", [])
    if not isinstance(calls, list):
        return "its calls are not a list"
    if not calls and "text" not in move:
        return "it has neither text nor calls"
    return next(filter(None, map(_find_call_mistake, calls)), "")


def _find_call_mistake(call: Any) -> str:
    if not isinstance(call, dict):
        return f"a call is {type(call).__name__}"
    if unknown := _find_unknown_key(call, ("name", "args", "id")):
        return unknown
    if not isinstance(call.get("name"), str):
        return "a call has no name"
    return "" if isinstance(call.get("args", {}), dict) else f"the args of {call['name']} are not an object"


def _find_unknown_key(data: dict[str, Any], known: tuple[str, ...]) -> str:
    unknown = next((name for name in data if name not in known), None)
    if unknown is None:
        return ""
    # People write what other formats have.
    near = next((name for name in _OTHER_KEYS.get(unknown, ()) if name in known), "") or find_near_word(unknown, known)
    return f"there is no key '{unknown}'" + (f", {ask_if_meant(near)}" if near else "")
