"""`boathook doctor`: run every hook once to see whether it works."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import click

from boathook.assembly import load_with_trust, locate, make_probe_engine
from boathook.cli import doctor_setup
from boathook.cli.common_options import json_option, project_option, state_option
from boathook.cli.doctor_setup import ERROR, GOOD, NOTE, WARNING, HealthFinding, examine_setup, list_own_calls
from boathook.cli.install import repair_installations
from boathook.cli.show import STATE_STYLES, echo, format_count, pick_fields, print_json
from boathook.cli.stats import HookStats, count_runs
from boathook.core.catalog import UNTRUSTED_STATES, Catalog
from boathook.core.event import PRE_TOOL, Event
from boathook.core.hook import (
    ARMED,
    DENIED,
    DISABLED,
    GONE,
    HIDDEN,
    NO_ENTRY,
    SHADOWED,
    USER,
    Hook,
    Http,
    Prompt,
    Script,
)
from boathook.core.json_text import dumps
from boathook.core.outcome import NOTHING
from boathook.core.value import Value
from boathook.core.verdict import OK, TIMEOUT, Run
from boathook.engine import Engine
from boathook.hook_tests.case import OBJECTIONS, PASS, SKIP
from boathook.hook_tests.case_file import TESTS_FILE, read_case_file
from boathook.hook_tests.case_runner import CaseRules, RunSetup, run_cases
from boathook.hook_tests.missing_cases import is_guard
from boathook.hosts.tool_names import SERVER_TOOL_MARKS
from boathook.ledger.reader import LedgerReader
from boathook.sources.samples import build_sample_event, list_matching_tools
from boathook.sources.source import SOURCES
from boathook.system.programs import find_entry_point, find_interpreter_error, read_first_bytes
from boathook.trust.snapshot import FILE, SnapshotError, read_snapshot, write_snapshot

_STYLES = {GOOD: "green", NOTE: "dim", WARNING: STATE_STYLES["warning"], ERROR: STATE_STYLES["error"]}
_SLOW_MS = {"sync": 500.0, "async": 60_000.0}
_MAX_SAMPLE_CHARS = 200
_WORKS, _FAILS, _NOT_RUN = "works", "fails", "not run"


class HookHealth(Value):
    """The result of examining one hook; `ms` is how long it took, if it ran."""

    hook: Hook
    result: str
    findings: tuple[HealthFinding, ...]
    ms: float | None = None

    def to_json(self) -> dict[str, Any]:
        event = self.hook.kind.name if self.hook.kind else None
        about = {"hook": self.hook.name, "event": event, **pick_fields(self.hook, "scope", "source", "state")}
        findings = [finding.to_json() for finding in self.findings]
        return {**about, "result": self.result, "ms": self.ms, "findings": findings}


@click.command("doctor")
@click.option(
    "--fix", "is_fixing", is_flag=True, help="Repair entries in agents that call another or a missing boathook."
)
@click.option("--diff", is_flag=True, help="With --fix: show every line that changes, not only a summary.")
@click.option("--yes", is_flag=True, help="With --fix: do not ask for confirmation.")
@json_option
@project_option
@state_option
def examine_hooks(is_fixing: bool, diff: bool, yes: bool, as_json: bool, project: str | None, state: str | None) -> int:
    """Run every hook once to see whether it works.

    Each armed hook gets an event that it matches, in a scratch folder. Prompt hooks, HTTP hooks and hooks with
    `metadata: {doctor: skip}` in their HOOK.md are inspected but not run. A guard also gets the first `block` or
    `ask` case of its tests that needs nothing but the event. Installed agents, the ledger and the trust
    store are checked too. With --fix, agents whose entries call another boathook, or one that is gone, get entries for
    this one; you are asked at a terminal, and without one nothing is changed unless you add --yes.

    \b
    Exit codes: 0 everything works, 1 something does not.

    \b
    Examples:
      boathook doctor
      boathook doctor --json
      boathook doctor --fix
    """
    if is_fixing and as_json:
        raise click.UsageError("--fix shows what it changes, so it cannot be used with --json")
    locations = locate(project, state=state)
    if is_fixing:
        repair_installations(state, project, yes=yes, is_whole=diff)
    loaded, trust = load_with_trust(locations)
    setup = examine_setup(loaded.catalog, trust, locations.state, project)
    hooks = _examine_all(loaded.catalog, count_runs(LedgerReader(locations.state), ""))
    findings = [*setup, *(finding for health in hooks for finding in health.findings)]
    has_failed = any(finding.level == ERROR for finding in findings)
    if as_json:
        rows = {"setup": [finding.to_json() for finding in setup], "hooks": [health.to_json() for health in hooks]}
        print_json({"ok": not has_failed, **rows})
    else:
        _print_results(setup, hooks)
    return int(has_failed)


def _examine_all(catalog: Catalog, stats: dict[str, HookStats]) -> list[HookHealth]:
    own_calls = list_own_calls(catalog)
    hooks = [hook for hook in catalog.hooks if hook not in own_calls]
    with tempfile.TemporaryDirectory(prefix="boathook-doctor-", ignore_cleanup_errors=True) as scratch:
        # Hooks may name files relative to their project.
        projects: dict[str, str] = {}
        for source in SOURCES:
            if project := catalog.find_project(source.name):
                projects.setdefault(source.project_folder, project)
        for folder, project in projects.items():
            _copy_folder(project + folder, scratch + folder)
        with make_probe_engine(catalog, scratch) as engine:
            return [_examine_hook(hook, engine, scratch, stats.get(hook.name)) for hook in hooks]


def _copy_folder(folder: str, copy: str) -> None:
    try:
        snapshot = read_snapshot(folder)
    except SnapshotError:
        return
    write_snapshot(snapshot, copy)
    for item in snapshot.items:
        if item.kind == FILE:
            os.chmod(f"{copy}/{item.path}", 0o700 if item.mode & 0o111 else 0o600)
    for path, _, _ in os.walk(copy):
        os.chmod(path, 0o700)


def _examine_hook(hook: Hook, engine: Engine, scratch: str, stats: HookStats | None) -> HookHealth:
    if hook.state != ARMED:
        return _judge_state(hook)
    before = (*_examine_entry(hook), *_examine_matcher(hook), *_examine_past(hook, stats))
    if reason := _find_reason_not_to_run(hook):
        return HookHealth(hook, _NOT_RUN, (*before, HealthFinding(NOTE, hook.name, f"not run: {reason}")))
    event = build_sample_event(hook, scratch)
    if event is None:
        text = "not run: no event could be generated that its matcher accepts"
        fix = "describe one in its HOOK.md: metadata: {doctor: {tool_name: …, tool_input: {…}}}"
        return HookHealth(hook, _NOT_RUN, (*before, HealthFinding(WARNING, hook.name, text, fix)))
    verdict = engine.only((hook.replace(background=False),), diagnostics=False).dispatch(event)
    if not verdict.runs:
        why = "; ".join(skip.reason for skip in verdict.skipped)
        finding = HealthFinding(ERROR, hook.name, why or "it did not run on an event that its matcher accepts")
        return HookHealth(hook, _FAILS, (*before, finding))
    run = verdict.runs[0]
    finding = _judge_run(hook, run)
    result = _FAILS if finding.level == ERROR else _WORKS
    more = (*_examine_passed_sample(hook, run, event), *_examine_objection(hook, run))
    result = _FAILS if any(one.level == ERROR for one in more) else result
    return HookHealth(hook, result, (*before, finding, *more), round(run.seconds * 1000, 1))


def _examine_passed_sample(hook: Hook, run: Run, event: Event) -> list[HealthFinding]:
    """Note that a guard for a certain input let its sample of that input pass: perhaps its script looks for less."""
    is_guard = event.kind is PRE_TOOL and hook.matcher.pattern is not None and not hook.background
    if not is_guard or run.status != OK or run.outcome != NOTHING:
        return []
    sample = dumps(event.tool_input)[:_MAX_SAMPLE_CHARS]
    return [HealthFinding(NOTE, hook.name, f"it let a sample pass that its pattern matches: {sample}")]


def _examine_objection(hook: Hook, run: Run) -> list[HealthFinding]:
    """Fire the first plain case of a guard that it objects to: one that has no opinion on it is broken."""
    if run.status != OK or not is_guard(hook):
        return []
    read = read_case_file(f"{hook.edited_folder}/{TESTS_FILE}")
    case = next((one for one in read.cases if one.word in OBJECTIONS and one.is_plain and not one.is_todo), None)
    if case is None:
        return []
    # The hook is trusted, and the case brings no code.
    result = run_cases(hook, (case.replace(hosts=()),), RunSetup(rules=CaseRules(is_hook_trusted=True)))[0]
    if result.got not in (PASS, SKIP):
        return []
    text = f"it has no opinion on a case that its tests say it objects to ({TESTS_FILE}:{case.line}): {case.title}"
    return [HealthFinding(ERROR, hook.name, text, f"boathook test {hook.name}:{case.line}")]


def _judge_state(hook: Hook) -> HookHealth:
    text = hook.state_text
    if hook.state in (DISABLED, DENIED, SHADOWED, GONE):
        level = WARNING if hook.state == SHADOWED and hook.scope == USER else NOTE
        return HookHealth(hook, _NOT_RUN, (HealthFinding(level, hook.name, text),))
    fix = f"boathook trust {hook.name}" if hook.state in UNTRUSTED_STATES else "boathook check shows where"
    fix = "boathook trust" if hook.state == HIDDEN else fix
    fix = f"add {hook.edited_folder}/scripts/run.sh" if hook.state == NO_ENTRY else fix
    return HookHealth(hook, _FAILS, (HealthFinding(ERROR, hook.name, text, fix),))


def _examine_entry(hook: Hook) -> list[HealthFinding]:
    """Examine the script before it runs, because the system's own error messages are often misleading."""
    path = find_entry_point(hook.folder) if isinstance(hook.handler, Script) else None
    if path is None:
        return []
    edited = hook.edited_folder + path.removeprefix(hook.folder)
    if error := find_interpreter_error(read_first_bytes(path)):
        return [HealthFinding(ERROR, hook.name, f"cannot run: {edited}: {error}")]
    if not os.access(path, os.X_OK):
        return [HealthFinding(WARNING, hook.name, f"{edited} is not executable", f"chmod +x {edited}")]
    return []


def _examine_matcher(hook: Hook) -> list[HealthFinding]:
    tool = hook.matcher.tool
    if tool is None or (hook.kind is not None and not hook.kind.has_tool):
        return []
    if list_matching_tools(hook) or any(mark in tool.source for mark in SERVER_TOOL_MARKS):
        return []
    text = f"its matcher '{tool.display_text}' matches no known tool: it may never run"
    return [HealthFinding(WARNING, hook.name, text, "boathook check suggests names")]


def _examine_past(hook: Hook, stats: HookStats | None) -> list[HealthFinding]:
    if stats is None:
        return [HealthFinding(NOTE, hook.name, "the ledger has no record of a run")]
    counts = stats.to_json()
    failures = counts["failures"] + counts["timeouts"]
    if counts["runs"] == failures:
        return [HealthFinding(WARNING, hook.name, f"it failed in every recorded run ({format_count(failures, 'run')})")]
    return []


def _find_reason_not_to_run(hook: Hook) -> str:
    """Return why a hook should not run as a test, or ""."""
    if isinstance(hook.metadata, dict) and hook.metadata.get("doctor") == "skip":
        return "its HOOK.md sets metadata.doctor: skip"
    if isinstance(hook.handler, Prompt):
        return "it would call a model"
    if isinstance(hook.handler, Http):
        return f"it would send a request to {hook.handler.safe_url}"
    return ""


def _judge_run(hook: Hook, run: Run) -> HealthFinding:
    ms = run.seconds * 1000
    if run.status == TIMEOUT:
        fix = "raise its timeout, or make it faster"
        return HealthFinding(ERROR, hook.name, f"did not end within {hook.timeout:g} s", fix)
    if run.status != OK:
        program = (
            "cannot run a program that it needs"
            if run.code and doctor_setup.MISSING_PROGRAM.search(run.error)
            else "fails"
        )
        what = "cannot run" if run.code in (None, *doctor_setup.START_FAILURES) else program
        return HealthFinding(ERROR, hook.name, f"{what}: {run.error}")
    if run.code in doctor_setup.START_FAILURES:
        # Where every failure refuses a call, as in Copilot, a script that is missing looks like a guard that works.
        return HealthFinding(ERROR, hook.name, f"cannot run, so it blocks every call: {'; '.join(run.outcome.reasons)}")
    if ms > _SLOW_MS[hook.mode] or ms > hook.timeout * 500:
        return HealthFinding(WARNING, hook.name, f"slow: {ms:.0f} ms", "every event that it matches waits for it")
    what = "it let the test event pass" if run.outcome == NOTHING else f"decision {run.outcome.decision.word}"
    return HealthFinding(GOOD, hook.name, f"works: {what}, {ms:.0f} ms")


def _print_results(setup: list[HealthFinding], hooks: list[HookHealth]) -> None:
    for finding in setup:
        _print_finding(finding)
    echo("")
    for health in hooks:
        for finding in health.findings:
            _print_finding(finding)
    echo("")
    names = {result: [one.hook.name for one in hooks if one.result == result] for result in (_WORKS, _FAILS, _NOT_RUN)}
    if names[_NOT_RUN]:
        echo(f"not run: {', '.join(names[_NOT_RUN])}", "dim")
    counts = f"{len(names[_WORKS])} working, {len(names[_FAILS])} failing, {len(names[_NOT_RUN])} not run"
    echo(f"{format_count(len(hooks), 'hook')}: {counts}", _STYLES[ERROR] if names[_FAILS] else _STYLES[GOOD])


def _print_finding(finding: HealthFinding) -> None:
    echo(f"{finding.level:8}{finding.subject}  {finding.text}", _STYLES[finding.level])
    if finding.fix:
        echo(f"        fix: {finding.fix}", "dim")
