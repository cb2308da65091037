"""Calls of an agent that wait for a person: the agent and its hook process are orphans, as no test is above a real agent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from boathook.core.permit import Question
from boathook.hosts.setup import list_setups
from e2e.terminal import ASKS_PROMPT, run_at_terminal
from tests.scratch_project import ScratchProject

ASK = 'echo \'{"decision": "ask", "reason": "sure?"}\''
_SECONDS = 90
# Leaves its parents and its session, then runs a command and keeps how it ended.
_AGENT = """
import json, os, subprocess, sys
folder, *argv = sys.argv[1:]
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
def write(name, fields):
    with open(f"{folder}/{name}.new", "w") as file:
        json.dump(fields, file)
    os.rename(f"{folder}/{name}.new", f"{folder}/{name}")
with open(f"{folder}/event") as event:
    run = subprocess.Popen(argv, stdin=event, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    write("pids", {"agent": os.getpid(), "run": run.pid})
    out, err = run.communicate()
write("end", {"code": run.returncode, "stdout": out, "stderr": err})
"""


def make_person_environment(project: ScratchProject) -> dict[str, str]:
    """Return an environment without the variables of agents, because one may run these tests."""
    markers = {name for setup in list_setups() for name in setup.agent_variables}
    return {name: value for name, value in project.environment.items() if name not in markers}


def wait_until(condition: Callable[[], Any]) -> Any:
    end = time.monotonic() + _SECONDS
    while not (found := condition()):
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)
    return found


class WaitingCall:
    """A tool call of an agent."""

    # Those of the current test: see conftest.py.
    started: ClassVar[list[WaitingCall]] = []

    def __init__(self, project: ScratchProject, *flags: str, event: dict[str, Any] | None = None, argv=()) -> None:
        self.project = project
        self.started.append(self)
        self.folder = project.base / f"call-{os.urandom(4).hex()}"
        self.folder.mkdir()
        (self.folder / "event").write_text(json.dumps(event or make_call(project)))
        words = list(argv) or project.make_argv("run", "--json", *flags)
        subprocess.run(
            [sys.executable, "-I", "-c", _AGENT, str(self.folder), *words],
            check=True, cwd=project.path, env=make_person_environment(project),
        )  # fmt: skip

    def _read(self, name: str) -> dict[str, Any] | None:
        path = self.folder / name
        return json.loads(path.read_text()) if path.exists() else None

    @property
    def pids(self) -> dict[str, int]:
        return wait_until(lambda: self._read("pids"))

    def find_question(self) -> str:
        """Return the id of the question, as soon as there is one that can be answered."""

        def find() -> str:
            for path in list_ask_files(self.project, ".json"):
                with suppress(OSError, ValueError):
                    if json.loads(path.read_text())["pid"] == self.pids["run"] and path.with_suffix(".sock").exists():
                        return path.stem
            assert self._read("end") is None, self._read("end")
            return ""

        return wait_until(find)

    def finish(self) -> dict[str, Any]:
        """Return how the hook process ended: the verdict that it printed, if any, with its exit code."""
        end = wait_until(lambda: self._read("end"))
        return {**(json.loads(end["stdout"]) if end["stdout"].startswith("{") else {}), "end": end}

    def end(self) -> None:
        """Kill what is left of the call."""
        if self._read("end") is None:
            for who in ("run", "agent"):
                with suppress(ProcessLookupError):
                    self.kill(who)

    def kill(self, who: str, number: int = signal.SIGKILL) -> None:
        os.kill(self.pids[who], number)


def make_call(project: ScratchProject, command: str = "rm -rf build", **fields: Any) -> dict[str, Any]:
    return {"event_type": "pre-tool-call", "tool_name": "Shell", "tool_input": {"command": command},
            "session_id": "s", "work_dir": str(project.path), **fields}  # fmt: skip


def make_question(question_id: str, session: str = "s1") -> Question:
    """Return a question about a call of a shell, which nothing waits for."""
    about = {"host": "claude", "project": "/p", "session": session, "event": "pre-tool-call", "work_dir": "/p"}
    call = {"tool": "Shell", "host_tool": "Bash", "tool_input": {"command": "rm -rf build"}}
    return Question(id=question_id, time=0.0, objections=(), **about, **call)


def list_ask_files(project: ScratchProject, ending: str = "") -> list[Path]:
    return sorted((project.state / "asks").glob(f"*{ending}"))


def set_up(project: ScratchProject, *lines: str, script: str = ASK) -> None:
    """Write a hook that asks, and a hooks.toml with some settings."""
    project.write_hook("careful", script)
    (project.config / "hooks.toml").write_text("\n".join(["[hooks]", *lines, ""]))


def answer(
    project: ScratchProject, *arguments: str, typed: str = "{digits}", **variables: str
) -> tuple[int | None, str]:
    """Run `boathook asks` at a terminal of its own, and type something at its prompt."""
    env = {**make_person_environment(project), **variables}
    argv = project.make_argv("asks", *arguments)
    return run_at_terminal(argv, [typed], cwd=project.path, env=env, prompt=ASKS_PROMPT)


def read_records(project: ScratchProject, kind: str) -> list[dict[str, Any]]:
    lines = [line for path in sorted(project.state.glob("ledger-*.jsonl")) for line in path.read_text().splitlines()]
    return [record for record in map(json.loads, lines) if record["type"] == kind]
