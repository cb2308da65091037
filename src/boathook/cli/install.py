"""`boathook install`, `uninstall` and `status`: make agents call boathook, through their own configuration."""

from __future__ import annotations

import os
import shlex
import sys
from typing import Any

import click

from boathook.assembly import load_catalog, locate, resolve_state
from boathook.cli.common_options import (
    add_scope_options,
    host_argument,
    json_option,
    optional_host_argument,
    project_option,
    state_option,
)
from boathook.cli.install_summary import describe_diff, describe_summary
from boathook.cli.person import confirm_change, require_person
from boathook.cli.show import echo, format_count, print_json, print_table
from boathook.core.hook import DENIED, DISABLED, INVALID, PROJECT, SHADOWED, USER
from boathook.errors import ConfigError
from boathook.hosts.capabilities import find_unsupported
from boathook.hosts.host import load_host
from boathook.hosts.setup import Setup, list_setups, load_setup
from boathook.install import status as host_status
from boathook.install.apply import adopt_installation, apply_plan, forget_installation
from boathook.install.formats import TRUST_TABLES
from boathook.install.host_files import InstallTarget, make_folder_trust_file, resolve_install_target
from boathook.install.installed_targets import list_installed_targets
from boathook.install.plan import FileChange, InstallPlan, plan_install, plan_removal
from boathook.install.registry import InstallRegistry
from boathook.install.status import ABSENT_STATUS, HostStatus, find_host_program, find_unmanaged_commands
from boathook.ledger.writer import make_timestamp
from boathook.permits.unlock import describe_pause, read_unlock_end
from boathook.sources.source import find_source

_STATUS_STYLES = {host_status.INSTALLED_STATUS: "green", ABSENT_STATUS: "dim"}
_MAX_SHOWN_FILES = 3
# Hooks in these states never run, so it does not matter what an agent lacks for them.
_INACTIVE_STATES = (DENIED, DISABLED, INVALID, SHADOWED)
_TEMPORARY_FOLDERS = ("/archive-v0/", "/uv/cache/", "/.cache/uv/", "/tmp/")  # noqa: S108
_COLUMNS = ("HOST", "SCOPE", "STATE", "PROGRAM", "RUNS ITSELF", "FILE")


@click.command("install")
@host_argument
@add_scope_options
@click.option("--strict", is_flag=True, help="Fail if any hook needs something this agent does not support.")
@click.option(
    "--trust-folder",
    is_flag=True,
    help="With --project: make the agent trust the folder. Everything else in the folder is trusted with it.",
)
@state_option
@json_option
def install_host(
    host: str,
    user: bool,
    project: str | None,
    dry_run: bool,
    diff: bool,
    yes: bool,
    strict: bool,
    trust_folder: bool,
    state: str | None,
    as_json: bool,
) -> int:
    """Make an agent call boathook.

    This edits the agent's own configuration and keeps everything else in it. You see what changes, with --diff every
    line of it, and are asked at the terminal; without one, nothing is written unless you pass --yes. HOST is a name
    from `boathook hosts`. `uninstall` restores the files byte for byte. Installing twice changes nothing.

    \b
    Exit codes: 0 it is installed, 1 it is not.

    \b
    Examples:
      boathook install codex
      boathook install codex --project
      boathook install gemini --dry-run
    """
    setup, registry = load_setup(host), InstallRegistry(resolve_state(state))
    target = _resolve_target(setup, registry, project, state, user=user, trust_folder=trust_folder)
    _refuse_untrusted_folders(target)
    _refuse_second_scope(setup, target, registry)
    plan = plan_install(setup, target, registry)
    if not dry_run:
        _require_person(plan, state)
    unsupported = _find_unsupported_hooks(setup, project or None, state)
    if not as_json:
        _print_changes(plan, is_whole=diff or dry_run)
        _print_unsupported(host, unsupported)
    if is_refused := strict and bool(unsupported):
        problem = f"{host} does not support all effects of {format_count(len(unsupported), 'hook')}"
        echo(f"Nothing was written: {problem}, and you asked for --strict.", err=True)
    is_done = not is_refused and not dry_run and _apply(plan, registry, yes=yes, is_install=True)
    if plan.is_empty and not dry_run:
        adopt_installation(plan, registry)
    if as_json:
        about = _plan_to_json(plan, "install", is_done=is_done)
        print_json({**about, "todo": _list_steps(plan), "unsupported": unsupported})
    elif is_done or plan.is_empty:
        _print_installation(plan)
    return int(is_refused or not (is_done or dry_run or plan.is_empty))


@click.command("uninstall")
@optional_host_argument
@click.option("--all", "is_all", is_flag=True, help="Every agent, for you and for all projects on record.")
@add_scope_options
@state_option
@json_option
def uninstall_host(
    host: str | None,
    is_all: bool,
    user: bool,
    project: str | None,
    dry_run: bool,
    diff: bool,
    yes: bool,
    state: str | None,
    as_json: bool,
) -> int:
    """Remove boathook from an agent's configuration.

    Only what `install` added is removed. Do this before you remove boathook itself: `boathook uninstall --all`.

    \b
    Examples:
      boathook uninstall codex
      boathook uninstall --all
    """
    if is_all or host is None:
        _check_all_options(host, is_all=is_all, is_narrowed=user or project is not None or as_json)
        return _uninstall_all(state, yes=yes, dry_run=dry_run, diff=diff)
    setup, registry = load_setup(host), InstallRegistry(resolve_state(state))
    plan = plan_removal(setup, _resolve_target(setup, registry, project, state, user=user), registry)
    if not dry_run:
        _require_person(plan, state)
    if not as_json:
        _print_changes(plan, is_whole=diff or dry_run)
    is_done = not dry_run and _apply(plan, registry, yes=yes, is_install=False)
    was_removed_before = plan.is_empty and not dry_run and forget_installation(plan, registry)
    if as_json:
        print_json(_plan_to_json(plan, "uninstall", is_done=is_done))
    elif was_removed_before:
        echo(f"The entries in {host} were already removed. boathook deleted its record of them.")
    elif is_done:
        echo("Agents read their settings when they start: one that is running calls boathook until you restart it.")
        echo(f"{host} is uninstalled: {_describe_files(plan)}", "green")
    elif plan.is_empty:
        echo(f"{host} is not installed: nothing to do")
    return int(not (is_done or dry_run or plan.is_empty))


def _check_all_options(host: str | None, *, is_all: bool, is_narrowed: bool) -> None:
    if not is_all:
        raise click.UsageError("name an agent (HOST), or use --all for every agent that is installed")
    if host is not None or is_narrowed:
        raise click.UsageError(
            "--all is for every agent and project: it takes neither HOST nor --user, --project, --json"
        )


def _uninstall_all(state: str | None, *, yes: bool, dry_run: bool, diff: bool) -> int:
    registry, is_clean = InstallRegistry(resolve_state(state)), True
    targets = list_installed_targets(registry, None)
    if not targets:
        echo("boathook is not installed in any agent: nothing to do")
    # The last one first: folders that an earlier one made are empty then.
    for setup, target in reversed(targets):
        place = f"{setup.name} ({target.project})" if target.scope == PROJECT else setup.name
        try:
            plan = plan_removal(setup, target, registry)
            if not dry_run:
                _require_person(plan, state)
            _print_changes(plan, is_whole=diff or dry_run)
            is_done = not dry_run and _apply(plan, registry, yes=yes, is_install=False)
            if plan.is_empty and not dry_run:
                forget_installation(plan, registry)
        except ConfigError as error:
            echo(f"{place} is still installed: {error}", err=True)
            is_clean = False
            continue
        is_clean = is_clean and (is_done or dry_run or plan.is_empty)
        if is_done:
            echo(f"{place} is uninstalled: {_describe_files(plan)}", "green")
    if targets and is_clean and not dry_run:
        echo("Agents read their settings when they start: restart those that are running, then remove boathook.")
    return int(not is_clean)


def repair_installations(state: str | None, project: str | None, *, yes: bool, is_whole: bool) -> None:
    """Install again what calls another boathook or one that is gone; only for a person who agrees, or with `yes`."""
    registry = InstallRegistry(resolve_state(state))
    for setup, target in list_installed_targets(registry, project):
        if target.scope == PROJECT and not os.path.isdir(target.project):
            continue
        status = host_status.find_status(setup, target, registry)
        if status.state not in host_status.REPAIRABLE_STATUSES:
            continue
        try:
            plan = plan_install(setup, target, registry)
            if plan.is_empty or not host_status.has_entries(setup, target):
                continue
            _require_person(plan, state)
            _print_changes(plan, is_whole=is_whole)
            if confirm_change(f"Repair {setup.name}?", yes=yes, default=True):
                apply_plan(plan, registry, is_install=True)
                echo(f"{setup.name} is repaired: {_describe_files(plan)}", "green")
        except ConfigError as error:
            echo(f"{setup.name} was not repaired: {error}", err=True)


@click.command("status")
@json_option
@project_option
@state_option
def show_status(as_json: bool, project: str | None, state: str | None) -> int:
    """Show which agents call boathook.

    \b
    States:
      installed      the agent calls this boathook
      altered        our entries were edited or removed
      stale          our entries call a missing, different or older boathook
      shadowed       other settings of the agent keep it from running our entries
      not installed

    \b
    Exit codes: 0 every installation works, 1 some do not.
    """
    registry = InstallRegistry(resolve_state(state))
    unlock_end = read_unlock_end(registry.state)
    target = resolve_install_target(USER, project, state)
    statuses = host_status.list_statuses(target, registry)
    notes = host_status.find_double_readers(statuses)
    enabled = locate(project, state=state).sources
    notes += host_status.describe_ways(statuses, [find_source(folders.name) for folders in enabled])
    is_healthy = all(status.state in host_status.HEALTHY_STATUSES for status in statuses)
    if as_json:
        hosts = [_status_to_json(setup, statuses) for setup in list_setups()]
        until = make_timestamp(unlock_end) if unlock_end else None
        print_json({"ok": is_healthy, "hosts": hosts, "notes": notes, "unlocked_until": until})
    else:
        _print_statuses(statuses, notes, target)
        if unlock_end:
            echo(f"Self-protection is {describe_pause(unlock_end)}", "bold yellow")
    return int(not is_healthy)


def _find_unsupported_hooks(setup: Setup, project: str | None, state: str | None) -> dict[str, list[str]]:
    catalog = load_catalog(project, state=state, without=setup.runs_itself)
    host = load_host(setup.name)
    active_hooks = [hook for hook in catalog.hooks if hook.state not in _INACTIVE_STATES]
    messages = {hook.name: [one.text for one in find_unsupported(hook, host)] for hook in active_hooks}
    return {name: texts for name, texts in messages.items() if texts}


def _list_steps(plan: InstallPlan) -> list[str]:
    """Return what you still have to do before hooks run, each a phrase after "now"."""
    setup, target = plan.setup, plan.target
    steps = list(setup.user_steps)
    if target.scope == PROJECT:
        steps += [*setup.project_steps, *_list_trust_steps(plan), *_list_git_steps(plan)]
    steps += [f"turn hooks on: {why}" for why in host_status.find_off_switches(setup, target)]
    steps += [f"remove the other entry that calls boathook: {text}" for text in find_unmanaged_commands(setup, target)]
    title, missing = load_host(setup.name).title, f"`{setup.programs[0]}` is not on your PATH"
    steps.append(f"restart {title} if it is running" if find_host_program(setup) else f"install {title}: {missing}")
    if any(folder in sys.executable for folder in _TEMPORARY_FOLDERS):
        problem = f"it is in a temporary folder ({sys.executable}). If that is deleted, no hook runs"
        steps.append(f"install boathook elsewhere: {problem}")
    return steps


def _list_trust_steps(plan: InstallPlan) -> list[str]:
    """Return that the agent has to trust the folder. You decide that, because it covers more than our entries."""
    if make_folder_trust_file(plan.setup, plan.target) is None or plan.target.trust_folder:
        return []
    trust = plan.setup.folder_trust
    if trust is not None and trust.needed and not host_status.find_distrust(plan.setup, plan.target):
        return []
    title = load_host(plan.setup.name).title
    command = f"boathook install {plan.setup.name} --project --trust-folder"
    return [f"trust the folder in {title} when it asks, or with `{command}`; until then it skips the hooks"]


def _list_git_steps(plan: InstallPlan) -> list[str]:
    top = plan.target.project
    files = [os.path.relpath(change.path, top) for change in plan.changes if change.path.startswith(f"{top}/")]
    # By convention such a file is not committed.
    shared = [file for file in files if ".local." not in os.path.basename(file)]
    if not shared or not os.path.exists(f"{top}/.git"):
        return []
    path = shared[0] if len(shared) == 1 else os.path.dirname(shared[0])
    return [f"keep {path} out of version control, for example with .git/info/exclude: it has paths of this machine"]


def _resolve_target(
    setup: Setup,
    registry: InstallRegistry,
    project: str | None,
    state: str | None,
    *,
    user: bool,
    trust_folder: bool = False,
) -> InstallTarget:
    is_project = project is not None
    if user and is_project:
        raise click.UsageError("--user and --project exclude each other")
    if trust_folder and not is_project:
        raise ConfigError("--trust-folder needs --project, because it is about the folder of a project")
    if trust_folder and setup.folder_trust is None:
        raise ConfigError(f"boathook does not know how {setup.name} stores trusted folders: trust the folder there")
    scope = PROJECT if is_project else USER
    target = resolve_install_target(scope, project or None, state, trust_folder=trust_folder)
    if is_project and not os.path.isdir(target.project) and registry.find(setup.name, PROJECT, target.project) is None:
        raise ConfigError(f"{target.project} is not a folder")
    if is_project and target.project == os.path.realpath(target.variables["HOME"]):
        raise ConfigError("the project is your home folder: use --user, or pass a folder with --project DIR")
    return target


def _refuse_second_scope(setup: Setup, target: InstallTarget, registry: InstallRegistry) -> None:
    """Refuse to install both for a project and for all projects, because hooks would run twice."""
    others = [one for one in registry.read() if one.host == setup.name and one.scope != target.scope]
    if others and target.scope == PROJECT:
        raise ConfigError(f"{setup.name} is installed for all your projects, this one included. Nothing was written")
    if others:
        project = others[0].project
        error = f"{setup.name} is installed for the project {project}, where hooks would run twice"
        raise ConfigError(f"{error}. First run: boathook uninstall {setup.name} --project {shlex.quote(project)}")


def _refuse_untrusted_folders(target: InstallTarget) -> None:
    """Refuse to write paths into the agent's configuration that a project's `.env` may have chosen."""
    if target.untrusted:
        fix = "check the environment variables (HOME, XDG_* and others) that lead there"
        raise ConfigError(f"{target.untrusted[0]} is inside a project: {fix}")


def _require_person(plan: InstallPlan, state: str | None) -> None:
    folders = plan.target.folders.values()
    require_person(state, folders=folders, files=[change.path for change in plan.changes])


def _apply(plan: InstallPlan, registry: InstallRegistry, *, yes: bool, is_install: bool) -> bool:
    """Write the changes, if there are any and a person wants them."""
    if plan.is_empty or not confirm_change("Write this?", yes=yes, default=True):
        return False
    apply_plan(plan, registry, is_install=is_install)
    return True


def _print_changes(plan: InstallPlan, *, is_whole: bool) -> None:
    for line, style in describe_diff(plan) if is_whole else describe_summary(plan):
        echo(line, style)


def _print_unsupported(host: str, unsupported: dict[str, list[str]]) -> None:
    for name, texts in unsupported.items():
        for text in texts:
            echo(f"in {host}, {name}: {text}", "yellow")


def _print_installation(plan: InstallPlan) -> None:
    name = plan.setup.name
    if plan.is_empty:
        echo(f"{name} is installed already: nothing to do")
    else:
        echo(f"{name} is installed: {_describe_files(plan)}", "green")
        if any(change.file.format == TRUST_TABLES and change.has_effect for change in plan.changes):
            echo(f"{load_host(name).title} now trusts exactly these entries")
        if plan.target.trust_folder:
            echo(f"{name} now trusts {plan.target.project}, with everything in it")
    for step in _list_steps(plan):
        echo(f"now {step}", "yellow")


def _describe_files(plan: InstallPlan) -> str:
    paths = [change.path for change in plan.changes if change.has_effect]
    is_short = len(paths) <= _MAX_SHOWN_FILES
    return ", ".join(paths) if is_short else f"{len(paths)} files in {os.path.commonpath(paths)}"


def _plan_to_json(plan: InstallPlan, command: str, *, is_done: bool) -> dict[str, Any]:
    host, scope, project = plan.key
    about = {"command": command, "host": host, "scope": scope, "project": project or None, "changed": is_done}
    return {**about, "files": [{"path": change.path, "action": _name_action(change)} for change in plan.changes]}


def _name_action(change: FileChange) -> str:
    if not change.has_effect:
        return "unchanged"
    return "created" if change.now is None else "removed" if change.after is None else "changed"


def _status_to_json(setup: Setup, statuses: list[HostStatus]) -> dict[str, Any]:
    program, rows = find_host_program(setup) or None, [one.to_dict() for one in statuses if one.host == setup.name]
    about = {"host": setup.name, "program": program, "runs_itself": list(setup.runs_itself), "evidence": setup.evidence}
    return {**about, "statuses": rows}


def _print_statuses(statuses: list[HostStatus], notes: list[str], target: InstallTarget) -> None:
    setups = {setup.name: setup for setup in list_setups()}
    shown = [status for status in statuses if status.scope != PROJECT or status.state != ABSENT_STATUS]
    rows = []
    for status in shown:
        setup = setups[status.host]
        cells = (os.path.basename(find_host_program(setup)) or "not on PATH", ", ".join(setup.runs_itself) or "–")
        rows.append((status.host, status.scope, status.state, *cells, status.path))
    print_table(_COLUMNS, rows, [_STATUS_STYLES.get(status.state, "bold yellow") for status in shown])
    for status in statuses:
        for why in status.why:
            echo(f"{status.host} ({status.scope}): {why}", "yellow")
    for note in notes:
        echo(f"note: {note}", "dim")
    for status in statuses:
        for fix in _list_fixes(status, setups[status.host], target.replace(scope=status.scope)):
            echo(f"fix: {fix}", "dim")


def _list_fixes(status: HostStatus, setup: Setup, target: InstallTarget) -> list[str]:
    if status.state in host_status.HEALTHY_STATUSES:
        return []
    command = f"boathook install {status.host}{' --project' * (status.scope == PROJECT)}"
    if status.state != host_status.SHADOWED_STATUS:
        return [command]
    distrust = host_status.find_distrust(setup, target)
    others = [f"change the settings of {status.host} that are named above"] if set(status.why) - set(distrust) else []
    return [*others, *([f"{command} --trust-folder"] if distrust else [])]
