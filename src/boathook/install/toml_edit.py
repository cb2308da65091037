"""Add tables to the end of a TOML file and remove them; every other byte stays. Why not tomlkit: docs/adr/0020-install.md."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from boathook.core.value import Value
from boathook.install.json_edit import EditError

_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|\#[^\n]*"
    r"|\n|[\[\]{}]",
    re.DOTALL,
)
_HEADER = re.compile(r"[ \t]*(\[\[?)(.*)")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_LINE = re.compile(r"line (\d+)")
_EMPTY_LIST = r"[\ufeff \t]*{}[ \t]*=[ \t]*\[\s*\][ \t]*(?:\#[^\n]*)?\r?\n?"


class TomlTable(Value):
    """One table of a file: its name, whether it is an item of a list, where it starts, where its last line ends, and its value."""

    name: tuple[str, ...]
    is_item: bool
    start: int
    end: int
    value: Mapping[str, Any]


def parse_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except RecursionError:
        raise EditError("it is nested too deep", 1) from None
    # also for numbers with too many digits
    except ValueError as error:
        line = _LINE.search(str(error))
        raise EditError(str(error), int(line.group(1)) if line else text.count("\n") + 1) from None


def list_tables(text: str) -> list[TomlTable]:
    parse_toml(text)
    starts = _find_headers(text)
    tables: list[TomlTable] = []
    for start, following in zip(starts, (*starts[1:], len(text)), strict=False):
        end = _find_end(text, start, following)
        header = _HEADER.match(text, start)
        name, value = _parse_table(text[start:end], text.count("\n", 0, start))
        tables.append(TomlTable(name, bool(header and header.group(1) == "[["), start, end, value))
    return tables


def _find_headers(text: str) -> list[int]:
    starts: list[int] = []
    depth, line = 0, int(text.startswith("\ufeff"))
    is_new_line = True
    for token in _TOKEN.finditer(text):
        word = token.group()
        if word == "\n":
            line, is_new_line = token.end(), depth == 0
        elif word in ("[", "{"):
            if depth == 0 and word == "[" and is_new_line and not text[line : token.start()].strip(" \t"):
                starts.append(line)
            is_new_line = False
            depth += 1
        elif word in ("]", "}"):
            depth -= 1
        elif not word.startswith("#"):
            is_new_line = False
    return starts


def _find_end(text: str, start: int, end: int) -> int:
    """Return where the last line of a table ends; comments and empty lines after it belong to what follows."""
    last = at = start
    for token in _TOKEN.finditer(text, start, end):
        if text[at : token.start()].strip():
            last = token.start()
        if token.group() != "\n" and not token.group().startswith("#"):
            last = token.end()
        at = token.end()
    if text[at:end].strip():
        return end
    return text.find("\n", last, end) + 1 or end


def _parse_table(text: str, lines_before: int) -> tuple[tuple[str, ...], Any]:
    try:
        name = _parse_name(text.split("\n", 1)[0].rstrip("\r"))
        value: Any = parse_toml(text)
        for key in name:
            value = value[key][0] if isinstance(value[key], list) else value[key]
    except EditError as error:
        raise EditError(error.message, lines_before + error.line) from None
    return name, value


def _parse_name(header: str) -> tuple[str, ...]:
    value: Any = parse_toml(header)
    name: list[str] = []
    while isinstance(value, dict) and value:
        key = next(iter(value))
        name.append(key)
        value = value[key]
    return tuple(name)


def add_table(text: str, name: Sequence[str], values: Mapping[str, Any], *, is_item: bool) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    opening, closing = ("[[", "]]") if is_item else ("[", "]")
    lines = [f"{opening}{'.'.join(map(_render_key, name))}{closing}"]
    lines += [f"{_render_key(key)} = {_render_value(value)}" for key, value in values.items()]
    gap = newline if text.endswith("\n") else newline * 2
    return text + (gap if text.strip("\ufeff") else "") + "".join(line + newline for line in lines)


def remove_tables(text: str, is_unwanted: Callable[[TomlTable], bool]) -> str:
    for table in reversed([table for table in list_tables(text) if is_unwanted(table)]):
        before = text[: table.start]
        if before.endswith(("\n\n", "\n\r\n")):
            before = before[: -2 if before.endswith("\r\n") else -1]
        text = before + text[table.end :]
    return text


def remove_empty_list(text: str, key: str) -> str:
    """Remove a top-level `key = []`, which would forbid tables of that name."""
    first = next(iter(_find_headers(text)), len(text))
    lines = text[:first].splitlines(keepends=True)
    empty = re.compile(_EMPTY_LIST.format(re.escape(key)))
    return "".join(line for line in lines if not empty.fullmatch(line)) + text[first:]


def _render_key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _render_value(key)


def _render_value(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)
