"""`boathook status`: which agents call boathook, and what keeps others from it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection
from typing import Any

import click

from boathook.assembly import locate, resolve_state
from boathook.cli.call_review import describe_waiting_calls, list_waiting_calls
from boathook.cli.common_options import json_option, project_option, state_option
from boathook.cli.install import load_all_hooks
from boathook.cli.show import echo, echo_wrapped, print_json, print_table, shorten_path
from boathook.cli.warm import describe_warm
from boathook.core.hook import PROJECT, USER
from boathook.hosts.setup import Setup, list_setups
from boathook.install import status as host_status
from boathook.install.host_files import InstallTarget, resolve_install_target
from boathook.install.present_agents import find_host_program, find_present_agents
from boathook.install.registry import InstallRegistry
from boathook.install.status import ABSENT_STATUS, HostStatus
from boathook.ledger.writer import make_timestamp
from boathook.permits.unlock import describe_pause, read_unlock_end
from boathook.sources.double_hooks import describe_doubles, find_double_hooks
from boathook.sources.source import find_source
from boathook.warm.resident_control import list_residents

_STATUS_STYLES = {host_status.INSTALLED_STATUS: "green", ABSENT_STATUS: "dim"}
_COLUMNS = ("HOST", "SCOPE", "STATE", "PROGRAM", "RUNS ITSELF", "FILE")


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
    present = {agent.setup.name for agent in find_present_agents(target, registry)}
    notes = host_status.find_double_readers(statuses, present)
    enabled = locate(project, state=state).sources
    notes += host_status.describe_ways(statuses, [find_source(folders.name) for folders in enabled])
    notes += filter(None, [describe_doubles(find_double_hooks(load_all_hooks(project, state)))])
    warm = _describe_warm_use(registry.state, target)
    is_healthy = all(status.state in host_status.HEALTHY_STATUSES for status in statuses)
    if as_json:
        hosts = [_status_to_json(setup, statuses) for setup in list_setups()]
        until = make_timestamp(unlock_end) if unlock_end else None
        about = {"ok": is_healthy, "waiting": list_waiting_calls(registry.state), "hosts": hosts, "notes": notes}
        print_json({**about, "unlocked_until": until, "warm": warm})
    else:
        if waiting := describe_waiting_calls(registry.state):
            echo(waiting, "bold yellow")
        _print_statuses(statuses, notes, target, present)
        for line in warm:
            echo(f"warm engine: {line}", "dim")
        if unlock_end:
            echo(f"Self-protection is {describe_pause(unlock_end)}", "bold yellow")
    return int(not is_healthy)


def _describe_warm_use(state: str, target: InstallTarget) -> list[str]:
    """Return which way events are answered, and how long that takes, where the warm engine is on or runs."""
    is_used = target.is_warm or bool(list_residents(state))
    return describe_warm(state, is_on=target.is_warm) if is_used else []


def _status_to_json(setup: Setup, statuses: list[HostStatus]) -> dict[str, Any]:
    program, rows = find_host_program(setup) or None, [one.to_dict() for one in statuses if one.host == setup.name]
    about = {"host": setup.name, "program": program, "runs_itself": list(setup.runs_itself), "evidence": setup.evidence}
    return {**about, "statuses": rows}


def _print_statuses(
    statuses: list[HostStatus], notes: list[str], target: InstallTarget, present: Collection[str]
) -> None:
    """Print a row for each agent that one has; the others are in one line."""
    setups = {setup.name: setup for setup in list_setups()}
    here = {*present, *(status.host for status in statuses if status.state != ABSENT_STATUS or status.why)}
    shown = [status for status in statuses if status.host in here and not _is_absent_in_project(status)]
    rows = []
    for status in shown:
        setup = setups[status.host]
        cells = (os.path.basename(find_host_program(setup)) or "not on PATH", ", ".join(setup.runs_itself) or "–")
        rows.append((status.host, status.scope, status.state, *cells, shorten_path(status.path)))
    if rows:
        print_table(_COLUMNS, rows, [_STATUS_STYLES.get(status.state, "bold yellow") for status in shown])
    if missing := [name for name in setups if name not in here]:
        echo_wrapped(f"not found on this machine: {', '.join(missing)}", "dim")
    for status in statuses:
        for why in status.why:
            echo(f"{status.host} ({status.scope}): {why}", "yellow")
    for note in notes:
        echo(f"note: {note}", "dim")
    for status in statuses:
        for fix in list_status_fixes(status, setups[status.host], target.replace(scope=status.scope)):
            echo(f"fix: {fix}", "dim")


def _is_absent_in_project(status: HostStatus) -> bool:
    return status.scope == PROJECT and status.state == ABSENT_STATUS and not status.why


def list_status_fixes(status: HostStatus, setup: Setup, target: InstallTarget) -> list[str]:
    if status.state in host_status.HEALTHY_STATUSES:
        return []
    where = f" --project {shlex.quote(target.project)}" if status.scope == PROJECT else ""
    command = f"boathook install {status.host}{where}"
    if status.state != host_status.SHADOWED_STATUS:
        return [command]
    distrust = host_status.find_distrust(setup, target)
    others = [f"change the settings of {status.host} that are named above"] if set(status.why) - set(distrust) else []
    return [*others, *([f"{command} --trust-folder"] if distrust else [])]
