"""Every place where boathook is installed, by this installation or by another one, on record or not."""

from __future__ import annotations

import os

from boathook.core.hook import PROJECT, USER
from boathook.hosts.setup import Setup, list_setups, load_setup
from boathook.install.host_files import InstallTarget, resolve_install_target
from boathook.install.registry import InstallRegistry
from boathook.install.status import ABSENT_STATUS, find_status


def list_installed_targets(registry: InstallRegistry, project: str | None) -> list[tuple[Setup, InstallTarget]]:
    """Return what is on record, then agents of the user and of a project that have entries nevertheless."""
    targets: list[tuple[Setup, InstallTarget]] = []
    for one in registry.read():
        target = resolve_install_target(one.scope, one.project or None, registry.state)
        targets.append((load_setup(one.host), target))
    known = {(setup.name, target.scope, target.project if target.scope == PROJECT else "") for setup, target in targets}
    for scope in (USER, PROJECT):
        target = resolve_install_target(scope, project, registry.state)
        for setup in list_setups():
            key = (setup.name, scope, target.project if scope == PROJECT else "")
            can_be_there = scope == USER or (bool(setup.project_file) and not _is_home(target))
            if key not in known and can_be_there and find_status(setup, target, registry).state != ABSENT_STATUS:
                targets.append((setup, target))
    return targets


def _is_home(target: InstallTarget) -> bool:
    """Whether the project is the home folder, where the files of both are the same."""
    return target.project == os.path.realpath(target.variables["HOME"])
