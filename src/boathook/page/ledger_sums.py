"""Sums over the records of a ledger: per hook, per hook and agent, per hook and day, per agent and per session."""

from __future__ import annotations

from typing import Any

from boathook.cli.record_text import find_folder, is_objection
from boathook.cli.stats import HookStats
from boathook.core.verdict import OK
from boathook.ledger.record import DISPATCH_TYPE, END_TYPE
from boathook.ledger.schema import LedgerRecord

_MAX_SESSIONS = 5_000


class Firings:
    """How often something happened, and the last time, with the record of it."""

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


class SessionSum:
    """What the ledger has of one session of an agent."""

    __slots__ = ("events", "first", "folder", "host", "last", "ms", "objections", "session")

    def __init__(self, record: LedgerRecord) -> None:
        self.session, self.host, self.folder = record["session"], record["host"], find_folder(record)
        self.first = self.last = record["time"]
        self.events = self.objections = 0
        self.ms = 0.0

    def add(self, record: LedgerRecord) -> None:
        self.first, self.last = min(self.first, record["time"]), max(self.last, record["time"])
        self.events += 1
        self.objections += is_objection(record)
        self.ms += record["ms"]


class LedgerSums:
    """The sums. Their order does not matter, so that records may come in any."""

    def __init__(self) -> None:
        self.hooks: dict[str, HookStats] = {}
        self.days: dict[str, dict[str, DaySum]] = {}
        self.firings: dict[tuple[str, str], Firings] = {}
        self.hosts: dict[str, Firings] = {}
        self.folders: dict[str, Firings] = {}
        self.sessions: dict[str, SessionSum] = {}

    def add(self, record: LedgerRecord) -> None:
        # What anybody can have added to the ledger does not count.
        if record.get("spilled") or record["type"] not in (DISPATCH_TYPE, END_TYPE):
            return
        is_dispatch = record["type"] == DISPATCH_TYPE
        for run in record["hooks"] if is_dispatch else [record]:
            self._add_run(run, record)
        self.hosts.setdefault(record["host"], Firings()).add(record)
        if folder := find_folder(record):
            self.folders.setdefault(folder, Firings()).add(record)
        if is_dispatch and record["session"]:
            self._add_to_session(record)

    def _add_run(self, run: dict[str, Any], record: LedgerRecord) -> None:
        name = run["hook"]
        self.hooks.setdefault(name, HookStats()).add(run)
        self.days.setdefault(name, {}).setdefault(record["time"][:10], DaySum()).add(run)
        self.firings.setdefault((name, record["host"]), Firings()).add(record)

    def _add_to_session(self, record: LedgerRecord) -> None:
        key = record["session"]
        if key not in self.sessions and len(self.sessions) >= _MAX_SESSIONS:
            oldest = min(self.sessions.values(), key=lambda one: one.last)
            if oldest.last > record["time"]:
                return
            del self.sessions[oldest.session]
        self.sessions.setdefault(key, SessionSum(record)).add(record)
