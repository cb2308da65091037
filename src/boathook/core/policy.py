"""How failures, refused stops and questions are decided: the only place that knows fail-open from fail-closed."""

from __future__ import annotations

from boathook.core.event import PRE_STOP, PRE_TOOL
from boathook.core.outcome import NOTHING, Decision, Outcome
from boathook.core.text import MAX_REASON_CHARS, clean_text
from boathook.core.value import Value
from boathook.core.verdict import OK, STATUS_WORDS, Call, Exit, Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from boathook.core.event import Event


class AnswerError(Exception):
    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Policy(Value):
    max_stop_blocks: int = 3
    can_ask: bool = True
    strict_exit_codes: bool = False

    def make_run(self, call: Call, end: Exit) -> Run:
        """Return the run of a call that ended; a failure has the effect that the hook's `on_failure` sets."""
        try:
            if end.error:
                raise AnswerError(end.error, end.detail)
            outcome, notes = call.hook.dialect.read_answer(call, end, strict=self.strict_exit_codes)
            stderr = clean_text(end.stderr.decode("utf-8", "replace"), MAX_REASON_CHARS) if end.stderr else ""
            return Run(
                call.hook, OK, outcome, end.code, end.seconds, "", end.warnings + notes, call.look_number, stderr
            )
        except AnswerError as error:
            message = clean_text(error.message, MAX_REASON_CHARS)
            outcome = make_failure_outcome(call, error.status, message)
            # If the engine ended the hook, the exit code is not the hook's answer.
            code = None if end.error else end.code
            return Run(call.hook, error.status, outcome, code, end.seconds, message, end.warnings, call.look_number)

    def finish_outcome(self, event: Event, outcome: Outcome) -> Outcome:
        """Apply the rules for the event as a whole: questions with nobody to ask, the limit of contexts."""
        if event.kind is PRE_TOOL and outcome.decision == Decision.ASK and not self.can_ask:
            reasons = outcome.reasons or ("a hook wants a person to be asked",)
            blocks = tuple((Decision.BLOCK, f"{text} (nobody to ask)") for text in reasons)
            outcome |= Outcome(Decision.BLOCK, blocks)
        return outcome.limit_contexts()

    def limit_stop_blocks(self, event: Event, outcome: Outcome) -> Outcome:
        """Replace the block of a stop that must not be refused, or not again, with a message."""
        if event.kind is not PRE_STOP or outcome.decision != Decision.BLOCK:
            return outcome
        count = event.data.get("stop_block_count", 0)
        stop_reason = event.data.get("stop_reason") or "no_tool_calls"
        reasons = "; ".join(outcome.reasons)
        if stop_reason != "no_tool_calls":
            message = f"a stop for '{stop_reason}' cannot be refused; the hook's reason: {reasons}"
        elif isinstance(count, int) and count >= self.max_stop_blocks:
            message = (
                f"the stop was refused {count} times in this turn and is let through now; the hook's reason: {reasons}"
            )
        else:
            return outcome
        return outcome.replace(decision=Decision.NONE, all_reasons=(), messages=(*outcome.messages, message))


def make_failure_outcome(call: Call, status: str, error: str) -> Outcome:
    """Return the outcome of a failed call: nothing, or a block that names the hook and the error."""
    if call.hook.on_failure != "block":
        return NOTHING
    return Outcome(Decision.BLOCK, ((Decision.BLOCK, f"hook '{call.hook.name}' {STATUS_WORDS[status]}: {error}"),))
