"""The lines of entries in hook files, so that `boathook check` can name them: readers know only their places."""

from __future__ import annotations

import re

from boathook.core.hook import Diagnostic
from boathook.sources.agent_forms.hook_text import blank_comments
from boathook.system.files import FileError, read_text

# A string, also one without an end, a sign, or any other value.
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*+"?|[\[\]{}:,]|[^\s\[\]{}:,"]+')
_TABLE_HEAD = re.compile(r"[ \t]*\[\[?(?P<names>[^\[\]]+)\]")
_TABLE_KEY = re.compile(r"[ \t]*(?P<key>[\w-]+|\"[^\"]*\"|'[^']*')[ \t]*=")


def add_lines(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """Return diagnostics with the line of the entry that they are about, where it can be found."""
    files: dict[str, dict[str, int]] = {}
    found = []
    for one in diagnostics:
        is_open = one.line is None and one.key.startswith("hooks") and one.path.endswith((".json", ".toml"))
        if is_open and one.path not in files:
            files[one.path] = list_lines(one.path)
        found.append(one.replace(line=_find_line(files[one.path], one.key)) if is_open else one)
    return found


def _find_line(lines: dict[str, int], place: str) -> int | None:
    """Return the line of a place, or of what it is in, if the file does not have it."""
    while place and place not in lines:
        place = place[: max(place.rfind("."), place.rfind("["), 0)]
    return lines[place] if place else None


def list_lines(path: str) -> dict[str, int]:
    """Return the line of every place in a file, none if it cannot be read."""
    try:
        text = read_text(path)
    except FileError:
        return {}
    return list_table_lines(text) if path.endswith(".toml") else list_json_lines(blank_comments(text))


def list_json_lines(text: str) -> dict[str, int]:
    lines: dict[str, int] = {}
    # For each open object or list: its place, and the key or index of the next value; None while a key is to come.
    stack: list[tuple[str, str | int | None]] = [("", 0)]
    line, at = 1, 0
    for token in _TOKEN.finditer(text):
        line, at, sign = line + text.count("\n", at, token.start()), token.start(), token.group()
        place, key = stack[-1]
        if sign == ":":
            continue
        if sign == ",":
            stack[-1] = (place, key + 1 if isinstance(key, int) else None)
        elif sign in "]}":
            if len(stack) > 1:
                stack.pop()
        elif key is None:
            stack[-1] = (place, sign.strip('"'))
        else:
            own = _join_place(place, key) if len(stack) > 1 else ""
            lines.setdefault(own, line)
            if sign in "[{":
                stack.append((own, 0 if sign == "[" else None))
    return lines


def _join_place(place: str, key: str | int) -> str:
    return f"{place}[{key}]" if isinstance(key, int) else f"{place}.{key}".lstrip(".")


def list_table_lines(text: str) -> dict[str, int]:
    """Return the lines of the tables of a TOML file and of their keys."""
    lines: dict[str, int] = {}
    # The number of the last table of each list of tables.
    last: dict[str, int] = {}
    place = ""
    for number, row in enumerate(text.split("\n"), 1):
        if head := _TABLE_HEAD.match(row):
            is_listed = row.lstrip().startswith("[[")
            place = _find_table(head["names"], last, is_listed=is_listed)
            lines.setdefault(place, number)
            if is_listed:
                lines.setdefault(place.rpartition("[")[0], number)
        elif pair := _TABLE_KEY.match(row):
            lines.setdefault(_join_place(place, pair["key"].strip("\"'")), number)
    return lines


def _find_table(names: str, last: dict[str, int], *, is_listed: bool) -> str:
    """Return the place of a table by the names in its head, and count it if it is one of a list."""
    *above, own = [name.strip().strip("\"'") for name in names.split(".")]
    place = ""
    for name in above:
        place = _join_place(place, name)
        place = _join_place(place, last[place]) if place in last else place
    place = _join_place(place, own)
    if not is_listed:
        return place
    last[place] = last.get(place, -1) + 1
    return _join_place(place, last[place])
