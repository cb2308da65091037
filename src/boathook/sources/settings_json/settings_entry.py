"""One entry of a settings.json: from its JSON object to a hook."""

from __future__ import annotations

import hashlib
import json
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
from boathook.core.matcher import ALL, TOOL_NAME, Matcher, Pattern, PatternAllowance, compile_names, compute_weight
from boathook.core.pattern_search import NO_ENGINE
from boathook.dialects.dialect import find_hook_dialect
from boathook.errors import ConfigError
from boathook.hosts.claude_events import CLAUDE_EVENTS_BY_NAME, ClaudeEvent
from boathook.sources import fields
from boathook.sources.fields import JSON_PAIR, MAX_SECONDS, FieldChecker, describe_value, split_url
from boathook.sources.installed_line import parse_command
from boathook.sources.own_commands import PROGRAM_NAME, is_only_own_command, is_own_command
from boathook.sources.settings_json.rules import MAX_RULE_CHARS, PermissionRule, read_rule
from boathook.sources.shell_scripts import SCRIPT_ENDINGS
from boathook.sources.source import SETTINGS_JSON_SOURCE

DIALECT = find_hook_dialect("claude")
# An entry has a matcher and a rule to compile, so it costs more than a HOOK.md file.
_MAX_FILE_WEIGHT, _MIN_ENTRY_WEIGHT, _RULE_CHAR_WEIGHT = 40_000, 200, 10
MAX_SEARCHED_CHARS = 8192
_MAX_HEADER_WARNINGS = 20
_FOREIGN_TYPES = ("agent", "mcp_tool")
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
_ENTRY_FIX = '{"type": "command", "command": "…"}'
_VARIABLE = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)")
# An assignment may hold a secret, which must not become part of a name.
_ASSIGNMENT = re.compile(
    r"""(?<![^\s;&|(])[A-Za-z_]\w*=(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s'"\\])*""", re.ASCII | re.DOTALL
)
SCRIPT = re.compile(rf"(?<![^\s\"'/;&|()<>=])[^\s\"'/;&|()<>=]+\.(?:{'|'.join(SCRIPT_ENDINGS)})\b")


class FileContext:
    """The file that entries are in: where it is, whose it is, and how much work its entries may still cause."""

    def __init__(self, path: str, scope: str, source: str, root: str = "") -> None:
        self.path, self.scope, self.source, self.root = path, scope, source, root
        # A file of many large patterns would keep RE2 busy for minutes.
        self.allowance, self._chars = PatternAllowance(_MAX_FILE_WEIGHT, _MIN_ENTRY_WEIGHT), MAX_SEARCHED_CHARS
        self._matchers: dict[str, Pattern | ConfigError | None] = {}

    def compile_matcher(self, source: str) -> Pattern | None:
        """Compile a matcher, once for all entries that have it; ConfigError if it is wrong or too large."""
        if source not in self._matchers:
            try:
                if self.scope == USER and not self.allowance.can_afford(compute_weight(source)):
                    raise ConfigError("the patterns of this file are too large together")
                self._matchers[source] = compile_names(source, None if self.scope == USER else self.allowance)
            except ConfigError as error:
                self._matchers[source] = error
        pattern = self._matchers[source]
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

    def build_hook(self, row: ClaudeEvent, place: str, name: str, handler: HookHandler, **changes: Any) -> Hook:
        return Hook(
            name,
            row.kind,
            row.name,
            self.scope,
            handler,
            self.path,
            DIALECT,
            source=self.source,
            runs_together=SETTINGS_JSON_SOURCE.runs_together,
            place=place,
            **changes,
        )

    def build_invalid(self, row: ClaudeEvent, place: str, message: str, fix: str = "", definition: Any = None) -> Hook:
        """Return the hook of an entry that cannot be used: it never runs, and every event of its kind reports it."""
        name = name_entry(row.name, definition, definition) if definition else place.removeprefix("hooks.")
        why = f"{place}: {message}" + (f" ({fix})" if fix else "")
        problems = (Diagnostic(self.path, None, place, ERROR, message, fix),)
        return self.build_hook(row, place, name, Command(""), state=INVALID, state_reason=why, diagnostics=problems)


def read_entry(file: FileContext, row: ClaudeEvent, place: str, matcher: Any, entry: Any) -> Hook:
    try:
        if not isinstance(entry, dict):
            raise ConfigError(f"must be an object, not {describe_value(entry)}", fix=_ENTRY_FIX)
        return _EntryReader(file, row, place, matcher, entry).build_hook()
    except ConfigError as error:
        return file.build_invalid(row, place, str(error), error.fix, entry if isinstance(entry, dict) else None)


class _EntryReader:
    def __init__(self, file: FileContext, row: ClaudeEvent, place: str, matcher: Any, entry: dict[str, Any]) -> None:
        self.file, self.row, self.place, self.matcher, self.entry = file, row, place, matcher, entry
        self.checker = FieldChecker(file.path, file.scope, JSON_PAIR)

    def build_hook(self) -> Hook:
        name = name_entry(self.row.name, self.entry, {**self.entry, "matcher": self.matcher})
        kind = self.entry.get("type")
        if kind in _FOREIGN_TYPES:
            why = f"hooks of the type '{kind}' run only in Claude Code"
            self._report(WARNING, "type", why)
            return self._finish(name, Command(""), {"state": DISABLED, "state_reason": why})
        values = self._check_fields(kind)
        handler = self._build_handler(values)
        matcher, never = self._build_matcher()
        changes = {
            "matcher": matcher,
            "timeout": self._read_timeout(values),
            "background": values.get("async", False) or values.get("asyncRewake", False),
            "description": values["statusMessage"] if isinstance(values.get("statusMessage"), str) else "",
        }
        if isinstance(handler, Command) and self.file.is_own_command(handler):
            why = IS_INSTALLED_CALL if is_only_own_command(handler) else CALLS_BOATHOOK
            changes |= {"state": DISABLED, "state_reason": why}
        elif never:
            changes |= {"state": DISABLED, "state_reason": never}
        return self._finish(name, handler, changes)

    def _finish(self, name: str, handler: HookHandler, changes: dict[str, Any]) -> Hook:
        problems = tuple(self.checker.diagnostics)
        return self.file.build_hook(self.row, self.place, name, handler, diagnostics=problems, **changes)

    def _report(self, level: str, key: str, message: str, fix: str = "") -> None:
        self.checker.report(level, f"{self.place}.{key}", message, fix)

    def _check_fields(self, kind: Any) -> dict[str, Any]:
        rows = fields.SETTINGS_ENTRY_FIELDS.get(kind if isinstance(kind, str) else "", (fields.ENTRY_TYPE_FIELD,))
        if kind == "prompt" and not self.row.prompts:
            events = ", ".join(name for name, row in CLAUDE_EVENTS_BY_NAME.items() if row.prompts)
            raise ConfigError(f"prompt hooks cannot run at {self.row.name}", fix=f"possible at: {events}")
        values = self.checker.check(rows, self.entry, self.place)
        if refusal := self.checker.refusal:
            raise ConfigError(refusal.message, refusal.fix)
        if values.get("asyncRewake"):
            message = "this engine cannot wake the agent: the hook runs in the background and its result is logged"
            self._report(WARNING, "asyncRewake", message)
        return values

    def _build_handler(self, values: dict[str, Any]) -> HookHandler:
        if "prompt" in values:
            return Prompt(values["prompt"], values.get("model", ""))
        if "url" in values:
            return self._build_http(values["url"], values.get("headers", {}), values.get("allowedEnvVars", []))
        words = tuple(values["args"]) if "args" in values else None
        return Command(values["command"], words, values.get("shell", ""), self.file.root)

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
        if source and source.strip() not in ("", "*") and not row.subject:
            message = f"{row.name} has no matcher: '{source}' is ignored, the hook runs at every such event"
            self._report(WARNING, "matcher", message, "remove it")
            source = None
        pattern = self.file.compile_matcher(source or "")
        if pattern is not None and pattern.engines == NO_ENGINE:
            self._report(WARNING, "matcher", fields.TOO_LARGE_TOGETHER)
        elif pattern is not None and pattern.construct:
            self._report(WARNING, "matcher", *fields.describe_construct(pattern.construct))
        rule = self._read_rule()
        if rule is None:
            return (Matcher(pattern, subject=row.subject) if pattern else ALL), ""
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
        seconds = values.get("timeout", fields.DEFAULT_SECONDS[self.entry["type"]])
        # A larger number cannot be shown.
        seconds = min(seconds, 1e15)
        if seconds > MAX_SECONDS:
            meant = f"; if you mean milliseconds, write {seconds / 1000:g}" if seconds >= 1000 else ""
            problem = f"'timeout' is in seconds: {seconds:g} is more than {MAX_SECONDS}"
            self._report(WARNING, "timeout", f"{problem}, so {MAX_SECONDS} is used{meant}")
        return min(float(seconds), float(MAX_SECONDS))


def name_entry(event: str, entry: Any, definition: Any) -> str:
    """Return the name of an entry: its event, a word for it, and a digest that changes with its definition."""
    text = json.dumps([event, definition], sort_keys=True)
    return f"{event}:{_label(entry)}#{hashlib.sha256(text.encode()).hexdigest()[:6]}"


def _label(entry: dict[str, Any]) -> str:
    command, url = entry.get("command"), entry.get("url")
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
