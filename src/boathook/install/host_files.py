"""The files of an installation: which ones, and what they must contain."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from boathook.assembly import locate_enabled
from boathook.core.catalog import Settings
from boathook.core.hook import USER
from boathook.core.value import Value
from boathook.errors import ConfigError
from boathook.hosts.setup import ENTRY_NAME, FILES, LIST, PLUGIN, TABLES, Setup
from boathook.install.codex import make_trust_file
from boathook.install.command_line import (
    CallContext,
    describe_missing,
    make_broken_form,
    make_command,
    make_command_line,
)
from boathook.install.formats import INSTALL_MARK, JSON_VALUES, TRUST_TABLES, HostFile
from boathook.sources.hooks_toml import build_settings, read_hooks_toml
from boathook.sources.source import find_source
from boathook.system import locations
from boathook.warm.resident_control import find_client

_SCRIPT = "#!/bin/sh\n# {mark} {name}`; `boathook uninstall {name}` removes it\n{command}\n"


class InstallTarget(Value):
    """Where to install; `trust_folder` lets the agent trust all of the project's folder."""

    scope: str
    project: str
    # They may move an agent's files.
    variables: Mapping[str, str]
    # The user's folders by their options, and which of them a project's variables may have chosen.
    folders: dict[str, str]
    untrusted: tuple[str, ...] = ()
    trust_folder: bool = False
    # Whether tool calls are refused if boathook cannot start: `hooks.broken`.
    refuses_broken: bool = True
    # The client of the warm engine, if that is on (`hooks.warm`) and there is one.
    client: str = ""
    is_warm: bool = False


def find_host_home(setup: Setup, target: InstallTarget) -> str:
    variable, below = setup.home
    value = target.variables.get(variable, "") if variable else ""
    if value.startswith("/"):
        return value.rstrip("/") or "/"
    return os.path.join(target.variables["HOME"], below).rstrip("/")


def find_config_path(setup: Setup, target: InstallTarget) -> str:
    if target.scope == USER:
        return os.path.join(find_host_home(setup, target), setup.user_file)
    if not setup.project_file:
        path, command = find_config_path(setup, target.replace(scope=USER)), f"boathook install {setup.name} --user"
        raise ConfigError(f"{setup.name} has no hooks of a project, only those in {path}: run `{command}`")
    return os.path.join(target.project, setup.project_file)


def make_call_context(setup: Setup, target: InstallTarget) -> CallContext:
    option = f" --project {shlex.quote(target.project)}" if target.scope != USER else ""
    repair = f"install boathook again and run: boathook install {setup.name}{option}"
    repair += f". Or remove its entries from {find_config_path(setup, target)}"
    return CallContext(target.folders, repair, target.refuses_broken, target.client, target.is_warm)


def list_host_files(setup: Setup, target: InstallTarget) -> list[HostFile]:
    path, context = find_config_path(setup, target), make_call_context(setup, target)
    if setup.format == FILES:
        lines = {event: make_command_line(setup, event, context) for event in setup.events}
        scripts = {key: _SCRIPT.format(mark=INSTALL_MARK, name=setup.name, command=lines[key]) for key in lines}
        return [HostFile(f"{path}/{event}", FILES, setup, {event: scripts[event]}, 0o777) for event in scripts]
    if setup.format == PLUGIN:
        return [HostFile(path, PLUGIN, setup, {setup.events[0]: _make_plugin(setup, context)})]
    entries = {event: make_entry(setup, event, context) for event in setup.events}
    return [HostFile(path, setup.format, setup, entries)]


def list_dependent_files(setup: Setup, target: InstallTarget, read: Callable[[str], str]) -> list[HostFile]:
    """Return the files that depend on the content of the first; `read` returns the text that a file has or will have."""
    folder = make_folder_trust_file(setup, target) if target.trust_folder else None
    if not setup.has_entry_trust:
        return [folder] if folder else []
    path = find_config_path(setup, target)
    trust = make_trust_file(setup, find_host_home(setup, target), path, read(path))
    return [trust.replace(wanted={**trust.wanted, **(folder.wanted if folder else {})})]


def make_folder_trust_file(setup: Setup, target: InstallTarget) -> HostFile | None:
    trust = setup.folder_trust
    if trust is None or target.scope == USER:
        return None
    path, name = os.path.join(find_host_home(setup, target), trust.file), (*trust.place, target.project)
    if trust.file.endswith(".toml"):
        return HostFile(path, TRUST_TABLES, setup, {name: {"trust_level": trust.value}})
    return HostFile(path, JSON_VALUES, setup, {name: trust.value})


def make_entry(setup: Setup, event: str, context: CallContext) -> dict[str, Any]:
    command = {setup.command_key: make_command_line(setup, event, context)}
    timeout = {setup.timeout_key: setup.compute_timeout(event)} if setup.timeout_key else {}
    if setup.format == TABLES:
        return {setup.event_key: event, **command, **timeout}
    handler = {**setup.entry_fields, **command}
    if setup.format == LIST:
        return {"name": f"{ENTRY_NAME}-{event}", setup.event_key: event, setup.handler_key: handler, **timeout}
    return {**handler, **timeout}


def _make_plugin(setup: Setup, context: CallContext) -> str:
    words = make_command(setup, setup.events[0], context)
    # The plugin adds what differs between events.
    for option in ("--event", "--broken"):
        at = words.index(option)
        del words[at : at + 2]
    forms = {event: make_broken_form(setup, event, context) for event in setup.events}
    values = {"COMMAND = []": words, "BROKEN_FORMS = {}": forms, 'BROKEN_REASON = ""': describe_missing(context)}
    with open(os.path.join(os.path.dirname(__file__), f"{setup.name}.js"), encoding="utf-8") as file:
        text = file.read()
    for place, value in values.items():
        text = text.replace(place, f"{place.partition(' = ')[0]} = {json.dumps(value, ensure_ascii=False)}", 1)
    return text


def resolve_install_target(
    scope: str, project: str | None, state: str | None, *, trust_folder: bool = False
) -> InstallTarget:
    """Return the target of a command: without a project name, the project of the current folder."""
    env = locations.read_environment()
    variables = {key.decode(errors="surrogateescape"): os.fsdecode(value) for key, value in env.items()}
    if not variables.get("HOME", "").startswith("/"):
        variables["HOME"] = locations.account_home()
    top = _resolve_project(project)
    resolved = locate_enabled(top, env, given={"state": state} if state else {})
    sources = [find_source(one.name) for one in resolved.sources]
    folders = {folder.option: resolved.folders[folder.option] for folder in locations.list_user_folders(sources)}
    untrusted = tuple(path for option, path in folders.items() if option in resolved.untrusted)
    is_trusted = bool(resolved.config)
    settings = build_settings(read_hooks_toml(f"{resolved.config}/hooks.toml", USER)) if is_trusted else Settings()
    is_warm, refuses = settings.warm == "on", settings.broken == "refuse"
    client = find_client() if is_warm else ""
    return InstallTarget(scope, top, variables, folders, untrusted, trust_folder, refuses, client, is_warm)


def _resolve_project(name: str | None) -> str:
    return find_project_top(os.path.realpath(locations.current_dir())) if name is None else os.path.realpath(name)


def find_project_top(start: str) -> str:
    """Return the nearest folder, from an absolute one upwards, with `.git`, hooks or packs; else the folder itself."""
    folder = start
    while folder != "/":
        if any(os.path.exists(f"{folder}/{mark}") for mark in (".git", ".agents/hooks", ".agents/packs")):
            return folder
        folder = os.path.dirname(folder)
    return start
