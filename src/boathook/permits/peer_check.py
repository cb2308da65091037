"""Who answers a question: the process that waits looks at the one that connects (Linux). It stops agents that help themselves."""

# Not a proof of a person: `tmux send-keys` types into a person's terminal, and a process can leave its parents and its variables
# behind. See docs/how-to/answer-a-question.md.

from __future__ import annotations

import os

from boathook.core.value import Value
from boathook.hosts.setup import list_setups
from boathook.permits.agent_evidence import AgentEvidence, find_agent, find_agent_name, is_editor
from boathook.system.ancestors import list_ancestors
from boathook.system.peer_credentials import can_read_peers, read_peer_credentials
from boathook.system.process_facts import ProcessFacts, list_processes_above, read_process_facts, read_variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Iterable, Sequence

    from boathook.hosts.setup import Setup
    from boathook.system.ancestors import Ancestor

# Everything of a person may be below one of these.
_INIT_NAMES = frozenset(("init", "systemd"))


class AgentProcesses(Value):
    """The processes that a question comes from: the hook process, and those above it that are the agent's."""

    inner: tuple[ProcessFacts, ...]

    def list_terminals(self) -> frozenset[int]:
        """Return the terminals of those that still live."""
        known = {one.identity for one in self.inner}
        living = (read_process_facts(one.pid) for one in self.inner)
        return frozenset(one.terminal for one in living if one is not None and one.identity in known and one.terminal)


class PeerFacts(Value):
    """The process at the other end of a connection."""

    user: int
    line: tuple[ProcessFacts, ...]
    evidence: AgentEvidence | None = None

    @property
    def terminal(self) -> int:
        return self.line[0].terminal if self.line else 0


def can_check_peers() -> bool:
    return can_read_peers() and os.path.exists("/proc/self/stat")


def find_agent_processes(pid: int) -> AgentProcesses:
    """Return the processes of the agent that started a hook process."""
    own = read_process_facts(pid)
    if own is None:
        return AgentProcesses(())
    above = list_processes_above(own)
    return AgentProcesses((own, *above[: count_agent_processes(own, above, list_ancestors(pid))]))


def count_agent_processes(
    own: ProcessFacts, above: Sequence[ProcessFacts], ancestors: Iterable[Ancestor], setups: Sequence[Setup] = ()
) -> int:
    """Return how many of the processes above a hook process, the nearest first, are the agent's.

    These are its session, what started that if it has no terminal, and everything up to the topmost known agent.
    """
    setups, known = setups or list_setups(), {one.pid: one for one in ancestors}

    def is_shared(one: ProcessFacts) -> bool:
        # Everything in an editor is below it, the person's terminals as well.
        ancestor = known.get(one.pid)
        return one.pid <= 1 or (ancestor is not None and (is_editor(ancestor, setups) or _is_init(ancestor)))

    is_outside = (number for number, one in enumerate(above) if one.session != own.session or is_shared(one))
    count = next(is_outside, len(above))
    # Some agents start hooks in a session of their own. What starts one with a terminal is a program with many terminals.
    if count < len(above) and not own.terminal and not is_shared(above[count]):
        count += 1
    names = (bool(one.pid in known and find_agent_name(known[one.pid], setups)) for one in above)
    return max((count, *(number + 1 for number, is_agent in enumerate(names) if is_agent)))


def _is_init(ancestor: Ancestor) -> bool:
    return not _INIT_NAMES.isdisjoint(ancestor.names)


def read_peer(connection: socket.socket) -> PeerFacts:
    """Return the facts about the process that connected."""
    pid, user = read_peer_credentials(connection)
    facts = read_process_facts(pid) if pid > 0 else None
    if facts is None:
        return PeerFacts(user, ())
    try:
        variables = read_variables(pid)
    except OSError:
        return PeerFacts(user, ())
    evidence = find_agent(variables, list_ancestors(pid), list_setups())
    return PeerFacts(user, (facts, *list_processes_above(facts)), evidence)


def find_agent_refusal(connection: socket.socket) -> str:
    """Return why the process that connected does not count as a person's, or "": the checks of an answer, without a question.

    Where a process cannot be looked at, the modes of the files decide.
    """
    return find_refusal(read_peer(connection), AgentProcesses(())) if can_check_peers() else ""


def find_refusal(peer: PeerFacts, agent: AgentProcesses) -> str:
    """Return why a process may not answer, or ""."""
    if peer.user != os.geteuid():
        return "it runs as another user"
    if not peer.line:
        return "the system does not show which process it is"
    if {one.identity for one in peer.line} & {one.identity for one in agent.inner}:
        return "it was started by the agent that asks"
    if peer.evidence is not None:
        return f"it was started by an agent ({peer.evidence.text})"
    if not peer.terminal:
        return "it has no terminal"
    if peer.terminal in agent.list_terminals():
        return "it is at the terminal of the agent that asks. Use another one"
    return ""
