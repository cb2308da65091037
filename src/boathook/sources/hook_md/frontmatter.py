"""The frontmatter of a manifest: found by a line scan, read as YAML nodes with their lines, within hard limits.

Scalars stay text together with whether they were quoted; the manifest decides what each field means. So `name: no` is "no".
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

import yaml

from boathook.core.value import Value

FRONTMATTER_LIMIT = 64 * 1024
DEPTH_LIMIT = 6
NODE_LIMIT = 2000

YAML_HINTS = (
    ("escape", "put patterns with backslashes in single quotes"),
    ("mapping values are not allowed", "put a value that contains ': ' in quotes"),
    ("unexpected end of stream", "a quote is opened and not closed"),
    ("did not find expected key", "check the indentation, and quotes inside quoted values"),
)
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Unreadable(Exception):
    """A frontmatter that cannot be read: what, at which line, and how to mend it."""

    def __init__(self, message: str, line: int | None = None, fix: str = "") -> None:
        """Remember all three."""
        super().__init__(message)
        self.message, self.line, self.fix = message, line, fix


class Scalar(Value):
    """A scalar as written: its text, its line, and whether it was quoted."""

    text: str
    line: int
    quoted: bool


class Mapping(Value):
    """A mapping: its line, and its entries with the line of each key."""

    line: int
    entries: dict[str, tuple[int, Node]]


class Sequence(Value):
    """A list: its line and its items."""

    line: int
    items: tuple[Node, ...]


Node = Scalar | Mapping | Sequence


class Frontmatter(Value):
    """What was read: the top mapping, and what had to be forgiven (line, message)."""

    top: Mapping
    forgiven: tuple[tuple[int, str], ...] = ()


def read_frontmatter(text: str) -> Frontmatter:
    """Find and read the frontmatter of a manifest; raise Unreadable."""
    source, offset = _find(text)
    try:
        return Frontmatter(_read(source, offset))
    except Unreadable as error:
        mended, forgiven = _mend(source, offset)
        if not forgiven:
            raise
        try:
            return Frontmatter(_read(mended, offset), forgiven)
        except Unreadable:
            raise error from None


def _find(text: str) -> tuple[str, int]:
    """Return the lines between the first `---` and the next, and how many lines stand before them."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    start = next((at for at, line in enumerate(lines) if line.strip()), None)
    if start is None or lines[start].rstrip() != "---":
        raise Unreadable("no frontmatter", (start or 0) + 1, "begin the file with a line '---'")
    end = next((at for at in range(start + 1, len(lines)) if lines[at].rstrip() == "---"), None)
    if end is None:
        raise Unreadable("the frontmatter has no end", start + 1, "close it with a line '---'")
    source = "\n".join(lines[start + 1 : end]) + "\n"
    if len(source.encode("utf-8", "replace")) > FRONTMATTER_LIMIT:
        raise Unreadable(f"the frontmatter is longer than {FRONTMATTER_LIMIT // 1024} KiB", start + 1)
    return source, start + 1


def _read(source: str, offset: int) -> Mapping:
    try:
        _check_limits(source, offset)
        node = yaml.compose(source, Loader=_Loader)
    except yaml.YAMLError as error:
        raise _yaml_fault(error, source, offset) from None
    except (ValueError, OverflowError) as error:  # a character beyond Unicode, to the slower parser
        raise Unreadable(f"not valid YAML: {error}", offset + 1) from None
    if node is None:
        raise Unreadable("the frontmatter is empty", offset + 1, "give name, description and trigger")
    top = _node(node, offset)
    if not isinstance(top, Mapping):
        raise Unreadable("the frontmatter is not a list of 'key: value' lines", top.line)
    if not top.entries:
        raise Unreadable("the frontmatter is empty", top.line, "give name, description and trigger")
    return top


def _check_limits(source: str, offset: int) -> None:
    """Refuse at the level of events, before anything recurses: depth, size, anchors, aliases, tags."""
    depth = count = 0
    for event in yaml.parse(source, Loader=_Loader):
        line = event.start_mark.line + 1 + offset
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise Unreadable(
                "anchors and aliases (& and *) are not allowed", line, "quote a text that starts with * or &"
            )
        if getattr(event, "tag", None):
            raise Unreadable(f"the tag {event.tag} is not allowed", line, "remove it")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        count += isinstance(event, yaml.NodeEvent)
        if depth > DEPTH_LIMIT:
            raise Unreadable(f"nested deeper than {DEPTH_LIMIT} levels", line)
        if count > NODE_LIMIT:
            raise Unreadable(f"more than {NODE_LIMIT} values", line)
        if isinstance(event, yaml.DocumentStartEvent) and event.explicit:
            raise Unreadable("more than one YAML document", line)


def _yaml_fault(error: yaml.YAMLError, source: str, offset: int) -> Unreadable:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    line = mark.line + 1 + offset if mark else None
    fix = next((hint for words, hint in YAML_HINTS if words in problem), "")
    if mark and source[mark.index : mark.index + 1] == "\t":
        fix = "indent with spaces"
    return Unreadable(f"not valid YAML: {problem}", line, fix)


def _node(node: yaml.Node, offset: int) -> Node:
    line = node.start_mark.line + 1 + offset
    if isinstance(node, yaml.ScalarNode):
        return Scalar(node.value, line, bool(node.style) and node.style in "'\"|>")
    if isinstance(node, yaml.SequenceNode):
        return Sequence(line, tuple(_node(item, offset) for item in node.value))
    entries: dict[str, tuple[int, Node]] = {}
    for key, value in node.value:
        at = key.start_mark.line + 1 + offset
        if not isinstance(key, yaml.ScalarNode):
            raise Unreadable("a key must be a plain word", at)
        if key.value in entries:
            raise Unreadable(f"the key '{key.value}' is there twice", at, "keep one of them")
        entries[key.value] = (at, _node(value, offset))
    return Mapping(line, entries)


_STAR = re.compile(r"(?m)(:[ \t]+)\*(?=[ \t]*(?:[,}#]|$))")
_MOST_FORGIVEN = 100


def _mend(source: str, offset: int) -> tuple[str, tuple[tuple[int, str], ...]]:
    """Double the backslashes of double-quoted scalars and quote a bare star; say where."""
    forgiven: list[tuple[int, str]] = []

    def line_of(position: int) -> int:
        return source.count("\n", 0, position) + 1 + offset

    for star in islice(_STAR.finditer(source), _MOST_FORGIVEN):
        forgiven.append((line_of(star.end()), 'a bare * was read as "*"; quote it'))
    parts, done = [], 0
    for start, end in _double_quoted(source):
        inner = source[start:end]
        if "\\" in inner:
            told = "a backslash in double quotes was read as it stands; use single quotes"
            if len(forgiven) < 2 * _MOST_FORGIVEN:
                forgiven.append((line_of(start), told))
            parts += [source[done:start], re.sub(r'\\(?!")', r"\\\\", inner)]
            done = end
    mended = _STAR.sub(r'\1"*"', "".join([*parts, source[done:]]))
    return mended, tuple(sorted(forgiven))


def _double_quoted(source: str) -> list[tuple[int, int]]:
    """Find the insides of double-quoted scalars, in text that need not be valid YAML. One pass."""
    found, at, before = [], 0, ""
    while 0 <= at < len(source):
        char = source[at]
        if char == "#" and source[at - 1 : at] in ("", " ", "\t", "\n"):
            at = source.find("\n", at)
            continue
        if char in "'\"" and (not before or before in ":,[{-\n"):
            end = at + 1
            while end < len(source) and source[end] != char:
                end += 2 if char == '"' and source[end] == "\\" else 1
            if char == '"':
                found.append((at + 1, end))
            at = end
        if char not in " \t":
            before = char
        at += 1
    return found
