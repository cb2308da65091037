"""Where a shell or an interpreter takes the code from that it runs: one of its words, a file, or its input."""

from __future__ import annotations

import re
from base64 import b64decode

from boathook.core.interpreters import SHELLS, is_interpreter, remove_version
from boathook.core.value import Value
from boathook.shell.arguments import find_option_values, get_program_name, list_operands
from boathook.shell.started_program import Started

CODE_WORD, CODE_FILE, CODE_INPUT, NO_CODE = "word", "file", "input", ""
INPUT_FILES = frozenset(("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"))


class CodeUse(Value):
    """What is run: `text` is the code in a word, or the path of a file; `parameters` are what the code is called with."""

    kind: str
    text: str = ""
    parameters: tuple[str, ...] = ()


class CodeOptions(Value):
    """The options of an interpreter: those with code as their value, those with another value, and those that run nothing."""

    code: str
    values: str = ""
    idle: str = "--help --version"
    subcommands: str = ""


_NODE = CodeOptions(
    "-e --eval -p --print -pe", "-r --require --import --loader -C --conditions", "-c --check --version"
)
_POWERSHELL = CodeOptions(
    "-command -c -encodedcommand -ec -e -enc",
    "-executionpolicy -ep -ex -outputformat -windowstyle -w -workingdirectory -wd -configurationname -version",
    "-help -?",
)
_INTERPRETERS = {
    "python": CodeOptions("-c", "-W -X -Q --check-hash-based-pycs", "--help --version -V"),
    "perl": CodeOptions("-e -E", "-I", "--help --version -v -c"),
    "ruby": CodeOptions("-e", "-I -r -C", "--help --version -v -c"),
    "node": _NODE,
    "nodejs": _NODE,
    "deno": CodeOptions("eval", subcommands="run repl"),
    "bun": CodeOptions("-e --eval -p --print", "-r --preload", subcommands="run"),
    "php": CodeOptions("-r -B -R -E", "-d -c -z", "--help --version -v -i -m -l"),
    "lua": CodeOptions("-e", "-l"),
    "osascript": CodeOptions("-e", "-l -s"),
    "expect": CodeOptions("-c", "-f"),
    "guile": CodeOptions("-c", "-L -l -e"),
    "pwsh": _POWERSHELL,
    "powershell": _POWERSHELL,
}
_OTHER_INTERPRETER = CodeOptions("-e -E --eval --execute")
_SHELL_VALUES = frozenset(("--rcfile", "--init-file", "-C", "--init-command"))
_SHELL_IDLE = frozenset(("--help", "--version", "-D", "--dump-strings", "--dump-po-strings", "--no-execute"))
# Long options that bash also takes with one dash, so that they are no letters.
_SHORT_DASHED = frozenset(
    f"-{name}"
    for name in (
        *(
            "norc",
            "login",
            "noprofile",
            "noediting",
            "posix",
            "rcfile",
            "init-file",
            "restricted",
            "verbose",
            "debugger",
        ),
        *("debug", "dump-strings", "dump-po-strings", "pretty-print", "protected", "wordexp", "help", "version"),
    )
)
# Programs that run the text they read as commands, whatever their words are.
_INPUT_RUNNERS = frozenset(("iex", "invoke-expression", "batch", "newgrp", "tclsh", "wish"))


def find_code_use(words: tuple[str, ...] | list[str]) -> CodeUse:
    """Return what a shell or an interpreter runs; of another program nothing."""
    name, arguments = get_program_name(words), list(words[1:])
    if name in SHELLS:
        return _read_shell(arguments)
    plain = remove_version(name).removesuffix(".exe")
    if not is_interpreter(plain):
        return CodeUse(NO_CODE)
    row = _INTERPRETERS.get(plain, _INTERPRETERS["python"] if "py" in plain else _OTHER_INTERPRETER)
    if row is _POWERSHELL:
        return _read_powershell(arguments)
    return _read_interpreter(arguments, row)


def reads_code_from_stdin(started: Started) -> bool:
    """Whether a program runs what it reads as code, such as `bash`, `sh -s -- x` and `python3 -`; `bash -n` runs nothing."""
    name, arguments = started.name, list(started.words[1:])
    if name in ("source", "."):
        return arguments[:1] != [] and arguments[0] in INPUT_FILES
    if name == "at":
        return not find_option_values(arguments, "-f") and not {"-l", "-c", "-d", "-r"} & set(arguments)
    if name == "crontab":
        return list_operands(arguments) == ["-"]
    if name.lower() in _INPUT_RUNNERS:
        return not list_operands(arguments)
    use = find_code_use(started.words)
    return use.kind == CODE_INPUT or (use.kind == CODE_FILE and use.text in INPUT_FILES)


def _read_shell(arguments: list[str]) -> CodeUse:
    has_text = reads_input = is_idle = False
    at = 0
    while at < len(arguments) and arguments[at][:1] in ("-", "+") and arguments[at] not in ("-", "--"):
        word = f"-{arguments[at]}" if arguments[at] in _SHORT_DASHED else arguments[at]
        letters = word[1:] if not word.startswith("--") else ""
        if word.startswith("--command=") or (word.startswith("-c") and " " in word):
            return CodeUse(CODE_WORD, word.removeprefix("--command=").removeprefix("-c"), tuple(arguments[at + 1 :]))
        if word.startswith("-"):
            has_text = has_text or "c" in letters or word == "--command"
            reads_input = reads_input or "s" in letters
        # `+n` takes back what `-n` says.
        is_idle = (word in _SHELL_IDLE or is_idle or "n" in letters) and not (word[0] == "+" and "n" in letters)
        at += 2 if word in _SHELL_VALUES or letters[-1:] in ("o", "O") else 1
    rest = arguments[at:]
    rest = rest[1:] if rest[:1] in (["-"], ["--"]) else rest
    if is_idle:
        return CodeUse(NO_CODE)
    if has_text:
        return CodeUse(CODE_WORD, rest[0], tuple(rest[1:])) if rest else CodeUse(NO_CODE)
    if reads_input or not rest:
        return CodeUse(CODE_INPUT, "", ("", *rest))
    return CodeUse(CODE_FILE, rest[0], tuple(rest))


def _read_interpreter(arguments: list[str], row: CodeOptions) -> CodeUse:
    code, values, idle = row.code.split(), row.values.split(), row.idle.split()
    letters = "".join(option[1] for option in code if len(option) == 2)
    glued = re.compile(rf"-[A-Za-z0-9]*?[{letters or '-'}](.*)", re.DOTALL)
    if arguments[:1] and arguments[0] in row.subcommands.split():
        arguments = arguments[1:]
    at = 0
    while at < len(arguments):
        word = arguments[at]
        option, sign, value = word.partition("=")
        if word == "-":
            return CodeUse(CODE_INPUT, "", tuple(arguments[at:]))
        if option in code:
            given = value if sign else "".join(arguments[at + 1 : at + 2])
            return CodeUse(CODE_WORD, given, tuple(arguments[at + 1 + (not sign) :]))
        if not word.startswith("-"):
            break
        if word in idle or (word.startswith("-m") and row is _INTERPRETERS["python"]):
            return CodeUse(NO_CODE)
        if word == "--":
            at += 1
            break
        match = glued.fullmatch(word) if not word.startswith("--") else None
        if match:
            given = match[1] or "".join(arguments[at + 1 : at + 2])
            return CodeUse(CODE_WORD, given, tuple(arguments[at + 1 + (not match[1]) :]))
        at += 2 if word in values else 1
    rest = arguments[at:]
    return CodeUse(CODE_FILE, rest[0], tuple(rest)) if rest else CodeUse(CODE_INPUT)


def _read_powershell(arguments: list[str]) -> CodeUse:
    at = 0
    while at < len(arguments):
        word = arguments[at].lower()
        value = "".join(arguments[at + 1 : at + 2])
        if word in ("-encodedcommand", "-ec", "-e", "-enc"):
            return CodeUse(CODE_WORD, _decode_command(value))
        if word in ("-command", "-c"):
            return CodeUse(CODE_INPUT) if value == "-" else CodeUse(CODE_WORD, " ".join(arguments[at + 1 :]))
        if word in ("-file", "-f"):
            return CodeUse(CODE_FILE, value, tuple(arguments[at + 1 :]))
        if word in _POWERSHELL.idle.split():
            return CodeUse(NO_CODE)
        if not word.startswith("-"):
            return CodeUse(CODE_FILE, arguments[at], tuple(arguments[at:]))
        if word == "-":
            return CodeUse(CODE_INPUT)
        at += 2 if word in _POWERSHELL.values.split() else 1
    return CodeUse(CODE_INPUT)


def _decode_command(text: str) -> str:
    """Return the text of `-EncodedCommand`, "" if it is not one."""
    try:
        return b64decode(text).decode("utf-16-le")
    except ValueError:
        return ""
