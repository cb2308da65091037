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
_MAX_VALUE_DEPTH = MAX_DEPTH - 20
# Every reader accepts integers up to here; Python itself refuses to write very long ones.
_MAX_INT_BITS = 2048


_FLAT_TYPES: frozenset[type] = frozenset((dict, ReadOnlyDict))
_PLAIN_TYPES = frozenset((str, bool, type(None)))
_KEY_TYPES = frozenset((str,))


def to_json_value(value: Any) -> Any:
    return dict(value) if type(value) in _FLAT_TYPES and _is_plain(value) else _convert(value, ())


def _is_plain(values: dict[Any, Any]) -> bool:
    """Whether it is JSON as it is: most inputs of tools are a few texts, and every call comes here."""
    return _KEY_TYPES.issuperset(map(type, values)) and _PLAIN_TYPES.issuperset(map(type, values.values()))


def _convert(value: Any, parents: tuple[int, ...]) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if value.bit_length() < _MAX_INT_BITS else hex(value)
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    if len(parents) == _MAX_VALUE_DEPTH:
        return _describe(value)
    if id(value) in parents:
        return "…"
    parents = (*parents, id(value))
    if isinstance(value, bytearray):
        # Hooks are shown its bytes.
        value = bytes(value)
    if not isinstance(value, Mapping | list | tuple | set | frozenset | deque):
        fields = _read_fields(value)
        return _describe(value) if fields is value else _convert(fields, parents)
    if isinstance(value, Mapping):
        return _convert_mapping(value, parents)
    items = [_convert(item, parents) for item in value]
    return sorted(items, key=dumps) if isinstance(value, set | frozenset) else items


def _read_fields(value: Any) -> Any:
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


def _describe(value: Any) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001  (some objects cannot be described)
        return f"<{type(value).__name__}>"
