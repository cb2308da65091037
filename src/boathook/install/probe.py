"""Firing what is installed in a host as the host does, with an event that concerns nobody."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import time
from typing import Any

from boathook.core.value import Value
from boathook.hosts.host import Host, Row
from boathook.install.formats import Part, ours_in
from boathook.install.host_files import Place, parts_of
from boathook.install.setups import FILES, PLUGIN, Setup
from boathook.install.status import COMMAND, entries_of

TOOL = "boathook-doctor"
DEADLINE = 20.0
FIRST = "pre-tool-call"


class Shot(Value):
    """What became of a command: its exit code (None: it did not end in time), what it said, and how long it took."""

    code: int | None
    out: str
    err: str
    ms: float


def rows_of(host: Host, setup: Setup) -> list[Row]:
    """Return the events that are installed, that of a tool call first."""
    rows = [row for row in host.events if row.name in setup.events]
    return sorted(rows, key=lambda row: row.kind_name != FIRST)


def payload(host: Host, row: Row, folder: str) -> bytes:
    """Return what a host would send if a tool that nobody knows were called in an empty folder."""
    theirs = {ours: place for place, ours in reversed(row.renames)}
    fields: dict[str, Any] = {}
    said: dict[str, Any] = {
        host.event_at[0]: row.name,
        host.session_at[0]: TOOL,
        host.folder_at[0]: folder,
        theirs.get("tool_name", "tool_name"): TOOL,
        theirs.get("tool_input", "tool_input"): {},
    }
    for place, value in said.items():
        _put(fields, place.split("."), value)
    return json.dumps(fields).encode()


def _put(fields: dict[str, Any], steps: list[str], value: Any) -> None:
    """Put a value at a place of names; a number at its end is a list of one."""
    if steps[-1].isdigit():
        steps, value = steps[:-1], [value]
    for step in steps[:-1]:
        fields = fields.setdefault(step, {})
    fields[steps[-1]] = value


def command_for(setup: Setup, place: Place, event: str) -> str | None:
    """Return the command of an event in a host's configuration, nothing if there is none.

    None if it is not the one that would be installed now: whoever can write that file must not choose what is run.
    """
    for part in parts_of(setup, place):
        key = setup.events[0] if part.shape == PLUGIN else event
        entries = entries_of(part).get(key, []) if key in part.wanted else []
        if entries:
            wanted = _command(part.wanted[key], part, event)
            return wanted if all(_is_same(entry, part, key) for entry in entries) else None
    return ""


def _is_same(entry: Any, part: Part, key: str) -> bool:
    """Whether what stands there has the very command that is wanted."""
    return _stored(entry, part) == _stored(part.wanted[key], part)


def _stored(entry: Any, part: Part) -> list[Any]:
    """Return what decides what is run: of a file all of it, else the commands."""
    if part.shape == FILES:
        return [entry]
    if part.shape == PLUGIN:
        return COMMAND.findall(entry)
    return [handler.get(part.setup.command_key) for handler in ours_in(entry, part)]


def _command(wanted: Any, part: Part, event: str) -> str:
    if part.shape == FILES:
        return shlex.quote(part.path)
    if part.shape == PLUGIN:
        (words,) = COMMAND.findall(wanted)
        return shlex.join([*json.loads(words), "--event", event])
    return str(wanted[part.setup.command_key])


def fire(command: str, data: bytes, folder: str) -> Shot:
    """Run a command as hosts do, by the shell, with an event on its standard input."""
    begun = time.monotonic()
    process = subprocess.Popen(
        ["/bin/sh", "-c", command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(data, timeout=DEADLINE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return Shot(None, "", "", DEADLINE * 1000)
    ms = round((time.monotonic() - begun) * 1000, 1)
    return Shot(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"), ms)
