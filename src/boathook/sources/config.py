"""hooks.toml: settings, defaults, and what is disabled or overridden. A project may only tighten."""

from __future__ import annotations

import os
import tomllib
from typing import Any

from boathook.core.catalog import Settings
from boathook.core.hook import DISABLED, ERROR, PROJECT, USER, WARNING, Diagnostic, Hook
from boathook.core.value import Value
from boathook.files import FileFault, read_text
from boathook.sources.manifest import RANGES

SIZE_LIMIT = 64 * 1024
DOTS_LIMIT = 32
TOP = ("enabled", "debug", "strict_exit_codes", "max_stop_blocks", "model", "defaults", "disable", "override")
USER_ONLY = ("debug", "strict_exit_codes", "max_stop_blocks", "model")
TUNABLE = ("timeout", "priority", "async", "on_failure")


class Config(Value):
    """One hooks.toml as read."""

    path: str
    scope: str
    enabled: bool = True
    settings: dict[str, Any] = {}  # noqa: RUF012
    defaults: dict[str, Any] = {}  # noqa: RUF012
    disable: tuple[str, ...] = ()
    override: tuple[tuple[str, dict[str, Any]], ...] = ()
    problems: tuple[Diagnostic, ...] = ()


def read_config(path: str, scope: str) -> Config:
    """Read a hooks.toml; a missing one is empty, a broken one is empty and says so."""
    try:
        text = read_text(path, SIZE_LIMIT)
        if any(line.count(".") > DOTS_LIMIT for line in text.splitlines()):
            raise FileFault(f"has a line with more than {DOTS_LIMIT} dots")  # such keys take the parser for ever
    except FileFault as fault:
        if not os.path.lexists(path):
            return Config(path, scope)
        return Config(path, scope, problems=(Diagnostic(path, None, "", ERROR, f"hooks.toml {fault}"),))
    try:
        data = tomllib.loads(text)
    except ValueError as fault:  # TOMLDecodeError, or a number beyond the interpreter's limit
        told = f"not valid TOML: {fault}"
        return Config(path, scope, problems=(Diagnostic(path, None, "", ERROR, told),))
    except RecursionError:
        return Config(path, scope, problems=(Diagnostic(path, None, "", ERROR, "nested too deep"),))
    return _Reading(path, scope).read(data)


class _Reading:
    """One hooks.toml on its way: collects what is wrong."""

    def __init__(self, path: str, scope: str) -> None:
        self.path, self.scope = path, scope
        self.problems: list[Diagnostic] = []

    def read(self, data: dict[str, Any]) -> Config:
        for key in data:
            if key != "hooks":
                self._say(WARNING, key, f"unknown table '{key}'", "everything stands below [hooks]")
        hooks = data.get("hooks", {})
        if not isinstance(hooks, dict):
            self._say(ERROR, "hooks", "'hooks' must be a table")
            hooks = {}
        for key in hooks:
            if key not in TOP:
                self._say(WARNING, f"hooks.{key}", f"unknown key '{key}'", f"known: {', '.join(TOP)}")
        return Config(
            self.path,
            self.scope,
            self._flag(hooks, "enabled", default=True),
            self._settings(hooks),
            self._tuning("hooks.defaults", hooks.get("defaults", {})),
            self._disabled(hooks.get("disable", [])),
            self._overrides(hooks.get("override", [])),
            tuple(self.problems),
        )

    def _say(self, level: str, key: str, message: str, fix: str = "") -> None:
        self.problems.append(Diagnostic(self.path, None, key, level, message, fix))

    def _flag(self, table: dict[str, Any], key: str, *, default: bool) -> bool:
        value = table.get(key, default)
        if not isinstance(value, bool):
            self._say(ERROR, f"hooks.{key}", f"'{key}' must be true or false", f"{str(default).lower()} is used")
            return default
        return value

    def _settings(self, hooks: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key in USER_ONLY:
            if key not in hooks:
                continue
            if self.scope == PROJECT:
                self._say(WARNING, f"hooks.{key}", f"'{key}' can only be set by the user; it is ignored here")
            elif key == "max_stop_blocks":
                value = hooks[key]
                if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 100:
                    found[key] = value
                else:
                    self._say(ERROR, f"hooks.{key}", f"'{key}' must be a number from 0 to 100", "3 is used")
            elif key == "model":
                if isinstance(hooks[key], str) and ":" in hooks[key]:
                    found[key] = hooks[key]
                else:
                    self._say(ERROR, "hooks.model", "'model' must be provider:name", 'model = "anthropic:…"')
            else:
                found[key] = self._flag(hooks, key, default=False)
        return found

    def _tuning(self, place: str, table: Any) -> dict[str, Any]:
        """Read timeout, priority, async and on_failure; what is wrong is left out and said."""
        if not isinstance(table, dict):
            self._say(ERROR, place, f"'{place}' must be a table")
            return {}
        found: dict[str, Any] = {}
        for key, value in table.items():
            if key == "name":
                continue
            if key not in TUNABLE:
                self._say(WARNING, f"{place}.{key}", f"unknown key '{key}'", f"known: {', '.join(TUNABLE)}")
            elif key in RANGES:
                low, high, _ = RANGES[key]
                if not isinstance(value, int) or isinstance(value, bool):
                    self._say(ERROR, f"{place}.{key}", f"'{key}' must be a whole number")
                    continue
                found[key] = min(max(value, low), high)
                if found[key] != value:
                    told = f"'{key}' is {value}, allowed are {low} to {high}"
                    self._say(ERROR, f"{place}.{key}", told, f"{found[key]} is used")
            elif isinstance(value, bool) if key == "async" else value in ("allow", "block"):
                found[key] = value
            else:
                allowed = "true or false" if key == "async" else "allow or block"
                self._say(ERROR, f"{place}.{key}", f"'{key}' must be {allowed}")
        return found

    def _named(self, place: str, tables: Any) -> list[dict[str, Any]]:
        good = (
            [t for t in tables if isinstance(t, dict) and isinstance(t.get("name"), str)]
            if isinstance(tables, list)
            else []
        )
        if not isinstance(tables, list) or len(good) != len(tables):
            self._say(ERROR, place, f"every [[{place}]] needs a name", 'name = "…"')
        return good

    def _disabled(self, tables: Any) -> tuple[str, ...]:
        return tuple(table["name"] for table in self._named("hooks.disable", tables))

    def _overrides(self, tables: Any) -> tuple[tuple[str, dict[str, Any]], ...]:
        named = self._named("hooks.override", tables)
        return tuple((table["name"], self._tuning("hooks.override", table)) for table in named)


def settings_of(user: Config) -> Settings:
    """Give the settings of the engine, which only the user can make."""
    return Settings(**user.settings)


def tune(hook: Hook, written: frozenset[str], project: Config, user: Config) -> Hook:
    """Apply defaults and overrides to a hook: the project's first, so that the user has the last word."""
    defaults = dict(user.defaults)
    if hook.scope == PROJECT:
        defaults.update(project.defaults)
        if user.defaults.get("on_failure") == "block":
            defaults["on_failure"] = "block"
    hook = _with(hook, {key: value for key, value in defaults.items() if key not in written})
    for config in (project, user):
        for name, tuning in config.override:
            if name == hook.name and (config.scope == USER or hook.scope == PROJECT):
                hook = _with(hook, tuning)
            elif name == hook.name and tuning.get("on_failure") == "block":
                hook = _with(hook, {"on_failure": "block"})
    return hook


def disable(hook: Hook, project: Config, user: Config) -> Hook:
    """Disable a hook if a config says so and may say so."""
    for config in (user, project):
        mine = config.scope == USER or hook.scope == PROJECT
        named = hook.name in config.disable
        if not mine or not (named or not config.enabled) or (named and config.enabled and hook.protected):
            continue
        why = f"disabled by {config.path}" + ("" if named else " (enabled = false)")
        return hook.replace(state=DISABLED, why=why)
    return hook


def refusals(hooks: tuple[Hook, ...], project: Config, user: Config) -> tuple[Diagnostic, ...]:
    """Name what a config asked for and may not have."""
    users = {hook.name: hook for hook in hooks if hook.scope != PROJECT}  # local ones are the user's, too
    known = {hook.name for hook in hooks}
    projects = {hook.name for hook in hooks if hook.scope == PROJECT}
    told = []
    for name in project.disable:
        if name in users and name not in projects:
            told.append((project, "hooks.disable", f"a project cannot disable the user's hook '{name}'"))
    for name, tuning in project.override:
        if name in users and name not in projects and tuning != {"on_failure": "block"}:
            told.append(
                (project, "hooks.override", f"a project can only set on_failure = block for the user's hook '{name}'")
            )
    together = {hook.name for hook in hooks if hook.together}
    for config in (user, project):
        for name, tuning in config.override:
            if name in together and "priority" in tuning:
                told.append(
                    (config, "hooks.override", f"priority has no effect on '{name}': settings hooks run together")
                )
    for name in user.disable:
        if name in users and users[name].protected:
            told.append((user, "hooks.disable", f"'{name}' is protected; remove that first to disable it"))
    if project.defaults.get("on_failure") == "allow" and user.defaults.get("on_failure") == "block":
        told.append((project, "hooks.defaults", "a project cannot turn the user's on_failure = block into allow"))
    for config in (user, project):
        for name in (*config.disable, *(n for n, _ in config.override)):
            if name not in known:
                told.append((config, "hooks", f"there is no hook named '{name}'"))
    return tuple(Diagnostic(config.path, None, key, WARNING, text) for config, key, text in told)


def _with(hook: Hook, tuning: dict[str, Any]) -> Hook:
    changes: dict[str, Any] = {key: tuning[key] for key in ("priority", "on_failure") if key in tuning}
    if "timeout" in tuning:
        changes["timeout"] = tuning["timeout"] / 1000
    if "async" in tuning:
        changes["background"] = tuning["async"]
    return hook.replace(**changes) if changes else hook
