"""Agent hooks of VS Code: like Claude Code's, but a stop is refused inside `hookSpecificOutput`, a prompt by `continue`."""

from __future__ import annotations

from boathook.hosts.host import (
    AGENT_TYPE,
    ALLOW,
    ASK,
    BLOCK,
    CONTEXT,
    DENY,
    END,
    INPUT,
    MESSAGE,
    NESTED,
    RESPONSE,
    Host,
    Row,
)

_GO_ON = (*BLOCK, (f"{NESTED}.decision", "block"), (f"{NESTED}.reason", "$"))

HOST = Host(
    "vscode",
    "VS Code",
    "",
    "vendor's documentation of August 2026, source of March 2026",
    (
        Row("SessionStart", "pre-session", context=CONTEXT),
        Row("UserPromptSubmit", "pre-agent-turn", block=END, stop=END),
        Row("PreToolUse", "pre-tool-call", (), (), DENY, ASK, ALLOW, END, INPUT, (), CONTEXT),
        Row("PostToolUse", "post-tool-call", renames=(RESPONSE,), block=BLOCK, stop=END, context=CONTEXT),
        Row("PreCompact", "pre-context-compact", stop=END),
        Row("SubagentStart", "pre-subagent", renames=(AGENT_TYPE,), context=CONTEXT),
        Row("SubagentStop", "post-subagent", renames=(AGENT_TYPE,), block=_GO_ON),
        Row("Stop", "pre-agent-turn-stop", block=_GO_ON),
    ),
    {
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
    },
    message=MESSAGE,
)
