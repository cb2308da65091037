"""What all bridges share: the version of a framework, the options of a bridge, and hooks attached to agents with them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any, TypedDict

from boathook.core.near_words import ask_if_meant, find_near_word
from boathook.errors import BridgeError, ConfigError
from boathook.inprocess.agent_run import AgentRun
from boathook.inprocess.hooks import Hooks
from boathook.inprocess.layers import LOGGER
from boathook.inprocess.name_map import NameMap


class BridgeOptions(TypedDict, total=False):
    """The options of every bridge, besides the hooks.

    `names` and `arguments` map tools and their arguments to the names that file hooks know; the rest is guessed. `session_id` is
    the id of all runs, instead of the one that the framework has. `work_dir` is the folder of the agent (default: the current
    one). Tools that cannot be guarded are refused unless `allow_unguarded` is set.
    """

    names: Mapping[str, str] | None
    arguments: Mapping[str, Mapping[str, str]] | None
    session_id: str
    work_dir: str | os.PathLike[str]
    allow_unguarded: bool


@dataclass(frozen=True, slots=True)
class Attachment:
    """Hooks for the agents of a framework, with the options that all bridges have. It serves many runs at once."""

    framework: str
    hooks: Hooks
    names: Mapping[str, str] | None
    arguments: Mapping[str, Mapping[str, str]] | None
    session_id: str
    work_dir: str
    allow_unguarded: bool
    # Names that were reported as not being a tool: another agent with the same hooks may have them.
    _reported: set[str] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        NameMap(self.names, self.arguments)

    def make_run(self, session_id: str = "", **fields: Any) -> AgentRun:
        """Return a new run; `session_id` counts if the user gave none. Texts for the person are logged as they come."""
        run = self.hooks.run(
            self.session_id or session_id,
            work_dir=self.work_dir,
            names=self.names,
            arguments=self.arguments,
            **fields,
        )
        run.show_message = _log_message
        return run

    def make_child(self, parent: AgentRun, name: str, task: str = "", **fields: Any) -> AgentRun:
        """Return the run of a subagent: in the session of its parent, with the hooks and names of this attachment."""
        child = parent.child(name, task, **fields)
        child.stack, child.name_map = self.hooks.stack, NameMap(self.names, self.arguments)
        return child

    def check_names(self, tools: Iterable[str]) -> None:
        """Raise BridgeError if names= or arguments= has a mistake, now that the tools of an agent are known; log the others."""
        if not self.names and not self.arguments:
            return
        listed = sorted(set(tools))
        try:
            absent = NameMap(self.names, self.arguments).check_tools(listed)
        except ConfigError as error:
            raise BridgeError(str(error)) from None
        for name in set(absent) - self._reported:
            self._reported.add(name)
            LOGGER.warning("names= or arguments= has '%s', but the agent's tools are: %s", name, ", ".join(listed))

    def refuse_unguarded(self, tools: Iterable[str]) -> None:
        """Raise BridgeError for tools whose calls the bridge cannot see, unless the user accepts that."""
        if self.allow_unguarded:
            return
        names = sorted(set(tools))
        if names:
            message = f"{self.framework} runs these tools where no hook can see them: {', '.join(names)}"
            raise BridgeError(message, fix="remove them, or accept it with allow_unguarded=True")


def attach(
    framework: str,
    hooks: object = None,
    *,
    names: Mapping[str, str] | None = None,
    arguments: Mapping[str, Mapping[str, str]] | None = None,
    session_id: str = "",
    work_dir: str | os.PathLike[str] = "",
    allow_unguarded: bool = False,
    **unknown: object,
) -> Attachment:
    """Return hooks for the agents of a framework; without `hooks`, those of the user and of `work_dir` (the current folder)."""
    for name in unknown:
        options = tuple(BridgeOptions.__annotations__)
        near = find_near_word(name, options)
        raise TypeError(
            f"the bridge to {framework} has no option '{name}'{f', {ask_if_meant(near)}' if near else ''} "
            f"(the options of every bridge: hooks, {', '.join(options)})"
        )
    if hooks is None:
        hooks = Hooks()
        hooks.load(work_dir or None)
    elif not isinstance(hooks, Hooks):
        message = f"hooks must be boathook.Hooks, not {type(hooks).__name__}"
        raise BridgeError(message, fix="hooks = boathook.Hooks(), then pass hooks")
    return Attachment(framework, hooks, names, arguments, session_id, os.fspath(work_dir), allow_unguarded)


def _log_message(text: str) -> None:
    # A framework shows no texts for the person.
    LOGGER.info("%s", text)


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
