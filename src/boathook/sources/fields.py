"""The fields of HOOK.md, hooks.toml and settings.json: one table, also for the reference page and schemas, and one checker."""

from __future__ import annotations

import os
import urllib.parse
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any

from boathook.core.ask_rule import ASK_WAYS
from boathook.core.event import KINDS, SPELLINGS, find_kind
from boathook.core.hook import (
    ASK_CHECKS,
    BASIC,
    ERROR,
    IMPORTS,
    ISOLATED,
    NORMAL_ASK,
    OWN_IMPORTS,
    OWN_PROCESS,
    PROCESSES,
    PROJECT,
    PROJECT_IMPORTS,
    SANDBOX_LEVELS,
    SHARED_PROCESS,
    STRONG_ASK,
    WARNING,
    Diagnostic,
)
from boathook.core.json_text import describe_json_type, dumps
from boathook.core.near_words import DID_YOU_MEAN, find_near_word, suggest
from boathook.core.pattern_search import MAX_SEARCH_SECONDS
from boathook.core.tool_kinds import TOOL_KINDS
from boathook.core.value import Value
from boathook.dialects.dialect import HOOK_DIALECTS, NATIVE
from boathook.errors import UnknownEvent
from boathook.sources.source import list_default_sources, list_named_sources

# What a checker says about a pattern that is not compiled.
TOO_LARGE_TOGETHER = (
    "the patterns of this project are too large together: while it is not trusted, this one counts as a match"
)
# The names of sources as hooks.toml and `run --without` have them.
_SOURCE_NAMES = tuple(source.without for source in list_named_sources())
_DEFAULT_SOURCE_NAMES = list_default_sources()
YAML_PAIR, TOML_PAIR, JSON_PAIR = "{}: {}", "{} = {}", '"{}": {}'
MAX_NAME_CHARS, MAX_DESCRIPTION_CHARS = 64, 1024
MAX_DIAGNOSTICS, MAX_SUGGESTIONS = 100, 20
_MAX_SHOWN_CHARS, _MAX_SHOWN_NUMBER = 40, 10**15
# What people write for a switch that has words.
_SWITCH_WORDS = {True: "on", False: "off"}


class FieldType(Value):
    """What a value may be: in words, as a Python type, and a test for it, or for each of its items."""

    expected: str
    base: Any
    accepts: Callable[[Any], bool] | None = None


class Field(Value):
    """One row: a key, what may be written there, and what happens to a wrong value.

    A wrong value is ignored, so that the default counts, with three exceptions: `fallback` is used instead of it, a
    `tolerant` field uses what is still good of it, and a `refused` one makes the whole hook invalid. `explain` returns the
    message and the fix for a wrong text where the general sentence does not help.
    """

    key: str
    type: FieldType
    about: str
    default: Any = None
    low: int = 0
    high: int = 0
    words: Collection[str] = ()
    fields: tuple[Field, ...] = ()
    example: Any = None
    required: bool = False
    nullable: bool = False
    user_only: bool = False
    refused: bool = False
    tolerant: bool = False
    fallback: Any = None
    consequence: str = ""
    explain: Callable[[str], tuple[str, str]] | None = None

    @property
    def expectation(self) -> str:
        return self.type.expected.format(low=self.low, high=self.high, words=join_words(self.words))

    def is_absent(self, value: Any) -> bool:
        """Whether a value counts as if the key were missing."""
        return (self.nullable and value is None) or (self.required and value in (None, ""))

    def is_valid(self, value: Any) -> bool:
        base, accepts = self.type.base, self.type.accepts
        if not isinstance(value, base) or (base is not bool and base is not object and isinstance(value, bool)):
            return False
        if base is not list and (self.words or self.high):
            size = len(value) if base is str else value
            return value in self.words if self.words else self.low <= size <= self.high
        items = value if base is list else value.values() if base is dict else (value,)
        return (base is not list or len(value) >= self.low) and (accepts is None or all(map(accepts, items)))

    def find_nearest(self, value: Any) -> Any:
        """Return what is still good of a wrong value; None if nothing is."""
        base, accepts = self.type.base, self.type.accepts
        if base is list and accepts is not None:
            return [item for item in value if accepts(item)] if isinstance(value, list) else []
        if base is dict and accepts is not None:
            return {key: item for key, item in value.items() if accepts(item)} if isinstance(value, dict) else None
        if not isinstance(value, base) or isinstance(value, bool):
            return None
        return min(max(value, self.low), self.high) if base is int else value


def describe_construct(construct: str) -> tuple[str, str]:
    """Return what a checker says about a pattern that RE2 cannot run, and how to avoid it."""
    limit = f"at most {MAX_SEARCH_SECONDS * 1000:g} ms for all such patterns of an event, then it counts as a match"
    message = f"{construct} is not in RE2, so this pattern is slower ({limit})"
    return message, "match more broadly and let the script decide, or keep it"


def is_hook_name(text: str) -> bool:
    is_short = text.isascii() and 0 < len(text) <= MAX_NAME_CHARS
    return is_short and text[0].isalnum() and all(char.isalnum() or char in "-_." for char in text)


def is_pack_name(text: str) -> bool:
    """Whether a text names a pack: its owner, a slash, and its own name."""
    owner, _, name = text.partition("/")
    return is_hook_name(owner) and is_hook_name(name)


def split_url(text: str) -> urllib.parse.SplitResult | None:
    try:
        parts = urllib.parse.urlsplit(text)
    except ValueError:
        return None
    return parts if _is_line(text) and parts.scheme in ("http", "https") and parts.hostname else None


def _is_line(text: str) -> bool:
    return bool(text.strip()) and "\0" not in text


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_project_table(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("project"), str) and isinstance(value.get("sources"), list)


def _is_named_table(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("name"), str)


def _explain_event(text: str) -> tuple[str, str]:
    try:
        find_kind(text)
    except UnknownEvent as error:
        return str(error), f"write '{error.nearest}'" if error.nearest else "boathook events lists the known ones"
    raise ValueError(text)


def _explain_url(_: str) -> tuple[str, str]:
    # The address may contain a secret, so it is not shown.
    return "'url' must begin with https:// or http:// and name a host", ""


ANYTHING = FieldType("anything", object)
TEXT = FieldType("text", str)
SHORT_TEXT = FieldType("text of at most {high} characters", str)
LINE = FieldType("text that is not empty and has no NUL character", str, _is_line)
WORD = FieldType("{words}", str)
_NAME_FORM = f"1 to {MAX_NAME_CHARS} letters, digits, '-', '_' or '.', and start with a letter or digit"
HOOK_NAME = FieldType(_NAME_FORM, str, is_hook_name)
EVENT_NAME = FieldType("the name of an event", str, SPELLINGS.__contains__)
MODEL = FieldType("text like provider:name", str, lambda text: ":" in text)
ABSOLUTE_PATH = FieldType("an absolute path", str, lambda path: os.path.isabs(path) and "\0" not in path)
URL = FieldType("an http or https address", str, lambda text: split_url(text) is not None)
FLAG = FieldType("true or false", bool)
INTEGER = FieldType("a whole number from {low} to {high}", int)
MILLISECONDS = FieldType("a whole number of milliseconds from {low} to {high}", int)
DURATION = FieldType("a number of seconds above 0", (int, float), lambda seconds: seconds > 0)
AGENT_MILLISECONDS = FieldType("a number of milliseconds above 0", (int, float), lambda number: number > 0)
NAME_LIST = FieldType("a list of names", list, lambda name: _is_text(name) and name != "")
TOOL_KIND_LIST = FieldType("{words}, or a list of them", list, TOOL_KINDS.__contains__)
SOURCE_LIST = FieldType("a list of {words}", list, _SOURCE_NAMES.__contains__)
PROJECT_TABLES = FieldType("a list of tables that each have a project and its sources", list, _is_project_table)
TEXT_LIST = FieldType("a list of texts", list, _is_text)
ARGUMENT_LIST = FieldType(
    "a list of texts without NUL characters", list, lambda text: _is_text(text) and "\0" not in text
)
TEXT_MAP = FieldType("an object of texts", dict, _is_text)
VARIABLE_MAP = FieldType(
    "an object of texts without NUL characters", dict, lambda text: _is_text(text) and "\0" not in text
)
EVENT_MAP = FieldType("an object of events", dict)
MAPPING = FieldType("a mapping", dict)
TABLE = FieldType("a table", dict)
ENTRY_TABLES = FieldType("a list of tables", list, lambda table: isinstance(table, dict))
NAMED_TABLES = FieldType("a list of tables that each have a name", list, _is_named_table)

_user = partial(Field, user_only=True)
_needed = partial(Field, required=True, refused=True)
_optional = partial(Field, nullable=True, refused=True)
_names = partial(Field, type=NAME_LIST, tolerant=True)
_tables = partial(Field, type=NAMED_TABLES, tolerant=True, example=[{"name": "…"}])

TIMEOUT_FIELD = Field("timeout", MILLISECONDS, "the time limit in milliseconds", 30_000, 100, 600_000, tolerant=True)
ASYNC_FIELD = Field("async", FLAG, "whether the hook runs in the background and cannot block", default=False)
PRIORITY_FIELD = Field("priority", INTEGER, "hooks of higher priority run first", 100, 0, 1000, tolerant=True)
ON_FAILURE_FIELD = Field("on_failure", WORD, "what a failure does", "allow", words=("allow", "block"), example="block")
_STRICT: dict[str, Any] = {"fallback": ISOLATED, "example": ISOLATED}
SANDBOX_FIELD = Field("sandbox", WORD, "how strictly the hook is confined", BASIC, words=SANDBOX_LEVELS, **_STRICT)
NETWORK_FIELD = Field("network", FLAG, "whether a confined hook may use the network", default=False)
ENV_FIELD = _names("env", about="environment variables that the hook uses", example=["TOKEN"])
_IMPORTS_ABOUT = (
    "what Python code of the hook can import besides installed packages: its own folder, or the project, too"
)
IMPORTS_FIELD = Field("imports", WORD, _IMPORTS_ABOUT, OWN_IMPORTS, words=IMPORTS, example=PROJECT_IMPORTS)

_PROCESS_ABOUT = (
    "how scripts/run.py is started: by its own interpreter line, or by the Python of boathook, in a process that it may "
    "share with the next hooks of its pack"
)
PROCESS_FIELD = Field("process", WORD, _PROCESS_ABOUT, OWN_PROCESS, words=PROCESSES, example=SHARED_PROCESS)

_ASK_ABOUT = (
    "what a person's yes to a question of the hook needs: a terminal, or a second factor (`hooks.approvals`) as well; "
    "a question that needs both is never left to the agent"
)
_ASK_STRONG: dict[str, Any] = {"fallback": STRONG_ASK, "example": STRONG_ASK}
ASK_FIELD = Field("ask", WORD, _ASK_ABOUT, NORMAL_ASK, words=ASK_CHECKS, **_ASK_STRONG)

_SETTINGS_ABOUT = (
    "the names of the settings that the hook reads, for a hook of a pack; a setting in hooks.toml with another name is "
    "an error. Without it, every name counts as right"
)

_MATCHER_ABOUT = "which tool calls, or which other events of the trigger, the hook runs on"
_KIND_ABOUT = "what the tool does; it means every such tool in every agent"
_PATTERNS = (
    _optional("tool", TEXT, "a regular expression, searched in the name of the tool"),
    _optional("pattern", TEXT, "a regular expression, searched in the input of the tool"),
    Field("kind", TOOL_KIND_LIST, _KIND_ABOUT, words=TOOL_KINDS, refused=True, example="writes"),
)
_FIELD_KINDS = {
    name: [kind.name for kind in KINDS if name in kind.matched_fields]
    for name in dict.fromkeys(name for kind in KINDS for name in kind.matched_fields)
}
_FIELD_PATTERNS = tuple(
    _optional(name, TEXT, f"a regular expression, searched in this field of the event ({', '.join(kinds)})")
    for name, kinds in _FIELD_KINDS.items()
)
_NEEDS = (
    _names("bins", about="programs on the PATH", example=["git"]),
    _names("env", about="environment variables that are set", example=["TOKEN"]),
    _names("os", about="operating systems, such as linux or darwin", example=["linux"]),
)
_DESCRIPTION = Field("description", SHORT_TEXT, "what the hook does", high=MAX_DESCRIPTION_CHARS, required=True)
HOOK_MD_FIELDS = (
    Field("name", HOOK_NAME, "the name; equal to that of the folder", required=True),
    _DESCRIPTION.replace(tolerant=True, example="Blocks force pushes"),
    _needed("trigger", EVENT_NAME, "the event that the hook runs on", example="pre-tool-call", explain=_explain_event),
    _optional("matcher", MAPPING, _MATCHER_ABOUT, fields=(*_PATTERNS, *_FIELD_PATTERNS), example={"tool": "Shell"}),
    TIMEOUT_FIELD,
    ASYNC_FIELD,
    PRIORITY_FIELD,
    ON_FAILURE_FIELD,
    Field("protected", FLAG, "a project cannot replace or disable the hook; for your own hooks only", default=False),
    Field("requires", MAPPING, "what must be there for the hook to run", fields=_NEEDS),
    ENV_FIELD,
    SANDBOX_FIELD,
    NETWORK_FIELD,
    IMPORTS_FIELD,
    PROCESS_FIELD,
    ASK_FIELD,
    Field("dialect", WORD, "the protocol of the script", NATIVE, words=HOOK_DIALECTS),
    _names("settings", about=_SETTINGS_ABOUT, example=["protected"]),
    Field("metadata", MAPPING, "anything; `boathook doctor` reads `metadata.doctor`"),
)

_TUNED = (TIMEOUT_FIELD, PRIORITY_FIELD, ASYNC_FIELD, ON_FAILURE_FIELD, SANDBOX_FIELD)
TUNABLE_FIELDS = tuple(field.replace(default=None) for field in _TUNED)
_OVERRIDE_PROJECT = _user("project", ABSOLUTE_PATH, "the only project that the override is for", fallback="")
_OVERRIDE_FIELDS = (
    Field("name", TEXT, "the name of a hook, as `boathook list` shows it"),
    *TUNABLE_FIELDS,
    NETWORK_FIELD.replace(default=None, user_only=True),
    ENV_FIELD.replace(about="more environment variables", user_only=True, tolerant=False),
    IMPORTS_FIELD.replace(default=None, user_only=True),
    _OVERRIDE_PROJECT.replace(consequence="the override is for no project", example="/path/to/project"),
)
_SOURCES_FIELD = _user(
    "sources",
    SOURCE_LIST,
    "the files of hooks that are read; a list without `hook-md` or `settings` turns these off",
    list(_DEFAULT_SOURCE_NAMES),
    low=1,
    words=_SOURCE_NAMES,
    tolerant=True,
)
_PROJECT_FIELDS = (
    _OVERRIDE_PROJECT.replace(
        about="the project that the sources are for, with everything below it",
        consequence="the sources are for no project",
        example="/path/to/project",
    ),
    _SOURCES_FIELD.replace(
        about="the files of hooks that are read there, instead of `hooks.sources`",
        default=None,
        example=[*_DEFAULT_SOURCE_NAMES, "codex"],
    ),
)
_FACTOR_ABOUT = (
    "the second factor of a person's answers: a code of an authenticator app (`boathook approvals totp`), or a program of "
    "yours that asks"
)
_REFUSED_FACTOR = "no answer that needs a second factor counts, and none on the page"
_APPROVAL_FIELDS = (
    Field(
        "factor",
        WORD,
        _FACTOR_ABOUT,
        "none",
        words=("none", "totp", "askpass"),
        example="totp",
        consequence=_REFUSED_FACTOR,
    ),
    Field(
        "askpass",
        ABSOLUTE_PATH,
        "the program that asks: it gets the question as its argument, and exit code 0 is a yes",
        example="/usr/bin/ssh-askpass",
        consequence=_REFUSED_FACTOR,
    ),
)
HOOKS_TOML_FIELDS = (
    Field("enabled", FLAG, "false disables all hooks (in a project's file: its own)", default=True),
    _user("debug", FLAG, "write debug lines, like `--debug`", default=False),
    _user("strict_exit_codes", FLAG, "only exit code 2 blocks, not `decision: deny` with exit code 0", default=False),
    _user("max_stop_blocks", INTEGER, "how often hooks may send an agent back to work", 3, 0, 100),
    _user("max_timeout", MILLISECONDS, "the time limit of every hook in milliseconds", 600_000, 100, 600_000),
    _user("model", MODEL, "the model that prompt hooks ask", example="anthropic:…"),
    _user("untrusted", WORD, "what an untrusted hook does", "skip", words=("skip", "block")),
    _user("record", WORD, "how much of an event is logged", "summary", words=("summary", "whole")),
    _user("degraded", WORD, "what happens to effects an agent cannot express", "report", words=("report", "refuse")),
    _user(
        "broken",
        WORD,
        "what happens to tool calls if boathook cannot start (`boathook install` writes it into the command), or if a pack "
        "of yours cannot be read",
        "refuse",
        words=("refuse", "allow"),
    ),
    _user(
        "warm",
        WORD,
        "whether a process stays in memory and answers events faster, see `boathook warm`; not in CI (Linux)",
        "off",
        words=("off", "on"),
    ),
    _user(
        "ask",
        WORD,
        "who asks a person if a hook wants that: the agent (`host`), boathook (`wait`), or no one (`deny`). Without it: the "
        "agent where it asks, else boathook while `boathook asks --watch` runs or a browser shows `boathook page`, else the call "
        "is denied",
        words=ASK_WAYS,
        example="wait",
        consequence="questions are denied",
    ),
    _user(
        "ask_timeout",
        MILLISECONDS,
        "how long boathook waits for an answer, in milliseconds; the timeout of the agent may be shorter",
        300_000,
        1_000,
        300_000,
    ),
    _user(
        "approvals", TABLE, "how answers of a person are checked", fields=_APPROVAL_FIELDS, consequence=_REFUSED_FACTOR
    ),
    SANDBOX_FIELD.replace(about="the least strict sandbox of every hook", default=None),
    Field("defaults", TABLE, "values for hooks that do not set them", fields=TUNABLE_FIELDS),
    _SOURCES_FIELD,
    _user(
        "projects",
        PROJECT_TABLES,
        "projects with sources of their own",
        tolerant=True,
        fields=_PROJECT_FIELDS,
        example=[{"project": "/path/to/project", "sources": ["hook-md", "settings", "codex"]}],
    ),
    _tables("disable", about="hooks that do not run"),
    _tables("override", about="values that replace those of a hook", fields=_OVERRIDE_FIELDS),
)
HOOKS_FIELD = Field("hooks", TABLE, "everything is in this table", fields=HOOKS_TOML_FIELDS)

HOOK_LIST = FieldType("a list of names of hooks", list, lambda name: _is_text(name) and is_hook_name(name))
PACK_TABLES = FieldType('tables with the names of packs, such as [packs."boathook/standard"]', dict)
PACK_MD_FIELDS = (
    Field("name", HOOK_NAME, "the name; equal to that of the folder", required=True),
    _DESCRIPTION.replace(about="what the pack is for", tolerant=True, example="Guards against lost work"),
    Field("version", LINE, "the version, for people; what counts is the content", required=True, example="1.0.0"),
    Field("hooks", HOOK_LIST, "all hooks that it has", required=True, refused=True, example=["git-force"]),
    Field("default", HOOK_LIST, "the hooks that are on by default; without it, all are", refused=True),
)
PACK_TOML_FIELDS = (
    _names("on", about="hooks that are on although the pack has them off by default", example=["format"]),
    _names("off", about="hooks that are off", example=["publish"]),
)
PACKS_FIELD = Field(
    "packs",
    PACK_TABLES,
    "a table for each pack, with `on`, `off`, and a table of settings for each hook",
)

SETTINGS_FILE_FIELDS = (
    Field("hooks", EVENT_MAP, "the hooks, by event", nullable=True),
    Field("disableAllHooks", FLAG, "true disables all hooks of settings.json", default=False),
    Field("enabledPlugins", ANYTHING, "plugins whose hooks run"),
)
MATCHER_FIELD = _optional("matcher", TEXT, "which tools the hooks run on")
MAX_SECONDS = 600
DEFAULT_SECONDS = {"command": 60, "prompt": 30, "http": 60}
ENTRY_TYPE_FIELD = _needed("type", WORD, "how the hook runs", words=tuple(DEFAULT_SECONDS), example="command")
_ENTRY_FIELDS = {
    "command": (
        _needed("command", LINE, "a command line, or a program if there are `args`"),
        _optional("args", ARGUMENT_LIST, "arguments; the program is started without a shell"),
        _optional("shell", WORD, "the shell", words=("bash", "powershell")),
        ASYNC_FIELD,
        Field("asyncRewake", FLAG, "the same as `async` here", default=False),
    ),
    "prompt": (
        _needed("prompt", LINE, "the question for a model"),
        Field("model", TEXT, "the model that is asked, instead of `hooks.model`", nullable=True),
    ),
    "http": (
        _needed("url", URL, "where the event is sent", explain=_explain_url),
        Field("headers", TEXT_MAP, "headers of the request", refused=True),
        Field("allowedEnvVars", TEXT_LIST, "environment variables that headers may use", refused=True),
    ),
}
SETTINGS_ENTRY_FIELDS = {
    kind: (
        *own_fields,
        ENTRY_TYPE_FIELD,
        Field("timeout", DURATION, f"the time limit in seconds, at most {MAX_SECONDS}", DEFAULT_SECONDS[kind]),
        Field("if", ANYTHING, "a rule such as `Bash(git *)`; the hook runs only on calls that match it", nullable=True),
        Field("statusMessage", ANYTHING, "the description of the hook"),
        Field("once", ANYTHING, "has no effect here"),
    )
    for kind, own_fields in _ENTRY_FIELDS.items()
}

AGENT_FILE_FIELDS = SETTINGS_FILE_FIELDS[:1]
CODEX_ENTRY_FIELDS = {
    "command": (
        ENTRY_TYPE_FIELD.replace(words=("command",)),
        _needed("command", LINE, "a command line"),
        Field("commandWindows", ANYTHING, "the command line on Windows; it has no effect here"),
        Field("timeout", DURATION, f"the time limit in seconds, at most {MAX_SECONDS}", MAX_SECONDS),
        ASYNC_FIELD,
        Field("statusMessage", ANYTHING, "the description of the hook"),
        Field("additionalContextLimit", ANYTHING, "has no effect here"),
    )
}

GEMINI_FILE_FIELDS = (*AGENT_FILE_FIELDS, Field("hooksConfig", ANYTHING, "`enabled` and `disabled` turn hooks off"))
QWEN_FILE_FIELDS = (
    *GEMINI_FILE_FIELDS,
    Field("disableAllHooks", FLAG, "true disables all hooks of this form", default=False),
)
DEFAULT_AGENT_SECONDS = 60
GEMINI_ENTRY_FIELDS = {
    "command": (
        ENTRY_TYPE_FIELD.replace(words=("command",)),
        _needed("command", LINE, "a command line"),
        Field("name", ANYTHING, "a name, by which `hooksConfig.disabled` turns the hook off"),
        Field("description", ANYTHING, "the description of the hook"),
        _optional("env", VARIABLE_MAP, "variables that are set for the command"),
        Field("timeout", AGENT_MILLISECONDS, f"the time limit in milliseconds, at most {MAX_SECONDS}000", 60_000),
    )
}
QWEN_ENTRY_FIELDS = {
    "command": (
        *GEMINI_ENTRY_FIELDS["command"],
        ASYNC_FIELD,
        _optional("shell", WORD, "the shell", words=("bash", "powershell")),
        Field("statusMessage", ANYTHING, "has no effect here"),
    )
}

_AGENT_TIMEOUT_FIELD = Field("timeout", DURATION, f"the time limit in seconds, at most {MAX_SECONDS}", 60)
_OPTIONAL_TYPE_FIELD = ENTRY_TYPE_FIELD.replace(words=("command",), required=False, default="command")
_LOOP_ABOUT = "how often the hook may send the agent back to work; it has no effect here"
CURSOR_ENTRY_FIELDS = {
    "command": (
        _needed("command", LINE, "a command line"),
        _OPTIONAL_TYPE_FIELD,
        _AGENT_TIMEOUT_FIELD,
        MATCHER_FIELD.replace(about="a regular expression: for the tool, or for the command at events of the shell"),
        Field("failClosed", FLAG, "true blocks if the hook fails", default=False, fallback=True),
        Field("loop_limit", ANYTHING, _LOOP_ABOUT, nullable=True),
    )
}

COPILOT_FILE_FIELDS = (*AGENT_FILE_FIELDS, QWEN_FILE_FIELDS[-1])
DEFAULT_SHORT_SECONDS = 30
_SHORT_TIMEOUT_FIELD = _AGENT_TIMEOUT_FIELD.replace(default=DEFAULT_SHORT_SECONDS)
COPILOT_ENTRY_FIELDS = {
    "command": (
        _optional("bash", LINE, "a command line"),
        _optional("command", LINE, "a command line for all systems, if there is no `bash`"),
        Field("powershell", ANYTHING, "the command line on Windows; it has no effect here"),
        _OPTIONAL_TYPE_FIELD,
        _optional("cwd", LINE, "the folder that the command runs in, from the folder of the project"),
        _optional("env", VARIABLE_MAP, "variables that are set for the command"),
        _SHORT_TIMEOUT_FIELD.replace(key="timeoutSec"),
        _SHORT_TIMEOUT_FIELD.replace(about="the same as `timeoutSec`"),
        MATCHER_FIELD.replace(about="a regular expression for the whole name of the tool"),
        Field("comment", ANYTHING, "has no effect"),
    )
}

TABLES_FILE_FIELDS = (Field("hooks", ENTRY_TABLES, "the hooks", tolerant=True, example=[{"event": "PreToolUse"}]),)
KIMI_ENTRY_FIELDS = {
    "command": (
        _needed("event", WORD, "the event that the hook runs on"),
        _needed("command", LINE, "a command line"),
        MATCHER_FIELD.replace(about="a regular expression that is searched in the name of the tool"),
        _SHORT_TIMEOUT_FIELD,
    )
}


class FieldChecker:
    """Checks the fields of one file or one entry and collects diagnostics; `refusal` is the first that makes a hook invalid."""

    def __init__(self, path: str, scope: str, pair: str, defaults: Mapping[str, Any] | None = None) -> None:
        """Check a file of a scope; `pair` is how it writes a key and a value, `defaults` replace those of the table."""
        self.path, self.scope, self.defaults = path, scope, defaults or {}
        self.lines: dict[str, int] = {}
        self.diagnostics: list[Diagnostic] = []
        self.refusal: Diagnostic | None = None
        self._pair = pair
        self._suggestions = 0
        self._counts: dict[str, int] = dict.fromkeys((ERROR, WARNING), 0)

    def report(self, level: str, key: str, message: str, fix: str = "", line: int | None = None) -> None:
        """Add a diagnostic, up to `MAX_DIAGNOSTICS` of each level."""
        self._counts[level] += 1
        if self._counts[level] <= MAX_DIAGNOSTICS:
            self.diagnostics.append(Diagnostic(self.path, line or self.lines.get(key), key, level, message, fix))

    def refuse(self, key: str, message: str, fix: str = "", line: int | None = None) -> None:
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
                self.report(WARNING, prefix + key, f"unknown key '{key}'", self.suggest(key, known))
            elif not known[key].is_absent(value):
                checked = self._check_value(known[key], prefix + key, value)
                if checked is not None:
                    values[key] = checked
        for field in fields:
            if field.required and field.is_absent(data.get(field.key)):
                default, message = self._get_default(field), f"'{field.key}' is missing"
                used = "" if default is None else f"; {_show(default)} is used"
                self._report_error(field, prefix + field.key, message, used, self._show_example(field))
        return values

    def _check_value(self, field: Field, key: str, value: Any) -> Any:
        if field.user_only and self.scope == PROJECT:
            self.report(WARNING, key, f"'{field.key}' can only be set by the user; it is ignored here")
            return None
        if not field.is_valid(value):
            kept = field.find_nearest(value) if field.tolerant else field.fallback
            message, fix = self._describe_wrong(field, value)
            self._report_error(field, key, message, f"; {self._describe_consequence(field, value, kept)}", fix)
            value = kept
        if not field.fields or value is None:
            return value
        if isinstance(value, list):
            return [self.check(field.fields, item, key) for item in value]
        return self.check(field.fields, value, key)

    def _describe_wrong(self, field: Field, value: Any) -> tuple[str, str]:
        if field.explain is not None and isinstance(value, str):
            return field.explain(value)
        message = f"'{field.key}' must be {field.expectation}"
        if field.type.base is list and isinstance(value, list) and len(value) < field.low:
            return f"'{field.key}' is empty", self._show_example(field)
        if isinstance(value, list) and field.type.base is list and field.words:
            wrong = next(item for item in value if item not in field.words)
            hint = suggest(wrong, field.words, self._show_example(field)) if isinstance(wrong, str) else ""
            return f"{message}, not {describe_value(wrong)}", hint
        if not (isinstance(value, list) and field.type.base is list):
            message += f", not {describe_value(value)}"
        is_seconds = type(value) is int and 0 < value < field.low
        if field.type is MILLISECONDS and is_seconds:
            return message, f"if you mean seconds, write {self._pair.format(field.key, value * 1000)}"
        return message, self._suggest_value(field, value) or self._show_example(field)

    def _suggest_value(self, field: Field, value: Any) -> str:
        """Return the pair that was probably meant, if a field takes one of a few words; "" if that is not clear."""
        meant = _SWITCH_WORDS.get(value, "") if isinstance(value, bool) else value
        if not field.words or not isinstance(meant, str) or len(meant) > _MAX_SHOWN_CHARS:
            return ""
        self._suggestions += 1
        near = find_near_word(meant.strip(), field.words) if self._suggestions <= MAX_SUGGESTIONS else ""
        near = "" if isinstance(value, bool) and near != meant else near
        text = near if self._pair == YAML_PAIR else dumps(near)
        return f"{DID_YOU_MEAN} {self._pair.format(field.key, text)}?" if near else ""

    def _report_error(self, field: Field, key: str, message: str, consequence: str, fix: str) -> None:
        if field.refused:
            self.refuse(key, message, fix)
        else:
            self.report(ERROR, key, message + consequence, fix)

    def suggest(self, word: str, known: Iterable[str]) -> str:
        """Return a fix for an unknown word, up to `MAX_SUGGESTIONS` times."""
        self._suggestions += 1
        return suggest(word, known) if self._suggestions <= MAX_SUGGESTIONS else ""

    def _show_example(self, field: Field) -> str:
        value = self._get_default(field) if field.example is None else field.example
        if value is None:
            return ""
        text = value if isinstance(value, str) and self._pair == YAML_PAIR else dumps(value)
        return f"for example {self._pair.format(field.key, text)}"

    def _get_default(self, field: Field) -> Any:
        return self.defaults.get(field.key, field.default)

    def _describe_consequence(self, field: Field, value: Any, kept: Any) -> str:
        if field.consequence:
            return field.consequence
        if kept is not None and kept is value:
            return "it is used as it is"
        if isinstance(kept, list):
            return "only its valid items are used" if kept else "it is ignored"
        used = self._get_default(field) if kept is None else kept
        return "it is ignored" if used is None else f"{_show(used)} is used"


def _show(value: Any) -> str:
    return value if isinstance(value, str) else dumps(value)


def describe_value(value: Any) -> str:
    if isinstance(value, bool | int | float):
        is_large = isinstance(value, int) and abs(value) >= _MAX_SHOWN_NUMBER
        return "a number that large" if is_large else str(value).lower()
    if not isinstance(value, str):
        return describe_json_type(value)
    if not value.strip():
        return "empty text"
    if "\0" in value:
        return "text with a NUL character"
    is_short = len(value) <= _MAX_SHOWN_CHARS and value.isprintable()
    return f"'{value}'" if is_short else f"text of {len(value)} characters"


def convert_timing(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a hook for the keys `timeout` and `async`, as far as they are there."""
    timeout = {"timeout": values["timeout"] / 1000} if "timeout" in values else {}
    return {**timeout, **({"background": values["async"]} if "async" in values else {})}


def join_words(words: Iterable[str]) -> str:
    """Return words as people list them: a, b or c."""
    *first, last = words or ("",)
    return f"{', '.join(first)} or {last}" if first else last
