"""Matchers: patterns compiled when loaded, searched in linear time."""

from __future__ import annotations

from boathook.core.json_text import MAX_TEXT_CHARS, dumps, iter_leaves
from boathook.core.prefilter import HINT, PrefilterWords, find_words
from boathook.core.value import Value
from boathook.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from boathook.core.event import Event

TOOL_NAME = "tool_name"
NOT_IN_RE2 = (
    ("(?=", "lookahead (?=…)"),
    ("(?!", "negative lookahead (?!…)"),
    ("(?<=", "lookbehind (?<=…)"),
    ("(?<!", "negative lookbehind (?<!…)"),
    ("(?>", "atomic group (?>…)"),
    ("(?P=", "backreference (?P=…)"),
    ("(?(", "conditional group (?(…)…)"),
    ("(?#", "comment group (?#…)"),
    ("*+", "possessive quantifier *+"),
    ("++", "possessive quantifier ++"),
    ("?+", "possessive quantifier ?+"),
    ("\\Z", "\\Z (write \\z)"),
    *((f"\\{digit}", f"backreference \\{digit}") for digit in range(1, 10)),
)


MAX_PATTERN_CHARS = 4096  # characters of a pattern
MAX_PATTERN_WEIGHT = 20_000  # how large its program may become, about: RE2 takes a microsecond for each instruction
CLASS_WEIGHT = 1200  # of a class such as \pL, which is hundreds of ranges
NAME_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-,| ")


class Pattern(Value):
    """A searched RE2 pattern, compiled at its first real use in a one-shot, at load time elsewhere."""

    source: str
    words: PrefilterWords | None
    written: str = ""

    @property
    def shown(self) -> str:
        """Return the pattern as its author wrote it."""
        return self.written or self.source

    def search(self, text: str) -> bool:
        """Whether the pattern is found anywhere in the text."""
        words = self.words
        if words is not None:
            may = words.may_match(text)
            if not may or words.proof != HINT:
                return may
        try:
            return self.compiled().search(text) is not None
        except UnicodeEncodeError:  # a lone surrogate, which UTF-8 cannot say
            return self.compiled().search(text.encode("utf-8", "replace").decode()) is not None

    def compiled(self) -> Any:
        """Return the RE2 object, compiled once."""
        found = self.__dict__.get("_compiled")
        if found is None:
            found = self.__dict__["_compiled"] = _compile(self.source)
        return found


def compile_pattern(source: str) -> Pattern | None:
    """Compile a pattern; None if it matches everything; ConfigError that says what is wrong with it."""
    if source in ("", "*"):
        return None
    return _pattern(source)


def compile_names(source: str) -> Pattern | None:
    """Compile a matcher as settings.json has them: a list of exact names, or a searched pattern; None if it matches all."""
    if source.strip() in ("", "*"):
        return None
    if not set(source) <= NAME_LETTERS:
        return _pattern(source)
    names = [name.strip() for name in source.replace(",", "|").split("|")]
    return _pattern(f"^(?:{'|'.join(name for name in names if name)})$", source)


def _pattern(source: str, written: str = "") -> Pattern:
    if compute_weight(source) > MAX_PATTERN_WEIGHT:
        raise ConfigError(f"the pattern {source[:40]!r}… is too large")
    pattern = Pattern(source, find_words(source), written)
    pattern.compiled()
    return pattern


def compute_weight(source: str) -> int:
    """Guess how large the program of a pattern becomes, before RE2 is asked: counted repetitions multiply what they repeat."""
    if len(source) > MAX_PATTERN_CHARS:
        return MAX_PATTERN_WEIGHT + 1
    totals, last, at = [0], 0, 0
    while at < len(source):
        char, end = source[at], at + 1
        if char == "(":
            totals.append(0)
        elif char == ")" and len(totals) > 1:
            last = totals.pop() + 2
            totals[-1] += last
        elif char == "{" and (count := _count(source[end : end + 11])) > 1:
            totals[-1] += last * (count - 1)
            last *= count
        else:
            if char == "[":
                end = (source.find("]", at + 2) + 1) or len(source)
            elif char == "\\":
                end += 1
            last = _unit_weight(source[at:end])
            totals[-1] += last
        at = end
    return sum(totals)


def _unit_weight(unit: str) -> int:
    """Weigh a character, an escape or a class."""
    classes = unit.count("\\p") + unit.count("\\P")
    return CLASS_WEIGHT * classes + (8 if unit[0] in ".[" else 1)


def _count(text: str) -> int:
    """Read the larger number of a repetition such as `3}` or `3,5}`; 0 if it is none."""
    inner, brace, _ = text.partition("}")
    numbers = [part for part in inner.split(",") if part.isascii() and part.isdigit()]
    return max(map(int, numbers), default=0) if brace else 0


def _compile(source: str) -> Any:
    import re2 as library  # pyright: ignore[reportMissingTypeStubs]

    re2: Any = library
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(source, options)
    except (re2.error, UnicodeEncodeError) as error:
        raise ConfigError(_why_not(source, error)) from None


def _why_not(source: str, error: Exception) -> str:
    for mark, construct in NOT_IN_RE2:
        if mark in source:
            return f"the pattern {source!r} uses {construct}, which RE2 does not have (patterns run in linear time)"
    detail = error.args[0] if error.args else error
    text = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
    return f"the pattern {source!r} does not compile: {text}"


class Matcher(Value):
    """Which events a hook wants: a pattern on the tool's name (or another `subject`) and one on its input. None matches all."""

    tool: Pattern | None = None
    pattern: Pattern | None = None
    subject: str = TOOL_NAME

    def why_not(self, event: Event, texts: Texts | None = None) -> str:
        """Return why the event does not match, or nothing if it does."""
        if self.subject != TOOL_NAME:
            return self._other_why_not(event)
        if not event.kind.has_tool:
            return ""
        if self.tool is not None and not any(map(self.tool.search, event.tool_names)):
            return f"tool '{event.tool_name}' does not match '{self.tool.shown}'"
        if self.pattern is not None and not (texts or Texts(event.tool_input)).match(self.pattern):
            return f"input does not match '{self.pattern.shown}'"
        return ""

    def _other_why_not(self, event: Event) -> str:
        """Ask a field other than the tool; one that the host did not send cannot speak against the hook."""
        value = event.data.get(self.subject)
        if self.tool is None or not isinstance(value, str) or self.tool.search(value):
            return ""
        return f"{self.subject} '{value}' does not match '{self.tool.shown}'"

    @property
    def is_all(self) -> bool:
        """Whether every event matches."""
        return self.tool is None and self.pattern is None


ALL = Matcher()


class Texts:
    """The texts of one tool input that patterns are searched in, made when first needed."""

    def __init__(self, tool_input: Any) -> None:
        """Remember the input."""
        self._input = tool_input
        self._all: tuple[str, ...] | None = None

    @property
    def all(self) -> tuple[str, ...]:
        """Return every string leaf and the JSON text."""
        if self._all is None:
            self._all = (*iter_leaves(self._input), dumps(self._input))
        return self._all

    @property
    def too_long(self) -> bool:
        """Whether the text is beyond what is searched, so that it counts as a match."""
        return len(self.all[-1]) > MAX_TEXT_CHARS

    def match(self, pattern: Pattern) -> bool:
        """Whether a pattern is found in any of the texts; the JSON text is made only if no leaf matches."""
        if self._all is None and any(pattern.search(text) for text in iter_leaves(self._input)):
            return True
        return self.too_long or any(pattern.search(text) for text in self.all)
