"""Windsurf. Each kind of tool has events of its own that do not name the tool; the exit code is the whole answer."""

from __future__ import annotations

from boathook.hosts.host import EXIT_CODE_2, Host, HostEvent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from boathook.hosts.setup import Setup

_INPUT = (("tool_info", "tool_input"),)
_SERVER_TOOL = "mcp__{tool_info.mcp_server_name}__{tool_info.mcp_tool_name}"
_SERVER_INPUT = (("tool_info.mcp_tool_arguments", "tool_input"), ("tool_info.mcp_result", "tool_output"))

HOST = Host(
    "windsurf",
    "Windsurf",
    "",
    "vendor's documentation",
    (
        HostEvent(
            "pre_user_prompt", "pre-agent-turn", renames=(("tool_info.user_prompt", "prompt"),), block=EXIT_CODE_2
        ),
        HostEvent("pre_run_command", "pre-tool-call", renames=_INPUT, block=EXIT_CODE_2, tool_name="run_command"),
        HostEvent("pre_read_code", "pre-tool-call", renames=_INPUT, block=EXIT_CODE_2, tool_name="read_code"),
        HostEvent("pre_write_code", "pre-tool-call", renames=_INPUT, block=EXIT_CODE_2, tool_name="write_code"),
        HostEvent(
            "pre_mcp_tool_use", "pre-tool-call", renames=_SERVER_INPUT, block=EXIT_CODE_2, tool_name=_SERVER_TOOL
        ),
        HostEvent("post_run_command", "post-tool-call", renames=_INPUT, block=EXIT_CODE_2, tool_name="run_command"),
        HostEvent("post_read_code", "post-tool-call", renames=_INPUT, block=EXIT_CODE_2, tool_name="read_code"),
        HostEvent("post_write_code", "post-tool-call", renames=_INPUT, block=EXIT_CODE_2, tool_name="write_code"),
        HostEvent(
            "post_mcp_tool_use", "post-tool-call", renames=_SERVER_INPUT, block=EXIT_CODE_2, tool_name=_SERVER_TOOL
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
    # Its hooks run in the root of the workspace, and no payload names it.
    folder_keys=(),
)


def make_setup() -> Setup:
    from boathook.hosts.setup import FLAT, Setup

    return Setup(
        "windsurf",
        ("windsurf",),
        ("", ".codeium/windsurf"),
        "hooks.json",
        ".windsurf/hooks.json",
        FLAT,
        timeout_key="",
        entry_fields={"show_output": True},
        evidence="its documentation names only its own hooks.json",
    )
