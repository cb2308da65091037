"""Runs a command as a person would: on a terminal of its own, with an answer typed at each prompt. The tests use it, too."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

SECONDS = 120
YES_OR_NO = r"(?:\[[Yy]/[Nn]\]|\[q\]uit): $"
# The prompt of a command that wants the end of a digest typed, which is its group.
DIGEST_PROMPT = r"digest +[0-9a-f]{60}([0-9a-f]{4})\n[\s\S]*characters of the digest: $"
# The same of `boathook asks`, where one can also deny the call.
ASKS_PROMPT = r"digest +[0-9a-f]{60}([0-9a-f]{4})\n[\s\S]*or no to deny it: $"
# In an answer, what the first group of the prompt matched.
TYPED = "{digits}"
# Rows and columns.
_SIZE = (40, 120)
_KEYS = ("\x03", "\x04")
# Its standard input becomes the controlling terminal of its session. As in a person's shell, Ctrl-C counts.
_TAKE_TERMINAL = """
import fcntl, os, signal, sys, termios
signal.signal(signal.SIGINT, signal.SIG_DFL)
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""


def run_at_terminal(
    argv: Sequence[str], answers: Sequence[str] = (), *, cwd: Path, env: Mapping[str, str], prompt: str = YES_OR_NO
) -> tuple[int | None, str]:
    """Run a command at a terminal and type an answer at each prompt; return the exit code and all that was printed.

    A command that does not end within two minutes is killed, and has no exit code.
    """
    child, leader = start_at_terminal(argv, cwd=cwd, env={**env, "TERM": "dumb", "PAGER": "cat"})
    end = time.monotonic() + SECONDS
    try:
        text = _talk(leader, list(answers), prompt, end)
        with suppress(subprocess.TimeoutExpired):
            child.wait(max(0.1, end - time.monotonic()))
        return child.returncode, text
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
        os.close(leader)


def start_at_terminal(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> tuple[subprocess.Popen[bytes], int]:
    """Start a command at a terminal of its own; return the process, and the end of the terminal to read from and write to."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("4H", *_SIZE, 0, 0))
    child = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _TAKE_TERMINAL, *argv],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        cwd=cwd,
        env=env,
        start_new_session=True,
    )
    os.close(follower)
    return child, leader


def _talk(leader: int, answers: list[str], prompt: str, end: float) -> str:
    """Read until the other end of the terminal is closed, and type the answers; return what was printed."""
    output, seen = b"", 0
    while time.monotonic() < end:
        if not select.select([leader], [], [], 0.1)[0]:
            continue
        try:
            part = os.read(leader, 1 << 16)
        except OSError:
            break
        if not part:
            break
        output += part
        match = re.search(prompt, _decode(output[seen:]), re.MULTILINE) if answers else None
        if match:
            seen = len(output)
            typed = (match.group(1) or "") if match.groups() else ""
            answer = answers.pop(0).replace(TYPED, typed)
            # Ctrl-C and Ctrl-D count at once; a line that followed could be read before the signal arrives.
            os.write(leader, answer.encode() + (b"" if answer in _KEYS else b"\n"))
    return _decode(output)


def _decode(output: bytes) -> str:
    return output.decode("utf-8", "replace").replace("\r\n", "\n")
