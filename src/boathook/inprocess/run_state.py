"""What a run carries from event to event: session, metadata, refused stops, texts, and what hooks decided about calls."""

from __future__ import annotations

import dataclasses
import secrets
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from boathook.core.json_text import is_same_json
from boathook.core.outcome import DEFAULT_STOP_REASON, Decision, Outcome
from boathook.errors import BoathookError, HookError, Stopped
from boathook.inprocess.call_memory import ANSWER_IS_TAKEN, AskLater, CallMemory, find_changed_values
from boathook.inprocess.contexts import Context, ContextFields, StateT, ToolContext
from boathook.inprocess.json_values import to_json_value
from boathook.inprocess.layers import LOGGER
from boathook.inprocess.name_map import NameMap
from boathook.inprocess.operations import ToolCall
from boathook.inprocess.read_only import thaw_arguments
from boathook.inprocess.run_outcome import AskRequest, RunOutcome, ToolOutcome, make_tool_outcome
from boathook.system.locations import current_dir, make_absolute

if TYPE_CHECKING:
    from boathook.inprocess.layers import Layer
    from boathook.inprocess.stack import Stack

_ContextT = TypeVar("_ContextT", bound=Context)
_OutcomeT = TypeVar("_OutcomeT", bound=RunOutcome[Any])
_RunT = TypeVar("_RunT", bound="RunState[Any]")
_MAX_WAITING_RUNS = _MAX_MESSAGES = 1024
_TEXTS = ("additional_context", "messages")
_HAS_ENDED = "the run has ended: make a new one with hooks.run(…)"
_ENDED_MEANWHILE = "the {} ended before hooks had decided about this call"
_IS_BEGINNING = "the session is just beginning: its hooks have not decided about it yet"
_IS_OUTSIDE = (
    "the guarded function '%s' was called outside of every run of its hooks although one is open, so it belongs to none: a stop of "
    "the run does not hold for it. If the call belongs to a run, take over its context in the thread: "
    "pool.submit(contextvars.copy_context().run, function)"
)
_IS_OTHER_ANSWER = (
    "a person's answer about the call of '%s' (%s) does not count: it is for hooks that were changed since, or for a bridge with "
    "other options. The hooks of this run decide about the call, and may ask again"
)
_HAS_NOT_BEGUN = "the session has not begun, because its hooks failed: begin it again with a prompt"


@dataclass(frozen=True, slots=True)
class OpenCall:
    # `given` is the call as the host made it, perhaps without an id.
    given: ToolCall
    call: ToolCall
    context: ToolContext
    memory: CallMemory
    # The turn in which it was opened, 0 if none was open.
    turn: int = 0


@dataclass(frozen=True, slots=True)
class StartedCall:
    # `given` is the context before the hooks; a refused call has no events after it.
    context: ToolContext
    given: ToolContext
    time: float
    is_refused: bool = False

    def is_about(self, name: str, args: Mapping[str, Any]) -> bool:
        """Whether these are the name and the arguments of the call, as they were given or as hooks left them."""
        values = to_json_value(args)
        return self.context.name == name and any(
            is_same_json(to_json_value(each.args), values) for each in (self.given, self.context)
        )


# The run in whose block the program is: calls of guarded functions belong to it.
ACTIVE_RUN: ContextVar[RunState[Any] | None] = ContextVar("active run", default=None)


class WaitingRuns(Generic[_RunT]):
    """Runs that wait for an answer, or were suspended, by token and by session: what comes again finds its run."""

    def __init__(self) -> None:
        self._runs: OrderedDict[str, _RunT] = OrderedDict()
        self._lock = threading.Lock()
        # How many blocks of runs the program is in, in all threads and tasks.
        self._open_blocks = 0
        self._is_outside_reported = False

    def count_block(self, change: int) -> None:
        with self._lock:
            self._open_blocks += change

    def report_outside(self, tool_name: str) -> None:
        """Log once that a guarded call belongs to no run although one is open: a thread does not take over the run."""
        if not self._open_blocks or self._is_outside_reported:
            return
        self._is_outside_reported = True
        LOGGER.warning(_IS_OUTSIDE, tool_name)

    def keep(self, key: str, run: _RunT) -> None:
        with self._lock:
            self._runs[key] = run
            while len(self._runs) > _MAX_WAITING_RUNS:
                self._runs.popitem(last=False)

    def find(self, key: str) -> _RunT | None:
        with self._lock:
            run = self._runs.get(key)
            if run is not None and run.has_ended:
                # A subagent whose caller has ended meanwhile cannot go on in that session.
                del self._runs[key]
                return None
            return run

    def forget(self, run: _RunT) -> None:
        with self._lock:
            for key in [key for key, each in self._runs.items() if each is run]:
                del self._runs[key]


class SharedValues:
    """The metadata of a run and of its subagents."""

    def __init__(self, metadata: Mapping[str, Any]) -> None:
        self.metadata = metadata
        self._lock = threading.Lock()

    def update(self, changes: Mapping[str, Any]) -> None:
        if changes:
            with self._lock:
                self.metadata = {**self.metadata, **changes}


class RunState(Generic[StateT]):
    """What a run carries from event to event. Safe for threads and tasks."""

    refused_by: tuple[int | str, ...]
    # How many turns have begun.
    _turn_count = 0
    # Whether approvals that come before a question are for questions of another run, with other hooks or options.
    must_ask_again = False
    # The calls for which that was reported.
    _other_answers: tuple[str, ...] = ()

    def __init__(
        self,
        stack: Stack,
        waiting: WaitingRuns[Any],
        *,
        session_id: str = "",
        work_dir: str = "",
        state: StateT | None = None,
        metadata: Mapping[str, Any] | None = None,
        extra: Mapping[str, Any] | None = None,
        model: str = "",
        source: str = "startup",
        can_ask: bool = False,
        name_map: NameMap | None = None,
    ) -> None:
        self.stack, self.model, self.source = stack, model, source
        self.state: StateT = state  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]
        self.session_id = session_id or uuid.uuid4().hex
        self.work_dir = make_absolute(work_dir) if work_dir else current_dir()
        self.can_ask = can_ask
        self.name_map = name_map or NameMap()
        # Called with each new text for the person when it comes, for a host that cannot fetch them at every event.
        self.show_message: Callable[[str], None] | None = None
        self.subagent: str | None = None
        # The run that a subagent works for.
        self.parent: RunState[StateT] | None = None
        self.task = ""
        self.step_count = 0
        # How often hooks have refused a stop of this turn.
        self.refused_stops, self.refused_by = 0, ()
        self.is_turn_open = self.is_step_open = False
        # Why nothing proceeds any more, if a hook refused the session or ended the run.
        self._refusal: tuple[Decision, tuple[str, ...]] = (Decision.NONE, ())
        self._values, self._extra = SharedValues(metadata or {}), dict(extra or {})
        self._waiting, self._lock = waiting, threading.RLock()
        self._has_begun, self._has_ended = False, False
        # Whether hooks let the session begin, and whether they are being asked.
        self._may_begin, self._is_beginning = False, False
        self._session_time, self._turn_time = 0.0, 0.0
        self._prompt = ""
        self._final_text: str | None = None
        self._total_steps, self._context = 0, list[str]()
        self._messages: OrderedDict[str, None] = OrderedDict()
        self._memories: dict[str, CallMemory] = {}
        self._open_calls: set[str] = set()
        self._started_calls: dict[str, StartedCall] = {}
        self._refused_calls: dict[str, StartedCall] = {}
        self._asked_calls: dict[int, tuple[ToolCall, str]] = {}
        # Answers that came before their question, by the id of the call.
        self._answers: dict[str, CallMemory] = {}

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Return the values that hooks stored with `with_metadata`."""
        return self._values.metadata

    @property
    def refusal(self) -> tuple[Decision, tuple[str, ...]]:
        """Return why nothing proceeds any more; a stop of the run that a subagent works for comes first."""
        if self.parent is not None and self.parent.is_stopped:
            return self.parent.refusal
        return self._refusal

    @property
    def is_stopped(self) -> bool:
        """Whether a hook ended the run: nothing proceeds any more."""
        return self.refusal[0] == Decision.STOP

    @property
    def stop_reason(self) -> str:
        """Return why a hook ended the run, or ""."""
        return "\n".join(filter(None, self.refusal[1])) or DEFAULT_STOP_REASON if self.is_stopped else ""

    def raise_stop(self) -> None:
        """Raise Stopped if a hook ended the run."""
        if self.is_stopped:
            raise Stopped(self.stop_reason)

    @property
    def has_ended(self) -> bool:
        """Whether the run has ended, or the one that a subagent works for."""
        return self._has_ended or (self.parent is not None and self.parent.has_ended)

    @property
    def is_session_open(self) -> bool:
        """Whether the session has begun and not ended; that of a subagent is the session of the run that it works for."""
        return self._has_begun and not self.has_ended

    def is_of(self, waiting: WaitingRuns[Any]) -> bool:
        """Whether the run was made by the hooks whose runs these are."""
        return self._waiting is waiting

    @property
    def shared_fields(self) -> ContextFields[StateT]:
        """Return the fields that the contexts of all events of the run share."""
        return {
            "session_id": self.session_id,
            "work_dir": self.work_dir,
            "state": self.state,
            "metadata": self.metadata,
            "extra": self._extra,
        }

    def complete_context(self, context: _ContextT, **changes: Any) -> _ContextT:
        """Return a context with the fields that all events of the run share."""
        extra = {**self._extra, **context.extra} if context.extra else self._extra
        return dataclasses.replace(context, **{**self.shared_fields, "extra": extra, **changes})

    def accept(self, outcome: _OutcomeT, given: Context) -> _OutcomeT:
        """Keep what hooks stored, and their texts; remember a stop."""
        context = outcome.context
        self._values.update(find_changed_values(given.metadata, context.metadata))
        if context.additional_context:
            self.add_context(*context.additional_context)
        if context.messages:
            self.add_messages(context.messages)
        if outcome.is_stopped:
            self.note_end(outcome.reasons)
        return outcome

    def accept_stream(self, outcome: Outcome[ToolContext], given: ToolContext) -> None:
        """Keep what hooks did when a stream ended; `given` is the context of its begin, whose texts were kept then."""
        context = outcome.context
        texts = {name: getattr(context, name)[len(getattr(given, name)) :] for name in _TEXTS}
        self.accept(make_tool_outcome(outcome.replace(context=dataclasses.replace(context, **texts))), given)

    def note_end(self, reasons: tuple[str, ...]) -> None:
        """Remember that a hook ended the run, also the one that a subagent works for."""
        if self._refusal[0] != Decision.STOP:
            self._refusal = (Decision.STOP, reasons)
        if self.parent is not None:
            self.parent.note_end(reasons)

    def add_context(self, *texts: str) -> None:
        """Add texts that the model should read."""
        with self._lock:
            self._context += texts

    def take_context(self) -> tuple[str, ...]:
        """Return the texts for the model since the last time, none while calls are open: results must come before them."""
        with self._lock:
            if self._open_calls or self._started_calls:
                return ()
            texts, self._context = tuple(self._context), []
            return texts

    def add_messages(self, texts: Iterable[str]) -> None:
        """Add texts for the person; one that is there already is neither added nor shown again."""
        with self._lock:
            # Warnings about the files of hooks come with every event.
            new_texts = [text for text in texts if text not in self._messages]
            self._messages.update(dict.fromkeys(new_texts))
            while len(self._messages) > _MAX_MESSAGES:
                self._messages.popitem(last=False)
        if self.show_message is not None:
            for text in new_texts:
                self.show_message(text)

    def take_messages(self) -> tuple[str, ...]:
        """Return the texts for the person since the last time, the last 1,024 of them."""
        with self._lock:
            texts, self._messages = tuple(self._messages), OrderedDict()
            return texts

    # Session and turn.

    def mark_session_begun(self) -> bool:
        with self._lock:
            if self._has_ended:
                raise BoathookError(_HAS_ENDED)
            if self._may_begin or self._is_beginning:
                return False
            self._session_time = self._session_time if self._has_begun else time.monotonic()
            self._has_begun = self._is_beginning = True
            return True

    def refuse_ended(self) -> None:
        """Raise BoathookError if the run has ended, or the one that a subagent works for; one that hooks refused says so itself."""
        if self.has_ended and self.refusal[0] < Decision.BLOCK:
            raise BoathookError(_HAS_ENDED)

    def mark_session_decided(self, *, has_decided: bool) -> None:
        with self._lock:
            self._may_begin, self._is_beginning = has_decided, False

    @property
    def start_refusal(self) -> tuple[Decision, tuple[str, ...]]:
        """Return why a session that another call begins or began does not let this one proceed."""
        root: RunState[StateT] = self
        while root.parent is not None:
            root = root.parent
        if root._has_begun and not root._may_begin and self.refusal[0] < Decision.BLOCK:
            return Decision.BLOCK, (_IS_BEGINNING if root._is_beginning else _HAS_NOT_BEGUN,)
        return self.refusal

    def refuse_session(self, outcome: RunOutcome[Any]) -> None:
        # Hooks that refused a session are not told of its end.
        self._refusal, self._has_ended = (outcome.decision, outcome.reasons), True

    def mark_turn_begun(self, prompt: str) -> None:
        with self._lock:
            self.is_turn_open, self.refused_stops, self.refused_by, self.step_count = True, 0, (), 0
            self._turn_count += 1
            self._turn_time, self._prompt, self._final_text = time.monotonic(), prompt, None

    def mark_turn_ended(self, text: str | None = None) -> tuple[str, dict[str, Any]]:
        with self._lock:
            self.is_turn_open, self.is_step_open, self.refused_stops, self.refused_by = False, False, 0, ()
            self._total_steps += self.step_count
            self._report_unfinished_calls()
            self._memories.clear()
            self._open_calls.clear()
            self._started_calls.clear()
            self._refused_calls.clear()
            self._asked_calls.clear()
            self._answers.clear()
            message = self._final_text if text is None else text
            seconds = round(time.monotonic() - self._turn_time)
            return self._prompt, {
                "final_message": message,
                "step_count": self.step_count,
                "duration_seconds": seconds,
            }

    def mark_session_ended(self, reason: str) -> dict[str, Any] | None:
        with self._lock:
            is_open, self._has_ended = self.is_session_open, True
        self._waiting.forget(self)
        if not is_open or self.subagent is not None:
            return None
        seconds = round(time.monotonic() - self._session_time)
        fields = {"total_steps": self._total_steps, "duration_seconds": seconds}
        return {"exit_reason": self.find_exit_reason(reason), **fields}

    def find_exit_reason(self, reason: str) -> str:
        """Return why the session ends, given why the program ends it, or ""."""
        return "stopped" if self.is_stopped and reason in ("", "done") else reason or "done"

    def mark_resumed(self) -> None:
        self.refuse_ended()
        with self._lock:
            self._waiting.forget(self)
            if not self._has_begun:
                self._has_begun, self._session_time = True, time.monotonic()
            self._may_begin = True
            if not self.is_turn_open:
                self.mark_turn_begun(self._prompt)

    def make_child(self, name: str, task: str, state: StateT | None) -> Self:
        extra = {**self._extra, "agent_id": uuid.uuid4().hex[:12], "agent_type": name}
        child = type(self)(
            self.stack,
            self._waiting,
            session_id=self.session_id,
            work_dir=self.work_dir,
            state=state,
            extra=extra,
            model=self.model,
            can_ask=self.can_ask,
            name_map=self.name_map,
        )
        child.subagent, child.task, child._has_begun, child._may_begin = name, task, True, True
        child.show_message = self.show_message
        # A stop in a subagent ends the whole run, and values are shared.
        child._values, child.parent = self._values, self
        return child

    def note_stop(self, outcome: _OutcomeT, text: str | None, *, can_continue: bool) -> _OutcomeT:
        """Count a refused stop; lift a refusal that cannot send the agent back to work, with a message for the person."""
        with self._lock:
            self._final_text = text
            if outcome.decision != Decision.BLOCK:
                return outcome
            if can_continue:
                self.refused_stops += 1
                self.refused_by = getattr(outcome.context, "refused_by", ())
                return outcome
        reasons = "; ".join(filter(None, outcome.reasons))
        context = outcome.context.add_message(f"the stop could not be refused; the hook's reason: {reasons}")
        self.add_messages(context.messages[-1:])
        return dataclasses.replace(outcome, context=context, decision=Decision.NONE, reasons=())

    # Tool calls.

    def make_call_context(self, call: ToolCall) -> ToolContext[StateT]:
        naming = self.name_map.find(call.name, call.args)
        # Made with all of its fields: to copy a context takes as long as to make it, and a call may be all that is done.
        return ToolContext.before(call.name, call.args, call_id=call.id, naming=naming, **self.shared_fields)

    def open_call(self, call: ToolCall, *, can_ask: bool | None = None, is_made: bool = True) -> OpenCall | ToolOutcome:
        """Return a call with its memory and its context, or the outcome if it cannot be made at all."""
        given = call = check_call(call)
        self.refuse_ended()
        if not call.id:
            # The same object is the same call if it waits for an answer: they are kept by identity, with the ids that they got.
            asked = self._asked_calls.get(id(given))
            call = ToolCall(call.name, call.args, asked[1] if asked else uuid.uuid4().hex)
        call = self._undo_changes(call)
        context = self.make_call_context(call)
        conflict = context.naming_conflict
        refusal = self.start_refusal
        is_refused = refusal[0] >= Decision.BLOCK
        if is_refused or conflict:
            decision, reasons = refusal if is_refused else (Decision.BLOCK, (conflict,))
            self.note_refused(context, context)
            return ToolOutcome(context, decision, reasons, None, has_run=False, call=call)
        with self._lock:
            memory = self._memories.get(call.id)
            if memory is None or not memory.is_about(call.name, call.args):
                answer = self._answers.pop(call.id, None)
                is_answered = answer is not None and answer.is_about(call.name, call.args)
                memory = answer if answer is not None and is_answered else CallMemory(call.name, call.args)
                self._memories[call.id] = memory
            if memory.is_being_made and memory.permission is None:
                # Another call that is the same in all: what hooks decided is about that one. Its question would have the same id.
                memory, can_ask = CallMemory(call.name, call.args), False
            memory.can_ask = self.can_ask if can_ask is None else can_ask
            memory.is_being_made |= is_made
            self._open_calls.add(call.id)
            refused = self._refused_calls.get(call.id)
            if is_made and refused is not None and refused.is_about(call.name, call.args):
                # It is made again, perhaps because a person has answered: what was noted about it does not count any more.
                del self._refused_calls[call.id]
        return OpenCall(given, call, context, memory, self.open_turn)

    @property
    def open_turn(self) -> int:
        """Return the number of the turn that is open, 0 if none is."""
        return self._turn_count if self.is_turn_open else 0

    def find_late_refusal(self, turn: int) -> Outcome | None:
        """Return why a call of a turn must not be made any more, although hooks let it; None if it may be made."""
        if self.is_stopped:
            return Outcome.stop(self.stop_reason)
        if self.has_ended:
            return Outcome.block(_ENDED_MEANWHILE.format("run"))
        # A call that was opened in no turn belongs to the run.
        return Outcome.block(_ENDED_MEANWHILE.format("turn")) if turn and turn != self.open_turn else None

    @contextmanager
    def keep_call_open(self) -> Iterator[None]:
        """Count a call of a guarded function as open in this block: nothing waits for its answer, so that it has no memory."""
        key = uuid.uuid4().hex
        with self._lock:
            self._open_calls.add(key)
        try:
            yield
        finally:
            with self._lock:
                self._open_calls.discard(key)

    def _undo_changes(self, call: ToolCall) -> ToolCall:
        """Return the call of a question as it was before hooks changed it: they must not see their own changes as new ones."""
        memory = self._memories.get(call.id)
        if memory is None or memory.is_about(call.name, call.args) or not memory.is_asked(call.name, call.args):
            return call
        return ToolCall(call.name, memory.given_args, call.id)

    def close_call(self, opened: OpenCall, *, is_over: bool = False) -> None:
        """Note that a call is not open any more; its memory stays unless it is over."""
        with self._lock:
            self._open_calls.discard(opened.call.id)
            opened.memory.is_being_made = False
            if is_over and self._memories.get(opened.call.id) is opened.memory:
                del self._memories[opened.call.id]
                self._asked_calls.pop(id(opened.given), None)

    def keep_question(self, opened: OpenCall, later: AskLater) -> ToolOutcome:
        """Return the question of a call; the memory of the call waits for the answer. An end meanwhile is a block."""
        refusal = self.find_late_refusal(opened.turn)
        self.close_call(opened, is_over=refusal is not None)
        self.note_refused(opened.context, later.context)
        if refusal is not None:
            return make_tool_outcome(refusal.replace(context=later.context), has_run=False)
        with self._lock:
            token = opened.memory.token or secrets.token_urlsafe(24)
            opened.memory.token = token
            if not opened.given.id:
                self._asked_calls[id(opened.given)] = (opened.given, opened.call.id)
        self._waiting.keep(token, self)
        call = ToolCall(opened.call.name, thaw_arguments(later.context.args), opened.call.id)
        ask = AskRequest(token, later.question, call)
        return ToolOutcome(later.context, Decision.ASK, (later.question,), ask, has_run=False, call=call)

    def answer(self, token: str, is_allowed: bool, *, reason: str = "", args: Mapping[str, Any] | None = None) -> None:  # noqa: FBT001
        """Give a person's answer to a question; the same call proceeds then, or is blocked, and hooks do not run again.

        If the person changed the arguments, give them as `args`: hooks see the new ones. A token counts once, in the run and
        in the turn that asked; HookError otherwise.
        """
        _check_answer(is_allowed)
        with self._lock:
            waiting = [(key, each) for key, each in self._memories.items() if token and each.token == token]
            if not waiting:
                raise HookError(
                    "there is no open question with this token here: it was answered already, its turn has ended, or another "
                    "run asked it (hooks.find_run(token) finds that run). Make the call again: if it still needs an answer, "
                    "its outcome has a new token"
                )
            call_id, memory = waiting[0]
            memory.token = ""
            if args is not None and not memory.is_about(memory.name, args):
                memory = self._memories[call_id] = CallMemory(memory.name, args)
                # The question was about other arguments, with which the call is not made.
                self._refused_calls.pop(call_id, None)
            memory.settle(is_allowed=is_allowed, comment=reason)

    def find_question(self, call: ToolCall) -> str:
        """Return the token of the open question about a call, for hosts that know only the call; "" if there is none."""
        with self._lock:
            memory = self._memories.get(call.id)
            return memory.token if memory is not None and memory.looks_like(call.name, call.args) else ""

    def answer_call(self, call: ToolCall, *, is_allowed: bool, reason: str = "") -> None:
        """Do what `answer` does, without a token, for hosts that know which call a person was asked about.

        If there is no question yet, the answer is for the one that this call raises in this turn: same id, same arguments.
        """
        _check_answer(is_allowed)
        with self._lock:
            memory = self._memories.get(call.id)
            is_asked = memory is not None and memory.asked is not None and memory.looks_like(call.name, call.args)
            if self.must_ask_again and is_allowed and not is_asked:
                self.report_other_answer(call)
                return
            if memory is None or not memory.is_about(call.name, call.args):
                memory = CallMemory(call.name, call.args)
                if call.id:
                    self._answers[call.id] = memory
            memory.settle(is_allowed=is_allowed, comment=reason)

    def report_other_answer(self, call: ToolCall) -> None:
        """Log once for a call that an answer to a question of other hooks does not count."""
        if call.id not in self._other_answers:
            self._other_answers = (*self._other_answers, call.id)
            LOGGER.warning(_IS_OTHER_ANSWER, call.name, call.id)

    def note_refused(self, given: ToolContext, context: ToolContext) -> None:
        """Note that a call was refused: no events come after it, even if the host reports its end."""
        with self._lock:
            self._refused_calls[given.call_id] = StartedCall(context, given, time.perf_counter(), is_refused=True)

    def start_call(self, opened: OpenCall, context: ToolContext) -> str:
        """Note that the host makes a call itself now; return why it must not, or ""."""
        call_id = opened.call.id
        with self._lock:
            other = self._started_calls.get(call_id)
            if other is not None and other.context.name != context.name:
                # The host may report its end by the id alone.
                return f"a call of {other.context.name} with the same id '{call_id}' is open: give each call its own id"
            if not opened.memory.claim(opened.context):
                return ANSWER_IS_TAKEN
            self._open_calls.discard(call_id)
            self._started_calls[call_id] = StartedCall(context, opened.context, time.perf_counter())
        return ""

    def finish_call(self, call: ToolCall | str) -> StartedCall:
        """Return the call that the host has made."""
        call_id = call if isinstance(call, str) else check_call(call).id
        with self._lock:
            self._memories.pop(call_id, None)
            self._answers.pop(call_id, None)
            started = self._take_call(call_id, call)
        if started is not None:
            return started
        if isinstance(call, str):
            raise HookError(f"there is no open call '{call}': call `before` first, or give `after` the whole call")
        if not call.id:
            LOGGER.warning(
                "`after` got a call of '%s' that `before` has not seen: pass `outcome.call` of the outcome of `before`",
                call.name,
            )
        context = self.make_call_context(call)
        return StartedCall(context, context, time.perf_counter())

    def _take_call(self, call_id: str, call: ToolCall | str) -> StartedCall | None:
        if isinstance(call, ToolCall) and not call_id:
            return self._take_call_without_id(call)
        started, refused = self._started_calls.get(call_id), self._refused_calls.get(call_id)
        if isinstance(call, ToolCall):
            # A call that was refused may have the id of one that was made, or of one that `before` never saw.
            if started is not None and started.context.name != call.name:
                started = None
            if refused is not None and not refused.is_about(call.name, call.args):
                refused = None
            if started is not None and refused is not None and not started.is_about(call.name, call.args):
                started = None
        if started is not None:
            return self._started_calls.pop(call_id)
        return self._refused_calls.pop(call_id) if refused is not None else None

    def _take_call_without_id(self, call: ToolCall) -> StartedCall | None:
        # `before` gave it an id, which is in its outcome. Calls that are the same in all end in the order in which they began.
        for calls in (self._started_calls, self._refused_calls):
            for call_id, each in calls.items():
                if each.is_about(call.name, call.args):
                    self._memories.pop(call_id, None)
                    return calls.pop(call_id)
        return None

    def forget_waiting(self) -> None:
        """Let nothing find this run any more: another one goes on in its place."""
        self._waiting.forget(self)

    def forget_started_calls(self) -> None:
        """Forget the calls that the host was making: the turn is interrupted, and they have no end."""
        with self._lock:
            if self.is_turn_open:
                self._started_calls.clear()

    def _report_unfinished_calls(self) -> None:
        """Warn about calls without an end if hooks had texts for the model: those come with the end of a call, or after it."""
        calls = self._started_calls.values()
        count = sum(len(each.context.additional_context) for each in calls) + len(self._context)
        if calls and count:
            LOGGER.warning(
                "`after` was not called for %s in this turn, so the model has not read the texts that hooks wrote for it (%d): "
                "call `after(outcome.call, result)` or `after_failure(outcome.call, error)` for every call that proceeds",
                ", ".join(f"'{each.context.name}'" for each in calls),
                count,
            )

    def refuse_middleware(self) -> None:
        """Raise HookError if a hook is middleware around tools: it needs a host that lets the run make the calls."""
        names = [layer.name for layer in self.stack.layers if layer.is_middleware and _is_around_tools(layer)]
        if names:
            raise HookError(
                f"{', '.join(names)}: middleware cannot be around tools here, because the host calls them itself. "
                "Use hooks with before_tool and after_tool instead"
            )


def _is_around_tools(layer: Layer) -> bool:
    return layer.kinds is None or any(kind.has_tool for kind in layer.kinds)


def _check_answer(is_allowed: object) -> None:
    if not isinstance(is_allowed, bool):
        raise HookError(f"the question was answered with {type(is_allowed).__name__}; it must be True or False")


def check_call(call: Any) -> ToolCall:
    if isinstance(call, ToolCall) and isinstance(call.name, str) and isinstance(call.args, Mapping):
        return call
    raise HookError(f"a call must be a ToolCall with a name and arguments, not {call!r:.200}")


@contextmanager
def activate_run(run: RunState[Any]) -> Iterator[None]:
    """Let calls of guarded functions in this block belong to a run."""
    token = ACTIVE_RUN.set(run)
    run._waiting.count_block(1)
    try:
        yield
    finally:
        run._waiting.count_block(-1)
        # ValueError: the block ends in another task than the one in which it began.
        with suppress(ValueError):
            ACTIVE_RUN.reset(token)
