"""`boathook log`: what hooks did, and where, and why."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from boathook.assembly import load_catalog, resolve_state
from boathook.cli.common_options import EVENT, RECORDED_HOST, make_agent_option, since_option, state_option
from boathook.cli.log_table import LogTable
from boathook.cli.name_completion import ANY_HOOK_NAME
from boathook.cli.record_text import SHOWN_DECISIONS, describe_empty_log, is_in_project, is_of_doctor, list_record_hooks
from boathook.cli.show import echo, format_count, make_console, write_json_line
from boathook.core.event import find_kind
from boathook.core.hook import ARMED
from boathook.errors import ConfigError
from boathook.hosts.tool_names import find_canonical_name
from boathook.ledger.reader import LedgerReader
from boathook.ledger.schema import LedgerRecord
from boathook.sources.hook_names import is_hook_called, make_unknown_hook_error, match_hook_names

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
# So many records are shown at a terminal, unless it is said how many or since when.
_SHOWN_AT_TERMINAL = 50


@dataclass(frozen=True, slots=True)
class LogFilter:
    hook: str | None = None
    event: str | None = None
    decision: str | None = None
    agent: str | None = None
    # A folder; "" is the current one.
    project: str | None = None
    tool: str | None = None
    session: str | None = None
    since: str | None = None

    def matches(self, record: LedgerRecord) -> bool:
        """Whether to show a record; `since` is up to the reader."""
        return (
            (self.hook is None or any(is_hook_called(name, self.hook) for name in list_record_hooks(record)))
            and (self.event is None or record.get("event") == find_kind(self.event).name)
            and (
                self.decision is None or self.decision in (record.get("decision"), record.get("result"), record["type"])
            )
            and (self.agent is None or record.get("host") == self.agent)
            and (self.project is None or is_in_project(record, self.project))
            and (self.tool is None or record.get("tool") in (self.tool, find_canonical_name(self.tool)))
            and (self.session is None or record.get("session", "").startswith(self.session))
        )


@click.command("log")
@click.option("--follow", "-f", is_flag=True, help="Follow new records.")
@click.option("-n", "count", type=click.IntRange(min=0), metavar="N", help="Only the last N records; 0 for all.")
@click.option("--hook", type=ANY_HOOK_NAME, metavar="NAME", help="Only events this hook ran on, or should have.")
@click.option("--event", type=EVENT, metavar="EVENT", help="Only this event.")
@click.option(
    "--decision",
    type=click.Choice(SHOWN_DECISIONS),
    help="Only this decision, result of a question, or other record.",
)
@make_agent_option("agent", "Only events of this agent", choices=RECORDED_HOST)
@click.option(
    "--project",
    metavar="[DIR]",
    is_flag=False,
    flag_value="",
    type=click.Path(),
    help="Only events in this project: DIR, or the project around the current folder.",
)
@click.option("--tool", metavar="NAME", help="Only calls of this tool, in any agent's name for it.")
@click.option("--session", metavar="ID", help="Only this session (any prefix of its id).")
@since_option
@click.option("--all", "everything", is_flag=True, help="Also records that `boathook doctor` left.")
@click.option("--utc", "is_utc", is_flag=True, help="Show times in UTC instead of local time.")
@click.option("--json", "as_json", is_flag=True, help="Print the records as JSON, one per line.")
@state_option
def show_log(
    follow: bool,
    count: int | None,
    everything: bool,
    is_utc: bool,
    as_json: bool,
    state: str | None,
    **filters: str | None,
) -> int:
    """Show what hooks did, where, and why.

    Events that no hook matches are not recorded. At a terminal, the last 50 records are shown unless you say how many
    (-n) or since when. `boathook why ID` shows everything about one record.

    \b
    Examples:
      boathook log --since 2h
      boathook log --project --decision block
      boathook log --agent codex --tool Shell -n 5
      boathook log --follow --hook no-force-push
    """
    log_filter = LogFilter(**filters)
    reader = LedgerReader(resolve_state(state))
    table = LogTable(is_utc=is_utc)
    show = (lambda record: write_json_line(record_to_json(record))) if as_json else table.print_record
    select = _RecordSelection(log_filter, is_whole=everything or as_json)
    if count is None and make_console().is_terminal and log_filter.since is None and not as_json:
        count = _SHOWN_AT_TERMINAL
    try:
        shown, matching = _show_last(select.pick(reader.read(parse_time(log_filter.since))), count, show)
        if follow:
            _follow(reader, select, show)
        elif not matching and not as_json:
            echo(describe_empty_log(reader.folder, is_filtered=log_filter != LogFilter()))
            if log_filter.hook is not None and (hint := _explain_no_records(log_filter.hook, log_filter.project)):
                echo(hint, "yellow")
        elif shown < matching and not as_json:
            echo(f"{format_count(matching - shown, 'earlier record')}: boathook log -n 0 shows all", "dim")
    except KeyboardInterrupt:
        pass
    warn_unreadable_lines(reader)
    return 0


def _explain_no_records(name: str, project: str | None) -> str:
    """Return why a hook may have no records: there is none of this name, or it does not run; "" if nothing is known."""
    hooks = load_catalog(Path(project) if project else None).hooks
    found = match_hook_names(hooks, name)
    if not found:
        text = str(make_unknown_hook_error(hooks, name))
        return text[0].upper() + text[1:]
    silent = next((hook for hook in found if hook.state != ARMED), None)
    return f"{silent.name} does not run here: {silent.state_text}" if silent and len(found) == 1 else ""


class _RecordSelection:
    """The records to show; those that `boathook doctor` leaves are about no event, and left out unless `is_whole`."""

    def __init__(self, log_filter: LogFilter, *, is_whole: bool) -> None:
        self._filter, self._is_whole = log_filter, is_whole

    def has(self, record: LedgerRecord) -> bool:
        return (self._is_whole or not is_of_doctor(record)) and self._filter.matches(record)

    def pick(self, records: Iterable[LedgerRecord]) -> Iterable[LedgerRecord]:
        return filter(self.has, records)


def _show_last(
    records: Iterable[LedgerRecord], count: int | None, show: Callable[[LedgerRecord], None]
) -> tuple[int, int]:
    """Show the last records, all if `count` is None or 0; return how many were shown, and how many there are."""
    matching = 0
    last: deque[LedgerRecord] = deque(maxlen=count or None)
    for record in records:
        matching += 1
        if count:
            last.append(record)
        else:
            show(record)
    for record in last:
        show(record)
    return len(last) if count else matching, matching


def _follow(reader: LedgerReader, select: _RecordSelection, show: Callable[[LedgerRecord], None]) -> None:
    for record in reader.follow():
        if record is None:
            sys.stdout.flush()
        elif select.has(record):
            show(record)


def warn_unreadable_lines(reader: LedgerReader) -> None:
    if reader.invalid_lines:
        lines = format_count(reader.invalid_lines, "line")
        echo(f"{lines} of the ledger cannot be read. Find out which: boathook ledger verify", "yellow", err=True)


def parse_time(text: str | None, now: datetime | None = None) -> str:
    """Return the time that a text means, in the form of the records; "" for None."""
    if not text:
        return ""
    number, unit = text[:-1], text[-1]
    try:
        if unit in _UNITS and number.isascii() and number.isdigit():
            moment = (now or datetime.now(UTC)) - timedelta(**{_UNITS[unit]: int(number)})
        else:
            moment = datetime.fromisoformat(text)
        # Without a zone it is the time of this machine, as in the output.
        moment = moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ConfigError(f"'{text}' is not a time: write 10m, 2h or 3d, or a date such as 2026-01-31T12:00") from None
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def record_to_json(record: LedgerRecord) -> dict[str, Any]:
    """Return a record without its own version, which is that of the ledger's format and not of the output."""
    return {key: value for key, value in record.items() if key != "v"}
