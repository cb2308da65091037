"""The words that a program is called with: its name, its options and its operands."""

from __future__ import annotations

import re

# A part of a word that cannot be known.
UNKNOWN = "\0"


def get_program_name(words: list[str] | tuple[str, ...]) -> str:
    return words[0].rpartition("/")[2] if words else ""


def make_absolute_path(path: str, folder: str) -> str:
    """Return a path from the root; it begins with `UNKNOWN` if the folder is not known."""
    if path.startswith(("/", UNKNOWN)):
        return path
    return f"{folder or UNKNOWN}/{path}"


def skip_options(arguments: list[str], with_value: str) -> list[str]:
    takes_value = with_value.split()
    at = 0
    while at < len(arguments) and arguments[at].startswith("-") and arguments[at] != "-":
        if arguments[at] == "--":
            return arguments[at + 1 :]
        at += 2 if arguments[at] in takes_value else 1
    return arguments[at:]


def list_operands(arguments: list[str] | tuple[str, ...]) -> list[str]:
    """Return the words that are not options."""
    if "--" in arguments:
        at = arguments.index("--")
        return [*list_operands(arguments[:at]), *arguments[at + 1 :]]
    return [word for word in arguments if word and (word == "-" or not word.startswith("-"))]


def has_option(arguments: list[str], letters: str, *names: str) -> bool:
    """Whether an option is there, by a letter or by its name, which may be cut short."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    pattern = re.compile(rf"-[A-Za-z]*[{letters}][A-Za-z]*") if letters else None
    if pattern and any(pattern.fullmatch(word) for word in options):
        return True
    longs = [word.partition("=")[0] for word in options if len(word) > 4 and word.startswith("--")]
    return any(name.startswith(word) for word in longs for name in names)


def find_option_values(arguments: list[str], *names: str) -> list[str]:
    """Return the values of options, as the next word, behind `=`, or behind a letter."""
    values: list[str] = []
    for at, word in enumerate(arguments):
        name, sign, value = word.partition("=")
        if word in names:
            values += arguments[at + 1 : at + 2]
        elif sign and name in names:
            values.append(value)
        else:
            values += [word[2:] for one in names if len(one) == 2 and word.startswith(one) and len(word) > 2]
    return values
