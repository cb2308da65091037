"""`boathook warm`: start, stop and show the process that answers events faster."""

from __future__ import annotations

import os

import click

from boathook.assembly import locate
from boathook.cli.common_options import state_option
from boathook.cli.show import echo, format_count
from boathook.core.hook import USER
from boathook.errors import ConfigError
from boathook.sources.hooks_toml import build_settings, read_hooks_toml
from boathook.warm.resident_control import (
    ResidentStatus,
    find_client,
    list_residents,
    start_and_wait,
    stop_residents,
)


@click.group("warm")
def warm_group() -> None:
    """Keep an engine in memory that answers events faster.

    It decides as the engine that is started for each event does, and whatever it cannot do for a caller is left to
    that one. With hooks.warm = "on" in your hooks.toml, the first event starts it; it ends after 15 minutes without
    events, and when boathook, Python or hooks.toml changes. Linux 6.5 or newer.
    """


@warm_group.command("start")
@state_option
def start_warm(state: str | None) -> int:
    """Start it now, for agents in the surroundings of this shell, until it is idle for 15 minutes."""
    if os.environ.get("CI"):
        raise ConfigError("the warm engine is not for continuous integration (the variable CI is set)")
    locations = locate(state=state)
    resident = start_and_wait(locations.state, locations.config)
    if resident is None:
        fix = "See docs/how-to/answer-faster.md for what it needs"
        raise ConfigError(f"the warm engine did not start, so events are answered without it. {fix}")
    echo(f"The warm engine runs (process {resident.pid}).")
    return 0


@warm_group.command("stop")
@state_option
def stop_warm(state: str | None) -> int:
    """End it; events that it has accepted are answered first."""
    stopped = stop_residents(locate(state=state).state)
    echo(f"Ended: {', '.join(str(one.pid) for one in stopped)}." if stopped else "No warm engine runs.")
    return 0


@warm_group.command("status")
@state_option
def show_warm(state: str | None) -> int:
    """Show whether it runs, what it answered, and why it left callers to an engine of their own."""
    locations = locate(state=state)
    config = f"{locations.config}/hooks.toml"
    is_on = bool(locations.config) and build_settings(read_hooks_toml(config, USER)).warm == "on"
    for line in describe_warm(locations.state, is_on=is_on):
        echo(line)
    return 0


def describe_warm(state: str, *, is_on: bool) -> list[str]:
    """Return whether the warm engine is on, which client is used, and what each resident did, and how long that took."""
    client = "in C" if find_client() else "in Python, because no C compiler was there at installation"
    residents = list_residents(state)
    lines = [f'hooks.warm is "{"on" if is_on else "off"}"; the client is {client}']
    return [*lines, *map(_describe_resident, residents)] if residents else [*lines, "no warm engine runs"]


def _format_mean(resident: ResidentStatus, name: str, count: int) -> str:
    return f" in {resident.seconds[name] * 1000 / count:.1f} ms each" if count else ""


def _describe_resident(resident: ResidentStatus) -> str:
    kinds = (("answered", resident.answered, "with nothing to do"), ("forked", resident.forked, "with hooks"))
    parts = [
        f"{format_count(count, 'event')} {what}{_format_mean(resident, name, count)}" for name, count, what in kinds
    ]
    events = ", ".join(parts)
    reasons = "; ".join(f"{reason} ({count})" for reason, count in resident.refused.items())
    return f"process {resident.pid}: answered {events}{f'. Left to the cold path: {reasons}' if reasons else ''}"
