"""What a hook in process sees of an event. Contexts do not change: a change is a new context, of what the event allows."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from types import MappingProxyType
from typing import Any, ClassVar, Self

from boathook.core.event import SPELLINGS, Event, EventKind
from boathook.core.json_text import MAX_DEPTH, dumps, is_same_json
from boathook.core.outcome import ABSENT
from boathook.core.verdict import Verdict
from boathook.errors import HookError

EMPTY: Mapping[str, Any] = MappingProxyType({})
CHANGES: dict[str, tuple[str, ...]] = {
    "pre-tool-call": ("args",),
    "permission-request": ("args",),
    "post-tool-call": ("result",),
    "pre-agent-turn": ("prompt",),
    "pre-step": ("state",),
    "post-step": ("state",),
}  # what a hook may change; everything else is as it happened
DEEPEST = MAX_DEPTH - 20  # levels of a value: an event is around it, and other engines may read that
BITS = 2048  # of a whole number that every reader is content with; Python itself refuses to write very long ones
NULLS = ("tool_output", "final_message")  # fields in which nothing is a value; others are left out then


def _empty() -> Mapping[str, Any]:
    return EMPTY


@dataclass(frozen=True, slots=True)
class Context:
    """An event as hooks in process see it. `state` is the agent's own, `metadata` travels along a run."""

    kind: EventKind
    session_id: str = field(default="", kw_only=True)
    work_dir: str = field(default="", kw_only=True)
    state: Any = field(default=None, kw_only=True)
    metadata: Mapping[str, Any] = field(default_factory=_empty, kw_only=True)
    added: tuple[str, ...] = field(default=(), kw_only=True)
    messages: tuple[str, ...] = field(default=(), kw_only=True)
    more: Mapping[str, Any] = field(default_factory=_empty, kw_only=True)

    NAMES: ClassVar[tuple[tuple[str, str], ...]] = ()  # our fields, and what they are called in an event

    @property
    def event(self) -> str:
        """Return the name of the event."""
        return self.kind.name

    @property
    def tool(self) -> str:
        """Return the name of the tool, empty where there is none."""
        return ""

    def replace(self, **changes: Any) -> Self:
        """Return the context with changes that its event allows; HookError for others."""
        allowed = CHANGES.get(self.kind.name, ())
        for name in changes:
            if name not in allowed:
                can = f"only {', '.join(allowed)}" if allowed else "nothing"
                raise HookError(f"'{name}' cannot be changed at {self.kind.name}: {can} can")
        return dataclasses.replace(self, **changes)

    def with_metadata(self, key: str, value: Any) -> Self:
        """Return the context with a value that later hooks of the run can `get`."""
        return dataclasses.replace(self, metadata={**self.metadata, key: value})

    def get(self, key: str, default: Any = None) -> Any:
        """Return a value that an earlier hook of the run left."""
        return self.metadata.get(key, default)

    def add_context(self, text: str) -> Self:
        """Return the context with something more that the model is to know."""
        return dataclasses.replace(self, added=(*self.added, text))

    def add_message(self, text: str) -> Self:
        """Return the context with something that the person is to know."""
        return dataclasses.replace(self, messages=(*self.messages, text))

    def to_event(self) -> Event:
        """Return the event as hooks of files read it; what JSON cannot say becomes text."""
        data = {theirs: plain(getattr(self, ours)) for ours, theirs in self.NAMES}
        wanted = {
            name: value
            for name, value in data.items()
            if name in self.kind.fields and (value is not None or name in NULLS)
        }
        more = {name: plain(value) for name, value in self.more.items()}
        return Event(self.kind, "", self.session_id, self.work_dir, {}, {**wanted, **more})

    def absorb(self, verdict: Verdict) -> Self:
        """Return the context as hooks of files left it."""
        changes: dict[str, Any] = {}
        if verdict.additional_context:
            changes["added"] = (*self.added, *verdict.additional_context)
        told = (*verdict.system_message, *verdict.warnings())
        if new := [text for text in told if text not in self.messages]:  # who looks twice says it twice
            changes["messages"] = (*self.messages, *new)
        return dataclasses.replace(self, **changes) if changes else self


def plain(value: Any) -> Any:
    """Return a copy of a value as JSON can say it: part by part, or as text. Whatever it is, this gives something."""
    return _plain(value, ())


def _plain(value: Any, within: tuple[int, ...]) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | float):
        return _number(value)
    if not isinstance(value, Mapping | list | tuple | set | frozenset) or len(within) == DEEPEST:
        return _text(value)
    if id(value) in within:
        return "…"
    within = (*within, id(value))
    if isinstance(value, Mapping):
        return _object(value, within)
    items = [_plain(item, within) for item in value]
    return sorted(items, key=dumps) if isinstance(value, set | frozenset) else items


def _object(value: Mapping[Any, Any], within: tuple[int, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, item in value.items():
        said = _plain(key, within)
        name = said if isinstance(said, str) else dumps(said)
        while name in found:  # 1 and "1": a guard must see both
            name += "_"
        found[name] = _plain(item, within)
    return found


def _number(value: float) -> Any:
    if isinstance(value, int):
        return value if value.bit_length() < BITS else hex(value)
    return value if isfinite(value) else str(value)


def _text(value: Any) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001  (also of objects that cannot say what they are)
        return f"<{type(value).__name__}>"


@dataclass(frozen=True, slots=True)
class ToolContext(Context):
    """A tool call: before it, after it, after its failure, or when permission is asked for it; `allowed` if that was given."""

    name: str = ""
    args: Mapping[str, Any] = field(default_factory=_empty)
    call_id: str = ""
    result: Any = None
    error: BaseException | None = None
    duration_ms: float | None = None
    allowed: bool = False

    NAMES: ClassVar[tuple[tuple[str, str], ...]] = (
        ("name", "tool_name"),
        ("args", "tool_input"),
        ("call_id", "tool_use_id"),
        ("result", "tool_output"),
        ("error", "error"),
        ("duration_ms", "duration_ms"),
    )

    @classmethod
    def before(cls, name: str, args: Mapping[str, Any], **fields: Any) -> Self:
        """Make the context of a call that is about to happen."""
        return cls(SPELLINGS["pre-tool-call"], name, args, **fields)

    @classmethod
    def permission(cls, name: str, args: Mapping[str, Any], **fields: Any) -> Self:
        """Make the context of a call that a person would be asked about."""
        return cls(SPELLINGS["permission-request"], name, args, **fields)

    def after(self, result: Any, duration_ms: float | None = None) -> Self:
        """Return the context of the call that happened."""
        kind = SPELLINGS["post-tool-call"]
        return dataclasses.replace(self, kind=kind, result=result, error=None, duration_ms=duration_ms)

    def failed(self, error: BaseException, duration_ms: float | None = None) -> Self:
        """Return the context of the call that failed."""
        kind = SPELLINGS["post-tool-call-failure"]
        return dataclasses.replace(self, kind=kind, result=None, error=error, duration_ms=duration_ms)

    @property
    def tool(self) -> str:
        """Return the name of the tool."""
        return self.name

    @property
    def is_before(self) -> bool:
        """Whether the call is still to come."""
        return self.kind.is_pre

    def absorb(self, verdict: Verdict) -> Self:
        """Return the context as hooks of files left it, with their input or output."""
        found = super(ToolContext, self).absorb(verdict)  # slots make a new class, which bare super() misses
        if verdict.modified_input is not None:
            return dataclasses.replace(found, args=_restored(verdict.modified_input, self.args))
        if verdict.outcome.output is not ABSENT:
            return dataclasses.replace(found, result=verdict.outcome.output)
        return found


def _restored(changed: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Return changed arguments, those that are as before as the very objects they were: hooks of files saw them as JSON."""
    return {
        name: before[name] if name in before and is_same_json(plain(before[name]), value) else value
        for name, value in changed.items()
    }


@dataclass(frozen=True, slots=True)
class StepContext(Context):
    """One step of an agent: a request to its model and what came of it. `index` counts from 0."""

    index: int = 0
    step: Any = None

    NAMES: ClassVar[tuple[tuple[str, str], ...]] = (("number", "step_count"),)

    @classmethod
    def before(cls, index: int, **fields: Any) -> Self:
        """Make the context of a step that begins."""
        return cls(SPELLINGS["pre-step"], index, **fields)

    @classmethod
    def after(cls, index: int, step: Any = None, **fields: Any) -> Self:
        """Make the context of a step that ended."""
        return cls(SPELLINGS["post-step"], index, step, **fields)

    @property
    def number(self) -> int:
        """Return the number of the step, counted from 1, to show to people."""
        return self.index + 1


@dataclass(frozen=True, slots=True)
class StopContext(Context):
    """An agent that wants to stop, or has stopped; a block of the former sends it back to work."""

    reason: str = "no_tool_calls"
    step_count: int = 0
    final_message: str | None = None
    block_count: int = 0

    NAMES: ClassVar[tuple[tuple[str, str], ...]] = (
        ("reason", "stop_reason"),
        ("step_count", "step_count"),
        ("message", "final_message"),
        ("active", "stop_hook_active"),
        ("block_count", "stop_block_count"),
    )

    @classmethod
    def before(cls, **fields: Any) -> Self:
        """Make the context of a stop that is about to happen."""
        return cls(SPELLINGS["pre-agent-turn-stop"], **fields)

    @classmethod
    def after(cls, **fields: Any) -> Self:
        """Make the context of a stop that happened."""
        return cls(SPELLINGS["post-agent-turn-stop"], **fields)

    @property
    def active(self) -> bool:
        """Whether this stop was refused before."""
        return self.block_count > 0

    @property
    def message(self) -> dict[str, str] | None:
        """Return the final message as events carry it."""
        return None if self.final_message is None else {"role": "assistant", "content": self.final_message}


@dataclass(frozen=True, slots=True)
class ExecutionContext(Context):
    """One turn: a prompt, and at its end what the agent said to it."""

    prompt: str = ""
    final_message: str | None = None
    step_count: int = 0
    duration_seconds: float | None = None

    NAMES: ClassVar[tuple[tuple[str, str], ...]] = (
        ("prompt", "prompt"),
        ("final_message", "final_message"),
        ("step_count", "step_count"),
        ("duration_seconds", "duration_seconds"),
    )

    @classmethod
    def on_start(cls, prompt: str = "", **fields: Any) -> Self:
        """Make the context of a turn that begins."""
        return cls(SPELLINGS["pre-agent-turn"], prompt, **fields)

    @classmethod
    def on_end(cls, prompt: str = "", **fields: Any) -> Self:
        """Make the context of a turn that ended."""
        return cls(SPELLINGS["post-agent-turn"], prompt, **fields)

    @property
    def is_start(self) -> bool:
        """Whether the turn begins."""
        return self.kind.is_pre


TurnContext = ExecutionContext


@dataclass(frozen=True, slots=True)
class FailureContext(Context):
    """An error that ended a turn."""

    error: BaseException | None = None

    NAMES: ClassVar[tuple[tuple[str, str], ...]] = (("described", "error"),)

    @classmethod
    def of(cls, error: BaseException, **fields: Any) -> Self:
        """Make the context of an error."""
        return cls(SPELLINGS["turn-failure"], error, **fields)

    @property
    def error_message(self) -> str:
        """Return what the error says."""
        return str(self.error)

    @property
    def error_class(self) -> str:
        """Return the name of the error's class."""
        return type(self.error).__name__

    @property
    def described(self) -> str:
        """Return the error as events carry it."""
        return f"{self.error_class}: {self.error}"


@dataclass(frozen=True, slots=True)
class SessionContext(Context):
    """A session that begins or ended."""

    model: str = ""
    source: str = "startup"
    exit_reason: str | None = None
    total_steps: int | None = None
    duration_seconds: float | None = None

    NAMES: ClassVar[tuple[tuple[str, str], ...]] = (
        ("model", "model"),
        ("source", "source"),
        ("exit_reason", "exit_reason"),
        ("total_steps", "total_steps"),
        ("duration_seconds", "duration_seconds"),
    )

    @classmethod
    def on_start(cls, **fields: Any) -> Self:
        """Make the context of a session that begins."""
        return cls(SPELLINGS["pre-session"], **fields)

    @classmethod
    def on_end(cls, **fields: Any) -> Self:
        """Make the context of a session that ended."""
        return cls(SPELLINGS["post-session"], **fields)


@dataclass(frozen=True, slots=True)
class SubagentContext(Context):
    """A subagent that begins, or is done with its task."""

    name: str = ""
    type: str = ""
    task: str = ""
    result: str | None = None

    NAMES: ClassVar[tuple[tuple[str, str], ...]] = (
        ("name", "subagent_name"),
        ("type", "subagent_type"),
        ("task", "task_description"),
        ("result", "result"),
    )

    @classmethod
    def on_start(cls, name: str, task: str = "", **fields: Any) -> Self:
        """Make the context of a subagent that begins."""
        return cls(SPELLINGS["pre-subagent"], name, task=task, **fields)

    @classmethod
    def on_stop(cls, name: str, task: str = "", **fields: Any) -> Self:
        """Make the context of a subagent that is done."""
        return cls(SPELLINGS["post-subagent"], name, task=task, **fields)


@dataclass(frozen=True, slots=True)
class CompactionContext(Context):
    """A conversation that is about to be made shorter, or was."""

    trigger: str = "auto"
    token_count: int = 0
    token_count_after: int | None = None

    NAMES: ClassVar[tuple[tuple[str, str], ...]] = (
        ("trigger", "trigger"),
        ("token_count", "token_count"),
        ("token_count_after", "token_count_after"),
    )

    @classmethod
    def before(cls, token_count: int, **fields: Any) -> Self:
        """Make the context of a compaction that is about to happen."""
        return cls(SPELLINGS["pre-context-compact"], token_count=token_count, **fields)

    @classmethod
    def after(cls, token_count: int, token_count_after: int, **fields: Any) -> Self:
        """Make the context of a compaction that happened."""
        kind = SPELLINGS["post-context-compact"]
        return cls(kind, token_count=token_count, token_count_after=token_count_after, **fields)


@dataclass(frozen=True, slots=True)
class NotificationContext(Context):
    """Something that an agent tells its person."""

    message: str = ""
    title: str = ""

    NAMES: ClassVar[tuple[tuple[str, str], ...]] = (("message", "message"), ("title", "title"))

    @classmethod
    def of(cls, message: str, title: str = "", **fields: Any) -> Self:
        """Make the context of a notification."""
        return cls(SPELLINGS["notification"], message, title, **fields)


CLASSES: dict[str, type[Context]] = {
    "pre-session": SessionContext,
    "post-session": SessionContext,
    "pre-agent-turn": ExecutionContext,
    "post-agent-turn": ExecutionContext,
    "pre-agent-turn-stop": StopContext,
    "post-agent-turn-stop": StopContext,
    "pre-tool-call": ToolContext,
    "post-tool-call": ToolContext,
    "post-tool-call-failure": ToolContext,
    "permission-request": ToolContext,
    "pre-subagent": SubagentContext,
    "post-subagent": SubagentContext,
    "pre-context-compact": CompactionContext,
    "post-context-compact": CompactionContext,
    "notification": NotificationContext,
    "pre-step": StepContext,
    "post-step": StepContext,
    "turn-failure": FailureContext,
}
