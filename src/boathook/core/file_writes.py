"""What a tool call writes, as one list for every agent and every tool: the field `writes` of hooks of the kind `writes`."""

# No file is read, and paths are as the agent gave them. An input that is not plainly understood gives an entry too many rather
# than one too few: every key that may be a path counts, and all of its texts if none is known to be the new text.

from __future__ import annotations

from boathook.core.json_text import iter_leaves
from boathook.core.patch import PatchedFile, read_patch
from boathook.core.tool_kinds import (
    CREATE_MARKS,
    DELETE_MARKS,
    TEXT_KEYS,
    WRITES,
    find_call_kinds,
    find_tool_part,
    is_path_key,
    shorten_key,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from boathook.core.event import Event

    # A path, and the new text if there is one.
    Found = list[tuple[str, str | None]]

_PATCH_MARK = "*** Begin Patch"
_MOVES = (
    *(("source", "destination"), ("source", "dest"), ("source", "target"), ("src", "dst"), ("src", "dest")),
    *(("from", "to"), ("old", "new")),
)
_ENDS = ("", "path", "file", "filepath", "filename", "name", "uri", "dir", "directory", "folder")
_CHANGES = (("delete", DELETE_MARKS), ("write", CREATE_MARKS))
# Keys of the old and of the new place; `old` and `new` alone are texts.
MOVE_KEYS = tuple((old + end, new + end) for old, new in _MOVES for end in _ENDS if (old, end) != ("old", ""))


def add_writes(event: Event) -> Event:
    """Return an event with what it writes."""
    writes = [{"path": one.path, "text": one.text, "change": one.change} for one in list_writes(event)]
    return event.with_data(writes=writes)


def list_writes(event: Event) -> tuple[PatchedFile, ...]:
    """Return what a tool call writes: one for each file of a patch and each edit; none if it is not a call that writes."""
    patched = read_patch(event.patch) if event.patch else ()
    given = event.tool_input
    if patched or WRITES not in find_call_kinds(event.tool_names, given):
        return patched
    name = find_tool_part(event.tool_name).lower()
    change = next((word for word, marks in _CHANGES if any(mark in name for mark in marks)), "edit")
    old, new = _find_move(given)
    moves = (*(() if "copy" in name else (PatchedFile(old, "delete"),)), PatchedFile(new, "write")) if new else ()
    # What is moved is listed already, unless there is a text for it.
    places = [(path, text) for path, text in _find_places(given, "") if text is not None or path not in (old, new)]
    rest = _join_rest(given, {path for path, _ in places})
    found = [*moves]
    for path, text in places or ([] if moves else [("", None)]):
        written = text if text is not None else "" if change == "delete" else rest
        # A text without a path may be a patch.
        in_patch = read_patch(written) if not path and _PATCH_MARK in written else ()
        found += in_patch or (PatchedFile(path, change, written),)
    return tuple(dict.fromkeys(found))


def _find_move(given: Any) -> tuple[str, str]:
    """Return the old and the new place of what an input moves or copies; empty texts if it does not."""
    fields = {key: value for key, value in _list_fields(given) if isinstance(value, str)}
    found = ((fields[old], fields[new]) for old, new in MOVE_KEYS if old in fields and new in fields)
    return next(found, ("", ""))


def _find_places(value: Any, outer_path: str) -> Found:
    """Return the paths in a value, each with its new text; what is inside without a path of its own has the path outside."""
    if isinstance(value, list | tuple):
        items: list[Any] = [*value]
        return [place for item in items for place in _find_places(item, outer_path)]
    fields = _list_fields(value)
    paths = [text for key, inner in fields if is_path_key(key) for text in _list_texts(inner)]
    texts = [text for key, inner in fields if key in TEXT_KEYS for text in _list_texts(inner)]
    text = "\n".join(texts) if texts else None
    first = paths[0] if paths else outer_path
    inside = [place for _, inner in fields for place in _find_places(inner, first)]
    if text is None:
        known = {path for path, _ in inside}
        return [*((path, None) for path in paths if path not in known), *inside]
    return [*((path, text) for path in paths or [outer_path]), *inside]


def _list_fields(value: Any) -> list[tuple[str, Any]]:
    # Several keys may be the same without their signs, and each of them counts.
    fields: dict[Any, Any] = value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]
    return [(shorten_key(str(key)), inner) for key, inner in fields.items()]


def _list_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        items: list[Any] = [*value]
        yield from (item for item in items if isinstance(item, str))


def _join_rest(given: Any, paths: set[str]) -> str:
    """Return all texts of an input that are not paths: one of them is what is written."""
    return "\n".join(sorted({text for text in iter_leaves(given) if text not in paths}))
