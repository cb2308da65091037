"""All hooks that concern a project, from every form and level, as one catalogue."""

from __future__ import annotations

import os

from boathook.core.catalog import Catalog
from boathook.core.hook import PROJECT, USER, Diagnostic, Hook
from boathook.core.value import Value
from boathook.sources.config import TUNABLE, Config, disable, read_config, refusals, settings_of, tune
from boathook.sources.hookdir import Level, arm, scan
from boathook.sources.settings import load_settings


class Loaded(Value):
    """A catalogue with the paths whose change makes it stale."""

    catalog: Catalog
    watch: tuple[str, ...]


def load_hooks(agents: str, project: str, claude: str = "", claude_project: str = "") -> Loaded:
    """Load the hooks of the user and of a project: HOOK.md folders, and settings.json files unless their folder is empty.

    Either project may be empty. `agents` and `claude` are the user's folders for the two forms.
    """
    user_root, project_root = f"{agents}/hooks", f"{project}/.agents/hooks" if project else ""
    if project_root and os.path.exists(user_root) and os.path.exists(project_root):
        project_root = "" if os.path.samefile(user_root, project_root) else project_root
    user = scan(user_root, USER, agents)
    local = scan(project_root, PROJECT, project) if project_root else Level(PROJECT)
    user_config = read_config(f"{agents}/hooks.toml", USER)
    home = (
        project if project_root else "" if project else claude_project
    )  # hooks.toml may be there for settings.json alone
    local_toml = f"{home}/.agents/hooks.toml" if home else ""
    local_config = read_config(local_toml, PROJECT) if local_toml else Config("", PROJECT)
    hooks, seen = arm(user, local, user_config, local_config)
    found = load_settings(claude, claude_project)
    hooks += tuple(_tuned(hook, local_config, user_config) for hook in found.hooks)
    problems: tuple[Diagnostic, ...] = (*user.problems, *local.problems, *user_config.problems, *local_config.problems)
    problems += (*found.problems, *refusals(hooks, local_config, user_config))
    ordered = tuple(sorted(hooks, key=_order))
    catalog = Catalog(ordered, settings_of(user_config), problems, project, claude_project if claude else "")
    watch = (*user.watch, *local.watch, user_config.path, *filter(None, [local_toml]), *seen, *found.watch)
    return Loaded(catalog, watch)


def _tuned(hook: Hook, project: Config, user: Config) -> Hook:
    """Apply what a hooks.toml says of a hook of settings.json by name; defaults are for HOOK.md, where other units hold."""
    priority = hook.priority
    return disable(tune(hook, frozenset(TUNABLE), project, user).replace(priority=priority), project, user)


def _order(hook: Hook) -> tuple[object, ...]:
    return hook.order
