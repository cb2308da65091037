"""Copilot CLI. Events in camelCase have no name in their payload; those in PascalCase have, and other fields too.

Its tool gate shuts at any exit code but 0, and loses what stderr says: all answers are JSON at exit 0.
"""

from __future__ import annotations

from boathook.hosts.host import ALLOW, ASK, BLOCK, CONTEXT, DENY, INPUT, REASON, Host, Row

_CONTEXT = (("additionalContext", "$"),)
_DENY = (("permissionDecision", "deny"), ("permissionDecisionReason", "$"))
_ASK = (("permissionDecision", "ask"), ("permissionDecisionReason", "$"))
_ALLOW = (("permissionDecision", "allow"), ("permissionDecisionReason", "$"))
_OUTPUT = (("modifiedResult.resultType", "success"), ("modifiedResult.textResultForLlm", "$"))
_REFUSE = (("behavior", "deny"), ("message", "$"))
_TOOL = (("toolName", "tool_name"), ("toolArgs", "tool_input"), ("toolInput", "tool_input"))
_STOP = (("stopReason", "stop_reason"),)
_AGENT = (("agentType", "subagent_type"), ("agentName", "subagent_name"))

HOST = Host(
    "copilot",
    "Copilot CLI",
    "1.0.102",
    "vendor's documentation",
    (
        Row("sessionStart", "pre-session", context=_CONTEXT),
        Row("userPromptSubmitted", "pre-agent-turn", block=BLOCK, context=_CONTEXT),
        Row(
            "preToolUse",
            "pre-tool-call",
            renames=_TOOL,
            block=_DENY,
            ask=_ASK,
            allow=_ALLOW,
            input=(("modifiedArgs", "$"),),
            context=_CONTEXT,
            documented=("allow",),
        ),
        Row(
            "permissionRequest",
            "permission-request",
            renames=_TOOL,
            block=_REFUSE,
            allow=(("behavior", "allow"),),
            stop=(*_REFUSE, ("interrupt", True)),
            documented=("block", "allow", "stop"),
        ),
        Row(
            "postToolUse",
            "post-tool-call",
            renames=(*_TOOL, ("toolResult", "tool_output")),
            block=BLOCK,
            output=_OUTPUT,
            context=_CONTEXT,
            documented=("output",),
        ),
        Row(
            "postToolUseFailure",
            "post-tool-call-failure",
            renames=_TOOL,
            block=_CONTEXT,
            context=_CONTEXT,
            documented=("block", "context"),
        ),
        Row("agentStop", "pre-agent-turn-stop", renames=_STOP, block=BLOCK),
        Row("subagentStart", "pre-subagent", renames=_AGENT, context=_CONTEXT, documented=("context",)),
        Row(
            "subagentStop",
            "post-subagent",
            renames=(*_AGENT, ("response", "result"), *_STOP),
            block=BLOCK,
            documented=("block",),
        ),
        Row("preCompact", "pre-context-compact"),
        Row("errorOccurred", "turn-failure"),
        Row("notification", "notification", context=_CONTEXT, documented=("context",)),
        Row("sessionEnd", "post-session", renames=(REASON,)),
        Row("SessionStart", "pre-session", context=_CONTEXT),
        Row("UserPromptSubmit", "pre-agent-turn", block=BLOCK, context=_CONTEXT, documented=("block",)),
        Row(
            "PreToolUse", "pre-tool-call", (), (), DENY, ASK, ALLOW, (), INPUT, (), CONTEXT, documented=("ask", "allow")
        ),
        Row(
            "PermissionRequest",
            "permission-request",
            renames=_TOOL,
            block=_REFUSE,
            allow=(("behavior", "allow"),),
            stop=(*_REFUSE, ("interrupt", True)),
            documented=("block", "allow", "stop"),
        ),
        Row(
            "PostToolUse",
            "post-tool-call",
            renames=(("tool_result", "tool_output"),),
            block=BLOCK,
            context=_CONTEXT,
            documented=("block",),
        ),
        Row("Stop", "pre-agent-turn-stop", renames=_STOP, block=BLOCK),
        Row("SessionEnd", "post-session", renames=(REASON,)),
    ),
    {
        "bash": ("Shell", ()),
        "Bash": ("Shell", ()),
        "Read": ("ReadFile", (("path", "file_path"),)),
        "Write": ("WriteFile", (("path", "file_path"), ("file_text", "content"))),
        "Edit": ("EditFile", (("path", "file_path"), ("old_str", "old_string"), ("new_str", "new_string"))),
        "powershell": ("Shell", ()),
        "view": ("ReadFile", (("path", "file_path"),)),
        "create": ("WriteFile", (("path", "file_path"), ("file_text", "content"))),
        "edit": ("EditFile", (("path", "file_path"), ("old_str", "old_string"), ("new_str", "new_string"))),
        "apply_patch": ("PatchFile", (("input", "patch"),)),
        "grep": ("Grep", (("paths[]", "path"),)),
        "glob": ("Glob", (("paths[]", "path"),)),
        "web_fetch": ("WebFetch", ()),
        "web_search": ("WebSearch", ()),
        "task": ("Agent", (("agent_type", "subagent_type"),)),
        "update_todo": ("Todo", ()),
        "ask_user": ("AskUser", ()),
    },
    ("userPromptTransformed",),
    event_at=("hook_event_name", "hookName"),
    session_at=("session_id", "sessionId"),
    fails_closed=True,
)
