"""Gemini CLI. It waits forever if a hook answers `ask` and there is no person, so that is never sent."""

from __future__ import annotations

from boathook.hosts import host as h
from boathook.hosts.host import Caller, Host, HostEvent, OwnFiles

HOST = Host(
    "gemini",
    "Gemini CLI",
    "0.61.0",
    "source of August 2026",
    (
        HostEvent("SessionStart", "pre-session", context=h.CONTEXT),
        HostEvent("BeforeAgent", "pre-agent-turn", block=h.BLOCK, stop=h.STOP, context=h.CONTEXT, untested="stop"),
        HostEvent(
            "BeforeTool",
            "pre-tool-call",
            block=(("decision", "deny"), ("reason", "$")),
            stop=h.STOP,
            input=((f"{h.SPECIFIC_OUTPUT}.tool_input", "$"),),
            untested="stop",
            # Run: its terminal says only that the request failed.
            hides_block=True,
        ),
        HostEvent(
            "AfterTool",
            "post-tool-call",
            renames=(h.TOOL_RESPONSE,),
            block=h.BLOCK,
            stop=h.STOP,
            context=h.CONTEXT,
            failure_at="tool_response.error",
            hook_fields=(("tool_response", {"llmContent": "", "returnDisplay": ""}),),
        ),
        HostEvent(
            "AfterAgent",
            "pre-agent-turn-stop",
            renames=(("prompt_response", "final_message"),),
            block=h.BLOCK,
            stop=h.STOP,
            untested="stop",
            hook_fields=(("prompt", ""),),
        ),
        HostEvent("PreCompress", "pre-context-compact"),
        HostEvent("Notification", "notification"),
        HostEvent("SessionEnd", "post-session", renames=(h.EXIT_REASON,)),
    ),
    {
        "run_shell_command": ("Shell", (("dir_path", "cwd"), ("is_background", "run_in_background"))),
        "read_file": ("ReadFile", (("start_line", "offset"),)),
        "read_many_files": ("ReadFile", (("include[]", "file_path"),)),
        "write_file": ("WriteFile", ()),
        "replace": ("EditFile", (("allow_multiple", "replace_all"),)),
        "list_directory": ("ListDir", (("dir_path", "path"),)),
        "glob": ("Glob", (("dir_path", "path"),)),
        "grep_search": ("Grep", (("dir_path", "path"), ("include_pattern", "glob"))),
        "web_fetch": ("WebFetch", (("", "url"),)),
        "google_web_search": ("WebSearch", ()),
        "invoke_agent": ("Agent", (("agent_name", "subagent_type"),)),
        **h.map_tools(write_todos="Todo", ask_user="AskUser"),
    },
    ("BeforeModel", "AfterModel", "BeforeToolSelection"),
    message=h.MESSAGE,
    # Run: the variable is the folder of the session, also if a call names another one.
    project_at=("$GEMINI_PROJECT_DIR",),
    server_tool="mcp_{server}_{tool}",
    server_places=("mcp_context.server_name", "mcp_context.tool_name"),
    message_seen="its terminal, and stderr without one",
    own=OwnFiles(
        (("transcript_path", ""),),
        sends_timestamp=True,
        decision_words=("allow", "approve", "deny", "block", "ask"),
        answer_places=((f"{h.SPECIFIC_OUTPUT}.tool_input", f"{h.SPECIFIC_OUTPUT}.updatedInput"),),
        # A call goes on there if the hook wrote nothing; here it does not.
        blocking_exits=h.EXIT_2_AND_MORE,
        reads_stderr=True,
        special_tools=("read_many_files",),
    ),
    # `gemini hooks migrate` copies the commands of Claude Code's settings.
    caller=Caller("claude", events=("BeforeTool", "AfterTool", "BeforeAgent", "AfterAgent", "PreCompress")),
    marks_refused_stops=True,
)


def make_setup() -> h.Setup:
    from boathook.hosts.setup import COMMAND_FIELDS, ENTRY_NAME, GROUPS, FolderTrust, Setup, Switch

    return Setup(
        "gemini", ("gemini",), ("GEMINI_CLI_HOME", ""), ".gemini/settings.json", ".gemini/settings.json", GROUPS,
        folder=".gemini", runs_itself=("gemini",), default_seconds=60,
        units_per_second=1000, entry_fields={"name": ENTRY_NAME, **COMMAND_FIELDS},
        extra_values={("hooksConfig", "enabled"): True}, has_comments=True,
        switches=(
            Switch(("hooksConfig", "enabled"), off=False, user=(".gemini/settings.json",),
                project=(".gemini/settings.json",)),
            Switch(("hooksConfig", "disabled"), off=ENTRY_NAME, user=(".gemini/settings.json",),
                project=(".gemini/settings.json",)),
        ),
        evidence="they are its own; it reads no other files (`gemini hooks migrate` copies)",
        folder_trust=FolderTrust(".gemini/trustedFolders.json", (), "TRUST_FOLDER"),
        agent_variables=("GEMINI_CLI",), packages=("@google/gemini-cli",),
    )  # fmt: skip
