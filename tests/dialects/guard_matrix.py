"""The tables of the matrix: what every agent calls, what authors of hooks for each agent write, and how they refuse.

Both sides are written down by hand, as the agents have them, and not made from the rows that they test.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from boathook.core.verdict import Exit

PATH, OTHER_PATH = "/p/secret.env", "/p/other.env"
OLD, TEXT, MORE = "OLD=0", "PASSWORD=1", "TOKEN=2"
COMMAND = "git push --force"
ADD = f"*** Begin Patch\n*** Add File: {PATH}\n+{TEXT}\n*** End Patch"
UPDATE = f"*** Begin Patch\n*** Update File: {PATH}\n@@\n-{OLD}\n+{TEXT}\n*** End Patch"
REMOVE = f"*** Begin Patch\n*** Delete File: {PATH}\n*** End Patch"
SHELL_PATCH = f"apply_patch <<'EOF'\n{UPDATE}\nEOF"
SERVER_INPUT = {"path": PATH, "text": TEXT}
SHELL, WRITE, EDIT, EDITS, READ, SERVER = "shell", "write", "edit", "several edits", "read", "server"
PATCH_ADD, PATCH_EDIT, PATCH_DELETE, DELETE, PATCH_IN_SHELL = (
    *("patch that writes", "patch that edits", "patch that deletes", "delete", "patch in a command"),
)
TOOLS = (*(SHELL, WRITE, EDIT, EDITS, PATCH_ADD, PATCH_EDIT, PATCH_DELETE, DELETE, PATCH_IN_SHELL, READ, SERVER),)
# What a guard must find in a call, besides the path: the command, or the new texts.
TEXTS = {
    SHELL: (COMMAND,), WRITE: (TEXT,), EDIT: (TEXT,), EDITS: (TEXT, MORE), PATCH_ADD: (TEXT,), PATCH_EDIT: (TEXT,),
    PATCH_IN_SHELL: (TEXT,), SERVER: (TEXT,),
}  # fmt: skip

# Calls


def patch_calls(tool: str, key: str) -> dict[str, tuple[str, Any]]:
    texts = {PATCH_ADD: ADD, PATCH_EDIT: UPDATE, PATCH_DELETE: REMOVE}
    return {kind: (tool, {key: text}) for kind, text in texts.items()}


def no_patches(why: str) -> dict[str, str]:
    return dict.fromkeys((PATCH_ADD, PATCH_EDIT, PATCH_DELETE), why)


_NO_PATCH, _NO_DELETE = "it has no tool for patches", "it deletes files by its shell, or by a patch"
_ONE_EDIT = "its tool makes one edit with a call"
_PAIR = ({"old_string": OLD, "new_string": TEXT}, {"old_string": "a", "new_string": MORE})
# For each agent and kind of call: the tool and its input, or the reason why there is no such call.
CALLS: dict[str, dict[str, Any]] = {
    "claude": {
        SHELL: ("Bash", {"command": COMMAND}),
        WRITE: ("Write", {"file_path": PATH, "content": TEXT}),
        EDIT: ("Edit", {"file_path": PATH, "old_string": OLD, "new_string": TEXT}),
        EDITS: ("MultiEdit", {"file_path": PATH, "edits": [*_PAIR]}),
        **no_patches(_NO_PATCH),
        DELETE: _NO_DELETE,
        READ: ("Read", {"file_path": PATH}),
        SERVER: ("mcp__files__put", SERVER_INPUT),
    },
    "cline": {
        SHELL: ("run_commands", {"commands": [COMMAND]}),
        WRITE: ("write_to_file", {"path": PATH, "content": TEXT}),
        EDIT: ("editor", {"path": PATH, "old_text": OLD, "new_text": TEXT}),
        EDITS: ("replace_in_file", {"path": PATH, "diff": f"------- SEARCH\n{OLD}\n=======\n{TEXT}\n{MORE}\n+++++++ REPLACE"}),
        **patch_calls("apply_patch", "input"),
        DELETE: _NO_DELETE,
        READ: ("read_files", {"files": [{"path": PATH}]}),
        SERVER: ("files__put", SERVER_INPUT),
    },
    "codex": {
        SHELL: ("Bash", {"command": COMMAND}),
        WRITE: "it writes files by patches",
        EDIT: "it changes files by patches",
        EDITS: "it changes files by patches",
        **patch_calls("apply_patch", "command"),
        DELETE: _NO_DELETE,
        READ: ("view_image", {"path": PATH}),
        SERVER: ("mcp__files__put", SERVER_INPUT),
    },
    "copilot": {
        SHELL: ("bash", {"command": COMMAND, "description": "d"}),
        WRITE: ("create", {"path": PATH, "file_text": TEXT}),
        EDIT: ("edit", {"path": PATH, "old_str": OLD, "new_str": TEXT}),
        EDITS: _ONE_EDIT,
        **patch_calls("apply_patch", "input"),
        DELETE: _NO_DELETE,
        READ: ("view", {"path": PATH}),
        SERVER: ("files-put", SERVER_INPUT),
    },
    "cursor": {
        SHELL: ("Shell", {"command": COMMAND, "working_directory": "/p"}),
        WRITE: ("Write", {"file_path": PATH, "content": TEXT}),
        EDIT: ("StrReplace", {"path": PATH, "old_string": OLD, "new_string": TEXT}),
        EDITS: _ONE_EDIT,
        **no_patches(_NO_PATCH),
        DELETE: ("Delete", {"file_path": PATH}),
        READ: ("Read", {"file_path": PATH}),
        SERVER: ("MCP:put", SERVER_INPUT),
    },
    "droid": {
        SHELL: ("Execute", {"command": COMMAND}),
        WRITE: ("Create", {"file_path": PATH, "content": TEXT}),
        EDIT: ("Edit", {"file_path": PATH, "old_str": OLD, "new_str": TEXT}),
        EDITS: (
            "MultiEdit",
            {"file_path": PATH, "changes": [{"old_str": OLD, "new_str": TEXT}, {"old_str": "a", "new_str": MORE}]},
        ),
        **patch_calls("ApplyPatch", "input"),
        DELETE: _NO_DELETE,
        READ: ("Read", {"file_path": PATH}),
        SERVER: ("files___put", SERVER_INPUT),
    },
    "gemini": {
        SHELL: ("run_shell_command", {"command": COMMAND}),
        WRITE: ("write_file", {"file_path": PATH, "content": TEXT}),
        EDIT: ("replace", {"file_path": PATH, "old_string": OLD, "new_string": TEXT}),
        EDITS: _ONE_EDIT,
        **no_patches(_NO_PATCH),
        DELETE: _NO_DELETE,
        READ: ("read_file", {"file_path": PATH}),
        SERVER: ("mcp_files_put", SERVER_INPUT),
    },
    "kimi-cli": {
        SHELL: ("Shell", {"command": COMMAND}),
        WRITE: ("WriteFile", {"path": PATH, "content": TEXT}),
        EDIT: ("StrReplaceFile", {"path": PATH, "edit": {"old": OLD, "new": TEXT}}),
        EDITS: ("StrReplaceFile", {"path": PATH, "edit": [{"old": OLD, "new": TEXT}, {"old": "a", "new": MORE}]}),
        **no_patches(_NO_PATCH),
        DELETE: _NO_DELETE,
        READ: ("ReadFile", {"path": PATH}),
        SERVER: ("put", SERVER_INPUT),
    },
    "kimi-code": {
        SHELL: ("Bash", {"command": COMMAND}),
        WRITE: ("Write", {"path": PATH, "content": TEXT}),
        EDIT: ("Edit", {"path": PATH, "old_string": OLD, "new_string": TEXT}),
        EDITS: _ONE_EDIT,
        **no_patches(_NO_PATCH),
        DELETE: _NO_DELETE,
        READ: ("Read", {"path": PATH}),
        SERVER: ("mcp__files__put", SERVER_INPUT),
    },
    "kiro-cli": {
        SHELL: ("execute_bash", {"command": COMMAND}),
        WRITE: ("fs_write", {"command": "create", "path": PATH, "file_text": TEXT}),
        EDIT: ("fs_write", {"command": "str_replace", "path": PATH, "old_str": OLD, "new_str": TEXT}),
        EDITS: _ONE_EDIT,
        **no_patches(_NO_PATCH),
        DELETE: _NO_DELETE,
        READ: ("fs_read", {"operations": [{"mode": "Line", "path": PATH}]}),
        SERVER: ("@files/put", SERVER_INPUT),
    },
    "opencode": {
        SHELL: ("bash", {"command": COMMAND}),
        WRITE: ("write", {"filePath": PATH, "content": TEXT}),
        EDIT: ("edit", {"filePath": PATH, "oldString": OLD, "newString": TEXT}),
        EDITS: _ONE_EDIT,
        **patch_calls("apply_patch", "patchText"),
        DELETE: _NO_DELETE,
        READ: ("read", {"filePath": PATH}),
        SERVER: ("files_put", SERVER_INPUT),
    },
    "qwen": {
        SHELL: ("run_shell_command", {"command": COMMAND}),
        WRITE: ("write_file", {"file_path": PATH, "content": TEXT}),
        EDIT: ("edit", {"file_path": PATH, "old_string": OLD, "new_string": TEXT}),
        EDITS: _ONE_EDIT,
        **no_patches(_NO_PATCH),
        DELETE: _NO_DELETE,
        READ: ("read_file", {"file_path": PATH}),
        SERVER: ("mcp__files__put", SERVER_INPUT),
    },
    "vscode": {
        SHELL: ("run_in_terminal", {"command": COMMAND}),
        WRITE: ("create_file", {"filePath": PATH, "content": TEXT}),
        EDIT: ("replace_string_in_file", {"filePath": PATH, "oldString": OLD, "newString": TEXT}),
        EDITS: (
            "multi_replace_string_in_file",
            {"replacements": [
                {"filePath": PATH, "oldString": OLD, "newString": TEXT},
                {"filePath": OTHER_PATH, "oldString": "a", "newString": MORE},
            ]},
        ),
        **patch_calls("apply_patch", "input"),
        DELETE: _NO_DELETE,
        READ: ("read_file", {"filePath": PATH}),
        SERVER: ("mcp_files_put", SERVER_INPUT),
    },
    "windsurf": {
        SHELL: ("pre_run_command", {"command_line": COMMAND, "cwd": "/p"}),
        WRITE: ("pre_write_code", {"file_path": PATH, "edits": [{"old_string": "", "new_string": TEXT}]}),
        EDIT: ("pre_write_code", {"file_path": PATH, "edits": [{"old_string": OLD, "new_string": TEXT}]}),
        EDITS: ("pre_write_code", {"file_path": PATH, "edits": [*_PAIR]}),
        **no_patches(_NO_PATCH),
        DELETE: _NO_DELETE,
        READ: ("pre_read_code", {"file_path": PATH}),
        SERVER: (
            "pre_mcp_tool_use",
            {"mcp_server_name": "files", "mcp_tool_name": "put", "mcp_tool_arguments": SERVER_INPUT},
        ),
    },
}  # fmt: skip

# Other tools of agents for the same.
OTHER_CALLS: tuple[tuple[str, str, str, Any], ...] = (
    ("claude", SHELL, "Monitor", {"command": COMMAND}),
    ("claude", EDIT, "NotebookEdit", {"notebook_path": PATH, "new_source": TEXT}),
    ("claude", SERVER, "mcp__files__put", {"file": {"path": PATH}, "path": PATH, "text": TEXT}),
    ("cline", SHELL, "execute_command", {"command": COMMAND}),
    ("cline", SHELL, "run_commands", {"commands": ["ls", COMMAND]}),
    ("cline", READ, "read_file", {"path": PATH}),
    ("cline", SERVER, "use_mcp_tool", {"server_name": "files", "tool_name": "put", **SERVER_INPUT}),
    ("codex", SHELL, "shell", {"command": ["bash", "-lc", COMMAND], "workdir": "/p"}),
    ("codex", SHELL, "local_shell", {"command": COMMAND.split()}),
    ("copilot", SHELL, "write_bash", {"input": COMMAND}),
    ("copilot", SHELL, "powershell", {"command": COMMAND}),
    ("cursor", EDIT, "StrReplace", {"file_path": PATH, "old_string": OLD, "new_string": TEXT}),
    ("droid", WRITE, "Create", {"path": PATH, "content": TEXT}),
    ("gemini", READ, "read_many_files", {"include": [OTHER_PATH, PATH]}),
    ("kimi-cli", READ, "ReadMediaFile", {"path": PATH}),
    ("kiro-cli", SHELL, "shell", {"command": COMMAND}),
    ("kiro-cli", WRITE, "write", {"command": "create", "path": PATH, "file_text": TEXT}),
    ("kiro-cli", EDIT, "str_replace", {"path": PATH, "old_str": OLD, "new_str": TEXT}),
    ("kiro-cli", READ, "read", {"path": PATH}),
    ("qwen", SHELL, "monitor", {"command": COMMAND}),
    ("qwen", EDIT, "notebook_edit", {"notebook_path": PATH, "new_source": TEXT}),
    ("qwen", READ, "zoom_image", {"file_path": PATH}),
    ("vscode", EDIT, "insert_edit_into_file", {"filePath": PATH, "code": TEXT}),
    ("vscode", EDIT, "edit_notebook_file", {"filePath": PATH, "newCode": TEXT}),
)


def find_call(host: str, kind: str) -> tuple[str, Any] | str:
    """Return the tool and the input of a call, or the reason why the agent does not make such a call."""
    if kind != PATCH_IN_SHELL:
        return CALLS[host][kind]
    tool, given = CALLS[host][SHELL]
    return tool, json.loads(json.dumps(given).replace(json.dumps(COMMAND), json.dumps(SHELL_PATCH)))


def make_payload(host: str, tool: str, given: Any) -> tuple[bytes, str]:
    """Return what an agent sends before a call, and the name of the event beside it."""
    name = {"gemini": "BeforeTool", "copilot": "preToolUse", "cursor": "preToolUse", "opencode": "pre-tool-call"}
    event = name.get(host, "PreToolUse")
    usual = {"hook_event_name": event, "session_id": "s", "cwd": "/p", "tool_name": tool, "tool_input": given}
    other = {
        "cline": {"hookName": "tool_call", "taskId": "s", "workspaceRoots": ["/p"], "tool_call": {"name": tool, "input": given}},
        "copilot": {"sessionId": "s", "timestamp": 1, "cwd": "/p", "toolName": tool, "toolArgs": given},
        "cursor": {**usual, "conversation_id": "s", "workspace_roots": ["/p"], "mcp_server_name": "files"},
        "opencode": {"event_type": event, "session_id": "s", "work_dir": "/p", "tool_name": tool, "tool_input": given},
        "windsurf": {"agent_action_name": tool, "trajectory_id": "s", "tool_info": given},
    }  # fmt: skip
    return json.dumps(other.get(host, usual)).encode(), tool if host == "windsurf" else event


# Guards


class Way(NamedTuple):
    """An event of a form at which guards refuse calls, and what authors write there.

    `matchers` are those of authors for each kind of call; a kind without one has no tool in that agent. `places` are where such a
    guard looks for the path or the command in the payload. `without_matcher`: it is tried without one as well.
    """

    form: str
    event: str
    matchers: dict[str, str]
    places: dict[str, tuple[str, ...]]
    refusals: tuple[Exit, ...]
    without_matcher: bool = True

    @property
    def sees_all_tools(self) -> bool:
        return self.event in ("PreToolUse", "preToolUse", "BeforeTool")


def is_impossible(way: Way, host: str, kind: str, matcher: str | None) -> bool:
    """Whether an agent does not send what a guard asks: kimi-cli sends the name of a server's tool alone, like any other name."""
    asks_server = not way.sees_all_tools or (matcher is not None and matcher != "^put$")
    return host == "kimi-cli" and kind == SERVER and asks_server


def answer(**fields: Any) -> Exit:
    return Exit(0, json.dumps(fields).encode())


def change_matchers(shell: str, writes: str, reads: str, server: str) -> dict[str, str]:
    changed = dict.fromkeys((WRITE, EDIT, EDITS, PATCH_ADD, PATCH_EDIT, PATCH_DELETE, DELETE, PATCH_IN_SHELL), writes)
    found = {SHELL: shell, **changed, READ: reads, SERVER: server}
    return {kind: matcher for kind, matcher in found.items() if matcher}


def input_places(command: str, *paths: str, server: str) -> dict[str, tuple[str, ...]]:
    """Return the places of the command, of the paths of all tools for files, and of the path in a call of a server."""
    files = (WRITE, EDIT, EDITS, PATCH_ADD, PATCH_EDIT, PATCH_DELETE, DELETE, PATCH_IN_SHELL, READ)
    return {SHELL: (command,), **dict.fromkeys(files, paths), SERVER: (server,)}


REASON = "not this one"
_EXIT_2 = Exit(2, stderr=REASON.encode())
_NESTED = {"permissionDecision": "deny", "permissionDecisionReason": REASON}
_NESTED_DENY = answer(hookSpecificOutput={"hookEventName": "PreToolUse", **_NESTED})
_BLOCK, _DENY = answer(decision="block", reason=REASON), answer(decision="deny", reason=REASON)
_STOP = answer(**{"continue": False, "stopReason": REASON})
_ON_STDERR = Exit(0, stderr=json.dumps({"decision": "deny", "reason": REASON}).encode())
_TWICE = Exit(0, json.dumps(json.dumps({"decision": "deny", "reason": REASON})).encode())
_CURSOR_DENY = answer(permission="deny", agent_message=REASON, user_message=REASON)
_FILE_PATH = input_places("tool_input.command", "tool_input.file_path", server="tool_input.path")
_PATH = input_places("tool_input.command", "tool_input.path", server="tool_input.path")
# Its tools differ in this, so its guards look at both.
_CURSOR = input_places("tool_input.command", "tool_input.file_path", "tool_input.path", server="tool_input.path")
_CODEX = {
    **input_places("tool_input.command", "tool_input.command", server="tool_input.path"),
    # It has no tool that reads a text.
    READ: ("tool_input",),
}
_COPILOT = {
    **input_places("toolArgs.command", "toolArgs.path", "toolArgs.input", server="toolArgs.path"),
    PATCH_IN_SHELL: ("toolArgs.command", "toolArgs.path"),
}
_COPILOT_PASCAL = {
    kind: tuple(place.replace("toolArgs", "tool_input") for place in _COPILOT[kind]) for kind in _COPILOT
}
WAYS = (
    Way("settings.json", "PreToolUse", change_matchers("Bash", "Edit|Write", "Read", "mcp__files__.*"),
        _FILE_PATH, (_EXIT_2, _NESTED_DENY, _BLOCK, _STOP)),
    Way("codex", "PreToolUse", change_matchers("Bash", "apply_patch", "", "mcp__files__put"), _CODEX,
        (_EXIT_2, _NESTED_DENY, _BLOCK)),
    Way("codex", "PreToolUse", change_matchers("Bash", "Edit|Write", "", "mcp__.*"), _CODEX, (_EXIT_2,)),
    Way("gemini", "BeforeTool", change_matchers("run_shell_command", "write_file|replace", "read_file", "mcp_files_.*"),
        _FILE_PATH,
        (_EXIT_2, _DENY, _BLOCK, _STOP, Exit(2, stdout=REASON.encode()), Exit(3, stderr=REASON.encode()), _ON_STDERR, _TWICE)),
    Way("qwen", "PreToolUse",
        change_matchers("run_shell_command", "^(write_file|edit)$", "read_file", "mcp__files__put"),
        _FILE_PATH, (_EXIT_2, _DENY, _BLOCK, _STOP, _NESTED_DENY, _ON_STDERR)),
    Way("cursor", "preToolUse", change_matchers("Shell", "Write|Delete", "Read", "MCP:put"), _CURSOR,
        (_EXIT_2, _CURSOR_DENY, answer(permission="deny", agentMessage=REASON), _DENY)),
    Way("cursor", "beforeShellExecution", {SHELL: "git push"}, {SHELL: ("command",)}, (_EXIT_2, _CURSOR_DENY)),
    Way("cursor", "beforeReadFile", {READ: "Read"}, {READ: ("file_path",)}, (_EXIT_2, _CURSOR_DENY)),
    Way("cursor", "beforeMCPExecution", {SERVER: "MCP:put"}, {SERVER: ("tool_input",)}, (_EXIT_2, _CURSOR_DENY)),
    Way("copilot", "preToolUse", change_matchers("bash|powershell", "create|edit|apply_patch", "view", "files-put"),
        _COPILOT, (_EXIT_2, answer(**_NESTED), Exit(1, stderr=REASON.encode()))),
    Way("copilot", "PreToolUse", change_matchers("Bash", "Write|Edit|apply_patch", "Read", "files-put"),
        _COPILOT_PASCAL, (_EXIT_2, _NESTED_DENY, Exit(1, stderr=REASON.encode()))),
    Way("copilot", "preToolUse", change_matchers("", "create|edit", "", ""),
        dict.fromkeys(TOOLS, ("toolArgs.path",)), (_EXIT_2,), without_matcher=False),
    Way("kimi", "PreToolUse", change_matchers("Bash", "Write|Edit", "Read", "mcp__files__.*"),
        _PATH, (_EXIT_2, _NESTED_DENY)),
    Way("kimi-cli", "PreToolUse", change_matchers("Shell", "WriteFile|StrReplaceFile", "ReadFile", "^put$"),
        _PATH, (_EXIT_2, _NESTED_DENY)),
)  # fmt: skip


# Refusals


def is_refused(host: str, end: Exit) -> bool:
    """Whether an agent takes an answer as a refusal of the call, by its own rules."""
    if host in ("kiro-cli", "opencode", "windsurf"):
        return end.code == 2 and REASON.encode() in end.stderr
    fields = json.loads(end.stdout) if end.stdout.strip() else {}
    words = {
        "gemini": ("decision", "deny"),
        "copilot": ("permissionDecision", "deny"),
        "cursor": ("permission", "deny"),
    }
    key, word = words.get(host, ("cancel", True) if host == "cline" else ("permissionDecision", "deny"))
    found = fields if host in words or host == "cline" else fields.get("hookSpecificOutput", {})
    is_stopped = host in ("claude", "qwen", "gemini") and fields.get("continue") is False
    return end.code == 0 and (found.get(key) == word or is_stopped) and REASON in json.dumps(fields)
