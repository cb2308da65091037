"""What hooks decide, and how decisions add up."""

from __future__ import annotations

from boathook.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

CONTEXT_LIMIT = 10_000


class Decision(int):
    """How much a hook objects: NONE < ALLOW < ASK < BLOCK < STOP. NONE is not ALLOW."""

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
        """Show the word."""
        return f"Decision.{self.word.upper()}"


for _rank, _word in enumerate(Decision.NAMES):
    setattr(Decision, _word.upper(), Decision(_rank))


class Absent:
    """The one value that says: this effect was not asked for. JSON's null is a value, this is none."""

    def __repr__(self) -> str:
        """Show as absent."""
        return "ABSENT"

    def __bool__(self) -> bool:
        """Count as false."""
        return False


ABSENT = Absent()


class Outcome(Value):
    """One opinion with its effects; outcomes add up with `|`, and `Outcome()` changes nothing.

    Hooks in process make theirs with `proceed`, `block`, `stop` and `ask`; `context` is then the context to go on with.
    """

    decision: Decision = Decision.NONE
    said: tuple[tuple[Decision, str], ...] = ()
    input: Any = ABSENT
    output: Any = ABSENT
    contexts: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    context: Any = None

    @classmethod
    def proceed(cls, context: Any = None) -> Outcome:
        """Let it go on, with a changed context or the one that was given."""
        return NOTHING if context is None else cls(context=context)

    @classmethod
    def block(cls, reason: str) -> Outcome:
        """Prevent this one action; the agent goes on."""
        return cls(Decision.BLOCK, ((Decision.BLOCK, reason),))

    @classmethod
    def stop(cls, reason: str) -> Outcome:
        """End the whole run."""
        return cls(Decision.STOP, ((Decision.STOP, reason),))

    @classmethod
    def ask(cls, reason: str) -> Outcome:
        """Let a person decide; with nobody to ask it is a block."""
        return cls(Decision.ASK, ((Decision.ASK, reason),))

    @property
    def is_blocked(self) -> bool:
        """Whether the action is prevented."""
        return self.decision == Decision.BLOCK

    @property
    def is_stopped(self) -> bool:
        """Whether the run is to end."""
        return self.decision == Decision.STOP

    @property
    def reason(self) -> str:
        """Return the reasons of the decision as one text."""
        return "\n".join(self.reasons)

    def __or__(self, other: Outcome) -> Outcome:
        """Fold two outcomes: the heavier decision, all that was said, the later effects."""
        if self is NOTHING or other is NOTHING:
            return other if self is NOTHING else self
        return Outcome(
            max(self.decision, other.decision),
            self.said + other.said,
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
        return tuple(text for decision, text in self.said if decision == self.decision)

    @property
    def halts(self) -> bool:
        """Whether nothing more needs to be asked."""
        return self.decision >= Decision.BLOCK

    def without_allow(self) -> Outcome:
        """Return the outcome without what was said to allow it."""
        if all(decision != Decision.ALLOW for decision, _ in self.said) and self.decision != Decision.ALLOW:
            return self
        said = tuple(one for one in self.said if one[0] != Decision.ALLOW)
        return self.replace(decision=Decision.NONE if self.decision == Decision.ALLOW else self.decision, said=said)

    def within_limit(self) -> Outcome:
        """Return the outcome with its contexts together within the limit; a cut is said in a message."""
        total = sum(map(len, self.contexts))
        if total <= CONTEXT_LIMIT:
            return self
        kept: list[str] = []
        room = CONTEXT_LIMIT
        for text in self.contexts:
            if room:
                kept.append(text[:room])
                room -= len(kept[-1])
        said = f"context of hooks was cut: {total:,} characters, the limit is {CONTEXT_LIMIT:,}"
        return self.replace(contexts=tuple(kept), messages=(*self.messages, said))


NOTHING = Outcome()
