"""Factory Droid. Its protocol is that of Claude Code; its tools and their keys are its own.

Its documentation names hooks.json first, but version 0.186.0 was reported to read only the `hooks` of settings.json.
"""

from __future__ import annotations

from boathook.hosts.host import (
    ADD_CONTEXT,
    ALLOW_CALL,
    ASK_PERSON,
    BLOCK_WITH_REASON,
    DENY_CALL,
    END_RUN,
    EXIT_REASON,
    REWRITE_INPUT,
    SHOW_MESSAGE,
    TOOL_RESPONSE,
    Host,
    HostEvent,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from boathook.hosts.setup import Setup

_FILE = (("file_path", "file_path"), ("path", "file_path"))

HOST = Host(
    "droid",
    "Factory Droid",
    "",
    "vendor's documentation",
    (
        HostEvent("SessionStart", "pre-session", context=ADD_CONTEXT),
        HostEvent("UserPromptSubmit", "pre-agent-turn", block=BLOCK_WITH_REASON, stop=END_RUN, context=ADD_CONTEXT),
        HostEvent(
            "PreToolUse",
            "pre-tool-call",
            block=DENY_CALL,
            ask=ASK_PERSON,
            allow=ALLOW_CALL,
            stop=END_RUN,
            input=REWRITE_INPUT,
        ),
        HostEvent(
            "PostToolUse",
            "post-tool-call",
            renames=(TOOL_RESPONSE,),
            block=BLOCK_WITH_REASON,
            stop=END_RUN,
            context=ADD_CONTEXT,
        ),
        HostEvent("Stop", "pre-agent-turn-stop", block=BLOCK_WITH_REASON, stop=END_RUN),
        HostEvent("SubagentStop", "post-subagent", block=BLOCK_WITH_REASON, stop=END_RUN),
        HostEvent("PreCompact", "pre-context-compact"),
        HostEvent("Notification", "notification"),
        HostEvent("SessionEnd", "post-session", renames=(EXIT_REASON,)),
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
        "Grep": ("Grep", ()),
        "FetchUrl": ("WebFetch", ()),
        "WebSearch": ("WebSearch", ()),
        "Task": ("Agent", ()),
        "TodoWrite": ("Todo", ()),
    },
    event_keys=("hook_event_name", "hookEventName"),
    session_keys=("session_id", "sessionId"),
    message=SHOW_MESSAGE,
    project_variable="FACTORY_PROJECT_DIR",
)


def make_setup() -> Setup:
    from boathook.hosts.setup import GROUPS, Setup

    return Setup(
        "droid",
        ("droid",),
        ("", ".factory"),
        "settings.json",
        ".factory/settings.json",
        GROUPS,
        has_comments=True,
        evidence="its documentation names only its own files",
        user_steps=(
            "if you have a .factory/hooks.json, move its hooks to settings.json: Droid reads only one of them",
        ),
    )
