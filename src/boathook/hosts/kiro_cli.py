"""Kiro CLI 3, and 2 if its agents have the hooks: exit code 2 refuses a tool call and nothing else, plain output is context."""

from __future__ import annotations

from boathook.hosts import host as h
from boathook.hosts.host import Host, HostEvent

_CONTEXT = (("stdout", "$"),)
_COMMAND = ("Shell", ())
_READ = ("ReadFile", (("operations[]", "file_path"), ("path", "file_path")))
_WRITE = ("WriteFile", (("path", "file_path"), ("file_text", "content"), ("new_str", "content")))

HOST = Host(
    "kiro-cli", "Kiro CLI", "", "vendor's documentation",
    (
        HostEvent("SessionStart", "pre-session", ("agentSpawn",), context=_CONTEXT),
        HostEvent("UserPromptSubmit", "pre-agent-turn", ("userPromptSubmit",), context=_CONTEXT),
        HostEvent("PreToolUse", "pre-tool-call", ("preToolUse",), block=h.EXIT_CODE_2),
        HostEvent("PostToolUse", "post-tool-call", ("postToolUse",), renames=(h.TOOL_RESPONSE,)),
        HostEvent("Stop", "pre-agent-turn-stop", ("stop",)),
    ),
    {
        "execute_bash": _COMMAND,
        "shell": _COMMAND,
        "fs_read": _READ,
        "read": _READ,
        "fs_write": _WRITE,
        "write": _WRITE,
        "str_replace": ("EditFile", (("path", "file_path"), ("old_str", "old_string"), ("new_str", "new_string"))),
    },
    ("PostFileSave", "PostFileCreate", "PostFileDelete", "PreTaskExec", "PostTaskExec", "Manual"),
    # Read: its documentation names `cwd` and no variable; where hooks are started is not known.
    project_at=("cwd",),
    server_tool="@{server}/{tool}",
)  # fmt: skip


def make_setup() -> h.Setup:
    from boathook.hosts.setup import LIST, Setup

    return Setup(
        "kiro-cli", ("kiro-cli",), ("", ".kiro"), "hooks/boathook.json", ".kiro/hooks/boathook.json", LIST,
        event_key="trigger", default_seconds=30, handler_key="action", extra_values={("version",): "v1"},
        evidence="its documentation names only its own files",
        user_steps=(
            "use Kiro CLI 3, or copy the commands into the hooks of your agents: version 2 reads no other files",
        ),
    )  # fmt: skip
