"""Why a call cannot be allowed, and what to do: it was used up, is allowed already, has expired, or was never a question."""

from __future__ import annotations

from difflib import SequenceMatcher

from boathook.cli.record_text import format_time
from boathook.core.event import CALL_KINDS
from boathook.core.permit import PERMIT_SECONDS, Question
from boathook.core.value import Value
from boathook.ledger.reader import LedgerReader
from boathook.ledger.record import ALLOW_TYPE, DISPATCH_TYPE
from boathook.ledger.schema import LedgerRecord
from boathook.ledger.writer import make_timestamp
from boathook.permits.call_permits import MAX_QUESTION_BYTES, MAX_QUESTIONS, find_open_permit, list_questions

_MAX_SHOWN_IDS = 5
_CALL_NAMES = tuple(kind.name for kind in CALL_KINDS)
_TRY_AGAIN = "Let the agent try again: if hooks still object, that call has a new id"


class QuestionTrace(Value):
    """What the ledger has about an id: its record, the permission of a person, and the call that used it."""

    record: LedgerRecord | None = None
    permission: LedgerRecord | None = None
    use: LedgerRecord | None = None


def describe_closed_question(state: str, prefix: str, now: float) -> str:
    """Return why no open question has an id that starts with a prefix, and what to do."""
    if permit := find_open_permit(state, prefix, now):
        until = _format_time(make_timestamp(permit.end))
        return f"{permit.id} is allowed already, until {until}, and was not used yet. Let the agent try again"
    trace = _find_trace(LedgerReader(state), prefix) if prefix else QuestionTrace()
    if trace.use is not None:
        used = f"it was used up at {_format_time(trace.use['time'])} by the call {trace.use['id']}"
        return f"'{prefix}' cannot be allowed again: you allowed it once, and {used}. {_TRY_AGAIN}"
    if trace.permission is not None:
        until = _format_time(trace.permission["until"])
        return f"'{prefix}' cannot be allowed again: you allowed it until {until}, and that is over or was used up. {_TRY_AGAIN}"
    if trace.record is not None:
        return _describe_record(trace.record, now)
    return f"no call has an id that starts with '{prefix}'. {_describe_open(list_questions(state, now), prefix)}"


def _find_trace(reader: LedgerReader, prefix: str) -> QuestionTrace:
    """Return the last record about an id; one that anybody can have added outside the chain does not count."""
    trace = QuestionTrace()
    for record in reader.read():
        if record.get("spilled"):
            continue
        if record["id"].startswith(prefix):
            trace = trace.replace(record=record)
        if record["type"] == ALLOW_TYPE and record["question"].startswith(prefix):
            trace = trace.replace(permission=record, use=None)
        if record["type"] == DISPATCH_TYPE and any(
            run.get("allowed", "").startswith(prefix) for run in record["hooks"]
        ):
            trace = trace.replace(use=record)
    return trace


def _describe_record(record: LedgerRecord, now: float) -> str:
    name = record["id"]
    if record["type"] != DISPATCH_TYPE:
        return f"{name} is not a call of an agent but a record of the type '{record['type']}'. See: boathook why {name}"
    if record["event"] not in _CALL_NAMES:
        return f"{name} cannot be allowed: only calls can ({', '.join(_CALL_NAMES)}), and this is {record['event']}"
    if record["decision"] == "stop":
        return f"{name} cannot be allowed: a hook ended the run, and that cannot be lifted. See: boathook why {name}"
    if record["decision"] not in ("block", "ask"):
        return (
            f"{name} needs no permit: no hook objects to it (decision: {record['decision']}). See: boathook why {name}"
        )
    if record["time"] < make_timestamp(now - PERMIT_SECONDS):
        asked = f"{PERMIT_SECONDS / 60:.0f} minutes, and this one is from {_format_time(record['time'])}"
        return f"{name} has expired: a question stays open for {asked}. {_TRY_AGAIN}"
    limits = f"it is longer than {MAX_QUESTION_BYTES >> 10} KiB, or {MAX_QUESTIONS} newer ones came after it"
    problem = f"boathook did not keep its question, because {limits}, or because the disk is full"
    return f"{name} cannot be allowed: {problem}. {_TRY_AGAIN}"


def _describe_open(questions: list[Question], prefix: str) -> str:
    if not questions:
        return "No call waits for an answer now: let the agent try again, then run: boathook allow"
    near = sorted(questions, key=lambda one: -SequenceMatcher(None, prefix, one.id).ratio())
    ids = ", ".join(question.id for question in near[:_MAX_SHOWN_IDS])
    return f"These calls can be allowed now: {ids}. To see what they are: boathook allow"


def _format_time(timestamp: str) -> str:
    return format_time({"time": timestamp})
