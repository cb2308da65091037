"""`boathook install` and `uninstall`: make agents call boathook, through their own configuration."""

from __future__ import annotations

import os
import shlex
from typing import Any

import click

from boathook.assembly import load_catalog, load_with_trust, locate_all, resolve_state
from boathook.cli.common_options import (
    add_scope_options,
    host_argument,
    json_option,
    state_option,
)
from boathook.cli.install_steps import list_install_steps
from boathook.cli.install_summary import describe_diff, describe_summary
from boathook.cli.person import confirm_change, require_person
from boathook.cli.show import echo, format_count, print_json, print_warning
from boathook.core.hook import DENIED, DISABLED, INVALID, PROJECT, SHADOWED, USER, Hook
from boathook.core.value import Value
from boathook.errors import ConfigError
from boathook.hosts.capabilities import find_unsupported
from boathook.hosts.host import load_host
from boathook.hosts.setup import Setup, load_setup
from boathook.install import status as host_status
from boathook.install.apply import adopt_installation, apply_plan, forget_installation
from boathook.install.formats import TRUST_TABLES
from boathook.install.host_files import InstallTarget, resolve_install_target
from boathook.install.installed_targets import list_installed_targets
from boathook.install.plan import FileChange, InstallPlan, plan_install, plan_removal
from boathook.install.preconditions import check_preconditions
from boathook.install.present_agents import find_present_agents
from boathook.install.registry import InstallRegistry
from boathook.sources.double_hooks import find_converted_hooks, find_double_hooks
from boathook.sources.source import SETTINGS_JSON_SOURCE
from boathook.system.locations import CACHE_FOLDER, CONFIG_FOLDER, read_environment, resolve_folder
from boathook.warm.resident_control import stop_residents

_MAX_SHOWN_FILES = 3
# Hooks in these states never run, so it does not matter what an agent lacks for them.
_INACTIVE_STATES = (DENIED, DISABLED, INVALID, SHADOWED)
NO_AGENT_FOUND = (
    "No agent was found on this machine: none of their programs is on your PATH, and none of their folders is there"
)


class InstallOptions(Value):
    """The options of `install`."""

    user: bool = False
    project: str | None = None
    dry_run: bool = False
    diff: bool = False
    yes: bool = False
    strict: bool = False
    trust_folder: bool = False
    state: str | None = None
    as_json: bool = False


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
def install_host(host: str | None, yes: bool, as_json: bool, **options: Any) -> int:
    """Make an agent call boathook.

    This edits the agent's own configuration and keeps everything else in it. You see what changes, with --diff every
    line of it, and are asked at the terminal; without one, nothing is written unless you pass --yes. HOST is a name
    from `boathook hosts`; without one, you are asked about each agent that is found on this machine. `uninstall`
    restores the files byte for byte. Installing twice changes nothing.

    \b
    Exit codes: 0 it is installed, 1 it is not.

    \b
    Examples:
      boathook install codex
      boathook install codex --project
      boathook install gemini --dry-run
    """
    wanted = InstallOptions(yes=yes, as_json=as_json, **options)
    if host is not None:
        return _install_in(load_setup(host), wanted)
    hosts = _choose_present_agents(wanted)
    return max(_install_or_report(load_setup(name), wanted) for name in hosts)


def _install_or_report(setup: Setup, options: InstallOptions) -> int:
    """Install in one of several agents: one that fails must not stop the others."""
    try:
        return _install_in(setup, options)
    except ConfigError as error:
        echo(f"{setup.name} was not installed: {error}", err=True)
        return 1


def _choose_present_agents(options: InstallOptions) -> list[str]:
    """Return the agents of this machine for an `install` without HOST; there must be a person who is asked about each."""
    registry = InstallRegistry(resolve_state(options.state))
    agents = find_present_agents(resolve_install_target(USER, None, options.state), registry)
    names = [agent.setup.name for agent in agents]
    if not names:
        raise ConfigError(
            f"{NO_AGENT_FOUND}. Install one, or name it: boathook install AGENT (boathook hosts lists them)"
        )
    if options.yes or options.as_json:
        raise click.UsageError(f"name an agent: {', '.join(names)} are here. For all of them: boathook setup --yes")
    echo(f"Agents on this machine: {', '.join(names)}. For all of them, with guards: boathook setup", "bold")
    return names


def _install_in(setup: Setup, options: InstallOptions) -> int:
    host, state, is_dry = setup.name, options.state, options.dry_run
    registry = InstallRegistry(resolve_state(state))
    target = _resolve_target(
        setup, registry, options.project, state, user=options.user, trust_folder=options.trust_folder
    )
    check_preconditions(setup, target, registry)
    plan = plan_install(setup, target, registry)
    if not is_dry:
        _require_person(plan, state)
    unsupported = find_unsupported_hooks(setup, options.project or None, state)
    if not options.as_json:
        _print_changes(plan, is_whole=options.diff or is_dry)
        _print_unsupported_hooks(host, unsupported)
    if is_refused := options.strict and bool(unsupported):
        problem = f"{host} does not support all effects of {format_count(len(unsupported), 'hook')}"
        echo(f"Nothing was written: {problem}, and you asked for --strict.", err=True)
    is_done = not is_refused and not is_dry and _apply(plan, registry, yes=options.yes, is_install=True)
    if plan.is_empty and not is_dry:
        adopt_installation(plan, registry)
    if not target.is_warm and not is_dry:
        stop_residents(registry.state)
    if options.as_json:
        about = _plan_to_json(plan, "install", is_done=is_done)
        print_json({**about, "todo": list_install_steps(plan), "unsupported": unsupported})
    elif is_done or plan.is_empty:
        _print_installation(plan)
    return int(is_refused or not (is_done or is_dry or plan.is_empty))


@click.command("uninstall")
@host_argument
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
    warnings = [] if plan.is_empty else describe_losses(setup, load_all_hooks(project, state))
    if not as_json:
        _print_changes(plan, is_whole=diff or dry_run)
        for warning in warnings:
            print_warning(warning)
    is_done = not dry_run and _apply(plan, registry, yes=yes, is_install=False)
    was_removed_before = plan.is_empty and not dry_run and forget_installation(plan, registry)
    if as_json:
        print_json({**_plan_to_json(plan, "uninstall", is_done=is_done), "warnings": warnings})
    elif was_removed_before:
        echo(f"The entries in {host} were already removed. boathook deleted its record of them.")
    elif is_done:
        _print_removal(plan, registry)
    elif plan.is_empty:
        echo(f"{host} is not installed: nothing to do")
    return int(not (is_done or dry_run or plan.is_empty))


def load_all_hooks(project: str | None, state: str | None) -> tuple[Hook, ...]:
    """Load the hooks of all sources, also of those that are not enabled: their agents run them."""
    return load_with_trust(locate_all(project or None, state=state))[0].catalog.hooks


def describe_losses(setup: Setup, hooks: tuple[Hook, ...]) -> list[str]:
    """Return what an agent no longer runs without boathook although it once did by itself: hooks that were converted."""
    # Those whose entry is still there are run by the agent.
    doubles = [double.hook for double in find_double_hooks(hooks)]
    names = [hook.name for hook in find_converted_hooks(hooks, setup.name) if hook not in doubles]
    if not names:
        return []
    title = load_host(setup.name).title
    lost = (
        f"These hooks were converted from the files of {title}, and it will not run them any more: {', '.join(names)}"
    )
    has_way_back = SETTINGS_JSON_SOURCE.host == setup.name
    way_back = "To move them back first: boathook convert to-settings --user --move"
    return [f"{lost}. {way_back if has_way_back else 'A backup of its file is beside it (.bak-N)'}"]


def _print_removal(plan: InstallPlan, registry: InstallRegistry) -> None:
    host, scope, project = plan.key
    echo("Agents read their settings when they start: one that is running calls boathook until you restart it.")
    echo(
        f"To install it again: boathook install {host}{f' --project {shlex.quote(project)}' * (scope == PROJECT)}",
        "dim",
    )
    if not registry.read():
        _print_leftovers(registry.state)
    echo(f"{host} is uninstalled: {_describe_files(plan)}", "green")


def _print_leftovers(state: str) -> None:
    """Print what stays after the last agent, and what of it may be deleted."""
    env = read_environment()
    config, cache = (resolve_folder(folder, env) for folder in (CONFIG_FOLDER, CACHE_FOLDER))
    echo(f"No agent calls boathook now. {cache} may be deleted, and so may {state} if you do not need", "dim")
    echo(f"the ledger and your trust any more. Your hooks and packs are in {config}.", "dim")


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
    hooks = load_all_hooks(None, state)
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
            for warning in describe_losses(setup, hooks):
                print_warning(warning)
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
        _print_leftovers(registry.state)
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


def find_unsupported_hooks(setup: Setup, project: str | None, state: str | None) -> dict[str, list[str]]:
    catalog = load_catalog(project, state=state, without=setup.runs_itself)
    host = load_host(setup.name)
    active_hooks = [hook for hook in catalog.hooks if hook.state not in _INACTIVE_STATES]
    messages = {hook.name: [one.text for one in find_unsupported(hook, host)] for hook in active_hooks}
    return {name: texts for name, texts in messages.items() if texts}


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


def _print_unsupported_hooks(host: str, unsupported: dict[str, list[str]]) -> None:
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
    for step in list_install_steps(plan):
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
