"""What `fd` finds, and the commands that it starts for it."""

from __future__ import annotations

import re

from boathook.shell.found_paths import FindFilters, FoundPath, place_paths

_WITH_VALUE = frozenset(
    (
        *("-e", "--extension", "-t", "--type", "-d", "--max-depth", "--min-depth", "--exact-depth", "-E", "--exclude"),
        *("-S", "--size", "-o", "--owner", "-j", "--threads", "-c", "--color", "--changed-within", "--changed-before"),
        *("--max-results", "--base-directory", "--search-path", "--path-separator", "--format", "--ignore-file"),
        *("-C", "--batch-size", "--and"),
    )
)
# Flags and the first word of the command may be in one word with the option.
_EXECUTES = re.compile(r"(-[HIuasgFipLl01q]*)[xX](.*)|(--)exec(?:-batch)?(?:=(.*))?", re.DOTALL)
_SHOWS_HIDDEN = re.compile(r"-[A-Za-z]*[Hu][A-Za-z]*|--hidden|--unrestricted")
PLACEHOLDER = re.compile(r"\{(?:/|//|\.|/\.)?\}")
_PLAIN_PATTERN = re.compile(r"\^?(?:[\w.-]|\\\.)+\$?")


def list_fd_commands(arguments: list[str]) -> list[tuple[str, ...]]:
    """Return the commands of `-x` and `-X`, with what is found in place of `{}` or behind them."""
    _, commands = _split_commands(arguments)
    found = list_fd_paths(arguments)
    placed: list[tuple[str, ...]] = []
    for command in commands:
        words = [PLACEHOLDER.sub("{}", word) for word in command]
        placed.append(place_paths(words, found))
    return placed


def _split_commands(arguments: list[str]) -> tuple[list[str], list[list[str]]]:
    """Return what is to be searched, and the commands, each of which goes to `;` or to the end."""
    searching: list[str] = []
    commands: list[list[str]] = []
    is_command = False
    for word in arguments:
        if is_command and word != ";":
            commands[-1].append(word)
        elif is_command:
            is_command = False
        elif match := _EXECUTES.fullmatch(word):
            is_command = True
            commands.append([text for text in (match[2], match[4]) if text])
            searching += [match[1]] if match[1] and match[1] != "-" else []
        else:
            searching.append(word)
    return searching, commands


def list_fd_paths(arguments: list[str]) -> list[FoundPath]:
    arguments, _ = _split_commands(arguments)
    operands, values = _split_options(arguments)
    folder = next((f"{value.rstrip('/')}/" for name, value in values if name == "--base-directory"), "")
    given = [value for name, value in values if name == "--search-path"]
    starts = [*given, *operands[1:]] or ["."]
    extensions = [f"*.{value.lstrip('.')}" for name, value in values if name in ("-e", "--extension")]
    is_glob = any(word in ("-g", "--glob") for word in arguments)
    names = extensions or [make_name_pattern(operands[0], is_glob=is_glob) if operands else "*"]
    # A pattern that finds all finds the folder's own files, too.
    filters = FindFilters(
        () if names == ["*"] else tuple(names),
        skips_hidden=not any(_SHOWS_HIDDEN.fullmatch(word) for word in arguments),
    )
    return [
        FoundPath.make(start if start.startswith("/") or not folder else folder + start, filters) for start in starts
    ]


def _split_options(arguments: list[str]) -> tuple[list[str], list[tuple[str, str]]]:
    operands: list[str] = []
    values: list[tuple[str, str]] = []
    at = 0
    while at < len(arguments):
        name, sign, value = arguments[at].partition("=")
        if name in _WITH_VALUE:
            values.append((name, value if sign else "".join(arguments[at + 1 : at + 2])))
            at += 1 if sign else 2
            continue
        if not name.startswith("-"):
            operands.append(arguments[at])
        at += 1
    return operands, values


def make_name_pattern(pattern: str, *, is_glob: bool) -> str:
    """Return a pattern of names for an expression; "*" for one that is more than a few letters."""
    if is_glob:
        return pattern
    if not _PLAIN_PATTERN.fullmatch(pattern) or pattern == ".":
        return "*"
    text = pattern.strip("^$").replace("\\.", "\0").replace(".", "?").replace("\0", ".")
    return f"{'' if pattern.startswith('^') else '*'}{text}{'' if pattern.endswith('$') else '*'}"
