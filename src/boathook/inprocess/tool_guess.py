"""What the tools of programs usually do, by the words of their names and the keys of their inputs: guesses, as rows of tables."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from boathook.hosts.host import list_host_names, load_host
from boathook.hosts.tool_calls import LIST_MARK, NO_KEY
from boathook.hosts.tool_names import SERVER_TOOL_MARKS, TOOL_INPUT_KEYS, find_canonical_name

KeyNames = tuple[tuple[str, str], ...]
_known_keys: dict[str, KeyNames] = {}


@dataclass(frozen=True, slots=True)
class ToolWords:
    """A tool, and the words of names for it: one word of every group, and besides only words that add no other meaning."""

    tool: str
    groups: tuple[frozenset[str], ...]
    others: frozenset[str]


def _make_row(tool: str, *groups: str, others: str = "") -> ToolWords:
    return ToolWords(tool, tuple(frozenset(group.split()) for group in groups), frozenset(f"tool {others}".split()))


_FILE = "file files"
# Tools that run code are not here: their text is not a shell command. Hooks for the kind `shell` match them by their names.
TOOL_WORDS = (
    _make_row(
        "Shell",
        "bash shell terminal sh zsh powershell command commands cmd commandline exec execute",
        others="run line local system os linux process in",
    ),
    _make_row(
        "ReadFile", "read reader open view cat load show", _FILE, others="text content contents lines from local a"
    ),
    _make_row(
        "WriteFile", "write writer create save append overwrite", _FILE, others="text content contents to new local a"
    ),
    _make_row(
        "EditFile",
        "edit editor replace update modify insert",
        f"{_FILE} str string text",
        others="in into based multi line lines content contents local a",
    ),
    _make_row("PatchFile", "apply", "patch", others="file files to a"),
    _make_row("DeleteFile", "delete remove unlink rm", _FILE, others="local a"),
    _make_row("ListDir", "list ls", "dir directory directories folder files", others="contents in local a"),
    _make_row("Glob", "glob", others="file files find search paths"),
    _make_row("Glob", "find", _FILE, others="by name"),
    _make_row("Grep", "grep ripgrep rg", others="file files search code in contents"),
    _make_row("WebFetch", "fetch curl wget", others="url a the"),
    _make_row(
        "WebFetch",
        "fetch get visit open load read scrape download browse request post",
        "url web webpage website page http https requests",
        others="content contents text a",
    ),
    _make_row(
        "WebSearch",
        "search",
        "web internet online google bing duckduckgo ddg tavily brave serper serpapi exa",
        others="results json engine the run",
    ),
)
# What functions of programs often call the keys of a tool. A model may add keys that its tool ignores, so a further key must
# never prevent a guess.
_OTHER_KEYS: dict[str, tuple[str, ...]] = {
    "command": ("cmd", "script", "shell_command", "command_line", "bash_command", f"commands{LIST_MARK}"),
    "file_path": ("path", "file", "filename", "filepath", "file_name"),
    "content": ("text", "contents", "file_text", "file_content"),
    "old_string": ("old_str", "old_text"),
    "new_string": ("new_str", "new_text"),
    "patch": ("diff",),
    "path": ("dir_path", "directory", "directory_path", "dir", "folder"),
    "url": ("uri",),
    "query": ("q", "search_query", "search_term"),
}
# What means the main key in one tool of one agent, and something else in the tools of programs: here a text for a process.
_NOT_GUESSED = (("input", "command"),)


def guess_tool(name: str) -> str:
    """Return the tool that a program means by a name, as file hooks call it; "" if the name does not say it."""
    tool = find_canonical_name(name)
    if tool != name or tool in TOOL_INPUT_KEYS:
        return tool
    if any(mark in name for mark in SERVER_TOOL_MARKS):
        return ""
    words = _split_words(name)
    folded = "_".join(words)
    tool = find_canonical_name(folded)
    if tool != folded:
        return tool
    return next((row.tool for row in TOOL_WORDS if _has_words(row, frozenset(words))), "")


def find_known_keys(tool: str, keys: Collection[str]) -> KeyNames:
    """Return those keys of an input that programs have for keys of a tool; all are there if the input has several for one."""
    if not _known_keys:
        _known_keys.update(_collect_keys())
    own = TOOL_INPUT_KEYS.get(tool, ())
    pairs = ((theirs.removesuffix(LIST_MARK), theirs, ours) for theirs, ours in _known_keys.get(tool, ()))
    return tuple((theirs, ours) for key, theirs, ours in pairs if key in keys and key not in own)


def has_main_key(tool: str, keys: Collection[str], renames: KeyNames) -> bool:
    """Whether an input has what a tool cannot do without, under its own key or under another name."""
    main_key = TOOL_INPUT_KEYS[tool][0]
    return main_key in keys or any(ours == main_key for _, ours in renames)


def _split_words(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W_a-zA-Z]+", name)]


def _has_words(row: ToolWords, words: frozenset[str]) -> bool:
    return all(group & words for group in row.groups) and words <= row.others.union(*row.groups)


def _collect_keys() -> Mapping[str, KeyNames]:
    collected: dict[str, dict[tuple[str, str], None]] = {
        tool: {(other, ours): None for ours in keys for other in _OTHER_KEYS.get(ours, ())}
        for tool, keys in TOOL_INPUT_KEYS.items()
    }
    for host in map(load_host, list_host_names()):
        for tool, renames in host.tools.values():
            for theirs, ours in renames:
                is_plain = theirs != NO_KEY and not theirs.endswith(LIST_MARK) and "." not in theirs
                if is_plain and (theirs, ours) not in _NOT_GUESSED:
                    collected[tool][theirs, ours] = None
    return {tool: tuple(pairs) for tool, pairs in collected.items()}
