"""Kimi Code. A tool call is refused in JSON, a prompt and a stop by exit 2; plain text of a prompt hook is context."""

from __future__ import annotations

from boathook.hosts.host import AGENT_NAME, CALL_ID, DENY, EXIT, REASON, Host, Row

HOST = Host(
    "kimi-code",
    "Kimi Code",
    "2.1.0",
    "source of August 2026",
    (
        Row("SessionStart", "pre-session"),
        Row("UserPromptSubmit", "pre-agent-turn", block=EXIT, context=(("stdout", "$"),)),
        Row("PreToolUse", "pre-tool-call", renames=(CALL_ID,), block=DENY),
        Row("PermissionRequest", "permission-request", renames=(CALL_ID,)),
        Row("PostToolUse", "post-tool-call", renames=(CALL_ID,)),
        Row("PostToolUseFailure", "post-tool-call-failure", renames=(CALL_ID,)),
        Row("Stop", "pre-agent-turn-stop", block=EXIT),
        Row("SubagentStart", "pre-subagent", renames=(AGENT_NAME, ("prompt", "task_description"))),
        Row("SubagentStop", "post-subagent", renames=(AGENT_NAME, ("response", "result"))),
        Row("PreCompact", "pre-context-compact"),
        Row("PostCompact", "post-context-compact", renames=(("estimated_token_count", "token_count_after"),)),
        Row("StopFailure", "turn-failure", renames=(("error_message", "error"),)),
        Row("Notification", "notification"),
        Row("SessionEnd", "post-session", renames=(REASON,)),
    ),
    {
        "AgentSwarm": ("Agent", (("prompt_template", "prompt"),)),
        "Bash": ("Shell", ()),
        "Read": ("ReadFile", (("path", "file_path"), ("line_offset", "offset"), ("n_lines", "limit"))),
        "Write": ("WriteFile", (("path", "file_path"),)),
        "Edit": ("EditFile", (("path", "file_path"),)),
        "Agent": ("Agent", ()),
        "Glob": ("Glob", ()),
        "Grep": ("Grep", ()),
        "FetchURL": ("WebFetch", ()),
        "WebSearch": ("WebSearch", ()),
        "TodoList": ("Todo", ()),
        "AskUserQuestion": ("AskUser", ()),
    },
    ("TurnStarted", "Interrupt", "PermissionResult", "UserPromptQueued", "TaskStarted", "SessionHeartbeat"),
)
