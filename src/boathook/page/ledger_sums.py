"""Sums over the records of a ledger: per hook, per hook and day, per agent, per folder and per session."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from boathook.cli.record_text import find_folder, is_objection
from boathook.cli.stats import HookStats
from boathook.core.verdict import OK
from boathook.ledger.record import DISPATCH_TYPE, END_TYPE
from boathook.ledger.schema import LedgerRecord
from boathook.ledger.timestamps import parse_timestamp

_MAX_SESSIONS = 5_000
# The name of a hook and where it is: projects may have hooks of the same name.
HookKey = tuple[str, str]


class LastEvent:
    """How many events there were, and the last one, with its record."""

    __slots__ = ("count", "id", "time")

    def __init__(self) -> None:
        self.count, self.time, self.id = 0, "", ""

    def add(self, record: LedgerRecord) -> None:
        self.count += 1
        if record["time"] >= self.time:
            self.time, self.id = record["time"], record["id"]


class DaySum:
    """What a hook did on one day."""

    __slots__ = ("blocks", "failures", "ms", "runs")

    def __init__(self) -> None:
        self.runs = self.blocks = self.failures = 0
        self.ms = 0.0

    def add(self, run: dict[str, Any]) -> None:
        self.runs += 1
        self.blocks += run.get("decision") in ("block", "stop")
        self.failures += run["status"] != OK
        self.ms += run["ms"]

    def merge(self, other: DaySum) -> None:
        self.runs += other.runs
        self.blocks += other.blocks
        self.failures += other.failures
        self.ms += other.ms


class SessionSum:
    """What the ledger has of one session of an agent."""

    __slots__ = ("events", "first", "folder", "hook_times", "host", "last", "ms", "objections", "session")

    def __init__(self, record: LedgerRecord) -> None:
        self.session, self.host, self.folder = record["session"], record["host"], find_folder(record)
        self.first = self.last = record["time"]
        self.events = self.objections = 0
        self.ms = 0.0
        self.hook_times: dict[HookKey, float] = {}

    def add(self, record: LedgerRecord, keys: Iterable[HookKey]) -> None:
        self.first, self.last = min(self.first, record["time"]), max(self.last, record["time"])
        self.events += 1
        self.objections += is_objection(record)
        self.ms += record["ms"]
        for run, key in zip(record["hooks"], keys, strict=True):
            self.hook_times[key] = self.hook_times.get(key, 0.0) + run["ms"]

    def count_seconds(self) -> float:
        """Return the time from the first to the last event; 0.0 if it is not known."""
        first, last = parse_timestamp(self.first), parse_timestamp(self.last)
        return (last - first).total_seconds() if first is not None and last is not None else 0.0


class LedgerSums:
    """The sums. Their order does not matter, so that records may come in any."""

    def __init__(self, find_place: Callable[[dict[str, Any], LedgerRecord], str]) -> None:
        """`find_place` returns what tells a run from those of other hooks of its name."""
        self._find_place = find_place
        self.hooks: dict[HookKey, HookStats] = {}
        self.days: dict[HookKey, dict[str, DaySum]] = {}
        self.hosts: dict[str, LastEvent] = {}
        self.folders: dict[str, LastEvent] = {}
        self.sessions: dict[str, SessionSum] = {}
        self._keys: dict[HookKey, HookKey] = {}

    def add(self, record: LedgerRecord) -> None:
        # What anybody can have added to the ledger does not count.
        if record.get("spilled") or record["type"] not in (DISPATCH_TYPE, END_TYPE):
            return
        is_dispatch = record["type"] == DISPATCH_TYPE
        runs = record["hooks"] if is_dispatch else [record]
        keys = [self._make_key(run, record) for run in runs]
        for run, key in zip(runs, keys, strict=True):
            self.hooks.setdefault(key, HookStats()).add(run)
            self.days.setdefault(key, {}).setdefault(record["time"][:10], DaySum()).add(run)
        self.hosts.setdefault(record["host"], LastEvent()).add(record)
        if folder := find_folder(record):
            self.folders.setdefault(folder, LastEvent()).add(record)
        if is_dispatch and record["session"]:
            self._add_to_session(record, keys)

    def _make_key(self, run: dict[str, Any], record: LedgerRecord) -> HookKey:
        key = (run["hook"], self._find_place(run, record))
        # Of many runs of a hook, one key is kept.
        return self._keys.setdefault(key, key)

    def find_stats(self, keys: Iterable[HookKey]) -> HookStats:
        """Return the sums of a hook that has several keys; without times if it never ran."""
        stats = HookStats()
        for one in (self.hooks[key] for key in keys if key in self.hooks):
            stats.blocks += one.blocks
            stats.failures += one.failures
            stats.timeouts += one.timeouts
            stats.times.extend(one.times)
        return stats

    def find_days(self, keys: Iterable[HookKey]) -> list[tuple[str, DaySum]]:
        """Return what a hook did by day, the first day first."""
        days: dict[str, DaySum] = {}
        for key in keys:
            for day, one in self.days.get(key, {}).items():
                days.setdefault(day, DaySum()).merge(one)
        return sorted(days.items())

    def compute_session_shares(self) -> dict[HookKey, float]:
        """Return by hook what part of the time of its sessions it took, in percent. A session of one event has no time."""
        times: dict[HookKey, list[float]] = {}
        for session in self.sessions.values():
            seconds = session.count_seconds()
            for key, ms in session.hook_times.items() if seconds > 0 else ():
                sums = times.setdefault(key, [0.0, 0.0])
                sums[0] += ms / 1000
                sums[1] += seconds
        return {key: round(100 * taken / seconds, 2) for key, (taken, seconds) in times.items()}

    def _add_to_session(self, record: LedgerRecord, keys: list[HookKey]) -> None:
        key = record["session"]
        if key not in self.sessions and len(self.sessions) >= _MAX_SESSIONS:
            oldest = min(self.sessions.values(), key=lambda one: one.last)
            if oldest.last > record["time"]:
                return
            del self.sessions[oldest.session]
        self.sessions.setdefault(key, SessionSum(record)).add(record, keys)
