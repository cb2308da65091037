"""Show a long text in the person's pager, which must not come from the project that the text is about."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Iterable, Sequence

from rich.console import Console

from boathook.cli.show import make_console, make_printable
from boathook.system.programs import find_program, find_project_tops, points_into

_DEFAULT_PAGER = ("less", "-R")
# Whole lines (no -S), colours, no commands for a shell and no programs that filter the input.
_LESS_VARIABLES = {"LESS": "R", "LESSSECURE": "1"}

_LOOK_SECONDS = 0.5

StyledLine = tuple[str, str]


def show_lines(
    lines: Sequence[StyledLine],
    projects: Iterable[str],
    *,
    always_paged: bool = False,
    is_open: Callable[[], bool] | None = None,
) -> None:
    """Print lines, each with its style; in a terminal that is too small for them, or always, by a pager if there is one.

    The pager is ended as soon as `is_open` no longer returns true.
    """
    console = make_console()
    is_paged = console.is_terminal and (always_paged or not _fits_screen(lines, console))
    pager = find_pager(projects) if is_paged else None
    if pager is None or not _run_pager(pager, _render(lines, console), is_open):
        print_lines(lines, console)


def cut_to_screen(lines: Sequence[StyledLine]) -> list[StyledLine]:
    """Return the lines if they fit into the terminal, else their beginning, in half of it; without a terminal, all."""
    console = make_console()
    if not console.is_terminal or _fits_screen(lines, console):
        return [*lines]
    width, height = _measure_screen(console)
    left, head = height // 2, list[StyledLine]()
    for text, style in lines:
        rows = _count_rows(text, width)
        head.append((text if rows <= left else text.expandtabs()[: left * width], style))
        left -= rows
        if left <= 0:
            break
    return head


def print_lines(lines: Iterable[StyledLine], console: Console) -> None:
    for text, style in lines:
        console.print(make_printable(text), style=style or None, markup=False, soft_wrap=True)


def _fits_screen(lines: Sequence[StyledLine], console: Console) -> bool:
    width, height = _measure_screen(console)
    # A question is asked below it.
    return sum(_count_rows(text, width) for text, _ in lines) < height - 1


def _measure_screen(console: Console) -> tuple[int, int]:
    width, height = shutil.get_terminal_size((console.width, console.height))
    return max(width, 1), height


def _count_rows(text: str, width: int) -> int:
    return max(1, -(-len(text.expandtabs()) // width))


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


def _run_pager(command: list[str], text: str, is_open: Callable[[], bool] | None) -> bool:
    """Run a pager to its end, or until it is no longer wanted; return whether it showed the text."""
    sys.stdout.flush()
    # One that is ended cannot put the screen back.
    variables = _LESS_VARIABLES if is_open is None else {**_LESS_VARIABLES, "LESS": "RX"}
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, env={**os.environ, **variables})
    except OSError:
        return False
    # The pager handles an interrupt.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        data = text.encode("utf-8", "backslashreplace")
        if is_open is None:
            process.communicate(data)
        elif not _wait_while(process, data, is_open):
            return True
    finally:
        signal.signal(signal.SIGINT, before)
    return process.returncode == 0


def _wait_while(process: subprocess.Popen[bytes], data: bytes, is_open: Callable[[], bool]) -> bool:
    """Let a pager run while it is wanted; return whether it ended by itself."""
    handle = sys.stdout.fileno()
    modes = termios.tcgetattr(handle)
    given: bytes | None = data
    while True:
        try:
            process.communicate(given, _LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            given = None
        else:
            return True
        if not is_open():
            process.kill()
            process.communicate()
            # The pager reads single keys, without an echo.
            termios.tcsetattr(handle, termios.TCSANOW, modes)
            return False
