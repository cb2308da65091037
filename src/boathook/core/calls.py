"""Tool calls at the border: a host's name and keys become ours, and what hooks made of an input goes back under the host's.

Nothing is lost: keys without counterpart stay, and the host's key of each that was renamed is told beside the input. A model may
write keys of ours that its host does not know, to show a guard what will not be done: they give way to what the host reads.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from boathook.core.hosts import Renames, Tools

LINES = "[]"  # at the end of a host's key: a list of texts, which here is one text of several lines beside it
NOWHERE = ""  # instead of a host's key: the host says this in a way that has no counterpart here


def inward(tools: Tools, name: str, given: Mapping[str, Any]) -> tuple[str, dict[str, Any], dict[str, str]]:
    """Give our name of a tool, its input under our keys, and the host's key of each that was renamed."""
    ours, renames = tools.get(name, (name, ()))
    names = {key: key for key in given}
    texts: dict[str, str] = {}
    for key, places in _by_key(renames).items():
        found = next((place for place in places if place and place.removesuffix(LINES) in given), None)
        if found is None:
            if NOWHERE in places and key in given:
                names[key] = _away(key, given)
        elif found.endswith(LINES):
            if key in given:
                names[key] = _away(key, given)
            text = _joined(given[found.removesuffix(LINES)])
            texts |= {key: text} if text is not None else {}
        elif found != key:
            names[found] = key
            if key in given:
                names[key] = found
    renamed = {new: old for old, new in names.items() if old != new}
    return ours, {**{names[key]: value for key, value in given.items()}, **texts}, renamed


def outward(
    tools: Tools, name: str, renamed: Mapping[str, Any], before: Mapping[str, Any], now: Mapping[str, Any]
) -> dict[str, Any]:
    """Give an input back under the host's keys, whole: `before` is what `inward` gave, `now` what became of it."""
    _, renames = tools.get(name, (name, ()))
    now = _without_texts(renames, before, now)
    found = {renamed.get(key, key): value for key, value in now.items() if key in before}
    places = _by_key(renames)
    for key in now.keys() - before.keys():
        theirs = places.get(key, [key])[0]
        found.setdefault(key if theirs == NOWHERE or theirs.endswith(LINES) else theirs, now[key])
    return found


def _by_key(renames: Renames) -> dict[str, list[str]]:
    """Give the host's keys that each of our keys may have there, the likeliest first."""
    found: dict[str, list[str]] = {}
    for theirs, key in renames:
        found.setdefault(key, []).append(theirs)
    return found


def _away(key: str, given: Mapping[str, Any]) -> str:
    """Give a key out of the way, for one that the host does not read."""
    while key in given:
        key = f"host_{key}"
    return key


def _without_texts(renames: Renames, before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """Take away the texts that stand for lists; one that was changed becomes the list."""
    left = dict(now)
    for theirs, key in renames:
        listed = theirs.removesuffix(LINES)
        text = _joined(before.get(listed)) if theirs.endswith(LINES) else None
        if text is not None and before.get(key) == text:
            value = left.pop(key, text)
            if value != text:
                left[listed] = [value] if isinstance(before[listed], list) else value
    return left


def _joined(value: Any) -> str | None:
    """Give a text or a list of texts as lines; None for anything else."""
    if isinstance(value, str) or not isinstance(value, list):
        return value if isinstance(value, str) else None
    listed: list[Any] = value  # pyright: ignore[reportUnknownVariableType]
    return "\n".join(listed) if listed and all(isinstance(one, str) for one in listed) else None
