"""Apply the plan of `boathook setup`, step by step, and fire everything once. What was done is recorded before it is done."""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from boathook.assembly import load_catalog
from boathook.cli.doctor_machine import GOOD, HealthFinding, examine_installation
from boathook.cli.setup_plan import AgentStep, PackStep, SetupPlan, SourceStep, plan_warm
from boathook.cli.show import format_count, shorten_path
from boathook.cli.warm import describe_client
from boathook.core.catalog import Catalog
from boathook.core.hook import ARMED, ERROR, USER
from boathook.core.value import Value
from boathook.errors import ConfigError
from boathook.hook_tests.guard_firing import FiredGuard, find_objection_case, fire_guard
from boathook.hook_tests.missing_cases import is_guard
from boathook.install.apply import adopt_installation, apply_plan
from boathook.install.file_transaction import find_missing_folders, find_mode, replace_file
from boathook.install.plan import InstallPlan
from boathook.install.registry import InstallRegistry
from boathook.install.setup_record import SetupStore, SourceChange
from boathook.install.source_switch import read_sources, remove_sources
from boathook.packs.pack_folder import PackContent
from boathook.system.files import may_exist
from boathook.warm.resident_control import find_client

# The subject of the step.
WARM_ENGINE = "warm engine"
# Shows a person what goes on.
ProgressReport = Callable[[str], None]


class StepResult(Value):
    """How one step ended; `subject` is an agent, a pack or a file."""

    subject: str
    is_ok: bool
    text: str

    def to_json(self) -> dict[str, object]:
        return {"subject": self.subject, "ok": self.is_ok, "text": self.text}


def enable_sources(plan: SetupPlan, state: str) -> Iterator[StepResult]:
    """Enable the sources of a plan, before its agents are installed."""
    if plan.sources is not None:
        yield try_step(
            ", ".join(plan.sources.names), functools.partial(_write_sources, plan.sources, SetupStore(state))
        )


def turn_warm_on(plan: SetupPlan, state: str) -> Iterator[StepResult]:
    """Turn the warm engine on, before the agents are installed: their command then starts its client."""
    if plan.turns_warm_on:
        yield try_step(WARM_ENGINE, functools.partial(_write_warm, SetupStore(state)))


def _write_warm(store: SetupStore) -> str:
    change, record = plan_warm(), store.read()
    if change is None:
        return "was on already"
    folders = find_missing_folders(os.path.dirname(change.path))
    store.write(record.replace(warm=change, folders=tuple(dict.fromkeys((*record.folders, *folders)))))
    os.makedirs(os.path.dirname(change.path), exist_ok=True)
    path = os.path.realpath(change.path)
    replace_file(path, change.after.encode(), find_mode(path))
    client = "" if find_client() else f". Its client is {describe_client()}"
    return f'the next event starts it: warm = "on" in {change.path}{client}'


def apply_setup(plan: SetupPlan, state: str) -> Iterator[StepResult]:
    """Do what a plan says, one step after the other; one that fails does not stop the others."""
    registry, store = InstallRegistry(state), SetupStore(state)
    for step in plan.agents:
        if step.plan is not None and not step.has_work:
            adopt_installation(step.plan, registry)
        elif step.plan is not None:
            yield try_step(step.name, functools.partial(_install, step, step.plan, registry, store))
        else:
            yield StepResult(step.name, is_ok=False, text=step.problem)
    pack = plan.pack
    if pack is not None and pack.content is not None:
        yield try_step(pack.name, functools.partial(_add_pack, pack, pack.content, store))
    elif pack is not None and pack.problem:
        yield StepResult(pack.name, is_ok=False, text=pack.problem)


def try_step(subject: str, apply: Callable[[], str]) -> StepResult:
    """Return how a step ends that returns what it did, or raises why it could not."""
    try:
        return StepResult(subject, is_ok=True, text=apply())
    except (ConfigError, OSError) as error:
        return StepResult(subject, is_ok=False, text=str(error))


def _install(step: AgentStep, plan: InstallPlan, registry: InstallRegistry, store: SetupStore) -> str:
    record = store.read()
    if not step.was_installed:
        store.write(record.replace(hosts=tuple(dict.fromkeys((*record.hosts, step.name)))))
    try:
        apply_plan(plan, registry, is_install=True)
    except BaseException:
        store.write(record)
        raise
    files = ", ".join(shorten_path(change.path) for change in plan.changes if change.has_effect)
    return f"{'repaired' if step.was_installed else 'installed'} in {files}"


def _add_pack(step: PackStep, content: PackContent, store: SetupStore) -> str:
    place, record = step.place, store.read()
    folders = find_missing_folders(os.path.dirname(place.get_pack_path(step.name)))
    made_lock = record.made_lock or not may_exist(place.lock_path)
    record = record.replace(pack=step.name, made_lock=made_lock)
    store.write(record.replace(folders=tuple(dict.fromkeys((*record.folders, *folders)))))
    place.add_pack(content, step.origin)
    on = sum(map(content.manifest.has_on, content.manifest.hooks))
    return f"{format_count(on, 'hook')} on, {len(content.manifest.hooks) - on} more to turn on: boathook pack list"


def _write_sources(step: SourceStep, store: SetupStore) -> str:
    record, folder = store.read(), os.path.dirname(step.path)
    folders = find_missing_folders(folder)
    old, added, had_list = record.sources, step.names, read_sources(step.before or "") is not None
    before = step.before
    if old is not None:
        # What an earlier setup added is taken back with it; what a person wrote since stays.
        added, had_list = tuple(dict.fromkeys((*old.added, *added))), old.had_list
        before = old.before if old.after == before else remove_sources(before or "", old.added, had_list=had_list)
    change = SourceChange(step.path, before, step.after, added, had_list)
    store.write(record.replace(sources=change, folders=tuple(dict.fromkeys((*record.folders, *folders)))))
    os.makedirs(folder, exist_ok=True)
    path = os.path.realpath(step.path)
    replace_file(path, step.after.encode(), find_mode(path))
    return f"their hooks run in every agent now: sources in {step.path}"


def probe_setup(plan: SetupPlan, state: str, report: ProgressReport) -> Iterator[StepResult]:
    """Run the installed command of each agent as the agent does, and each guard of the user on a case of its tests.

    `report` gets a text about what goes on.
    """
    catalog, registry = load_catalog(state=state), InstallRegistry(state)
    with tempfile.TemporaryDirectory(prefix="boathook-setup-", ignore_cleanup_errors=True) as scratch:
        for step in plan.agents:
            if step.plan is not None and registry.find(*step.plan.key) is not None:
                target = step.plan.target
                report(f"asking the command of {step.name} …")
                findings = examine_installation(step.agent.setup, target, catalog, registry, os.path.realpath(scratch))
                yield _judge_findings(step.name, findings)
    yield from _fire_guards(catalog, report)


def _judge_findings(host: str, findings: list[HealthFinding]) -> StepResult:
    errors = [finding.text for finding in findings if finding.level == ERROR]
    good = [finding.text for finding in findings if finding.level == GOOD]
    return StepResult(host, is_ok=not errors, text="; ".join(errors or good or [finding.text for finding in findings]))


def _fire_guards(catalog: Catalog, report: ProgressReport) -> Iterator[StepResult]:
    armed = [hook for hook in catalog.hooks if hook.state == ARMED and hook.scope == USER]
    guards = [hook for hook in armed if is_guard(hook)]
    pairs = [(hook, case) for hook in guards if (case := find_objection_case(hook))]
    if not pairs:
        return
    with ThreadPoolExecutor(min(len(pairs), os.cpu_count() or 1)) as pool:
        fired = []
        report(f"firing {format_count(len(pairs), 'guard')} …")
        for number, guard in enumerate(pool.map(lambda pair: fire_guard(*pair), pairs), 1):
            report(f"fired {guard.hook.name} ({number} of {len(pairs)})")
            fired.append(guard)
    silent = [guard for guard in fired if not guard.has_objected]
    for guard in silent:
        yield StepResult(guard.hook.name, is_ok=False, text=_describe_silence(guard))
    if len(silent) < len(fired):
        text = f"{format_count(len(fired) - len(silent), 'guard')} answered: each objects to what its tests say"
        left = len(guards) - len(pairs)
        rest = f"; {left} not fired, because their tests have no case for that" if left else ""
        yield StepResult("guards", is_ok=True, text=text + rest)


def _describe_silence(guard: FiredGuard) -> str:
    answer = guard.message or f"its answer was '{guard.got}'"
    return f"it did not object to '{guard.case.title}': {answer}. See: boathook doctor"
