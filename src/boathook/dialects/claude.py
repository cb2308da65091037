"""What Claude Code says to its hooks and wants to hear from them (`boathook run --host claude`).

The events are rows of a table: which kind they are, which fields have other names, and what they can be told.
"""

from __future__ import annotations

from boathook.core.event import SPELLINGS, UNMAPPED, Event, EventKind, host_object
from boathook.core.jsontext import dump_line
from boathook.core.outcome import ABSENT, Decision
from boathook.core.run import Exit, Verdict
from boathook.core.value import Value
from boathook.errors import DialectError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "claude"


class Row(Value):
    """One of Claude's events: its kind, whether it can be blocked and takes context, and which fields have other names."""

    name: str
    kind: str
    blocks: bool = True
    context: bool = True
    renames: tuple[tuple[str, str], ...] = ()


ROWS: tuple[Row, ...] = (
    Row("SessionStart", "pre-session", blocks=False),
    Row("SessionEnd", "post-session", blocks=False, context=False, renames=(("reason", "exit_reason"),)),
    Row("UserPromptSubmit", "pre-agent-turn"),
    Row("PreToolUse", "pre-tool-call"),
    Row("PermissionRequest", "permission-request", context=False),
    Row("PostToolUse", "post-tool-call", renames=(("tool_response", "tool_output"),)),
    Row("PostToolUseFailure", "post-tool-call-failure", blocks=False),
    Row("Stop", "pre-agent-turn-stop", renames=(("last_assistant_message", "final_message"),)),
    Row("SubagentStart", "pre-subagent", blocks=False, renames=(("agent_type", "subagent_type"),)),
    Row(
        "SubagentStop",
        "post-subagent",
        renames=(("agent_type", "subagent_type"), ("last_assistant_message", "result")),
    ),
    Row("StopFailure", "turn-failure", blocks=False, context=False),
    Row("PreCompact", "pre-context-compact", context=False),
    Row("PostCompact", "post-context-compact", blocks=False, context=False),
    Row("Notification", "notification", blocks=False, context=False),
)
BY_NAME = {row.name: row for row in ROWS}
BY_KIND = {row.kind: row for row in ROWS}
ELSEWHERE = (
    "ConfigChange",
    "CwdChanged",
    "DirectoryAdded",
    "Elicitation",
    "ElicitationResult",
    "FileChanged",
    "InstructionsLoaded",
    "MessageDisplay",
    "PermissionDenied",
    "PostModelSwitch",
    "PostToolBatch",
    "PreModelSwitch",
    "Setup",
    "TaskCompleted",
    "TaskCreated",
    "TeammateIdle",
    "UserPromptExpansion",
    "WorktreeCreate",
    "WorktreeRemove",
)  # events of Claude Code that have no counterpart here

COMMON = ("session_id", "cwd", "hook_event_name")


def read_event(data: bytes, name: str | None = None) -> Event:
    """Read an event from Claude Code. One that has no counterpart here is read too, as an event nobody can hook."""
    fields = host_object(data)
    said = fields.get("hook_event_name", name)
    if not isinstance(said, str):
        raise DialectError("which event? Name it with --event, or as 'hook_event_name' in the JSON")
    if name is not None and said != name and SPELLINGS.get(name) is not SPELLINGS.get(said, UNMAPPED):
        raise DialectError(f"--event says '{name}', but 'hook_event_name' in the JSON says '{said}'")
    return _event(fields, said)


def _event(fields: dict[str, Any], said: str) -> Event:
    row = BY_NAME.get(said)
    kind: EventKind | None = SPELLINGS[row.kind] if row else UNMAPPED if said in ELSEWHERE else SPELLINGS.get(said)
    if kind is None:
        raise DialectError(f"unknown event '{said}'")
    names = dict((row or Row("", "")).renames)
    data = {names.get(key, key): _inward(names.get(key), value) for key, value in fields.items() if key not in COMMON}
    if kind is UNMAPPED:
        data["hook_event_name"] = said
    texts = [fields.get(key, "") for key in ("session_id", "cwd", "tool_name")]
    if not all(isinstance(text, str) for text in texts):
        raise DialectError("'session_id', 'cwd' and 'tool_name' must be texts")
    return Event(kind, "", texts[0], texts[1], {}, data)


def _inward(name: str | None, value: Any) -> Any:
    return {"role": "assistant", "content": value} if name == "final_message" and isinstance(value, str) else value


def _outward(name: str, value: Any) -> Any:
    plain = name == "final_message" and isinstance(value, dict) and isinstance(value.get("content"), str)
    return value["content"] if plain else value


def write_event(event: Event) -> bytes:
    """Write an event as Claude Code does: the reverse of `read_event`."""
    row = BY_KIND.get(event.kind.name)
    names = {ours: theirs for theirs, ours in row.renames} if row else {}
    data = {names.get(key, key): _outward(key, value) for key, value in event.data.items()}
    said = data.pop("hook_event_name", None) or (row.name if row else event.kind.name)
    first = {"session_id": event.session_id, "cwd": event.work_dir, "hook_event_name": said}
    return dump_line({**first, **data})


def write_answer(verdict: Verdict) -> Exit:
    """Write a verdict for Claude Code, in JSON at exit 0: at exit 2 it would show the whole command line to the model."""
    row = BY_KIND.get(verdict.event.kind.name)
    if row is None:
        return Exit(0)
    answer: dict[str, Any] = {}
    nested: dict[str, Any] = {}
    messages = [*verdict.system_message, *verdict.warnings()]  # at exit 0 nobody sees stderr there
    reasons = "\n".join(verdict.reasons)
    if verdict.decision == Decision.STOP:
        answer |= {"continue": False, "stopReason": reasons or "stopped by a hook"}
    elif verdict.decision != Decision.NONE:
        _say_decision(verdict, row, reasons, answer, nested, messages)
    _say_effects(verdict, row, nested, messages)
    if messages:
        answer["systemMessage"] = "\n".join(messages)
    if nested:
        answer["hookSpecificOutput"] = {"hookEventName": row.name, **nested}
    return Exit(0, stdout=dump_line(answer) if answer else b"")


def _say_decision(
    verdict: Verdict, row: Row, reasons: str, answer: dict[str, Any], nested: dict[str, Any], messages: list[str]
) -> None:
    """Say a decision where this event can hear it; elsewhere tell the person what could not be done."""
    blocked = verdict.decision == Decision.BLOCK
    if row.name == "PreToolUse":
        nested["permissionDecision"] = "deny" if blocked else verdict.decision.word
        if reasons:
            nested["permissionDecisionReason"] = reasons
    elif row.name == "PermissionRequest" and verdict.decision != Decision.ASK:
        nested["decision"] = {"behavior": "deny" if blocked else "allow"}
        if reasons and blocked:
            nested["decision"]["message"] = reasons
    elif blocked and row.blocks:
        answer |= {"decision": "block", "reason": reasons or "blocked by a hook"}
    elif blocked and row.name == "PostToolUseFailure":
        nested["additionalContext"] = reasons
    elif blocked:
        messages.append(f"a hook wanted to block, which {row.name} cannot: {reasons}")


def _say_effects(verdict: Verdict, row: Row, nested: dict[str, Any], messages: list[str]) -> None:
    if verdict.modified_input is not None and row.name == "PermissionRequest":
        nested.setdefault("decision", {"behavior": "allow"})["updatedInput"] = verdict.modified_input
    elif verdict.modified_input is not None:
        nested["updatedInput"] = verdict.modified_input
    if verdict.outcome.output is not ABSENT:
        nested["updatedToolOutput"] = verdict.outcome.output
    contexts = "\n".join(verdict.additional_context)
    if contexts and row.context:
        nested["additionalContext"] = "\n".join(filter(None, [nested.get("additionalContext", ""), contexts]))
    elif contexts:
        messages.append(contexts)
