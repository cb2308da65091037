"""A question that a live process waits for: the call, who waits, and until when; and a person's answer to it."""

from __future__ import annotations

from boathook.core.permit import Question
from boathook.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# How an answer reaches the process that waits.
BY_TERMINAL, BY_PAGE = ANSWER_WAYS = ("terminal", "page")
MAX_ANSWER_BYTES = 4096


class WaitingQuestion(Value):
    """A call that a process (`pid`, started at `start`) waits for an answer to, until `deadline` (seconds since 1970).

    `question` is the call after all rewrites. `text` is one line about it, without secrets; `is_strong`: a hook wants more than
    a terminal as proof of a person.
    """

    id: str
    question: Question
    text: str
    pid: int
    start: int
    deadline: float
    is_strong: bool = False

    def to_json(self) -> dict[str, Any]:
        return {**self.to_dict(), "question": self.question.to_json()}

    @classmethod
    def parse(cls, fields: Any) -> WaitingQuestion:
        """Make it from JSON; TypeError if it is not one."""
        types = {
            "id": str,
            "question": dict,
            "text": str,
            "pid": int,
            "start": int,
            "deadline": float,
            "is_strong": bool,
        }
        checked = _check_types(fields, types)
        checked["question"] = Question.parse(checked["question"])
        return cls(**checked)


class PersonAnswer(Value):
    """What a person answers, bound to the id and the digest of the question; `factor` is a second proof, if one is needed."""

    id: str
    digest: str
    is_yes: bool
    via: str
    factor: str = ""

    @classmethod
    def parse(cls, fields: Any) -> PersonAnswer:
        """Make it from JSON; TypeError if it is not one."""
        checked = _check_types(fields, {"id": str, "digest": str, "is_yes": bool, "via": str, "factor": str})
        if checked["via"] not in ANSWER_WAYS:
            raise TypeError("'via' is another word")
        return cls(**checked)


def _check_types(fields: Any, types: dict[str, type]) -> dict[str, Any]:
    """Return fields from JSON; TypeError if one is missing or wrong, or if there is another one."""
    checked: dict[str, Any] = dict(fields) if isinstance(fields, dict) else {}  # pyright: ignore[reportUnknownArgumentType]
    if checked.keys() != types.keys():
        raise TypeError("another set of fields")
    for name, wanted in types.items():
        if type(checked[name]) is not wanted:
            raise TypeError(f"'{name}' has another type")
    return checked
