"""All programs that a call starts on this machine, also those in the code of interpreters and on other machines by ssh."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import takewhile

from boathook.core.interpreters import SHELLS, is_interpreter
from boathook.guards import GuardedCall
from boathook.protection.code_texts import find_code, list_code_strings, may_run_commands
from boathook.shell.arguments import UNKNOWN
from boathook.shell.command_reading import read_command
from boathook.shell.started_program import Started
from boathook.system.files import may_exist

# Programs whose command does not run on the files of this machine, unless they share a folder.
_CONTAINERS = frozenset(("docker", "podman", "nerdctl", "singularity", "apptainer"))
# Programs whose scripts can run commands.
_RUNNING_EDITORS = frozenset(("awk", "gawk", "mawk", "nawk", "sed", "gsed"))
# Shells of Windows, and the options behind which the command is.
_WINDOWS_SHELLS = {
    **dict.fromkeys(("pwsh", "powershell"), ("-c", "-command")),
    "cmd": ("/c", "/k", "//c", "//k"),
}
_MAX_CODE_CHARS, _MAX_STRINGS = 64_000, 100
_ANSWERS = re.compile(r"<|(?<!\|)\|(?!\|)|\b(?:coproc|expect|spawn|input|stdin|communicate)\b")
_PROGRAM_FOLDER = re.compile(r"bin/|^/(?:usr|opt|nix|gnu|snap|run|lib\w*|System|Library|Applications)/")
_PLAIN_SHELL_OPTIONS = re.compile(r"-[abcefhkmnpstuvx]+")
_WORD_LIST = re.compile(
    r"[\[(]\s*((?:(?:'[^'\n]*'|\"[^\"\n]*\")\s*,\s*(?:[\[(]\s*)?)+(?:'[^'\n]*'|\"[^\"\n]*\"))\s*,?\s*[\])]"
)


@lru_cache(maxsize=2)
def list_host_programs(call: GuardedCall) -> tuple[Started, ...]:
    """Return the programs of a call that work on this machine, or by ssh on another, in order; read once for all guards."""
    programs: list[Started] = []
    for reading in call.readings:
        for program in map(_find_real_folder, _list_uncontained(reading.programs)):
            if _is_missing(program, call):
                continue
            programs.append(program)
            programs += _list_code_programs(program)
            programs += list_powershell_programs(program)
    return tuple(programs)


def may_answer(call: GuardedCall) -> bool:
    """Whether something in a call may answer a program that asks: whole loops and functions can have an input, too."""
    return any(map(_ANSWERS.search, call.commands))


def list_remote_programs(call: GuardedCall) -> list[Started]:
    """Return what a call starts on other machines by ssh."""
    return [program for program in call.programs if program.machine]


def _list_uncontained(programs: tuple[Started, ...]) -> Iterator[Started]:
    """Yield programs; of those inside a container only what they do in folders that it shares with this machine."""
    container_depth = unrun_depth = -1
    for program in programs:
        depth = program.scope.depth if program.scope else 0
        if 0 <= unrun_depth < depth:
            continue
        is_refused = any(_is_folder_name(path) for path in program.outputs)
        unrun_depth = depth if is_refused or _is_only_checking(program) else -1
        if is_refused:
            continue
        if 0 <= container_depth < depth:
            if program.scope and program.scope.links:
                yield _find_shared_view(program)
            continue
        container_depth = depth if program.name in _CONTAINERS else -1
        yield program


def _find_real_folder(program: Started) -> Started:
    """Return a program in the folder that it runs in because the folder of the `cd` before it is not there."""
    folder = program.folder
    is_doubtful = UNKNOWN in folder or not set("*?[").isdisjoint(folder) or program.machine
    if not program.other_folder or is_doubtful or may_exist(folder):
        return program
    return program.replace(folder=program.other_folder)


def _is_missing(program: Started, call: GuardedCall) -> bool:
    """Whether a program is named by a path at which nothing is, and which nothing else in the call names: it cannot start."""
    word = program.words[0]
    folder = word.rpartition("/")[0]
    # What is in a folder of programs may be seen by another machine or user, or by a container.
    if not folder or UNKNOWN in word or program.machine or _PROGRAM_FOLDER.search(f"{folder}/"):
        return False
    is_named_again = sum(text.count(word.rpartition("/")[2]) for text in call.commands) > 1
    return not is_named_again and not may_exist(program.make_absolute(word))


def _is_only_checking(program: Started) -> bool:
    """Whether a shell reads commands and runs none: `bash -n`; but not `bash -norc`, `bash FILE -n` or `bash -n +n`."""
    if program.name not in SHELLS or any(word.startswith("+") for word in program.words):
        return False
    options = [*takewhile(lambda word: word.startswith("-"), program.words[1:])]
    return any("n" in word for word in options) and all(map(_PLAIN_SHELL_OPTIONS.fullmatch, options))


def _is_folder_name(path: str) -> bool:
    """Whether a path can only be a folder. A shell cannot write to it, and starts nothing."""
    return path.rpartition("/")[2] in ("", ".", "..") and UNKNOWN not in path


def _find_shared_view(program: Started) -> Started:
    """Return a program inside a container with its paths as they are outside; other paths are not known."""
    links = program.scope.links if program.scope else {}

    def translate(path: str) -> str:
        for inside, outside in links.items():
            if f"{path}/".startswith(f"{inside}/"):
                return outside.rstrip("/") + path[len(inside) :] or "/"
        return UNKNOWN

    words = tuple(translate(word) if at and word.startswith("/") else word for at, word in enumerate(program.words))
    outputs = tuple(translate(path) if path.startswith("/") else path for path in program.outputs)
    return program.replace(words=words, outputs=outputs, folder=translate(program.folder))


def list_powershell_programs(program: Started) -> Iterator[Started]:
    """Yield what `pwsh -Command` or `cmd /c` starts, read as a shell would: its commands and pipes look the same."""
    options = _WINDOWS_SHELLS.get(program.name.lower().removesuffix(".exe"))
    if options is None:
        return
    words = program.words
    for at, word in enumerate(words[1:-1], start=1):
        if word.lower() in options and words[at + 1] != "-":
            variables = program.scope.given if program.scope else {}
            text = " ".join(words[at + 1 :]).replace("\\", "/")
            yield from read_command(text, program.folder, variables).programs
            return


def _list_code_programs(program: Started) -> Iterator[Started]:
    """Yield what the code of an interpreter may start: texts for a shell, and lists of words."""
    if not is_interpreter(program.name) and program.name not in _RUNNING_EDITORS:
        return
    code = find_code(program)[:_MAX_CODE_CHARS]
    if not may_run_commands(code):
        return
    variables = program.scope.given if program.scope else {}
    for text in list_code_strings(code)[:_MAX_STRINGS]:
        if " " in text.strip():
            yield from read_command(text, program.folder, variables).programs
    for match in list(_WORD_LIST.finditer(code))[:_MAX_STRINGS]:
        words = list_code_strings(match[1])
        if words and words[0] and " " not in words[0]:
            yield Started(tuple(words), program.folder)
