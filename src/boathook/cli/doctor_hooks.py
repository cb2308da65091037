"""What `boathook doctor` finds out about one hook: its state, its files, who asks it, and how it answers a test event."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from boathook.cli import doctor_machine
from boathook.cli.call_history import CallHistory, HookRuns, describe_failures, describe_runs
from boathook.cli.doctor_firing import Firing, HookFirer, name_edited_files
from boathook.cli.doctor_machine import GOOD, HealthFinding
from boathook.cli.hook_causes import (
    check_edited_hook,
    explain_double,
    find_own_host,
    find_state_cause,
    find_unasked_cause,
)
from boathook.cli.show import pick_fields
from boathook.core.event import PRE_TOOL, Event
from boathook.core.hook import (
    ARMED,
    DENIED,
    DISABLED,
    ERROR,
    GONE,
    NOTE,
    SHADOWED,
    USER,
    WARNING,
    Diagnostic,
    Hook,
    Http,
    Prompt,
)
from boathook.core.json_text import dumps
from boathook.core.outcome import NOTHING, Outcome
from boathook.core.value import Value
from boathook.core.verdict import OK, TIMEOUT, Run
from boathook.hook_tests.case import OBJECTIONS, PASS, SKIP, Case
from boathook.hook_tests.case_file import TESTS_FILE
from boathook.hook_tests.guard_firing import find_objection_case, fire_guard
from boathook.hosts.host import Host
from boathook.sources.double_hooks import DoubleHook
from boathook.sources.samples import build_sample_event

WORKS, FAILS, NOT_RUN, NOT_ASKED, NOT_SAFE = RESULTS = ("works", "fails", "not run", "not asked", "not fired safely")
_SLOW_MS = {"sync": 500.0, "async": 60_000.0}
_SLOW_FIX = "make it faster, or its matcher narrower: the agent waits for it at every event that it matches"
_MAX_SAMPLE_CHARS = 200
# States that somebody wanted.
_WANTED_STATES = (DISABLED, DENIED, SHADOWED, GONE)
_SKIP_FIX = "; or let doctor leave it out: metadata: {doctor: skip} in its HOOK.md"
# What to do about a failure, by what its text says; the first one counts.
_FAILURE_FIXES = (
    (re.compile(r"only exit 2 blocks"), "if it wants to block, it must exit with 2 and write the reason to stderr"),
    (re.compile(r"([\w.+/-]+): (?:command )?not found"), "install {0}, or write its path"),
    (re.compile(r"not executable|exit code 126"), "make its program executable: chmod +x"),
)


class HookHealth(Value):
    """The result of examining one hook; `ms` is how long it took, if it ran, and `past` what the ledger knows of it."""

    hook: Hook
    result: str
    findings: tuple[HealthFinding, ...]
    ms: float | None = None
    past: HookRuns | None = None

    @property
    def past_text(self) -> str:
        return describe_runs(self.hook, self.past) if self.past is not None else ""

    def to_json(self) -> dict[str, Any]:
        event = self.hook.kind.name if self.hook.kind else None
        about = {"hook": self.hook.name, "event": event, **pick_fields(self.hook, "scope", "source", "state", "path")}
        findings = [finding.to_json() for finding in self.findings]
        past = pick_fields(self.past, "runs", "failures", "events", "days") if self.past is not None else None
        return {**about, "result": self.result, "ms": self.ms, "ledger": past, "findings": findings}


class HookExaminer:
    """Examines hooks; `firer` fires them, `hosts` are the installed agents, `history` is what the ledger knows."""

    def __init__(
        self,
        firer: HookFirer,
        firing: Firing,
        hosts: Sequence[Host],
        history: CallHistory,
        doubles: Sequence[DoubleHook],
        *,
        trust_all: bool,
    ) -> None:
        self._firer, self._firing, self._hosts, self._history = firer, firing, hosts, history
        self._doubles, self._trust_all = doubles, trust_all

    def examine(self, hook: Hook) -> HookHealth:
        if hook.state != ARMED:
            return _judge_state(hook)
        past = None if find_own_host(hook) else self._history.count_runs_of(hook)
        before = (*self._examine_files(hook), *self._examine_past(hook, past))
        reason = _find_reason_not_to_run(hook) or self._firing.find_refusal(hook, is_trusted=not self._trust_all)
        if reason:
            found = HealthFinding(NOTE, hook.name, f"not run: {reason}")
            return HookHealth(hook, NOT_RUN, (*before, found), past=past)
        event = build_sample_event(hook, self._firer.scratch)
        if event is None:
            text = "not run: no event could be generated that its matcher accepts"
            fix = "describe one in its HOOK.md: metadata: {doctor: {tool_name: …, tool_input: {…}}}"
            return HookHealth(hook, NOT_RUN, (*before, HealthFinding(WARNING, hook.name, text, fix)), past=past)
        return self._fire(hook, event, before).replace(past=past)

    def _examine_files(self, hook: Hook) -> list[HealthFinding]:
        """Return what `check` finds, and that no agent asks it or that it runs twice; the system's own errors mislead."""
        # The hooks of packs are checked by those who make them.
        diagnostics = [] if hook.pack else check_edited_hook(hook)
        unasked = self._find_unasked_cause(hook)
        diagnostics += [explain_double(one) for one in self._doubles if one.hook is hook]
        return [make_finding(hook.name, one) for one in (*diagnostics, *((unasked,) if unasked else ()))]

    def _find_unasked_cause(self, hook: Hook) -> Diagnostic | None:
        return None if self._history.was_asked_by_program(hook) else find_unasked_cause(hook, self._hosts)

    def _examine_past(self, hook: Hook, past: HookRuns | None) -> list[HealthFinding]:
        if past is None:
            return []
        if text := describe_failures(self._history.find_failing_runs(hook)):
            return [HealthFinding(WARNING, hook.name, text, "boathook log --hook " + hook.name)]
        unmatched = "" if past.runs else self._history.describe_unmatched_calls(hook)
        fix = f"if that call is meant, change the pattern in {hook.path}"
        return [HealthFinding(NOTE, hook.name, unmatched, fix)] if unmatched else []

    def _fire(self, hook: Hook, event: Event, before: tuple[HealthFinding, ...]) -> HookHealth:
        verdict = self._firer.fire(hook, event)
        if not verdict.runs:
            why = "; ".join(skip.reason for skip in verdict.skipped)
            finding = HealthFinding(ERROR, hook.name, why or "it did not run on an event that its matcher accepts")
            return HookHealth(hook, FAILS, (*before, finding))
        run = verdict.runs[0]
        ms = round(run.seconds * 1000, 1)
        finding = self._judge_run(hook, run)
        is_broken = any(one.level == ERROR for one in before)
        if confined := self._firer.find_confined_line(hook, run):
            return self._judge_confined_run(hook, run, confined, before)
        if finding.level == ERROR:
            # The checker has said why it fails, with the line.
            is_known = is_broken and run.status != OK
            return HookHealth(hook, FAILS, before if is_known else (*before, finding), ms)
        objection, case = self._fire_objection(hook, run)
        more = (*_examine_passed_sample(hook, run, event), *_judge_objection(hook, objection, case))
        if objection in OBJECTIONS and finding.level == GOOD and case is not None:
            text = f"works: it answers {objection} to a case of its tests ({TESTS_FILE}:{case.line}), {ms:.0f} ms"
            finding = finding.replace(text=text)
        is_broken = is_broken or any(one.level == ERROR for one in more)
        if not is_broken and self._find_unasked_cause(hook):
            return HookHealth(hook, NOT_ASKED, (*before, *more), ms)
        return HookHealth(hook, FAILS if is_broken else WORKS, (*before, finding, *more), ms)

    def _judge_confined_run(self, hook: Hook, run: Run, line: str, before: tuple[HealthFinding, ...]) -> HookHealth:
        """Return that a hook could not be fired safely: what it lacks is what was taken from it, so it may well work."""
        ms = round(run.seconds * 1000, 1)
        fix = f"fire it for real: boathook doctor {hook.name} --for-real"
        if run.status == OK and run.outcome == NOTHING:
            note = HealthFinding(NOTE, hook.name, f"it could not do everything as it was fired: {line}", fix)
            return HookHealth(hook, WORKS, (*before, self._judge_run(hook, run), note), ms)
        more = _SKIP_FIX if hook.folder else ""
        finding = HealthFinding(WARNING, hook.name, f"could not be fired safely: {line}", fix + more)
        return HookHealth(hook, NOT_SAFE, (*before, finding), ms)

    def _judge_run(self, hook: Hook, run: Run) -> HealthFinding:
        ms, error = run.seconds * 1000, name_edited_files(hook, run.error)
        if run.status == TIMEOUT:
            fix = "raise its timeout, or make it faster"
            return HealthFinding(ERROR, hook.name, f"did not end within {hook.timeout:g} s", fix)
        if run.status != OK:
            needs_program = run.code and doctor_machine.MISSING_PROGRAM.search(error)
            program = "cannot run a program that it needs" if needs_program else "fails"
            what = "cannot run" if run.code in (None, *doctor_machine.START_FAILURES) else program
            return HealthFinding(ERROR, hook.name, f"{what}: {error}", self._choose_fix(hook, error))
        if run.code in doctor_machine.START_FAILURES:
            # Where every failure refuses a call, as in Copilot, a script that is missing looks like a guard that works.
            reasons = name_edited_files(hook, "; ".join(run.outcome.reasons))
            text = f"cannot run, so it blocks every call: {reasons}"
            return HealthFinding(ERROR, hook.name, text, self._choose_fix(hook, reasons))
        if ms > _SLOW_MS[hook.mode] or ms > hook.timeout * 500:
            return HealthFinding(WARNING, hook.name, f"works, but is slow: {ms:.0f} ms", _SLOW_FIX)
        what = "it let the test event pass" if run.outcome == NOTHING else _describe_answer(run.outcome)
        return HealthFinding(GOOD, hook.name, f"works: {what}, {ms:.0f} ms")

    def _choose_fix(self, hook: Hook, error: str) -> str:
        for pattern, fix in _FAILURE_FIXES:
            if found := pattern.search(error):
                return fix.format(*found.groups())
        if self._firing.is_for_real:
            return "boathook run --debug shows what it reads and prints"
        return f"if it needs the network or other files, fire it for real: boathook doctor {hook.name} --for-real"

    def _fire_objection(self, hook: Hook, run: Run) -> tuple[str, Case | None]:
        """Return how a guard answers the first plain case of its tests that it objects to, and the case, if it has one."""
        case = find_objection_case(hook) if run.status == OK else None
        if case is None:
            return "", None
        return fire_guard(self._firing.confine(hook), case, by_mounts=self._firing.by_mounts).got, case


def _judge_objection(hook: Hook, answer: str, case: Case | None) -> list[HealthFinding]:
    """Return an error about a guard that has no opinion on what it objects to."""
    if case is None or answer not in (PASS, SKIP):
        return []
    text = f"it has no opinion on a case that its tests say it objects to ({TESTS_FILE}:{case.line}): {case.title}"
    return [HealthFinding(ERROR, hook.name, text, f"boathook test {hook.name}:{case.line}")]


def _describe_answer(outcome: Outcome) -> str:
    return f"decision {outcome.decision.word}" if outcome.decision else "it answered without a decision"


def make_finding(subject: str, diagnostic: Diagnostic) -> HealthFinding:
    return HealthFinding(diagnostic.level, subject, diagnostic.message, diagnostic.fix, diagnostic.position)


def _judge_state(hook: Hook) -> HookHealth:
    if hook.is_off_in_pack:
        return HookHealth(hook, NOT_RUN, ())
    cause = find_state_cause(hook)
    if hook.state in _WANTED_STATES:
        level = WARNING if hook.state == SHADOWED and hook.scope == USER else NOTE
        found = make_finding(hook.name, cause) if cause else HealthFinding(level, hook.name, hook.state_text)
        return HookHealth(hook, NOT_RUN, (found.replace(level=level, text=hook.state_text),))
    diagnostics = check_edited_hook(hook)
    if cause is not None:
        findings = [make_finding(hook.name, cause.replace(level=ERROR)).replace(text=hook.state_text)]
        findings += [make_finding(hook.name, one) for one in diagnostics]
        return HookHealth(hook, FAILS, tuple(findings))
    findings = [make_finding(hook.name, one) for one in diagnostics]
    if not any(finding.level == ERROR for finding in findings):
        findings = [HealthFinding(ERROR, hook.name, hook.state_text, "boathook check shows where"), *findings]
    return HookHealth(hook, FAILS, tuple(findings))


def _examine_passed_sample(hook: Hook, run: Run, event: Event) -> list[HealthFinding]:
    """Note that a guard for a certain input let its sample of that input pass: perhaps its script looks for less."""
    may_guard = event.kind is PRE_TOOL and hook.matcher.pattern is not None and not hook.background
    if not may_guard or run.status != OK or run.outcome != NOTHING:
        return []
    sample = dumps(event.tool_input)[:_MAX_SAMPLE_CHARS]
    return [HealthFinding(NOTE, hook.name, f"it let a sample pass that its pattern matches: {sample}")]


def _find_reason_not_to_run(hook: Hook) -> str:
    """Return why a hook should not run as a test, or ""."""
    if isinstance(hook.metadata, dict) and hook.metadata.get("doctor") == "skip":
        return "its HOOK.md sets metadata.doctor: skip"
    if isinstance(hook.handler, Prompt):
        return "it would call a model"
    if isinstance(hook.handler, Http):
        return f"it would send a request to {hook.handler.safe_url}"
    return ""
