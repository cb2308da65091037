"""OpenCode, whose hooks are JavaScript: the events are those that our plugin (`install/opencode.js`) sends, in native JSON."""

from __future__ import annotations

from boathook.hosts import host as h
from boathook.hosts.host import Host, HostEvent

_CONTEXT = (("additional_context", "$"),)
_EDIT_RENAMES = (
    ("filePath", "file_path"), ("oldString", "old_string"), ("newString", "new_string"), ("replaceAll", "replace_all"),
)  # fmt: skip

HOST = Host(
    "opencode", "OpenCode", "1.18.33", "source of August 2026",
    (
        HostEvent("pre-session", "pre-session"),
        HostEvent("pre-agent-turn", "pre-agent-turn", context=_CONTEXT),
        HostEvent("pre-tool-call", "pre-tool-call", block=h.EXIT_CODE_2, input=(("modified_input", "$"),)),
        HostEvent("post-tool-call", "post-tool-call", block=_CONTEXT, output=(("modified_output", "$"),),
            context=_CONTEXT),
        HostEvent("post-tool-call-failure", "post-tool-call-failure"),
        HostEvent("pre-agent-turn-stop", "pre-agent-turn-stop"),
        HostEvent("pre-context-compact", "pre-context-compact", context=_CONTEXT, untested="context"),
        HostEvent("post-context-compact", "post-context-compact"),
        HostEvent("turn-failure", "turn-failure"),
        HostEvent("post-session", "post-session"),
    ),
    {
        "bash": ("Shell", (("workdir", "cwd"),)),
        "read": ("ReadFile", (("filePath", "file_path"),)),
        "write": ("WriteFile", (("filePath", "file_path"),)),
        "edit": ("EditFile", _EDIT_RENAMES),
        "apply_patch": ("PatchFile", (("patchText", "patch"),)),
        "glob": ("Glob", ()),
        "grep": ("Grep", (("include", "glob"),)),
        **h.map_tools(webfetch="WebFetch", websearch="WebSearch", task="Agent", todowrite="Todo", question="AskUser"),
    },
    event_keys=("event_type",), folder_keys=("work_dir",), message=(("system_message", "$"),),
    # Run: our plugin sends the folder that OpenCode gave it, which no call changes.
    project_at=("work_dir",),
    message_seen="stderr",
    subagent_events=("pre-agent-turn",),
    server_tool="{server}_{tool}",
)  # fmt: skip


def make_setup() -> h.Setup:
    from boathook.hosts.setup import PLUGIN, Setup

    return Setup(
        "opencode", ("opencode",), ("XDG_CONFIG_HOME", ".config"), "opencode/plugin/boathook.js",
        ".opencode/plugin/boathook.js", PLUGIN, evidence="it runs plugins only",
        # That of our plugin.
        default_seconds=600,
        agent_variables=("OPENCODE",), packages=("opencode-ai",), folder="opencode",
        off_options=("--pure",), off_variables=("OPENCODE_PURE",),
    )  # fmt: skip
