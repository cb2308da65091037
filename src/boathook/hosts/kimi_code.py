"""Kimi Code. A tool call is refused in JSON, a prompt and a stop by exit 2; plain text of a prompt hook is context."""

from __future__ import annotations

from boathook.hosts import host as h
from boathook.hosts.host import Host, HostEvent, OwnFiles, OwnHooks

_REFUSAL = (
    (f"{h.SPECIFIC_OUTPUT}.permissionDecision", "deny", (("decision", "block"),)),
    (f"{h.SPECIFIC_OUTPUT}.permissionDecisionReason", None, (("reason", "$"),)),
)
_PROMPT_ANSWERS = (*_REFUSAL, ("message", None, h.CONTEXT))

HOST = Host(
    "kimi-code", "Kimi Code", "2.1.0", "source of August 2026",
    (
        HostEvent("SessionStart", "pre-session"),
        HostEvent("UserPromptSubmit", "pre-agent-turn", block=h.EXIT_CODE_2, context=(("stdout", "$"),),
            own=OwnHooks(subject="prompt", answers=_PROMPT_ANSWERS), plain_context=True,
            hook_fields=(("is_steer", False),)),
        HostEvent("PreToolUse", "pre-tool-call", renames=(h.TOOL_CALL_ID,), block=h.DENY),
        HostEvent("PermissionRequest", "permission-request", renames=(h.TOOL_CALL_ID,)),
        HostEvent("PostToolUse", "post-tool-call", renames=(h.TOOL_CALL_ID,), own=OwnHooks(texts=("tool_output",))),
        HostEvent("PostToolUseFailure", "post-tool-call-failure", renames=(h.TOOL_CALL_ID,), own=OwnHooks(texts=("error",))),
        HostEvent("Stop", "pre-agent-turn-stop", block=h.EXIT_CODE_2, own=OwnHooks(answers=_REFUSAL)),
        HostEvent("SubagentStart", "pre-subagent", renames=(h.SUBAGENT_NAME, ("prompt", "task_description"))),
        HostEvent("SubagentStop", "post-subagent", renames=(h.SUBAGENT_NAME, ("response", "result"))),
        HostEvent("PreCompact", "pre-context-compact"),
        HostEvent("PostCompact", "post-context-compact", renames=(("estimated_token_count", "token_count_after"),)),
        HostEvent("StopFailure", "turn-failure", renames=(("error_message", "error"),)),
        HostEvent("Notification", "notification"),
        HostEvent("SessionEnd", "post-session", renames=(h.EXIT_REASON,)),
    ),
    {
        "AgentSwarm": ("Agent", (("prompt_template", "prompt"),)),
        "Bash": ("Shell", ()),
        "Read": ("ReadFile", (("path", "file_path"), ("line_offset", "offset"), ("n_lines", "limit"))),
        "Write": ("WriteFile", (("path", "file_path"),)),
        "Edit": ("EditFile", (("path", "file_path"),)),
        **h.map_tools(Agent="Agent", Glob="Glob", Grep="Grep", FetchURL="WebFetch", WebSearch="WebSearch"),
        **h.map_tools(TodoList="Todo", AskUserQuestion="AskUser"),
    },
    ("TurnStarted", "Interrupt", "PermissionResult", "UserPromptQueued", "TaskStarted", "SessionHeartbeat"),
    # Run: every event has the folder of the session as `cwd`, and no call changes it.
    project_at=("cwd",),
    message_unseen="runs without a terminal (`kimi -p`)",
    subagent_events=("pre-agent-turn-stop",),
    own=OwnFiles((("session_title", ""), ("client_type", "")), special_tools=("AgentSwarm",)),
)  # fmt: skip


def make_setup() -> h.Setup:
    from boathook.hosts.setup import TABLES, Setup

    return Setup(
        "kimi-code", ("kimi",), ("KIMI_CODE_HOME", ".kimi-code"), "config.toml", "", TABLES,
        runs_itself=("kimi",), default_seconds=30, evidence="they are its own; it reads no other files",
        packages=("@moonshot-ai/kimi-code",),
    )  # fmt: skip
