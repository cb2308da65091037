"""hooks.toml: settings, defaults, and hooks that are disabled or overridden. A project can only make hooks stricter."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

from boathook.core.catalog import Settings
from boathook.core.hook import ABSENT_STATES, DISABLED, ERROR, MODIFIED, PROJECT, USER, WARNING, Diagnostic, Hook
from boathook.core.near_words import find_near_word
from boathook.core.value import Value
from boathook.sources.fields import (
    HOOKS_FIELD,
    PACKS_FIELD,
    SANDBOX_FIELD,
    TOML_PAIR,
    TUNABLE_FIELDS,
    Field,
    FieldChecker,
    convert_timing,
)
from boathook.sources.pack_settings import PackSettings, check_packs, configure_pack_hook, list_pack_mistakes
from boathook.sources.sandbox_levels import ConfigWarning, applies_to_project, confine_hook, list_ineffective_sandbox
from boathook.sources.source import list_default_sources
from boathook.system.files import FileError, read_text

if TYPE_CHECKING:
    from boathook.sources.source import SourceRules

MAX_HOOKS_TOML_BYTES = 32 * 1024
MAX_DOTS_PER_LINE = 32
# What decides about questions to a person, by the words for it, and the tables in which it is: a key that looks like such a word
# must not turn it off by being unknown.
_QUESTION_SETTINGS = {
    "ask": "hooks.ask",
    **dict.fromkeys(("approvals", "factor", "askpass"), "hooks.approvals"),
}
# Matchers and settings of packs have names of their own.
_TABLES_OF_SETTINGS = ("hooks", "approvals", "defaults", "projects", "override")
# Settings hooks take no default but the sandbox.
KEYS_WITHOUT_DEFAULTS = frozenset(field.key for field in TUNABLE_FIELDS if field.key != SANDBOX_FIELD.key)


class HooksConfig(Value):
    path: str
    scope: str
    enabled: bool = True
    settings: dict[str, Any] = {}  # noqa: RUF012
    defaults: dict[str, Any] = {}  # noqa: RUF012
    disable: tuple[str, ...] = ()
    override: tuple[tuple[str, dict[str, Any]], ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    sandbox: str = ""
    source_rules: SourceRules = ()
    packs: dict[str, PackSettings] = {}  # noqa: RUF012
    # Settings that an unknown key may have meant, by their places: where that key is.
    hidden: dict[str, str] = {}  # noqa: RUF012


def read_hooks_toml(path: str, scope: str) -> HooksConfig:
    """Read a hooks.toml. A missing file is empty; a broken one is empty and has an error."""
    try:
        data = _load_toml(path)
    except FileError as error:
        if not os.path.lexists(path):
            return HooksConfig(path, scope)
        return HooksConfig(path, scope, diagnostics=(Diagnostic(path, None, "", ERROR, str(error)),))
    checker = FieldChecker(path, scope, TOML_PAIR)
    top = checker.check((HOOKS_FIELD, PACKS_FIELD), data)
    packs = check_packs(top.get(PACKS_FIELD.key, {}), checker)
    values = top.get(HOOKS_FIELD.key, {})
    tables: dict[str, Any] = {key: values.pop(key) for key in ("enabled", "defaults", "sandbox") if key in values}
    tables["disable"] = tuple(table["name"] for table in values.pop("disable", ()))
    tables["override"] = tuple((table.pop("name"), table) for table in values.pop("override", ()))
    rules = _take_source_rules(values)
    diagnostics = (*checker.diagnostics, *_list_turned_off(path, rules))
    return HooksConfig(
        path,
        scope,
        **tables,
        settings=values,
        diagnostics=diagnostics,
        source_rules=rules,
        packs=packs,
        hidden=_find_hidden_settings(data),
    )


def _find_hidden_settings(data: dict[str, Any]) -> dict[str, str]:
    """Return which settings about questions an unknown key may have meant, because it, or one in it, looks like them."""
    hidden: dict[str, str] = {}
    for place, value in _list_unknown_values(data, "", (HOOKS_FIELD, PACKS_FIELD)):
        for name in (place.rpartition(".")[2], *_list_keys(value)):
            if near := find_near_word(name, _QUESTION_SETTINGS):
                hidden.setdefault(_QUESTION_SETTINGS[near], place)
    return hidden


def _list_unknown_values(data: Any, place: str, fields: tuple[Field, ...]) -> Iterator[tuple[str, Any]]:
    """Yield the unknown keys of a table, or of several, and of those below."""
    known = {field.key: field for field in fields}
    for table in data if isinstance(data, list) else [data]:
        for key, value in table.items() if isinstance(table, dict) else ():
            if key not in known:
                yield f"{place}{key}", value
            elif key in _TABLES_OF_SETTINGS:
                yield from _list_unknown_values(value, f"{place}{key}.", known[key].fields)


def _list_keys(value: Any) -> Iterator[str]:
    """Yield all keys of the tables in a value."""
    values = [value]
    while values:
        one = values.pop()
        if isinstance(one, dict):
            yield from one
            values.extend(one.values())
        elif isinstance(one, list):
            values.extend(one)


def _take_source_rules(values: dict[str, Any]) -> SourceRules:
    """Take the sources out of the settings: those for all projects, then those of single ones, by their real paths."""
    for_all = [("", tuple(values.pop("sources")))] if values.get("sources") else []
    values.pop("sources", None)
    tables = [table for table in values.pop("projects", ()) if table.get("project") and table.get("sources")]
    return (*for_all, *((os.path.realpath(table["project"]), tuple(table["sources"])) for table in tables))


def _list_turned_off(path: str, rules: SourceRules) -> list[Diagnostic]:
    """Return a warning for every list of sources that turns a default one off: people may mean to add one."""
    return [
        Diagnostic(
            path, None, "hooks.projects" if project else "hooks.sources", WARNING, message, f'add "{name}" to it'
        )
        for project, names in rules
        for name in list_default_sources()
        if name not in names
        and (
            message := f"the list does not name '{name}', so its hooks do not run{f' in {project}' if project else ''}"
        )
    ]


def _load_toml(path: str) -> dict[str, Any]:
    try:
        text = read_text(path, MAX_HOOKS_TOML_BYTES)
    except FileError as error:
        raise FileError(f"hooks.toml {error}") from None
    # Keys of many dots take the parser very long.
    if any(line.count(".") > MAX_DOTS_PER_LINE for line in text.split("\n")):
        raise FileError(f"hooks.toml has a line with more than {MAX_DOTS_PER_LINE} dots")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise FileError("hooks.toml is nested too deep") from None
    # A TOMLDecodeError, or a number beyond the interpreter's limit.
    except ValueError as error:
        raise FileError(f"not valid TOML: {error}") from None


def build_settings(user: HooksConfig) -> Settings:
    """Return the settings of the user's hooks.toml. What a mistake hides counts as the strictest that it may have said."""
    values = {**user.settings}
    settings = Settings(**values.pop("approvals", {}), **values, source_rules=user.source_rules)
    ask_mistake, factor_mistake = _find_mistake(user, "hooks.ask"), _find_mistake(user, "hooks.approvals")
    if ask_mistake:
        settings = settings.replace(ask="deny", ask_mistake=ask_mistake)
    return settings.replace(factor_mistake=factor_mistake) if factor_mistake else settings


def _find_mistake(user: HooksConfig, place: str) -> str:
    """Return what is wrong with a setting, or with all of the file, or what else may have meant it; "" if it can be read."""
    found = (one for one in user.diagnostics if f"{place}.".startswith(f"{one.key}.") or not one.key)
    below = (one for one in user.diagnostics if one.key.startswith(f"{place}."))
    unknown = user.hidden.get(place, "")
    named = (one for one in user.diagnostics if unknown and one.key == unknown)
    otherwise = f"{user.path}: [{unknown}] unknown key" if unknown else ""
    return next((str(one) for one in chain(found, below, named)), otherwise)


def tune_hook(hook: Hook, written: frozenset[str], project: HooksConfig, user: HooksConfig) -> Hook:
    """Apply defaults and overrides to a hook: those of the project first, so that the user decides."""
    defaults = dict(user.defaults)
    if hook.scope == PROJECT:
        defaults.update(project.defaults)
        if user.defaults.get("on_failure") == "block":
            defaults["on_failure"] = "block"
    hook = _apply_tuning(hook, {key: value for key, value in defaults.items() if key not in written})
    for config in (project, user):
        for name, tuning in config.override:
            if name != hook.name or not applies_to_project(tuning, project):
                continue
            if config.scope == USER or hook.scope == PROJECT:
                hook = _apply_tuning(hook, tuning)
            elif tuning.get("on_failure") == "block":
                hook = _apply_tuning(hook, {"on_failure": "block"})
    return confine_hook(hook, written, project, user)


def disable_hook(hook: Hook, project: HooksConfig, user: HooksConfig) -> Hook:
    if hook.is_installed_call:
        return hook
    hook = configure_pack_hook(hook, project, user)
    for config in (user, project):
        # A hook of a project may have been modified so that its hooks.toml disables it, and an absent one is not there.
        if config.scope == PROJECT and (hook.scope != PROJECT or hook.state in (MODIFIED, *ABSENT_STATES)):
            continue
        if not config.enabled and hook.name not in config.disable:
            return hook.replace(state=DISABLED, state_reason=f"disabled by {config.path} (enabled = false)")
        if hook.name in config.disable and not (config.enabled and hook.protected):
            return hook.replace(state=DISABLED, state_reason=f"disabled by {config.path}")
    return hook


def check_configs(hooks: tuple[Hook, ...], project: HooksConfig, user: HooksConfig) -> tuple[Diagnostic, ...]:
    """Return a warning for everything that a hooks.toml asks for and that has no effect."""
    warnings = (*_list_ineffective(hooks, project, user), *list_ineffective_sandbox(hooks, project, user))
    unknown = _list_unknown_names({hook.name for hook in hooks}, project, user)
    fixes = ((warnings, ""), (unknown, "boathook list shows the names; correct it, or remove the entry"))
    return (
        *(
            Diagnostic(config.path, None, key, WARNING, text, fix)
            for found, fix in fixes
            for config, key, text in found
        ),
        *list_pack_mistakes(hooks, project, user),
    )


def _list_ineffective(hooks: tuple[Hook, ...], project: HooksConfig, user: HooksConfig) -> Iterator[ConfigWarning]:
    projects = {hook.name for hook in hooks if hook.scope == PROJECT}
    # Local hooks are the user's, too.
    users = {hook.name: hook for hook in hooks if hook.scope != PROJECT}
    for name in project.disable:
        if name in users and name not in projects:
            yield project, "hooks.disable", f"a project cannot disable your hook '{name}'"
    for name, tuning in project.override:
        if name in users and name not in projects and tuning != {"on_failure": "block"}:
            yield project, "hooks.override", f"a project can only set on_failure = block for your hook '{name}'"
    grouped = {hook.name for hook in hooks if hook.runs_together}
    for config in (user, project):
        for name, tuning in config.override:
            if name in grouped and "priority" in tuning:
                yield config, "hooks.override", f"priority has no effect on '{name}': settings hooks run together"
    for name in user.disable:
        if name in users and users[name].protected:
            way = f"run: boathook pack off {name}" if users[name].pack else "remove 'protected' from its HOOK.md first"
            message = f"'{name}' is protected, so it is not disabled; {way}"
            yield user, "hooks.disable", message
    if project.defaults.get("on_failure") == "allow" and user.defaults.get("on_failure") == "block":
        yield project, "hooks.defaults", "a project cannot turn your on_failure = block into allow"


def _list_unknown_names(names: set[str], project: HooksConfig, user: HooksConfig) -> Iterator[ConfigWarning]:
    for config in (user, project):
        overridden = (name for name, tuning in config.override if applies_to_project(tuning, project))
        for name in (*config.disable, *overridden):
            if name not in names:
                yield config, "hooks", f"there is no hook named '{name}'"


def cap_timeout(hook: Hook, settings: Settings) -> Hook:
    seconds = settings.max_timeout / 1000
    return hook.replace(timeout=seconds) if hook.timeout > seconds else hook


def _apply_tuning(hook: Hook, tuning: dict[str, Any]) -> Hook:
    changes = convert_timing(tuning) | {key: tuning[key] for key in ("priority", "on_failure") if key in tuning}
    return hook.replace(**changes) if changes else hook
