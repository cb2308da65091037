"""Scripts and shell lines, read as far as a checker needs; whatever is not plainly understood is left alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice

from boathook.core.value import Value
from boathook.system.files import FileError, read_regular

SCRIPT_LIMIT = 1 << 20
FAILS_WITH_1 = re.compile(r"(?m)^(?:[^#'\"\n]*[;&|{(\s])?(?:exit 1\b|(?:sys\.|process\.|os\._)?exit\(1\))")
SAYS_WHY = re.compile(r">&2|stderr|console\.error")
BLOCKS = re.compile(r"\bexit 2\b|\bexit\(2\)|process\.exit\(2\)|\bexit \$|deny|\"block\"|'block'|return 2\b")
TROUBLE = re.compile(
    r"\b(?:except|catch|rescue|which|[Uu]sage)\b|\bcommand -v\b"
)  # an exit 1 that is an honest failure
QUOTED = re.compile(r"'[^']*(?:'|\Z)|\"(?:\\.|[^\"\\])*+(?:\"|\\?\Z)", re.DOTALL)  # an open quote goes to the end
MOST_EXITS = 100
LONGEST_LINE = 8192  # characters of a line that is taken apart

NAME = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))", re.ASCII)
REDIRECT = re.compile(r"&?>>?[&|]?|<[&>]?")
BLANK, ENDS, GLOBS = " \t", "\n;|&()<>", "*?[]{}"
SEPARATORS = "\n;|&()"
KEYWORDS = ("if", "then", "else", "elif", "while", "until", "do", "{", "!", "time")

OF_THE_SHELL = frozenset(
    (
        *("if", "then", "else", "elif", "fi", "case", "esac", "for", "select", "while", "until", "do"),
        *("done", "in", "function", "{", "}", "!", "[", "[[", "]]", ":", ".", "alias", "bg", "bind"),
        *("break", "builtin", "caller", "cd", "compgen", "complete", "compopt", "continue", "coproc"),
        *("declare", "dirs", "disown", "echo", "enable", "eval", "exit", "export", "false", "fc", "fg"),
        *("getopts", "hash", "help", "history", "jobs", "kill", "let", "local", "logout", "mapfile"),
        *("popd", "printf", "pushd", "pwd", "read", "readarray", "readonly", "return", "set", "shift"),
        *("shopt", "source", "suspend", "test", "times", "trap", "true", "type", "typeset", "ulimit"),
        *("umask", "unalias", "unset", "wait"),
    )
)
BEFORE_A_COMMAND = ("exec", "command", "nohup", "time", "env")
ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=", re.ASCII)
DURATION = re.compile(r"\d+[smhd]?")
SHELLS = re.compile(r"ba?sh|dash|zsh|ksh")
READERS = (
    (re.compile(r"(?:python|pypy)[\d.]*"), re.compile(r"-[BEIOPSbqsu]+")),
    (SHELLS, re.compile(r"-[efluvx]+")),
    (re.compile(r"node|bun|tsx|ts-node|ruby|perl|php|lua[\d.]*"), None),
)  # programs that read a script, and their flags that take no value
UV_FLAGS = ("--script", "-s", "--quiet", "-q", "--no-project", "--isolated", "--frozen", "--locked")
SCRIPT_NAME = re.compile(r".+\.(?:sh|bash|zsh|py|js|mjs|cjs|ts|mts|rb|pl|php|lua)")


def script_text(path: str) -> str:
    """Return the text of a script; nothing if it is none or cannot be read."""
    try:
        data = read_regular(path, SCRIPT_LIMIT)
    except FileError:
        return ""
    return "" if b"\0" in data[:1024] else data.decode("utf-8", "replace")


def means_to_block_with_1(text: str) -> int | None:
    """Return the line of an `exit 1` that gives a reason first, in a script that never blocks the right way."""
    if BLOCKS.search(text):
        return None
    lines = text.splitlines()
    for found in islice(FAILS_WITH_1.finditer(text), MOST_EXITS):
        at = text.count("\n", 0, found.end())
        before = "\n".join(lines[max(at - 3, 0) : at + 1])
        if SAYS_WHY.search(before) and not TROUBLE.search(before):
            return at + 1
    return None


def line_means_to_block_with_1(text: str) -> bool:
    """Report the same of a line for the shell, where words in quotes are told apart from commands."""
    plain = text.replace('\\"', '"')
    return not BLOCKS.search(plain) and means_to_block_with_1(QUOTED.sub("_", text)) is not None


class Word(Value):
    """A word of a shell line: as written, and what it comes to (None if that is not known before it runs).

    `first` is the variable it begins with outside of quotes, if any: there its value is split at spaces. `at` is its place.
    """

    raw: str
    value: str | None
    first: str = ""
    at: int = 0


class _Unclear(Exception):
    """The rest of the line is beyond this reader."""


def first_pipeline(text: str, known: Mapping[str, str]) -> list[list[Word]]:
    """Return the words of the commands that a line runs first, joined by `|`, up to what is beyond this reader.

    `known` are values of variables. A list of words may end early; the words it has are right.
    """
    return _Line(text, known).commands()


def all_commands(text: str, known: Mapping[str, str]) -> tuple[list[list[Word]], str]:
    """Return the words of every command of a line, one after the other, and the rest of it that is beyond this reader."""
    line, found = _Line(text, known, whole=True), []
    while line.at < len(text):
        before = line.at
        found += line.commands()
        if line.unclear:
            break
        ended = text[line.at : line.at + 1] in tuple(SEPARATORS)
        line.at += 1 if ended or line.at == before else 0
    return [rest for words in found if (rest := _behind_keywords(words))], text[line.at :] if line.unclear else ""


def _behind_keywords(words: list[Word]) -> list[Word]:
    at = 0
    while at < len(words) and words[at].raw in KEYWORDS:
        at += 1
    return words[at:]


class _Line:
    """A shell line on its way: where it is read."""

    def __init__(self, text: str, known: Mapping[str, str], *, whole: bool = False) -> None:
        self.text, self.known, self.at, self.whole = text, known, 0, whole
        self.unclear = False

    def commands(self) -> list[list[Word]]:
        found: list[list[Word]] = [[]]
        try:
            while self._more(found):
                pass
        except _Unclear:
            self.unclear = True
        return [words for words in found if words]

    def _more(self, found: list[list[Word]]) -> bool:
        """Read one thing of the line; say whether more of the pipeline may follow."""
        if self.at > LONGEST_LINE:
            raise _Unclear
        char, two = self._char(), self.text[self.at : self.at + 2]
        if char in BLANK and char:
            self.at += 1
        elif two == "\\\n":
            self.at += 2
        elif char == "#":
            self.at = (self.text + "\n").find("\n", self.at)
        elif char == "\n" and not found[-1]:
            self.at += 1
        elif char == "|" and two != "||":
            self.at += 2 if two == "|&" else 1
            found.append([])
        elif char in ("<", ">") or two == "&>":
            self._redirect()
        elif char in ("(", ")") and not self.whole:
            found.pop()  # a subshell, a function or an array: what stands before it is no command
            return False
        elif char in ENDS:  # the end of the text as well
            return False
        else:
            word = self._word()
            if not (word.raw.isdigit() and self._char() in ("<", ">")):  # else it names what is redirected
                found[-1].append(word)
        return True

    def _char(self) -> str:
        return self.text[self.at : self.at + 1]

    def _redirect(self) -> None:
        found = REDIRECT.match(self.text, self.at)
        if found is None or self.text.startswith(("<<", "<(", ">("), self.at):
            raise _Unclear
        self.at = found.end()
        while self._char() and self._char() in BLANK:
            self.at += 1
        self._word()

    def _word(self) -> Word:
        start, first = self.at, ""
        parts: list[str | None] = []
        while (char := self._char()) and char not in BLANK + ENDS:
            if char == "$" and not parts:
                first = self._name()
            parts.append(self._part(char, at_start=not parts))
        if start == self.at:
            raise _Unclear
        return Word(self.text[start : self.at], _joined(parts), first, start)

    def _part(self, char: str, *, at_start: bool) -> str | None:
        """Read a piece of a word; return what it comes to."""
        if char == "'":
            return self._until_quote()
        if char == '"':
            return self._double()
        if char == "$":
            return self._variable()
        if char == "`":
            raise _Unclear
        self.at += 1
        if char == "\\":
            self.at += 1
            return self.text[self.at - 1 : self.at].replace("\n", "")
        if char == "~" and at_start:
            return self.known.get("HOME") if self._char() in ("", "/", *BLANK, *ENDS) else None
        return None if char in GLOBS else char

    def _until_quote(self) -> str:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise _Unclear
        inner, self.at = self.text[self.at + 1 : end], end + 1
        return inner

    def _double(self) -> str | None:
        self.at += 1
        parts: list[str | None] = []
        while (char := self._char()) != '"':
            if char in ("", "`"):
                raise _Unclear
            if char == "$":
                parts.append(self._variable())
                continue
            escaped = char == "\\" and self.text[self.at + 1 : self.at + 2] in ("$", "`", '"', "\\", "\n")
            self.at += 2 if escaped else 1
            parts.append(self.text[self.at - 1].replace("\n", "") if escaped else char)
        self.at += 1
        return _joined(parts)

    def _name(self) -> str:
        found = NAME.match(self.text, self.at)
        return (found.group(1) or found.group(2)) if found else ""

    def _variable(self) -> str | None:
        found = NAME.match(self.text, self.at)
        if found:
            self.at = found.end()
            return self.known.get(found.group(1) or found.group(2))
        after = self.text[self.at + 1 : self.at + 2]
        if after in ("(", "{", "'", '"'):
            raise _Unclear
        special = after.isdigit() or after in tuple("@*#?$!-")
        self.at += 2 if special else 1
        return None if special else "$"


def _joined(parts: list[str | None]) -> str | None:
    return None if None in parts else "".join(part for part in parts if part is not None)


class Named(Value):
    """A file that a command runs: the word that names it, and the program that reads it (nothing if it is run itself)."""

    word: Word
    by: str = ""


def without_prefix(words: list[Word]) -> list[Word]:
    """Leave out what may stand before a command; nothing is left if that is not understood or changes the PATH."""
    while words and (count := _prefix(words)):
        words = words[count:]
    return words


def _prefix(words: list[Word]) -> int:
    first, second = words[0].raw, words[1].raw if len(words) > 1 else ""
    if assigned := ASSIGNMENT.match(first):
        return len(words) if assigned.group(1) == "PATH" else 1
    if first in BEFORE_A_COMMAND:
        return len(words) if second.startswith("-") else 1
    return 2 if first == "timeout" and DURATION.fullmatch(second) else 0


def files_in(words: list[Word]) -> list[Named]:
    """Return the program of a command if it is named by its path, and the script that it is to read."""
    program = words[0]
    found = [Named(program)] if "/" in (program.value or "") else []
    name = (program.value or program.raw).rpartition("/")[2]
    script = _script_for(name, words[1:])
    return [*found, Named(script, name)] if script else found


def _script_for(name: str, words: list[Word]) -> Word | None:
    if name == "uv" and words and words[0].raw == "run":
        rest = [word for word in words[1:] if word.raw not in UV_FLAGS]
        return rest[0] if rest and (rest[0].value or "").endswith(".py") else None
    for names, flags in READERS:
        if names.fullmatch(name):
            while words and flags and flags.fullmatch(words[0].raw):
                words = words[1:]
            return words[0] if words and _is_file(words[0].value or "") else None
    return None


def _is_file(text: str) -> bool:
    return not text.startswith("-") and ("/" in text or SCRIPT_NAME.fullmatch(text) is not None)
