#!/usr/bin/env python3
"""Notices the same tool call again and again."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path

_NOTE_AT, _ASK_AT, _WINDOW = 3, 6, 20
_FREE = ("Todo", "TodoWrite")


def _open_history(session: str) -> Path:
    """Return the file with the digests of a session, in a folder that only this user can read."""
    folder = Path(tempfile.gettempdir()) / f"agent-calls-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        sys.exit(f"repeated-calls: {folder} is not yours; delete it, or set TMPDIR to a folder of your own")
    return folder / hashlib.sha256(session.encode()).hexdigest()[:32]


def _count_call(path: Path, digest: str, window: int) -> int:
    """Add a call to the history, and return how often it is in it."""
    with path.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        digests = [*file.read().split(), digest][-window:]
        file.seek(0)
        file.truncate()
        file.write("\n".join(digests) + "\n")
    return digests.count(digest)


def main() -> None:
    """Read the event, and print a note or a question if the call is one too many."""
    event = json.load(sys.stdin)
    settings = json.loads(os.environ.get("AGENT_HOOK_SETTINGS") or "{}")
    tool = event.get("tool_name") or ""
    if tool in settings.get("free", _FREE):
        return
    call = json.dumps([tool, event.get("tool_input")], sort_keys=True)
    digest = hashlib.sha256(call.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    session = event.get("session_id") or os.environ.get("AGENT_SESSION_ID") or ""
    count = _count_call(_open_history(session), digest, int(settings.get("window", _WINDOW)))
    if count >= int(settings.get("ask_at", _ASK_AT)):
        reason = (
            f"This is the same call of {tool} for the {count}th time. Say what you expect from it, or try another way."
        )
        sys.stdout.write(json.dumps({"decision": "ask", "reason": reason}) + "\n")
    elif count >= int(settings.get("note_at", _NOTE_AT)):
        note = f"You made the same call of {tool} {count} times. If it did not help, read its last output and try another way."
        sys.stdout.write(json.dumps({"additional_context": note}) + "\n")


if __name__ == "__main__":
    main()
