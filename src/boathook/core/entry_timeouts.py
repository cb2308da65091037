"""How long an agent waits for our command: the number in its entry, as it is in the agent's own file now."""

from __future__ import annotations

import re
import tomllib

from boathook.core.json_text import JsonError, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_TEXT_OR_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_COMMAND_FILE = "hook_entry.py"


def list_entry_timeouts(text: str, host: str, event: str, timeout_key: str) -> list[float | None]:
    """Return the timeouts of our entries for an event in a file of an agent, None for each entry without one.

    A file that cannot be read has no entries.
    """
    words = f"--host {host} --event {event} "
    try:
        root = _parse(text)
    except (JsonError, ValueError, RecursionError):
        return []
    return [_to_number(timeout) for timeout in _find_timeouts(root, words, timeout_key, None)]


def _parse(text: str) -> Any:
    if text.lstrip("\ufeff \t\r\n")[:1] not in ("{", "/"):
        return tomllib.loads(text.removeprefix("\ufeff"))
    return loads(_TEXT_OR_COMMENT.sub(lambda found: found[1] or " ", text.removeprefix("\ufeff")))


def _find_timeouts(node: Any, words: str, timeout_key: str, outer: Any) -> Iterator[Any]:
    """Find the timeout beside each of our commands; some agents have it beside the object with the command."""
    if isinstance(node, list):
        items: list[Any] = node  # pyright: ignore[reportUnknownVariableType]
        for item in items:
            yield from _find_timeouts(item, words, timeout_key, None)
    elif isinstance(node, dict):
        fields: dict[str, Any] = node  # pyright: ignore[reportUnknownVariableType]
        timeout = fields.get(timeout_key, outer)
        for value in fields.values():
            if isinstance(value, str) and words in f"{value} " and _COMMAND_FILE in value:
                yield timeout
            else:
                yield from _find_timeouts(value, words, timeout_key, timeout)


def _to_number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
