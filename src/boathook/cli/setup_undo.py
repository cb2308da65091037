"""`boathook setup --undo`: take back what setup did, and nothing else."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator

from boathook.cli.setup_steps import WARM_ENGINE, StepResult, try_step
from boathook.core.hook import USER
from boathook.core.value import Value
from boathook.errors import ConfigError
from boathook.hosts.setup import load_setup
from boathook.install.apply import apply_plan
from boathook.install.file_transaction import find_mode, remove_empty_folder, replace_file
from boathook.install.host_files import resolve_install_target
from boathook.install.installed_targets import list_installed_targets
from boathook.install.json_edit import EditError
from boathook.install.plan import InstallPlan, plan_install, plan_removal
from boathook.install.registry import InstallRegistry
from boathook.install.setup_record import SetupRecord, SetupStore, SourceChange, WarmChange
from boathook.install.source_switch import remove_sources, write_warm
from boathook.install.status import INSTALLED_STATUS, find_status
from boathook.packs.pack_change import find_edited_files
from boathook.packs.pack_places import find_user_packs
from boathook.sources.pack_lock import read_lock
from boathook.system.files import FileError, may_exist, read_text
from boathook.warm.resident_control import stop_residents


class UndoStep(Value):
    """One thing to take back: its subject, what is shown before, the files that change, and what does it."""

    subject: str
    text: str
    files: tuple[str, ...]
    apply: Callable[[], str]
    # The record without it.
    forget: Callable[[SetupRecord], SetupRecord]


def plan_undo(state: str, record: SetupRecord) -> Iterator[UndoStep | StepResult]:
    """Yield what a record says, the last thing first; a StepResult for what cannot be taken back."""
    registry = InstallRegistry(state)
    if record.pack:
        yield _plan_pack_removal(record.pack, made_lock=record.made_lock)
    for host in reversed(record.hosts):
        try:
            yield _plan_host_removal(host, state, registry)
        except ConfigError as error:
            yield StepResult(host, is_ok=False, text=str(error))
    warm = [_plan_warm_removal(record.warm, state)] if record.warm else []
    sources = [_plan_source_removal(record.sources, state)] if record.sources else []
    # What was written last is taken back first, so that both can be byte for byte.
    is_warm_older = record.warm and record.sources and record.sources.before == record.warm.after
    yield from (*sources, *warm) if is_warm_older else (*warm, *sources)


def apply_undo(steps: list[UndoStep], record: SetupRecord, store: SetupStore) -> Iterator[StepResult]:
    """Take the steps; what fails stays on record, so that it can be tried again."""
    for step in steps:
        result = try_step(step.subject, step.apply)
        if result.is_ok:
            record = step.forget(record)
            store.write(record)
        yield result
    if record.is_empty:
        for folder in reversed(record.folders):
            remove_empty_folder(folder)


def _plan_host_removal(host: str, state: str, registry: InstallRegistry) -> UndoStep:
    plan = plan_removal(load_setup(host), resolve_install_target(USER, None, state), registry)
    files = tuple(change.path for change in plan.changes if change.has_effect)
    text = f"remove boathook from {', '.join(files)}" if files else "its entries are gone already"
    apply = functools.partial(_remove_host, plan, registry)
    return UndoStep(host, text, files, apply, functools.partial(_forget_host, host))


def _remove_host(plan: InstallPlan, registry: InstallRegistry) -> str:
    if plan.is_empty and registry.find(*plan.key) is None:
        return "was uninstalled already"
    apply_plan(plan, registry, is_install=False)
    return "is uninstalled"


def _forget_host(host: str, record: SetupRecord) -> SetupRecord:
    return record.replace(hosts=tuple(name for name in record.hosts if name != host))


def _plan_pack_removal(name: str, *, made_lock: bool) -> UndoStep:
    path = find_user_packs().get_pack_path(name)
    apply = functools.partial(_remove_pack, name, made_lock=made_lock)
    return UndoStep(name, f"delete {path}", (path,), apply, lambda record: record.replace(pack=""))


def _remove_pack(name: str, *, made_lock: bool) -> str:
    place = find_user_packs()
    present, locked = place.read_pack(name), read_lock(place.lock_path)
    fix = f"To delete the pack with your edits: boathook pack remove {name}"
    if present is not None and name not in locked:
        raise ConfigError(f"{place.lock_path} does not say whether you edited {place.get_pack_path(name)}. {fix}")
    if present is not None:
        edited = find_edited_files(present.files, dict(locked[name].files))
        if edited:
            raise ConfigError(f"you edited {', '.join(edited[:3])} in {place.get_pack_path(name)}. {fix}")
    place.remove_pack(name)
    if made_lock and may_exist(place.lock_path) and not read_lock(place.lock_path):
        os.unlink(place.lock_path)
    return "is removed" if present is not None else "was removed already"


def _plan_source_removal(change: SourceChange, state: str) -> UndoStep:
    text = f"take {', '.join(change.added)} out of the sources in {change.path}"
    apply = functools.partial(_undo_sources, change, InstallRegistry(state))
    return UndoStep("sources", text, (change.path,), apply, lambda record: record.replace(sources=None))


def _plan_warm_removal(change: WarmChange, state: str) -> UndoStep:
    text = f"take warm out of {change.path}, and end the warm engine"
    apply = functools.partial(_undo_warm, change, InstallRegistry(state))
    return UndoStep(WARM_ENGINE, text, (change.path,), apply, lambda record: record.replace(warm=None))


def _undo_warm(change: WarmChange, registry: InstallRegistry) -> str:
    text = _restore_and_reinstall(registry, functools.partial(_restore_warm, change))
    stop_residents(registry.state)
    return text


def _undo_sources(change: SourceChange, registry: InstallRegistry) -> str:
    return _restore_and_reinstall(registry, functools.partial(_restore_sources, change))


def _restore_and_reinstall(registry: InstallRegistry, restore: Callable[[], str]) -> str:
    """Restore hooks.toml, and write the entries of agents that stay installed again, because its settings are in them."""
    setups = [setup for setup, target in list_installed_targets(registry, None) if target.scope == USER]
    target = resolve_install_target(USER, None, registry.state)
    healthy = [setup for setup in setups if find_status(setup, target, registry).state == INSTALLED_STATUS]
    text = restore()
    for setup in healthy:
        plan = plan_install(setup, resolve_install_target(USER, None, registry.state), registry)
        if not plan.is_empty:
            apply_plan(plan, registry, is_install=True)
    return text


def _restore_sources(change: SourceChange) -> str:
    edit = functools.partial(remove_sources, added=change.added, had_list=change.had_list)
    return _restore_text(change, edit, f"Take {', '.join(change.added)} out of `sources` yourself", "are as before")


def _restore_warm(change: WarmChange) -> str:
    return _restore_text(change, lambda text: write_warm(text, None), "Remove `warm` yourself", "is as before")


def _restore_text(change: SourceChange | WarmChange, edit: Callable[[str], str], fix: str, done: str) -> str:
    """Restore a hooks.toml byte for byte if it is as setup left it; else take out only what setup added."""
    if change.path != find_user_packs().config_path:
        raise ConfigError(f"{change.path} is not your hooks.toml, which is {find_user_packs().config_path}")
    path = os.path.realpath(change.path)
    try:
        now = read_text(path) if may_exist(path) else None
        if now is None:
            return "the file is gone already"
        edited = edit(now)
        after = change.before if now == change.after else edited
    except FileError as error:
        raise ConfigError(f"{path} {error}") from None
    except EditError as error:
        raise ConfigError(f"{path}, line {error.line}: {error.message}. {fix}") from None
    replace_file(path, None if after is None else after.encode(), find_mode(path))
    return done
