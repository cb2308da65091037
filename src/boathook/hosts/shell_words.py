"""A shell's command that a host sends as a list of words: one text for hooks, and a list again for the host."""

from boathook.core.interpreters import SHELL_NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeGuard

# A shell elsewhere may be a program of the project that has its name.
_FOLDERS_OF_SHELLS = ("", "/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/", "/run/current-system/sw/bin/")
# No letters of options that bash also takes by their names, such as `-norc`, behind which there is the name of a file.
_FLAG_LETTERS = frozenset("cefiluvx")
_PLAIN_CHARS = "@%+=:,./-_"


def is_word_list(value: "Any") -> "TypeGuard[list[str]]":
    words: list[Any] = value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]
    return bool(words) and all(isinstance(word, str) for word in words)


def join_command(words: "Sequence[str]") -> str:
    """Return the command line: what a shell is given to run, else the words as a shell would quote them."""
    return words[-1] if _is_shell_call(words) else " ".join(map(_quote_word, words))


def replace_command(words: "Sequence[str]", text: str) -> "list[str]":
    """Return words that run another command line, with the shell that was meant."""
    return [*words[:-1], text] if _is_shell_call(words) else ["bash", "-lc", text]


def _is_shell_call(words: "Sequence[str]") -> bool:
    program, *flags = words[:-1] or ("",)
    name = program.rpartition("/")[2]
    is_shell = name in SHELL_NAMES and program.removesuffix(name) in _FOLDERS_OF_SHELLS
    return is_shell and bool(flags) and all(map(_is_flag, flags)) and flags[-1].endswith("c")


def _is_flag(word: str) -> bool:
    return word.startswith("-") and len(word) > 1 and _FLAG_LETTERS.issuperset(word[1:])


def _quote_word(word: str) -> str:
    is_plain = word and all((char.isalnum() and char.isascii()) or char in _PLAIN_CHARS for char in word)
    return word if is_plain else "'" + word.replace("'", "'\"'\"'") + "'"
