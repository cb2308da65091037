"""The native dialect, of HOOK.md hooks and of `boathook run`. An answer to a host is also a valid answer of a hook."""

from __future__ import annotations

from boathook.core.event import COMMON_FIELDS, HOST_TOOL, Event, EventKind, find_kind, parse_host_object
from boathook.core.json_text import JsonError, decode, describe_json_type, dump_line, loads
from boathook.core.outcome import ABSENT, DEFAULT_BLOCK_REASON, DEFAULT_STOP_REASON, NOTHING, Decision, Outcome
from boathook.core.text import MAX_REASON_CHARS, clean_text
from boathook.core.verdict import FAILED, UNREADABLE, AnswerError, Call, Exit, Verdict
from boathook.dialects.answers import (
    FLAG,
    OBJECT,
    TEXT,
    begins_like_json,
    check_types,
    default_reason,
    describe_exit,
    read_stderr_reason,
    refuse_hidden_json,
    to_texts,
)
from boathook.dialects.dialect import HostDialect
from boathook.errors import DialectError, NotJson, UnknownEvent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from boathook.dialects.answers import Types

_DECISIONS = {
    "allow": Decision.ALLOW,
    "approve": Decision.ALLOW,
    "ask": Decision.ASK,
    "deny": Decision.BLOCK,
    "block": Decision.BLOCK,
}
_TYPES: Types = {
    **dict.fromkeys(("decision", "reason", "log", "additional_context", "system_message", "stop_reason"), TEXT),
    "modified_input": OBJECT,
    "continue": FLAG,
}
_DECISIVE = ("decision", "continue", "modified_input", "modified_output", "additional_context", "system_message")
FIELD_TYPES: Types = {
    **dict.fromkeys(("event_type", "timestamp", "session_id", "work_dir"), TEXT),
    "context": OBJECT,
    "tool_name": TEXT,
}


def make_event(fields: dict[str, Any], name: str | None = None) -> Event:
    fields = {key: value for key, value in fields.items() if value is not None or key not in FIELD_TYPES}
    for key, (wanted, words) in FIELD_TYPES.items():
        if key in fields and not isinstance(fields[key], wanted):
            raise DialectError(f"the event's '{key}' must be {words}, not {describe_json_type(fields[key])}")
    if name is None and "event_type" not in fields and isinstance(fields.get("hook_event_name"), str):
        # Several agents write this, each with a dialect of its own, so that none is guessed.
        raise DialectError(
            f"this is an event of an agent ('hook_event_name' is '{fields['hook_event_name']}'): name the agent, "
            "for example --host claude for Claude Code (boathook hosts lists them)"
        )
    kind = _find_kind(fields.get("event_type"), name)
    data = {key: value for key, value in fields.items() if key not in COMMON_FIELDS}
    timestamp, session, folder = (fields.get(key, "") for key in COMMON_FIELDS[1:4])
    return Event(kind, timestamp, session, folder, fields.get("context", {}), data, find_host_aliases(data))


def find_host_aliases(data: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the other names of a tool whose name was translated from that of a host."""
    theirs = data.get(HOST_TOOL)
    if not isinstance(theirs, str):
        return ()
    from boathook.hosts.tool_names import find_aliases

    ours = data.get("tool_name")
    return find_aliases(ours if isinstance(ours, str) else "", theirs)


def _find_kind(in_data: str | None, beside: str | None) -> EventKind:
    if in_data is None and beside is None:
        raise DialectError(
            "which event? Name it as an argument, or as 'event_type' in the JSON (boathook events lists them)"
        )
    try:
        kinds = [find_kind(name) for name in (beside, in_data) if name is not None]
    except UnknownEvent as error:
        hint = "" if error.nearest else ". List the events with: boathook events"
        raise DialectError(f"{error}{hint}") from None
    if kinds[0] is not kinds[-1]:
        raise DialectError(f"the argument says '{beside}', but 'event_type' in the JSON says '{in_data}'")
    return kinds[0]


def write_event(event: Event, trigger: str) -> bytes:
    return dump_line(event.to_fields(trigger))


def read_answer(call: Call, end: Exit, *, strict: bool = False) -> tuple[Outcome, tuple[str, ...]]:
    """Read a hook's answer, and notes on what had no effect. With `strict`, only exit 2 blocks."""
    if end.code == 2:
        return _make_block(call, end), ()
    if end.code != 0:
        raise AnswerError(FAILED, describe_exit(end))
    if end.overflow:
        raise AnswerError(UNREADABLE, "the answer is longer than 1 MiB")
    if not end.stdout:
        return NOTHING, ()
    try:
        text = decode(end.stdout).strip()
        if not begins_like_json(text):
            refuse_hidden_json(text, _DECISIVE)
            contexts = to_texts(text)
            return Outcome(contexts=contexts) if contexts else NOTHING, ()
        answer = loads(text)
        _check_answer(answer)
    except JsonError as error:
        raise AnswerError(UNREADABLE, f"the answer is not valid: {error}") from None
    return _make_outcome(call, answer, strict=strict)


def _make_block(call: Call, end: Exit) -> Outcome:
    reason = read_stderr_reason(end)
    if not reason:
        try:
            answer = loads(decode(end.stdout))
            reason = clean_text(answer["reason"], MAX_REASON_CHARS)
        except (JsonError, KeyError, TypeError, AttributeError):
            reason = ""
    return Outcome.block(reason or default_reason(call.hook))


def _check_answer(answer: Any) -> None:
    check_types(answer, _TYPES)
    decision = answer.get("decision")
    if decision is not None and decision.lower() not in _DECISIONS:
        raise JsonError(f"unknown decision {decision!r} (known: allow, deny, block, ask)")


def _make_outcome(call: Call, answer: dict[str, Any], *, strict: bool) -> tuple[Outcome, tuple[str, ...]]:
    kind, notes = call.event.kind, []
    decision, reasons = _read_decision(answer)
    if strict and decision == Decision.BLOCK:
        notes.append("'deny' has no effect: with strict_exit_codes only exit 2 blocks")
        decision, reasons = Decision.NONE, ()
    if decision == Decision.BLOCK and not reasons:
        reasons = ((decision, default_reason(call.hook)),)
    changes = []
    for key, allowed in (("modified_input", kind.rewrites_input), ("modified_output", kind.rewrites_output)):
        value = answer.get(key)
        if value is not None and not allowed:
            notes.append(f"{key} has no effect on {kind.name}")
        changes.append(ABSENT if value is None or not allowed else value)
    outcome = Outcome(
        decision,
        reasons,
        changes[0],
        changes[1],
        to_texts(answer.get("additional_context")),
        to_texts(answer.get("system_message")),
        to_texts(answer.get("log")),
    )
    return outcome, tuple(notes)


def _read_decision(answer: dict[str, Any]) -> tuple[Decision, tuple[tuple[Decision, str], ...]]:
    word, reason = answer.get("decision"), clean_text(answer.get("reason") or "", MAX_REASON_CHARS)
    decision = _DECISIONS[word.lower()] if word is not None else Decision.NONE
    reasons: tuple[tuple[Decision, str], ...] = ((decision, reason),) if reason and decision else ()
    if answer.get("continue") is False:
        stop = clean_text(answer.get("stop_reason") or "", MAX_REASON_CHARS) or reason
        decision, reasons = Decision.STOP, (*reasons, *(((Decision.STOP, stop),) if stop else ()))
    return decision, reasons


class NativeHost(HostDialect):
    def read_event(self, data: bytes, name: str | None = None) -> Event:
        try:
            fields = parse_host_object(data)
        except NotJson as error:
            # Without an agent, no model can have written this to get past the guards: it is a mistake of the caller.
            raise DialectError(str(error)) from None
        return make_event(fields, name)

    def write_answer(
        self,
        verdict: Verdict,
        later: Sequence[Verdict] = (),  # noqa: ARG002
        *,
        refuses: bool = False,  # noqa: ARG002
    ) -> Exit:
        """Write a verdict: exit code 2 with the reasons, or one JSON object, or nothing."""
        if verdict.decision == Decision.BLOCK:
            reasons = "\n".join(verdict.reasons) or DEFAULT_BLOCK_REASON
            return Exit(2, stderr=(reasons + "\n").encode("utf-8", "backslashreplace"))
        answer: dict[str, Any] = {}
        reasons = "\n".join(verdict.reasons)
        if verdict.decision == Decision.STOP:
            answer["continue"] = False
            answer["stop_reason"] = reasons or DEFAULT_STOP_REASON
        elif verdict.decision:
            answer["decision"] = verdict.decision.word
            if reasons:
                answer["reason"] = reasons
        if verdict.modified_input is not None:
            answer["modified_input"] = verdict.modified_input
        if verdict.outcome.output is not ABSENT:
            answer["modified_output"] = verdict.outcome.output
        if verdict.additional_context:
            answer["additional_context"] = "\n".join(verdict.additional_context)
        if verdict.system_message:
            answer["system_message"] = "\n".join(verdict.system_message)
        return Exit(0, stdout=dump_line(answer) if answer else b"")
