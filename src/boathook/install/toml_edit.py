"""Tables put at the end of a TOML file and taken out again; every other byte stays, and the result is read back to be sure."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from boathook.core.value import Value
from boathook.install.json_edit import TextFault

TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|\#[^\n]*"
    r"|\n|[\[\]{}]",
    re.DOTALL,
)
HEADER = re.compile(r"[ \t]*(\[\[?)(.*)")
BARE = re.compile(r"[A-Za-z0-9_-]+")
LINE = re.compile(r"line (\d+)")
EMPTY_LIST = r"[\ufeff \t]*{}[ \t]*=[ \t]*\[\s*\][ \t]*(?:\#[^\n]*)?\r?\n?"


class Table(Value):
    """One table of a file: its name, whether it is one of a list, where it starts and where its last line ends; what it says."""

    name: tuple[str, ...]
    listed: bool
    start: int
    end: int
    value: Mapping[str, Any]


def parse(text: str) -> dict[str, Any]:
    """Read a text; TextFault says what is wrong where."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except RecursionError:
        raise TextFault("it is too deep", 1) from None
    except ValueError as error:  # also numbers with too many digits
        line = LINE.search(str(error))
        raise TextFault(str(error), int(line.group(1)) if line else text.count("\n") + 1) from None


def tables(text: str) -> list[Table]:
    """Return the tables of a text, in order; TextFault if it cannot be parsed."""
    parse(text)
    starts = _headers(text)
    found: list[Table] = []
    for at, start in enumerate(starts):
        end = starts[at + 1] if at + 1 < len(starts) else len(text)
        end = _end_of_statements(text, start, end)
        own = text[start:end]
        head = HEADER.match(own)
        name, value = _read(own, text.count("\n", 0, start))
        found.append(Table(name, bool(head and head.group(1) == "[["), start, end, value))
    return found


def _headers(text: str) -> list[int]:
    """Return where lines begin that are headers: a bracket at the start of a line that is in no list and no text."""
    found: list[int] = []
    depth, line = 0, int(text.startswith("\ufeff"))
    fresh = True
    for token in TOKEN.finditer(text):
        word = token.group()
        if word == "\n":
            line, fresh = token.end(), depth == 0
        elif word in ("[", "{"):
            if depth == 0 and word == "[" and fresh and not text[line : token.start()].strip(" \t"):
                found.append(line)
            fresh = False
            depth += 1
        elif word in ("]", "}"):
            depth -= 1
        elif not word.startswith("#"):
            fresh = False
    return found


def _end_of_statements(text: str, start: int, end: int) -> int:
    """Return where the last line of a table ends; comments and empty lines after it belong to what comes next."""
    last = at = start
    for token in TOKEN.finditer(text, start, end):
        if text[at : token.start()].strip():
            last = token.start()
        if token.group() != "\n" and not token.group().startswith("#"):
            last = token.end()
        at = token.end()
    if text[at:end].strip():
        return end
    return text.find("\n", last, end) + 1 or end


def _read(own: str, above: int) -> tuple[tuple[str, ...], Any]:
    """Return the name of a table and what it says; `above` are the lines before it."""
    try:
        name = _name_of(own.split("\n", 1)[0].rstrip("\r"))
        value: Any = parse(own)
        for key in name:
            value = value[key][0] if isinstance(value[key], list) else value[key]
    except TextFault as error:
        raise TextFault(error.why, above + error.line) from None
    return name, value


def _name_of(header: str) -> tuple[str, ...]:
    """Return the parts of a header's name, by letting the reader read it."""
    found: Any = parse(header)
    name: list[str] = []
    while isinstance(found, dict) and found:
        key = next(iter(found))
        name.append(key)
        found = found[key]
    return tuple(name)


def add(text: str, name: Sequence[str], values: Mapping[str, Any], *, listed: bool) -> str:
    """Put a table at the end, after an empty line."""
    newline = "\r\n" if "\r\n" in text else "\n"
    opening, closing = ("[[", "]]") if listed else ("[", "]")
    lines = [f"{opening}{'.'.join(map(_key, name))}{closing}"]
    lines += [f"{_key(key)} = {_value(value)}" for key, value in values.items()]
    gap = newline if text.endswith("\n") else newline * 2
    return text + (gap if text.strip("\ufeff") else "") + "".join(line + newline for line in lines)


def remove(text: str, is_ours: Callable[[Table], bool]) -> str:
    """Take out the tables that are meant, each with an empty line before it."""
    for table in reversed([one for one in tables(text) if is_ours(one)]):
        before = text[: table.start]
        if before.endswith(("\n\n", "\n\r\n")):
            before = before[: -2 if before.endswith("\r\n") else -1]
        text = before + text[table.end :]
    return text


def without_empty(text: str, key: str) -> str:
    """Take out a top-level `key = []`, which would forbid tables of that name."""
    first = next(iter(_headers(text)), len(text))
    lines = text[:first].splitlines(keepends=True)
    empty = re.compile(EMPTY_LIST.format(re.escape(key)))
    return "".join(line for line in lines if not empty.fullmatch(line)) + text[first:]


def _key(key: str) -> str:
    return key if BARE.fullmatch(key) else _value(key)


def _value(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)
