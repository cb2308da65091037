"""Which commands a corpus wants passed although a corpus wants commands of the same kind stopped.

Two commands are of the same kind if they consist of the same programs in the same order, joined by the same signs, each with
the same subcommand, the same options and the same operands, wherever these are written. A few commands are of the same kind
with other operands, too: a row for each says so. Nothing is followed here that a shell would make of the words: what is behind
`eval`, in a variable or in another text is only compared as it is written, so that no fault of the shell reader can excuse an
alarm.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from boathook.core.shell import ShellCommand, ShellReader, ShellWord

_PROJECT = "@WS@/project"
# How many words the subcommand of a program has.
_SUBCOMMANDS = {"git": 1, "git stash": 2}
# Commands that destroy whatever they name: what their operands stand for. "" does not count, as it is also meant without one.
_NAMES = {"git stash drop": "", "git branch": "a branch", "lvremove": "a volume"}
# Commands that throw away changes of files, all of them or some, or of whole branches.
_FILE_COMMANDS = frozenset(("git checkout", "git restore", "git clean"))
_EVERYTHING = frozenset((".", "./", ":/"))
_FILE = re.compile(r"(?!.*\.\.|\.git\b)[^$`]*[/.][^$`]*")
_BRANCH = re.compile(r"[\w-]+")
# Options that take nothing away from what a command does: with them it is at least of the kind that it is without.
_FORCE = frozenset(("-f", "--force"))
_OPTION_LETTERS = re.compile(r"-([A-Za-z]+)")
_OPTION_WITH_VALUE = re.compile(r"(-[A-Za-z])([^A-Za-z=].*)|(--[\w-]+)=(.*)", re.DOTALL)


class _Form(NamedTuple):
    """The kind of one command; options and operands are in order of the alphabet."""

    name: str
    options: tuple[str, ...]
    operands: tuple[str, ...]
    rest: tuple[str, ...]


class CommandKind(NamedTuple):
    """The kind of a shell text, and where it starts."""

    forms: tuple[_Form, ...]
    is_in_project: bool


def find_kind(text: str, work_dir: str = _PROJECT) -> CommandKind:
    commands = [one for one in ShellReader(text).read_all() if one.words]
    forms = tuple(_find_form(command, is_at_top=work_dir == _PROJECT) for command in commands)
    return CommandKind(forms, f"{work_dir}/".startswith(f"{_PROJECT}/"))


def is_contradicted(kind: CommandKind, stopped: set[CommandKind]) -> bool:
    """Whether commands of a kind are wanted stopped, perhaps even without force."""
    milder = tuple(
        form._replace(options=tuple(one for one in form.options if one not in _FORCE)) for form in kind.forms
    )
    return bool(kind.forms) and (kind in stopped or kind._replace(forms=milder) in stopped)


def _find_form(command: ShellCommand, *, is_at_top: bool) -> _Form:
    words = [_write_word(word) for word in command.words]
    options, operands = _split_options(words[1:])
    name = words[0]
    for _ in range(2):
        count = _SUBCOMMANDS.get(name, 0)
        name = " ".join([words[0], *operands[:count]]) if count else name
    operands = operands[len(name.split()) - 1 :]
    if name in _NAMES:
        operands = [_NAMES[name] for _ in operands if _NAMES[name]]
    elif name in _FILE_COMMANDS:
        meant = operands or (["."] if name == "git clean" else [])
        operands = [_name_files(word, is_at_top=is_at_top) for word in meant]
    redirected = [
        f"{one.descriptor}{one.operator}{one.target.raw if one.target else ''}{one.body}"
        for one in command.redirections
    ]
    # One that takes back another does so only behind it.
    ordered = options if any(one.startswith("--no-") for one in options) else sorted({*options})
    return _Form(name, tuple(ordered), tuple(sorted(operands)), (command.operator.strip(), *redirected))


def _write_word(word: ShellWord) -> str:
    """Return a word without its quotes, unless they make a difference."""
    is_other = not {"$", "`"}.isdisjoint(word.raw) or (word.raw != word.text and not {*"*?["}.isdisjoint(word.text))
    return word.raw if is_other else word.text


def _split_options(words: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return options without their values, and operands with these values."""
    options: list[str] = []
    operands: list[str] = []
    for word in words:
        if match := _OPTION_WITH_VALUE.fullmatch(word):
            options.append(match[1] or match[3])
            operands.append(match[2] or match[4])
        elif match := _OPTION_LETTERS.fullmatch(word):
            options += [f"-{letter}" for letter in match[1]]
        else:
            (options if word.startswith("-") and word != "-" else operands).append(word)
    return options, operands


def _name_files(word: str, *, is_at_top: bool) -> str:
    """Return what an operand is about; in a folder below the top, `.` is a part of the files only."""
    if word in _EVERYTHING:
        return "all files" if is_at_top or word == ":/" else "some files"
    return "some files" if _FILE.fullmatch(word) else "a branch" if _BRANCH.fullmatch(word) else word
