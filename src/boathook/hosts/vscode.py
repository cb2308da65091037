"""Agent hooks of VS Code: like Claude Code's, but a stop is refused inside `hookSpecificOutput`, a prompt by `continue`."""

from __future__ import annotations

from boathook.hosts.host import (
    ADD_CONTEXT,
    ALLOW_CALL,
    ASK_PERSON,
    BLOCK_WITH_REASON,
    DENY_CALL,
    END_RUN,
    REWRITE_INPUT,
    SHOW_MESSAGE,
    SPECIFIC_OUTPUT,
    SUBAGENT_TYPE,
    TOOL_RESPONSE,
    Caller,
    Host,
    HostEvent,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from boathook.hosts.host import ToolTable
    from boathook.hosts.setup import Setup

_GO_ON = (*BLOCK_WITH_REASON, (f"{SPECIFIC_OUTPUT}.decision", "block"), (f"{SPECIFIC_OUTPUT}.reason", "$"))

_TOOLS: ToolTable = {
    "run_in_terminal": ("Shell", ()),
    "read_file": ("ReadFile", (("filePath", "file_path"), ("startLine", "offset"))),
    "create_file": ("WriteFile", (("filePath", "file_path"),)),
    "replace_string_in_file": (
        "EditFile",
        (("filePath", "file_path"), ("oldString", "old_string"), ("newString", "new_string")),
    ),
    "multi_replace_string_in_file": ("EditFile", (("", "file_path"), ("", "old_string"), ("", "new_string"))),
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
    "vscode",
    "VS Code",
    "",
    "vendor's documentation of August 2026, source of March 2026",
    (
        HostEvent("SessionStart", "pre-session", context=ADD_CONTEXT),
        HostEvent("UserPromptSubmit", "pre-agent-turn", block=END_RUN, stop=END_RUN),
        HostEvent(
            "PreToolUse",
            "pre-tool-call",
            (),
            (),
            DENY_CALL,
            ASK_PERSON,
            ALLOW_CALL,
            END_RUN,
            REWRITE_INPUT,
            (),
            ADD_CONTEXT,
        ),
        HostEvent(
            "PostToolUse",
            "post-tool-call",
            renames=(TOOL_RESPONSE,),
            block=BLOCK_WITH_REASON,
            stop=END_RUN,
            context=ADD_CONTEXT,
        ),
        HostEvent("PreCompact", "pre-context-compact", stop=END_RUN),
        HostEvent("SubagentStart", "pre-subagent", renames=(SUBAGENT_TYPE,), context=ADD_CONTEXT),
        HostEvent("SubagentStop", "post-subagent", renames=(SUBAGENT_TYPE,), block=_GO_ON),
        HostEvent("Stop", "pre-agent-turn-stop", block=_GO_ON),
    ),
    _TOOLS,
    message=SHOW_MESSAGE,
    caller=Caller("claude", tools=_TOOLS, is_assumed=True),
)


def make_setup() -> Setup:
    from boathook.hosts.setup import BY_HOST, FLAT, Setup

    return Setup(
        "vscode",
        ("code",),
        ("", ".copilot"),
        "hooks/boathook-vscode.json",
        ".github/hooks/boathook-vscode.json",
        FLAT,
        settings_runner=BY_HOST,
        evidence="its documentation: chat.hookFilesLocations names .claude settings by default",
        reads_files_of=("claude", "copilot"),
        unless_variable="COPILOT_HOOK_DIR",
        project_steps=("trust the workspace when VS Code asks",),
    )
