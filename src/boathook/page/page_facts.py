"""What this machine is like now, besides the records: hooks, their trust, and agents. Each is computed again after a while."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

from boathook.assembly import load_with_trust, locate
from boathook.cli.call_history import CallHistory
from boathook.cli.hook_causes import list_installed_hosts
from boathook.cli.show import add_project
from boathook.cli.status_command import list_status_fixes
from boathook.core.hook import ARMED, USER, Hook
from boathook.core.value import Value
from boathook.errors import BoathookError
from boathook.hosts.host import Host
from boathook.hosts.setup import load_setup
from boathook.install.host_files import InstallTarget, resolve_install_target
from boathook.install.present_agents import find_present_agents
from boathook.install.registry import InstallRegistry
from boathook.install.status import HostStatus, find_problem, list_statuses
from boathook.ledger.writer import make_timestamp
from boathook.loader import Loaded
from boathook.page.record_index import RecordIndex
from boathook.system.files import find_real_path
from boathook.trust.store import TrustStore

# Who runs hooks if no agent does.
_FRESH_SECONDS = 5.0
_RECENT_DAYS = 7
# Besides the project that the page was started in, those in which agents worked last.
_MAX_OTHER_PROJECTS = 4
_Made = TypeVar("_Made")


class ProjectFacts(Value):
    """The hooks that concern a folder, as `boathook list` would load them there."""

    project: str | None
    loaded: Loaded
    store: TrustStore

    @property
    def folder(self) -> str:
        """The folder that a command names, to work from any other; "" if there is no project."""
        return find_real_path(self.project) if self.project else self.loaded.catalog.project

    def describe_state(self, hook: Hook) -> str:
        """Return the state of a hook and its reason, with commands that work in any folder."""
        return add_project(hook.state_text, self.folder)

    def find_folder_of(self, hook: Hook) -> str:
        """Return the folder that a command about a hook names; "" if every folder has the hook as it is here."""
        return "" if hook.scope == USER and hook.state == ARMED else self.folder

    @property
    def hooks(self) -> tuple[Hook, ...]:
        return tuple(hook for hook in self.loaded.catalog.hooks if not hook.is_installed_call)


class AgentFacts(Value):
    """The agents of this machine: where each stands, those that are here, and those that call boathook."""

    statuses: tuple[HostStatus, ...]
    present: tuple[str, ...]
    installed: tuple[Host, ...]
    target: InstallTarget

    @property
    def calling(self) -> tuple[Host, ...]:
        """The agents that call boathook, as far as their files show."""
        return tuple(
            host for host in self.installed if (problem := self.find_problem(host.name)) is None or not problem.is_off
        )

    def find_problem(self, host: str) -> HostStatus | None:
        return find_problem(self.statuses, host)

    def describe_problem(self, status: HostStatus) -> str:
        """Return why an agent may not call us, and how to repair that."""
        fixes = list_status_fixes(status, load_setup(status.host), self.target.replace(scope=status.scope))
        why = "; ".join(status.why) or "its entries are not as they were installed"
        return f"{why}. What to do: {'; '.join(fixes)}" if fixes else why


class PageFacts:
    def __init__(self, project: str | None, given_state: str | None, index: RecordIndex) -> None:
        self._project, self._given_state, self._index = project, given_state, index
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._made: dict[str, tuple[float, Any]] = {}
        # How often a person has decided something.
        self._decisions = 0

    def remember(self, key: str, make: Callable[[], _Made], seconds: float = _FRESH_SECONDS) -> _Made:
        """Return a value that was made a moment ago, or make it; of several readers, one makes it."""
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            with self._lock:
                decisions, (end, value) = self._decisions, self._made.get(key, (0.0, None))
            if time.monotonic() >= end:
                value = make()
                with self._lock:
                    # A value that was started before a decision may not know of it.
                    if decisions == self._decisions:
                        self._made[key] = (time.monotonic() + seconds, value)
        made: _Made = value
        return made

    def forget(self) -> None:
        """Make everything again when it is asked for: a person has decided something."""
        with self._lock:
            self._decisions += 1
            self._made.clear()

    def load_project(self, project: str | None = None) -> ProjectFacts:
        """Return the hooks of a folder; None is the folder that the page was started in."""
        folder = self._project if project is None else project
        return self.remember(f"project {folder}", lambda: self._load_project(folder))

    def _load_project(self, folder: str | None) -> ProjectFacts:
        loaded, store = load_with_trust(locate(folder, state=self._given_state))
        return ProjectFacts(folder, loaded, store)

    def load_projects(self) -> Iterator[ProjectFacts]:
        """Yield the hooks of the page's own folder and of those in which agents worked last."""
        yield self.load_project()
        for folder in self._list_other_folders():
            with suppress(BoathookError, OSError):
                yield self.load_project(folder)

    def _list_other_folders(self) -> list[str]:
        since = make_timestamp(time.time() - _RECENT_DAYS * 86400)
        with self._index.lock:
            folders = [(one.time, folder) for folder, one in self._index.sums.folders.items() if one.time >= since]
        own = find_real_path(self._project or os.getcwd())
        # An agent names the folder of an event, so it can be any text.
        recent = [folder for _, folder in sorted(folders, reverse=True) if find_real_path(folder) != own]
        return [folder for folder in recent if os.path.isdir(folder)][:_MAX_OTHER_PROJECTS]

    def load_agents(self, project: str | None = None) -> AgentFacts:
        """Return the agents as they are for a folder; None is the folder that the page was started in."""
        folder = self._project if project is None else project
        return self.remember(f"agents {folder}", lambda: self._load_agents(folder))

    def _load_agents(self, folder: str | None) -> AgentFacts:
        state = self._index.folder
        registry = InstallRegistry(state)
        target = resolve_install_target(USER, folder, self._given_state)
        present = tuple(agent.setup.name for agent in find_present_agents(target, registry))
        statuses = tuple(list_statuses(target, registry))
        return AgentFacts(statuses, present, list_installed_hosts(state, folder), target)


def start_history(project: str | None, given_state: str | None) -> CallHistory:
    """Return a history without records, which the index fills; it counts events of the page's own project apart."""
    projects: list[str] = []
    with suppress(BoathookError, OSError):
        projects = [path for _, path in load_with_trust(locate(project, state=given_state))[0].catalog.projects]
    # No kinds: the page compares no calls, so it keeps none.
    return CallHistory((), projects, ())
