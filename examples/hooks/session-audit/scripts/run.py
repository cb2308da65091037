#!/usr/bin/env python3
"""Appends one line about a finished session to `.agents/log/sessions.jsonl`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

KEPT = ("timestamp", "session_id", "duration_seconds", "total_steps", "exit_reason")


def main() -> int:
    event = json.load(sys.stdin)
    project = Path(os.environ.get("AGENT_PROJECT_DIR") or event.get("work_dir") or ".")
    log = project / ".agents" / "log" / "sessions.jsonl"
    log.parent.mkdir(parents=True, exist_ok=True)
    line = json.dumps({key: event[key] for key in KEPT if key in event}) + "\n"
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line.encode())  # one write, so that two sessions cannot mix
    finally:
        os.close(descriptor)
    return 0


if __name__ == "__main__":
    sys.exit(main())
