"""Whether two inputs of a tool are the same: a decision about one must not count for another that only looks like it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from math import isfinite
from typing import Any

from boathook.core.json_text import dumps, is_same_json
from boathook.inprocess.json_values import MAX_VALUE_DEPTH, describe_object, is_plain_input, read_fields, to_json_value

_EXACT_TYPES: frozenset[type] = frozenset((str, bool, int, type(None)))


def is_same_input(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two inputs are the same now."""
    return one is other or is_same_json(to_comparable(one), to_comparable(other))


def to_comparable(value: Any) -> Any:
    """Return a value as it is now, for `is_same_json`: like JSON, but objects with the same text stay different."""
    return dict(value) if is_plain_input(value) else _convert(value, ())


class _Described:
    """An object of which JSON would have only the text: the same if it is equal, has the same class, and the same text."""

    __slots__ = ("_text", "_value")

    def __init__(self, value: Any, text: str = "") -> None:
        self._value, self._text = value, text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Described) and self._text == other._text and _is_equal(self._value, other._value)

    __hash__ = None  # type: ignore[assignment]


def _is_equal(one: Any, other: Any) -> bool:
    if one is other:
        return True
    try:
        return type(one) is type(other) and bool(one == other)
    except Exception:  # noqa: BLE001  (objects may refuse to be compared)
        return False


def _convert(value: Any, parents: tuple[int, ...]) -> Any:
    if type(value) in _EXACT_TYPES or (isinstance(value, float) and isfinite(value)):
        return value
    if isinstance(value, float):
        # Not a number is not equal to itself.
        return [_Described(float), str(value)]
    if isinstance(value, bytes | bytearray):
        return [_Described(bytes), value.hex()]
    if len(parents) == MAX_VALUE_DEPTH:
        return _Described(value, describe_object(value))
    if id(value) in parents:
        return [_Described(_convert), parents.index(id(value))]
    return _convert_parts(value, (*parents, id(value)))


def _convert_parts(value: Any, parents: tuple[int, ...]) -> Any:
    if isinstance(value, Mapping):
        if all(type(key) is str for key in value):
            return {key: _convert(item, parents) for key, item in value.items()}
        return [_Described(dict), [[_convert(key, parents), _convert(item, parents)] for key, item in value.items()]]
    if isinstance(value, set | frozenset):
        members = sorted(value, key=lambda item: dumps(to_json_value(item)))
        return [_Described(set), [_convert(item, parents) for item in members]]
    if isinstance(value, list | tuple | deque):
        return [_convert(item, parents) for item in value]
    fields = read_fields(value)
    if fields is value:
        return _Described(value, describe_object(value))
    return [_Described(type(value)), _convert(fields, parents)]
