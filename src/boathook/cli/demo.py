"""`boathook demo`: an agent with a scripted model in a temporary project, where hooks, tools and files are real."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

import click

from boathook.agent.builder import AgentBuilder
from boathook.agent.builtin_tools import SHELL, WRITE_FILE, ToolError, Workplace
from boathook.agent.scripted import Move, ScriptedModel
from boathook.assembly import load
from boathook.cli.agent import assemble_agent, run_session
from boathook.cli.agent_display import Display
from boathook.cli.agent_trace import Trace
from boathook.cli.demo_hooks import (
    DEMO_FILES,
    DEMO_HOOK_NAMES,
    DEMO_MOVES,
    DEMO_TASK,
    DEMO_TEST_COMMANDS,
    block_promises,
)
from boathook.cli.show import echo, echo_lines
from boathook.engine import Engine
from boathook.sources.source import SETTINGS_JSON_SOURCE, SOURCES
from boathook.system.locations import list_user_folders

_WAIT_SECONDS = 20.0
_SETTINGS_FILE = SETTINGS_JSON_SOURCE.markers[0]
_NEXT_STEPS = """\
  boathook setup            guards the agents on this machine; boathook setup --undo takes it back
  boathook                  shows the state of a project, and what to do next
  boathook new --help       shows how to write a hook of your own"""


@click.command("demo")
def play_demo() -> int:
    """Watch hooks at work in a short scripted session.

    It runs offline in a temporary project. The model is scripted; the agent, hooks, tools and files are real.
    """
    with tempfile.TemporaryDirectory(prefix="boathook-demo-", ignore_cleanup_errors=True) as folder:
        project = f"{folder}/project"
        _write_project(project)
        echo("An agent fixes a greeting, under hooks of three forms", "bold")
        echo(f"  .agents/hooks          {', '.join(DEMO_HOOK_NAMES)}", "dim")
        echo(f"  {_SETTINGS_FILE[1:]}  a command that adds a style rule", "dim")
        echo("  Python                 block_promises, a function in the process", "dim")
        echo("")
        # Empty folders of the user keep your own hooks out of the demo.
        folders: dict[str, Any] = {one.option: f"{folder}/{one.option}" for one in list_user_folders(SOURCES)}
        with load(project, trust_all=True, **folders) as engine:
            code = _run_agent(engine, project)
        echo("")
        echo("All of this happened for real, in a folder that is removed now. Next:", "bold")
        echo_lines(_NEXT_STEPS)
    return code


def _write_project(project: str) -> None:
    for name, text in DEMO_FILES.items():
        path = f"{project}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
            os.chmod(path, 0o755 if text.startswith("#!") else 0o644)


def _run_agent(engine: Engine, project: str) -> int:
    trace = Trace(Display(show_all=True).show)

    def iter_moves() -> Iterator[Move]:
        yield from DEMO_MOVES
        yield lambda _: _finish(engine, project, trace)

    shell = dataclasses.replace(SHELL, run=_run_tests, needs_permission=False)
    write_file = dataclasses.replace(WRITE_FILE, needs_permission=False)
    base = AgentBuilder().with_model(ScriptedModel(iter_moves())).with_tools(shell, write_file).in_dir(project)
    builder = assemble_agent(base, engine, trace, lambda _context, _reason: False)
    builder = builder.on_before_tool_use(block_promises, match="WriteFile")
    return run_session(builder.build(), iter([DEMO_TASK]), trace)


async def _run_tests(args: Mapping[str, Any], place: Workplace) -> Any:
    """Run the tests and nothing else, so that a guard that fails cannot harm your disk."""
    if args.get("command") not in DEMO_TEST_COMMANDS:
        raise ToolError("the demo runs its tests and nothing else")
    return await SHELL.run(args, place)


def _finish(engine: Engine, project: str, trace: Trace) -> str:
    count = engine.drain(_WAIT_SECONDS)
    with open(f"{project}/greeting.txt", encoding="utf-8") as file:
        text = f"greeting.txt is now {file.read()!r}"
    trace.report("note", who="later", text=text + (f" ({count} hooks still run)" if count else ""))
    return "Now the tests pass."
