"""What the ledger knows about the hooks of a project: how often each one ran, and on how many events it could have."""

# The ledger has an event only if some hook ran on it, or should have; with record = "whole" it has all of them. So the numbers
# here are of recorded events, and every sentence says so.

from __future__ import annotations

import difflib
import os
from collections import deque
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from boathook.cli.record_text import describe_tool_input
from boathook.cli.show import cut_text, format_count
from boathook.core.event import Event, EventKind
from boathook.core.hook import USER, Hook
from boathook.core.value import Value
from boathook.core.verdict import OK
from boathook.ledger.reader import LedgerReader
from boathook.ledger.record import DISPATCH_TYPE, END_TYPE
from boathook.ledger.writer import make_timestamp
from boathook.sources.samples import find_matching_text

WHAT_IS_RECORDED = 'the ledger has an event only if some hook ran on it, unless record = "whole" is set in hooks.toml'
_MAX_CALLS = 1000
_MAX_COMPARED_CHARS = 400
_MAX_SHOWN_CHARS = 80
_MIN_LIKENESS = 0.3
_PROBE_HOSTS = ("doctor",)
_HERE, _ELSEWHERE = "async, in these projects", "async, in others"


class HookRuns(Value):
    """How often a hook ran, and failed then; `events` are the recorded events of its kind since its files changed."""

    runs: int
    failures: int
    events: int
    days: int


class _RecordedCall(Value):
    event: Event
    is_here: bool


class CallHistory:
    """The records of a ledger as far as the hooks of some projects need them: read once, and only counted."""

    def __init__(self, records: Iterable[dict[str, Any]], projects: Iterable[str], kinds: Iterable[EventKind]) -> None:
        self._projects = {os.path.realpath(project) for project in projects if project}
        self._kinds = {kind.name: kind for kind in kinds}
        # The times of events, by their kind and whether they are of the projects.
        self._times: dict[tuple[str, bool], list[str]] = {}
        self._runs: dict[tuple[str, str], list[bool]] = {}
        self._calls: deque[_RecordedCall] = deque(maxlen=_MAX_CALLS)
        self._is_project_here: dict[str, bool] = {"": False}
        for record in records:
            self.add(record)

    def add(self, record: dict[str, Any]) -> None:
        if record["type"] == DISPATCH_TYPE and record.get("host") not in _PROBE_HOSTS:
            self._add_dispatch(record)
        elif record["type"] == END_TYPE:
            # How an async hook ended is recorded without its file.
            self._add_run({**record, "path": _HERE if self._is_here(record) else _ELSEWHERE})

    def _is_here(self, record: dict[str, Any]) -> bool:
        project = record["project"]
        if project not in self._is_project_here:
            self._is_project_here[project] = os.path.realpath(project) in self._projects
        return self._is_project_here[project]

    def _add_dispatch(self, record: dict[str, Any]) -> None:
        is_here = self._is_here(record)
        self._times.setdefault((record["event"], is_here), []).append(record["time"])
        for run in record["hooks"]:
            self._add_run(run)
        kind = self._kinds.get(record["event"])
        if kind is not None and kind.has_tool and record["input"] is not None:
            event = Event.of(kind, tool_name=record["tool"] or "", tool_input=record["input"])
            self._calls.append(_RecordedCall(event, is_here))

    def _add_run(self, run: dict[str, Any]) -> None:
        self._runs.setdefault((run["hook"], run["path"]), []).append(run["status"] != OK)

    def count_runs_of(self, hook: Hook) -> HookRuns:
        """Count by the name and the file of a hook: other projects may have a hook of the same name."""
        places = (hook.path, *((_HERE,) if hook.background else ()), *((_ELSEWHERE,) if hook.scope == USER else ()))
        ends = [is_failure for place in places for is_failure in self._runs.get((hook.name, place), ())]
        changed = _find_change_time(hook)
        times = [time for time in self._list_times(hook) if time >= changed]
        days = (datetime.now(UTC) - datetime.fromisoformat(min(times))).days if times else 0
        return HookRuns(len(ends), sum(ends), len(times), days)

    def _list_times(self, hook: Hook) -> list[str]:
        name = hook.kind.name if hook.kind else ""
        everywhere = self._times.get((name, False), []) if hook.scope == USER else []
        return [*self._times.get((name, True), []), *everywhere]

    def describe_unmatched_calls(self, hook: Hook) -> str:
        """Return how many recorded calls the pattern of a hook was searched in without success, and the nearest one."""
        pattern = hook.matcher.pattern
        if pattern is None or hook.kind is None or not hook.kind.has_tool:
            return ""
        without_pattern = hook.matcher.replace(pattern=None)
        calls = [
            call.event
            for call in self._calls
            if call.event.kind is hook.kind and (call.is_here or hook.scope == USER)
            if not without_pattern.explain_mismatch(call.event)
        ]
        if not calls or any(not hook.matcher.explain_mismatch(event) for event in calls):
            return ""
        tools = {event.tool_name for event in calls}
        tool = f"{tools.pop()} " if len(tools) == 1 else ""
        last = f"the last {len(calls):,} {tool}calls" if len(calls) > 1 else f"1 {tool}call"
        nearest = _find_nearest(find_matching_text(pattern), calls)
        about = f"; the nearest one: {nearest}" if nearest else ""
        return f"0 of {last} in your ledger match '{pattern.display_text}'{about}"


def read_history(state: str, projects: Iterable[str], hooks: Iterable[Hook]) -> CallHistory:
    kinds = {hook.kind.name: hook.kind for hook in hooks if hook.kind is not None}
    return CallHistory(LedgerReader(state).read(), projects, kinds.values())


def describe_runs(hook: Hook, runs: HookRuns) -> str:
    """Return that a hook never ran, and on how many recorded events it could have; "" if it ran."""
    if runs.runs or hook.kind is None:
        return ""
    if not runs.events:
        return f"no {hook.kind.name} event was recorded since it was last changed"
    when = f"in {format_count(runs.days, 'day')}" if runs.days else "in less than a day"
    return f"0 of {runs.events:,} recorded {hook.kind.name} events {when}"


def _find_change_time(hook: Hook) -> str:
    """Return when the definition of a hook was last written: what was recorded before says nothing about it."""
    try:
        changed = os.stat(hook.path).st_mtime
    except OSError:
        return ""
    return make_timestamp(changed)


def _find_nearest(wanted: str, events: list[Event]) -> str:
    """Return the text of the call that is most like a text that would match, "" if none is like it."""
    texts = dict.fromkeys(describe_tool_input(event.tool_input)[:_MAX_COMPARED_CHARS] for event in events)
    matcher = difflib.SequenceMatcher(b=wanted, autojunk=False)
    best, likeness = "", _MIN_LIKENESS
    for text in texts:
        matcher.set_seq1(text)
        if matcher.real_quick_ratio() > likeness and (ratio := matcher.ratio()) > likeness:
            best, likeness = text, ratio
    return cut_text(best, _MAX_SHOWN_CHARS)
