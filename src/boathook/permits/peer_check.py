"""Who answers a question: the process that waits looks at the one that connects (Linux). It stops agents that help themselves."""

# Not a proof of a person: `tmux send-keys` types into a person's terminal, and a process can leave its parents and its variables
# behind. See docs/how-to/answer-a-question.md.

from __future__ import annotations

import os
import socket
import struct

from boathook.core.value import Value
from boathook.hosts.setup import list_setups
from boathook.permits.agent_evidence import AgentEvidence, find_agent, find_agent_name, is_editor
from boathook.system.ancestors import list_ancestors
from boathook.system.process_facts import ProcessFacts, list_processes_above, read_process_facts, read_variables


class AgentProcesses(Value):
    """The processes that a question comes from: `inner` are those of the agent, `above` all that are above the hook process."""

    inner: tuple[ProcessFacts, ...]
    above: frozenset[int]

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
    return hasattr(socket, "SO_PEERCRED") and os.path.exists("/proc/self/stat")


def find_agent_processes(pid: int) -> AgentProcesses:
    """Return the processes of the agent that started a hook process: its session, and everything up to a known agent."""
    own = read_process_facts(pid)
    if own is None:
        return AgentProcesses((), frozenset())
    above, setups = list_processes_above(own), list_setups()
    ancestors = {one.pid: one for one in list_ancestors(pid)}
    inner: list[ProcessFacts] = []
    for one in above:
        # Everything in an editor is below it, the person's terminals as well.
        if (
            one.session != own.session
            or one.pid <= 1
            or (one.pid in ancestors and is_editor(ancestors[one.pid], setups))
        ):
            break
        inner.append(one)
    # Some agents start hooks in a session of their own.
    pids = [one.pid for one in above]
    agent = next((one.pid for one in ancestors.values() if find_agent_name(one, setups)), 0)
    if agent in pids[len(inner) :]:
        inner = [*above[: pids.index(agent) + 1]]
    return AgentProcesses((own, *inner), frozenset(pids))


def read_peer(connection: socket.socket, known: frozenset[int]) -> PeerFacts:
    """Return the facts about the process that connected; `known` are processes whose programs do not count as an agent's."""
    pid, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    facts = read_process_facts(pid) if pid > 0 else None
    if facts is None:
        return PeerFacts(user, ())
    try:
        variables = read_variables(pid)
    except OSError:
        return PeerFacts(user, ())
    ancestors = [one for one in list_ancestors(pid) if one.pid not in known]
    evidence = find_agent(variables, ancestors, list_setups())
    return PeerFacts(user, (facts, *list_processes_above(facts)), evidence)


def find_refusal(peer: PeerFacts, agent: AgentProcesses) -> str:
    """Return why a process may not answer, or ""."""
    if peer.user != os.geteuid():
        return "it runs as another user"
    if not peer.line:
        return "it cannot be looked at"
    if {one.identity for one in peer.line} & {one.identity for one in agent.inner}:
        return "it was started by the agent that asks"
    if peer.evidence is not None:
        about = peer.evidence.program or " and ".join(peer.evidence.variables)
        return f"it runs below an agent ({about})"
    if not peer.terminal:
        return "it has no terminal"
    if peer.terminal in agent.list_terminals():
        return "it is at the terminal of the agent that asks. Use another one"
    return ""
