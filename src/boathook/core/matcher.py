"""Matchers: which events a hook runs on, by patterns that are searched in its texts."""

from __future__ import annotations

from boathook.core.event import OTHER_NAMES, PATCH_TOOL, SHELL_TOOLS
from boathook.core.json_text import MAX_TEXT_CHARS, dumps, iter_leaves
from boathook.core.pattern_search import (
    ALL_ENGINES,
    LINEAR_ENGINE,
    NO_ENGINE,
    compile_by_regex,
    has_re2,
    has_unfinished_search,
    make_search,
)
from boathook.core.prefilter import EQUALS, HINT, PrefilterWords, find_words
from boathook.core.value import Value
from boathook.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from boathook.core.event import Event, EventKind
    from boathook.core.pattern_search import Search

TOOL_NAME = "tool_name"
# The field that may be an object or a list; its texts are searched as those of the input are.
OUTPUT_FIELD = "tool_output"
# What a matcher may ask about a tool call.
TOOL_KEYS = ("tool", "pattern", "kind")
MAX_PATTERN_CHARS = 4096
# About how large the program of a pattern may become: RE2 takes a microsecond or two for each instruction.
MAX_PATTERN_WEIGHT = 20_000
# Of all patterns in the HOOK.md files of a project: some hundred plain ones fit, and some of the largest.
_MAX_WEIGHT_TOGETHER, _MIN_PATTERN_WEIGHT = 60_000, 150
# The weight of a class such as \pL, which has hundreds of ranges.
_CLASS_WEIGHT = 1200
_MAX_SHOWN_CHARS = 200
NAME_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-,| ")


class Pattern(Value):
    """A pattern that is searched; a process for one event compiles it when it is first needed."""

    source: str
    words: PrefilterWords | None
    written: str = ""
    # What RE2 does not have in it, "" if it has all.
    construct: str = ""
    engines: str = ALL_ENGINES

    @property
    def display_text(self) -> str:
        return self.written or self.source

    def search(self, text: str) -> bool:
        """Whether it is found in a text; it counts as found if no engine may search it, or none can in time."""
        if self.words is not None:
            is_possible = can_match(self.words, text)
            if not is_possible or self.words.proof != HINT:
                return is_possible
        return self.get_search()(text)

    def get_search(self) -> Search:
        search: Search | None = self.__dict__.get("_search")
        if search is None:
            search = self.__dict__["_search"] = make_search(self.source, self.construct, self.engines)
        return search

    def limit_engines(self) -> Pattern:
        """Return it for a hook that nobody trusts: it is searched in linear time only."""
        return self if self.engines == NO_ENGINE else self.replace(engines=LINEAR_ENGINE)

    def allow_engines(self) -> Pattern:
        """Return it for a hook that a person trusts: it is searched, however large the patterns of its file are together."""
        if self.engines != NO_ENGINE:
            return self
        try:
            return _make_pattern(self.source, self.written, None)
        except ConfigError:
            # It still counts as a match, so that its guard is asked.
            return self


class PatternAllowance:
    """How large the patterns of some files may be together, before it is known which of their hooks a person trusts."""

    # Each pattern costs at least `min_weight`.
    def __init__(self, weight: int = _MAX_WEIGHT_TOGETHER, min_weight: int = _MIN_PATTERN_WEIGHT) -> None:
        self._weight_left, self._min_weight = weight, min_weight

    def can_afford(self, weight: int) -> bool:
        cost = weight + self._min_weight
        if cost > self._weight_left:
            return False
        self._weight_left -= cost
        return True


def can_match(words: PrefilterWords, text: str) -> bool:
    """Whether a text can match; for a proof other than a hint, whether it does."""
    return text in words.any_of if words.proof == EQUALS else any(word in text for word in words.any_of)


def compile_pattern(source: str, allowance: PatternAllowance | None = None) -> Pattern | None:
    """Compile a pattern; None if it matches everything. With an allowance, what it does not cover is not compiled."""
    return None if source in ("", "*") else _make_pattern(source, "", allowance)


def compile_names(source: str, allowance: PatternAllowance | None = None) -> Pattern | None:
    """Compile a matcher of settings.json: a list of exact names, or a pattern; None if it matches everything."""
    if source.strip() in ("", "*"):
        return None
    if not set(source) <= NAME_LETTERS:
        return _make_pattern(source, "", allowance)
    names = [name.strip() for name in source.replace(",", "|").split("|")]
    return _make_pattern(f"^(?:{'|'.join(name for name in names if name)})$", source, allowance)


def compile_written(source: str, written: str, allowance: PatternAllowance | None = None) -> Pattern:
    """Compile a pattern that is shown to people as they wrote it."""
    return _make_pattern(source, written, allowance)


def _make_pattern(source: str, written: str, allowance: PatternAllowance | None) -> Pattern:
    weight = compute_weight(source)
    if weight > MAX_PATTERN_WEIGHT:
        raise ConfigError(f"the pattern {source[:40]!r}… is too large")
    words = find_words(source)
    if allowance is not None and not allowance.can_afford(weight):
        return Pattern(source, words, written, engines=NO_ENGINE)
    pattern, error = Pattern(source, words, written), None
    if has_re2():
        try:
            pattern.get_search()
        except ConfigError as found:
            error = found
        else:
            return pattern
    return pattern.replace(construct=_find_construct(source, error, is_trusted=allowance is None))


def _find_construct(source: str, re2_error: ConfigError | None, *, is_trusted: bool) -> str:
    """Return what RE2 does not have in a pattern that it cannot run; an error if nothing else can."""
    from boathook.core.pattern_syntax import translate_pattern

    translation = translate_pattern(source)
    if re2_error is not None and not translation.construct:
        raise re2_error
    if is_trusted:
        compile_by_regex(source, translation)
    return translation.construct


def compute_weight(source: str) -> int:
    """Estimate how large the program of a pattern becomes, before RE2 compiles it: repetitions multiply what they repeat."""
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
        elif char == "{" and (count := _read_count(source[end : end + 11])) > 1:
            totals[-1] += last * (count - 1)
            last *= count
        else:
            last = 8 if char in ".[" else 1
            if char in "[\\":
                end = ((source.find("]", at + 2) + 1) or len(source)) if char == "[" else _find_escape_end(source, at)
                last += _CLASS_WEIGHT * (source.count("\\p", at, end) + source.count("\\P", at, end))
            totals[-1] += last
        at = end
    return sum(totals)


def _find_escape_end(source: str, at: int) -> int:
    # A class such as \pL or \p{Greek} and a character such as \x{2014} are repeated as a whole.
    if source[at + 1 : at + 2] not in ("p", "P", "x"):
        return at + 2
    return (source.find("}", at) + 1 or len(source)) if source[at + 2 : at + 3] == "{" else at + 3


def _read_count(text: str) -> int:
    """Return the larger number of a repetition such as `3}` or `3,5}`, 0 if it is not one."""
    inner, brace, _ = text.partition("}")
    numbers = [part for part in inner.split(",") if part.isascii() and part.isdigit()]
    return max(map(int, numbers), default=0) if brace else 0


class Matcher(Value):
    tool: Pattern | None = None
    pattern: Pattern | None = None
    # Kinds of tools (see `core.tool_kinds`), one of which a call must be of.
    tool_kinds: tuple[str, ...] = ()
    # Fields of the event, each with a pattern that must be found in it.
    fields: tuple[tuple[str, Pattern], ...] = ()
    # Whether a tool may be meant by its other name, too: ours or the familiar one.
    takes_other_name: bool = False

    @property
    def pattern_sources(self) -> tuple[str, ...]:
        patterns = (self.tool, self.pattern, *(pattern for _, pattern in self.fields))
        return tuple(pattern.source for pattern in patterns if pattern is not None)

    def explain_mismatch(self, event: Event, texts: InputTexts | None = None) -> str:
        if self.fields and (reason := self._explain_field_mismatch(event)):
            return reason
        if not event.kind.has_tool:
            return ""
        if self.tool_kinds and not self._has_kind(event):
            return f"tool '{event.tool_name}' is not of the kind {' or '.join(self.tool_kinds)}"
        reason = self._explain_call_mismatch(event, texts)
        return "" if reason and self._select_file_calls(event) else reason

    def select_calls(self, event: Event, *, knows_patches: bool = True) -> tuple[Event, ...]:
        """Return the calls that a hook is asked about: the event, or one for each file of a patch in it.

        A hook that does not know patches, because its agent has none, would not see the files in a whole one.
        """
        # A hook that names kinds is asked once, and gets a list of the files.
        if self.tool_kinds:
            return (event,)
        files = self._select_file_calls(event, knows_patches=knows_patches)
        is_unreadable = event.tool_name == PATCH_TOOL and not knows_patches
        return files if files and (is_unreadable or self._explain_call_mismatch(event)) else (event, *files)

    def _has_kind(self, event: Event) -> bool:
        from boathook.core.tool_kinds import find_call_kinds

        if any(kind in self.tool_kinds for kind in find_call_kinds(event.tool_names, event.tool_input)):
            return True
        if not self.lists_writes or not event.patch:
            return False
        from boathook.core.patch import list_file_calls

        return bool(list_file_calls(event))

    def _select_file_calls(self, event: Event, *, knows_patches: bool = True) -> tuple[Event, ...]:
        # Who names the tool of patches sees the whole patch; who names shells may not look for patches in commands.
        names_files = self.lists_writes if self.tool_kinds else self.tool is not None or not knows_patches
        if not names_files or not event.patch:
            return ()
        is_whole = knows_patches and self.tool is not None and event.tool_name == PATCH_TOOL
        if is_whole and self.tool is not None and any(map(self.tool.search, event.tool_names)):
            return ()
        from boathook.core.patch import list_file_calls

        return tuple(call for call in list_file_calls(event) if not self._explain_call_mismatch(call))

    def _explain_call_mismatch(self, event: Event, texts: InputTexts | None = None) -> str:
        if self.tool is not None and not self.means_tool(event.tool_names):
            return f"tool '{event.tool_name}' does not match '{self.tool.display_text}'"
        if self.pattern is not None and not (texts or InputTexts(event.tool_input)).has_match(self.pattern):
            return f"input does not match '{self.pattern.display_text}'"
        return ""

    def means_tool(self, names: tuple[str, ...]) -> bool:
        """Whether its pattern for tools is found in a name of a tool; the first name is the one in the event."""
        if self.tool is None or any(map(self.tool.search, names)):
            return True
        other = OTHER_NAMES.get(names[0], "") if self.takes_other_name else ""
        return bool(other) and self.tool.search(other)

    def _explain_field_mismatch(self, event: Event) -> str:
        for name, pattern in self.fields:
            value = event.data.get(name)
            if not _may_be_found(pattern, name, value):
                text = value if isinstance(value, str) else dumps(value)
                shown = text if len(text) <= _MAX_SHOWN_CHARS else f"{text[:_MAX_SHOWN_CHARS]}…"
                return f"{name} '{shown}' does not match '{pattern.display_text}'"
        return ""

    def is_sure(self, event: Event) -> bool:
        """Whether a hook that was asked saw all of a call, and not only because of a limit of matching: only then it may allow."""
        is_part = self.tool_kinds and "shell" not in self.tool_kinds and event.tool_name in SHELL_TOOLS
        if is_part and event.patch:
            return False
        if self.pattern is not None and len(dumps(event.tool_input)) > MAX_TEXT_CHARS:
            return False
        if any(len(str(event.data.get(name, ""))) > MAX_TEXT_CHARS for name, _ in self.fields):
            return False
        return not self.pattern_sources or not has_unfinished_search()

    @property
    def lists_writes(self) -> bool:
        """Whether a hook gets a list of what a call writes (see `core.file_writes`)."""
        return "writes" in self.tool_kinds

    @property
    def is_all(self) -> bool:
        return self.tool is None and self.pattern is None and not self.tool_kinds and not self.fields

    def limit_engines(self) -> Matcher:
        tool, pattern = (one.limit_engines() if one else None for one in (self.tool, self.pattern))
        fields = tuple((name, one.limit_engines()) for name, one in self.fields)
        return self.replace(tool=tool, pattern=pattern, fields=fields)

    def allow_engines(self) -> Matcher:
        tool, pattern = (one.allow_engines() if one else None for one in (self.tool, self.pattern))
        fields = tuple((name, one.allow_engines()) for name, one in self.fields)
        is_same = (tool, pattern, fields) == (self.tool, self.pattern, self.fields)
        return self if is_same else self.replace(tool=tool, pattern=pattern, fields=fields)


def _may_be_found(pattern: Pattern, name: str, value: Any) -> bool:
    """Whether a pattern is found in a field; one that was not sent or is too long to be searched cannot speak against a hook."""
    if name == OUTPUT_FIELD and isinstance(value, dict | list):
        return InputTexts(value).has_match(pattern)
    return not isinstance(value, str) or len(value) > MAX_TEXT_CHARS or pattern.search(value)


ALL = Matcher()


def make_field_matcher(name: str, pattern: Pattern) -> Matcher:
    """Return the matcher of a form of hooks that has one pattern, for the tool's name or for another field."""
    return Matcher(pattern) if name == TOOL_NAME else Matcher(fields=((name, pattern),))


def list_matcher_keys(kind: EventKind) -> tuple[str, ...]:
    """Return what a matcher of HOOK.md can ask at an event."""
    return (*(TOOL_KEYS if kind.has_tool else ()), *kind.matched_fields)


class InputTexts:
    def __init__(self, tool_input: Any) -> None:
        self._input = tool_input
        self._texts: tuple[str, ...] | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        if self._texts is None:
            self._texts = (*iter_leaves(self._input), dumps(self._input))
        return self._texts

    def has_match(self, pattern: Pattern) -> bool:
        """Whether a pattern is found in one of the texts; the JSON text is made only if no leaf matches."""
        if self._texts is None and any(pattern.search(text) for text in iter_leaves(self._input)):
            return True
        # A text that is too long to be searched counts as a match.
        return len(self.texts[-1]) > MAX_TEXT_CHARS or any(pattern.search(text) for text in self.texts)
