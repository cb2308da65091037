"""Live: one line per event, the newest first, with filters that are in the address."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from boathook.cli.log import LogFilter
from boathook.cli.record_text import SHORT_TIME, SHOWN_DECISIONS, format_time, name_agent
from boathook.cli.show import format_count
from boathook.ledger.record import DISPATCH_TYPE
from boathook.page.markup import Html, join_html, make_element
from boathook.page.parts import (
    format_ms,
    make_copied_command,
    make_decision,
    make_downloads,
    make_link,
    make_row_headings,
)
from boathook.page.record_index import RecordRow

if TYPE_CHECKING:
    from boathook.page.page_context import PageContext, Query

_SHOWN_ROWS = 200
_SHOWN_SESSION_CHARS = 8
# The id of the line that has the number of records.
COUNT_PART = "record-count"
# The filters that `boathook log` has, too; their names are the same.
_LOG_FILTERS = ("agent", "session", "decision", "hook", "tool", "event")
FILTERS = (*_LOG_FILTERS, "project", "only", "q")
# The filters that have a field in the form.
_FIELD_NAMES = ("q", "only", "agent", "decision", "hook", "project")
# By the names of the cells of a row.
ROW_HEADINGS = {
    "time": "Time",
    "agent": "Agent",
    "session": "Session",
    "tool": "Tool",
    "decision": "Decision",
    "input": "Input",
    "hooks": "Hooks",
    "reason": "Reason",
    "ms": "Took",
}
_ONLY = {"": "everything", "objections": "blocked or asked", "problems": "problems"}


def make_live_screen(context: PageContext, query: Query) -> Html:
    rows = list(islice(filter_rows(context, query), _SHOWN_ROWS))
    items = join_html([make_row(row) for row in rows])
    note = describe_records(context)
    # The style sheet hides it when the first row comes.
    text = "No record matches. A record is written when a hook runs, or should have run."
    empty = make_element("p", text, class_="empty")
    more = "Older records that match are not listed here. Search for them, or save the list."
    return join_html(
        (
            make_element("h1", "Live"),
            _make_filter_form(context, query),
            make_element("p", note, class_="note", id=COUNT_PART, data_key=note),
            make_row_headings(ROW_HEADINGS),
            make_element("ol", items, id="rows", class_="rows", aria_label="Records, the newest first"),
            None if rows else empty,
            make_element("p", more, class_="note") if len(rows) == _SHOWN_ROWS else None,
            make_downloads("live", ("json", "csv"), query),
        )
    )


def describe_records(context: PageContext) -> str:
    """Return how many records there are in all, and whether there are more; a stream sends it again when it has changed."""
    state = context.index.describe_state()
    note = f"{format_count(state.rows, 'record')} in all"
    note += "" if state.is_complete else ", older ones are still being read"
    return note + ("; older ones are in the ledger: boathook log" if state.is_cut else "")


def filter_rows(context: PageContext, query: Query) -> Iterator[RecordRow]:
    """Yield the rows that the filters of an address let pass, the newest first."""
    matches = _RowFilter(query)
    return (row for row in context.index.list_rows() if matches.has(row))


class _RowFilter:
    def __init__(self, query: Query) -> None:
        self._query = query
        self._words = query.get("q", "").lower().split()
        self._log_filter = LogFilter(**{key: query[key] for key in _LOG_FILTERS if query.get(key)})
        self._has_log_filter = self._log_filter != LogFilter()

    def has(self, row: RecordRow) -> bool:
        only, project = self._query.get("only", ""), self._query.get("project", "")
        if (only == "objections" and not row.is_objection) or (only == "problems" and not row.has_problem):
            return False
        if project and row.folder != project:
            return False
        if self._words:
            names = (row.id, row.call, row.host, name_agent(row.host), row.session, row.tool, row.folder)
            text = " ".join((*names, row.deciders, row.input, row.reason)).lower()
            if any(word not in text for word in self._words):
                return False
        return not self._has_log_filter or self._log_filter.matches(row.to_record())


def make_row(row: RecordRow) -> Html:
    """Return the line of one record; the whole line opens the record."""
    clock = make_element("time", format_time({"time": row.time}, SHORT_TIME), datetime=row.time)
    # Another record, such as that of a pause, may have one text only, which is too long for the names of hooks.
    has_hooks = row.type == DISPATCH_TYPE or bool(row.reason)
    cells = (
        (clock, "time"),
        (name_agent(row.host), "agent"),
        (row.session[:_SHOWN_SESSION_CHARS], "session"),
        (row.tool or row.event or row.type, "tool"),
        (make_decision(row.decision), "decision"),
        (row.input or row.event, "input"),
        (row.deciders if has_hooks else "", "hooks"),
        (row.reason if has_hooks else row.deciders, "reason"),
        (format_ms(row.ms), "ms"),
    )
    # With spaces, without which a screen reader may read two cells as one word.
    spans = [(make_element("span", text, class_=f"cell {name}"), " ") for text, name in cells if text]
    link = make_link(spans, "record", id=row.id)
    is_quiet = row.decision == "none" and not row.reason
    class_name = "problem" if row.has_problem or row.is_spilled else "quiet" if is_quiet else None
    return make_element(
        "li",
        link,
        class_=class_name,
        data_copy=make_copied_command("why", row.id),
        data_place=f"{row.file}:{row.offset}",
    )


def describe_new_rows(rows: list[RecordRow], query: Query) -> Html:
    """Return the lines of new records that the filters let pass, the newest first."""
    matches = _RowFilter(query)
    return join_html([make_row(row) for row in reversed(rows[-_SHOWN_ROWS:]) if matches.has(row)])


def _make_filter_form(context: PageContext, query: Query) -> Html:
    with context.index.lock:
        hosts, hooks = sorted(context.index.sums.hosts), sorted({name for name, _ in context.index.sums.hooks})
        folders = sorted(context.index.sums.folders)
    search = make_element(
        "input",
        type="search",
        name="q",
        id="search",
        value=query.get("q", ""),
        placeholder="search (/)",
        aria_label="Search",
    )
    fields = (
        search,
        _make_choice("only", "Show", _ONLY, query),
        _make_choice("agent", "Agent", {"": "all agents", **{name: name_agent(name) for name in hosts if name}}, query),
        _make_choice("decision", "Decision", {"": "all decisions", **{name: name for name in SHOWN_DECISIONS}}, query),
        _make_choice("hook", "Hook", {"": "all hooks", **{name: name for name in hooks}}, query),
        _make_choice("project", "Project", {"": "all projects", **{name: name for name in folders}}, query),
    )
    kept = [_keep_filter(name, query) for name in FILTERS if query.get(name) and name not in _FIELD_NAMES]
    pause = make_element("button", "Pause", type="button", id="pause", aria_pressed="false")
    return make_element("form", fields, kept, pause, id="filters", data_screen="live", role="search")


def _keep_filter(name: str, query: Query) -> Html:
    """Return a filter that has no field of its own: the form keeps it, and a link takes it away."""
    others = {key: value for key, value in query.items() if key in FILTERS and key != name}
    field = make_element("input", type="hidden", name=name, value=query[name])
    label = make_element("span", f"{name} {query[name]} ", make_link(f"(any {name})", "live", **others))
    return join_html((field, label))


def _make_choice(name: str, label: str, options: dict[str, str], query: Query) -> Html:
    chosen = query.get(name, "")
    known = options if chosen in options else {**options, chosen: chosen}
    items = [make_element("option", text, value=value, selected=value == chosen) for value, text in known.items()]
    return make_element("select", items, name=name, aria_label=label)


def list_live_rows(context: PageContext, query: Query) -> list[dict[str, Any]]:
    return [row_to_json(row) for row in islice(filter_rows(context, query), 10_000)]


def row_to_json(row: RecordRow) -> dict[str, Any]:
    about = {"time": row.time, "agent": row.host, "session": row.session, "tool": row.tool, "decision": row.decision}
    texts = {"hooks": row.deciders, "ms": row.ms, "input": row.input, "reason": row.reason, "project": row.folder}
    origin = {"call": row.call, "machine": row.machine, "boathook": row.boathook, "hook_set": row.hook_set}
    return {**about, **texts, "event": row.event, "id": row.id, **origin}
