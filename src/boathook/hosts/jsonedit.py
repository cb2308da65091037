"""Changes in the text of a JSON file that leave every other byte alone: a path names a place, a value is put in or taken out."""

from __future__ import annotations

import json
import re
from typing import Any

from boathook.core.value import Value

Path = tuple[str | int, ...]

SPACE = re.compile(r"[ \t\r\n]*")
GAP = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
PLAIN = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null")
INDENT = re.compile(r"\n([ \t]+)\"")
DEEPEST = 200
CLOSING = {"{": "}", "[": "]"}


class TextFault(ValueError):
    """A text that cannot be read: why, and in which line."""

    def __init__(self, why: str, line: int) -> None:
        """Remember both."""
        super().__init__(f"line {line}: {why}")
        self.why = why
        self.line = line


class Node(Value):
    """A value and where it stands; what is in it, by key or index: those are where they begin with their key, and the nodes."""

    start: int
    end: int
    value: Any
    keys: tuple[str | int, ...] = ()
    begins: tuple[int, ...] = ()
    nodes: tuple[Node, ...] = ()


def read(text: str, *, comments: bool = False) -> Node:
    """Read a text with its places; TextFault says what is wrong where. Nothing but space is an empty object."""
    reader = _Reader(text, comments=comments)
    start = reader.gap(1 if text.startswith("\ufeff") else 0)
    if start == len(text):
        return Node(start, start, {})
    node = reader.value(start, 0)
    if (rest := reader.gap(node.end)) != len(text):
        raise reader.fault("there is more after the value", rest)
    return node


class _Reader:
    def __init__(self, text: str, *, comments: bool) -> None:
        self.text = text
        self.between = GAP if comments else SPACE

    def fault(self, why: str, at: int) -> TextFault:
        if self.between is SPACE and self.text.startswith(("//", "/*"), at):
            why = "comments are no JSON, and this program does not read them"
        return TextFault(why, self.text.count("\n", 0, at) + 1)

    def gap(self, at: int) -> int:
        found = self.between.match(self.text, at)
        return found.end() if found else at

    def value(self, at: int, depth: int) -> Node:
        if depth > DEEPEST:
            raise self.fault("it is too deep", at)
        if self.text[at : at + 1] in CLOSING:
            return self.container(at, depth)
        found = STRING.match(self.text, at) or PLAIN.match(self.text, at)
        if not found:
            what = "a value is missing" if at == len(self.text) else f"unexpected {self.text[at : at + 10]!r}"
            raise self.fault(what, at)
        return Node(at, found.end(), json.loads(found.group()))

    def container(self, start: int, depth: int) -> Node:
        opening = self.text[start]
        keys: list[str | int] = []
        begins: list[int] = []
        nodes: list[Node] = []
        at = self.gap(start + 1)
        while self.text[at : at + 1] != CLOSING[opening]:
            if nodes:
                if self.text[at : at + 1] != ",":
                    raise self.fault(f"',' or '{CLOSING[opening]}' expected", at)
                at = self.gap(at + 1)
            begins.append(at)
            if opening == "{":
                key, at = self.key(at, keys)
                keys.append(key)
            else:
                keys.append(len(keys))
            node = self.value(at, depth + 1)
            nodes.append(node)
            at = self.gap(node.end)
        inside = [node.value for node in nodes]
        value = dict(zip(keys, inside, strict=True)) if opening == "{" else inside
        return Node(start, at + 1, value, tuple(keys), tuple(begins), tuple(nodes))

    def key(self, at: int, keys: list[str | int]) -> tuple[str, int]:
        found = STRING.match(self.text, at)
        if not found:
            raise self.fault("a key in double quotes is expected", at)
        key = json.loads(found.group())
        if key in keys:
            raise self.fault(f"the key {found.group()} stands there twice", at)
        colon = self.gap(found.end())
        if self.text[colon : colon + 1] != ":":
            raise self.fault("':' expected", colon)
        return key, self.gap(colon + 1)


def get(node: Node, path: Path) -> Node | None:
    """Give what stands at a path."""
    for step in path:
        if step not in node.keys:
            return None
        node = node.nodes[node.keys.index(step)]
    return node


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
        """Give the whole value."""
        return self.root.value

    def get(self, *path: str | int) -> Any:
        """Give the value at a path, None if there is nothing."""
        node = get(self.root, path)
        return node.value if node is not None else None

    def put(self, path: Path, value: Any) -> None:
        """Put a value at a path of keys: in place of what is there, or at the end; objects on the way are made."""
        if (node := get(self.root, path)) is not None:
            self._splice(node.start, node.end, self._written(value, self._indent_at(node.start)))
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
        if parent is None or node is None:
            return
        index = parent.keys.index(path[-1])
        if index:
            before, begin = parent.nodes[index - 1].end, parent.begins[index]
            comma = self.text.index(",", self._past_comments(before, begin))
            between = self.text[before:comma] + self._kept(comma + 1, begin)
            self._splice(before, node.end, between)
        elif len(parent.nodes) > 1:
            self._splice(parent.begins[0], parent.begins[1], self._kept(node.end, parent.begins[1]))
        else:
            inside = self._kept(parent.start + 1, parent.begins[0]) + self._kept(node.end, parent.end - 1)
            self._splice(parent.start + 1, parent.end - 1, inside)

    # How it is done

    def _kept(self, start: int, end: int) -> str:
        """Give the comments of a stretch, up to the end of the last; its space goes."""
        last = max((found.end() for found in COMMENT.finditer(self.text, start, end)), default=start)
        return self.text[start:last] if self.comments else ""

    def _past_comments(self, start: int, end: int) -> int:
        """Give where the comments before a comma end."""
        at = start
        while self.comments and (found := GAP.match(self.text, at, end)) and found.end() > at:
            at = found.end()
        return at

    def _insert(self, path: Path, value: Any, key: str | int | None) -> None:
        node = get(self.root, path)
        if node is None:
            raise TextFault("there is nothing", 1)
        self._expect(node, list if key is None else dict, path)
        if node.start == node.end:  # an empty file
            made = {key: value}
            self._splice(node.start, node.end, self._written(made, "") + self.newline)
            return
        spread = self._is_spread(path)
        indent = self._inner(path) if spread else ""
        label = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
        item = label + (self._written(value, indent) if spread else json.dumps(value, ensure_ascii=False))
        lead = self.newline + indent if spread else ""
        if not node.nodes:
            inside = self._kept(node.start + 1, node.end - 1)
            tail = self.newline + self._indent_at(node.start) if spread else ""
            self._splice(node.start + 1, node.end - 1, inside + lead + item + tail)
            return
        last = node.nodes[-1].end
        kept = self._kept(last, node.end - 1)
        self._splice(last, last + len(kept), f",{kept}{lead or ' '}{item}")

    def _expect(self, node: Node, kind: type, path: Path) -> None:
        if not isinstance(node.value, kind):
            name, word = ".".join(map(str, path)) or "the whole", "an object" if kind is dict else "a list"
            raise TextFault(f"{name} is not {word}", self.text.count("\n", 0, node.start) + 1)

    def _is_spread(self, path: Path) -> bool:
        """Say whether what is in a container stands on lines of its own; an empty one is like what it stands in."""
        node = get(self.root, path)
        if node is not None and node.nodes:
            before = node.nodes[-2].end if len(node.nodes) > 1 else node.start
            return "\n" in self.text[before : node.begins[-1]]
        return self._is_spread(path[:-1]) if path else True

    def _inner(self, path: Path) -> str:
        """Give the indentation of what stands in a container."""
        node = get(self.root, path)
        if node is not None and node.nodes:
            return self._indent_at(node.begins[-1])
        return self._indent_at(node.start if node else 0) + self.unit

    def _indent_at(self, at: int) -> str:
        """Give the space that the line of a place begins with."""
        line = self.text.rfind("\n", 0, at) + 1
        found = re.compile(r"[ \t]*").match(self.text, line)
        return found.group() if found else ""

    def _written(self, value: Any, indent: str) -> str:
        lines = json.dumps(value, ensure_ascii=False, indent=self.unit).split("\n")
        return f"{self.newline}{indent}".join(lines)

    def _splice(self, start: int, end: int, new: str) -> None:
        self.text = self.text[:start] + new + self.text[end:]
        self.root = read(self.text, comments=self.comments)
