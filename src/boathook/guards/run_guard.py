"""Run one guard as the script of a hook: read the event, ask the guard, print its answer."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from boathook.core.json_text import loads
from boathook.errors import ConfigError
from boathook.guards.call import GuardedCall
from boathook.guards.guard_answer import GuardAnswer

Guard = Callable[[GuardedCall], GuardAnswer | None]
SETTINGS_VARIABLE = "AGENT_HOOK_SETTINGS"
# Events that were read for all guards of a process, and their calls.
_prepared: dict[bytes, GuardedCall] = {}


def run_guard(decide: Guard) -> None:
    """Ask a guard about the event on standard input, and print what it objects; for the end of a hook's `scripts/run.py`."""
    call = read_call()
    call.settings = loads(os.environ.get(SETTINGS_VARIABLE) or "{}")
    try:
        answer = decide(call)
    except ConfigError as error:
        sys.exit(str(error))
    if answer:
        sys.stdout.write(answer.to_json() + "\n")


def read_call() -> GuardedCall:
    """Return the call on standard input."""
    data = sys.stdin.buffer.read()
    return _prepared.get(data) or _make_call(data)


def prepare_call(data: bytes) -> None:
    """Read an event and its commands once for all guards that are then asked in forks of this process."""
    try:
        call = _prepared[data] = _make_call(data)
        if call.event.kind.has_tool:
            _ = call.readings, call.writes
    except Exception:  # noqa: BLE001  (a guard that needs it meets the error itself)
        return


def _make_call(data: bytes) -> GuardedCall:
    project, home = os.environ.get("AGENT_PROJECT_DIR", ""), os.path.expanduser("~")
    return GuardedCall(loads(data.decode("utf-8", "replace")), project=project, home=home)
