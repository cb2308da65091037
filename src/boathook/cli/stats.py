"""`boathook stats`: how often each hook ran, what came of it, and how long it took."""

from __future__ import annotations

import os
from array import array
from collections.abc import Sequence
from typing import Any

import click

from boathook.assembly import state_of
from boathook.cli.common_options import json_option, since_option, state_option
from boathook.cli.log import nothing, since_of, tell_odd
from boathook.cli.show import console, print_json, print_table, say
from boathook.core.verdict import OK, TIMEOUT
from boathook.ledger.reader import Reader
from boathook.ledger.record import DISPATCH, END

BARS = " ▁▂▃▄▅▆▇█"
EDGES = (2, 5, 10, 20, 50, 100, 200, 500, 1000)  # milliseconds: one bar up to each, and one for what is beyond
HEADERS = ("HOOK", "RUNS", "BLOCKS", "FAILURES", "TIMEOUTS", "P50 MS", "P95 MS", "P99 MS")
SPREAD = "2 MS … 1 S"


class Tally:
    """What is counted of one hook."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.blocks = self.failures = self.timeouts = 0
        self.times = array("d")

    def add(self, run: dict[str, Any]) -> None:
        """Count a run."""
        self.times.append(run["ms"])
        self.blocks += run.get("decision") in ("block", "stop")
        self.timeouts += run["status"] == TIMEOUT
        self.failures += run["status"] not in (OK, TIMEOUT)

    def to_json(self) -> dict[str, Any]:
        """Return the figures."""
        times = sorted(self.times)
        counts = {"runs": len(times), "blocks": self.blocks, "failures": self.failures, "timeouts": self.timeouts}
        return {**counts, **{f"p{share}_ms": percentile(times, share) for share in (50, 95, 99)}}

    @property
    def bars(self) -> str:
        """Draw how the times are spread."""
        counts = [0] * (len(EDGES) + 1)
        for took in self.times:
            counts[sum(took >= edge for edge in EDGES)] += 1
        most = max(counts)
        return "".join(BARS[-(-count * (len(BARS) - 1) // most)] for count in counts)


def percentile(times: Sequence[float], share: int) -> float:
    """Return the time that a share of all (in percent) does not exceed; the times are sorted."""
    return round(times[max(0, -(-len(times) * share // 100) - 1)], 1)


def tally(reader: Reader, since: str) -> dict[str, Tally]:
    """Count all runs by their hook."""
    found: dict[str, Tally] = {}
    for record in reader.read(since):
        runs = record["hooks"] if record["type"] == DISPATCH else [record] if record["type"] == END else []
        for run in runs:
            found.setdefault(run["hook"], Tally()).add(run)
    return found


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
    reader = Reader(state_of(state))
    found = dict(sorted(tally(reader, since_of(since)).items(), key=lambda one: (-len(one[1].times), one[0])))
    if as_json:
        print_json([{"hook": name, **one.to_json()} for name, one in found.items()])
    elif not found:
        say(nothing(reader.folder, asked=since is not None))
    else:
        drawn = console().is_terminal and not os.environ.get("NO_COLOR")
        rows = [
            [name, *map(str, one.to_json().values()), *([one.bars] if drawn else [])] for name, one in found.items()
        ]
        print_table([*HEADERS, SPREAD] if drawn else HEADERS, rows)
    tell_odd(reader)
    return 0
