#!/usr/bin/env python3
"""Appends one line about a finished session to a log."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

_FIELDS = ("timestamp", "session_id", "duration_seconds", "total_steps", "exit_reason")
_LOG = ".agents/log/sessions.jsonl"


def main() -> None:
    """Read the event, and append its fields to the log in one write."""
    event = json.load(sys.stdin)
    settings = json.loads(os.environ.get("AGENT_HOOK_SETTINGS") or "{}")
    project = Path(os.environ.get("AGENT_PROJECT_DIR") or event.get("work_dir") or ".")
    log = project / settings.get("path", _LOG)
    log.parent.mkdir(parents=True, exist_ok=True)
    line = json.dumps({key: event[key] for key in settings.get("fields", _FIELDS) if key in event}) + "\n"
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


if __name__ == "__main__":
    main()
