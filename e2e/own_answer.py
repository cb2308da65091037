"""What an agent starts to answer its own question, at terminals that it makes itself: `own_answer.py STATE OUT`.

It tries twice: below the agent, and after it has left its parents and its session. OUT gets what it read at both terminals.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SECONDS = 60
# Its group is what a person types to allow the call.
PROMPT = re.compile(r"digest +[0-9a-f]{60}([0-9a-f]{4})[\s\S]*or no to deny it: ")


def find_question(state: Path) -> str:
    """Give the id of the question that waits."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        for path in (state / "asks").glob("*.sock"):
            return path.stem
        time.sleep(0.05)
    raise TimeoutError("no call waits for an answer")


def try_answer(ask_id: str) -> str:
    """Answer at a new terminal; give all that was shown there."""
    command = shlex.join([sys.executable, "-m", "boathook", "asks", ask_id])
    with tempfile.NamedTemporaryFile() as shown:
        argv = ["script", "-qfec", command, shown.name]
        env = {**os.environ, "PAGER": "cat"}
        terminal = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=env)
        end, match = time.monotonic() + SECONDS, None
        while match is None and terminal.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
            match = PROMPT.search(Path(shown.name).read_text())
        if match is not None and terminal.stdin is not None:
            terminal.stdin.write(f"{match[1]}\n".encode())
            terminal.stdin.flush()
        terminal.wait(SECONDS)
        return Path(shown.name).read_text()


def leave_parents() -> bool:
    """Go on in a process of another session that has no parent of the agent's; say whether this is that process."""
    if os.fork():
        return False
    os.setsid()
    if os.fork():
        os._exit(0)
    return True


def main() -> None:
    """Try both, and write what was read."""
    state, out = map(Path, sys.argv[1:])
    ask_id = find_question(state)
    below = try_answer(ask_id)
    if leave_parents():
        apart = try_answer(ask_id)
        out.with_suffix(".new").write_text(json.dumps([below, apart]))
        out.with_suffix(".new").rename(out)


if __name__ == "__main__":
    main()
