"""What `boathook doctor` examines besides hooks: the machine, the state folder, configuration files and installations."""

from __future__ import annotations

import os
import re
import tempfile
from typing import Any

from boathook.cli.call_history import CallHistory
from boathook.cli.hook_causes import find_own_host
from boathook.cli.show import format_count, pick_fields
from boathook.cli.warm import describe_warm
from boathook.core.catalog import Catalog
from boathook.core.hook import ARMED, ERROR, NOTE, PROJECT, USER, WARNING, Command, Hook
from boathook.core.pattern_search import MAX_SEARCH_SECONDS, has_re2
from boathook.core.value import Value
from boathook.dialects.dialect import find_host_dialect
from boathook.errors import ConfigError
from boathook.hosts.host import HostEvent, load_host
from boathook.hosts.setup import Setup
from boathook.install.host_files import InstallTarget, find_config_path, resolve_install_target
from boathook.install.installed_targets import list_installed_targets
from boathook.install.present_agents import find_present_agents
from boathook.install.probe import ProbeResult, find_probe_command, list_installed_events, make_probe_event, run_probe
from boathook.install.registry import InstallRegistry
from boathook.install.status import STALE_STATUS, find_status
from boathook.ledger.record import PYTHON_AGENT, RECORD_VERSION
from boathook.ledger.writer import LOCK_NAME, Ledger, make_record_id, make_timestamp, peek_head
from boathook.permits.factors import find_factor_problem, is_factor_used
from boathook.permits.unlock import describe_pause, read_unlock_end
from boathook.process.sandbox import SandboxSupport
from boathook.process.supervisor import HOOK_ENTRY
from boathook.sources.own_commands import find_own_path, is_own_command
from boathook.sources.source import SETTINGS_JSON_SOURCE
from boathook.system.programs import find_program
from boathook.trust.store import TrustStore
from boathook.warm.resident_control import find_warm_obstacle, list_residents

GOOD = "ok"
# Exit codes of a shell: not executable, not found.
START_FAILURES = (126, 127)
MISSING_PROGRAM = re.compile(r"(?:not found|No such file)")
_MAX_SHOWN_EVENTS = 3
_SETTINGS_HOST = SETTINGS_JSON_SOURCE.host


class HealthFinding(Value):
    level: str
    subject: str
    text: str
    fix: str = ""
    # The file that it is about, with the line if that is known.
    place: str = ""

    def to_json(self) -> dict[str, Any]:
        return pick_fields(self, *self.FIELDS)


def examine_machine(
    catalog: Catalog,
    trust: TrustStore,
    state: str,
    project: str | None,
    *,
    history: CallHistory,
    levels: tuple[SandboxSupport, ...],
    for_real: bool = False,
) -> list[HealthFinding]:
    """Examine everything but hooks; an installed command whose every event would run hooks is run only if `for_real`."""
    installed = _examine_installations(catalog, state, project, for_real=for_real)
    return [
        _examine_pattern_engine(),
        *_examine_sandboxes(levels),
        *_examine_ledger(state),
        *_examine_warm(catalog, state),
        *examine_files(catalog, trust),
        *_examine_built_in(catalog, state),
        *_examine_factor(catalog, state),
        *_examine_settings_calls(
            catalog, state, _list_installed_files(state, project), history, has_installations=bool(installed)
        ),
        *installed,
    ]


def list_own_calls(catalog: Catalog) -> list[Hook]:
    """Return the settings.json entries that call boathook; they are how a host reaches hooks, and not hooks."""
    return [hook for hook in catalog.hooks if isinstance(hook.handler, Command) and is_own_command(hook.handler)]


def _examine_built_in(catalog: Catalog, state: str) -> list[HealthFinding]:
    """Report the built-in hooks in lines of their own: nobody wrote them, and no sample would show anything."""
    findings = []
    for hook in catalog.built_in:
        if hook.state != ARMED:
            findings.append(HealthFinding(WARNING, hook.name, hook.state_text, "remove it from your hooks.toml"))
        elif end := read_unlock_end(state):
            findings.append(HealthFinding(NOTE, hook.name, f"built in, {describe_pause(end)}"))
        else:
            findings.append(HealthFinding(GOOD, hook.name, "built in, armed"))
    return findings


def _examine_factor(catalog: Catalog, state: str) -> list[HealthFinding]:
    """Report whether the second factor works, if it is set or a hook wants it."""
    if not is_factor_used(catalog):
        return []
    problem = find_factor_problem(catalog.settings, state)
    return [HealthFinding(WARNING if problem else GOOD, "second factor", problem or catalog.settings.factor)]


def _examine_pattern_engine() -> HealthFinding:
    limit = f"{MAX_SEARCH_SECONDS * 1000:g} ms for all of an event"
    if has_re2():
        return HealthFinding(GOOD, "patterns", f"RE2, and regex for what RE2 does not have ({limit})")
    return HealthFinding(NOTE, "patterns", f"regex, because google-re2 is not installed ({limit})")


def _examine_sandboxes(levels: tuple[SandboxSupport, ...]) -> list[HealthFinding]:
    findings = []
    for support in levels:
        level, text = (GOOD, "") if support.is_available else (NOTE, "not available: ")
        findings.append(HealthFinding(level, f"sandbox {support.level}", text + support.detail))
    return findings


def _examine_ledger(state: str) -> list[HealthFinding]:
    record = {"v": RECORD_VERSION, "id": make_record_id(), "time": make_timestamp(), "type": "doctor"}
    if error := Ledger(state).append(record):
        return [HealthFinding(ERROR, "ledger", error, f"make {state} writable, or pass --state")]
    head = peek_head(f"{state}/{LOCK_NAME}")
    # A ledger that was replaced by an older copy of itself is whole: only a person who knows the number notices.
    size = (
        f"{format_count(head.link.seq, 'record')} so far, last hash {head.link.hash}"
        if head
        else "its head is unreadable"
    )
    findings = [HealthFinding(GOOD, "ledger", f"can be written, in {state}: {size}")]
    if os.stat(state).st_mode & 0o022:
        text = f"other users can write to {state}: they can remove or replace records"
        findings.append(HealthFinding(WARNING, "ledger", text, f"chmod go-w {state}"))
    return findings


def _examine_warm(catalog: Catalog, state: str) -> list[HealthFinding]:
    """Say what the warm engine does, where it is on or runs."""
    is_on = catalog.settings.warm == "on"
    if not is_on and not list_residents(state):
        return []
    cannot_run = is_on and find_warm_obstacle()
    level, fix = (WARNING, 'set hooks.warm = "off" in your hooks.toml') if cannot_run else (GOOD, "")
    return [HealthFinding(level, "warm engine", ". ".join(describe_warm(state, is_on=is_on)), fix)]


def examine_files(catalog: Catalog, trust: TrustStore) -> list[HealthFinding]:
    """Report diagnostics of files that are not hooks. The trust store has a finding of its own."""
    level, text = (ERROR, trust.error) if trust.error else (GOOD, "the trust store can be read")
    findings = [HealthFinding(level, "trust", text)]
    for problem in catalog.diagnostics:
        if problem.path != trust.path:
            text = f"{problem.key}: {problem.message}" if problem.key else problem.message
            place = problem.position if problem.line else ""
            findings.append(HealthFinding(problem.level, problem.path, text, problem.fix, place))
    return findings


def _list_installed_files(state: str, project: str | None) -> set[str]:
    """Return the files of installations, which have findings of their own."""
    try:
        targets = list_installed_targets(InstallRegistry(state), project)
    except ConfigError:
        return set()
    return {os.path.realpath(find_config_path(setup, target)) for setup, target in targets}


def _examine_settings_calls(
    catalog: Catalog, state: str, installed_files: set[str], history: CallHistory, *, has_installations: bool
) -> list[HealthFinding]:
    """Report calls that somebody wrote by hand."""
    calls = [hook for hook in list_own_calls(catalog) if os.path.realpath(hook.path) not in installed_files]
    if not calls:
        return [] if has_installations else _examine_no_agents(catalog, state, history)
    triggers_by_target: dict[tuple[str, str], list[str]] = {}
    for hook in calls:
        line = hook.handler.line if isinstance(hook.handler, Command) else ""
        target = find_own_path(line) or find_program("boathook") or ""
        triggers_by_target.setdefault((hook.path, target), []).append(hook.trigger)
    return [_examine_call(settings, target, triggers) for (settings, target), triggers in triggers_by_target.items()]


def _examine_no_agents(catalog: Catalog, state: str, history: CallHistory) -> list[HealthFinding]:
    """Report that no agent calls boathook, and who runs hooks nevertheless: agents those in their own files, or a program."""
    is_silent = any(hook.state == ARMED and find_own_host(hook) is None for hook in catalog.hooks)
    present = (
        find_present_agents(resolve_install_target(USER, None, state), InstallRegistry(state)) if is_silent else ()
    )
    titles = dict.fromkeys(host.title for hook in catalog.hooks if (host := find_own_host(hook)))
    text = "no agent calls boathook here, so none asks your hooks"
    if last := history.find_last_event(PYTHON_AGENT):
        moment = make_timestamp(last)[:19].replace("T", " ")
        text = f"no installed agent calls boathook here; hooks run for a program in Python (last event: {moment} UTC)"
    if titles:
        own = f"those in the files of {', '.join(titles)}, which it runs itself"
        text += f". Besides, {own}" if last else f", except {own}"
    # On a machine without agents, as in continuous integration, nobody is missed.
    level = WARNING if present else NOTE
    names = ", ".join(agent.setup.name for agent in present) or "boathook hosts lists them"
    return [HealthFinding(level, "agents", text, f"boathook setup, or boathook install AGENT ({names})")]


def _examine_call(settings: str, target: str, triggers: list[str]) -> HealthFinding:
    events = ", ".join(triggers) if len(triggers) <= _MAX_SHOWN_EVENTS else f"{len(triggers)} events"
    caller, subject = f"{settings} ({events})", f"host {_SETTINGS_HOST}"
    if not target or ("$" not in target and not os.path.exists(target)):
        text = f"{caller} calls {target or 'boathook'}, which does not exist"
        return HealthFinding(ERROR, subject, text, f"boathook install {_SETTINGS_HOST}")
    if target.endswith("hook_entry.py") and os.path.realpath(target) != os.path.realpath(HOOK_ENTRY):
        text = f"{caller} calls another boathook: {target}"
        return HealthFinding(WARNING, subject, text, f"this one is {HOOK_ENTRY}")
    return HealthFinding(GOOD, subject, f"{caller} calls {target}")


def _examine_installations(catalog: Catalog, state: str, project: str | None, *, for_real: bool) -> list[HealthFinding]:
    """Run the command that is installed in each host, as the host does, and report whether it answers."""
    registry = InstallRegistry(state)
    try:
        targets = list_installed_targets(registry, project)
    except ConfigError as error:
        return [HealthFinding(ERROR, "installations", str(error), error.fix)]
    findings = []
    with tempfile.TemporaryDirectory(prefix="boathook-doctor-", ignore_cleanup_errors=True) as scratch:
        for setup, target in targets:
            folder = os.path.realpath(scratch)
            findings += examine_installation(setup, target, catalog, registry, folder, for_real=for_real)
    return findings


def examine_installation(
    setup: Setup,
    place: InstallTarget,
    catalog: Catalog,
    registry: InstallRegistry,
    scratch: str,
    *,
    for_real: bool = False,
) -> list[HealthFinding]:
    project = place.project if place.scope == PROJECT else ""
    subject = f"installed in {setup.name}" + (f" for {project}" if project else "")
    fix = f"boathook install {setup.name}" + (f" --project {project}" if project else "")
    if project and not os.path.isdir(project):
        return [HealthFinding(NOTE, subject, "the project no longer exists")]
    current = find_status(setup, place, registry)
    row = _choose_event(setup, catalog, scratch, for_real=for_real)
    if row is None:
        text = "not run: hooks match each of its events, so running it would run them for real"
        why = [HealthFinding(ERROR, subject, f"{current.state}: {why}", fix) for why in current.why]
        return [*why, HealthFinding(NOTE, subject, text, "boathook doctor --for-real")]
    command = find_probe_command(setup, place, row.name)
    # A command that is not ours is not run, so that nothing shows that it works.
    level = WARNING if current.state == STALE_STATUS and command is not None else ERROR
    findings = [HealthFinding(level, subject, f"{current.state}: {why}", fix) for why in current.why]
    if command is None:
        text = f"not run: the command of {row.name} is not the one that `install` writes"
        return findings or [HealthFinding(ERROR, subject, text, fix)]
    if not command:
        return findings or [HealthFinding(ERROR, subject, f"there is no command for {row.name}", fix)]
    result = run_probe(command, make_probe_event(load_host(setup.name), row, scratch), scratch)
    return [*findings, _judge_answer(result, subject, fix)]


def _choose_event(setup: Setup, catalog: Catalog, scratch: str, *, for_real: bool) -> HostEvent | None:
    """Return an event that no hook matches, so that nothing runs and nothing is recorded; else that of a tool call, or None."""
    host = load_host(setup.name)
    rows = list_installed_events(host, setup)
    for row in rows:
        plan = catalog.plan(find_host_dialect(setup.name).read_event(make_probe_event(host, row, scratch), row.name))
        if not plan.stages and not plan.background:
            return row
    return rows[0] if for_real else None


def _judge_answer(result: ProbeResult, subject: str, fix: str) -> HealthFinding:
    if result.code == 0:
        return HealthFinding(GOOD, subject, f"works: its command answers in {result.ms:.0f} ms")
    if result.code is None:
        return HealthFinding(ERROR, subject, f"its command did not end within {result.ms / 1000:.0f} s", fix)
    cannot_run = result.code in START_FAILURES or MISSING_PROGRAM.search(result.err)
    last_line = (result.err.strip().splitlines() or [""])[-1]
    text = f"{'cannot run' if cannot_run else 'fails'}: exit code {result.code}: {last_line}"
    return HealthFinding(ERROR, subject, text, fix)
