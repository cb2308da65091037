"""OpenCode, whose hooks are JavaScript: the events are those that our plugin (`hosts/opencode.js`) sends, in native JSON."""

from __future__ import annotations

from boathook.hosts.host import EXIT, Host, Row

_CONTEXT = (("additional_context", "$"),)

HOST = Host(
    "opencode",
    "OpenCode",
    "1.18.33",
    "source of August 2026",
    (
        Row("pre-session", "pre-session"),
        Row("pre-agent-turn", "pre-agent-turn", context=_CONTEXT),
        Row("pre-tool-call", "pre-tool-call", block=EXIT, input=(("modified_input", "$"),)),
        Row(
            "post-tool-call",
            "post-tool-call",
            block=_CONTEXT,
            output=(("modified_output", "$"),),
            context=_CONTEXT,
        ),
        Row("post-tool-call-failure", "post-tool-call-failure"),
        Row("pre-agent-turn-stop", "pre-agent-turn-stop"),
        Row("pre-context-compact", "pre-context-compact", context=_CONTEXT, documented=("context",)),
        Row("post-context-compact", "post-context-compact"),
        Row("turn-failure", "turn-failure"),
        Row("post-session", "post-session"),
    ),
    {
        "bash": ("Shell", (("workdir", "cwd"),)),
        "read": ("ReadFile", (("filePath", "file_path"),)),
        "write": ("WriteFile", (("filePath", "file_path"),)),
        "edit": (
            "EditFile",
            (
                ("filePath", "file_path"),
                ("oldString", "old_string"),
                ("newString", "new_string"),
                ("replaceAll", "replace_all"),
            ),
        ),
        "apply_patch": ("PatchFile", (("patchText", "patch"),)),
        "glob": ("Glob", ()),
        "grep": ("Grep", (("include", "glob"),)),
        "webfetch": ("WebFetch", ()),
        "websearch": ("WebSearch", ()),
        "task": ("Agent", ()),
        "todowrite": ("Todo", ()),
        "question": ("AskUser", ()),
    },
    event_at=("event_type",),
    folder_at=("work_dir",),
    message=(("system_message", "$"),),
)
