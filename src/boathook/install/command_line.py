"""The command that an agent runs for each event, and how an installed one is recognized."""

from __future__ import annotations

import functools
import os
import re
import shlex
import sys

from boathook.core.shell import get_assigned_name
from boathook.core.value import Value
from boathook.errors import ConfigError
from boathook.hosts.setup import Setup
from boathook.process.supervisor import HOOK_ENTRY
from boathook.sources.own_commands import HOOK_ENTRY_PATH, PYTHON_PROGRAM, find_own_path, has_own_command

_GUARD = re.compile(r'\[ -n "\$[A-Z_]+" \] \|\| ')
# flags of Python, none that makes it run something else
_PYTHON_FLAG = re.compile(r"-[BEIOPSsu]+")


class InstalledCommand(Value):
    python: str
    hook_entry: str
    host: str
    event: str


def make_command(setup: Setup, event: str, folders: dict[str, str]) -> list[str]:
    """Return the command; it names the user's folders by their options, so that no variable of a host moves them."""
    words = [
        *(sys.executable, "-I", "-S", HOOK_ENTRY, "--host", setup.name, "--event", event),
        *[word for option, path in folders.items() for word in (f"--{option}", path)],
        *[word for source in setup.runs_itself for word in ("--without", source)],
    ]
    try:
        "".join(words).encode()
    except UnicodeEncodeError:
        error = "a path of this installation is not UTF-8, so the configuration of an agent cannot hold it"
        raise ConfigError(error) from None
    return words


def make_command_line(setup: Setup, event: str, folders: dict[str, str]) -> str:
    guard = f'[ -n "${setup.unless_variable}" ] || ' if setup.unless_variable else ""
    return guard + shlex.join(make_command(setup, event, folders))


def parse_command(text: object) -> InstalledCommand | None:
    """Return what a command calls if it is installed and does nothing else, or None: the only rule for which commands are ours."""
    return _parse_command(text) if isinstance(text, str) and "hook_entry.py" in text else None


# a file is searched again after each change, and shlex is slow
@functools.cache
def _parse_command(text: str) -> InstalledCommand | None:
    guard = _GUARD.match(text)
    call = text[guard.end() :] if guard else text
    try:
        words = shlex.split(call)
    except ValueError:
        return None
    # otherwise a shell would do more with it than start one program
    if shlex.join(words) != call:
        return None
    at = next((index for index, word in enumerate(words) if index and not _PYTHON_FLAG.fullmatch(word)), 0)
    rest = words[at + 1 :]
    if not at or not _is_python(words[0]) or not HOOK_ENTRY_PATH.fullmatch(words[at]) or len(rest) % 2:
        return None
    options = dict(zip(rest[::2], rest[1::2], strict=True))
    if not all(name.startswith("--") for name in options):
        return None
    return InstalledCommand(words[0], words[at], options.get("--host", ""), options.get("--event", ""))


def _is_python(program: str) -> bool:
    is_known = program == sys.executable or bool(PYTHON_PROGRAM.fullmatch(os.path.basename(program)))
    return is_known and not get_assigned_name(program)


def is_installed_command(text: object, host: str) -> bool:
    command = parse_command(text)
    return command is not None and command.host == host


def is_unmanaged_command(text: str, host: str) -> bool:
    """Whether a command calls boathook but was not installed for a host, or does more than an installed one."""
    if is_installed_command(text, host):
        return False
    return has_own_command(text) or (" --host " in text and bool(HOOK_ENTRY_PATH.search(find_own_path(text))))
