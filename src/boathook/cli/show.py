"""Output of commands: colour and tables for a terminal, plain lines for a pipe, JSON for programs."""

from __future__ import annotations

import functools
import json
import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, NoReturn

import click
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.theme import Theme

from boathook.core.hook import GONE, HIDDEN
from boathook.core.text import reveal_text
from boathook.core.verdict import OUTPUT_VERSION

if TYPE_CHECKING:
    from rich.status import Status

STATE_STYLES = {
    **dict.fromkeys(("armed", "trusted"), "green"),
    **dict.fromkeys(("invalid", "error"), "bold red"),
    **dict.fromkeys(("untrusted", "modified", HIDDEN), "bold yellow"),
    **dict.fromkeys(("shadowed", "warning", GONE), "yellow"),
    **dict.fromkeys(("disabled", "denied", "earlier", "accepted"), "dim"),
    "no-entry-point": "red",
}

# Of decisions, and of the status of a hook that did not answer.
DECISION_STYLES = {
    "block": "red",
    "stop": "bold red",
    "ask": "yellow",
    "allow": "green",
    **dict.fromkeys(("failed", "timeout", "refused", "unreadable"), "yellow"),
}
# What a program gets that writes to a pipe whose reader has ended: 128 and the number of SIGPIPE.
BROKEN_PIPE_CODE = 141
# Of rendered Markdown: nothing with a background, which could be that of the other half of all terminals.
_TEXT_STYLES = {
    "markdown.code": "bold",
    "markdown.code_block": "",
    "markdown.table.header": "bold",
    "markdown.table.border": "dim",
}
_GAP = "  "
_CUT_MARK = "…"
# Less than this is no column to read a sentence in.
_MIN_WRAPPED_CHARS = 28
_MIN_CUT_CHARS = 8
_LABEL_CHARS = 10
# Commands that look at the hooks of a folder.
_FOLDER_COMMAND = re.compile(r"\bboathook (?:check|doctor|explain|list|replay|show|test|trust|untrust)\b(?! --project)")


class _PlainConsole(Console):
    def on_broken_pipe(self) -> NoReturn:
        end_broken_pipe()


def end_broken_pipe() -> NoReturn:
    """End without a message, as other programs do when the reader of their output has ended."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(BROKEN_PIPE_CODE)


@functools.cache
def make_console(*, err: bool = False) -> Console:
    # Who wants no colours wants neither bold nor dim text.
    is_plain = bool(os.environ.get("NO_COLOR"))
    return _PlainConsole(
        stderr=err,
        highlight=False,
        emoji=False,
        color_system=None if is_plain else "auto",
        theme=Theme(_TEXT_STYLES),
    )


def show_progress(text: str = "", *, is_shown: bool) -> AbstractContextManager[Status | None]:
    """Show at a terminal, until the block ends, that something goes on; the status of it can be updated."""
    console = make_console()
    return console.status(text) if is_shown and console.is_terminal else nullcontext()


def print_warning(text: str) -> None:
    echo(f"warning: {text}", "bold yellow")


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


def print_table(
    headers: Sequence[str], rows: Iterable[Sequence[str]], styles: Sequence[str] = (), *, cut: Sequence[str] = ()
) -> None:
    """Print rows as aligned columns.

    In a terminal that is too narrow, the last cell continues on lines below it, and nothing is cut. With `cut`, every row is
    one line: the cells of these columns, by their headers, end with an ellipsis, those of the first one first.
    """
    console = make_console()
    lines = [list(headers), *([reveal_text(cell) for cell in row] for row in rows)]
    widths = [max(cell_len(line[column]) for line in lines) for column in range(len(headers))]
    room = console.width if console.is_terminal else sys.maxsize
    for header in cut:
        _shrink_column(widths, headers.index(header), cell_len(header), room)
    before_last = sum(widths[:-1]) + len(_GAP) * (len(widths) - 1)
    is_below = not cut and not _can_wrap([line[-1] for line in lines], room - before_last)
    for number, line in enumerate(lines):
        style = "bold" if number == 0 and console.is_terminal else styles[number - 1] if styles and number else ""
        cells = [pad_cell(cell, width) for cell, width in zip(line[:-1], widths, strict=False)]
        last = cut_text(line[-1], widths[-1]) if cut else line[-1]
        if is_below and number:
            echo(_GAP.join(cells).rstrip(), style)
            echo_wrapped(f"    {last}", style)
            continue
        parts = [last] if cut or is_below else list(wrap_text(last, room - before_last)) or [""]
        echo(_GAP.join((*cells, parts[0])).rstrip(), style)
        for part in parts[1:]:
            echo(" " * before_last + part, style)


def _shrink_column(widths: list[int], at: int, least: int, room: int) -> None:
    """Make a column narrower until all columns fit, but not narrower than its header."""
    excess = sum(widths) + len(_GAP) * (len(widths) - 1) - room
    widths[at] = min(widths[at], max(widths[at] - max(excess, 0), least, _MIN_CUT_CHARS))


def _can_wrap(cells: Sequence[str], width: int) -> bool:
    """Whether a column of a width can hold texts: all fit, or each can be read between its words."""
    if all(cell_len(cell) <= width for cell in cells):
        return True
    longest_word = max(cell_len(word) for cell in cells for word in cell.split(" "))
    return width >= _MIN_WRAPPED_CHARS and longest_word <= width


def cut_text(text: str, width: int) -> str:
    """Return a text that fits into some cells of a terminal; a cut one ends with an ellipsis."""
    return text if cell_len(text) <= width else set_cell_size(text, max(width - 1, 0)).rstrip() + _CUT_MARK


def pad_cell(text: str, width: int) -> str:
    return set_cell_size(cut_text(text, width), width)


def wrap_text(text: str, width: int) -> Iterator[str]:
    """Yield the lines of a text that is wrapped between words, and within a word that is too long for a line."""
    line = ""
    for word in text.split(" "):
        joined = f"{line} {word}" if line else word
        if cell_len(joined) <= width or width < 1:
            line = joined
            continue
        if line:
            yield line
        line = word
        while cell_len(line) > width:
            yield line[:width]
            line = line[width:]
    if line:
        yield line


def echo(text: str, style: str = "", *, err: bool = False) -> None:
    """Print one line. Control, bidi and invisible characters are shown as escapes, so that no text can deceive."""
    make_console(err=err).print(reveal_text(text, "\t"), style=style or None, markup=False, soft_wrap=True)


def echo_wrapped(text: str, style: str = "", indent: int = 4) -> None:
    """Print a text; in a terminal it is wrapped between words, and goes on with an indent."""
    console = make_console()
    width = console.width if console.is_terminal else sys.maxsize
    body = reveal_text(text.lstrip(" "))
    start = text[: len(text) - len(text.lstrip(" "))]
    # The first line has its own indent, and so another width.
    first = next(wrap_text(body, width - len(start)), "")
    rest = wrap_text(body[len(first) :].lstrip(" "), width - indent)
    for line in (f"{start}{first}", *(f"{' ' * indent}{one}" for one in rest)) if first else ():
        echo(line, style)


def echo_lines(text: str, style: str = "", *, err: bool = False) -> None:
    for line in text.split("\n"):
        echo(line, style, err=err)


def echo_fact(label: str, text: str, style: str = "") -> None:
    """Print a labelled text; in a terminal, it continues below its beginning."""
    console = make_console()
    room = console.width - _LABEL_CHARS - 2 if console.is_terminal else sys.maxsize
    for number, line in enumerate(wrap_text(reveal_text(text), room)):
        echo(f"  {label if not number else '':{_LABEL_CHARS}}{line}", style)


def make_printable(text: str) -> str:
    """Return a text of several lines in which no character is hidden."""
    return reveal_text(text, "\n\t")


def format_count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def shorten_path(path: str) -> str:
    """Return a path as people write it, from their home folder."""
    home = os.path.expanduser("~")
    return f"~{path[len(home) :]}" if path.startswith(f"{home}/") else path


def shorten_hook_name(name: str, room: int) -> str:
    """Return the name of a hook; the end of that of a pack's hook if there is no room, because the begin is the same for all."""
    return name if len(name) <= room or ":" not in name else f"…:{name.rpartition(':')[2]}"


def add_project(text: str, folder: str) -> str:
    """Return a text whose commands name the folder whose hooks they are about, so that they work in any other."""
    return _FOLDER_COMMAND.sub(lambda found: f"{found[0]} --project {shlex.quote(folder)}", text) if folder else text


def repeat_project(text: str) -> str:
    """Return a text whose commands name the project that this command was given, if it was."""
    return add_project(text, find_given_project())


def find_given_project() -> str:
    """Return the folder that this command was given with --project, "" if it was not."""
    context = click.get_current_context(silent=True)
    project = context.params.get("project") if context else None
    return os.path.abspath(project) if isinstance(project, str) else ""
