"""What is seen of an agent around a process: programs above it, and variables that agents set for the commands of their models."""

from __future__ import annotations

from boathook.core.value import Value
from boathook.system.ancestors import MAX_ANCESTORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from boathook.hosts.setup import Setup
    from boathook.system.ancestors import Ancestor

# The processes of ours that run hooks, or what they started. A hook of the warm engine, or one that outlives its event, has no
# agent above it any more, and no person starts anything below these.
_ENGINE_SCRIPTS = ("/boathook/entry/hook_entry.py", "/boathook/warm/resident_entry.py")
_ENGINE_NAME = "boathook, which runs hooks"
# Where the list of processes ends because it is too long, what is above is not known. No person has so many.
_TOO_MANY = f"{MAX_ANCESTORS} processes or more"


class AgentEvidence(Value):
    """What was seen of an agent: the nearest process above this one that is one, and variables that agents set."""

    program: str = ""
    pid: int = 0
    variables: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Name what was seen."""
        return self.program or " and ".join(self.variables)


def find_agent(
    variables: Mapping[str, str], ancestors: Iterable[Ancestor], setups: Sequence[Setup]
) -> AgentEvidence | None:
    """Return what is seen of an agent, None if there is nothing; editors do not count, because people have terminals there."""
    line = tuple(ancestors)
    programs = ((_find_engine_name(one) or find_agent_name(one, setups), one.pid) for one in line)
    unseen = (_TOO_MANY, line[-1].pid) if len(line) >= MAX_ANCESTORS else ("", 0)
    program, pid = next((found for found in programs if found[0]), unseen)
    names = dict.fromkeys(name for setup in setups for name in setup.agent_variables if variables.get(name))
    return AgentEvidence(program, pid, tuple(names)) if program or names else None


def _find_engine_name(ancestor: Ancestor) -> str:
    return _ENGINE_NAME if ancestor.script.endswith(_ENGINE_SCRIPTS) else ""


def find_agent_name(ancestor: Ancestor, setups: Sequence[Setup]) -> str:
    """Return the name of the agent that a process is, or ""."""
    script = f"/{ancestor.script}/"
    for setup in setups:
        programs = [name for name in setup.programs if name not in setup.editors]
        if name := next((name for name in programs if name in ancestor.names), ""):
            return name
        if any(f"/{package}/" in script for package in setup.packages):
            return programs[0]
    return ""


def is_editor(ancestor: Ancestor, setups: Sequence[Setup]) -> bool:
    """Whether a process is a program in which people have terminals of their own."""
    return any(name in ancestor.names for setup in setups for name in setup.editors)
