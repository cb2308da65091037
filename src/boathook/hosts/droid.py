"""Factory Droid: Claude Code's protocol, with its own tools. Version 0.186.0 was reported to read hooks of settings.json only."""

from __future__ import annotations

from boathook.hosts import host as h
from boathook.hosts.host import Host, HostEvent

_FILE = (("file_path", "file_path"), ("path", "file_path"))

HOST = Host(
    "droid", "Factory Droid", "", "vendor's documentation",
    (
        HostEvent("SessionStart", "pre-session", context=h.CONTEXT),
        HostEvent("UserPromptSubmit", "pre-agent-turn", block=h.BLOCK, stop=h.STOP, context=h.CONTEXT),
        HostEvent("PreToolUse", "pre-tool-call", block=h.DENY, ask=h.ASK, allow=h.ALLOW, stop=h.STOP, input=h.INPUT),
        HostEvent("PostToolUse", "post-tool-call", renames=(h.TOOL_RESPONSE,), block=h.BLOCK, stop=h.STOP,
            context=h.CONTEXT),
        HostEvent("Stop", "pre-agent-turn-stop", block=h.BLOCK, stop=h.STOP),
        HostEvent("SubagentStop", "post-subagent", block=h.BLOCK, stop=h.STOP),
        HostEvent("PreCompact", "pre-context-compact"),
        HostEvent("Notification", "notification"),
        HostEvent("SessionEnd", "post-session", renames=(h.EXIT_REASON,)),
    ),
    {
        "Execute": ("Shell", ()),
        "Read": ("ReadFile", _FILE),
        "Create": ("WriteFile", _FILE),
        "Edit": ("EditFile", (*_FILE, ("old_str", "old_string"), ("new_str", "new_string"))),
        "MultiEdit": ("EditFile", _FILE),
        "ApplyPatch": ("PatchFile", (("input", "patch"),)),
        "LS": ("ListDir", (("directory_path", "path"),)),
        "Glob": ("Glob", (("patterns[]", "pattern"), ("folder", "path"))),
        **h.map_tools(Grep="Grep", FetchUrl="WebFetch", WebSearch="WebSearch", Task="Agent", TodoWrite="Todo"),
    },
    event_keys=("hook_event_name", "hookEventName"), session_keys=("session_id", "sessionId"), message=h.MESSAGE,
    # Read: its documentation names the variable; whether `cwd` follows the model is not known.
    project_at=("$FACTORY_PROJECT_DIR",),
    server_tool="{server}___{tool}",
)  # fmt: skip


def make_setup() -> h.Setup:
    from boathook.hosts.setup import GROUPS, Setup

    return Setup(
        "droid", ("droid",), ("", ".factory"), "settings.json", ".factory/settings.json", GROUPS, has_comments=True,
        default_seconds=60,
        evidence="its documentation names only its own files",
        user_steps=(
            "if you have a .factory/hooks.json, move its hooks to settings.json: Droid reads only one of them",
        ),
    )  # fmt: skip
