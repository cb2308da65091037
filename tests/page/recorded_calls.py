"""Calls of an agent that hooks decide about, and the scripts of those hooks."""

from __future__ import annotations

import json
from typing import Any

from tests.scratch_project import ScratchProject

HOSTILE = "git push --force <img src=x onerror=alert(1)> \x1b[31m \u202e </pre><script>alert(2)</script>"
GUARD = "grep -q -- --force && { echo 'never force' >&2; exit 2; }; exit 0"
REWRITE = """printf '{"modified_input": {"command": "ls -l"}}'"""


def call(project: ScratchProject, command: str, session: str = "s1", event: str = "PreToolUse", **fields: Any) -> None:
    """Let Claude Code call boathook about a shell command."""
    payload = {
        "session_id": session,
        "cwd": str(project.path),
        "hook_event_name": event,
        "tool_name": "Bash",
        "tool_input": {"command": command},
        **fields,
    }
    project.run("run", "--host", "claude", event, stdin=json.dumps(payload))
