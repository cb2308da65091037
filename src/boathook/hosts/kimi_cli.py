"""kimi-cli, the older one. A tool call is refused in JSON, a prompt and a stop by exit 2; nothing else has an effect."""

from __future__ import annotations

from boathook.hosts import host as h
from boathook.hosts.host import Host, HostEvent, OwnFiles, OwnHooks

_REFUSAL = (
    (f"{h.SPECIFIC_OUTPUT}.permissionDecision", "deny", (("decision", "block"),)),
    (f"{h.SPECIFIC_OUTPUT}.permissionDecisionReason", None, (("reason", "$"),)),
)

HOST = Host(
    "kimi-cli", "kimi-cli", "1.51.0", "source of July 2026",
    (
        HostEvent("SessionStart", "pre-session"),
        HostEvent("UserPromptSubmit", "pre-agent-turn", block=h.EXIT_CODE_2,
            own=OwnHooks(subject="prompt", answers=_REFUSAL)),
        HostEvent("PreToolUse", "pre-tool-call", renames=(h.TOOL_CALL_ID,), block=h.DENY),
        HostEvent("PostToolUse", "post-tool-call", renames=(h.TOOL_CALL_ID,), failure_at="tool_output=is_error=True",
            own=OwnHooks(texts=("tool_output",))),
        HostEvent("PostToolUseFailure", "post-tool-call-failure", renames=(h.TOOL_CALL_ID,), own=OwnHooks(texts=("error",))),
        HostEvent("Stop", "pre-agent-turn-stop", block=h.EXIT_CODE_2, own=OwnHooks(answers=_REFUSAL)),
        HostEvent("SubagentStart", "pre-subagent", renames=(h.SUBAGENT_NAME, ("prompt", "task_description"))),
        HostEvent("SubagentStop", "post-subagent", renames=(h.SUBAGENT_NAME, ("response", "result"))),
        HostEvent("PreCompact", "pre-context-compact"),
        HostEvent("PostCompact", "post-context-compact", renames=(("estimated_token_count", "token_count_after"),)),
        HostEvent("StopFailure", "turn-failure", renames=(("error_message", "error"),)),
        HostEvent("Notification", "notification", renames=(("body", "message"),)),
        HostEvent("SessionEnd", "post-session", renames=(h.EXIT_REASON,)),
    ),
    {
        "Shell": ("Shell", ()),
        "ReadFile": ("ReadFile", (("path", "file_path"), ("line_offset", "offset"), ("n_lines", "limit"))),
        "ReadMediaFile": ("ReadFile", (("path", "file_path"),)),
        "WriteFile": ("WriteFile", (("path", "file_path"),)),
        "StrReplaceFile": ("EditFile", (("path", "file_path"), ("", "old_string"), ("", "new_string"))),
        "Glob": ("Glob", (("directory", "path"),)),
        **h.map_tools(Grep="Grep", FetchURL="WebFetch", SearchWeb="WebSearch", SetTodoList="Todo"),
        **h.map_tools(AskUserQuestion="AskUser", Agent="Agent"),
    },
    # Run: every event has the folder of the session as `cwd`; its shell takes no other folder.
    project_at=("cwd",),
    # Run: a tool of a server has its own name alone, and nothing else in the payload names the server.
    server_tool=h.SERVER_IS_UNKNOWN,
    own=OwnFiles(inputs={"StrReplaceFile": (("edit.old", "old_string"), ("edit.new", "new_string"))}),
)  # fmt: skip


def make_setup() -> h.Setup:
    from boathook.hosts.setup import TABLES, Setup

    return Setup(
        "kimi-cli", ("kimi-cli", "kimi"), ("KIMI_SHARE_DIR", ".kimi"), "config.toml", "", TABLES,
        runs_itself=("kimi-cli",), default_seconds=600, evidence="they are its own; it reads no other files",
        packages=("kimi_cli",),
    )  # fmt: skip
