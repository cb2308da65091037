"""Sample events that the matcher of a hook accepts; `doctor` runs hooks with them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from boathook.core.event import Event, EventKind
from boathook.core.hook import Hook
from boathook.core.matcher import Pattern
from boathook.core.tool_kinds import TOOLS_OF_KINDS
from boathook.hosts.claude_events import CLAUDE_EVENTS_BY_KIND
from boathook.hosts.tool_names import list_known_tools

_MAX_REPEATS = 3
_MAX_TRIES = 24
_SAMPLE_TEXTS: dict[str, Any] = {
    "prompt": "a synthetic prompt",
    "source": "startup",
    "trigger": "auto",
    "exit_reason": "other",
    "stop_reason": "no_tool_calls",
    "final_message": "done",
    "message": "a synthetic message",
    "notification_type": "permission_prompt",
    "error": "a synthetic error",
    "tool_output": "a synthetic output",
    "tool_use_id": "doctor",
    "subagent_type": "general-purpose",
    "subagent_name": "doctor",
    "result": "done",
    "model": "doctor",
}
_NUMBER_FIELDS = ("duration_seconds", "duration_ms", "total_steps", "step_count", "token_count", "token_count_after")


def build_sample_event(hook: Hook, work_dir: str) -> Event | None:
    """Return an event that a hook's matcher accepts, or None; `metadata.doctor` of a HOOK.md may have its fields."""
    if hook.kind is None:
        return None
    doctor = hook.metadata.get("doctor") if isinstance(hook.metadata, dict) else None
    own = doctor if isinstance(doctor, dict) else {}
    for fields in ({},) if own else _generate_fields(hook, hook.kind):
        data = {**build_sample_fields(hook.kind), **fields, **own}
        event = Event.of(hook.kind, session_id="doctor", work_dir=work_dir, **data)
        if not hook.matcher.explain_mismatch(event):
            return event
    return None


def build_sample_fields(kind: EventKind) -> dict[str, Any]:
    row = CLAUDE_EVENTS_BY_KIND.get(kind.name)
    names = [*kind.fields, *(ours for _, ours in row.renames)] if row else kind.fields
    fields: dict[str, Any] = {name: _SAMPLE_TEXTS[name] for name in names if name in _SAMPLE_TEXTS}
    fields |= dict.fromkeys((name for name in names if name in _NUMBER_FIELDS), 1)
    if kind.has_tool:
        fields |= {"tool_name": "Shell", "tool_input": {"command": "true"}}
    return fields


def _generate_fields(hook: Hook, kind: EventKind) -> Iterator[dict[str, Any]]:
    matcher = hook.matcher
    fields = {name: find_matching_text(pattern) for name, pattern in matcher.fields}
    if not kind.has_tool:
        yield fields
        return
    for name in list_matching_tools(hook) or list(_generate_matching(matcher.tool))[:2]:
        for text in _generate_matching(matcher.pattern):
            path = f"doctor{text}" if "/" not in text else text
            tool_input = {"command": text or "true", "file_path": path, "content": text}
            yield {"tool_name": name, "tool_input": tool_input, **fields}


def list_matching_tools(hook: Hook) -> list[str]:
    tool = hook.matcher.tool
    if hook.matcher.tool_kinds:
        of_kinds = [name for kind in hook.matcher.tool_kinds for name in (*TOOLS_OF_KINDS[kind], "mcp__doctor__check")]
        return [name for name in of_kinds if tool is None or tool.search(name)]
    if tool is None:
        return ["Shell"]
    return [name for name in list_known_tools() if tool.search(name)]


def find_matching_text(pattern: Pattern | None) -> str:
    """Return a text that a pattern matches, "" if none was found."""
    return next(_generate_matching(pattern), "")


def _generate_matching(pattern: Pattern | None) -> Iterator[str]:
    if pattern is None:
        yield ""
        return
    for text in _generate_candidates(pattern):
        if pattern.search(text):
            yield text


def _generate_candidates(pattern: Pattern) -> Iterator[str]:
    if pattern.words is not None:
        yield from pattern.words.any_of
    try:
        parsed: Any = re._parser.parse(pattern.source)  # type: ignore[attr-defined]
    except (re.error, RecursionError, OverflowError, ValueError):
        return
    for choice in range(_MAX_TRIES):
        try:
            text = _PatternWriter(choice).write(parsed)
        except (RecursionError, ValueError):
            return
        yield from (text, f" {text} ", f"x{text}x")


class _PatternWriter:
    """Writes a text that fits a parsed pattern; `choice` selects one of several possibilities."""

    def __init__(self, choice: int) -> None:
        self.choice = choice

    def write(self, parsed: Any) -> str:
        return "".join(self._one(str(op), value) for op, value in parsed)

    def _one(self, op: str, value: Any) -> str:
        if op == "LITERAL":
            return chr(value)
        if op in ("ANY", "NOT_LITERAL"):
            return next(c for c in "ax " if op == "ANY" or ord(c) != value)
        if op == "IN":
            return self._member(value)
        if op == "BRANCH":
            branches = value[1]
            return self.write(branches[self.choice % len(branches)])
        if op == "SUBPATTERN":
            return self.write(value[-1])
        if op in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            low, high, inner = value
            count = low if self.choice % 2 == 0 else min(max(low, 1), int(high))
            return self.write(inner) * min(int(count), max(int(low), _MAX_REPEATS))
        if op == "AT":
            return ""
        raise ValueError(op)

    def _member(self, members: Any) -> str:
        if members and str(members[0][0]) == "NEGATE":
            source = re.compile("[^" + _write_class(members[1:]) + "]")
            return next((c for c in "a0 _-/.x\n" if source.match(c)), "~")
        op, value = members[self.choice % len(members)]
        if str(op) == "RANGE":
            return chr(value[0])
        if str(op) == "CATEGORY":
            return {"CATEGORY_DIGIT": "0", "CATEGORY_SPACE": " ", "CATEGORY_WORD": "a"}.get(str(value), "~")
        return chr(value)


def _write_class(members: Any) -> str:
    names = {"CATEGORY_DIGIT": "\\d", "CATEGORY_SPACE": "\\s", "CATEGORY_WORD": "\\w"}
    parts = []
    for op, value in members:
        if str(op) == "RANGE":
            parts.append(f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}")
        elif str(op) == "CATEGORY":
            parts.append(names.get(str(value), str(value).replace("CATEGORY_NOT_", "\\")[:2].upper()))
        else:
            parts.append(re.escape(chr(value)))
    return "".join(parts)
