"""Sessions: the story of one session, call by call, with what was refused in between."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from boathook.cli.record_text import CLOCK_TIME, format_time, name_agent
from boathook.core.event import PRE_TOOL, find_kind
from boathook.core.value import Value
from boathook.errors import BoathookError
from boathook.ledger.record import ANSWERED_TYPE, ASKED_TYPE, DISPATCH_TYPE
from boathook.ledger.schema import LedgerRecord
from boathook.page.ledger_sums import SessionSum
from boathook.page.live_screen import ROW_HEADINGS, row_to_json
from boathook.page.markup import Html, join_html, make_element
from boathook.page.parts import (
    make_copied_command,
    make_copy_button,
    make_decision,
    make_downloads,
    make_facts,
    make_link,
    make_row_headings,
    make_table,
    make_time,
)
from boathook.page.record_index import RecordRow
from boathook.page.record_screen import find_question

if TYPE_CHECKING:
    from boathook.page.page_context import PageContext, Query

_SHOWN_SESSIONS, _SHOWN_EVENTS = 200, 500
_STEP_HEADINGS = {name: ROW_HEADINGS[name] for name in ("time", "tool", "decision", "input", "hooks", "reason")}


class SessionStep(Value):
    """One line of a session: a record, and for a call that ran what came after it."""

    row: RecordRow
    after: RecordRow | None = None


def list_sessions(context: PageContext, query: Query) -> list[dict[str, Any]]:  # noqa: ARG001
    with context.index.lock:
        sums = sorted(context.index.sums.sessions.values(), key=lambda one: one.last, reverse=True)
        return [_session_to_json(one) for one in sums[:_SHOWN_SESSIONS]]


def _session_to_json(one: SessionSum) -> dict[str, Any]:
    about = {"session": one.session, "agent": one.host, "project": one.folder, "first": one.first, "last": one.last}
    return {**about, "events": one.events, "objections": one.objections, "hooks_ms": round(one.ms, 1)}


def make_sessions_screen(context: PageContext, query: Query) -> Html:
    sessions = list_sessions(context, query)
    rows = [
        (
            make_link(row["session"], "session", id=row["session"]),
            name_agent(row["agent"]),
            row["project"],
            make_time(row["last"]),
            f"{row['events']:,}",
            f"{row['objections']:,}",
        )
        for row in sessions
    ]
    commands = [make_copied_command("log", "--session", row["session"]) for row in sessions]
    headers = ("Session", "Agent", "Project", "Last event", "Events", "Blocked or asked")
    table = make_table(headers, rows, commands) if rows else make_element("p", "No session is recorded.")
    return join_html((make_element("h1", "Sessions"), table, make_downloads("sessions", ("json", "csv"), {})))


def make_session_screen(context: PageContext, query: Query) -> Html:
    session = query.get("id", "")
    with context.index.lock:
        found = context.index.sums.sessions.get(session)
        about = _session_to_json(found) if found is not None else None
        length = found.count_seconds() if found is not None else 0.0
    rows = list(islice((row for row in context.index.list_rows() if row.session == session), _SHOWN_EVENTS))[::-1]
    steps = join_calls(context, rows)
    facts: dict[str, object] = {}
    if about is not None:
        share = (
            f", {about['hooks_ms'] / 10 / length:.1f} % of the time between its first and last event" if length else ""
        )
        facts = {
            "agent": name_agent(about["agent"]),
            "project": about["project"],
            "from": make_time(about["first"]),
            "to": make_time(about["last"]),
            "events": f"{about['events']:,}",
            "blocked or asked": f"{about['objections']:,}",
            "hooks took": f"{about['hooks_ms']:,.0f} ms{share}",
        }
    items = [_make_step(step) for step in steps]
    cut = f"Only the last {_SHOWN_EVENTS} events are shown." if len(rows) == _SHOWN_EVENTS else None
    return join_html(
        (
            make_element("h1", f"Session {session}"),
            make_element("p", make_copy_button(make_copied_command("log", "--session", session))),
            make_facts(facts),
            make_element("p", cut, class_="note") if cut else None,
            make_row_headings(_STEP_HEADINGS, "story") if items else None,
            make_element("ol", items, class_="rows story", aria_label="Events, the oldest first") if items else None,
            None if items else make_element("p", "No record here is of this session."),
            make_element("p", make_link("Follow it", "live", session=session)),
            make_downloads("session", ("json", "csv"), {"id": session}),
        )
    )


def list_session_steps(context: PageContext, query: Query) -> list[dict[str, Any]]:
    """Return the steps of a session, the oldest first; what came after a call has columns of its own."""
    rows = [row for row in context.index.list_rows() if row.session == query.get("id", "")][::-1]
    return [_step_to_json(step) for step in join_calls(context, rows)]


def _step_to_json(step: SessionStep) -> dict[str, Any]:
    names = {"id": "after_id", "decision": "after_decision", "hooks": "after_hooks", "reason": "after_reason"}
    after = row_to_json(step.after) if step.after is not None else {}
    return {**row_to_json(step.row), **{name: after.get(key, "") for key, name in names.items()}}


def join_calls(context: PageContext, rows: list[RecordRow]) -> list[SessionStep]:
    """Return the events of a session in their order; what came after a call is on the line of the call.

    The agent's id of a call counts: its input may be another one afterwards, and two calls may be the same.
    """
    steps: list[SessionStep] = []
    open_calls: dict[str, list[int]] = {}
    for row in _leave_out_questions(context, rows):
        key = row.call or (_make_call_key(context.index.read_record(row)) if row.tool else "")
        if key and row.event == PRE_TOOL.name:
            open_calls.setdefault(key, []).append(len(steps))
        elif key and open_calls.get(key) and _is_after_call(row.event):
            at = open_calls[key].pop()
            steps[at] = steps[at].replace(after=row)
            continue
        steps.append(SessionStep(row))
    return steps


def _leave_out_questions(context: PageContext, rows: list[RecordRow]) -> list[RecordRow]:
    """Return the rows without questions and their outcomes, if the call that they are about has ended: it says both."""
    questions: dict[str, str] = {}
    for row in rows:
        if row.type in (ASKED_TYPE, ANSWERED_TYPE):
            questions[row.id] = find_question(context.index.read_record(row) or {"type": row.type})
    if not questions:
        return rows
    calls = (context.index.read_record(row) for row in rows if row.type == DISPATCH_TYPE)
    ended = {find_question(call) for call in calls if call is not None}
    return [row for row in rows if questions.get(row.id, "") not in ended - {""}]


def _make_call_key(record: LedgerRecord | None) -> str:
    """Return what the events of a call have in common that its agent gives no id: its tool and input."""
    return f"{record.get('tool')} {record.get('input_sha256')}" if record is not None else ""


def _is_after_call(event: str) -> bool:
    try:
        kind = find_kind(event)
    except BoathookError:
        return False
    return kind.has_tool and not kind.is_pre


def _make_step(step: SessionStep) -> Html:
    row = step.row
    cells = [
        (make_element("time", format_time({"time": row.time}, CLOCK_TIME), datetime=row.time), "time"),
        (row.tool or row.event, "tool"),
        (make_decision(row.decision), "decision"),
        (row.input, "input"),
        (row.deciders, "hooks"),
        (row.reason, "reason"),
    ]
    spans = [(make_element("span", text, class_=f"cell {name}"), " ") for text, name in cells if text]
    after = None
    if step.after is not None:
        texts = (
            " after the call: ",
            make_decision(step.after.decision),
            " ",
            step.after.deciders,
            " ",
            step.after.reason,
        )
        after = make_element("span", make_link(texts, "record", id=step.after.id), class_="after")
    link = make_link(spans, "record", id=row.id)
    class_name = "problem" if row.has_problem else "quiet" if row.decision == "none" else None
    return make_element("li", link, after, class_=class_name, data_copy=make_copied_command("why", row.id))
