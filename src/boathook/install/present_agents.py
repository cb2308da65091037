"""Which agents are on this machine: their program is on the PATH, or their folder is there."""

from __future__ import annotations

import os
import shutil

from boathook.core.value import Value
from boathook.hosts.setup import Setup, list_setups
from boathook.install.host_files import InstallTarget, find_host_home
from boathook.install.registry import InstallRegistry


class PresentAgent(Value):
    """An agent, with the program and the folder that show that it is here; each "" if there is none."""

    setup: Setup
    program: str = ""
    folder: str = ""

    @property
    def evidence(self) -> str:
        return self.program or self.folder


def find_present_agents(target: InstallTarget, registry: InstallRegistry) -> tuple[PresentAgent, ...]:
    """Return the agents of this machine. Folders that an installation of ours made do not count."""
    agents = [find_agent_evidence(setup, target, registry) for setup in list_setups()]
    present = [agent for agent in agents if agent.evidence]
    # Two agents have a program of the same name: then the folder decides which of them it is.
    named_by_folder = {name for agent in present if agent.folder for name in agent.setup.programs}
    return tuple(agent for agent in present if agent.folder or os.path.basename(agent.program) not in named_by_folder)


def find_host_program(setup: Setup) -> str:
    return next((path for name in setup.programs if (path := shutil.which(name))), "")


def find_agent_evidence(setup: Setup, target: InstallTarget, registry: InstallRegistry) -> PresentAgent:
    """Return what shows that an agent is here."""
    folder = "" if setup.folder is None else os.path.join(find_host_home(setup, target), setup.folder).rstrip("/")
    made = {os.path.realpath(made) for one in registry.read() for made in one.folders}
    is_there = bool(folder) and os.path.isdir(folder) and os.path.realpath(folder) not in made
    return PresentAgent(setup, find_host_program(setup), folder if is_there else "")
