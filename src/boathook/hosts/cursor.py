"""Cursor. One tool call fires several events there; the one that names the tool counts, the others have no counterpart."""

from __future__ import annotations

from boathook.hosts.host import REASON, Host, Row

_DENY = (("permission", "deny"), ("user_message", "$"), ("agent_message", "$"))
_CONTEXT = (("additional_context", "$"),)
_GO_ON = (("followup_message", "$"),)

HOST = Host(
    "cursor",
    "Cursor",
    "",
    "vendor's documentation of August 2026",
    (
        Row("sessionStart", "pre-session", context=_CONTEXT),
        Row("beforeSubmitPrompt", "pre-agent-turn", block=(("continue", False), ("user_message", "$"))),
        Row(
            "preToolUse",
            "pre-tool-call",
            block=_DENY,
            allow=(("permission", "allow"),),
            input=(("updated_input", "$"),),
        ),
        Row(
            "postToolUse",
            "post-tool-call",
            renames=(("duration", "duration_ms"),),
            block=_CONTEXT,
            context=_CONTEXT,
        ),
        Row(
            "postToolUseFailure",
            "post-tool-call-failure",
            renames=(("error_message", "error"), ("duration", "duration_ms")),
        ),
        Row(
            "subagentStart",
            "pre-subagent",
            renames=(("task", "task_description"),),
            block=(("permission", "deny"), ("user_message", "$")),
        ),
        Row(
            "subagentStop",
            "post-subagent",
            renames=(("task", "task_description"), ("summary", "result")),
            block=_GO_ON,
        ),
        Row("stop", "pre-agent-turn-stop", renames=(("status", "stop_reason"),), block=_GO_ON),
        Row("preCompact", "pre-context-compact", renames=(("context_tokens", "token_count"),)),
        Row("sessionEnd", "post-session", renames=(REASON,)),
    ),
    {
        "Shell": ("Shell", (("working_directory", "cwd"),)),
        "Read": ("ReadFile", (("file_path", "file_path"), ("path", "file_path"))),
        "Write": ("WriteFile", (("file_path", "file_path"), ("path", "file_path"))),
        "StrReplace": ("EditFile", (("path", "file_path"), ("file_path", "file_path"))),
        "Delete": ("DeleteFile", (("file_path", "file_path"), ("path", "file_path"))),
        "Grep": ("Grep", (("file_path", "path"), ("path", "path"))),
        "List": ("ListDir", (("file_path", "path"), ("path", "path"))),
        "Task": ("Agent", ()),
    },
    (
        "beforeShellExecution",
        "beforeMCPExecution",
        "beforeReadFile",
        "afterShellExecution",
        "afterMCPExecution",
        "afterFileEdit",
        "afterAgentResponse",
        "afterAgentThought",
        "beforeTabFileRead",
        "afterTabFileEdit",
        "workspaceOpen",
    ),
    session_at=("conversation_id", "session_id"),
    folder_at=("cwd", "workspace_roots.0"),
    empty="{}",
)
