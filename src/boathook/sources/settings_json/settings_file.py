"""One settings.json or hooks.json of a plugin. An entry that cannot be used is one invalid hook; the rest counts."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from itertools import islice
from typing import Any

from boathook.core.event import SPELLINGS
from boathook.core.hook import ERROR, INVALID, SETTINGS, USER, WARNING, Diagnostic, Hook
from boathook.core.json_text import describe_json_type, get_at_place
from boathook.core.value import Value
from boathook.hosts.claude_events import HookEvent
from boathook.hosts.host import list_host_names, load_host
from boathook.sources.agent_forms.hook_form import SETTINGS_FORM, HookForm
from boathook.sources.agent_forms.hook_text import blank_comments, parse_toml_text
from boathook.sources.fields import JSON_PAIR, TOML_PAIR, FieldChecker
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
_ENTRY_FIX = '{"command": "…"}'
_GROUP_FIX = '{"matcher": "…", "hooks": [{"type": "command", "command": "…"}]}'


class SettingsFile(Value):
    """One file as read: its hooks, whether it disables all hooks, and which plugins it enables or disables."""

    path: str
    scope: str
    hooks: tuple[Hook, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    disables: bool = False
    plugins: tuple[tuple[str, bool], ...] = ()


def read_settings(
    path: str, scope: str, top: str = "", root: str = "", source: str = SETTINGS, form: HookForm = SETTINGS_FORM
) -> SettingsFile:
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
        return _FileReader(FileContext(path, scope, source, root, form)).read(text)
    except RecursionError:
        return _fail(path, scope, "cannot be read: nested too deep; no hook of this file runs")


def _fail(path: str, scope: str, message: str) -> SettingsFile:
    return SettingsFile(path, scope, diagnostics=(Diagnostic(path, None, "", ERROR, message),))


class _FileReader:
    def __init__(self, file: FileContext) -> None:
        self.file = file
        self.form, self.is_toml = file.form, file.path.endswith(".toml")
        self.checker = FieldChecker(file.path, file.scope, TOML_PAIR if self.is_toml else JSON_PAIR)
        self.hooks: list[Hook] = []
        self.is_full = False

    def read(self, text: str) -> SettingsFile:
        data = self._parse(text)
        known = {field.key for field in self.form.file_fields}
        values = self.checker.check(self.form.file_fields, {key: value for key, value in data.items() if key in known})
        disabled = get_at_place(data, self.form.disabled_at) if self.form.disabled_at else None
        self.file.disabled_names = frozenset(filter(_is_text, disabled)) if isinstance(disabled, list) else frozenset()
        if self.form.has_tables:
            for index, table in enumerate(values.get("hooks", ())):
                self._read_table(f"hooks[{index}]", table)
        else:
            for name, groups in values.get("hooks", {}).items():
                self._read_event(name, groups)
        enabled = values.get("enabledPlugins")
        plugins = enabled.items() if isinstance(enabled, dict) else ()
        settled = tuple((name, is_on) for name, is_on in plugins if isinstance(is_on, bool))
        hooks, problems = tuple(self.hooks), tuple(self.checker.diagnostics)
        disables = values.get("disableAllHooks", False) or self._is_switched_off(data)
        return SettingsFile(self.file.path, self.file.scope, hooks, problems, disables, settled)

    def _is_switched_off(self, data: dict[str, Any]) -> bool:
        return any(get_at_place(data, place) is value for place, value in self.form.switches)

    def _parse(self, text: str) -> dict[str, Any]:
        fix, line = "", None
        if self.is_toml:
            return self._parse_toml(text)
        text = blank_comments(text) if self.form.has_comments else text
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

    def _parse_toml(self, text: str) -> dict[str, Any]:
        data, message = parse_toml_text(text)
        if message:
            self.checker.report(ERROR, "", f"{message}; no hook of this file runs")
        return data

    def _join_pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        joined: dict[str, Any] = {}
        for key, value in pairs:
            if key in joined:
                loses_hooks = key in self.form.events or key == "hooks"
                message = f"the key '{key}' is in one object twice; only the last one counts"
                self.checker.report(ERROR if loses_hooks else WARNING, key, message, "join the two")
            joined[key] = value
        return joined

    def _read_event(self, name: str, groups: Any) -> None:
        place = f"hooks.{name}"
        if name.startswith(_COMMENT_STARTS) and not _has_groups(groups):
            return
        if name in self.form.other_keys and name not in self.form.events:
            return
        row = self._find_row(name, place)
        if row is None:
            return
        if not isinstance(groups, list):
            fix = _ENTRY_FIX if self.form.is_flat else _GROUP_FIX
            self._add_invalid(row, place, f"must be a list, not {describe_json_type(groups)}", f"[{fix}]")
            return
        for index, group in enumerate(groups):
            if self._has_room():
                self._read_item(row, f"{place}[{index}]", group)

    def _find_row(self, name: str, place: str) -> HookEvent | None:
        row = self.form.events.get(name)
        if name in self.form.unmapped_events:
            problem = f"boathook has no event like {name}"
            self.checker.report(WARNING, place, f"{problem}: its hooks run only in {self.form.title}")
            return None
        if row is None:
            # After some names it suggests nothing more, because that takes time.
            near = self.checker.suggest(name, self.form.events)
            fix = (_find_own_name(name, self.form) or near) if near else ""
            self.checker.report(ERROR, place, f"there is no event '{name}': its hooks never run", fix)
        return row

    def _read_item(self, row: HookEvent, place: str, item: Any) -> None:
        """Read an entry, or a group of entries where the form has these."""
        is_group = isinstance(item, dict) and "hooks" in item and self.form.takes_groups
        if not self.form.is_flat or is_group:
            self._read_group(row, place, item)
        elif isinstance(item, dict):
            self._read_flat_entry(row, place, item)
        else:
            self._add_invalid(row, place, f"must be an object, not {describe_json_type(item)}", _ENTRY_FIX)

    def _read_table(self, place: str, table: dict[str, Any]) -> None:
        name = table.get("event")
        if not isinstance(name, str):
            message = "'event' is missing" if name is None else f"'event' must be text, not {describe_json_type(name)}"
            self.checker.report(ERROR, f"{place}.event", f"{message}: the hook never runs", 'event = "PreToolUse"')
            return
        row = self._find_row(name, f"{place}.event")
        if row is not None and self._has_room():
            self._read_flat_entry(row, place, table)

    def _read_flat_entry(self, row: HookEvent, place: str, entry: dict[str, Any]) -> None:
        own = {key: value for key, value in entry.items() if key != "matcher"}
        self._add_entry(row, place, entry.get("matcher"), own, [])

    def _has_room(self) -> bool:
        if len(self.hooks) >= MAX_HOOKS_PER_FILE and not self.is_full:
            self.is_full = True
            message = f"more than {MAX_HOOKS_PER_FILE} hooks in one file; the rest does not run"
            self.checker.report(ERROR, "hooks", message)
        return not self.is_full

    def _add_invalid(self, row: HookEvent, place: str, message: str, fix: str, definition: Any = None) -> None:
        self.hooks.append(self.file.build_invalid(row, place, message, fix, definition))

    def _read_group(self, row: HookEvent, place: str, group: Any) -> None:
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
            unknown = islice((key for key in group if key not in self.form.group_keys), MAX_GROUP_WARNINGS)
            path = self.file.path
            warnings = [Diagnostic(path, None, f"{place}.{key}", WARNING, f"unknown key '{key}'") for key in unknown]
            idle = [key for key in self.form.idle_group_keys if group.get(key)]
            message = "has no effect here: all hooks that match run at the same time"
            warnings += [Diagnostic(path, None, f"{place}.{key}", WARNING, f"'{key}' {message}") for key in idle]
            for index, entry in enumerate(entries):
                if self._has_room():
                    self._add_entry(row, f"{place}.hooks[{index}]", group.get("matcher"), entry, warnings)

    def _add_entry(self, row: HookEvent, place: str, matcher: Any, entry: Any, warnings: list[Diagnostic]) -> None:
        hook = read_entry(self.file, row, place, matcher, entry)
        is_warned = warnings and hook.state != INVALID
        self.hooks.append(hook.replace(diagnostics=(*warnings, *hook.diagnostics)) if is_warned else hook)
        if hook.state != INVALID and (second := self.form.failure_events.get(row.name)):
            # What is wrong with it was said already.
            hook = read_entry(self.file, second, hook.place, matcher, entry)
            self.hooks.append(hook.replace(diagnostics=()))


def _find_own_name(name: str, form: HookForm) -> str:
    """Return how an event is called in a form that has another name in HOOK.md or in another agent."""
    kinds = [SPELLINGS[name].name] if name in SPELLINGS else []
    if not kinds:
        hosts = map(load_host, list_host_names())
        kinds = [event.kind_name for host in hosts for event in host.events if event.name == name]
    own = next((row.name for row in form.events.values() if row.kind_name in kinds[:1]), "")
    return f"in {form.title} it is called '{own}'" if own else ""


def _has_groups(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(item, dict) for item in value))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def mentions_hooks(path: str, form: HookForm = SETTINGS_FORM) -> bool:
    """Whether a settings file says anything about hooks; a file that cannot be read may."""
    try:
        text = read_text(path)
        if path.endswith(".toml"):
            data, error = parse_toml_text(text)
            return bool(error) or "hooks" in data
        text = blank_comments(text) if form.has_comments else text
        data = json.loads(text) if text.strip() else {}
    except FileError:
        return may_exist(path)
    except (ValueError, RecursionError):
        return True
    return not isinstance(data, dict) or any(field.key in data for field in form.file_fields)


def find_form_project(form: HookForm, project: str, find_above: Callable[[str], str]) -> tuple[str, list[str]]:
    """Return the nearest folder whose files mention hooks, because agents write other settings there, and the files read."""
    folder, seen = project, list[str]()
    while folder:
        seen += [folder + marker for marker in form.source.markers]
        if any(mentions_hooks(path, form) for path in form.list_project_files(folder)):
            return folder, seen
        folder = find_above(os.path.dirname(folder)) if folder != "/" else ""
    return project, seen
