"""What needs a person. Each source is a function that returns such things; the page shows those of all, the oldest first."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any

from boathook.assembly import locate
from boathook.cli.call_history import describe_failures, describe_runs
from boathook.cli.hook_causes import find_own_host, find_state_cause, find_unasked_cause
from boathook.cli.record_text import format_clock, name_agent
from boathook.cli.show import add_project, cut_text, format_count, pick_fields
from boathook.cli.status_command import list_status_fixes
from boathook.cli.trust import TrustChoices, list_waiting_hooks
from boathook.cli.trust_review import describe_review
from boathook.core.hook import ABSENT_STATES, ARMED, INVALID, NO_ENTRY, USER, Hook
from boathook.core.hook import ERROR as DIAGNOSTIC_ERROR
from boathook.core.value import Value
from boathook.core.verdict import ALLOWED, DENIED, OK, UNANSWERED
from boathook.errors import BoathookError
from boathook.hook_tests.missing_cases import is_guard
from boathook.hosts.setup import list_setups
from boathook.install.status import HEALTHY_STATUSES
from boathook.ledger.record import ALLOW_TYPE, ANSWERED_TYPE, PYTHON_AGENT
from boathook.ledger.timestamps import parse_timestamp
from boathook.ledger.writer import make_timestamp
from boathook.page.parts import make_copied_command, make_project_command, make_show_command
from boathook.page.record_index import RecordRow
from boathook.permits.unlock import UNLOCK_FILE, describe_pause, read_unlock_end
from boathook.permits.waiting_questions import describe_waiting_call
from boathook.process.sessions import Sessions
from boathook.sources.hooks_toml import build_settings, read_hooks_toml

if TYPE_CHECKING:
    from boathook.page.page_context import PageContext, Query
    from boathook.page.page_facts import ProjectFacts

QUESTION, MISSED, REVIEW, BROKEN, FAILING, SILENT, AGENT, PAUSE, SETTINGS, LEDGER, ERROR, SETUP = (
    "question", "unanswered", "review", "broken guard", "failing guard", "silent guard", "agent", "self-protection",
    "settings", "ledger", "error", "setup",
)  # fmt: skip
_BROKEN_STATES = (INVALID, NO_ENTRY, *ABSENT_STATES)
# A guard that never ran is worth a look only after a while.
_MIN_SILENT_EVENTS = 20
_MISSED_SECONDS = 3600.0
# The time of what has no other.
_FILE_TIME = "file changed"
_MAX_FAILURES_READ, _MAX_REASON_CHARS = 20, 200


NeedSource = Callable[["PageContext"], Iterator["Need"]]


class Need(Value):
    """Something that needs a person: what, since when, by what evidence, and the command that helps, quoted for a shell."""

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
    # What happened then, if that is not what the title says.
    since_word: str = ""


def list_needs(context: PageContext) -> list[Need]:
    """Return what needs a person: questions that wait first, because they end."""
    others = context.facts.remember("needs", lambda: _collect_needs(context), seconds=2.0)
    return [*_find_safely("Calls that wait for you", find_questions, context), *others]


def list_need_rows(context: PageContext, query: Query) -> list[dict[str, Any]]:  # noqa: ARG001
    names = ("kind", "title", "text", "command", "since", "project", "hook")
    return [{**pick_fields(need, *names), "diff": "\n".join(need.diff)} for need in list_needs(context)]


def _collect_needs(context: PageContext) -> list[Need]:
    needs: dict[tuple[str, str, str], Need] = {}
    for subject, find in NEED_SOURCES.items():
        for need in _find_safely(subject, find, context):
            # A hook of the user is loaded with every project.
            needs.setdefault((need.kind, need.title, need.text), need)
    # What has no time comes last.
    return sorted(needs.values(), key=lambda need: (not need.since, need.since))


def _find_safely(subject: str, find: NeedSource, context: PageContext) -> Iterator[Need]:
    """Yield what a source finds; if it fails, also that."""
    try:
        yield from find(context)
    except Exception as error:  # noqa: BLE001  (it must hide neither what the other sources find, nor itself)
        text = f"{explain_error(error)}. Something that needs you may be missing here."
        yield Need(ERROR, f"{subject} could not be checked", text, "boathook doctor")


def explain_error(error: Exception) -> str:
    """Return what happened and what to do; an unexpected error has its name."""
    if not isinstance(error, BoathookError):
        return f"{type(error).__name__}: {error}"
    fix = getattr(error, "fix", "")
    return _add_advice(str(error), "" if fix and fix in str(error) else fix)


def find_questions(context: PageContext) -> Iterator[Need]:
    """Yield the calls that wait for a person's answer, the oldest first."""
    for waiting in context.list_waiting_calls():
        command, since = make_copied_command("asks", waiting.id[:8]), make_timestamp(waiting.question.time)
        yield Need(
            QUESTION,
            describe_waiting_call(waiting),
            "A call waits for your answer.",
            command,
            since,
            waiting.question.project,
        )


def find_missed_questions(context: PageContext) -> Iterator[Need]:
    """Yield the calls of the last hour that no person answered, and whether their sessions are denied at once because of that.

    One that a person allowed or answered since is left out.
    """
    sessions, since = Sessions(f"{context.state}/sessions"), make_timestamp(time.time() - _MISSED_SECONDS)
    # Anybody can have added what is outside of the chain, so it asks for nothing.
    chained = (row for row in context.index.list_rows() if not row.is_spilled)
    rows = list(takewhile(lambda row: row.time >= since, chained))
    missed = {row.session for row in rows if row.type == ANSWERED_TYPE and row.decision == UNANSWERED}
    digests, settled = _find_settled_calls(context, rows) if missed else ({}, {})
    for row in rows:
        record = context.index.read_record(row) if row.is_objection and row.session in missed else None
        if record is None or record.get("asked", {}).get("result") != UNANSWERED:
            continue
        digest = digests.get(record["asked"]["question"], "")
        if digest and settled.get(digest, "") >= row.time:
            continue
        text = f"No person answered in time, so the call was denied ({name_agent(row.host)}, session {row.session})."
        if sessions.is_unanswered(row.session):
            text += " Other questions of this session are denied at once until you allow one."
        text += f" This goes away {_describe_missed_end(row.time)}when you allow or answer this call."
        yield Need(MISSED, f"{row.tool}: {row.input}", text, make_copied_command("allow", row.id), row.time, row.folder)


def _find_settled_calls(context: PageContext, rows: list[RecordRow]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the digests of calls by their questions, and when a person last allowed or answered a call of a digest."""
    digests: dict[str, str] = {}
    settled: dict[str, str] = {}
    for row in rows:
        record = context.index.read_record(row) if row.type in (ANSWERED_TYPE, ALLOW_TYPE) else None
        if record is None:
            continue
        digests[record["question"]] = record["digest"]
        if row.type == ALLOW_TYPE or row.decision in (ALLOWED, DENIED):
            settled[record["digest"]] = max(settled.get(record["digest"], ""), row.time)
    return digests, settled


def _describe_missed_end(moment: str) -> str:
    """Return when a call is not listed any more, "" if its time cannot be read."""
    begin = parse_timestamp(moment)
    if begin is None:
        return ""
    return f"by itself at {format_clock(begin.timestamp() + _MISSED_SECONDS, '%H:%M')}, or "


def find_reviews(context: PageContext) -> Iterator[Need]:
    """Yield the hooks that wait for a review, with what changed since the last one."""
    for facts in context.facts.load_projects():
        for candidate in list_waiting_hooks((), facts.loaded, TrustChoices()):
            about = describe_review(candidate, facts.store)
            text = f"{about['event']}, {about['matcher']}, in {about['project']}"
            change = "changed since you trusted it" if about["diff"] is not None else "new, and not reviewed yet"
            # The script may have changed, of which the file of the hook knows nothing.
            trusted = candidate.record.time if candidate.record is not None and about["diff"] is not None else ""
            since = trusted or _find_file_time(candidate.hook.path)
            yield Need(
                REVIEW,
                f"{about['name']}: {change}",
                f"It does not run. {text}",
                make_project_command(about["project"], "trust", about["name"]),
                since,
                about["project"],
                about["name"],
                tuple(about["diff"] or ()),
                about["identity"],
                "trusted" if trusted else _FILE_TIME,
            )


def find_broken_hooks(context: PageContext) -> Iterator[Need]:
    """Yield the hooks that cannot run, or are not there any more."""
    for facts in context.facts.load_projects():
        for hook in facts.hooks:
            if hook.state in _BROKEN_STATES and not hook.is_off_in_pack:
                cause = find_state_cause(hook)
                fix = add_project(cause.fix, facts.folder) if cause is not None else ""
                text = _add_advice(facts.describe_state(hook), fix)
                command, since = make_project_command(facts.folder, "check"), _find_file_time(hook.path)
                title = f"{hook.name} does not run"
                yield Need(BROKEN, title, text, command, since, hook=hook.name, since_word=_FILE_TIME)


def find_failing_guards(context: PageContext) -> Iterator[Need]:
    """Yield the armed hooks that failed in every recorded run since they were changed, or in each of the last ones."""
    for hook, facts in _list_armed_hooks(context):
        with context.index.lock:
            runs = context.history.find_failing_runs(hook)
        if failures := describe_failures(runs):
            text = f"{failures[0].upper()}{failures[1:]}."
            if reason := _find_last_failure(context, hook):
                text += f" The last reason: {reason}"
            command = make_copied_command("log", "--hook", hook.name)
            since, project = runs.failing_since, facts.project or ""
            yield Need(FAILING, f"{hook.name} fails", text, command, since, project, hook.name, since_word="since")


def _find_last_failure(context: PageContext, hook: Hook) -> str:
    """Return the reason that the last failed run of a hook has, "" if none of the last has one."""
    rows = (row for row in context.index.list_rows() if hook.name in row.hooks)
    for row in islice(rows, _MAX_FAILURES_READ):
        record = context.index.read_record(row) or {}
        runs = [run for run in record.get("hooks") or () if (run["hook"], run["path"]) == (hook.name, hook.path)]
        reasons = [run["reason"] for run in runs if run["reason"] and run["status"] != OK]
        # How an async hook ended is a record of its own.
        detail = record.get("detail", "") if record.get("status") != OK else ""
        if reason := (reasons[-1] if reasons else detail):
            return cut_text(" ".join(str(reason).split()), _MAX_REASON_CHARS)
    return ""


def find_silent_guards(context: PageContext) -> Iterator[Need]:
    """Yield the guards that never ran, or that no agent asks, once all records are known."""
    hosts = context.facts.load_agents().calling
    for hook, facts in _list_armed_hooks(context):
        project = facts.project or ""
        since = _find_file_time(hook.path)
        unasked, command = find_unasked_cause(hook, hosts), make_show_command(hook.name, facts.find_folder_of(hook))
        with context.index.lock:
            is_asked = context.history.was_asked_by_program(hook)
        if unasked is not None and not is_asked:
            text = _add_advice(unasked.message, unasked.fix)
            title = f"{hook.name} is never asked"
            yield Need(SILENT, title, text, command, since, project, hook.name, since_word=_FILE_TIME)
            continue
        # Of a pack many guards are for rare things.
        if not context.index.describe_state().is_complete or hook.pack or not is_guard(hook):
            continue
        with context.index.lock:
            runs = context.history.count_runs_of(hook)
        if not runs.runs and runs.events >= _MIN_SILENT_EVENTS:
            before = " since its file changed; it ran before" if runs.all_runs else ""
            title = f"{hook.name} {'has not run since it was changed' if runs.all_runs else 'never ran'}"
            text = f"{describe_runs(hook, runs)}{before}."
            yield Need(SILENT, title, text, command, since, project, hook.name, since_word=_FILE_TIME)


def find_unwell_agents(context: PageContext) -> Iterator[Need]:
    """Yield the agents that no longer call boathook as they should, each with its last event as evidence."""
    agents = context.facts.load_agents()
    setups = {setup.name: setup for setup in list_setups()}
    for status in agents.statuses:
        if status.state in HEALTHY_STATUSES:
            continue
        fixes = list_status_fixes(status, setups[status.host], agents.target.replace(scope=status.scope))
        commands = [fix for fix in fixes if fix.startswith("boathook ")]
        advice = "; ".join(fix for fix in fixes if fix not in commands)
        text = _add_advice("; ".join(status.why) or "its entries are not as they were installed", advice)
        last = describe_last_event(context, status.host)
        title = f"{name_agent(status.host)} ({status.scope}): {status.state}"
        since, command = _find_file_time(status.path), " && ".join(commands)
        yield Need(AGENT, title, f"{text}. {last}", command, since, since_word=_FILE_TIME)


def find_missing_setup(context: PageContext) -> Iterator[Need]:
    """Yield that nothing is guarded, if no agent is connected and there is no hook."""
    with context.index.lock:
        has_programs = PYTHON_AGENT in context.index.sums.hosts
    is_used = has_programs or context.facts.load_agents().installed
    if is_used or any(facts.hooks for facts in context.facts.load_projects()):
        return
    text = "No agent calls boathook here, and there are no hooks."
    yield Need(SETUP, "Nothing is guarded yet", text, make_copied_command("setup"))


def find_pauses(context: PageContext) -> Iterator[Need]:
    end = read_unlock_end(context.state)
    if end:
        command, since = make_copied_command("unlock", "--end"), _find_file_time(f"{context.state}/{UNLOCK_FILE}")
        yield Need(PAUSE, "Self-protection is paused", describe_pause(end), command, since)


def find_settings_mistakes(context: PageContext) -> Iterator[Need]:
    """Yield the mistakes in the user's hooks.toml: what they hide counts as the strictest that it may have said."""
    folder = locate(context.project, state=context.given_state).config
    if not folder:
        return
    config = read_hooks_toml(f"{folder}/hooks.toml", USER)
    settings = build_settings(config)
    for one in config.diagnostics:
        # An unknown key may be a setting about questions with a typing error in it.
        if one.level != DIAGNOSTIC_ERROR and str(one) not in (settings.ask_mistake, settings.factor_mistake):
            continue
        text = _add_advice(f"{one.position}: {one.message}", one.fix)
        title = f"hooks.toml has a mistake{f' at {one.key}' if one.key else ''}"
        yield Need(SETTINGS, title, text, make_project_command(context.project, "check"), _find_file_time(one.path))


def find_ledger_problems(context: PageContext) -> Iterator[Need]:
    lines = context.index.describe_state().invalid_lines
    if lines:
        text = f"{format_count(lines, 'line')} cannot be read."
        yield Need(LEDGER, "The ledger has lines that are not records", text, make_copied_command("ledger", "verify"))


# To add a kind of thing that needs a person, add its function here, by what it looks at. Questions are not here, because they
# change more quickly.
NEED_SOURCES: dict[str, NeedSource] = {
    "Unanswered questions": find_missed_questions,
    "Hooks that wait for a review": find_reviews,
    "Broken hooks": find_broken_hooks,
    "Failing guards": find_failing_guards,
    "Silent guards": find_silent_guards,
    "Agents": find_unwell_agents,
    "The setup": find_missing_setup,
    "Self-protection": find_pauses,
    "Settings": find_settings_mistakes,
    "The ledger": find_ledger_problems,
}


def describe_last_event(context: PageContext, host: str) -> str:
    with context.index.lock:
        last = context.index.sums.hosts.get(host)
    return (
        f"Its last event: {last.time[:19].replace('T', ' ')} UTC." if last else "It has sent no event that is recorded."
    )


def _list_armed_hooks(context: PageContext) -> Iterator[tuple[Hook, ProjectFacts]]:
    for facts in context.facts.load_projects():
        for hook in facts.hooks:
            # What an agent runs itself does not come through boathook.
            if hook.state == ARMED and find_own_host(hook) is None:
                yield hook, facts


def _find_file_time(path: str) -> str:
    try:
        return make_timestamp(os.stat(path).st_mtime)
    except OSError:
        return ""


def _add_advice(text: str, advice: str) -> str:
    """Return a text and what to do. Advice is for reading: only a command may be copied, because it goes into a shell."""
    return f"{text}. What to do: {advice}" if advice else text
