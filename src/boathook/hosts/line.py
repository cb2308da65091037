"""The command that a host is given, and what can be told from one that is found."""

from __future__ import annotations

import functools
import os
import re
import shlex
import sys

from boathook.core.value import Value
from boathook.errors import ConfigError
from boathook.hosts.setups import BY_BOTH, BY_HOST, Setup
from boathook.places import agents_dir, claude_dir, environment


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
    """Give the path of this installation's door."""
    return os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "door.py")


def folders(state: str) -> Folders:
    """Give the folders that count now."""
    env = environment()
    return Folders(agents_dir(env), claude_dir(env), state)


def words(setup: Setup, event: str, places: Folders) -> list[str]:
    """Give the program and its arguments for an event."""
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
    """Give the command for an event as a shell reads it."""
    unless = f'[ -n "${setup.unless}" ] || ' if setup.unless else ""
    return unless + shlex.join(words(setup, event, places))


def understand(text: object) -> Found | None:
    """Say what a command calls if it is one that was installed; None for any other."""
    return _understood(text) if isinstance(text, str) and "door.py" in text else None


@functools.cache  # a file is looked through again after each change, and shlex is slow
def _understood(text: str) -> Found | None:
    try:
        parts = shlex.split(text)
    except ValueError:
        return None
    at = next((n for n, part in enumerate(parts) if re.search(r"(?:^|[/\\])boathook[/\\]door\.py$", part)), None)
    if at is None or at < 1:
        return None
    python = next((part for part in reversed(parts[:at]) if not part.startswith("-")), "")
    options = dict(zip(parts[at + 1 :: 2], parts[at + 2 :: 2], strict=False))
    return Found(python, parts[at], options.get("--host", ""), options.get("--event", ""))


def is_ours(text: object, host: str) -> bool:
    """Say whether a command is one that was installed for a host, by this installation or another."""
    found = understand(text)
    return found is not None and found.host == host
