"""Agent hooks of VS Code: like Claude Code's, but a stop is refused inside `hookSpecificOutput`, a prompt by `continue`."""

from __future__ import annotations

from boathook.hosts import host as h
from boathook.hosts.host import Caller, Host, HostEvent

_GO_ON = (*h.BLOCK, (f"{h.SPECIFIC_OUTPUT}.decision", "block"), (f"{h.SPECIFIC_OUTPUT}.reason", "$"))

_TOOLS: h.ToolTable = {
    "run_in_terminal": ("Shell", ()),
    "read_file": ("ReadFile", (("filePath", "file_path"), ("startLine", "offset"))),
    "create_file": ("WriteFile", (("filePath", "file_path"),)),
    "replace_string_in_file": (
        "EditFile",
        (("filePath", "file_path"), ("oldString", "old_string"), ("newString", "new_string")),
    ),
    "multi_replace_string_in_file": (
        "EditFile",
        (("replacements[]", "file_path"), ("replacements[]", "old_string"), ("replacements[]", "new_string")),
    ),
    "edit_notebook_file": ("EditFile", (("filePath", "file_path"), ("newCode", "new_string"))),
    "insert_edit_into_file": ("EditFile", (("filePath", "file_path"), ("code", "new_string"))),
    "apply_patch": ("PatchFile", (("input", "patch"),)),
    "list_dir": ("ListDir", ()),
    "file_search": ("Glob", (("query", "pattern"),)),
    "grep_search": ("Grep", (("query", "pattern"), ("includePattern", "glob"))),
    "fetch_webpage": ("WebFetch", (("urls[]", "url"), ("query", "prompt"))),
    "runSubagent": ("Agent", (("agentName", "subagent_type"),)),
    "manage_todo_list": ("Todo", (("todoList", "todos"),)),
    "vscode_askQuestions": ("AskUser", ()),
}

HOST = Host(
    "vscode", "VS Code", "", "vendor's documentation of August 2026, source of March 2026",
    (
        HostEvent("SessionStart", "pre-session", context=h.CONTEXT),
        HostEvent("UserPromptSubmit", "pre-agent-turn", block=h.STOP, stop=h.STOP),
        HostEvent("PreToolUse", "pre-tool-call", (), (), *h.CALL_ANSWERS),
        HostEvent("PostToolUse", "post-tool-call", renames=(h.TOOL_RESPONSE,), block=h.BLOCK, stop=h.STOP,
            context=h.CONTEXT),
        HostEvent("PreCompact", "pre-context-compact", stop=h.STOP),
        HostEvent("SubagentStart", "pre-subagent", renames=(h.SUBAGENT_TYPE,), context=h.CONTEXT),
        HostEvent("SubagentStop", "post-subagent", renames=(h.SUBAGENT_TYPE,), block=_GO_ON),
        HostEvent("Stop", "pre-agent-turn-stop", block=_GO_ON),
    ),
    _TOOLS, message=h.MESSAGE,
    # Read: `cwd` is the folder of the workspace; hooks are started in the home folder.
    project_at=("cwd",), caller=Caller("claude", tools=_TOOLS, is_assumed=True),
    server_tool="mcp_{server}_{tool}",
)  # fmt: skip


def make_setup() -> h.Setup:
    from boathook.hosts.setup import FLAT, Setup

    return Setup(
        "vscode", ("code",), ("", ".copilot"), "hooks/boathook-vscode.json", ".github/hooks/boathook-vscode.json", FLAT,
        runs_itself=("settings",), default_seconds=30,
        # It would ask them about its own tools, by names that they do not know: twice is better than never.
        may_run_too=("copilot",),
        evidence="according to its documentation, chat.hookFilesLocations names .claude settings and .github/hooks by default",
        reads_files_of=("claude", "copilot"), unless_variable="COPILOT_HOOK_DIR",
        project_steps=("trust the workspace when VS Code asks",),
        # ~/.copilot belongs to Copilot CLI.
        editors=("code",), folder=None,
    )  # fmt: skip
