"""What hooks decided about one call, step by step: if the call comes again, with an answer, they do not run again."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from boathook.core.json_text import is_same_json
from boathook.core.outcome import Outcome
from boathook.inprocess.contexts import Context, ToolContext
from boathook.inprocess.json_values import to_json_value
from boathook.inprocess.read_only import freeze_arguments
from boathook.inprocess.same_values import is_same_input, to_comparable

if TYPE_CHECKING:
    from boathook.core.verdict import Run


class AskLater(BaseException):
    """A person must be asked, and the host does it: the call comes again with the answer. Not an error that hooks may catch."""

    def __init__(self, context: ToolContext, request: ToolContext, question: str) -> None:
        # `request` is what the hooks for permissions made of the call.
        super().__init__(question)
        self.context, self.request, self.question = context, request, question


# Why a call is blocked although a person allowed one with its id.
ANSWER_IS_USED = "the approval of this call was used already: it counts once"
ANSWER_IS_TAKEN = "a person allowed this call once, and another call with the same id has begun already"


class CallMemory:
    """The decisions about one call. `can_ask` if the host asks a person itself, and comes again with `permission`."""

    def __init__(self, name: str, args: Mapping[str, Any], *, can_ask: bool = False) -> None:
        self.name, self.can_ask = name, can_ask
        # As they are now: whoever makes the call may change its own objects later.
        self.given_args, self._args = freeze_arguments(args), to_comparable(args)
        self.permission: bool | None = None
        # What the person said in addition, and the token of the question.
        self.comment = self.token = ""
        self.has_started_background = False
        # A call that comes meanwhile, the same in all, is another one.
        self.is_being_made = False
        # The call and the question, once the hooks for permissions have left it open.
        self.asked: AskLater | None = None
        # The hooks that want a person to be asked, until the answer is recorded.
        self.questions: list[Run] = []
        self._decisions: dict[int, list[_Decision]] = {}
        # Who makes the call that a person allowed.
        self._claimed_by: Context | None = None
        self._lock = threading.Lock()

    def is_about(self, name: str, args: Mapping[str, Any]) -> bool:
        """Whether this is the same call: a person's answer about one input says nothing about another."""
        return name == self.name and is_same_json(self._args, to_comparable(args))

    def looks_like(self, name: str, args: Mapping[str, Any]) -> bool:
        """Whether this may be the same call: a framework may make the objects of its arguments again."""
        return name == self.name and is_same_json(to_json_value(self.given_args), to_json_value(args))

    def is_asked(self, name: str, args: Mapping[str, Any]) -> bool:
        """Whether this is the call of the question, as hooks had changed it by then."""
        asked = None if self.asked is None else self.asked.context.args
        return asked is not None and name == self.name and is_same_input(asked, args)

    def settle(self, *, is_allowed: bool, comment: str) -> None:
        """Note a person's answer; the token of the question counts no more."""
        self.permission, self.comment, self.token = is_allowed, comment, ""

    def claim(self, maker: Context) -> bool:
        """Use up a person's answer for one call; False if another one with the same id has it. `maker` may try again."""
        with self._lock:
            if self.permission is None:
                return True
            if self._claimed_by is None:
                self._claimed_by = maker
            return self._claimed_by is maker

    def release(self, maker: Context) -> None:
        """Give the answer back: the framework makes the same call again."""
        with self._lock:
            if self._claimed_by is maker:
                self._claimed_by = None

    def note_decision(self, step: int, before: Context, opinion: Outcome, after: Context) -> None:
        if isinstance(before, ToolContext) and isinstance(after, ToolContext):
            self._decisions.setdefault(step, []).append(_Decision(before, opinion, after))

    def find_decision(self, step: int, context: Context) -> tuple[Outcome, Context] | None:
        """Return what a step decided about the same input, applied to this context; None if it has not seen it."""
        if not isinstance(context, ToolContext):
            return None
        known = (each for each in self._decisions.get(step, ()) if each.saw(context))
        decision = next(known, None)
        return None if decision is None else (decision.opinion, decision.apply_to(context))


@dataclasses.dataclass(frozen=True, slots=True)
class _Decision:
    before: ToolContext
    opinion: Outcome
    after: ToolContext

    def saw(self, context: ToolContext) -> bool:
        return is_same_input(self.before.args, context.args)

    def apply_to(self, context: ToolContext) -> ToolContext:
        """Return the context with what the step changed then; everything else stays as it is now."""
        if context is self.before or self.after is self.before:
            return self.after if context is self.before else context
        before, after = self.before, self.after
        changes: dict[str, Any] = {} if after.args is before.args else {"args": after.args}
        for name in ("additional_context", "messages"):
            added = getattr(after, name)[len(getattr(before, name)) :]
            if added:
                changes[name] = (*getattr(context, name), *added)
        values = find_changed_values(before.metadata, after.metadata)
        if values:
            changes["metadata"] = {**context.metadata, **values}
        return dataclasses.replace(context, **changes) if changes else context


def find_changed_values(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that are new or different; the others must not overwrite changes that were made meanwhile."""
    if after is before:
        return {}
    return {key: value for key, value in after.items() if key not in before or before[key] is not value}
