"""What `boathook setup` would do: a value that is shown first and then applied."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence

from boathook.assembly import load_with_trust, locate, locate_all, resolve_state
from boathook.cli.hook_causes import find_own_host
from boathook.core.catalog import UNTRUSTED_STATES
from boathook.core.hook import HOOK_MD, USER, Hook
from boathook.core.value import Value
from boathook.errors import ConfigError
from boathook.hosts.host import load_host
from boathook.hosts.setup import load_setup
from boathook.install.host_files import InstallTarget, resolve_install_target
from boathook.install.json_edit import EditError
from boathook.install.plan import InstallPlan, plan_install
from boathook.install.preconditions import check_preconditions
from boathook.install.present_agents import PresentAgent, find_agent_evidence, find_present_agents
from boathook.install.registry import InstallRegistry
from boathook.install.setup_record import WarmChange
from boathook.install.source_switch import is_warm_on, read_sources, write_sources, write_warm
from boathook.install.status import has_entries
from boathook.packs.pack_folder import PackContent, read_source_content
from boathook.packs.pack_places import PackPlace, find_user_packs
from boathook.packs.pack_source import STANDARD_PACK, find_pack_source
from boathook.sources.source import list_default_sources
from boathook.sources.unused_sources import UnusedFile, find_unused_files
from boathook.system.files import FileError, may_exist, read_text


class AgentStep(Value):
    """An agent of this machine: what its installation changes, or why it cannot be installed."""

    agent: PresentAgent
    plan: InstallPlan | None = None
    problem: str = ""
    # Whether it has entries of ours already: then setup repairs them, and `--undo` leaves them.
    was_installed: bool = False

    @property
    def name(self) -> str:
        return self.agent.setup.name

    @property
    def title(self) -> str:
        return load_host(self.name).title

    @property
    def has_work(self) -> bool:
        return self.plan is not None and not self.plan.is_empty


class PackStep(Value):
    """The pack of guards; without content it is there already."""

    place: PackPlace
    name: str
    content: PackContent | None = None
    origin: str = ""
    problem: str = ""


class HookFile(Value):
    """A file or folder with hooks that are there already; `source` is "" unless it must be enabled before boathook reads it."""

    path: str
    count: int
    about: str
    source: str = ""
    title: str = ""


class SourceStep(Value):
    """The sources to add to the user's hooks.toml, which has this text now (None: no file) and then."""

    path: str
    names: tuple[str, ...]
    before: str | None
    after: str


class SetupPlan(Value):
    agents: tuple[AgentStep, ...]
    pack: PackStep | None
    files: tuple[HookFile, ...]
    sources: SourceStep | None = None
    # Whether the user's hooks.toml should turn the warm engine on, which it does not yet.
    turns_warm_on: bool = False

    @property
    def has_work(self) -> bool:
        adds_pack = self.pack is not None and self.pack.content is not None
        return adds_pack or self.sources is not None or self.turns_warm_on or any(step.has_work for step in self.agents)

    @property
    def problems(self) -> list[str]:
        problems = [f"{step.name}: {step.problem}" for step in self.agents if step.problem]
        return [*problems, *([f"{self.pack.name}: {self.pack.problem}"] if self.pack and self.pack.problem else [])]

    def list_offered_sources(self) -> tuple[str, ...]:
        """Return the sources of hooks of other agents that are found and not enabled."""
        return tuple(dict.fromkeys(file.source for file in self.files if file.source))


def plan_setup(state: str | None, *, hosts: Sequence[str], with_pack: bool) -> SetupPlan:
    """Look at this machine: at these agents, or at all that are found."""
    target, registry = resolve_install_target(USER, None, state), InstallRegistry(resolve_state(state))
    named = [find_agent_evidence(load_setup(name), target, registry) for name in dict.fromkeys(hosts)]
    agents = named or find_present_agents(target, registry)
    locations = locate(state=state)
    hooks = load_with_trust(locations)[0].catalog.hooks
    unused = find_unused_files(locate_all(state=state), locations)
    return SetupPlan(
        plan_agents(agents, state),
        _plan_pack() if with_pack else None,
        (*_list_files_in_use(hooks), *(_describe_unused_file(file) for file in unused)),
    )


def plan_agents(agents: Iterable[PresentAgent], state: str | None) -> tuple[AgentStep, ...]:
    """Return what each installation changes now: the command names the folders of all sources that hooks.toml enables."""
    target, registry = resolve_install_target(USER, None, state), InstallRegistry(resolve_state(state))
    return tuple(_plan_agent(agent, target, registry) for agent in agents)


def _plan_agent(agent: PresentAgent, target: InstallTarget, registry: InstallRegistry) -> AgentStep:
    try:
        check_preconditions(agent.setup, target, registry)
        plan = plan_install(agent.setup, target, registry)
        was_installed = registry.find(*plan.key) is not None or has_entries(agent.setup, target)
    except ConfigError as error:
        return AgentStep(agent, problem=str(error))
    return AgentStep(agent, plan, was_installed=was_installed)


def _plan_pack() -> PackStep:
    place = find_user_packs()
    step = PackStep(place, STANDARD_PACK)
    try:
        if place.read_pack(STANDARD_PACK) is not None:
            return step
        source = find_pack_source(STANDARD_PACK)
        return step.replace(content=read_source_content(source), origin=source.origin)
    except ConfigError as error:
        return step.replace(problem=str(error))


def _list_files_in_use(hooks: Iterable[Hook]) -> list[HookFile]:
    """Return where hooks are that boathook reads already; those of packs and our own entries do not count."""
    groups: dict[tuple[str, str], list[Hook]] = {}
    for hook in hooks:
        if not hook.is_installed_call and not hook.pack:
            path = os.path.dirname(hook.edited_folder) if hook.source == HOOK_MD else hook.path
            groups.setdefault((path, hook.source), []).append(hook)
    return [HookFile(path, len(found), _describe_use(found)) for (path, _), found in groups.items()]


def _describe_use(hooks: list[Hook]) -> str:
    waiting = sum(hook.state in UNTRUSTED_STATES for hook in hooks)
    host = find_own_host(hooks[0])
    who = f"in {host.title} itself, in other agents through boathook" if host else "in every agent"
    return f"{who}; {waiting} to review first: boathook trust" if waiting else who


def _describe_unused_file(file: UnusedFile) -> HookFile:
    return HookFile(file.path, file.count, f"only in {file.title}", file.source, file.title)


def plan_warm() -> WarmChange | None:
    """Return how the user's hooks.toml turns the warm engine on, None if it does already; ConfigError if it cannot be edited."""
    path = find_user_packs().config_path
    try:
        before = read_text(path) if may_exist(path) else None
        return None if is_warm_on(before or "") else WarmChange(path, before, write_warm(before or "", "on"))
    except FileError as error:
        raise ConfigError(f"{path} {error}. Nothing was changed") from None
    except EditError as error:
        fix = 'Write warm = "on" under [hooks] yourself'
        raise ConfigError(f"{path}, line {error.line}: {error.message}. {fix}") from None


def plan_sources(names: Sequence[str]) -> SourceStep | None:
    """Return how the user's hooks.toml enables these sources, None if it does already; ConfigError if it cannot be edited."""
    path = find_user_packs().config_path
    try:
        before = read_text(path) if may_exist(path) else None
        present = read_sources(before or "") or [*list_default_sources()]
        wanted = list(dict.fromkeys((*present, *names)))
        if wanted == present:
            return None
        return SourceStep(path, tuple(names), before, write_sources(before or "", wanted))
    except FileError as error:
        raise ConfigError(f"{path} {error}. Nothing was changed") from None
    except EditError as error:
        fix = f"Write sources = {_format_sources(names)} under [hooks] yourself"
        raise ConfigError(f"{path}, line {error.line}: {error.message}. {fix}") from None


def _format_sources(names: Sequence[str]) -> str:
    return json.dumps([*list_default_sources(), *names])
