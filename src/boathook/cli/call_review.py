"""A call that hooks object to, as a person reviews it, and what the person types to allow it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from boathook.cli.pager import StyledLine
from boathook.cli.show import format_count
from boathook.cli.terminal import Terminal
from boathook.core.json_text import dumps
from boathook.core.permit import TYPED_CHARS, Objection, Question
from boathook.core.text import reveal_text
from boathook.core.waiting_question import WaitingQuestion
from boathook.ledger.writer import make_timestamp
from boathook.permits.waiting_questions import describe_waiting_call, list_waiting

_DECISIONS = {"block": "refuses it", "ask": "wants a person to decide"}


def describe_waiting_calls(state: str) -> str:
    """Return how many calls wait for a person, and the command for them; "" if none does."""
    count = len(list_waiting(state))
    verb = "waits" if count == 1 else "wait"
    return f"{format_count(count, 'call')} {verb} for your answer: boathook asks" if count else ""


def list_waiting_calls(state: str) -> list[dict[str, Any]]:
    """Return the calls that wait for a person, the oldest first, for the output of a command."""
    return [_describe_waiting(waiting) for waiting in list_waiting(state)]


def _describe_waiting(waiting: WaitingQuestion) -> dict[str, Any]:
    question = waiting.question
    return {
        "id": waiting.id,
        "since": make_timestamp(question.time),
        "until": make_timestamp(waiting.deadline),
        "agent": question.host,
        "session": question.session,
        "project": question.project,
        "tool": question.host_tool or question.tool,
        "hooks": list_objecting_hooks(waiting),
        "text": describe_waiting_call(waiting),
        "strong": question.needs_factor,
    }


def list_objecting_hooks(waiting: WaitingQuestion) -> list[str]:
    return list(dict.fromkeys(objection.hook for objection in waiting.question.objections))


def has_typed_digest(terminal: Terminal, action: str, digest: str) -> bool:
    typed = terminal.ask(f"To {action}, type the last {TYPED_CHARS} characters of the digest")
    return is_end_of_digest(typed, digest)


def is_end_of_digest(typed: str, digest: str) -> bool:
    return typed.lower() == digest[-TYPED_CHARS:]


def describe_call(question: Question) -> Iterator[StyledLine]:
    yield "", ""
    yield f"{reveal_text(question.host_tool or question.tool)}, a call that hooks object to", "bold"
    for label, text in (
        ("agent", question.host),
        ("session", question.session),
        ("project", question.project),
        ("folder", question.work_dir),
        ("event", question.event),
        ("tool", question.tool),
    ):
        yield f"  {label:9} {reveal_text(text) or '-'}", ""
    yield "  input", ""
    yield from _describe_input(question.tool_input)


def describe_objections(question: Question, note: str) -> Iterator[StyledLine]:
    yield "  objections", ""
    for objection in question.objections:
        yield from _describe_objection(objection)
    if note:
        yield f"  {note}", "dim"
    if question.needs_factor:
        # Beforehand, because a call waits only for a while.
        yield "  Needs your second factor.", "yellow"
    yield f"  digest    {question.digest}", ""


def _describe_input(value: Any) -> Iterator[StyledLine]:
    fields = value.items() if isinstance(value, dict) else [("", value)]
    for name, inner in fields:
        text = inner if isinstance(inner, str) else dumps(inner)
        first, *rest = text.split("\n")
        label = f"{reveal_text(name)}: " if name else ""
        yield f"    {label}{reveal_text(first, chr(9))}", ""
        for line in rest:
            yield f"    | {reveal_text(line, chr(9))}", ""


def _describe_objection(objection: Objection) -> Iterator[StyledLine]:
    about = reveal_text(f"{objection.hook} ({objection.scope}, {objection.source})")
    status = "" if objection.status == "ok" else f", because it did not work ({objection.status})"
    file = f", because of {reveal_text(objection.file)}" if objection.file else ""
    yield f"    {about} {_DECISIONS.get(objection.decision, objection.decision)}{status}{file}", "yellow"
    for line in objection.reason.split("\n"):
        yield f"      {reveal_text(line)}", ""
