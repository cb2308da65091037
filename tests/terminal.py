"""Commands at a real pseudo terminal that is their controlling one, and programs that look like agents."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.scratch_project import ScratchProject

# Its standard input becomes the controlling terminal of its session.
TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""


def run_at_terminal(
    argv: Sequence[str],
    answers: Sequence[str] = (),
    *,
    cwd: Path,
    env: Mapping[str, str],
    prompt: str = r"\[[Yy]/[Nn]\]: $",
) -> tuple[int, str]:
    """Run a command at a terminal and type an answer at each prompt; return the exit code and all that was printed.

    `{digits}` in an answer stands for what the first group of the prompt matched.
    """
    leader, follower = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", TAKE_TERMINAL, *argv],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        cwd=cwd,
        env={**env, "TERM": "dumb", "PAGER": "cat"},
        start_new_session=True,
    )
    os.close(follower)
    out, until, rest, seen = b"", time.monotonic() + 120, list(answers), 0
    while time.monotonic() < until:
        ready, _, _ = select.select([leader], [], [], 0.1)
        try:
            part = os.read(leader, 65536) if ready else b""
        except OSError:
            break
        if ready and not part:
            break
        out += part
        text = out[seen:].decode("utf-8", "replace").replace("\r\n", "\n")
        match = re.search(prompt, text, re.MULTILINE) if rest and part else None
        if match:
            seen = len(out)
            digits = match.group(1) if match.groups() else ""
            os.write(leader, rest.pop(0).replace("{digits}", digits).encode() + b"\n")
    try:
        return child.wait(60), out.decode("utf-8", "replace").replace("\r\n", "\n")
    finally:
        child.kill()
        os.close(leader)


def run_boathook(
    project: ScratchProject, arguments: Sequence[str], answers: Sequence[str] = (), **options
) -> tuple[int, str]:
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


# The prompt of a command that wants the end of a digest typed, which is its group.
DIGEST_PROMPT = r"digest +[0-9a-f]{60}([0-9a-f]{4})\n[\s\S]*characters of the digest: $"


def type_digest(project: ScratchProject, *arguments: str, answer: str = "{digits}", **options) -> tuple[int, str]:
    """Run `boathook` at a terminal, and type what it wants to be typed, or another answer."""
    return run_boathook(project, arguments, [answer], prompt=DIGEST_PROMPT, **options)
