"""Which sandbox a hook gets: a project can only raise the level that the user demands.

The user demands a level by `[hooks] sandbox` (for every hook), by `[hooks.defaults]` (for hooks that do not set one) and by an
override. For hooks of the user, their override decides. A hook of a project chooses its own name, so an override of that name
may be meant for another hook: it can only raise the level, unless it names the project.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from boathook.core.hook import PROJECT, SANDBOX_LEVELS, USER, Hook

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from boathook.sources.hooks_toml import HooksConfig

# A hooks.toml, the key in it, and a message.
ConfigWarning = tuple["HooksConfig", str, str]
# What an override permits rather than forbids; only the user can set it.
_GRANTS = ("network", "env", "imports")


def find_strictest(levels: Iterable[str]) -> str:
    """Return the strictest of some levels; an empty level does not count."""
    return SANDBOX_LEVELS[max((SANDBOX_LEVELS.index(level) for level in levels if level), default=0)]


def confine_hook(hook: Hook, written: frozenset[str], project: HooksConfig, user: HooksConfig) -> Hook:
    level = find_strictest(_list_demands(hook, written, project, user))
    changes: dict[str, Any] = {}
    for tuning in _list_overrides(user, hook.name):
        if not applies_to_project(tuning, project):
            continue
        if "sandbox" in tuning:
            demanded = tuning["sandbox"]
            level = demanded if hook.scope == USER else find_strictest((level, demanded))
        if can_grant(hook, tuning):
            changes |= {key: tuning[key] for key in _GRANTS if key in tuning}
    if "env" in changes:
        changes["env"] = (*hook.env, *(name for name in changes["env"] if name not in hook.env))
    return hook.replace(sandbox=level, **changes) if changes or level != hook.sandbox else hook


def _list_demands(hook: Hook, written: frozenset[str], project: HooksConfig, user: HooksConfig) -> Iterator[str]:
    default = user.defaults.get("sandbox", "")
    yield from (user.sandbox, hook.sandbox)
    if "sandbox" not in written:
        yield default
    if hook.scope == PROJECT:
        yield default
        yield project.sandbox
        yield project.defaults.get("sandbox", "")
        yield from (tuning.get("sandbox", "") for tuning in _list_overrides(project, hook.name))


def can_grant(hook: Hook, tuning: dict[str, Any]) -> bool:
    """Whether an override can permit something to a hook: any project may have a hook of that name."""
    return hook.scope == USER or "project" in tuning


def applies_to_project(tuning: dict[str, Any], project: HooksConfig) -> bool:
    """Whether an override counts in the project of a hooks.toml: it names no project, or this one."""
    if "project" not in tuning:
        return True
    folder = os.path.dirname(os.path.dirname(project.path))
    return bool(folder and tuning["project"]) and os.path.realpath(tuning["project"]) == os.path.realpath(folder)


def _list_overrides(config: HooksConfig, name: str) -> Iterator[dict[str, Any]]:
    return (tuning for overridden, tuning in config.override if overridden == name)


def list_ineffective_sandbox(
    hooks: tuple[Hook, ...], project: HooksConfig, user: HooksConfig
) -> Iterator[ConfigWarning]:
    """Return a warning for every level and grant of a hooks.toml that has no effect."""
    demanded = find_strictest((user.sandbox, user.defaults.get("sandbox", "")))
    for key, level in _list_project_levels(project):
        if level and find_strictest((level, demanded)) != level:
            yield project, key, f"a project cannot lower your sandbox = {demanded}"
    for name, tuning in user.override:
        affected = [hook for hook in hooks if hook.name == name and hook.scope != USER]
        affected = affected if applies_to_project(tuning, project) else []
        if any(tuning.get("sandbox", hook.sandbox) != hook.sandbox for hook in affected):
            yield user, "hooks.override", f"the sandbox of the project's hook '{name}' can only be raised"
        if any(not can_grant(hook, tuning) for hook in affected) and any(key in tuning for key in _GRANTS):
            message = f"need project = \"/its/path\" here, because '{name}' is a project's hook"
            yield user, "hooks.override", f"network, env and imports {message}"


def _list_project_levels(project: HooksConfig) -> Iterator[tuple[str, str]]:
    yield "hooks.sandbox", project.sandbox
    yield "hooks.defaults", project.defaults.get("sandbox", "")
    yield from (("hooks.override", tuning.get("sandbox", "")) for _, tuning in project.override)
