"""How commands show things: colour and tables for a person, plain lines for a pipe."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape

from boathook.core.text import CONTROL

STATE_STYLES = {
    "armed": "green",
    "invalid": "bold red",
    "no-entry-point": "red",
    "shadowed": "yellow",
    "disabled": "dim",
    "untrusted": "bold yellow",
    "modified": "bold yellow",
    "denied": "dim",
    "trusted": "green",
    "gone": "dim",
    "error": "bold red",
    "warning": "yellow",
}


def console(*, err: bool = False) -> Console:
    """Return a console for what a person reads."""
    return Console(stderr=err, highlight=False, emoji=False)


def print_json(value: Any) -> None:
    """Print JSON for a program."""
    sys.stdout.buffer.write(
        (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "backslashreplace")
    )
    sys.stdout.flush()


def print_table(headers: Sequence[str], rows: Iterable[Sequence[str]], styles: Sequence[str] = ()) -> None:
    """Print rows as aligned columns; on a narrow terminal the last cell stands on a line of its own. Nothing is cut."""
    out = console()
    lines = [list(headers), *([printable(cell) for cell in row] for row in rows)]
    widths = [max(len(row[at]) for row in lines) for at in range(len(headers))]
    narrow = out.is_terminal and sum(widths) + 2 * len(widths) > out.width
    last = len(headers) - 1
    for at, row in enumerate(lines):
        style = "bold" if at == 0 and out.is_terminal else styles[at - 1] if styles and at else ""
        shown = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        say("  ".join(shown[:last] if narrow else shown).rstrip(), style)
        if narrow and at:
            say(f"    {row[last]}", style)


def say(text: str, style: str = "", *, err: bool = False) -> None:
    """Print one line."""
    console(err=err).print(escape(printable(text)), style=style or None, soft_wrap=True)


def printable(text: str) -> str:
    """Return a text that is safe to print: undecodable bytes as escapes, no control characters."""
    return text.encode("utf-8", "backslashreplace").decode().translate(CONTROL)
