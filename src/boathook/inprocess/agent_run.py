"""`AgentRun`: one run of an agent, as its hooks see it. Every event is a method, for plain programs and for event loops."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Self, TypeVar

from boathook.errors import HookError
from boathook.inprocess.contexts import (
    Context,
    ExecutionContext,
    SessionContext,
    StateT,
    StepContext,
    StopContext,
    SubagentContext,
)
from boathook.inprocess.drivers import ASYNC, SYNC, finish_despite_cancel, run_sync
from boathook.inprocess.operations import ToolCall
from boathook.inprocess.run_flow import INTERRUPTED, RunFlow
from boathook.inprocess.run_outcome import RunOutcome, ToolOutcome
from boathook.inprocess.run_state import RunState, activate_run

_ContextT = TypeVar("_ContextT", bound=Context)
_Passes = tuple[type[BaseException], ...]


def _refuse_wrong_context(context: object) -> None:
    if not isinstance(context, Context):
        example = "NotificationContext.of('…')"
        raise HookError(f"fire takes the context of an event, such as {example}, not {type(context).__name__}")


class AgentRun(RunState[StateT]):
    """One run of an agent: a session, its turns and their tool calls. Make it with `hooks.run(…)`.

    Methods with an `a` before their name do the same in an event loop. Several calls may be made at once. In a `with` or
    `async with` block the turn and the session end in any case, and calls of guarded functions belong to the run.
    """

    _block: AbstractContextManager[None] | None = None
    # Whether the run was suspended in its block, so that the end of the block is not the end of the run.
    _is_suspended = False

    @property
    def sync_flow(self) -> RunFlow:
        """Return the events as coroutines that never wait, for `run_sync`: so that a bridge writes callbacks once."""
        return RunFlow(self, SYNC)

    @property
    def async_flow(self) -> RunFlow:
        """Return the events as coroutines for an event loop."""
        return RunFlow(self, ASYNC)

    def begin(self) -> RunOutcome[SessionContext[StateT]]:
        """Begin the session, if it has not begun; `prompt` does it, too."""
        return run_sync(self.sync_flow.begin())

    async def abegin(self) -> RunOutcome[SessionContext[StateT]]:
        """Do the same in an event loop."""
        return await self.async_flow.begin()

    def prompt(self, text: str) -> RunOutcome[ExecutionContext[StateT]]:
        """Begin a turn, and the session if it has not begun. Go on with `outcome.context.prompt` if it proceeds."""
        return run_sync(self.sync_flow.prompt(text))

    async def aprompt(self, text: str) -> RunOutcome[ExecutionContext[StateT]]:
        """Do the same in an event loop."""
        return await self.async_flow.prompt(text)

    def begin_step(self) -> RunOutcome[StepContext[StateT]]:
        """Begin a step: call it before each request to the model, and `take_context` after it. Only a stop prevents a step.

        A step ends when the next one begins, or when the agent stops.
        """
        return run_sync(self.sync_flow.begin_step())

    async def abegin_step(self) -> RunOutcome[StepContext[StateT]]:
        """Do the same in an event loop."""
        return await self.async_flow.begin_step()

    def tool(
        self,
        call: ToolCall,
        operation: Callable[[ToolCall], Any],
        *,
        can_ask: bool | None = None,
        passes: _Passes = (),
    ) -> ToolOutcome:
        """Call a tool with its hooks around it: `operation` gets the call as they left it.

        Errors of the operation are in the outcome; those in `passes` are the framework's own and are raised. If such a call is
        made again with the same id and arguments, hooks do not run again.
        """
        return run_sync(self.sync_flow.tool(call, operation, can_ask=can_ask, passes=passes))

    async def atool(
        self,
        call: ToolCall,
        operation: Callable[[ToolCall], Any],
        *,
        can_ask: bool | None = None,
        passes: _Passes = (),
    ) -> ToolOutcome:
        """Do the same in an event loop; the operation may be async or not."""
        return await self.async_flow.tool(call, operation, can_ask=can_ask, passes=passes)

    def decide(self, call: ToolCall, *, can_ask: bool | None = None) -> ToolOutcome:
        """Return what hooks decide about a call, without making it. If it is made later, they do not run again."""
        return run_sync(self.sync_flow.decide(call, can_ask=can_ask))

    async def adecide(self, call: ToolCall, *, can_ask: bool | None = None) -> ToolOutcome:
        """Do the same in an event loop."""
        return await self.async_flow.decide(call, can_ask=can_ask)

    def before(self, call: ToolCall, *, can_ask: bool | None = None) -> ToolOutcome:
        """Return what hooks decide about a call that you make yourself, with `outcome.call`; then call `after`."""
        return run_sync(self.sync_flow.before(call, can_ask=can_ask))

    async def abefore(self, call: ToolCall, *, can_ask: bool | None = None) -> ToolOutcome:
        """Do the same in an event loop."""
        return await self.async_flow.before(call, can_ask=can_ask)

    def after(self, call: ToolCall | str, result: Any) -> ToolOutcome:
        """Return the result of a call that you made, as hooks leave it; `call` may be the id of one that `before` let proceed."""
        return run_sync(self.sync_flow.after(call, result))

    async def aafter(self, call: ToolCall | str, result: Any) -> ToolOutcome:
        """Do the same in an event loop."""
        return await self.async_flow.after(call, result)

    def after_failure(self, call: ToolCall | str, error: BaseException) -> ToolOutcome:
        """Show hooks the error of a call that you made."""
        return run_sync(self.sync_flow.after_failure(call, error))

    async def aafter_failure(self, call: ToolCall | str, error: BaseException) -> ToolOutcome:
        """Do the same in an event loop."""
        return await self.async_flow.after_failure(call, error)

    def stop(
        self, text: str | None = None, *, can_continue: bool = True, reason: str = ""
    ) -> RunOutcome[StopContext[StateT]] | RunOutcome[SubagentContext[StateT]]:
        """Ask whether the agent may stop with this text. If it does not proceed, give the model `outcome.feedback`.

        Without `can_continue` (a limit was reached) nothing can send it back, and `reason` says why it stops.
        """
        return run_sync(self.sync_flow.stop(text, can_continue=can_continue, reason=reason))

    async def astop(
        self, text: str | None = None, *, can_continue: bool = True, reason: str = ""
    ) -> RunOutcome[StopContext[StateT]] | RunOutcome[SubagentContext[StateT]]:
        """Do the same in an event loop."""
        return await self.async_flow.stop(text, can_continue=can_continue, reason=reason)

    def fire(self, context: _ContextT) -> RunOutcome[_ContextT]:
        """Fire any other event, such as `CompactionContext.before(9000)`; session, folder, state and metadata are filled in."""
        _refuse_wrong_context(context)
        return run_sync(self.sync_flow.fire(context))

    async def afire(self, context: _ContextT) -> RunOutcome[_ContextT]:
        """Do the same in an event loop."""
        _refuse_wrong_context(context)
        return await self.async_flow.fire(context)

    def failed(self, error: BaseException) -> None:
        """End the turn because of an error: hooks see the failure, then the end of the turn."""
        run_sync(self.sync_flow.failed(error))

    async def afailed(self, error: BaseException) -> None:
        """Do the same in an event loop."""
        await finish_despite_cancel(self.async_flow.failed(error))

    def end_turn(self, text: str | None = None) -> None:
        """End the turn, if one is open; the session goes on."""
        run_sync(self.sync_flow.end_turn(text))

    async def aend_turn(self, text: str | None = None) -> None:
        """Do the same in an event loop."""
        await finish_despite_cancel(self.async_flow.end_turn(text))

    def end(self, reason: str = "", *, error: BaseException | None = None) -> None:
        """End the turn and the session; a second time does nothing.

        With the error that ended the run, hooks see the failure first; an interruption is only an end.
        """
        run_sync(self.sync_flow.end(reason, error))

    async def aend(self, reason: str = "", *, error: BaseException | None = None) -> None:
        """Do the same in an event loop, even if its task is cancelled."""
        await finish_despite_cancel(self.async_flow.end(reason, error))

    def cancel(self) -> None:
        """End the turn and the session because the run was interrupted."""
        self.end(INTERRUPTED)

    async def acancel(self) -> None:
        """Do the same in an event loop."""
        await self.aend(INTERRUPTED)

    def suspend(self, key: str = "") -> None:
        """Keep the run for later: `hooks.find_run` finds it by the key (default: its session) or a token.

        No events fire, and a `with` block that ends without an error does not end the run.
        """
        self._waiting.keep(key or self.session_id, self)
        self._is_suspended = True

    def resume(self) -> Self:
        """Continue a run that was suspended, or that another process began: its session and its turn count as begun."""
        self.mark_resumed()
        self._is_suspended = False
        return self

    def child(self, name: str, task: str = "", *, state: StateT | None = None) -> Self:
        """Return the run of a subagent in the same session: its `prompt` fires pre-subagent, its `stop` post-subagent."""
        return self.make_child(name, task, state)

    def _leave_block(self) -> None:
        if self._block is not None:
            self._block.__exit__(None, None, None)
            self._block = None

    def __enter__(self) -> Self:
        self._is_suspended = False
        self._block = activate_run(self)
        self._block.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave_block()
        if error is not None or not self._is_suspended:
            self.end(error=error)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave_block()
        if error is not None or not self._is_suspended:
            await self.aend(error=error)
