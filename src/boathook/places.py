"""Where things live. Lean: the door uses this before it knows whether anything must be done."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os as system
else:
    try:
        import posix as system  # half of what `os` is, and there already
    except ImportError:  # not a POSIX system
        import os as system

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Environment = Mapping[bytes, bytes]

__all__ = ["agents_dir", "cache_dir", "environment", "find_project", "is_dir", "state_dir", "system"]

DIRECTORY = 0o040000
KIND = 0o170000


def environment() -> Environment:
    """Give the environment as bytes."""
    found: Any = system.environ
    if found and isinstance(next(iter(found)), str):
        return {k.encode(): v.encode("utf-8", "surrogateescape") for k, v in found.items()}
    bytewise: Environment = found
    return bytewise


def _home_of(env: Environment, variable: bytes, below: str) -> str:
    """Give an XDG folder: the variable if it is absolute, else its default below the home folder."""
    value = env.get(variable, b"")
    if value.startswith(b"/"):
        return _text(value).rstrip("/")
    return f"{_text(env.get(b'HOME', b'')) or '/nonexistent'}/{below}"


def agents_dir(env: Environment) -> str:
    """Give the user's folder of agents, which holds `hooks/` and `hooks.toml`."""
    return _home_of(env, b"XDG_CONFIG_HOME", ".config") + "/agents"


def cache_dir(env: Environment) -> str:
    """Give the folder for what can be made again."""
    return _home_of(env, b"XDG_CACHE_HOME", ".cache") + "/boathook"


def state_dir(env: Environment) -> str:
    """Give the folder for what is to be remembered."""
    return _home_of(env, b"XDG_STATE_HOME", ".local/state") + "/boathook"


def find_project(start: str) -> str:
    """Give the nearest folder from a start upwards that holds `.agents/hooks`; nothing if there is none."""
    at = start.rstrip("/")
    while True:
        if is_dir(at + "/.agents/hooks"):
            return at or "/"
        if "/" not in at:
            return ""
        at = at.rpartition("/")[0]


def is_dir(path: str) -> bool:
    """Say whether a path is a folder."""
    try:
        return system.stat(path).st_mode & KIND == DIRECTORY
    except (OSError, ValueError):
        return False


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")
