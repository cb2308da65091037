"""Cline. Exit codes mean nothing there, and refusing one tool call ends the whole task."""

from __future__ import annotations

from boathook.hosts import host as h
from boathook.hosts.host import Host, HostEvent

# Not `overrideInput` with a command that fails, after which the task would go on: Cline takes the input of the last hook file or
# plugin that gives one, so another one would undo the refusal (run), and its extension ignores it. Any `cancel` holds.
_CANCEL = (("cancel", True), ("errorMessage", "$"))
_CONTEXT = (("contextModification", "$"),)
_CALL_RENAMES = (
    ("tool_call.name", "tool_name"), ("tool_call.input", "tool_input"), ("tool_call.id", "tool_use_id"),
    ("preToolUse.toolName", "tool_name"), ("preToolUse.parameters", "tool_input"),
)  # fmt: skip
_RESULT_RENAMES = (
    ("tool_result.name", "tool_name"), ("tool_result.input", "tool_input"), ("tool_result.id", "tool_use_id"),
    ("tool_result.output", "tool_output"), ("tool_result.durationMs", "duration_ms"),
    ("postToolUse.toolName", "tool_name"), ("postToolUse.parameters", "tool_input"),
    ("postToolUse.result", "tool_output"), ("postToolUse.executionTimeMs", "duration_ms"),
)  # fmt: skip

HOST = Host(
    "cline", "Cline", "3.0.65", "source of August 2026",
    (
        HostEvent("TaskStart", "pre-session", ("agent_start",), block=_CANCEL, stop=_CANCEL, untested="block stop"),
        HostEvent("TaskResume", "pre-session", block=_CANCEL, stop=_CANCEL, untested="block stop"),
        HostEvent("UserPromptSubmit", "pre-agent-turn", renames=(("userPromptSubmit.prompt", "prompt"),), block=_CANCEL,
            stop=_CANCEL, context=_CONTEXT, untested="block stop context"),
        HostEvent("PreToolUse", "pre-tool-call", ("tool_call",), _CALL_RENAMES, block=_CANCEL, stop=_CANCEL,
            input=(("overrideInput", "$"),), context=_CONTEXT),
        HostEvent("PostToolUse", "post-tool-call", ("tool_result",), _RESULT_RENAMES, block=_CONTEXT, context=_CONTEXT,
            failure_at="!postToolUse.success"),
        HostEvent("TaskComplete", "post-agent-turn", ("agent_end",), (("turn.outputText", "final_message"),)),
        HostEvent("TaskError", "turn-failure", ("agent_error",)),
        HostEvent("PreCompact", "pre-context-compact", block=_CANCEL, untested="block"),
        HostEvent("Notification", "notification"),
        HostEvent("SessionShutdown", "post-session", ("session_shutdown",), (("reason", "exit_reason"),)),
    ),
    {
        "run_commands": ("Shell", (("commands[]", "command"),)),
        "execute_command": ("Shell", ()),
        "read_files": ("ReadFile", (("files[]", "file_path"),)),
        "ask_question": ("AskUser", (("question", "questions"),)),
        "spawn_agent": ("Agent", (("task", "prompt"),)),
        "team_spawn_teammate": ("Agent", (("rolePrompt", "prompt"),)),
        "team_run_task": ("Agent", (("task", "prompt"),)),
        "read_file": ("ReadFile", (("path", "file_path"),)),
        "write_to_file": ("WriteFile", (("path", "file_path"),)),
        "editor": ("EditFile", (("path", "file_path"), ("old_text", "old_string"), ("new_text", "new_string"))),
        "replace_in_file": ("EditFile", (("path", "file_path"), ("diff", "new_string"))),
        "apply_patch": ("PatchFile", (("input", "patch"),)),
        "list_files": ("ListDir", ()),
        "search_codebase": ("Grep", (("queries[]", "pattern"),)),
        "search_files": ("Grep", (("regex", "pattern"), ("file_pattern", "glob"))),
        "fetch_web_content": ("WebFetch", (("", "url"),)),
    },
    ("TaskCancel",), event_keys=("hookName",), session_keys=("taskId",), folder_keys=("workspaceRoots.0",),
    # Run: every payload has the roots, and nothing else names a folder.
    project_at=("workspaceRoots.0",),
    # Run: neither its terminal nor a run without one shows messages of hooks.
    message_unseen="its terminal, and runs without one",
    hides_reasons=True,
    server_tool="{server}__{tool}",
    # Read: the extension has one tool for the tools of all servers.
    server_callers={"use_mcp_tool": ("tool_input.server_name", "tool_input.tool_name")},
    block_side_effect="Cline ends the whole task when a tool call is refused and does not say why; `boathook log` does",
)  # fmt: skip


def make_setup() -> h.Setup:
    from boathook.hosts.setup import FILES, Setup

    return Setup(
        "cline", ("cline",), ("", ""), "Documents/Cline/Hooks", ".clinerules/hooks", FILES,
        evidence="it runs executable files only", timeout_key="", default_seconds=120,
        user_steps=("turn hooks on in the settings of Cline's extension, if you use that one",),
        packages=("@cline/cli",), folder="Documents/Cline",
    )  # fmt: skip
