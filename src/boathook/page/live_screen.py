"""Live: one line per event, the newest first, with filters that are in the address."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from boathook.cli.log import LogFilter
from boathook.cli.record_text import SHORT_TIME, format_time
from boathook.core.outcome import Decision
from boathook.page.markup import Html, join_html, make_element
from boathook.page.parts import describe_age, make_address, make_decision, make_downloads, make_link
from boathook.page.record_index import RecordRow

if TYPE_CHECKING:
    from boathook.page.page_context import PageContext, Query

_SHOWN_ROWS = 200
_SHOWN_SESSION_CHARS = 8
# The filters that `boathook log` has, too; their names are the same.
_LOG_FILTERS = ("agent", "session", "decision", "hook", "tool", "event")
FILTERS = (*_LOG_FILTERS, "project", "only", "q")
_ONLY = {"": "everything", "objections": "blocked or asked", "problems": "problems"}


def make_live_screen(context: PageContext, query: Query) -> Html:
    state = context.index.describe_state()
    rows = list(islice(filter_rows(context, query), _SHOWN_ROWS))
    items = join_html([make_row(row) for row in rows])
    note = f"{state.rows:,} records"
    note += "" if state.is_complete else ", older ones are still being read"
    note += "; older ones are in the ledger: boathook log" if state.is_cut else ""
    empty = make_element("p", "No record matches. A record is written when a hook runs, or should have run.")
    return join_html(
        (
            make_element("h1", "Live"),
            _make_filter_form(context, query),
            make_element("p", note, class_="note"),
            make_element("ol", items, id="rows", class_="rows", aria_label="Records, the newest first"),
            None if rows else empty,
            make_downloads("live", ("json", "csv"), query),
        )
    )


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
            text = f"{row.id} {row.call} {row.host} {row.session} {row.tool} {row.deciders} {row.input} {row.reason} {row.folder}"
            if any(word not in text.lower() for word in self._words):
                return False
        return not self._has_log_filter or self._log_filter.matches(row.to_record())


def make_row(row: RecordRow) -> Html:
    """Return the line of one record; the whole line opens the record."""
    clock = make_element(
        "time", format_time({"time": row.time}, SHORT_TIME), datetime=row.time, title=describe_age(row.time)
    )
    cells = (
        (clock, "time"),
        (row.host, "agent"),
        (row.session[:_SHOWN_SESSION_CHARS], "session"),
        (row.tool or row.event or row.type, "tool"),
        (make_decision(row.decision), "decision"),
        (row.input or row.event, "input"),
        (row.deciders, "hooks"),
        (row.reason, "reason"),
        (f"{row.ms:g} ms", "ms"),
    )
    spans = [make_element("span", text, class_=f"cell {name}") for text, name in cells if text]
    name = f"{row.decision}: {row.tool or row.event} {row.input}".strip()
    link = make_element("a", spans, href=make_address("record", id=row.id), aria_label=name)
    class_name = "problem" if row.has_problem or row.is_spilled else "quiet" if row.decision == "none" else None
    return make_element(
        "li", link, class_=class_name, data_copy=f"boathook why {row.id}", data_place=f"{row.file}:{row.offset}"
    )


def describe_new_rows(rows: list[RecordRow], query: Query) -> Html:
    """Return the lines of new records that the filters let pass, the newest first."""
    matches = _RowFilter(query)
    return join_html([make_row(row) for row in reversed(rows[-_SHOWN_ROWS:]) if matches.has(row)])


def _make_filter_form(context: PageContext, query: Query) -> Html:
    with context.index.lock:
        hosts, hooks = sorted(context.index.sums.hosts), sorted(context.index.sums.hooks)
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
        _make_choice("agent", "Agent", {"": "all agents", **{name: name for name in hosts if name}}, query),
        _make_choice("decision", "Decision", {"": "all decisions", **{name: name for name in Decision.NAMES}}, query),
        _make_choice("hook", "Hook", {"": "all hooks", **{name: name for name in hooks}}, query),
        _make_choice("project", "Project", {"": "all projects", **{name: name for name in folders}}, query),
    )
    session = query.get("session", "")
    kept = make_element("input", type="hidden", name="session", value=session) if session else None
    label = make_element("span", f"session {session} ", make_link("(all sessions)", "live")) if session else None
    pause = make_element("button", "Pause", type="button", id="pause", aria_pressed="false")
    return make_element("form", fields, kept, label, pause, id="filters", data_screen="live", role="search")


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
