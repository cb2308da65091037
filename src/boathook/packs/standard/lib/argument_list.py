"""The arguments of a program, split into options with their values, operands, and what is behind `--`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from boathook.shell.arguments import UNKNOWN

# What makes any program print something and do nothing.
_HELP = ("--help", "--longhelp", "--version", "--usage")
_DRY_RUNS = ("--dry-run", "--dryrun", "--no-act", "--simulate", "--just-print", "--what-if", "--whatif", "--noop")
# `--dry-run=none` and `--force=false` are as if the option was not there.
_SWITCHED_OFF = frozenset(("none", "false", "no"))


class Option(NamedTuple):
    """An option: its name with its dashes, and its value, "" if it has none."""

    name: str
    value: str = ""


class ArgumentList:
    """What a program is called with. `operands` are all words that are not options; those behind `--` are also in `behind`."""

    def __init__(self, words: Iterable[str], with_value: str = "", *, has_long_dash: bool = False) -> None:
        # `with_value` names the options whose value is the next word; `has_long_dash` is for programs that write long options
        # with one dash, as in `-auto-approve`.
        self.options: list[Option] = []
        self.operands: list[str] = []
        self.behind: list[str] = []
        # Operands that may be the value of the option before them.
        self.uncertain: set[int] = set()
        self._with_value = frozenset(with_value.split())
        self._has_long_dash = has_long_dash
        self._read(list(words))

    def _read(self, words: list[str]) -> None:
        at = 0
        may_be_value = False
        while at < len(words):
            word = words[at]
            at += 1
            if word == "--":
                self.behind = words[at:]
                self.operands += self.behind
                return
            if word == "-" or not word.startswith("-"):
                if may_be_value:
                    self.uncertain.add(len(self.operands))
                self.operands.append(word)
                may_be_value = False
                continue
            options = list(self._split(word))
            last = options[-1]
            may_be_value = "=" not in word
            if not last.value and last.name in self._with_value and at < len(words) and "=" not in word:
                options[-1] = Option(last.name, words[at])
                at += 1
                may_be_value = False
            self.options += options
            # Some programs have long options with one dash.
            if len(options) > 1:
                self.options.append(Option(word))

    def _split(self, word: str) -> Iterator[Option]:
        if word.startswith("--") or self._has_long_dash:
            name, _, value = word.partition("=")
            yield Option(name, value)
            return
        for at, letter in enumerate(word[1:], start=2):
            name = f"-{letter}"
            if name in self._with_value and at < len(word):
                yield Option(name, word[at:].removeprefix("="))
                return
            yield Option(name)

    def has(self, *names: str) -> bool:
        """Whether one of some options is there and is not switched off by a later `--no-…`."""
        is_there = False
        for option in self.options:
            if self._is_named(option.name, names) and option.value not in _SWITCHED_OFF:
                is_there = True
            elif option.name.startswith("--no-") and f"--{option.name[5:]}" in names:
                is_there = False
        return is_there

    def get(self, *names: str) -> list[str]:
        """Return the values of options."""
        return [option.value for option in self.options if self._is_named(option.name, names)]

    def _is_named(self, option: str, names: Iterable[str]) -> bool:
        # Long names may be cut short.
        is_long = option.startswith("--") and len(option) > 2
        return option in names or (is_long and any(name.startswith(option) for name in names))

    @property
    def is_harmless(self) -> bool:
        """Whether the program would only explain itself, or say what it would do."""
        return any(option.name in _HELP and not option.value for option in self.options) or any(
            option.name in _DRY_RUNS and option.value not in _SWITCHED_OFF for option in self.options
        )

    @property
    def has_unknown_operand(self) -> bool:
        return any(UNKNOWN in word for word in self.operands)

    def match_words(self, pattern: str) -> bool:
        """Whether the operands begin with some words: `volume rm|remove` is `volume`, then `rm` or `remove`; `*` is any."""
        at = 0
        for choices in pattern.split():
            while at < len(self.operands) and not _is_choice(self.operands[at], choices):
                if at not in self.uncertain:
                    return False
                at += 1
            if at >= len(self.operands):
                return False
            at += 1
        return True


def _is_choice(word: str, choices: str) -> bool:
    return choices == "*" or word in choices.split("|")
