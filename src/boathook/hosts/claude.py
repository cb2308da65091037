"""Claude Code. A refusal is JSON at exit 0: at exit 2 it would show the whole command line to the model."""

from __future__ import annotations

from boathook.hosts import host as h
from boathook.hosts.host import Host, HostEvent

UNMAPPED_CLAUDE_EVENTS = (
    *("ConfigChange", "CwdChanged", "DirectoryAdded", "Elicitation", "ElicitationResult", "FileChanged"),
    *("InstructionsLoaded", "MessageDisplay", "PermissionDenied", "PostModelSwitch", "PostToolBatch"),
    *("PreModelSwitch", "Setup", "TaskCompleted", "TaskCreated", "TeammateIdle", "UserPromptExpansion"),
    *("WorktreeCreate", "WorktreeRemove"),
)

HOST = Host(
    "claude", "Claude Code", "2.1.325", "vendor's documentation",
    (
        HostEvent("SessionStart", "pre-session", context=h.CONTEXT, stop=h.STOP, untested="stop"),
        HostEvent("UserPromptSubmit", "pre-agent-turn", block=h.BLOCK, stop=h.STOP, context=h.CONTEXT, untested="stop"),
        HostEvent("PreToolUse", "pre-tool-call", (), (), *h.CALL_ANSWERS, untested="allow stop"),
        HostEvent("PermissionRequest", "permission-request", block=h.REFUSE, allow=h.GRANT,
            stop=(*h.STOP, *h.REFUSE, (f"{h.SPECIFIC_OUTPUT}.decision.interrupt", True)),
            input=((f"{h.SPECIFIC_OUTPUT}.decision.updatedInput", "$"),), untested="block allow stop input"),
        HostEvent("PostToolUse", "post-tool-call", renames=(h.TOOL_RESPONSE,), block=h.BLOCK, stop=h.STOP,
            output=((f"{h.SPECIFIC_OUTPUT}.updatedToolOutput", "$"),), context=h.CONTEXT, untested="output"),
        HostEvent("PostToolUseFailure", "post-tool-call-failure", block=h.CONTEXT, stop=h.STOP, context=h.CONTEXT,
            untested="block context stop"),
        HostEvent("Stop", "pre-agent-turn-stop", renames=(h.LAST_MESSAGE,), block=h.BLOCK, stop=h.STOP,
            untested="stop"),
        HostEvent("SubagentStart", "pre-subagent", renames=(h.SUBAGENT_TYPE,), stop=h.STOP, context=h.CONTEXT,
            untested="stop context"),
        HostEvent("SubagentStop", "post-subagent", renames=(h.SUBAGENT_TYPE, h.SUBAGENT_RESULT), block=h.BLOCK,
            stop=h.STOP, untested="block stop"),
        HostEvent("PreCompact", "pre-context-compact", block=h.BLOCK, stop=h.STOP, untested="block stop"),
        HostEvent("PostCompact", "post-context-compact", stop=h.STOP, untested="stop"),
        HostEvent("SessionEnd", "post-session", renames=(h.EXIT_REASON,), stop=h.STOP, untested="stop"),
        HostEvent("StopFailure", "turn-failure", stop=h.STOP, untested="stop"),
        HostEvent("Notification", "notification", stop=h.STOP, untested="stop"),
    ),
    {
        **h.map_tools(Bash="Shell", PowerShell="Shell"),
        "Monitor": ("Shell", (("timeout_ms", "timeout"),)),
        "Workflow": ("Agent", (("script", "prompt"),)),
        **h.map_tools(MultiEdit="EditFile", Read="ReadFile", Write="WriteFile", Edit="EditFile"),
        "NotebookEdit": ("EditFile", (("notebook_path", "file_path"), ("new_source", "new_string"))),
        **h.map_tools(Glob="Glob", Grep="Grep", WebFetch="WebFetch", WebSearch="WebSearch", Agent="Agent"),
        **h.map_tools(Task="Agent", TodoWrite="Todo", AskUserQuestion="AskUser"),
    },
    UNMAPPED_CLAUDE_EVENTS, message=h.MESSAGE,
    # Run: the variable stays the folder of the session, while `cwd` and our own folder follow every `cd` of the model.
    project_at=("$CLAUDE_PROJECT_DIR",),
    env_file_variable="CLAUDE_ENV_FILE",
    message_seen="its terminal, and `--output-format stream-json`",
    foreign_keys=("timestamp", "cursor_version"), own_keys=("permission_mode",),
    marks_refused_stops=True,
    # Run: without a terminal (`claude -p`) a question is a denial with its reason; in a terminal it asks in every permission mode.
    unasked_at=(("$CLAUDE_CODE_SESSION_ATTENDED", "0"),),
    # Read: 2.1.199 to 2.1.278 ran such calls without a question in bypassPermissions, auto and default (anthropics/claude-code
    # 77212, 79356, 89561). Its payload has no version; AI_AGENT is `claude-code_2-1-325_agent`.
    ask_versions=h.AskVersions((2, 1, 325), "$AI_AGENT", r"claude-code\D(\d+)\D(\d+)\D(\d+)", "$CLAUDE_PROJECT_DIR"),
)  # fmt: skip


def make_setup() -> h.Setup:
    from boathook.hosts.setup import GROUPS, Setup, Switch

    return Setup(
        "claude", ("claude",), ("CLAUDE_CONFIG_DIR", ".claude"), "settings.json", ".claude/settings.local.json", GROUPS,
        max_seconds={"SessionEnd": 60}, default_seconds=600,
        switches=(
            Switch(("disableAllHooks",), off=True, user=("settings.json",),
                project=(".claude/settings.json", ".claude/settings.local.json")),
        ),
        runs_itself=("settings",), evidence="they are its own",
        off_options=("--bare", "--safe-mode", "--setting-sources"),
        off_variables=("CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE"),
        project_steps=("trust the folder when Claude Code asks (claude -p does not ask)",),
        agent_variables=("CLAUDECODE", "AI_AGENT"), packages=("@anthropic-ai/claude-code",),
    )  # fmt: skip
