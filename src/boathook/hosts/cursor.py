"""Cursor. One tool call fires several events there; the one that names the tool is installed, the others can be by hand."""

from __future__ import annotations

from boathook.hosts import host as h
from boathook.hosts.host import Caller, Host, HostEvent

_DENY = (("permission", "deny"), ("user_message", "$"), ("agent_message", "$"))
_CONTEXT = (("additional_context", "$"),)
_GO_ON = (("followup_message", "$"),)
_ALLOW = (("permission", "allow"),)
_ASK = (("permission", "ask"), ("user_message", "$"), ("agent_message", "$"))
_SERVER_TOOL, _SERVER_NAME = "mcp__{mcp_server_name}__{tool_name}", ("tool_name", "mcp_tool_name")
_DURATION = ("duration", "duration_ms")
# Cursor 2.0 has no preToolUse. Which version brought it is not known: before this one hooks run twice rather than never.
_BEFORE_CALL, _AFTER_CALL = (("preToolUse", "cursor_version", 3), ("postToolUse", "cursor_version", 3))

_SINGLE_TOOL_EVENTS = (
    HostEvent("beforeShellExecution", "pre-tool-call", block=_DENY, ask=_ASK, allow=_ALLOW, tool_name="Shell",
        input_keys=("command",), same_call_as=_BEFORE_CALL),
    HostEvent("beforeMCPExecution", "pre-tool-call", renames=(_SERVER_NAME,), block=_DENY, ask=_ASK, allow=_ALLOW,
        tool_name=_SERVER_TOOL, same_call_as=_BEFORE_CALL),
    HostEvent("beforeReadFile", "pre-tool-call", block=_DENY, allow=_ALLOW, tool_name="Read",
        input_keys=("file_path",), same_call_as=_BEFORE_CALL),
    HostEvent("afterShellExecution", "post-tool-call", renames=(("output", "tool_output"), _DURATION),
        tool_name="Shell", input_keys=("command",), same_call_as=_AFTER_CALL),
    HostEvent("afterMCPExecution", "post-tool-call", renames=(_SERVER_NAME, ("result_json", "tool_output"), _DURATION),
        tool_name=_SERVER_TOOL, same_call_as=_AFTER_CALL),
    HostEvent("afterFileEdit", "post-tool-call", tool_name="StrReplace", input_keys=("file_path", "edits"),
        same_call_as=_AFTER_CALL),
)  # fmt: skip
_UNMAPPED_EVENTS = (
    *("afterAgentResponse", "afterAgentThought", "beforeTabFileRead", "afterTabFileEdit", "workspaceOpen"),
)

HOST = Host(
    "cursor", "Cursor", "", "vendor's documentation of August 2026",
    (
        HostEvent("sessionStart", "pre-session", context=_CONTEXT),
        HostEvent("beforeSubmitPrompt", "pre-agent-turn", block=(("continue", False), ("user_message", "$"))),
        HostEvent("preToolUse", "pre-tool-call", block=_DENY, allow=_ALLOW,
            input=(("updated_input", "$"),)),
        HostEvent("postToolUse", "post-tool-call", renames=(_DURATION,), block=_CONTEXT,
            context=_CONTEXT),
        HostEvent("postToolUseFailure", "post-tool-call-failure",
            renames=(("error_message", "error"), _DURATION)),
        HostEvent("subagentStart", "pre-subagent", renames=(("task", "task_description"),),
            block=(("permission", "deny"), ("user_message", "$"))),
        HostEvent("subagentStop", "post-subagent", renames=(("task", "task_description"), ("summary", "result")),
            block=_GO_ON),
        HostEvent("stop", "pre-agent-turn-stop", renames=(("status", "stop_reason"),), block=_GO_ON),
        HostEvent("preCompact", "pre-context-compact", renames=(("context_tokens", "token_count"),)),
        HostEvent("sessionEnd", "post-session", renames=(h.EXIT_REASON,)),
        *(event.replace(is_installed=False) for event in _SINGLE_TOOL_EVENTS),
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
    _UNMAPPED_EVENTS, session_keys=("conversation_id", "session_id"), folder_keys=("cwd", "workspace_roots.0"),
    empty_answer="{}", caller=Caller("claude", keys=("cursor_version",)),
    # Read: every payload has the roots, and `cwd` is that of one call; hooks of the user are started in ~/.cursor.
    project_at=("workspace_roots.0", "$CURSOR_PROJECT_DIR"),
    server_tool="MCP:{tool}",
    server_places=("mcp_server_name", ""),
)  # fmt: skip


def make_setup() -> h.Setup:
    from boathook.hosts.setup import FLAT, Setup

    return Setup(
        "cursor", ("cursor", "cursor-agent"), ("", ".cursor"), "hooks.json", ".cursor/hooks.json", FLAT,
        entry_fields={}, extra_values={("version",): 1}, runs_itself=("settings",),
        evidence="according to its documentation, if you turn on third-party hooks in its settings",
        reads_files_of=("claude",),
        user_steps=("turn on third-party hooks in Cursor's settings, if it is to run hooks of settings.json as well",),
        project_steps=("trust the workspace when Cursor asks",),
        editors=("cursor",),
    )  # fmt: skip
