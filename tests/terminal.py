"""Commands of boathook at a real pseudo terminal that is their controlling one, and programs that look like agents."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from e2e.terminal import DIGEST_PROMPT, TYPED, run_at_terminal
from tests.scratch_project import ScratchProject


def run_boathook(
    project: ScratchProject, arguments: Sequence[str], answers: Sequence[str] = (), **options
) -> tuple[int | None, str]:
    """Run `boathook` in a project at a terminal."""
    env = {**project.environment, **options.pop("env", {})}
    return run_at_terminal(project.make_argv(*arguments), answers, cwd=project.path, env=env, **options)


def make_agent(folder: Path, name: str) -> Path:
    """Make a program that runs its arguments as a child, as an agent does; its process has the name of its file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text('#!/bin/sh\n"$@"\nexit $?\n')
    path.chmod(0o755)
    return path


def add_agents(project: ScratchProject, *names: str) -> None:
    """Put programs with the names of agents on the PATH of a machine; they do nothing."""
    for name in names:
        path = project.programs / name
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)


def make_agent_script(folder: Path, name: str) -> list[str]:
    """Return a command in which an interpreter called `node` runs a script, which runs its arguments as a child."""
    folder.mkdir(parents=True, exist_ok=True)
    node = folder / "node"
    if not node.exists():
        node.symlink_to(sys.executable)
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("import subprocess, sys\nsys.exit(subprocess.run(sys.argv[1:]).returncode)\n")
    return [str(node), str(path)]


def type_digest(project: ScratchProject, *arguments: str, answer: str = TYPED, **options) -> tuple[int | None, str]:
    """Run `boathook` at a terminal, and type what it wants to be typed, or another answer."""
    return run_boathook(project, arguments, [answer], prompt=DIGEST_PROMPT, **options)


def read_screen(
    project: ScratchProject, width: int, *arguments: str, has_color: bool = False, code: int = 0, **variables: str
) -> str:
    """Return what a command would print at a terminal of a width. It has no terminal: questions are not asked."""
    screen = {"FORCE_COLOR": "1", "COLUMNS": str(width), "TERM": "xterm-256color", "COLORTERM": ""}
    done = project.run(*arguments, env={**screen, **variables, **({} if has_color else {"NO_COLOR": "1"})})
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr
