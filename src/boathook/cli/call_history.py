"""What the ledger knows about the hooks of a project: how often each one ran, and on how many events it could have."""

# The ledger has an event only if some hook ran on it, or should have; with record = "whole" it has all of them. So the numbers
# here are of recorded events, and every sentence says so.

from __future__ import annotations

import difflib
import os
from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from boathook.cli.record_text import describe_tool_input, is_of_doctor, name_agent
from boathook.cli.show import cut_text, format_count
from boathook.core.event import Event, EventKind
from boathook.core.hook import USER, Hook
from boathook.core.value import Value
from boathook.core.verdict import OK
from boathook.ledger.reader import LedgerReader
from boathook.ledger.record import DISPATCH_TYPE, END_TYPE, PYTHON_AGENT
from boathook.ledger.timestamps import parse_timestamp
from boathook.ledger.writer import make_timestamp
from boathook.sources.samples import find_matching_text
from boathook.system.files import find_real_path
from boathook.system.programs import find_entry_point
from boathook.trust.snapshot import IGNORED_NAMES

WHAT_IS_RECORDED = 'the ledger has an event only if some hook ran on it, unless record = "whole" is set in hooks.toml'
_MAX_CALLS = 1000
_MAX_COMPARED_CHARS = 400
_MAX_SHOWN_CHARS = 80
_MIN_LIKENESS = 0.3
# The files beside and below a script that are looked at.
_MAX_FILES = 256
_HERE, _ELSEWHERE = "async, in these projects", "async, in others"
# A hook that failed so often since it last ran well is judged as one that does not work, although it once did.
_MIN_FAILURES_IN_A_ROW = 5


class HookRuns(Value):
    """How often a hook ran, and failed then; `events` are the recorded events of its kind. All since its files changed."""

    runs: int
    failures: int
    events: int
    days: int
    # The failures since the last run without one, and the time of the first of them.
    failures_in_a_row: int = 0
    failing_since: str = ""
    # With the runs before its file changed.
    all_runs: int = 0
    # Those in this agent only; "" for all.
    agent: str = ""

    @property
    def is_failing(self) -> bool:
        """Whether it failed in every run, or in each of the last ones."""
        is_always = 0 < self.runs == self.failures
        return is_always or self.failures_in_a_row >= _MIN_FAILURES_IN_A_ROW


class SortedTimes:
    """Moments in seconds since 1970, in their order, whichever order they come in; in little memory, because there are many."""

    __slots__ = ("_is_sorted", "_seconds")

    def __init__(self) -> None:
        self._seconds, self._is_sorted = array("d"), True

    def add(self, seconds: float) -> None:
        self._is_sorted = self._is_sorted and (not self._seconds or seconds >= self._seconds[-1])
        self._seconds.append(seconds)

    def list_since(self, start: float) -> array[float]:
        if not self._is_sorted:
            self._seconds, self._is_sorted = array("d", sorted(self._seconds)), True
        return self._seconds[bisect_left(self._seconds, start) :]

    def __len__(self) -> int:
        return len(self._seconds)


class RunTimes:
    """When a hook ran, and when it failed, in one agent; and the last record of it."""

    __slots__ = ("failures", "last", "last_good", "record", "runs")

    def __init__(self) -> None:
        self.runs, self.failures = SortedTimes(), SortedTimes()
        self.last_good, self.last, self.record = 0.0, 0.0, ""

    def add(self, record: dict[str, Any], seconds: float, *, is_failure: bool) -> None:
        self.runs.add(seconds)
        if is_failure:
            self.failures.add(seconds)
        else:
            self.last_good = max(self.last_good, seconds)
        if seconds >= self.last:
            self.last, self.record = seconds, record.get("id", "")


class _RecordedCall(Value):
    event: Event
    is_here: bool


class CallHistory:
    """The records of a ledger as far as the hooks of some projects need them: read once, and only counted."""

    def __init__(self, records: Iterable[dict[str, Any]], projects: Iterable[str], kinds: Iterable[EventKind]) -> None:
        self._projects = {find_real_path(project) for project in projects if project}
        self._kinds = {kind.name: kind for kind in kinds}
        # The times of events, by their kind and whether they are of the projects.
        self._times: dict[tuple[str, bool], SortedTimes] = {}
        # The times of the last events, by agent and whether they are of the projects.
        self._last_events: dict[tuple[str, bool], float] = {}
        # By the name and the place of a hook, and by agent.
        self._runs: dict[tuple[str, str], dict[str, RunTimes]] = {}
        self._calls: deque[_RecordedCall] = deque(maxlen=_MAX_CALLS)
        self._is_project_here: dict[str, bool] = {"": False}
        for record in records:
            self.add(record)

    def add(self, record: dict[str, Any]) -> None:
        if is_of_doctor(record):
            return
        if record["type"] == DISPATCH_TYPE:
            self._add_dispatch(record)
        elif record["type"] == END_TYPE:
            self._add_run(record, record, _read_time(record))

    def _is_here(self, record: dict[str, Any]) -> bool:
        project = record["project"]
        if project not in self._is_project_here:
            self._is_project_here[project] = find_real_path(project) in self._projects
        return self._is_project_here[project]

    def _add_dispatch(self, record: dict[str, Any]) -> None:
        is_here, seconds = self._is_here(record), _read_time(record)
        self._times.setdefault((record["event"], is_here), SortedTimes()).add(seconds)
        caller = record.get("host", ""), is_here
        self._last_events[caller] = max(self._last_events.get(caller, 0.0), seconds)
        for run in record["hooks"]:
            self._add_run(run, record, seconds)
        kind = self._kinds.get(record["event"])
        if kind is not None and kind.has_tool and record["input"] is not None:
            event = Event.of(kind, tool_name=record["tool"] or "", tool_input=record["input"])
            self._calls.append(_RecordedCall(event, is_here))

    def _add_run(self, run: dict[str, Any], record: dict[str, Any], seconds: float) -> None:
        hosts = self._runs.setdefault((run["hook"], self.find_place(run, record)), {})
        times = hosts.setdefault(record.get("host", ""), RunTimes())
        times.add(record, seconds, is_failure=run["status"] != OK)

    def find_place(self, run: dict[str, Any], record: dict[str, Any]) -> str:
        """Return what tells a run from those of other hooks of its name: its file."""
        if record["type"] == DISPATCH_TYPE:
            path: str = run["path"]
            return path
        # How an async hook ended is recorded without its file.
        return _HERE if self._is_here(record) else _ELSEWHERE

    def list_run_times(self, hook: Hook, agent: str | None = None) -> list[RunTimes]:
        """Return the runs of a hook by its name and file, because other projects may have a hook of the same name."""
        hosts = [self._runs.get((hook.name, place), {}) for place in list_run_places(hook)]
        return [times for by_host in hosts for host, times in by_host.items() if agent in (None, host)]

    def find_last_event(self, agent: str) -> float:
        """Return when an agent last sent an event from the projects, or from anywhere if there are none; 0.0 for never."""
        places = (True,) if self._projects else (True, False)
        return max(self._last_events.get((agent, is_here), 0.0) for is_here in places)

    def was_asked_by_program(self, hook: Hook) -> bool:
        """Whether a program in Python ran a hook: then it is asked, whatever the installed agents do."""
        return bool(self.list_run_times(hook, PYTHON_AGENT))

    def count_runs_of(self, hook: Hook, agent: str | None = None) -> HookRuns:
        """Count the runs of a hook since its file changed, in one agent or in all."""
        changed, found = _find_change_time(hook), self.list_run_times(hook, agent)
        runs = [len(one.runs.list_since(changed)) for one in found]
        failures = [one.failures.list_since(changed) for one in found]
        last_good = max((one.last_good for one in found), default=0.0)
        in_a_row = [seconds for times in failures for seconds in times if seconds > last_good]
        events = [times.list_since(changed) for times in self._list_times(hook)]
        first = min((times[0] for times in events if times), default=0.0)
        return HookRuns(
            runs=sum(runs),
            failures=sum(map(len, failures)),
            events=sum(map(len, events)),
            days=(datetime.now(UTC) - datetime.fromtimestamp(first, UTC)).days if first else 0,
            failures_in_a_row=len(in_a_row),
            failing_since=make_timestamp(min(in_a_row)) if in_a_row else "",
            all_runs=sum(len(one.runs) for one in found),
            agent=agent or "",
        )

    def find_failing_runs(self, hook: Hook) -> HookRuns:
        """Return all runs of a hook, or those in an agent in which it fails although it runs well in others."""
        places = [self._runs.get((hook.name, place), {}) for place in list_run_places(hook)]
        agents = sorted({agent for by_host in places for agent in by_host})
        counted = [self.count_runs_of(hook, agent) for agent in (None, *(agents if len(agents) > 1 else ()))]
        return next((runs for runs in counted if runs.is_failing), counted[0])

    def _list_times(self, hook: Hook) -> list[SortedTimes]:
        name = hook.kind.name if hook.kind else ""
        places = (True, False) if hook.scope == USER else (True,)
        return [self._times[name, is_here] for is_here in places if (name, is_here) in self._times]

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


def describe_failures(runs: HookRuns) -> str:
    """Return that a hook fails, and how often it did; "" if it does not."""
    if not runs.is_failing:
        return ""
    where = f" in {name_agent(runs.agent)}" if runs.agent else ""
    if runs.runs == runs.failures:
        return f"it failed in every recorded run{where} ({format_count(runs.failures, 'run')})"
    last = f"each of its last {runs.failures_in_a_row:,} runs{where}"
    return f"it failed in {last} ({runs.failures:,} of {runs.runs:,} failed)"


def describe_runs(hook: Hook, runs: HookRuns) -> str:
    """Return that a hook never ran, and on how many recorded events it could have; "" if it ran."""
    if runs.runs or hook.kind is None:
        return ""
    if not runs.events:
        return f"no {hook.kind.name} event was recorded since it was last changed"
    when = f"in {format_count(runs.days, 'day')}" if runs.days else "in less than a day"
    return f"0 of {runs.events:,} recorded {hook.kind.name} events {when}"


def list_run_places(hook: Hook) -> tuple[str, ...]:
    """Return the places that runs of a hook have, see `CallHistory.find_place`."""
    return (
        hook.path,
        *((_HERE,) if hook.background else ()),
        *((_ELSEWHERE,) if hook.background and hook.scope == USER else ()),
    )


def _read_time(record: dict[str, Any]) -> float:
    moment = parse_timestamp(record.get("time", ""))
    return moment.timestamp() if moment is not None else 0.0


def _find_change_time(hook: Hook) -> float:
    """Return when the files of a hook were last written: what was recorded before says nothing about it.

    These are its definition, its script, and all that is beside and below the script, which it may use.
    """
    script = find_entry_point(hook.edited_folder) if hook.edited_folder else None
    paths = (hook.path, *(islice(_list_files(os.path.dirname(script)), _MAX_FILES) if script else ()))
    # Records have milliseconds.
    return int(max(map(find_file_change, paths)) * 1000) / 1000


def _list_files(folder: str) -> Iterator[str]:
    """Yield the files in a folder, then those below it; what is made while a hook runs does not count."""
    folders = [folder]
    for one in folders:
        try:
            with os.scandir(one) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError:
            continue
        entries = [entry for entry in entries if entry.name not in IGNORED_NAMES]
        folders += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
        yield from (entry.path for entry in entries if not entry.is_dir(follow_symlinks=False))


def find_file_change(path: str) -> float:
    """Return when a file was changed, 0.0 if it is not there. A copy may have an older time of writing than of its change."""
    try:
        status = os.stat(path)
    except OSError:
        return 0.0
    return max(status.st_mtime, status.st_ctime)


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
