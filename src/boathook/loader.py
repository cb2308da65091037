"""All hooks that concern a project, from every form and level, as one catalogue."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Protocol

from boathook.core.approval import TRUST
from boathook.core.catalog import UNTRUSTED_STATES, Catalog, Settings, mark_untrusted
from boathook.core.hook import ERROR, HOOK_MD, INVALID, PROJECT, SETTINGS, USER, WARNING, Diagnostic, Hook
from boathook.core.value import Value
from boathook.sources.hook_md.folder import Level, arm, scan
from boathook.sources.hooks_toml import SAID, Config, capped, disable, read_config, refusals, settings_of, tune
from boathook.sources.settings_json.settings import load_settings, speaking
from boathook.system.locations import Locations, SourceFolders
from boathook.trust.judge import Book, Judge, Judged

UNTRUSTED_FOLDER = (
    "your own hooks are not looked for here: the folder lies within the repository, "
    "so what is in it may be the project's (mend HOME, XDG_CONFIG_HOME or CLAUDE_CONFIG_DIR)"
)


class Trust(Book, Protocol):
    """The book of trust, which may itself not be believed."""

    path: str
    problem: str


class Loaded(Value):
    """A catalogue with the paths whose change makes it stale; one that is not `lasting` is stale at once.

    `judged` are the project's hooks as they lie there, which may not be what the catalogue runs.
    """

    catalog: Catalog
    watch: tuple[str, ...]
    lasting: bool = True
    judged: tuple[Judged, ...] = ()


def load_hooks(locations: Locations, trust: Trust | None = None) -> Loaded:
    """Load the hooks of the user and of the projects of all sources.

    `trust` is the store of what people trusted; without it every hook of a project may run.
    """
    problems: list[Diagnostic] = [
        Diagnostic(path, None, "", ERROR, UNTRUSTED_FOLDER)
        for path in locations.untrusted
        if path not in (locations.state, locations.cache)
    ]
    hook_md, settings_json = locations.find(HOOK_MD), locations.find(SETTINGS)
    project, claude = hook_md.project, settings_json.user
    user_root, project_root = f"{hook_md.user}/hooks", f"{project}/.agents/hooks" if project else ""
    if project_root and os.path.exists(user_root) and os.path.exists(project_root):
        project_root = "" if os.path.samefile(user_root, project_root) else project_root
    user = scan(user_root, USER, hook_md.user) if hook_md.user else Level(USER)
    local = scan(project_root, PROJECT, project) if project_root else Level(PROJECT)
    user_config = read_config(f"{locations.config}/hooks.toml", USER) if locations.config else Config("", USER)
    local_config = _beside(project if project_root else "")
    settings = settings_of(user_config)
    judge = Judge(trust, settings, claude) if trust is not None else None
    if judge is not None:
        local = local.replace(hooks=tuple(judge.folder(read, project, local_config) for read in local.hooks))
    hooks, seen = arm(user, local, user_config, local_config)
    claude_project, looked_at = speaking(settings_json.project, settings_json.find_project)
    found = load_settings(claude, claude_project)
    own_config = local_config if claude_project == project else _beside(claude_project)
    entries = found.hooks
    if judge is not None:
        entries = tuple(judge.entry(hook, claude_project, own_config, found.hooks) for hook in entries)
    hooks += tuple(_tuned(hook, own_config, user_config) for hook in entries)
    locals_ = [local_config] if own_config is local_config else [local_config, own_config]
    problems += [*user.problems, *local.problems, *found.problems, *user_config.problems]
    problems += [problem for config in locals_ for problem in config.problems]
    problems += dict.fromkeys(told for config in locals_ for told in refusals(hooks, config, user_config))
    ordered = tuple(sorted((_last(hook, settings, asked=judge is not None) for hook in hooks), key=_order))
    problems += _check_trust(trust, judge, {hook_md: project, settings_json: claude_project})
    catalog = Catalog(ordered, settings, tuple(problems), project, claude_project)
    configs = [config.path for config in (user_config, *locals_) if config.path]
    copies = [f"{hook.approval.copy}/" for hook in hooks if hook.approval and hook.approval.roots]
    trusted = [] if trust is None or judge is None else [trust.path, *copies, *judge.watch]
    watch = (*user.watch, *local.watch, *configs, *seen, *found.watch, *looked_at, *trusted)
    return Loaded(catalog, watch, judge.lasting, tuple(judge.judged)) if judge else Loaded(catalog, watch)


def _beside(project: str) -> Config:
    """Read the hooks.toml of a project."""
    return read_config(f"{project}/.agents/hooks.toml", PROJECT) if project else Config("", PROJECT)


def _tuned(hook: Hook, project: Config, user: Config) -> Hook:
    """Apply what a hooks.toml says of a hook of settings.json by name; defaults are for HOOK.md, where other units hold."""
    priority = hook.priority
    return disable(tune(hook, SAID, project, user).replace(priority=priority), project, user)


def _check_trust(trust: Trust | None, judge: Judge | None, projects: dict[SourceFolders, str]) -> list[Diagnostic]:
    """Report an error of the trust store, and trusted hooks that are not used or are gone."""
    errors = [Diagnostic(trust.path, None, "", ERROR, trust.problem)] if trust is not None and trust.problem else []
    hidden = [found for folders, project in projects.items() for found in _hidden(trust, project, folders.find_project)]
    return [*_gone(judge, *projects.values()), *hidden, *errors]


def _hidden(trust: Trust | None, project: str, find: Callable[[str], str]) -> list[Diagnostic]:
    """Name a project further up whose trusted hooks do not count because of a nearer one that nobody trusted anything of."""
    if trust is None or not project or _is_trusted(trust, project):
        return []
    above = find(os.path.dirname(project)) if project != "/" else ""
    if not above or not _is_trusted(trust, above):
        return []
    told = f"the trusted hooks of {above} do not run here, for this project is nearer, and nothing of it is trusted"
    return [Diagnostic(project, None, "", ERROR, told, "boathook trust, or remove its hooks folder or settings")]


def _is_trusted(trust: Trust, project: str) -> bool:
    return any(record.word == TRUST for record in trust.of_project(os.path.realpath(project)))


def _gone(judge: Judge | None, *projects: str) -> list[Diagnostic]:
    """Name trusted hooks that are not there any more."""
    found = {} if judge is None else {record.identity: record for top in projects for record in judge.gone(top)}
    told = "the hook '{}' was trusted, and is gone"
    fix = "boathook untrust {}"
    return [
        Diagnostic(
            f"{r.project}/{r.identity.partition(':')[0]}", None, "", WARNING, told.format(r.name), fix.format(r.name)
        )
        for r in found.values()
    ]


def _last(hook: Hook, settings: Settings, *, asked: bool) -> Hook:
    """Keep a hook within what the user allows; what files say of failures gives no say to one that nobody trusted."""
    unread = asked and hook.state == INVALID and hook.scope != USER
    if hook.state in UNTRUSTED_STATES or unread:
        hook = mark_untrusted(hook, hook.state, hook.why, settings.untrusted)
    return capped(hook, settings)


def _order(hook: Hook) -> tuple[object, ...]:
    return hook.order
