"""Write a pattern for the `regex` package so that it means there what it means in RE2, and find what RE2 does not have."""

# Every token is written with its whole meaning (ASCII classes, `$` at the very end, flags from where they stand), so that no
# flag of the other engine matters. Only what is listed here is passed on: no recursion, no fuzzy matching, no set operations.

from __future__ import annotations

from boathook.core.value import Value
from boathook.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    Ranges = tuple[tuple[int, int], ...]

MAX_REPEATS = 1000
# The other engine takes a time for compiling that grows with the length, and doubles with each repeat of repeats.
_MAX_TRANSLATED_CHARS, _MAX_GROUPS_WITHIN, _MAX_REPEATS_WITHIN = 20_000, 100, 8
_LAST_CODE = 0x10FFFF
_DIGIT, _UPPER, _LOWER = (48, 57), (65, 90), (97, 122)
_WORD: Ranges = (_DIGIT, _UPPER, (95, 95), _LOWER)
_PERL_CLASSES: dict[str, Ranges] = {"d": (_DIGIT,), "w": _WORD, "s": ((9, 10), (12, 13), (32, 32))}
_NAMED_CLASSES: dict[str, Ranges] = {
    "alnum": (_DIGIT, _UPPER, _LOWER),
    "alpha": (_UPPER, _LOWER),
    "ascii": ((0, 127),),
    "blank": ((9, 9), (32, 32)),
    "cntrl": ((0, 31), (127, 127)),
    "digit": (_DIGIT,),
    "graph": ((33, 126),),
    "lower": (_LOWER,),
    "print": ((32, 126),),
    "punct": ((33, 47), (58, 64), (91, 96), (123, 126)),
    "space": ((9, 13), (32, 32)),
    "upper": (_UPPER,),
    "word": _WORD,
    "xdigit": (_DIGIT, (65, 70), (97, 102)),
}
_CONTROLS = {"a": 7, "f": 12, "t": 9, "n": 10, "r": 13, "v": 11}
_PLACES = {"b": r"(?a:\b)", "B": r"(?a:\B)", "A": r"\A", "z": r"\Z", "Z": r"\Z"}
_OCTAL, _FLAGS = "01234567", "imsU"
# These two are letters of their own in RE2; the other engine takes each for an `i`, too.
_TURKISH = (0x130, 0x131)
# In RE2 the category has no codes that are not assigned.
_OTHER = r"\p{Cc}\p{Cf}\p{Co}\p{Cs}"

_CASED = ("Lu", "Ll", "Lt")

# What RE2 does not have: how it begins, and its name.
GROUP_CONSTRUCTS = (
    ("(?=", "lookahead (?=…)"),
    ("(?!", "negative lookahead (?!…)"),
    ("(?<=", "lookbehind (?<=…)"),
    ("(?<!", "negative lookbehind (?<!…)"),
    ("(?>", "atomic group (?>…)"),
)
_BACKREFERENCE, _CONDITIONAL, _COMMENT = "(?P=", "(?(", "(?#"


class Translation(Value):
    """A pattern for the other engine; `construct` is the first thing in it that RE2 does not have, "" if it has all."""

    text: str
    construct: str


def translate_pattern(source: str) -> Translation:
    """Translate a pattern; ConfigError if it has something that neither engine is used for."""
    return _Translator(source).translate()


class _Translator:
    def __init__(self, source: str) -> None:
        self.source, self.at = source, 0
        self.out: list[str] = []
        self.flags = ""
        # Of each open group: the flags around it, its place, and how many repeats of repeats stood before it.
        self.open: list[tuple[str, int, int]] = []
        # Where the last atom begins, which a quantifier repeats; None if there is none.
        self.atom: int | None = None
        # How many repeats are within each other: in the last atom, and at most in the group so far.
        self.atom_repeats = self.group_repeats = 0
        self.construct = ""

    def translate(self) -> Translation:
        while self.at < len(self.source):
            self._read_token(self.source[self.at])
        if self.open:
            raise self._fail("a parenthesis is not closed")
        text = "".join(self.out)
        if len(text) > _MAX_TRANSLATED_CHARS:
            raise ConfigError(f"the pattern {self.source[:40]!r}… is too large")
        return Translation(text, self.construct)

    def _read_token(self, char: str) -> None:
        if char == "\\":
            self._read_escape()
        elif char == "[":
            self._write(self._read_class())
        elif char == "(":
            self._read_group()
        elif char == ")":
            self._close_group()
        elif char in "*+?" or (char == "{" and self._read_bounds() is not None):
            self._read_quantifier()
        elif char == "|":
            self.at += 1
            self.out.append("|")
            self.atom = None
        elif char in "^$.":
            self.at += 1
            is_changed = ("s" if char == "." else "m") in self.flags
            plain = {"^": r"\A", "$": r"\Z", ".": r"[^\n]"}[char]
            self._write({"^": "(?m:^)", "$": "(?m:$)", ".": "(?s:.)"}[char] if is_changed else plain)
        else:
            self.at += 1
            self._write(self._write_literal(ord(char)))

    def _write(self, text: str) -> None:
        self.atom, self.atom_repeats = len(self.out), 0
        self.out.append(text)

    def _write_literal(self, code: int) -> str:
        if "i" not in self.flags or code in _TURKISH:
            return _write_code(code)
        return "[iI]" if chr(code) in "iI" else f"(?i:{_write_code(code)})"

    def _note(self, construct: str) -> None:
        self.construct = self.construct or construct

    def _fail(self, problem: str) -> ConfigError:
        return ConfigError(f"the pattern {self.source!r} does not compile: {problem}")

    def _take(self, count: int) -> str:
        text = self.source[self.at : self.at + count]
        if len(text) < count:
            raise self._fail("it ends too early")
        self.at += count
        return text

    def _take_until(self, mark: str) -> str:
        end = self.source.find(mark, self.at)
        if end < 0:
            raise self._fail(f"{mark!r} is missing")
        text, self.at = self.source[self.at : end], end + len(mark)
        return text

    def _read_bounds(self) -> tuple[str, int] | None:
        """Return a repetition such as `{2,3}` and where it ends; None if the brace is one that stands for itself."""
        end = self.source.find("}", self.at)
        low, comma, high = self.source[self.at + 1 : end].partition(",")
        if end < 0 or not _is_number(low) or not (_is_number(high) or not high):
            return None
        return f"{{{low}{comma}{high}}}", end + 1

    def _read_quantifier(self) -> None:
        if self.atom is None:
            raise self._fail(f"there is nothing to repeat before {self.source[self.at]!r}")
        bounds = self._read_bounds() if self.source[self.at] == "{" else None
        quantifier, self.at = bounds or (self.source[self.at], self.at + 1)
        numbers = [int(number[:5]) for number in quantifier[1:-1].split(",") if number]
        if max(numbers, default=0) > MAX_REPEATS or (len(numbers) == 2 and numbers[0] > numbers[1]):
            raise self._fail(f"the repetition {quantifier} is not possible")
        following = self.source[self.at : self.at + 1]
        if following and following in "?+":
            self.at += 1
            if following == "+":
                self._note(f"possessive quantifier {quantifier}+")
            quantifier += following
        self.out[self.atom :] = [f"(?:{''.join(self.out[self.atom :])}){quantifier}"]
        self.atom, self.group_repeats = None, max(self.group_repeats, self.atom_repeats + 1)
        if self.group_repeats > _MAX_REPEATS_WITHIN:
            raise self._fail(f"more than {_MAX_REPEATS_WITHIN} nested repeats")

    def _read_group(self) -> None:
        source, start = self.source, self.at
        if source.startswith(_COMMENT, start):
            self._note("comment group (?#…)")
            self._take_until(")")
            return
        if source.startswith(_BACKREFERENCE, start):
            self.at += len(_BACKREFERENCE)
            self._write_backreference(self._take_until(")"))
            return
        if len(self.open) >= _MAX_GROUPS_WITHIN:
            raise self._fail(f"more than {_MAX_GROUPS_WITHIN} groups are in each other")
        opening = self._read_opening()
        if opening is None:
            return
        flags, text = opening
        self.open.append((self.flags, len(self.out), self.group_repeats))
        self.out.append(text)
        self.flags, self.atom, self.group_repeats = flags, None, 0

    def _read_opening(self) -> tuple[str, str] | None:
        """Return the flags within a group and how it is written; None for flags that hold for the rest of the group."""
        source, start = self.source, self.at
        for mark, name in GROUP_CONSTRUCTS:
            if source.startswith(mark, start):
                self._note(name)
                self.at += len(mark)
                return self.flags, mark
        if not source.startswith("(?", start):
            self.at += 1
            return self.flags, "("
        for mark in ("(?P<", "(?<"):
            if source.startswith(mark, start):
                self.at += len(mark)
                return self.flags, f"(?P<{self._check_name(self._take_until('>'))}>"
        if source.startswith(_CONDITIONAL, start):
            self._note("conditional group (?(…)…)")
            self.at += len(_CONDITIONAL)
            name = self._check_name(self._take_until(")"))
            if name == "DEFINE":
                raise self._fail("(?(DEFINE) is unknown")
            return self.flags, f"(?({name})"
        return self._read_flags()

    def _read_flags(self) -> tuple[str, str] | None:
        self.at += 2
        flags, is_on = self.flags, True
        while (char := self._take(1)) not in ":)":
            if char == "-" and is_on:
                is_on = False
            elif char not in _FLAGS:
                raise self._fail(f"(?{char} is unknown")
            else:
                flags = flags.replace(char, "") + (char if is_on else "")
        if char == ":":
            return flags, "(?:"
        self.flags = flags
        return None

    def _close_group(self) -> None:
        if not self.open:
            raise self._fail("a parenthesis is closed that is not open")
        self.at += 1
        self.flags, self.atom, repeats_before = self.open.pop()
        self.atom_repeats = self.group_repeats
        self.group_repeats = max(repeats_before, self.group_repeats)
        self.out.append(")")

    def _check_name(self, name: str) -> str:
        if not name or not all(char.isalnum() or char == "_" for char in name) or len(name) > 64:
            raise self._fail(f"{name[:64]!r} is not a group name")
        return name

    def _write_backreference(self, name: str) -> None:
        number = _is_number(self._check_name(name))
        self._note(f"backreference \\{name}" if number else "backreference (?P=…)")
        text = f"\\g<{name}>" if number else f"(?P={name})"
        self._write(f"(?i:{text})" if "i" in self.flags else text)

    def _read_escape(self) -> None:
        self.at += 1
        char, start = self._take(1), self.at
        following = self.source[start : start + 1]
        if char == "Q":
            self._read_quoted()
        elif char in _PLACES:
            if char == "Z":
                self._note("\\Z (write \\z)")
            self._write(_PLACES[char])
        elif char in "123456789" and not (char < "8" and following and following in _OCTAL):
            self._write_backreference(char)
        elif char == "k" and following == "<":
            self.at += 1
            self._write_backreference(self._take_until(">"))
        elif char in "dDwWsSpP":
            self._write(self._write_class(*self._read_class_escape(char), is_negated=False))
        else:
            self._write(self._write_literal(self._read_character_escape(char)))

    def _read_quoted(self) -> None:
        end = self.source.find("\\E", self.at)
        text = self.source[self.at :] if end < 0 else self.source[self.at : end]
        for char in text:
            self._write(self._write_literal(ord(char)))
        self.at = len(self.source) if end < 0 else end + 2

    def _read_character_escape(self, char: str) -> int:
        """Return the code of an escaped character; `char` is what stands behind the backslash and was read."""
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char in _OCTAL:
            digits = char
            while len(digits) < 3 and (following := self.source[self.at : self.at + 1]) and following in _OCTAL:
                digits += self._take(1)
            if digits == char and char != "0":
                raise self._fail(f"\\{char} is unknown here")
            return int(digits, 8)
        if char == "x":
            digits = self._take(1)
            digits = self._take_until("}") if digits == "{" else digits + self._take(1)
            if not digits or set(digits) - set("0123456789abcdefABCDEF") or int(digits, 16) > _LAST_CODE:
                raise self._fail(f"\\x{{{digits[:16]}}} is no character")
            return int(digits, 16)
        if not char.isascii() or char.isalnum():
            raise self._fail(f"\\{char} is unknown")
        return ord(char)

    def _read_class_escape(self, char: str) -> tuple[Ranges, tuple[str, ...]]:
        if char not in "pP":
            ranges = self._fold(_PERL_CLASSES[char.lower()])
            return (_invert(ranges) if char.isupper() else ranges), ()
        name = self._take(1)
        name = self._take_until("}") if name == "{" else name
        is_negated = (char == "P") != name.startswith("^")
        name = name.removeprefix("^")
        if not name.isascii() or not name.replace("_", "").isalpha() or not name[0].isupper():
            raise self._fail(f"\\p{{{name[:32]}}} is no class of characters")
        is_category = len(name) <= 2
        inside = _OTHER if name == "C" else f"\\p{{{name if is_category or name == 'Any' else 'Script=' + name}}}"
        written = f"[^{inside}]" if is_negated else f"[{inside}]"
        return (), (f"(?i:{written})" if "i" in self.flags and name in _CASED else written,)

    def _read_class(self) -> str:
        self.at += 1
        is_negated = self.source[self.at : self.at + 1] == "^"
        self.at += is_negated
        ranges: list[tuple[int, int]] = []
        classes: list[str] = []
        start = self.at
        while (char := self._take(1)) != "]" or self.at == start + 1:
            name_end = self.source.find(":]", self.at + 1)
            if char == "[" and self.source.startswith(":", self.at) and name_end >= 0:
                ranges += self._read_named_class(self.source[self.at + 1 : name_end])
                self.at = name_end + 2
            elif char == "\\" and (escaped := self.source[self.at : self.at + 1]) and escaped in "dDwWsSpP":
                self.at += 1
                more_ranges, more_classes = self._read_class_escape(escaped)
                ranges += more_ranges
                classes += more_classes
            else:
                ranges.append(self._read_range(char))
        return self._write_class(tuple(ranges), tuple(classes), is_negated=is_negated)

    def _read_named_class(self, name: str) -> Ranges:
        known = _NAMED_CLASSES.get(name.removeprefix("^"))
        if known is None:
            raise self._fail(f"[:{name[:32]}:] is unknown")
        ranges = self._fold(known)
        return _invert(ranges) if name.startswith("^") else ranges

    def _read_range(self, char: str) -> tuple[int, int]:
        low = high = self._read_character_escape(self._take(1)) if char == "\\" else ord(char)
        if self.source.startswith("-", self.at) and self.source[self.at + 1 : self.at + 2] not in ("", "]"):
            self.at += 1
            char = self._take(1)
            high = self._read_character_escape(self._take(1)) if char == "\\" else ord(char)
        if high < low:
            raise self._fail("the end of a range is before its start")
        return low, high

    def _fold(self, ranges: Ranges) -> Ranges:
        """Return ranges of ASCII characters with the letters that are the same but for their case, if that does not count."""
        if "i" not in self.flags:
            return ranges
        letters = {chr(code) for low, high in ranges for code in range(low, high + 1) if chr(code).isalpha()}
        others = {letter.swapcase() for letter in letters}
        others |= {"\u212a"} if letters & {"k", "K"} else set()
        others |= {"\u017f"} if letters & {"s", "S"} else set()
        return (*ranges, *((ord(letter), ord(letter)) for letter in others))

    def _write_class(self, ranges: Ranges, classes: tuple[str, ...], *, is_negated: bool) -> str:
        plain = _write_ranges(ranges)
        if "i" not in self.flags or not plain:
            found = "|".join((*([f"[{plain}]"] if plain else ()), *classes))
        else:
            turkish = "".join(map(_write_code, _TURKISH))
            others = _write_ranges(_remove_codes(ranges, _TURKISH))
            insensitive = f"(?![{turkish}])(?i:[{others}])|" if others else ""
            found = "|".join((f"{insensitive}(?=[{turkish}])[{plain}]", *classes))
        if not is_negated:
            return f"(?:{found})" if "|" in found else found
        return f"[^{plain}]" if found == f"[{plain}]" else f"(?:(?!{found})(?s:.))"


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _write_code(code: int) -> str:
    if code < 256:
        return chr(code) if code < 128 and chr(code).isalnum() else f"\\x{code:02x}"
    return f"\\U{code:08x}"


def _write_ranges(ranges: Iterable[tuple[int, int]]) -> str:
    return "".join(_write_code(low) + (f"-{_write_code(high)}" if high > low else "") for low, high in ranges)


def _invert(ranges: Ranges) -> Ranges:
    inverted: list[tuple[int, int]] = []
    start = 0
    for low, high in sorted(ranges):
        if low > start:
            inverted.append((start, low - 1))
        start = max(start, high + 1)
    return (*inverted, (start, _LAST_CODE)) if start <= _LAST_CODE else tuple(inverted)


def _remove_codes(ranges: Ranges, codes: tuple[int, ...]) -> Ranges:
    removed = _invert(tuple((code, code) for code in codes))
    overlaps = ((max(low, a), min(high, b)) for low, high in ranges for a, b in removed)
    return tuple((low, high) for low, high in overlaps if low <= high)
