"""A question that a live process waits for: the call, who waits, and until when; and a person's answer to it."""

from __future__ import annotations

from math import isfinite

from boathook.core.ask_rule import MAX_WAIT_SECONDS
from boathook.core.hashing import hexdigest
from boathook.core.json_text import canonical_json
from boathook.core.permit import Question, check_field_types
from boathook.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# How an answer reaches the process that waits.
BY_TERMINAL, BY_PAGE = "terminal", "page"
# What the one that answers has checked itself, so that the process that waits need not take it for granted: that the person typed
# the end of the digest, or the code of the page's terminal; or nothing, because the second factor replaces that.
CHECKED_DIGEST, CHECKED_CODE, CHECKED_NOTHING = "digest", "code", "nothing"
_CHECKS = {BY_TERMINAL: (CHECKED_DIGEST,), BY_PAGE: (CHECKED_CODE, CHECKED_NOTHING)}
# No person was asked: an earlier answer still holds.
BY_REPEAT = "repeat"
MAX_ANSWER_BYTES = 4096


class WaitingQuestion(Value):
    """A call that a process (`pid`, started at `start`) waits for an answer to, until `deadline` (seconds since 1970).

    `question` is the call after all rewrites.
    """

    id: str
    question: Question
    pid: int
    start: int
    deadline: float

    @property
    def digest(self) -> str:
        """Identify all that a person is shown: the call, its session, and who objects to it for which reasons."""
        question, objections = self.question, [one.to_dict() for one in self.question.objections]
        parts = (self.id, question.id, question.session, question.digest, objections)
        return hexdigest(canonical_json(["boathook question 2", *parts]))

    def to_json(self) -> dict[str, Any]:
        return {**self.to_dict(), "question": self.question.to_json()}

    @classmethod
    def parse(cls, fields: Any) -> WaitingQuestion:
        """Make it from JSON; TypeError if it is not one."""
        types = {"id": str, "question": dict, "pid": int, "start": int, "deadline": float}
        checked = check_field_types(fields, types)
        checked["question"] = question = Question.parse(checked["question"])
        begin, end = question.time, checked["deadline"]
        if not (isfinite(begin) and begin <= end <= begin + MAX_WAIT_SECONDS + 1):
            raise TypeError("'deadline' is a time that no question has")
        return cls(**checked)


class PersonAnswer(Value):
    """What a person answers, bound to the id and the digest of all that was shown.

    `checked` is what the one that answers has checked itself. `factor` is the code of a second factor: only the process that waits
    checks that.
    """

    id: str
    digest: str
    is_yes: bool
    via: str
    checked: str
    factor: str = ""

    @classmethod
    def parse(cls, fields: Any) -> PersonAnswer:
        """Make it from JSON; TypeError if it is not one."""
        texts = dict.fromkeys(("id", "digest", "via", "checked", "factor"), str)
        answer = check_field_types(fields, {**texts, "is_yes": bool})
        if answer["checked"] not in _CHECKS.get(answer["via"], ()):
            raise TypeError("'via' or 'checked' is another word")
        return cls(**answer)
