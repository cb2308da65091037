"""Sessions: the story of one session, call by call, with what was refused in between."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from boathook.core.event import PRE_TOOL, find_kind
from boathook.core.value import Value
from boathook.errors import BoathookError
from boathook.ledger.schema import LedgerRecord
from boathook.page.ledger_sums import SessionSum
from boathook.page.markup import Html, join_html, make_element
from boathook.page.parts import (
    describe_age,
    make_copy_button,
    make_decision,
    make_downloads,
    make_facts,
    make_link,
    make_table,
    make_time,
)
from boathook.page.record_index import RecordRow

if TYPE_CHECKING:
    from boathook.page.page_context import PageContext, Query

_SHOWN_SESSIONS, _SHOWN_EVENTS = 200, 500


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
    rows = [
        (
            make_link(row["session"], "session", id=row["session"]),
            row["agent"],
            row["project"],
            join_html((make_time(row["last"]), f" ({describe_age(row['last'])})")),
            f"{row['events']:,}",
            f"{row['objections']:,}",
        )
        for row in list_sessions(context, query)
    ]
    headers = ("Session", "Agent", "Project", "Last event", "Events", "Blocked or asked")
    table = make_table(headers, rows) if rows else make_element("p", "No session is recorded.")
    return join_html((make_element("h1", "Sessions"), table, make_downloads("sessions", ("json", "csv"), {})))


def make_session_screen(context: PageContext, query: Query) -> Html:
    session = query.get("id", "")
    with context.index.lock:
        found = context.index.sums.sessions.get(session)
        about = _session_to_json(found) if found is not None else None
    rows = list(islice((row for row in context.index.list_rows() if row.session == session), _SHOWN_EVENTS))[::-1]
    steps = join_calls(context, rows)
    facts: dict[str, object] = {}
    if about is not None:
        length = _count_seconds(about["first"], about["last"])
        share = (
            f", {about['hooks_ms'] / 10 / length:.1f} % of the time between its first and last event" if length else ""
        )
        facts = {
            "agent": about["agent"],
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
            make_element("p", make_copy_button(f"boathook log --session {session}")),
            make_facts(facts),
            make_element("p", cut, class_="note") if cut else None,
            make_element("ol", items, class_="rows", aria_label="Events, the oldest first") if items else None,
            None if items else make_element("p", "No record here is of this session."),
            make_element("p", make_link("Follow it", "live", session=session)),
        )
    )


def join_calls(context: PageContext, rows: list[RecordRow]) -> list[SessionStep]:
    """Return the events of a session in their order; what came after a call is on the line of the call.

    The agent's id of a call counts: its input may be another one afterwards, and two calls may be the same.
    """
    steps: list[SessionStep] = []
    open_calls: dict[str, list[int]] = {}
    for row in rows:
        key = row.call or (_make_call_key(context.index.read_record(row)) if row.tool else "")
        if key and row.event == PRE_TOOL.name:
            open_calls.setdefault(key, []).append(len(steps))
        elif key and open_calls.get(key) and _is_after_call(row.event):
            at = open_calls[key].pop()
            steps[at] = steps[at].replace(after=row)
            continue
        steps.append(SessionStep(row))
    return steps


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
        (make_element("time", row.time[11:19], datetime=row.time), "time"),
        (row.tool or row.event, "tool"),
        (make_decision(row.decision), "decision"),
        (row.input, "input"),
        (row.deciders, "hooks"),
        (row.reason, "reason"),
    ]
    spans = [make_element("span", text, class_=f"cell {name}") for text, name in cells if text]
    after = None
    if step.after is not None:
        texts = (" then ", make_decision(step.after.decision), " ", step.after.deciders, " ", step.after.reason)
        after = make_element("span", make_link(texts, "record", id=step.after.id), class_="after")
    link = make_link(spans, "record", id=row.id)
    class_name = "problem" if row.has_problem else "quiet" if row.decision == "none" else None
    return make_element("li", link, after, class_=class_name, data_copy=f"boathook why {row.id}")


def _count_seconds(first: str, last: str) -> float:
    try:
        ends = [datetime.fromisoformat(text.replace("Z", "+00:00")) for text in (first, last)]
    except ValueError:
        return 0.0
    return (ends[1] - ends[0]).total_seconds()
