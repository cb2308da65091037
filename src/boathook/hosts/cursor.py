"""Cursor. One tool call fires several events there; the one that names the tool is installed, the others can be by hand."""

from __future__ import annotations

from boathook.hosts import host as h
from boathook.hosts.host import Caller, Host, HostEvent, OwnFiles, OwnHooks

_DENY = (("permission", "deny"), ("user_message", "$"), ("agent_message", "$"))
_CONTEXT = (("additional_context", "$"),)
_GO_ON = (("followup_message", "$"),)
_ALLOW = (("permission", "allow"),)
_ASK = (("permission", "ask"), ("user_message", "$"), ("agent_message", "$"))
_SERVER_TOOL, _SERVER_NAME = "mcp__{mcp_server_name}__{tool_name}", ("tool_name", "mcp_tool_name")
_DURATION = ("duration", "duration_ms")
# Cursor 2.0 has no preToolUse. Which version brought it is not known: before this one hooks run twice rather than never.
_BEFORE_CALL, _AFTER_CALL = (("preToolUse", "cursor_version", 3), ("postToolUse", "cursor_version", 3))

_PERMISSION, _REASON = f"{h.SPECIFIC_OUTPUT}.permissionDecision", f"{h.SPECIFIC_OUTPUT}.permissionDecisionReason"
_FOR_PERSON = ("user_message", None, h.MESSAGE)
_CALL_ANSWERS = (
    ("permission", None, ((_PERMISSION, "$"),)),
    ("agent_message", None, ((_REASON, "$"),)),
    ("user_message", None, ((_REASON, "$"),)),
    _FOR_PERSON,
    # The first versions had these names, and many public hooks still do.
    ("agentMessage", None, ((_REASON, "$"),)),
    ("userMessage", None, ((_REASON, "$"),)),
    ("userMessage", None, h.MESSAGE),
)
_PROMPT_ANSWERS = (
    ("continue", False, (("decision", "block"),)),
    *((key, None, (("reason", "$"),)) for key in ("user_message", "userMessage")),
)
# A question counts as a refusal there.
_SUBAGENT_ANSWERS = (
    *(("permission", word, (("decision", "block"),)) for word in ("deny", "ask")),
    ("permission", "allow", (("decision", "approve"),)),
    ("user_message", None, (("reason", "$"),)),
)
_CONTEXT_ANSWERS = (("additional_context", None, h.CONTEXT), _FOR_PERSON)
# Read: `continue` is accepted there and has no effect.
_START_ANSWERS = (*_CONTEXT_ANSWERS, ("continue", False, (("continue", True),)))
_GO_ON_ANSWERS = (("followup_message", None, h.BLOCK),)
_STOP_HOOKS = OwnHooks(answers=_GO_ON_ANSWERS, ignores_exit_2=True)
_SHELL_HOOKS = OwnHooks(tools=("Shell",), matches_input=True, answers=_CALL_ANSWERS, texts=("output",))
_SERVER_HOOKS = OwnHooks(tools=("mcp__.*",), answers=_CALL_ANSWERS, texts=("tool_input", "result_json"))
_NO_CONTENT = "only Cursor sends the text of the file: 'content' is empty here, so this hook can judge the path alone"
_READ_HOOKS = OwnHooks(tools=("ReadFile",), answers=_CALL_ANSWERS, note=_NO_CONTENT)
_EDIT_HOOKS = OwnHooks(tools=("EditFile", "WriteFile"))

_SINGLE_TOOL_EVENTS = (
    HostEvent("beforeShellExecution", "pre-tool-call", block=_DENY, ask=_ASK, allow=_ALLOW, tool_name="Shell",
        input_keys=("command",), same_call_as=_BEFORE_CALL, own=_SHELL_HOOKS,
        hook_fields=(("command", ""), ("sandbox", False))),
    HostEvent("beforeMCPExecution", "pre-tool-call", renames=(_SERVER_NAME,), block=_DENY, ask=_ASK, allow=_ALLOW,
        tool_name=_SERVER_TOOL, same_call_as=_BEFORE_CALL, own=_SERVER_HOOKS),
    HostEvent("beforeReadFile", "pre-tool-call", block=_DENY, allow=_ALLOW, tool_name="Read",
        input_keys=("file_path",), same_call_as=_BEFORE_CALL, own=_READ_HOOKS,
        hook_fields=(("file_path", ""), ("content", ""), ("attachments", []))),
    HostEvent("afterShellExecution", "post-tool-call", renames=(("output", "tool_output"), _DURATION),
        tool_name="Shell", input_keys=("command",), same_call_as=_AFTER_CALL, own=_SHELL_HOOKS,
        hook_fields=(("command", ""), ("output", ""), ("duration", 0), ("sandbox", False))),
    HostEvent("afterMCPExecution", "post-tool-call", renames=(_SERVER_NAME, ("result_json", "tool_output"), _DURATION),
        tool_name=_SERVER_TOOL, same_call_as=_AFTER_CALL, own=_SERVER_HOOKS, hook_fields=(("duration", 0),)),
    HostEvent("afterFileEdit", "post-tool-call", tool_name="StrReplace", input_keys=("file_path", "edits"),
        same_call_as=_AFTER_CALL, own=_EDIT_HOOKS, hook_fields=(("file_path", ""), ("edits", []))),
)  # fmt: skip
_UNMAPPED_EVENTS = (
    *("afterAgentResponse", "afterAgentThought", "beforeTabFileRead", "afterTabFileEdit", "workspaceOpen"),
)

HOST = Host(
    "cursor", "Cursor", "", "vendor's documentation of August 2026",
    (
        HostEvent("sessionStart", "pre-session", context=_CONTEXT, own=OwnHooks(answers=_START_ANSWERS),
            hook_fields=(("session_id", ""), ("is_background_agent", False), ("composer_mode", "agent"))),
        HostEvent("beforeSubmitPrompt", "pre-agent-turn", block=(("continue", False), ("user_message", "$")),
            own=OwnHooks(answers=_PROMPT_ANSWERS), hook_fields=(("attachments", []),)),
        HostEvent("preToolUse", "pre-tool-call", block=_DENY, allow=_ALLOW,
            input=(("updated_input", "$"),), own=OwnHooks(answers=(*_CALL_ANSWERS, ("updated_input", None, h.INPUT)))),
        HostEvent("postToolUse", "post-tool-call", renames=(_DURATION,), block=_CONTEXT,
            context=_CONTEXT, own=OwnHooks(answers=_CONTEXT_ANSWERS, texts=("tool_output",)),
            hook_fields=(("duration", 0), ("tool_output", ""))),
        HostEvent("postToolUseFailure", "post-tool-call-failure",
            renames=(("error_message", "error"), _DURATION), own=OwnHooks(texts=("error_message",)),
            hook_fields=(("failure_type", "error"), ("duration", 0), ("is_interrupt", False))),
        HostEvent("subagentStart", "pre-subagent", renames=(("task", "task_description"),),
            block=(("permission", "deny"), ("user_message", "$")), own=OwnHooks(answers=_SUBAGENT_ANSWERS),
            hook_fields=(("subagent_id", ""), ("task", ""), ("is_parallel_worker", False))),
        HostEvent("subagentStop", "post-subagent", renames=(("task", "task_description"), ("summary", "result")),
            block=_GO_ON, own=_STOP_HOOKS,
            hook_fields=(("status", "completed"), ("task", ""), ("summary", ""), ("loop_count", 0), ("modified_files", []))),
        HostEvent("stop", "pre-agent-turn-stop", renames=(("status", "stop_reason"),), block=_GO_ON,
            own=_STOP_HOOKS, hook_fields=(("status", "completed"), ("loop_count", 0))),
        HostEvent("preCompact", "pre-context-compact", renames=(("context_tokens", "token_count"),)),
        HostEvent("sessionEnd", "post-session", renames=(h.EXIT_REASON,)),
        *(event.replace(is_installed=False) for event in _SINGLE_TOOL_EVENTS),
    ),
    {
        "Shell": ("Shell", (("working_directory", "cwd"),)),
        "Read": ("ReadFile", (("file_path", "file_path"), ("path", "file_path"))),
        "Write": ("WriteFile", (("file_path", "file_path"), ("path", "file_path"))),
        "StrReplace": ("EditFile", (("path", "file_path"), ("file_path", "file_path"))),
        "Delete": ("DeleteFile", (("file_path", "file_path"), ("path", "file_path"))),
        "Grep": ("Grep", (("file_path", "path"), ("path", "path"))),
        "List": ("ListDir", (("file_path", "path"), ("path", "path"))),
        "Task": ("Agent", ()),
    },
    _UNMAPPED_EVENTS, session_keys=("conversation_id", "session_id"), folder_keys=("cwd", "workspace_roots.0"),
    empty_answer="{}", caller=Caller("claude", keys=("cursor_version",)),
    # Read: every payload has the roots, and `cwd` is that of one call; hooks of the user are started in ~/.cursor.
    project_at=("workspace_roots.0", "$CURSOR_PROJECT_DIR"),
    server_tool="MCP:{tool}",
    server_places=("mcp_server_name", ""),
    own=OwnFiles(
        (("generation_id", ""), ("model", ""), ("cursor_version", ""), ("user_email", None), ("transcript_path", None)),
        (
            ("conversation_id", h.SESSION), ("workspace_roots.0", h.FOLDER), ("cwd", h.FOLDER),
            ("hook_event_name", h.EVENT_NAME),
        ),
        # `deny` is a word of answers to the first versions of preToolUse.
        decision_words=("approve", "block", "deny"), needs_json=True, matcher_names={"StrReplace": ("Write", "Edit")},
    ),
)  # fmt: skip


def make_setup() -> h.Setup:
    from boathook.hosts.setup import FLAT, Setup

    return Setup(
        "cursor", ("cursor", "cursor-agent"), ("", ".cursor"), "hooks.json", ".cursor/hooks.json", FLAT,
        entry_fields={}, default_seconds=60, extra_values={("version",): 1}, runs_itself=("settings", "cursor"),
        evidence="its own; settings.json according to its documentation, if you turn on third-party hooks in its settings",
        reads_files_of=("claude",),
        user_steps=("turn on third-party hooks in Cursor's settings, if it is to run hooks of settings.json as well",),
        project_steps=("trust the workspace when Cursor asks",),
        editors=("cursor",),
    )  # fmt: skip
