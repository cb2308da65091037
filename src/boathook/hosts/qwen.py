"""Qwen Code. It sends the prompt event again, with an empty prompt, after every tool result: that event is not a prompt."""

from __future__ import annotations

from boathook.hosts import host as h
from boathook.hosts.host import Host, HostEvent, OwnFiles

_UNMAPPED_EVENTS = (
    *("PermissionDenied", "PostToolBatch", "UserPromptExpansion", "MessageDisplay", "SessionDelete"),
    *("TodoCreated", "TodoCompleted", "InstructionsLoaded"),
)

HOST = Host(
    "qwen", "Qwen Code", "0.24.4", "source of August 2026",
    (
        HostEvent("SessionStart", "pre-session", context=h.CONTEXT, plain_context=True, hook_fields=(("model", ""),)),
        HostEvent("UserPromptSubmit", "pre-agent-turn", block=h.BLOCK, stop=h.STOP, context=h.CONTEXT,
            required_key="prompt", untested="stop", plain_context=True),
        HostEvent("PreToolUse", "pre-tool-call", block=h.DENY, ask=h.ASK, stop=h.STOP, untested="stop"),
        HostEvent("PermissionRequest", "permission-request", block=h.REFUSE, allow=h.GRANT, untested="block allow"),
        HostEvent("PostToolUse", "post-tool-call", renames=(h.TOOL_RESPONSE,), block=h.CONTEXT, context=h.CONTEXT),
        HostEvent("PostToolUseFailure", "post-tool-call-failure", block=h.CONTEXT, context=h.CONTEXT,
            untested="block context"),
        HostEvent("Stop", "pre-agent-turn-stop", renames=(h.LAST_MESSAGE,), block=h.BLOCK, stop=h.STOP,
            untested="stop"),
        HostEvent("SubagentStart", "pre-subagent", renames=(h.SUBAGENT_TYPE,), context=h.CONTEXT, untested="context"),
        HostEvent("SubagentStop", "post-subagent", renames=(h.SUBAGENT_TYPE, h.SUBAGENT_RESULT), block=h.BLOCK,
            untested="block"),
        HostEvent("PreCompact", "pre-context-compact", context=h.CONTEXT, untested="context"),
        HostEvent("PostCompact", "post-context-compact"),
        HostEvent("StopFailure", "turn-failure"),
        HostEvent("Notification", "notification"),
        HostEvent("SessionEnd", "post-session", renames=(h.EXIT_REASON,)),
    ),
    {
        "run_shell_command": ("Shell", (("directory", "cwd"), ("is_background", "run_in_background"))),
        **h.map_tools(read_file="ReadFile", write_file="WriteFile", edit="EditFile", list_directory="ListDir"),
        **h.map_tools(glob="Glob", grep_search="Grep", web_fetch="WebFetch", web_search="WebSearch", agent="Agent"),
        **h.map_tools(todo_write="Todo", ask_user_question="AskUser"),
        "monitor": ("Shell", (("directory", "cwd"),)),
        "notebook_edit": ("EditFile", (("notebook_path", "file_path"), ("new_source", "new_string"))),
        "zoom_image": ("ReadFile", ()),
    },
    _UNMAPPED_EVENTS, message=h.MESSAGE,
    # Run: the variable is the folder of the session, also if a call names another one.
    project_at=("$QWEN_PROJECT_DIR",),
    message_unseen="runs without a terminal (`qwen -p`)",
    marks_refused_stops=True,
    own=OwnFiles(
        (("transcript_path", ""), ("permission_mode", "default")), sends_timestamp=True, reads_stderr=True,
        decision_words=("allow", "approve", "deny", "block", "ask"),
        special_tools=("monitor", "notebook_edit", "zoom_image"),
    ),
)  # fmt: skip


def make_setup() -> h.Setup:
    from boathook.hosts.setup import COMMAND_FIELDS, ENTRY_NAME, GROUPS, FolderTrust, Setup, Switch

    return Setup(
        "qwen", ("qwen",), ("QWEN_HOME", ".qwen"), "settings.json", ".qwen/settings.json", GROUPS,
        runs_itself=("qwen",), default_seconds=60,
        units_per_second=1000, entry_fields={"name": ENTRY_NAME, **COMMAND_FIELDS}, has_comments=True,
        switches=(
            Switch(("disableAllHooks",), off=True, user=("settings.json",), project=(".qwen/settings.json",)),
            Switch(("hooksConfig", "disabled"), off=ENTRY_NAME, user=("settings.json",),
                project=(".qwen/settings.json",)),
        ),
        evidence="they are its own; it reads no other files", folder_trust=FolderTrust("trustedFolders.json", (), "TRUST_FOLDER"),
        agent_variables=("QWEN_CODE",), packages=("@qwen-code/qwen-code",),
    )  # fmt: skip
