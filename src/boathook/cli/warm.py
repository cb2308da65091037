"""`boathook warm`: start, stop and show the process that answers events faster."""

from __future__ import annotations

import os

import click

from boathook.assembly import locate
from boathook.cli.common_options import state_option
from boathook.cli.show import STATE_STYLES, echo, format_count
from boathook.core.hook import ERROR, USER
from boathook.errors import ConfigError
from boathook.hosts.detection import calls_warm_engine
from boathook.install.registry import MAX_HOST_FILE_BYTES, InstallRegistry
from boathook.sources.agent_forms.entry_lines import add_lines
from boathook.sources.hooks_toml import build_settings, read_hooks_toml
from boathook.system.files import FileError, read_text
from boathook.warm.resident_control import (
    ResidentStatus,
    find_client,
    find_warm_obstacle,
    has_client_file,
    list_residents,
    start_and_wait,
    stop_residents,
)

_SILENT_ADVICE = "Try again in a minute. Only if it still does not answer then, and you want it to end"
WITHOUT_WARM = "Without it, everything works as before: each event starts an engine of its own"
_NO_WARM_COMMAND = "No installed command asks it. To change that: boathook setup --warm"


@click.group("warm")
def warm_group() -> None:
    """Keep an engine in memory that answers events faster.

    The warm engine decides exactly as the engine that boathook otherwise starts for each event. Turn it on with
    `boathook setup --warm`. The next event then starts it. It ends after 15 minutes without events, and when boathook,
    Python or your hooks.toml changes. It needs Linux 6.5 or newer.
    """


@warm_group.command("start")
@state_option
def start_warm(state: str | None) -> int:
    """Start the warm engine now.

    It answers agents that run in the same container, and with the same rights, as this shell. After 15 minutes without
    events it ends.
    """
    if obstacle := find_warm_obstacle():
        raise ConfigError(f"the warm engine cannot run here: {obstacle}. {WITHOUT_WARM}")
    locations = locate(state=state)
    resident = start_and_wait(locations.state, locations.config)
    if resident is None:
        fix = f"make {locations.state} private and writable, or end another one: boathook warm stop"
        raise ConfigError("the warm engine did not start, so events are answered without it", fix)
    echo(f"The warm engine runs (process {resident.pid}).")
    if not _has_warm_command(locations.state):
        echo(_NO_WARM_COMMAND)
    return 0


@warm_group.command("stop")
@state_option
def stop_warm(state: str | None) -> int:
    """End the warm engine, after it has answered the events that it accepted."""
    stopped = stop_residents(locate(state=state).state)
    for one in stopped:
        if one.is_silent:
            echo(f"Process {one.pid} did not answer, so it was not ended. {_SILENT_ADVICE}: kill -9 {one.pid}")
        elif one.running:
            events = format_count(one.running, "event")
            echo(f"Process {one.pid} is ending: it answers {events} first, and takes no more.")
        else:
            echo(f"Ended: process {one.pid}.")
    if not stopped:
        echo("No warm engine runs, so there is nothing to end.")
    return int(any(one.is_silent for one in stopped))


@warm_group.command("status")
@state_option
def show_warm(state: str | None) -> int:
    """Show what the warm engine does.

    Shows whether it runs, how many events it answered and how fast, and which events it left to the cold path, with
    the reasons.
    """
    locations = locate(state=state)
    config = read_hooks_toml(f"{locations.config}/hooks.toml", USER)
    is_on = bool(locations.config) and build_settings(config).warm == "on"
    # A mistake in another setting does not change this one, but one of the whole file does.
    mistakes = [one for one in config.diagnostics if one.level == ERROR and one.key in ("", "hooks", "hooks.warm")]
    for one in add_lines(mistakes) if locations.config else ():
        echo(f"{one.position}: {one.message}" + (f". Fix: {one.fix}" if one.fix else ""), STATE_STYLES[ERROR])
    for line in describe_warm(locations.state, is_on=is_on):
        echo(line)
    return 0


def describe_warm(state: str, *, is_on: bool) -> list[str]:
    """Return whether the warm engine is on, which client is used, and what each resident did, and how long that took."""
    residents, obstacle = list_residents(state), find_warm_obstacle()
    reason = f"; it cannot run here: {obstacle}" if obstacle else ""
    lines = [f'hooks.warm is "{"on" if is_on else "off"}"; the client is {describe_client()}{reason}']
    if (is_on or residents) and not _has_warm_command(state):
        lines.append(_NO_WARM_COMMAND)
    return [*lines, *map(_describe_resident, residents)] if residents else [*lines, "no warm engine runs"]


def describe_client() -> str:
    """Return which program asks the warm engine; of the slower one also why, and what to do."""
    if find_client():
        return "in C"
    why = "the one in C of this package does not run here" if has_client_file() else "this package has none in C"
    fix = "install boathook again from its source, with a C compiler (cc or gcc) on the PATH"
    return f"in Python, which is slower, because {why}. To get it, {fix}"


def _has_warm_command(state: str) -> bool:
    """Whether `install` wrote a command that asks the warm engine into a file that is still there."""
    try:
        files = [file.path for one in InstallRegistry(state).read() for file in one.files]
        texts = (read_text(path, MAX_HOST_FILE_BYTES) for path in files if os.path.isfile(path))
        return any(map(calls_warm_engine, texts))
    except (ConfigError, FileError):
        # What cannot be read is reported with the installations.
        return True


def _format_mean(resident: ResidentStatus, name: str, count: int) -> str:
    return f" in {resident.seconds[name] * 1000 / count:.1f} ms each" if count else ""


def _describe_resident(resident: ResidentStatus) -> str:
    if resident.is_silent:
        busy = "it did not answer: it may be busy, stopped, or ending. Agents get their answers without it"
        return (
            f"process {resident.pid}: {busy}. Look again in a minute; if it still does not answer: boathook warm stop"
        )
    if resident.is_ending:
        left = f" It answers {format_count(resident.running, 'event')} first." if resident.running else ""
        return f"process {resident.pid}: it is ending, and takes no more events.{left}"
    kinds = (("answered", resident.answered, "with nothing to do"), ("forked", resident.forked, "with hooks"))
    parts = [
        f"{format_count(count, 'event')} {what}{_format_mean(resident, name, count)}" for name, count, what in kinds
    ]
    events = ", ".join(parts)
    reasons = "; ".join(f"{reason} ({count})" for reason, count in resident.refused.items())
    return f"process {resident.pid}: answered {events}{f'. Left to the cold path: {reasons}' if reasons else ''}"
