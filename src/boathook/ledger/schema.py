"""The fields of records that readers rely on. A missing field becomes empty, a wrong one makes the record invalid."""

from __future__ import annotations

from types import NoneType
from typing import Any

from boathook.ledger.record import (
    ALLOW_TYPE,
    ANSWERED_TYPE,
    ASKED_TYPE,
    DISPATCH_TYPE,
    END_TYPE,
    MACHINE_FIELDS,
    PRUNED_TYPE,
    REPEAT_TYPE,
    TRUST_TYPE,
    UNLOCK_TYPE,
)
from boathook.ledger.timestamps import parse_timestamp

LedgerRecord = dict[str, Any]

# the value of a missing field, and the types of a present one
_TEXT, _OPTIONAL_TEXT = ("", str), (None, str, NoneType)
_NUMBER, _COUNT, _OPTIONAL_INT = (0, int, float), (0, int), (None, int, NoneType)
_ANY = (None, object)
_MAX_NUMBER = 10**15

# objects; a name with ? may be missing; a list holds the schema of its items
_RUN: LedgerRecord = {
    **dict.fromkeys(("hook", "scope", "source", "path", "status"), _TEXT),
    "exit": _OPTIONAL_INT, "ms": _NUMBER, "decision": _TEXT, "reason": _OPTIONAL_TEXT, "look": _COUNT, "matched": {},
    "notes": [_TEXT], "approval?": _TEXT, "file?": _TEXT, "allowed?": _TEXT, "stderr?": _TEXT,
}  # fmt: skip
_CHANGED: LedgerRecord = {
    "tool_input?": {"before": _TEXT, "after": _TEXT, "input?": _ANY},
    "output?": {"after": _TEXT},
    "context?": _COUNT,
    "context_texts?": [_TEXT],
}
_ABOUT: LedgerRecord = {
    "host": _TEXT,
    "session": _TEXT,
    "project": _TEXT,
    "folder?": _TEXT,
    "path?": _TEXT,
    "event": _TEXT,
    **dict.fromkeys([f"{key}?" for key in MACHINE_FIELDS], _TEXT),
}
# What a question was about, in the records of its answers.
_CALL: LedgerRecord = {"asking?": [_TEXT], "input?": _ANY}
RECORD_SCHEMAS: dict[str, LedgerRecord] = {
    DISPATCH_TYPE: {
        **_ABOUT, "tool": _TEXT, "tool_use_id?": _TEXT, "input_sha256": _OPTIONAL_TEXT, "input": _ANY,
        "decision": _TEXT, "reasons": [_TEXT], "changed": _CHANGED, "ms": _NUMBER, "waited_ms?": _COUNT, "hooks": [_RUN],
        "skipped": [{"hook": _TEXT, "why": _TEXT, "state?": _TEXT}],
        "background": [{"hook": _TEXT, "pid": _OPTIONAL_INT}],
        "degraded?": [_TEXT], "lifted?": [_TEXT], "derived?": _TEXT, "called?": _TEXT, "guessed?": _TEXT, "whole?": _ANY,
        "asked?": {"question": _TEXT, "result": _TEXT},
    },
    END_TYPE: {
        **_ABOUT, **dict.fromkeys(("hook", "dispatch", "status"), _TEXT),
        "exit": _OPTIONAL_INT, "ms": _NUMBER, "detail?": _TEXT,
    },
    PRUNED_TYPE: {"segments": [_TEXT], "before": _COUNT},
    REPEAT_TYPE: {**_ABOUT, **dict.fromkeys(("tool", "question", "digest", "until"), _TEXT), **_CALL},
    ALLOW_TYPE: {**_ABOUT, **dict.fromkeys(("tool", "question", "digest", "until", "factor"), _TEXT), **_CALL},
    TRUST_TYPE: {
        **dict.fromkeys(("project", "hook", "decision", "digest", "via"), _TEXT), "machine?": _TEXT, "boathook?": _TEXT,
    },
    UNLOCK_TYPE: {"until": _TEXT, "machine?": _TEXT, "boathook?": _TEXT},
    ASKED_TYPE: {**_ABOUT, **dict.fromkeys(("tool", "question", "digest", "until"), _TEXT), "asking": [_TEXT], "input?": _ANY},
    ANSWERED_TYPE: {
        **_ABOUT, **dict.fromkeys(("tool", "question", "digest", "result", "via"), _TEXT), "ms": _NUMBER, "refused?": [_TEXT],
        **_CALL,
    },
}  # fmt: skip
# for records of a type that is not known here
_OPTIONAL_FIELDS: LedgerRecord = {
    f"{key.rstrip('?')}?": schema for fields in RECORD_SCHEMAS.values() for key, schema in fields.items()
}


class RecordError(ValueError):
    """A value that does not match its schema."""


def check_record(value: Any) -> LedgerRecord:
    if not isinstance(value, dict) or any(not isinstance(value.get(key), str) for key in ("id", "time", "type")):
        raise RecordError("not a record")
    if not _is_timestamp(value["time"]):
        raise RecordError("the time is not a timestamp")
    return _check_object(value, {**_OPTIONAL_FIELDS, **RECORD_SCHEMAS.get(value["type"], {})})


def _is_timestamp(text: str) -> bool:
    """Whether a text is a moment in UTC, as records have it: readers compare and subtract them."""
    return text.endswith("Z") and parse_timestamp(text) is not None


def _check_value(value: Any, schema: Any) -> Any:
    if isinstance(schema, dict):
        return _check_object(value, schema)
    if isinstance(schema, list):
        if not isinstance(value, list):
            raise RecordError("not a list")
        return [_check_value(item, schema[0]) for item in value]
    if schema is _ANY:
        return value
    if isinstance(value, bool) or not isinstance(value, schema[1:]):
        raise RecordError("another type")
    if isinstance(value, int | float) and not -_MAX_NUMBER < value < _MAX_NUMBER:
        raise RecordError("the number is too large")
    return value


def _check_object(value: Any, schema: LedgerRecord) -> LedgerRecord:
    if not isinstance(value, dict):
        raise RecordError("not an object")
    checked = dict(value)
    for key, inner in schema.items():
        name = key.rstrip("?")
        if name in checked:
            checked[name] = _check_value(checked[name], inner)
        elif name == key:
            checked[name] = _make_empty(inner)
    return checked


def _make_empty(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {key: _make_empty(inner) for key, inner in schema.items() if not key.endswith("?")}
    return [] if isinstance(schema, list) else schema[0]
