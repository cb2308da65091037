"""`boathook run`: its help. `main` sends every other call of it to the fast path, without importing click."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

import click

from boathook.cli.common_options import EVENT, add_run_options


@click.command("run")
@click.argument("event_argument", metavar="[EVENT]", required=False, type=EVENT)
@add_run_options
def run_event(**_: Any) -> NoReturn:
    """Run the hooks of one event; this is what agents call.

    The event is one JSON object on standard input. EVENT is optional if the object has an event_type.

    \b
    Exit codes: 0 the hooks ran, 1 the input cannot be read, 2 blocked (the reasons are on stderr).

    \b
    Examples:
      echo '{"tool_name": "Shell", "tool_input": {"command": "ls"}}' | boathook run pre-tool-call
      boathook run --json --debug < event.json
    """
    from boathook.entry.fast_path import enter

    enter(sys.argv[2:])
