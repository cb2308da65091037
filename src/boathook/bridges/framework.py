"""What all bridges share: the version of a framework, the hooks to use, and tools that cannot be guarded."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from importlib import metadata

from boathook.errors import BridgeError
from boathook.inprocess.hooks import Hooks


def require_version(package: str, oldest: str, *, before: str = "", extra: str = "") -> str:
    """Return the installed version of a framework; BridgeError if it is missing, or not one that the bridge was made for.

    `oldest` is the first version that works, `before` the first that is known not to; `extra` is the extra of boathook.
    """
    wanted = f"{package}>={oldest}" + (f",<{before}" if before else "")
    fix = f"pip install 'boathook[{extra}]'" if extra else f"pip install '{wanted}'"
    try:
        version = metadata.version(package)
    except metadata.PackageNotFoundError:
        raise BridgeError(f"{package} is not installed, and this bridge needs it", fix=fix) from None
    is_old = _parse_version(version) < _parse_version(oldest)
    if is_old or (before and _parse_version(version) >= _parse_version(before)):
        needed = f"{oldest} or newer" + (f", and older than {before}" if before else "")
        raise BridgeError(
            f"this bridge needs {package} {needed}, but {version} is installed", fix=f"pip install '{wanted}'"
        )
    return version


def _parse_version(text: str) -> tuple[int, ...]:
    """Return the numbers of a release; a pre-release counts as its release."""
    release = re.match(r"\d+(\.\d+)*", text)
    return tuple(map(int, release.group().split("."))) if release else ()


def choose_hooks(hooks: Hooks | None = None, project: str | os.PathLike[str] | None = None) -> Hooks:
    """Return the hooks of the program, or new ones with the file hooks of a project (default: the current folder)."""
    if hooks is not None and project is not None:
        raise BridgeError(
            "give a bridge hooks, or a project whose hooks it loads, not both", fix="call hooks.load(project)"
        )
    if hooks is not None:
        return hooks
    loaded = Hooks()
    loaded.load(project)
    return loaded


def refuse_unguarded(tools: Iterable[str], framework: str, *, allow_unguarded: bool = False) -> None:
    """Raise BridgeError for tools whose calls the bridge cannot see, unless the program accepts that."""
    names = sorted(set(tools))
    if names and not allow_unguarded:
        message = f"{framework} runs these tools where no hook can see them: {', '.join(names)}"
        raise BridgeError(message, fix="remove them, or accept it with allow_unguarded=True")
