"""`AgentBuilder`: an agent put together step by step. A builder does not change; every method gives a new one."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

from boathook.agent.adapters import from_state
from boathook.agent.builtin_tools import TOOLS, Tool, tool_of
from boathook.agent.loop import SUBAGENT
from boathook.agent.model import Model
from boathook.agent.reference_agent import MAX_ROUNDS, MAX_STEPS, Agent, Compactor, Listener, shorten
from boathook.agent.state import AgentState
from boathook.core.event import EventKind
from boathook.core.outcome import Outcome
from boathook.errors import ConfigError
from boathook.inprocess.contexts import (
    Context,
    ExecutionContext,
    FailureContext,
    StopContext,
    SubagentContext,
    ToolContext,
)
from boathook.inprocess.hooks import Hooks
from boathook.inprocess.layers import DEFAULT_MAX_ROUNDS
from boathook.inprocess.matching import MatchLike
from boathook.inprocess.stack import Ask, Stack
from boathook.system.locations import make_absolute

Answer = Outcome | Context | None
StateHook = Callable[[AgentState], AgentState | None]


@dataclass(frozen=True)
class AgentBuilder:
    """The parts of an agent that is still to be built."""

    model: Model | None = None
    stack: Stack = field(default_factory=Stack)
    tools: tuple[Tool, ...] = ()
    subagents: tuple[tuple[str, Agent], ...] = ()
    work_dir: str = "."
    system: str = ""
    ask: Ask | None = None
    max_steps: int = MAX_STEPS
    max_rounds: int = MAX_ROUNDS
    token_budget: int | None = None
    compactor: Compactor = shorten
    listener: Listener | None = None

    def _with(self, **changes: Any) -> Self:
        return dataclasses.replace(self, **changes)

    def with_model(self, model: Model | str) -> Self:
        """Take a model, or the name of one (`provider:name`; needs the extra `agent`)."""
        if isinstance(model, str):
            from boathook.agent.providers import model_named

            model = model_named(model)
        return self._with(model=model)

    def with_tools(self, *tools: Tool | Callable[..., Any]) -> Self:
        """Take tools; plain functions become some."""
        made = tuple(tool if isinstance(tool, Tool) else tool_of(tool) for tool in tools)
        return self._with(tools=(*self.tools, *made))

    def with_standard_tools(self) -> Self:
        """Take Shell, ReadFile, WriteFile, EditFile and Search."""
        return self.with_tools(*TOOLS)

    def with_subagent(self, name: str, agent: Agent) -> Self:
        """Let the agent give tasks to another one, under the same hooks."""
        return self._with(subagents=(*self.subagents, (name, agent)))

    def with_system(self, text: str) -> Self:
        """Take the instructions that begin every conversation."""
        return self._with(system=text)

    def in_dir(self, work_dir: str | os.PathLike[str]) -> Self:
        """Take the folder to work in."""
        return self._with(work_dir=make_absolute(os.fspath(work_dir)))

    def with_limits(
        self, *, max_steps: int = MAX_STEPS, max_rounds: int = MAX_ROUNDS, token_budget: int | None = None
    ) -> Self:
        """Take the most steps of a turn, and how many tokens a conversation may have before it is shortened.

        `max_rounds` is how often hooks may send the agent back to work as a subagent; at stops that is up to each hook.
        """
        return self._with(max_steps=max_steps, max_rounds=max_rounds, token_budget=token_budget)

    def with_compactor(self, compactor: Compactor) -> Self:
        """Take what makes a conversation shorter."""
        return self._with(compactor=compactor)

    def with_permission(self, ask: Ask) -> Self:
        """Let a callable decide about tools that ask first, and about what hooks want a person to decide."""
        return self._with(ask=ask)

    def with_listener(self, listener: Listener) -> Self:
        """Let a callable watch what happens."""
        return self._with(listener=listener)

    def with_hooks(self, hooks: Hooks | Stack) -> Self:
        """Take hooks in process that were declared elsewhere, with the hooks of files they loaded and whom they ask."""
        stack = hooks if isinstance(hooks, Stack) else hooks.stack
        engine = stack.engine or self.stack.engine
        return self._with(stack=Stack((*self.stack.layers, *stack.layers), engine), ask=stack.ask or self.ask)

    def with_hooks_from(self, project: str | os.PathLike[str], **fields: Any) -> Self:
        """Let the hooks of files take part: those of the user and of a project. Takes what `boathook.load` takes."""
        from boathook.assembly import load

        return self._with(stack=self.stack.with_engine(load(project, **fields)))

    def add_hook(self, event: str | EventKind, hook: Any, **fields: Any) -> Self:
        """Add a hook for any event; takes priority, match, timeout, on_failure and max_rounds."""
        hooks = Hooks()
        hooks.add(event, hook, **fields)
        return self.with_hooks(hooks)

    def on_before_tool_use(
        self, callback: Callable[[ToolContext], Any], priority: int = 0, matcher: MatchLike | None = None
    ) -> Self:
        """Ask a callback before a tool runs; it may block the call or change its arguments."""
        return self.add_hook("PreToolUse", callback, priority=priority, match=matcher)

    def on_after_tool_use(
        self, callback: Callable[[ToolContext], Any], priority: int = 0, matcher: MatchLike | None = None
    ) -> Self:
        """Ask a callback after a tool ran, also when it failed; it may change a result."""
        both = self.add_hook("PostToolUse", callback, priority=priority, match=matcher)
        return both.add_hook("PostToolUseFailure", callback, priority=priority, match=matcher)

    def on_before_step(self, callback: StateHook, priority: int = 0) -> Self:
        """Let a callback look at the state before a step, and return another."""
        return self.add_hook("BeforeStep", from_state(callback), priority=priority)

    def on_after_step(self, callback: StateHook, priority: int = 0) -> Self:
        """Let a callback look at the state after a step, and return another."""
        return self.add_hook("AfterStep", from_state(callback), priority=priority)

    def on_execution_start(self, callback: Callable[[ExecutionContext], Any], priority: int = 0) -> Self:
        """Ask a callback when a turn begins."""
        return self.add_hook("ExecutionStart", callback, priority=priority)

    def on_execution_end(self, callback: Callable[[ExecutionContext], Any], priority: int = 0) -> Self:
        """Ask a callback when a turn ended."""
        return self.add_hook("ExecutionEnd", callback, priority=priority)

    def on_stop(
        self, callback: Callable[[StopContext], Any], priority: int = 0, max_rounds: int = DEFAULT_MAX_ROUNDS
    ) -> Self:
        """Ask a callback when the agent wants to stop; a block sends it back to work."""
        return self.add_hook("Stop", callback, priority=priority, max_rounds=max_rounds)

    def on_subagent_stop(self, callback: Callable[[SubagentContext], Any], priority: int = 0) -> Self:
        """Ask a callback when a subagent is done; a block sends it back to work."""
        return self.add_hook("SubagentStop", callback, priority=priority)

    def on_agent_failed(self, callback: Callable[[FailureContext], Any], priority: int = 0) -> Self:
        """Ask a callback when an error ended a turn."""
        return self.add_hook("AgentFailed", callback, priority=priority)

    def build(self) -> Agent:
        """Return the agent."""
        if self.model is None:
            raise ConfigError("an agent needs a model: with_model(…)")
        children = [name for name, _ in self.subagents]
        _differ("tools", [*(tool.name for tool in self.tools), *([SUBAGENT] if children else [])])
        _differ("subagents", children)
        return Agent(
            self.model,
            self.stack,
            {tool.name: tool for tool in self.tools},
            dict(self.subagents),
            make_absolute(self.work_dir),
            self.system,
            self.ask,
            self.max_steps,
            self.max_rounds,
            self.token_budget,
            self.compactor,
            self.listener,
        )


def _differ(what: str, names: list[str]) -> None:
    if twice := {name for name in names if names.count(name) > 1}:
        raise ConfigError(f"there are two {what} named {', '.join(sorted(twice))}")
