"""Which commands of settings.json call this engine, as an installed host's do: the engine must not run those."""

from __future__ import annotations

import os
import re
import shlex

from boathook.core.hook import Command

OPERATOR = re.compile(r"[;&|(){}<>\n]+$")
BEFORE = (
    "if",
    "then",
    "else",
    "elif",
    "do",
    "while",
    "until",
    "!",
    "{",
    "exec",
    "command",
    "env",
    "nohup",
    "time",
    "sudo",
)
SHELLS = ("sh", "bash", "zsh", "dash")
PYTHON = re.compile(r"(?:python|pypy)[0-9.]*(?:\.exe)?$")
PROGRAMS = ("boathook", "boathook.exe")
DOOR = "boathook/door.py"
DEEPEST = 4


def calls_us(handler: Command) -> bool:
    """Say whether a command starts `boathook run` or its door."""
    if handler.words is not None:
        return _is_ours([handler.text, *handler.words], 0)
    return text_calls_us(handler.text)


def text_calls_us(text: str) -> bool:
    """Say whether a line or a script for the shell does."""
    return _in_text(text, 0)


def _in_text(text: str, depth: int) -> bool:
    lexer = shlex.shlex(text.replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        words = list(lexer)
    except ValueError:  # an open quote: as it stands
        words = text.split()
    command: list[str] = []
    for word in [*words, ";"]:
        if not OPERATOR.match(word):
            command.append(word)
            continue
        if _is_ours(command, depth):
            return True
        command = []
    return False


def _is_ours(words: list[str], depth: int) -> bool:
    """Say whether one simple command calls us; what a shell is given to run is looked into."""
    while words and (words[0] in BEFORE or re.match(r"[A-Za-z_]\w*=", words[0])):
        words = words[1:]
    if not words:
        return False
    program, rest = os.path.basename(words[0]), words[1:]
    if words[0].endswith(DOOR):
        return True
    if program in PROGRAMS:
        return _first(rest) == "run"
    if program in SHELLS and depth < DEEPEST:
        at = next((n for n, word in enumerate(rest) if re.fullmatch(r"-[a-z]*c", word)), None)
        return at is not None and len(rest) > at + 1 and _in_text(rest[at + 1], depth + 1)
    return _by_python(program, rest)


def _by_python(program: str, rest: list[str]) -> bool:
    if not PYTHON.fullmatch(program):
        return False
    if any(word.endswith(DOOR) for word in rest):
        return True
    at = rest.index("-m") if "-m" in rest else -1
    return 0 <= at < len(rest) - 1 and rest[at + 1] == "boathook" and _first(rest[at + 2 :]) == "run"


def _first(words: list[str]) -> str:
    """Give the first word that is no option."""
    return next((word for word in words if not word.startswith("-")), "")
