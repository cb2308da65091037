"""One execution as data, and what all of them add up to."""

from __future__ import annotations

from boathook.core.json_text import is_same_json
from boathook.core.outcome import ABSENT, Decision, Outcome
from boathook.core.text import MAX_REASON_CHARS, clean_text
from boathook.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from boathook.core.event import Event
    from boathook.core.hook import Hook

STATUS_WORDS = {
    "failed": "failed",
    "timeout": "timed out",
    "unreadable": "gave an unreadable answer",
    "refused": "was refused",
}
OK, FAILED, TIMEOUT, UNREADABLE, REFUSED = "ok", "failed", "timeout", "unreadable", "refused"


class Call(Value):
    """A hook to be asked about an event; `look` is 1, or 2 and 3 after the input was rewritten.

    `dispatch` is the id of the record of the dispatch, if there is one.
    """

    hook: Hook
    event: Event
    look: int = 1
    dispatch: str = ""

    @property
    def about(self) -> dict[str, str]:
        """Return what is told of the call when it ends and nobody waits for it."""
        event = self.event
        return {
            "session": event.session_id,
            "event": event.kind.name,
            "hook": self.hook.name,
            "dispatch": self.dispatch,
        }


class Exit(Value):
    """How an execution ended, as bytes and numbers. `fault` is a status other than ok, with its `detail`."""

    code: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    seconds: float = 0.0
    error: str = ""
    detail: str = ""
    overflow: bool = False
    warnings: tuple[str, ...] = ()


class Run(Value):
    """What became of one call."""

    hook: Hook
    status: str
    outcome: Outcome
    code: int | None = None
    seconds: float = 0.0
    why: str = ""
    notes: tuple[str, ...] = ()
    look: int = 1
    stderr: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the run as `run --json` prints it."""
        said = [text for decision, text in self.outcome.said if decision == self.outcome.decision]
        return {
            "hook": self.hook.name,
            "scope": self.hook.scope,
            "status": self.status,
            "exit_code": self.code,
            "duration_ms": round(self.seconds * 1000, 1),
            "decision": self.outcome.decision.word,
            "reason": "\n".join(said) or self.why or None,
            "look": self.look,
            "notes": list(self.notes),
        }


class Skip(Value):
    """A hook that did not run although it might have been meant, and why. Loud ones are told on stderr.

    `state` is that of the hook, if it was for that.
    """

    hook: str
    why: str
    loud: bool = False
    state: str = ""


class Started(Value):
    """An async hook that was started, and the process that looks after it."""

    hook: str
    pid: int | None


class Verdict(Value):
    """All answers to one event; `id` is that of its record in the ledger, if there is one."""

    event: Event
    original: Event
    outcome: Outcome
    runs: tuple[Run, ...] = ()
    background: tuple[Started, ...] = ()
    skipped: tuple[Skip, ...] = ()
    id: str = ""

    @property
    def decision(self) -> Decision:
        """Return the decision."""
        return self.outcome.decision

    @property
    def reasons(self) -> tuple[str, ...]:
        """Return the reasons of the decision."""
        return self.outcome.reasons

    @property
    def blocked(self) -> bool:
        """Whether the event must not go on: a block or a stop."""
        return self.outcome.halts

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
        """Return what hooks want the model to know."""
        return self.outcome.contexts

    @property
    def system_message(self) -> tuple[str, ...]:
        """Return what hooks and the engine want the person to know."""
        return self.outcome.messages

    @property
    def feedback(self) -> str | None:
        """Return the text that sends an agent back to work when its stop was blocked."""
        if self.event.kind.name != "pre-agent-turn-stop" or self.decision != Decision.BLOCK:
            return None
        return f"[Hook blocked stop: {'; '.join(self.reasons)}]"

    def warnings(self) -> tuple[str, ...]:
        """Return a line for every hook that failed or did not run: a failure must never look like consent."""
        lines = [s.why if "/" in s.hook else f"hook '{s.hook}' did not run: {s.why}" for s in self.skipped if s.loud]
        for run in self.runs:
            told = self.decision == Decision.BLOCK and run.outcome.decision == Decision.BLOCK  # it is among the reasons
            if run.status != OK and not told:
                lines.append(f"hook '{run.hook.name}' {STATUS_WORDS[run.status]}: {run.why}")
            lines += [f"hook '{run.hook.name}': {note}" for note in run.notes]
        return tuple(dict.fromkeys(clean_text(line, MAX_REASON_CHARS) for line in lines))

    def to_json(self) -> dict[str, Any]:
        """Return the whole verdict as `run --json` prints it."""
        return {
            "version": 1,
            "event": self.event.kind.name,
            "decision": self.decision.word,
            "reasons": list(self.reasons),
            "modified_input": self.modified_input,
            "modified_output": self.modified_output,
            "additional_context": list(self.additional_context),
            "system_message": list(self.system_message),
            "feedback": self.feedback,
            "runs": [run.to_json() for run in self.runs],
            "background": [{"hook": s.hook, "pid": s.pid} for s in self.background],
            "skipped": [{"hook": s.hook, "why": s.why} for s in self.skipped],
            "id": self.id or None,
        }
