"""What an in-process hook sees of an event. Contexts are immutable: a change makes a new one, within what the event allows."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Never, NoReturn, Self, TypedDict, Unpack

from boathook.core.event import SPELLINGS, Event, EventKind
from boathook.core.file_writes import list_writes
from boathook.core.json_text import is_same_json
from boathook.core.outcome import ABSENT
from boathook.core.patch import PatchedFile
from boathook.core.verdict import Verdict
from boathook.errors import HookError
from boathook.inprocess.json_values import to_json_value
from boathook.inprocess.name_map import GUESSED_NAMES, ToolNaming
from boathook.inprocess.read_only import ReadOnlyDict, freeze_arguments

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    StateT = TypeVar("StateT", default=Any)
else:
    from typing import TypeVar

    StateT = TypeVar("StateT")

# What a hook may change at an event; everything else has happened already.
CHANGEABLE_FIELDS: dict[str, tuple[str, ...]] = {
    "pre-tool-call": ("args",),
    "permission-request": ("args",),
    "post-tool-call": ("result",),
    "pre-agent-turn": ("prompt",),
    "pre-step": ("state",),
    "post-step": ("state",),
}
_EMPTY: Mapping[str, Any] = MappingProxyType({})
# Who refused a stop, if it was a file hook, which is named beside it; a hook of the program is the id of its layer.
FILE_HOOKS = 0
_EventFields = tuple[str | tuple[str, str], ...]
# Fields of an event in which null is a value; other fields are left out if there is none.
_NULLABLE_FIELDS = ("tool_output", "final_message")


def _get_empty() -> Mapping[str, Any]:
    return _EMPTY


class ContextFields(TypedDict, Generic[StateT], total=False):
    """Fields that every context has."""

    session_id: str
    work_dir: str
    state: StateT
    metadata: Mapping[str, Any]
    additional_context: tuple[str, ...]
    messages: tuple[str, ...]
    extra: Mapping[str, Any]


class CallFields(ContextFields[StateT], total=False):
    """Fields of a tool call, besides its name and arguments."""

    call_id: str
    is_allowed: bool
    naming: ToolNaming | None


class StopFields(ContextFields[StateT], total=False):
    """Fields of a stop."""

    reason: str
    step_count: int
    final_message: str | None
    block_count: int
    refused_by: tuple[int | str, ...]


class ExecutionFields(ContextFields[StateT], total=False):
    """Fields of a turn, besides its prompt."""

    final_message: str | None
    step_count: int
    duration_seconds: int | None


class SessionFields(ContextFields[StateT], total=False):
    """Fields of a session."""

    model: str
    source: str
    exit_reason: str | None
    total_steps: int | None
    duration_seconds: int | None
    args: Mapping[str, Any]


class SubagentFields(ContextFields[StateT], total=False):
    """Fields of a subagent, besides its name and task."""

    type: str
    result: str | None
    block_count: int
    refused_by: tuple[int | str, ...]


class CompactionFields(ContextFields[StateT], total=False):
    """Fields of a compaction, besides its sizes."""

    trigger: str


class ToolChanges(TypedDict, total=False):
    """What can be changed at a tool call: `args` before it, `result` after it."""

    args: Mapping[str, Any]
    result: Any


class PromptChanges(TypedDict, total=False):
    """What can be changed when a turn begins."""

    prompt: str


class StateChanges(TypedDict, total=False):
    """What can be changed at a step."""

    state: Any


@dataclass(frozen=True, slots=True)
class Context(Generic[StateT]):
    """An event as in-process hooks see it. `state` is the agent's own; `metadata` stays with a run."""

    kind: EventKind
    session_id: str = field(default="", kw_only=True)
    work_dir: str = field(default="", kw_only=True)
    state: StateT = field(default=None, kw_only=True)  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    metadata: Mapping[str, Any] = field(default_factory=_get_empty, kw_only=True)
    additional_context: tuple[str, ...] = field(default=(), kw_only=True)
    messages: tuple[str, ...] = field(default=(), kw_only=True)
    extra: Mapping[str, Any] = field(default_factory=_get_empty, kw_only=True)

    # Fields and properties of the context, with their names in an event where those are others.
    EVENT_FIELDS: ClassVar[_EventFields] = ()

    @property
    def event(self) -> str:
        """Return the name of the event."""
        return self.kind.name

    @property
    def tool(self) -> str:
        """Return the name of the tool, or "" if the event has none."""
        return ""

    @property
    def tool_names(self) -> tuple[str, ...]:
        """Return every name by which a matcher may mean the tool."""
        return (self.tool,)

    def replace(self, **changes: Never) -> Self:
        """Return the context with changes; HookError if its event does not allow them."""
        return self._change(changes)

    def _change(self, changes: Mapping[str, Any]) -> Self:
        allowed = CHANGEABLE_FIELDS.get(self.kind.name, ())
        for name in changes:
            if name not in allowed:
                changeable = f"only {', '.join(allowed)}" if allowed else "nothing"
                raise HookError(f"'{name}' cannot be changed at {self.kind.name}: {changeable} can")
        if not isinstance(changes.get("args", _EMPTY), Mapping):
            raise HookError(f"args must be a mapping, not {type(changes['args']).__name__}")
        return dataclasses.replace(self, **changes)

    def with_metadata(self, key: str, value: Any) -> Self:
        """Return the context with a value that later hooks of the run can `get`."""
        return dataclasses.replace(self, metadata={**self.metadata, key: value})

    def get(self, key: str, default: Any = None) -> Any:
        """Return a value that an earlier hook of the run added with `with_metadata`."""
        return self.metadata.get(key, default)

    def add_context(self, text: str) -> Self:
        """Return the context with additional context for the model."""
        return dataclasses.replace(self, additional_context=(*self.additional_context, text))

    def add_message(self, text: str) -> Self:
        """Return the context with another message for the person."""
        return dataclasses.replace(self, messages=(*self.messages, text))

    def to_event(self) -> Event:
        """Return the event that file hooks read; what JSON cannot express becomes text."""
        data: dict[str, Any] = {}
        for names in self.EVENT_FIELDS:
            name, event_name = names if isinstance(names, tuple) else (names, names)
            value = to_json_value(getattr(self, name))
            if event_name in self.kind.fields and (value is not None or event_name in _NULLABLE_FIELDS):
                data[event_name] = value
        data |= {name: to_json_value(value) for name, value in self.extra.items()}
        return Event(self.kind, "", self.session_id, self.work_dir, {}, data)

    def apply_verdict(self, verdict: Verdict) -> Self:
        """Return the context with what file hooks changed and added."""
        changes: dict[str, Any] = {}
        if verdict.additional_context:
            changes["additional_context"] = (*self.additional_context, *verdict.additional_context)
        # Hooks that look twice send the same message twice.
        texts = dict.fromkeys((*verdict.system_message, *verdict.warnings()))
        messages = [text for text in texts if text not in self.messages]
        if messages:
            changes["messages"] = (*self.messages, *messages)
        return dataclasses.replace(self, **changes) if changes else self


@dataclass(frozen=True, slots=True)
class ToolContext(Context[StateT]):
    """A tool call: before it, after it, after its failure, or when permission is requested; `is_allowed` if a hook allowed it.

    `args` is read-only, and so are dicts, lists, sets, tuples, named tuples, deques and bytearrays in it, all the way down. Objects
    of other types, such as dataclasses and models, are the tool's own: to change one, `replace` it by a copy.
    """

    name: str = ""
    args: Mapping[str, Any] = field(default_factory=ReadOnlyDict)
    call_id: str = ""
    result: Any = None
    error: BaseException | None = None
    duration_ms: float | None = None
    is_allowed: bool = False
    # What file hooks call the tool and its keys, if that is something else.
    naming: ToolNaming | None = field(default=None, kw_only=True)

    EVENT_FIELDS: ClassVar[_EventFields] = (
        ("name", "tool_name"), ("args", "tool_input"), ("call_id", "tool_use_id"), ("result", "tool_output"),
        "error", "duration_ms",
    )  # fmt: skip

    def __post_init__(self) -> None:
        if type(self.args) is not ReadOnlyDict:
            object.__setattr__(self, "args", freeze_arguments(self.args))

    def replace(self, **changes: Unpack[ToolChanges]) -> Self:  # type: ignore[override]
        """Return the context with changes; HookError if its event does not allow them."""
        return self._change(changes)

    @classmethod
    def before(cls, name: str, args: Mapping[str, Any], **fields: Unpack[CallFields[StateT]]) -> Self:
        """Make the context of a call that is about to happen; without `naming`, what file hooks call the tool is guessed."""
        if "naming" not in fields:
            fields["naming"] = GUESSED_NAMES.find(name, args)
        return cls(SPELLINGS["pre-tool-call"], name, args, **fields)

    @classmethod
    def permission(cls, name: str, args: Mapping[str, Any], **fields: Unpack[CallFields[StateT]]) -> Self:
        """Make the context of a request for permission; without `naming`, what file hooks call the tool is guessed."""
        if "naming" not in fields:
            fields["naming"] = GUESSED_NAMES.find(name, args)
        return cls(SPELLINGS["permission-request"], name, args, **fields)

    def after(self, result: Any, duration_ms: float | None = None) -> Self:
        """Return the context of the call that happened."""
        return self._end(SPELLINGS["post-tool-call"], result, None, duration_ms)

    def after_failure(self, error: BaseException, duration_ms: float | None = None) -> Self:
        """Return the context of the call that failed."""
        return self._end(SPELLINGS["post-tool-call-failure"], None, error, duration_ms)

    def _end(self, kind: EventKind, result: Any, error: BaseException | None, duration_ms: float | None) -> Self:
        # With every field by its name: `dataclasses.replace` takes twice as long, and every call comes here.
        return type(self)(
            kind,
            self.name,
            self.args,
            self.call_id,
            result,
            error,
            duration_ms,
            self.is_allowed,
            session_id=self.session_id,
            work_dir=self.work_dir,
            state=self.state,
            metadata=self.metadata,
            additional_context=self.additional_context,
            messages=self.messages,
            extra=self.extra,
            naming=self.naming,
        )

    @property
    def tool(self) -> str:
        """Return the name of the tool."""
        return self.name

    @property
    def tool_names(self) -> tuple[str, ...]:
        """Return every name by which a matcher may mean the tool: its own, and those that file hooks use."""
        return (self.name,) if self.naming is None else self.naming.names

    def to_event(self) -> Event:
        """Return the event that file hooks read; what JSON cannot express becomes text."""
        # Slots make a new class, which a bare super() does not find.
        event = super(ToolContext, self).to_event()
        if self.naming is None:
            return event
        tool_input, fields = self.naming.translate(event.tool_input)
        return event.with_data(tool_name=self.naming.tool, tool_input=tool_input, **fields)

    @property
    def tool_input(self) -> Mapping[str, Any]:
        """Return `args` under the keys that file hooks know (`command`, `file_path` …), read-only; a change needs your own keys."""
        if self.naming is None:
            return self.args
        return freeze_arguments(self.naming.translate(to_json_value(self.args))[0])

    @property
    def naming_conflict(self) -> str:
        """Return why no hook could know what the input means, or "": it has two keys for the same thing, and they differ."""
        conflict = self.naming.find_conflict(self.args) if self.naming is not None else ""
        return conflict and f"{conflict} in the input of {self.name}, so no hook could know which of them counts"

    @property
    def writes(self) -> tuple[PatchedFile, ...]:
        """Return the files that the call writes, each with `path`, `text` and `change`; none if it writes no file."""
        return list_writes(self.to_event())

    @property
    def is_before(self) -> bool:
        """Whether the call is still to come."""
        return self.kind.is_pre

    def apply_verdict(self, verdict: Verdict) -> Self:
        """Return the context with what file hooks changed and added."""
        # Slots make a new class, which a bare super() does not find.
        context = super(ToolContext, self).apply_verdict(verdict)
        changed = verdict.modified_input
        if changed is not None:
            if self.naming is not None and isinstance(changed, Mapping):
                changed = self.naming.restore(to_json_value(self.args), changed)
            return dataclasses.replace(context, args=_restore_objects(changed, self.args))
        if verdict.outcome.output is not ABSENT:
            return dataclasses.replace(context, result=verdict.outcome.output)
        return context


def _restore_objects(args: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Return changed arguments, with the original objects where nothing changed: file hooks saw them only as JSON."""
    return {
        name: before[name] if name in before and is_same_json(to_json_value(before[name]), value) else value
        for name, value in args.items()
    }


@dataclass(frozen=True, slots=True)
class StepContext(Context[StateT]):
    """One step of an agent: a request to its model and the result. `index` counts from 0."""

    index: int = 0
    step: Any = None

    EVENT_FIELDS: ClassVar[_EventFields] = (("number", "step_count"),)

    def replace(self, **changes: Unpack[StateChanges]) -> Self:  # type: ignore[override]
        """Return the context with changes; HookError if its event does not allow them."""
        return self._change(changes)

    @classmethod
    def before(cls, index: int, **fields: Unpack[ContextFields[StateT]]) -> Self:
        """Make the context of a step that begins."""
        return cls(SPELLINGS["pre-step"], index, **fields)

    @classmethod
    def after(cls, index: int, step: Any = None, **fields: Unpack[ContextFields[StateT]]) -> Self:
        """Make the context of a step that ended."""
        return cls(SPELLINGS["post-step"], index, step, **fields)

    @property
    def number(self) -> int:
        """Return the number of the step, counted from 1, to show to people."""
        return self.index + 1


class RefusalCounts:
    """What contexts of stops share: who has refused to stop in this turn, once for each time."""

    __slots__ = ()
    if TYPE_CHECKING:
        block_count: int
        # The reasons of hooks whose refusal has no effect any more.
        lifted: tuple[str, ...]
        # Who refused in this turn, once for each time: `count_refusals` reads it. Pass it on with the next stop of the turn.
        refused_by: tuple[int | str, ...]

    @property
    def file_hook_counts(self) -> Mapping[str, int] | None:
        """Return how often each file hook has refused to stop in this turn; None if it is not known who refused."""
        if self.block_count and not self.refused_by:
            return None
        return Counter(who for who in self.refused_by if isinstance(who, str))

    def count_refusals(self, who: int) -> int:
        """Return how often a hook has refused to stop in this turn; every refusal counts if it is not known who refused."""
        return self.refused_by.count(who) if self.refused_by else self.block_count

    def note_refusal(self, *who: int | str) -> Self:
        """Return the context with one more refusal of a hook."""
        context: Any = self
        changed: Self = dataclasses.replace(context, refused_by=(*self.refused_by, *who))
        return changed

    def note_lifted(self, *reasons: str) -> Self:
        """Return the context with the reasons of refusals that have no effect."""
        context: Any = self
        changed: Self = dataclasses.replace(context, lifted=(*self.lifted, *reasons)) if reasons else context
        return changed


@dataclass(frozen=True, slots=True)
class StopContext(RefusalCounts, Context[StateT]):
    """An agent that wants to stop, or has stopped; a block before the stop sends it back to work."""

    reason: str = "no_tool_calls"
    step_count: int = 0
    final_message: str | None = None
    block_count: int = 0
    lifted: tuple[str, ...] = ()
    refused_by: tuple[int | str, ...] = field(default=(), repr=False)

    EVENT_FIELDS: ClassVar[_EventFields] = (
        ("reason", "stop_reason"), "step_count", ("message", "final_message"),
        ("was_refused", "stop_hook_active"), ("file_hook_refusals", "stop_block_count"),
    )  # fmt: skip

    @classmethod
    def before(cls, **fields: Unpack[StopFields[StateT]]) -> Self:
        """Make the context of a stop that is about to happen."""
        return cls(SPELLINGS["pre-agent-turn-stop"], **fields)

    @classmethod
    def after(cls, **fields: Unpack[StopFields[StateT]]) -> Self:
        """Make the context of a stop that happened."""
        return cls(SPELLINGS["post-agent-turn-stop"], **fields)

    @property
    def was_refused(self) -> bool:
        """Whether hooks have refused to stop before, in this turn."""
        return self.block_count > 0

    @property
    def file_hook_refusals(self) -> int:
        """Return how many stops of this turn file hooks have refused, together; each of them has a limit of its own."""
        return self.count_refusals(FILE_HOOKS)

    @property
    def message(self) -> dict[str, str] | None:
        """Return the final message as events contain it."""
        return _make_message(self.final_message)

    def apply_verdict(self, verdict: Verdict) -> Self:
        """Return the context with what file hooks added, and with their refusals that have no effect."""
        # Slots make a new class, which a bare super() does not find.
        return super(StopContext, self).apply_verdict(verdict).note_lifted(*verdict.lifted)


def _make_message(text: str | None) -> dict[str, str] | None:
    return None if text is None else {"role": "assistant", "content": text}


@dataclass(frozen=True, slots=True)
class ExecutionContext(Context[StateT]):
    """One turn: a prompt, and at its end the answer of the agent."""

    prompt: str = ""
    final_message: str | None = None
    step_count: int = 0
    duration_seconds: int | None = None

    EVENT_FIELDS: ClassVar[_EventFields] = (
        "prompt", ("message", "final_message"), "step_count", "duration_seconds",
    )  # fmt: skip

    def replace(self, **changes: Unpack[PromptChanges]) -> Self:  # type: ignore[override]
        """Return the context with changes; HookError if its event does not allow them."""
        return self._change(changes)

    @classmethod
    def on_start(cls, prompt: str = "", **fields: Unpack[ExecutionFields[StateT]]) -> Self:
        """Make the context of a turn that begins."""
        if not isinstance(prompt, str):
            raise HookError(f"a prompt must be text, not {type(prompt).__name__}; the state is given as state=…")
        return cls(SPELLINGS["pre-agent-turn"], prompt, **fields)

    @classmethod
    def on_end(cls, prompt: str = "", **fields: Unpack[ExecutionFields[StateT]]) -> Self:
        """Make the context of a turn that ended."""
        return cls(SPELLINGS["post-agent-turn"], prompt, **fields)

    @property
    def is_start(self) -> bool:
        """Whether the turn begins."""
        return self.kind.is_pre

    @property
    def message(self) -> dict[str, str] | None:
        """Return the final message as events contain it."""
        return _make_message(self.final_message)


@dataclass(frozen=True, slots=True)
class FailureContext(Context[StateT]):
    """An error that ended a turn."""

    error: BaseException | None = None

    EVENT_FIELDS: ClassVar[_EventFields] = (("description", "error"),)

    @classmethod
    def of(cls, error: BaseException, **fields: Unpack[ContextFields[StateT]]) -> Self:
        """Make the context of an error."""
        return cls(SPELLINGS["turn-failure"], error, **fields)

    @property
    def error_message(self) -> str:
        """Return the text of the error."""
        return str(self.error)

    @property
    def error_class(self) -> str:
        """Return the name of the error's class."""
        return type(self.error).__name__

    @property
    def description(self) -> str:
        """Return the error as events contain it."""
        return f"{self.error_class}: {self.error}"


@dataclass(frozen=True, slots=True)
class SessionContext(Context[StateT]):
    """A session that begins or ended."""

    model: str = ""
    source: str = "startup"
    exit_reason: str | None = None
    total_steps: int | None = None
    duration_seconds: int | None = None
    # How the agent was started.
    args: Mapping[str, Any] = field(default_factory=_get_empty)

    EVENT_FIELDS: ClassVar[_EventFields] = (
        "model", "args", "source", "exit_reason", "total_steps", "duration_seconds",
    )  # fmt: skip

    @classmethod
    def on_start(cls, **fields: Unpack[SessionFields[StateT]]) -> Self:
        """Make the context of a session that begins."""
        return cls(SPELLINGS["pre-session"], **fields)

    @classmethod
    def on_end(cls, **fields: Unpack[SessionFields[StateT]]) -> Self:
        """Make the context of a session that ended."""
        return cls(SPELLINGS["post-session"], **fields)


@dataclass(frozen=True, slots=True)
class SubagentContext(RefusalCounts, Context[StateT]):
    """A subagent that begins, or has finished its task."""

    name: str = ""
    type: str = ""
    task: str = ""
    result: str | None = None
    block_count: int = 0
    lifted: tuple[str, ...] = ()
    refused_by: tuple[int | str, ...] = field(default=(), repr=False)

    EVENT_FIELDS: ClassVar[_EventFields] = (
        ("name", "subagent_name"), ("type", "subagent_type"), ("task", "task_description"), "result",
    )  # fmt: skip

    @classmethod
    def on_start(cls, name: str, task: str = "", **fields: Unpack[SubagentFields[StateT]]) -> Self:
        """Make the context of a subagent that begins."""
        return cls(SPELLINGS["pre-subagent"], name, task=task, **fields)

    @classmethod
    def on_stop(cls, name: str, task: str = "", **fields: Unpack[SubagentFields[StateT]]) -> Self:
        """Make the context of a subagent that has finished."""
        return cls(SPELLINGS["post-subagent"], name, task=task, **fields)

    def apply_verdict(self, verdict: Verdict) -> Self:
        """Return the context with what file hooks added, and with their refusals that have no effect."""
        return super(SubagentContext, self).apply_verdict(verdict).note_lifted(*verdict.lifted)


@dataclass(frozen=True, slots=True)
class CompactionContext(Context[StateT]):
    """A conversation that is about to be compacted, or was."""

    trigger: str = "auto"
    token_count: int = 0
    token_count_after: int | None = None

    EVENT_FIELDS: ClassVar[_EventFields] = ("trigger", "token_count", "token_count_after")

    @classmethod
    def before(cls, token_count: int, **fields: Unpack[CompactionFields[StateT]]) -> Self:
        """Make the context of a compaction that is about to happen."""
        return cls(SPELLINGS["pre-context-compact"], token_count=token_count, **fields)

    @classmethod
    def after(cls, token_count: int, token_count_after: int, **fields: Unpack[CompactionFields[StateT]]) -> Self:
        """Make the context of a compaction that happened."""
        kind = SPELLINGS["post-context-compact"]
        return cls(kind, token_count=token_count, token_count_after=token_count_after, **fields)


@dataclass(frozen=True, slots=True)
class NotificationContext(Context[StateT]):
    """A message from an agent to its person."""

    message: str = ""
    title: str = ""

    EVENT_FIELDS: ClassVar[_EventFields] = ("message", "title")

    @classmethod
    def of(cls, message: str, title: str = "", **fields: Unpack[ContextFields[StateT]]) -> Self:
        """Make the context of a notification."""
        return cls(SPELLINGS["notification"], message, title, **fields)


_EVENTS_BY_CLASS: dict[type[Context[Any]], tuple[str, ...]] = {
    SessionContext: ("pre-session", "post-session"),
    ExecutionContext: ("pre-agent-turn", "post-agent-turn"),
    StopContext: ("pre-agent-turn-stop", "post-agent-turn-stop"),
    ToolContext: ("pre-tool-call", "post-tool-call", "post-tool-call-failure", "permission-request"),
    SubagentContext: ("pre-subagent", "post-subagent"),
    CompactionContext: ("pre-context-compact", "post-context-compact"),
    NotificationContext: ("notification",),
    StepContext: ("pre-step", "post-step"),
    FailureContext: ("turn-failure",),
}


def _refuse_change(context: Context[Any], name: str, _value: object) -> NoReturn:
    allowed = CHANGEABLE_FIELDS.get(context.kind.name, ())
    if name in allowed:
        raise dataclasses.FrozenInstanceError(f"a context cannot be changed: return context.replace({name}=…) instead")
    changeable = f"only {', '.join(allowed)}" if allowed else "nothing"
    raise dataclasses.FrozenInstanceError(
        f"a context cannot be changed, and at {context.kind.name} hooks can replace {changeable}, not '{name}'. For a value of "
        f"your own, return context.with_metadata('{name}', …)"
    )


# In place of the method of frozen dataclasses, which does not say what to write.
for _context_class in _EVENTS_BY_CLASS:
    setattr(_context_class, "__setattr__", _refuse_change)  # noqa: B010

CONTEXT_CLASSES = {name: context_class for context_class, names in _EVENTS_BY_CLASS.items() for name in names}
