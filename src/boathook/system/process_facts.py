"""What /proc says about a process: which one it is, its parent, its session and its terminal (Linux)."""

from __future__ import annotations

import os

from boathook.core.value import Value
from boathook.system.ancestors import MAX_ANCESTORS, read_proc_file

_MAX_ENVIRON_BYTES = 1 << 22
# Fields after the name of the program.
_STATE, _PARENT, _SESSION, _TERMINAL, _START = 0, 1, 3, 4, 19
_ENDED_STATES = ("Z", "X")
# By a signal, or by a debugger.
_STOPPED_STATES = ("T", "t")


class ProcessFacts(Value):
    """A process: `start` tells it from a later one with the same number; `terminal` is 0 if it has none."""

    pid: int
    start: int
    parent: int
    session: int
    terminal: int
    is_stopped: bool = False

    @property
    def identity(self) -> tuple[int, int]:
        return self.pid, self.start


def read_process_facts(pid: int, *, ended_too: bool = False) -> ProcessFacts | None:
    """Return the facts about a process, None if it has ended (without `ended_too`) or cannot be seen."""
    text = read_proc_file(pid, "stat").decode("utf-8", "replace")
    # The name of a program, in brackets, may itself have brackets and spaces.
    fields = text.rpartition(")")[2].split()
    if len(fields) <= _START or (fields[_STATE] in _ENDED_STATES and not ended_too):
        return None
    parent, session, terminal, start = (int(fields[at]) for at in (_PARENT, _SESSION, _TERMINAL, _START))
    return ProcessFacts(pid, start, parent, session, terminal, fields[_STATE] in _STOPPED_STATES)


def is_process_alive(pid: int, start: int) -> bool:
    """Whether this very process is still there."""
    facts = read_process_facts(pid)
    return facts is not None and facts.start == start


def list_processes_above(facts: ProcessFacts) -> tuple[ProcessFacts, ...]:
    """Return the processes above one, the nearest first."""
    # A process whose first thread has ended looks like one that has ended, but its other threads start programs.
    above: list[ProcessFacts] = []
    parent = read_process_facts(facts.parent, ended_too=True)
    while parent is not None and len(above) < MAX_ANCESTORS:
        above.append(parent)
        parent = read_process_facts(parent.parent, ended_too=True)
    return tuple(above)


def read_variables(pid: int) -> dict[str, str]:
    """Return the variables that a process was started with; OSError if they cannot be read."""
    handle = os.open(f"/proc/{pid}/environ", os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts: list[bytes] = []
        while (part := os.read(handle, 1 << 16)) and sum(map(len, parts)) < _MAX_ENVIRON_BYTES:
            parts.append(part)
    finally:
        os.close(handle)
    entries = (entry.partition("=") for entry in b"".join(parts).decode("utf-8", "replace").split("\0"))
    return {name: value for name, equals, value in entries if equals}
