"""What the answers of hooks have in common in all dialects."""

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

# The types of fields, and what messages call them.
TEXT, OBJECT, FLAG, ANY_VALUE = (str, "text"), (dict, "an object"), (bool, "true or false"), (object, "a value")


def begins_like_json(text: str) -> bool:
    return text[:1] in ("{", "[", '"')


def refuse_hidden_json(text: str, keys: Iterable[str]) -> None:
    """Refuse plain text that contains an answer, because a deny after a log line would be lost as mere text."""
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
    fields: dict[str, Any] = answer  # pyright: ignore[reportUnknownVariableType]
    for key, (wanted, words) in types.items():
        value = fields.get(key)
        if value is not None and not isinstance(value, wanted):
            raise JsonError(f"'{where}{key}' must be {words}, not {describe_json_type(value)}")


def default_reason(hook: Hook) -> str:
    return f"blocked by hook '{hook.name}'"


def read_stderr_reason(end: Exit) -> str:
    return clean_text(end.stderr.decode("utf-8", "replace"), MAX_REASON_CHARS)


def describe_exit(end: Exit) -> str:
    if end.code is None:
        return "it did not run"
    ending = f"killed by signal {-end.code}" if end.code < 0 else f"exit code {end.code}"
    reason = read_stderr_reason(end)
    hint = " (only exit 2 blocks)" if end.code == 1 else ""
    return f"{ending}{hint}: {reason}" if reason else f"{ending}{hint}"


def to_texts(text: str | None) -> tuple[str, ...]:
    clean = clean_text(text or "")
    return (clean,) if clean else ()
