"""The frontmatter as YAML nodes with lines, within hard limits. A scalar stays text, so that `name: no` is "no"."""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

import yaml

from boathook.core.value import Value

MAX_FRONTMATTER_BYTES = 64 * 1024
MAX_YAML_DEPTH = 6
MAX_YAML_NODES = 2000

_YAML_FIXES = (
    ("escape", "put patterns with backslashes in single quotes"),
    ("mapping values are not allowed", "put a value that contains ': ' in quotes"),
    ("unexpected end of stream", "a quote is opened and not closed"),
    ("did not find expected key", "check the indentation, and quotes inside quoted values"),
)
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class FrontmatterError(Exception):
    def __init__(self, message: str, line: int | None = None, fix: str = "") -> None:
        super().__init__(message)
        self.message, self.line, self.fix = message, line, fix


class Scalar(Value):
    text: str
    line: int
    quoted: bool


class Mapping(Value):
    line: int
    entries: dict[str, tuple[int, Node]]


class Sequence(Value):
    line: int
    items: tuple[Node, ...]


Node = Scalar | Mapping | Sequence


class Frontmatter(Value):
    """The top mapping, and what had to be forgiven: lines, messages and fixes."""

    top: Mapping
    forgiven: tuple[tuple[int, str, str], ...] = ()


def read_frontmatter(text: str) -> Frontmatter:
    source, offset = _find_lines(text)
    try:
        return Frontmatter(_parse_yaml(source, offset))
    except FrontmatterError as error:
        quoted, forgiven = _quote_leniently(source, offset)
        if not forgiven:
            raise
        try:
            return Frontmatter(_parse_yaml(quoted, offset), forgiven)
        except FrontmatterError:
            raise error from None


def split_body(text: str) -> str:
    """Return the text below the frontmatter; all of it if there is no frontmatter."""
    try:
        source, offset = _find_lines(text)
    except FrontmatterError:
        return text
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    return "\n".join(lines[offset + source.count("\n") + 1 :]).strip("\n")


def _find_lines(text: str) -> tuple[str, int]:
    """Return the lines between the first `---` and the next, and the number of lines before them."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    start = next((at for at, line in enumerate(lines) if line.strip()), None)
    if start is None or lines[start].rstrip() != "---":
        raise FrontmatterError("no frontmatter", (start or 0) + 1, "begin the file with a line '---'")
    end = next((at for at in range(start + 1, len(lines)) if lines[at].rstrip() == "---"), None)
    if end is None:
        raise FrontmatterError("the frontmatter has no end", start + 1, "close it with a line '---'")
    source = "\n".join(lines[start + 1 : end]) + "\n"
    if len(source.encode("utf-8", "replace")) > MAX_FRONTMATTER_BYTES:
        raise FrontmatterError(f"the frontmatter is longer than {MAX_FRONTMATTER_BYTES // 1024} KiB", start + 1)
    return source, start + 1


def _parse_yaml(source: str, offset: int) -> Mapping:
    try:
        _check_limits(source, offset)
        node = yaml.compose(source, Loader=_Loader)
    except yaml.YAMLError as error:
        raise _explain_yaml_error(error, source, offset) from None
    # The parser that is not compiled raises these for a character beyond Unicode.
    except (ValueError, OverflowError) as error:
        raise FrontmatterError(f"not valid YAML: {error}", offset + 1) from None
    if node is None:
        raise FrontmatterError("the frontmatter is empty", offset + 1, "write name, description and trigger")
    top = _convert_node(node, offset)
    if not isinstance(top, Mapping):
        raise FrontmatterError("the frontmatter is not a list of 'key: value' lines", top.line)
    if not top.entries:
        raise FrontmatterError("the frontmatter is empty", top.line, "write name, description and trigger")
    return top


def _check_limits(source: str, offset: int) -> None:
    """Refuse depth, size, anchors, aliases and tags while parsing, before anything recurses."""
    depth = count = 0
    for event in yaml.parse(source, Loader=_Loader):
        line = event.start_mark.line + 1 + offset
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            message, fix = "anchors and aliases (& and *) are not allowed", "quote a text that starts with * or &"
            raise FrontmatterError(message, line, fix)
        if getattr(event, "tag", None):
            raise FrontmatterError(f"the tag {event.tag} is not allowed", line, "remove it")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        count += isinstance(event, yaml.NodeEvent)
        if depth > MAX_YAML_DEPTH:
            raise FrontmatterError(f"nested deeper than {MAX_YAML_DEPTH} levels", line)
        if count > MAX_YAML_NODES:
            raise FrontmatterError(f"more than {MAX_YAML_NODES} values", line)
        if isinstance(event, yaml.DocumentStartEvent) and event.explicit:
            raise FrontmatterError("more than one YAML document", line)


def _explain_yaml_error(error: yaml.YAMLError, source: str, offset: int) -> FrontmatterError:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    line = mark.line + 1 + offset if mark else None
    fix = next((hint for words, hint in _YAML_FIXES if words in problem), "")
    if mark and source[mark.index : mark.index + 1] == "\t":
        # The parser says of it that this character cannot start any token.
        problem, fix = "a line is indented with a tab", "indent with spaces"
    return FrontmatterError(f"not valid YAML: {problem}", line, fix)


def _convert_node(node: yaml.Node, offset: int) -> Node:
    line = node.start_mark.line + 1 + offset
    if isinstance(node, yaml.ScalarNode):
        return Scalar(node.value, line, bool(node.style) and node.style in "'\"|>")
    if isinstance(node, yaml.SequenceNode):
        return Sequence(line, tuple(_convert_node(item, offset) for item in node.value))
    entries: dict[str, tuple[int, Node]] = {}
    for key, value in node.value:
        at = key.start_mark.line + 1 + offset
        if not isinstance(key, yaml.ScalarNode):
            raise FrontmatterError("a key must be a plain word", at)
        if key.value in entries:
            raise FrontmatterError(f"the key '{key.value}' is used twice", at, "keep one of them")
        entries[key.value] = (at, _convert_node(value, offset))
    return Mapping(line, entries)


_STAR = re.compile(r"(?m)(:[ \t]+)\*(?=[ \t]*(?:[,}#]|$))")
_MAX_FORGIVEN = 100
_FORGIVEN_BACKSLASH = ("YAML treats a backslash in double quotes as an escape; boathook kept it", "use single quotes")


def _quote_leniently(source: str, offset: int) -> tuple[str, tuple[tuple[int, str, str], ...]]:
    """Double the backslashes in double-quoted scalars and quote a bare star; return the new source, messages and fixes."""
    forgiven: list[tuple[int, str, str]] = []

    def find_line(position: int) -> int:
        return source.count("\n", 0, position) + 1 + offset

    for star in islice(_STAR.finditer(source), _MAX_FORGIVEN):
        forgiven.append((find_line(star.end()), 'a bare * was read as "*"', "quote it"))
    parts, end_of_last = [], 0
    for start, end in _find_quoted_spans(source):
        inner = source[start:end]
        if "\\" in inner:
            if len(forgiven) < 2 * _MAX_FORGIVEN:
                forgiven.append((find_line(start), *_FORGIVEN_BACKSLASH))
            parts += [source[end_of_last:start], re.sub(r'\\(?!")', r"\\\\", inner)]
            end_of_last = end
    quoted = _STAR.sub(r'\1"*"', "".join([*parts, source[end_of_last:]]))
    return quoted, tuple(sorted(forgiven))


def _find_quoted_spans(source: str) -> list[tuple[int, int]]:
    """Return where double-quoted scalars begin and end, in text that need not be valid YAML, in one pass."""
    spans, index, previous = [], 0, ""
    while 0 <= index < len(source):
        char = source[index]
        if char == "#" and source[index - 1 : index] in ("", " ", "\t", "\n"):
            index = source.find("\n", index)
            continue
        if char in "'\"" and (not previous or previous in ":,[{-\n"):
            end = index + 1
            while end < len(source) and source[end] != char:
                end += 2 if char == '"' and source[end] == "\\" else 1
            if char == '"':
                spans.append((index + 1, end))
            index = end
        if char not in " \t":
            previous = char
        index += 1
    return spans
