"""`boathook log`: what hooks did, one line per record."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from boathook.assembly import resolve_state
from boathook.cli.common_options import EVENT, since_option, state_option
from boathook.cli.show import echo, format_count, make_console, write_json_line
from boathook.core.event import find_kind
from boathook.core.outcome import Decision
from boathook.core.text import reveal_text
from boathook.core.verdict import OK
from boathook.errors import ConfigError
from boathook.ledger.reader import LedgerReader
from boathook.ledger.record import ALLOW_TYPE, DISPATCH_TYPE, END_TYPE, UNLOCK_TYPE
from boathook.ledger.schema import LedgerRecord

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_HEADERS = ("TIME (UTC)", "ID", "EVENT", "TOOL", "DECISION", "HOOKS")
_WIDTHS = (19, 12, 19, 12, 8, 0)
# Of a pack many hooks are asked together, and most have no opinion.
_MAX_NAMES = 3
_STYLES = {"block": "red", "stop": "bold red", "ask": "yellow", "failed": "yellow", "timeout": "yellow"}


@dataclass(frozen=True, slots=True)
class LogFilter:
    hook: str | None = None
    event: str | None = None
    decision: str | None = None
    since: str | None = None

    def matches(self, record: LedgerRecord) -> bool:
        """Whether to show a record; `since` is up to the reader."""
        return (
            (self.hook is None or self.hook in _list_hooks(record))
            and (self.event is None or record.get("event") == find_kind(self.event).name)
            and (self.decision is None or record.get("decision") == self.decision)
        )


@click.command("log")
@click.option("--follow", "-f", is_flag=True, help="Follow new records.")
@click.option("--hook", metavar="NAME", help="Only events this hook ran on, or should have.")
@click.option("--event", type=EVENT, metavar="EVENT", help="Only this event.")
@click.option("--decision", type=click.Choice(Decision.NAMES), help="Only events with this decision.")
@since_option
@click.option("--json", "as_json", is_flag=True, help="Print the records as JSON, one per line.")
@state_option
def show_log(follow: bool, as_json: bool, state: str | None, **filters: str | None) -> int:
    """Show what hooks did, one line per event.

    Events that no hook matches are not recorded.

    \b
    Examples:
      boathook log --since 2h
      boathook log --decision block --json
      boathook log --follow --hook no-force-push
    """
    log_filter = LogFilter(**filters)
    reader = LedgerReader(resolve_state(state))
    table = _LogTable()
    show = (lambda record: write_json_line(record_to_json(record))) if as_json else table.print_record
    try:
        count = _show_records(reader.read(parse_time(log_filter.since)), log_filter, show)
        if follow:
            _show_records(reader.follow(), log_filter, show)
        elif not count and not as_json:
            echo(describe_empty_log(reader.folder, is_filtered=log_filter != LogFilter()))
    except KeyboardInterrupt:
        pass
    # The reader of our output has ended.
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    warn_unreadable_lines(reader)
    return 0


def _show_records(
    records: Iterable[LedgerRecord | None], log_filter: LogFilter, show: Callable[[LedgerRecord], None]
) -> int:
    count = 0
    for record in records:
        if record is None:
            sys.stdout.flush()
        elif log_filter.matches(record):
            count += 1
            show(record)
    return count


def describe_empty_log(folder: str, *, is_filtered: bool) -> str:
    if is_filtered and next(iter(LedgerReader(folder).read()), None) is not None:
        return "No record matches."
    return f"The ledger in {folder} is empty. A record is written when a hook runs, or should have run."


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
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ConfigError(f"'{text}' is not a time: write 10m, 2h or 3d, or a date such as 2026-01-31T12:00") from None
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def _list_hooks(record: LedgerRecord) -> Iterator[str]:
    yield from (entry["hook"] for key in ("hooks", "background", "skipped") for entry in record.get(key) or ())
    if "hook" in record:
        yield record["hook"]


def record_to_json(record: LedgerRecord) -> dict[str, Any]:
    """Return a record without its own version, which is that of the ledger's format and not of the output."""
    return {key: value for key, value in record.items() if key != "v"}


class _LogTable:
    """A table that is printed row by row; only the last cell can have any width."""

    def __init__(self) -> None:
        self._console = make_console()
        self._has_header = False

    def print_record(self, record: LedgerRecord) -> None:
        if not self._has_header:
            self._has_header = True
            self._print_row(_HEADERS, "bold")
        cells = _make_cells(record)
        self._print_row(cells, _STYLES.get(cells[4], ""))

    def _print_row(self, cells: Iterable[str], style: str) -> None:
        padded = (reveal_text(cell).ljust(width) for cell, width in zip(cells, _WIDTHS, strict=True))
        style = style if self._console.is_terminal else ""
        self._console.print("  ".join(padded).rstrip(), style=style or None, markup=False, soft_wrap=True)


def _make_cells(record: LedgerRecord) -> tuple[str, ...]:
    time = record["time"][:19].replace("T", " ")
    if record["type"] == DISPATCH_TYPE:
        decision, hooks = record.get("decision", ""), ", ".join(_describe_hooks(record))
    elif record["type"] == END_TYPE:
        decision, hooks = record.get("status", ""), f"{record.get('hook', '')} ended in {record.get('ms')} ms"
    else:
        decision, hooks = record["type"], describe_other_record(record)
    if record.get("spilled"):
        hooks = f"{hooks} [unverified: not in the chain]".lstrip()
    return (time, record["id"], record.get("event", ""), record.get("tool", ""), decision, hooks)


def describe_other_record(record: LedgerRecord) -> str:
    """Return what a record that is not about hooks says."""
    if record["type"] == ALLOW_TYPE:
        return f"a person allowed the call of {record.get('question', '')} once, until {record.get('until', '')}"
    if record["type"] == UNLOCK_TYPE:
        until = record.get("until")
        return f"a person paused self-protection until {until}" if until else "the pause of self-protection was ended"
    return ", ".join(record.get("segments") or ())


def _describe_hooks(record: LedgerRecord) -> Iterator[str]:
    yield from (text for text, is_quiet in _list_runs(record) if not is_quiet)
    yield from _shorten_names([text for text, is_quiet in _list_runs(record) if is_quiet], "without an opinion")
    yield from (f"{entry['hook']} (async)" for entry in record.get("background") or ())
    yield from _shorten_names([f"{entry['hook']} (skipped)" for entry in record.get("skipped") or ()], "skipped")
    if record.get("degraded"):
        yield f"[{record['host']} could not do all of it: boathook why {record['id']}]"


def _list_runs(record: LedgerRecord) -> Iterator[tuple[str, bool]]:
    """Yield each hook that ran, with what it decided if that was not the decision, and whether it had no opinion."""
    for run in record.get("hooks") or ():
        word = run["decision"] if run["status"] == OK else run["status"]
        word = "allowed by a person" if run.get("allowed") else word
        yield (run["hook"] if word in ("none", record["decision"]) else f"{run['hook']} ({word})"), word == "none"


def _shorten_names(names: list[str], what: str) -> list[str]:
    """Return names, or how many there are if these are too many for a line."""
    return [f"{len(names)} {what}"] if len(names) > _MAX_NAMES else names
