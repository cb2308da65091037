"""Read shell commands without running a shell: words, quotes, variables, redirections, here-documents, substitutions."""

# A strict reader stops at the first thing whose meaning only a shell can know; what it returned before is exactly what a shell
# would run. A tolerant one (the default) reads everything that may run, including the commands in substitutions (`nested`);
# where the text is malformed it goes on, and `open_at` is the place of the quote or bracket that never ends. Both take linear
# time and never raise.

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SHELL_KEYWORDS = ("if", "then", "else", "elif", "while", "until", "do", "{", "!", "time")
MAX_NESTING = 8

_BLANKS = (" ", "\t")
_FILLERS = ("", " ", "\t", "\n", "#", "\\")
_LONG_OPERATORS = (";;", ";&", "&&", "||", "|&")
_REDIRECTIONS = ("&>>", "&>", "<<<", "<<-", "<<", "<&", "<>", "<", ">>", ">&", ">|", ">")
_REDIRECTION_STARTS = ("<", ">", "&")
_PROCESS_SUBSTITUTIONS = ("<(", ">(")
_PARAMETERS = frozenset("0123456789@*#?$!-")
_WORD_ENDS = frozenset(" \t\n;|&()<>")
_WORD_OR_TEXT_ENDS = _WORD_ENDS | {""}
# Behind a word, `<(` and `>(` belong to it.
_PLAIN_WORD_ENDS = _WORD_ENDS - {"<", ">"}
_NAME_CHARS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
_SPECIAL = _WORD_ENDS | frozenset("'\"$`\\~*?[]{}")
_SPECIAL_IN_DOUBLE = frozenset('"$`\\')
_SPECIAL_IN_BRACES = frozenset("}'\"$`\\")
_ESCAPED_IN_DOUBLE = frozenset('$`"\\\n')
# What `$'…'` writes for one character, and how many digits may follow where the character is a number.
_PLAIN_ESCAPES = {
    **dict(zip("abeEfnrtv", "\a\b\x1b\x1b\f\n\r\t\v", strict=True)),
    **{char: char for char in "\\'\"?"},
}
_NUMBER_ESCAPES = {"x": 2, "u": 4, "U": 8}
_OCTAL_DIGITS, _HEX_DIGITS = frozenset("01234567"), frozenset("0123456789abcdefABCDEF")


class _Unclear(Exception):
    """A strict reader has come to something that only a shell can know."""


class ShellWord:
    """A word of a command, with its place in the text."""

    # `text` is the word without its quotes. Parts that are not known before it runs are in it as written, and `is_known` is
    # False. `leading_variable` is the variable that it begins with outside of quotes: a shell splits its value at blanks.
    is_known = True
    leading_variable = ""

    def __init__(self, raw: str, text: str, start: int = 0) -> None:
        self.raw, self.text, self.start = raw, text, start

    def __repr__(self) -> str:
        return f"ShellWord({self.raw!r}, {self.value!r}, {self.start})"

    @property
    def value(self) -> str | None:
        """Return what a shell makes of the word; None if that is not known before it runs."""
        return self.text if self.is_known else None


class ShellRedirection:
    """A redirection: `2>&1` has the descriptor "2", the operator ">&" and the target "1"; a here-document has a `body`."""

    body = ""

    def __init__(self, descriptor: str, operator: str, target: ShellWord | None) -> None:
        self.descriptor, self.operator, self.target = descriptor, operator, target


class ShellCommand:
    """A simple command: its words and redirections, and the operator that ends it ("" at the end of the text)."""

    operator = ""
    # False if a strict reader stopped within this command; the words before that place are right.
    is_clear = True

    def __init__(self, start: int) -> None:
        self.start = start
        self.words: list[ShellWord] = []
        self.redirections: list[ShellRedirection] = []


def get_assigned_name(text: str) -> str:
    name = text[: max(text.find("="), 0)].removesuffix("+")
    return name if name.isascii() and name.isidentifier() else ""


def decode_escapes(text: str) -> str:
    """Return what a shell makes of the inside of `$'…'`."""
    parts = text.split("\\")
    decoded, at = [parts[0]], 1
    while at < len(parts):
        part = parts[at]
        # An escaped backslash leaves an empty part.
        if not part:
            decoded.append("\\" + (parts[at + 1] if at + 1 < len(parts) else ""))
            at += 2
            continue
        decoded.append(_decode_escape(part))
        at += 1
    return "".join(decoded)


def _decode_escape(part: str) -> str:
    first = part[0]
    if first in _PLAIN_ESCAPES:
        return _PLAIN_ESCAPES[first] + part[1:]
    if first in _OCTAL_DIGITS:
        end = _count_digits(part, 0, 3, _OCTAL_DIGITS)
        return chr(int(part[:end], 8) & 0xFF) + part[end:]
    digits_end = _count_digits(part, 1, 1 + _NUMBER_ESCAPES.get(first, 0), _HEX_DIGITS)
    if digits_end > 1:
        code = int(part[1:digits_end], 16)
        return (chr(code) if code <= 0x10FFFF else "\ufffd") + part[digits_end:]
    return "\\" + part


def _count_digits(text: str, start: int, end: int, digits: frozenset[str]) -> int:
    while start < min(end, len(text)) and text[start] in digits:
        start += 1
    return start


class ShellReader:
    """Read the commands of a text; `look_up` returns the value of a variable, or None if it is not known."""

    # A strict reader stays at the place where it stopped, or after `max_chars`; set `position` to go on from somewhere else.
    # `evaluate` returns what `$(…)` or `${…}` stands for, given as written; commands in backticks are written as `$(…)` for it.

    def __init__(
        self,
        text: str,
        look_up: Callable[[str], str | None] = lambda _: None,
        *,
        strict: bool = False,
        max_chars: int = 1 << 62,
        evaluate: Callable[[str], str | None] = lambda _: None,
    ) -> None:
        self.text = text
        self.position: int = 0
        self.nested: list[ShellCommand] = []
        self.open_at: int | None = None
        self._look_up, self._strict, self._max_chars = look_up, strict, max_chars
        self._evaluate = evaluate
        self._depth = 0
        self._is_known = True
        self._item_start = 0
        self._value_start = (-1, 0)
        self._arithmetic_end = 0
        self._heredocs: list[tuple[ShellRedirection, ShellWord]] = []
        # After a here-document that never ends none is looked for: each search would go to the end of the text.
        self._finds_heredocs = True

    def read_all(self) -> list[ShellCommand]:
        commands: list[ShellCommand] = []
        while (command := self.read_command()) is not None:
            commands.append(command)
        return [command for command in (*commands, *self.nested) if command.words or command.redirections]

    def read_command(self) -> ShellCommand | None:
        if self.text[self.position : self.position + 1] in _FILLERS and not self._skip_to_command():
            return None
        command = ShellCommand(self.position)
        try:
            self._read_items(command)
        except _Unclear:
            command.is_clear = False
            self.position = self._item_start
        return command

    def _skip_to_command(self) -> bool:
        while char := self.text[self.position : self.position + 1]:
            if char == "\n":
                self._pass_newline()
            elif char in _BLANKS:
                self.position += 1
            elif not self._skip_filler(char):
                return True
        return False

    def _skip_filler(self, char: str) -> bool:
        if char == "#":
            end = self.text.find("\n", self.position)
            self.position = len(self.text) if end < 0 else end
            return True
        if char == "\\" and self.text.startswith("\\\n", self.position):
            self.position += 2
            return True
        return False

    def _read_items(self, command: ShellCommand) -> None:
        text, size, words = self.text, len(self.text), command.words
        start = self.position
        while start < size:
            char = text[start]
            if char in _BLANKS:
                start += 1
                continue
            self.position = self._item_start = start
            if char == "\n":
                command.operator = char
                self._pass_newline()
                return
            if start > self._max_chars:
                self._stop_if_strict()
            if char in _WORD_ENDS:
                if self._read_operator(command, char):
                    return
            elif char not in "#\\" or not self._skip_filler(char):
                words.append(self._read_word())
            start = self.position
        self.position = start

    def _read_operator(self, command: ShellCommand, char: str) -> bool:
        text, start = self.text, self.position
        if char in _REDIRECTION_STARTS:
            if text.startswith(_PROCESS_SUBSTITUTIONS, start):
                command.words.append(self._read_word())
                return False
            if self._read_redirection(command):
                return False
        self._note_arithmetic(start)
        operator = text[start : start + 2]
        command.operator = operator if operator in _LONG_OPERATORS else char
        self.position += len(command.operator)
        return True

    def _note_arithmetic(self, start: int) -> None:
        """Remember where `((…))` ends, because `<<` does not begin a here-document in it."""
        if 0 <= self._arithmetic_end <= start and self.text.startswith("((", start):
            self._arithmetic_end = self.text.find("))", start)

    def _stop_if_strict(self) -> None:
        if self._strict:
            raise _Unclear

    def _note_open(self, start: int) -> None:
        """Note that what begins at `start` never ends; an outer one is noted last, and that one counts."""
        self._stop_if_strict()
        self._is_known = False
        self.open_at = start

    # Redirections and here-documents

    def _read_redirection(self, command: ShellCommand) -> bool:
        text, start = self.text, self.position
        longest_first = (text[start : start + length] for length in (3, 2, 1))
        operator = next((one for one in longest_first if one in _REDIRECTIONS), "")
        if not operator:
            return False
        if operator.startswith("<<"):
            self._stop_if_strict()
        self.position += len(operator)
        descriptor = ""
        last = command.words[-1] if command.words and operator[0] != "&" else None
        if last and last.raw.isdigit() and last.start + len(last.raw) == start:
            descriptor = command.words.pop().raw
        while (char := text[self.position : self.position + 1]) in _BLANKS:
            self.position += 1
        target = None
        if char not in _WORD_OR_TEXT_ENDS or text.startswith(_PROCESS_SUBSTITUTIONS, self.position):
            target = self._read_word()
        else:
            self._stop_if_strict()
        redirection = ShellRedirection(descriptor, operator, target)
        command.redirections.append(redirection)
        if target and operator in ("<<", "<<-") and start >= self._arithmetic_end:
            self._heredocs.append((redirection, target))
        return True

    def _pass_newline(self) -> None:
        self.position += 1
        if self._heredocs:
            for redirection, delimiter in self._heredocs:
                self._read_heredoc(redirection, delimiter)
            self._heredocs = []

    def _read_heredoc(self, redirection: ShellRedirection, delimiter: ShellWord) -> None:
        start = line_start = self.position
        while self._finds_heredocs and line_start < len(self.text):
            line_end = self.text.find("\n", line_start)
            line_end = len(self.text) if line_end < 0 else line_end
            line = self.text[line_start:line_end]
            if (line.lstrip("\t") if redirection.operator == "<<-" else line) == delimiter.text:
                redirection.body = self.text[start:line_start]
                self.position = line_end + 1
                if delimiter.raw == delimiter.text:
                    self._read_inner(redirection.body, start, is_script=False)
                return
            line_start = line_end + 1
        self._finds_heredocs = False

    def _read_inner(self, text: str, start: int, *, is_script: bool) -> None:
        """Read a text that is not literally a part of this one: commands in backticks, or a here-document."""
        if self._depth >= MAX_NESTING:
            return
        inner = ShellReader(text, self._look_up, evaluate=self._evaluate)
        inner._depth = self._depth + 1
        if is_script:
            self.nested += inner.read_all()
        else:
            inner._read_double(closing="")
            self.nested += inner.nested
        if inner.open_at is not None:
            self._note_open(start)

    # Words

    def _read_word(self) -> ShellWord:
        text, start, size = self.text, self.position, len(self.text)
        plain = self._read_plain(_SPECIAL)
        at = self.position
        if at == size or text[at] in _PLAIN_WORD_ENDS:
            return ShellWord(plain, plain, start)
        leading_variable = self._find_name(start)[0] if at == start and text[at] == "$" else ""
        self._is_known = True
        parts = [plain]
        while at < size:
            char = text[at]
            if char == "$":
                parts.append(self._read_dollar())
            elif char in _WORD_ENDS and not text.startswith(_PROCESS_SUBSTITUTIONS, at):
                break
            else:
                parts.append(self._read_part(char, start))
            at = self.position
        word = ShellWord(text[start : self.position], "".join(parts), start)
        if not self._is_known:
            word.is_known = False
        if leading_variable:
            word.leading_variable = leading_variable
        return word

    def _read_plain(self, special: frozenset[str]) -> str:
        text, start, end = self.text, self.position, len(self.text)
        at = start
        while at < end and text[at] not in special:
            at += 1
        self.position = at
        return text[start:at]

    def _read_part(self, char: str, word_start: int) -> str:
        """Read a part of a word and return its text; an unknown part clears `_is_known`."""
        if char not in _SPECIAL:
            return self._read_plain(_SPECIAL)
        if char == "$":
            return self._read_dollar()
        if char == "'":
            return self._read_until(char, has_escapes=False)
        if char == '"':
            return self._read_double(closing=char)
        if char == "`":
            return self._read_backticks()
        if char in "<>":
            return self._read_substitution()
        start = self.position
        self.position += 1
        if char == "\\":
            self.position += 1
            return self.text[start + 1 : start + 2].replace("\n", "")
        if char == "~":
            return self._read_tilde(start, word_start)
        # A shell matches no file names in the value of an assignment.
        self._is_known = self._is_known and bool(self._find_value(word_start))
        return char

    def _find_value(self, word_start: int) -> int:
        if self._value_start[0] != word_start:
            end = self.text.find("=", word_start, self.position) + 1
            self._value_start = (word_start, end if get_assigned_name(self.text[word_start:end]) else 0)
        return self._value_start[1]

    def _read_tilde(self, start: int, word_start: int) -> str:
        after = self.text[start + 1 : start + 2]
        value_start = self._find_value(word_start)
        # After a continued line this may be a prefix or not.
        is_prefix = start in (word_start, value_start) or (value_start and self.text[start - 1] in ":\n")
        if not is_prefix:
            return "~"
        home = self._look_up("HOME")
        is_whole = after in _WORD_OR_TEXT_ENDS or after == "/" or (after == ":" and value_start)
        if home and is_whole and (start == word_start or self.text[start - 1] != "\n"):
            return home
        self._is_known = False
        return "~"

    def _read_double(self, *, closing: str) -> str:
        text, start = self.text, self.position
        self.position += len(closing)
        parts: list[str] = []
        while True:
            parts.append(self._read_plain(_SPECIAL_IN_DOUBLE))
            at = self.position
            char = text[at : at + 1]
            if char == closing:
                self.position += len(closing)
                return "".join(parts)
            if not char:
                self._note_open(start)
                return "".join(parts)
            if char == "$":
                parts.append(self._read_dollar(is_quoted=True))
            elif char == "`":
                parts.append(self._read_backticks())
            else:
                is_escape = char == "\\" and text[at + 1 : at + 2] in _ESCAPED_IN_DOUBLE
                self.position += 2 if is_escape else 1
                parts.append(text[at + 1].replace("\n", "") if is_escape else char)

    # Variables and substitutions

    def _read_dollar(self, *, is_quoted: bool = False) -> str:
        text, start = self.text, self.position
        name, end = self._find_name(start)
        if name:
            self.position = end
            value = self._look_up(name)
            # In a continued line the name goes on.
            if value is not None and text[end : end + 2] != "\\\n":
                return value
            self._is_known = False
            return text[start:end]
        after = text[start + 1 : start + 2]
        if after in _PARAMETERS:
            self.position += 2
            self._is_known = False
            return text[start : start + 2]
        if after in ("'", '"') and not is_quoted:
            self._stop_if_strict()
            self.position += 1
            if after == '"':
                return self._read_double(closing=after)
            inner = self._read_until(after)
            return decode_escapes(inner) if "\\" in inner else inner
        if after == "{":
            return self._read_braces(is_quoted=is_quoted)
        if after == "(":
            return self._read_substitution()
        self.position += 1
        return "$"

    def _find_name(self, start: int) -> tuple[str, int]:
        """Return the name of the variable in `$NAME` or `${NAME}` at `start`, and where it ends; "" if there is none."""
        text, size = self.text, len(self.text)
        name_start = end = start + 2 if text[start + 1 : start + 2] == "{" else start + 1
        while end < size and text[end] in _NAME_CHARS:
            end += 1
        if end == name_start or text[name_start] in _PARAMETERS:
            return "", start
        if name_start == start + 1:
            return text[name_start:end], end
        return (text[name_start:end], end + 1) if text[end : end + 1] == "}" else ("", start)

    def _read_braces(self, *, is_quoted: bool) -> str:
        self._stop_if_strict()
        start, was_known = self.position, self._is_known
        self.position += 2
        self._depth += 1
        while self._depth <= MAX_NESTING and (char := self.text[self.position : self.position + 1]) != "}":
            if not char:
                self._note_open(start)
                break
            if char == "'" and is_quoted:
                self.position += 1
            elif char in _SPECIAL_IN_BRACES:
                self._read_part(char, start)
            else:
                self._read_plain(_SPECIAL_IN_BRACES)
        self.position += self._depth <= MAX_NESTING
        self._depth -= 1
        return self._find_value_of(self.text[start : self.position], start, was_known=was_known)

    def _find_value_of(self, written: str, start: int, *, was_known: bool) -> str:
        """Return what a substitution stands for; as it is in the text if that is not known."""
        value = self._evaluate(written)
        self._is_known = was_known and value is not None
        return self.text[start : self.position] if value is None else value

    def _read_substitution(self) -> str:
        """Read `$(…)`, `<(…)` or `>(…)`; if it is nested too deep, its bracket is an operator like any other."""
        self._stop_if_strict()
        start, was_known = self.position, self._is_known
        self._note_arithmetic(start + 1)
        self.position += 1
        brackets = cases = 0
        if self._depth < MAX_NESTING:
            self.position += 1
            brackets = 1
        self._depth += 1
        while brackets:
            command = self.read_command()
            if command is None:
                self._note_open(start)
                break
            self.nested.append(command)
            first = command.words[0].raw if command.words else ""
            cases += (first == "case") - (first == "esac")
            # The bracket behind a pattern of `case` closes nothing.
            if command.operator == ")" and (brackets > 1 or cases <= 0):
                brackets -= 1
            elif command.operator == "(":
                brackets += 1
        self._depth -= 1
        return self._find_value_of(self.text[start : self.position], start, was_known=was_known)

    def _read_backticks(self) -> str:
        self._stop_if_strict()
        start, was_known = self.position, self._is_known
        inner = self._read_until("`")
        script = "\\".join(part.replace("\\`", "`").replace("\\$", "$") for part in inner.split("\\\\"))
        self._read_inner(script, start, is_script=True)
        return self._find_value_of(f"$({script})", start, was_known=was_known)

    def _read_until(self, closing: str, *, has_escapes: bool = True) -> str:
        """Return the text between this character and the next `closing` one, which a backslash may escape."""
        text, start = self.text, self.position
        end = text.find(closing, start + 1)
        if has_escapes and "\\" in text[start:end]:
            end = start + 1
            while (char := text[end : end + 1]) and char != closing:
                end += 2 if char == "\\" else 1
            end = end if char else -1
        if end < 0:
            self._note_open(start)
            end = len(text)
        self.position = end + 1
        return text[start + 1 : end]
