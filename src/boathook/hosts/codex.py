"""Codex CLI. Its schemas refuse keys they do not know, and a refusal needs a reason."""

from __future__ import annotations

from boathook.hosts.host import (
    ADD_CONTEXT,
    BLOCK_WITH_REASON,
    DENY_CALL,
    END_RUN,
    EXIT_REASON,
    GRANT_PERMISSION,
    LAST_MESSAGE,
    REFUSE_PERMISSION,
    SHOW_MESSAGE,
    SPECIFIC_OUTPUT,
    SUBAGENT_RESULT,
    SUBAGENT_TYPE,
    TOOL_RESPONSE,
    Host,
    HostEvent,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from boathook.hosts.setup import Setup

HOST = Host(
    "codex",
    "Codex CLI",
    "0.166.0",
    "source of August 2026",
    (
        HostEvent("SessionStart", "pre-session", stop=END_RUN, context=ADD_CONTEXT, documented=("stop",)),
        HostEvent(
            "UserPromptSubmit",
            "pre-agent-turn",
            block=BLOCK_WITH_REASON,
            stop=END_RUN,
            context=ADD_CONTEXT,
            documented=("stop",),
        ),
        HostEvent(
            "PreToolUse",
            "pre-tool-call",
            block=DENY_CALL,
            input=((f"{SPECIFIC_OUTPUT}.permissionDecision", "allow"), (f"{SPECIFIC_OUTPUT}.updatedInput", "$")),
            context=ADD_CONTEXT,
        ),
        HostEvent(
            "PermissionRequest",
            "permission-request",
            block=REFUSE_PERMISSION,
            allow=GRANT_PERMISSION,
            documented=("block", "allow"),
        ),
        HostEvent(
            "PostToolUse",
            "post-tool-call",
            renames=(TOOL_RESPONSE,),
            block=BLOCK_WITH_REASON,
            context=ADD_CONTEXT,
            failure_at="@transcript_path",
        ),
        HostEvent("PreCompact", "pre-context-compact", block=END_RUN, stop=END_RUN, documented=("block", "stop")),
        HostEvent("PostCompact", "post-context-compact", stop=END_RUN, documented=("stop",)),
        HostEvent(
            "SubagentStart", "pre-subagent", renames=(SUBAGENT_TYPE,), context=ADD_CONTEXT, documented=("context",)
        ),
        HostEvent(
            "SubagentStop",
            "post-subagent",
            renames=(SUBAGENT_TYPE, SUBAGENT_RESULT),
            block=BLOCK_WITH_REASON,
            stop=END_RUN,
            documented=("block", "stop"),
        ),
        HostEvent(
            "Stop",
            "pre-agent-turn-stop",
            renames=(LAST_MESSAGE,),
            block=BLOCK_WITH_REASON,
            stop=END_RUN,
            documented=("stop",),
        ),
        HostEvent("SessionEnd", "post-session", renames=(EXIT_REASON,)),
    ),
    {
        "Bash": ("Shell", ()),
        "apply_patch": ("PatchFile", (("command", "patch"),)),
        "spawn_agent": ("Agent", (("message", "prompt"),)),
        "request_user_input": ("AskUser", ()),
        "update_plan": ("Todo", (("plan", "todos"),)),
        "view_image": ("ReadFile", (("path", "file_path"),)),
        "web_search": ("WebSearch", ()),
    },
    ("Interrupt",),
    message=SHOW_MESSAGE,
)


def make_setup() -> Setup:
    from boathook.hosts.setup import GROUPS, FolderTrust, Setup, Switch

    return Setup(
        "codex",
        ("codex",),
        ("CODEX_HOME", ".codex"),
        "hooks.json",
        ".codex/hooks.json",
        GROUPS,
        max_seconds={"SessionEnd": 3, "Interrupt": 3},
        switches=(Switch(("features", "hooks"), off=False, user=("config.toml",), project=(".codex/config.toml",)),),
        evidence="it reads hooks.json and config.toml only",
        has_entry_trust=True,
        folder_trust=FolderTrust("config.toml", ("projects",), "trusted", needed=True),
    )
