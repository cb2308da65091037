"""What a command reads: from a redirection, from the programs before it in a pipe, or from behind the loop around it."""

from __future__ import annotations

import re
from itertools import islice

from boathook.core.shell import ShellCommand, ShellRedirection
from boathook.shell.arguments import UNKNOWN
from boathook.shell.found_paths import FoundPath
from boathook.shell.listers import list_printed_paths
from boathook.shell.scope import ShellScope
from boathook.shell.started_program import Started

_LOOP_INPUT = re.compile(r'\bdone\s*<(?:\s*<\(|<<\s*"?\$\()((?:[^()]|\([^()]*\)){0,1000})\)')
_LOOP_TEXT = re.compile(r"""\bdone\s*<<<\s*("[^"$`]{0,1000}"|'[^']{0,1000}'|[^\s;|&"'$`()]{1,1000})""")
_LOOP_DOCUMENT = re.compile(r"\bdone\s*<<-?\s*['\"]?(\w+)['\"]?[ \t]*\n(.{0,4000}?)\n\s*\1\b", re.DOTALL)
_MAX_LOOPS = 4


def has_open_heredoc(command: ShellCommand) -> bool:
    is_open = command.operator not in ("\n", "")
    return is_open and any(one.operator in ("<<", "<<-") for one in command.redirections)


def redirects_input(command: ShellCommand) -> bool:
    """Whether a command says itself what it reads."""
    return bool(_list_input_redirections(command)) or any(word.raw.startswith("<(") for word in command.words[1:])


def _list_input_redirections(command: ShellCommand) -> list[ShellRedirection]:
    return [one for one in command.redirections if one.operator.startswith("<") and one.descriptor in ("", "0")]


def find_input_text(command: ShellCommand, scope: ShellScope, pipe: list[Started]) -> str:
    if redirections := _list_input_redirections(command):
        return redirections[-1].body or scope.find_redirected_text(redirections[-1])
    files = [word.raw for word in command.words[1:] if word.raw.startswith("<(")]
    if files:
        return scope.find_file_text(files[0])
    if not pipe:
        return ""
    printed = scope.find_program_output(pipe[-1].words, pipe[-1].input_text)
    return printed if printed.strip(UNKNOWN) else ""


def list_read_paths(command: ShellCommand, scope: ShellScope, pipe: list[Started], text: str) -> list[str]:
    """Return the words that a command reads, [] if it reads nothing that is known."""
    printed = pipe[-1].words[1:] if pipe and pipe[-1].name in ("echo", "printf") else ()
    if any(isinstance(word, FoundPath) for word in printed):
        return [*printed]
    if text:
        return text.split()
    files = [word.raw for word in command.words if word.raw.startswith("<(")]
    for one in command.redirections:
        if one.target is not None and one.operator == "<":
            files.append(one.target.raw)
        if one.target is not None and one.operator == "<<<":
            return scope.expand(one.target)
    for raw in files:
        if raw.startswith("<("):
            return scope.list_script_paths(raw[2:].removesuffix(")"))
    return list_printed_paths(pipe[-1].words, pipe[-1].read_paths) if pipe else []


def list_loop_scripts(text: str) -> list[str]:
    """Return the commands that loops read from behind their end, as in `done < <(find …)`."""
    if "<" not in text:
        return []
    documents = [f"echo {match[2]}" for match in islice(_LOOP_DOCUMENT.finditer(text), _MAX_LOOPS)]
    documents += [f"echo {match[1]}" for match in islice(_LOOP_TEXT.finditer(text), _MAX_LOOPS)]
    return [*documents, *(match[1] for match in islice(_LOOP_INPUT.finditer(text), _MAX_LOOPS))]
