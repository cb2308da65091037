"""The strict checker of `boathook check`: what is wrong with hooks, in their files and in their scripts."""

from __future__ import annotations

import os

from boathook.core.catalog import Catalog
from boathook.core.event import PRE_TOOL, RECORDED, EventKind
from boathook.core.hook import ERROR, PROJECT, SHARED_PROCESS, STRONG_ASK, USER, WARNING, Diagnostic, Hook, Script
from boathook.core.matcher import Pattern, compile_pattern
from boathook.core.near_words import ask_if_meant, suggest
from boathook.errors import ConfigError
from boathook.hosts.tool_names import TOOL_INPUT_KEYS, find_claude_name, list_known_tools
from boathook.sources.agent_forms.form_guess import guess_form
from boathook.sources.agent_forms.hook_form import HOOK_FORMS, SETTINGS_FORM, HookForm, find_form_of_file
from boathook.sources.hook_md.folder import (
    MANIFEST_NAMES,
    NO_ENTRY_POINT,
    find_manifest,
    read_hook,
    report_no_entry_point,
    scan_hooks,
)
from boathook.sources.hook_md.manifest import OPENCLAW_HOOK
from boathook.sources.hook_mistakes import HookCode, find_language, find_mistakes
from boathook.sources.hooks_toml import read_hooks_toml
from boathook.sources.loaded_files import find_load_problem, find_other_owner, is_loaded_file
from boathook.sources.near_misses import find_misnamed_manifest, list_lookalike_hooks, list_root_misses
from boathook.sources.pack_folders import PACKS_FOLDER, PROJECT_PACKS_FOLDER, PackFolder, find_packs, read_pack
from boathook.sources.pack_md import PACK_MANIFEST
from boathook.sources.python_starts import describe_python_starts
from boathook.sources.settings_json.settings_checker import (
    EXIT_1_WARNING,
    check_remote_hook,
    check_settings_hook,
    find_start_error,
    may_be_server_tool,
)
from boathook.sources.settings_json.settings_file import LOCAL, SettingsFile, mentions_hooks, read_settings
from boathook.sources.shell_scripts import MAX_SCRIPT_BYTES, find_blocking_exit_1, is_shell_script
from boathook.system.files import FileError, read_regular
from boathook.system.programs import choose_command, find_entry_point

_MAX_SHOWN_TOOLS = 3


def check_catalog(catalog: Catalog, tools: tuple[str, ...] = ()) -> list[Diagnostic]:
    """Check all hooks; `tools` are names that programs have, besides those of the agents."""
    diagnostics = [*catalog.diagnostics]
    for hook in catalog.hooks:
        diagnostics += [*check_hook(hook, tools), *check_remote_hook(hook, catalog.settings.model)]
    return _sort_diagnostics(diagnostics)


def check_path(path: str, seen: list[Hook] | None = None) -> list[Diagnostic]:
    """Check a manifest, a hook folder, a folder of hooks, a hooks.toml, a settings file, a pack, or a project.

    The hooks that were found are added to `seen`.
    """
    seen = [] if seen is None else seen
    path = os.path.abspath(path)
    form = find_form_of_file(path)
    if os.path.isfile(path) and (path.endswith(".json") or form is not None):
        guess = form or (SETTINGS_FORM if is_loaded_file(path) else guess_form(path))
        problem = find_load_problem(path, form, guess)
        is_known = form is not None or not find_other_owner(path)
        found = check_settings([_read_file(path, guess)], seen) if is_known else []
        return [*([problem] if problem else []), *found]
    if os.path.basename(path) == "hooks.toml":
        return list(read_hooks_toml(path, _guess_scope(path)).diagnostics)
    if os.path.basename(path) == PACK_MANIFEST or os.path.isfile(f"{path}/{PACK_MANIFEST}"):
        return _check_pack(path.removesuffix(f"/{PACK_MANIFEST}"), seen)
    if os.path.basename(path) in MANIFEST_NAMES or (os.path.isfile(path) and path.endswith(".md")):
        return check_folder(os.path.dirname(path), path, seen)
    if os.path.isdir(path):
        manifest = find_manifest(path)
        return check_folder(path, manifest, seen) if manifest else _check_project(path, seen)
    expected = "a HOOK.md, a hook folder, a folder of hooks, a pack, a hooks.toml, a settings.json or a project"
    raise ConfigError(f"{path} is not one of these: {expected}" if os.path.exists(path) else f"{path} does not exist")


def _check_project(path: str, seen: list[Hook]) -> list[Diagnostic]:
    found = [(file, form) for form in HOOK_FORMS for file in form.list_project_files(path)]
    files = [(file, form) for file, form in found if os.path.isfile(file) and mentions_hooks(file, form)]
    diagnostics = check_settings([_read_file(file, form, path) for file, form in files], seen)
    packs = [
        pack for root in (PROJECT_PACKS_FOLDER, PACKS_FOLDER) for pack in find_packs(f"{path}/{root}", PROJECT).packs
    ]
    diagnostics += [problem for pack in packs for problem in _check_pack(pack.path, seen)]
    misplaced = list_lookalike_hooks(path)
    diagnostics += misplaced
    for root, toml in ((".agents/hooks", ".agents/hooks.toml"), ("hooks", "hooks.toml")):
        if os.path.isdir(f"{path}/{root}"):
            config = read_hooks_toml(f"{path}/{toml}", _guess_scope(f"{path}/{toml}"))
            in_root = _check_root(f"{path}/{root}", path, seen)
            return _sort_diagnostics([*diagnostics, *in_root, *config.diagnostics])
    if files or packs or misplaced:
        return diagnostics
    misnamed = find_misnamed_manifest(path)
    if misnamed and os.path.basename(path) != "hooks":
        return [misnamed]
    diagnostics = _check_root(path, path, seen)
    if not diagnostics and not any(find_manifest(entry.path) for entry in os.scandir(path) if entry.is_dir()):
        raise ConfigError(f"no hook was found in {path}")
    return diagnostics


def _check_pack(folder: str, seen: list[Hook]) -> list[Diagnostic]:
    name = "/".join(folder.split("/")[-2:])
    read = read_pack(PackFolder(name, folder, _guess_scope(folder)), folder)
    seen += [hook for hook, _ in read.hooks]
    present = [hook for hook, _ in read.hooks if os.path.isdir(hook.folder)]
    missing = [problem for hook, _ in read.hooks if hook not in present for problem in hook.diagnostics]
    found = [problem for hook in present for problem in check_hook(hook)]
    return _sort_diagnostics([*read.diagnostics, *missing, *found])


def check_settings(files: list[SettingsFile], seen: list[Hook] | None = None) -> list[Diagnostic]:
    diagnostics = [problem for file in files for problem in file.diagnostics]
    for file in files:
        if seen is not None:
            seen += file.hooks
        for hook in file.hooks:
            diagnostics += check_hook(hook)
    return _sort_diagnostics(diagnostics)


def _read_file(path: str, form: HookForm, top: str = "") -> SettingsFile:
    return read_settings(path, _get_settings_scope(path), top, source=form.source.name, form=form)


def _get_settings_scope(path: str) -> str:
    return LOCAL if path.endswith("settings.local.json") else PROJECT


def _check_root(root: str, top: str, seen: list[Hook]) -> list[Diagnostic]:
    level = scan_hooks(root, _guess_scope(root), top)
    diagnostics = [*level.diagnostics, *list_root_misses(root, [])]
    seen += [hook for hook, _ in level.hooks]
    first: dict[str, Hook] = {}
    for hook, _ in level.hooks:
        diagnostics += check_hook(hook)
        other = first.setdefault(hook.name, hook)
        if other is not hook:
            message = f"the hook in {other.folder} has the same name '{hook.name}'; only the first one runs"
            diagnostics.append(Diagnostic(hook.path, None, "name", WARNING, message, "rename one of them"))
    return _sort_diagnostics(diagnostics)


def check_folder(folder: str, manifest: str, seen: list[Hook]) -> list[Diagnostic]:
    hook, _ = read_hook(manifest, folder, _guess_scope(folder))
    seen.append(hook)
    return _sort_diagnostics(check_hook(hook))


def _guess_scope(path: str) -> str:
    """Return the project's scope for a folder in `.agents`; else the user's, which may do more."""
    return PROJECT if "/.agents/" in path + "/" else USER


def check_hook(hook: Hook, tools: tuple[str, ...] = ()) -> list[Diagnostic]:
    if not isinstance(hook.handler, Script):
        return [*hook.diagnostics, *check_settings_hook(hook)]
    diagnostics = [*hook.diagnostics]
    if hook.state_reason == OPENCLAW_HOOK or hook.is_whole_pack:
        return diagnostics
    diagnostics += _check_strong_ask(hook)
    path = find_entry_point(hook.folder)
    if hook.process == SHARED_PROCESS and path is not None and not path.endswith(".py"):
        message = f"'process: {SHARED_PROCESS}' has no effect: the entry point is {os.path.basename(path)}, not run.py"
        diagnostics.append(Diagnostic(hook.path, None, "process", ERROR, message, "remove it, or write scripts/run.py"))
    if path is not None:
        diagnostics += _check_script(hook, path)
    elif not any(diagnostic.message == NO_ENTRY_POINT for diagnostic in diagnostics):
        diagnostics.append(report_no_entry_point(hook))
    if hook.kind is not None and hook.kind.has_tool:
        diagnostics += _check_tool(hook, hook.kind, tools)
    return diagnostics


def _check_strong_ask(hook: Hook) -> list[Diagnostic]:
    if hook.ask != STRONG_ASK or hook.kind is None or hook.kind is PRE_TOOL:
        return []
    if hook.kind.is_pre:
        effect = f"a question of this hook only blocks, because no second factor can be asked for at {hook.kind.name}"
    else:
        effect = f"it has no effect at {hook.kind.name}, where no person can be asked"
    return [Diagnostic(hook.path, None, "ask", WARNING, f"'ask: strong': {effect}", "use it at pre-tool-call")]


def _check_script(hook: Hook, path: str) -> list[Diagnostic]:
    name = f"scripts/{os.path.basename(path)}"
    diagnostics: list[Diagnostic] = []

    def warn(line: int | None, message: str, fix: str = "") -> None:
        diagnostics.append(Diagnostic(path, line, "", WARNING, message, fix))

    if not os.access(path, os.X_OK):
        warn(None, f"{name} is not executable", f"chmod +x {path}")
    elif choose_command(path).warning:
        warn(1, f"{name} has no interpreter line", "begin it with #!/bin/sh or #!/usr/bin/env python3")
    start_error, fix = find_start_error(path)
    if start_error:
        diagnostics.append(Diagnostic(path, 1, "", ERROR, f"{name} cannot be started: {start_error}", fix))
    try:
        data = read_regular(path, MAX_SCRIPT_BYTES)
    except FileError as error:
        warn(None, f"{name} {error}")
        return diagnostics
    if b"\r\n" in data and not start_error:
        warn(data[: data.index(b"\r\n")].count(b"\n") + 1, f"{name} has Windows line ends", "convert it to LF")
    if not hook.background and hook.on_failure != "block" and b"\0" not in data[:1024]:
        line = find_blocking_exit_1(data.decode("utf-8", "replace"))
        if line is not None:
            warn(line, *EXIT_1_WARNING)
    is_for_shell = is_shell_script(path, data)
    can_block = hook.kind is not None and hook.kind.block not in ("none", RECORDED) and not hook.background
    language = "" if b"\0" in data[:1024] else find_language(path, "", is_for_shell=is_for_shell)
    for one in find_mistakes(HookCode(hook, data.decode("utf-8", "replace"), language, can_block)):
        diagnostics.append(Diagnostic(path, one.line, "", one.level, one.message, one.fix))
    if is_for_shell:
        project = hook.folder.partition("/.agents/")[0] if hook.scope == PROJECT else ""
        for found in describe_python_starts(hook, data.decode("utf-8", "replace"), project):
            warn(*found)
    return diagnostics


def _check_tool(hook: Hook, kind: EventKind, tools: tuple[str, ...]) -> list[Diagnostic]:
    tool = hook.matcher.tool
    if tool is None or may_be_server_tool(tool) or any(map(tool.search, tools)):
        return []
    matching = [name for name in list_known_tools() if tool.search(name)]
    if meant := _find_meant_tool(tool):
        where = f"only {', '.join(matching[:_MAX_SHOWN_TOOLS])} of some agents" if matching else "no known tool"
        message = f"the tool pattern '{tool.display_text}' matches {where}: small and capital letters count"
        fix = f"{ask_if_meant(meant)} It holds in every agent"
    elif not matching:
        common = "names in use: Shell, ReadFile, WriteFile, EditFile, Bash, Write, Edit"
        fix = suggest(tool.source.strip("^$()"), list_known_tools(), common, cutoff=0.5)
        message = f"the tool pattern '{tool.source}' matches no known tool; this hook may never run on {kind.name}"
    else:
        return []
    try:
        lines = read_regular(hook.path).decode("utf-8", "replace").splitlines()
    except FileError:
        lines = []
    has_tool = (number for number, line in enumerate(lines, 1) if line.strip().startswith("tool:") or "{tool:" in line)
    return [Diagnostic(hook.path, next(has_tool, None), "matcher.tool", WARNING, message, fix)]


def _find_meant_tool(tool: Pattern) -> str:
    """Return the canonical tool that a pattern would match if case did not count, "" if it matches one as it is."""
    names = {name: (name, find_claude_name(name, "")) for name in TOOL_INPUT_KEYS}
    if any(tool.search(name) for both in names.values() for name in both):
        return ""
    try:
        any_case = compile_pattern(f"(?i:{tool.source})")
    except ConfigError:
        return ""
    return next((ours for ours, both in names.items() if any_case and any(map(any_case.search, both))), "")


def _sort_diagnostics(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    return sorted(dict.fromkeys(diagnostics), key=lambda d: (d.path, d.line or 0, d.level))
