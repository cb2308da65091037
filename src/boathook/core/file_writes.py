"""What a tool call writes, as one list for every agent and every tool: the field `writes` of hooks of the kind `writes`."""

# No file is read, and paths are as the agent gave them. An input that is not plainly understood gives an entry too many rather
# than one too few: every key that may be a path counts, and all of its texts if none is known to be the new text.

from __future__ import annotations

from boathook.core.json_text import iter_leaves
from boathook.core.patch import PatchedFile, read_call_patch, read_patch
from boathook.core.tool_kinds import (
    COPY_MARKS,
    CREATE_MARKS,
    DELETE_MARKS,
    MOVE_KEYS,
    TEXT_KEYS,
    WRITES,
    find_call_kinds,
    find_tool_part,
    is_path_key,
    make_marked_name,
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
_CHANGES = (("delete", DELETE_MARKS), ("write", CREATE_MARKS))


def add_writes(event: Event) -> Event:
    """Return an event with what it writes."""
    writes = [{"path": one.path, "text": one.text, "change": one.change} for one in list_writes(event)]
    return event.with_data(writes=writes)


def list_writes(event: Event) -> tuple[PatchedFile, ...]:
    """Return what a tool call writes: one for each file of a patch and each edit; none if it is not a call that writes."""
    patched = read_call_patch(event)
    given = event.tool_input
    if patched or WRITES not in find_call_kinds(event.tool_names, given):
        return patched
    name = make_marked_name(find_tool_part(event.tool_name))
    change = next((word for word, marks in _CHANGES if _has_mark(name, marks)), "edit")
    pairs = _find_moves(given)
    moves = [
        *(PatchedFile(old, "delete") for old, _ in pairs if not _has_mark(name, COPY_MARKS)),
        *(PatchedFile(new, "write") for _, new in pairs),
    ]
    moved = {path for pair in pairs for path in pair}
    # What is moved is listed already, unless there is a text for it.
    places = [(path, text) for path, text in _find_places(given, "") if text is not None or path not in moved]
    rest = _join_rest(given, {path for path, _ in places})
    found = [*moves]
    for path, text in places or ([] if moves else [("", None)]):
        written = text if text is not None else "" if change == "delete" else rest
        # A text without a path may be a patch.
        in_patch = read_patch(written) if not path and _PATCH_MARK in written else ()
        found += in_patch or (PatchedFile(path, change, written),)
    if "patch" in name or any("patch" in key for key, _ in _list_fields(given)):
        found += (file for text in iter_leaves(given) for file in read_patch(text))
    return tuple(dict.fromkeys(found))


def _has_mark(name: str, marks: tuple[str, ...]) -> bool:
    return any(mark in name for mark in marks)


def _find_moves(given: Any) -> list[tuple[str, str]]:
    """Return the old and the new place of what an input moves or copies, by every pair of keys for them."""
    fields = {key: value for key, value in _list_fields(given) if isinstance(value, str)}
    return [(fields[old], fields[new]) for old, new in MOVE_KEYS if fields.get(old) and fields.get(new)]


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
