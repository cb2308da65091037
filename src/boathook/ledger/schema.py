"""The shape of records: what those who read them rely on. A field that is not there is given as empty, a wrong one refused."""

from __future__ import annotations

from types import NoneType
from typing import Any

from boathook.ledger.record import DISPATCH, END, PRUNED

Record = dict[str, Any]

# a value of its own: what it is if it is not there, and its types
TEXT, WORDS = ("", str), (None, str, NoneType)
NUMBER, COUNT, CODE = (0, int, float), (0, int), (None, int, NoneType)
ANY = (None, object)
BEYOND = 10**15

# objects, a name with ? may be missing; lists have the shape of their items
RUN: Record = {
    "hook": TEXT,
    "scope": TEXT,
    "source": TEXT,
    "path": TEXT,
    "status": TEXT,
    "exit": CODE,
    "ms": NUMBER,
    "decision": TEXT,
    "reason": WORDS,
    "look": COUNT,
    "matched": {},
    "notes": [TEXT],
    "seal?": TEXT,
}
CHANGED: Record = {
    "tool_input?": {"before": TEXT, "after": TEXT, "input?": ANY},
    "output?": {"after": TEXT},
    "context?": COUNT,
}
ABOUT: Record = {"host": TEXT, "session": TEXT, "project": TEXT, "event": TEXT}
SHAPES: dict[str, Record] = {
    DISPATCH: {
        **ABOUT,
        "tool": TEXT,
        "input_sha256": WORDS,
        "input": ANY,
        "decision": TEXT,
        "reasons": [TEXT],
        "changed": CHANGED,
        "ms": NUMBER,
        "hooks": [RUN],
        "skipped": [{"hook": TEXT, "why": TEXT, "state?": TEXT}],
        "background": [{"hook": TEXT, "pid": CODE}],
        "degraded?": [TEXT],
        "derived?": TEXT,
        "whole?": ANY,
    },
    END: {**ABOUT, "hook": TEXT, "dispatch": TEXT, "status": TEXT, "exit": CODE, "ms": NUMBER, "detail?": TEXT},
    PRUNED: {"segments": [TEXT], "before": COUNT},
}
KNOWN = {key.rstrip("?"): shape for shapes in SHAPES.values() for key, shape in shapes.items()}
OTHER: Record = {f"{key}?": shape for key, shape in KNOWN.items()}  # of a type that is not known here


class Misshapen(ValueError):
    """A value that is not what it should be."""


def shaped(value: Any) -> Record:
    """Return a record with all fields of its type, each of its shape; raise Misshapen if it is none."""
    if not isinstance(value, dict) or any(not isinstance(value.get(key), str) for key in ("id", "time", "type")):
        raise Misshapen("no record")
    return _object(value, {**OTHER, **SHAPES.get(value["type"], {})})


def _fitted(value: Any, shape: Any) -> Any:
    if isinstance(shape, dict):
        return _object(value, shape)
    if isinstance(shape, list):
        if not isinstance(value, list):
            raise Misshapen("no list")
        return [_fitted(one, shape[0]) for one in value]
    if shape is ANY:
        return value
    if isinstance(value, bool) or not isinstance(value, shape[1:]):
        raise Misshapen("another type")
    if isinstance(value, int | float) and not -BEYOND < value < BEYOND:
        raise Misshapen("beyond measure")
    return value


def _object(value: Any, shape: Record) -> Record:
    if not isinstance(value, dict):
        raise Misshapen("no object")
    made = dict(value)
    for key, inner in shape.items():
        name = key.rstrip("?")
        if name in made:
            made[name] = _fitted(made[name], inner)
        elif name == key:
            made[name] = _empty(inner)
    return made


def _empty(shape: Any) -> Any:
    if isinstance(shape, dict):
        return {key: _empty(inner) for key, inner in shape.items() if not key.endswith("?")}
    return [] if isinstance(shape, list) else shape[0]
