"""Gemini CLI. It waits for ever if a hook says `ask` and nobody is there, so that is never said."""

from __future__ import annotations

from boathook.hosts.host import BLOCK, CONTEXT, END, MESSAGE, NESTED, REASON, RESPONSE, Host, Row

HOST = Host(
    "gemini",
    "Gemini CLI",
    "0.61.0",
    "source of August 2026",
    (
        Row("SessionStart", "pre-session", context=CONTEXT),
        Row("BeforeAgent", "pre-agent-turn", block=BLOCK, stop=END, context=CONTEXT, documented=("stop",)),
        Row(
            "BeforeTool",
            "pre-tool-call",
            block=(("decision", "deny"), ("reason", "$")),
            stop=END,
            input=((f"{NESTED}.tool_input", "$"),),
            documented=("stop",),
        ),
        Row(
            "AfterTool",
            "post-tool-call",
            renames=(RESPONSE,),
            block=BLOCK,
            stop=END,
            context=CONTEXT,
            failed="tool_response.error",
        ),
        Row(
            "AfterAgent",
            "pre-agent-turn-stop",
            renames=(("prompt_response", "final_message"),),
            block=BLOCK,
            stop=END,
            documented=("stop",),
        ),
        Row("PreCompress", "pre-context-compact"),
        Row("Notification", "notification"),
        Row("SessionEnd", "post-session", renames=(REASON,)),
    ),
    {
        "run_shell_command": ("Shell", (("dir_path", "cwd"), ("is_background", "run_in_background"))),
        "read_file": ("ReadFile", (("start_line", "offset"),)),
        "read_many_files": ("ReadFile", (("", "file_path"),)),
        "write_file": ("WriteFile", ()),
        "replace": ("EditFile", (("allow_multiple", "replace_all"),)),
        "list_directory": ("ListDir", (("dir_path", "path"),)),
        "glob": ("Glob", (("dir_path", "path"),)),
        "grep_search": ("Grep", (("dir_path", "path"), ("include_pattern", "glob"))),
        "web_fetch": ("WebFetch", (("", "url"),)),
        "google_web_search": ("WebSearch", ()),
        "invoke_agent": ("Agent", (("agent_name", "subagent_type"),)),
        "write_todos": ("Todo", ()),
        "ask_user": ("AskUser", ()),
    },
    ("BeforeModel", "AfterModel", "BeforeToolSelection"),
    message=MESSAGE,
)
