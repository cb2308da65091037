"""Run what is installed in an agent as the agent does, with an event that no hook matches."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from typing import Any

from boathook.core.value import Value
from boathook.hosts.host import Host, HostEvent
from boathook.hosts.setup import Setup
from boathook.install.formats import ENTRY_FORMATS
from boathook.install.host_files import InstallTarget, list_host_files
from boathook.install.status import find_installed_entries

# The session and the tool of its events, by which their records are known.
PROBE_NAME = "boathookdoctor"
_PROBE_SECONDS = 20.0
_FIRST_KIND = "pre-tool-call"


class ProbeResult(Value):
    code: int | None
    out: str
    err: str
    ms: float


def list_installed_events(host: Host, setup: Setup) -> list[HostEvent]:
    rows = [row for row in host.events if row.name in setup.events]
    return sorted(rows, key=lambda row: row.kind_name != _FIRST_KIND)


def make_probe_event(host: Host, row: HostEvent, folder: str) -> bytes:
    """Return what an agent would send for a call of an unknown tool in an empty folder."""
    host_keys = {ours: key for key, ours in reversed(row.renames)}
    fields: dict[str, Any] = {}
    values: dict[str, Any] = {
        host.event_keys[0]: row.name,
        host.session_keys[0]: PROBE_NAME,
        **dict.fromkeys(host.folder_keys[:1], folder),
        host_keys.get("tool_name", "tool_name"): PROBE_NAME,
        host_keys.get("tool_input", "tool_input"): {},
    }
    for key, value in values.items():
        _set_field(fields, key.split("."), value)
    return json.dumps(fields).encode()


def _set_field(fields: dict[str, Any], steps: list[str], value: Any) -> None:
    """Set a value at a path of names; a number at its end means a list of one item."""
    if steps[-1].isdigit():
        steps, value = steps[:-1], [value]
    for step in steps[:-1]:
        fields = fields.setdefault(step, {})
    fields[steps[-1]] = value


def find_probe_command(setup: Setup, target: InstallTarget, event: str) -> str | None:
    """Return the command of an event, "" if there is none, None if it is not ours: who can write the file must not choose it."""
    entry_format = ENTRY_FORMATS[setup.format]
    for file in list_host_files(setup, target):
        key = entry_format.get_key(event, file)
        entries = find_installed_entries(file).get(key, []) if key in file.wanted else []
        if entries:
            wanted = entry_format.list_commands(file.wanted[key], file)
            is_unchanged = all(entry_format.list_commands(entry, file) == wanted for entry in entries)
            return entry_format.make_probe_command(file.wanted[key], event, file) if is_unchanged else None
    return ""


def run_probe(command: str, data: bytes, folder: str) -> ProbeResult:
    started = time.monotonic()
    process = subprocess.Popen(
        ["/bin/sh", "-c", command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(data, timeout=_PROBE_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return ProbeResult(None, "", "", _PROBE_SECONDS * 1000)
    ms = round((time.monotonic() - started) * 1000, 1)
    return ProbeResult(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"), ms)
