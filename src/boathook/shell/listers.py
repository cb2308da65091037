"""What programs print that list paths: another program takes them from a pipe, a loop or a substitution."""

from __future__ import annotations

import re
from collections.abc import Callable

from boathook.shell.arguments import (
    UNKNOWN,
    find_option_values,
    get_program_name,
    has_option,
    list_operands,
    skip_options,
)
from boathook.shell.fd_search import list_fd_paths, make_name_pattern
from boathook.shell.find_search import list_found_paths
from boathook.shell.found_paths import FindFilters, FoundPath, ListedName, narrow_path
from boathook.shell.git_commands import GIT_VALUES

# Programs that print some of the lines that they read, or parts of them.
_FILTERS = frozenset(
    (
        *("head", "tail", "sort", "gsort", "uniq", "cat", "tac", "tee", "sed", "gsed", "awk", "gawk", "tr", "cut"),
        *("xargs", "parallel", "grep", "egrep", "fgrep", "rg", "shuf", "rev", "nl", "column", "paste", "sponge", "pv"),
        *("fzf", "ifne", "perl"),
    )
)
_GREP_VALUES = "-e -f -m -A -B -C -d -D --regexp --file --max-count --context --after-context --before-context --color"
_RG_VALUES = f"{_GREP_VALUES} -g --glob --iglob -t --type -T --type-not -j --threads -r --replace --sort --pre -M"
_RECURSIVE_GREP = re.compile(r"-[A-Za-z]*[rR][A-Za-z]*|--recursive|--dereference-recursive|--directories=recurse")
_SHOWS_HIDDEN = re.compile(r"-\w*[u.]\w*|--hidden|--unrestricted")
_TYPE_ENDINGS = {"rust": "rs", "ruby": "rb", "markdown": "md", "python": "py", "javascript": "js"}


def list_printed_paths(words: list[str] | tuple[str, ...], read_paths: list[str] | tuple[str, ...]) -> list[str]:
    """Return the paths that a program prints, `UNKNOWN` for what cannot be said; `read_paths` are those that it reads."""
    name, arguments = get_program_name(words), list(words[1:])
    lister = _LISTERS.get(name)
    paths = lister(arguments) if lister is not None else []
    if paths:
        return paths
    if name not in _FILTERS or not read_paths:
        return [UNKNOWN]
    pattern = _find_narrowing(name, arguments)
    return [narrow_path(path, pattern) for path in read_paths] if pattern else [*read_paths]


def _find_narrowing(name: str, arguments: list[str]) -> str:
    """Return the pattern of the whole paths that a filter passes on, "" if it may be any."""
    if name not in ("grep", "egrep", "fgrep", "rg") or has_option(arguments, "v", "--invert-match"):
        return ""
    patterns = list_operands(arguments)[:1]
    found = make_name_pattern(patterns[0], is_glob=False) if patterns else "*"
    return "" if found == "*" else found


def _split_search(arguments: list[str], with_value: str) -> list[str]:
    """Return the paths that a search is about: its operands without the expression."""
    operands: list[str] = []
    rest = [word for word in arguments if word != "--"]
    while rest := skip_options(rest, with_value):
        operands.append(rest[0])
        rest = rest[1:]
    has_expression = bool(find_option_values(arguments, "-e", "--regexp", "-f", "--file")) or "--files" in arguments
    return operands if has_expression else operands[1:]


def _list_grep(arguments: list[str]) -> list[str]:
    paths = _split_search(arguments, _GREP_VALUES)
    is_recursive = any(_RECURSIVE_GREP.fullmatch(word) for word in arguments)
    starts = paths or (["."] if is_recursive else [])
    names = tuple(word.partition("=")[2] for word in arguments if word.startswith("--include="))
    depth = 1 << 30 if is_recursive else 0
    filters = FindFilters(names, max_depth=depth, finds_folders=False, is_selective=True)
    return [FoundPath.make(path, filters) for path in starts]


def _list_rg(arguments: list[str]) -> list[str]:
    paths = _split_search(arguments, _RG_VALUES)
    is_listing = has_option(arguments, "l", "--files", "--files-with-matches", "--files-without-match")
    globs = find_option_values(arguments, "-g", "--glob", "--iglob")
    types = [_TYPE_ENDINGS.get(value, value) for value in find_option_values(arguments, "-t", "--type")]
    names = (*(glob.rpartition("/")[2] for glob in globs if not glob.startswith("!")), *(f"*.{one}" for one in types))
    shows_hidden = any(_SHOWS_HIDDEN.fullmatch(word) for word in arguments)
    is_all = "--files" in arguments
    filters = FindFilters(names, skips_hidden=not shows_hidden, finds_folders=False, is_selective=not is_all)
    return [FoundPath.make(path, filters) for path in (paths or (["."] if is_listing else []))]


def _list_git(arguments: list[str]) -> list[str]:
    """`git ls-files`, `git grep -l`; what differs between versions is not known."""
    folders = find_option_values(arguments, "-C", "--work-tree")
    rest = skip_options(arguments, GIT_VALUES)
    if rest[:1] == ["grep"]:
        behind = rest[rest.index("--") + 1 :] if "--" in rest else list_operands(rest[1:])[1:]
    elif rest[:1] in (["ls-files"], ["ls-tree"]):
        behind = list_operands(rest[1:])[1 if rest[0] == "ls-tree" else 0 :]
    else:
        return []
    top = f"{folders[0].rstrip('/')}/" if folders else ""
    globs = tuple(path for path in behind if "*" in path)
    starts = [path for path in behind if "*" not in path] or ["."]
    paths = tuple(f"*{glob.lstrip(':/*')}" for glob in globs)
    # What is in a commit can be had back.
    filters = FindFilters((), paths, finds_folders=False, is_selective=True)
    return [FoundPath.make(top + start, filters) for start in starts]


def _list_folder(arguments: list[str]) -> list[str]:
    """`ls`: names in folders, or what a pattern matches."""
    has_hidden = any(re.fullmatch(r"-\w*[aA]\w*|--all|--almost-all", word) for word in arguments)
    is_itself = has_option(arguments, "d", "--directory")
    paths: list[str] = []
    for folder in list_operands(arguments) or ["."]:
        if is_itself or not set("*?[").isdisjoint(folder):
            paths.append(folder)
        if not is_itself:
            paths += [ListedName(f"{folder}/{name}") for name in (("*", ".*") if has_hidden else ("*",))]
    return paths


def _list_database(arguments: list[str]) -> list[str]:
    """`locate` and its like search everywhere."""
    patterns = [word if "*" in word else f"*{word}*" for word in list_operands(arguments)]
    return [FoundPath.make("/", FindFilters((), tuple(patterns)))] if patterns else []


def _list_tree(arguments: list[str]) -> list[str]:
    return [FoundPath.make(path, FindFilters()) for path in list_operands(arguments) or ["."]]


_LISTERS: dict[str, Callable[[list[str]], list[str]]] = {
    "find": lambda arguments: [*list_found_paths(arguments)],
    **dict.fromkeys(("fd", "fdfind"), lambda arguments: [*list_fd_paths(arguments)]),
    **dict.fromkeys(("grep", "egrep", "fgrep", "zgrep", "ag", "ack"), _list_grep),
    "rg": _list_rg,
    "git": _list_git,
    **dict.fromkeys(("ls", "gls", "dir", "exa", "eza"), _list_folder),
    **dict.fromkeys(("locate", "plocate", "mlocate", "mdfind"), _list_database),
    **dict.fromkeys(("tree", "du"), _list_tree),
}
