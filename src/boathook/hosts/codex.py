"""Codex CLI. Its schemas refuse keys they do not know, and a refusal needs a reason."""

from __future__ import annotations

from boathook.hosts.host import (
    AGENT_TYPE,
    BLOCK,
    CONTEXT,
    DENY,
    END,
    GRANT,
    LAST,
    MESSAGE,
    NESTED,
    REASON,
    REFUSE,
    RESPONSE,
    RESULT,
    Host,
    Row,
)

HOST = Host(
    "codex",
    "Codex CLI",
    "0.166.0",
    "source of August 2026",
    (
        Row("SessionStart", "pre-session", stop=END, context=CONTEXT, documented=("stop",)),
        Row("UserPromptSubmit", "pre-agent-turn", block=BLOCK, stop=END, context=CONTEXT, documented=("stop",)),
        Row(
            "PreToolUse",
            "pre-tool-call",
            block=DENY,
            input=((f"{NESTED}.permissionDecision", "allow"), (f"{NESTED}.updatedInput", "$")),
            context=CONTEXT,
        ),
        Row("PermissionRequest", "permission-request", block=REFUSE, allow=GRANT, documented=("block", "allow")),
        Row(
            "PostToolUse",
            "post-tool-call",
            renames=(RESPONSE,),
            block=BLOCK,
            context=CONTEXT,
            failed="@transcript_path",
        ),
        Row("PreCompact", "pre-context-compact", block=END, stop=END, documented=("block", "stop")),
        Row("PostCompact", "post-context-compact", stop=END, documented=("stop",)),
        Row("SubagentStart", "pre-subagent", renames=(AGENT_TYPE,), context=CONTEXT, documented=("context",)),
        Row(
            "SubagentStop",
            "post-subagent",
            renames=(AGENT_TYPE, RESULT),
            block=BLOCK,
            stop=END,
            documented=("block", "stop"),
        ),
        Row("Stop", "pre-agent-turn-stop", renames=(LAST,), block=BLOCK, stop=END, documented=("stop",)),
        Row("SessionEnd", "post-session", renames=(REASON,)),
    ),
    {
        "Bash": ("Shell", ()),
        "apply_patch": ("PatchFile", (("command", "patch"),)),
        "spawn_agent": ("Agent", (("message", "prompt"),)),
        "request_user_input": ("AskUser", ()),
        "update_plan": ("Todo", (("plan", "todos"),)),
        "view_image": ("ReadFile", (("path", "file_path"),)),
        "web_search": ("WebSearch", ()),
    },
    ("Interrupt",),
    message=MESSAGE,
)
