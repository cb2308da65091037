"""The formats that entries have in an agent's file: how ours are found, inserted and removed. Text in, text out."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Container, Mapping
from typing import Any, Protocol

from boathook.core.value import Value
from boathook.hosts.setup import FILES, FLAT, GROUPS, LIST, PLUGIN, TABLES, Setup
from boathook.install.command_line import is_installed_command
from boathook.install.json_edit import EditError, JsonEditor, JsonPath
from boathook.install.toml_edit import TomlTable, add_table, list_tables, parse_toml, remove_empty_list, remove_tables
from boathook.sources.installed_line import InstalledCommand, parse_call, parse_command

TRUST_TABLES, JSON_VALUES = "trust", "values"
INSTALL_MARK = "made by `boathook install"
_PLUGIN_COMMAND = re.compile(r"COMMAND = (\[.*\])")
_HOOKS = "hooks"
_IN_BRACKETS = "'hooks' is a list in brackets"
_BLANK = "\ufeff \t\r\n"


class HostFile(Value):
    """One file and what of ours it must contain, by event or table; `outdated` is ours by its location and no longer wanted."""

    path: str
    format: str
    setup: Setup
    wanted: Mapping[Any, Any]
    mode: int = 0o666
    outdated: Mapping[Any, Any] = {}


class OccupiedError(ValueError):
    """A file with that name exists, and boathook did not make it."""


class FileFormat(Protocol):
    def find_entries(self, text: str, file: HostFile) -> dict[Any, list[Any]]: ...

    def insert_entries(self, text: str, file: HostFile) -> str:
        """Return the text with each wanted entry once, and no other entry of ours."""
        ...

    def remove_entries(self, text: str, file: HostFile, before: str | None) -> str | None:
        """Return the text without our entries and what was made for them, except what `before` had. None: remove the file."""
        ...


class EntryFormat(FileFormat):
    """A format of the entries that make an agent call us: by default, each has its command at a key."""

    is_grouped = False

    def list_texts(self, text: str, setup: Setup) -> list[str]:  # noqa: ARG002
        """Return the texts of a whole file in which other people's commands may be."""
        return []

    def wrap_entry(self, entry: Any) -> Any:
        """Return a wanted entry as `find_entries` returns it."""
        return entry

    def get_key(self, event: str, file: HostFile) -> str:  # noqa: ARG002
        """Return the key in `wanted` of the entry that an event runs."""
        return event

    def list_commands(self, entry: Any, file: HostFile) -> list[Any]:
        """Return everything that decides what an entry runs, commands of ours among it."""
        keys = (file.setup.command_key, "command")
        return [handler.get(key) for handler in self._list_handlers(entry, file) for key in keys]

    def parse_commands(self, entry: Any, file: HostFile) -> list[InstalledCommand]:
        """Return the commands of ours that an entry runs."""
        return [command for text in self.list_commands(entry, file) if (command := parse_command(text))]

    def make_probe_command(self, entry: Any, event: str, file: HostFile) -> str:  # noqa: ARG002
        return str(self.list_commands(entry, file)[0])

    def _list_handlers(self, entry: Any, file: HostFile) -> list[Mapping[str, Any]]:
        inner = entry.get(_HOOKS) if isinstance(entry, Mapping) and self.is_grouped else None
        if file.setup.handler_key and isinstance(entry, Mapping):
            inner = [entry.get(file.setup.handler_key)]
        handlers = inner if isinstance(inner, list) else [entry]
        return [handler for handler in handlers if isinstance(handler, Mapping)]


class _JsonEntries(EntryFormat):
    """Entries below `hooks`: in a list for each event, in groups that have a list of their own or flat; or all in one list."""

    def __init__(self, *, is_grouped: bool = False, is_one_list: bool = False) -> None:
        self.is_grouped, self.is_one_list = is_grouped, is_one_list
        # keys to a group that is all ours, or to a flat entry; an entry in a group of others has more
        self._own_path_length = 2 if is_one_list else 3

    def find_entries(self, text: str, file: HostFile) -> dict[str, list[Any]]:
        editor = JsonEditor(text, comments=file.setup.has_comments)
        entries: dict[str, list[Any]] = {}
        for event, path in self._find_paths(editor, file):
            entries.setdefault(event, []).append(editor.get(*path))
        return entries

    def insert_entries(self, text: str, file: HostFile) -> str:
        editor = JsonEditor(text, comments=file.setup.has_comments)
        self._check_structure(editor)
        for extra, value in file.setup.extra_values.items():
            if editor.get(*extra) is None:
                editor.set(extra, value)
        for event, entry in file.wanted.items():
            paths = [path for name, path in self._find_paths(editor, file) if name == event]
            own = next((path for path in paths if len(path) == self._own_path_length), None)
            if own is None:
                editor.append((_HOOKS,) if self.is_one_list else (_HOOKS, event), self.wrap_entry(entry))
            elif editor.get(*own) != self.wrap_entry(entry):
                editor.set(own, self.wrap_entry(entry))
            for path in reversed([path for path in paths if path != own]):
                editor.remove(path)
        for event, path in reversed(self._find_paths(editor, file)):
            if event not in file.wanted:
                remove_json_path(editor, path, {})
        return editor.render()

    def remove_entries(self, text: str, file: HostFile, before: str | None) -> str | None:
        editor = JsonEditor(text, comments=file.setup.has_comments)
        old = JsonEditor(before, comments=file.setup.has_comments).value if before is not None else {}
        for _, path in reversed(self._find_paths(editor, file)):
            remove_json_path(editor, path, old)
        extras = file.setup.extra_values
        is_alone = not set(editor.value) - {path[0] for path in extras}
        is_unused = before is None and not editor.get(_HOOKS)
        # otherwise other entries may need the extras
        if before or is_alone or is_unused:
            for path, value in extras.items():
                if editor.get(*path) == value and _get_at(old, path) is None:
                    remove_json_path(editor, path, old)
        return None if before is None and not editor.value else editor.render()

    def wrap_entry(self, entry: Any) -> Any:
        return {_HOOKS: [entry]} if self.is_grouped else entry

    def list_texts(self, text: str, setup: Setup) -> list[str]:
        return _list_texts(JsonEditor(text, comments=setup.has_comments).value)

    def _check_structure(self, editor: JsonEditor) -> None:
        if not isinstance(editor.value, dict):
            raise EditError("it is not an object", 1)
        hooks = editor.get(_HOOKS)
        if hooks is not None and not isinstance(hooks, list if self.is_one_list else dict):
            raise EditError(f"'{_HOOKS}' is not {'a list' if self.is_one_list else 'an object'}", 1)

    def _find_paths(self, editor: JsonEditor, file: HostFile) -> list[tuple[str, JsonPath]]:
        """Return the events and paths of our entries: a group that is all ours as a whole, else each handler in it."""
        hooks = editor.get(_HOOKS)
        paths: list[tuple[str, JsonPath]] = []
        if self.is_one_list:
            for at, item in enumerate(hooks if isinstance(hooks, list) else ()):
                if isinstance(item, dict) and self._is_our_entry(item, file):
                    paths.append((str(item.get(file.setup.event_key)), (_HOOKS, at)))
            return paths
        for event, items in hooks.items() if isinstance(hooks, dict) else ():
            for at, item in enumerate(items if isinstance(items, list) else ()):
                paths += [(event, (_HOOKS, event, at, *rest)) for rest in self._find_inner_paths(item, file)]
        return paths

    def _find_inner_paths(self, item: Any, file: HostFile) -> list[JsonPath]:
        if not isinstance(item, dict):
            return []
        if not self.is_grouped:
            return [()] if self._is_our_entry(item, file) else []
        handlers = item.get(_HOOKS)
        if not isinstance(handlers, list):
            return []
        ours = [
            at for at, handler in enumerate(handlers) if isinstance(handler, dict) and self._is_our_entry(handler, file)
        ]
        return [()] if 0 < len(ours) == len(handlers) else [(_HOOKS, at) for at in ours]

    def _is_our_entry(self, entry: Mapping[str, Any], file: HostFile) -> bool:
        keys = (file.setup.command_key, "command", "bash")
        handlers = self._list_handlers(entry, file)
        return any(is_installed_command(handler.get(key), file.setup.name) for handler in handlers for key in keys)


def remove_json_path(editor: JsonEditor, path: JsonPath, old: Any) -> None:
    """Remove a value, and the containers around it that are empty then and did not exist before."""
    editor.remove(path)
    for length in range(len(path) - 1, 0, -1):
        if editor.get(*path[:length]) in ({}, []) and _get_at(old, path[:length]) is None:
            editor.remove(path[:length])


def _list_texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in _list_texts(one)]


def _get_at(value: Any, path: JsonPath) -> Any:
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


class _TomlEntries(EntryFormat):
    def find_entries(self, text: str, file: HostFile) -> dict[str, list[Any]]:
        entries: dict[str, list[Any]] = {}
        for entry in self._list_entries(text):
            if is_installed_command(entry.get("command"), file.setup.name):
                entries.setdefault(str(entry.get(file.setup.event_key)), []).append(entry)
        return entries

    def insert_entries(self, text: str, file: HostFile) -> str:
        before = parse_toml(text)
        if self.find_entries(text, file) == {event: [entry] for event, entry in file.wanted.items()}:
            return text
        result = remove_tables(text, lambda table: self._is_our_table(table, file))
        if _HOOKS in parse_toml(result) and not any(table.name == (_HOOKS,) for table in list_tables(result)):
            result = remove_empty_list(result, _HOOKS)
        for entry in file.wanted.values():
            result = add_table(result, (_HOOKS,), entry, is_item=True)
        expected = {**before, _HOOKS: [*self._list_other_entries(text, file), *file.wanted.values()]}
        _verify_toml(result, expected, f"{_IN_BRACKETS}, which cannot be added to")
        return result

    def remove_entries(self, text: str, file: HostFile, before: str | None) -> str | None:
        result = remove_tables(text, lambda table: self._is_our_table(table, file))
        if self.find_entries(result, file):
            raise EditError(f"{_IN_BRACKETS}, from which nothing can be removed", 1)
        if result != text:
            others = self._list_other_entries(text, file)
            rest = {key: value for key, value in parse_toml(text).items() if key != _HOOKS}
            expected = {**rest, **({_HOOKS: others} if others else {})}
            _verify_toml(result, expected, "other tables belong to ours, which therefore cannot be removed")
        return None if before is None and not result.strip(_BLANK) else result

    def list_texts(self, text: str, setup: Setup) -> list[str]:  # noqa: ARG002
        return _list_texts(parse_toml(text))

    def _list_entries(self, text: str) -> list[dict[str, Any]]:
        entries = parse_toml(text).get(_HOOKS, [])
        return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []

    def _list_other_entries(self, text: str, file: HostFile) -> list[dict[str, Any]]:
        name = file.setup.name
        return [one for one in self._list_entries(text) if not is_installed_command(one.get("command"), name)]

    def _is_our_table(self, table: TomlTable, file: HostFile) -> bool:
        is_hook = table.is_item and table.name == (_HOOKS,)
        return is_hook and is_installed_command(table.value.get("command"), file.setup.name)


class _TrustTables:
    def find_entries(self, text: str, file: HostFile) -> dict[tuple[str, ...], list[Any]]:
        content = parse_toml(text)
        values = {name: _get_at(content, name) for name in file.wanted}
        return {name: [value] for name, value in values.items() if value is not None}

    def insert_entries(self, text: str, file: HostFile) -> str:
        result = remove_tables(text, lambda table: _contains(table.value, file.outdated.get(table.name)))
        before = parse_toml(result)
        expected: dict[str, Any] = parse_toml(result)
        for name, entry in file.wanted.items():
            current = _get_at(before, name)
            if isinstance(current, dict) and {**current, **entry} == current:
                continue
            merged = {**(current if isinstance(current, dict) else {}), **entry}
            result = _replace_table(result, name, merged)
            parent = expected
            for key in name[:-1]:
                parent = parent.setdefault(key, {})
            parent[name[-1]] = merged
        _verify_toml(result, expected, "the entry to add is there in another form; change it by hand")
        return result

    def remove_entries(self, text: str, file: HostFile, before: str | None) -> str | None:
        old_content = parse_toml(before) if before is not None else {}
        content = parse_toml(text)
        ours = {name: entry for name, entry in file.wanted.items() if _contains(_get_at(content, name), entry)}
        result = remove_tables(text, lambda table: table.name in ours and _get_at(old_content, table.name) is None)
        for name in ours:
            old = _get_at(old_content, name)
            if old is not None and _get_at(parse_toml(result), name) != old:
                result = _replace_table(result, name, old)
        if _remove_names(parse_toml(result), ours) != _remove_names(content, ours):
            raise EditError("the entry to remove was edited; remove it by hand", 1)
        return None if before is None and not result.strip(_BLANK) else result


def _replace_table(text: str, name: tuple[str, ...], value: Mapping[str, Any]) -> str:
    rest = remove_tables(text, lambda table: table.name == name)
    if rest != text and text[:1] not in ("\r", "\n"):
        # The first table was replaced: the empty line that was between it and the next one goes with it.
        rest = rest.removeprefix("\r\n" if rest.startswith("\r\n") else "\n")
    return add_table(rest, name, value, is_item=False)


def _remove_names(value: Any, names: Container[tuple[str, ...]], path: tuple[str, ...] = ()) -> Any:
    if not isinstance(value, dict):
        return value
    rest = {key: _remove_names(one, names, (*path, key)) for key, one in value.items() if (*path, key) not in names}
    return {key: one for key, one in rest.items() if one != {}}


class _JsonValues:
    """Values of a JSON file that are ours because of their path: a key with a value, or (True) a member of a list."""

    def find_entries(self, text: str, file: HostFile) -> dict[tuple[str, ...], list[Any]]:
        editor = JsonEditor(text, comments=True)
        values = {name: _get_member(editor, name) for name in file.wanted}
        return {name: [value] for name, value in values.items() if value is not None}

    def insert_entries(self, text: str, file: HostFile) -> str:
        editor = JsonEditor(text, comments=True)
        for name, value in file.wanted.items():
            if _get_member(editor, name) == value:
                continue
            if value is True:
                editor.append(name[:-1], name[-1])
            else:
                editor.set(name, value)
        return editor.render()

    def remove_entries(self, text: str, file: HostFile, before: str | None) -> str | None:
        editor, old_editor = JsonEditor(text, comments=True), JsonEditor(before or "", comments=True)
        for name, value in file.wanted.items():
            old = _get_member(old_editor, name)
            # the person's own, by now or from the start
            if _get_member(editor, name) != value or old == value:
                continue
            if old is not None:
                editor.set(name, old)
                continue
            items = editor.get(*name[:-1])
            last = items.index(name[-1]) if isinstance(items, list) else name[-1]
            remove_json_path(editor, (*name[:-1], last), old_editor.value)
        return None if before is None and not editor.value else editor.render()


def _get_member(editor: JsonEditor, name: tuple[str, ...]) -> Any:
    items = editor.get(*name[:-1])
    if isinstance(items, list):
        return True if name[-1] in items else None
    return editor.get(*name)


def _contains(current: Any, entry: Any) -> bool:
    """Whether a table contains what we wrote; otherwise it is no longer ours."""
    return isinstance(current, Mapping) and isinstance(entry, Mapping) and {**current, **entry} == {**current}


def _verify_toml(text: str, expected: Mapping[str, Any], message: str) -> None:
    try:
        if parse_toml(text) == expected:
            return
    except EditError:
        pass
    raise EditError(message, 1)


class _WholeFile(EntryFormat):
    def find_entries(self, text: str, file: HostFile) -> dict[str, list[Any]]:
        (event,) = file.wanted
        return {event: [text]} if INSTALL_MARK in text else {}

    def insert_entries(self, text: str, file: HostFile) -> str:
        (wanted,) = file.wanted.values()
        if text and INSTALL_MARK not in text:
            raise OccupiedError("it exists already, and boathook did not make it")
        return str(wanted)

    def remove_entries(self, text: str, file: HostFile, before: str | None) -> str | None:  # noqa: ARG002
        return before or None if INSTALL_MARK in text else text


class _ScriptFile(_WholeFile):
    def list_commands(self, entry: Any, file: HostFile) -> list[Any]:  # noqa: ARG002
        # After the line that says by what a shell runs it, and the mark.
        return [entry, str(entry).partition("\n")[2].partition("\n")[2].removesuffix("\n")]

    def make_probe_command(self, entry: Any, event: str, file: HostFile) -> str:  # noqa: ARG002
        return shlex.quote(file.path)


class _PluginFile(_WholeFile):
    """A plugin for all events, which has the words of the command as a list."""

    def get_key(self, event: str, file: HostFile) -> str:  # noqa: ARG002
        return str(next(iter(file.wanted)))

    def list_commands(self, entry: Any, file: HostFile) -> list[Any]:  # noqa: ARG002
        return [_join_words(words) for words in _PLUGIN_COMMAND.findall(str(entry))]

    def parse_commands(self, entry: Any, file: HostFile) -> list[InstalledCommand]:
        return [command for text in self.list_commands(entry, file) if (command := parse_call(text))]

    def make_probe_command(self, entry: Any, event: str, file: HostFile) -> str:
        return f"{self.list_commands(entry, file)[0]} --event {shlex.quote(event)}"


def _join_words(text: str) -> str:
    try:
        return shlex.join(json.loads(text))
    except (ValueError, TypeError):
        return text


ENTRY_FORMATS: Mapping[str, EntryFormat] = {
    GROUPS: _JsonEntries(is_grouped=True),
    FLAT: _JsonEntries(),
    LIST: _JsonEntries(is_one_list=True),
    TABLES: _TomlEntries(),
    FILES: _ScriptFile(),
    PLUGIN: _PluginFile(),
}
# values are recognized by their location alone, and so may be the person's own
LOCATED_FORMATS: Mapping[str, FileFormat] = {TRUST_TABLES: _TrustTables(), JSON_VALUES: _JsonValues()}
FORMATS: Mapping[str, FileFormat] = {**ENTRY_FORMATS, **LOCATED_FORMATS}
