"""The status of each agent: whether it calls us, and whether what it calls exists, is complete and is turned on."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable
from typing import Any

from boathook.core.hook import PROJECT, USER
from boathook.core.value import Value
from boathook.errors import ConfigError
from boathook.hosts.host import load_host
from boathook.hosts.setup import Setup, list_setups
from boathook.install import host_files
from boathook.install.command_line import is_unmanaged_command
from boathook.install.formats import ENTRY_FORMATS, FORMATS, HostFile
from boathook.install.host_files import InstallTarget, find_config_path, list_host_files, make_folder_trust_file
from boathook.install.json_edit import EditError, JsonEditor
from boathook.install.plan import decode_text, read_host_file
from boathook.install.registry import Installation, InstallRegistry, hash_bytes
from boathook.install.toml_edit import parse_toml
from boathook.process.supervisor import HOOK_ENTRY
from boathook.sources.installed_line import InstalledCommand
from boathook.sources.source import SETTINGS_JSON_SOURCE, Source

INSTALLED_STATUS, ABSENT_STATUS = "installed", "not installed"
ALTERED_STATUS, STALE_STATUS, SHADOWED_STATUS = "altered", "stale", "shadowed"
HEALTHY_STATUSES = (INSTALLED_STATUS, ABSENT_STATUS)
# What `install` can repair.
REPAIRABLE_STATUSES = (ALTERED_STATUS, STALE_STATUS)
_GONE = "its file has none of the entries that boathook installed"
_WORST_FIRST = (ALTERED_STATUS, STALE_STATUS, SHADOWED_STATUS)
# Where the hooks of a source are, by the names in `Setup.may_run_too`.
_SOURCE_TITLES = {"project-settings": f"a project's {SETTINGS_JSON_SOURCE.markers[0].removeprefix('/')}"}
_RUNS_ONCE = "; boathook detects this and runs each hook once"
_RUNS_TWICE = ", so hooks may run twice"

Problems = dict[str, list[str]]


class HostStatus(Value):
    host: str
    scope: str
    state: str
    path: str
    why: tuple[str, ...] = ()

    @property
    def is_off(self) -> bool:
        """Whether the agent calls none of our entries, as far as its files show: they are gone, or it does not run them."""
        return self.state == SHADOWED_STATUS or _GONE in self.why


def list_statuses(target: InstallTarget, registry: InstallRegistry) -> list[HostStatus]:
    return [
        find_status(setup, target.replace(scope=scope), registry)
        for setup in list_setups()
        for scope in _list_scopes(setup, target)
    ]


def _list_scopes(setup: Setup, target: InstallTarget) -> tuple[str, ...]:
    if not setup.project_file:
        return (USER,)
    paths = {os.path.realpath(find_config_path(setup, target.replace(scope=scope))) for scope in (USER, PROJECT)}
    # In the home folder, the file of the user is also where that of a project would be.
    return (USER, PROJECT) if len(paths) > 1 else (USER,)


def find_problem(statuses: Iterable[HostStatus], host: str) -> HostStatus | None:
    """Return what keeps an agent from calling us as it should, None if one of its installations works or it has none."""
    own = [status for status in statuses if status.host == host and status.state != ABSENT_STATUS]
    if any(status.state == INSTALLED_STATUS for status in own):
        return None
    return min(own, key=lambda status: (not status.is_off, status.scope != USER), default=None)


def find_status(setup: Setup, target: InstallTarget, registry: InstallRegistry) -> HostStatus:
    old = registry.find(setup.name, target.scope, target.project if target.scope == PROJECT else "")
    state, path = ALTERED_STATUS if old else ABSENT_STATUS, find_config_path(setup, target)
    status = HostStatus(setup.name, target.scope, state, path)
    try:
        return _find_status(setup, target, old, status)
    except EditError as error:
        return status.replace(why=(f"cannot be read: line {error.line}: {error.message}",))
    except ConfigError as error:
        return status.replace(why=(f"cannot be read: {error}",))


def _find_status(setup: Setup, target: InstallTarget, old: Installation | None, absent: HostStatus) -> HostStatus:
    files = list_host_files(setup, target)
    texts = {file.path: _read_text(file.path) for file in files}
    entries = {file.path: _find_entries(file, texts[file.path]) for file in files}
    unmanaged = dict.fromkeys(find_unmanaged_commands(setup, target))
    doubles = [f"another entry also calls boathook: {command}" for command in unmanaged]
    if not any(entries.values()):
        gone = (_GONE,) if old else ()
        return absent.replace(why=(*gone, *doubles))
    problems: Problems = {ALTERED_STATUS: doubles, STALE_STATUS: [], SHADOWED_STATUS: []}
    # What would be installed with the other value of `hooks.broken`.
    others = list_host_files(setup, target.replace(refuses_broken=not target.refuses_broken))
    if all(entries[file.path] == _wrap_wanted(file) for file in others):
        problems[STALE_STATUS].append(_describe_broken_setting(target))
    else:
        for file in files:
            _compare_entries(file, entries[file.path], problems, is_untouched=_has_installed_bytes(file.path, old))
    for file in host_files.list_dependent_files(setup, target, lambda path: texts.get(path) or ""):
        problems[SHADOWED_STATUS] += _find_trust_problems(file, find_installed_entries(file))
    problems[SHADOWED_STATUS] += [*find_off_switches(setup, target), *find_distrust(setup, target)]
    state = next((state for state in _WORST_FIRST if problems[state]), INSTALLED_STATUS)
    reasons = dict.fromkeys(why for each in _WORST_FIRST for why in problems[each])
    return absent.replace(state=state, why=tuple(reasons))


def has_entries(setup: Setup, target: InstallTarget) -> bool:
    """Whether a file of an agent has entries of ours, of whichever installation."""
    return any(find_installed_entries(file) for file in list_host_files(setup, target))


def _read_text(path: str) -> str | None:
    real = os.path.realpath(path)
    data = read_host_file(real)
    return None if data is None else decode_text(data, real)


def find_installed_entries(file: HostFile) -> dict[Any, list[Any]]:
    return _find_entries(file, _read_text(file.path))


def _find_entries(file: HostFile, text: str | None) -> dict[Any, list[Any]]:
    return {} if text is None else FORMATS[file.format].find_entries(text, file)


def _has_installed_bytes(path: str, old: Installation | None) -> bool:
    real = os.path.realpath(path)
    record = old.find_file(real) if old else None
    return record is not None and hash_bytes(read_host_file(real) or b"") == record.after


def _compare_entries(file: HostFile, entries: dict[Any, list[Any]], problems: Problems, *, is_untouched: bool) -> None:
    """Note how entries differ from what would be installed now. In an untouched file, another version wrote them."""
    entry_format = ENTRY_FORMATS[file.format]
    all_entries = [entry for values in entries.values() for entry in values]
    commands = [command for entry in all_entries for command in entry_format.parse_commands(entry, file)]
    dead = [problem for command in commands if (problem := _find_command_problem(command))]
    problems[STALE_STATUS] += dead
    found = problems[STALE_STATUS if is_untouched else ALTERED_STATUS]
    missing = ", ".join(str(event) for event in file.wanted if event not in entries)
    unknown = ", ".join(str(event) for event in entries if event not in file.wanted)
    repeated = ", ".join(str(event) for event, values in entries.items() if len(values) > 1)
    if missing:
        found.append(f"no entry for {missing}")
    if unknown:
        found.append(f"an entry for {unknown}, which is not one of its events")
    if repeated:
        problems[ALTERED_STATUS].append(f"several entries for {repeated}: hooks run more than once")
    if not (dead or missing or unknown or repeated) and entries != _wrap_wanted(file):
        found.append("the entries are not what would be installed now")


def _wrap_wanted(file: HostFile) -> dict[Any, list[Any]]:
    """Return the wanted entries of a file as `find_entries` returns them."""
    return {event: [ENTRY_FORMATS[file.format].wrap_entry(entry)] for event, entry in file.wanted.items()}


def _describe_broken_setting(target: InstallTarget) -> str:
    now, before = ("refuse", "allow") if target.refuses_broken else ("allow", "refuse")
    path = f"{target.folders['config']}/hooks.toml"
    return f'hooks.broken in {path} is "{now}" by now, and the command has "{before}"'


def find_unmanaged_commands(setup: Setup, target: InstallTarget) -> list[str]:
    """Return the commands in an agent's file that call boathook and were not installed: with ours, hooks run twice."""
    contents = [_read_text(file.path) or "" for file in list_host_files(setup, target)]
    texts = [text for content in contents for text in ENTRY_FORMATS[setup.format].list_texts(content, setup)]
    return [text for text in texts if is_unmanaged_command(text, setup.name)]


def _find_command_problem(command: InstalledCommand) -> str:
    for name, path in (("interpreter", command.python), ("entry point", command.hook_entry)):
        if not os.path.exists(path):
            return f"its {name} is gone: {path}"
    if os.path.realpath(command.hook_entry) != os.path.realpath(HOOK_ENTRY):
        return f"it calls another boathook: {command.hook_entry}"
    return ""


def _find_trust_problems(file: HostFile, entries: dict[Any, list[Any]]) -> list[str]:
    """Return which of our entries Codex does not run because its configuration lacks their hashes."""
    tables = {name: entries.get(name, [{}])[0] for name in file.wanted}
    distrusted = [name for name, wanted in file.wanted.items() if {**tables[name], **wanted} != tables[name]]
    disabled = [name for name in file.wanted if tables[name].get("enabled") is False]
    rows = [("does not trust", distrusted), ("turns off", disabled)]
    shown = [(verb, ", ".join(name[-1].rpartition("/")[2] for name in names)) for verb, names in rows if names]
    return [f"{file.path} {verb} {names}" for verb, names in shown]


def find_distrust(setup: Setup, target: InstallTarget) -> list[str]:
    """Return a problem if an agent does not run hooks of the project because it does not trust the folder."""
    file = make_folder_trust_file(setup, target)
    if file is None or setup.folder_trust is None or not setup.folder_trust.needed:
        return []
    entries = find_installed_entries(file)
    if any(entries.get(name) == [value] for name, value in file.wanted.items()):
        return []
    return [f"{file.path} does not trust the folder {target.project}: its hooks do not run there"]


def find_off_switches(setup: Setup, target: InstallTarget) -> list[str]:
    problems: list[str] = []
    for switch in setup.switches:
        paths = [os.path.join(host_files.find_host_home(setup, target), name) for name in switch.user]
        if target.scope == PROJECT:
            paths += [os.path.join(target.project, name) for name in switch.project]
        for path in paths:
            value = _read_setting(path, switch.place)
            if value is switch.off or (isinstance(value, list) and switch.off in value):
                problems.append(f"{'.'.join(switch.place)} is {json.dumps(value)} in {path}: its hooks are turned off")
    return problems


def _read_setting(path: str, keys: tuple[str, ...]) -> Any:
    try:
        text = _read_text(path) or ""
        value: Any = parse_toml(text) if path.endswith(".toml") else JsonEditor(text, comments=True).value
    except (EditError, ConfigError):
        return None
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def describe_ways(statuses: list[HostStatus], sources: Iterable[Source]) -> list[str]:
    """Return for every source that the user enabled which agents run its hooks themselves, and which through boathook."""
    hosts = dict.fromkeys(status.host for status in statuses if status.state != ABSENT_STATUS)
    notes: list[str] = []
    for source in sources:
        if source.is_default:
            continue
        own = [setup.name for setup in list_setups() if source.without in setup.runs_itself]
        ours = [host for host in hosts if host not in own]
        through = f"{', '.join(ours)} through boathook" if ours else "no other agent calls boathook"
        twice = [setup.name for setup in list_setups() if source.without in setup.may_run_too and setup.name in hosts]
        perhaps = f"; {', '.join(twice)} may run them itself as well, so they may run twice there" if twice else ""
        notes.append(f"hooks of the source '{source.without}' are run by {', '.join(own)} itself; {through}{perhaps}")
    return notes


def find_double_readers(statuses: list[HostStatus], present: Collection[str]) -> list[str]:
    """Return which agents that one has also run what is installed in another."""
    paths = {(status.host, status.scope): status.path for status in statuses if status.state != ABSENT_STATUS}
    hosts = {host for host, _ in paths}
    notes: list[str] = []
    for setup in list_setups():
        # Sources that people enable are in `describe_ways`.
        places = [_SOURCE_TITLES[name] for name in setup.may_run_too if name in _SOURCE_TITLES]
        if places and setup.name in hosts:
            title = load_host(setup.name).title
            notes.append(f"{title} may also run the hooks in {', '.join(places)} itself, so they may run twice")
        for (other, scope), path in paths.items():
            sources = (*setup.runs_itself, *setup.may_run_too)
            reads_only_projects = any(name.startswith("project-") for name in sources)
            is_here = setup.name in hosts or setup.name in present
            if not is_here or other not in setup.reads_files_of or (scope == USER and reads_only_projects):
                continue
            effect = _RUNS_ONCE if load_host(other).foreign_keys else _RUNS_TWICE if setup.name in hosts else ""
            notes.append(f"{setup.name} also reads {path} and calls the entries of {other}{effect}")
    return notes
