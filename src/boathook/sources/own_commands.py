"""Which commands of settings.json call this engine, as an installed host's do: the engine must not run those."""

from __future__ import annotations

import re

from boathook.core.hook import Command

NAME = "boathook"
TOKEN = re.compile(r"""[();<>|&`]+|(?:[^ \t\r\n'"\\();<>|&`]|\\.|'[^']*'|"(?:[^"\\]|\\.)*+"|['"\\])++""", re.DOTALL)
QUOTED = re.compile(r"""'([^']*)'|"((?:[^"\\]|\\.)*+)"|\\(.)""", re.DOTALL)
OPERATOR = re.compile(r"[;&|(){}<>`\n]+$")
REDIRECT = re.compile(r"&?[<>][<>&|]*$")
INSIDE = re.compile(r"\$\(|`")
COMMENT = re.compile(r"(?m)^[ \t]*#.*$")
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
BEFORE = ("if", "then", "else", "elif", "do", "while", "until", "!", "{")
OF_UV = (
    *("--from", "--with", "--with-editable", "--with-requirements", "-p", "--python", "--package"),
    *("--index", "--default-index", "-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--env-file"),
    *("--cache-dir", "--config-file", "--directory", "--project", "-w", "--extra", "--group"),
)
WRAPPERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("command", "nohup", "time", "setsid", "builtin"), ()),
    "exec": ("-a",),
    "env": ("-u", "--unset", "-C", "--chdir"),
    "sudo": ("-u", "--user", "-g", "--group", "-h", "-p", "-C", "-D", "-R", "-T"),
    "nice": ("-n", "--adjustment"),
    "timeout": ("-k", "--kill-after", "-s", "--signal"),
    "stdbuf": ("-i", "--input", "-o", "--output", "-e", "--error"),
    "uvx": OF_UV,
    "uv": OF_UV,
    "pipx": ("--spec", "--python", "--index-url", "-i", "--pip-args"),
    **dict.fromkeys(("poetry", "pdm", "hatch", "rye"), ("-C", "-P", "-p", "-e", "--project", "--directory", "--env")),
}  # programs that start another, and their options that take a word
STEPS = {"uv": (("run",), ("tool", "run")), **dict.fromkeys(("pipx", "poetry", "pdm", "hatch", "rye"), (("run",),))}
SHELLS = ("sh", "bash", "zsh", "dash", "ksh")
PYTHON = re.compile(r"(?:python|pypy)[0-9.]*w?(?:\.exe)?")
PYTHON_VALUES = ("-X", "-W", "--check-hash-based-pycs")
PROGRAM = re.compile(rf"{NAME}(?:\.exe)?(?:\[[\w,-]*\])?(?:[@=<>~!].*)?")  # of uvx and pipx with its extras and version
DOOR = re.compile(rf"(?:.*[/\\])?{NAME}[/\\]entry[/\\]hook_entry\.py", re.DOTALL)
DEEPEST = 4
MOST_WORDS = 256  # of a command; who calls us says so at its start


def calls_us(handler: Command) -> bool:
    """Whether a command starts `boathook run` or its door."""
    if handler.words is not None:
        return _is_ours([handler.text, *handler.words], 0)
    return text_calls_us(handler.text)


def does_nothing_else(handler: Command) -> bool:
    """Whether a command that calls us is that call alone, as it is installed: then nothing of it is missed."""
    words = handler.text.split() if handler.words is None else [handler.text]
    is_one = not words or _base(words[0]) not in (*SHELLS, "eval")
    return is_one and not set(handler.text) & set(";&|<>()`$\n")


def text_calls_us(text: str) -> bool:
    """Whether a line or a script for the shell does."""
    return _in_text(text, 0)


def named(text: str) -> str:
    """Return the path by which a text names our door or program, nothing if it names none by its path."""
    words = [part for word in _words(text) for part in (word, *word.split())]  # a shell may be given a whole line
    doors = [word for word in words if DOOR.fullmatch(word)]
    programs = [word for word in words if re.search(r"[/\\]", word) and PROGRAM.fullmatch(_base(word))]
    return next(iter((*doors, *programs)), "")


def _in_text(text: str, depth: int) -> bool:
    if NAME not in text or depth > DEEPEST:
        return False
    command: list[str] = []
    skip = False
    for word in (*_words(COMMENT.sub("", text.replace("\\\n", " "))), ";"):
        if skip and not OPERATOR.match(word):  # where a redirection leads
            skip = False
        elif REDIRECT.match(word):
            skip = True
            command = [] if len(command) == 1 and command[0].isdigit() else command
        elif OPERATOR.match(word):
            if _is_ours(command, depth):
                return True
            command, skip = [], False
        else:
            command.append(word)
        if any(_in_text(part, depth + 1) for part in INSIDE.split(word)[1:]):
            return True
    return False


def _words(text: str) -> list[str]:
    """Return the words and operators of a text; of one with an open quote, line by line as far as that goes."""
    if not re.search(r"['\"\\]", QUOTED.sub("", text)):
        return [_unquoted(word) for word in TOKEN.findall(text.replace("\n", " ; "))]
    if "\n" in text:
        return [word for line in text.split("\n") for word in (*_words(line), ";")]
    return [word for part in re.split(r"([;&|()<>`]+)", text) for word in part.replace("'", "").split()]


def _unquoted(word: str) -> str:
    """Take the quotes off a word, as a shell does."""
    return QUOTED.sub(_inside, word) if any(mark in word for mark in "'\"\\") else word


def _inside(found: re.Match[str]) -> str:
    single, double, escaped = found.groups()
    return re.sub(r'\\(["\\])', r"\1", double) if double is not None else single or escaped or ""


def _is_ours(words: list[str], depth: int) -> bool:
    """Whether one simple command calls us; what a shell is given to run is looked into."""
    words = _unwrapped(words)
    if not words:
        return False
    program, rest = _base(words[0]), words[1:]
    if DOOR.fullmatch(words[0]):
        return True
    if PROGRAM.fullmatch(program):
        return _first(rest) == "run"
    if program == "eval":
        return _in_text(" ".join(rest), depth + 1)
    if program in SHELLS:
        at = next((n for n, word in enumerate(rest) if re.fullmatch(r"-[a-z]*c", word)), None)
        return at is not None and len(rest) > at + 1 and _in_text(rest[at + 1], depth + 1)
    return bool(PYTHON.fullmatch(program)) and _by_python(rest)


def _unwrapped(words: list[str]) -> list[str]:
    """Take off what stands before the program itself: words of the shell, variables, programs that start another."""
    words = words[:MOST_WORDS]  # each step copies the rest
    while words:
        program = _base(words[0])
        if words[0] in BEFORE or ASSIGNMENT.match(words[0]):
            words = words[1:]
        elif program in WRAPPERS:
            words = _wrapped(program, words[1:])
        else:
            break
    return words


def _wrapped(wrapper: str, words: list[str]) -> list[str]:
    """Return the command that a wrapper starts, nothing if it does something else."""
    if wrapper == "command" and words[:1] in (["-v"], ["-V"]):
        return []
    words = _without_options(words, WRAPPERS[wrapper])
    step = next((step for step in STEPS.get(wrapper, ((),)) if tuple(words[: len(step)]) == step), None)
    if step is None:
        return []
    words = _without_options(words[len(step) :], WRAPPERS[wrapper])
    return words[1:] if wrapper == "timeout" else words


def _without_options(words: list[str], valued: tuple[str, ...]) -> list[str]:
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in valued else words[1:]
    return words


def _by_python(words: list[str]) -> bool:
    """Whether Python is given the door or the module, whatever options stand before."""
    while words and words[0].startswith("-") and not re.fullmatch(r"-[A-Za-z]*[cm]", words[0]):
        if words[0] == f"-m{NAME}":
            return _first(words[1:]) == "run"
        words = words[2:] if words[0] in PYTHON_VALUES else words[1:]
    if not words:
        return False
    if words[0].startswith("-"):
        return words[0].endswith("m") and words[1:2] == [NAME] and _first(words[2:]) == "run"
    return bool(DOOR.fullmatch(words[0]))


def _base(path: str) -> str:
    return re.split(r"[/\\]", path)[-1]


def _first(words: list[str]) -> str:
    """Return the first word that is no option."""
    return next((word for word in words if not word.startswith("-")), "")
