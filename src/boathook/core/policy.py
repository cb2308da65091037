"""What failures, gates and questions come to: the only place that knows fail-open from fail-closed."""

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
    """An answer that cannot count: the status of its run, and the exact fault."""

    def __init__(self, status: str, why: str) -> None:
        """Remember both."""
        super().__init__(why)
        self.status = status
        self.why = why


class Policy(Value):
    """The rules in force for one engine."""

    max_stop_blocks: int = 3
    can_ask: bool = True
    strict_exit_codes: bool = False

    def judge(self, call: Call, end: Exit) -> Run:
        """Turn the end of a call into a run; a failure becomes what the hook's `on_failure` says."""
        try:
            if end.error:
                raise AnswerError(end.error, end.detail)
            outcome, notes = call.hook.dialect.read_answer(call, end, strict=self.strict_exit_codes)
            stderr = clean_text(end.stderr.decode("utf-8", "replace"), MAX_REASON_CHARS) if end.stderr else ""
            return Run(call.hook, OK, outcome, end.code, end.seconds, "", end.warnings + notes, call.look, stderr)
        except AnswerError as error:
            why = clean_text(error.why, MAX_REASON_CHARS)
            outcome = failure(call, error.status, why)
            code = None if end.error else end.code  # what the engine did to end it is no answer of the hook
            return Run(call.hook, error.status, outcome, code, end.seconds, why, end.warnings, call.look)

    def settle(self, event: Event, outcome: Outcome) -> Outcome:
        """Apply what concerns the event as a whole: questions with nobody to ask, the context limit."""
        if event.kind is PRE_TOOL and outcome.decision == Decision.ASK and not self.can_ask:
            said = outcome.reasons or ("a hook wants a person to be asked",)
            blocks = tuple((Decision.BLOCK, f"{text} (nobody to ask)") for text in said)
            outcome |= Outcome(Decision.BLOCK, blocks)
        return outcome.within_limit()

    def weigh(self, event: Event, outcome: Outcome) -> Outcome:
        """Lift a block of a stop that may not be refused (any more), and say so."""
        if event.kind is not PRE_STOP or outcome.decision != Decision.BLOCK:
            return outcome
        count = event.data.get("stop_block_count", 0)
        stop_reason = event.data.get("stop_reason") or "no_tool_calls"
        reasons = "; ".join(outcome.reasons)
        if stop_reason != "no_tool_calls":
            why = f"a stop for '{stop_reason}' cannot be refused; the gate said: {reasons}"
        elif isinstance(count, int) and count >= self.max_stop_blocks:
            why = f"the stop was refused {count} times in this turn and is let through now; the gate said: {reasons}"
        else:
            return outcome
        return outcome.replace(decision=Decision.NONE, said=(), messages=(*outcome.messages, why))


def failure(call: Call, status: str, why: str) -> Outcome:
    """Return the outcome of a failed call: nothing, or a block that names hook and fault."""
    if call.hook.on_failure != "block":
        return NOTHING
    return Outcome(Decision.BLOCK, ((Decision.BLOCK, f"hook '{call.hook.name}' {STATUS_WORDS[status]}: {why}"),))
