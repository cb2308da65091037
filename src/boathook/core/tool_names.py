"""The names that tools have: ours first, then those of the agents in use. Data for the checker and for hosts."""

from __future__ import annotations

TOOL_NAMES: dict[str, tuple[str, ...]] = {
    "Shell": (
        "Bash",
        "Monitor",
        "monitor",
        "Execute",
        "PowerShell",
        "bash",
        "developer__shell",
        "execute_bash",
        "execute_command",
        "launch-process",
        "powershell",
        "run_commands",
        "run_in_terminal",
        "run_shell_command",
        "shell",
    ),
    "ReadFile": (
        "Read",
        "ReadMediaFile",
        "fs_read",
        "read",
        "read_file",
        "read_files",
        "read_many_files",
        "view",
        "view_image",
        "zoom_image",
    ),
    "WriteFile": (
        "Create",
        "Write",
        "create",
        "create_file",
        "fs_write",
        "save-file",
        "write",
        "write_file",
        "write_to_file",
    ),
    "EditFile": (
        "Edit",
        "MultiEdit",
        "NotebookEdit",
        "StrReplace",
        "StrReplaceFile",
        "developer__text_editor",
        "edit",
        "edit_file",
        "editor",
        "insert_edit_into_file",
        "multi_replace_string_in_file",
        "multiedit",
        "notebook_edit",
        "replace",
        "replace_in_file",
        "replace_string_in_file",
        "str-replace-editor",
    ),
    "PatchFile": ("ApplyPatch", "apply_patch"),
    "DeleteFile": ("Delete",),
    "ListDir": ("LS", "List", "list_dir", "list_directory", "list_files", "ls"),
    "Glob": ("file_search", "glob"),
    "Grep": ("grep", "grep_search", "search_codebase", "search_files"),
    "WebFetch": ("FetchURL", "FetchUrl", "fetch", "fetch_web_content", "fetch_webpage", "web_fetch", "webfetch"),
    "WebSearch": ("SearchWeb", "google_web_search", "web_search", "websearch"),
    "Agent": (
        "AgentSwarm",
        "Task",
        "Workflow",
        "agent",
        "invoke_agent",
        "runSubagent",
        "spawn_agent",
        "task",
        "team_run_task",
        "team_spawn_teammate",
    ),
    "Todo": (
        "SetTodoList",
        "TodoList",
        "TodoWrite",
        "manage_todo_list",
        "todo_write",
        "todowrite",
        "update_plan",
        "update_todo",
        "write_todos",
    ),
    "AskUser": (
        "AskUserQuestion",
        "ask_question",
        "ask_user",
        "ask_user_question",
        "question",
        "request_user_input",
        "vscode_askQuestions",
    ),
}
SERVER_TOOL_MARKS = ("mcp", "__", "MCP:", "@")  # tools of servers that people add: any name is possible

KNOWN_TOOLS: tuple[str, ...] = tuple(name for ours, others in TOOL_NAMES.items() for name in (ours, *others))

TOOL_INPUT_KEYS: dict[str, tuple[str, ...]] = {
    "Shell": ("command", "cwd", "timeout", "run_in_background", "description"),
    "ReadFile": ("file_path", "offset", "limit"),
    "WriteFile": ("file_path", "content"),
    "EditFile": ("file_path", "old_string", "new_string", "replace_all"),
    "PatchFile": ("patch",),
    "DeleteFile": ("file_path",),
    "ListDir": ("path",),
    "Glob": ("pattern", "path"),
    "Grep": ("pattern", "path", "glob"),
    "WebFetch": ("url", "prompt"),
    "WebSearch": ("query",),
    "Agent": ("prompt", "description", "subagent_type"),
    "Todo": ("todos",),
    "AskUser": ("questions",),
}  # what an input is called here; hosts' keys become these

CLAUDE_NAMES: dict[str, str] = {
    "Shell": "Bash",
    "ReadFile": "Read",
    "WriteFile": "Write",
    "EditFile": "Edit",
    "Todo": "TodoWrite",
    "AskUser": "AskUserQuestion",
}  # what hooks of settings.json call them, where that is another name

CLAUDE_TOOLS = frozenset(
    (
        "Bash",
        "PowerShell",
        "Monitor",
        "Read",
        "Write",
        "Edit",
        "MultiEdit",
        "NotebookEdit",
        "TodoWrite",
        "AskUserQuestion",
        "Task",
    )
)


_CANONICAL: dict[str, str] = {}


def find_canonical_name(name: str) -> str:
    """Return our name of a tool that agents are known to call so, else the name itself."""
    if not _CANONICAL:
        _CANONICAL.update({other: ours for ours, others in TOOL_NAMES.items() for other in others})
    return _CANONICAL.get(name, name)


def is_claude_tool(name: str) -> bool:
    """Whether Claude Code has a tool of that name, other than ours."""
    return name in CLAUDE_TOOLS


def find_claude_name(ours: str, theirs: str) -> str:
    """Return what Claude Code calls a tool that is named so here and so by its host."""
    return theirs if theirs in CLAUDE_TOOLS else CLAUDE_NAMES.get(ours, ours)
