"""The fields that people write in HOOK.md, hooks.toml and settings.json, as one table, and one checker for them.

The reference page of fields and the JSON Schemas are generated from this table.
"""

from __future__ import annotations

import os
import urllib.parse
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from boathook.core.event import SPELLINGS, find_kind
from boathook.core.hook import BASIC, ERROR, ISOLATED, PROJECT, SANDBOX_LEVELS, WARNING, Diagnostic
from boathook.core.json_text import describe_json_type, dumps
from boathook.core.value import Value
from boathook.dialects.dialect import HOOK_DIALECTS, NATIVE
from boathook.errors import UnknownEvent

YAML_PAIR, TOML_PAIR, JSON_PAIR = "{}: {}", "{} = {}", '"{}": {}'
MAX_NAME_CHARS, MAX_DESCRIPTION_CHARS = 64, 1024
MAX_DIAGNOSTICS = 100
MAX_SUGGESTIONS = 20
_MAX_SHOWN_CHARS = 40
_MAX_SHOWN_NUMBER = 10**15


class FieldType(Value):
    """What a value may be. `find_nearest` returns what is still good of a wrong value, or None."""

    name: str
    expected: str
    is_valid: Callable[[Any, Field], bool]
    find_nearest: Callable[[Any, Field], Any] | None = None


class Field(Value):
    """One row: a key, what may be written there, and what happens to a wrong value.

    A wrong value is ignored, so that the default counts, with three exceptions: `fallback` is used instead of it, a
    `tolerant` field uses what is still good of it, and a `refused` one makes the whole hook invalid. `explain` returns the
    message and the fix for a wrong value where the general sentence does not help.
    """

    key: str
    type: FieldType
    about: str
    default: Any = None
    low: int = 0
    high: int = 0
    words: tuple[str, ...] = ()
    fields: tuple[Field, ...] = ()
    example: Any = None
    required: bool = False
    nullable: bool = False
    user_only: bool = False
    refused: bool = False
    tolerant: bool = False
    fallback: Any = None
    consequence: str = ""
    explain: Callable[[Any], tuple[str, str]] | None = None

    @property
    def expectation(self) -> str:
        """What the value must be, in words."""
        return self.type.expected.format(low=self.low, high=self.high, words=join_words(self.words))


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _clamp(value: Any, field: Field) -> int | None:
    return min(max(value, field.low), field.high) if _is_number(value) else None


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_line(value: Any, _: object = None) -> bool:
    return isinstance(value, str) and bool(value.strip()) and "\0" not in value


def split_url(value: Any) -> urllib.parse.SplitResult | None:
    """Return the parts of an http or https address; None if it is not one."""
    try:
        parts = urllib.parse.urlsplit(value) if _is_line(value) else None
    except ValueError:
        return None
    return parts if parts and parts.scheme in ("http", "https") and parts.hostname else None


def _explain_url(value: Any) -> tuple[str, str]:
    shown = "" if isinstance(value, str) else f", not {describe_value(value)}"
    return f"'url' must begin with https:// or http:// and name a host{shown}", ""


def _keep_names(value: Any, _: Field) -> list[str]:
    return [name for name in value if isinstance(name, str) and name] if isinstance(value, list) else []


def is_hook_name(value: Any, _: object = None) -> bool:
    """Whether a value can be the name of a HOOK.md hook."""
    if not isinstance(value, str) or not value.isascii() or not 0 < len(value) <= MAX_NAME_CHARS:
        return False
    return value[0].isalnum() and all(char.isalnum() or char in "-_." for char in value)


def _explain_event(value: Any) -> tuple[str, str]:
    try:
        find_kind(str(value))
    except UnknownEvent as error:
        return str(error), f"write '{error.nearest}'" if error.nearest else "boathook events lists the known ones"
    return f"'trigger' must be the name of an event, not {describe_value(value)}", "for example trigger: pre-tool-call"


def _is_named_table(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("name"), str)


def _keep_named_tables(value: Any, _: Field) -> list[dict[str, Any]]:
    return [table for table in value if _is_named_table(table)] if isinstance(value, list) else []


ANYTHING = FieldType("anything", "anything", lambda _value, _field: True)
TEXT = FieldType("text", "text", lambda value, _: isinstance(value, str))
SHORT_TEXT = FieldType(
    "text",
    "text of at most {high} characters",
    lambda value, field: isinstance(value, str) and len(value) <= field.high,
    lambda value, _: value if isinstance(value, str) else None,
)
LINE = FieldType("text", "text that is not empty and has no NUL character", _is_line)
URL = FieldType("address", "an http or https address", lambda value, _: split_url(value) is not None)
HOOK_NAME = FieldType(
    "name",
    f"1 to {MAX_NAME_CHARS} letters, digits, '-', '_' or '.' that begin with a letter or digit",
    is_hook_name,
)
EVENT_NAME = FieldType("event", "the name of an event", lambda value, _: isinstance(value, str) and value in SPELLINGS)
MODEL = FieldType("provider:name", "text like provider:name", lambda value, _: isinstance(value, str) and ":" in value)
ABSOLUTE_PATH = FieldType(
    "absolute path",
    "an absolute path",
    lambda value, _: isinstance(value, str) and os.path.isabs(value) and "\0" not in value,
)
FLAG = FieldType("true or false", "true or false", lambda value, _: isinstance(value, bool))
INTEGER = FieldType(
    "whole number",
    "a whole number from {low} to {high}",
    lambda value, field: _is_number(value) and field.low <= value <= field.high,
    _clamp,
)
DURATION = FieldType(
    "seconds",
    "a number of seconds above 0",
    lambda value, _: isinstance(value, int | float) and not isinstance(value, bool) and value > 0,
)
WORD = FieldType("word", "{words}", lambda value, field: isinstance(value, str) and value in field.words)
NAME_LIST = FieldType(
    "list of names", "a list of names", lambda value, _: _are_texts(value) and all(name for name in value), _keep_names
)
TEXT_LIST = FieldType("list of texts", "a list of texts", lambda value, _: _are_texts(value))
ARGUMENT_LIST = FieldType(
    "list of texts",
    "a list of texts without NUL characters",
    lambda value, _: _are_texts(value) and not any("\0" in text for text in value),
)
TEXT_MAP = FieldType(
    "object of texts",
    "an object of texts",
    lambda value, _: isinstance(value, dict) and all(isinstance(text, str) for text in value.values()),
)
EVENT_MAP = FieldType("object of events", "an object of events", lambda value, _: isinstance(value, dict))
MAPPING = FieldType("mapping", "a mapping", lambda value, _: isinstance(value, dict))
TABLE = FieldType("table", "a table", lambda value, _: isinstance(value, dict))
NAMED_TABLES = FieldType(
    "list of tables",
    "a list of tables that each have a name",
    lambda value, field: isinstance(value, list) and len(_keep_named_tables(value, field)) == len(value),
    _keep_named_tables,
)

_LIST_TYPES = (NAME_LIST, TEXT_LIST, ARGUMENT_LIST, NAMED_TABLES)

TIMEOUT_FIELD = Field("timeout", INTEGER, "the time limit in milliseconds", 30_000, 100, 600_000, tolerant=True)
ASYNC_FIELD = Field("async", FLAG, "whether the hook runs in the background and cannot block", default=False)
PRIORITY_FIELD = Field("priority", INTEGER, "hooks of higher priority run first", 100, 0, 1000, tolerant=True)
ON_FAILURE_FIELD = Field("on_failure", WORD, "what a failed run does", "allow", words=("allow", "block"))
SANDBOX_FIELD = Field(
    "sandbox",
    WORD,
    "how strictly the hook is confined",
    BASIC,
    words=SANDBOX_LEVELS,
    fallback=ISOLATED,
    example=ISOLATED,
)
NETWORK_FIELD = Field("network", FLAG, "whether a confined hook may use the network", default=False)
ENV_FIELD = Field("env", NAME_LIST, "environment variables that the hook uses", tolerant=True, example=["TOKEN"])

_PATTERN = Field("", TEXT, "", nullable=True, refused=True)
_NEEDED = Field("", NAME_LIST, "", tolerant=True, example=["git"])
HOOK_MD_FIELDS = (
    Field("name", HOOK_NAME, "the name; equal to that of the folder", required=True),
    Field(
        "description",
        SHORT_TEXT,
        "what the hook does",
        high=MAX_DESCRIPTION_CHARS,
        example="Blocks force pushes",
        required=True,
        tolerant=True,
    ),
    Field(
        "trigger",
        EVENT_NAME,
        "the event that the hook runs on",
        required=True,
        refused=True,
        example="pre-tool-call",
        explain=_explain_event,
    ),
    Field(
        "matcher",
        MAPPING,
        "which tool calls the hook runs on",
        fields=(
            _PATTERN.replace(key="tool", about="an RE2 pattern, searched in the name of the tool"),
            _PATTERN.replace(key="pattern", about="an RE2 pattern, searched in the input of the tool"),
        ),
        nullable=True,
        refused=True,
        example={"tool": "Shell"},
    ),
    TIMEOUT_FIELD,
    ASYNC_FIELD,
    PRIORITY_FIELD,
    ON_FAILURE_FIELD,
    Field("protected", FLAG, "a project cannot replace or disable the hook; for your own hooks only", default=False),
    Field(
        "requires",
        MAPPING,
        "what must be there for the hook to run",
        fields=(
            _NEEDED.replace(key="bins", about="programs on the PATH"),
            _NEEDED.replace(key="env", about="environment variables that are set", example=["TOKEN"]),
            _NEEDED.replace(key="os", about="operating systems, such as linux or darwin", example=["linux"]),
        ),
    ),
    ENV_FIELD,
    SANDBOX_FIELD,
    NETWORK_FIELD,
    Field("dialect", WORD, "the protocol of the script", NATIVE, words=HOOK_DIALECTS),
    Field("metadata", MAPPING, "anything; `boathook doctor` reads `metadata.doctor`"),
)
TUNABLE_FIELDS = tuple(
    field.replace(default=None)
    for field in (TIMEOUT_FIELD, PRIORITY_FIELD, ASYNC_FIELD, ON_FAILURE_FIELD, SANDBOX_FIELD)
)
_GRANT_FIELDS = (
    NETWORK_FIELD.replace(default=None, user_only=True),
    ENV_FIELD.replace(about="more environment variables", user_only=True, tolerant=False),
)
_HOOK_NAME = Field("name", TEXT, "the name of a hook, as `boathook list` shows it")
_OVERRIDE_PROJECT = Field(
    "project",
    ABSOLUTE_PATH,
    "the only project that the override is for",
    user_only=True,
    fallback="",
    consequence="the override is for no project",
    example="/path/to/project",
)
HOOKS_TOML_FIELDS = (
    Field("enabled", FLAG, "false disables all hooks (in a project's file: its own)", default=True),
    Field("debug", FLAG, "write debug lines, like `--debug`", default=False, user_only=True),
    Field(
        "strict_exit_codes",
        FLAG,
        "only exit code 2 blocks, not `decision: deny` with exit code 0",
        default=False,
        user_only=True,
    ),
    Field("max_stop_blocks", INTEGER, "how often hooks may send an agent back to work", 3, 0, 100, user_only=True),
    Field(
        "max_timeout", INTEGER, "the time limit of every hook in milliseconds", 600_000, 100, 600_000, user_only=True
    ),
    Field("model", MODEL, "the model that prompt hooks ask", user_only=True, example="anthropic:…"),
    Field("untrusted", WORD, "what an untrusted hook does", "skip", words=("skip", "block"), user_only=True),
    Field("record", WORD, "how much of an event is logged", "summary", words=("summary", "whole"), user_only=True),
    Field(
        "degraded",
        WORD,
        "what happens to an effect that the agent cannot express",
        "tell",
        words=("tell", "refuse"),
        user_only=True,
    ),
    SANDBOX_FIELD.replace(about="the least strict sandbox of every hook", default=None),
    Field("defaults", TABLE, "values for hooks that do not set them", fields=TUNABLE_FIELDS),
    Field("disable", NAMED_TABLES, "hooks that do not run", tolerant=True, example=[{"name": "…"}]),
    Field(
        "override",
        NAMED_TABLES,
        "values that replace those of a hook",
        fields=(_HOOK_NAME, *TUNABLE_FIELDS, *_GRANT_FIELDS, _OVERRIDE_PROJECT),
        tolerant=True,
        example=[{"name": "…"}],
    ),
)
HOOKS_FIELD = Field("hooks", TABLE, "everything is in this table", fields=HOOKS_TOML_FIELDS)

SETTINGS_FILE_FIELDS = (
    Field("hooks", EVENT_MAP, "the hooks, by event", nullable=True),
    Field("disableAllHooks", FLAG, "true disables all hooks of settings.json", default=False),
    Field("enabledPlugins", ANYTHING, "plugins whose hooks run"),
)
MATCHER_FIELD = Field("matcher", TEXT, "which tools the hooks run on", nullable=True, refused=True)
ENTRY_TYPE_FIELD = Field(
    "type",
    WORD,
    "how the hook runs",
    words=("command", "prompt", "http"),
    example="command",
    required=True,
    refused=True,
)
MAX_SECONDS = 600
DEFAULT_SECONDS = {"command": 60, "prompt": 30, "http": 60}
_ENTRY_FIELDS = {
    "command": (
        Field("command", LINE, "a command line, or a program if there are `args`", required=True, refused=True),
        Field("args", ARGUMENT_LIST, "arguments; the program is started without a shell", nullable=True, refused=True),
        Field("shell", WORD, "the shell", words=("bash", "powershell"), nullable=True, refused=True),
        ASYNC_FIELD,
        Field("asyncRewake", FLAG, "the same as `async` here", default=False),
    ),
    "prompt": (
        Field("prompt", LINE, "the question for a model", required=True, refused=True),
        Field("model", TEXT, "the model that is asked, instead of `hooks.model`", nullable=True),
    ),
    "http": (
        Field("url", URL, "where the event is sent", required=True, refused=True, explain=_explain_url),
        Field("headers", TEXT_MAP, "headers of the request", refused=True),
        Field("allowedEnvVars", TEXT_LIST, "environment variables that headers may use", refused=True),
    ),
}
SETTINGS_ENTRY_FIELDS = {
    kind: (
        *own,
        ENTRY_TYPE_FIELD,
        Field("timeout", DURATION, f"the time limit in seconds, at most {MAX_SECONDS}", DEFAULT_SECONDS[kind]),
        Field("if", ANYTHING, "a rule such as `Bash(git *)`; the hook runs only on calls that match it", nullable=True),
        Field("statusMessage", ANYTHING, "the description of the hook"),
        Field("once", ANYTHING, "has no effect here"),
    )
    for kind, own in _ENTRY_FIELDS.items()
}


class FieldChecker:
    """Checks the fields of one file or one entry and collects diagnostics; `refusal` is the first that makes a hook invalid."""

    def __init__(self, path: str, scope: str, pair: str) -> None:
        self.path, self.scope = path, scope
        self.lines: dict[str, int] = {}
        self.diagnostics: list[Diagnostic] = []
        self.refusal: Diagnostic | None = None
        self._pair = pair
        self._suggestions = 0
        self._counts: dict[str, int] = {}

    def report(self, level: str, key: str, message: str, fix: str = "", line: int | None = None) -> None:
        """Add a diagnostic, up to `MAX_DIAGNOSTICS` of each level."""
        count = self._counts[level] = self._counts.get(level, 0) + 1
        if count <= MAX_DIAGNOSTICS:
            self.diagnostics.append(Diagnostic(self.path, line or self.lines.get(key), key, level, message, fix))

    def refuse(self, key: str, message: str, fix: str = "", line: int | None = None) -> None:
        """Add an error that makes the hook invalid."""
        diagnostic = Diagnostic(self.path, line or self.lines.get(key), key, ERROR, message, fix)
        self.diagnostics.append(diagnostic)
        self.refusal = self.refusal or diagnostic

    def check(self, fields: tuple[Field, ...], data: Mapping[str, Any], place: str = "") -> dict[str, Any]:
        """Return the values that count, by key; what is wrong is reported and left out or replaced."""
        known = {field.key: field for field in fields}
        prefix = f"{place}." if place else ""
        values: dict[str, Any] = {}
        for key, value in data.items():
            if key not in known:
                self._report_unknown(prefix + key, key, known)
            elif not _is_absent(known[key], value):
                checked = self._check_value(known[key], prefix + key, value)
                if checked is not None:
                    values[key] = checked
        for field in fields:
            if field.required and _is_absent(field, data.get(field.key)):
                self._report_missing(field, prefix + field.key)
        return values

    def _check_value(self, field: Field, key: str, value: Any) -> Any:
        if field.user_only and self.scope == PROJECT:
            self.report(WARNING, key, f"'{field.key}' can only be set by the user; it is ignored here")
            return None
        if not field.type.is_valid(value, field):
            nearest = field.type.find_nearest
            kept = nearest(value, field) if field.tolerant and nearest else field.fallback
            self._report_wrong(field, key, value, kept)
            value = kept
        if not field.fields or value is None:
            return value
        if isinstance(value, list):
            return [self.check(field.fields, item, key) for item in value]
        return self.check(field.fields, value, key)

    def _report_wrong(self, field: Field, key: str, value: Any, kept: Any) -> None:
        message = f"'{field.key}' must be {field.expectation}"
        if not (isinstance(value, list) and field.type in _LIST_TYPES):
            message += f", not {describe_value(value)}"
        fix = self._show_example(field)
        if field.explain is not None:
            message, fix = field.explain(value)
        if field.refused:
            self.refuse(key, message, fix)
        else:
            self.report(ERROR, key, f"{message}; {_describe_consequence(field, value, kept)}", fix)

    def _report_missing(self, field: Field, key: str) -> None:
        message, fix = f"'{field.key}' is missing", self._show_example(field)
        if field.refused:
            self.refuse(key, message, fix)
        else:
            used = "" if field.default is None else f"; {_show(field.default)} is used"
            self.report(ERROR, key, message + used, fix)

    def _report_unknown(self, key: str, name: str, known: Iterable[str]) -> None:
        self._suggestions += 1
        fix = suggest(name, known) if self._suggestions <= MAX_SUGGESTIONS else ""
        self.report(WARNING, key, f"unknown key '{name}'", fix)

    def _show_example(self, field: Field) -> str:
        value = field.default if field.example is None else field.example
        if value is None:
            return ""
        text = value if isinstance(value, str) and self._pair == YAML_PAIR else dumps(value)
        return f"for example {self._pair.format(field.key, text)}"


def _is_absent(field: Field, value: Any) -> bool:
    return (field.nullable and value is None) or (field.required and value in (None, ""))


def _describe_consequence(field: Field, value: Any, kept: Any) -> str:
    if field.consequence:
        return field.consequence
    if kept is not None and kept is value:
        return "it is used as it is"
    if isinstance(kept, list):
        return "only its valid items are used" if kept else "it is ignored"
    used = field.default if kept is None else kept
    return "it is ignored" if used is None else f"{_show(used)} is used"


def _show(value: Any) -> str:
    return value if isinstance(value, str) else dumps(value)


def describe_value(value: Any) -> str:
    """Return a wrong value in a few words: itself if it is short, else its type."""
    if isinstance(value, int) and abs(value) >= _MAX_SHOWN_NUMBER:
        return "a number that large"
    if isinstance(value, bool | int | float):
        return str(value).lower()
    if isinstance(value, str):
        if not value.strip():
            return "empty text"
        if "\0" in value:
            return "text with a NUL character"
        is_short = len(value) <= _MAX_SHOWN_CHARS and value.isprintable()
        return f"'{value}'" if is_short else f"text of {len(value)} characters"
    return describe_json_type(value)


def join_words(words: Iterable[str]) -> str:
    """Return words as people list them: a, b or c."""
    *first, last = words or ("",)
    return f"{', '.join(first)} or {last}" if first else last


def suggest(word: str, known: Iterable[str]) -> str:
    """Return the known word that was probably meant, else all of them."""
    import difflib

    known = tuple(known)
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"did you mean '{near[0]}'?" if near else f"known: {', '.join(known)}"
