"""`boathook stats`: how often each hook ran, blocked and failed, and how long it took."""

from __future__ import annotations

import os
from array import array
from collections.abc import Sequence
from typing import Any

import click

from boathook.assembly import resolve_state
from boathook.cli.common_options import json_option, since_option, state_option
from boathook.cli.log import parse_time, warn_unreadable_lines
from boathook.cli.record_text import describe_empty_log, is_of_doctor
from boathook.cli.show import echo, make_console, print_json, print_table, shorten_hook_name
from boathook.core.verdict import OK, TIMEOUT
from boathook.ledger.reader import LedgerReader
from boathook.ledger.record import DISPATCH_TYPE, END_TYPE

_BARS = " ▁▂▃▄▅▆▇█"
# Upper limits in milliseconds; one more bar counts the rest.
_BAR_LIMITS = (2, 5, 10, 20, 50, 100, 200, 500, 1000)
_COLUMNS = ("HOOK", "RUNS", "BLOCKS", "FAILURES", "TIMEOUTS", "P50 MS", "P95 MS", "P99 MS")
# In a narrower terminal, the names of hooks need the space.
_MIN_HISTOGRAM_WIDTH = 100
_HISTOGRAM = "2 MS … 1 S"


class HookStats:
    def __init__(self) -> None:
        self.blocks = self.failures = self.timeouts = 0
        self.times = array("d")

    def add(self, run: dict[str, Any]) -> None:
        self.times.append(run["ms"])
        self.blocks += run.get("decision") in ("block", "stop")
        self.timeouts += run["status"] == TIMEOUT
        self.failures += run["status"] not in (OK, TIMEOUT)

    def to_json(self) -> dict[str, Any]:
        times = sorted(self.times)
        counts = {"runs": len(times), "blocks": self.blocks, "failures": self.failures, "timeouts": self.timeouts}
        return {**counts, **{f"p{share}_ms": compute_percentile(times, share) for share in (50, 95, 99)}}

    def draw_histogram(self) -> str:
        counts = [0] * (len(_BAR_LIMITS) + 1)
        for ms in self.times:
            counts[sum(ms >= limit for limit in _BAR_LIMITS)] += 1
        most = max(counts)
        return "".join(_BARS[-(-count * (len(_BARS) - 1) // most)] for count in counts)


def compute_percentile(times: Sequence[float], share: int) -> float:
    """Return the time that a share of all (in percent) does not exceed; the times must be sorted."""
    return round(times[max(0, -(-len(times) * share // 100) - 1)], 1)


def count_runs(reader: LedgerReader, since: str) -> dict[str, HookStats]:
    stats: dict[str, HookStats] = {}
    for record in reader.read(since):
        if is_of_doctor(record):
            continue
        runs = record["hooks"] if record["type"] == DISPATCH_TYPE else [record] if record["type"] == END_TYPE else []
        for run in runs:
            stats.setdefault(run["hook"], HookStats()).add(run)
    return stats


@click.command("stats")
@since_option
@json_option
@state_option
def show_stats(since: str | None, as_json: bool, state: str | None) -> int:
    """Show how often each hook ran, blocked and failed, and how fast.

    \b
    Examples:
      boathook stats
      boathook stats --since 7d --json
    """
    reader = LedgerReader(resolve_state(state))
    stats = dict(sorted(count_runs(reader, parse_time(since)).items(), key=lambda row: (-len(row[1].times), row[0])))
    if as_json:
        print_json({"hooks": [{"hook": name, **hook.to_json()} for name, hook in stats.items()]})
    elif not stats:
        echo(describe_empty_log(reader.folder, is_filtered=since is not None))
    else:
        _print_stats(stats)
    warn_unreadable_lines(reader)
    return 0


def _print_stats(stats: dict[str, HookStats]) -> None:
    headers, rows = [*_COLUMNS], [[name, *map(str, hook.to_json().values())] for name, hook in stats.items()]
    console = make_console()
    if console.is_terminal and console.width >= _MIN_HISTOGRAM_WIDTH and not os.environ.get("NO_COLOR"):
        headers.append(_HISTOGRAM)
        rows = [[*row, hook.draw_histogram()] for row, hook in zip(rows, stats.values(), strict=True)]
    if console.is_terminal:
        columns = zip(*(line[1:] for line in (headers, *rows)), strict=True)
        room = console.width - sum(2 + max(map(len, column)) for column in columns)
        rows = [[shorten_hook_name(row[0], room), *row[1:]] for row in rows]
    print_table(headers, rows, cut=("HOOK",))
