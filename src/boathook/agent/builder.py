"""`AgentBuilder`: configure an agent step by step. A builder is immutable; every method returns a new one."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self, Unpack

from boathook.agent.adapters import make_state_hook
from boathook.agent.builtin_tools import BUILTIN_TOOLS, Tool, make_tool
from boathook.agent.loop import SUBAGENT_TOOL
from boathook.agent.model import Model
from boathook.agent.reference_agent import (
    MAX_STEPS,
    REQUEST_TIMEOUT,
    Agent,
    Compactor,
    Listener,
    drop_middle,
)
from boathook.agent.state import AgentState
from boathook.core.event import EventKind
from boathook.errors import ConfigError
from boathook.inprocess.contexts import ExecutionContext, FailureContext, StopContext, SubagentContext, ToolContext
from boathook.inprocess.event_names import EventName
from boathook.inprocess.hook_types import AnyHook
from boathook.inprocess.hooks import HookOptions, Hooks
from boathook.inprocess.layers import DEFAULT_MAX_ROUNDS
from boathook.inprocess.matching import MatchLike
from boathook.inprocess.stack import Ask, Stack
from boathook.system.locations import make_absolute

StateHook = Callable[[AgentState], AgentState | None]


@dataclass(frozen=True)
class AgentBuilder:
    """The parts of an agent to build."""

    model: Model | None = None
    stack: Stack = field(default_factory=Stack)
    tools: tuple[Tool, ...] = ()
    subagents: tuple[tuple[str, Agent], ...] = ()
    work_dir: str = "."
    system: str = ""
    ask: Ask | None = None
    max_steps: int = MAX_STEPS
    token_budget: int | None = None
    request_timeout: float | None = REQUEST_TIMEOUT
    compactor: Compactor = drop_middle
    listener: Listener | None = None

    def _with(self, **changes: Any) -> Self:
        return dataclasses.replace(self, **changes)

    def with_model(self, model: Model | str) -> Self:
        """Use a model, or load one by name (`provider:name`; needs the extra `agent`)."""
        if isinstance(model, str):
            from boathook.agent.providers import load_model

            model = load_model(model)
        return self._with(model=model)

    def with_tools(self, *tools: Tool | Callable[..., Any]) -> Self:
        """Add tools, or plain functions as tools."""
        new_tools = (tool if isinstance(tool, Tool) else make_tool(tool) for tool in tools)
        return self._with(tools=(*self.tools, *new_tools))

    def with_standard_tools(self) -> Self:
        """Add Shell, ReadFile, WriteFile, EditFile and Search."""
        return self.with_tools(*BUILTIN_TOOLS)

    def with_subagent(self, name: str, agent: Agent) -> Self:
        """Let the agent delegate tasks to another one, under the same hooks."""
        if not isinstance(agent, Agent):
            raise ConfigError(f"a subagent must be an Agent, as build() returns it, not {type(agent).__name__}")
        return self._with(subagents=(*self.subagents, (name, agent)))

    def with_system(self, text: str) -> Self:
        """Set the instructions at the start of every conversation."""
        return self._with(system=text)

    def in_dir(self, work_dir: str | os.PathLike[str]) -> Self:
        """Set the folder to work in."""
        return self._with(work_dir=make_absolute(os.fspath(work_dir)))

    def with_limits(
        self,
        *,
        max_steps: int = MAX_STEPS,
        token_budget: int | None = None,
        request_timeout: float | None = REQUEST_TIMEOUT,
    ) -> Self:
        """Set how many steps a turn may take, and how many tokens a conversation may have before it is compacted.

        `request_timeout` is how many seconds one request to the model may take (600; None: any).
        """
        return self._with(max_steps=max_steps, token_budget=token_budget, request_timeout=request_timeout)

    def with_compactor(self, compactor: Compactor) -> Self:
        """Set the function that compacts a conversation."""
        return self._with(compactor=compactor)

    def with_permission(self, ask: Ask) -> Self:
        """Let a callable decide about tools that need permission, and when a hook wants a person to be asked."""
        return self._with(ask=ask)

    def with_listener(self, listener: Listener) -> Self:
        """Let a callable observe what happens."""
        return self._with(listener=listener)

    def with_hooks(self, hooks: Hooks[Any] | Stack) -> Self:
        """Add in-process hooks that were declared elsewhere, with the file hooks they loaded and their `ask`."""
        stack = hooks if isinstance(hooks, Stack) else hooks.stack
        # The engine that was added last counts.
        joined = self.stack.with_stack(stack).with_engine(stack.engine or self.stack.engine)
        return self._with(stack=joined.with_ask(None), ask=stack.ask or self.ask)

    def with_hooks_from(self, project: str | os.PathLike[str], **fields: Any) -> Self:
        """Load the file hooks of the user and of a project. Takes the arguments of `boathook.load`."""
        from boathook.assembly import load

        return self._with(stack=self.stack.with_engine(load(project, **fields)))

    def add_hook(self, event: EventName | EventKind, hook: AnyHook[Any], **options: Unpack[HookOptions]) -> Self:
        """Add a hook for any event; takes priority, match, timeout, on_failure and max_rounds."""
        hooks = Hooks[AgentState]()
        hooks.add(event, hook, **options)
        return self.with_hooks(hooks)

    def on_before_tool_use(
        self, callback: AnyHook[ToolContext[AgentState]], priority: int = 0, match: MatchLike | None = None
    ) -> Self:
        """Call a callback before a tool runs; it may block the call or change its arguments."""
        return self.add_hook("PreToolUse", callback, priority=priority, match=match)

    def on_after_tool_use(
        self, callback: AnyHook[ToolContext[AgentState]], priority: int = 0, match: MatchLike | None = None
    ) -> Self:
        """Call a callback after a tool ran, also when it failed; it may change a result."""
        both = self.add_hook("PostToolUse", callback, priority=priority, match=match)
        return both.add_hook("PostToolUseFailure", callback, priority=priority, match=match)

    def on_before_step(self, callback: StateHook, priority: int = 0, match: MatchLike | None = None) -> Self:
        """Call a callback with the state before a step; it may return another state."""
        return self.add_hook("BeforeStep", make_state_hook(callback), priority=priority, match=match)

    def on_after_step(self, callback: StateHook, priority: int = 0, match: MatchLike | None = None) -> Self:
        """Call a callback with the state after a step; it may return another state."""
        return self.add_hook("AfterStep", make_state_hook(callback), priority=priority, match=match)

    def on_execution_start(
        self, callback: AnyHook[ExecutionContext[AgentState]], priority: int = 0, match: MatchLike | None = None
    ) -> Self:
        """Call a callback when a turn begins."""
        return self.add_hook("ExecutionStart", callback, priority=priority, match=match)

    def on_execution_end(
        self, callback: AnyHook[ExecutionContext[AgentState]], priority: int = 0, match: MatchLike | None = None
    ) -> Self:
        """Call a callback when a turn has ended."""
        return self.add_hook("ExecutionEnd", callback, priority=priority, match=match)

    def on_stop(
        self,
        callback: AnyHook[StopContext[AgentState]],
        priority: int = 0,
        max_rounds: int = DEFAULT_MAX_ROUNDS,
        match: MatchLike | None = None,
    ) -> Self:
        """Call a callback when the agent wants to stop; a block sends it back to work."""
        return self.add_hook("Stop", callback, priority=priority, max_rounds=max_rounds, match=match)

    def on_subagent_stop(
        self,
        callback: AnyHook[SubagentContext[AgentState]],
        priority: int = 0,
        max_rounds: int = DEFAULT_MAX_ROUNDS,
        match: MatchLike | None = None,
    ) -> Self:
        """Call a callback when a subagent has finished; a block sends it back to work."""
        return self.add_hook("SubagentStop", callback, priority=priority, max_rounds=max_rounds, match=match)

    def on_agent_failed(
        self, callback: AnyHook[FailureContext[AgentState]], priority: int = 0, match: MatchLike | None = None
    ) -> Self:
        """Call a callback when an error ended a turn."""
        return self.add_hook("AgentFailed", callback, priority=priority, match=match)

    def build(self) -> Agent:
        """Return the agent; raises ConfigError if something is missing or there twice."""
        if self.model is None:
            raise ConfigError("an agent needs a model: call with_model(…)")
        children = [name for name, _ in self.subagents]
        _check_names("tools", [*(tool.name for tool in self.tools), *([SUBAGENT_TOOL] if children else [])])
        _check_names("subagents", children)
        parts: dict[str, Any] = {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}
        parts |= {"tools": {tool.name: tool for tool in self.tools}, "subagents": dict(self.subagents)}
        parts["work_dir"] = make_absolute(self.work_dir)
        return Agent(**parts)


def _check_names(what: str, names: list[str]) -> None:
    if duplicates := {name for name in names if names.count(name) > 1}:
        raise ConfigError(f"there are two {what} named {', '.join(sorted(duplicates))}")
