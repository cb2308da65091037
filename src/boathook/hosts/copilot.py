"""Copilot CLI. Any exit code but 0 refuses a tool call and loses stderr, so all answers are JSON at exit 0."""

from __future__ import annotations

from boathook.hosts import host as h
from boathook.hosts.host import Caller, Host, HostEvent
from boathook.hosts.tool_names import CLAUDE_TOOLS

_CONTEXT = (("additionalContext", "$"),)
_DENY = (("permissionDecision", "deny"), ("permissionDecisionReason", "$"))
_ASK = (("permissionDecision", "ask"), ("permissionDecisionReason", "$"))
_ALLOW = (("permissionDecision", "allow"), ("permissionDecisionReason", "$"))
_OUTPUT = (("modifiedResult.resultType", "success"), ("modifiedResult.textResultForLlm", "$text"))
_REFUSE = (("behavior", "deny"), ("message", "$"))
_TOOL = (("toolName", "tool_name"), ("toolArgs", "tool_input"), ("toolInput", "tool_input"))
_STOP = (("stopReason", "stop_reason"),)
_AGENT = (("agentType", "subagent_type"), ("agentName", "subagent_name"))

_PERMISSION_REQUEST = HostEvent("permissionRequest", "permission-request", renames=_TOOL, block=_REFUSE,
    allow=(("behavior", "allow"),), stop=(*_REFUSE, ("interrupt", True)), untested="block allow stop")  # fmt: skip
_PASCAL_CASE_EVENTS = (
    HostEvent("SessionStart", "pre-session", context=_CONTEXT),
    HostEvent("UserPromptSubmit", "pre-agent-turn", block=h.BLOCK, context=_CONTEXT, untested="block"),
    HostEvent("PreToolUse", "pre-tool-call", block=h.DENY, ask=h.ASK, allow=h.ALLOW, input=h.INPUT, context=h.CONTEXT,
        untested="ask allow"),
    _PERMISSION_REQUEST.replace(name="PermissionRequest"),
    HostEvent("PostToolUse", "post-tool-call", renames=(("tool_result", "tool_output"),), block=h.BLOCK,
        context=_CONTEXT, untested="block"),
    HostEvent("Stop", "pre-agent-turn-stop", renames=_STOP, block=h.BLOCK),
    HostEvent("SessionEnd", "post-session", renames=(h.EXIT_REASON,)),
)  # fmt: skip

HOST = Host(
    "copilot", "Copilot CLI", "1.0.102", "vendor's documentation",
    (
        HostEvent("sessionStart", "pre-session", context=_CONTEXT),
        HostEvent("userPromptSubmitted", "pre-agent-turn", block=h.BLOCK, context=_CONTEXT),
        HostEvent("preToolUse", "pre-tool-call", renames=_TOOL, block=_DENY, ask=_ASK, allow=_ALLOW,
            input=(("modifiedArgs", "$"),), context=_CONTEXT, untested="allow"),
        _PERMISSION_REQUEST,
        HostEvent("postToolUse", "post-tool-call", renames=(*_TOOL, ("toolResult", "tool_output")), block=h.BLOCK,
            output=_OUTPUT, context=_CONTEXT, untested="output"),
        HostEvent("postToolUseFailure", "post-tool-call-failure", renames=_TOOL, block=_CONTEXT, context=_CONTEXT,
            untested="block context"),
        HostEvent("agentStop", "pre-agent-turn-stop", renames=_STOP, block=h.BLOCK),
        HostEvent("subagentStart", "pre-subagent", renames=_AGENT, context=_CONTEXT, untested="context"),
        HostEvent("subagentStop", "post-subagent", renames=(*_AGENT, ("response", "result"), *_STOP), block=h.BLOCK,
            untested="block"),
        HostEvent("preCompact", "pre-context-compact"),
        HostEvent("errorOccurred", "turn-failure"),
        HostEvent("notification", "notification", context=_CONTEXT, untested="context"),
        HostEvent("sessionEnd", "post-session", renames=(h.EXIT_REASON,)),
        *(event.replace(is_installed=False) for event in _PASCAL_CASE_EVENTS),
    ),
    {
        **h.map_tools(bash="Shell", Bash="Shell"),
        "Read": ("ReadFile", (("path", "file_path"),)),
        "Write": ("WriteFile", (("path", "file_path"), ("file_text", "content"))),
        "Edit": ("EditFile", (("path", "file_path"), ("old_str", "old_string"), ("new_str", "new_string"))),
        "powershell": ("Shell", ()),
        # What is typed into a shell that runs already.
        "write_bash": ("Shell", (("input", "command"),)),
        "write_powershell": ("Shell", (("input", "command"),)),
        "view": ("ReadFile", (("path", "file_path"),)),
        "create": ("WriteFile", (("path", "file_path"), ("file_text", "content"))),
        "edit": ("EditFile", (("path", "file_path"), ("old_str", "old_string"), ("new_str", "new_string"))),
        "apply_patch": ("PatchFile", (("input", "patch"),)),
        "grep": ("Grep", (("paths[]", "path"),)),
        # With models of OpenAI it has this name.
        "rg": ("Grep", (("paths[]", "path"),)),
        "glob": ("Glob", (("paths[]", "path"),)),
        **h.map_tools(web_fetch="WebFetch", web_search="WebSearch"),
        "task": ("Agent", (("agent_type", "subagent_type"),)),
        **h.map_tools(update_todo="Todo", ask_user="AskUser"),
    },
    ("userPromptTransformed",), event_keys=("hook_event_name", "hookName"), session_keys=("session_id", "sessionId"),
    fails_closed=True,
    # Run: the variable is the folder of the session, also if a call names another one.
    project_at=("$COPILOT_PROJECT_DIR",),
    subagent_events=("pre-agent-turn", "pre-agent-turn-stop"),
    server_tool="{server}-{tool}",
    caller=Caller("claude", tools=CLAUDE_TOOLS, variable="COPILOT_CLI"),
    message_seen="nowhere", message_unseen="its terminal, and runs without one (`copilot -p`)",
)  # fmt: skip


def make_setup() -> h.Setup:
    from boathook.hosts.setup import FLAT, FolderTrust, Setup, Switch

    return Setup(
        "copilot", ("copilot",), ("COPILOT_HOME", ".copilot"), "hooks/boathook.json", ".github/hooks/boathook.json",
        FLAT, command_key="bash", timeout_key="timeoutSec", extra_values={("version",): 1},
        switches=(
            Switch(("disableAllHooks",), off=True, user=("settings.json", "hooks/boathook.json"),
                project=(".github/hooks/boathook.json", ".github/copilot/settings.json",
                    ".github/copilot/settings.local.json")),
        ),
        # It runs them only if it trusts the folder, and with its own keys, which guards do not know: twice is better than never.
        may_run_too=("project-settings",),
        evidence="those of a project's .claude, if it trusts the folder, and with its own keys, seen in 1.0.102",
        folder_trust=FolderTrust("config.json", ("trustedFolders",), value=True, needed=True),
        reads_files_of=("claude",),
        agent_variables=("COPILOT_CLI",), packages=("@github/copilot",),
    )  # fmt: skip
