"""The strict checker: what is wrong with hooks, in files and scripts, before an agent finds out."""

from __future__ import annotations

import os

from boathook.core.catalog import Catalog
from boathook.core.event import EventKind
from boathook.core.hook import ERROR, PROJECT, WARNING, Diagnostic, Hook
from boathook.core.tool_names import KNOWN_TOOLS, SERVER_TOOL_MARKS
from boathook.errors import ConfigError
from boathook.sources.hook_md.folder import MANIFEST_NAMES, find_manifest, read_hook, scan_hooks
from boathook.sources.hooks_toml import read_hooks_toml
from boathook.sources.settings_json.settings_checker import check_remote_hook, check_settings_hook
from boathook.sources.settings_json.settings_file import LOCAL, SettingsFile, read_settings
from boathook.sources.shell_scripts import MAX_SCRIPT_BYTES, find_blocking_exit_1
from boathook.system.files import FileError, read_regular
from boathook.system.programs import choose_command, find_entry, find_interpreter_error, first_bytes

SETTINGS_FILES = ("settings.json", "settings.local.json")


def check_catalog(catalog: Catalog) -> list[Diagnostic]:
    """Check everything that concerns a project: all forms and levels, their hooks.toml, and how they meet."""
    found = [*catalog.diagnostics, *(d for hook in catalog.hooks for d in check_hook(hook))]
    return _sort_diagnostics(
        [*found, *(d for hook in catalog.hooks for d in check_remote_hook(hook, catalog.settings.model))]
    )


def check_path(path: str) -> list[Diagnostic]:
    """Check a manifest, a hook folder, a folder of hooks, a hooks.toml, a settings file, or a project."""
    path = os.path.abspath(path)
    if os.path.isfile(path) and path.endswith(".json"):
        return check_settings([read_settings(path, _get_settings_scope(path))])
    if os.path.basename(path) == "hooks.toml":
        return list(read_hooks_toml(path, _guess_scope(path)).diagnostics)
    if os.path.basename(path) in MANIFEST_NAMES or (os.path.isfile(path) and path.endswith(".md")):
        return check_folder(os.path.dirname(path), path)
    if not os.path.isdir(path):
        raise ConfigError(
            f"{path} is neither a HOOK.md, a hook folder, a folder of hooks, a hooks.toml, a settings.json nor a project"
        )
    if find_manifest(path) is not None:
        return check_folder(path, None)
    files = [f"{path}/.claude/{name}" for name in SETTINGS_FILES if os.path.isfile(f"{path}/.claude/{name}")]
    told = check_settings([read_settings(one, _get_settings_scope(one), path) for one in files])
    for below in (".agents/hooks", "hooks"):
        if os.path.isdir(f"{path}/{below}"):
            toml = f"{path}/{os.path.dirname(below)}/hooks.toml" if "/" in below else f"{path}/hooks.toml"
            problems = read_hooks_toml(toml, _guess_scope(toml)).diagnostics
            return _sort_diagnostics([*told, *_check_root(f"{path}/{below}", path), *problems])
    if files:
        return told
    found = _check_root(path, path)
    if not found and not any(find_manifest(entry.path) for entry in os.scandir(path) if entry.is_dir()):
        raise ConfigError(f"no hook was found in {path}")
    return found


def check_settings(files: list[SettingsFile]) -> list[Diagnostic]:
    """Check files of settings hooks."""
    found = [problem for file in files for problem in file.diagnostics]
    return _sort_diagnostics(
        [*found, *(problem for file in files for hook in file.hooks for problem in check_hook(hook))]
    )


def _get_settings_scope(path: str) -> str:
    return LOCAL if path.endswith("settings.local.json") else PROJECT


def _check_root(root: str, top: str) -> list[Diagnostic]:
    level = scan_hooks(root, _guess_scope(root), top)
    found = [*level.diagnostics, *(d for hook, _ in level.hooks for d in check_hook(hook))]
    first: dict[str, Hook] = {}
    for hook, _ in level.hooks:
        other = first.setdefault(hook.name, hook)
        if other is not hook:
            told = f"the name '{hook.name}' is also that of {other.folder}; only the first runs"
            found.append(Diagnostic(hook.path, None, "name", WARNING, told, "rename one of them"))
    return _sort_diagnostics(found)


def check_folder(folder: str, manifest: str | None) -> list[Diagnostic]:
    """Check one hook folder."""
    path = manifest or find_manifest(folder)
    if path is None:
        raise ConfigError(f"there is no HOOK.md in {folder}")
    hook, _ = read_hook(path, folder, _guess_scope(folder))
    return _sort_diagnostics(check_hook(hook))


def _guess_scope(path: str) -> str:
    """Take a folder below `.agents` for a project's; elsewhere nothing tells, and the user's may say more."""
    return PROJECT if "/.agents/" in path + "/" else "user"


def check_hook(hook: Hook) -> list[Diagnostic]:
    """Return the manifest's problems and what its entry point and matcher suggest."""
    found = [*hook.diagnostics]
    if hook.is_grouped:
        return [*found, *check_settings_hook(hook)]
    path = find_entry(hook.folder)
    if path is None:
        told = "no entry point: none of scripts/run, scripts/run.sh, scripts/run.py is a file"
        if not any("entry point" in d.message for d in found):
            found.append(Diagnostic(hook.path, None, "", ERROR, told, "add scripts/run.sh"))
    else:
        found += _check_script(hook, path)
    if hook.kind is not None and hook.kind.has_tool:
        found += _check_tool(hook, hook.kind)
    return found


def _check_script(hook: Hook, path: str) -> list[Diagnostic]:
    name = path.rpartition("/")[2]
    found: list[Diagnostic] = []

    def warn(line: int | None, message: str, fix: str) -> None:
        found.append(Diagnostic(path, line, "", WARNING, message, fix))

    if not os.access(path, os.X_OK):
        warn(None, f"scripts/{name} is not executable", f"chmod +x {path}")
    entry = choose_command(path)
    head = first_bytes(path)
    if os.access(path, os.X_OK) and entry.warning:
        warn(1, f"scripts/{name} has no interpreter line", "begin it with #!/bin/sh or #!/usr/bin/env python3")
    wrong = find_interpreter_error(head)
    if wrong:
        fix = "convert the file to LF line ends" if "Windows" in wrong else "name an interpreter that is here"
        found.append(Diagnostic(path, 1, "", ERROR, f"scripts/{name} cannot be started: {wrong}", fix))
    try:
        data = read_regular(path, MAX_SCRIPT_BYTES)
    except FileError as error:
        warn(None, f"scripts/{name} {error}", "")
        return found
    if b"\r\n" in data and not wrong:
        warn(data[: data.index(b"\r\n")].count(b"\n") + 1, f"scripts/{name} has Windows line ends", "convert it to LF")
    if not hook.background and hook.on_failure != "block" and b"\0" not in data[:1024]:
        text = data.decode("utf-8", "replace")
        line = find_blocking_exit_1(text)
        if line is not None:
            warn(line, "exit 1 is a failure and does not block", "use exit 2 to block, with the reason on stderr")
    return found


def _check_tool(hook: Hook, kind: EventKind) -> list[Diagnostic]:
    tool = hook.matcher.tool
    if tool is None or any(tool.search(name) for name in KNOWN_TOOLS):
        return []
    if any(mark in tool.source for mark in SERVER_TOOL_MARKS) or tool.search("mcp__server__tool"):
        return []
    import difflib

    near = difflib.get_close_matches(tool.source.strip("^$()"), KNOWN_TOOLS, n=1, cutoff=0.5)
    fix = (
        f"did you mean '{near[0]}'?"
        if near
        else "names in use: Shell, ReadFile, WriteFile, EditFile, Bash, Write, Edit"
    )
    told = f"the tool pattern '{tool.source}' matches no tool that is known; on {kind.name} this hook may never run"
    return [Diagnostic(hook.path, _find_line(hook.path, "tool:"), "matcher.tool", WARNING, told, fix)]


def _find_line(path: str, key: str) -> int | None:
    try:
        lines = read_regular(path).decode("utf-8", "replace").splitlines()
    except FileError:
        return None
    return next((at for at, line in enumerate(lines, 1) if line.strip().startswith(key) or f"{{{key}" in line), None)


def _sort_diagnostics(found: list[Diagnostic]) -> list[Diagnostic]:
    unique = list(dict.fromkeys(found))
    return sorted(unique, key=lambda d: (d.path, d.line or 0, d.level))
