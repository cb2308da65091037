"""Which paths the everyday tools for files change: remove, move, copy, link, rights."""

from __future__ import annotations

import re
from itertools import pairwise

from boathook.shell.arguments import UNKNOWN, find_option_values, has_option, list_operands
from boathook.shell.found_paths import FoundPath
from boathook.shell.path_change import EXACT, OVERLAY, TREE, Changes, PathChange
from boathook.shell.started_program import Started

_HARMLESS_MODE = re.compile(
    r"0?7[0145]{2}|(?:(?:u?\+[rwxX]+|[ugoa]*\+[rxX]+|[go]+-[rwxXst]+|u=rwx|[go]+=[rxX]*)(?:,(?!$)|$))+"
)
_DIFF_FILE = re.compile(
    r"^(?:---|\+\+\+|rename (?:from|to)|\*\*\* (?:Add|Update|Delete) File:|\*\*\* Move to:) *([^\t\n]+)", re.M
)


def _has_unknown_option(arguments: list[str]) -> bool:
    return any(word.startswith(UNKNOWN) for word in arguments[:1])


def remove_paths(_: Started, arguments: list[str]) -> Changes:
    is_tree = has_option(arguments, "rR", "--recursive") or _has_unknown_option(arguments)
    for path in list_operands(arguments):
        # It refuses to delete the root, unless an option allows it.
        if path != "/" or isinstance(path, FoundPath) or "--no-preserve-root" in arguments:
            yield PathChange(path, TREE if is_tree else EXACT, takes_link=not path.endswith("/"))


def change_exactly(_: Started, arguments: list[str]) -> Changes:
    yield from (PathChange(path) for path in list_operands(arguments))


def change_trees(_: Started, arguments: list[str]) -> Changes:
    yield from (PathChange(path, TREE) for path in list_operands(arguments))


def change_access(started: Started, arguments: list[str]) -> Changes:
    """`chmod MODE PATH…` and its like: who cannot enter a folder has nothing of what is in it."""
    operands = list_operands(arguments)
    modes = [word for word in arguments if re.fullmatch(r"-[rwxXst]+", word)]
    if started.name == "setfacl":
        paths = [word for word in operands if word not in find_option_values(arguments, "-m", "-x", "-M", "-X")]
    elif modes or any(word.startswith("--reference") for word in arguments):
        paths = operands
    else:
        paths = operands[1:]
    if not modes and operands and _is_harmless_access(started.name, operands[0]):
        return
    yield from (PathChange(path, TREE) for path in paths)


def _is_harmless_access(program: str, value: str) -> bool:
    """Whether the owner keeps all rights, and no other user gets the right to write."""
    if program == "chmod":
        return bool(_HARMLESS_MODE.fullmatch(value))
    # An owner that a variable names is nearly always the person.
    return program in ("chown", "chgrp") and value.startswith(UNKNOWN)


def move_paths(_: Started, arguments: list[str]) -> Changes:
    sources, target = _split_target(arguments)
    yield from (PathChange(path, TREE, takes_link=not path.endswith("/")) for path in sources)
    yield from _put_files(sources, target, TREE)


def copy_paths(_: Started, arguments: list[str]) -> Changes:
    sources, target = _split_target(arguments)
    is_tree = has_option(arguments, "rRa", "--recursive", "--archive") or not arguments
    if target is None:
        return
    yield from _put_files(sources, target, EXACT)
    if is_tree:
        for source in sources:
            is_inside = source.endswith(("/.", "/", "/*")) or source in (".", "*")
            name = "" if is_inside else source.rstrip("/").rpartition("/")[2]
            plain = source.removesuffix("/.").removesuffix("/*").removesuffix("/")
            yield PathChange(f"{target}/{name}" if name else target, OVERLAY, plain)
            yield PathChange(target, OVERLAY, plain)


def _put_files(sources: list[str], target: str | None, way: str) -> Changes:
    if target is None:
        return
    yield PathChange(target, EXACT)
    for source in sources:
        name = source.rstrip("/").rpartition("/")[2]
        if name not in ("", ".", ".."):
            yield PathChange(f"{target.rstrip('/')}/{name}", way)


def _split_target(arguments: list[str]) -> tuple[list[str], str | None]:
    operands = list_operands(arguments)
    targets = find_option_values(arguments, "-t", "--target-directory")
    if targets:
        return [word for word in operands if word != targets[0]], targets[0]
    return (operands[:-1], operands[-1]) if len(operands) > 1 else (operands, None)


def link_paths(_: Started, arguments: list[str]) -> Changes:
    sources, target = _split_target(arguments)
    if target is None:
        target = sources[0].rstrip("/").rpartition("/")[2] if sources else None
    yield from _put_files(sources, target, EXACT)
    # It takes the place of a link to a folder.
    is_replacing = has_option(arguments, "f", "--force") and has_option(
        arguments, "nT", "--no-dereference", "--no-target-directory"
    )
    if is_replacing and target is not None and not target.endswith(("/", ".")):
        yield PathChange(target, TREE, takes_link=True)


def synchronize_folders(_: Started, arguments: list[str]) -> Changes:
    operands = [word for word in list_operands(arguments) if ":" not in word.partition("/")[0]]
    is_remote = len(operands) < len(list_operands(arguments))
    if not operands or (len(operands) < 2 and not is_remote):
        return
    if list_operands(arguments)[-1] == operands[-1]:
        deletes = any(word.startswith(("--delete", "--del")) for word in arguments)
        yield PathChange(operands[-1], TREE if deletes else OVERLAY, "" if is_remote else operands[0].rstrip("/"))
        yield from _put_files(operands[:-1], operands[-1], EXACT)
    if any(word.startswith("--remove-s") for word in arguments):
        yield from (PathChange(path, TREE) for path in operands[:-1])
    yield from (PathChange(path) for path in find_option_values(arguments, "--log-file", "--backup-dir"))


def read_diff(text: str) -> Changes:
    for match in _DIFF_FILE.finditer(text):
        path = match[1].strip().strip("\"'")
        yield PathChange(path)
        if path.startswith(("a/", "b/")):
            yield PathChange(path[2:])


def write_output(_: Started, arguments: list[str]) -> Changes:
    names = ("-o", "--output", "--out", "-w", "-O", "--log-file", "--report-file", "-out", "-keyout", "-coverprofile")
    yield from (PathChange(path) for path in find_option_values(arguments, *names))
    # The letter may be the last of several.
    behind = pairwise(arguments)
    yield from (PathChange(path) for word, path in behind if re.fullmatch(r"-[A-Za-z]+o", word))
