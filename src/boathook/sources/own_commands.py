"""Find commands that call boathook itself, as an installed host does: the engine must not run those."""

from __future__ import annotations

import re
from collections.abc import Iterator

from boathook.core.hook import Command
from boathook.core.interpreters import SHELL_NAMES, is_python
from boathook.core.shell import SHELL_KEYWORDS, ShellCommand, ShellReader, get_assigned_name
from boathook.sources.installed_line import HOOK_ENTRY_PATH, parse_command

PROGRAM_NAME = "boathook"
# uvx and pipx take the name with extras and a version
_PROGRAM = re.compile(rf"{PROGRAM_NAME}(?:\.exe)?(?:\[[\w,-]*\])?(?:[@=<>~!].*)?")
_PYTHON_OPTIONS_WITH_VALUE = ("-X", "-W", "--check-hash-based-pycs")
_WITHOUT_QUOTES = str.maketrans({"'": "", '"': "", "`": ";", "(": ";", "{": " "})
_MAX_DEPTH = 4
# Each step of unwrapping copies the rest of the words, and a command that calls us does so near its start.
_MAX_WORDS = 256
_UV_OPTIONS = (
    *("--from", "--with", "--with-editable", "--with-requirements", "-p", "--python", "--package"),
    *("--index", "--default-index", "-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--env-file"),
    *("--cache-dir", "--config-file", "--directory", "--project", "-w", "--extra", "--group"),
)
# Programs that start another program, and those of their options that take a value.
_WRAPPERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("command", "nohup", "time", "setsid", "builtin"), ()),
    "exec": ("-a",),
    "env": ("-u", "--unset", "-C", "--chdir"),
    "sudo": ("-u", "--user", "-g", "--group", "-h", "-p", "-C", "-D", "-R", "-T"),
    "nice": ("-n", "--adjustment"),
    "timeout": ("-k", "--kill-after", "-s", "--signal"),
    "stdbuf": ("-i", "--input", "-o", "--output", "-e", "--error"),
    "uvx": _UV_OPTIONS,
    "uv": _UV_OPTIONS,
    "pipx": ("--spec", "--python", "--index-url", "-i", "--pip-args"),
    **dict.fromkeys(("poetry", "pdm", "hatch", "rye"), ("-C", "-P", "-p", "-e", "--project", "--directory", "--env")),
}
_SUBCOMMANDS = {
    "uv": (("run",), ("tool", "run")),
    **dict.fromkeys(("pipx", "poetry", "pdm", "hatch", "rye"), (("run",),)),
}


def is_own_command(handler: Command) -> bool:
    if handler.words is not None:
        return _are_own_words([handler.text, *handler.words], 0)
    return has_own_command(handler.text)


def is_only_own_command(handler: Command) -> bool:
    """Whether a command that calls boathook does nothing else, like the one that is installed: then it need not run."""
    if handler.words is None and parse_command(handler.text) is not None:
        return True
    words = handler.text.split() if handler.words is None else [handler.text]
    is_script = bool(words) and _get_base_name(words[0]) in (*SHELL_NAMES, "eval")
    return not is_script and not set(handler.text) & set(";&|<>()`$\n")


def has_own_command(text: str, depth: int = 0) -> bool:
    if PROGRAM_NAME not in text or depth > _MAX_DEPTH:
        return False
    return any(_is_own(command, depth) for command in _read_commands(text))


def find_own_path(text: str) -> str:
    """Return the path by which a text names our entry or our program, "" if it names neither by a path."""
    words = [word.text for command in _read_commands(text) for word in command.words]
    # A shell may be given a whole line as one word.
    words = [part for word in words for part in (word, *word.split())]
    entries = [word for word in words if HOOK_ENTRY_PATH.fullmatch(word)]
    programs = [word for word in words if re.search(r"[/\\]", word) and _PROGRAM.fullmatch(_get_base_name(word))]
    return next(iter((*entries, *programs)), "")


def _read_commands(text: str) -> Iterator[ShellCommand]:
    """Read every command of a text; if a quote or bracket in it never ends, read it again without any."""
    text = text.replace("\r", " ")
    reader = ShellReader(text)
    yield from reader.read_all()
    if reader.open_at is not None:
        yield from ShellReader(text.translate(_WITHOUT_QUOTES)).read_all()


def _is_own(command: ShellCommand, depth: int) -> bool:
    words = [word.text for word in command.words]
    if any(PROGRAM_NAME in word for word in words) and _are_own_words(words, depth):
        return True
    scripts = [redirection.body for redirection in command.redirections if PROGRAM_NAME in redirection.body]
    program = _unwrap(words)[:1] if scripts else []
    is_shell = bool(program) and _get_base_name(program[0]) in SHELL_NAMES
    return is_shell and any(has_own_command(script, depth + 1) for script in scripts)


def _are_own_words(words: list[str], depth: int) -> bool:
    """Whether a simple command calls boathook, also by a script that it passes to a shell."""
    words = _unwrap(words)
    if not words:
        return False
    program, arguments = _get_base_name(words[0]), words[1:]
    if HOOK_ENTRY_PATH.fullmatch(words[0]):
        return True
    if _PROGRAM.fullmatch(program):
        return _get_subcommand(arguments) == "run"
    if program == "eval":
        return has_own_command(" ".join(arguments), depth + 1)
    if program in SHELL_NAMES:
        at = next((index for index, word in enumerate(arguments) if re.fullmatch(r"-[a-z]*c", word)), None)
        return at is not None and has_own_command("".join(arguments[at + 1 : at + 2]), depth + 1)
    return is_python(program.removesuffix(".exe")) and _is_own_python_call(arguments)


def _unwrap(words: list[str]) -> list[str]:
    words = words[:_MAX_WORDS]
    while words:
        program = _get_base_name(words[0])
        if words[0] in SHELL_KEYWORDS or get_assigned_name(words[0]):
            words = words[1:]
        elif program in _WRAPPERS:
            words = _remove_wrapper(program, words[1:])
        else:
            break
    return words


def _remove_wrapper(wrapper: str, words: list[str]) -> list[str]:
    """Return the command that a wrapper starts, [] if it does something else."""
    if wrapper == "command" and words[:1] in (["-v"], ["-V"]):
        return []
    words = _remove_options(words, _WRAPPERS[wrapper])
    subcommands = _SUBCOMMANDS.get(wrapper, ((),))
    subcommand = next((each for each in subcommands if tuple(words[: len(each)]) == each), None)
    if subcommand is None:
        return []
    words = _remove_options(words[len(subcommand) :], _WRAPPERS[wrapper])
    return words[1:] if wrapper == "timeout" else words


def _remove_options(words: list[str], options_with_value: tuple[str, ...]) -> list[str]:
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in options_with_value else words[1:]
    return words


def _is_own_python_call(arguments: list[str]) -> bool:
    while arguments and arguments[0].startswith("-") and not re.fullmatch(r"-[A-Za-z]*[cm]", arguments[0]):
        if arguments[0] == f"-m{PROGRAM_NAME}":
            return _get_subcommand(arguments[1:]) == "run"
        arguments = arguments[2:] if arguments[0] in _PYTHON_OPTIONS_WITH_VALUE else arguments[1:]
    if not arguments:
        return False
    if arguments[0].startswith("-"):
        is_module = arguments[0].endswith("m") and arguments[1:2] == [PROGRAM_NAME]
        return is_module and _get_subcommand(arguments[2:]) == "run"
    return bool(HOOK_ENTRY_PATH.fullmatch(arguments[0]))


def _get_base_name(path: str) -> str:
    return re.split(r"[/\\]", path)[-1]


def _get_subcommand(arguments: list[str]) -> str:
    return next((word for word in arguments if not word.startswith("-")), "")
