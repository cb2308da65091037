"""The hooks of Claude Code's plugins: those that settings files enable and that are installed."""

from __future__ import annotations

import json
import os
from itertools import islice
from typing import Any

from boathook.core.hook import ERROR, PLUGIN, PROJECT, USER, WARNING, Diagnostic
from boathook.sources.hook_md.folder import is_same_folder
from boathook.sources.settings_json.settings_file import LOCAL, SettingsFile, read_settings
from boathook.system.files import FileError, may_exist, read_text

MAX_PLUGINS = 400


def load_plugins(claude: str, project: str, files: list[SettingsFile]) -> tuple[list[SettingsFile], list[str]]:
    scopes = _find_plugin_scopes(files)
    if not claude or not scopes:
        return [], []
    register = f"{claude}/plugins/installed_plugins.json"
    installed, error = _read_register(register)
    if error:
        return [_report(register, USER, ERROR, "", f"installed_plugins.json {error}; no plugin hook runs")], [register]
    plugins, watch = [], [register]
    if len(scopes) > MAX_PLUGINS:
        message = f"more than {MAX_PLUGINS} plugins are enabled; the hooks of the rest do not run"
        plugins.append(_report(register, USER, ERROR, "", message))
    for name, scope in islice(scopes.items(), MAX_PLUGINS):
        root = _find_folder(installed.get(name), project)
        if root:
            path = f"{root}/hooks/hooks.json"
            watch.append(path)
            plugins.append(read_settings(path, scope, root=root, source=PLUGIN))
        else:
            message = f"the plugin '{name}' is enabled but not installed here: its hooks do not run"
            plugins.append(_report(register, scope, WARNING, name, message))
    return plugins, watch


def list_kept_plugins(files: list[SettingsFile]) -> list[Diagnostic]:
    """Return a warning for every plugin of the user that a file of the project tries to disable."""
    users = {name for file in files if file.scope == USER for name, is_on in file.plugins if is_on}
    message = "a project cannot disable your plugins; '{}' stays enabled"
    return [
        Diagnostic(file.path, None, "enabledPlugins", WARNING, message.format(name))
        for file in files
        if file.scope != USER
        for name, is_on in file.plugins
        if not is_on and name in users
    ]


def _report(path: str, scope: str, level: str, key: str, message: str) -> SettingsFile:
    return SettingsFile(path, scope, diagnostics=(Diagnostic(path, None, key, level, message),))


def _find_plugin_scopes(files: list[SettingsFile]) -> dict[str, str]:
    """Return the enabled plugins and the scope that enabled each; a project cannot disable those of the user."""
    scopes: dict[str, str] = {}
    for file in files:
        for name, is_on in file.plugins:
            if is_on:
                scopes.setdefault(name, PROJECT if file.scope == LOCAL else file.scope)
            elif scopes.get(name) == PROJECT:
                del scopes[name]
    return scopes


def _read_register(path: str) -> tuple[dict[str, Any], str]:
    """Return the installed plugins, and an error or ""; a missing register is empty."""
    try:
        plugins = json.loads(read_text(path)).get("plugins", {})
    except FileError as error:
        return {}, str(error) if may_exist(path) else ""
    except (ValueError, AttributeError, RecursionError):
        return {}, "is not a JSON object"
    return (plugins, "") if isinstance(plugins, dict) else ({}, "has no object 'plugins'")


def _find_folder(plugin: Any, project: str) -> str:
    """Return the folder of an installed plugin. Older registers have one object for a plugin, newer ones a list of them."""
    installs = [one for one in (plugin if isinstance(plugin, list) else [plugin]) if isinstance(one, dict)]
    of_project = [one for one in installs if _is_project(one.get("projectPath"), project)]
    of_user = [one for one in installs if one.get("projectPath") is None]
    paths = [one.get("installPath") for one in (*of_project, *of_user)]
    return next((path.rstrip("/") for path in paths if isinstance(path, str) and os.path.isabs(path)), "")


def _is_project(path: Any, project: str) -> bool:
    return isinstance(path, str) and bool(path and project) and is_same_folder(path, project)
