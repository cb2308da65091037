"""Windsurf. Each kind of tool has events of its own that do not name the tool; the exit code is the whole answer."""

from __future__ import annotations

from boathook.hosts import host as h
from boathook.hosts.host import Host, HostEvent

_INPUT = (("tool_info", "tool_input"),)
_SERVER_TOOL = "mcp__{tool_info.mcp_server_name}__{tool_info.mcp_tool_name}"
_SERVER_INPUT = (("tool_info.mcp_tool_arguments", "tool_input"), ("tool_info.mcp_result", "tool_output"))

_TOOL_EVENTS = (
    ("run_command", "run_command", _INPUT),
    ("read_code", "read_code", _INPUT),
    ("write_code", "write_code", _INPUT),
    ("mcp_tool_use", _SERVER_TOOL, _SERVER_INPUT),
)

HOST = Host(
    "windsurf",
    "Windsurf",
    "",
    "vendor's documentation",
    (
        HostEvent(
            "pre_user_prompt", "pre-agent-turn", renames=(("tool_info.user_prompt", "prompt"),), block=h.EXIT_CODE_2
        ),
        *(
            HostEvent(f"{when}_{what}", f"{when}-tool-call", renames=renames, block=h.EXIT_CODE_2, tool_name=tool)
            for when in ("pre", "post")
            for what, tool, renames in _TOOL_EVENTS
        ),
        HostEvent("post_cascade_response", "post-agent-turn", renames=(("tool_info.response", "final_message"),)),
    ),
    {
        "run_command": ("Shell", (("command_line", "command"),)),
        "read_code": ("ReadFile", ()),
        "write_code": ("EditFile", (("", "old_string"), ("", "new_string"))),
    },
    ("post_cascade_response_with_transcript", "post_setup_worktree"),
    event_keys=("agent_action_name",),
    session_keys=("trajectory_id",),
    # Read: its hooks are started in the root of the workspace, and no payload names it.
    folder_keys=(),
    project_at=(".",),
)


def make_setup() -> h.Setup:
    from boathook.hosts.setup import FLAT, Setup

    return Setup(
        "windsurf", ("windsurf",), ("", ".codeium/windsurf"), "hooks.json", ".windsurf/hooks.json", FLAT,
        timeout_key="", entry_fields={"show_output": True}, evidence="its documentation names only its own hooks.json",
        editors=("windsurf",),
    )  # fmt: skip
