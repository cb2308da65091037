"""boathook, an engine for Agent Hooks.

engine = boathook.load(project)
verdict = engine.dispatch({"event_type": "pre-tool-call", "tool_name": "Shell", "tool_input": {"command": "ls"}})

hooks = boathook.Hooks()         # hooks in process
agent = boathook.AgentBuilder()  # an agent in which they all happen
"""

from __future__ import annotations

from boathook.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from boathook.agent.adapters import ContinuationCriteriaAdapter, StateProcessorAdapter
    from boathook.agent.builder import AgentBuilder
    from boathook.agent.builtin_tools import Tool
    from boathook.agent.reference_agent import Agent, Session
    from boathook.agent.scripted import ScriptedModel
    from boathook.agent.state import AgentState, Step, TurnResult
    from boathook.assembly import load, load_catalog
    from boathook.core.catalog import Catalog
    from boathook.core.event import KINDS, Event, EventKind
    from boathook.core.hook import Diagnostic, Hook
    from boathook.core.outcome import Decision, Outcome
    from boathook.core.verdict import Run, Verdict
    from boathook.engine import Engine
    from boathook.errors import (
        Blocked,
        BoathookError,
        ConfigError,
        DialectError,
        HookError,
        HookTimeout,
        Stopped,
        UnknownEvent,
    )
    from boathook.inprocess.contexts import (
        CompactionContext,
        Context,
        ExecutionContext,
        FailureContext,
        NotificationContext,
        SessionContext,
        StepContext,
        StopContext,
        SubagentContext,
        ToolContext,
    )
    from boathook.inprocess.hooks import Hooks
    from boathook.inprocess.matching import Match, all_of, any_of, event_is, tool_name, where
    from boathook.inprocess.operations import ToolCall
    from boathook.inprocess.stack import Stack

__all__ = [
    "KINDS",
    "Agent",
    "AgentBuilder",
    "AgentState",
    "Blocked",
    "BoathookError",
    "Catalog",
    "CompactionContext",
    "ConfigError",
    "Context",
    "ContinuationCriteriaAdapter",
    "Decision",
    "Diagnostic",
    "DialectError",
    "Engine",
    "Event",
    "EventKind",
    "ExecutionContext",
    "FailureContext",
    "Hook",
    "HookError",
    "HookTimeout",
    "Hooks",
    "Match",
    "NotificationContext",
    "Outcome",
    "Run",
    "ScriptedModel",
    "Session",
    "SessionContext",
    "Stack",
    "StateProcessorAdapter",
    "Step",
    "StepContext",
    "StopContext",
    "Stopped",
    "SubagentContext",
    "Tool",
    "ToolCall",
    "ToolContext",
    "TurnResult",
    "UnknownEvent",
    "Verdict",
    "__version__",
    "all_of",
    "any_of",
    "event_is",
    "load",
    "load_catalog",
    "tool_name",
    "where",
]

_HOMES = {
    "agent.adapters": (
        "ContinuationCriteriaAdapter",
        "StateProcessorAdapter",
    ),
    "agent.reference_agent": (
        "Agent",
        "Session",
    ),
    "agent.builder": ("AgentBuilder",),
    "agent.scripted": ("ScriptedModel",),
    "agent.state": (
        "AgentState",
        "Step",
        "TurnResult",
    ),
    "agent.builtin_tools": ("Tool",),
    "assembly": (
        "load",
        "load_catalog",
    ),
    "core.catalog": ("Catalog",),
    "core.event": (
        "KINDS",
        "Event",
        "EventKind",
    ),
    "core.hook": (
        "Diagnostic",
        "Hook",
    ),
    "core.outcome": (
        "Decision",
        "Outcome",
    ),
    "core.verdict": (
        "Run",
        "Verdict",
    ),
    "engine": ("Engine",),
    "errors": (
        "Blocked",
        "BoathookError",
        "ConfigError",
        "DialectError",
        "HookError",
        "HookTimeout",
        "Stopped",
        "UnknownEvent",
    ),
    "inprocess.contexts": (
        "CompactionContext",
        "Context",
        "ExecutionContext",
        "FailureContext",
        "NotificationContext",
        "SessionContext",
        "StepContext",
        "StopContext",
        "SubagentContext",
        "ToolContext",
    ),
    "inprocess.hooks": ("Hooks",),
    "inprocess.matching": (
        "Match",
        "all_of",
        "any_of",
        "event_is",
        "tool_name",
        "where",
    ),
    "inprocess.operations": ("ToolCall",),
    "inprocess.stack": ("Stack",),
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: the road of `run` passes through here and wants none of them."""
    for home, names in _HOMES.items():
        if name in names:
            from importlib import import_module

            return getattr(import_module(f"boathook.{home}"), name)
    raise AttributeError(f"module 'boathook' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
