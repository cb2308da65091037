"""Hooks of settings.json: the user's, a project's, a project's local ones, and those of plugins. Merged, never overriding.

One entry of a wrong shape is one invalid hook; the rest of the file counts.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
import urllib.parse
from collections.abc import Callable
from itertools import islice
from typing import Any

from boathook.core.hook import (
    ARMED,
    CALLS_US,
    DISABLED,
    ERROR,
    INVALID,
    IS_OURS,
    PLUGIN,
    PROJECT,
    SETTINGS,
    SHADOWED,
    USER,
    WARNING,
    Command,
    Diagnostic,
    Hook,
    HookHandler,
    Http,
    Prompt,
)
from boathook.core.json_text import describe_json_type
from boathook.core.matcher import ALL, TOOL_NAME, Matcher, Pattern, compile_names, compute_weight
from boathook.core.value import Value
from boathook.dialects.dialect import find_dialect
from boathook.errors import ConfigError
from boathook.hosts.claude import UNMAPPED_CLAUDE_EVENTS
from boathook.hosts.claude_events import CLAUDE_EVENTS_BY_NAME, ClaudeEvent
from boathook.sources.hook_md.folder import leaves_project
from boathook.sources.hooks_toml import SAID
from boathook.sources.own_commands import PROGRAM_NAME, calls_boathook, only_calls_boathook
from boathook.sources.settings_json.rules import LONGEST, Rule, read_rule
from boathook.sources.source_hooks import SourceHooks
from boathook.system.files import FileError, find_exposure, find_foreign_owner, may_be_there, read_text
from boathook.system.locations import SourceFolders

LOCAL = "local"
DIALECT = find_dialect("claude")
DEFAULT_SECONDS = {"command": 60.0, "http": 60.0, "prompt": 30.0}
MOST_SECONDS = 600.0
MOST_HOOKS = 300  # of one file
MOST_PLUGINS = 400
MOST_TOLD = 20  # remarks of one kind: unknown keys, guesses what a name might have meant
MOST_OF_GROUP = 3  # for these are made for each of its entries
PATTERN_BUDGET = 40_000  # how heavy the patterns of one file may be together
PATTERN_WEIGHT, RULE_WEIGHT = 200, 10  # of a pattern however small, and of a character of a rule
COMMAND_BUDGET = 8192  # characters of commands that are searched for calls of ours
GROUP_KEYS = ("matcher", "hooks", "description")
COMMON_KEYS = ("type", "timeout", "if", "statusMessage", "once")
OWN_KEYS = {
    "command": ("command", "args", "shell", "async", "asyncRewake"),
    "prompt": ("prompt", "model"),
    "http": ("url", "headers", "allowedEnvVars"),
}
ELSEWHERE_TYPES = ("agent", "mcp_tool")
NESTED_FIX = '{"matcher": "…", "hooks": [{"type": "command", "command": "…"}]}'
VARIABLE = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)")
ASSIGNMENT = re.compile(
    r"""(?<![^\s;&|(])[A-Za-z_]\w*=(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s'"\\])*""", re.ASCII | re.DOTALL
)  # may hold a secret, which must not become a name
SCRIPT = re.compile(
    r"(?<![^\s\"'/;&|()<>=])[^\s\"'/;&|()<>=]+\.(?:sh|bash|py|js|mjs|cjs|ts|rb|pl|php|lua|zsh|fish|ps1)\b"
)


class Found(Value):
    """What settings files gave: hooks, what is wrong in files, and what to watch for changes."""

    hooks: tuple[Hook, ...] = ()
    problems: tuple[Diagnostic, ...] = ()
    watch: tuple[str, ...] = ()


class File(Value):
    """One file of hooks as read; `disables` if it says that no hook is to run, `plugins` are those it enables or not."""

    path: str
    scope: str
    hooks: tuple[Hook, ...] = ()
    problems: tuple[Diagnostic, ...] = ()
    disables: bool = False
    plugins: tuple[tuple[str, bool], ...] = ()


def read_settings_files(folders: SourceFolders) -> SourceHooks:
    """Read the hooks of the user's settings and of the nearest project whose settings say anything about hooks."""
    project, searched = speaking(folders.project, folders.find_project)
    found = load_settings(folders.user, project)
    hooks = tuple((hook, SAID) for hook in found.hooks)
    return SourceHooks(hooks, found.problems, (*found.watch, *searched), project)


def load_settings(claude: str, project: str) -> Found:
    """Load the hooks of the user's settings folder and of a project (either may be empty)."""
    places = [(f"{claude}/settings.json", USER, "")] if claude else []
    if project and not (claude and _same(claude, f"{project}/.claude")):
        local = f"{project}/.claude/settings.local.json"
        places += [(f"{project}/.claude/settings.json", PROJECT, project), (local, LOCAL, project)]
    files = [read_settings(path, scope, top) for path, scope, top in places]
    plugins, watch = _plugins(claude, project, files)
    hooks = [hook for file in (*files, *plugins) for hook in _settled(file, files)]
    problems = [problem for file in (*files, *plugins) for problem in (*file.problems, *_vain(file))]
    problems += _kept(files)
    paths = [*(path for path, _, _ in places), *watch]
    folders = dict.fromkeys(os.path.dirname(path) + "/" for path in paths)  # whose modes count, too
    return Found(_once(hooks), tuple(problems), (*paths, *folders))


def _same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        return False


def _settled(file: File, files: list[File]) -> list[Hook]:
    """Apply `disableAllHooks`: the user's is for all, a local one for the project's and its own, a project's for its own."""
    reach = {USER: (USER, PROJECT, LOCAL), LOCAL: (PROJECT, LOCAL), PROJECT: (PROJECT,)}
    by = next((f for f in files if f.disables and file.scope in reach[f.scope]), None)
    if by is None:
        return [*file.hooks]
    why = f"disabled by {by.path} (disableAllHooks)"
    return [hook.replace(state=DISABLED, why=why) for hook in file.hooks]


def _vain(file: File) -> list[Diagnostic]:
    if not file.disables or file.scope == USER:
        return []
    told = "disableAllHooks is for the hooks of the project here; the user's still run"
    return [Diagnostic(file.path, None, "disableAllHooks", WARNING, told)]


def _kept(files: list[File]) -> list[Diagnostic]:
    """Report of plugins of the user's that a file of the project would take away."""
    users = {name for file in files if file.scope == USER for name, on in file.plugins if on}
    told = "a project cannot take away a plugin of the user's: '{}' stays"
    return [
        Diagnostic(file.path, None, "enabledPlugins", WARNING, told.format(name))
        for file in files
        if file.scope != USER
        for name, on in file.plugins
        if not on and name in users
    ]


def _once(hooks: list[Hook]) -> tuple[Hook, ...]:
    """Of entries that are the same to the letter one counts: the user's, else the first of each scope.

    Which of a project's may run is not known yet, so none of them takes the place of one of another scope.
    """
    first: dict[object, Hook] = {}
    for hook in hooks:
        if hook.state == ARMED:
            first.setdefault((hook.scope, hook.name, hook.handler), hook)
    return tuple(_unless_told_before(hook, first) for hook in hooks)


def _unless_told_before(hook: Hook, first: dict[object, Hook]) -> Hook:
    """Return a hook as it is, or shadowed by the entry that counts in its stead."""
    keys = [(scope, hook.name, hook.handler) for scope in (USER, hook.scope)]
    winner = next((first[key] for key in keys if key in first), hook)
    if winner is hook or hook.state != ARMED:
        return hook
    return hook.replace(state=SHADOWED, why=f"the same entry stands in {winner.path} ({winner.place}); it runs once")


def read_settings(path: str, scope: str, top: str = "", root: str = "", source: str = SETTINGS) -> File:
    """Read one file of hooks; a missing one is empty, a broken one is empty and says so."""
    reading = Reading(path, scope, root, source)
    try:
        if top and (outside := leaves_project(path, top)):
            raise FileError(outside)
        text = read_text(path)
    except FileError as error:
        if may_be_there(path):
            reading.say(ERROR, "", f"{os.path.basename(path)} {error}; no hook of it runs")
        return File(path, scope, problems=tuple(reading.problems))
    others = find_exposure if scope == USER else find_foreign_owner
    if why := others(path) or (f"lies in a folder that {found}" if (found := others(os.path.dirname(path))) else None):
        reading.say(ERROR, "", f"no hook of this file runs: it {why}")
        return File(path, scope, problems=tuple(reading.problems))
    try:
        return reading.read(text)
    except RecursionError:  # nested so deep that it could just be read
        reading.say(ERROR, "", "cannot be read: nested too deep; no hook of this file runs")
        return File(path, scope, problems=tuple(reading.problems))


class Reading:
    """One file on its way: collects hooks and what is wrong."""

    def __init__(self, path: str, scope: str, root: str, source: str) -> None:
        """Take where it is and whose; `root` is a plugin's folder."""
        self.path, self.scope, self.root, self.source = path, scope, root, source
        self.problems: list[Diagnostic] = []
        self.hooks: list[Hook] = []
        self.full = False
        self.guesses = 0
        self.weight, self.searched = PATTERN_BUDGET, COMMAND_BUDGET
        self.names: dict[str, Pattern | ConfigError | None] = {}

    def matcher(self, source: str) -> Pattern | None:
        """Compile a matcher, once for all entries that have it."""
        if source not in self.names:
            if not self.affords(compute_weight(source)):
                raise ConfigError("the patterns of this file are too large together")
            try:
                self.names[source] = compile_names(source)
            except ConfigError as error:
                self.names[source] = error
        found = self.names[source]
        if isinstance(found, ConfigError):
            raise found
        return found

    def affords(self, weight: int) -> bool:
        """Whether one more pattern is compiled: a file of many large ones would take RE2 for ever."""
        self.weight -= weight + PATTERN_WEIGHT
        return self.weight >= 0

    def calls_boathook(self, command: Command) -> bool:
        """Whether a command calls us, as far as the file is not beyond measure; one that does all the same is refused then."""
        self.searched -= len(command.line) if PROGRAM_NAME in command.line else 0
        return self.searched >= 0 and calls_boathook(command)

    def say(self, level: str, key: str, message: str, fix: str = "") -> None:
        """Note something about the file."""
        self.problems.append(Diagnostic(self.path, None, key, level, message, fix))

    def read(self, text: str) -> File:
        """Read the text of the file."""
        data = self._object(text)
        if data is None:
            return File(self.path, self.scope, problems=tuple(self.problems))
        disables = data.get("disableAllHooks", False)
        if not isinstance(disables, bool):
            self.say(
                ERROR, "disableAllHooks", f"must be true or false, not {describe_json_type(disables)}", "it is ignored"
            )
        hooks = data.get("hooks")
        if isinstance(hooks, dict):
            for name, groups in hooks.items():
                self._event(name, groups)
        elif hooks is not None:
            self.say(ERROR, "hooks", f"'hooks' must be an object of events, not {describe_json_type(hooks)}")
        enabled = data.get("enabledPlugins")
        plugins = (
            [(name, on) for name, on in enabled.items() if isinstance(on, bool)] if isinstance(enabled, dict) else []
        )
        found = (tuple(self.hooks), tuple(self.problems), disables is True, tuple(plugins))
        return File(self.path, self.scope, *found)

    def _object(self, text: str) -> dict[str, Any] | None:
        if not text.strip():
            return {}
        try:
            data = json.loads(text, object_pairs_hook=self._pairs)
        except json.JSONDecodeError as error:
            hint = "comments are not JSON" if re.search(r"(?m)^[ \t]*(?://|/\*)", text) else ""
            told = f"not valid JSON: {error.msg} (column {error.colno}); no hook of this file runs"
            self.problems.append(Diagnostic(self.path, error.lineno, "", ERROR, told, hint))
            return None
        except (RecursionError, ValueError) as error:
            why = "nested too deep" if isinstance(error, RecursionError) else error
            self.say(ERROR, "", f"cannot be read: {why}; no hook of this file runs")
            return None
        if not isinstance(data, dict):
            self.say(
                ERROR, "", f"the top level is {describe_json_type(data)}, not an object; no hook of this file runs"
            )
            return None
        return data

    def _pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                lost = key in CLAUDE_EVENTS_BY_NAME or key == "hooks"
                told = f"the key '{key}' stands twice in one object; only the last counts"
                self.say(ERROR if lost else WARNING, key, told, "join the two")
            found[key] = value
        return found

    def _event(self, name: str, groups: Any) -> None:
        place = f"hooks.{name}"
        if name in UNMAPPED_CLAUDE_EVENTS:
            self.say(WARNING, place, f"{name} has no counterpart in this engine: its hooks run in Claude Code alone")
            return
        row = CLAUDE_EVENTS_BY_NAME.get(name)
        if row is None:
            self.guesses += 1
            fix = _near_event(name) if self.guesses <= MOST_TOLD else ""
            self.say(ERROR, place, f"there is no event '{name}': its hooks never run", fix)
            return
        if not isinstance(groups, list):
            self._invalid(row, place, f"must be a list, not {describe_json_type(groups)}", f"[{NESTED_FIX}]")
            return
        for at, group in enumerate(groups):
            if self._has_room():
                self._group(row, f"{place}[{at}]", group)

    def _has_room(self) -> bool:
        """Whether one more hook is read; say it once if not."""
        if len(self.hooks) >= MOST_HOOKS and not self.full:
            self.full = True
            self.say(ERROR, "hooks", f"more than {MOST_HOOKS} hooks in one file; the rest does not run")
        return not self.full

    def _invalid(self, row: ClaudeEvent, place: str, why: str, fix: str = "", definition: Any = None) -> None:
        """Add an entry that cannot be used: it takes no part, and that is told whenever its event comes."""
        problem = Diagnostic(self.path, None, place, ERROR, why, fix)
        label = place.removeprefix("hooks.")
        name = f"{row.name}:{_label(definition)}#{_digest(row.name, definition)}" if definition else label
        told = f"{place} {why}" + (f" ({fix})" if fix else "")
        fields: dict[str, Any] = {"state": INVALID, "why": told, "problems": (problem,), "place": place}
        hook = Hook(name, row.kind, row.name, self.scope, Command(""), self.path, DIALECT, **fields)
        self.hooks.append(hook.replace(source=self.source))

    def _group(self, row: ClaudeEvent, place: str, group: Any) -> None:
        if not isinstance(group, dict):
            self._invalid(row, place, f"must be an object, not {describe_json_type(group)}", NESTED_FIX)
            return
        if "hooks" not in group and ("command" in group or "type" in group):
            told = "is a bare hook: an event holds groups, and a group holds the hooks"
            self._invalid(row, place, told, NESTED_FIX, group)
            return
        notes = [
            Diagnostic(self.path, None, f"{place}.{key}", WARNING, f"unknown key '{key}'")
            for key in islice((key for key in group if key not in GROUP_KEYS), MOST_OF_GROUP)
        ]
        entries = group.get("hooks")
        if not isinstance(entries, list):
            told = (
                f"'hooks' must be a list, not {describe_json_type(entries)}"
                if "hooks" in group
                else "there is no 'hooks' list"
            )
            self._invalid(row, place, told, NESTED_FIX)
            return
        for at, entry in enumerate(entries):
            if self._has_room():
                self._entry(row, f"{place}.hooks[{at}]", group.get("matcher"), entry, notes)

    def _entry(self, row: ClaudeEvent, place: str, matcher: Any, entry: Any, notes: list[Diagnostic]) -> None:
        try:
            hook = Entry(self, row, place, matcher, entry).hook()
        except ConfigError as error:
            self._invalid(row, place, str(error), error.fix, entry if isinstance(entry, dict) else None)
            return
        self.hooks.append(hook.replace(problems=(*notes, *hook.problems)))


class Entry:
    """One entry on its way to a hook; ConfigError if it cannot be one."""

    def __init__(self, reading: Reading, row: ClaudeEvent, place: str, matcher: Any, entry: Any) -> None:
        """Take the entry and where it stands."""
        self.reading, self.row, self.place, self.matcher = reading, row, place, matcher
        if not isinstance(entry, dict):
            raise ConfigError(
                f"must be an object, not {describe_json_type(entry)}", fix='{"type": "command", "command": "…"}'
            )
        self.entry: dict[str, Any] = entry
        self.problems: list[Diagnostic] = []

    def hook(self) -> Hook:
        """Return the hook."""
        if self.entry.get("type") in ELSEWHERE_TYPES:
            return self._elsewhere()
        kind = self._type()
        handler = self._handler(kind)
        known = (*OWN_KEYS[kind], *COMMON_KEYS)
        for key in islice((key for key in self.entry if key not in known), MOST_TOLD):
            self._say(WARNING, key, f"unknown key '{key}'", f"known: {', '.join(known)}")
        matcher, never = self._matched()
        definition = {**self.entry, "matcher": self.matcher}
        name = f"{self.row.name}:{_label(self.entry)}#{_digest(self.row.name, definition)}"
        reading = self.reading
        hook = Hook(name, self.row.kind, self.row.name, reading.scope, handler, reading.path, DIALECT, matcher=matcher)
        hook = hook.replace(
            description=self._description(),
            timeout=self._seconds(kind),
            background=self._background(kind),
            source=reading.source,
            place=self.place,
        )
        if isinstance(handler, Command) and reading.calls_boathook(handler):
            hook = hook.replace(state=DISABLED, why=IS_OURS if only_calls_boathook(handler) else CALLS_US)
        elif never:
            hook = hook.replace(state=DISABLED, why=never)
        return hook.replace(problems=tuple(self.problems))

    def _elsewhere(self) -> Hook:
        """Return the hook of a type that only Claude Code has: known, and not run here."""
        told = f"hooks of the type '{self.entry['type']}' run in Claude Code alone"
        self._say(WARNING, "type", told)
        definition = {**self.entry, "matcher": self.matcher}
        name = f"{self.row.name}:{_label(self.entry)}#{_digest(self.row.name, definition)}"
        hook = Hook(name, self.row.kind, self.row.name, self.reading.scope, Command(""), self.reading.path, DIALECT)
        fields = {
            "source": self.reading.source,
            "place": self.place,
            "state": DISABLED,
            "why": told,
        }
        return hook.replace(problems=tuple(self.problems), **fields)

    def _say(self, level: str, key: str, message: str, fix: str = "") -> None:
        place = f"{self.place}.{key}" if key else self.place
        self.problems.append(Diagnostic(self.reading.path, None, place, level, message, fix))

    def _description(self) -> str:
        said = self.entry.get("statusMessage")
        return said if isinstance(said, str) else ""

    def _type(self) -> str:
        kind = self.entry.get("type")
        if kind is None:
            raise ConfigError("there is no 'type'", fix=f"known: {', '.join(OWN_KEYS)}")
        if not isinstance(kind, str):
            raise ConfigError(
                f"'type' must be text, not {describe_json_type(kind)}", fix=f"known: {', '.join(OWN_KEYS)}"
            )
        if kind not in OWN_KEYS:
            raise ConfigError(f"unknown type {kind!r}", fix=f"known: {', '.join(OWN_KEYS)}")
        if kind == "prompt" and not self.row.prompts:
            events = ", ".join(name for name, row in CLAUDE_EVENTS_BY_NAME.items() if row.prompts)
            raise ConfigError(f"a prompt hook cannot be asked at {self.row.name}", fix=f"possible at: {events}")
        return kind

    def _text(self, key: str) -> str:
        value = self.entry.get(key)
        if not isinstance(value, str) or not value.strip():
            what = "is empty" if isinstance(value, str) else f"must be text, not {describe_json_type(value)}"
            raise ConfigError(f"'{key}' {what}" if key in self.entry else f"there is no '{key}'")
        if "\0" in value:
            raise ConfigError(f"'{key}' holds a NUL character")
        return value

    def _handler(self, kind: str) -> HookHandler:
        if kind == "prompt":
            model = self.entry.get("model")
            if model is not None and not isinstance(model, str):
                self._say(
                    ERROR,
                    "model",
                    f"'model' must be text, not {describe_json_type(model)}",
                    "the configured one is asked",
                )
            return Prompt(self._text("prompt"), model if isinstance(model, str) else "")
        return self._http() if kind == "http" else self._command()

    def _command(self) -> Command:
        text, words, shell = self._text("command"), self.entry.get("args"), self.entry.get("shell")
        if words is not None and not (isinstance(words, list) and all(isinstance(word, str) for word in words)):
            raise ConfigError("'args' must be a list of texts")
        if any("\0" in word for word in words or ()):
            raise ConfigError("'args' holds a NUL character")
        if shell not in (None, "bash", "powershell"):
            raise ConfigError(f"unknown shell {shell!r}", fix="known: bash, powershell")
        return Command(text, None if words is None else tuple(words), shell or "", self.reading.root)

    def _http(self) -> Http:
        url, headers = self._text("url"), self.entry.get("headers", {})
        parts = _parts_of(url)
        if not isinstance(headers, dict) or not all(isinstance(value, str) for value in headers.values()):
            raise ConfigError("'headers' must be an object of texts")
        allowed = self.entry.get("allowedEnvVars", [])
        if not isinstance(allowed, list) or not all(isinstance(name, str) for name in allowed):
            raise ConfigError("'allowedEnvVars' must be a list of names")
        listed = set(allowed)
        found = (
            (key, name) for key, value in headers.items() for name in VARIABLE.findall(value) if name not in listed
        )
        for key, name in islice(found, MOST_TOLD):
            told = f"the header names ${name}, which is not in 'allowedEnvVars': it is sent empty"
            self._say(WARNING, f"headers.{key}", told, f'"allowedEnvVars": ["{name}"]')
        if parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
            self._say(WARNING, "url", "events go over the network unencrypted", "use https://")
        return Http(url, tuple(headers.items()), tuple(allowed))

    def _matched(self) -> tuple[Matcher, str]:
        """Return the matcher, and why the hook can never run, if so."""
        source, row = self.matcher, self.row
        if source is not None and not isinstance(source, str):
            raise ConfigError(f"'matcher' must be text, not {describe_json_type(source)}")
        if source and source.strip() not in ("", "*") and not row.subject:
            told = f"{row.name} has no matcher: '{source}' is ignored, the hook runs at every such event"
            self._say(WARNING, "matcher", told, "remove it")
            source = None
        pattern = self.reading.matcher(source or "")
        rule = self._rule()
        if rule is None:
            return (Matcher(pattern, subject=row.subject) if pattern else ALL), ""
        if pattern is None or not rule.tools:
            return Matcher(pattern or rule.tool, rule.pattern), ""
        both = [name for name in rule.tools if pattern.search(name)]
        if not both:
            told = f"'if' is about {' and '.join(rule.tools)}, which the matcher '{source}' leaves out: it never runs"
            self._say(WARNING, "if", told)
            return ALL, told
        return Matcher(compile_names("|".join(both)), rule.pattern), ""

    def _rule(self) -> Rule | None:
        text = self.entry.get("if")
        if text is None:
            return None
        if self.row.subject != TOOL_NAME:
            self._say(WARNING, "if", f"'if' is for events with a tool; {self.row.name} has none, so it is ignored")
            return None
        good = isinstance(text, str) and len(text) <= LONGEST and self.reading.affords(len(text) * RULE_WEIGHT)
        rule = read_rule(text) if good else None
        if rule is None:
            told = "'if' is not a rule like 'Bash(git *)' or 'Edit(*.ts)'; it is ignored, so the hook runs more often"
            self._say(ERROR, "if", told)
        return rule

    def _seconds(self, kind: str) -> float:
        value = self.entry.get("timeout", DEFAULT_SECONDS[kind])
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            told = f"'timeout' must be a number of seconds, not {value!r}"
            self._say(ERROR, "timeout", told, f"{DEFAULT_SECONDS[kind]:.0f} is used")
            return DEFAULT_SECONDS[kind]
        value = min(value, 1e15)  # a number may be too large to be shown
        if value > MOST_SECONDS:
            meant = f"; if milliseconds were meant, write {value / 1000:g}" if value >= 1000 else ""
            told = f"'timeout' is in seconds: {value:g} is more than {MOST_SECONDS:.0f}{meant}"
            self._say(WARNING, "timeout", told, f"{MOST_SECONDS:.0f} is used")
        return min(float(value), MOST_SECONDS)

    def _background(self, kind: str) -> bool:
        found = False
        for key in ("async", "asyncRewake") if kind == "command" else ():
            value = self.entry.get(key, False)
            if not isinstance(value, bool):
                self._say(
                    ERROR, key, f"'{key}' must be true or false, not {describe_json_type(value)}", "it is ignored"
                )
            elif value:
                found = True
                if key == "asyncRewake":
                    self._say(WARNING, key, "nothing can be woken here: it runs in the background, its end is logged")
        return found


def _near_event(name: str) -> str:
    folded = {known.lower(): known for known in CLAUDE_EVENTS_BY_NAME}
    near = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    return f"did you mean '{folded[near[0]]}'?" if near else f"known: {', '.join(CLAUDE_EVENTS_BY_NAME)}"


def _parts_of(url: str) -> urllib.parse.SplitResult:
    try:
        parts = urllib.parse.urlsplit(url)
    except ValueError:
        parts = urllib.parse.urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError("'url' must begin with https:// or http:// and name a host")
    return parts


def _label(entry: Any) -> str:
    """Return a short word for an entry: the script it runs, its program, or where it goes."""
    if not isinstance(entry, dict):
        return "entry"
    text = entry.get("command")
    if isinstance(text, str) and text.split():
        given = entry.get("args")
        script = SCRIPT.search(" ".join([text, *map(str, given if isinstance(given, list) else ())]))
        words = ASSIGNMENT.sub(" ", text).split() or ["command"]
        found = script.group() if script else words[0].rpartition("/")[2]
    elif isinstance(entry.get("url"), str):
        found = re.split(r"[/?#\\]", entry["url"].partition("://")[2])[0].rpartition("@")[2].replace(":", "-")
    else:
        found = str(entry.get("type", "entry"))
    return re.sub(r"[^A-Za-z0-9._-]", "", found)[:32] or "command"


def _digest(event: str, definition: Any) -> str:
    """Return six letters that change with the definition and not with its place."""
    text = json.dumps([event, definition], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:6]


def _plugins(claude: str, project: str, files: list[File]) -> tuple[list[File], list[str]]:
    """Read the hooks of the plugins that are enabled and installed; return them and what to watch."""
    scopes = _enabled(files)
    if not claude or not scopes:
        return [], []
    register = f"{claude}/plugins/installed_plugins.json"
    listed, why = _register(register)
    if why:
        told = f"installed_plugins.json {why}; no hook of a plugin runs"
        broken = File(register, USER, problems=(Diagnostic(register, None, "", ERROR, told),))
        return [broken], [register]
    found, watch = [], [register]
    if len(scopes) > MOST_PLUGINS:
        told = f"more than {MOST_PLUGINS} plugins are enabled; the hooks of the rest do not run"
        found.append(File(register, USER, problems=(Diagnostic(register, None, "", ERROR, told),)))
    for name, scope in islice(scopes.items(), MOST_PLUGINS):
        root = _installed(listed.get(name), project)
        path = f"{root}/hooks/hooks.json"
        if root:
            watch.append(path)
            found.append(read_settings(path, scope, root=root, source=PLUGIN))
        else:
            told = f"the plugin '{name}' is enabled but not installed here: its hooks do not run"
            found.append(File(register, scope, problems=(Diagnostic(register, None, name, WARNING, told),)))
    return found, watch


def _enabled(files: list[File]) -> dict[str, str]:
    """Return the plugins that count, and at whose word: a project, its local file too, cannot take away the user's."""
    found: dict[str, str] = {}
    for file in files:
        for name, on in file.plugins:
            if on:
                found.setdefault(name, PROJECT if file.scope == LOCAL else file.scope)
            elif found.get(name) == PROJECT:
                del found[name]
    return found


def _register(path: str) -> tuple[dict[str, Any], str]:
    """Read which plugins are installed; a register that is not there is empty, for one that cannot be read say why."""
    try:
        plugins = json.loads(read_text(path)).get("plugins", {})
    except FileError as error:
        return {}, str(error) if may_be_there(path) else ""
    except (ValueError, AttributeError, RecursionError):
        return {}, "is not a JSON object"
    return (plugins, "") if isinstance(plugins, dict) else ({}, "has no object 'plugins'")


def _installed(row: Any, project: str) -> str:
    """Return the folder of an installed plugin; older registers have one row for a plugin, newer ones a list of them."""
    rows = [one for one in (row if isinstance(row, list) else [row]) if isinstance(one, dict)]
    own = [one for one in rows if _is_of(one.get("projectPath"), project)]
    anybodys = [one for one in rows if one.get("projectPath") is None]
    paths = [one.get("installPath") for one in (*own, *anybodys)]
    return next((path.rstrip("/") for path in paths if isinstance(path, str) and os.path.isabs(path)), "")


def _is_of(path: Any, project: str) -> bool:
    return isinstance(path, str) and bool(path and project) and _same(path, project)


def speaking(project: str, above: Callable[[str], str]) -> tuple[str, list[str]]:
    """Return the folder whose settings say anything about hooks, from a project upwards, and what was looked at.

    Claude Code writes settings for permissions into any folder; they must not hide the guards of the repository above.
    """
    at, seen = project, []
    while at:
        paths = [f"{at}/.claude/{name}" for name in ("settings.json", "settings.local.json")]
        seen += paths
        if any(map(speaks, paths)):
            return at, seen
        at = above(os.path.dirname(at)) if at != "/" else ""
    return project, seen


def speaks(path: str) -> bool:
    """Whether a settings file says anything about hooks; one that cannot be read may."""
    try:
        text = read_text(path)
        data = json.loads(text) if text.strip() else {}
    except FileError:
        return may_be_there(path)
    except (ValueError, RecursionError):
        return True
    return not isinstance(data, dict) or any(key in data for key in ("hooks", "disableAllHooks", "enabledPlugins"))
