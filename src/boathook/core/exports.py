"""Reading the variables that a shell file exports, as far as that can be done without a shell.

Understood are assignments, behind `export`, `declare -x` or nothing, quoted as shells do, with `$NAME` and `${NAME}` in them.
Whatever else stands there (commands, substitutions) is left alone and named.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SPACE = " \t"
ENDS = "\n;"
PREFIXES = (["export"], ["declare", "-x"], ["typeset", "-x"])
COMMANDS = "`|&<>("


class _Odd(Exception):
    """A statement that needs a shell."""


def read_exports(text: str, around: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Give the variables that a file sets, and the statements that were not understood."""
    found: dict[str, str] = {}
    odd: list[str] = []
    at = 0
    while at < len(text):
        reading = _Statement(text, at, {**around, **found})
        try:
            found |= _assigned(reading.words())
            at = reading.at + 1
        except _Odd:
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            odd.append(text[at:end].strip()[:200])
            at = end + 1
    return found, tuple(odd)


def _assigned(words: list[tuple[str, int]]) -> dict[str, str]:
    """Give the variables of one statement; `int` says how much of a word was bare, so that quotes hide no `=`."""
    plain = [word for word, _ in words]
    for prefix in PREFIXES:
        if plain[: len(prefix)] == prefix:
            words = words[len(prefix) :]
            break
    found: dict[str, str] = {}
    for word, bare in words:
        name, equals, value = word.partition("=")
        if not equals or len(name) >= bare or not name.isidentifier() or not name.isascii():
            raise _Odd
        found[name] = value
    return found


class _Statement:
    """One statement on its way: words until the end of the line."""

    def __init__(self, text: str, at: int, env: Mapping[str, str]) -> None:
        self.text, self.at, self.env = text, at, env

    def words(self) -> list[tuple[str, int]]:
        found: list[tuple[str, int]] = []
        while (char := self._char()) and char not in ENDS:
            if char in SPACE:
                self.at += 1
            elif char == "#":
                self._skip_comment()
            else:
                found.append(self._word())
        return found

    def _char(self) -> str:
        return self.text[self.at : self.at + 1]

    def _skip_comment(self) -> None:
        while (char := self._char()) and char != "\n":
            self.at += 1

    def _word(self) -> tuple[str, int]:
        parts: list[str] = []
        bare = -1
        while (char := self._char()) and char not in SPACE + ENDS:
            if char in "'\"$" and bare < 0:
                bare = sum(map(len, parts))
            if char in COMMANDS:
                raise _Odd
            parts.append(self._part(char))
        length = sum(map(len, parts))
        return "".join(parts), length + 1 if bare < 0 else bare

    def _part(self, char: str) -> str:
        if char == "'":
            return self._single()
        if char == '"':
            return self._double()
        self.at += 1
        if char == "$":
            return self._variable()
        if char == "\\":
            self.at += 1
            return self.text[self.at - 1 : self.at].replace("\n", "")
        return char

    def _single(self) -> str:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise _Odd
        found = self.text[self.at + 1 : end]
        self.at = end + 1
        return found

    def _double(self) -> str:
        parts: list[str] = []
        self.at += 1
        while (char := self._char()) != '"':
            if char in ("", "`"):
                raise _Odd
            self.at += 1
            if char == "$":
                parts.append(self._variable())
            elif char == "\\" and self._char() and self._char() in '$`"\\\n':
                parts.append(self._char().replace("\n", ""))
                self.at += 1
            else:
                parts.append(char)
        self.at += 1
        return "".join(parts)

    def _variable(self) -> str:
        """Give the value of the variable whose name begins here, behind its `$`."""
        if self._char() in ("(", "'", '"') and self._char():
            raise _Odd
        if self._char() == "{":
            end = self.text.find("}", self.at)
            name = self.text[self.at + 1 : end]
            if end < 0 or not name.isidentifier():
                raise _Odd
            self.at = end + 1
            return self.env.get(name, "")
        start = self.at
        while self._char() == "_" or (self._char().isascii() and self._char().isalnum()):
            self.at += 1
        name = self.text[start : self.at]
        return self.env.get(name, "") if name else "$"
