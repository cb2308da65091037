"""What a hook decides, and how the decisions of several hooks are combined."""

from __future__ import annotations

from boathook.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Generic

    from typing_extensions import TypeVar

    ContextT_co = TypeVar("ContextT_co", covariant=True, default=Any)

    class _Base(Value, Generic[ContextT_co]):
        pass
else:
    ContextT_co = None

    class _Base(Value):
        def __class_getitem__(cls, _: object) -> type:
            # `Outcome[ToolContext]` is for type checkers; `typing` would cost time at every event.
            return cls


MAX_CONTEXT_CHARS = 10_000
# The reasons of hooks that give none.
DEFAULT_BLOCK_REASON, DEFAULT_STOP_REASON = "blocked by a hook", "stopped by a hook"
DEFAULT_ASK_REASON = "a hook wants a person to be asked"


class Decision(int):
    """A decision, from the weakest to the strongest: NONE < ALLOW < ASK < BLOCK < STOP. NONE is not ALLOW."""

    NONE: ClassVar[Decision]
    ALLOW: ClassVar[Decision]
    ASK: ClassVar[Decision]
    BLOCK: ClassVar[Decision]
    STOP: ClassVar[Decision]
    NAMES = ("none", "allow", "ask", "block", "stop")

    @property
    def word(self) -> str:
        """Return the decision as the protocol writes it."""
        return self.NAMES[self]

    def __repr__(self) -> str:
        return f"Decision.{self.word.upper()}"


for _rank, _word in enumerate(Decision.NAMES):
    setattr(Decision, _word.upper(), Decision(_rank))


class Absent:
    """The value of an effect that no hook wants; JSON's null would be a value."""

    def __repr__(self) -> str:
        return "ABSENT"

    def __bool__(self) -> bool:
        return False


ABSENT = Absent()


class Outcome(_Base[ContextT_co]):
    """A decision with its effects. `|` combines two outcomes; `Outcome()` changes nothing.

    `all_reasons` has the reasons of every decision, `reasons` those of the winning one. In-process hooks make outcomes with
    `proceed`, `allow`, `block`, `stop` and `ask`; `context` is then the context to continue with. `Stack.process` always
    returns one.
    """

    decision: Decision = Decision.NONE
    all_reasons: tuple[tuple[Decision, str], ...] = ()
    input: Any = ABSENT
    output: Any = ABSENT
    contexts: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    context: ContextT_co = None  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]

    @classmethod
    def proceed(cls, context: Any = None) -> Outcome[Any]:
        """Continue, with a changed context or the one that was given."""
        return NOTHING if context is None else cls(context=context)

    @classmethod
    def allow(cls, reason: str = "") -> Outcome[Any]:
        """Continue without asking for permission, unless another hook objects."""
        return Outcome(Decision.ALLOW, ((Decision.ALLOW, reason),) if reason else ())

    @classmethod
    def block(cls, reason: str) -> Outcome[Any]:
        """Prevent this one action; the agent continues."""
        return Outcome(Decision.BLOCK, ((Decision.BLOCK, reason),))

    @classmethod
    def stop(cls, reason: str) -> Outcome[Any]:
        """End the whole run."""
        return Outcome(Decision.STOP, ((Decision.STOP, reason),))

    @classmethod
    def ask(cls, reason: str) -> Outcome[Any]:
        """Let a person decide. Blocks if no person can be asked."""
        return Outcome(Decision.ASK, ((Decision.ASK, reason),))

    @property
    def proceeds(self) -> bool:
        """Whether the action may go on: no hook blocked it, ended the run, or wants a person to be asked."""
        return self.decision <= Decision.ALLOW

    @property
    def is_blocked(self) -> bool:
        """Whether the action is prevented: by a block, or by a stop, which also ends the run."""
        return self.decision >= Decision.BLOCK

    @property
    def is_stopped(self) -> bool:
        """Whether the run must end."""
        return self.decision == Decision.STOP

    @property
    def reason(self) -> str:
        """Return the reasons of the decision as one text."""
        return "\n".join(self.reasons)

    def __or__(self, other: Outcome[Any]) -> Outcome[ContextT_co]:
        """Combine two outcomes: the stronger decision, all reasons, the later effects."""
        if self is NOTHING or other is NOTHING:
            return other if self is NOTHING else self
        return Outcome(
            max(self.decision, other.decision),
            self.all_reasons + other.all_reasons,
            self.input if other.input is ABSENT else other.input,
            self.output if other.output is ABSENT else other.output,
            self.contexts + other.contexts,
            self.messages + other.messages,
            self.logs + other.logs,
            self.context if other.context is None else other.context,
        )

    @property
    def reasons(self) -> tuple[str, ...]:
        """Return the reasons of the winning decision, in the order the hooks ran."""
        return tuple(text for decision, text in self.all_reasons if decision == self.decision)

    def remove_allow(self) -> Outcome:
        """Return the outcome without its allow, if it has one."""
        if all(decision != Decision.ALLOW for decision, _ in self.all_reasons) and self.decision != Decision.ALLOW:
            return self
        reasons = tuple(each for each in self.all_reasons if each[0] != Decision.ALLOW)
        decision = Decision.NONE if self.decision == Decision.ALLOW else self.decision
        return self.replace(decision=decision, all_reasons=reasons)

    def limit_contexts(self) -> Outcome:
        """Return the outcome with its contexts cut to the limit, and a message if that was necessary."""
        total = sum(map(len, self.contexts))
        if total <= MAX_CONTEXT_CHARS:
            return self
        contexts: list[str] = []
        chars_left = MAX_CONTEXT_CHARS
        for text in self.contexts:
            if chars_left:
                contexts.append(text[:chars_left])
                chars_left -= len(contexts[-1])
        message = f"context of hooks was cut: {total:,} characters, the limit is {MAX_CONTEXT_CHARS:,}"
        return self.replace(contexts=tuple(contexts), messages=(*self.messages, message))


NOTHING = Outcome()
_NO_OPINION = NOTHING.to_dict()


def make_unchanged(context: Any) -> Outcome[Any]:
    """Return the outcome of hooks that had no opinion; what `Outcome(context=…)` does, but three times as fast."""
    outcome = Outcome.__new__(Outcome)
    values = outcome.__dict__
    values.update(_NO_OPINION)
    values["context"] = context
    return outcome
