"""Copilot CLI. Any exit code but 0 refuses a tool call and loses stderr, so all answers are JSON at exit 0."""

from __future__ import annotations

from boathook.hosts import host as h
from boathook.hosts.host import Caller, Host, HostEvent, OwnFiles, OwnHooks
from boathook.hosts.tool_names import FAMILIAR_TOOLS

_CONTEXT = (("additionalContext", "$"),)
_DENY = (("permissionDecision", "deny"), ("permissionDecisionReason", "$"))
_ASK = (("permissionDecision", "ask"), ("permissionDecisionReason", "$"))
_ALLOW = (("permissionDecision", "allow"), ("permissionDecisionReason", "$"))
_OUTPUT = (("modifiedResult.resultType", "success"), ("modifiedResult.textResultForLlm", "$text"))
_REFUSE = (("behavior", "deny"), ("message", "$"))
_TOOL = (("toolName", "tool_name"), ("toolArgs", "tool_input"), ("toolInput", "tool_input"))
_ASKED_TOOL = (_TOOL[0], _TOOL[2], _TOOL[1])
_STOP = (("stopReason", "stop_reason"),)
_AGENT = (("agentType", "subagent_type"), ("agentName", "subagent_name"))

# Hooks of events in camelCase get no name of the event; those of events in PascalCase get the names of Claude Code.
_CAMEL_KEYS = (("sessionId", h.SESSION), ("timestamp", h.MILLISECONDS), ("cwd", h.FOLDER))
_PASCAL_KEYS = (
    ("hook_event_name", h.EVENT_NAME),
    ("session_id", h.SESSION),
    ("timestamp", h.TIME),
    ("cwd", h.FOLDER),
)
_CAMEL_TOOLS, _PASCAL_TOOLS = (
    ("bash", "powershell", "view", "create", "edit"),
    ("Bash", "Read", "Write", "Edit"),
)
_OUTPUT_TEXT = ("modifiedResult.textResultForLlm", None, ((f"{h.SPECIFIC_OUTPUT}.updatedToolOutput", "$"),))
_CAMEL = OwnHooks(keys=_CAMEL_KEYS, hidden_tools=_PASCAL_TOOLS)
_PASCAL = OwnHooks(keys=_PASCAL_KEYS, hidden_tools=_CAMEL_TOOLS, has_names=True)
_CAMEL_RESULT = _CAMEL.replace(
    answers=(_OUTPUT_TEXT,),
    shapes=(("toolResult", (("resultType", "success"), ("textResultForLlm", "$text"))),),
)
_PASCAL_RESULT = _PASCAL.replace(
    answers=(_OUTPUT_TEXT,),
    shapes=(("tool_result", (("result_type", "success"), ("text_result_for_llm", "$text"))),),
)
_TRANSCRIPT = (("transcriptPath", ""),)

_PERMISSION_REQUEST = HostEvent("permissionRequest", "permission-request", renames=_ASKED_TOOL, block=_REFUSE,
    allow=(("behavior", "allow"),), stop=(*_REFUSE, ("interrupt", True)), untested="block allow stop",
    # Run: the same for both names of the event.
    own=_CAMEL.replace(
        keys=(("hookName", h.EVENT_NAME), *_CAMEL_KEYS),
        answers=(
            ("behavior", None, ((f"{h.SPECIFIC_OUTPUT}.decision.behavior", "$"),)),
            ("message", None, ((f"{h.SPECIFIC_OUTPUT}.decision.message", "$"),)),
            ("interrupt", None, ((f"{h.SPECIFIC_OUTPUT}.decision.interrupt", "$"),)),
        ),
    ))  # fmt: skip
_PASCAL_CASE_EVENTS = (
    HostEvent("SessionStart", "pre-session", context=_CONTEXT, own=_PASCAL),
    HostEvent("UserPromptSubmit", "pre-agent-turn", block=h.BLOCK, context=_CONTEXT, untested="block",
        own=_PASCAL),
    HostEvent("PreToolUse", "pre-tool-call", block=h.DENY, ask=h.ASK, allow=h.ALLOW, input=h.INPUT, context=h.CONTEXT,
        untested="ask allow", own=_PASCAL),
    _PERMISSION_REQUEST.replace(name="PermissionRequest", own=_PERMISSION_REQUEST.own.replace(has_names=True)),
    HostEvent("PostToolUse", "post-tool-call", renames=(("tool_result", "tool_output"),), block=h.BLOCK,
        context=_CONTEXT, untested="block", own=_PASCAL_RESULT),
    HostEvent("PostToolUseFailure", "post-tool-call-failure", block=_CONTEXT, context=_CONTEXT,
        untested="block context", own=_PASCAL.replace(texts=("error",))),
    HostEvent("Stop", "pre-agent-turn-stop", renames=_STOP, block=h.BLOCK, own=_PASCAL.replace(ignores_exit_2=True),
        hook_fields=(("stop_reason", "end_turn"), ("transcript_path", ""))),
    HostEvent("SubagentStop", "post-subagent", renames=(h.SUBAGENT_TYPE, h.SUBAGENT_NAME, ("response", "result")),
        block=h.BLOCK, untested="block", own=_PASCAL.replace(ignores_exit_2=True),
        hook_fields=(("stop_reason", "end_turn"), ("transcript_path", ""))),
    HostEvent("PreCompact", "pre-context-compact", own=_PASCAL),
    HostEvent("ErrorOccurred", "turn-failure", own=_PASCAL),
    HostEvent("SessionEnd", "post-session", renames=(h.EXIT_REASON,), own=_PASCAL),
)  # fmt: skip

HOST = Host(
    "copilot", "Copilot CLI", "1.0.102", "vendor's documentation",
    (
        HostEvent("sessionStart", "pre-session", context=_CONTEXT, own=_CAMEL, hook_fields=(("source", "new"),)),
        HostEvent("userPromptSubmitted", "pre-agent-turn", block=h.BLOCK, context=_CONTEXT, own=_CAMEL),
        HostEvent("preToolUse", "pre-tool-call", renames=_TOOL, block=_DENY, ask=_ASK, allow=_ALLOW,
            input=(("modifiedArgs", "$"),), context=_CONTEXT, untested="allow", own=_CAMEL),
        _PERMISSION_REQUEST,
        HostEvent("postToolUse", "post-tool-call", renames=(*_TOOL, ("toolResult", "tool_output")), block=h.BLOCK,
            output=_OUTPUT, context=_CONTEXT, untested="output", own=_CAMEL_RESULT),
        HostEvent("postToolUseFailure", "post-tool-call-failure", renames=_TOOL, block=_CONTEXT, context=_CONTEXT,
            untested="block context", own=_CAMEL.replace(texts=("error",))),
        HostEvent("agentStop", "pre-agent-turn-stop", renames=_STOP, block=h.BLOCK,
            own=_CAMEL.replace(ignores_exit_2=True), hook_fields=(("stopReason", "end_turn"), *_TRANSCRIPT)),
        HostEvent("subagentStart", "pre-subagent", renames=_AGENT, context=_CONTEXT, untested="context", own=_CAMEL,
            hook_fields=(("agentName", ""), *_TRANSCRIPT)),
        HostEvent("subagentStop", "post-subagent", renames=(*_AGENT, ("response", "result"), *_STOP), block=h.BLOCK,
            untested="block", own=_CAMEL.replace(ignores_exit_2=True),
            hook_fields=(("agentName", ""), ("response", ""), ("stopReason", "end_turn"), *_TRANSCRIPT)),
        HostEvent("preCompact", "pre-context-compact", own=_CAMEL, hook_fields=(("customInstructions", ""), *_TRANSCRIPT)),
        HostEvent("errorOccurred", "turn-failure",
            own=_CAMEL.replace(shapes=(("error", (("message", "$text"), ("name", "Error"))),)),
            hook_fields=(("errorContext", "system"), ("recoverable", False))),
        HostEvent("notification", "notification", context=_CONTEXT, untested="context",
            own=_CAMEL.replace(keys=(("hook_event_name", h.EVENT_NAME), *_CAMEL_KEYS))),
        HostEvent("sessionEnd", "post-session", renames=(h.EXIT_REASON,), own=_CAMEL),
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
    caller=Caller("claude", tools=FAMILIAR_TOOLS, variable="COPILOT_CLI"),
    own=OwnFiles(
        answer_places=(
            *((key, f"{h.SPECIFIC_OUTPUT}.{key}") for key in ("permissionDecision", "permissionDecisionReason",
                "updatedInput", "additionalContext")),
            ("modifiedArgs", f"{h.SPECIFIC_OUTPUT}.updatedInput"),
        ),
        blocking_exits=h.EXIT_NOT_0, has_progress_lines=True,
        special_tools=("powershell", "write_bash", "write_powershell"),
    ),
    message_seen="nowhere", message_unseen="its terminal, and runs without one (`copilot -p`)",
    marks_refused_stops=True,
)  # fmt: skip


def make_setup() -> h.Setup:
    from boathook.hosts.setup import FLAT, FolderTrust, Setup, Switch

    return Setup(
        "copilot", ("copilot",), ("COPILOT_HOME", ".copilot"), "hooks/boathook.json", ".github/hooks/boathook.json",
        FLAT, command_key="bash", timeout_key="timeoutSec", default_seconds=30, extra_values={("version",): 1},
        switches=(
            Switch(("disableAllHooks",), off=True, user=("settings.json", "hooks/boathook.json"),
                project=(".github/hooks/boathook.json", ".github/copilot/settings.json",
                    ".github/copilot/settings.local.json")),
        ),
        runs_itself=("copilot",),
        # It runs them only if it trusts the folder, and with its own keys, which guards do not know: twice is better than never.
        may_run_too=("project-settings",),
        evidence="those of a project's .claude, if it trusts the folder, and with its own keys, seen in 1.0.102",
        folder_trust=FolderTrust("config.json", ("trustedFolders",), value=True, needed=True),
        reads_files_of=("claude",),
        agent_variables=("COPILOT_CLI",), packages=("@github/copilot",), off_options=("--config-dir",),
    )  # fmt: skip
