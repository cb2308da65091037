"""What hooks decided at an event of a run, for the agent to act on."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from boathook.core.json_text import dumps
from boathook.core.outcome import DEFAULT_BLOCK_REASON, DEFAULT_STOP_REASON, Decision, Outcome
from boathook.core.verdict import STOP_FEEDBACK
from boathook.errors import Blocked, HookError, Stopped
from boathook.inprocess.contexts import Context, StopContext, SubagentContext, ToolContext
from boathook.inprocess.json_values import to_json_value
from boathook.inprocess.operations import ToolCall
from boathook.inprocess.read_only import thaw_arguments

ContextT_co = TypeVar("ContextT_co", bound=Context, covariant=True)


class _NoTruthValue:
    """What the truth value of an outcome is for type checkers: not a bool, so that pyright reports `if outcome:`.

    With `Never`, mypy would take the rest of the function for unreachable, and not check it.
    """


@dataclass(frozen=True, slots=True)
class AskRequest:
    """A question to a person about a call. Give the answer to `run.answer(token, …)`, then make the same call again."""

    token: str
    reason: str
    call: ToolCall


@dataclass(frozen=True, slots=True)
class RunOutcome(Generic[ContextT_co]):
    """What hooks decided at one event. `context` is the context as they left it; `reasons` are those of the decision."""

    context: ContextT_co
    decision: Decision = Decision.NONE
    reasons: tuple[str, ...] = ()
    # Set if a person must be asked, and the run can ask.
    ask: AskRequest | None = None

    def __bool__(self) -> _NoTruthValue:
        """Raise TypeError: an outcome that blocks would be true."""
        raise TypeError("an outcome is neither true nor false: ask outcome.proceeds")

    @property
    def proceeds(self) -> bool:
        """Whether the agent may go on with what it wanted to do. Everything else is a reason not to."""
        return self.decision <= Decision.ALLOW

    @property
    def is_blocked(self) -> bool:
        """Whether hooks prevented it: by a block, or by a stop, which also ends the run."""
        return self.decision >= Decision.BLOCK

    @property
    def is_stopped(self) -> bool:
        """Whether the whole run must end."""
        return self.decision == Decision.STOP

    @property
    def reason(self) -> str:
        """Return the reasons as one text; "" if the agent may go on, never empty otherwise."""
        if self.proceeds:
            return ""
        return "\n".join(filter(None, self.reasons)) or (
            DEFAULT_STOP_REASON if self.is_stopped else DEFAULT_BLOCK_REASON
        )

    def raise_refusal(self) -> None:
        """Raise Stopped or Blocked if the agent may not go on; for frameworks in which an error ends the run."""
        self.raise_stop()
        if not self.proceeds:
            raise Blocked(self.reason)

    def raise_stop(self) -> None:
        """Raise Stopped if the whole run must end."""
        if self.is_stopped:
            raise Stopped(self.reason)

    @property
    def additional_context(self) -> tuple[str, ...]:
        """Return the texts of this event for the model; `run.take_context()` has those of all events at the right time."""
        return self.context.additional_context

    @property
    def messages(self) -> tuple[str, ...]:
        """Return the texts of this event for the person."""
        return self.context.messages

    @property
    def feedback(self) -> str:
        """Return the text that sends the model back to work if a stop was refused, otherwise ""."""
        is_refused = self.decision == Decision.BLOCK and self.context.kind.name in _STOP_EVENTS
        return STOP_FEEDBACK.format("; ".join(filter(None, self.reasons)) or DEFAULT_BLOCK_REASON) if is_refused else ""

    @property
    def lifted(self) -> tuple[str, ...]:
        """Return the reasons of hooks that refused a stop too often, so that it was let through."""
        return self.context.lifted if isinstance(self.context, StopContext | SubagentContext) else ()


_STOP_EVENTS = ("pre-agent-turn-stop", "post-subagent")


@dataclass(frozen=True, slots=True)
class ToolOutcome(RunOutcome[ToolContext]):
    """What became of a tool call: its result or error as hooks left it, or why it did not run."""

    has_run: bool = False
    # The call with the arguments that hooks left, under the names of the program; `id` is never empty.
    call: ToolCall = field(default_factory=lambda: ToolCall(""))

    @property
    def result(self) -> Any:
        """Return the result as hooks left it; None if the call did not run or failed."""
        return self.context.result

    @property
    def error(self) -> BaseException | None:
        """Return the error of the tool, None if it has none or did not run."""
        return self.context.error

    @property
    def is_error(self) -> bool:
        """Whether the model should read `text` as an error: the call did not run, or failed."""
        return not self.has_run or self.context.error is not None

    @property
    def objection(self) -> str:
        """Return what hooks object to a call that ran, for the model; "" if nothing."""
        return self.reason if self.has_run else ""

    @property
    def text(self) -> str:
        """Return what the model should read: the reason of a refusal, or result or error with what hooks object to it."""
        if not self.has_run:
            return self.reason or DEFAULT_BLOCK_REASON
        if inspect.isgenerator(self.result) or inspect.isasyncgen(self.result):
            raise HookError(
                f"'{self.context.name}' returned a stream, which has no text before it is read: read outcome.result and give the "
                "model its parts, or return a list from the operation"
            )
        return "\n".join(filter(None, [describe_result(self.context), self.objection]))

    def raise_stop(self) -> None:
        """Raise Stopped if the whole run must end, because of the tool's error if it has one."""
        if self.is_stopped:
            raise Stopped(self.reason) from self.error

    def unwrap(self) -> Any:
        """Return the result, or raise the error of the tool, Stopped, or Blocked (with the result, if hooks object to it)."""
        self.raise_stop()
        if self.error is not None:
            if self.objection:
                self.error.add_note(self.objection)
            raise self.error
        if not self.proceeds:
            raise Blocked(self.reason, self.result)
        if not self.has_run:
            raise HookError("the call has not been made: this outcome is only the decision about it")
        return self.result


def describe_result(context: ToolContext) -> str:
    """Return the result or the error of a tool as text for a model."""
    if context.error is not None:
        return describe_error(context.error)
    if context.result is None or isinstance(context.result, str):
        return context.result or ""
    return dumps(to_json_value(context.result))


def describe_error(error: BaseException) -> str:
    """Return the text of an error, with its class if the text alone would not say what happened."""
    text, name = str(error), type(error).__name__
    # The text of a KeyError is the key.
    return f"{name}: {text}" if text and isinstance(error, KeyError) else text or name


def make_run_outcome(outcome: Outcome[ContextT_co]) -> RunOutcome[ContextT_co]:
    return RunOutcome(outcome.context, outcome.decision, outcome.reasons)


def make_tool_outcome(outcome: Outcome[ToolContext], *, has_run: bool | None = None) -> ToolOutcome:
    context = outcome.context
    is_over = not context.kind.is_pre if has_run is None else has_run
    call = ToolCall(context.name, thaw_arguments(context.args), context.call_id)
    return ToolOutcome(context, outcome.decision, outcome.reasons, None, is_over, call)
