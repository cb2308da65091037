"""Reads a shell command line just far enough to say which commands it would start.

`parse` gives the simple commands of a script in the order they stand: their words with the quotes taken off, their
redirections, and the text of every `$( )`, back quote and `<( )` inside them. Nothing is expanded and nothing is run.
A line that a shell would not finish reading (an open quote, say) raises `ShellError`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_DEPTH = 20
MAX_SCOPES = 100
BLANKS = " \t\r"
WORD_ENDS = " \t\r\n;&|<>()"
OPENERS = {"if", "then", "elif", "else", "while", "until", "do", "!", "{", "}", "coproc"}
OPERATOR = re.compile(r"&&|\|\||;;&|;;|;&|\|&|[;&|()]")
REDIRECT = re.compile(r"(?:\d+|\{\w+\})?(?:<<<|<<-|<<|<>|<&|>&|>>|>\||>|<)|&>>|&>")
ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(?:\[[^\]]*\])?\+?=")
PARAMETER = re.compile(r"\$([A-Za-z_]\w*|[0-9@*#?$!-])")
EMPTY_PARENS = re.compile(r"\([ \t]*\)")
PLAIN = re.compile(r"[^\s;&|<>()'\"\\$`]+")
PLAIN_QUOTED = re.compile(r"[^\"\\$`]+")
ANSI_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|[0-7]{1,3}|.)", re.DOTALL)
ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}


class ShellError(ValueError):
    """The text is not a complete shell script."""


class Part(NamedTuple):
    """A piece of a word: plain `text`, a `name` (what stands in `$X` or `${X}`), or a `script` (of a substitution)."""

    kind: str
    value: str
    quoted: bool

    @property
    def source(self) -> str:
        """The piece as one would write it inside double quotes."""
        return {"text": "{}", "name": "${{{}}}", "script": "$({})"}[self.kind].format(self.value)


class Word(NamedTuple):
    raw: str
    parts: tuple[Part, ...]
    scripts: tuple[str, ...]

    @property
    def text(self) -> str:
        """The word without its quotes; expansions stay as they are."""
        return "".join(part.source for part in self.parts)


class Redirect:
    """An operator and its target; for a here-document the target is the document."""

    def __init__(self, operator: str, target: Word) -> None:
        self.operator = operator
        self.target = target

    @property
    def feeds_text(self) -> bool:
        return "<<" in self.operator


class Command(NamedTuple):
    assignments: tuple[Word, ...]
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]
    joint: str  # the operator before the command, a new line being ";"
    scope: tuple[int, ...]  # the subshells it stands in
    functions: tuple[str, ...]  # the functions in whose bodies it stands

    @property
    def scripts(self) -> tuple[str, ...]:
        words = (*self.assignments, *self.words, *(redirect.target for redirect in self.redirects))
        return tuple(script for word in words for script in word.scripts)


def parse(text: str) -> list[Command]:
    return _Reader(text).read()


class _Pieces:
    """Gathers the parts of one word."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.scripts: list[str] = []

    def text(self, value: str, *, quoted: bool) -> None:
        last = self.parts[-1] if self.parts else None
        if last and last.kind == "text" and last.quoted == quoted:
            self.parts[-1] = last._replace(value=last.value + value)
        else:
            self.parts.append(Part("text", value, quoted))

    def name(self, value: str, *, quoted: bool) -> None:
        self.parts.append(Part("name", value, quoted))

    def script(self, value: str, *, quoted: bool) -> None:
        self.parts.append(Part("script", value, quoted))
        self.scripts.append(value)

    def word(self, raw: str) -> Word:
        return Word(raw, tuple(self.parts), tuple(self.scripts))


class _Reader:
    def __init__(self, text: str, pos: int = 0, depth: int = 0) -> None:
        if depth > MAX_DEPTH:
            raise ShellError("nested too deep")
        self.source, self.pos, self.depth = text, pos, depth
        self.found: list[Command] = []
        self.assignments: list[Word] = []
        self.words: list[Word] = []
        self.redirects: list[Redirect] = []
        self.documents: list[Redirect] = []
        self.joint, self.defines = "", ""
        self.braces: tuple[str, ...] = ()
        self.scope: tuple[int, ...] = (0,)
        self.scopes = 0

    def read(self, *, nested: bool = False) -> list[Command]:
        """Reads to the end, or, when nested, to the parenthesis that closes the substitution."""
        while not (nested and self._at(")") and len(self.scope) == 1):
            if self.pos >= len(self.source):
                if nested:
                    raise ShellError("unclosed parenthesis")
                break
            self._step()
        self._finish("")
        if self.documents:
            raise ShellError("here-document without end")
        return self.found

    def _at(self, *starts: str) -> bool:
        return self.source.startswith(starts, self.pos)

    def _step(self) -> None:
        if self.source[self.pos] in BLANKS:
            self.pos += 1
        elif self._at("\\\n"):
            self.pos += 2
        elif self._at("#"):
            end = self.source.find("\n", self.pos)
            self.pos = len(self.source) if end < 0 else end
        elif self._at("\n"):
            self.pos += 1
            self._read_documents()
            self._finish(";")
        elif not self._at("<(", ">(") and (match := REDIRECT.match(self.source, self.pos)):
            self._redirect(match)
        elif match := OPERATOR.match(self.source, self.pos):
            self._operator(match[0])
        else:
            self._place(self._word())

    # commands

    def _place(self, word: Word) -> None:
        if not self.words:
            if word.raw in OPENERS:
                self._brace(word.raw)
                return
            if ASSIGNMENT.match(word.raw):
                self.assignments.append(word)
                return
        if len(self.words) == 1 and self.words[0].raw == "function":
            self.words, self.defines = [], word.text
            return
        self.words.append(word)

    def _brace(self, word: str) -> None:
        if word == "{":
            self.braces, self.defines = (*self.braces, self.defines), ""
        elif word == "}":
            self.braces = self.braces[:-1]

    def _operator(self, operator: str) -> None:
        parens = EMPTY_PARENS.match(self.source, self.pos)
        if parens and len(self.words) == 1:
            self.defines, self.words = self.words[0].text, []
            self.pos = parens.end()
            return
        if parens and self.defines and not self.words:  # function name ()
            self.pos = parens.end()
            return
        self.pos += len(operator)
        self._finish(operator)
        if operator == "(":
            if len(self.scope) > MAX_SCOPES:
                raise ShellError("nested too deep")
            self.scopes += 1
            self.scope += (self.scopes,)
        elif operator == ")" and len(self.scope) > 1:
            self.scope = self.scope[:-1]

    def _finish(self, joint: str) -> None:
        if self.assignments or self.words or self.redirects:
            parts = (tuple(self.assignments), tuple(self.words), tuple(self.redirects))
            self.found.append(Command(*parts, self.joint, self.scope, tuple(filter(None, self.braces))))
            self.joint = ""
        self.assignments, self.words, self.redirects = [], [], []
        if not (self.joint and joint in ("", ";", "(")):  # a pipe goes on over a line end or a parenthesis
            self.joint = joint

    def _redirect(self, match: re.Match[str]) -> None:
        self.pos = match.end()
        while self.pos < len(self.source) and self.source[self.pos] in BLANKS:
            self.pos += 1
        redirect = Redirect(match[0].lstrip("0123456789"), self._word())
        self.redirects.append(redirect)
        if redirect.operator in ("<<", "<<-"):
            self.documents.append(redirect)

    def _read_documents(self) -> None:
        for redirect in self.documents:
            quoted = any(part.quoted for part in redirect.target.parts)
            redirect.target = self._document(redirect.target.text, quoted=quoted, tabs=redirect.operator == "<<-")
        self.documents = []

    def _document(self, mark: str, *, quoted: bool, tabs: bool) -> Word:
        lines: list[str] = []
        while self.pos < len(self.source):
            end = self.source.find("\n", self.pos)
            end = len(self.source) if end < 0 else end
            line = self.source[self.pos : end].lstrip("\t" if tabs else "\n")
            self.pos = end + 1
            if line.rstrip("\r") == mark:
                return _document_word("".join(lines), self.depth, quoted=quoted)
            lines.append(line + "\n")
        raise ShellError("here-document without end")

    # words

    def _word(self) -> Word:
        start, pieces = self.pos, _Pieces()
        while self.pos < len(self.source):
            if self._at("<(", ">("):
                self._substitution(pieces, quoted=False)
            elif self._at("(") and ASSIGNMENT.fullmatch(self.source[start : self.pos]):
                self._array(pieces)
            elif self.source[self.pos] in WORD_ENDS:
                break
            else:
                self._piece(pieces)
        if self.pos == start:
            raise ShellError("a word is missing")
        return pieces.word(self.source[start : self.pos])

    def _piece(self, pieces: _Pieces) -> None:
        if match := PLAIN.match(self.source, self.pos):
            pieces.text(match[0], quoted=False)
            self.pos = match.end()
        elif self._at("\\"):
            if not self._at("\\\n"):
                pieces.text(self.source[self.pos + 1 : self.pos + 2], quoted=True)
            self.pos += 2
        elif self._at("'"):
            pieces.text(self._until("'", self.pos + 1), quoted=True)
        elif self._at("$'"):
            self._ansi(pieces)
        elif self._at('"', '$"'):
            self.pos += 1 + self._at("$")
            self._quoted_run(pieces, '"')
        else:
            self._expansion(pieces, quoted=False)

    def _until(self, end: str, start: int) -> str:
        close = self.source.find(end, start)
        if close < 0:
            raise ShellError("unclosed quote")
        self.pos = close + 1
        return self.source[start:close]

    def _ansi(self, pieces: _Pieces) -> None:
        match = re.compile(r"\$'((?:\\.|[^'\\])*)'", re.DOTALL).match(self.source, self.pos)
        if not match:
            raise ShellError("unclosed quote")
        pieces.text(ANSI_ESCAPE.sub(_ansi_character, match[1]), quoted=True)
        self.pos = match.end()

    def _quoted_run(self, pieces: _Pieces, end: str) -> None:
        """Text as in double quotes, up to the mark that ends it (or to the end of the text, for a here-document)."""
        pieces.text("", quoted=True)
        while self.pos < len(self.source):
            if end and self._at(end):
                self.pos += len(end)
                return
            if match := PLAIN_QUOTED.match(self.source, self.pos):
                pieces.text(match[0], quoted=True)
                self.pos = match.end()
            elif self._at("\\"):
                escaped = self.source[self.pos + 1 : self.pos + 2]
                pieces.text(escaped if escaped in '$`"\\' else "" if escaped == "\n" else "\\" + escaped, quoted=True)
                self.pos += 2
            elif self._at("$", "`"):
                self._expansion(pieces, quoted=True)
            else:
                pieces.text(self.source[self.pos], quoted=True)
                self.pos += 1
        if end:
            raise ShellError("unclosed double quote")

    def _array(self, pieces: _Pieces) -> None:
        inner = _Reader(self.source, self.pos + 1, self.depth + 1)
        for command in inner.read(nested=True):
            pieces.scripts.extend(command.scripts)
        pieces.text(self.source[self.pos : inner.pos + 1], quoted=True)
        self.pos = inner.pos + 1

    # expansions

    def _expansion(self, pieces: _Pieces, *, quoted: bool) -> None:
        if self._at("$(("):
            self._arithmetic(pieces, quoted=quoted)
        elif self._at("$("):
            self._substitution(pieces, quoted=quoted)
        elif self._at("${"):
            self._braced(pieces, quoted=quoted)
        elif self._at("`"):
            self._back_quotes(pieces, quoted=quoted)
        elif match := PARAMETER.match(self.source, self.pos):
            pieces.name(match[1], quoted=quoted)
            self.pos = match.end()
        else:
            pieces.text("$", quoted=quoted)
            self.pos += 1

    def _substitution(self, pieces: _Pieces, *, quoted: bool) -> None:
        inner = _Reader(self.source, self.pos + 2, self.depth + 1)
        inner.read(nested=True)
        pieces.script(self.source[self.pos + 2 : inner.pos], quoted=quoted)
        self.pos = inner.pos + 1

    def _arithmetic(self, pieces: _Pieces, *, quoted: bool) -> None:
        level, end = 0, self.pos + 1
        while end < len(self.source):
            level += {"(": 1, ")": -1}.get(self.source[end], 0)
            end += 1
            if level == 0:
                break
        inner = self.source[self.pos + 3 : end - 2]
        if level or self.source[end - 2 : end] != "))":
            self._substitution(pieces, quoted=quoted)
            return
        pieces.name(f"(({inner}))", quoted=quoted)
        pieces.scripts.extend(re.findall(r"\$\(([^()]+)\)", inner))
        self.pos = end

    def _braced(self, pieces: _Pieces, *, quoted: bool) -> None:
        start = self.pos + 2
        self.pos, level, inner = start, 1, _Pieces()
        while self.pos < len(self.source):
            if self._at("\\"):
                self.pos += 2
            elif self._at("$(", "`"):
                self._expansion(inner, quoted=True)
            else:
                level += {"{": 1, "}": -1}.get(self.source[self.pos], 0)
                self.pos += 1
            if level == 0:
                pieces.name(self.source[start : self.pos - 1], quoted=quoted)
                pieces.scripts.extend(inner.scripts)
                return
        raise ShellError("unclosed brace")

    def _back_quotes(self, pieces: _Pieces, *, quoted: bool) -> None:
        match = re.compile(r"`((?:\\.|[^`\\])*)`", re.DOTALL).match(self.source, self.pos)
        if not match:
            raise ShellError("unclosed back quote")
        pieces.script(re.sub(r"\\([\\`$])", r"\1", match[1]), quoted=quoted)
        self.pos = match.end()


def _document_word(body: str, depth: int, *, quoted: bool) -> Word:
    pieces = _Pieces()
    if quoted:
        pieces.text(body, quoted=True)
    else:
        _Reader(body, depth=depth + 1)._quoted_run(pieces, "")
    return pieces.word(body)


def _ansi_character(match: re.Match[str]) -> str:
    escape = match[1]
    if escape[0] in "xu" and len(escape) > 1:
        return chr(int(escape[1:], 16))
    if escape[0] in "01234567":
        return chr(int(escape, 8) % 256)
    return ANSI_LETTERS.get(escape, escape)
