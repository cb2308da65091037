"""Who really calls: several agents read the settings.json of Claude Code, and so run the command that was installed there.

They are told apart by what they send, for variables are inherited by whatever runs inside an agent: Claude Code sends no time,
and tools have their names. Only where a payload leaves it open does a variable count.
"""

from __future__ import annotations

from boathook.core.tool_names import is_claude_tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

READ_BY_OTHERS = "claude"
GEMINIS = ("BeforeTool", "AfterTool", "BeforeAgent", "AfterAgent", "PreCompress")  # its own importer copies our entry
OF_CODE = frozenset(
    (
        *("run_in_terminal", "read_file", "create_file", "replace_string_in_file", "multi_replace_string_in_file"),
        *(
            "insert_edit_into_file",
            "apply_patch",
            "list_dir",
            "file_search",
            "grep_search",
            "fetch_webpage",
            "runSubagent",
        ),
        *("manage_todo_list", "vscode_askQuestions"),
    )
)  # tools of VS Code, as in its table, which is not loaded for this
SIGNS = (b'"timestamp"', b'"cursor_version"')  # one of them stands in what the others send


def may_be_another(host: str, data: bytes) -> bool:
    """Whether bytes that came for a host may be another's; cheap, for it is asked at every event."""
    return host == READ_BY_OTHERS and any(sign in data for sign in SIGNS)


def another(fields: Mapping[str, Any], env: Mapping[bytes, bytes]) -> str:
    """Return the host that sent these fields to Claude Code's command; nothing if it was Claude Code."""
    if "cursor_version" in fields:
        return "cursor"
    if "timestamp" not in fields:
        return ""
    event, tool = fields.get("hook_event_name"), fields.get("tool_name")
    if event in GEMINIS:
        return "gemini"
    if isinstance(tool, str) and tool in OF_CODE:
        return "vscode"
    if isinstance(tool, str) and is_claude_tool(tool):
        return "copilot"
    return "copilot" if b"COPILOT_CLI" in env else "vscode"


def own_files(installations: Any, host: str, folder: str) -> list[str]:
    """Return the files by which a host has a command of its own, everywhere or for the project that a folder belongs to."""
    found: list[str] = []
    for one in _objects(installations):
        place = str(one.get("project") or "").rstrip("/")
        if one.get("host") == host and f"{folder}/".startswith(f"{place}/"):
            found += [str(file.get("path")) for file in _objects(one.get("files"))]
    return found


def calls_for(host: str, text: str) -> bool:
    """Whether a file of a host's still has our command: a record alone is not believed, for twice is better than never."""
    return f"--host {host} " in text and "hook_entry.py" in text


def _objects(value: Any) -> list[dict[str, Any]]:
    listed: list[Any] = value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]
    return [one for one in listed if isinstance(one, dict)]
