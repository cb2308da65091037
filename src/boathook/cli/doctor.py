"""`boathook doctor`: fires every hook once, for real, and says which guards are not alive."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from typing import Any

import click

from boathook.assembly import look_up, probe, state_of
from boathook.cli.common_options import json_option, project_option, state_option
from boathook.cli.show import STATE_STYLES, print_json, say
from boathook.cli.stats import Tally, tally
from boathook.core.catalog import Catalog
from boathook.core.hook import (
    ARMED,
    DENIED,
    DISABLED,
    MODIFIED,
    NO_ENTRY,
    SHADOWED,
    UNTRUSTED,
    USER,
    Command,
    Hook,
    Http,
    Prompt,
    Script,
)
from boathook.core.matcher import TOOL_NAME
from boathook.core.tool_names import SERVER_TOOL_MARKS
from boathook.core.value import Value
from boathook.core.verdict import OK, TIMEOUT, Run
from boathook.dialects.dialect import find_dialect
from boathook.engine import now
from boathook.errors import ConfigError
from boathook.hosts.host import Row, load
from boathook.install.host_files import resolve_install_target as place_here
from boathook.install.probe import ProbeResult, find_probe_command, list_installed_events, make_probe_event, run_probe
from boathook.install.registry import Installation, InstallRegistry
from boathook.install.setups import BY_NAME, Setup
from boathook.install.status import STALE_STATUS, find_status
from boathook.ledger.reader import Reader
from boathook.ledger.record import VERSION
from boathook.ledger.writer import Ledger, new_id
from boathook.process.sandbox import offers
from boathook.process.supervisor import HOOK_ENTRY
from boathook.sources.own_commands import calls_us, named
from boathook.sources.samples import sample_event, tools_for
from boathook.system.programs import find_entry, find_interpreter_error, first_bytes, which
from boathook.trust.snapshot import FILE, SnapshotError, read_snapshot, write_snapshot

MANY = 4
GOOD, NOTE, WARNING, ERROR = "ok", "note", "warning", "error"
STYLES = {GOOD: "green", NOTE: "dim", WARNING: STATE_STYLES["warning"], ERROR: STATE_STYLES["error"]}
SLOW_MS = {"sync": 500.0, "async": 60_000.0}
NOT_FOUND, NOT_EXECUTABLE = 127, 126
MISSING = re.compile(r"(?:not found|No such file)")
ALIVE, DEAD, LEFT = "alive", "dead", "not fired"


class Finding(Value):
    """One thing that doctor has to say: about what, how bad, and how to mend it."""

    level: str
    subject: str
    text: str
    fix: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the fields."""
        return {name: self.__dict__[name] for name in self.FIELDS}


class Visit(Value):
    """What became of one hook."""

    hook: Hook
    life: str
    findings: tuple[Finding, ...]
    ms: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it as `doctor --json` prints it."""
        return {
            "hook": self.hook.name,
            "scope": self.hook.scope,
            "source": self.hook.source,
            "event": self.hook.kind.name if self.hook.kind else None,
            "state": self.hook.state,
            "life": self.life,
            "ms": self.ms,
            "findings": [finding.to_json() for finding in self.findings],
        }


@click.command("doctor")
@json_option
@project_option
@state_option
def examine_hooks(as_json: bool, project: str | None, state: str | None) -> int:
    """Run every hook once to see whether it works.

    Each armed hook gets an event that it matches, in a scratch folder. Prompt hooks, HTTP hooks and hooks with
    `metadata: {doctor: skip}` in their HOOK.md are inspected but not run. Installed agents, the ledger and the trust
    store are checked too.

    \b
    Exit codes: 0 everything works, 1 something does not.

    \b
    Examples:
      boathook doctor
      boathook doctor --json
    """
    loaded, book = look_up(project, state=state)
    catalog, folder = loaded.catalog, state_of(state)
    installed = _installed(catalog, folder)
    house = [*_machine(), *_state(folder, book.problem), *_files(catalog, book.path)]
    house += [*_hosts(catalog, others=bool(installed)), *installed]
    seen = tally(Reader(folder), "")
    visits = _visits(catalog, seen)
    bad = any(f.level == ERROR for f in (*house, *(f for v in visits for f in v.findings)))
    if as_json:
        rows = [visit.to_json() for visit in visits]
        print_json({"ok": not bad, "house": [finding.to_json() for finding in house], "hooks": rows})
    else:
        _print(house, visits)
    return int(bad)


# The house


def _machine() -> list[Finding]:
    """Return what this machine offers."""
    return [
        Finding(
            GOOD if offer.there else NOTE,
            f"sandbox {offer.level}",
            offer.how if offer.there else f"not here: {offer.how}",
        )
        for offer in offers()
    ]


def _state(folder: str, problem: str) -> list[Finding]:
    """Whether trust and ledger can be kept."""
    record = {"v": VERSION, "id": new_id(), "time": now(), "type": "doctor"}
    trouble = Ledger(folder).append(record)
    ledger = Finding(ERROR, "ledger", trouble, f"make {folder} writable, or give --state") if trouble else None
    trust = Finding(ERROR, "trust", problem) if problem else Finding(GOOD, "trust", "the book of trust can be read")
    return [ledger or Finding(GOOD, "ledger", f"can be written, in {folder}"), trust]


def _files(catalog: Catalog, book: str) -> list[Finding]:
    """Name what is wrong in files that are no hooks; the book of trust has its own word."""
    levels = {"error": ERROR, "warning": WARNING}
    return [
        Finding(levels[d.level], d.path, f"{d.key + ': ' if d.key else ''}{d.message}", d.fix)
        for d in catalog.diagnostics
        if d.path != book
    ]


def _hosts(catalog: Catalog, *, others: bool) -> list[Finding]:
    """Return which settings call this engine, and whether what they call is there."""
    calls = _calls(catalog)
    if not calls and others:
        return []
    if not calls:
        told = "no settings.json here calls boathook: Claude Code does not ask these hooks"
        return [Finding(NOTE, "host claude", told, "boathook install claude")]
    by_target: dict[tuple[str, str], list[str]] = {}
    for hook in calls:
        by_target.setdefault((hook.path, _target(hook)), []).append(hook.trigger)
    return [_call(where, path, triggers) for (where, path), triggers in by_target.items()]


def _calls(catalog: Catalog) -> list[Hook]:
    """Return the entries of settings files that call us: they are no hooks, but the way of a host to them."""
    return [hook for hook in catalog.hooks if isinstance(hook.handler, Command) and calls_us(hook.handler)]


def _target(hook: Hook) -> str:
    """Return the path that a settings hook calls us by."""
    line = hook.handler.line if isinstance(hook.handler, Command) else ""
    return named(line) or which("boathook") or ""


def _call(settings: str, path: str, triggers: list[str]) -> Finding:
    where = f"{settings} ({', '.join(triggers) if len(triggers) < MANY else f'{len(triggers)} events'})"
    if not path or ("$" not in path and not os.path.exists(path)):
        told = f"{where} calls {path or 'boathook'}, which is not there"
        return Finding(ERROR, "host claude", told, "boathook install claude")
    if path.endswith("hook_entry.py") and os.path.realpath(path) != os.path.realpath(HOOK_ENTRY):
        return Finding(WARNING, "host claude", f"{where} calls another boathook: {path}", f"this one is {HOOK_ENTRY}")
    return Finding(GOOD, "host claude", f"{where} calls {path}")


def _installed(catalog: Catalog, state: str) -> list[Finding]:
    """Fire what is installed in each host, as the host does, and say whether it answers."""
    book = InstallRegistry(state)
    try:
        installations = book.read()
    except ConfigError as error:
        return [Finding(ERROR, "installations", str(error), error.fix)]
    scratch = os.path.realpath(tempfile.mkdtemp(prefix="boathook-doctor-"))
    try:
        return [finding for one in installations for finding in _fired(one, catalog, book, scratch)]
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _fired(one: Installation, catalog: Catalog, book: InstallRegistry, scratch: str) -> list[Finding]:
    subject = f"installed in {one.host}" + (f" for {one.project}" if one.project else "")
    mend = f"boathook install {one.host}" + (f" --project {one.project}" if one.project else "")
    if one.project and not os.path.isdir(one.project):
        return [Finding(NOTE, subject, "the project is gone")]
    setup, place = BY_NAME[one.host], place_here(one.scope, one.project or None, book.state)
    stands = find_status(setup, place, book)
    found = [Finding(ERROR if stands.state != STALE_STATUS else WARNING, subject, f"{stands.state}: {why}", mend)
             for why in stands.why]  # fmt: skip
    row = _quiet_row(setup, catalog, scratch)
    command = find_probe_command(setup, place, row.name)
    if command is None:
        return [
            *found,
            Finding(ERROR, subject, f"not fired: {row.name} has another command than would be installed now", mend),
        ]
    if not command:
        return found or [Finding(ERROR, subject, f"there is no command for {row.name}", mend)]
    shot = run_probe(command, make_probe_event(load(one.host), row, scratch), scratch)
    return [*found, _answered(shot, subject, mend)]


def _quiet_row(setup: Setup, catalog: Catalog, scratch: str) -> Row:
    """Return an event that no hook is asked about, so that nothing runs and nothing is recorded; else that of a tool call."""
    host = load(setup.name)
    rows = list_installed_events(host, setup)
    for row in rows:
        plan = catalog.plan(find_dialect(setup.name).read_event(make_probe_event(host, row, scratch), row.name))
        if not plan.stages and not plan.background:
            return row
    return rows[0]


def _answered(shot: ProbeResult, subject: str, mend: str) -> Finding:
    """Whether a command that was fired is alive."""
    said = shot.err.strip().splitlines()[-1:] or [""]
    if shot.code == 0:
        return Finding(GOOD, subject, f"alive: its command answers, {shot.ms:.0f} ms")
    if shot.code is None:
        return Finding(ERROR, subject, f"its command did not end within {shot.ms / 1000:.0f} s", mend)
    word = "cannot run" if shot.code in (NOT_FOUND, NOT_EXECUTABLE) or MISSING.search(shot.err) else "fails"
    return Finding(ERROR, subject, f"{word}: exit code {shot.code}: {said[0]}", mend)


# The hooks


def _visits(catalog: Catalog, seen: dict[str, Tally]) -> list[Visit]:
    """Look at every hook, and fire the armed ones in a scratch project."""
    scratch = tempfile.mkdtemp(prefix="boathook-doctor-")
    try:
        _furnish(catalog, scratch)
        with probe(catalog, scratch) as engine:
            calls = _calls(catalog)
            hooks = [hook for hook in catalog.hooks if hook not in calls]
            return [_visit(hook, engine, scratch, seen.get(hook.name)) for hook in hooks]
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _furnish(catalog: Catalog, scratch: str) -> None:
    """Copy what settings hooks may name relative to their project."""
    try:
        tree = read_snapshot(f"{catalog.claude_project}/.claude") if catalog.claude_project else None
    except SnapshotError:
        return
    if tree is not None:
        write_snapshot(tree, f"{scratch}/.claude")
        for part in tree.parts:
            if part.kind != FILE:
                continue
            os.chmod(f"{scratch}/.claude/{part.path}", 0o700 if part.mode & 0o111 else 0o600)
        for folder, _, _ in os.walk(f"{scratch}/.claude"):
            os.chmod(folder, 0o700)


def _visit(hook: Hook, engine: Any, scratch: str, seen: Tally | None) -> Visit:
    if hook.state != ARMED:
        return Visit(hook, DEAD if hook.state not in (DISABLED, DENIED, SHADOWED) else LEFT, (_asleep(hook),))
    before = [*_entry(hook), *_reach(hook), *_past(hook, seen)]
    if why := _reason_not_to(hook):
        return Visit(hook, LEFT, (*before, Finding(NOTE, hook.name, f"not fired: {why}")))
    event = sample_event(hook, scratch)
    if event is None:
        told = "not fired: no event could be made up that its matcher accepts"
        fix = "metadata: {doctor: {tool_name: …, tool_input: {…}}} in its HOOK.md gives one"
        return Visit(hook, LEFT, (*before, Finding(WARNING, hook.name, told, fix)))
    verdict = engine.only((hook.replace(background=False),), diagnostics=False).dispatch(event)
    if not verdict.runs:
        why = "; ".join(skip.why for skip in verdict.skipped) or "it did not run on an event that its matcher accepts"
        return Visit(hook, DEAD, (*before, Finding(ERROR, hook.name, why)))
    run = verdict.runs[0]
    after = _judged(hook, run)
    life = DEAD if any(f.level == ERROR for f in after) else ALIVE
    return Visit(hook, life, (*before, *after), round(run.seconds * 1000, 1))


def _asleep(hook: Hook) -> Finding:
    """Return what it means that a hook is not armed."""
    fixes = {
        UNTRUSTED: f"boathook trust {hook.name}",
        MODIFIED: f"boathook trust {hook.name}",
        NO_ENTRY: f"add {hook.folder}/scripts/run.sh",
    }
    if hook.state in (DISABLED, DENIED):
        return Finding(NOTE, hook.name, f"{hook.state}: {hook.why}")
    if hook.state == SHADOWED:
        return Finding(WARNING if hook.scope == USER else NOTE, hook.name, f"shadowed: {hook.why}")
    return Finding(ERROR, hook.name, f"{hook.state}: {hook.why}", fixes.get(hook.state, "boathook check says where"))


def _entry(hook: Hook) -> list[Finding]:
    """Look at the script before it is fired: what the system says of it is often misleading."""
    path = find_entry(hook.folder) if isinstance(hook.handler, Script) else None
    if path is None:
        return []
    wrong = find_interpreter_error(first_bytes(path))
    if wrong:
        return [Finding(ERROR, hook.name, f"cannot run: {path}: {wrong}")]
    if not os.access(path, os.X_OK):
        return [Finding(WARNING, hook.name, f"{path} is not executable", f"chmod +x {path}")]
    return []


def _reach(hook: Hook) -> list[Finding]:
    """Report so if no tool is known that a hook would ever be asked about."""
    tool = hook.matcher.tool
    if tool is None or hook.matcher.subject != TOOL_NAME or (hook.kind is not None and not hook.kind.has_tool):
        return []
    if tools_for(hook) or any(mark in tool.source for mark in SERVER_TOOL_MARKS):
        return []
    told = f"its matcher '{tool.shown}' fits no tool that is known: it may never be asked"
    return [Finding(WARNING, hook.name, told, "boathook check suggests names")]


def _past(hook: Hook, seen: Tally | None) -> list[Finding]:
    """Return what the ledger knows."""
    if seen is None:
        return [Finding(NOTE, hook.name, "has never fired here, says the ledger")]
    figures = seen.to_json()
    failed = figures["failures"] + figures["timeouts"]
    if figures["runs"] == failed:
        return [Finding(WARNING, hook.name, f"failed each of the {failed} times that it ran, says the ledger")]
    return []


def _reason_not_to(hook: Hook) -> str:
    """Return why a hook is better not fired just to see."""
    if isinstance(hook.metadata, dict) and hook.metadata.get("doctor") == "skip":
        return "it says that it has effects (metadata.doctor: skip)"
    if isinstance(hook.handler, Prompt):
        return "it would ask a model"
    if isinstance(hook.handler, Http):
        return f"it would post to {hook.handler.shown}"
    return ""


def _judged(hook: Hook, run: Run) -> list[Finding]:
    """Return how a fired hook did."""
    ms = run.seconds * 1000
    if run.status == TIMEOUT:
        return [
            Finding(ERROR, hook.name, f"did not end within {hook.timeout:g} s", "raise its timeout, or make it quicker")
        ]
    if run.status != OK:
        return [Finding(ERROR, hook.name, f"{_kind_of_failure(run)}: {run.why}")]
    slow = ms > SLOW_MS[hook.mode] or ms > hook.timeout * 500
    word = f"alive: {run.outcome.decision.word}, {ms:.0f} ms"
    return [Finding(WARNING, hook.name, f"slow: {ms:.0f} ms", "every event that it matches waits for it") if slow
            else Finding(GOOD, hook.name, word)]  # fmt: skip


def _kind_of_failure(run: Run) -> str:
    if run.code in (NOT_FOUND, NOT_EXECUTABLE) or (run.code is None and run.status != TIMEOUT):
        return "cannot run"
    if run.code and MISSING.search(run.why):
        return "cannot run all that it calls"
    return "fails"


# What is shown


def _print(house: list[Finding], visits: list[Visit]) -> None:
    for finding in house:
        _say(finding)
    say("")
    for visit in visits:
        for finding in visit.findings:
            _say(finding)
    counts = {life: sum(visit.life == life for visit in visits) for life in (ALIVE, DEAD, LEFT)}
    say("")
    left = [visit.hook.name for visit in visits if visit.life == LEFT]
    if left:
        say(f"not fired: {', '.join(left)}", "dim")
    told = ", ".join(f"{count} {life}" for life, count in counts.items())
    say(f"{len(visits)} hook{'s' * (len(visits) != 1)}: {told}", STYLES[ERROR] if counts[DEAD] else STYLES[GOOD])


def _say(finding: Finding) -> None:
    say(f"{finding.level:8}{finding.subject}  {finding.text}", STYLES[finding.level])
    if finding.fix:
        say(f"        mend: {finding.fix}", "dim")
