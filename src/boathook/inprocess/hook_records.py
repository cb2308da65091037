"""What Python hooks do, for the ledger: a record for each hook that decides, changes something or fails."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from boathook.core.hook import Command, Hook, HookDialect
from boathook.core.matcher import Matcher, Pattern
from boathook.core.outcome import ABSENT, NOTHING, Decision, Outcome
from boathook.core.verdict import FAILED, OK, TIMEOUT, Run, Verdict
from boathook.errors import HookTimeout
from boathook.inprocess.contexts import CHANGEABLE_FIELDS, Context, ToolContext
from boathook.inprocess.json_values import to_json_value
from boathook.inprocess.layers import Layer

if TYPE_CHECKING:
    from boathook.core.verdict import RunStatus

# What records have for a hook that is a function of a program, where others have their scope and their source.
PROGRAM_SCOPE, PYTHON_SOURCE = "program", "python"
_DIALECT = HookDialect("python", "")
# What a hook may change besides the input and the output of a tool; `state` is the agent's own.
_TEXT_FIELDS = ("prompt",)
_QUESTION_NOTE = "it asked before; this is what became of its question"


class HookWatch:
    """Watches one call of a Python hook: what it was given, and the time that it takes itself."""

    __slots__ = ("_since", "_spent", "context", "layer")

    def __init__(self, layer: Layer, context: Context) -> None:
        self.layer, self.context = layer, context
        self._since, self._spent = time.perf_counter(), 0.0

    @property
    def seconds(self) -> float:
        """Return the time until now, without pauses."""
        return self._spent + (time.perf_counter() - self._since if self._since else 0.0)

    def pause(self) -> None:
        """Stop counting, because something else runs within the hook."""
        self._spent, self._since = self.seconds, 0.0

    def resume(self) -> None:
        """Count again."""
        self._since = time.perf_counter()

    def has_effect(self, opinion: Outcome, after: Context) -> bool:
        """Whether there is anything to record: a decision, a change, or context for the model."""
        if opinion.decision or opinion.all_reasons:
            return True
        return after is not self.context and (bool(self._list_changes(after)) or bool(self._list_added(after)))

    def make_verdict(self, opinion: Outcome, after: Context, *, status: RunStatus = OK, error: str = "") -> Verdict:
        """Return what the hook did, as the ledger records it."""
        before, changes = self.context, self._list_changes(after)
        output = to_json_value(after.result) if "result" in changes and isinstance(after, ToolContext) else ABSENT
        original = before.to_event()
        event = after.to_event() if "args" in changes else original
        tool_input = event.tool_input if "args" in changes else ABSENT
        contexts = self._list_added(after)
        outcome = Outcome(opinion.decision, opinion.all_reasons, contexts=contexts, input=tool_input, output=output)
        notes = tuple(f"it changed the {name}" for name in changes if name in _TEXT_FIELDS)
        kind = before.kind
        hook = Hook(self.layer.name, kind, kind.name, PROGRAM_SCOPE, Command(""), self.layer.place, _DIALECT).replace(
            source=PYTHON_SOURCE, matcher=_make_matcher(self.layer)
        )
        run = Run(hook, status, outcome, None, self.seconds, error, notes)
        return Verdict(event, original, outcome, (run,))

    def make_failure(self, error: Exception) -> Verdict:
        """Return that the hook failed, with what that means for the event."""
        message = f"{type(error).__name__}: {error}"
        status = TIMEOUT if isinstance(error, HookTimeout) else FAILED
        name, on_failure = self.layer.name, self.layer.on_failure
        opinion = Outcome.block(f"hook '{name}' failed: {message}") if on_failure == "block" else NOTHING
        if on_failure == "raise":
            opinion = Outcome.stop(f"hook '{name}' failed, and its error went to the program: {message}")
        return self.make_verdict(opinion, self.context, status=status, error=message)

    def _list_changes(self, after: Context) -> tuple[str, ...]:
        if after.kind is not self.context.kind:
            return ()
        names = (name for name in CHANGEABLE_FIELDS.get(after.kind.name, ()) if name != "state")
        return tuple(name for name in names if getattr(after, name) is not getattr(self.context, name))

    def _list_added(self, after: Context) -> tuple[str, ...]:
        return after.additional_context[len(self.context.additional_context) :]


def _make_matcher(layer: Layer) -> Matcher:
    """Return the `match` of a hook as text: it has chosen the event already."""
    return Matcher(fields=() if layer.match is None else (("match", Pattern("", None, repr(layer.match))),))


def make_answer_verdict(context: Context, answer: Outcome, question: Outcome, askers: Sequence[Run]) -> Verdict:
    """Return what became of the question of hooks: the answer of a person, or a block because none could be asked."""
    if answer.decision == Decision.ALLOW:
        answer = Outcome.allow(f"{question.reason} (allowed by a person)".lstrip())
    runs = tuple(run.replace(notes=(*run.notes, _QUESTION_NOTE)) for run in askers)
    event = context.to_event()
    return Verdict(event, event, answer, runs)
