"""Runs a command as a person would: on a terminal of its own, with an answer typed when it asks."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

SECONDS = 30
# makes the terminal that is standard input the controlling one, then becomes the command
ENTER = (
    "import fcntl, os, sys, termios; "
    "os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1], sys.argv[1:])"
)


def run_on_terminal(
    command: Sequence[str], folder: Path, env: Mapping[str, str], question: str
) -> tuple[int | None, str]:
    """Run a command, and type what the first group of `question` finds in its output; return its exit code and its output."""
    ours, theirs = pty.openpty()
    words = [sys.executable, "-I", "-S", "-c", ENTER, *command]
    process = subprocess.Popen(words, cwd=folder, env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    try:
        return _talk(process, ours, question)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(ours)


def _talk(process: subprocess.Popen[bytes], handle: int, question: str) -> tuple[int | None, str]:
    output, has_answered, end = b"", False, time.monotonic() + SECONDS
    while time.monotonic() < end:
        if select.select([handle], [], [], 0.1)[0]:
            part = b""
            # the other end is closed
            with suppress(OSError):
                part = os.read(handle, 1 << 16)
            if not part:
                break
            output += part
        asked = re.search(question, output.decode("utf-8", "replace"))
        if asked and not has_answered:
            os.write(handle, f"{asked[1]}\n".encode())
            has_answered = True
    with suppress(subprocess.TimeoutExpired):
        process.wait(max(0.1, end - time.monotonic()))
    return process.returncode, output.decode("utf-8", "replace")
