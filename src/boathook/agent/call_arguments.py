"""Arguments of a model's calls, checked against the schema of the tool before any hook sees them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_CHECKS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "object": (Mapping,),
    "array": (list, tuple, set, frozenset),
    "null": (type(None),),
}
# What JSON can express; a scripted model may pass objects of the program as well, which are not checked.
_JSON_VALUES = (str, bool, int, float, Mapping, list, tuple, type(None))


def find_argument_error(schema: Mapping[str, Any], args: Mapping[str, Any]) -> str:
    """Return what is wrong with arguments, for the model to read, or ""; only what the tools of this package need."""
    properties: Mapping[str, Any] = schema.get("properties", {})
    required = schema.get("required", ())
    errors = [f"'{name}' is missing" for name in required if name not in args]
    for name, value in args.items():
        if name in properties:
            # An optional argument may be null.
            if (value is not None or name in required) and not _fits(properties[name], value):
                errors.append(f"'{name}' must be {_describe_schema(properties[name])}")
        elif schema.get("additionalProperties") is False:
            errors.append(f"there is no argument '{name}'")
    return "; ".join(errors)


def _fits(schema: Mapping[str, Any], value: Any) -> bool:
    if not isinstance(value, _JSON_VALUES):
        return True
    if "anyOf" in schema:
        return any(_fits(choice, value) for choice in schema["anyOf"])
    if "enum" in schema and value not in schema["enum"]:
        return False
    kind = schema.get("type")
    if kind in ("integer", "number"):
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return kind == "number" or float(value).is_integer()
    return not isinstance(kind, str) or kind not in _CHECKS or isinstance(value, _CHECKS[kind])


def _describe_schema(schema: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(map(_describe_schema, schema["anyOf"]))
    if "enum" in schema:
        return "one of " + ", ".join(map(repr, schema["enum"]))
    kind = str(schema.get("type"))
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
