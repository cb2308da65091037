"""The sandbox that a hook gets of all who have a say in it: a project may only raise what the user demands.

The user demands by `[hooks] sandbox` (of every hook), by `[hooks.defaults]` (of hooks that do not say) and by an override. Of
their own hooks the user's override has the last word. The hook of a project chose its own name, so an override of that name may
have been meant for another hook: it can raise the level, and no more, unless it names the project.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from boathook.core.hook import ISOLATED, PROJECT, SANDBOX_LEVELS, USER, Hook

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from boathook.sources.hooks_toml import HooksConfig

SANDBOX = "sandbox"
GRANTS = ("network", "env")  # what an override opens rather than closes: the user's alone
WHERE = "project"  # the only project that an override is for
STRICTEST = ISOLATED


def is_level(value: object) -> bool:
    """Whether a value names a level."""
    return isinstance(value, str) and value in SANDBOX_LEVELS


def find_strictest(levels: Iterable[str]) -> str:
    """Return the strictest of some levels; an empty one does not count."""
    return SANDBOX_LEVELS[max((SANDBOX_LEVELS.index(level) for level in levels if level), default=0)]


def confine_hook(hook: Hook, written: frozenset[str], project: HooksConfig, user: HooksConfig) -> Hook:
    """Return a hook the sandbox, the network and the variables that are its due."""
    level = find_strictest(_list_demands(hook, written, project, user))
    changes: dict[str, Any] = {}
    for tuning in _list_overrides(user, hook.name):
        if not applies_to_project(tuning, project):
            continue
        if SANDBOX in tuning:
            level = tuning[SANDBOX] if hook.scope == USER else find_strictest((level, tuning[SANDBOX]))
        if can_grant(hook, tuning):
            changes |= {key: tuning[key] for key in GRANTS if key in tuning}
    if "env" in changes:
        changes["env"] = (*hook.env, *(name for name in changes["env"] if name not in hook.env))
    return hook.replace(sandbox=level, **changes) if changes or level != hook.sandbox else hook


def _list_demands(hook: Hook, written: frozenset[str], project: HooksConfig, user: HooksConfig) -> Iterator[str]:
    default = user.defaults.get(SANDBOX, "")
    yield from (user.sandbox, hook.sandbox)
    if SANDBOX not in written:
        yield default
    if hook.scope == PROJECT:
        yield default
        yield project.sandbox
        yield project.defaults.get(SANDBOX, "")
        yield from (tuning.get(SANDBOX, "") for tuning in _list_overrides(project, hook.name))


def can_grant(hook: Hook, tuning: dict[str, Any]) -> bool:
    """Whether an override can open something to a hook: any project may bring one of the same name."""
    return hook.scope == USER or WHERE in tuning


def applies_to_project(tuning: dict[str, Any], project: HooksConfig) -> bool:
    """Whether an override is for the project whose config this is: for all, or for this very one."""
    if WHERE not in tuning:
        return True
    here = os.path.dirname(os.path.dirname(project.path))
    return bool(here and tuning[WHERE]) and os.path.realpath(tuning[WHERE]) == os.path.realpath(here)


def _list_overrides(config: HooksConfig, name: str) -> Iterator[dict[str, Any]]:
    return (tuning for named, tuning in config.override if named == name)


def list_ineffective_sandbox(
    hooks: tuple[Hook, ...], project: HooksConfig, user: HooksConfig
) -> Iterator[tuple[HooksConfig, str, str]]:
    """Name what a config says of sandboxes without any effect: by whom, at which key, and why."""
    for key, level, demanded in _list_project_levels(project, user):
        if level and find_strictest((level, demanded)) != level:
            yield project, key, f"a project cannot lower the user's sandbox = {demanded}"
    for name, tuning in user.override:
        found = [
            hook for hook in hooks if hook.name == name and hook.scope != USER and applies_to_project(tuning, project)
        ]
        if any(tuning.get(SANDBOX, hook.sandbox) != hook.sandbox for hook in found):
            yield user, "hooks.override", f"the sandbox of the project's hook '{name}' can only be raised"
        if any(not can_grant(hook, tuning) for hook in found) and any(key in tuning for key in GRANTS):
            told = f"network and env count for the project's hook '{name}' only if the override says project = \"/its/path\""
            yield user, "hooks.override", told


def _list_project_levels(project: HooksConfig, user: HooksConfig) -> Iterator[tuple[str, str, str]]:
    demanded = find_strictest((user.sandbox, user.defaults.get(SANDBOX, "")))
    yield "hooks.sandbox", project.sandbox, demanded
    yield "hooks.defaults", project.defaults.get(SANDBOX, ""), demanded
    yield from (("hooks.override", tuning.get(SANDBOX, ""), demanded) for _, tuning in project.override)
