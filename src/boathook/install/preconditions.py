"""What must hold before boathook is installed in an agent."""

from __future__ import annotations

import shlex

from boathook.core.hook import PROJECT
from boathook.errors import ConfigError
from boathook.hosts.setup import Setup
from boathook.install.host_files import InstallTarget
from boathook.install.registry import InstallRegistry


def check_preconditions(setup: Setup, target: InstallTarget, registry: InstallRegistry) -> None:
    """Raise ConfigError if an installation would be wrong whatever the agent's files contain."""
    _refuse_untrusted_folders(target)
    _refuse_second_scope(setup, target, registry)


def _refuse_second_scope(setup: Setup, target: InstallTarget, registry: InstallRegistry) -> None:
    """Refuse to install both for a project and for all projects, because hooks would run twice."""
    others = [one for one in registry.read() if one.host == setup.name and one.scope != target.scope]
    if others and target.scope == PROJECT:
        raise ConfigError(f"{setup.name} is installed for all your projects, this one included. Nothing was written")
    if others:
        project = others[0].project
        error = f"{setup.name} is installed for the project {project}, where hooks would run twice"
        raise ConfigError(f"{error}. First run: boathook uninstall {setup.name} --project {shlex.quote(project)}")


def _refuse_untrusted_folders(target: InstallTarget) -> None:
    """Refuse to write paths into the agent's configuration that a project's `.env` may have chosen."""
    if target.untrusted:
        fix = "check the environment variables (HOME, XDG_* and others) that lead there"
        raise ConfigError(f"{target.untrusted[0]} is inside a project: {fix}")
