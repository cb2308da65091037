"""Name the sources of hooks, or turn the warm engine on, in the text of a hooks.toml; every other byte of it stays."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from boathook.install.json_edit import EditError
from boathook.install.toml_edit import add_table, list_tables, parse_toml
from boathook.sources.source import list_default_sources

_TABLE, _KEY, _WARM_KEY = "hooks", "sources", "warm"
_LINE = r"(?m:^)[ \t]*{}[ \t]*=[ \t]*{}[ \t]*(?:#[^\n]*)?\r?\n?"
_LINES = {
    _KEY: re.compile(_LINE.format(_KEY, r"\[[^\[\]#]*\]")),
    _WARM_KEY: re.compile(_LINE.format(_WARM_KEY, r"""["'][^"'\n]*["']""")),
}


def read_sources(text: str) -> list[str] | None:
    """Return the sources that a hooks.toml names for all projects, None if it names none; EditError if it is broken."""
    table = parse_toml(text).get(_TABLE, {})
    names: Any = table.get(_KEY) if isinstance(table, dict) else None
    return [str(name) for name in names] if isinstance(names, list) else None


def remove_sources(text: str, added: Sequence[str], *, had_list: bool) -> str:
    """Return the text without sources that were added; without the list if there was none before and nothing else is in it."""
    present = read_sources(text)
    if present is None:
        return text
    kept = [name for name in present if name not in added]
    return write_sources(text, None if not had_list and kept == [*list_default_sources()] else kept)


def write_sources(text: str, names: Sequence[str] | None) -> str:
    """Return the text with other sources, None for no list; EditError if that cannot be done."""
    return _write_key(text, _KEY, None if names is None else [*names])


def is_warm_on(text: str) -> bool:
    """Whether a hooks.toml turns the warm engine on; EditError if it is broken."""
    table = parse_toml(text).get(_TABLE, {})
    return isinstance(table, dict) and table.get(_WARM_KEY) == "on"


def write_warm(text: str, value: str | None) -> str:
    """Return the text with another value of `hooks.warm`, None for none; EditError if that cannot be done."""
    return _write_key(text, _WARM_KEY, value)


def _write_key(text: str, key: str, value: object) -> str:
    before = parse_toml(text)
    values = {} if value is None else {key: value}
    table = next((one for one in list_tables(text) if one.name == (_TABLE,) and not one.is_item), None)
    if table is None:
        after = add_table(text, (_TABLE,), values, is_item=False)
    else:
        header, newline, body = text[table.start : table.end].partition("\n")
        lines = add_table("", (_TABLE,), values, is_item=False).partition("\n")[2]
        after = text[: table.start] + header + (newline or "\n") + lines + _LINES[key].sub("", body) + text[table.end :]
    rest = {name: kept for name, kept in before.get(_TABLE, {}).items() if name != key}
    if parse_toml(after) != {**before, _TABLE: {**rest, **values}}:
        raise EditError("this file is written in a way that boathook cannot edit", 1)
    return after
