"""boathook, an engine for Agent Hooks.

engine = boathook.load(project)
verdict = engine.dispatch({"event_type": "pre-tool-call", "tool_name": "Shell", "tool_input": {"command": "ls"}})
"""

from __future__ import annotations

from boathook.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from boathook.assembly import load, load_catalog
    from boathook.core.catalog import Catalog
    from boathook.core.event import KINDS, Event, EventKind
    from boathook.core.hook import Diagnostic, Hook
    from boathook.core.outcome import Decision, Outcome
    from boathook.core.run import Run, Verdict
    from boathook.engine import Engine
    from boathook.errors import BoathookError, ConfigError, DialectError, UnknownEvent

__all__ = [
    "KINDS",
    "BoathookError",
    "Catalog",
    "ConfigError",
    "Decision",
    "Diagnostic",
    "DialectError",
    "Engine",
    "Event",
    "EventKind",
    "Hook",
    "Outcome",
    "Run",
    "UnknownEvent",
    "Verdict",
    "__version__",
    "load",
    "load_catalog",
]

_HOMES = {
    "assembly": ("load", "load_catalog"),
    "core.catalog": ("Catalog",),
    "core.event": ("KINDS", "Event", "EventKind"),
    "core.hook": ("Diagnostic", "Hook"),
    "core.outcome": ("Decision", "Outcome"),
    "core.run": ("Run", "Verdict"),
    "engine": ("Engine",),
    "errors": ("BoathookError", "ConfigError", "DialectError", "UnknownEvent"),
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
