"""What a command line would start, in one call: the entry to the reader for guards and other callers."""

from __future__ import annotations

from collections.abc import Mapping

from boathook.core.value import Value
from boathook.shell.scope import ShellScope
from boathook.shell.started import StartedReader
from boathook.shell.started_program import Started


class CommandReading(Value):
    """What a command line would start, in the order of the text."""

    # `is_complete` is False if a part was too long or nested too deep to be read.
    programs: tuple[Started, ...]
    is_complete: bool = True


def read_command(text: str, folder: str = "", variables: Mapping[str, str] | None = None) -> CommandReading:
    """Return every program that a command line would start in a folder. Takes linear time and never raises.

    `variables` are those that are known, such as HOME. What cannot be known is `UNKNOWN` in the words of a program.
    """
    reader = StartedReader()
    reader.read(text, ShellScope(folder, dict(variables or {})))
    return CommandReading(tuple(reader.started), reader.is_complete)
