"""What `find` finds, and the commands that it starts for it."""

from __future__ import annotations

import re
from itertools import pairwise

from boathook.shell.found_paths import FindFilters, FoundPath, place_paths

_FIND_OPTION = re.compile(r"-([HLP]|O\d|D)")
_OR = frozenset(("-o", "-or", ","))
_NEGATED_GROUPS = (("!", "("), ("-not", "("))
_NAMES = frozenset(("-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename"))
_SELECTING = re.compile(
    r"-(?:[acm](?:time|min)|[ac]?newer\w*|size|user|group|uid|gid|perm|links|inum|samefile|executable|readable|writable|nouser"
    r"|nogroup|used|fstype|xtype|i?lname|i?regex)"
)
_FIND_EXEC = ("-exec", "-execdir", "-ok", "-okdir")
# What is behind an action does not decide about it.
_ACTIONS = frozenset(
    (*_FIND_EXEC, "-delete", "-print", "-print0", "-printf", "-ls", "-fprint", "-fprint0", "-fprintf", "-fls")
)


def list_find_starts(arguments: list[str]) -> list[str]:
    at = 0
    while at < len(arguments) and _FIND_OPTION.fullmatch(arguments[at]):
        at += 1
    starts: list[str] = []
    for word in arguments[at:]:
        if word[:1] in ("-", "(", "!", ","):
            break
        starts.append(word)
    return starts or ["."]


def list_found_paths(arguments: list[str]) -> list[FoundPath]:
    return [FoundPath.make(start, _read_filters(arguments)) for start in list_find_starts(arguments)]


def _read_filters(arguments: list[str]) -> FindFilters:
    names: list[str] = []
    paths: list[str] = []
    max_depth = 1 << 30
    is_negated = is_empty = has_type = finds_folders = False
    tests = _list_tests(arguments)
    for at, word in enumerate(tests):
        value = tests[at + 1] if at + 1 < len(tests) else ""
        if word in ("-name", "-iname") and not is_negated:
            names.append(value)
        elif word in ("-path", "-ipath", "-wholename", "-iwholename") and not is_negated:
            paths.append(value)
        elif word in ("-regex", "-iregex") and not is_negated:
            # No pattern of ours: it may find anything.
            names.append("*")
        elif word == "-maxdepth" and value.isdigit():
            max_depth = int(value)
        elif word == "-type" and not is_negated:
            finds_folders = finds_folders or "d" in value
            has_type = True
        is_empty = is_empty or (word == "-empty" and not is_negated)
        is_negated = word in ("!", "-not")
    if _finds_unnamed(tests):
        names, paths = [], []
    has_choice = not _OR.isdisjoint(tests) or _has_negated_group(tests)
    finds_folders = finds_folders or not has_type or has_choice
    is_selective = not has_choice and any(map(_SELECTING.fullmatch, tests))
    filters = FindFilters(tuple(names), tuple(paths), max_depth, is_empty and not has_choice)
    return filters.replace(finds_folders=finds_folders, is_selective=is_selective)


def _list_tests(arguments: list[str]) -> list[str]:
    """Return the tests that decide what is found: those before an action, and not those that only leave something out."""
    alternatives = _split_alternatives(arguments)
    if any(not _ACTIONS.isdisjoint(words) for words in alternatives):
        alternatives = [words for words in alternatives if "-prune" not in words or not _ACTIONS.isdisjoint(words)]
    tests: list[str] = []
    for words in alternatives:
        end = next((at for at, word in enumerate(words) if word in _ACTIONS), len(words))
        tests += [*(["-o"] if tests else []), *words[:end]]
    return tests


def _split_alternatives(arguments: list[str]) -> list[list[str]]:
    """Return what `-o` and `,` are between, outside of all parentheses."""
    alternatives: list[list[str]] = [[]]
    depth = 0
    for word in arguments:
        depth += (word == "(") - (word == ")")
        if depth == 0 and word in _OR:
            alternatives.append([])
        else:
            alternatives[-1].append(word)
    return alternatives


def _has_negated_group(tests: list[str]) -> bool:
    return any(pair in _NEGATED_GROUPS for pair in pairwise(tests))


def _finds_unnamed(tests: list[str]) -> bool:
    """Whether something may be found that none of the patterns names."""
    if _has_negated_group(tests):
        return True
    text = "\n".join(tests)
    parts = re.split(r"(?:^|\n)(?:-o|-or|,)(?:\n|$)", text)
    return len(parts) > 1 and any(_NAMES.isdisjoint(part.split("\n")) for part in parts)


def list_find_commands(arguments: list[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the commands of `-exec` and its like, with what is found in place of `{}`; one without an end is refused."""
    found = list_found_paths(arguments)
    commands: list[tuple[str, tuple[str, ...]]] = []
    for at, word in enumerate(arguments):
        if word in _FIND_EXEC:
            behind = arguments[at + 1 :]
            end = next((index for index, one in enumerate(behind) if one in (";", "+")), -1)
            if end < 0:
                return []
            commands.append((word, place_paths(behind[:end], found, appends=False)))
    return commands
