"""All hooks that concern a project, from every form and level, as one catalogue."""

from __future__ import annotations

import os

from boathook.core.catalog import Catalog
from boathook.core.hook import PROJECT, USER, Diagnostic, Hook
from boathook.core.value import Value
from boathook.places import environment, find_claude_project
from boathook.sources.config import TUNABLE, Config, disable, read_config, refusals, settings_of, tune
from boathook.sources.hookdir import Level, arm, scan
from boathook.sources.settings import load_settings, speaking


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
    local_config = _beside(project if project_root else "")
    hooks, seen = arm(user, local, user_config, local_config)
    claude_project, looked_at = speaking(claude_project, _above) if claude else ("", [])
    found = load_settings(claude, claude_project)
    own_config = local_config if claude_project == project else _beside(claude_project)
    hooks += tuple(_tuned(hook, own_config, user_config) for hook in found.hooks)
    locals_ = [local_config] if own_config is local_config else [local_config, own_config]
    problems: list[Diagnostic] = [*user.problems, *local.problems, *found.problems, *user_config.problems]
    problems += [problem for config in locals_ for problem in config.problems]
    problems += dict.fromkeys(told for config in locals_ for told in refusals(hooks, config, user_config))
    ordered = tuple(sorted(hooks, key=_order))
    catalog = Catalog(ordered, settings_of(user_config), tuple(problems), project, claude_project)
    configs = [config.path for config in (user_config, *locals_) if config.path]
    return Loaded(catalog, (*user.watch, *local.watch, *configs, *seen, *found.watch, *looked_at))


def _beside(project: str) -> Config:
    """Read the hooks.toml of a project."""
    return read_config(f"{project}/.agents/hooks.toml", PROJECT) if project else Config("", PROJECT)


def _above(folder: str) -> str:
    return find_claude_project(folder, environment())


def _tuned(hook: Hook, project: Config, user: Config) -> Hook:
    """Apply what a hooks.toml says of a hook of settings.json by name; defaults are for HOOK.md, where other units hold."""
    priority = hook.priority
    return disable(tune(hook, frozenset(TUNABLE), project, user).replace(priority=priority), project, user)


def _order(hook: Hook) -> tuple[object, ...]:
    return hook.order
