"""The shapes that entries have in a host's file: how ours are found there, put in and taken out. Text in, text out."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any, Protocol

from boathook.core.value import Value
from boathook.install.command_line import is_ours
from boathook.install.json_edit import Editor, Path, TextFault
from boathook.install.setups import FILES, FLAT, GROUPS, PLUGIN, TABLES, Setup
from boathook.install.toml_edit import Table, add, parse, remove, tables, without_empty

HOOKS = "hooks"
TRUST, VALUES = "trust", "values"
IN_BRACKETS = "'hooks' is a list in brackets"
OWN = 3  # steps to a group that is all ours, or to a flat entry; one that stands among others has more
MARK = "made by `boathook install"


class Part(Value):
    """One file of an installation and what of ours is to stand in it: by event, or by name of a table.

    `former` was ours, by its place, and is not wanted any more.
    """

    path: str
    shape: str
    setup: Setup
    wanted: Mapping[Any, Any]
    mode: int = 0o666
    former: Mapping[Any, Any] = {}


class Taken(ValueError):
    """A file of that name is there, and it is somebody else's."""


class Shape(Protocol):
    """How entries stand in a text."""

    def found(self, text: str, part: Part) -> dict[Any, list[Any]]:
        """Return our entries, by event."""
        ...

    def put(self, text: str, part: Part) -> str:
        """Return the text with the entries that are wanted, each once, and no other of ours."""
        ...

    def take(self, text: str, part: Part, before: str | None) -> str | None:
        """Return the text without ours; what was made for them goes too, unless it was there before. None: no file is left."""
        ...


class _Json:
    """Entries in lists by event below `hooks`; in groups with a list of their own, or flat."""

    def __init__(self, *, grouped: bool) -> None:
        self.grouped = grouped

    def found(self, text: str, part: Part) -> dict[str, list[Any]]:
        editor = Editor(text, comments=part.setup.comments)
        found: dict[str, list[Any]] = {}
        for path in self._paths(editor, part):
            found.setdefault(str(path[1]), []).append(editor.get(*path))
        return found

    def put(self, text: str, part: Part) -> str:
        editor = Editor(text, comments=part.setup.comments)
        self._check(editor)
        for place, value in part.setup.extras.items():
            if editor.get(*place) is None:
                editor.put(place, value)
        for event, entry in part.wanted.items():
            paths = [path for path in self._paths(editor, part) if path[1] == event]
            own = next((path for path in paths if len(path) == OWN), None)
            if own is None:
                editor.append((HOOKS, event), self._whole(entry))
            elif editor.get(*own) != self._whole(entry):
                editor.put(own, self._whole(entry))
            for path in reversed([path for path in paths if path != own]):
                editor.remove(path)
        for path in reversed(self._paths(editor, part)):
            if path[1] not in part.wanted:
                self._remove(editor, path, {})
        return editor.checked()

    def take(self, text: str, part: Part, before: str | None) -> str | None:
        editor = Editor(text, comments=part.setup.comments)
        was = Editor(before, comments=part.setup.comments).value if before is not None else {}
        for path in reversed(self._paths(editor, part)):
            self._remove(editor, path, was)
        extras = part.setup.extras
        alone = not set(editor.value) - {place[0] for place in extras}
        unused = before is None and not editor.get(HOOKS)
        for place, value in extras.items() if before or alone or unused else ():  # else somebody may need them
            if editor.get(*place) == value and _at(was, place) is None:
                editor.remove(place)
                self._prune(editor, place[:-1], was)
        return None if before is None and not editor.value else editor.checked()

    def _whole(self, entry: Any) -> Any:
        return {"hooks": [entry]} if self.grouped else entry

    def _check(self, editor: Editor) -> None:
        """Refuse a file that is made in another way than the host reads it."""
        if not isinstance(editor.value, dict):
            raise TextFault("it is not an object", 1)
        hooks = editor.get(HOOKS)
        if hooks is not None and not isinstance(hooks, dict):
            raise TextFault(f"'{HOOKS}' is not an object", 1)

    def _paths(self, editor: Editor, part: Part) -> list[Path]:
        """Return where ours stand: a group that is all ours as a whole, else each handler in it."""
        hooks = editor.get(HOOKS)
        found: list[Path] = []
        for event, items in hooks.items() if isinstance(hooks, dict) else ():
            for at, item in enumerate(items if isinstance(items, list) else ()):
                found += [(HOOKS, event, at, *rest) for rest in self._inside(item, part)]
        return found

    def _inside(self, item: Any, part: Part) -> list[Path]:
        if not isinstance(item, dict):
            return []
        if not self.grouped:
            return [()] if _is_entry(item, part) else []
        handlers = item.get(HOOKS)
        if not isinstance(handlers, list):
            return []
        ours = [at for at, handler in enumerate(handlers) if isinstance(handler, dict) and _is_entry(handler, part)]
        return [()] if 0 < len(ours) == len(handlers) else [(HOOKS, at) for at in ours]

    def _remove(self, editor: Editor, path: Path, was: Any) -> None:
        editor.remove(path)
        for length in range(len(path) - 1, 0, -1):
            self._prune(editor, path[:length], was)

    def _prune(self, editor: Editor, path: Path, was: Any) -> None:
        """Take out a container that is empty now and was not there before."""
        if path and editor.get(*path) in ({}, []) and _at(was, path) is None:
            editor.remove(path)


def ours_in(entry: Any, part: Part) -> list[Mapping[str, Any]]:
    """Return the handlers of an entry as `found` gives it: those of a group, else itself."""
    inside = entry.get(HOOKS) if isinstance(entry, Mapping) and part.shape == GROUPS else None
    return [one for one in (inside if isinstance(inside, list) else [entry]) if isinstance(one, Mapping)]


def _is_entry(entry: Mapping[str, Any], part: Part) -> bool:
    return any(is_ours(entry.get(key), part.setup.name) for key in (part.setup.command_key, "command", "bash"))


def _at(value: Any, path: Path) -> Any:
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


class _Tables:
    """`[[hooks]]` tables of a TOML file."""

    def found(self, text: str, part: Part) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {}
        for entry in self._entries(text):
            if is_ours(entry.get("command"), part.setup.name):
                found.setdefault(str(entry.get("event")), []).append(entry)
        return found

    def put(self, text: str, part: Part) -> str:
        before = parse(text)
        if self.found(text, part) == {event: [entry] for event, entry in part.wanted.items()}:
            return text
        kept = [one for one in self._entries(text) if not is_ours(one.get("command"), part.setup.name)]
        made = remove(text, lambda table: self._is_ours(table, part))
        if HOOKS in parse(made) and not any(table.name == (HOOKS,) for table in tables(made)):
            made = without_empty(made, HOOKS)
        for entry in part.wanted.values():
            made = add(made, (HOOKS,), entry, listed=True)
        _verify(made, {**before, HOOKS: [*kept, *part.wanted.values()]}, IN_BRACKETS)
        return made

    def take(self, text: str, part: Part, before: str | None) -> str | None:
        made = remove(text, lambda table: self._is_ours(table, part))
        if self.found(made, part):
            raise TextFault(f"{IN_BRACKETS}, which cannot be taken from", 1)
        if made != text:
            kept = [one for one in self._entries(text) if not is_ours(one.get("command"), part.setup.name)]
            rest = {key: value for key, value in parse(text).items() if key != HOOKS}
            _verify(made, {**rest, **({HOOKS: kept} if kept else {})}, "tables belong to ours", "taken from")
        return None if before is None and not made.strip("\ufeff \t\r\n") else made

    def _entries(self, text: str) -> list[dict[str, Any]]:
        found = parse(text).get(HOOKS, [])
        return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []

    def _is_ours(self, table: Table, part: Part) -> bool:
        return table.listed and table.name == (HOOKS,) and is_ours(table.value.get("command"), part.setup.name)


class _Named:
    """Tables of a TOML file that are ours by their name."""

    def found(self, text: str, part: Part) -> dict[tuple[str, ...], list[Any]]:
        value = parse(text)
        at = {name: _at(value, name) for name in part.wanted}
        return {name: [one] for name, one in at.items() if one is not None}

    def put(self, text: str, part: Part) -> str:
        made = remove(text, lambda table: _holds(table.value, part.former.get(table.name)))
        before = parse(made)
        expected: dict[str, Any] = parse(made)
        for name, entry in part.wanted.items():
            there = _at(before, name)
            if isinstance(there, dict) and {**there, **entry} == there:
                continue
            whole = {**(there if isinstance(there, dict) else {}), **entry}
            made = remove(made, lambda table, name=name: table.name == name)  # type: ignore[misc]
            made = add(made, name, whole, listed=False)
            at = expected
            for key in name[:-1]:
                at = at.setdefault(key, {})
            at[name[-1]] = whole
        _verify(made, expected, "what is to be added stands there in another form")
        return made

    def take(self, text: str, part: Part, before: str | None) -> str | None:
        was = parse(before) if before is not None else {}
        ours = {name: entry for name, entry in part.wanted.items() if _holds(_at(parse(text), name), entry)}
        made = remove(text, lambda table: table.name in ours and _at(was, table.name) is None)
        for name in ours:
            old = _at(was, name)
            if old is not None and _at(parse(made), name) != old:
                made = add(remove(made, lambda table, name=name: table.name == name), name, old, listed=False)  # type: ignore[misc]
        if _others(parse(made), ours) != _others(parse(text), ours):
            raise TextFault("what is to be taken out stands there in another form", 1)
        return None if before is None and not made.strip("\ufeff \t\r\n") else made


def _others(value: Any, names: Container[tuple[str, ...]], at: tuple[str, ...] = ()) -> Any:
    """Return what tables say beside those of some names, and beside what is empty."""
    if not isinstance(value, dict):
        return value
    inside = {key: _others(one, names, (*at, key)) for key, one in value.items() if (*at, key) not in names}
    return {key: one for key, one in inside.items() if one != {}}


class _Values:
    """Values of a JSON file that are ours by their place: a key with a value, or (True) a member of a list."""

    def found(self, text: str, part: Part) -> dict[tuple[str, ...], list[Any]]:
        editor = Editor(text, comments=True)
        at = {name: _member(editor, name) for name in part.wanted}
        return {name: [one] for name, one in at.items() if one is not None}

    def put(self, text: str, part: Part) -> str:
        editor = Editor(text, comments=True)
        for name, value in part.wanted.items():
            if _member(editor, name) == value:
                continue
            if value is True:
                editor.append(name[:-1], name[-1])
            else:
                editor.put(name, value)
        return editor.checked()

    def take(self, text: str, part: Part, before: str | None) -> str | None:
        editor, was = Editor(text, comments=True), Editor(before or "", comments=True)
        for name, value in part.wanted.items():
            old = _member(was, name)
            if _member(editor, name) != value or old == value:  # the person's own, by now or all along
                continue
            if old is not None:
                editor.put(name, old)
                continue
            items = editor.get(*name[:-1])
            editor.remove((*name[:-1], items.index(name[-1]) if isinstance(items, list) else name[-1]))
            for length in range(len(name) - 1, 0, -1):
                if editor.get(*name[:length]) in ({}, []) and was.get(*name[:length]) is None:
                    editor.remove(name[:length])
        return None if before is None and not editor.value else editor.checked()


def _member(editor: Editor, name: tuple[str, ...]) -> Any:
    """Return the value of a key, True for a member of a list."""
    items = editor.get(*name[:-1])
    if isinstance(items, list):
        return True if name[-1] in items else None
    return editor.get(*name)


def _holds(there: Any, entry: Any) -> bool:
    """Whether a table holds what we wrote there; if not, somebody else has it by now."""
    return isinstance(there, Mapping) and isinstance(entry, Mapping) and {**there, **entry} == {**there}


def _verify(text: str, expected: Mapping[str, Any], why: str, what: str = "added to") -> None:
    """Be sure that a text says what it should; TextFault if not."""
    try:
        if parse(text) == expected:
            return
    except TextFault:
        pass
    raise TextFault(f"{why}, which cannot be {what}", 1)


class _Whole:
    """A file that is all ours."""

    def found(self, text: str, part: Part) -> dict[str, list[Any]]:
        (event,) = part.wanted
        return {event: [text]} if MARK in text else {}

    def put(self, text: str, part: Part) -> str:
        (wanted,) = part.wanted.values()
        if text and MARK not in text:
            raise Taken("it is there already, and not made by boathook")
        return str(wanted)

    def take(self, text: str, part: Part, before: str | None) -> str | None:  # noqa: ARG002
        return before or None if MARK in text else text


SHAPES: Mapping[str, Shape] = {
    GROUPS: _Json(grouped=True),
    FLAT: _Json(grouped=False),
    TABLES: _Tables(),
    TRUST: _Named(),
    VALUES: _Values(),
    FILES: _Whole(),
    PLUGIN: _Whole(),
}
