"""Installing in a scratch world, in this process."""

from __future__ import annotations

import os
from pathlib import Path

from boathook.core.hook import PROJECT, USER
from boathook.hosts.setup import list_setups, load_setup
from boathook.install.apply import apply_plan
from boathook.install.host_files import list_host_files, resolve_install_target
from boathook.install.plan import plan_install, plan_removal
from boathook.install.registry import InstallRegistry
from boathook.install.status import find_status

EVERYWHERE = [
    (setup.name, scope) for setup in list_setups() for scope in (USER, PROJECT) if scope == USER or setup.project_file
]


def book_of(world) -> InstallRegistry:
    return InstallRegistry(str(world.state))


def place_of(world, scope=USER, *, trusting=False):
    return resolve_install_target(scope, str(world.project), str(world.state), trust_folder=trusting)


def plan(world, host, scope=USER, *, trusting=False):
    return plan_install(load_setup(host), place_of(world, scope, trusting=trusting), book_of(world))


def install(world, host, scope=USER, *, trusting=False):
    made = plan(world, host, scope, trusting=trusting)
    apply_plan(made, book_of(world), is_install=True)
    return made


def uninstall(world, host, scope=USER):
    made = plan_removal(load_setup(host), place_of(world, scope), book_of(world))
    apply_plan(made, book_of(world), is_install=False)
    return made


def state(world, host, scope=USER):
    found = find_status(load_setup(host), place_of(world, scope), book_of(world))
    return found.state, found.why


def file_of(world, host, scope=USER) -> Path:
    """Give the (first) file of a host."""
    return Path(list_host_files(load_setup(host), place_of(world, scope))[0].path)


def everything(world) -> dict[str, bytes | None]:
    """Give all files (with their bytes) and folders of a world but those of the state."""
    found: dict[str, bytes | None] = {}
    for top, folders, files in os.walk(world.root):
        if Path(top) == world.root and "state" in folders:
            folders.remove("state")
        found.update({f"{top}/{name}": None for name in folders})
        found.update({f"{top}/{name}": Path(top, name).read_bytes() for name in files})
    return found
