"""What the answers of hooks have in common, whatever tongue they are in."""

from __future__ import annotations

from boathook.core.json_text import JsonError, describe_json_type, describe_position
from boathook.core.text import MAX_REASON_CHARS, clean_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from boathook.core.hook import Hook
    from boathook.core.verdict import Exit

    Types = Mapping[str, tuple[type, str]]

# The types of fields, and how they are called.
TEXT, OBJECT, FLAG, ANY_VALUE = (str, "text"), (dict, "an object"), (bool, "true or false"), (object, "a value")


def begins_like_json(text: str) -> bool:
    return text[:1] in ("{", "[", '"')


def refuse_buried(text: str, keys: Iterable[str]) -> None:
    """Refuse plain text with an answer in it: taken for mere text, a deny behind a log line would be lost."""
    first = text.find("{")
    for key in keys if first >= 0 else ():
        at = text.find(f'"{key}"', first)
        while at >= 0:
            if text[at + len(key) + 2 : at + len(key) + 10].lstrip().startswith(":"):
                raise JsonError(f"text before the JSON object at {describe_position(text, text.rindex('{', 0, at))}")
            at = text.find(f'"{key}"', at + 1)


def check_types(answer: Any, types: Types, where: str = "") -> None:
    if not isinstance(answer, dict):
        raise JsonError(f"the top level is {describe_json_type(answer)}, not an object")
    found: dict[str, Any] = answer  # pyright: ignore[reportUnknownVariableType]
    for key, (wanted, words) in types.items():
        value = found.get(key)
        if value is not None and not isinstance(value, wanted):
            raise JsonError(f"'{where}{key}' must be {words}, not {describe_json_type(value)}")


def default_reason(hook: Hook) -> str:
    return f"blocked by hook '{hook.name}'"


def reason_in(end: Exit) -> str:
    return clean_text(end.stderr.decode("utf-8", "replace"), MAX_REASON_CHARS)


def exit_words(end: Exit) -> str:
    if end.code is None:
        return "it did not run"
    how = f"killed by signal {-end.code}" if end.code < 0 else f"exit code {end.code}"
    said = reason_in(end)
    hint = " (only exit 2 blocks)" if end.code == 1 else ""
    return f"{how}{hint}: {said}" if said else f"{how}{hint}"


def texts(text: str | None) -> tuple[str, ...]:
    found = clean_text(text or "")
    return (found,) if found else ()
