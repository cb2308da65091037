"""Program code in a command line, as in `python -c`: the texts in it, and whether it could change files or run commands."""

from __future__ import annotations

import re

from boathook.core.event import Event
from boathook.core.interpreters import is_interpreter
from boathook.core.json_text import iter_leaves
from boathook.core.tool_kinds import SHELL, TOOLS_OF_KINDS, has_code_mark
from boathook.shell.started_program import Started

_STRING = re.compile(r"'((?:\\.|[^'\\\n])*)'|\"((?:\\.|[^\"\\\n])*)\"|`((?:\\.|[^`\\\n])*)`")
_CHANGES = re.compile(
    r"writ|open\s*\([^)]*,[^)]*[\"'][rbt]*[wax+]|[\"']\s*>|unlink|remove|rmtree|rmdir|rename|replace|move|copy|chmod|chown|truncate|mkdir|touch|symlink|link\s*\("
    r"|\brm\s*\(|rm_r|rm_f|rmsync|rimraf|delete|extractall|spew|file_put_contents|dump|save|print\s*>|>\s*[\"']"
    r"|\b(?:w|wq)!?[ \t]+[~/.]",
    re.IGNORECASE,
)
_RUNS = re.compile(r"system|popen|subprocess|exec|spawn|shell|run\s*\(|`|qx|\|\s*getline|call\s*\(", re.IGNORECASE)
# Programs whose first operand is code.
_STREAM_EDITORS = re.compile(r"g?sed|[gmn]?awk|jq|yq|ex|ed|vim?|nvim|emacs")
# The first line of a script that is not for a shell.
_OTHER_SCRIPT = re.compile(r"#!.*\b(?!\w*sh\b)\w+\s*$", re.MULTILINE)
_CODE_OPTION = re.compile(r"-\w*[cerEBp]|--(?:eval|exec|execute|print|command)|-[Cc]ommand|eval|run")


def find_code(started: Started) -> str:
    """Return the program code that a command line or its input has, "" if there is none."""
    words = started.words
    if _STREAM_EDITORS.fullmatch(started.name):
        return "\n".join((*(word for word in words[1:] if " " in word or ">" in word), started.input_text))
    if not is_interpreter(started.name):
        return started.script_text if _OTHER_SCRIPT.match(started.script_text.lstrip()) else ""
    codes = [words[at + 1] for at, word in enumerate(words[:-1]) if at and _CODE_OPTION.fullmatch(word)]
    # `-e` may be glued to its code.
    codes += [word for word in words[1:] if word.startswith("-") and len(word) > 8]
    return "\n".join((*codes, started.input_text, started.script_text))


def list_tool_codes(event: Event) -> list[str]:
    """Return the program code that a call of a tool has which is not a shell: all texts if the tool is called after code."""
    given = event.tool_input
    if event.tool_name in TOOLS_OF_KINDS[SHELL]:
        return []
    if not isinstance(given, dict) or has_code_mark(event.tool_name):
        return list(dict.fromkeys(iter_leaves(given)))
    return list(dict.fromkeys(iter_leaves([value for key, value in given.items() if has_code_mark(str(key))])))


def list_code_strings(code: str) -> list[str]:
    return [next((text for text in match if text), "") for match in _STRING.findall(code)]


def may_change_files(code: str) -> bool:
    return _CHANGES.search(code) is not None or may_run_commands(code)


def may_run_commands(code: str) -> bool:
    return _RUNS.search(code) is not None
