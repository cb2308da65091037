"""Hooks as they are attached to the agents of a framework: what every bridge is given, and what it makes of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from boathook.bridges.framework import choose_hooks, refuse_unguarded
from boathook.errors import BridgeError, ConfigError
from boathook.inprocess.agent_run import AgentRun
from boathook.inprocess.hooks import Hooks
from boathook.inprocess.layers import LOGGER
from boathook.inprocess.name_map import NameMap


@dataclass(frozen=True, slots=True)
class Attachment:
    """Hooks for the agents of a framework, with the options that all bridges have. It serves many runs at once."""

    framework: str
    hooks: Hooks
    names: Mapping[str, str] | None = None
    arguments: Mapping[str, Mapping[str, str]] | None = None
    session_id: str = ""
    work_dir: str = ""
    allow_unguarded: bool = False
    # Names that were reported as not being a tool: another agent with the same hooks may have them.
    _reported: set[str] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        NameMap(self.names, self.arguments)

    def make_run(self, session_id: str = "", **fields: Any) -> AgentRun:
        """Return a new run; `session_id` counts if the user gave none."""
        return self.hooks.run(
            self.session_id or session_id,
            work_dir=self.work_dir,
            names=self.names,
            arguments=self.arguments,
            **fields,
        )

    def make_child(self, parent: AgentRun, name: str, task: str = "", **fields: Any) -> AgentRun:
        """Return the run of a subagent: in the session of its parent, with the hooks and names of this attachment."""
        child = parent.child(name, task, **fields)
        child.stack, child.name_map = self.hooks.stack, NameMap(self.names, self.arguments)
        return child

    def check_names(self, tools: Iterable[str]) -> None:
        """Raise BridgeError if names= or arguments= has a mistake, now that the tools of an agent are known; log the others."""
        if not self.names and not self.arguments:
            return
        listed = sorted(set(tools))
        try:
            absent = NameMap(self.names, self.arguments).check_tools(listed)
        except ConfigError as error:
            raise BridgeError(str(error)) from None
        for name in set(absent) - self._reported:
            self._reported.add(name)
            LOGGER.warning("names= or arguments= has '%s', but the agent's tools are: %s", name, ", ".join(listed))

    def log_messages(self, run: AgentRun) -> None:
        """Log the texts for the person, because a framework shows none."""
        for text in run.take_messages():
            LOGGER.info("%s", text)

    def refuse_unguarded(self, tools: Iterable[str]) -> None:
        """Raise BridgeError for tools whose calls the bridge cannot see, unless the user accepts that."""
        refuse_unguarded(tools, self.framework, allow_unguarded=self.allow_unguarded)


def attach(framework: str, hooks: object, *, work_dir: str | os.PathLike[str] = "", **options: Any) -> Attachment:
    """Return hooks for the agents of a framework; without `hooks`, those of the user and of `work_dir` (the current folder).

    `options` are the other fields of Attachment.
    """
    if hooks is not None and not isinstance(hooks, Hooks):
        message = f"hooks must be boathook.Hooks, not {type(hooks).__name__}"
        raise BridgeError(message, fix="hooks = boathook.Hooks(), then pass hooks")
    chosen = choose_hooks(hooks) if hooks is not None else choose_hooks(project=work_dir or None)
    return Attachment(framework, chosen, work_dir=os.fspath(work_dir), **options)
