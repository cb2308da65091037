"""Record: everything in one record, as `boathook why` explains it."""

from __future__ import annotations

import difflib
import json
import time
from itertools import islice
from typing import TYPE_CHECKING, Any

from boathook.cli.record_story import describe_answer, describe_record, is_quiet, list_run_facts, name_answer
from boathook.cli.record_text import find_folder, name_agent
from boathook.cli.show import format_count
from boathook.errors import ConfigError
from boathook.ledger.record import ANSWERED_TYPE, ASKED_TYPE, DISPATCH_TYPE
from boathook.ledger.schema import LedgerRecord
from boathook.page.markup import Html, join_html, make_element
from boathook.page.parts import (
    format_ms,
    make_copied_command,
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
from boathook.page.record_result import is_denied_question, make_result
from boathook.permits.call_permits import read_question

if TYPE_CHECKING:
    from boathook.page.page_context import PageContext, Query

# What the other records of a question are, by their types, and how many records of a session are read to find them.
_QUESTION_LABELS = {DISPATCH_TYPE: "the call", ASKED_TYPE: "the question", ANSWERED_TYPE: "what became of it"}
_MAX_NEAR_ROWS = 1000
# Fields that newer records have.
_ORIGIN_FIELDS = {"tool_use_id": "call", "machine": "machine", "boathook": "boathook", "hook_set": "set of hooks"}


def make_record_screen(context: PageContext, query: Query) -> Html:
    row, record = find_whole_record(context, query.get("id", ""))
    ends = context.index.read_ends(row)
    about = {
        "time": make_time(record["time"]),
        "agent": make_link(name_agent(row.host), "live", agent=row.host) if row.host else "",
        "session": make_link(row.session, "session", id=row.session) if row.session else "",
        "project": make_link(row.folder, "live", project=row.folder) if row.folder else "",
        "event": row.event,
        **{label: record.get(field) for field, label in _ORIGIN_FIELDS.items()},
    }
    title = (
        row.tool or row.event or row.type,
        ": " if row.decision else "",
        make_decision(row.decision),
        ", denied because the agent cannot ask" if is_denied_question(record) else "",
    )
    return join_html(
        (
            make_element("h1", title),
            make_result(record),
            _make_permission(context, row),
            make_element("p", make_copy_button(make_copied_command("why", row.id)), class_="actions"),
            make_facts({**about, **_link_question(context, row, record)}),
            _make_input(record),
            _make_context(record),
            make_element("h2", "Hooks") if record.get("hooks") else None,
            _make_runs(record, row),
            make_element("details", make_element("summary", "The whole story"), _make_story(record, ends)),
            _make_raw(record),
            make_downloads("record", ("md", "json"), {"id": row.id}),
        )
    )


def _make_permission(context: PageContext, row: RecordRow) -> Html | None:
    """Return the command that allows a call once, while that is possible."""
    if read_question(context.state, row.id, time.time()) is None:
        return None
    return make_element(
        "p", "A person can allow this call once: ", make_copy_button(make_copied_command("allow", row.id))
    )


def _link_question(context: PageContext, row: RecordRow, record: LedgerRecord) -> dict[str, object]:
    """Return links to the other records of a call that a person was asked about: its question, the outcome, the call."""
    question = find_question(record)
    if not question:
        return {}
    links: dict[str, object] = {}
    near = (one for one in context.index.list_rows() if one.session == row.session and one.id != row.id)
    for one in islice((one for one in near if one.type in _QUESTION_LABELS), _MAX_NEAR_ROWS):
        other = context.index.read_record(one)
        if other is not None and find_question(other) == question:
            links[_QUESTION_LABELS[one.type]] = make_link(f"{one.decision} ({one.id})", "record", id=one.id)
    return links


def find_question(record: LedgerRecord) -> str:
    """Return the id of the question that a record is about, or ""."""
    asked = record.get("asked") or {}
    return str(asked.get("question", "") if record["type"] == DISPATCH_TYPE else record.get("question", ""))


def find_whole_record(context: PageContext, prefix: str) -> tuple[RecordRow, LedgerRecord]:
    row = context.index.find_row(prefix.strip().lower())
    record = context.index.read_record(row) if row is not None else None
    if row is None or record is None:
        command = make_copied_command("why", prefix)
        raise ConfigError(f"no record that is listed here has the id '{prefix}'. Look in the whole ledger: {command}")
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


def _make_context(record: LedgerRecord) -> Html | None:
    """Return what hooks added to the context of the model, as far as it is recorded."""
    texts = (record.get("changed") or {}).get("context_texts")
    if not texts:
        return None
    shown = [make_element("pre", text, class_="input") for text in texts]
    return join_html((make_element("h2", "What hooks added to the context"), *shown))


def format_value(value: Any) -> str:
    """Return an input as text: that of a command as it is, anything else as indented JSON."""
    if isinstance(value, dict) and list(value) == ["command"] and isinstance(value["command"], str):
        return str(value["command"])
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def _make_runs(record: LedgerRecord, row: RecordRow) -> Html:
    """Return what each hook did; those that had no opinion are folded, because of a pack many are asked together."""
    runs = list(enumerate(record.get("hooks") or (), 1))
    opinions = [_make_run(number, run, row) for number, run in runs if not is_quiet(run)]
    quiet = [_make_run(number, run, row) for number, run in runs if is_quiet(run)]
    if not quiet:
        return join_html(opinions)
    summary = make_element("summary", f"{format_count(len(quiet), 'hook')} without an opinion")
    return join_html((opinions, make_element("details", summary, quiet)))


def _make_run(number: int, run: dict[str, Any], row: RecordRow) -> Html:
    answered = f"{describe_answer(run)}, after {format_ms(run['ms'])}"
    name = make_link(run["hook"], "hook", name=run["hook"], project=row.folder)
    heading = make_element("h3", f"{number}. ", name, " ", make_decision(name_answer(run)))
    return make_element("section", heading, make_facts([("answered", answered), *list_run_facts(run)]), class_="run")


def _make_story(record: LedgerRecord, ends: list[LedgerRecord]) -> Html:
    return make_lines(describe_record(record, ends))


def _make_raw(record: LedgerRecord) -> Html:
    text = json.dumps(record, ensure_ascii=False, indent=2)
    return make_element("details", make_element("summary", "As it is in the ledger"), make_element("pre", text))
