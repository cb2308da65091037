"""`boathook agent`: its options and help."""

from __future__ import annotations

from typing import Any

import click

from boathook.cli.common_options import project_option, state_option, trust_all_option


@click.command("agent")
@click.argument("task", required=False)
@click.option("--model", metavar="PROVIDER:NAME", default="", help="The model, by provider and name.")
@click.option("--script", metavar="FILE", default="", help="Play a scripted model: a JSON list of moves.")
@click.option(
    "--max-steps", metavar="N", type=click.IntRange(min=1), default=50, show_default=True, help="Steps per turn."
)
@click.option("--yes", is_flag=True, help="Allow every tool call that no hook blocks, without asking.")
@click.option("--debug", is_flag=True, help="Print debug output to stderr.")
@click.option("--json", "as_json", is_flag=True, help="Print what happens as JSON, one object per line.")
@project_option
@state_option
@trust_all_option
def run_agent(task: str | None, **options: Any) -> int:
    """Run a small coding agent under your hooks.

    It works on TASK in the current project, under the project's hooks and your own. If TASK is - or missing, it is
    read from standard input; at a terminal you are asked for one task after another, all in one session. The tools
    Shell, WriteFile and EditFile ask you first. The model is --model, or `model` in your hooks.toml. Models need
    the extra `agent`: pip install 'boathook[agent]'.

    \b
    A script is a JSON list of texts and tool calls:
      ["text", {"text": "…", "calls": [{"name": "Shell", "args": {"command": "ls"}}]}, …]

    \b
    Exit codes: 0 done, 1 an error or not done (a refused call, --max-steps), 2 blocked or stopped by a hook,
    130 interrupted.

    \b
    Examples:
      boathook agent "make the tests pass" --model PROVIDER:NAME
      boathook agent --script moves.json --yes --json < task.txt
    """
    from boathook.cli.agent import AgentOptions, run_agent_command

    return run_agent_command(task, AgentOptions(**options))
