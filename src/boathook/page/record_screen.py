"""Record: everything in one record, as `boathook why` explains it."""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING, Any

from boathook.cli.record_story import describe_record
from boathook.cli.record_text import find_folder
from boathook.errors import ConfigError
from boathook.ledger.record import DISPATCH_TYPE
from boathook.ledger.schema import LedgerRecord
from boathook.page.markup import Html, join_html, make_element
from boathook.page.parts import (
    make_copy_button,
    make_decision,
    make_diff,
    make_downloads,
    make_facts,
    make_lines,
    make_link,
    make_time,
)
from boathook.page.record_index import RecordRow

if TYPE_CHECKING:
    from boathook.page.page_context import PageContext, Query

# Fields that newer records have.
_ORIGIN_FIELDS = {"tool_use_id": "call", "machine": "machine", "boathook": "boathook", "hook_set": "set of hooks"}


def make_record_screen(context: PageContext, query: Query) -> Html:
    row, record = find_whole_record(context, query.get("id", ""))
    ends = context.index.read_ends(row)
    about = {
        "time": make_time(record["time"]),
        "agent": make_link(row.host, "live", agent=row.host) if row.host else "",
        "session": make_link(row.session, "session", id=row.session) if row.session else "",
        "project": make_link(row.folder, "live", project=row.folder) if row.folder else "",
        "event": row.event,
        **{label: record.get(field) for field, label in _ORIGIN_FIELDS.items()},
    }
    title = (row.tool or row.event or row.type, " ", make_decision(row.decision))
    return join_html(
        (
            make_element("h1", title),
            make_element("p", make_copy_button(f"boathook why {row.id}"), class_="actions"),
            make_facts(about),
            _make_input(record),
            make_element("h2", "Hooks") if record.get("hooks") else None,
            [_make_run(number, run, row) for number, run in enumerate(record.get("hooks") or (), 1)],
            make_element("h2", "The whole story"),
            _make_story(record, ends),
            _make_raw(record),
            make_downloads("record", ("md", "json"), {"id": row.id}),
        )
    )


def find_whole_record(context: PageContext, prefix: str) -> tuple[RecordRow, LedgerRecord]:
    row = context.index.find_row(prefix.strip().lower())
    record = context.index.read_record(row) if row is not None else None
    if row is None or record is None:
        raise ConfigError(
            f"no record that is listed here has the id '{prefix}'. Look in the whole ledger: boathook why {prefix}"
        )
    return row, record


def _make_input(record: LedgerRecord) -> Html | None:
    if record.get("input") is None:
        return None
    before = format_value(record["input"])
    parts = [make_element("h2", "Input"), make_element("pre", before, class_="input")]
    changed = (record.get("changed") or {}).get("tool_input") or {}
    if "input" in changed:
        lines = difflib.unified_diff(
            before.splitlines(), format_value(changed["input"]).splitlines(), "before", "after", lineterm="", n=3
        )
        parts += [make_element("h2", "What hooks changed in it"), make_diff(lines)]
    elif changed:
        parts.append(make_element("p", "Hooks changed it; the new input is not recorded.", class_="note"))
    if record["type"] == DISPATCH_TYPE:
        replay = make_link("Replay it with today's hooks", "replay", id=record["id"], project=find_folder(record))
        parts.append(make_element("p", replay, " (nothing that was recorded is executed)"))
    return join_html(parts)


def format_value(value: Any) -> str:
    """Return an input as text: that of a command as it is, anything else as indented JSON."""
    if isinstance(value, dict) and list(value) == ["command"] and isinstance(value["command"], str):
        return str(value["command"])
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def _make_run(number: int, run: dict[str, Any], row: RecordRow) -> Html:
    matched = ", ".join(f"{key} {value}" for key, value in run["matched"].items())
    facts = {
        "exit code": "" if run["exit"] is None else str(run["exit"]),
        "status": run["status"],
        "took": f"{run['ms']:g} ms",
        "matched": matched or "not recorded",
        "from": run["path"],
        "file": run.get("file"),
        "reason": run["reason"],
        "notes": "\n".join(run["notes"]),
        "trusted as": run.get("approval"),
        "allowed": f"once by a person, who was asked about {run['allowed']}" if run.get("allowed") else "",
    }
    name = make_link(run["hook"], "hook", name=run["hook"], project=row.folder)
    heading = make_element("h3", f"{number}. ", name, " ", make_decision(run["decision"]))
    return make_element("section", heading, make_facts(facts), class_="run")


def _make_story(record: LedgerRecord, ends: list[LedgerRecord]) -> Html:
    return make_lines(describe_record(record, ends))


def _make_raw(record: LedgerRecord) -> Html:
    text = json.dumps(record, ensure_ascii=False, indent=2)
    return make_element("details", make_element("summary", "As it is in the ledger"), make_element("pre", text))
