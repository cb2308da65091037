"""What a shell command would start, with which words, in which folder, and which paths it would change. Nothing is run.

reading = read_command("echo x | sudo xargs rm -f", folder="/work")
reading.programs[1].words       # ("rm", "-f", "x")
reading.programs[1].started_by  # ("sudo", "xargs")
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from boathook.shell.arguments import UNKNOWN
    from boathook.shell.code_input import reads_code_from_stdin
    from boathook.shell.command_reading import CommandReading, read_command
    from boathook.shell.started_program import Started

__all__ = ["UNKNOWN", "CommandReading", "Started", "read_command", "reads_code_from_stdin"]

# The public API by module. It is imported when it is first used, because `run` imports modules of this package, too.
_PUBLIC_NAMES = {
    "UNKNOWN": "arguments",
    "CommandReading": "command_reading",
    "Started": "started_program",
    "read_command": "command_reading",
    "reads_code_from_stdin": "code_input",
}


def __getattr__(name: str) -> object:
    if name not in _PUBLIC_NAMES:
        raise AttributeError(f"module 'boathook.shell' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"boathook.shell.{_PUBLIC_NAMES[name]}"), name)
