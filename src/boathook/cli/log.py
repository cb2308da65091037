"""`boathook log`: what hooks did, one line for each record."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from boathook.assembly import state_of
from boathook.cli.common_options import EVENT, since_option, state_option
from boathook.cli.show import console, printable, say
from boathook.core.event import find_kind
from boathook.core.outcome import Decision
from boathook.core.verdict import OK
from boathook.errors import ConfigError
from boathook.ledger.reader import Reader, Record
from boathook.ledger.record import DISPATCH, END

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
HEADERS = ("TIME (UTC)", "ID", "EVENT", "TOOL", "DECISION", "HOOKS")
WIDTHS = (19, 12, 19, 12, 8, 0)
STYLES = {"block": "red", "stop": "bold red", "ask": "yellow", "failed": "yellow", "timeout": "yellow"}


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which records are asked for."""

    hook: str | None = None
    event: str | None = None
    decision: str | None = None
    since: str | None = None

    def fits(self, record: Record) -> bool:
        """Whether a record is one of them."""
        return (
            (self.hook is None or self.hook in hooks_of(record))
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
    wanted = Wanted(**filters)
    reader = Reader(state_of(state))
    show = _print_json if as_json else _Table().show
    try:
        found = _shown(reader.read(since_of(wanted.since)), wanted, show)
        if follow:
            _shown(reader.follow(), wanted, show)
        elif not found and not as_json:
            say(nothing(reader.folder, asked=wanted != Wanted()))
    except KeyboardInterrupt:
        pass
    except BrokenPipeError:  # whoever read this has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    tell_odd(reader)
    return 0


def _shown(records: Iterable[Record | None], wanted: Wanted, show: Any) -> int:
    found = 0
    for record in records:
        if record is None:
            sys.stdout.flush()
        elif wanted.fits(record):
            found += 1
            show(record)
    return found


def nothing(folder: str, *, asked: bool) -> str:
    """Return that there is nothing to show."""
    if asked and next(iter(Reader(folder).read()), None) is not None:
        return "No record is like that."
    return f"Nothing is recorded yet in {folder}: a record is made when a hook runs, or should have."


def tell_odd(reader: Reader) -> None:
    """Report of lines that were passed over."""
    if reader.odd:
        lines = "1 line" if reader.odd == 1 else f"{reader.odd} lines"
        say(f"{lines} could not be read; boathook ledger verify says which", "yellow", err=True)


def since_of(text: str | None, now: datetime | None = None) -> str:
    """Return the time that a text means, as the records have it; nothing for none."""
    if not text:
        return ""
    number, unit = text[:-1], text[-1]
    try:
        if unit in UNITS and number.isascii() and number.isdigit():
            found = (now or datetime.now(UTC)) - timedelta(**{UNITS[unit]: int(number)})
        else:
            found = datetime.fromisoformat(text)
        found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ConfigError(f"'{text}' is no time: write 10m, 2h or 3d, or a date like 2026-01-31T12:00") from None
    return f"{found:%Y-%m-%dT%H:%M:%S}.{found.microsecond // 1000:03d}Z"


def hooks_of(record: Record) -> Iterator[str]:
    """Return the names of all hooks that a record speaks of."""
    yield from (one["hook"] for key in ("hooks", "background", "skipped") for one in record.get(key) or ())
    if "hook" in record:
        yield record["hook"]


def _print_json(record: Record) -> None:
    sys.stdout.buffer.write((json.dumps(record, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace"))


class _Table:
    """Rows as they come; only the last cell may be of any width."""

    def __init__(self) -> None:
        self.out = console()
        self.begun = False

    def show(self, record: Record) -> None:
        """Print the row of a record."""
        if not self.begun:
            self.begun = True
            self._row(HEADERS, "bold")
        row = cells(record)
        self._row(row, STYLES.get(row[4], ""))

    def _row(self, row: Iterable[str], style: str) -> None:
        line = "  ".join(printable(cell).ljust(width) for cell, width in zip(row, WIDTHS, strict=True)).rstrip()
        self.out.print(line, style=style if self.out.is_terminal else None, markup=False, soft_wrap=True)


def cells(record: Record) -> tuple[str, ...]:
    """Return the row of a record: time, id, event, tool, decision, hooks."""
    at = record["time"][:19].replace("T", " ")
    if record["type"] == DISPATCH:
        decision, told = record.get("decision", ""), ", ".join(_told(record))
    elif record["type"] == END:
        decision, told = record.get("status", ""), f"{record.get('hook', '')} ended in {record.get('ms')} ms"
    else:
        decision, told = record["type"], ", ".join(record.get("segments") or ())
    return (at, record["id"], record.get("event", ""), record.get("tool", ""), decision, told)


def _told(record: Record) -> Iterator[str]:
    for run in record.get("hooks") or ():
        word = run["decision"] if run["status"] == OK else run["status"]
        yield run["hook"] if word in ("none", record["decision"]) else f"{run['hook']} ({word})"
    yield from (f"{one['hook']} (async)" for one in record.get("background") or ())
    yield from (f"{one['hook']} (skipped)" for one in record.get("skipped") or ())
    if record.get("degraded"):
        yield f"[otherwise in {record['host']}: boathook why {record['id']}]"
