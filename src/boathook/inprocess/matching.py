"""Matchers of hooks in process: a name, an event, any callable, and these joined with `&`, `|` and `~`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from boathook.core.event import EventKind, find_kind
from boathook.core.matcher import Pattern, compile_pattern
from boathook.errors import HookError
from boathook.inprocess.contexts import Context


class Match:
    """Says whether a hook wants a context. `fixed`: it asks for nothing but the event and the tool's name."""

    fixed = False

    def __call__(self, context: Any) -> bool:
        """Whether the context matches."""
        raise NotImplementedError

    def __and__(self, other: MatchLike) -> Match:
        """Match what both match."""
        return all_of(self, other)

    def __or__(self, other: MatchLike) -> Match:
        """Match what either matches."""
        return any_of(self, other)

    def __invert__(self) -> Match:
        """Match what this does not."""
        return _Not(self)


MatchLike = Match | str | Callable[[Any], bool]


def as_match(given: MatchLike) -> Match:
    """Return a matcher: a text is a tool's name, a callable is asked."""
    if isinstance(given, Match):
        return given
    if isinstance(given, str):
        return tool_name(given)
    if inspect.iscoroutinefunction(given):
        raise HookError("a matcher cannot be async; it is asked at once")
    if callable(given):
        return _Where(given)
    raise HookError(f"a matcher is a name, a callable or a Match, not {type(given).__name__}")


def match_for(given: MatchLike | None, kind: EventKind | None) -> Match | None:
    """Return the matcher of a hook for a kind of event; HookError for the name of a tool where there is none."""
    if isinstance(given, str) and kind is not None and not kind.has_tool:
        raise HookError(f"'{given}' is the name of a tool, and {kind.name} has none: give a callable to match by")
    return None if given is None else as_match(given)


def tool_name(pattern: str) -> Match:
    """Match tools by name: exactly, with `*` for anything, or as `/regex/`, which is searched; `*` and nothing are all."""
    return _ToolName(pattern)


def event_is(*names: str | EventKind) -> Match:
    """Match some kinds of events, in any spelling."""
    return _EventIs(tuple(name if isinstance(name, EventKind) else find_kind(name) for name in names))


def where(asked: Callable[[Any], bool]) -> Match:
    """Match what a callable says."""
    return as_match(asked)


def all_of(*parts: MatchLike) -> Match:
    """Match what all parts match."""
    return _AllOf(tuple(map(as_match, parts)))


def any_of(*parts: MatchLike) -> Match:
    """Match what any part matches."""
    return _AnyOf(tuple(map(as_match, parts)))


class _ToolName(Match):
    fixed = True

    def __init__(self, written: str) -> None:
        self.written = written
        self.pattern: Pattern | None = None
        self.is_all = not written.strip("*")
        if len(written) > 1 and written.startswith("/") and written.endswith("/"):
            self.pattern = compile_pattern(written[1:-1])
            self.is_all = self.pattern is None
        elif "*" in written and not self.is_all:
            self.pattern = compile_pattern(f"(?s)^{'.*'.join(map(_literal, written.split('*')))}$")

    def __call__(self, context: Context) -> bool:
        name = context.tool
        if not context.kind.has_tool:
            return False
        if self.pattern is not None:
            return self.pattern.search(name)
        return self.is_all or name == self.written

    def __repr__(self) -> str:
        return f"tool_name({self.written!r})"


def _literal(text: str) -> str:
    return "".join(char if char.isalnum() or char == "_" else f"\\x{{{ord(char):x}}}" for char in text)


class _EventIs(Match):
    fixed = True

    def __init__(self, kinds: tuple[EventKind, ...]) -> None:
        self.kinds = kinds

    def __call__(self, context: Context) -> bool:
        return context.kind in self.kinds

    def __repr__(self) -> str:
        return f"event_is({', '.join(repr(kind.name) for kind in self.kinds)})"


class _Where(Match):
    def __init__(self, asked: Callable[[Any], bool]) -> None:
        self.asked = asked

    def __call__(self, context: Context) -> bool:
        said: Any = self.asked(context)
        if inspect.iscoroutine(said):
            said.close()
            raise HookError("a matcher cannot be async; it is asked at once")
        return bool(said)

    def __repr__(self) -> str:
        return f"where({getattr(self.asked, '__name__', self.asked)!r})"


class _Joined(Match):
    def __init__(self, parts: tuple[Match, ...]) -> None:
        self.parts = parts
        self.fixed = all(part.fixed for part in parts)


class _AllOf(_Joined):
    def __call__(self, context: Context) -> bool:
        return all(part(context) for part in self.parts)

    def __repr__(self) -> str:
        return f"({' & '.join(map(repr, self.parts))})"


class _AnyOf(_Joined):
    def __call__(self, context: Context) -> bool:
        return any(part(context) for part in self.parts)

    def __repr__(self) -> str:
        return f"({' | '.join(map(repr, self.parts))})"


class _Not(Match):
    def __init__(self, part: Match) -> None:
        self.part = part
        self.fixed = part.fixed

    def __call__(self, context: Context) -> bool:
        return not self.part(context)

    def __repr__(self) -> str:
        return f"~{self.part!r}"
