"""What a guard answers if it objects to a call."""

from __future__ import annotations

from boathook.core.json_text import dumps
from boathook.core.value import Value

ASK, BLOCK = "ask", "block"


class GuardAnswer(Value):
    """Why a guard objects to a call: `decision` is `ask` or `block`; `reason` also names the safe way."""

    decision: str
    reason: str

    def to_json(self) -> str:
        """Return the answer of a hook, in the native dialect."""
        return dumps({"decision": self.decision, "reason": self.reason})


def ask(reason: str) -> GuardAnswer:
    """Return an objection that a person decides on. An agent that cannot ask refuses the call; `boathook allow` lifts that."""
    return GuardAnswer(ASK, reason)


def block(reason: str) -> GuardAnswer:
    """Return an objection that refuses the call."""
    return GuardAnswer(BLOCK, reason)
