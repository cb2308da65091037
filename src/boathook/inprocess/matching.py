"""Matchers of in-process hooks: a tool name, an event, any callable, and combinations with `&`, `|` and `~`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from boathook.core.event import EventKind, find_kind
from boathook.core.matcher import Pattern, compile_pattern
from boathook.errors import HookError
from boathook.inprocess.contexts import Context

_ASYNC_MATCHER = "a matcher cannot be async, because its answer is needed at once"


class Match:
    """Whether a hook wants a context. `is_fixed` if that depends only on the event and the name of the tool."""

    is_fixed = False

    def __call__(self, context: Any) -> bool:
        raise NotImplementedError

    def __and__(self, other: MatchLike) -> Match:
        return all_of(self, other)

    def __or__(self, other: MatchLike) -> Match:
        return any_of(self, other)

    def __invert__(self) -> Match:
        return _Not(self)


MatchLike = Match | str | Callable[[Any], bool]


def make_match(value: MatchLike) -> Match:
    if isinstance(value, Match):
        return value
    if isinstance(value, str):
        return tool_name(value)
    if inspect.iscoroutinefunction(value):
        raise HookError(_ASYNC_MATCHER)
    if callable(value):
        return _Where(value)
    raise HookError(f"a matcher must be a name, a callable or a Match, not {type(value).__name__}")


def make_hook_match(value: MatchLike | None, kind: EventKind | None) -> Match | None:
    """Return the matcher of a hook; HookError for the name of a tool at an event without one."""
    if isinstance(value, str) and kind is not None and not kind.has_tool:
        raise HookError(f"'{value}' is the name of a tool, but {kind.name} has no tool: match with a callable instead")
    return None if value is None else make_match(value)


def tool_name(pattern: str) -> Match:
    """Match tools by name: exactly, with `*` for anything, or by searching a `/regex/`; `*` and "" match every tool."""
    return _ToolName(pattern)


def event_is(*names: str | EventKind) -> Match:
    """Match events by name, in any spelling."""
    return _EventIs(tuple(name if isinstance(name, EventKind) else find_kind(name) for name in names))


def where(condition: Callable[[Any], bool]) -> Match:
    """Match contexts for which a callable returns True."""
    return make_match(condition)


def all_of(*matchers: MatchLike) -> Match:
    """Match what all matchers match."""
    return _AllOf(tuple(map(make_match, matchers)))


def any_of(*matchers: MatchLike) -> Match:
    """Match what at least one matcher matches."""
    return _AnyOf(tuple(map(make_match, matchers)))


class _ToolName(Match):
    is_fixed = True

    def __init__(self, text: str) -> None:
        self._text = text
        self._pattern: Pattern | None = None
        self._is_all = not text.strip("*")
        if len(text) > 1 and text.startswith("/") and text.endswith("/"):
            self._pattern = compile_pattern(text[1:-1])
            self._is_all = self._pattern is None
        elif "*" in text and not self._is_all:
            self._pattern = compile_pattern(f"(?s)^{'.*'.join(map(_escape, text.split('*')))}$")

    def __call__(self, context: Context) -> bool:
        name = context.tool
        if not context.kind.has_tool:
            return False
        if self._pattern is not None:
            return self._pattern.search(name)
        return self._is_all or name == self._text

    def __repr__(self) -> str:
        return f"tool_name({self._text!r})"


def _escape(text: str) -> str:
    return "".join(char if char.isalnum() or char == "_" else f"\\x{{{ord(char):x}}}" for char in text)


class _EventIs(Match):
    is_fixed = True

    def __init__(self, kinds: tuple[EventKind, ...]) -> None:
        self._kinds = kinds

    def __call__(self, context: Context) -> bool:
        return context.kind in self._kinds

    def __repr__(self) -> str:
        return f"event_is({', '.join(repr(kind.name) for kind in self._kinds)})"


class _Where(Match):
    def __init__(self, condition: Callable[[Any], bool]) -> None:
        self._condition = condition

    def __call__(self, context: Context) -> bool:
        result: Any = self._condition(context)
        if inspect.iscoroutine(result):
            result.close()
            raise HookError(_ASYNC_MATCHER)
        return bool(result)

    def __repr__(self) -> str:
        return f"where({getattr(self._condition, '__name__', self._condition)!r})"


class _Combined(Match):
    def __init__(self, parts: tuple[Match, ...]) -> None:
        self._parts = parts
        self.is_fixed = all(part.is_fixed for part in parts)


class _AllOf(_Combined):
    def __call__(self, context: Context) -> bool:
        return all(part(context) for part in self._parts)

    def __repr__(self) -> str:
        return f"({' & '.join(map(repr, self._parts))})"


class _AnyOf(_Combined):
    def __call__(self, context: Context) -> bool:
        return any(part(context) for part in self._parts)

    def __repr__(self) -> str:
        return f"({' | '.join(map(repr, self._parts))})"


class _Not(Match):
    def __init__(self, part: Match) -> None:
        self._part = part
        self.is_fixed = part.is_fixed

    def __call__(self, context: Context) -> bool:
        return not self._part(context)

    def __repr__(self) -> str:
        return f"~{self._part!r}"
