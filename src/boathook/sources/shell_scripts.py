"""What a shell line runs, and whether a script means to block with exit 1; anything that is not plain is left alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import dropwhile, islice

from boathook.core.shell import SHELL_KEYWORDS, SHELL_NAMES, ShellCommand, ShellReader, ShellWord, get_assigned_name
from boathook.core.value import Value
from boathook.system.files import FileError, read_regular

MAX_SCRIPT_BYTES = 1 << 20
_MAX_LINE_CHARS = 8192
_MAX_EXITS = 100
_EXIT_1 = re.compile(r"(?m)^(?:[^#'\"\n]*[;&|{(\s])?(?:exit 1\b|(?:sys\.|process\.|os\._)?exit\(1\))")
_WRITES_REASON = re.compile(r">&2|stderr|console\.error")
_BLOCKS = re.compile(r"\bexit 2\b|\bexit\(2\)|process\.exit\(2\)|\bexit \$|deny|\"block\"|'block'|return 2\b")
# Near these words an exit 1 is an honest failure.
_REPORTS_FAILURE = re.compile(r"\b(?:except|catch|rescue|which|[Uu]sage)\b|\bcommand -v\b")
# An open quote goes to the end.
_QUOTED = re.compile(r"'[^']*(?:'|\Z)|\"(?:\\.|[^\"\\])*+(?:\"|\\?\Z)", re.DOTALL)

SHELL_BUILTINS = frozenset(
    (
        *("if", "then", "else", "elif", "fi", "case", "esac", "for", "select", "while", "until", "do"),
        *("done", "in", "function", "{", "}", "!", "[", "[[", "]]", ":", ".", "alias", "bg", "bind"),
        *("break", "builtin", "caller", "cd", "compgen", "complete", "compopt", "continue", "coproc"),
        *("declare", "dirs", "disown", "echo", "enable", "eval", "exit", "export", "false", "fc", "fg"),
        *("getopts", "hash", "help", "history", "jobs", "kill", "let", "local", "logout", "mapfile"),
        *("popd", "printf", "pushd", "pwd", "read", "readarray", "readonly", "return", "set", "shift"),
        *("shopt", "source", "suspend", "test", "times", "trap", "true", "type", "typeset", "ulimit"),
        *("umask", "unalias", "unset", "wait"),
    )
)
_COMMAND_PREFIXES = ("exec", "command", "nohup", "time", "env")
_DURATION = re.compile(r"\d+[smhd]?")
# Programs that read a script, and their options that take no value.
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
_INTERPRETERS = (
    (_PYTHON, re.compile(r"-[BEIOPSbqsu]+")),
    (re.compile("|".join(SHELL_NAMES)), re.compile(r"-[efluvx]+")),
    (re.compile(r"node|bun|tsx|ts-node|ruby|perl|php|lua[\d.]*"), None),
)
_UV_OPTIONS_WITHOUT_VALUE = ("--script", "-s", "--quiet", "-q", "--no-project", "--isolated", "--frozen", "--locked")
# Programs that run what the project says.
_PACKAGE_RUNNERS = ("npx", "bunx")
_PROJECT_RUNNERS = (*_PACKAGE_RUNNERS, "npm", "pnpm", "yarn", "make", "just")
_PACKAGE_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
_MODULE_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_SCRIPT_NAME = re.compile(r".+\.(?:sh|bash|zsh|py|js|mjs|cjs|ts|mts|rb|pl|php|lua)")


def read_script_text(path: str) -> str:
    """Return the text of a script, "" if the file is not a script or cannot be read."""
    try:
        data = read_regular(path, MAX_SCRIPT_BYTES)
    except FileError:
        return ""
    return "" if b"\0" in data[:1024] else data.decode("utf-8", "replace")


def find_blocking_exit_1(text: str) -> int | None:
    """Return the line of an `exit 1` that follows a reason, in a script that never blocks in the right way."""
    if _BLOCKS.search(text):
        return None
    lines = text.splitlines()
    for match in islice(_EXIT_1.finditer(text), _MAX_EXITS):
        index = text.count("\n", 0, match.end())
        lines_before = "\n".join(lines[max(index - 3, 0) : index + 1])
        if _WRITES_REASON.search(lines_before) and not _REPORTS_FAILURE.search(lines_before):
            return index + 1
    return None


def has_blocking_exit_1(line: str) -> bool:
    """Whether a line for the shell has such an `exit 1`; what is in quotes is not a command."""
    without_escapes = line.replace('\\"', '"')
    return not _BLOCKS.search(without_escapes) and find_blocking_exit_1(_QUOTED.sub("_", line)) is not None


def read_first_pipeline(text: str, variables: Mapping[str, str]) -> list[list[ShellWord]]:
    """Return the words of the commands that a line runs first, joined by `|`, up to what only a shell can know."""
    reader = _make_reader(text, variables)
    commands: list[list[ShellWord]] = []
    while (command := reader.read_command()) is not None:
        # Before a bracket is a subshell, a function or an array, not a command.
        if command.operator not in ("(", ")"):
            commands.append(command.words)
        is_last = command.operator not in ("|", "|&") and (command.words or command.operator != "\n")
        if is_last or not command.is_clear:
            break
    return [words for words in commands if words]


def read_plain_commands(text: str, variables: Mapping[str, str]) -> tuple[list[ShellCommand], str]:
    """Return every command of a line, without keywords before it, and the rest of the line that only a shell can know."""
    reader = _make_reader(text, variables)
    commands: list[ShellCommand] = []
    unclear = ""
    while not unclear and (command := reader.read_command()) is not None:
        command.words = list(dropwhile(lambda word: word.raw in SHELL_KEYWORDS, command.words))
        if command.words:
            commands.append(command)
        if not command.is_clear:
            unclear = text[reader.position :]
    return commands, unclear


def _make_reader(text: str, variables: Mapping[str, str]) -> ShellReader:
    return ShellReader(text, variables.get, strict=True, max_chars=_MAX_LINE_CHARS)


class RunFile(Value):
    """A file that a command runs: the word that names it, and the program that reads it ("" if it is run itself)."""

    word: ShellWord
    interpreter: str = ""


def remove_prefix(words: list[ShellWord]) -> list[ShellWord]:
    while words and (count := _count_prefix(words)):
        words = words[count:]
    return words


def _count_prefix(words: list[ShellWord]) -> int:
    first, second = words[0].raw, words[1].raw if len(words) > 1 else ""
    if name := get_assigned_name(first):
        return len(words) if name == "PATH" else 1
    if first in _COMMAND_PREFIXES:
        return len(words) if second.startswith("-") else 1
    return 2 if first == "timeout" and _DURATION.fullmatch(second) else 0


def find_run_files(words: list[ShellWord]) -> list[RunFile]:
    """Return the program of a command if it is named by a path, and the script that the program reads."""
    program = words[0]
    files = [RunFile(program)] if "/" in (program.value or "") else []
    name = _get_program_name(program)
    script = _find_script(name, words[1:])
    return [*files, RunFile(script, name)] if script else files


def find_stdin_script(command: ShellCommand, words: list[ShellWord]) -> ShellWord | None:
    """Return the file that an interpreter reads as its script from its standard input, as in `bash -s < file`."""
    rest = _skip_options(_get_program_name(words[0]), words[1:])
    if rest is None or (rest and rest[0].raw not in ("-", "-s")):
        return None
    inputs = [each.target for each in command.redirections if each.operator == "<" and each.descriptor in ("", "0")]
    return inputs[-1] if inputs else None


class IndirectRun(Value):
    """Something that a command names without its path: the files of the project that it may be, and the command."""

    # `is_open`: it may also be something else, which is not known. `is_module`: Python would import it.
    paths: tuple[str, ...]
    text: str
    is_open: bool
    is_module: bool = False


def find_indirect_run(words: list[ShellWord]) -> IndirectRun | None:
    name = _get_program_name(words[0])
    text = " ".join(word.raw for word in words[:3])
    if name in _PROJECT_RUNNERS:
        program = next((word.value or "" for word in words[1:] if not word.raw.startswith("-")), "")
        is_plain = name in _PACKAGE_RUNNERS and _PACKAGE_NAME.fullmatch(program) is not None
        return IndirectRun((f"node_modules/.bin/{program}",) if is_plain else (), text, is_open=True)
    rest = _skip_options(name, words[1:])
    if not rest or not _PYTHON.fullmatch(name) or not rest[0].raw.startswith("-m"):
        return None
    module = rest[0].raw[2:] or (rest[1].value or "" if len(rest) > 1 else "")
    if not _MODULE_NAME.fullmatch(module):
        return IndirectRun((), text, is_open=True)
    path = module.replace(".", "/")
    return IndirectRun((f"{path}.py", f"{path}/__main__.py"), text, is_open=False, is_module=True)


def _get_program_name(word: ShellWord) -> str:
    return (word.value or word.raw).rpartition("/")[2]


def _skip_options(program: str, words: list[ShellWord]) -> list[ShellWord] | None:
    """Return the words of an interpreter behind its options; None if the program is not one."""
    for names, options in _INTERPRETERS:
        if names.fullmatch(program):
            while words and options and options.fullmatch(words[0].raw):
                words = words[1:]
            return words
    return None


def _find_script(program: str, words: list[ShellWord]) -> ShellWord | None:
    if program == "uv" and words and words[0].raw == "run":
        words = [word for word in words[1:] if word.raw not in _UV_OPTIONS_WITHOUT_VALUE]
        return words[0] if words and (words[0].value or "").endswith(".py") else None
    rest = _skip_options(program, words)
    return rest[0] if rest and _is_script_path(rest[0].value or "") else None


def _is_script_path(text: str) -> bool:
    return not text.startswith("-") and ("/" in text or _SCRIPT_NAME.fullmatch(text) is not None)
