"""`boathook shell explain`: what a shell command would start."""

from __future__ import annotations

import os
import re
import sys
from typing import Any

import click

from boathook.cli.common_options import json_option
from boathook.cli.show import cut_text, echo, print_json
from boathook.shell import UNKNOWN, CommandReading, Started, read_command
from boathook.shell.scope import make_repository_variable

_WIDTH = 80
_INDENT = "    "
_PLAIN_WORD = re.compile(r"[\w@%+=:,./?*~{}\[\]-]+")


@click.group("shell")
def shell_group() -> None:
    """Show what a shell command would start.

    Guards in Python read commands the same way: see `boathook.shell`.
    """


@shell_group.command("explain")
@click.argument("command")
@click.option("--folder", metavar="DIR", type=click.Path(), help="Where the command would start, instead of here.")
@json_option
def explain_command(command: str, folder: str | None, as_json: bool) -> None:
    """List the programs that a shell command would start. Nothing is run.

    \b
    Each program is on a line of its own, with `?` for what cannot be known
    before it runs. The lines below it say why it is started, what it reads,
    where its code comes from, and which files it writes.
    A command of - is read from standard input.

    \b
    Example:
      boathook shell explain 'echo build | sudo xargs rm -rf'
    """
    text = sys.stdin.read() if command == "-" else command
    start = os.path.abspath(folder or os.getcwd())
    variables = {"HOME": os.path.expanduser("~"), **make_repository_variable(text, start, os.path.lexists)}
    reading = read_command(text, start, variables)
    if as_json:
        print_json(_make_output(text, start, reading))
        return
    for program in reading.programs:
        _print_program(program, start)
    if not reading.programs:
        echo("Nothing would be started.")
    if not reading.is_complete:
        echo("Parts of the command are too long or nested too deep to be read.", "bold yellow", err=True)


def _make_output(text: str, start: str, reading: CommandReading) -> dict[str, Any]:
    programs = [
        {
            "words": [*program.words],
            "folder": program.folder,
            "machine": program.machine,
            "started_by": [*program.started_by],
            "variables": dict(program.variables),
            "reads_from": [[*one.words] for one in program.feeders],
            "input_files": [*program.input_paths],
            "code_from": [[*one.words] for one in program.code_sources],
            "writes": [*program.outputs],
        }
        for program in reading.programs
    ]
    return {"command": text, "folder": start, "complete": reading.is_complete, "programs": programs}


def _print_program(program: Started, start: str) -> None:
    words = [f"{name}={_quote(value)}" for name, value in program.variables]
    words += [_quote(word) for word in program.words]
    for line in _wrap_words(words, "", _INDENT * 2):
        echo(line)
    is_moved = program.folder != start and not program.machine
    notes = {
        "started by": [*program.started_by],
        "on machine": [program.machine],
        "in": [_show(program.folder or UNKNOWN)] if is_moved else [],
        "reads from": [one.name for one in program.feeders] + [_show(path) for path in program.input_paths],
        "code from": [one.name for one in program.code_sources],
        "writes": [_show(path) for path in program.outputs],
    }
    for label, values in notes.items():
        names = ", ".join(dict.fromkeys(filter(None, map(_show, values))))
        if names:
            echo(cut_text(f"{_INDENT}{label}: {names}", _WIDTH))


def _wrap_words(words: list[str], first: str, following: str) -> list[str]:
    """Return lines of words that are at most `_WIDTH` long, unless one word is longer."""
    lines = [first]
    for word in words:
        if lines[-1].strip() and len(lines[-1]) + len(word) + 1 > _WIDTH:
            lines.append(following)
        lines[-1] += f"{' ' if lines[-1].strip() else ''}{cut_text(word, _WIDTH - len(following))}"
    return lines


def _quote(word: str) -> str:
    shown = _show(word)
    return shown if _PLAIN_WORD.fullmatch(shown) else "'" + shown.replace("'", "'\\''") + "'"


def _show(text: str) -> str:
    return text.replace(UNKNOWN, "?").replace("\n", "\\n")
