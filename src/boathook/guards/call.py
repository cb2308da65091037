"""A tool call as a guard sees it: the programs it starts, the files it writes, and what the user configured."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from boathook.core.event import Event
from boathook.core.file_writes import list_writes
from boathook.core.patch import PatchedFile
from boathook.core.tool_kinds import SHELL, find_call_kinds
from boathook.dialects.native import make_event
from boathook.errors import ConfigError
from boathook.shell.call_commands import find_call_folder, list_call_commands
from boathook.shell.command_reading import CommandReading, read_command
from boathook.shell.scope import make_repository_variable
from boathook.shell.started_program import Started


class GuardedCall:
    """A tool call that a guard is asked about. Everything is read when it is first used, and once for all guards of a process."""

    def __init__(self, fields: Mapping[str, Any], *, project: str = "", home: str = "") -> None:
        self.fields = fields
        self.project, self.home = project, home
        # What the user's hooks.toml says for the guard that is asked now.
        self.settings: Mapping[str, Any] = {}

    def list_setting(self, name: str, default: Iterable[str] = ()) -> tuple[str, ...]:
        """Return the texts of a setting that is a list; one text alone is a list of one."""
        value = self.settings.get(name, default)
        # A text is a sequence as well: its letters would count as patterns, and "*" alone frees everything.
        texts = (value,) if isinstance(value, str) else value
        # An empty text would be the beginning of every command.
        if not isinstance(texts, list | tuple) or not all(isinstance(text, str) and text for text in texts):
            example = f'{name} = ["…", "…"]'
            raise ConfigError(f"the setting '{name}' of this hook is not a list of texts. Fix in hooks.toml: {example}")
        return tuple(texts)

    @cached_property
    def event(self) -> Event:
        """The event, with the names of its tool in every agent."""
        return make_event(dict(self.fields))

    @property
    def tool_name(self) -> str:
        """The canonical name of the tool."""
        return self.event.tool_name

    @property
    def tool_input(self) -> Any:
        """The arguments of the tool, with canonical keys."""
        return self.event.tool_input

    @property
    def work_dir(self) -> str:
        """The folder that the agent works in."""
        return self.event.work_dir

    @cached_property
    def kinds(self) -> frozenset[str]:
        """What the tool does: `writes`, `reads`, `shell`, `network`, `mcp`."""
        return frozenset(find_call_kinds(self.event.tool_names, self.tool_input))

    @cached_property
    def commands(self) -> tuple[str, ...]:
        """The command lines of a shell tool."""
        return tuple(list_call_commands(self.tool_input)) if SHELL in self.kinds else ()

    @property
    def is_powershell(self) -> bool:
        """Whether PowerShell runs the command lines."""
        return "PowerShell" in (self.fields.get("tool_name"), *self.event.tool_names)

    @cached_property
    def readings(self) -> tuple[CommandReading, ...]:
        """What each command line would start."""
        folder, variables = find_call_folder(self.event), {"HOME": self.home, "TMPDIR": "/tmp"}  # noqa: S108
        variables |= make_repository_variable("\n".join(self.commands), folder, os.path.lexists)
        # In PowerShell, a backslash is between the names of a path.
        texts = [text.replace("\\", "/") for text in self.commands] if self.is_powershell else self.commands
        return tuple(read_command(text, folder, variables) for text in texts)

    @property
    def programs(self) -> tuple[Started, ...]:
        """Every program that the call would start, in order."""
        return tuple(program for reading in self.readings for program in reading.programs)

    @property
    def is_readable(self) -> bool:
        """Whether all of its commands could be read."""
        return all(reading.is_complete for reading in self.readings)

    @cached_property
    def writes(self) -> tuple[PatchedFile, ...]:
        """The files that the call writes, edits or deletes, patches included; paths are as the agent gave them."""
        return list_writes(self.event)

    def make_absolute(self, path: str) -> str:
        """Return a path of the call from the root, with `~` and `..` resolved by text alone."""
        if path == "~" or path.startswith("~/"):
            path = self.home + path[1:]
        return os.path.normpath(os.path.join(self.work_dir or "/", path))
