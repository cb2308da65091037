"""Output of commands: colour and tables for a terminal, plain lines for a pipe, JSON for programs."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console

from boathook.core.hook import GONE, HIDDEN
from boathook.core.text import reveal_text
from boathook.core.verdict import OUTPUT_VERSION

STATE_STYLES = {
    **dict.fromkeys(("armed", "trusted"), "green"),
    **dict.fromkeys(("invalid", "error"), "bold red"),
    **dict.fromkeys(("untrusted", "modified", HIDDEN), "bold yellow"),
    **dict.fromkeys(("shadowed", "warning", GONE), "yellow"),
    **dict.fromkeys(("disabled", "denied", "earlier", "accepted"), "dim"),
    "no-entry-point": "red",
}


@functools.cache
def make_console(*, err: bool = False) -> Console:
    return Console(stderr=err, highlight=False, emoji=False)


def print_json(fields: dict[str, Any]) -> None:
    """Print an object for a program, with the version of the output. Its schema is in scripts/output_schemas.py."""
    write_json_line(fields, indent=2)
    sys.stdout.flush()


def write_json_line(fields: dict[str, Any], *, indent: int | None = None) -> None:
    text = json.dumps({"version": OUTPUT_VERSION, **fields}, ensure_ascii=False, indent=indent)
    sys.stdout.buffer.write(f"{escape_json_text(text)}\n".encode("utf-8", "backslashreplace"))


def escape_json_text(text: str) -> str:
    """Return the same JSON in which no character changes what a terminal shows."""
    if text.replace("\n", "").isprintable():
        return text
    return "".join([char if char == "\n" or char.isprintable() else json.dumps(char)[1:-1] for char in text])


def pick_fields(value: object, *names: str) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}


def print_table(headers: Sequence[str], rows: Iterable[Sequence[str]], styles: Sequence[str] = ()) -> None:
    """Print rows as aligned columns. If a terminal is too narrow, the last cell moves to its own line; nothing is cut."""
    console = make_console()
    lines = [list(headers), *([reveal_text(cell) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headers))]
    is_narrow = console.is_terminal and sum(widths) + 2 * len(widths) > console.width
    for number, line in enumerate(lines):
        style = "bold" if number == 0 and console.is_terminal else styles[number - 1] if styles and number else ""
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        echo("  ".join(cells[:-1] if is_narrow else cells).rstrip(), style)
        if is_narrow and number:
            echo(f"    {line[-1]}", style)


def echo(text: str, style: str = "", *, err: bool = False) -> None:
    """Print one line. Control, bidi and invisible characters are shown as escapes, so that no text can deceive."""
    make_console(err=err).print(reveal_text(text, "\t"), style=style or None, markup=False, soft_wrap=True)


def echo_lines(text: str, style: str = "", *, err: bool = False) -> None:
    for line in text.split("\n"):
        echo(line, style, err=err)


def make_printable(text: str) -> str:
    """Return a text of several lines in which no character is hidden."""
    return reveal_text(text, "\n\t")


def format_count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
