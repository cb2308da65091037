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
WORD_ENDS = frozenset(SPACE + ENDS)
SPECIAL = frozenset(SPACE + ENDS + COMMANDS + "'\"$\\")
LONGEST_NAME = 1000
MOST_ODD = 1000  # statements that are not understood: then it is no file of variables
ROOM = 64 * 1024  # characters that variables may add: doubling one again and again would fill the memory


class _Odd(Exception):
    """A statement that needs a shell."""


def read_exports(text: str, around: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the variables that a file sets, and the statements that were not understood."""
    found: dict[str, str] = {}
    odd: list[str] = []
    reading = _Reading(text, found, around)
    while reading.at < len(text) and len(odd) < MOST_ODD:
        start = reading.at
        try:
            if words := reading.words():
                found |= _assigned(words)
            reading.at += 1
        except _Odd:
            reading.at = _end_of_line(text, start) + 1
            odd.append(text[start : min(reading.at - 1, start + 1000)].strip()[:200])
    return found, tuple(odd)


def _end_of_line(text: str, at: int) -> int:
    """Find the end of a line, with the lines that continue it behind a backslash."""
    while (end := text.find("\n", at)) > 0 and text[end - 1] == "\\":
        at = end + 1
    return len(text) if end < 0 else end


def _assigned(words: list[tuple[str, int]]) -> dict[str, str]:
    """Return the variables of one statement; `int` says how much of a word was bare, so that quotes hide no `=`."""
    if "=" not in words[0][0]:
        plain = [word for word, _ in words[:2]]
        words = words[next((len(prefix) for prefix in PREFIXES if plain[: len(prefix)] == prefix), 0) :]
    found: dict[str, str] = {}
    for word, bare in words:
        name, equals, value = word.partition("=")
        if not equals or len(name) >= bare or not name.isidentifier() or not name.isascii():
            raise _Odd
        found[name] = value
    return found


class _Reading:
    """A file on its way: where it is read, what was set before, what stands around it, and how much variables may add."""

    def __init__(self, text: str, found: Mapping[str, str], around: Mapping[str, str]) -> None:
        self.text, self.at, self.found, self.around = text, 0, found, around
        self.room = ROOM

    def words(self) -> list[tuple[str, int]]:
        """Read one statement: words until the end of the line."""
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
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end

    def _word(self) -> tuple[str, int]:
        parts: list[str] = []
        bare = -1
        while (char := self.text[self.at : self.at + 1]) and char not in WORD_ENDS:
            if bare < 0 and char in "'\"$":
                bare = sum(map(len, parts))
            parts.append(self._part(char) if char in SPECIAL else self._plain())
        word = "".join(parts)
        return word, len(word) + 1 if bare < 0 else bare

    def _part(self, char: str) -> str:
        """Read what begins with a special character."""
        if char == "'":
            return self._single()
        if char == '"':
            return self._double()
        if char in COMMANDS:
            raise _Odd
        self.at += 1
        if char == "$":
            return self._variable()
        self.at += 1  # what a backslash protects
        return self.text[self.at - 1 : self.at].replace("\n", "")

    def _plain(self) -> str:
        """Read on as far as nothing special comes."""
        text, start, end = self.text, self.at, len(self.text)
        at = start
        while at < end and text[at] not in SPECIAL:
            at += 1
        self.at = at
        return text[start:at]

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
        """Return the value of the variable whose name begins here, behind its `$`."""
        char = self.text[self.at : self.at + 1]
        if char in SPECIAL and char in "('\"":
            raise _Odd
        if char == "{":
            end = self.text.find("}", self.at, self.at + LONGEST_NAME)
            name = self.text[self.at + 1 : end]
            if end < 0 or not name.isidentifier():
                raise _Odd
            self.at = end + 1
            return self._value(name)
        start = self.at
        while char == "_" or (char.isascii() and char.isalnum()):
            self.at += 1
            char = self.text[self.at : self.at + 1]
        name = self.text[start : self.at]
        return self._value(name) if name else "$"

    def _value(self, name: str) -> str:
        value = self.found.get(name)
        value = self.around.get(name, "") if value is None else value
        self.room -= len(value)
        if self.room < 0:
            raise _Odd
        return value
