"""A question that a live process waits for: the call, who waits, and until when; and a person's answer to it."""

from __future__ import annotations

from boathook.core.permit import Question
from boathook.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# How an answer reaches the process that waits.
BY_TERMINAL, BY_PAGE = ANSWER_WAYS = ("terminal", "page")
# No person was asked: an earlier answer still holds.
BY_REPEAT = "repeat"
MAX_ANSWER_BYTES = 4096


class WaitingQuestion(Value):
    """A call that a process (`pid`, started at `start`) waits for an answer to, until `deadline` (seconds since 1970).

    `question` is the call after all rewrites. `text` is one line about it, without secrets.
    """

    id: str
    question: Question
    text: str
    pid: int
    start: int
    deadline: float

    def to_json(self) -> dict[str, Any]:
        return {**self.to_dict(), "question": self.question.to_json()}

    @classmethod
    def parse(cls, fields: Any) -> WaitingQuestion:
        """Make it from JSON; TypeError if it is not one."""
        _check_types(fields, {"id": str, "question": dict, "text": str, "pid": int, "start": int, "deadline": float})
        question = Question.parse(fields["question"])
        others = (fields[name] for name in ("text", "pid", "start", "deadline"))
        return cls(fields["id"], question, *others)


class PersonAnswer(Value):
    """What a person answers, bound to the id and the digest of the question; `factor` is the code of a second factor, if any."""

    id: str
    digest: str
    is_yes: bool
    via: str
    factor: str = ""

    @classmethod
    def parse(cls, fields: Any) -> PersonAnswer:
        """Make it from JSON; TypeError if it is not one."""
        _check_types(fields, {"id": str, "digest": str, "is_yes": bool, "via": str, "factor": str})
        if fields["via"] not in ANSWER_WAYS:
            raise TypeError("'via' is another word")
        return cls(**fields)


def _check_types(fields: Any, types: dict[str, type]) -> None:
    given: dict[str, Any] = fields if isinstance(fields, dict) else {}  # pyright: ignore[reportUnknownVariableType]
    if given.keys() != types.keys():
        raise TypeError("another set of fields")
    for name, wanted in types.items():
        if type(given[name]) is not wanted:
            raise TypeError(f"'{name}' has another type")
