"""`boathook demo`: the agent in a temporary project. What its model says is scripted; agent, hooks, tools and files are real."""

from __future__ import annotations

import dataclasses
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import click

from boathook.agent.builder import AgentBuilder
from boathook.agent.builtin_tools import SHELL, WRITE_FILE, ToolError, Workplace
from boathook.agent.scripted import Move, ScriptedModel
from boathook.assembly import load
from boathook.cli.agent import assemble_agent, run_session
from boathook.cli.agent_display import Display
from boathook.cli.agent_trace import Trace
from boathook.cli.demo_hooks import COMMANDS, FILES, HOOKS, LAST_WORDS, MOVES, SETTINGS, TASK, no_promises
from boathook.cli.show import say
from boathook.core.outcome import NOTHING, Outcome
from boathook.engine import Engine
from boathook.inprocess.contexts import ToolContext

WAIT_SECONDS = 20.0


@click.command("demo")
def play_demo() -> int:
    """Watch hooks at work in a short scripted session.

    It runs offline in a temporary project. The model is scripted; the agent, hooks, tools and files are real.
    """
    folder = tempfile.mkdtemp(prefix="boathook-demo-")
    try:
        project = f"{folder}/project"
        lay_out(project)
        say(f"A project with {len(HOOKS)} hooks in .agents/hooks: {', '.join(HOOKS)};", "bold")
        say("one more in .claude/settings.json, and one in process, which is a function.", "bold")
        # the visitor's own hooks are no part of this
        with load(
            project, config=f"{folder}/config", claude=f"{folder}/claude", state=f"{folder}/state", trust_all=True
        ) as engine:
            code = play(engine, project)
        _how_to_go_on()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return code


def lay_out(project: str) -> None:
    """Write the demo's project: files, hooks and their scripts."""
    for name, (manifest, script) in HOOKS.items():
        scripts = f"{project}/.agents/hooks/{name}/scripts"
        os.makedirs(scripts)
        _write(f"{project}/.agents/hooks/{name}/HOOK.md", manifest)
        _write(f"{scripts}/run.sh", script)
        os.chmod(f"{scripts}/run.sh", 0o755)  # noqa: S103
    os.makedirs(f"{project}/.claude")
    for name, text in (*FILES.items(), (".claude/settings.json", SETTINGS)):
        _write(f"{project}/{name}", text)


def play(engine: Engine, project: str) -> int:
    """Let the agent do its task; return the exit code."""
    trace = Trace(Display(show_all=True).show)

    def moves() -> Iterator[Move]:
        yield from MOVES
        yield _when_all_is_quiet(engine, project, trace)

    tools = [
        dataclasses.replace(SHELL, run=_run_tests, needs_permission=False),
        dataclasses.replace(WRITE_FILE, needs_permission=False),
    ]
    base = AgentBuilder().with_model(ScriptedModel(moves())).with_tools(*tools).in_dir(project)
    made = assemble_agent(base, engine, trace, _never)
    made = made.on_before_tool_use(_told(trace, no_promises), matcher="WriteFile")
    return run_session(made.build(), iter([TASK]), trace)


async def _run_tests(args: Mapping[str, Any], place: Workplace) -> Any:
    """Run the tests and nothing else: should the guard ever fail, the visitor's disk stays whole."""
    if args.get("command") not in COMMANDS:
        raise ToolError("the demo runs its tests and nothing else")
    return await SHELL.run(args, place)


def _never(_context: ToolContext, _reason: str) -> bool:
    return False


def _when_all_is_quiet(engine: Engine, project: str, trace: Trace) -> Move:
    """Return the last move: it waits for hooks in the background and shows what they did."""

    def move(_: Any) -> str:
        left = engine.drain(WAIT_SECONDS)
        with open(f"{project}/greeting.txt", encoding="utf-8") as file:
            text = f"greeting.txt is now {file.read()!r}"
        trace.report("note", who="later", text=text + (f" ({left} hooks still run)" if left else ""))
        return LAST_WORDS

    return move


def _told(trace: Trace, hook: Callable[[ToolContext], Outcome | None]) -> Callable[[ToolContext], Outcome | None]:
    """Return a hook in process whose opinions are shown like those of the others."""

    def told(context: ToolContext) -> Outcome | None:
        started = time.perf_counter()
        said = hook(context)
        took = (time.perf_counter() - started) * 1000
        found = said or NOTHING
        record = {"hook": hook.__name__, "decision": found.decision.word, "reason": found.reason, "duration_ms": took}
        trace.on_decision(context.to_event(), record, found)
        return said

    return told


def _how_to_go_on() -> None:
    say("")
    say(
        "All of this really happened, in a folder that is gone now. Install it (README) and go on, in a project of yours:",
        "bold",
    )
    say("  boathook new no-force-push --event pre-tool-call --tool Shell --pattern 'push.*--force'")
    say("  boathook check && boathook list")
    say('  boathook explain pre-tool-call --tool Shell --input \'{"command": "git push --force"}\'')
    say('  boathook agent "make the tests pass" --model anthropic:claude-haiku-4-5')


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
