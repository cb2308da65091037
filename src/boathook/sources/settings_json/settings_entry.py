"""One entry of a settings.json: from its JSON object to a hook."""

from __future__ import annotations

import hashlib
import json
import os
import re
from itertools import islice
from typing import Any

from boathook.core.hook import (
    CALLS_BOATHOOK,
    DISABLED,
    ERROR,
    INVALID,
    IS_INSTALLED_CALL,
    USER,
    WARNING,
    Command,
    Diagnostic,
    Hook,
    HookHandler,
    Http,
    Prompt,
)
from boathook.core.matcher import (
    ALL,
    TOOL_NAME,
    Matcher,
    Pattern,
    PatternAllowance,
    compile_names,
    compile_written,
    compute_weight,
    make_field_matcher,
)
from boathook.core.near_words import DID_YOU_MEAN
from boathook.core.pattern_search import NO_ENGINE
from boathook.errors import ConfigError
from boathook.hosts.claude_events import HookEvent
from boathook.hosts.host import load_host
from boathook.sources import fields
from boathook.sources.agent_forms.hook_form import SETTINGS_FORM, HookForm
from boathook.sources.fields import JSON_PAIR, FieldChecker, describe_value, split_url
from boathook.sources.installed_line import parse_command
from boathook.sources.own_commands import PROGRAM_NAME, is_only_own_command, is_own_command
from boathook.sources.settings_json.rules import MAX_RULE_CHARS, PermissionRule, read_rule
from boathook.sources.shell_scripts import SCRIPT_ENDINGS

DIALECT = SETTINGS_FORM.dialect
# An entry has a matcher and a rule to compile, so it costs more than a HOOK.md file.
_MAX_FILE_WEIGHT, _MIN_ENTRY_WEIGHT, _RULE_CHAR_WEIGHT = 40_000, 200, 10
MAX_SEARCHED_CHARS = 8192
_MAX_HEADER_WARNINGS = 20
_MIN_MILLISECONDS = 100
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
_SORTED_JSON = json.JSONEncoder(sort_keys=True)
_ENTRY_FIX = '{"type": "command", "command": "…"}'
_VARIABLE = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)")
# An assignment may hold a secret, which must not become part of a name.
_ASSIGNMENT = re.compile(
    r"""(?<![^\s;&|(])[A-Za-z_]\w*=(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s'"\\])*""", re.ASCII | re.DOTALL
)
SCRIPT = re.compile(rf"(?<![^\s\"'/;&|()<>=])[^\s\"'/;&|()<>=]+\.(?:{'|'.join(SCRIPT_ENDINGS)})\b")


class FileContext:
    """The file that entries are in: where it is, whose it is, and how much work its entries may still cause."""

    def __init__(self, path: str, scope: str, source: str, root: str = "", form: HookForm = SETTINGS_FORM) -> None:
        self.path, self.scope, self.source, self.root, self.form = path, scope, source, root, form
        # Entries with one of these names, or commands, do not run.
        self.disabled_names: frozenset[str] = frozenset()
        # A file of many large patterns would keep RE2 busy for minutes.
        self.allowance, self._chars = PatternAllowance(_MAX_FILE_WEIGHT, _MIN_ENTRY_WEIGHT), MAX_SEARCHED_CHARS
        self._matchers: dict[tuple[object, ...], Pattern | ConfigError | None] = {}

    def compile_matcher(self, source: str, row: HookEvent) -> Pattern | None:
        """Compile a matcher, once for all entries that have it; ConfigError if it is wrong or too large."""
        key, is_user = (source, row.subject, row.has_names, row.matches_input), self.scope == USER
        if key not in self._matchers:
            try:
                if is_user and not self.allowance.can_afford(compute_weight(source)):
                    raise ConfigError("the patterns of this file are too large together")
                allowance = None if is_user else self.allowance
                self._matchers[key] = self.form.compile_matcher(source, row, allowance, is_trusted=is_user)
            except ConfigError as error:
                self._matchers[key] = error
        pattern = self._matchers[key]
        if isinstance(pattern, ConfigError):
            raise pattern
        return pattern

    def is_own_command(self, command: Command) -> bool:
        """Whether a command starts boathook. Beyond the limit nothing is searched; such a call is refused when it runs."""
        # What `install` writes is recognized quickly, and is long.
        if command.words is None and parse_command(command.text) is not None:
            return True
        self._chars -= len(command.line) if PROGRAM_NAME in command.line else 0
        return self._chars >= 0 and is_own_command(command)

    def build_hook(self, row: HookEvent, place: str, name: str, handler: HookHandler, **changes: Any) -> Hook:
        return Hook(
            name,
            row.kind,
            row.name,
            self.scope,
            handler,
            self.path,
            self.form.dialect,
            source=self.source,
            runs_together=self.form.source.runs_together,
            place=place,
            **changes,
        )

    def build_invalid(self, row: HookEvent, place: str, message: str, fix: str = "", definition: Any = None) -> Hook:
        """Return the hook of an entry that cannot be used: it never runs, and every event of its kind reports it."""
        name = name_entry(row.name, definition, definition) if definition else place.removeprefix("hooks.")
        why = f"{place}: {message}" + (f" ({fix})" if fix else "")
        changes: dict[str, Any] = {"diagnostics": (Diagnostic(self.path, None, place, ERROR, message, fix),)}
        if isinstance(definition, dict) and definition.get("failClosed") is True:
            changes["on_failure"] = "block"
        if row.tools:
            changes["matcher"] = _match_tools(row)
        return self.build_hook(row, place, name, Command(""), state=INVALID, state_reason=why, **changes)


def read_entry(file: FileContext, row: HookEvent, place: str, matcher: Any, entry: Any) -> Hook:
    try:
        if not isinstance(entry, dict):
            raise ConfigError(f"must be an object, not {describe_value(entry)}", fix=_ENTRY_FIX)
        return _EntryReader(file, row, place, matcher, entry).build_hook()
    except ConfigError as error:
        return file.build_invalid(row, place, str(error), error.fix, entry if isinstance(entry, dict) else None)


class _EntryReader:
    def __init__(self, file: FileContext, row: HookEvent, place: str, matcher: Any, entry: dict[str, Any]) -> None:
        self.file, self.row, self.place, self.matcher, self.entry = file, row, place, matcher, entry
        self.type = entry.get("type", file.form.default_type) or file.form.default_type
        self.checker = FieldChecker(file.path, file.scope, JSON_PAIR)

    def build_hook(self) -> Hook:
        name = name_entry(self.row.label or self.row.name, self.entry, {**self.entry, "matcher": self.matcher})
        kind = self.type
        if kind in self.file.form.foreign_types:
            why = f"hooks of the type '{kind}' run only in {self.file.form.title}"
            self._report(WARNING, "type", why)
            return self._finish(name, Command(""), {"state": DISABLED, "state_reason": why})
        values = self._check_fields(kind)
        handler = self._build_handler(values)
        matcher, never = self._build_matcher()
        changes = {
            "matcher": matcher,
            "timeout": self._read_timeout(values),
            "on_failure": "block" if values.get("failClosed") else "allow",
            "background": values.get("async", False) or values.get("asyncRewake", False),
            "description": values["statusMessage"] if isinstance(values.get("statusMessage"), str) else "",
        }
        if isinstance(handler, Command) and self.file.is_own_command(handler):
            why = IS_INSTALLED_CALL if is_only_own_command(handler) else CALLS_BOATHOOK
            changes |= {"state": DISABLED, "state_reason": why}
        elif never or (never := self._find_switched_off()):
            changes |= {"state": DISABLED, "state_reason": never}
        return self._finish(name, handler, changes)

    def _find_switched_off(self) -> str:
        names = [self.entry.get(key) for key in ("name", "command")]
        is_off = any(isinstance(one, str) and one in self.file.disabled_names for one in names)
        return f"disabled by {self.file.path} ({self.file.form.disabled_at})" if is_off else ""

    def _finish(self, name: str, handler: HookHandler, changes: dict[str, Any]) -> Hook:
        problems = tuple(self.checker.diagnostics)
        return self.file.build_hook(self.row, self.place, name, handler, diagnostics=problems, **changes)

    def _report(self, level: str, key: str, message: str, fix: str = "") -> None:
        self.checker.report(level, f"{self.place}.{key}", message, fix)

    def _check_fields(self, kind: Any) -> dict[str, Any]:
        form = self.file.form
        rows = form.entry_fields.get(kind) if isinstance(kind, str) else None
        if rows is None:
            rows = (fields.ENTRY_TYPE_FIELD.replace(words=tuple(form.entry_fields)),)
        if kind == "prompt" and not self.row.prompts:
            events = ", ".join(name for name, row in form.events.items() if row.prompts)
            raise ConfigError(f"prompt hooks cannot run at {self.row.name}", fix=f"possible at: {events}")
        values = self.checker.check(rows, self.entry, self.place)
        if refusal := self.checker.refusal:
            raise ConfigError(refusal.message, refusal.fix or self._find_misspelled_key())
        if values.get("asyncRewake"):
            message = "this engine cannot wake the agent: the hook runs in the background and its result is logged"
            self._report(WARNING, "asyncRewake", message)
        for key, note in form.notes.items():
            if self.entry.get(key) is not None:
                self._report(WARNING, key, note)
        if self.row.note:
            self.checker.report(WARNING, self.place, self.row.note)
        return values

    def _find_misspelled_key(self) -> str:
        """Return what was probably meant by a key that is not known, which may be the one that is missing."""
        reports = (one for one in self.checker.diagnostics if one.level == WARNING and one.fix.startswith(DID_YOU_MEAN))
        return next((f"{one.message}: {one.fix}" for one in reports), "")

    def _build_handler(self, values: dict[str, Any]) -> HookHandler:
        if "prompt" in values:
            return Prompt(values["prompt"], values.get("model", ""))
        if "url" in values:
            return self._build_http(values["url"], values.get("headers", {}), values.get("allowedEnvVars", []))
        words = tuple(values["args"]) if "args" in values else None
        variables = tuple(values.get("env", {}).items())
        return Command(
            self._find_line(values),
            words,
            values.get("shell", ""),
            self.file.root,
            variables,
            self._find_folder(values),
        )

    def _find_line(self, values: dict[str, Any]) -> str:
        keys = self.file.form.command_keys
        line: str | None = next((values[key] for key in keys if key in values), None)
        if line is None:
            others = [key for key in values if key == "powershell"]
            message = f"it has only a command for {others[0]}" if others else f"'{keys[0]}' is missing"
            raise ConfigError(message, fix=f'for example "{keys[0]}": "…"')
        return line

    def _find_folder(self, values: dict[str, Any]) -> str:
        is_own = self.file.scope == USER and self.file.form.runs_in_user_folder
        return values.get("cwd") or (os.path.dirname(self.file.path) if is_own else "")

    def _build_http(self, url: str, headers: dict[str, str], allowed: list[str]) -> Http:
        listed = set(allowed)
        used = ((key, name) for key, value in headers.items() for name in _VARIABLE.findall(value))
        for key, name in islice((one for one in used if one[1] not in listed), _MAX_HEADER_WARNINGS):
            message = f"the header uses ${name}, which is not in 'allowedEnvVars', so it is sent empty"
            self._report(WARNING, f"headers.{key}", message, f'"allowedEnvVars": ["{name}"]')
        parts = split_url(url)
        if parts and parts.scheme == "http" and parts.hostname not in _LOCAL_HOSTS:
            self._report(WARNING, "url", "events are sent over the network unencrypted", "use https://")
        return Http(url, tuple(headers.items()), tuple(allowed))

    def _build_matcher(self) -> tuple[Matcher, str]:
        """Return the matcher, and the reason why the hook can never run, if there is one."""
        row = self.row
        source = self.checker.check((fields.MATCHER_FIELD,), {"matcher": self.matcher}, self.place).get("matcher")
        if refusal := self.checker.refusal:
            raise ConfigError(refusal.message, refusal.fix)
        if row.tools:
            return self._build_tool_matcher(source or "")
        if source and source.strip() not in ("", "*") and not row.subject:
            message = f"{row.name} has no matcher: '{source}' is ignored, the hook runs at every such event"
            self._report(WARNING, "matcher", message, "remove it")
            source = None
        pattern = self._compile_matcher(source or "")
        rule = self._read_rule()
        if rule is None:
            return (make_field_matcher(row.subject, pattern) if pattern else ALL), ""
        if pattern is None or not rule.tools:
            return Matcher(pattern or rule.tool, rule.pattern), ""
        # Nothing of a project is searched here but in linear time, because it may not be trusted.
        searched = pattern if self.file.scope == USER else pattern.limit_engines()
        matching_tools = [name for name in rule.tools if searched.search(name)]
        if not matching_tools:
            tools = " and ".join(rule.tools)
            message = f"'if' is about {tools}, which the matcher '{source}' does not match: the hook never runs"
            self._report(WARNING, "if", message)
            return ALL, message
        return Matcher(compile_names("|".join(matching_tools)), rule.pattern), ""

    def _compile_matcher(self, source: str) -> Pattern | None:
        pattern = self.file.compile_matcher(source, self.row)
        if pattern is not None and pattern.engines == NO_ENGINE:
            self._report(WARNING, "matcher", fields.TOO_LARGE_TOGETHER)
        elif pattern is not None and pattern.construct:
            self._report(WARNING, "matcher", *fields.describe_construct(pattern.construct))
        return pattern

    def _build_tool_matcher(self, source: str) -> tuple[Matcher, str]:
        """Return the matcher of an event of one tool, and the reason why the hook can never run, if there is one."""
        row, form = self.row, self.file.form
        of_tools, pattern = _match_tools(row), self._compile_matcher(source)
        if pattern is None or row.matches_input:
            return of_tools.replace(pattern=pattern), ""
        own = load_host(form.dialect.host).tools
        known = [
            one for name, all_names in form.list_tool_names().items() if own[name][0] in row.tools for one in all_names
        ]
        searched = pattern if self.file.scope == USER else pattern.limit_engines()
        if not known or any(map(searched.search, known)):
            return of_tools, ""
        message = f"the matcher '{source}' is for another tool than {row.name}: the hook never runs"
        self._report(WARNING, "matcher", message)
        return ALL, message

    def _read_rule(self) -> PermissionRule | None:
        text = self.entry.get("if")
        if text is None:
            return None
        if self.row.subject != TOOL_NAME:
            message = f"'if' is for events with a tool; {self.row.name} has none, so it is ignored"
            self._report(WARNING, "if", message)
            return None
        is_short = isinstance(text, str) and len(text) <= MAX_RULE_CHARS
        rule = read_rule(text) if is_short and self.file.allowance.can_afford(len(text) * _RULE_CHAR_WEIGHT) else None
        if rule is None:
            problem = "'if' is not a rule like 'Bash(git *)' or 'Edit(*.ts)'"
            self._report(ERROR, "if", f"{problem}; it is ignored, so the hook runs more often")
        return rule

    def _read_timeout(self, values: dict[str, Any]) -> float:
        form = self.file.form
        key = next((key for key in form.timeout_keys if key in values), "")
        if not key:
            return float(form.default_seconds[self.type])
        # A larger number cannot be shown.
        number = min(values[key], 1e15)
        unit = "seconds" if form.units_per_second == 1 else "milliseconds"
        if number > form.max_units:
            meant = (
                f"; if you mean milliseconds, write {number / 1000:g}" if number >= 1000 and unit == "seconds" else ""
            )
            problem = f"'{key}' is in {unit}: {number:g} is more than {form.max_units}"
            self._report(WARNING, key, f"{problem}, so {form.max_units} is used{meant}")
        elif unit != "seconds" and number < _MIN_MILLISECONDS:
            problem = f"'{key}' is in {unit}: {number:g} is too short for a process to start"
            self._report(WARNING, key, problem, f"if you mean seconds, write {number * 1000:g}")
        return min(float(number), float(form.max_units)) / form.units_per_second


def _match_tools(row: HookEvent) -> Matcher:
    names = "|".join(row.tools)
    return Matcher(compile_written(f"^(?:{names})$", names))


def name_entry(event: str, entry: Any, definition: Any) -> str:
    """Return the name of an entry: its event, a word for it, and a digest that changes with its definition."""
    text = _SORTED_JSON.encode([event, definition])
    return f"{event}:{_label(entry)}#{hashlib.sha256(text.encode()).hexdigest()[:6]}"


def _label(entry: dict[str, Any]) -> str:
    lines = [entry.get(key) for key in ("command", "bash")]
    command, url = next(filter(None, lines), None), entry.get("url")
    if isinstance(command, str) and command.split():
        args = entry.get("args")
        script = SCRIPT.search(" ".join([command, *map(str, args if isinstance(args, list) else ())]))
        words = _ASSIGNMENT.sub(" ", command).split() or ["command"]
        label = script.group() if script else words[0].rpartition("/")[2]
    elif isinstance(url, str):
        label = re.split(r"[/?#\\]", url.partition("://")[2])[0].rpartition("@")[2].replace(":", "-")
    else:
        label = str(entry.get("type", "entry"))
    return re.sub(r"[^A-Za-z0-9._-]", "", label)[:32] or "command"
