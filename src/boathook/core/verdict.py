"""One call of a hook as data, what its end means (fail-open or fail-closed), and the verdict that all of them make."""

from __future__ import annotations

from boathook.core.event import PRE_STOP, PRE_TOOL, STOP_KINDS
from boathook.core.hook import STRONG_ASK
from boathook.core.json_text import is_same_json
from boathook.core.notices import COUNT_OF_STATE, MAX_NAMED, count_hooks, describe_counts, list_names, list_notices
from boathook.core.outcome import ABSENT, DEFAULT_ASK_REASON, NOTHING, Decision, Outcome
from boathook.core.text import MAX_REASON_CHARS, clean_text
from boathook.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Literal

    from boathook.core.event import Event
    from boathook.core.hook import Hook

    FailureStatus = Literal["failed", "timeout", "unreadable", "refused"]
    RunStatus = Literal["ok", FailureStatus]

# Of everything that `--json` prints.
OUTPUT_VERSION = 1
STATUS_WORDS = {
    "failed": "failed",
    "timeout": "timed out",
    "unreadable": "gave an unreadable answer",
    "refused": "was refused",
}
# What became of a question: a person answered yes or no, there was no answer in time, the agent stopped
# waiting, or the process that waited was killed.
ALLOWED, DENIED, UNANSWERED, WITHDRAWN, KILLED = ASK_RESULTS = (
    "allowed",
    "denied",
    "unanswered",
    "withdrawn",
    "killed",
)
# How the record of a question ends that an agent cannot ask, and that was denied because of that.
DENIED_INSTEAD = "denied instead"
OK: Literal["ok"] = "ok"
FAILED: Literal["failed"] = "failed"
TIMEOUT: Literal["timeout"] = "timeout"
UNREADABLE: Literal["unreadable"] = "unreadable"
REFUSED: Literal["refused"] = "refused"
# What an agent reads if hooks send it back to work, with their reasons.
STOP_FEEDBACK = "[Hook blocked stop: {}]"


class Call(Value):
    """A hook that must run on an event; `look_number` is 2 or 3 after the input was rewritten; `dispatch` is a record's id.

    `file` is the path of a file if the event is the part of a patch that is about it. `next_calls` are those that follow if no
    hook objects, and that may share its process.
    """

    hook: Hook
    event: Event
    look_number: int = 1
    dispatch: str = ""
    file: str = ""
    next_calls: tuple[Call, ...] = ()

    def describe(self) -> dict[str, str]:
        event = self.event
        return {
            "session": event.session_id,
            "event": event.kind.name,
            "hook": self.hook.name,
            "dispatch": self.dispatch,
        }


class Exit(Value):
    """How an execution ended, as bytes and numbers. `error` is a status other than ok, and `detail` describes it.

    `ahead` are the ends of the first of the call's `next_calls`, if these ran in the same process.
    """

    code: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    seconds: float = 0.0
    error: FailureStatus | Literal[""] = ""
    detail: str = ""
    overflow: bool = False
    warnings: tuple[str, ...] = ()
    ahead: tuple[Exit, ...] = ()


class Run(Value):
    """The result of one call; `error` says what went wrong if the status is not ok.

    `allowed` is the id of the question whose answer, by a person, lifted its objection. `ahead` are runs of calls that follow.
    """

    hook: Hook
    status: Literal["ok", "failed", "timeout", "unreadable", "refused"]
    outcome: Outcome
    code: int | None = None
    seconds: float = 0.0
    error: str = ""
    notes: tuple[str, ...] = ()
    look_number: int = 1
    stderr: str = ""
    file: str = ""
    allowed: str = ""
    ahead: tuple[Run, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the run as `run --json` prints it."""
        return {
            "hook": self.hook.name,
            "scope": self.hook.scope,
            "status": self.status,
            "exit_code": self.code,
            "duration_ms": round(self.seconds * 1000, 1),
            "decision": self.outcome.decision.word,
            "reason": self.outcome.reason or self.error or None,
            "look": self.look_number,
            "file": self.file or None,
            "notes": list(self.notes),
        }


class AnswerError(Exception):
    def __init__(self, status: FailureStatus, message: str) -> None:
        super().__init__(message)
        self.status: FailureStatus = status
        self.message = message


class Policy(Value):
    max_stop_blocks: int = 3
    can_ask: bool = True
    strict_exit_codes: bool = False
    # Whether boathook itself can ask a person about a tool call, and why the user's hooks.toml denies all questions, if it does.
    can_wait: bool = True
    question_denial: str = ""
    # How often each hook has refused to stop in this turn, by `identity`; None if only all refusals together were counted.
    refusals: Mapping[str, int] | None = None

    def make_run(self, call: Call, end: Exit) -> Run:
        """Return the run of a call that ended; a failure has the effect that the hook's `on_failure` sets."""
        if end.ahead:
            ahead = tuple(self.make_run(*one) for one in zip(call.next_calls, end.ahead, strict=False))
            return self.make_run(call, end.replace(ahead=())).replace(ahead=ahead)
        try:
            if end.error:
                raise AnswerError(end.error, end.detail)
            outcome, notes = call.hook.dialect.read_answer(call, end, strict=self.strict_exit_codes)
            outcome = self._refuse_question(call, outcome)
            stderr = _clean_stderr(end)
            notes = end.warnings + notes
            return Run(call.hook, OK, outcome, end.code, end.seconds, "", notes, call.look_number, stderr, call.file)
        except AnswerError as error:
            approval = getattr(call.hook, "approval", None)
            named = approval.name_real_files(error.message) if approval else error.message
            message = clean_text(named, MAX_REASON_CHARS)
            outcome = make_failure_outcome(call, error.status, message)
            # If the engine ended the hook, the exit code is not the hook's answer.
            code = None if end.error else end.code
            run = Run(call.hook, error.status, outcome, code, end.seconds, message, end.warnings, call.look_number)
            # Most messages have it; one about a timeout does not.
            stderr = _clean_stderr(end)
            if stderr and stderr not in error.message:
                run = run.replace(stderr=approval.name_real_files(stderr) if approval else stderr)
            return run.replace(file=call.file) if call.file else run

    def _refuse_question(self, call: Call, outcome: Outcome) -> Outcome:
        """Turn a question into a block if boathook cannot wait for its answer, and it may not be left to anyone else."""
        kind = call.event.kind
        if outcome.decision != Decision.ASK or not kind.is_pre or (kind is PRE_TOOL and self.can_wait):
            return outcome
        if call.hook.ask == STRONG_ASK:
            place = "in this program" if kind is PRE_TOOL else f"at {kind.name}"
            why = f"The hook '{call.hook.name}' has `ask: strong`, and no second factor can be asked for {place}."
        elif self.question_denial:
            why = self.question_denial
        else:
            return outcome
        reasons = (*outcome.reasons, why)
        return outcome.replace(decision=Decision.BLOCK, all_reasons=tuple((Decision.BLOCK, text) for text in reasons))

    def finish_outcome(self, event: Event, outcome: Outcome) -> Outcome:
        if event.kind is PRE_TOOL and outcome.decision == Decision.ASK and not self.can_ask:
            reasons = outcome.reasons or (DEFAULT_ASK_REASON,)
            blocks = tuple((Decision.BLOCK, f"{text} (no person can be asked)") for text in reasons)
            outcome |= Outcome(Decision.BLOCK, blocks)
        return outcome.limit_contexts()

    def limit_stop_blocks(self, event: Event, outcome: Outcome, hook: Hook | None = None) -> Outcome:
        """Replace the block of a stop that must not be refused, or not again, with a message."""
        # Nothing counts the refusals of subagents all together.
        kinds = (PRE_STOP,) if self.refusals is None else STOP_KINDS
        if event.kind not in kinds or outcome.decision != Decision.BLOCK:
            return outcome
        count = event.data.get("stop_block_count", 0)
        if self.refusals is not None and hook is not None:
            count = self.refusals.get(hook.identity, 0)
        stop_reason = event.data.get("stop_reason") or "no_tool_calls"
        reasons = "; ".join(outcome.reasons)
        if stop_reason != "no_tool_calls":
            message = f"a stop for '{stop_reason}' cannot be refused; the hook's reason: {reasons}"
        elif isinstance(count, int) and count >= self.max_stop_blocks:
            times = f"the stop was refused {count} times in this turn"
            message = f"{times} and is let through now; the hook's reason: {reasons}"
        else:
            return outcome
        return outcome.replace(decision=Decision.NONE, all_reasons=(), messages=(*outcome.messages, message))


def _clean_stderr(end: Exit) -> str:
    return clean_text(end.stderr.decode("utf-8", "replace"), MAX_REASON_CHARS) if end.stderr else ""


def make_failure_outcome(call: Call, status: FailureStatus, error: str) -> Outcome:
    if call.hook.on_failure != "block":
        return NOTHING
    if call.hook.is_hidden:
        return Outcome.block(describe_refused((call.hook,)))
    return Outcome.block(f"hook '{call.hook.name}' {STATUS_WORDS[status]}: {error}")


def describe_refused(hooks: Iterable[Hook]) -> str:
    """Return the reason of a block by hooks that nobody has reviewed: the model reads it, so it only counts them."""
    return describe_counts(count_hooks(COUNT_OF_STATE.get(hook.state, "") for hook in hooks), for_model=True)


class Skip(Value):
    """A hook that did not run although the event may have meant it; a warning is printed to stderr."""

    # `subject` is the name of the hook, or the path of a file unless `is_hook`. `state` is that of the hook, if it is the reason.
    # `count_name` is the count of `boathook.core.notices` that it belongs to, if nobody has reviewed it, or if it is not there.
    # `is_for_model`: no project can have chosen the text about a file, so a model may read it. `trust_key` is that of the hook.
    subject: str
    reason: str
    is_warning: bool = False
    state: str = ""
    is_hook: bool = True
    count_name: str = ""
    is_for_model: bool = False
    trust_key: str = ""

    @property
    def named_state(self) -> str:
        return f"{self.subject} ({self.state})"


class StartedHook(Value):
    hook: str
    pid: int | None


class Verdict(Value):
    """The combined answer of all hooks to one event; `id` is that of its record in the ledger, if there is one.

    `question` is that id if a person can allow the call once. `asked` is the id of a question that boathook waited for, and what
    became of it.
    """

    event: Event
    original: Event
    outcome: Outcome
    runs: tuple[Run, ...] = ()
    background: tuple[StartedHook, ...] = ()
    skipped: tuple[Skip, ...] = ()
    id: str = ""
    question: str = ""
    asked: tuple[str, str] = ("", "")

    @property
    def decision(self) -> Decision:
        """Return the decision."""
        return self.outcome.decision

    @property
    def reasons(self) -> tuple[str, ...]:
        """Return the reasons of the decision."""
        return self.outcome.reasons

    @property
    def proceeds(self) -> bool:
        """Whether the agent may go on: no hook blocked it, ended the run, or wants a person to be asked."""
        return self.outcome.proceeds

    @property
    def is_blocked(self) -> bool:
        """Whether the event must not continue: a block or a stop."""
        return self.outcome.is_blocked

    @property
    def modified_input(self) -> Any:
        """Return the tool input if hooks changed it, else None."""
        now, before = self.event.data.get("tool_input"), self.original.data.get("tool_input")
        return None if now is before or is_same_json(now, before) else self.event.tool_input

    @property
    def modified_output(self) -> Any:
        """Return the tool output if a hook replaced it, else None."""
        return None if self.outcome.output is ABSENT else self.outcome.output

    @property
    def additional_context(self) -> tuple[str, ...]:
        """Return the context that hooks add for the model."""
        return self.outcome.contexts

    @property
    def system_message(self) -> tuple[str, ...]:
        """Return the messages of hooks and of the engine for the person."""
        return self.outcome.messages

    @property
    def feedback(self) -> str | None:
        """Return the text that sends an agent back to work when its stop was blocked."""
        if self.event.kind.name != "pre-agent-turn-stop" or self.decision != Decision.BLOCK:
            return None
        return STOP_FEEDBACK.format("; ".join(self.reasons))

    @property
    def trust_messages(self) -> tuple[str, ...]:
        """Return the notices about hooks that match and are not trusted, or are trusted and not there."""
        return tuple(text for text, is_about_trust in list_notices(self.skipped) if is_about_trust)

    @property
    def lifted(self) -> tuple[str, ...]:
        """Return the reasons of hooks whose refusal of a stop had no effect, because of its limits."""
        if self.event.kind not in STOP_KINDS or self.decision >= Decision.BLOCK:
            return ()
        return tuple(text for run in self.runs if run.outcome.is_blocked for text in run.outcome.reasons)

    def warnings(self, *, for_model: bool = False) -> tuple[str, ...]:
        """Return lines about hooks that failed or did not run: a failure must never look like consent.

        If a model may read them, they have no text that a project chose, and only the number of files that cannot be used.
        """
        lines = self._list_skip_lines(for_model=for_model)
        for run in self.runs:
            is_among_reasons = self.decision == run.outcome.decision == Decision.BLOCK
            if run.status != OK and not is_among_reasons:
                lines.append(f"hook '{run.hook.name}' {STATUS_WORDS[run.status]}: {run.error}")
            # Lines that are the same count once.
            lines += map(self._format_note, run.notes)
        return tuple(dict.fromkeys(clean_text(line, MAX_REASON_CHARS) for line in lines))

    def _format_note(self, note: str) -> str:
        """Return a line for a note and all hooks that have it: many may meet the same variable."""
        names = tuple(dict.fromkeys(run.hook.name for run in self.runs if note in run.notes))
        return f"hook '{names[0]}': {note}" if len(names) == 1 else f"hooks {list_names(names)}: {note}"

    def _list_skip_lines(self, *, for_model: bool) -> list[str]:
        skips = [skip for skip in self.skipped if skip.is_warning]
        counted_skips = [skip for skip in skips if skip.count_name]
        hooks = [f"hook '{s.subject}' did not run: {s.reason}" for s in skips if s.is_hook and not s.count_name]
        files = [skip.reason for skip in skips if not skip.is_hook and skip.is_for_model >= for_model]
        if for_model:
            counted = describe_counts(count_hooks(skip.count_name for skip in counted_skips))
            hidden = sum(not skip.is_hook and not skip.is_for_model for skip in skips)
            number = f"{hidden} file{'s' if hidden > 1 else ''} cannot be used. See: boathook doctor" if hidden else ""
            return [line for line in (counted, *_limit_lines(hooks), *_limit_lines(files), number) if line]
        return [*(text for text, _ in list_notices(counted_skips)), *_limit_lines(hooks), *_limit_lines(files)]

    def to_json(self) -> dict[str, Any]:
        """Return the whole verdict as `run --json` prints it."""
        return {
            "version": OUTPUT_VERSION,
            "event": self.event.kind.name,
            "decision": self.decision.word,
            "reasons": list(self.reasons),
            "modified_input": self.modified_input,
            "modified_output": self.modified_output,
            "additional_context": list(self.additional_context),
            "system_message": list(self.system_message),
            "feedback": self.feedback,
            "lifted": list(self.lifted),
            "runs": [run.to_json() for run in self.runs],
            "background": [{"hook": hook.hook, "pid": hook.pid} for hook in self.background],
            "skipped": [{"hook": skip.subject, "why": skip.reason} for skip in self.skipped],
            "id": self.id or None,
        }


def _limit_lines(lines: list[str]) -> list[str]:
    """Return the first few lines, and one that counts the rest."""
    rest = len(lines) - MAX_NAMED
    return lines if rest <= 0 else [*lines[:MAX_NAMED], f"and {rest:,} more. See: boathook doctor"]
