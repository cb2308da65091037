"""The command that a host is given, and what can be told from one that is found."""

from __future__ import annotations

import functools
import os
import re
import shlex
import sys

from boathook.core.value import Value
from boathook.errors import ConfigError
from boathook.install.setups import BY_BOTH, BY_HOST, Setup
from boathook.sources.own_commands import ASSIGNMENT, DOOR, PYTHON, named, text_calls_us
from boathook.system.locations import agents_dir, claude_dir, read_environment

GUARD = re.compile(r'\[ -n "\$[A-Z_]+" \] \|\| ')
FLAG = re.compile(r"-[BEIOPSsu]+")  # of Python, none that gives it something else to run


class Folders(Value):
    """The user's folders as an installed command names them, whatever a host's variables will say."""

    config: str
    claude: str
    state: str


class Found(Value):
    """What an installed command calls."""

    python: str
    door: str
    host: str
    event: str


def door() -> str:
    """Return the path of this installation's door."""
    return os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "entry", "hook_entry.py")


def folders(state: str) -> Folders:
    """Return the folders that count now."""
    env = read_environment()
    return Folders(agents_dir(env), claude_dir(env), state)


def words(setup: Setup, event: str, places: Folders) -> list[str]:
    """Return the program and its arguments for an event."""
    left = {BY_HOST: "settings", BY_BOTH: "project-settings"}.get(setup.settings)
    settings = ["--without", left] if left else []
    found = [
        *(sys.executable, "-I", "-S", door(), "--host", setup.name, "--event", event),
        *("--config", places.config, "--claude", places.claude, "--state", places.state),
        *settings,
    ]
    try:
        "".join(found).encode()
    except UnicodeEncodeError:
        raise ConfigError("a path of this installation is not UTF-8, which no host's configuration can hold") from None
    return found


def line(setup: Setup, event: str, places: Folders) -> str:
    """Return the command for an event as a shell reads it."""
    unless = f'[ -n "${setup.unless}" ] || ' if setup.unless else ""
    return unless + shlex.join(words(setup, event, places))


def understand(text: object) -> Found | None:
    """Return what a command calls if it is one that was installed, and nothing else beside; None for any other.

    This is the one rule for what is ours: what is overwritten, taken out, trusted or fired is found by it.
    """
    return _understood(text) if isinstance(text, str) and "hook_entry.py" in text else None


@functools.cache  # a file is looked through again after each change, and shlex is slow
def _understood(text: str) -> Found | None:
    call = text[found.end() :] if (found := GUARD.match(text)) else text
    try:
        parts = shlex.split(call)
    except ValueError:
        return None
    if shlex.join(parts) != call:  # then a shell would do more with it than start one program
        return None
    at = next((n for n, part in enumerate(parts) if n and not FLAG.fullmatch(part)), 0)
    rest = parts[at + 1 :]
    if not at or not _is_python(parts[0]) or not DOOR.fullmatch(parts[at]) or len(rest) % 2:
        return None
    options = dict(zip(rest[::2], rest[1::2], strict=True))
    if not all(name.startswith("--") for name in options):
        return None
    return Found(parts[0], parts[at], options.get("--host", ""), options.get("--event", ""))


def _is_python(program: str) -> bool:
    known = program == sys.executable or bool(PYTHON.fullmatch(os.path.basename(program)))
    return known and not ASSIGNMENT.match(program)


def is_ours(text: object, host: str) -> bool:
    """Whether a command is one that was installed for a host, by this installation or another."""
    found = understand(text)
    return found is not None and found.host == host


def is_stranger(text: str, host: str) -> bool:
    """Whether a command calls us and was not installed for a host, or does more than what was."""
    return not is_ours(text, host) and (text_calls_us(text) or (" --host " in text and bool(DOOR.search(named(text)))))
