"""What file hooks call the tools of a program, and the keys of their inputs: a map both ways, from the program or guessed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from boathook.core.event import HOST_KEYS, HOST_TOOL
from boathook.errors import ConfigError
from boathook.hosts.tool_calls import find_key_conflict, restore_input, translate_call
from boathook.hosts.tool_names import find_aliases, find_canonical_name
from boathook.inprocess.tool_guess import KeyNames, find_known_keys, guess_tool, has_main_key

_MAX_FOUND = 1024


@dataclass(frozen=True, slots=True)
class ToolNaming:
    """What file hooks call one tool: `tool` is its name there, `keys` are pairs of a key of the program and the one there."""

    name: str
    tool: str
    keys: KeyNames = ()
    is_guess: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Return every name by which a matcher may mean the tool."""
        return tuple(dict.fromkeys((self.name, self.tool, *find_aliases(self.tool, self.name))))

    def translate(self, args: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return an input under the keys of file hooks, and fields that say what the program calls tool and keys."""
        _, tool_input, renamed = translate_call({self.name: (self.tool, self.keys)}, self.name, args)
        return tool_input, {HOST_TOOL: self.name, **({HOST_KEYS: renamed} if renamed else {})}

    def restore(self, args: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
        """Return an input that hooks changed under the keys of the program; `args` is the input before."""
        table = {self.name: (self.tool, self.keys)}
        _, before, renamed = translate_call(table, self.name, args)
        return restore_input(table, self.name, renamed, before, changed)

    def find_conflict(self, args: Mapping[str, Any]) -> str:
        """Return why no hook could know what an input means, or "": it has two keys for the same thing, and they differ."""
        keys = {ours for _, ours in self.keys}
        return find_key_conflict((*self.keys, *((key, key) for key in keys)), args)


class NameMap:
    """The tools of a program by name. `names` maps them to names that file hooks know, `arguments` their keys.

    Tools that are not in the map are guessed by the words of their names, if the input has the main key. A tool that is mapped to
    itself is never guessed.
    """

    def __init__(
        self, names: Mapping[str, str] | None = None, arguments: Mapping[str, Mapping[str, str]] | None = None
    ) -> None:
        self._found: dict[tuple[str, tuple[str, ...]], ToolNaming | None] = {}
        self._arguments = {name: tuple(keys.items()) for name, keys in (arguments or {}).items()}
        for name, keys in self._arguments.items():
            if len({ours for _, ours in keys}) < len(keys):
                raise ConfigError(f"two arguments of the tool '{name}' are mapped to the same key")
        self._names = {
            name: tool if tool == name else find_canonical_name(tool) for name, tool in (names or {}).items()
        }

    def find(self, name: str, args: Mapping[str, Any]) -> ToolNaming | None:
        """Return what file hooks call a tool, None if they use the program's own names."""
        # Only the keys of the input matter.
        key = (name, tuple(args))
        if key not in self._found:
            if len(self._found) >= _MAX_FOUND:
                self._found.clear()
            self._found[key] = self._find(name, args)
        return self._found[key]

    def _find(self, name: str, args: Mapping[str, Any]) -> ToolNaming | None:
        tool = self._names.get(name)
        if tool is not None and tool != name:
            return ToolNaming(name, tool, self._arguments.get(name, find_known_keys(tool, args)))
        keys = self._arguments.get(name)
        if keys is not None:
            return ToolNaming(name, name, keys)
        return None if tool == name else _guess_naming(name, args)

    def describe(self, name: str, args: Mapping[str, Any]) -> str:
        """Return a line that says what file hooks call a tool, and whether that is guessed."""
        naming = self.find(name, args)
        if naming is None:
            return f"'{name}': file hooks use the same name"
        keys = ", ".join(f"'{theirs}' is '{ours}'" for theirs, ours in naming.keys)
        how = " (guessed; set it with names= and arguments=)" if naming.is_guess else ""
        return f"'{name}': file hooks call it '{naming.tool}'{f', {keys}' if keys else ''}{how}"


def _guess_naming(name: str, args: Mapping[str, Any]) -> ToolNaming | None:
    tool = guess_tool(name)
    if not tool:
        return None
    keys = find_known_keys(tool, args)
    if not has_main_key(tool, args, keys) or (tool == name and not keys):
        return None
    return ToolNaming(name, tool, keys, is_guess=True)
