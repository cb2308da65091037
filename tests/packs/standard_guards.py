"""Loads the guards of the standard pack into the process of a test, and asks them about calls in scratch projects."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import boathook
from boathook.guards import GuardAnswer, GuardedCall
from tests.git_repository import commit_all, run_git

# The guards that are tested with this file.
GUARDS = (
    *("machine", "run-from-network", "git-discard", "git-force", "no-verify", "outside-project", "whole-project"),
    *("branch-guard", "processes", "containers", "kubernetes", "infrastructure"),
)
PACK = Path(boathook.__file__).parent / "packs" / "standard"


def load_guard(name: str) -> Any:
    """Return the script of a guard as a module of its own, with the pack's shared code on the path."""
    if str(PACK / "lib") not in sys.path:
        sys.path.insert(0, str(PACK / "lib"))
    spec = importlib.util.spec_from_file_location(
        f"_guard_{name.replace('-', '_')}", PACK / "hooks" / name / "scripts" / "run.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make_project(folder: Path, branch: str = "", *, is_dirty: bool = False, is_empty: bool = False) -> Path:
    """Return a project; with a branch it is a git repository with this branch checked out; a dirty one has a changed file."""
    project = folder / "home" / "project"
    project.mkdir(parents=True)
    (project / "tracked.txt").write_text("committed\n")
    if branch and is_empty:
        run_git(project, "init", "-q", "-b", branch, ".")
    elif branch:
        commit_all(project)
        if branch != "main":
            run_git(project, "switch", "-qc", branch)
    if is_dirty:
        (project / "tracked.txt").write_text("changed\n")
    return project


def ask_guard(guard: Any, project: Path, command: str, tool: str = "Shell", **settings: Any) -> GuardAnswer | None:
    """Ask a guard about a command, or about a file that another tool writes."""
    tool_input = {"command": command} if tool == "Shell" else {"file_path": command, "content": "x"}
    fields = {"event_type": "pre-tool-call", "tool_name": tool, "tool_input": tool_input, "work_dir": str(project)}
    call = GuardedCall(fields, project=str(project), home=str(project.parent))
    call.settings = settings
    return guard.decide(call)
