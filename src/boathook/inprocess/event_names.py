"""The names of events for Python: every spelling of the table of events, and the names of the decorators."""

from __future__ import annotations

from typing import Literal

from boathook.core.event import SPELLINGS, EventKind
from boathook.core.near_words import ask_if_meant, find_near_word
from boathook.errors import HookError, UnknownEvent

SessionEvent = Literal[
    "pre-session",
    "session_start",
    "session-start",
    "SessionStart",
    "post-session",
    "session_end",
    "session-end",
    "SessionEnd",
]
ExecutionEvent = Literal[
    "pre-agent-turn",
    "before_agent",
    "before-agent",
    "pre-agent",
    "UserPromptSubmit",
    "ExecutionStart",
    "turn_start",
    "post-agent-turn",
    "after_agent",
    "after-agent",
    "post-agent",
    "ExecutionEnd",
    "turn_end",
]
StopEvent = Literal["pre-agent-turn-stop", "before_stop", "Stop", "post-agent-turn-stop", "after_stop"]
ToolEvent = Literal[
    "pre-tool-call",
    "before_tool",
    "before-tool",
    "pre-tool-use",
    "PreToolUse",
    "post-tool-call",
    "after_tool",
    "after-tool",
    "post-tool-use",
    "PostToolUse",
    "post-tool-call-failure",
    "after_tool_failure",
    "PostToolUseFailure",
    "tool_failed",
    "permission-request",
    "PermissionRequest",
    "permission",
]
SubagentEvent = Literal[
    "pre-subagent", "subagent_start", "SubagentStart", "post-subagent", "subagent_stop", "SubagentStop"
]
CompactionEvent = Literal[
    "pre-context-compact",
    "pre_compact",
    "pre-compact",
    "PreCompact",
    "before_compact",
    "post-context-compact",
    "PostCompact",
    "after_compact",
]
NotificationEvent = Literal["notification", "Notification"]
StepEvent = Literal["pre-step", "BeforeStep", "before_step", "post-step", "AfterStep", "after_step"]
FailureEvent = Literal["turn-failure", "StopFailure", "AgentFailed", "on_failure"]
EventName = (
    SessionEvent
    | ExecutionEvent
    | StopEvent
    | ToolEvent
    | SubagentEvent
    | CompactionEvent
    | NotificationEvent
    | StepEvent
    | FailureEvent
)
DECORATOR_EVENTS = {
    "session_start": "pre-session",
    "session_end": "post-session",
    "turn_start": "pre-agent-turn",
    "turn_end": "post-agent-turn",
    "before_stop": "pre-agent-turn-stop",
    "after_stop": "post-agent-turn-stop",
    "before_tool": "pre-tool-call",
    "after_tool": "post-tool-call",
    "tool_failed": "post-tool-call-failure",
    "subagent_start": "pre-subagent",
    "subagent_stop": "post-subagent",
    "before_compact": "pre-context-compact",
    "after_compact": "post-context-compact",
    "permission": "permission-request",
    "notification": "notification",
    "before_step": "pre-step",
    "after_step": "post-step",
    "on_failure": "turn-failure",
}
_KINDS = {**SPELLINGS, **{name: SPELLINGS[event] for name, event in DECORATOR_EVENTS.items()}}


def find_event(name: object) -> EventKind:
    """Return the kind of an event by any of its names, a decorator's included; UnknownEvent with a suggestion otherwise."""
    if isinstance(name, EventKind):
        return name
    if not isinstance(name, str):
        what = type(name).__name__
        raise HookError(f"the event comes first, as a text, not {what}: write hooks.add('before_tool', hook)")
    kind = _KINDS.get(name)
    if kind is None:
        near = find_near_word(name, _KINDS)
        raise UnknownEvent(name, near or None, ask_if_meant(near) if near else "")
    return kind
