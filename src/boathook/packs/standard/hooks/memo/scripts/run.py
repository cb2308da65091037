#!/usr/bin/env python3
"""Reminds the agent once in a session to write down what the next one should know."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

_MEMO = ".agents/MEMO.md"


def main() -> None:
    """Print the reminder, unless this session had it already."""
    event = json.load(sys.stdin)
    settings = json.loads(os.environ.get("AGENT_HOOK_SETTINGS") or "{}")
    project = Path(os.environ.get("AGENT_PROJECT_DIR") or event.get("work_dir") or ".")
    session = re.sub(r"[^\w-]", "_", event.get("session_id") or os.environ.get("AGENT_SESSION_ID") or "none")[:100]
    mark = project / ".agents" / "log" / "memo" / session
    mark.parent.mkdir(parents=True, exist_ok=True)
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return
    name = settings.get("path", _MEMO)
    memo = project / name
    count = (
        sum(line.startswith("## ") for line in memo.read_text(errors="replace").splitlines()) if memo.is_file() else 0
    )
    sys.stdout.write(
        "Before you finish: is there something that the next session should know? An obstacle, an idea for later, a place "
        f"that deserves a closer look. Write each under a heading of its own in {name}. Notes there now: {count}.\n"
    )


if __name__ == "__main__":
    main()
