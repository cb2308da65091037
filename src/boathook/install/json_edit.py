"""Changes in the text of a JSON file that leave every other byte alone: a path names a place, a value is put in or taken out."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false

from __future__ import annotations

import json
import re
from collections.abc import Container
from typing import Any

Path = tuple[str | int, ...]

SPACE = re.compile(r"[ \t\r\n]*")
GAP = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
PLAIN = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null")
INDENT = re.compile(r"\n([ \t]+)\"")
LINE_END = re.compile(r"[ \t]*\r?\n")
AHEAD = 1000  # signs of the text that are looked at for the end of a line
DEEPEST = 200
CLOSING = {"{": "}", "[": "]"}


class TextFault(ValueError):
    """A text that cannot be read: why, and in which line."""

    def __init__(self, why: str, line: int) -> None:
        """Remember both."""
        super().__init__(f"line {line}: {why}")
        self.why = why
        self.line = line


class Node:
    """A value, where it stands in what it stands in, and how long it is.

    What is in it, by key or index: where those begin with their key, counted from its own start, and the nodes.
    """

    __slots__ = ("begins", "keys", "nodes", "size", "start", "value")

    def __init__(self, start: int, size: int, value: Any) -> None:
        """Begin without anything in it."""
        self.start = start
        self.size = size
        self.value = value
        self.keys: list[str | int] = []
        self.begins: list[int] = []
        self.nodes: list[Node] = []

    @property
    def end(self) -> int:
        """Return where it ends in what it stands in."""
        return self.start + self.size

    def index(self, step: str | int) -> int | None:
        """Return the place of a key among the keys."""
        if isinstance(self.value, dict) and step in self.value:
            return self.keys.index(step)
        return step if isinstance(self.value, list) and isinstance(step, int) and step < len(self.nodes) else None

    def shift(self, since: int, by: int) -> None:
        """Move what stands in it from a place on."""
        for at in range(len(self.nodes) - 1, -1, -1):
            if self.begins[at] < since:
                break
            self.begins[at] += by
            self.nodes[at].start += by


def read(text: str, *, comments: bool = False) -> Node:
    """Read a text with its places; TextFault says what is wrong where. Nothing but space is an empty object."""
    reader = _Reader(text, comments=comments)
    start = reader.gap(1 if text.startswith("\ufeff") else 0)
    if start == len(text):
        return Node(start, 0, {})
    node = reader.value(start, 0)
    if (rest := reader.gap(node.end)) != len(text):
        raise reader.error("there is more after the value", rest)
    return node


class _Reader:
    def __init__(self, text: str, *, comments: bool) -> None:
        self.text = text
        self.between = GAP if comments else SPACE

    def error(self, why: str, at: int) -> TextFault:
        if self.between is SPACE and self.text.startswith(("//", "/*"), at):
            why = "comments are no JSON, and this program does not read them"
        return TextFault(why, self.text.count("\n", 0, at) + 1)

    def gap(self, at: int) -> int:
        found = self.between.match(self.text, at)
        return found.end() if found else at

    def value(self, at: int, depth: int) -> Node:
        if depth > DEEPEST:
            raise self.error("it is too deep", at)
        if self.text[at : at + 1] in CLOSING:
            return self.container(at, depth)
        found = STRING.match(self.text, at) or PLAIN.match(self.text, at)
        if not found:
            what = "a value is missing" if at == len(self.text) else f"unexpected {self.text[at : at + 10]!r}"
            raise self.error(what, at)
        try:
            return Node(at, found.end() - at, json.loads(found.group()))
        except ValueError:
            raise self.error("the number has too many digits", at) from None

    def container(self, start: int, depth: int) -> Node:
        opening = self.text[start]
        made = Node(start, 0, {} if opening == "{" else [])
        at = self.gap(start + 1)
        while self.text[at : at + 1] != CLOSING[opening]:
            if made.nodes:
                if self.text[at : at + 1] != ",":
                    raise self.error(f"',' or '{CLOSING[opening]}' expected", at)
                at = self.gap(at + 1)
            made.begins.append(at - start)
            at = self.member(made, at, depth)
        made.size = at + 1 - start
        return made

    def member(self, made: Node, at: int, depth: int) -> int:
        """Read one member into a container; return where the next sign is."""
        key: str | int = len(made.nodes)
        if isinstance(made.value, dict):
            key, at = self.key(at, made.value)
        node = self.value(at, depth + 1)
        if isinstance(made.value, dict):
            made.value[key] = node.value
        else:
            made.value.append(node.value)
        at = self.gap(node.end)
        node.start -= made.start
        made.keys.append(key)
        made.nodes.append(node)
        return at

    def key(self, at: int, keys: Container[object]) -> tuple[str, int]:
        found = STRING.match(self.text, at)
        if not found:
            raise self.error("a key in double quotes is expected", at)
        key = json.loads(found.group())
        if key in keys:
            raise self.error(f"the key {found.group()} stands there twice", at)
        colon = self.gap(found.end())
        if self.text[colon : colon + 1] != ":":
            raise self.error("':' expected", colon)
        return key, self.gap(colon + 1)


def get(node: Node, path: Path) -> Node | None:
    """Return what stands at a path."""
    way = _way(node, path)
    return way[-1] if way else None


def _way(node: Node, path: Path) -> list[Node]:
    """Return the nodes on the way to a path, from the first to that at its end; none if there is nothing."""
    found = [node]
    for step in path:
        at = node.index(step)
        if at is None:
            return []
        node = node.nodes[at]
        found.append(node)
    return found


class Editor:
    """A text under change. Paths that lead through what is no object or list are a TextFault."""

    def __init__(self, text: str, *, comments: bool = False) -> None:
        """Read it."""
        self.text = text
        self.comments = comments
        self.root = read(text, comments=comments)
        self.newline = "\r\n" if "\r\n" in text else "\n"
        indent = INDENT.search(text)
        self.unit = indent.group(1) if indent else "  "

    @property
    def value(self) -> Any:
        """Return the whole value."""
        return self.root.value

    def get(self, *path: str | int) -> Any:
        """Return the value at a path, None if there is nothing."""
        node = get(self.root, path)
        return node.value if node is not None else None

    def checked(self) -> str:
        """Return the text, once it is sure that it says what was meant; TextFault if not."""
        try:
            if read(self.text, comments=self.comments).value == self.value:
                return self.text
        except TextFault:
            pass
        raise TextFault("it is written in a way that this program cannot change safely", 1)

    def put(self, path: Path, value: Any) -> None:
        """Put a value at a path of keys: in place of what is there, or at the end; objects on the way are made."""
        if (node := get(self.root, path)) is not None:
            start = self._start(path)
            self._replace(path, self._written(value, self._indent_at(start)), start, start + node.size)
            return
        at = len(path) - 1
        while get(self.root, path[:at]) is None:
            at -= 1
        for key in reversed(path[at + 1 :]):
            value = {key: value}
        self._insert(path[:at], value, path[at])

    def append(self, path: Path, value: Any) -> None:
        """Put a value at the end of the list at a path, which is made if it is not there."""
        node = get(self.root, path)
        if node is None:
            self.put(path, [value])
        else:
            self._expect(node, list, path)
            self._insert(path, value, None)

    def remove(self, path: Path) -> None:
        """Take out what stands at a path, with the comma that belongs to it."""
        parent, node = get(self.root, path[:-1]), get(self.root, path)
        index = parent.index(path[-1]) if parent else None
        if parent is None or node is None or index is None:
            return
        start, end, kept = self._around(parent, index, self._start(path[:-1]))
        del parent.keys[-1 if isinstance(parent.value, list) else index], parent.begins[index], parent.nodes[index]
        self._splice(path[:-1], start, end, kept + self._closing(kept, self.text[end : end + AHEAD]))

    # How it is done

    def _around(self, parent: Node, index: int, top: int) -> tuple[int, int, str]:
        """Return the stretch that goes with a member of a container that begins at `top`, and the comments that stay."""
        begin, end = top + parent.begins[index], top + parent.nodes[index].end
        if index:
            before = top + parent.nodes[index - 1].end
            comma = self._gap(before)
            return before, end, self.text[before:comma] + self._kept(comma + 1, begin)
        if len(parent.nodes) > 1:
            comma, following = self._gap(end), top + parent.begins[1]
            return begin, following, self._joined(self._kept(end, comma), self._kept(comma + 1, following))
        last = top + parent.size - 1
        return top + 1, last, self._joined(self._kept(top + 1, begin), self._kept(end, last))

    def _start(self, path: Path) -> int:
        """Return where in the text something stands."""
        return sum(node.start for node in _way(self.root, path))

    def _gap(self, at: int) -> int:
        """Return where space and comments end."""
        return _Reader(self.text, comments=self.comments).gap(at)

    def _kept(self, start: int, end: int) -> str:
        """Return the comments of a stretch, up to the end of the last; its space goes."""
        last = max((found.end() for found in COMMENT.finditer(self.text, start, end)), default=start)
        return self.text[start:last] if self.comments else ""

    def _closing(self, kept: str, following: str) -> str:
        """Return the end of a line that keeps a comment at the end of a text from swallowing what follows, if it needs one."""
        last = next(reversed(COMMENT.findall(kept)), "") if self.comments else ""
        is_open = last.startswith("//") and kept.endswith(last)
        if not is_open or not following or LINE_END.match(following):
            return ""
        return "\n" if kept.endswith("\r") else self.newline

    def _joined(self, kept: str, following: str) -> str:
        return kept + self._closing(kept, following) + following

    def _insert(self, path: Path, value: Any, key: str | int | None) -> None:
        node = get(self.root, path)
        if node is None:
            raise TextFault("there is nothing", 1)
        self._expect(node, list if key is None else dict, path)
        if not node.size:  # an empty file
            made = self._written({key: value}, "") + self.newline
            head = self.text[: node.start]
            self.text = self._joined(head, made)
            self.root = read(self.text, comments=self.comments)
            return
        spread, top = self._is_spread(path), self._start(path)
        indent = self._inner(path) if spread else ""
        label = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
        item = label + (self._written(value, indent) if spread else json.dumps(value, ensure_ascii=False))
        lead = self.newline + indent if spread else ""
        if node.nodes:
            start = top + node.nodes[-1].end
            kept = self._kept(start, top + node.size - 1)
            new, end, tail = self._joined(f",{kept}", f"{lead or ' '}{item}"), start + len(kept), ""
        else:
            start, end = top + 1, top + node.size - 1
            tail = self.newline + self._indent_at(top) if spread else ""
            new = self._joined(self._kept(start, end), lead + item)
        self._splice(path, start, end, new + tail)
        begin = start + len(new) - len(item) - top
        self._adopt(node, begin, len(label), item, key)
        self._revalue(path)

    def _adopt(self, parent: Node, begin: int, label: int, item: str, key: str | int | None) -> None:
        """Take what was written at the end of a container for one of its members."""
        node = _Reader(item, comments=False).value(label, 0)
        node.start += begin
        parent.keys.append(len(parent.nodes) if key is None else key)
        parent.begins.append(begin)
        parent.nodes.append(node)

    def _replace(self, path: Path, new: str, start: int, end: int) -> None:
        """Put another value in the place of one."""
        made = _Reader(new, comments=False).value(0, 0)
        parent = _way(self.root, path[:-1])[-1]
        index = parent.keys.index(path[-1])
        made.start, parent.nodes[index] = parent.nodes[index].start, made
        self._splice(path[:-1], start, end, new)

    def _splice(self, path: Path, start: int, end: int, new: str) -> None:
        """Change the text within what stands at a path: whatever is around grows, whatever comes after moves."""
        by, top = len(new) - (end - start), 0
        for node in _way(self.root, path):
            top += node.start
            node.size += by
            node.shift(end - top, by)
        self.text = self.text[:start] + new + self.text[end:]
        self._revalue(path)

    def _revalue(self, path: Path) -> None:
        """Report anew what the containers on the way to a path hold; values that were given out stay as they are."""
        for node in reversed(_way(self.root, path)):
            if isinstance(node.value, dict):
                node.value = dict(zip(node.keys, (one.value for one in node.nodes), strict=True))
            elif isinstance(node.value, list):
                node.value = [one.value for one in node.nodes]

    def _expect(self, node: Node, kind: type, path: Path) -> None:
        if not isinstance(node.value, kind):
            name, word = ".".join(map(str, path)) or "the whole", "an object" if kind is dict else "a list"
            raise TextFault(f"{name} is not {word}", self.text.count("\n", 0, self._start(path)) + 1)

    def _is_spread(self, path: Path) -> bool:
        """Whether what is in a container stands on lines of its own; an empty one is like what it stands in."""
        node, top = get(self.root, path), self._start(path)
        if node is not None and node.nodes:
            before = node.nodes[-2].end if len(node.nodes) > 1 else 0
            return "\n" in self.text[top + before : top + node.begins[-1]]
        return self._is_spread(path[:-1]) if path else True

    def _inner(self, path: Path) -> str:
        """Return the indentation of what stands in a container."""
        node, top = get(self.root, path), self._start(path)
        if node is not None and node.nodes:
            return self._indent_at(top + node.begins[-1])
        return self._indent_at(top) + self.unit

    def _indent_at(self, at: int) -> str:
        """Return the space that the line of a place begins with."""
        line = self.text.rfind("\n", 0, at) + 1
        found = re.compile(r"[ \t]*").match(self.text, line)
        return found.group() if found else ""

    def _written(self, value: Any, indent: str) -> str:
        lines = json.dumps(value, ensure_ascii=False, indent=self.unit).split("\n")
        return f"{self.newline}{indent}".join(lines)
