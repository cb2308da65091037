"""Qwen Code. It sends the prompt event again, with an empty prompt, after every tool result: that is no prompt."""

from __future__ import annotations

from boathook.hosts.host import (
    ADD_CONTEXT,
    ASK_PERSON,
    BLOCK_WITH_REASON,
    DENY_CALL,
    END_RUN,
    EXIT_REASON,
    GRANT_PERMISSION,
    LAST_MESSAGE,
    REFUSE_PERMISSION,
    SHOW_MESSAGE,
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
    "qwen",
    "Qwen Code",
    "0.24.4",
    "source of August 2026",
    (
        HostEvent("SessionStart", "pre-session", context=ADD_CONTEXT),
        HostEvent(
            "UserPromptSubmit",
            "pre-agent-turn",
            block=BLOCK_WITH_REASON,
            stop=END_RUN,
            context=ADD_CONTEXT,
            required_key="prompt",
            documented=("stop",),
        ),
        HostEvent("PreToolUse", "pre-tool-call", block=DENY_CALL, ask=ASK_PERSON, stop=END_RUN, documented=("stop",)),
        HostEvent(
            "PermissionRequest",
            "permission-request",
            block=REFUSE_PERMISSION,
            allow=GRANT_PERMISSION,
            documented=("block", "allow"),
        ),
        HostEvent("PostToolUse", "post-tool-call", renames=(TOOL_RESPONSE,), block=ADD_CONTEXT, context=ADD_CONTEXT),
        HostEvent(
            "PostToolUseFailure",
            "post-tool-call-failure",
            block=ADD_CONTEXT,
            context=ADD_CONTEXT,
            documented=("block", "context"),
        ),
        HostEvent(
            "Stop",
            "pre-agent-turn-stop",
            renames=(LAST_MESSAGE,),
            block=BLOCK_WITH_REASON,
            stop=END_RUN,
            documented=("stop",),
        ),
        HostEvent(
            "SubagentStart", "pre-subagent", renames=(SUBAGENT_TYPE,), context=ADD_CONTEXT, documented=("context",)
        ),
        HostEvent(
            "SubagentStop",
            "post-subagent",
            renames=(SUBAGENT_TYPE, SUBAGENT_RESULT),
            block=BLOCK_WITH_REASON,
            documented=("block",),
        ),
        HostEvent("PreCompact", "pre-context-compact", context=ADD_CONTEXT, documented=("context",)),
        HostEvent("PostCompact", "post-context-compact"),
        HostEvent("StopFailure", "turn-failure"),
        HostEvent("Notification", "notification"),
        HostEvent("SessionEnd", "post-session", renames=(EXIT_REASON,)),
    ),
    {
        "monitor": ("Shell", (("directory", "cwd"),)),
        "notebook_edit": ("EditFile", (("notebook_path", "file_path"), ("new_source", "new_string"))),
        "zoom_image": ("ReadFile", ()),
        "run_shell_command": ("Shell", (("directory", "cwd"), ("is_background", "run_in_background"))),
        "read_file": ("ReadFile", ()),
        "write_file": ("WriteFile", ()),
        "edit": ("EditFile", ()),
        "list_directory": ("ListDir", ()),
        "glob": ("Glob", ()),
        "grep_search": ("Grep", ()),
        "web_fetch": ("WebFetch", ()),
        "web_search": ("WebSearch", ()),
        "agent": ("Agent", ()),
        "todo_write": ("Todo", ()),
        "ask_user_question": ("AskUser", ()),
    },
    (
        "PermissionDenied",
        "PostToolBatch",
        "UserPromptExpansion",
        "MessageDisplay",
        "SessionDelete",
        "TodoCreated",
        "TodoCompleted",
        "InstructionsLoaded",
    ),
    message=SHOW_MESSAGE,
    project_variable="QWEN_PROJECT_DIR",
)


def make_setup() -> Setup:
    from boathook.hosts.setup import COMMAND_FIELDS, ENTRY_NAME, GROUPS, FolderTrust, Setup, Switch

    return Setup(
        "qwen",
        ("qwen",),
        ("QWEN_HOME", ".qwen"),
        "settings.json",
        ".qwen/settings.json",
        GROUPS,
        units_per_second=1000,
        entry_fields={"name": ENTRY_NAME, **COMMAND_FIELDS},
        has_comments=True,
        switches=(
            Switch(("disableAllHooks",), off=True, user=("settings.json",), project=(".qwen/settings.json",)),
            Switch(
                ("hooksConfig", "disabled"), off=ENTRY_NAME, user=("settings.json",), project=(".qwen/settings.json",)
            ),
        ),
        evidence="it reads its own settings only",
        folder_trust=FolderTrust("trustedFolders.json", (), "TRUST_FOLDER"),
    )
