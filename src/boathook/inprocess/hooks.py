"""`Hooks`: in-process hooks, declared with decorators such as `@hooks.before_tool(match="bash*", priority=100)`."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, TypedDict, TypeVar, Unpack, overload

from boathook.core.event import SPELLINGS, EventKind
from boathook.core.near_words import ask_if_meant, find_near_word
from boathook.core.outcome import Outcome
from boathook.errors import ConfigError, HookError
from boathook.inprocess.agent_run import AgentRun
from boathook.inprocess.contexts import (
    CompactionContext,
    ExecutionContext,
    FailureContext,
    NotificationContext,
    SessionContext,
    SessionFields,
    StateT,
    StepContext,
    StopContext,
    SubagentContext,
    ToolContext,
)
from boathook.inprocess.event_names import (
    CompactionEvent,
    EventName,
    ExecutionEvent,
    FailureEvent,
    NotificationEvent,
    SessionEvent,
    StepEvent,
    StopEvent,
    SubagentEvent,
    ToolEvent,
    find_event,
)
from boathook.inprocess.guard import OnBlock, wrap_tool
from boathook.inprocess.hook_types import AnyHook, ContextT, OnFailure
from boathook.inprocess.layers import check_failure_mode
from boathook.inprocess.matching import MatchLike
from boathook.inprocess.name_map import NameMap
from boathook.inprocess.operations import raise_refusal
from boathook.inprocess.run_flow import describe_end, refuse_question
from boathook.inprocess.run_options import check_run_options
from boathook.inprocess.run_state import ACTIVE_RUN, WaitingRuns, activate_run
from boathook.inprocess.stack import Ask, Stack

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from boathook.engine import Engine

# What people call the option `match` that they are looking for.
_NAMES_OF_MATCH = ("tool", "tools", "name", "names")
_AskT = TypeVar("_AskT", bound=Ask)
_Params = ParamSpec("_Params")
_Return = TypeVar("_Return")
# A decorator returns a hook with its exact type. There is one variable per class of contexts, because a bound cannot depend on
# another variable.
SessionHook = TypeVar("SessionHook", bound="AnyHook[SessionContext]")
ExecutionHook = TypeVar("ExecutionHook", bound="AnyHook[ExecutionContext]")
StopHook = TypeVar("StopHook", bound="AnyHook[StopContext]")
ToolHook = TypeVar("ToolHook", bound="AnyHook[ToolContext]")
SubagentHook = TypeVar("SubagentHook", bound="AnyHook[SubagentContext]")
CompactionHook = TypeVar("CompactionHook", bound="AnyHook[CompactionContext]")
NotificationHook = TypeVar("NotificationHook", bound="AnyHook[NotificationContext]")
StepHook = TypeVar("StepHook", bound="AnyHook[StepContext]")
FailureHook = TypeVar("FailureHook", bound="AnyHook[FailureContext]")


class Registrar(Generic[ContextT]):
    def __init__(self, hooks: Hooks[Any], kind: EventKind, fields: dict[str, Any]) -> None:
        self._hooks, self._kind, self._fields = hooks, kind, fields
        for name in fields:
            if name not in HookOptions.__annotations__:
                raise TypeError(_describe_option(kind, name))

    @overload
    def __call__(
        self,
        *,
        match: MatchLike | None = None,
        priority: int = 0,
        timeout: float | None = None,
        on_failure: OnFailure | None = None,
        max_rounds: int | None = None,
    ) -> Registrar[ContextT]: ...
    @overload
    def __call__(self: Registrar[SessionContext], hook: SessionHook, /) -> SessionHook: ...
    @overload
    def __call__(self: Registrar[ExecutionContext], hook: ExecutionHook, /) -> ExecutionHook: ...
    @overload
    def __call__(self: Registrar[StopContext], hook: StopHook, /) -> StopHook: ...
    @overload
    def __call__(self: Registrar[ToolContext], hook: ToolHook, /) -> ToolHook: ...
    @overload
    def __call__(self: Registrar[SubagentContext], hook: SubagentHook, /) -> SubagentHook: ...
    @overload
    def __call__(self: Registrar[CompactionContext], hook: CompactionHook, /) -> CompactionHook: ...
    @overload
    def __call__(self: Registrar[NotificationContext], hook: NotificationHook, /) -> NotificationHook: ...
    @overload
    def __call__(self: Registrar[StepContext], hook: StepHook, /) -> StepHook: ...
    @overload
    def __call__(self: Registrar[FailureContext], hook: FailureHook, /) -> FailureHook: ...
    def __call__(self, hook: Any = None, **fields: Any) -> Any:
        """Add a hook and return it unchanged; with options only, return a decorator that uses them."""
        if hook is None or fields:
            registrar: Registrar[Any] = Registrar(self._hooks, self._kind, {**self._fields, **fields})
            return registrar if hook is None else registrar(hook)
        self._hooks.add(self._kind, hook() if isinstance(hook, type) else hook, **self._fields)
        return hook


class On(Generic[ContextT]):
    def __init__(self, name: str) -> None:
        self.kind = SPELLINGS[name]

    def __get__(self, hooks: Hooks[Any], owner: type[Hooks[Any]]) -> Registrar[ContextT]:
        return Registrar(hooks, self.kind, {})


class HookOptions(TypedDict, total=False):
    """Options of a hook."""

    match: MatchLike | None
    priority: int
    timeout: float | None
    on_failure: OnFailure | None
    max_rounds: int | None


class Hooks(Generic[StateT]):
    """A collection of in-process hooks; `stack` has them all, with the file hooks if they were loaded.

    `Hooks[MyState]()` says which state `run` takes; annotate hooks with it, as `ToolContext[MyState]`, which is not compared.

    `on_failure` is what happens if a hook raises an error, unless the hook sets its own: raise, allow or block.
    """

    session_start: On[SessionContext] = On("pre-session")
    session_end: On[SessionContext] = On("post-session")
    turn_start: On[ExecutionContext] = On("pre-agent-turn")
    turn_end: On[ExecutionContext] = On("post-agent-turn")
    before_stop: On[StopContext] = On("pre-agent-turn-stop")
    after_stop: On[StopContext] = On("post-agent-turn-stop")
    before_tool: On[ToolContext] = On("pre-tool-call")
    after_tool: On[ToolContext] = On("post-tool-call")
    tool_failed: On[ToolContext] = On("post-tool-call-failure")
    subagent_start: On[SubagentContext] = On("pre-subagent")
    subagent_stop: On[SubagentContext] = On("post-subagent")
    before_compact: On[CompactionContext] = On("pre-context-compact")
    after_compact: On[CompactionContext] = On("post-context-compact")
    permission: On[ToolContext] = On("permission-request")
    notification: On[NotificationContext] = On("notification")
    before_step: On[StepContext] = On("pre-step")
    after_step: On[StepContext] = On("post-step")
    on_failure: On[FailureContext] = On("turn-failure")

    def __init__(self, *, on_failure: OnFailure = "raise", ask: Ask | None = None) -> None:
        """Start without hooks. `ask` decides when a hook wants a person to be asked."""
        check_failure_mode(on_failure)
        self._on_failure: OnFailure = on_failure
        self._stack = Stack().with_ask(ask)
        self._waiting_runs = WaitingRuns[AgentRun[StateT]]()

    if not TYPE_CHECKING:
        # Type checkers know the decorators, and would take every name for one.
        def __getattr__(self, name: str) -> Any:
            near = _find_meant_attribute(name)
            hint = f"; {ask_if_meant(near)}" if near else ""
            raise AttributeError(f"Hooks has no attribute '{name}'{hint}", name=name, obj=self)

    @property
    def stack(self) -> Stack:
        """Return the hooks as they are now, as an immutable value."""
        return self._stack

    @overload
    def on(self, event: SessionEvent, /, **options: Unpack[HookOptions]) -> Registrar[SessionContext[StateT]]: ...
    @overload
    def on(self, event: ExecutionEvent, /, **options: Unpack[HookOptions]) -> Registrar[ExecutionContext[StateT]]: ...
    @overload
    def on(self, event: StopEvent, /, **options: Unpack[HookOptions]) -> Registrar[StopContext[StateT]]: ...
    @overload
    def on(self, event: ToolEvent, /, **options: Unpack[HookOptions]) -> Registrar[ToolContext[StateT]]: ...
    @overload
    def on(self, event: SubagentEvent, /, **options: Unpack[HookOptions]) -> Registrar[SubagentContext[StateT]]: ...
    @overload
    def on(self, event: CompactionEvent, /, **options: Unpack[HookOptions]) -> Registrar[CompactionContext[StateT]]: ...
    @overload
    def on(
        self, event: NotificationEvent, /, **options: Unpack[HookOptions]
    ) -> Registrar[NotificationContext[StateT]]: ...
    @overload
    def on(self, event: StepEvent, /, **options: Unpack[HookOptions]) -> Registrar[StepContext[StateT]]: ...
    @overload
    def on(self, event: FailureEvent, /, **options: Unpack[HookOptions]) -> Registrar[FailureContext[StateT]]: ...
    @overload
    def on(self, event: EventKind, /, **options: Unpack[HookOptions]) -> Registrar[Any]: ...
    def on(self, event: str | EventKind, /, **options: Unpack[HookOptions]) -> Registrar[Any]:
        """Return the decorator of an event, by any of its names."""
        return Registrar(self, find_event(event), dict(options))

    def add(
        self,
        event: EventName | EventKind,
        hook: AnyHook[Any],
        *,
        match: MatchLike | None = None,
        priority: int = 0,
        timeout: float | None = None,
        on_failure: OnFailure | None = None,
        max_rounds: int | None = None,
    ) -> None:
        """Add a hook for an event. One hook can refuse a stop at most `max_rounds` times in a turn (3)."""
        self._stack = self._stack.with_(
            hook,
            on=event,
            match=match,
            priority=priority,
            timeout=timeout,
            on_failure=self._on_failure if on_failure is None else on_failure,
            max_rounds=max_rounds,
        )

    def load(self, project: str | os.PathLike[str] | None = None, **fields: Any) -> Engine:
        """Load the file hooks of the user and of a project (default: the current folder), and return their engine.

        Takes the arguments of `boathook.load`.
        """
        from boathook.assembly import load

        engine = load(project, **fields)
        self._stack = self._stack.with_engine(engine)
        return engine

    def run(
        self,
        session_id: str = "",
        *,
        work_dir: str | os.PathLike[str] = "",
        state: StateT | None = None,
        metadata: Mapping[str, Any] | None = None,
        extra: Mapping[str, Any] | None = None,
        model: str = "",
        source: str = "startup",
        can_ask: bool = False,
        names: Mapping[str, str] | None = None,
        arguments: Mapping[str, Mapping[str, str]] | None = None,
    ) -> AgentRun[StateT]:
        """Return a run of an agent, for one session: its methods fire the events, and it carries what belongs to all of them.

        `can_ask`: you ask the person yourself, so that a question is an outcome with `ask`; otherwise it goes to `on_ask`, or
        blocks. `names` maps your tools to names that file hooks know (`{"bash": "Shell"}`), `arguments` the keys of their inputs
        (`{"bash": {"cmd": "command"}}`); the rest is guessed. `extra` are fields of events for file hooks.
        """
        check_run_options(session_id, source, metadata=metadata, extra=extra)
        return AgentRun(
            self._stack,
            self._waiting_runs,
            session_id=session_id,
            work_dir=os.fspath(work_dir),
            state=state,
            metadata=metadata,
            extra=extra,
            model=model,
            source=source,
            can_ask=can_ask,
            name_map=NameMap(names, arguments),
        )

    def find_run(self, key: str) -> AgentRun[StateT] | None:
        """Return the run that waits for an answer or was suspended, by the token of its question or by its session."""
        return self._waiting_runs.find(key)

    def on_ask(self, ask: _AskT) -> _AskT:
        """Let a callable decide when a hook wants a person to be asked: it gets the call and the reason, and returns a bool."""
        self._stack = self._stack.with_ask(ask)
        return ask

    @overload
    def guard(self, tool: Callable[_Params, _Return], /) -> Callable[_Params, _Return]: ...
    @overload
    def guard(
        self, tool: Callable[_Params, _Return], /, *, name: str = "", on_block: Literal["return"]
    ) -> Callable[_Params, _Return | str]: ...
    @overload
    def guard(
        self, tool: Callable[_Params, _Return], /, *, name: str = "", on_block: OnBlock = "raise"
    ) -> Callable[_Params, _Return]: ...
    @overload
    def guard(
        self, *, name: str = "", on_block: Literal["return"]
    ) -> Callable[[Callable[_Params, _Return]], Callable[_Params, _Return | str]]: ...
    @overload
    def guard(
        self, *, name: str = "", on_block: Literal["raise"] = "raise"
    ) -> Callable[[Callable[_Params, _Return]], Callable[_Params, _Return]]: ...
    def guard(self, tool: Any = None, *, name: str = "", on_block: OnBlock = "raise") -> Any:
        """Wrap a plain function as a tool: hooks run before it, and after its result or its failure.

        The function raises Blocked if they do not let it run; with `on_block="return"` it returns the reason, for frameworks that
        show the model results, but not errors. It raises Stopped if they end the run. Hooks that you add later count too. In the
        block of a run or a session, the call belongs to that.
        """
        if tool is None:
            return lambda function: self.guard(function, name=name, on_block=on_block)
        return wrap_tool(self, tool, name, on_block, self._waiting_runs.report_outside)

    def find_active_run(self) -> AgentRun[StateT] | None:
        """Return the run of these hooks in whose block the program is, if there is one."""
        run = ACTIVE_RUN.get()
        return run if isinstance(run, AgentRun) and run.is_of(self._waiting_runs) else None

    def include(self, other: Hooks[Any] | Stack) -> None:
        """Add the hooks of another collection as they are now, each once; its file hooks and its `ask` if there are none here."""
        if not isinstance(other, Hooks | Stack):
            raise HookError(f"include takes a Hooks or a Stack, not {type(other).__name__}: call it once for each")
        self._stack = self._stack.with_stack(other if isinstance(other, Stack) else other.stack)

    def include_installed(self, *names: str) -> tuple[str, ...]:
        """Add the hooks that installed packages offer by the entry point `boathook.hooks`; return the names of the entry points.

        Without `names`, all of them. An entry point is a `Hooks`, a `Stack`, or a function that returns one.
        """
        offered = load_installed_hooks(names)
        for other in offered.values():
            self.include(other)
        return tuple(offered)

    @contextmanager
    def session(
        self, session: str = "", /, **fields: Unpack[SessionFields[StateT]]
    ) -> Iterator[SessionContext[StateT]]:
        """Begin a session and end it in any case; raises Blocked if hooks refuse it.

        Calls of guarded functions in the block belong to it. For all other events of an agent, use `run`.
        """
        start = _check_start(self._stack.process(_make_start(session, fields)))
        run = self._make_session_run(start)
        error: BaseException | None = None
        try:
            with activate_run(run):
                yield start
        except BaseException as raised:
            error = raised
            raise
        finally:
            self._stack.process(_make_end(start, run, error))

    @asynccontextmanager
    async def asession(
        self, session: str = "", /, **fields: Unpack[SessionFields[StateT]]
    ) -> AsyncIterator[SessionContext[StateT]]:
        """Do the same in an event loop."""
        start = _check_start(await self._stack.aprocess(_make_start(session, fields)))
        run = self._make_session_run(start)
        error: BaseException | None = None
        try:
            with activate_run(run):
                yield start
        except BaseException as raised:
            error = raised
            raise
        finally:
            await self._stack.aprocess(_make_end(start, run, error))

    def _make_session_run(self, start: SessionContext[StateT]) -> AgentRun[StateT]:
        common: dict[str, Any] = {name: getattr(start, name) for name in ("work_dir", "state", "metadata", "extra")}
        return self.run(start.session_id, **common)


def _make_start(session_id: str, fields: SessionFields[StateT]) -> SessionContext[StateT]:
    given: dict[str, Any] = {"session_id": session_id, **fields}
    return SessionContext.on_start(**given)


def _make_end(start: SessionContext, run: AgentRun[Any], error: BaseException | None) -> SessionContext:
    common = {name: getattr(start, name) for name in ("session_id", "work_dir", "state", "extra")}
    common["metadata"] = run.metadata
    exit_reason = run.find_exit_reason(describe_end(error))
    return SessionContext.on_end(model=start.model, source=start.source, exit_reason=exit_reason, **common)


def _check_start(outcome: Outcome[SessionContext]) -> SessionContext:
    raise_refusal(refuse_question(outcome))
    return outcome.context


def _describe_option(kind: EventKind, name: str) -> str:
    """Return that a decorator has no such option, and which ones it has."""
    decorator = next(each for each, its_kind in list_decorators().items() if its_kind is kind)
    options = tuple(HookOptions.__annotations__)
    near = "match" if name in _NAMES_OF_MATCH else find_near_word(name, options)
    hint = f", {ask_if_meant(near)}" if near else ""
    return f"{decorator} has no option '{name}'{hint} (its options: {', '.join(options)})"


def _find_meant_attribute(name: str) -> str:
    """Return the decorator or the method that was probably meant by a name: an event has several names."""
    if name.startswith("_"):
        return ""
    kind = SPELLINGS.get(name) or SPELLINGS.get(name.replace("_", "-"))
    decorators = list_decorators()
    meant = next((each for each, its_kind in decorators.items() if its_kind is kind), "")
    return meant or find_near_word(name, [each for each in vars(Hooks) if not each.startswith("_")])


def list_decorators() -> dict[str, EventKind]:
    return {name: row.kind for name, row in vars(Hooks).items() if isinstance(row, On)}


# Packages offer hooks by entry points of this group.
HOOKS_GROUP = "boathook.hooks"


def load_installed_hooks(names: Collection[str] = ()) -> dict[str, Hooks[Any] | Stack]:
    """Load the hooks that installed packages offer, by name; ConfigError if one of `names` is not there, or cannot be loaded."""
    from importlib.metadata import entry_points

    points = {point.name: point for point in entry_points(group=HOOKS_GROUP)}
    if missing := sorted(set(names) - points.keys()):
        known = ", ".join(sorted(points)) or "none"
        raise ConfigError(f"no installed package offers the hooks {', '.join(missing)} (there are: {known})")
    found: dict[str, Hooks[Any] | Stack] = {}
    for name in names or sorted(points):
        try:
            offered = points[name].load()
            offered = offered if isinstance(offered, Hooks | Stack) else offered()
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise ConfigError(f"the hooks {name} ({points[name].value}) cannot be loaded: {reason}") from error
        if not isinstance(offered, Hooks | Stack):
            what = type(offered).__name__
            raise ConfigError(f"the hooks {name} ({points[name].value}) must be Hooks or a Stack, not {what}")
        found[name] = offered
    return found
