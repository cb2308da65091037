"""Load the hooks of all sources, apply trust and hooks.toml to them, and put them into one catalogue."""

from __future__ import annotations

import os
from collections.abc import Iterable

from boathook.core.catalog import UNTRUSTED_STATES, Catalog, Settings, can_take_part, mark_untrusted
from boathook.core.hashing import hexdigest
from boathook.core.hook import ABSENT_STATES, ERROR, INVALID, PROJECT, USER, Diagnostic, Hook
from boathook.core.notices import COUNT_OF_STATE, NEAR_MISS_COUNT, count_hooks
from boathook.core.value import Value
from boathook.sources import hooks_toml
from boathook.sources.hooks_toml import HooksConfig
from boathook.sources.near_misses import find_near_misses
from boathook.sources.source import find_source
from boathook.sources.source_hooks import ReadHook
from boathook.system.locations import Locations, SourceFolders
from boathook.trust.absent_hooks import AbsentHook, AbsentHooks
from boathook.trust.judge import ProjectHook, TrustJudge
from boathook.trust.store import TrustStore

UNTRUSTED_FOLDER = "ignoring your hooks folder because it is inside a project: its hooks may come from the project"
CLOSED_FOLDER = "this folder cannot be entered, so the project hooks in it and below it cannot be found"
_SET_DIGITS = 32
# Of handlers: where something is on this machine.
_PLACE_FIELDS = ("folder", "root", "data", "filter_row")
UNTRUSTED_FOLDER_FIX = "check HOME and the variable of this folder, such as XDG_CONFIG_HOME"


class Loaded(Value):
    # `project_hooks` are the hooks of projects as they are there, which may not be what the catalogue runs. `absent_hooks` are
    # trusted hooks that are not there. In each of `trusted_folders` a decision about hooks counts.
    catalog: Catalog
    watch: tuple[str, ...]
    lasting: bool = True
    project_hooks: tuple[ProjectHook, ...] = ()
    absent_hooks: tuple[AbsentHook, ...] = ()
    trusted_folders: tuple[str, ...] = ()


def load_hooks(locations: Locations, trust: TrustStore | None = None) -> Loaded:
    """Load the hooks of the user and of the projects of all sources; without a trust store every hook of a project may run."""
    loading = _Loading(locations, trust)
    for folders in locations.sources:
        loading.add_source(folders)
    return loading.finish()


class _Loading:
    def __init__(self, locations: Locations, trust: TrustStore | None) -> None:
        self.locations, self.trust = locations, trust
        self.user_config = _read_config(locations.config and f"{locations.config}/hooks.toml", USER)
        self.settings = hooks_toml.build_settings(self.user_config)
        self.judge = TrustJudge(trust, self.settings) if trust is not None else None
        self.absent = AbsentHooks(trust, self.judge, self.settings, locations) if trust and self.judge else None
        self.hooks: list[Hook] = []
        self.diagnostics = [
            Diagnostic(path, None, "", ERROR, UNTRUSTED_FOLDER, UNTRUSTED_FOLDER_FIX)
            for path in locations.untrusted.values()
            if path not in (locations.state, locations.cache)
        ]
        if locations.closed:
            fix = f"chmod u+x {locations.closed}, or start the agent in another folder"
            self.diagnostics.append(Diagnostic(locations.closed, None, "", ERROR, CLOSED_FOLDER, fix))
        self.watch: list[str] = []
        self.projects: dict[SourceFolders, str] = {}
        self.project_configs: dict[str, HooksConfig] = {}
        self.near_misses = find_near_misses(locations)

    def add_source(self, folders: SourceFolders) -> None:
        """Read the hooks of a source; the project's are judged here, so that no reader can forget it."""
        read = find_source(folders.name).read_hooks(folders)
        if read.project not in self.project_configs:
            self.project_configs[read.project] = _read_config(
                read.project and f"{read.project}/.agents/hooks.toml", PROJECT
            )
        config = self.project_configs[read.project]
        read_hooks = read.hooks
        if self.judge is not None:
            read_hooks = self.judge.judge_hooks(read_hooks, read.project, config, folders)
        if self.absent is not None:
            read_hooks += self.absent.find_hooks(read, folders, read_hooks)
        hooks = tuple(_tune(read_hook, config, self.user_config) for read_hook in read_hooks)
        if read.settle is not None:
            hooks, watch = read.settle(hooks, self.settings)
            self.watch += watch
        self.hooks += hooks
        self.diagnostics += read.diagnostics
        self.watch += read.watch
        self.projects[folders] = read.project or folders.project

    def _count_problems(self, hooks: list[Hook]) -> tuple[tuple[str, int], ...]:
        counts = count_hooks(COUNT_OF_STATE.get(hook.state, "") for hook in hooks)
        counts |= {NEAR_MISS_COUNT: len(self.near_misses.diagnostics)}
        return tuple((name, count) for name, count in counts.items() if count)

    def _make_built_in_hooks(self) -> tuple[Hook, ...]:
        """Return the hooks that are part of boathook: they protect the others, so these must be known first."""
        from boathook.protection.protected_places import find_protection, make_built_in_hook

        protection, watch = find_protection(self.locations, self.hooks)
        self.watch += watch
        # Only the user's own hooks.toml can disable them.
        no_project = HooksConfig("", PROJECT)
        return (hooks_toml.disable_hook(make_built_in_hook(protection), no_project, self.user_config),)

    def finish(self) -> Loaded:
        settings, judge, trust, absent = self.settings, self.judge, self.trust, self.absent
        configs = list(self.project_configs.values()) or [HooksConfig("", PROJECT)]
        hooks, built_in = tuple(self.hooks), self._make_built_in_hooks()
        self.diagnostics += [found for config in (self.user_config, *configs) for found in config.diagnostics]
        self.diagnostics += dict.fromkeys(
            found for one in configs for found in hooks_toml.check_configs((*hooks, *built_in), one, self.user_config)
        )
        if trust is not None and trust.error:
            self.diagnostics.append(Diagnostic(trust.path, None, "", ERROR, trust.error))
        self.diagnostics += self.near_misses.diagnostics
        self.watch += self.near_misses.watch
        limited = (_limit_hook(hook, settings, is_judged=judge is not None) for hook in hooks)
        ordered = sorted(limited, key=lambda hook: hook.order)
        projects = tuple((folders.name, project) for folders, project in self.projects.items())
        counts, is_judged = self._count_problems(ordered), judge is not None
        folders, untrusted = self.locations.folders, self.locations.untrusted
        user_folders = tuple(path for option, path in folders.items() if path and option not in untrusted)
        found = (tuple(ordered), settings, tuple(self.diagnostics), projects, counts, is_judged, user_folders)
        trusted_keys = tuple(sorted(absent.trusted_keys)) if absent is not None else ()
        catalog = Catalog(*found, trusted_keys, built_in, _compute_hook_set((*ordered, *built_in)))
        self.watch += [config.path for config in (self.user_config, *configs) if config.path]
        if trust is None or judge is None or absent is None:
            return Loaded(catalog, tuple(self.watch))
        # One that is removed or replaced is made again; what is in it is verified before a hook runs.
        copies = {os.path.dirname(hook.approval.copy_folder) for hook in hooks if hook.approval and hook.approval.roots}
        return Loaded(
            catalog,
            tuple(dict.fromkeys((*self.watch, trust.path, *copies, *judge.watched_paths, *absent.watch))),
            judge.is_lasting,
            tuple(judge.project_hooks),
            tuple(absent.hooks),
            absent.folders,
        )


def _compute_hook_set(hooks: Iterable[Hook]) -> str:
    """Return what identifies in records the hooks that could decide.

    It has no paths, so that the same hooks are the same set on another machine, and no code: of trusted hooks the digest
    covers it, and what people change in scripts of their own does not change the catalogue.
    """
    deciding = [hook for hook in hooks if can_take_part(hook)]
    lines = sorted(repr(_describe_deciding(hook)) for hook in deciding)
    return hexdigest("\n".join(("boathook hooks 1", *lines)).encode("utf-8", "surrogatepass"))[:_SET_DIGITS]


def _describe_deciding(hook: Hook) -> tuple[object, ...]:
    matcher, handler = hook.matcher, hook.handler
    patterns = (("tool", matcher.tool), ("pattern", matcher.pattern), *matcher.fields)
    texts = tuple((name, pattern.display_text) for name, pattern in patterns if pattern is not None)
    return (
        *(hook.name, hook.trigger, hook.scope, hook.source, hook.dialect.name, texts, matcher.tool_kinds),
        *(hook.priority, hook.timeout, hook.background, hook.on_failure, hook.protected, hook.state),
        *(hook.sandbox, hook.network, hook.imports, hook.settings, hook.ask, hook.env, hook.needs.to_tuple()),
        hook.approval.digest if hook.approval is not None else "",
        *((name, value) for name, value in handler.to_dict().items() if name not in _PLACE_FIELDS),
    )


def _read_config(path: str, scope: str) -> HooksConfig:
    return hooks_toml.read_hooks_toml(path, scope) if path else HooksConfig("", scope)


def _tune(read_hook: ReadHook, project: HooksConfig, user: HooksConfig) -> Hook:
    hook, written = read_hook
    tuned = hooks_toml.tune_hook(hook, written, project, user)
    if hook.runs_together:
        tuned = tuned.replace(priority=hook.priority)
    return hooks_toml.disable_hook(tuned, project, user)


def _limit_hook(hook: Hook, settings: Settings, *, is_judged: bool) -> Hook:
    """Keep a hook within what the user allows; for a hook that is not trusted no file decides what its failure means."""
    is_unread = is_judged and hook.state == INVALID and hook.scope != USER
    if hook.state in UNTRUSTED_STATES or is_unread:
        hook = mark_untrusted(hook, hook.state, hook.state_reason, settings.untrusted)
    if is_judged and hook.scope != USER and hook.approval is None and hook.state not in ABSENT_STATES:
        hook = hook.replace(matcher=hook.matcher.limit_engines())
    elif hook.scope != USER:
        hook = hook.replace(matcher=hook.matcher.allow_engines())
    return hooks_toml.cap_timeout(hook, settings)
