"""What needs a person. Each source is a function that returns such things; the page shows those of all, the oldest first."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import TYPE_CHECKING

from boathook.cli.call_history import describe_runs
from boathook.cli.hook_causes import find_own_host, find_state_cause, find_unasked_cause
from boathook.cli.show import format_count
from boathook.cli.status_command import list_status_fixes
from boathook.cli.trust import TrustChoices, list_waiting_hooks
from boathook.cli.trust_review import describe_review
from boathook.core.hook import ABSENT_STATES, ARMED, INVALID, NO_ENTRY, Hook
from boathook.core.value import Value
from boathook.core.verdict import UNANSWERED
from boathook.hook_tests.missing_cases import is_guard
from boathook.hosts.setup import list_setups
from boathook.install.status import HEALTHY_STATUSES
from boathook.ledger.record import ANSWERED_TYPE
from boathook.ledger.writer import make_timestamp
from boathook.page.page_facts import name_agent
from boathook.permits.unlock import describe_pause, read_unlock_end
from boathook.permits.waiting_questions import describe_waiting_call
from boathook.process.sessions import Sessions

if TYPE_CHECKING:
    from boathook.page.page_context import PageContext

QUESTION, MISSED, REVIEW, BROKEN, FAILING, SILENT, AGENT, PAUSE, LEDGER = NEED_KINDS = (
    "question", "unanswered", "review", "broken guard", "failing guard", "silent guard", "agent", "self-protection", "ledger",
)  # fmt: skip
_BROKEN_STATES = (INVALID, NO_ENTRY, *ABSENT_STATES)
# A guard that never ran is worth a look only after a while.
_MIN_SILENT_EVENTS = 20
_MISSED_SECONDS = 3600.0


class Need(Value):
    """Something that needs a person: what, since when, by what evidence, and the command that helps."""

    kind: str
    title: str
    text: str
    command: str = ""
    since: str = ""
    project: str = ""
    hook: str = ""
    diff: tuple[str, ...] = ()
    # What names a hook that waits for a review.
    review: str = ""


def list_needs(context: PageContext) -> list[Need]:
    """Return what needs a person: questions that wait first, because they end."""
    others = context.facts.remember("needs", lambda: _collect_needs(context), seconds=2.0)
    return [*find_questions(context), *others]


def _collect_needs(context: PageContext) -> list[Need]:
    needs: dict[tuple[str, str, str], Need] = {}
    for find in NEED_SOURCES:
        for need in find(context):
            # A hook of the user is loaded with every project.
            needs.setdefault((need.kind, need.title, need.text), need)
    # What has no time comes last.
    return sorted(needs.values(), key=lambda need: (not need.since, need.since))


def find_questions(context: PageContext) -> Iterator[Need]:
    """Yield the calls that wait for a person's answer, the oldest first."""
    for waiting in context.list_waiting_calls():
        command, since = f"boathook asks {waiting.id[:8]}", make_timestamp(waiting.question.time)
        yield Need(
            QUESTION,
            describe_waiting_call(waiting),
            "A call waits for your answer.",
            command,
            since,
            waiting.question.project,
        )


def find_missed_questions(context: PageContext) -> Iterator[Need]:
    """Yield the calls of the last hour that no person answered, and whether their sessions are denied at once because of that."""
    sessions, since = Sessions(f"{context.state}/sessions"), make_timestamp(time.time() - _MISSED_SECONDS)
    rows = list(takewhile(lambda row: row.time >= since, context.index.list_rows()))
    missed = {row.session for row in rows if row.type == ANSWERED_TYPE and row.decision == UNANSWERED}
    for row in rows:
        record = context.index.read_record(row) if row.is_objection and row.session in missed else None
        if record is None or record.get("asked", {}).get("result") != UNANSWERED:
            continue
        text = f"No person answered in time, so the call was denied ({name_agent(row.host)}, session {row.session})."
        if sessions.is_unanswered(row.session):
            text += " Other questions of this session are denied at once until you allow one."
        yield Need(MISSED, f"{row.tool}: {row.input}", text, f"boathook allow {row.id}", row.time, row.folder)


def find_reviews(context: PageContext) -> Iterator[Need]:
    """Yield the hooks that wait for a review, with what changed since the last one."""
    for facts in context.facts.load_projects():
        for candidate in list_waiting_hooks((), facts.loaded, TrustChoices()):
            about = describe_review(candidate, facts.store)
            text = f"{about['event']}, {about['matcher']}, in {about['project']}"
            change = "changed since you trusted it" if about["diff"] is not None else "new, and not reviewed yet"
            since = _find_file_time(candidate.hook.path)
            yield Need(
                REVIEW,
                f"{about['name']}: {change}",
                f"It does not run. {text}",
                _add_project(f"boathook trust {about['name']}", about["project"]),
                since,
                about["project"],
                about["name"],
                tuple(about["diff"] or ()),
                about["identity"],
            )


def find_broken_hooks(context: PageContext) -> Iterator[Need]:
    """Yield the hooks that cannot run, or are not there any more."""
    for facts in context.facts.load_projects():
        for hook in facts.hooks:
            if hook.state in _BROKEN_STATES and not hook.is_off_in_pack:
                cause = find_state_cause(hook)
                fix = cause.fix if cause is not None and cause.fix else _add_project("boathook check", facts.project)
                since = _find_file_time(hook.path)
                yield Need(BROKEN, f"{hook.name} does not run", hook.state_text, fix, since, hook=hook.name)


def find_failing_guards(context: PageContext) -> Iterator[Need]:
    """Yield the armed hooks that failed in every recorded run."""
    for hook, project in _list_armed_hooks(context):
        with context.index.lock:
            runs = context.history.count_runs_of(hook)
        if runs.runs and runs.runs == runs.failures:
            text = f"It failed in every recorded run ({format_count(runs.failures, 'run')})."
            command = f"boathook log --hook {hook.name}"
            yield Need(FAILING, f"{hook.name} fails", text, command, _find_file_time(hook.path), project, hook.name)


def find_silent_guards(context: PageContext) -> Iterator[Need]:
    """Yield the guards that never ran, or that no agent asks, once all records are known."""
    hosts = context.facts.load_agents().installed
    for hook, project in _list_armed_hooks(context):
        since = _find_file_time(hook.path)
        unasked = find_unasked_cause(hook, hosts)
        if unasked is not None:
            yield Need(SILENT, f"{hook.name} is never asked", unasked.message, unasked.fix, since, project, hook.name)
            continue
        # Of a pack many guards are for rare things.
        if not context.index.describe_state().is_complete or hook.pack or not is_guard(hook):
            continue
        with context.index.lock:
            runs = context.history.count_runs_of(hook)
        if not runs.runs and runs.events >= _MIN_SILENT_EVENTS:
            text = f"{describe_runs(hook, runs)}."
            command = f"boathook explain {hook.trigger}"
            yield Need(SILENT, f"{hook.name} never ran", text, command, since, project, hook.name)


def find_unwell_agents(context: PageContext) -> Iterator[Need]:
    """Yield the agents that no longer call boathook as they should, each with its last event as evidence."""
    agents = context.facts.load_agents()
    setups = {setup.name: setup for setup in list_setups()}
    for status in agents.statuses:
        if status.state in HEALTHY_STATUSES:
            continue
        fixes = list_status_fixes(status, setups[status.host], agents.target.replace(scope=status.scope))
        text = "; ".join(status.why) or "its entries are not as they were installed"
        last = describe_last_event(context, status.host)
        title = f"{name_agent(status.host)} ({status.scope}): {status.state}"
        yield Need(AGENT, title, f"{text}. {last}", "; ".join(fixes), _find_file_time(status.path))


def find_pauses(context: PageContext) -> Iterator[Need]:
    end = read_unlock_end(context.state)
    if end:
        title = "Self-protection is paused"
        yield Need(PAUSE, title, describe_pause(end), "boathook unlock --end", make_timestamp(time.time()))


def find_ledger_problems(context: PageContext) -> Iterator[Need]:
    lines = context.index.describe_state().invalid_lines
    if lines:
        text = f"{format_count(lines, 'line')} cannot be read."
        yield Need(LEDGER, "The ledger has lines that are not records", text, "boathook ledger verify")


# To add a kind of thing that needs a person, add its function here. Questions are not here, because they change more quickly.
NEED_SOURCES: tuple[Callable[[PageContext], Iterator[Need]], ...] = (
    find_missed_questions,
    find_reviews,
    find_broken_hooks,
    find_failing_guards,
    find_silent_guards,
    find_unwell_agents,
    find_pauses,
    find_ledger_problems,
)


def describe_last_event(context: PageContext, host: str) -> str:
    with context.index.lock:
        last = context.index.sums.hosts.get(host)
    return (
        f"Its last event: {last.time[:19].replace('T', ' ')} UTC." if last else "It has sent no event that is recorded."
    )


def _list_armed_hooks(context: PageContext) -> Iterator[tuple[Hook, str]]:
    for facts in context.facts.load_projects():
        for hook in facts.hooks:
            # What an agent runs itself does not come through boathook.
            if hook.state == ARMED and find_own_host(hook) is None:
                yield hook, facts.project or ""


def _find_file_time(path: str) -> str:
    try:
        return make_timestamp(os.stat(path).st_mtime)
    except OSError:
        return ""


def _add_project(command: str, project: str | None) -> str:
    from shlex import quote

    return f"{command} --project {quote(project)}" if project else command
