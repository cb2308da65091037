"""Edit the text of a JSON file and leave every other byte alone: set, append or remove the value at a path."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false

from __future__ import annotations

import json
import re
from collections.abc import Container
from typing import Any

JsonPath = tuple[str | int, ...]

_SPACE = re.compile(r"[ \t\r\n]*")
_GAP = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_PLAIN = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null")
_INDENT = re.compile(r"\n([ \t]+)\"")
_LINE_END = re.compile(r"[ \t]*\r?\n")
_LINE_START = re.compile(r"[ \t]*")
# characters of the text that are searched for the end of a line
_MAX_LOOKAHEAD = 1000
_MAX_DEPTH = 200
_CLOSING = {"{": "}", "[": "]"}


class EditError(ValueError):
    def __init__(self, message: str, line: int) -> None:
        super().__init__(f"line {line}: {message}")
        self.message, self.line = message, line


class JsonNode:
    """A value, its start in its container, and its size; `begins` are the starts of its members with their keys, from its own."""

    __slots__ = ("begins", "keys", "nodes", "size", "start", "value")

    def __init__(self, start: int, size: int, value: Any) -> None:
        self.start, self.size, self.value = start, size, value
        self.keys: list[str | int] = []
        self.begins: list[int] = []
        self.nodes: list[JsonNode] = []

    @property
    def end(self) -> int:
        return self.start + self.size

    def find_index(self, step: str | int) -> int | None:
        if isinstance(self.value, dict) and step in self.value:
            return self.keys.index(step)
        return step if isinstance(self.value, list) and isinstance(step, int) and step < len(self.nodes) else None

    def shift_members(self, start: int, distance: int) -> None:
        for at in range(len(self.nodes) - 1, -1, -1):
            if self.begins[at] < start:
                break
            self.begins[at] += distance
            self.nodes[at].start += distance


def parse_nodes(text: str, *, comments: bool = False) -> JsonNode:
    """Parse a text with its positions; EditError contains the message and its line. A blank text is an empty object."""
    parser = _Parser(text, comments=comments)
    start = parser.skip_gap(1 if text.startswith("\ufeff") else 0)
    if start == len(text):
        return JsonNode(start, 0, {})
    node = parser.parse_value(start, 0)
    rest = parser.skip_gap(node.end)
    if rest != len(text):
        raise parser.make_error("there is more after the value", rest)
    return node


class _Parser:
    def __init__(self, text: str, *, comments: bool) -> None:
        self.text = text
        self.gap = _GAP if comments else _SPACE

    def make_error(self, message: str, at: int) -> EditError:
        if self.gap is _SPACE and self.text.startswith(("//", "/*"), at):
            message = "comments are not JSON, and this program does not read them"
        return EditError(message, self.text.count("\n", 0, at) + 1)

    def skip_gap(self, at: int) -> int:
        gap = self.gap.match(self.text, at)
        return gap.end() if gap else at

    def parse_value(self, at: int, depth: int) -> JsonNode:
        if depth > _MAX_DEPTH:
            raise self.make_error("it is nested too deep", at)
        if self.text[at : at + 1] in _CLOSING:
            return self.parse_container(at, depth)
        token = _STRING.match(self.text, at) or _PLAIN.match(self.text, at)
        if not token:
            message = "a value is missing" if at == len(self.text) else f"unexpected {self.text[at : at + 10]!r}"
            raise self.make_error(message, at)
        try:
            return JsonNode(at, token.end() - at, json.loads(token.group()))
        except ValueError:
            raise self.make_error("the number has too many digits", at) from None

    def parse_container(self, start: int, depth: int) -> JsonNode:
        opening = self.text[start]
        node = JsonNode(start, 0, {} if opening == "{" else [])
        at = self.skip_gap(start + 1)
        while self.text[at : at + 1] != _CLOSING[opening]:
            if node.nodes:
                if self.text[at : at + 1] != ",":
                    raise self.make_error(f"',' or '{_CLOSING[opening]}' expected", at)
                at = self.skip_gap(at + 1)
            node.begins.append(at - start)
            at = self.parse_member(node, at, depth)
        node.size = at + 1 - start
        return node

    def parse_member(self, parent: JsonNode, at: int, depth: int) -> int:
        """Parse one member into a container; return where the next token is."""
        key: str | int = len(parent.nodes)
        if isinstance(parent.value, dict):
            key, at = self.parse_key(at, parent.value)
        node = self.parse_value(at, depth + 1)
        if isinstance(parent.value, dict):
            parent.value[key] = node.value
        else:
            parent.value.append(node.value)
        at = self.skip_gap(node.end)
        node.start -= parent.start
        parent.keys.append(key)
        parent.nodes.append(node)
        return at

    def parse_key(self, at: int, keys: Container[object]) -> tuple[str, int]:
        token = _STRING.match(self.text, at)
        if not token:
            raise self.make_error("a key in double quotes is expected", at)
        key = json.loads(token.group())
        if key in keys:
            raise self.make_error(f"the key {token.group()} is there twice", at)
        colon = self.skip_gap(token.end())
        if self.text[colon : colon + 1] != ":":
            raise self.make_error("':' expected", colon)
        return key, self.skip_gap(colon + 1)


def _find_node(node: JsonNode, path: JsonPath) -> JsonNode | None:
    nodes = _list_nodes(node, path)
    return nodes[-1] if nodes else None


def _list_nodes(node: JsonNode, path: JsonPath) -> list[JsonNode]:
    """Return the nodes along a path, its last included; an empty list if there is nothing at the path."""
    nodes = [node]
    for step in path:
        at = node.find_index(step)
        if at is None:
            return []
        node = node.nodes[at]
        nodes.append(node)
    return nodes


class JsonEditor:
    """A text that is being edited. A path through a value that is not an object or list is an EditError."""

    def __init__(self, text: str, *, comments: bool = False) -> None:
        self.text, self.comments = text, comments
        self.root = parse_nodes(text, comments=comments)
        self.newline = "\r\n" if "\r\n" in text else "\n"
        indent = _INDENT.search(text)
        self.unit = indent.group(1) if indent else "  "

    @property
    def value(self) -> Any:
        return self.root.value

    def get(self, *path: str | int) -> Any:
        node = _find_node(self.root, path)
        return node.value if node is not None else None

    def render(self) -> str:
        """Return the text after checking that it has the intended value; EditError if not."""
        try:
            if parse_nodes(self.text, comments=self.comments).value == self.value:
                return self.text
        except EditError:
            pass
        raise EditError("boathook cannot edit this file safely; edit it by hand", 1)

    def set(self, path: JsonPath, value: Any) -> None:
        """Set the value at a path of keys, in place or at the end; missing objects on the path are made."""
        node = _find_node(self.root, path)
        if node is not None:
            start = self._find_start(path)
            self._replace(path, self._render_value(value, self._find_line_indent(start)), start, start + node.size)
            return
        at = len(path) - 1
        while _find_node(self.root, path[:at]) is None:
            at -= 1
        for key in reversed(path[at + 1 :]):
            value = {key: value}
        self._insert(path[:at], value, path[at])

    def append(self, path: JsonPath, value: Any) -> None:
        node = _find_node(self.root, path)
        if node is None:
            self.set(path, [value])
        else:
            self._check_type(node, list, path)
            self._insert(path, value, None)

    def remove(self, path: JsonPath) -> None:
        parent, node = _find_node(self.root, path[:-1]), _find_node(self.root, path)
        index = parent.find_index(path[-1]) if parent else None
        if parent is None or node is None or index is None:
            return
        start, end, kept = self._find_extent(parent, index, self._find_start(path[:-1]))
        del parent.keys[-1 if isinstance(parent.value, list) else index], parent.begins[index], parent.nodes[index]
        self._splice(path[:-1], start, end, kept + self._find_line_break(kept, self.text[end : end + _MAX_LOOKAHEAD]))

    def _find_extent(self, parent: JsonNode, index: int, top: int) -> tuple[int, int, str]:
        """Return what to cut out with a member of a container that starts at `top`, and the comments to keep."""
        begin, end = top + parent.begins[index], top + parent.nodes[index].end
        if index:
            before = top + parent.nodes[index - 1].end
            comma = self._skip_gap(before)
            return before, end, self.text[before:comma] + self._get_comments(comma + 1, begin)
        if len(parent.nodes) > 1:
            comma, following = self._skip_gap(end), top + parent.begins[1]
            kept = self._join(self._get_comments(end, comma), self._get_comments(comma + 1, following))
            return begin, following, kept
        last = top + parent.size - 1
        return top + 1, last, self._join(self._get_comments(top + 1, begin), self._get_comments(end, last))

    def _find_start(self, path: JsonPath) -> int:
        return sum(node.start for node in _list_nodes(self.root, path))

    def _skip_gap(self, at: int) -> int:
        return _Parser(self.text, comments=self.comments).skip_gap(at)

    def _get_comments(self, start: int, end: int) -> str:
        """Return the text up to the end of the last comment; the space after it goes."""
        last = max((comment.end() for comment in _COMMENT.finditer(self.text, start, end)), default=start)
        return self.text[start:last] if self.comments else ""

    def _find_line_break(self, kept: str, following: str) -> str:
        """Return the line break that keeps a comment at the end of a text from swallowing what follows, if one is needed."""
        last = next(reversed(_COMMENT.findall(kept)), "") if self.comments else ""
        is_open = last.startswith("//") and kept.endswith(last)
        if not is_open or not following or _LINE_END.match(following):
            return ""
        return "\n" if kept.endswith("\r") else self.newline

    def _join(self, kept: str, following: str) -> str:
        return kept + self._find_line_break(kept, following) + following

    def _insert(self, path: JsonPath, value: Any, key: str | int | None) -> None:
        node = _find_node(self.root, path)
        if node is None:
            raise EditError("there is nothing", 1)
        self._check_type(node, list if key is None else dict, path)
        # an empty file
        if not node.size:
            whole = self._render_value({key: value}, "") + self.newline
            self.text = self._join(self.text[: node.start], whole)
            self.root = parse_nodes(self.text, comments=self.comments)
            return
        is_spread, top = self._is_spread(path), self._find_start(path)
        indent = self._find_member_indent(path) if is_spread else ""
        label = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
        item = label + (self._render_value(value, indent) if is_spread else json.dumps(value, ensure_ascii=False))
        lead = self.newline + indent if is_spread else ""
        if node.nodes:
            start = top + node.nodes[-1].end
            comments = self._get_comments(start, top + node.size - 1)
            new, end, tail = self._join(f",{comments}", f"{lead or ' '}{item}"), start + len(comments), ""
        else:
            start, end = top + 1, top + node.size - 1
            tail = self.newline + self._find_line_indent(top) if is_spread else ""
            new = self._join(self._get_comments(start, end), lead + item)
        self._splice(path, start, end, new + tail)
        self._add_member(node, start + len(new) - len(item) - top, len(label), item, key)
        self._update_values(path)

    def _add_member(self, parent: JsonNode, begin: int, label: int, item: str, key: str | int | None) -> None:
        node = _Parser(item, comments=False).parse_value(label, 0)
        node.start += begin
        parent.keys.append(len(parent.nodes) if key is None else key)
        parent.begins.append(begin)
        parent.nodes.append(node)

    def _replace(self, path: JsonPath, new: str, start: int, end: int) -> None:
        node = _Parser(new, comments=False).parse_value(0, 0)
        parent = _list_nodes(self.root, path[:-1])[-1]
        index = parent.keys.index(path[-1])
        node.start, parent.nodes[index] = parent.nodes[index].start, node
        self._splice(path[:-1], start, end, new)

    def _splice(self, path: JsonPath, start: int, end: int, new: str) -> None:
        """Replace text inside the container at a path: containers around it grow, members after it move."""
        distance, top = len(new) - (end - start), 0
        for node in _list_nodes(self.root, path):
            top += node.start
            node.size += distance
            node.shift_members(end - top, distance)
        self.text = self.text[:start] + new + self.text[end:]
        self._update_values(path)

    def _update_values(self, path: JsonPath) -> None:
        for node in reversed(_list_nodes(self.root, path)):
            if isinstance(node.value, dict):
                node.value = dict(zip(node.keys, (member.value for member in node.nodes), strict=True))
            elif isinstance(node.value, list):
                node.value = [member.value for member in node.nodes]

    def _check_type(self, node: JsonNode, kind: type, path: JsonPath) -> None:
        if not isinstance(node.value, kind):
            name, word = ".".join(map(str, path)) or "the whole", "an object" if kind is dict else "a list"
            raise EditError(f"{name} is not {word}", self.text.count("\n", 0, self._find_start(path)) + 1)

    def _is_spread(self, path: JsonPath) -> bool:
        """Whether the members of a container are on lines of their own; for an empty one its parent decides."""
        node, top = _find_node(self.root, path), self._find_start(path)
        if node is not None and node.nodes:
            before = node.nodes[-2].end if len(node.nodes) > 1 else 0
            return "\n" in self.text[top + before : top + node.begins[-1]]
        return self._is_spread(path[:-1]) if path else True

    def _find_member_indent(self, path: JsonPath) -> str:
        node, top = _find_node(self.root, path), self._find_start(path)
        if node is not None and node.nodes:
            return self._find_line_indent(top + node.begins[-1])
        return self._find_line_indent(top) + self.unit

    def _find_line_indent(self, at: int) -> str:
        indent = _LINE_START.match(self.text, self.text.rfind("\n", 0, at) + 1)
        return indent.group() if indent else ""

    def _render_value(self, value: Any, indent: str) -> str:
        lines = json.dumps(value, ensure_ascii=False, indent=self.unit).split("\n")
        return f"{self.newline}{indent}".join(lines)
