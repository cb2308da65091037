"""`boathook run`: its help. `main` sends every other call of it to the fast path, without importing click."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

import click

from boathook.cli.common_options import EVENT, project_option, state_option, trust_all_option


@click.command("run")
@click.argument("event", required=False, type=EVENT)
@click.option("--host", default="native", show_default=True, help="The agent that calls (see boathook hosts).")
@click.option("--event", "event_option", type=EVENT, metavar="EVENT", help="The same as the argument EVENT.")
@project_option
@click.option("--json", "as_json", is_flag=True, help="Print the whole verdict as JSON and exit with 0.")
@click.option("--debug", is_flag=True, help="Print debug output to stderr.")
@click.option("--no-ask", is_flag=True, help="Nobody can answer questions: a hook that asks blocks the tool call.")
@click.option(
    "--without",
    metavar="SOURCE",
    help="Skip hooks that the agent runs itself: all of settings.json (settings), or the project's (project-settings).",
)
@state_option
@click.option(
    "--config",
    metavar="DIR",
    type=click.Path(),
    help="Your folder with hooks/ and hooks.toml, ignoring environment variables.",
)
@click.option(
    "--claude",
    metavar="DIR",
    type=click.Path(),
    help="Your folder with settings.json, ignoring environment variables.",
)
@trust_all_option
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
