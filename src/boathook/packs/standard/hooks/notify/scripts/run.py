#!/usr/bin/env python3
"""Tells the person that the agent has finished."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

# A program, and the words that show a text, which is added at the end.
_NOTIFIERS: tuple[tuple[str, ...], ...] = (
    ("notify-send", "--app-name=agent", "--"),
    ("osascript", "-e", "on run words", "-e", "display notification (item 1 of words)", "-e", "end run"),
    ("powershell.exe", "-NoProfile", "-Command", "[console]::beep(); Write-Host $args[0]"),
)
_TEXT = "The agent has finished in {project}"


def _show(text: str, command: str) -> str:
    """Show a text, and return by what; "bell" if nothing works."""
    if command:
        ended = subprocess.run(["sh", "-c", command], input=text.encode(), stdout=sys.stderr, check=False)
        if ended.returncode == 0:
            return "command"
    for program, *words in _NOTIFIERS:
        if shutil.which(program):
            ended = subprocess.run([program, *words, text], stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False)
            if ended.returncode == 0:
                return program
    return "bell"


def main() -> None:
    """Read the event, show the text, and write a line to the log."""
    event = json.load(sys.stdin)
    settings = json.loads(os.environ.get("AGENT_HOOK_SETTINGS") or "{}")
    project = Path(os.environ.get("AGENT_PROJECT_DIR") or event.get("work_dir") or ".").resolve()
    text = str(settings.get("text", _TEXT)).replace("{project}", project.name)
    way = _show(text, str(settings.get("command", "")))
    log = project / ".agents" / "log" / "notifications.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    bell = "\a" if way == "bell" else ""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    with log.open("a") as file:
        file.write(f"{now} {text} session={event.get('session_id') or 'none'} by={way}{bell}\n")


if __name__ == "__main__":
    main()
