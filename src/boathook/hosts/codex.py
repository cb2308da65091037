"""Codex CLI. Its schemas refuse keys they do not know, and a refusal needs a reason."""

from __future__ import annotations

from boathook.hosts import host as h
from boathook.hosts.host import Host, HostEvent, OwnFiles, OwnHooks

# Hooks know the shell as `Bash`; these are its names in other versions, and in other agents.
_CALL_HOOKS = OwnHooks(hidden_tools=("shell", "local_shell"))

HOST = Host(
    "codex", "Codex CLI", "0.166.0", "source of August 2026",
    (
        HostEvent("SessionStart", "pre-session", stop=h.STOP, context=h.CONTEXT, untested="stop", plain_context=True),
        HostEvent("UserPromptSubmit", "pre-agent-turn", block=h.BLOCK, stop=h.STOP, context=h.CONTEXT, untested="stop",
            plain_context=True),
        HostEvent("PreToolUse", "pre-tool-call", block=h.DENY,
            input=((f"{h.SPECIFIC_OUTPUT}.permissionDecision", "allow"), (f"{h.SPECIFIC_OUTPUT}.updatedInput", "$")),
            context=h.CONTEXT, own=_CALL_HOOKS),
        HostEvent("PermissionRequest", "permission-request", block=h.REFUSE, allow=h.GRANT, untested="block allow",
            own=_CALL_HOOKS),
        HostEvent("PostToolUse", "post-tool-call", renames=(h.TOOL_RESPONSE,), block=h.BLOCK, context=h.CONTEXT,
            failure_at="@transcript_path", own=_CALL_HOOKS),
        HostEvent("PreCompact", "pre-context-compact", block=h.STOP, stop=h.STOP, untested="block stop"),
        HostEvent("PostCompact", "post-context-compact", stop=h.STOP, untested="stop"),
        HostEvent("SubagentStart", "pre-subagent", renames=(h.SUBAGENT_TYPE,), context=h.CONTEXT, untested="context",
            plain_context=True),
        HostEvent("SubagentStop", "post-subagent", renames=(h.SUBAGENT_TYPE, h.SUBAGENT_RESULT), block=h.BLOCK,
            stop=h.STOP, untested="block stop"),
        HostEvent("Stop", "pre-agent-turn-stop", renames=(h.LAST_MESSAGE,), block=h.BLOCK, stop=h.STOP,
            untested="stop"),
        HostEvent("SessionEnd", "post-session", renames=(h.EXIT_REASON,)),
    ),
    {
        "Bash": ("Shell", ()),
        # Other versions name their shell so, and send its command as a list of words.
        "shell": ("Shell", (("workdir", "cwd"), ("timeout_ms", "timeout"))),
        "local_shell": ("Shell", (("workdir", "cwd"), ("timeout_ms", "timeout"))),
        "apply_patch": ("PatchFile", (("command", "patch"),)),
        "spawn_agent": ("Agent", (("message", "prompt"),)),
        "request_user_input": ("AskUser", ()),
        "update_plan": ("Todo", (("plan", "todos"),)),
        "view_image": ("ReadFile", (("path", "file_path"),)),
        "web_search": ("WebSearch", ()),
    },
    ("Interrupt",), message=h.MESSAGE,
    # Run: `cwd` is the `workdir` of one call, which the model chooses; our own folder stays that of the session. No variable.
    project_at=(".",),
    message_unseen="runs without a terminal (`codex exec`)", message_seen="its terminal",
    subagent_events=("pre-agent-turn",),
    marks_refused_stops=True,
    own=OwnFiles(
        (("transcript_path", None), ("model", ""), ("permission_mode", "default"), ("turn_id", "")),
        matcher_names={"apply_patch": ("Write", "Edit"), "spawn_agent": ("Agent",)}, special_tools=("view_image",),
    ),
)  # fmt: skip


def make_setup() -> h.Setup:
    from boathook.hosts.setup import GROUPS, FolderTrust, Setup, Switch

    return Setup(
        "codex", ("codex",), ("CODEX_HOME", ".codex"), "hooks.json", ".codex/hooks.json", GROUPS,
        max_seconds={"SessionEnd": 3, "Interrupt": 3}, default_seconds=600,
        switches=(Switch(("features", "hooks"), off=False, user=("config.toml",), project=(".codex/config.toml",)),),
        runs_itself=("codex",), evidence="they are its own; it reads no other files", has_entry_trust=True,
        off_options=("--disable hooks", "--ignore-user-config", "features disable hooks", "features disable codex_hooks"),
        folder_trust=FolderTrust("config.toml", ("projects",), "trusted", needed=True),
        agent_variables=("CODEX_THREAD_ID", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED"),
        packages=("@openai/codex",),
    )  # fmt: skip
