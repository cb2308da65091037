"""The names of tools: the canonical ones, those of all agents, and those that hooks of settings.json use."""

from __future__ import annotations

from boathook.core.event import FAMILIAR_NAMES
from boathook.hosts.host import list_host_names, load_host

# What the input of each canonical tool has; the keys of agents are translated to these.
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
}
# Tools of agents that have no file here.
_OTHER_TOOLS: dict[str, tuple[str, ...]] = {
    "Shell": ("developer__shell", "launch-process"),
    "WriteFile": ("save-file",),
    "EditFile": ("developer__text_editor", "edit_file", "multiedit", "str-replace-editor"),
    "ListDir": ("ls",),
    "WebFetch": ("fetch",),
}
# Parts of the names of tools from servers that people add: such tools can have any name.
SERVER_TOOL_MARKS = ("mcp", "__", "MCP:", "@")
# What hooks of settings.json call the canonical tools, where that is another name.
_FAMILIAR_NAMES = {
    **FAMILIAR_NAMES,
    # Claude Code has no tool for it, and a guard of files reads the keys of an edit.
    "DeleteFile": "Edit",
}
FAMILIAR_TOOLS = frozenset(
    (
        *("Bash", "PowerShell", "Monitor", "Read", "Write", "Edit", "MultiEdit", "NotebookEdit"),
        *("TodoWrite", "AskUserQuestion", "Task"),
    )
)
# What Claude Code has one tool for by now: today's settings name only that.
_MERGED_TOOLS = {"MultiEdit": "Edit"}
_names: dict[str, tuple[str, ...]] = {}
_canonical: dict[str, str] = {}


def list_tool_names() -> dict[str, tuple[str, ...]]:
    if not _names:
        names = {tool: {*_OTHER_TOOLS.get(tool, ())} for tool in TOOL_INPUT_KEYS}
        for host in map(load_host, list_host_names()):
            for theirs, (ours, _) in host.tools.items():
                names[ours].add(theirs)
        _names.update({tool: tuple(sorted(others - {tool})) for tool, others in names.items()})
    return _names


def list_known_tools() -> tuple[str, ...]:
    return tuple(name for ours, others in list_tool_names().items() for name in (ours, *others))


def find_canonical_name(name: str) -> str:
    # A run sees many tools of servers, and to load all agents for each of them would take time.
    if any(mark in name for mark in SERVER_TOOL_MARKS) and not any(name in others for others in _OTHER_TOOLS.values()):
        return name
    if not _canonical:
        _canonical.update({other: ours for ours, others in list_tool_names().items() for other in others})
    return _canonical.get(name, name)


def find_claude_name(ours: str, theirs: str) -> str:
    return theirs if theirs in FAMILIAR_TOOLS else _FAMILIAR_NAMES.get(ours, ours)


def find_aliases(ours: str, theirs: str) -> tuple[str, ...]:
    """Return the other names by which a matcher may mean a tool: the host's, and what Claude Code calls it."""
    claude_name = find_claude_name(ours, theirs)
    return tuple(dict.fromkeys((theirs, claude_name, _MERGED_TOOLS.get(claude_name, claude_name))))
