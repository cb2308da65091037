"""The events of Claude Code, and so of settings.json, as rows: what each is here, and what a hook can do there."""

from __future__ import annotations

from boathook.core.event import SPELLINGS
from boathook.core.matcher import TOOL_NAME
from boathook.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from boathook.core.event import EventKind


class HookEvent(Value):
    """One event of an agent as the hooks in its files see it; those of Claude Code are below, others are in `hook_events`."""

    # `subject` is the field (by our name) that a matcher asks; `refuses`: a hook's exit 2 and "block" count, elsewhere they are
    # only reported; `context`: it takes context for the model; `plain`: plain output is such context; `prompts`: a model may be
    # asked; `continues_agent`: context sends the agent back to work; `renames`: their name and ours; `filled`: what hooks rely on.
    name: str
    kind_name: str
    subject: str = ""
    refuses: bool = False
    context: bool = False
    plain: bool = False
    prompts: bool = False
    continues_agent: bool = False
    renames: tuple[tuple[str, str], ...] = ()
    filled: tuple[tuple[str, Any], ...] = ()
    # In the files of some agents: the tools of ours that hooks are asked about, whether a matcher asks the input of these or is
    # a list of names, and what such hooks get or can do only in their own agent.
    tools: tuple[str, ...] = ()
    matches_input: bool = False
    has_names: bool = False
    note: str = ""
    # What names of hooks begin with, if it is not the name of the event.
    label: str = ""

    @property
    def kind(self) -> EventKind:
        return SPELLINGS[self.kind_name]


_TOOL: tuple[tuple[str, Any], ...] = (("tool_name", ""), ("tool_input", {}), ("tool_use_id", ""))
_TYPE = ("agent_type", "subagent_type")
_LAST = "last_assistant_message"

CLAUDE_EVENTS: tuple[HookEvent, ...] = (
    HookEvent("SessionStart", "pre-session", "source", context=True, plain=True, filled=(("source", "startup"),)),
    HookEvent("UserPromptSubmit", "pre-agent-turn", refuses=True, context=True, plain=True, prompts=True,
        filled=(("prompt", ""),)),
    HookEvent("PreToolUse", "pre-tool-call", TOOL_NAME, refuses=True, context=True, prompts=True, filled=_TOOL),
    HookEvent("PermissionRequest", "permission-request", TOOL_NAME, refuses=True, prompts=True, filled=_TOOL[:2]),
    HookEvent("PostToolUse", "post-tool-call", TOOL_NAME, refuses=True, context=True,
        renames=(("tool_response", "tool_output"),), filled=(*_TOOL, ("tool_response", None))),
    HookEvent("PostToolUseFailure", "post-tool-call-failure", TOOL_NAME, refuses=True, context=True,
        filled=(*_TOOL, ("error", ""))),
    HookEvent("Stop", "pre-agent-turn-stop", refuses=True, context=True, prompts=True, continues_agent=True,
        renames=((_LAST, "final_message"),), filled=(("stop_hook_active", False), (_LAST, ""))),
    HookEvent("SubagentStart", "pre-subagent", "subagent_type", context=True, renames=(_TYPE,),
        filled=(("agent_id", ""), ("agent_type", ""))),
    HookEvent("SubagentStop", "post-subagent", "subagent_type", refuses=True, context=True, prompts=True,
        continues_agent=True, renames=(_TYPE, (_LAST, "result")),
        filled=(("stop_hook_active", False), ("agent_id", ""), ("agent_type", ""), (_LAST, ""))),
    HookEvent("PreCompact", "pre-context-compact", "trigger", refuses=True,
        filled=(("trigger", "auto"), ("custom_instructions", ""))),
    HookEvent("PostCompact", "post-context-compact", "trigger",
        filled=(("trigger", "auto"), ("compact_summary", ""))),
    HookEvent("SessionEnd", "post-session", "exit_reason", renames=(("reason", "exit_reason"),),
        filled=(("reason", "other"),)),
    HookEvent("StopFailure", "turn-failure", "error", filled=(("error", ""),)),
    HookEvent("Notification", "notification", "notification_type",
        filled=(("message", ""), ("notification_type", ""))),
)  # fmt: skip
CLAUDE_EVENTS_BY_NAME = {row.name: row for row in CLAUDE_EVENTS}
CLAUDE_EVENTS_BY_KIND = {row.kind_name: row for row in CLAUDE_EVENTS}
