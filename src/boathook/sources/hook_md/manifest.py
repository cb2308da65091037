"""HOOK.md: from the text of a manifest to a hook, tolerant, with everything that is wrong said beside it."""

from __future__ import annotations

import unicodedata
from typing import Any

from boathook.core.event import EventKind, find_kind
from boathook.core.hook import ARMED, ERROR, INVALID, PROJECT, SANDBOX_LEVELS, WARNING, Diagnostic, Hook, Needs, Script
from boathook.core.matcher import ALL, Matcher, Pattern, compile_pattern
from boathook.dialects.dialect import HOOK_DIALECTS, NATIVE, find_dialect
from boathook.errors import ConfigError, UnknownEvent
from boathook.hosts.claude_events import BY_KIND
from boathook.sources.hook_md.frontmatter import Mapping, Node, Scalar, Sequence, Unreadable, read_frontmatter

FIELDS = (
    "name",
    "description",
    "trigger",
    "matcher",
    "timeout",
    "async",
    "priority",
    "on_failure",
    "protected",
    "requires",
    "env",
    "sandbox",
    "network",
    "dialect",
    "metadata",
)
RANGES = {"timeout": (100, 600_000, 30_000), "priority": (0, 1000, 100)}
FLAGS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
NEEDS = ("bins", "env", "os")
MOST_HINTS = 20  # guesses what an unknown field might have meant; each is a comparison with all that are known
BACK = {"\b": "\\b", "\f": "\\f", "\v": "\\v", "\a": "\\a", "\x1b": "\\e"}


def parse_manifest(text: str, *, path: str, folder: str, scope: str) -> tuple[Hook, frozenset[str]]:
    """Read a manifest; return the hook and the fields that its author wrote. Never raises for what the text says."""
    return _Reading(path, folder, scope).read(text)


class _Reading:
    """One manifest on its way: collects what is wrong."""

    def __init__(self, path: str, folder: str, scope: str) -> None:
        self.path, self.folder, self.scope = path, folder, scope
        self.folder_name = folder.rpartition("/")[2]
        self.problems: list[Diagnostic] = []
        self.fatal = ""
        self.hints = 0
        self.top = Mapping(1, {})

    def read(self, text: str) -> tuple[Hook, frozenset[str]]:
        try:
            found = read_frontmatter(text)
        except Unreadable as error:
            self._invalid(error.line, "", error.message, error.fix)
            return self._hook(), frozenset()
        self.top = found.top
        if not self.top.entries:
            self._invalid(self.top.line, "", "the frontmatter is empty", "give name, description and trigger")
        for line, message in found.forgiven:
            self._warn(line, "", message)
        for key, (line, _) in found.top.entries.items():
            if key not in FIELDS:
                self._unknown(line, key, FIELDS)
        return self._hook(), frozenset(found.top.entries)

    def _hook(self) -> Hook:
        if not self.top.entries:
            kind, trigger, dialect, rest = None, "", NATIVE, {}
        else:
            kind, trigger = self._trigger()
            dialect = self._dialect(kind)
            rest = {
                "description": self._description(),
                "matcher": self._matcher(kind is None or kind.has_tool),
                "priority": self._number("priority"),
                "timeout": self._number("timeout") / 1000,
                "background": self._flag("async"),
                "on_failure": self._on_failure(),
                "protected": self._protected(),
                "needs": self._needs(),
                "env": self._names("env", self._get("env")),
                "sandbox": self._sandbox(),
                "network": self._flag("network"),
                "metadata": self._metadata(),
            }
        name = self._name()
        return Hook(
            name,
            kind,
            trigger,
            self.scope,
            Script(self.folder),
            self.path,
            find_dialect(dialect),
            state=INVALID if self.fatal else ARMED,
            why=self.fatal,
            problems=tuple(sorted(self.problems, key=lambda p: p.line or 0)),
            **rest,
        )

    def _get(self, key: str) -> Node | None:
        found = self.top.entries.get(key)
        return found[1] if found else None

    def _line(self, key: str) -> int | None:
        found = self.top.entries.get(key)
        return found[0] if found else None

    def _say(self, level: str, line: int | None, key: str, message: str, fix: str = "") -> None:
        self.problems.append(Diagnostic(self.path, line, key, level, message, fix))

    def _warn(self, line: int | None, key: str, message: str, fix: str = "") -> None:
        self._say(WARNING, line, key, message, fix)

    def _unknown(self, line: int, key: str, known: tuple[str, ...], above: str = "") -> None:
        self.hints += 1
        fix = _nearest(key, known) if self.hints <= MOST_HINTS else ""
        self._warn(line, above + key, f"unknown field '{above}{key}'", fix)

    def _error(self, key: str, message: str, fix: str = "") -> None:
        """Report what the checker refuses and the loader gets along with."""
        self._say(ERROR, self._line(key), key, message, fix)

    def _invalid(self, line: int | None, key: str, message: str, fix: str = "") -> None:
        """Report what makes the hook invalid."""
        self._say(ERROR, line, key, message, fix)
        self.fatal = self.fatal or message

    def _text(self, key: str) -> str | None:
        """Return a text field; None if it is absent or no text."""
        node = self._get(key)
        if node is None:
            return None
        if not isinstance(node, Scalar):
            self._error(key, f"'{key}' must be a text")
            return None
        return node.text if node.quoted or node.text not in ("~", "null") else ""

    def _name(self) -> str:
        fallback = _printable(self.folder_name)
        if not self.top.entries:
            return fallback
        name = self._text("name")
        if not name:
            if name is not None or self._get("name") is None:
                self._error("name", "'name' is missing", f"name: {fallback}")
            return fallback
        name = unicodedata.normalize("NFC", name)
        if wrong := name_fault(name):
            self._error("name", f"'name' {wrong}; the folder's name is used", f"name: {fallback}")
            return fallback
        if name != self.folder_name:
            self._warn(self._line("name"), "name", f"name '{name}' differs from its folder '{fallback}'")
        return name

    def _description(self) -> str:
        text = self._text("description")
        if not text:
            self._error("description", "'description' is missing", "say in one sentence what the hook does")
        elif len(text) > 1024:
            self._error("description", f"'description' has {len(text)} characters, 1024 are allowed")
        return text or ""

    def _trigger(self) -> tuple[Any, str]:
        line, node = self._line("trigger"), self._get("trigger")
        if node is not None and not isinstance(node, Scalar):
            self._invalid(line, "trigger", "'trigger' must be a text", "name one event, e.g. trigger: pre-tool-call")
            return None, ""
        trigger = self._text("trigger")
        if not trigger:
            self._invalid(line, "trigger", "'trigger' is missing", "name an event, e.g. trigger: pre-tool-call")
            return None, ""
        try:
            return find_kind(trigger), trigger
        except UnknownEvent as error:
            fix = f"write '{error.nearest}'" if error.nearest else "boathook events lists the known ones"
            self._invalid(line, "trigger", str(error), fix)
            return None, trigger

    def _number(self, key: str) -> int:
        low, high, default = RANGES[key]
        node = self._get(key)
        if node is None:
            return default
        number = whole_number(node)
        if number is None:
            self._error(key, f"'{key}' must be a whole number; {default} is used", f"e.g. {key}: {default}")
            return default
        kept = min(max(number, low), high)
        if kept != number:
            self._error(key, f"'{key}' is {number}; {kept} is used", f"allowed are {low} to {high}")
        return kept

    def _flag(self, key: str) -> bool:
        node = self._get(key)
        if node is None:
            return False
        value = FLAGS.get(node.text.lower()) if isinstance(node, Scalar) and not node.quoted else None
        if value is None:
            self._error(key, f"'{key}' must be true or false; false is used", f"e.g. {key}: true, without quotes")
        return bool(value)

    def _on_failure(self) -> str:
        if self._get("on_failure") is None:
            return "allow"
        text = self._text("on_failure")
        if text not in ("allow", "block"):
            self._error("on_failure", "'on_failure' must be allow or block; allow is used", "on_failure: block")
            return "allow"
        return text

    def _sandbox(self) -> str:
        """Return the level of the sandbox; of a wrong one the strictest counts, for the author wanted walls."""
        if self._get("sandbox") is None:
            return SANDBOX_LEVELS[0]
        text = self._text("sandbox")
        if text not in SANDBOX_LEVELS:
            self._error(
                "sandbox",
                f"'sandbox' must be {', '.join(SANDBOX_LEVELS[:-1])} or {SANDBOX_LEVELS[-1]}; {SANDBOX_LEVELS[-1]} is used",
            )
            return SANDBOX_LEVELS[-1]
        return text

    def _dialect(self, kind: EventKind | None) -> str:
        """Return the name of the dialect that the script speaks."""
        if self._get("dialect") is None:
            return NATIVE
        text = self._text("dialect")
        if text not in HOOK_DIALECTS:
            self._error("dialect", f"'dialect' must be {' or '.join(HOOK_DIALECTS)}; native is used", "dialect: native")
            return NATIVE
        if kind is not None and text != NATIVE and kind.name not in BY_KIND:
            self._error("dialect", f"the dialect '{text}' has no event like {kind.name}; native is used", "remove it")
            return NATIVE
        return text

    def _protected(self) -> bool:
        protected = self._flag("protected")
        if protected and self.scope == PROJECT:
            self._error("protected", "only a user hook can be protected; it is ignored here", "remove it")
            return False
        return protected

    def _matcher(self, has_tool: bool) -> Matcher:  # noqa: FBT001
        node = self._get("matcher")
        if node is None or (isinstance(node, Scalar) and node.text in ("", "~", "null")):
            return ALL
        line = self._line("matcher")
        if not isinstance(node, Mapping):
            self._invalid(line, "matcher", "'matcher' must have 'tool' or 'pattern' below it", "matcher: {tool: Shell}")
            return ALL
        for key, (at, _) in node.entries.items():
            if key not in ("tool", "pattern"):
                self._unknown(at, key, ("tool", "pattern"), "matcher.")
        if not has_tool:
            self._warn(line, "matcher", "this event has no tool; the matcher is ignored")
        return Matcher(self._pattern(node, "tool"), self._pattern(node, "pattern"))

    def _pattern(self, node: Mapping, key: str) -> Pattern | None:
        if key not in node.entries:
            return None
        line, value = node.entries[key]
        if not isinstance(value, Scalar):
            self._invalid(line, f"matcher.{key}", f"'matcher.{key}' must be a text")
            return None
        source = "" if not value.quoted and value.text in ("~", "null") else value.text
        if any(char in source for char in BACK):
            source = "".join(BACK.get(char, char) for char in source)
            told = f"a control character was read as the escape it came from: {source}"
            self._warn(line, f"matcher.{key}", told, "use single quotes")
        try:
            return compile_pattern(source)
        except ConfigError as error:
            self._invalid(line, f"matcher.{key}", str(error))
            return None

    def _needs(self) -> Needs:
        node = self._get("requires")
        if node is None:
            return Needs()
        if not isinstance(node, Mapping):
            self._error("requires", "'requires' must have bins, env or os below it", "it is ignored")
            return Needs()
        for key, (at, _) in node.entries.items():
            if key not in NEEDS:
                self._unknown(at, key, NEEDS, "requires.")
        found = {key: self._names(f"requires.{key}", value) for key, (_, value) in node.entries.items() if key in NEEDS}
        return Needs(**found)

    def _names(self, key: str, node: Node | None) -> tuple[str, ...]:
        """Return a list of names; one name alone counts as a list of one."""
        items = node.items if isinstance(node, Sequence) else () if node is None else (node,)
        names = tuple(item.text for item in items if isinstance(item, Scalar) and item.text)
        if len(names) != len(items):
            line = node.line if node is not None else None
            self._say(ERROR, line, key, f"'{key}' must be a list of names")
        return names

    def _metadata(self) -> Any:
        node = self._get("metadata")
        if node is not None and not isinstance(node, Mapping):
            self._error("metadata", "'metadata' must be a mapping", "it is ignored")
            return None
        return plain(node) if node is not None else None


def name_fault(name: str) -> str | None:
    """Return what is wrong with a hook's name, if anything."""
    if len(name) > 64:
        return f"has {len(name)} characters, 64 are allowed"
    if not name.isascii() or not name[0].isalnum() or not all(c.isalnum() or c in "-_." for c in name):
        return "may hold letters, digits, '-', '_' and '.', and must start with a letter or digit"
    return None


def whole_number(node: Node) -> int | None:
    """Read a plain decimal number; None for anything else, such as 1:30, 0100, 1e4 or true."""
    if not isinstance(node, Scalar) or node.quoted:
        return None
    digits = node.text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or len(digits) > 18 or (digits[0] == "0" and digits != "0"):
        return None
    return int(node.text)


def plain(node: Node) -> Any:
    """Return free metadata as plain values."""
    if isinstance(node, Mapping):
        return {key: plain(value) for key, (_, value) in node.entries.items()}
    if isinstance(node, Sequence):
        return [plain(item) for item in node.items]
    if node.quoted:
        return node.text
    if node.text in ("true", "false"):
        return node.text == "true"
    if node.text in ("", "~", "null"):
        return None
    number = whole_number(node)
    return node.text if number is None else number


def _nearest(word: str, known: tuple[str, ...]) -> str:
    import difflib

    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"did you mean '{near[0]}'?" if near else f"known: {', '.join(known)}"


def _printable(name: str) -> str:
    """Return a folder's name as text that can always be written."""
    return name.encode("utf-8", "backslashreplace").decode()
