"""`boathook demo`: a short agent turn in a temporary project. The agent's moves are scripted; hooks, tools and files are real."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from typing import Any

from boathook.assembly import load
from boathook.cli.demo_hooks import FILES, HOOKS
from boathook.cli.show import console, say
from boathook.core.outcome import Decision
from boathook.core.run import OK, Verdict
from boathook.engine import Engine

WAIT_SECONDS = 20.0
STYLES = {"block": "bold red", "stop": "bold red", "ask": "yellow", "allow": "green", "none": "dim"}
MOVES: tuple[tuple[str, dict[str, str]], ...] = (
    ("Shell", {"command": "rm -rf /"}),
    ("Shell", {"command": "sh run-tests.sh"}),
    ("stop", {"message": "Done."}),
    ("WriteFile", {"path": "greeting.txt", "content": "hello   \n"}),
    ("stop", {"message": "Now it works."}),
)


def demo() -> int:
    """Play the turn; give the exit code."""
    folder = tempfile.mkdtemp(prefix="boathook-demo-")
    try:
        project, state = f"{folder}/project", f"{folder}/state"
        lay_out(project)
        say(f"A project with {len(HOOKS)} hooks in .agents/hooks: {', '.join(HOOKS)}.", "bold")
        with load(project, config=f"{folder}/config", claude=f"{folder}/claude", state=state) as engine:
            _Turn(engine, project).play()
        _how_to_go_on()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def lay_out(project: str) -> None:
    """Write the demo's project: files, hooks and their scripts."""
    for name, (manifest, script) in HOOKS.items():
        scripts = f"{project}/.agents/hooks/{name}/scripts"
        os.makedirs(scripts)
        _write(f"{project}/.agents/hooks/{name}/HOOK.md", manifest)
        _write(f"{scripts}/run.sh", script)
        os.chmod(f"{scripts}/run.sh", 0o755)  # noqa: S103
    for name, text in FILES.items():
        _write(f"{project}/{name}", text)


class _Turn:
    """One turn of an agent whose moves are known beforehand; what comes of them is not."""

    def __init__(self, engine: Engine, project: str) -> None:
        self.engine, self.project = engine, project
        self.started = time.monotonic()
        self.steps = 0

    def play(self) -> None:
        self._line("user", "Fix greeting.txt so that the tests pass.")
        self._fire("pre-agent-turn", prompt="Fix greeting.txt so that the tests pass.")
        for tool, tool_input in MOVES:
            self.steps += 1
            if tool == "stop":
                if self._stop(tool_input["message"]):
                    break
            else:
                self._call(tool, tool_input)
        self._fire("post-agent-turn", step_count=self.steps)

    def _call(self, tool: str, tool_input: dict[str, str]) -> None:
        said = tool_input.get("command") or f"write {tool_input['content']!r} to {tool_input['path']}"
        self._line("agent", f"{tool}: {said}")
        verdict = self._fire("pre-tool-call", tool_name=tool, tool_input=tool_input)
        if verdict.blocked:
            self._line("tool", f"did not run: {'; '.join(verdict.reasons)}")
            return
        output = self._run_tool(tool, verdict.event.tool_input)
        self._line("tool", output)
        verdict = self._fire("post-tool-call", tool_name=tool, tool_input=verdict.event.tool_input, tool_output=output)
        if verdict.background:
            self._watch_background(verdict.event.tool_input["path"])

    def _run_tool(self, tool: str, tool_input: dict[str, str]) -> str:
        if tool == "WriteFile":
            _write(f"{self.project}/{tool_input['path']}", tool_input["content"])
            return f"wrote {tool_input['path']}: {tool_input['content']!r}"
        done = subprocess.run(
            ["/bin/sh", "-c", tool_input["command"]],
            cwd=self.project,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        return f"{tool_input['command']!r} -> {(done.stdout + done.stderr).strip()!r}, exit {done.returncode}"

    def _watch_background(self, path: str) -> None:
        left = self.engine.drain(WAIT_SECONDS)
        with open(f"{self.project}/{path}", encoding="utf-8") as file:
            self._line("later", f"{path} is now {file.read()!r}" + (f" ({left} hooks still run)" if left else ""))

    def _stop(self, message: str) -> bool:
        self._line("agent", f"says {message!r} and wants to stop")
        verdict = self._fire("pre-agent-turn-stop", stop_reason="no_tool_calls", step_count=self.steps)
        if verdict.feedback:
            self._line("agent", f"goes on, having read: {verdict.feedback}")
            return False
        self._fire("post-agent-turn-stop", stop_reason="no_tool_calls", step_count=self.steps)
        return True

    def _fire(self, kind: str, **fields: Any) -> Verdict:
        verdict = self.engine.dispatch({"event_type": kind, "session_id": "demo", "work_dir": self.project, **fields})
        for run in verdict.runs:
            told = (
                "; ".join((*verdict_effects(run.outcome), run.why))
                if run.status != OK
                else "; ".join(verdict_effects(run.outcome))
            )
            word = run.outcome.decision.word if run.outcome.decision != Decision.NONE else "no opinion"
            took = f"{run.seconds * 1000:.0f} ms"
            self._line(
                "hook",
                f"{kind} -> {run.hook.name}: {word} ({took})" + (f"  {told}" if told else ""),
                STYLES[run.outcome.decision.word],
            )
        for started in verdict.background:
            self._line("hook", f"{kind} -> {started.hook}: started in the background", "cyan")
        return verdict

    def _line(self, who: str, text: str, style: str = "") -> None:
        at = (time.monotonic() - self.started) * 1000
        console().print(f"[dim]{at:6.0f} ms[/dim]  [bold]{who:<6}[/bold]", end=" ")
        say(text.replace(self.project, "."), style)


def verdict_effects(outcome: Any) -> tuple[str, ...]:
    """Say what one hook said and changed."""
    told = [text for _, text in outcome.said]
    if outcome.input:
        told.append(f"input becomes {outcome.input}")
    told += [f"context: {text}" for text in outcome.contexts]
    return tuple(told)


def _how_to_go_on() -> None:
    say("")
    say(
        "All of this really happened, in a folder that is gone now. Install it (README) and go on, in a project of yours:",
        "bold",
    )
    say("  boathook new no-force-push --event pre-tool-call --tool Shell --pattern 'push.*--force'")
    say("  boathook check && boathook list")
    say('  boathook explain pre-tool-call --tool Shell --input \'{"command": "git push --force"}\'')


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
