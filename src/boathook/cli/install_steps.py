"""What a person still has to do after an installation before hooks run."""

from __future__ import annotations

import os
import sys

from boathook.core.hook import PROJECT
from boathook.hosts.host import load_host
from boathook.install import status as host_status
from boathook.install.host_files import make_folder_trust_file
from boathook.install.plan import InstallPlan
from boathook.install.present_agents import find_host_program
from boathook.install.status import find_unmanaged_commands

_TEMPORARY_FOLDERS = ("/archive-v0/", "/uv/cache/", "/.cache/uv/", "/tmp/")  # noqa: S108


def list_install_steps(plan: InstallPlan) -> list[str]:
    """Return what you still have to do before hooks run, each a phrase after "now"."""
    title, missing = load_host(plan.setup.name).title, f"`{plan.setup.programs[0]}` is not on your PATH"
    is_here = bool(find_host_program(plan.setup))
    start = f"restart {title} if it is running" if is_here else f"install {title}: {missing}"
    return [*list_agent_steps(plan), start, *list_machine_steps()]


def list_agent_steps(plan: InstallPlan) -> list[str]:
    """Return what has to be done in one agent or in its files."""
    setup, target = plan.setup, plan.target
    steps = list(setup.user_steps)
    if target.scope == PROJECT:
        steps += [*setup.project_steps, *_list_trust_steps(plan), *_list_git_steps(plan)]
    steps += [f"turn hooks on: {why}" for why in host_status.find_off_switches(setup, target)]
    steps += [f"remove the other entry that calls boathook: {text}" for text in find_unmanaged_commands(setup, target)]
    return steps


def list_machine_steps() -> list[str]:
    """Return what has to be done about boathook itself."""
    if not any(folder in sys.executable for folder in _TEMPORARY_FOLDERS):
        return []
    problem = f"it is in a temporary folder ({sys.executable}). If that is deleted, no hook runs"
    return [f"install boathook elsewhere: {problem}"]


def _list_trust_steps(plan: InstallPlan) -> list[str]:
    """Return that the agent has to trust the folder. You decide that, because it covers more than our entries."""
    if make_folder_trust_file(plan.setup, plan.target) is None or plan.target.trust_folder:
        return []
    trust = plan.setup.folder_trust
    if trust is not None and trust.needed and not host_status.find_distrust(plan.setup, plan.target):
        return []
    title = load_host(plan.setup.name).title
    command = f"boathook install {plan.setup.name} --project --trust-folder"
    return [f"trust the folder in {title} when it asks, or with `{command}`; until then it skips the hooks"]


def _list_git_steps(plan: InstallPlan) -> list[str]:
    top = plan.target.project
    files = [os.path.relpath(change.path, top) for change in plan.changes if change.path.startswith(f"{top}/")]
    # By convention such a file is not committed.
    shared = [file for file in files if ".local." not in os.path.basename(file)]
    if not shared or not os.path.exists(f"{top}/.git"):
        return []
    path = shared[0] if len(shared) == 1 else os.path.dirname(shared[0])
    return [f"keep {path} out of version control, for example with .git/info/exclude: it has paths of this machine"]
