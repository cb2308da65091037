"""Claude Code. A refusal is JSON at exit 0: at exit 2 it would show the whole command line to the model."""

from __future__ import annotations

from boathook.hosts.host import (
    ADD_CONTEXT,
    ALLOW_CALL,
    ASK_PERSON,
    BLOCK_WITH_REASON,
    DENY_CALL,
    END_RUN,
    EXIT_REASON,
    GRANT_PERMISSION,
    LAST_MESSAGE,
    REFUSE_PERMISSION,
    REWRITE_INPUT,
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

UNMAPPED_CLAUDE_EVENTS = (
    "ConfigChange",
    "CwdChanged",
    "DirectoryAdded",
    "Elicitation",
    "ElicitationResult",
    "FileChanged",
    "InstructionsLoaded",
    "MessageDisplay",
    "PermissionDenied",
    "PostModelSwitch",
    "PostToolBatch",
    "PreModelSwitch",
    "Setup",
    "TaskCompleted",
    "TaskCreated",
    "TeammateIdle",
    "UserPromptExpansion",
    "WorktreeCreate",
    "WorktreeRemove",
)

HOST = Host(
    "claude",
    "Claude Code",
    "2.1.325",
    "vendor's documentation",
    (
        HostEvent("SessionStart", "pre-session", context=ADD_CONTEXT, stop=END_RUN, documented=("stop",)),
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
            (),
            (),
            DENY_CALL,
            ASK_PERSON,
            ALLOW_CALL,
            END_RUN,
            REWRITE_INPUT,
            (),
            ADD_CONTEXT,
            documented=("allow", "stop"),
        ),
        HostEvent(
            "PermissionRequest",
            "permission-request",
            block=REFUSE_PERMISSION,
            allow=GRANT_PERMISSION,
            stop=(*END_RUN, *REFUSE_PERMISSION, (f"{SPECIFIC_OUTPUT}.decision.interrupt", True)),
            input=((f"{SPECIFIC_OUTPUT}.decision.updatedInput", "$"),),
            documented=("block", "allow", "stop", "input"),
        ),
        HostEvent(
            "PostToolUse",
            "post-tool-call",
            renames=(TOOL_RESPONSE,),
            block=BLOCK_WITH_REASON,
            stop=END_RUN,
            output=((f"{SPECIFIC_OUTPUT}.updatedToolOutput", "$"),),
            context=ADD_CONTEXT,
            documented=("output",),
        ),
        HostEvent(
            "PostToolUseFailure",
            "post-tool-call-failure",
            block=ADD_CONTEXT,
            stop=END_RUN,
            context=ADD_CONTEXT,
            documented=("block", "context", "stop"),
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
            "SubagentStart",
            "pre-subagent",
            renames=(SUBAGENT_TYPE,),
            stop=END_RUN,
            context=ADD_CONTEXT,
            documented=("stop", "context"),
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
            "PreCompact", "pre-context-compact", block=BLOCK_WITH_REASON, stop=END_RUN, documented=("block", "stop")
        ),
        HostEvent("PostCompact", "post-context-compact", stop=END_RUN, documented=("stop",)),
        HostEvent("SessionEnd", "post-session", renames=(EXIT_REASON,), stop=END_RUN, documented=("stop",)),
        HostEvent("StopFailure", "turn-failure", stop=END_RUN, documented=("stop",)),
        HostEvent("Notification", "notification", stop=END_RUN, documented=("stop",)),
    ),
    {
        "Bash": ("Shell", ()),
        "PowerShell": ("Shell", ()),
        "Monitor": ("Shell", (("timeout_ms", "timeout"),)),
        "Workflow": ("Agent", (("script", "prompt"),)),
        "MultiEdit": ("EditFile", ()),
        "Read": ("ReadFile", ()),
        "Write": ("WriteFile", ()),
        "Edit": ("EditFile", ()),
        "NotebookEdit": ("EditFile", (("notebook_path", "file_path"), ("new_source", "new_string"))),
        "Glob": ("Glob", ()),
        "Grep": ("Grep", ()),
        "WebFetch": ("WebFetch", ()),
        "WebSearch": ("WebSearch", ()),
        "Agent": ("Agent", ()),
        "Task": ("Agent", ()),
        "TodoWrite": ("Todo", ()),
        "AskUserQuestion": ("AskUser", ()),
    },
    UNMAPPED_CLAUDE_EVENTS,
    message=SHOW_MESSAGE,
    project_variable="CLAUDE_PROJECT_DIR",
    foreign_keys=("timestamp", "cursor_version"),
)


def make_setup() -> Setup:
    from boathook.hosts.setup import BY_HOST, GROUPS, Setup, Switch

    return Setup(
        "claude",
        ("claude",),
        ("CLAUDE_CONFIG_DIR", ".claude"),
        "settings.json",
        ".claude/settings.local.json",
        GROUPS,
        max_seconds={"SessionEnd": 60},
        switches=(
            Switch(
                ("disableAllHooks",),
                off=True,
                user=("settings.json",),
                project=(".claude/settings.json", ".claude/settings.local.json"),
            ),
        ),
        settings_runner=BY_HOST,
        evidence="they are its own",
        project_steps=("trust the folder when Claude Code asks (claude -p does not ask)",),
    )
