"""What file hooks call the tools of a program, and the keys of their inputs: a map both ways, from the program or guessed."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from boathook.core.event import HOST_GUESS, HOST_KEYS, HOST_TOOL
from boathook.core.near_words import STRICT_CUTOFF, ask_if_meant, find_near_word
from boathook.errors import ConfigError
from boathook.hosts.tool_calls import find_key_conflict, restore_input, translate_call
from boathook.hosts.tool_names import TOOL_INPUT_KEYS, find_aliases, find_canonical_name, list_known_tools
from boathook.inprocess.tool_guess import KeyNames, find_known_keys, guess_tool, has_main_key

_LOGGER = logging.getLogger("boathook")
_MAX_FOUND = 1024
_KEY_EXAMPLE = '{"cmd": "command"}'
_EXAMPLES = {"names": '{"bash": "Shell"}', "arguments": '{"bash": {"cmd": "command"}}'}


@dataclass(frozen=True, slots=True)
class ToolNaming:
    """What file hooks call one tool: `tool` is its name there, `keys` are pairs of a key of the program and the one there."""

    name: str
    tool: str
    keys: KeyNames = ()
    is_guess: bool = False
    # Every name by which a matcher may mean the tool. Found once, because every call asks for them.
    names: tuple[str, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(dict.fromkeys(self._list_names())))

    def _list_names(self) -> tuple[str, ...]:
        return (self.name, self.tool, *find_aliases(self.tool, self.name))

    def translate(self, args: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return an input under the keys of file hooks, and fields that say what the program calls tool and keys."""
        _, tool_input, renamed = translate_call({self.name: (self.tool, self.keys)}, self.name, args)
        fields = {HOST_TOOL: self.name, HOST_GUESS: self.is_guess}
        return tool_input, {**fields, **({HOST_KEYS: renamed} if renamed else {})}

    def restore(self, args: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
        """Return an input that hooks changed under the keys of the program; `args` is the input before."""
        table = {self.name: (self.tool, self.keys)}
        _, before, renamed = translate_call(table, self.name, args)
        return restore_input(table, self.name, renamed, before, changed)

    def find_conflict(self, args: Mapping[str, Any]) -> str:
        """Return why no hook could know what an input means, or "": it has two keys for the same thing, and they differ."""
        if not self.keys:
            return ""
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
        self._names = {name: _check_target(name, tool) for name, tool in _check_map("names", names).items()}
        self._arguments = {
            name: self._check_keys(name, keys) for name, keys in _check_map("arguments", arguments).items()
        }
        # Tools of the map that no call has had yet, and those whose calls were reported.
        self._unused = {*self._names, *self._arguments}
        self._reported: set[str] = set()

    def _check_keys(self, name: str, keys: Any) -> KeyNames:
        where = f"arguments= of the tool '{name}'"
        pairs = tuple(_check_map(where, keys).items())
        if len({ours for _, ours in pairs}) < len(pairs):
            raise ConfigError(
                f"two arguments of the tool '{name}' are mapped to the same key: give {where} one for each"
            )
        tool = self._names.get(name) or guess_tool(name)
        for theirs, ours in pairs:
            if ours not in TOOL_INPUT_KEYS.get(tool, (ours,)):
                # Without an entry in `names` the tool is known only by a guess, which may be wrong.
                _refuse_key(where, tool, theirs, ours, is_certain=name in self._names)
        return pairs

    def check_tools(self, tools: Iterable[str]) -> tuple[str, ...]:
        """Return the names in the map that an agent with these tools does not have.

        Raises ConfigError for one that looks like a mistake, because a tool of the agent that is not in the map is named almost so.
        """
        names = set(tools)
        # Each map by itself: a tool that is right in one of them may be wrong in the other.
        for option, mapped in (("names", self._names), ("arguments", self._arguments)):
            for name in sorted(mapped.keys() - names):
                near = find_near_word(name, sorted(names - mapped.keys()), STRICT_CUTOFF)
                if near:
                    raise ConfigError(f"{option}= has '{name}', which is not a tool of the agent; {ask_if_meant(near)}")
        return tuple(sorted({*self._names, *self._arguments} - names))

    def find(self, name: str, args: Mapping[str, Any]) -> ToolNaming | None:
        """Return what file hooks call a tool, None if they use the program's own names."""
        # Only the keys of the input matter.
        key = (name, tuple(args))
        try:
            # Another thread may empty it at any time.
            return self._found[key]
        except KeyError:
            naming = self._find(name, args)
        if len(self._found) >= _MAX_FOUND:
            self._found.clear()
        self._found[key] = naming
        self._report_near_name(name)
        if naming is not None:
            self._report_missing_key(naming, args)
        return naming

    def _report_missing_key(self, naming: ToolNaming, args: Mapping[str, Any]) -> None:
        """Log once for a tool of the map that a call has no main key: hooks for the tool see nothing there."""
        name, tool = naming.name, naming.tool
        is_mapped = name in self._names or name in self._arguments
        main_key = TOOL_INPUT_KEYS.get(tool, ("",))[0]
        if not is_mapped or not main_key or not args or name in self._reported or main_key in naming.translate(args)[0]:
            return
        self._reported.add(name)
        _LOGGER.warning(
            "hooks for %s cannot see what the tool '%s' gets: a call has no '%s', and arguments= maps no key of it to that "
            '(they are: %s). Write arguments={"%s": {"your_key": "%s"}}',
            tool,
            name,
            main_key,
            ", ".join(args),
            name,
            main_key,
        )

    def _report_near_name(self, name: str) -> None:
        """Log that a tool which is not in a map is named almost like one that is, and that no call has had."""
        self._unused.discard(name)
        # What is beside the tool in the same map is another tool.
        maps = [mapped for mapped in (self._names, self._arguments) if name in mapped]
        # A copy, because calls in other threads take names out meanwhile.
        unused = sorted(each for each in tuple(self._unused) if not any(each in mapped for mapped in maps))
        near = find_near_word(name, unused, STRICT_CUTOFF) if unused else ""
        if near:
            self._unused.discard(near)
            _LOGGER.warning(
                "the agent calls the tool '%s', but names= or arguments= has '%s'; did you mean '%s' there?",
                name,
                near,
                name,
            )

    def _find(self, name: str, args: Mapping[str, Any]) -> ToolNaming | None:
        tool = self._names.get(name)
        if tool is not None and tool != name:
            return ToolNaming(name, tool, self._arguments.get(name, find_known_keys(tool, args)))
        keys = self._arguments.get(name)
        guess = None if tool == name else _guess_naming(name, args, keys)
        return ToolNaming(name, name, keys) if guess is None and keys is not None else guess

    def guess_naming(self, name: str) -> ToolNaming:
        """Return what file hooks call a tool if its input has the keys that they know; before any call is made."""
        return ToolNaming(name, self._names.get(name) or guess_tool(name) or name)

    def describe(self, name: str, args: Mapping[str, Any]) -> str:
        """Return a line that says what file hooks call a tool, and whether that is guessed."""
        naming = self.find(name, args)
        if naming is None:
            return f"'{name}': file hooks use the same name"
        keys = ", ".join(f"'{theirs}' is '{ours}'" for theirs, ours in naming.keys)
        how = " (guessed; set it with names= and arguments=)" if naming.is_guess else ""
        return f"'{name}': file hooks call it '{naming.tool}'{f', {keys}' if keys else ''}{how}"


def _guess_naming(name: str, args: Mapping[str, Any], given: KeyNames | None) -> ToolNaming | None:
    """Return what a tool probably is, with the given keys instead of guessed ones if there are any."""
    tool = guess_tool(name)
    if not tool:
        return None
    keys = find_known_keys(tool, args) if given is None else given
    if not has_main_key(tool, args, keys) or (tool == name and not keys):
        return None
    return ToolNaming(name, tool, keys, is_guess=True)


def _check_map(where: str, values: Any) -> dict[str, Any]:
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise ConfigError(
            f"{where} must be a mapping such as {_EXAMPLES.get(where, _KEY_EXAMPLE)}, not {values!r:.100}"
        )
    for name, value in values.items():
        is_text = isinstance(value, Mapping) if where == "arguments" else isinstance(value, str) and value
        if not isinstance(name, str) or not name or not is_text:
            raise ConfigError(
                f"{where} cannot map {name!r:.100} to {value!r:.100}; write it as in {_EXAMPLES.get(where, _KEY_EXAMPLE)}"
            )
    return dict(values)


def _refuse_key(where: str, tool: str, theirs: str, ours: str, *, is_certain: bool) -> None:
    known = TOOL_INPUT_KEYS[tool]
    near = find_near_word(ours, known, STRICT_CUTOFF)
    fix = ask_if_meant(near) if near else f"its keys are {', '.join(known)}"
    if theirs in known:
        fix = f"your own key comes first: write {{'{ours}': '{theirs}'}}"
    if is_certain or near or theirs in known:
        raise ConfigError(f"{where}: '{ours}' is not a key of {tool}, as file hooks know it; {fix}")


def _check_target(name: str, target: str) -> str:
    """Return the canonical name of the tool that a program's tool is mapped to; any name that hooks of the user may have."""
    if target == name:
        return target
    tool = find_canonical_name(target)
    if name in TOOL_INPUT_KEYS and (tool == name or target not in list_known_tools()):
        raise ConfigError(
            f"names= maps '{name}' to '{target}', but '{name}' is a name of file hooks. "
            f"Your own name comes first: write {{'{target}': '{name}'}}"
        )
    if tool != target or tool in TOOL_INPUT_KEYS:
        return tool
    near = find_near_word(target, list_known_tools(), STRICT_CUTOFF)
    if near:
        raise ConfigError(f"names= maps '{name}' to '{target}', which file hooks do not know; {ask_if_meant(near)}")
    return target


# For calls outside of a run, which have no map of their own.
GUESSED_NAMES = NameMap()
