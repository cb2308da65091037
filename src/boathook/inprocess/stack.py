"""The stack: in-process hooks around operations, an immutable value. Hooks that only have to be called cost next to nothing."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from boathook.core.event import SPELLINGS, EventKind
from boathook.core.outcome import NOTHING, Outcome, make_unchanged
from boathook.core.pattern_search import SearchBudget
from boathook.errors import Blocked, HookError
from boathook.inprocess.call_memory import CallMemory
from boathook.inprocess.cancellation import find_task, raise_caught_cancellation
from boathook.inprocess.chain import ChainRun, read_terminal_answer, set_context
from boathook.inprocess.contexts import Context, ToolContext
from boathook.inprocess.drivers import ASYNC, SYNC, Driver, run_sync
from boathook.inprocess.event_names import EventName, find_event
from boathook.inprocess.file_hooks import BackgroundHooks, FileHooks, find_background_hooks, make_file_steps
from boathook.inprocess.hook_types import AnyHook, OnFailure
from boathook.inprocess.layers import (
    LOGGER,
    Layer,
    describe_hook,
    make_layer,
    name_hook,
    read_failure,
    report_other_case,
    resolve_max_rounds,
)
from boathook.inprocess.matching import MatchLike, make_hook_match
from boathook.inprocess.operations import ToolCall, log_messages, read_result, refuse_awaitable, run_tool

if TYPE_CHECKING:
    from boathook.engine import Engine

_Result = TypeVar("_Result")
_ContextT = TypeVar("_ContextT", bound=Context)
ChainStep = Layer | FileHooks
ChainTerminal = Callable[[Any], Any]
Ask = Callable[[ToolContext, str], "bool | Awaitable[bool]"]
_MAX_CACHED_TOOLS, _MAX_UNASKED_SESSIONS = 256, 4096
_NO_PERSON = (
    "a hook wants a person to be asked about '%s', and the program cannot ask one, so the call is blocked. To ask: decorate a "
    "function with @hooks.on_ask, make the call with run.tool(…) in a run of hooks.run(can_ask=True) (a guarded function "
    "cannot return a question), or turn on the approvals of your framework"
)
_TOOL_KINDS = tuple(SPELLINGS[name] for name in ("pre-tool-call", "post-tool-call", "post-tool-call-failure"))


class Chain:
    # `hooks` are the callables and whether each is async, if calling them is all there is to do; `sync_hooks` are the callables
    # if in addition none is async. `by_tool` has the chains of single tools if hooks match by tool.
    __slots__ = ("background", "by_tool", "hooks", "steps", "sync_hooks")

    def __init__(
        self,
        steps: tuple[ChainStep, ...],
        background: BackgroundHooks | None = None,
        *,
        by_tool: bool = False,
        is_recorded: bool = False,
    ) -> None:
        self.steps, self.background = steps, background
        self.by_tool: dict[tuple[str, ...], Chain] | None = {} if by_tool else None
        layers = [step for step in steps if isinstance(step, Layer) and step.is_simple]
        # A hook that is in the chain twice cannot be found again by identity.
        are_different = len({id(layer.hook) for layer in layers}) == len(steps)
        # What hooks do is recorded with the time that each takes.
        is_recorded = is_recorded and bool(layers)
        is_simple = are_different and background is None and not by_tool and not is_recorded
        has_async = any(layer.is_async for layer in layers)
        self.hooks = tuple((layer.hook, layer.is_async) for layer in layers) if is_simple else None
        self.sync_hooks = tuple(layer.hook for layer in layers) if is_simple and not has_async else None


class Stack:
    """Hooks in the order of their priority, higher first, equal ones in the order in which they were added."""

    def __init__(self, layers: tuple[Layer, ...] = (), engine: Engine | None = None, ask: Ask | None = None) -> None:
        self.layers = tuple(sorted(layers, key=lambda layer: -layer.priority))
        self.engine, self.ask = engine, ask
        self.is_recorded = engine is not None and engine.is_recording
        self._chains: dict[str, Chain] = {}
        # `sync_hooks` and `hooks` of the chains that do not depend on the tool, so that the fast path costs one lookup.
        self._sync_hooks: dict[str, tuple[Any, ...]] = {}
        self._hooks: dict[str, tuple[tuple[Any, bool], ...]] = {}
        # Sessions whose program knows that no person can be asked.
        self._unasked_sessions: set[str] = set()
        chains = [self._find_kind_chain(kind) for kind in _TOOL_KINDS]
        self.is_idle = not any(chain.steps or chain.background for chain in chains)

    def with_(
        self,
        hook: AnyHook[Any],
        *,
        on: EventName | EventKind | None = None,
        priority: int = 0,
        match: MatchLike | None = None,
        timeout: float | None = None,
        on_failure: OnFailure = "raise",
        max_rounds: int | None = None,
    ) -> Stack:
        """Return a stack with one more hook; without `on` it runs at every event.

        One hook can refuse a stop at most `max_rounds` times in a turn (3).
        """
        kind = None if on is None else find_event(on)
        try:
            made_match = make_hook_match(match, kind)
        except HookError as error:
            error.add_note(f"in match= of the {describe_hook(hook)}")
            raise
        layer = make_layer(
            hook,
            kinds=None if kind is None else (kind,),
            priority=priority,
            match=made_match,
            timeout=timeout,
            on_failure=on_failure,
            max_rounds=resolve_max_rounds(kind, max_rounds),
        )
        return self.with_layer(layer)

    def with_layer(self, layer: Layer) -> Stack:
        """Return a stack with one more layer."""
        if isinstance(layer.priority, bool) or not isinstance(layer.priority, int):
            raise HookError(f"priority must be a whole number, not {layer.priority!r}")
        return Stack((*self.layers, layer), self.engine, self.ask)

    def with_stack(self, other: Stack) -> Stack:
        """Return a stack with the hooks of another one as well, each once; its file hooks and its `ask` if there are none here."""
        known = {id(layer) for layer in self.layers}
        added = tuple(layer for layer in other.layers if id(layer) not in known)
        return Stack((*self.layers, *added), self.engine or other.engine, self.ask or other.ask)

    def with_engine(self, engine: Engine | None) -> Stack:
        """Return a stack in which the file hooks of an engine take part."""
        return Stack(self.layers, engine, self.ask)

    def with_ask(self, ask: Ask | None) -> Stack:
        """Return a stack that can ask a person: `ask` gets the call and the reason, and returns whether the call may run."""
        check_ask(ask)
        return Stack(self.layers, self.engine, ask)

    def __len__(self) -> int:
        return len(self.layers)

    def has_hooks(self, kind: EventKind) -> bool:
        """Whether any hook may run at events of a kind; if not, there is no need to make them."""
        chain = self._find_kind_chain(kind)
        return bool(chain.steps) or chain.background is not None

    def has_hooks_of(self, other: Stack) -> bool:
        """Whether all hooks of another stack are here, too."""
        if self is other:
            return True
        known = {id(layer) for layer in self.layers}
        has_file_hooks = other.engine is None or other.engine is self.engine
        return has_file_hooks and all(id(layer) in known for layer in other.layers)

    def is_same(self, other: Stack) -> bool:
        """Whether both have the same hooks in the same order, and ask the same callable."""
        if self is other:
            return True
        is_rest_same = self.engine is other.engine and self.ask is other.ask
        return is_rest_same and [id(layer) for layer in self.layers] == [id(layer) for layer in other.layers]

    def report_no_person(self, context: ToolContext) -> None:
        """Log once in a session how the program can let a person be asked."""
        if context.session_id in self._unasked_sessions or len(self._unasked_sessions) >= _MAX_UNASKED_SESSIONS:
            return
        self._unasked_sessions.add(context.session_id)
        LOGGER.warning(_NO_PERSON, context.name)

    def process(
        self, context: _ContextT, terminal: ChainTerminal | None = None, *, can_ask: bool = False
    ) -> Outcome[_ContextT]:
        """Run a context through the hooks, and then through the terminal if they let it; return the outcome.

        Its `context` is the one that hooks and terminal left. A hook's question about a tool call is put to the person; without
        one it is a block, unless you say with `can_ask` that you ask yourself: then the decision is ASK.
        """
        hooks = self._sync_hooks.get(context.kind.name)
        if hooks is None:
            hooks = self._find_chain(context).sync_hooks
        if hooks is None:
            return run_sync(self._make_run(context, terminal, SYNC, can_ask=can_ask).run(context))
        for hook in hooks:
            try:
                answer = hook(context)
            except asyncio.CancelledError as error:
                raise read_failure(name_hook(hook), error) from error
            except Blocked as error:
                read_failure(name_hook(hook), error)
                raise
            if answer is not None and answer is not NOTHING:
                run = self._make_run(context, terminal, SYNC, can_ask=can_ask)
                return run_sync(run.resume(answer, context, _find_next(hooks, hook)))
        return make_unchanged(context) if terminal is None else _finish_terminal(terminal(context), context)

    async def aprocess(
        self, context: _ContextT, terminal: ChainTerminal | None = None, *, can_ask: bool = False
    ) -> Outcome[_ContextT]:
        """Do the same in an event loop; hooks and terminal may be async or not."""
        hooks = self._hooks.get(context.kind.name)
        if hooks is None:
            hooks = self._find_chain(context).hooks
        if hooks is None:
            return await self._make_run(context, terminal, ASYNC, can_ask=can_ask).run(context)
        # What `await_hook` does, without a coroutine for each hook.
        task = find_task()
        count = 0 if task is None else task.cancelling()
        for hook, is_async in hooks:
            try:
                answer = await hook(context) if is_async else hook(context)
            except asyncio.CancelledError as error:
                raise read_failure(name_hook(hook), error) from error
            except Exception as error:
                if isinstance(error, Blocked):
                    read_failure(name_hook(hook), error)
                await raise_caught_cancellation(count, error)
                raise
            if task is not None and task.cancelling() > count:
                await raise_caught_cancellation(count)
            if answer is not None and answer is not NOTHING:
                at = _find_next([other for other, _ in hooks], hook)
                return await self._make_run(context, terminal, ASYNC, can_ask=can_ask).resume(answer, context, at)
        if terminal is None:
            return make_unchanged(context)
        return _finish_terminal(await ASYNC.resolve(terminal(context)), context)

    def run_tool(self, call: ToolCall, operation: Callable[[ToolCall], _Result], **fields: Any) -> _Result:
        """Call a tool with its hooks around it; return its result, or raise its error, or Blocked or Stopped.

        `operation` gets the call as hooks left it; `fields` are fields of the context (`session_id`, `work_dir`, `state` …).
        """
        if self.is_idle:
            found = operation(call)
            refuse_awaitable(found, call.name)
            return found
        context = ToolContext.before(call.name, call.args, call_id=call.id, **fields)
        outcome = run_sync(run_tool(SYNC, self, context, operation))
        log_messages(outcome)
        result: _Result = read_result(outcome)
        return result

    async def arun_tool(self, call: ToolCall, operation: Callable[[ToolCall], Any], **fields: Any) -> Any:
        """Do the same in an event loop; the operation may be async or not."""
        context = ToolContext.before(call.name, call.args, call_id=call.id, **fields)
        outcome = await run_tool(ASYNC, self, context, operation)
        log_messages(outcome)
        return read_result(outcome)

    async def arun_file_hooks(self, context: ToolContext) -> Outcome:
        """Run only the file hooks, for a call that was changed after all hooks had answered."""
        steps = tuple(step for step in self._find_kind_chain(context.kind).steps if isinstance(step, FileHooks))
        return await ChainRun(self, Chain(steps), None, ASYNC).run(context)

    async def process_call(
        self, driver: Driver, context: ToolContext, terminal: ChainTerminal | None, memory: CallMemory
    ) -> Outcome[ToolContext]:
        """Run a call through the hooks that its memory does not know yet; without a terminal middleware is left out."""
        chain = self._find_chain(context)
        if not chain.steps and chain.background is None:
            return _finish_terminal(None if terminal is None else await driver.resolve(terminal(context)), context)
        return await ChainRun(self, chain, terminal, driver, memory=memory).run(context)

    def _make_run(
        self, context: Context, terminal: ChainTerminal | None, driver: Driver, *, can_ask: bool = False
    ) -> ChainRun:
        return ChainRun(self, self._find_chain(context), terminal, driver, can_ask=can_ask and terminal is None)

    def _find_chain(self, context: Context) -> Chain:
        chain = self._find_kind_chain(context.kind)
        if chain.by_tool is None:
            return chain
        names = context.tool_names
        tool_chain = chain.by_tool.get(names)
        if tool_chain is None:
            budget = SearchBudget(time.thread_time)
            steps = tuple(
                step for step in chain.steps if isinstance(step, FileHooks) or budget.call(_may_match, step, context)
            )
            for step in chain.steps:
                if isinstance(step, Layer):
                    report_other_case(step, names)
            tool_chain = Chain(steps, chain.background, is_recorded=self.is_recorded)
            if len(chain.by_tool) < _MAX_CACHED_TOOLS:
                chain.by_tool[names] = tool_chain
        return tool_chain

    def _find_kind_chain(self, kind: EventKind) -> Chain:
        chain = self._chains.get(kind.name)
        if chain is None:
            layers = [layer for layer in self.layers if layer.kinds is None or kind in layer.kinds]
            steps: list[ChainStep] = [*layers]
            background = None
            if self.engine is not None:
                steps += make_file_steps(self.engine, kind, [layer.priority for layer in layers])
                # File hooks come before in-process hooks of the same priority.
                steps.sort(key=lambda step: (-step.priority, not isinstance(step, FileHooks)))
                background = find_background_hooks(self.engine, kind)
            by_tool = any(layer.match is not None for layer in layers)
            chain = self._chains[kind.name] = Chain(
                tuple(steps), background, by_tool=by_tool, is_recorded=self.is_recorded
            )
            if chain.hooks is not None:
                self._hooks[kind.name] = chain.hooks
            if chain.sync_hooks is not None:
                self._sync_hooks[kind.name] = chain.sync_hooks
        return chain


def check_ask(ask: Any) -> None:
    """Raise HookError if a callable cannot answer questions: otherwise the first question would fail."""
    if ask is None:
        return
    name = name_hook(ask)
    if not callable(ask):
        raise HookError(f"a question needs a callable that answers it, not {name}")
    try:
        signature = inspect.signature(ask)
    except (TypeError, ValueError):
        # A builtin without a signature.
        return
    try:
        signature.bind(None, "")
    except TypeError:
        raise HookError(f"{name} cannot be called as ask(context, reason): it takes {signature}") from None


def _finish_terminal(answer: Any, context: Context) -> Outcome[Any]:
    outcome = read_terminal_answer(answer)
    return set_context(outcome, context) if outcome.context is None else outcome


def _find_next(hooks: Sequence[Any], hook: Any) -> int:
    """Return the index after a hook; by identity, because a hook may claim to be equal to anything."""
    return next(at for at, other in enumerate(hooks, 1) if other is hook)


def _may_match(layer: Layer, context: Context) -> bool:
    """Whether a layer may match events of this kind and tool; matchers that need more are called at each event."""
    return layer.match is None or not layer.match.is_fixed or layer.match(context)
