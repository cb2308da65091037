"""hooks.toml: settings, defaults, and what is disabled or overridden. A project may only tighten."""

from __future__ import annotations

import os
import tomllib
from typing import Any

from boathook.core.catalog import Settings
from boathook.core.hook import DISABLED, ERROR, MODIFIED, PROJECT, USER, WARNING, Diagnostic, Hook
from boathook.core.value import Value
from boathook.sources.hook_md.manifest import RANGES
from boathook.sources.sandbox_levels import GRANTS, SANDBOX, STRICTEST, WHERE, confined, is_level, is_meant, vain
from boathook.system.files import FileError, read_text

SIZE_LIMIT = 32 * 1024
DOTS_LIMIT = 32
MOST_TOLD = 100  # problems of one file
CHOICES = {"untrusted": ("skip", "block"), "record": ("summary", "whole"), "degraded": ("tell", "refuse")}
NUMBERS = {"max_stop_blocks": (0, 100, 3), "max_timeout": (100, 600_000, 600_000)}
USER_ONLY = ("debug", "strict_exit_codes", *NUMBERS, "model", *CHOICES)
TOP = ("enabled", *USER_ONLY, SANDBOX, "defaults", "disable", "override")
TUNABLE = ("timeout", "priority", "async", "on_failure", SANDBOX)
SAID = frozenset(TUNABLE) - {"sandbox"}  # of settings hooks: no default of hooks.toml is for them, but for this one
OVERRIDABLE = (*TUNABLE, *GRANTS, WHERE)


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
    sandbox: str = ""


def read_config(path: str, scope: str) -> Config:
    """Read a hooks.toml; a missing one is empty, a broken one is empty and says so."""
    try:
        text = read_text(path, SIZE_LIMIT)
        if any(line.count(".") > DOTS_LIMIT for line in text.split("\n")):
            raise FileError(f"has a line with more than {DOTS_LIMIT} dots")  # such keys take the parser for ever
    except FileError as error:
        if not os.path.lexists(path):
            return Config(path, scope)
        return Config(path, scope, problems=(Diagnostic(path, None, "", ERROR, f"hooks.toml {error}"),))
    try:
        data = tomllib.loads(text)
    except ValueError as error:  # TOMLDecodeError, or a number beyond the interpreter's limit
        told = f"not valid TOML: {error}"
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
            self._tuning("hooks.defaults", hooks.get("defaults", {}), TUNABLE),
            self._disabled(hooks.get("disable", [])),
            self._overrides(hooks.get("override", [])),
            sandbox=self._level("hooks.sandbox", hooks[SANDBOX]) if SANDBOX in hooks else "",
            problems=tuple(self.problems),
        )

    def _say(self, level: str, key: str, message: str, fix: str = "") -> None:
        if len(self.problems) < MOST_TOLD:
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
            elif key in NUMBERS:
                value, (low, high, default) = hooks[key], NUMBERS[key]
                if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
                    found[key] = value
                else:
                    told = f"'{key}' must be a number from {low} to {high}"
                    self._say(ERROR, f"hooks.{key}", told, f"{default} is used")
            elif key in CHOICES:
                found[key] = self._choice(key, hooks[key])
            elif key == "model":
                if isinstance(hooks[key], str) and ":" in hooks[key]:
                    found[key] = hooks[key]
                else:
                    self._say(ERROR, "hooks.model", "'model' must be provider:name", 'model = "anthropic:…"')
            else:
                found[key] = self._flag(hooks, key, default=False)
        return found

    def _choice(self, key: str, value: Any) -> str:
        """Return a setting that is one of some words; of a wrong one the first word counts."""
        known = CHOICES[key]
        if value in known:
            return str(value)
        self._say(ERROR, f"hooks.{key}", f"'{key}' must be {' or '.join(known)}", f"{known[0]} is used")
        return known[0]

    def _level(self, key: str, value: Any) -> str:
        """Return the level of a sandbox; of a wrong one the strictest counts, for somebody wanted walls."""
        if is_level(value):
            return str(value)
        told = f"'{SANDBOX}' must be basic, restricted or isolated"
        self._say(ERROR, key, told, f"{STRICTEST} is used")
        return STRICTEST

    def _grant(self, place: str, key: str, value: Any) -> bool:
        """Whether an override may open something and says so rightly."""
        good = isinstance(value, bool) if key == "network" else _are_names(value)
        if self.scope == PROJECT:
            self._say(WARNING, f"{place}.{key}", f"'{key}' can only be set by the user; it is ignored here")
        elif not good:
            wanted = "true or false" if key == "network" else "a list of names"
            self._say(ERROR, f"{place}.{key}", f"'{key}' must be {wanted}")
        return good and self.scope != PROJECT

    def _where(self, place: str, value: Any) -> str:
        """Return the project that an override is for; of a wrong one nothing, so that it is for none."""
        if isinstance(value, str) and os.path.isabs(value) and "\0" not in value:
            return value
        self._say(ERROR, place, f"'{WHERE}' must be an absolute path", "the override is for no project")
        return ""

    def _tuning(self, place: str, table: Any, known: tuple[str, ...]) -> dict[str, Any]:
        """Read timeout, priority, async, on_failure and the like; what is wrong is left out and said."""
        if not isinstance(table, dict):
            self._say(ERROR, place, f"'{place}' must be a table")
            return {}
        found: dict[str, Any] = {}
        for key, value in table.items():
            if key == "name":
                continue
            if key not in known:
                self._say(WARNING, f"{place}.{key}", f"unknown key '{key}'", f"known: {', '.join(known)}")
            elif key == SANDBOX:
                found[key] = self._level(f"{place}.{key}", value)
            elif key == WHERE and self.scope == USER:
                found[key] = self._where(f"{place}.{key}", value)
            elif key in (*GRANTS, WHERE):
                if self._grant(place, key, value):
                    found[key] = value
            elif key in RANGES:
                low, high, _ = RANGES[key]
                if not isinstance(value, int) or isinstance(value, bool):
                    self._say(ERROR, f"{place}.{key}", f"'{key}' must be a whole number")
                    continue
                found[key] = min(max(value, low), high)
                if found[key] != value:
                    shown = value if abs(value) < 1e15 else "beyond measure"  # Python refuses to write a longer one
                    told = f"'{key}' is {shown}, allowed are {low} to {high}"
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
        return tuple((table["name"], self._tuning("hooks.override", table, OVERRIDABLE)) for table in named)


def settings_of(user: Config) -> Settings:
    """Return the settings of the engine, which only the user can make."""
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
            if name != hook.name or not is_meant(tuning, project):
                continue
            if config.scope == USER or hook.scope == PROJECT:
                hook = _with(hook, tuning)
            elif tuning.get("on_failure") == "block":
                hook = _with(hook, {"on_failure": "block"})
    return confined(hook, written, project, user)


def disable(hook: Hook, project: Config, user: Config) -> Hook:
    """Disable a hook if a config says so and may say so."""
    for config in (user, project):
        mine = config.scope == USER or hook.scope == PROJECT
        named = hook.name in config.disable
        if config.scope == PROJECT and hook.state == MODIFIED:
            continue  # it may be modified for just that
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
    told += vain(hooks, project, user)
    for config in (user, project):
        for name in (*config.disable, *(n for n, tuning in config.override if is_meant(tuning, project))):
            if name not in known:
                told.append((config, "hooks", f"there is no hook named '{name}'"))
    return tuple(Diagnostic(config.path, None, key, WARNING, text) for config, key, text in told)


def capped(hook: Hook, settings: Settings) -> Hook:
    """Keep a hook within the longest time that the user allows."""
    most = settings.max_timeout / 1000
    return hook.replace(timeout=most) if hook.timeout > most else hook


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) and name for name in value)


def _with(hook: Hook, tuning: dict[str, Any]) -> Hook:
    changes: dict[str, Any] = {key: tuning[key] for key in ("priority", "on_failure") if key in tuning}
    if "timeout" in tuning:
        changes["timeout"] = tuning["timeout"] / 1000
    if "async" in tuning:
        changes["background"] = tuning["async"]
    return hook.replace(**changes) if changes else hook
