"""Which files of hooks a source loads, and which belong to an agent that runs them itself."""

from __future__ import annotations

import os

from boathook.core.hook import USER, WARNING, Diagnostic
from boathook.hosts.host import list_host_names, load_host, load_module
from boathook.sources.agent_forms.hook_form import SETTINGS_FORM, HookForm
from boathook.sources.hooks_toml import read_hooks_toml
from boathook.sources.source import SOURCES, choose_sources
from boathook.system.locations import CONFIG_FOLDER, read_environment, resolve_folder

_PLUGIN_MARKERS = (".claude-plugin", "plugin.json")
_SETTINGS_PLACES = ".claude/settings.json of the project, or ~/.claude/settings.json"


def find_load_problem(path: str, form: HookForm | None, guess: HookForm) -> Diagnostic | None:
    """Return a warning if no hook of a file runs, because nothing loads it or its form is not enabled; None if they run.

    `form` is known by the place of the file, `guess` by what is in it.
    """
    owner, fix = (
        find_other_owner(path),
        "boathook cannot read this form; write the hooks as HOOK.md: boathook new --help",
    )
    if form is not None and not form.source.is_default:
        config = f"{resolve_folder(CONFIG_FOLDER, read_environment())}/hooks.toml"
        rules = read_hooks_toml(config, USER).source_rules
        enabled = choose_sources(rules, os.path.realpath(os.path.dirname(path)))
        if form.source.without in enabled:
            return None
        names = ", ".join(f'"{name}"' for name in (*enabled, form.source.without))
        owner = form.title
        fix = f"to run them in every agent, write sources = [{names}] under [hooks] in {config}"
    if owner:
        message = f"boathook does not load this file: it belongs to {owner}, which runs its hooks itself"
        return Diagnostic(path, None, "", WARNING, message, fix)
    if is_loaded_file(path):
        return None
    message = "nothing loads this file, so none of its hooks runs"
    if guess is SETTINGS_FORM:
        return Diagnostic(path, None, "", WARNING, message, f"hooks of this form belong in {_SETTINGS_PLACES}")
    source = guess.source
    ending = "/*.json" if guess.lists_folder else ""
    below = f"{source.user_folder.default}{source.user_folder.below}".strip("/")
    user_files = [f"~/{below}/{marker.rpartition('/')[2]}{ending}" for marker in source.markers]
    places = " or ".join([f"{source.markers[0].removeprefix('/')}{ending} of the project", user_files[0]])
    return Diagnostic(
        path, None, "", WARNING, f"{message}; it looks like hooks of {guess.title}", f"these belong in {places}"
    )


def is_loaded_file(path: str) -> bool:
    """Whether a file is where a source looks for hooks: in a project, in a folder of the user, or in a plugin."""
    folder, name = os.path.split(path)
    if name == "hooks.json" and any(os.path.exists(f"{folder}/../{marker}") for marker in _PLUGIN_MARKERS):
        return True
    env = read_environment()
    for source in SOURCES:
        names = [marker.rpartition("/")[2] for marker in source.markers]
        if path.endswith(source.markers) or (name in names and folder == resolve_folder(source.user_folder, env)):
            return True
    return False


def find_other_owner(path: str) -> str:
    """Return the title of the agent whose own file of hooks this is; "" if it is no agent's, or a source reads it."""
    if is_loaded_file(path):
        return ""
    for name in list_host_names():
        file = load_module(name).make_setup().project_file
        if file.endswith(".json") and path.endswith(f"/{file}"):
            return load_host(name).title
    return ""
