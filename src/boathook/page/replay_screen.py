"""Replay: today's hooks, or one that was changed, on recorded events. What was recorded is never executed."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from boathook.assembly import load_catalog
from boathook.cli.record_text import join_sentences
from boathook.cli.replay import ReplayReport, load_edited_hook, replay_records
from boathook.cli.show import format_count
from boathook.core.catalog import Catalog
from boathook.errors import ConfigError
from boathook.ledger.record import DISPATCH_TYPE
from boathook.ledger.schema import LedgerRecord
from boathook.page.markup import Html, join_html, make_element
from boathook.page.parts import (
    make_advice,
    make_copied_command,
    make_copy_button,
    make_decision,
    make_facts,
    make_link,
    make_project_command,
    make_table,
    make_time,
)
from boathook.page.record_screen import find_whole_record
from boathook.sources.hook_names import find_named_hooks

if TYPE_CHECKING:
    from boathook.page.page_context import PageContext, Query

_COUNTS = ("20", "100", "500")
_WHOLE_NOTE = (
    'Only events that were recorded whole can be replayed: set record = "whole" under [hooks] in your hooks.toml.'
)
_SAFE_NOTE = (
    "Hooks run in a sandbox and a scratch folder, without a network. "
    "Recorded calls are not executed, and nothing is recorded."
)


def make_replay_screen(context: PageContext, query: Query) -> Html:
    has_run = bool(query.get("last") or query.get("id"))
    return join_html(
        (
            make_element("h1", "Replay"),
            make_element("p", _SAFE_NOTE, class_="note"),
            _make_form(context, query),
            _make_report(context, query) if has_run else None,
        )
    )


def _make_form(context: PageContext, query: Query) -> Html:
    facts = context.facts.load_project(query.get("project") or None)
    names = ["", *dict.fromkeys(hook.name for hook in facts.hooks if hook.edited_folder)]
    chosen = query.get("hook", "")
    hooks = [make_element("option", name or "all hooks", value=name, selected=name == chosen) for name in names]
    counts = [make_element("option", count, value=count, selected=count == query.get("last")) for count in _COUNTS]
    project = query.get("project", "")
    return make_element(
        "form",
        make_element("label", "Hooks ", make_element("select", hooks, name="hook")),
        " ",
        make_element("label", "on the last ", make_element("select", counts, name="last"), " events"),
        make_element("input", type="hidden", name="project", value=project) if project else None,
        " ",
        make_element("button", "Replay", type="submit"),
        [
            make_element(
                "span", f"Replaying up to {count} events; this takes a while.", class_="busy", data_count=count
            )
            for count in _COUNTS
        ],
        id="filters",
        data_screen="replay",
        data_waits=True,
    )


def _make_report(context: PageContext, query: Query) -> Html:
    records = _choose_records(context, query)
    catalog, is_single = _choose_catalog(context, query)
    # Never without a sandbox: a page must not start a hook that can change something.
    report = replay_records(catalog, records, is_single=is_single, is_allowed_without=False)
    facts = context.facts.load_project(query.get("project") or None)
    is_whole = facts.loaded.catalog.settings.record == "whole"
    shown = _describe_report(report, is_single=is_single, records_whole=is_whole, folder=facts.folder)
    return join_html((shown, None if query.get("id") else _make_command(context, query)))


def _make_command(context: PageContext, query: Query) -> Html:
    """Return the command that prints a replay as JSON: an export would run the hooks again."""
    facts = context.facts.load_project(query.get("project") or None)
    name = query.get("hook", "")
    only = ("--hook", find_named_hooks(facts.hooks, name)[0].edited_folder) if name else ()
    command = make_project_command(facts.folder, "replay", *only, "--json")
    return make_element("p", "All recorded events, as JSON: ", make_copy_button(command))


def _choose_records(context: PageContext, query: Query) -> list[LedgerRecord]:
    if query.get("id"):
        return [find_whole_record(context, query["id"])[1]]
    count = int(query["last"]) if query.get("last") in _COUNTS else int(_COUNTS[0])
    rows = (row for row in context.index.list_rows() if row.type == DISPATCH_TYPE)
    records = [context.index.read_record(row) for row in islice(rows, count)]
    return [record for record in reversed(records) if record is not None]


def _choose_catalog(context: PageContext, query: Query) -> tuple[Catalog, bool]:
    """Return the hooks to run, and whether it is one that may have been changed."""
    facts = context.facts.load_project(query.get("project") or None)
    name = query.get("hook", "")
    if not name:
        return load_catalog(facts.project, state=context.given_state), False
    hook = find_named_hooks(facts.hooks, name)[0]
    if not hook.edited_folder:
        raise ConfigError(f"the hook '{hook.name}' has no folder of its own. Replay all hooks instead")
    return load_edited_hook(hook.edited_folder, facts.project), True


def _describe_report(report: ReplayReport, *, is_single: bool, records_whole: bool, folder: str) -> Html:
    facts = {
        "replayed": f"{report.replayed:,} of {format_count(report.events, 'event')}",
        "would block": f"{report.block_count:,}",
        "decisions now": ", ".join(f"{word} {count:,}" for word, count in report.decisions.items()),
        "hooks failed on": format_count(report.failed, "event") if report.failed else "",
        "with placeholders for secrets": format_count(report.redacted, "event") if report.redacted else "",
    }
    rows = [
        (
            make_time(row.record["time"]),
            make_link(row.record["id"], "record", id=row.record["id"]),
            row.record.get("tool") or row.record["event"],
            make_decision(row.record["decision"]),
            make_decision(row.now.partition(",")[0]) if "," not in row.now else row.now,
            join_sentences(row.reasons),
        )
        for row in report.differences
    ]
    nothing = "It would have blocked and changed nothing." if is_single else "No event would end differently."
    headers = ("Time", "Record", "Tool", "Was", "Now", "Why")
    commands = [make_copied_command("why", row.record["id"]) for row in report.differences]
    table = make_table(headers, rows, commands) if rows else make_element("p", nothing)
    absent = [
        make_element("li", f"{name} did not run: {cause.message}", make_advice(cause.fix, folder))
        for name, cause in report.absent.items()
    ]
    partial = None
    if report.partial:
        verb = "was" if report.partial == 1 else "were"
        older = f"{format_count(report.partial, 'older event')} {verb} not recorded whole, and cannot be replayed."
        partial = make_element("p", older if records_whole else _WHOLE_NOTE, class_="note")
    shown = (make_facts(facts), partial, make_element("ul", absent) if absent else None)
    return make_element("div", shown, table if report.replayed else None, class_="report")
