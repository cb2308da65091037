"""boathook, an engine for Agent Hooks.

engine = boathook.load(project)
verdict = engine.dispatch({"event_type": "pre-tool-call", "tool_name": "Shell", "tool_input": {"command": "ls"}})

hooks = boathook.Hooks()         # in-process hooks
agent = boathook.AgentBuilder()  # an agent with all events
"""

from __future__ import annotations

from boathook.version import __version__

# The public API by module. `make docs` generates `__init__.pyi`, which type checkers read, from this table.
_PUBLIC_NAMES = {
    "agent.adapters": ("ContinuationCriteriaAdapter", "StateProcessorAdapter"),
    "agent.builder": ("AgentBuilder",),
    "agent.builtin_tools": ("Tool", "ToolError", "make_tool"),
    "agent.model": ("Message", "Model", "Reply", "ToolSpec"),
    "agent.reference_agent": ("Agent", "Session"),
    "agent.scripted": ("ScriptedModel",),
    "agent.state": ("AgentState", "Step", "ToolResult", "TurnResult", "TurnStatus"),
    "assembly": ("load", "load_catalog"),
    "core.catalog": ("Catalog",),
    "core.event": ("KINDS", "Event", "EventKind"),
    "core.hook": ("Diagnostic", "Hook"),
    "core.outcome": ("Decision", "Outcome"),
    "core.verdict": ("Run", "Verdict"),
    "engine": ("Engine",),
    "errors": (
        *("Blocked", "BoathookError", "BridgeError", "ConfigError", "DialectError"),
        *("HookError", "HookTimeout", "RequestTimeout", "Stopped", "UnknownEvent"),
    ),
    "inprocess.agent_run": ("AgentRun",),
    "inprocess.contexts": (
        *("CompactionContext", "Context", "ExecutionContext", "FailureContext", "NotificationContext"),
        *("SessionContext", "StepContext", "StopContext", "SubagentContext", "ToolContext"),
    ),
    "inprocess.event_names": ("EventName",),
    "inprocess.hook_types": ("AnyHook", "AsyncNext", "Next", "OnFailure"),
    "inprocess.hooks": ("Hooks",),
    "inprocess.matching": ("Match", "all_of", "any_of", "event_is", "tool_kind", "tool_name", "where"),
    "inprocess.operations": ("ToolCall",),
    "inprocess.run_outcome": ("AskRequest", "RunOutcome", "ToolOutcome"),
    "inprocess.stack": ("Stack",),
}
__all__ = ["__version__"]
__all__ += [name for names in _PUBLIC_NAMES.values() for name in names]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    for module, names in _PUBLIC_NAMES.items():
        if name in names:
            from importlib import import_module

            return getattr(import_module(f"boathook.{module}"), name)
    raise AttributeError(f"module 'boathook' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
