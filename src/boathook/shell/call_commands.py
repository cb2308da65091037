"""The command lines in a call of a shell tool: tools name and cut them in many ways."""

from __future__ import annotations

from typing import Any

from boathook.core.event import Event
from boathook.core.json_text import iter_leaves
from boathook.core.tool_kinds import shorten_key
from boathook.shell.arguments import make_absolute_path

# Keys in small letters and without `_` and `-`.
_FOLDER_KEYS = ("cwd", "workdir", "workingdir", "workingdirectory", "currentdirectory", "directory", "dir")
_PROGRAM_KEYS = ("command", "cmd", "program", "executable")
_ARGUMENT_KEYS = ("args", "argv", "arguments", "parameters")
_TEXT_KEYS = ("commands", "cmds", "commandline", "script", "code", "input", "stdin", "chars", "text")
_NO_ARGUMENT_KEYS = frozenset(
    (
        *_FOLDER_KEYS,
        *_PROGRAM_KEYS,
        *_ARGUMENT_KEYS,
        *_TEXT_KEYS,
        "description",
        "timeout",
        "id",
        "name",
        "reason",
        "title",
    )
)


def find_call_folder(event: Event) -> str:
    """Return the folder that the commands of a call start in."""
    given = _shorten_keys(event.tool_input) if isinstance(event.tool_input, dict) else {}
    own = _find_named_folder(given)
    return make_absolute_path(own, event.work_dir) if own and not own.startswith("~") else event.work_dir


def _find_named_folder(given: dict[str, Any]) -> str:
    return next((given[key] for key in _FOLDER_KEYS if isinstance(given.get(key), str) and given[key]), "")


def list_call_commands(tool_input: Any) -> list[str]:
    """Return the command lines of a call of a shell; a list of words is one, and a program with its arguments, too."""
    given = tool_input if isinstance(tool_input, dict) else {"command": tool_input}
    inner = [value for item in given.values() for value in (item if isinstance(item, list) else [item])]
    return [
        *_list_command_lines(given),
        *(line for one in inner if isinstance(one, dict) for line in list_call_commands(one)),
    ]


def _list_command_lines(tool_input: dict[str, Any]) -> list[str]:
    given = _shorten_keys(tool_input)
    programs = [given[key] for key in _PROGRAM_KEYS if _is_text_or_words(given.get(key))]
    arguments = [_list_words(given[key]) for key in _ARGUMENT_KEYS if given.get(key)]
    # Arguments may have any name. What says where or for whom a command runs is not one of them.
    others = [value for key, value in given.items() if key not in _NO_ARGUMENT_KEYS and _is_text_or_words(value)]
    lines = [[program, *arguments] for program in programs]
    if others and all(" " not in program for program in programs if isinstance(program, str)):
        lines += [[program, *arguments, *others] for program in programs or [""]]
    elif not programs:
        lines.append(arguments)
    # Some servers hand the words to a shell, and some start the program with them as they are.
    texts = [_join_parts(parts, quotes=quotes) for parts in lines for quotes in (True, False)]
    leaves = iter_leaves([given[key] for key in _TEXT_KEYS if given.get(key)] if programs else tool_input)
    texts = [text for text in dict.fromkeys((*texts, *leaves)) if text.strip()]
    # The shell that reads the text knows where the home folder is.
    home, _, below = _find_named_folder(given).partition("/")
    return [f"cd {home}/{_quote(below)}\n{text}" for text in texts] if home.startswith("~") else texts


def _list_words(value: Any) -> str | list[str]:
    if isinstance(value, str):
        return value
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
    return [str(one) for one in values]


def _join_parts(parts: list[Any], *, quotes: bool) -> str:
    return " ".join(_join_words(part, quotes=quotes) for part in parts)


def _shorten_keys(given: dict[str, Any]) -> dict[str, Any]:
    return {shorten_key(str(key)): value for key, value in given.items()}


def _is_text_or_words(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(word, str) for word in value))


def _join_words(value: str | list[str], *, quotes: bool) -> str:
    if isinstance(value, str):
        return value
    return " ".join(_quote(word) if quotes else word for word in value)


def _quote(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"
