"""What a shell line runs, and whether a script means to block with exit 1; anything that is not plain is left alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import dropwhile, islice

from boathook.core.interpreters import SHELL_NAMES, is_interpreter, is_python
from boathook.core.shell import (
    SHELL_KEYWORDS,
    ShellCommand,
    ShellReader,
    ShellRedirection,
    ShellWord,
    get_assigned_name,
)
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
_DURATION = re.compile(r"\d+(?:\.\d+)?[smhd]?")
# Programs that read a script, by a test of their names; their options that take no value, and those whose value is the next word.
_INTERPRETERS = (
    (is_python, re.compile(r"-[BEIOPSbdiqsuvx]+(?:[XW].+)?|-[XW].+"), re.compile(r"-[BEIOPSbdiqsuvx]*[XW]")),
    (SHELL_NAMES.__contains__, re.compile(r"-[efluvx]+"), None),
    (is_interpreter, None, None),
)
_PYTHON_RUN_OPTION = re.compile(r"(?P<option>-[BEIOPSbdiqsuvx]*[cm])(?P<value>.*)", re.DOTALL)
# With one of these letters Python does not look for modules in the folder that it runs in.
_SAFE_PYTHON_OPTION = re.compile(r"-[BEOSbdiqsuvx]*[IP].*")
_INPUT_OPERATORS = ("<", "<<", "<<-", "<<<")
_UV_OPTIONS_WITHOUT_VALUE = ("--script", "-s", "--quiet", "-q", "--no-project", "--isolated", "--frozen", "--locked")
# Programs that run what the project says.
_PACKAGE_RUNNERS = ("npx", "bunx")
_PROJECT_RUNNERS = (
    *(*_PACKAGE_RUNNERS, "npm", "pnpm", "yarn", "deno", "eslint", "jest", "vitest", "prettier"),
    *(
        "make",
        "gmake",
        "ninja",
        "ctest",
        "just",
        "task",
        "bazel",
        "gradle",
        "mvn",
        "ant",
        "cargo",
        "go",
        "rake",
        "bundle",
    ),
    *("pytest", "py.test", "tox", "nox", "invoke", "poetry", "pipenv", "pdm", "hatch", "pre-commit", "composer"),
)
_PACKAGE_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
_MODULE_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_SHELL_ENDINGS = ("sh", "bash", "zsh", "ksh", "dash")
SCRIPT_ENDINGS = (*(*_SHELL_ENDINGS, "fish", "ps1", "py", "js", "mjs", "cjs", "ts", "mts", "rb", "pl", "php", "lua"),)
_SCRIPT_NAME = re.compile(rf".+\.(?:{'|'.join(SCRIPT_ENDINGS)})")
_SHELL_SCRIPT_NAME = re.compile(rf".+\.(?:{'|'.join(_SHELL_ENDINGS)})")
_MAX_FIRST_LINE = 256


def read_script_text(path: str) -> str:
    """Return the text of a script, "" if the file is not a script or cannot be read."""
    try:
        data = read_regular(path, MAX_SCRIPT_BYTES)
    except FileError:
        return ""
    return "" if b"\0" in data[:1024] else data.decode("utf-8", "replace")


def is_shell_script(path: str, data: bytes) -> bool:
    """Whether a file is for a shell, by its name or by the interpreter that its first line names."""
    first_line = data[:_MAX_FIRST_LINE].partition(b"\n")[0].decode("utf-8", "replace")
    words = first_line[2:].split() if first_line.startswith("#!") else []
    return bool(_SHELL_SCRIPT_NAME.fullmatch(path)) or any(word.rpartition("/")[2] in SHELL_NAMES for word in words)


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
        command.words = remove_keywords(command.words)
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


def remove_keywords(words: list[ShellWord]) -> list[ShellWord]:
    return list(dropwhile(lambda word: word.raw in SHELL_KEYWORDS, words))


def remove_prefix(words: list[ShellWord]) -> list[ShellWord]:
    """Return a command without what may come before its program: assignments, and programs that run others."""
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
    started = _skip_uv(words)
    if started is not words and started and (started[0].value or "").endswith(".py"):
        return [*files, RunFile(started[0], _get_program_name(program))]
    name, rest = _read_interpreter(started)
    return [*files, RunFile(rest[0], name)] if rest and _is_script_path(rest[0].value or "") else files


def find_stdin_script(command: ShellCommand, words: list[ShellWord]) -> ShellWord | None:
    """Return the file that an interpreter reads as its script from its standard input, as in `bash -s < file`."""
    name, rest = _read_interpreter(_skip_uv(words))
    if not name or (rest and rest[0].raw not in ("-", "-s")):
        return None
    inputs = [each.target for each in command.redirections if each.operator == "<" and each.descriptor in ("", "0")]
    return inputs[-1] if inputs else None


class PythonRun(Value):
    """A start of Python with `-c`, `-m` or `-`: the word of the program, the option, and its code or module."""

    # `is_safe`: it does not look for modules in the folder that it runs in.
    program: ShellWord
    option: str
    value: str
    is_safe: bool

    @property
    def words(self) -> str:
        return f"{_get_program_name(self.program)} {self.option}"


def find_python_run(command: ShellCommand, words: list[ShellWord]) -> PythonRun | None:
    """Return the Python that a command starts without a script file; `words` are those without prefixes."""
    words = _skip_uv(words)
    name, rest = _read_interpreter(words)
    if not is_python(name):
        return None
    options = words[1 : len(words) - len(rest)]
    inputs = [
        each for each in command.redirections if each.operator in _INPUT_OPERATORS and each.descriptor in ("", "0")
    ]
    if rest[0].raw == "-" if rest else inputs:
        option, value = "-", _get_inline_code(inputs[-1]) if inputs else ""
    elif rest and (match := _PYTHON_RUN_OPTION.fullmatch(rest[0].text)):
        option, value = match["option"], match["value"] or (rest[1].text if len(rest) > 1 else "")
    else:
        return None
    is_safe = any(_SAFE_PYTHON_OPTION.fullmatch(word) for word in (option, *(word.raw for word in options)))
    return PythonRun(words[0], option, value, is_safe)


def _get_inline_code(redirection: ShellRedirection) -> str:
    target = redirection.target if redirection.operator == "<<<" else None
    return redirection.body if target is None else target.text


class IndirectRun(Value):
    """Something that a command names without its path: the files of the project that it may be, and the command."""

    # `is_open`: it may also be something else, which is not known. `is_module`: Python would import it.
    paths: tuple[str, ...]
    text: str
    is_open: bool
    is_module: bool = False


def find_indirect_run(command: ShellCommand, words: list[ShellWord]) -> IndirectRun | None:
    name = _get_program_name(words[0])
    text = " ".join(word.raw for word in words[:3])
    if name in _PROJECT_RUNNERS:
        program = next((word.value or "" for word in words[1:] if not word.raw.startswith("-")), "")
        is_plain = name in _PACKAGE_RUNNERS and _PACKAGE_NAME.fullmatch(program) is not None
        return IndirectRun((f"node_modules/.bin/{program}",) if is_plain else (), text, is_open=True)
    python = find_python_run(command, words)
    if python is None or not python.option.endswith("m"):
        return None
    module = python.value
    if not _MODULE_NAME.fullmatch(module):
        return IndirectRun((), text, is_open=True)
    path = module.replace(".", "/")
    return IndirectRun((f"{path}.py", f"{path}/__main__.py"), text, is_open=False, is_module=True)


def _get_program_name(word: ShellWord) -> str:
    return (word.value or word.raw).rpartition("/")[2]


def _read_interpreter(words: list[ShellWord]) -> tuple[str, list[ShellWord]]:
    """Return the name of an interpreter and its words behind its options; ("", []) if the program is not one."""
    name = _get_program_name(words[0]) if words else ""
    for is_named, options, options_with_value in _INTERPRETERS:
        if not is_named(name):
            continue
        rest = words[1:]
        while rest and options:
            if options_with_value and options_with_value.fullmatch(rest[0].raw):
                rest = rest[2:]
            elif options.fullmatch(rest[0].raw):
                rest = rest[1:]
            else:
                break
        return name, rest
    return "", []


def _skip_uv(words: list[ShellWord]) -> list[ShellWord]:
    """Return what `uv run` starts; any other command as it is."""
    if len(words) < 2 or _get_program_name(words[0]) != "uv" or words[1].raw != "run":
        return words
    return list(dropwhile(lambda word: word.raw in _UV_OPTIONS_WITHOUT_VALUE, words[2:]))


def _is_script_path(text: str) -> bool:
    return not text.startswith("-") and ("/" in text or _SCRIPT_NAME.fullmatch(text) is not None)
