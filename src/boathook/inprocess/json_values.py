"""Values of a program as JSON can express them."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Mapping
from math import isfinite
from typing import Any

from boathook.core.json_text import MAX_DEPTH, dumps
from boathook.inprocess.read_only import ReadOnlyDict

# An event is around the value, and other engines may read it.
MAX_VALUE_DEPTH = MAX_DEPTH - 20
# Every reader accepts integers up to here; Python itself refuses to write very long ones.
_MAX_INT_BITS = 2048


_FLAT_TYPES: frozenset[type] = frozenset((dict, ReadOnlyDict))
_PLAIN_TYPES = frozenset((str, bool, type(None)))
_KEY_TYPES = frozenset((str,))


def to_json_value(value: Any) -> Any:
    return dict(value) if is_plain_input(value) else _convert(value, ())


def is_plain_input(value: Any) -> bool:
    """Whether it is a dict that is JSON as it is: most inputs of tools are a few texts, and every call comes here."""
    if type(value) not in _FLAT_TYPES:
        return False
    return _KEY_TYPES.issuperset(map(type, value)) and _PLAIN_TYPES.issuperset(map(type, value.values()))


def _convert(value: Any, parents: tuple[int, ...]) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if value.bit_length() < _MAX_INT_BITS else hex(value)
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    if len(parents) == MAX_VALUE_DEPTH:
        return describe_object(value)
    if id(value) in parents:
        return "…"
    parents = (*parents, id(value))
    if isinstance(value, bytearray):
        # Hooks are shown its bytes.
        value = bytes(value)
    if not isinstance(value, Mapping | list | tuple | set | frozenset | deque):
        fields = read_fields(value)
        return describe_object(value) if fields is value else _convert(fields, parents)
    if isinstance(value, Mapping):
        return _convert_mapping(value, parents)
    items = [_convert(item, parents) for item in value]
    return sorted(items, key=dumps) if isinstance(value, set | frozenset) else items


def read_fields(value: Any) -> Any:
    """Return the fields of a dataclass or a pydantic model, because a guard must see each of them; other values as they are."""
    kind = type(value)
    try:
        if dataclasses.is_dataclass(kind):
            return {each.name: getattr(value, each.name, None) for each in dataclasses.fields(kind)}
        # By their attributes, because pydantic need not be installed. `model_dump` would leave out fields.
        if isinstance(names := getattr(kind, "model_fields", None), Mapping):
            if getattr(kind, "__pydantic_root_model__", False):
                return value.root
            return {name: getattr(value, name, None) for name in names} | (getattr(value, "model_extra", None) or {})
    except Exception:  # noqa: BLE001  (a field may be a property that fails)
        return value
    return value


def _convert_mapping(value: Mapping[Any, Any], parents: tuple[int, ...]) -> dict[str, Any]:
    converted: dict[str, Any] = {}
    for key, item in value.items():
        json_key = _convert(key, parents)
        name = json_key if isinstance(json_key, str) else dumps(json_key)
        # 1 and "1" are two keys, and a guard must see both.
        while name in converted:
            name += "_"
        converted[name] = _convert(item, parents)
    return converted


def describe_object(value: Any) -> str:
    """Return the text of an object that JSON cannot express."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001  (some objects cannot be described)
        return f"<{type(value).__name__}>"
