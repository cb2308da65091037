"""The writes of the page: a decision is started, finished with the code, and may be made to hold for a while. Each is a POST."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from boathook.errors import BoathookError
from boathook.page.decision_rows import DECISION_FIELDS, DECISION_ROWS
from boathook.page.person_check import DecisionResult
from boathook.permits.repeat_permits import end_repeat

if TYPE_CHECKING:
    from boathook.page.page_context import PageContext

DecisionFields = Mapping[str, str]


class BodyError(Exception):
    """A body that is not what the page sends."""


def begin_decision(context: PageContext, fields: DecisionFields) -> dict[str, Any]:
    make = DECISION_ROWS.get(fields["decision"])
    if make is None:
        raise BodyError("there is no such decision")
    return {"is_open": True, **context.check.begin(make(context, fields))}


def finish_decision(context: PageContext, fields: DecisionFields) -> dict[str, Any]:
    result = context.check.finish(fields["id"], fields["code"])
    repeat = context.check.get_repeat_id() if result.repeat is not None else ""
    return {**_describe(result), "repeat": repeat}


def repeat_decision(context: PageContext, fields: DecisionFields) -> dict[str, Any]:
    return _describe(context.check.repeat(fields["id"]))


def end_repeated_call(context: PageContext, fields: DecisionFields) -> dict[str, Any]:
    """End a permit: that takes something away, so it needs no code."""
    permit = end_repeat(context.state, fields["id"], time.time())
    message = "This call is asked about again." if permit else "This call is not allowed again: it has ended already."
    return _describe(DecisionResult(is_done=permit is not None, message=message))


# By path: the function, and the fields of its body.
DECISION_ROUTES: dict[str, tuple[Callable[[PageContext, DecisionFields], dict[str, Any]], tuple[str, ...]]] = {
    "/decide/begin": (begin_decision, DECISION_FIELDS),
    "/decide/finish": (finish_decision, ("id", "code")),
    "/decide/repeat": (repeat_decision, ("id",)),
    "/decide/end": (end_repeated_call, ("id",)),
}


def run_decision(context: PageContext, path: str, body: bytes) -> dict[str, Any]:
    """Return the answer to a write; BodyError if the body is wrong. What fails has decided nothing."""
    run, names = DECISION_ROUTES[path]
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        raise BodyError("the body is not JSON") from None
    if not isinstance(fields, dict) or set(fields) != set(names):
        raise BodyError(f"the fields are not {', '.join(names)}")
    if not all(isinstance(value, str) for value in fields.values()):
        raise BodyError("a field is not a text")
    try:
        answer = run(context, fields)
    except BoathookError as error:
        answer = _describe(DecisionResult(is_done=False, message=f"{str(error)[:1].upper()}{str(error)[1:]}."))
    except OSError as error:
        reason = error.strerror or str(error)
        answer = _describe(DecisionResult(is_done=False, message=f"Nothing was decided: {reason}."))
    context.facts.forget()
    return answer


def _describe(result: DecisionResult) -> dict[str, Any]:
    return {"is_done": result.is_done, "message": result.message}
