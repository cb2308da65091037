"""Matchers of in-process hooks: a tool name, an event, any callable, and combinations with `&`, `|` and `~`."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator
from typing import Any

from boathook.core.event import EventKind
from boathook.core.matcher import Matcher, Pattern, compile_pattern
from boathook.core.near_words import DID_YOU_MEAN, STRICT_CUTOFF, ask_if_meant, find_near_word
from boathook.core.tool_kinds import TOOL_KINDS
from boathook.errors import ConfigError, HookError
from boathook.hosts.tool_names import TOOL_INPUT_KEYS, find_canonical_name
from boathook.inprocess.contexts import Context
from boathook.inprocess.event_names import EventName, find_event

_LOGGER = logging.getLogger("boathook")
_REGEX_FLAGS = ("i", "m", "s")
# Signs that mean something in patterns of other kinds.
_NOT_IN_NAMES = frozenset("?[]{}()^$+\\,;<>=!\"'\n\t")
_REGEX_SIGNS = (".*", ".+")
_ASYNC_MATCHER = "a matcher cannot be async, because its answer is needed at once"


class Match:
    """Whether a hook wants a context. `is_fixed` if that depends only on the event and the name of the tool.

    `pattern` is the text that names tools, if there is nothing else to it. `is_in_doubt` until it has matched a tool, or was
    reported as matching none.
    """

    is_fixed = False
    pattern = ""
    is_in_doubt = False

    def __call__(self, context: Any) -> bool:
        raise NotImplementedError

    def matches_event(self, kind: EventKind) -> bool | None:  # noqa: ARG002
        """Whether all events of a kind match, or none does; None if that depends on more than the kind."""
        return None

    def __and__(self, other: MatchLike) -> Match:
        return all_of(self, other)

    def __or__(self, other: MatchLike) -> Match:
        return any_of(self, other)

    def __invert__(self) -> Match:
        def matches_event(kind: EventKind) -> bool | None:
            answer = self.matches_event(kind)
            return None if answer is None else not answer

        return _Condition(lambda context: not self(context), f"~{self!r}", matches_event, is_fixed=self.is_fixed)


MatchLike = Match | str | Callable[[Any], bool]


def make_match(value: MatchLike) -> Match:
    if isinstance(value, Match):
        return value
    if isinstance(value, str):
        return tool_name(value)
    if inspect.iscoroutinefunction(value):
        raise HookError(_ASYNC_MATCHER)
    if callable(value):
        return _make_where(value)
    raise HookError(f"a matcher must be a name, a callable or a Match, not {_describe_wrong_match(value)}")


def _describe_wrong_match(value: Any) -> str:
    is_list = isinstance(value, list | tuple | set) and value and all(isinstance(name, str) for name in value)
    hint = ": write '{}'".format("|".join(value)) if is_list else ""
    return f"{type(value).__name__}{hint}"


def make_hook_match(value: MatchLike | None, kind: EventKind | None) -> Match | None:
    if isinstance(value, str) and kind is not None and not kind.has_tool:
        raise HookError(f"'{value}' is the name of a tool, but {kind.name} has no tool: match with a callable instead")
    match = None if value is None else make_match(value)
    if match is not None and kind is not None and match.matches_event(kind) is False:
        why = kind.name if kind.has_tool else f"{kind.name}, which has no tool"
        raise HookError(f"{match!r} can never match at {why}: match with a callable, or add the hook to another event")
    return match


def tool_name(pattern: str) -> Match:
    """Match tools by name: exactly, with `*` for anything and `|` between several, or by searching a `/regex/` (`/regex/i`).

    `*` matches every tool. HookError for a pattern that can never match; a warning in the log for a name that is almost one of
    file hooks (`Shel`).
    """
    searched = _compile_tool_pattern(pattern)

    def is_match(context: Context) -> bool:
        if not context.kind.has_tool:
            return False
        return searched is None or any(map(searched.search, context.tool_names))

    def matches_event(kind: EventKind) -> bool | None:
        return None if kind.has_tool and searched is not None else kind.has_tool

    match = _Condition(is_match, f"tool_name({pattern!r})", matches_event, is_fixed=True)
    match.pattern, match.is_in_doubt = pattern, True
    return match


def list_exact_names(pattern: str) -> tuple[str, ...]:
    """Return the names in the pattern of a tool's name that stand for themselves."""
    return () if pattern.startswith("/") else tuple(name for name in pattern.split("|") if "*" not in name)


def _compile_tool_pattern(pattern: str) -> Pattern | None:
    """Compile the pattern of a tool's name; None if it matches everything."""
    if not pattern:
        raise HookError("the name of a tool is empty: write * for every tool, or leave out the matcher")
    if not pattern.strip("*"):
        return None
    if pattern.startswith("/"):
        source, end, flags = pattern[1:].rpartition("/")
        if not end or not set(flags) <= set(_REGEX_FLAGS):
            raise HookError(f"'{pattern}' is not a pattern: write /regex/, with the flags {', '.join(_REGEX_FLAGS)}")
        try:
            return compile_pattern(f"(?{flags}){source}" if flags and source else source)
        except ConfigError as error:
            raise HookError(f"match='{pattern}' cannot be used: {error}") from error
    names = pattern.split("|")
    for name in names:
        _check_name(pattern, name)
    if any(not name.strip("*") for name in names):
        return None
    return compile_pattern(f"(?s)^(?:{'|'.join(map(_translate_name, names))})$")


def _translate_name(name: str) -> str:
    return ".*".join(map(_escape, name.split("*")))


def _check_name(pattern: str, name: str) -> None:
    """Refuse what no tool is called: most likely it was meant as a pattern of another kind."""
    if any(sign in name for sign in _REGEX_SIGNS):
        # As a name, `write.*` would match only what begins with `write` and a dot.
        glob = pattern.replace(".*", "*").replace(".+", "*")
        raise HookError(
            f"'{pattern}' is a regex, not a name: {DID_YOU_MEAN} '{glob}' or '/{pattern}/'? "
            "If the name has a dot, write it as a /regex/, too"
        )
    signs = sorted(_NOT_IN_NAMES & set(name))
    if not signs and name and name == name.strip():
        _report_near_tool(pattern, name)
        return
    why = f"no tool has {' '.join(signs)} in its name" if signs else "a name is empty, or has spaces around it"
    ways = "Use * for anything, | between names, or a /regex/"
    raise HookError(f"'{pattern}' can never match: {why}. {ways}")


def _report_near_tool(pattern: str, name: str) -> None:
    """Log that a name is almost one of file hooks; those begin with a capital letter, as tools of programs rarely do."""
    if not name[0].isupper() or "*" in name or name in TOOL_INPUT_KEYS:
        return
    near = find_near_word(name, TOOL_INPUT_KEYS, STRICT_CUTOFF)
    if near and find_canonical_name(name) == name:
        _LOGGER.warning("match='%s': no tool is called '%s' in file hooks; %s", pattern, name, ask_if_meant(near))


def tool_kind(*kinds: str) -> Match:
    """Match tools by what they do, whatever their names: writes, reads, shell, network or mcp."""
    for kind in kinds:
        if kind not in TOOL_KINDS:
            raise HookError(f"there is no kind of tools '{kind}' (known: {', '.join(TOOL_KINDS)})")
    matcher, text = Matcher(tool_kinds=kinds), f"tool_kind({', '.join(map(repr, kinds))})"

    def is_match(context: Context) -> bool:
        return context.kind.has_tool and not matcher.explain_mismatch(context.to_event())

    return _Condition(is_match, text, lambda kind: None if kind.has_tool else False, is_fixed=False)


def event_is(*names: EventName | EventKind) -> Match:
    """Match events by any of their names."""
    kinds = tuple(map(find_event, names))
    text = f"event_is({', '.join(repr(kind.name) for kind in kinds)})"
    return _Condition(lambda context: context.kind in kinds, text, lambda kind: kind in kinds, is_fixed=True)


def where(condition: Callable[[Any], bool]) -> Match:
    """Match contexts for which a callable returns True."""
    return make_match(condition)


def all_of(*matchers: MatchLike) -> Match:
    """Match what all matchers match."""
    return _combine(matchers, all, " & ")


def any_of(*matchers: MatchLike) -> Match:
    """Match what at least one matcher matches."""
    return _combine(matchers, any, " | ")


class _Condition(Match):
    def __init__(
        self,
        is_match: Callable[[Context], bool],
        text: str,
        matches_event: Callable[[EventKind], bool | None],
        *,
        is_fixed: bool,
    ) -> None:
        self._is_match, self._text, self._matches_event, self.is_fixed = is_match, text, matches_event, is_fixed

    def __call__(self, context: Context) -> bool:
        return self._is_match(context)

    def matches_event(self, kind: EventKind) -> bool | None:
        return self._matches_event(kind)

    def __repr__(self) -> str:
        return self._text


def _combine(matchers: tuple[MatchLike, ...], decide: Callable[[Iterator[bool]], bool], sign: str) -> Match:
    parts = tuple(map(make_match, matchers))
    is_fixed = all(part.is_fixed for part in parts)
    text = f"({sign.join(map(repr, parts))})"

    def matches_event(kind: EventKind) -> bool | None:
        answers = [part.matches_event(kind) for part in parts]
        # The parts that depend on more are taken for False, and then for True: only if that is the same, the kind decides.
        is_certain = decide(answer is True for answer in answers)
        is_possible = decide(answer is not False for answer in answers)
        return is_certain if is_certain == is_possible else None

    return _Condition(lambda context: decide(part(context) for part in parts), text, matches_event, is_fixed=is_fixed)


def _escape(text: str) -> str:
    return "".join(char if char.isalnum() or char == "_" else f"\\x{{{ord(char):x}}}" for char in text)


def _make_where(condition: Callable[[Any], bool]) -> Match:
    def is_match(context: Context) -> bool:
        result: Any = condition(context)
        if inspect.iscoroutine(result):
            result.close()
            raise HookError(_ASYNC_MATCHER)
        return bool(result)

    text = f"where({getattr(condition, '__name__', condition)!r})"
    return _Condition(is_match, text, lambda _: None, is_fixed=False)
