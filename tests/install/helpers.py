"""Installing in a scratch project, in this process."""

from __future__ import annotations

import os
from pathlib import Path

from boathook.core.hook import PROJECT, USER
from boathook.hosts.setup import list_setups, load_setup
from boathook.install.apply import apply_plan
from boathook.install.host_files import list_host_files, make_call_context, resolve_install_target
from boathook.install.plan import plan_install, plan_removal
from boathook.install.registry import InstallRegistry
from boathook.install.status import find_status

EVERYWHERE = [
    (setup.name, scope) for setup in list_setups() for scope in (USER, PROJECT) if scope == USER or setup.project_file
]


def registry_of(project) -> InstallRegistry:
    return InstallRegistry(str(project.state))


def target_of(project, scope=USER, *, trusting=False):
    return resolve_install_target(scope, str(project.path), str(project.state), trust_folder=trusting)


def context_of(project, host, scope=USER):
    return make_call_context(load_setup(host), target_of(project, scope))


def plan(project, host, scope=USER, *, trusting=False):
    return plan_install(load_setup(host), target_of(project, scope, trusting=trusting), registry_of(project))


def install(project, host, scope=USER, *, trusting=False):
    made = plan(project, host, scope, trusting=trusting)
    apply_plan(made, registry_of(project), is_install=True)
    return made


def uninstall(project, host, scope=USER):
    made = plan_removal(load_setup(host), target_of(project, scope), registry_of(project))
    apply_plan(made, registry_of(project), is_install=False)
    return made


def state(project, host, scope=USER):
    found = find_status(load_setup(host), target_of(project, scope), registry_of(project))
    return found.state, found.why


def file_of(project, host, scope=USER) -> Path:
    """Return the (first) file of a host."""
    return Path(list_host_files(load_setup(host), target_of(project, scope))[0].path)


def everything(project) -> dict[str, bytes | None]:
    """Return all files (with their bytes) and folders of a project but those of the state."""
    found: dict[str, bytes | None] = {}
    for top, folders, files in os.walk(project.base):
        if Path(top) == project.base and "state" in folders:
            folders.remove("state")
        found.update({f"{top}/{name}": None for name in folders})
        found.update({f"{top}/{name}": Path(top, name).read_bytes() for name in files})
    return found
