"""Run one guard as the script of a hook: read the event, ask the guard, print its answer."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from boathook.core.json_text import loads
from boathook.guards.call import GuardedCall
from boathook.guards.guard_answer import GuardAnswer

Guard = Callable[[GuardedCall], GuardAnswer | None]
SETTINGS_VARIABLE = "AGENT_HOOK_SETTINGS"


def run_guard(decide: Guard) -> None:
    """Ask a guard about the event on standard input, and print what it objects; for the end of a hook's `scripts/run.py`."""
    call = read_call()
    call.settings = loads(os.environ.get(SETTINGS_VARIABLE) or "{}")
    if answer := decide(call):
        sys.stdout.write(answer.to_json() + "\n")


def read_call() -> GuardedCall:
    """Return the call on standard input."""
    project, home = os.environ.get("AGENT_PROJECT_DIR", ""), os.path.expanduser("~")
    return GuardedCall(loads(sys.stdin.buffer.read().decode("utf-8", "replace")), project=project, home=home)
