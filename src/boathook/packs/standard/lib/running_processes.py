"""The processes that run on this machine, and which of them `pkill` and `killall` would end."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from typing import NamedTuple

from argument_list import ArgumentList
from places import is_below

from boathook.shell.arguments import UNKNOWN
from boathook.shell.started_program import Started
from boathook.system.ancestors import list_ancestors

_PS = ("/bin/ps", "-A", "-o", "pid=,tty=,command=")
_MAX_BYTES = 1 << 14
# The kernel keeps this much of a name.
_MAX_NAME_CHARS = 15
# Options that have a value. Most of them only leave processes out.
_VALUES = {
    "pkill": "-t -u -U -g -G -P -s --signal --session --euid --uid --group --parent --terminal --ns --nslist -r --runstates",
    "killall": "-s --signal -u --user -o --older-than -y --younger-than -Z --context -n --ns -t -c",
}
_PLAIN_PATTERN = re.compile(r"\^?(?:[\w ./:@=,|-]|\\[.$/-]|\[\w\]){2,200}\$?")
_MAX_WILDCARDS = 2
# The first process of a sandbox that sees only its own processes.
_SANDBOXES = frozenset(("bwrap",))


class RunningProcess(NamedTuple):
    """A process: the name of its program, all its words, and whether somebody has it in a terminal."""

    pid: int
    name: str
    words: str
    has_terminal: bool


def ends_only_own(program: Started, folders: list[str]) -> bool:
    """Whether a call of `pkill` or `killall` would end nothing, or only what runs in the folders of a project.

    A process in a terminal is somebody's, and the processes above this one are the agent's. What is not known is not own.
    """
    pattern = _find_pattern(program)
    if pattern is None or program.machine:
        return False
    processes = list(_list_processes())
    if not processes or any(one.pid == 1 and one.name in _SANDBOXES for one in processes):
        return False
    is_full = program.name == "pkill" and ArgumentList(program.words[1:], _VALUES["pkill"]).has("-f", "--full")
    above = set(_list_own_processes())
    hit = [one for one in processes if pattern.search(one.words if is_full else one.name)]
    return all(one.pid not in above and _is_in_folders(one, folders) for one in hit)


def _list_own_processes() -> Iterator[int]:
    """Yield this process, and those above it and above the one that the agent has started for this event."""
    for pid in (os.getpid(), _find_number(os.environ.get("BOATHOOK_CALLER", ""))):
        if pid:
            yield pid
            yield from (ancestor.pid for ancestor in list_ancestors(pid))


def _find_number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0


def _find_pattern(program: Started) -> re.Pattern[str] | None:
    """Return what the names or words of the processes have in them that are ended, None if that cannot be known."""
    # A signal is an option, too: `-9`, `-TERM`, `-SIGINT`.
    words = [word for word in program.words[1:] if not re.fullmatch(r"-(?:\d+|[A-Z][A-Z0-9+]{2,})", word)]
    arguments = ArgumentList(words, _VALUES.get(program.name, ""))
    patterns = [text[:_MAX_NAME_CHARS] if program.name == "killall" else text for text in arguments.operands]
    is_regular = program.name == "pkill" or arguments.has("-r", "--regexp")
    # What a pattern does not match would be ended.
    if not patterns or program.name not in _VALUES or (arguments.has("-v", "--inverse") and program.name == "pkill"):
        return None
    if any(UNKNOWN in text or (is_regular and not _is_plain(text)) for text in patterns):
        return None
    # A path is that of the file which runs, not a name.
    if program.name == "killall" and any("/" in text for text in arguments.operands):
        return None
    return re.compile("|".join(patterns if is_regular else map(re.escape, patterns)), re.IGNORECASE)


def _is_plain(pattern: str) -> bool:
    """Whether a regular expression means the same everywhere, and takes no time."""
    plain = pattern.replace(".*", "-", _MAX_WILDCARDS)
    return bool(_PLAIN_PATTERN.fullmatch(plain)) and "||" not in plain and not plain.endswith("|")


def _is_in_folders(process: RunningProcess, folders: list[str]) -> bool:
    try:
        folder = os.readlink(f"/proc/{process.pid}/cwd")
    except OSError:
        return False
    return not process.has_terminal and any(is_below(folder, one) for one in folders)


def _list_processes() -> Iterator[RunningProcess]:
    if not os.path.exists("/proc/self/stat"):
        yield from _list_by_ps()
        return
    for pid in filter(str.isdigit, os.listdir("/proc")):
        stat = _read(pid, "stat")
        # The name of a program, in brackets, may itself have brackets and blanks.
        head, _, tail = stat.rpartition(")")
        fields = tail.split()
        if len(fields) > 4:
            words = _read(pid, "cmdline").replace("\0", " ").strip()
            yield RunningProcess(int(pid), head.partition("(")[2], words, has_terminal=fields[4] != "0")


def _read(pid: str, name: str) -> str:
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read(_MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _list_by_ps() -> Iterator[RunningProcess]:
    try:
        done = subprocess.run(_PS, capture_output=True, text=True, errors="replace", timeout=5, check=False)
    except (OSError, subprocess.SubprocessError):
        return
    for pid, terminal, words in (
        line.split(None, 2) for line in done.stdout.splitlines() if len(line.split(None, 2)) == 3
    ):
        name = os.path.basename(words.split()[0]).lstrip("-")
        yield RunningProcess(int(pid), name[:_MAX_NAME_CHARS], words, has_terminal="?" not in terminal)
