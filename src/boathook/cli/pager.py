"""Show a long text in the person's pager, which must not come from the project that the text is about."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence

from rich.console import Console

from boathook.cli.show import make_console, make_printable
from boathook.system.programs import find_program, find_project_tops, points_into

_DEFAULT_PAGER = ("less", "-R")
# Whole lines (no -S), colours, no commands for a shell and no programs that filter the input.
_LESS_VARIABLES = {"LESS": "R", "LESSSECURE": "1"}

StyledLine = tuple[str, str]


def show_lines(lines: Sequence[StyledLine], projects: Iterable[str], *, always_paged: bool = False) -> None:
    """Print lines, each with its style; in a terminal that is too small for them, or always, by a pager if there is one."""
    console = make_console()
    is_paged = console.is_terminal and (always_paged or not _fits_screen(lines, console))
    pager = find_pager(projects) if is_paged else None
    if pager is None or not _run_pager(pager, _render(lines, console)):
        print_lines(lines, console)


def print_lines(lines: Iterable[StyledLine], console: Console) -> None:
    for text, style in lines:
        console.print(make_printable(text), style=style or None, markup=False, soft_wrap=True)


def _fits_screen(lines: Sequence[StyledLine], console: Console) -> bool:
    width, height = shutil.get_terminal_size((console.width, console.height))
    rows = sum(max(1, -(-len(text.expandtabs()) // max(width, 1))) for text, _ in lines)
    # A question is asked below it.
    return rows < height - 1


def find_pager(projects: Iterable[str]) -> list[str] | None:
    """Return the command of the pager that PAGER names, else of `less`; None if there is none outside of the projects."""
    if os.environ.get("PAGER") == "":
        return None
    avoid = [*projects, os.getcwd()]
    tops = find_project_tops(avoid)
    for words in (_split_command(os.environ.get("PAGER", "")), list(_DEFAULT_PAGER)):
        program = find_program(words[0], avoid=avoid) if words else None
        if program and not points_into(program, tops):
            return [program, *words[1:]]
    return None


def _split_command(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return []


def _render(lines: Sequence[StyledLine], console: Console) -> str:
    with console.capture() as capture:
        print_lines(lines, console)
    return capture.get()


def _run_pager(command: list[str], text: str) -> bool:
    """Run a pager to its end; return whether it showed the text."""
    sys.stdout.flush()
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, env={**os.environ, **_LESS_VARIABLES})
    except OSError:
        return False
    # The pager handles an interrupt.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process.communicate(text.encode("utf-8", "backslashreplace"))
    finally:
        signal.signal(signal.SIGINT, before)
    return process.returncode == 0
