"""kimi-cli, the older one. A tool call is refused in JSON, a prompt and a stop by exit 2; nothing else is heard."""

from __future__ import annotations

from boathook.hosts.host import AGENT_NAME, CALL_ID, DENY, EXIT, REASON, Host, Row

HOST = Host(
    "kimi-cli",
    "kimi-cli",
    "1.51.0",
    "source of July 2026",
    (
        Row("SessionStart", "pre-session"),
        Row("UserPromptSubmit", "pre-agent-turn", block=EXIT),
        Row("PreToolUse", "pre-tool-call", renames=(CALL_ID,), block=DENY),
        Row("PostToolUse", "post-tool-call", renames=(CALL_ID,), failed="tool_output=is_error=True"),
        Row("PostToolUseFailure", "post-tool-call-failure", renames=(CALL_ID,)),
        Row("Stop", "pre-agent-turn-stop", block=EXIT),
        Row("SubagentStart", "pre-subagent", renames=(AGENT_NAME, ("prompt", "task_description"))),
        Row("SubagentStop", "post-subagent", renames=(AGENT_NAME, ("response", "result"))),
        Row("PreCompact", "pre-context-compact"),
        Row("PostCompact", "post-context-compact", renames=(("estimated_token_count", "token_count_after"),)),
        Row("StopFailure", "turn-failure", renames=(("error_message", "error"),)),
        Row("Notification", "notification", renames=(("body", "message"),)),
        Row("SessionEnd", "post-session", renames=(REASON,)),
    ),
    {
        "Shell": ("Shell", ()),
        "ReadFile": ("ReadFile", (("path", "file_path"), ("line_offset", "offset"), ("n_lines", "limit"))),
        "ReadMediaFile": ("ReadFile", (("path", "file_path"),)),
        "WriteFile": ("WriteFile", (("path", "file_path"),)),
        "StrReplaceFile": ("EditFile", (("path", "file_path"), ("", "old_string"), ("", "new_string"))),
        "Glob": ("Glob", (("directory", "path"),)),
        "Grep": ("Grep", ()),
        "FetchURL": ("WebFetch", ()),
        "SearchWeb": ("WebSearch", ()),
        "SetTodoList": ("Todo", ()),
        "AskUserQuestion": ("AskUser", ()),
        "Agent": ("Agent", ()),
    },
)
