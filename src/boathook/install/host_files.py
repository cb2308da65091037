"""What an installation consists of: which files, and what is to stand in them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any

from boathook.core.hook import USER
from boathook.core.value import Value
from boathook.errors import ConfigError
from boathook.install.codex import trust_part
from boathook.install.command_line import Folders, folders, line, words
from boathook.install.formats import MARK, TRUST, VALUES, Part
from boathook.install.setups import FILES, PLUGIN, TABLES, Setup
from boathook.system.locations import account_home, read_environment
from boathook.system.locations import current_dir as current

SCRIPT = "#!/bin/sh\n# {mark} cline`; `boathook uninstall cline` takes it away\nexec {command}\n"


class Place(Value):
    """Where a host is to call us from: everywhere, or in one project; the variables that move its files; our folders.

    `trusting`: the host shall also be told that it can trust the project's folder, and with it all that lies there.
    """

    scope: str
    project: str
    variables: Mapping[str, str]
    folders: Folders
    trusting: bool = False


def home_of(setup: Setup, place: Place) -> str:
    """Return the folder of a host's own files."""
    variable, below = setup.home
    value = place.variables.get(variable, "") if variable else ""
    if value.startswith("/"):
        return value.rstrip("/") or "/"
    return os.path.join(place.variables["HOME"], below).rstrip("/")


def path_of(setup: Setup, place: Place) -> str:
    """Return the file, or the folder of files, that a host is to be told in."""
    if place.scope == USER:
        return os.path.join(home_of(setup, place), setup.user)
    if not setup.project:
        raise ConfigError(
            f"{setup.name} has no hooks of a project, only those of {path_of(setup, place.replace(scope=USER))}: "
            f"say `boathook install {setup.name} --user`"
        )
    return os.path.join(place.project, setup.project)


def parts_of(setup: Setup, place: Place) -> list[Part]:
    """Return the files that hold entries, and the entries."""
    path = path_of(setup, place)
    if setup.shape == FILES:
        return [
            Part(f"{path}/{event}", FILES, setup, {event: _script(setup, event, place)}, 0o777)
            for event in setup.events
        ]
    if setup.shape == PLUGIN:
        return [Part(path, PLUGIN, setup, {setup.events[0]: _plugin(setup, place)})]
    return [Part(path, setup.shape, setup, {event: entry(setup, event, place.folders) for event in setup.events})]


def further(setup: Setup, place: Place, read: Callable[[str], str]) -> list[Part]:
    """Return the files that depend on what stands in the first; `read` gives the text that a file has, or is to have."""
    folder = folder_part(setup, place) if place.trusting else None
    if setup.name != "codex":
        return [folder] if folder else []
    path = path_of(setup, place)
    entries = trust_part(setup, home_of(setup, place), path, read(path))
    return [entries.replace(wanted={**entries.wanted, **(folder.wanted if folder else {})})]


def folder_part(setup: Setup, place: Place) -> Part | None:
    """Return what says to a host that the project's folder is trusted, None if it has no such thing."""
    trust = setup.trust
    if trust is None or place.scope == USER:
        return None
    path, name = os.path.join(home_of(setup, place), trust.file), (*trust.place, place.project)
    if trust.file.endswith(".toml"):
        return Part(path, TRUST, setup, {name: {"trust_level": trust.value}})
    return Part(path, VALUES, setup, {name: trust.value})


def entry(setup: Setup, event: str, folders: Folders) -> dict[str, Any]:
    """Return the entry of one event."""
    command = {setup.command_key: line(setup, event, folders), setup.timeout_key: setup.timeout(event)}
    return {"event": event, **command} if setup.shape == TABLES else {**setup.fields, **command}


def _script(setup: Setup, event: str, place: Place) -> str:
    return SCRIPT.format(mark=MARK, command=line(setup, event, place.folders))


def _plugin(setup: Setup, place: Place) -> str:
    """Return the plugin with our command in it; the event is added with each call."""
    found = words(setup, "", place.folders)
    at = found.index("--event")
    with open(os.path.join(os.path.dirname(__file__), "opencode.js"), encoding="utf-8") as file:
        text = file.read()
    return text.replace("COMMAND = []", f"COMMAND = {json.dumps(found[:at] + found[at + 2 :], ensure_ascii=False)}", 1)


def resolve_install_place(scope: str, project: str | None, state: str, *, trusting: bool = False) -> Place:
    """Return the place that is meant from here: for a project without a name, the one that the current folder belongs to."""
    variables = {key.decode(errors="surrogateescape"): os.fsdecode(value) for key, value in read_environment().items()}
    if not variables.get("HOME", "").startswith("/"):
        variables["HOME"] = account_home()
    return Place(scope, project_at(project), variables, folders(state), trusting)


def project_at(given: str | None) -> str:
    """Return the real path of a project's folder: the one that is named, else the nearest with `.git` or `.agents/hooks`."""
    if given is not None:
        return os.path.realpath(given)
    start = at = os.path.realpath(current())
    while at != "/":
        if any(os.path.exists(f"{at}/{mark}") for mark in (".git", ".agents/hooks")):
            return at
        at = os.path.dirname(at)
    return start
