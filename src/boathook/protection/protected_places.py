"""Find what self-protection guards on this machine: folders, files of agents, trusted hooks, and the installation itself."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterable, Iterator

from boathook.core.event import PRE_TOOL
from boathook.core.hook import BUILT_IN, USER, BuiltIn, Hook
from boathook.core.json_text import JsonError, loads
from boathook.core.matcher import Matcher
from boathook.core.tool_kinds import SHELL, WRITES
from boathook.dialects.dialect import NATIVE, find_hook_dialect
from boathook.hosts.detection import calls_boathook
from boathook.hosts.host import load_host
from boathook.hosts.setup import Setup, list_setups
from boathook.protection.objections import make_filter_row
from boathook.protection.own_programs import FOLDER_VARIABLES
from boathook.protection.protection import AgentProgram, HookSwitch, ProtectedPlace, Protection
from boathook.sources.installed_line import parse_command
from boathook.sources.source import SOURCES
from boathook.system.files import FileError, read_regular
from boathook.system.locations import Locations, find_home, read_environment

SELF_PROTECTION = "self-protection"
_DESCRIPTION = (
    "Asks before the agent changes your hooks, trust, the ledger, boathook itself, or an agent's entry for it."
)
# Before all other hooks: what it objects to may take them away.
_PRIORITY = 1000
_MAX_FILE_BYTES = 1 << 20
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def make_built_in_hook(protection: Protection) -> Hook:
    return Hook(
        SELF_PROTECTION,
        PRE_TOOL,
        PRE_TOOL.name,
        USER,
        BuiltIn(protection.to_data(), make_filter_row(protection)),
        BUILT_IN,
        find_hook_dialect(NATIVE),
        _DESCRIPTION,
        Matcher(tool_kinds=(WRITES, SHELL)),
        _PRIORITY,
        on_failure="block",
        source=BUILT_IN,
    )


def find_protection(locations: Locations, hooks: Iterable[Hook]) -> tuple[Protection, tuple[str, ...]]:
    """Return what is protected where some hooks were loaded, and the paths whose change makes that stale."""
    env = read_environment()
    home = find_home(env)
    registry = f"{locations.state}/installed.json"
    installations = _read_installations(registry)
    places = [
        *_list_user_places(locations),
        *_list_hook_places(hooks),
        *_list_project_places(locations, hooks),
        *_list_agent_places(installations, locations, home),
        *_list_installation_places(installations, locations),
    ]
    known: dict[str, ProtectedPlace] = {}
    for place in places:
        for path in (place.path.rstrip("/"), os.path.realpath(place.path)):
            if path.strip("/") and not _is_in_any(path, [*known]):
                known[path] = place.replace(path=path)
    roots = dict.fromkeys(path for one in (home, *locations.projects) for path in (one, os.path.realpath(one)))
    variables = tuple(name for name in FOLDER_VARIABLES if env.get(name.encode()))
    switches = tuple(_list_switches(locations, home))
    return Protection(tuple(known.values()), _describe_agents(), home, tuple(roots), variables, switches), (registry,)


def _list_user_places(locations: Locations) -> Iterator[ProtectedPlace]:
    for source in SOURCES:
        folder = locations.find(source.name).user
        for name in source.protected_names if folder else ():
            yield ProtectedPlace(f"{folder}/{name}", "your own hooks and their settings")
    if locations.state:
        yield ProtectedPlace(locations.state, "boathook's state: trust, ledger and installations")
    if locations.cache:
        yield ProtectedPlace(locations.cache, "boathook's cache, which says what hooks there are")


def _list_hook_places(hooks: Iterable[Hook]) -> Iterator[ProtectedPlace]:
    for hook in hooks:
        what = ""
        if hook.approval is not None:
            what = f"the trusted hook '{hook.name}' of this project"
        elif hook.scope == USER:
            what = f"your hook '{hook.name}'"
        if what:
            roots = hook.approval.roots if hook.approval is not None else ()
            for path in (hook.edited_folder or hook.path, *roots):
                yield ProtectedPlace(path, what)


def _list_project_places(locations: Locations, hooks: Iterable[Hook]) -> Iterator[ProtectedPlace]:
    """Return the other files of a project that decide about its hooks, if it has trusted ones."""
    has_trusted = any(hook.approval is not None for hook in hooks)
    for source in SOURCES:
        project = locations.find(source.name).project
        for name in source.protected_files if project and has_trusted else ():
            yield ProtectedPlace(f"{project}/{name}", "a file that decides about the trusted hooks of this project")


def _list_agent_places(
    installations: list[dict[str, object]], locations: Locations, home: str
) -> Iterator[ProtectedPlace]:
    titles = {setup.name: load_host(setup.name).title for setup in list_setups()}
    for installation in installations:
        title = titles.get(str(installation.get("host")), "an agent")
        files = installation.get("files")
        for file in files if isinstance(files, list) else ():
            if isinstance(file, dict) and isinstance(file.get("path"), str):
                yield ProtectedPlace(file["path"], f"the file by which {title} calls boathook")
    for setup in list_setups():
        for path in _list_agent_files(setup, locations, home):
            yield ProtectedPlace(path, f"the file by which {titles[setup.name]} calls boathook")


def _list_agent_files(setup: Setup, locations: Locations, home: str) -> Iterator[str]:
    """Return the files of an agent that call boathook, and those that could then turn its hooks off."""
    own_switches = [name for switch in setup.switches for name in switch.user]
    files = [(_find_agent_home(setup, home), setup.user_file, own_switches)]
    for project in dict.fromkeys((*locations.projects, locations.start)):
        switches = [name for switch in setup.switches for name in switch.project]
        files += [(project, setup.project_file, switches)] if setup.project_file and project else []
    for top, name, switches in files:
        path = f"{top}/{name}"
        paths = [path] if not os.path.isdir(path) else [f"{path}/{event}" for event in setup.events]
        own = [one for one in paths if calls_boathook(setup.name, _read_text(one))]
        yield from own
        if own:
            yield from (f"{top}/{switch}" for switch in switches)


def _list_switches(locations: Locations, home: str) -> Iterator[HookSwitch]:
    """Return the files of a project that turn the hooks of an agent off which calls boathook everywhere."""
    for setup in list_setups():
        path = f"{_find_agent_home(setup, home)}/{setup.user_file}"
        if not setup.user_file or not calls_boathook(setup.name, _read_text(path)):
            continue
        what = f"a file that turns the hooks of {load_host(setup.name).title} off"
        for project in dict.fromkeys(one for one in (*locations.projects, locations.start) if one):
            for switch in setup.switches:
                yield from (HookSwitch(f"{project}/{name}", switch.place, what) for name in switch.project)


def _find_agent_home(setup: Setup, home: str) -> str:
    variable, below = setup.home
    value = os.environ.get(variable, "") if variable else ""
    return value.rstrip("/") if value.startswith("/") else f"{home}/{below}".rstrip("/")


def _list_installation_places(installations: list[dict[str, object]], locations: Locations) -> Iterator[ProtectedPlace]:
    what = "the installation of boathook"
    projects = [project for project in (*locations.projects, locations.start) if project]
    if "site-packages" in _PACKAGE or not _is_in_any(_PACKAGE, projects):
        yield ProtectedPlace(_PACKAGE, what)
    prefixes = [sys.prefix] if sys.prefix != sys.base_prefix else []
    for installation in installations:
        command = parse_command(installation.get("command"))
        prefix = os.path.dirname(os.path.dirname(command.python)) if command is not None else ""
        if prefix and os.path.exists(f"{prefix}/pyvenv.cfg"):
            prefixes.append(prefix)
    # A person who works inside an environment changes files there all day.
    yield from (ProtectedPlace(prefix, what) for prefix in prefixes if not _is_in_any(locations.start, [prefix]))


def _is_in_any(path: str, folders: list[str]) -> bool:
    return any(f"{path}/".startswith(f"{folder.rstrip('/')}/") for folder in folders)


@functools.cache
def _describe_agents() -> tuple[AgentProgram, ...]:
    return tuple(_describe_agent(setup) for setup in list_setups() if setup.off_words or setup.home[0])


def _describe_agent(setup: Setup) -> AgentProgram:
    variables = (*((setup.home[0],) if setup.home[0] else ()), *setup.off_variables)
    # A package is called by the last part of its name.
    programs = (*setup.programs, *(package.rpartition("/")[2] for package in setup.packages))
    return AgentProgram(load_host(setup.name).title, tuple(dict.fromkeys(programs)), setup.off_words, variables)


def _read_installations(path: str) -> list[dict[str, object]]:
    try:
        registry = loads(_read_text(path) or "{}")
    except JsonError:
        return []
    found = registry.get("installations") if isinstance(registry, dict) else None
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _read_text(path: str) -> str:
    try:
        return read_regular(path, _MAX_FILE_BYTES).decode("utf-8", "replace")
    except (FileError, OSError, ValueError):
        return ""
