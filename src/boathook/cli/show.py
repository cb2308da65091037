"""How commands show things: colour and tables for a person, plain lines for a pipe."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

STATE_STYLES = {
    "armed": "green",
    "invalid": "bold red",
    "no-entry-point": "red",
    "shadowed": "yellow",
    "disabled": "dim",
    "error": "bold red",
    "warning": "yellow",
}


def console(*, err: bool = False) -> Console:
    """Give a console for what a person reads."""
    return Console(stderr=err, highlight=False, soft_wrap=not sys.stdout.isatty())


def print_json(value: Any) -> None:
    """Print JSON for a program."""
    sys.stdout.buffer.write(
        (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "backslashreplace")
    )
    sys.stdout.flush()


def print_table(headers: Sequence[str], rows: Iterable[Sequence[str]], styles: Sequence[str] = ()) -> None:
    """Print rows as a table on a terminal, as aligned columns elsewhere."""
    out = console()
    clean = [[printable(cell) for cell in row] for row in rows]
    if out.is_terminal:
        table = Table(*headers, box=None, header_style="bold", pad_edge=False)
        for at, row in enumerate(clean):
            table.add_row(*map(escape, row), style=styles[at] if styles else None)
        out.print(table)
        return
    widths = [max(len(row[at]) for row in [list(headers), *clean]) for at in range(len(headers))]
    for row in [list(headers), *clean]:
        out.print(escape("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()))


def say(text: str, style: str = "", *, err: bool = False) -> None:
    """Print one line."""
    console(err=err).print(escape(printable(text)), style=style or None)


def printable(text: str) -> str:
    """Give a text that can always be printed: undecodable bytes as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()
