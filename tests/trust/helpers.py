"""Worlds with a project whose hooks are trusted or not, and one event sent there in every way."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import boathook
from tests import forked

CALL = {"event_type": "pre-tool-call", "tool_name": "Shell", "tool_input": {"command": "ls"}, "session_id": "s"}
WAYS = ("in process", "by command", "by the door")
DOOR = boathook.__file__.replace("__init__.py", "entry/hook_entry.py")


def command(world, *arguments: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    """Run `boathook` in the project of a world."""
    return forked.run(
        [sys.executable, "-m", "boathook", *arguments],
        input=stdin,
        text=True,
        cwd=world.project,
        env={**world.environment, **env},
        timeout=60,
        check=False,
    )


def trust(world, *names: str, flags: tuple[str, ...] = ("--yes",)) -> subprocess.CompletedProcess[str]:
    """Trust hooks of a world's project, all of them if none is named."""
    done = command(world, "trust", *names, *flags)
    assert done.returncode == 0, done.stderr + done.stdout
    return done


def verdict(world, way: str = "in process", event: dict[str, Any] = CALL, *flags: str) -> dict[str, Any]:
    """Give what comes of an event, as `run --json` prints it."""
    if way == "in process":
        with boathook.load(world.project, trust_all="--trust-all" in flags) as engine:
            return engine.dispatch({**event, "work_dir": str(world.project)}).to_json()
    argv = [sys.executable, "-m", "boathook", "run"] if way == "by command" else [sys.executable, "-I", "-S", DOOR]
    done = forked.run(
        [*argv, "--json", *flags],
        input=json.dumps({**event, "work_dir": str(world.project)}),
        text=True,
        cwd=world.project,
        env=world.environment,
        timeout=60,
        check=False,
    )
    return json.loads(done.stdout)


def ran(found: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Give hook, status and decision of every run."""
    return [(run["hook"], run["status"], run["decision"]) for run in found["runs"]]


def skipped(found: dict[str, Any]) -> list[str]:
    """Give the hooks that were skipped."""
    return [skip["hook"] for skip in found["skipped"]]


def state_of(world, name: str) -> str:
    """Give the state of one hook as `list` says it."""
    rows = json.loads(command(world, "list", "--json").stdout)["hooks"]
    return next(row["state"] for row in rows if row["name"].partition("#")[0] == name)


def settings(command_line: str, **fields: Any) -> dict[str, Any]:
    """Give a settings file with one command before every tool call."""
    return {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": command_line, **fields}]}]}}
