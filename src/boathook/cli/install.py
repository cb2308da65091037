"""`boathook install`, `uninstall` and `status`: host agents are told to call this engine, in their own configuration."""

from __future__ import annotations

import difflib
import os
import shlex
import sys
from typing import Any

import click

from boathook.assembly import load_catalog, resolve_state
from boathook.cli.common_options import add_scope_options, host_argument, json_option, project_option, state_option
from boathook.cli.show import print_json, print_table, say
from boathook.core.hook import DENIED, DISABLED, INVALID, PROJECT, USER
from boathook.core.hook import SHADOWED as REPLACED
from boathook.errors import ConfigError
from boathook.hosts.host import load_host
from boathook.hosts.setup import BY_HOST, Setup, list_setups, load_setup
from boathook.install.apply import adopt_installation, apply_plan, forget_installation
from boathook.install.formats import TRUST_TABLES
from boathook.install.host_files import InstallTarget, make_folder_trust_file, resolve_install_target
from boathook.install.plan import FileChange, InstallPlan, plan_install, plan_removal
from boathook.install.registry import InstallRegistry
from boathook.install.status import (
    ABSENT_STATUS,
    HEALTHY_STATUSES,
    INSTALLED_STATUS,
    SHADOWED_STATUS,
    HostStatus,
    find_distrust,
    find_double_readers,
    find_off_switches,
    find_program,
    find_unmanaged_commands,
    list_statuses,
)
from boathook.sources import source
from boathook.system.locations import read_environment, resolve_locations

STYLES = {INSTALLED_STATUS: "green", ABSENT_STATUS: "dim"}
FEW = 3
LEFT_OUT = (DENIED, DISABLED, INVALID, REPLACED)
DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}
PASSING = ("/archive-v0/", "/uv/cache/", "/.cache/uv/", "/tmp/")  # noqa: S108


@click.command("install")
@host_argument
@add_scope_options
@click.option("--strict", is_flag=True, help="Fail if any hook needs a feature this agent lacks.")
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
    yes: bool,
    strict: bool,
    trust_folder: bool,
    state: str | None,
    as_json: bool,
) -> int:
    """Make an agent call boathook.

    This edits the agent's own configuration and keeps everything else in it. You see a diff, and at a terminal you
    are asked. HOST is a name from `boathook hosts`. `uninstall` restores the files byte for byte. Installing twice
    changes nothing.

    \b
    Exit codes: 0 it is installed, 1 it is not.

    \b
    Examples:
      boathook install codex
      boathook install codex --project
      boathook install gemini --dry-run
    """
    in_project = _is_for_project(project, user=user)
    setup, book = load_setup(host), InstallRegistry(resolve_state(state))
    if trust_folder:
        _require_folder_trust(setup, in_project=in_project)
    place = _place(host, project or None, book, in_project=in_project, trusting=trust_folder)
    _refuse_strays(place, by_variable=state is None)
    _refuse_second_road(setup, place, book)
    plan = plan_install(setup, place, book)
    misfits = misfits_in(setup, project or None, state)
    refused = strict and bool(misfits)
    if not as_json:
        _show(plan)
        _show_misfits(setup, misfits)
    if refused:
        say(f"Nothing was written: {len(misfits)} of your hooks cannot do all they want in {host} (--strict)", err=True)
    done = not refused and not dry_run and _go_on(plan, yes=yes) and _apply(plan, book, installed=True)
    if plan.is_empty and not dry_run:
        adopt_installation(plan, book)
    if as_json:
        print_json({**_json(plan, "install", done=done), "todo": still_to_do(plan), "misfits": misfits})
    elif done or plan.is_empty:
        _told(plan, "installed", f"{host} is installed already: nothing to do")
        _show_todo(still_to_do(plan))
    return int(not (done or dry_run or plan.is_empty) or refused)


def _require_folder_trust(setup: Setup, *, in_project: bool) -> None:
    if not in_project:
        raise ConfigError("--trust-folder is about the folder of a project: say --project, too")
    if setup.folder_trust is None:
        raise ConfigError(f"where {setup.name} keeps which folders it trusts is not known here: trust the folder there")


def _is_for_project(project: str | None, *, user: bool) -> bool:
    if user and project is not None:
        raise click.UsageError("--user and --project exclude each other")
    return project is not None


@click.command("uninstall")
@host_argument
@add_scope_options
@state_option
@json_option
def uninstall_host(
    host: str, user: bool, project: str | None, dry_run: bool, yes: bool, state: str | None, as_json: bool
) -> int:
    """Remove boathook from an agent's configuration.

    Only what `install` added is removed.
    """
    in_project = _is_for_project(project, user=user)
    setup, book = load_setup(host), InstallRegistry(resolve_state(state))
    plan = plan_removal(setup, _place(host, project or None, book, in_project=in_project), book)
    if not as_json:
        _show(plan)
    done = not dry_run and _go_on(plan, yes=yes) and _apply(plan, book, installed=False)
    gone = plan.is_empty and not dry_run and forget_installation(plan, book)
    if as_json:
        print_json(_json(plan, "uninstall", done=done))
    elif gone:
        say(f"what was installed in {host} is not there any more: forgotten")
    elif done or plan.is_empty:
        _told(plan, "uninstalled", f"{host} is not installed: nothing to do")
    return int(not (done or dry_run or plan.is_empty))


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
    book = InstallRegistry(resolve_state(state))
    found = list_statuses(resolve_install_target(USER, project, book.state), book)
    notes = find_double_readers(found)
    if as_json:
        hosts = [_host_json(setup, found) for setup in list_setups()]
        print_json({"ok": _is_well(found), "hosts": hosts, "notes": notes})
    else:
        _print_status(found, notes)
    return int(not _is_well(found))


def misfits_in(setup: Setup, project: str | None, state: str | None) -> dict[str, list[str]]:
    """Report for each hook that would run what it cannot do in a host."""
    from boathook.hosts.capabilities import misfits

    catalog = load_catalog(project, state=state, without=("settings",) if setup.settings_runner == BY_HOST else ())
    host = load_host(setup.name)
    found = {hook.name: list(misfits(hook, host)) for hook in catalog.hooks if hook.state not in LEFT_OUT}
    return {name: texts for name, texts in found.items() if texts}


def still_to_do(plan: InstallPlan) -> list[str]:
    """Return what the person has to do before hooks fire, and what they should know."""
    setup, place = plan.setup, plan.target
    found = list(setup.user_steps)
    if place.scope == PROJECT:
        found += [*setup.project_steps, *_about_trust(plan), *_about_git(plan)]
    found += [f"turn hooks on: {why}" for why in find_off_switches(setup, place)]
    found += [f"take out what calls boathook a second time: {text}" for text in find_unmanaged_commands(setup, place)]
    title = load_host(setup.name).title
    if find_program(setup):
        found.append(f"start {title} again, if it is open")
    else:
        found.append(f"install {title}: there is no `{setup.programs[0]}` on your PATH")
    if any(part in sys.executable for part in PASSING):
        found.append(f"install boathook for good: {sys.executable} may be cleared away, and then no hook runs")
    return found


def _about_trust(plan: InstallPlan) -> list[str]:
    """Return that the host has to trust the folder: that is for the person to decide, for it is about more than our entries."""
    if make_folder_trust_file(plan.setup, plan.target) is None or plan.target.trust_folder:
        return []
    trust = plan.setup.folder_trust
    if trust is not None and trust.needed and not find_distrust(plan.setup, plan.target):
        return []
    title = load_host(plan.setup.name).title
    by_flag = f"boathook install {plan.setup.name} --project --trust-folder"
    return [f"trust the folder in {title}, or its hooks are skipped there: when it asks, or with `{by_flag}`"]


def _about_git(plan: InstallPlan) -> list[str]:
    top = plan.target.project
    files = [os.path.relpath(change.path, top) for change in plan.changes if change.path.startswith(f"{top}/")]
    if plan.setup.name == "claude" or not files or not os.path.exists(f"{top}/.git"):
        return []
    where = files[0] if len(files) == 1 else os.path.dirname(files[0])
    return [f"keep {where} out of version control: it holds paths of this machine (.git/info/exclude is a place)"]


def _place(
    host: str, project: str | None, book: InstallRegistry, *, in_project: bool, trusting: bool = False
) -> InstallTarget:
    place = resolve_install_target(PROJECT if in_project else USER, project, book.state, trust_folder=trusting)
    if in_project and not os.path.isdir(place.project) and book.find(host, PROJECT, place.project) is None:
        raise ConfigError(f"{place.project} is not a folder")
    if in_project and place.project == os.path.realpath(place.variables["HOME"]):
        raise ConfigError("the project is your home folder: say --user, or name a folder with --project DIR")
    return place


def _refuse_second_road(setup: Setup, place: InstallTarget, book: InstallRegistry) -> None:
    """Refuse to install for a project and for all of them: the host would call twice, and hooks would run twice."""
    others = [one for one in book.read() if one.host == setup.name and one.scope != place.scope]
    if others and place.scope == PROJECT:
        raise ConfigError(f"{setup.name} is installed for all your projects, this one included: nothing was written")
    if others:
        first = others[0].project
        told = f"{setup.name} is installed for the project {first}; there hooks would run twice"
        raise ConfigError(f"{told}. First: boathook uninstall {setup.name} --project {shlex.quote(first)}")


def _refuse_strays(place: InstallTarget, *, by_variable: bool) -> None:
    """Refuse to write down folders for good that variables lead into a project: whoever wrote its `.env` could own them."""
    given = {} if by_variable else {"state": place.folders.state}
    locations = resolve_locations(source.SOURCES, place.project, read_environment(), given=given)
    untrusted = [path for path in locations.untrusted if path != locations.cache]
    if untrusted:
        raise ConfigError(
            f"{untrusted[0]} lies in a project: a variable of this shell (XDG_*, CLAUDE_*, HOME) leads there"
        )


def _apply(plan: InstallPlan, book: InstallRegistry, *, installed: bool) -> bool:
    apply_plan(plan, book, is_install=installed)
    return True


def _go_on(plan: InstallPlan, *, yes: bool) -> bool:
    """Ask, if there is somebody to ask and something to ask about."""
    if plan.is_empty:
        return False
    return yes or not sys.stdin.isatty() or click.confirm("Write this?", default=True, err=True)


# What is shown


def _show(plan: InstallPlan) -> None:
    for change in plan.changes:
        if change.has_effect:
            for line in _diff(change):
                say(line, DIFF_STYLES.get(line[:1], ""))


def _diff(change: FileChange) -> list[str]:
    def lines(data: bytes | None) -> list[str]:
        return (data or b"").decode("utf-8", "backslashreplace").splitlines()

    name = change.path
    old, new = (name if data is not None else os.devnull for data in (change.now, change.after))
    return list(difflib.unified_diff(lines(change.now), lines(change.after), old, new, lineterm=""))


def _show_misfits(setup: Setup, misfits: dict[str, list[str]]) -> None:
    for name, texts in misfits.items():
        for text in texts:
            say(f"in {setup.name}, {name}: {text}", "yellow")


def _told(plan: InstallPlan, word: str, otherwise: str) -> None:
    if plan.is_empty:
        say(otherwise)
        return
    files = [change.path for change in plan.changes if change.has_effect]
    shown = ", ".join(files) if len(files) <= FEW else f"{len(files)} files in {os.path.commonpath(files)}"
    say(f"{plan.setup.name} is {word}: {shown}", "green")
    if any(change.file.format == TRUST_TABLES and change.has_effect for change in plan.changes) and word == "installed":
        say("Codex was told that these very entries are trusted")
    if plan.target.trust_folder and word == "installed":
        say(f"{plan.setup.name} was told that {plan.target.project} is trusted, with all that lies there")


def _show_todo(todo: list[str]) -> None:
    for text in todo:
        say(f"now {text}", "yellow")


def _json(plan: InstallPlan, command: str, *, done: bool) -> dict[str, Any]:
    actions = {(True, False): "created", (False, True): "removed", (False, False): "changed", (True, True): "unchanged"}
    files = [
        {
            "path": change.path,
            "action": actions[change.now is None, change.after is None] if change.has_effect else "unchanged",
        }
        for change in plan.changes
    ]
    host, scope, project = plan.key
    about = {"command": command, "host": host, "scope": scope, "project": project or None}
    return {**about, "changed": done, "files": files}


def _is_well(found: list[HostStatus]) -> bool:
    return all(one.state in HEALTHY_STATUSES for one in found)


def _host_json(setup: Setup, found: list[HostStatus]) -> dict[str, Any]:
    rows = {one.scope: one.to_json() for one in found if one.host == setup.name}
    road = {"settings": setup.settings_runner, "evidence": setup.evidence}
    return {"host": setup.name, "program": find_program(setup) or None, **road, "statuses": list(rows.values())}


def _print_status(found: list[HostStatus], notes: list[str]) -> None:
    rows, styles = [], []
    for setup in list_setups():
        for one in (one for one in found if one.host == setup.name):
            if one.scope == PROJECT and one.state == ABSENT_STATUS:
                continue
            program = os.path.basename(find_program(setup)) or "not on PATH"
            rows.append((one.host, one.scope, one.state, program, setup.settings_runner, one.path))
            styles.append(STYLES.get(one.state, "bold yellow"))
    print_table(("HOST", "SCOPE", "STATE", "PROGRAM", "SETTINGS.JSON HOOKS", "FILE"), rows, styles)
    for one in found:
        for why in one.why:
            say(f"{one.host} ({one.scope}): {why}", "yellow")
    for note in notes:
        say(f"note: {note}", "dim")
    for one in found:
        if one.state not in (*HEALTHY_STATUSES, SHADOWED_STATUS):
            say(f"mend: boathook install {one.host}{' --project' * (one.scope == PROJECT)}", "dim")
        elif one.state == SHADOWED_STATUS:
            say(f"mend: what {one.host} says against it, above, is yours to change", "dim")
