"""One settings.json or hooks.json of a plugin. An entry that cannot be used is one invalid hook; the rest counts."""

from __future__ import annotations

import json
import os
import re
from itertools import islice
from typing import Any

from boathook.core.hook import ERROR, INVALID, SETTINGS, USER, WARNING, Diagnostic, Hook
from boathook.core.json_text import describe_json_type
from boathook.core.value import Value
from boathook.hosts.claude import UNMAPPED_CLAUDE_EVENTS
from boathook.hosts.claude_events import CLAUDE_EVENTS_BY_NAME, ClaudeEvent
from boathook.sources.fields import JSON_PAIR, SETTINGS_FILE_FIELDS, FieldChecker
from boathook.sources.hook_md.folder import find_link_outside
from boathook.sources.settings_json.settings_entry import FileContext, read_entry
from boathook.system.files import FileError, may_exist, read_text
from boathook.system.programs import find_exposure, find_foreign_owner

LOCAL = "local"
SETTINGS_NAMES = ("settings.json", "settings.local.json")
MAX_HOOKS_PER_FILE = 300
# Each of these warnings is repeated for every entry of the group.
MAX_GROUP_WARNINGS = 3
# How people write comments in JSON.
_COMMENT_STARTS = ("_", "//", "#", "$")
_GROUP_KEYS = ("matcher", "hooks", "description")
_GROUP_FIX = '{"matcher": "…", "hooks": [{"type": "command", "command": "…"}]}'


class SettingsFile(Value):
    """One file as read: its hooks, whether it disables all hooks, and which plugins it enables or disables."""

    path: str
    scope: str
    hooks: tuple[Hook, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    disables: bool = False
    plugins: tuple[tuple[str, bool], ...] = ()


def read_settings(path: str, scope: str, top: str = "", root: str = "", source: str = SETTINGS) -> SettingsFile:
    """Read a file; a missing or broken one has no hooks. No link may leave `top`; `root` is the folder of its plugin."""
    try:
        if top and (outside := find_link_outside(path, top)):
            raise FileError(outside)
        text = read_text(path)
    except FileError as error:
        if not may_exist(path):
            return SettingsFile(path, scope)
        return _fail(path, scope, f"{os.path.basename(path)} {error}; no hook of it runs")
    find_problem = find_exposure if scope == USER else find_foreign_owner
    in_folder = find_problem(os.path.dirname(path))
    if reason := find_problem(path) or (f"is in a folder that {in_folder}" if in_folder else ""):
        return _fail(path, scope, f"no hook of this file runs: it {reason}")
    try:
        return _FileReader(FileContext(path, scope, source, root)).read(text)
    except RecursionError:
        return _fail(path, scope, "cannot be read: nested too deep; no hook of this file runs")


def _fail(path: str, scope: str, message: str) -> SettingsFile:
    return SettingsFile(path, scope, diagnostics=(Diagnostic(path, None, "", ERROR, message),))


class _FileReader:
    def __init__(self, file: FileContext) -> None:
        self.file = file
        self.checker = FieldChecker(file.path, file.scope, JSON_PAIR)
        self.hooks: list[Hook] = []
        self.is_full = False

    def read(self, text: str) -> SettingsFile:
        data = self._parse(text)
        known = {field.key for field in SETTINGS_FILE_FIELDS}
        values = self.checker.check(SETTINGS_FILE_FIELDS, {key: value for key, value in data.items() if key in known})
        for name, groups in values.get("hooks", {}).items():
            self._read_event(name, groups)
        enabled = values.get("enabledPlugins")
        plugins = enabled.items() if isinstance(enabled, dict) else ()
        settled = tuple((name, is_on) for name, is_on in plugins if isinstance(is_on, bool))
        hooks, problems = tuple(self.hooks), tuple(self.checker.diagnostics)
        disables = values.get("disableAllHooks", False)
        return SettingsFile(self.file.path, self.file.scope, hooks, problems, disables, settled)

    def _parse(self, text: str) -> dict[str, Any]:
        fix, line = "", None
        try:
            data = json.loads(text, object_pairs_hook=self._join_pairs) if text.strip() else {}
            if isinstance(data, dict):
                return data
            message = f"the top level is {describe_json_type(data)}, not an object"
        except json.JSONDecodeError as error:
            fix = "comments are not JSON" if re.search(r"(?m)^[ \t]*(?://|/\*)", text) else ""
            message, line = f"not valid JSON: {error.msg} (column {error.colno})", error.lineno
        except (RecursionError, ValueError) as error:
            message = f"cannot be read: {'nested too deep' if isinstance(error, RecursionError) else error}"
        self.checker.report(ERROR, "", f"{message}; no hook of this file runs", fix, line)
        return {}

    def _join_pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        joined: dict[str, Any] = {}
        for key, value in pairs:
            if key in joined:
                loses_hooks = key in CLAUDE_EVENTS_BY_NAME or key == "hooks"
                message = f"the key '{key}' is in one object twice; only the last one counts"
                self.checker.report(ERROR if loses_hooks else WARNING, key, message, "join the two")
            joined[key] = value
        return joined

    def _read_event(self, name: str, groups: Any) -> None:
        place = f"hooks.{name}"
        row = CLAUDE_EVENTS_BY_NAME.get(name)
        if name.startswith(_COMMENT_STARTS) and not _has_groups(groups):
            return
        if name in UNMAPPED_CLAUDE_EVENTS:
            problem = f"this engine has no event like {name}"
            self.checker.report(WARNING, place, f"{problem}: its hooks run only in Claude Code")
        elif row is None:
            fix = self.checker.suggest(name, CLAUDE_EVENTS_BY_NAME)
            self.checker.report(ERROR, place, f"there is no event '{name}': its hooks never run", fix)
        elif not isinstance(groups, list):
            self._add_invalid(row, place, f"must be a list, not {describe_json_type(groups)}", f"[{_GROUP_FIX}]")
        else:
            for index, group in enumerate(groups):
                if self._has_room():
                    self._read_group(row, f"{place}[{index}]", group)

    def _has_room(self) -> bool:
        if len(self.hooks) >= MAX_HOOKS_PER_FILE and not self.is_full:
            self.is_full = True
            message = f"more than {MAX_HOOKS_PER_FILE} hooks in one file; the rest does not run"
            self.checker.report(ERROR, "hooks", message)
        return not self.is_full

    def _add_invalid(self, row: ClaudeEvent, place: str, message: str, fix: str, definition: Any = None) -> None:
        self.hooks.append(self.file.build_invalid(row, place, message, fix, definition))

    def _read_group(self, row: ClaudeEvent, place: str, group: Any) -> None:
        if not isinstance(group, dict):
            self._add_invalid(row, place, f"must be an object, not {describe_json_type(group)}", _GROUP_FIX)
            return
        entries = group.get("hooks")
        if "hooks" not in group and ("command" in group or "type" in group):
            message = "is a hook without a group: an event has groups, and a group has hooks"
            self._add_invalid(row, place, message, _GROUP_FIX, group)
        elif "hooks" not in group:
            self._add_invalid(row, place, "'hooks' is missing", _GROUP_FIX)
        elif not isinstance(entries, list):
            self._add_invalid(row, place, f"'hooks' must be a list, not {describe_json_type(entries)}", _GROUP_FIX)
        else:
            unknown = islice((key for key in group if key not in _GROUP_KEYS), MAX_GROUP_WARNINGS)
            path = self.file.path
            warnings = [Diagnostic(path, None, f"{place}.{key}", WARNING, f"unknown key '{key}'") for key in unknown]
            for index, entry in enumerate(entries):
                if self._has_room():
                    hook = read_entry(self.file, row, f"{place}.hooks[{index}]", group.get("matcher"), entry)
                    problems = hook.diagnostics if hook.state == INVALID else (*warnings, *hook.diagnostics)
                    self.hooks.append(hook.replace(diagnostics=problems))


def _has_groups(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(item, dict) for item in value))


def mentions_hooks(path: str) -> bool:
    """Whether a settings file says anything about hooks; a file that cannot be read may."""
    try:
        text = read_text(path)
        data = json.loads(text) if text.strip() else {}
    except FileError:
        return may_exist(path)
    except (ValueError, RecursionError):
        return True
    return not isinstance(data, dict) or any(field.key in data for field in SETTINGS_FILE_FIELDS)
