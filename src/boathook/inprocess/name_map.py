"""What file hooks call the tools of a program, and the keys of their inputs: a map both ways, from the program or guessed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from boathook.core.event import HOST_KEYS, HOST_TOOL
from boathook.errors import ConfigError
from boathook.hosts.host import list_host_names, load_host
from boathook.hosts.tool_calls import LIST_MARK, NO_KEY, find_key_conflict, restore_input, translate_call
from boathook.hosts.tool_names import TOOL_INPUT_KEYS, find_aliases, find_canonical_name

_MAX_FOUND = 1024
_Renames = tuple[tuple[str, str], ...]
_known_keys: dict[str, _Renames] = {}


@dataclass(frozen=True, slots=True)
class ToolNaming:
    """What file hooks call one tool: `tool` is its name there, `keys` are pairs of a key of the program and the one there."""

    name: str
    tool: str
    keys: _Renames = ()
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

    Tools that are not in the map are guessed: by a name that an agent has for such a tool, if the input has its main key. A tool
    that is mapped to itself is never guessed.
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
            return ToolNaming(name, tool, self._arguments.get(name, _find_known_keys(tool, args)))
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
    tool = find_canonical_name(name)
    if tool == name:
        folded = name.lower().replace("-", "_")
        tool = find_canonical_name(folded)
        tool = name if tool == folded else tool
    main_key = TOOL_INPUT_KEYS.get(tool, ("",))[0]
    keys = _find_known_keys(tool, args)
    has_main_key = main_key in args or any(ours == main_key for _, ours in keys)
    if not main_key or not has_main_key or (tool == name and not keys):
        return None
    return ToolNaming(name, tool, keys, is_guess=True)


def _find_known_keys(tool: str, args: Mapping[str, Any]) -> _Renames:
    """Return the keys of an input that agents have for keys of a tool; both are there if the input has both."""
    if not _known_keys:
        _known_keys.update(_collect_keys())
    own = TOOL_INPUT_KEYS.get(tool, ())
    return tuple((theirs, ours) for theirs, ours in _known_keys.get(tool, ()) if theirs in args and theirs not in own)


def _collect_keys() -> dict[str, _Renames]:
    found: dict[str, dict[tuple[str, str], None]] = {
        tool: {(other, keys[0]): None for other in _OTHER_KEYS.get(keys[0], ())}
        for tool, keys in TOOL_INPUT_KEYS.items()
    }
    for host in map(load_host, list_host_names()):
        for tool, renames in host.tools.values():
            for theirs, ours in renames:
                if theirs != NO_KEY and not theirs.endswith(LIST_MARK) and "." not in theirs:
                    found[tool][theirs, ours] = None
    return {tool: tuple(pairs) for tool, pairs in found.items()}


# What functions of programs often call the main key of a tool.
_OTHER_KEYS = {
    "command": ("cmd", "script", "shell_command"),
    "file_path": ("path", "file", "filename", "filepath"),
    "patch": ("diff",),
    "url": ("uri",),
}
