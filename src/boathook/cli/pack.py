"""`boathook pack`: add packs of hooks, show them, remove them, and turn their hooks on and off."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import click

from boathook.assembly import load_catalog
from boathook.cli.common_options import json_option
from boathook.cli.name_completion import PACK_HOOK_NAME
from boathook.cli.person import confirm_change, require_person
from boathook.cli.show import echo, format_count, print_json, print_table
from boathook.core.hook import ARMED, PROJECT, USER, Hook
from boathook.core.near_words import ask_if_meant, suggest
from boathook.errors import ConfigError
from boathook.install.host_files import find_project_top
from boathook.packs.pack_change import CHANGED, GONE, NEW, SAME, PackChange, compare_packs
from boathook.packs.pack_folder import PackContent, read_source_content
from boathook.packs.pack_places import (
    MISSING,
    OK_STATE,
    InstalledPack,
    PackPlace,
    find_user_packs,
    list_installed_packs,
)
from boathook.packs.pack_source import PackSource, find_pack_source, list_pack_sources
from boathook.packs.pack_switches import switch_hooks
from boathook.sources.pack_lock import read_lock
from boathook.sources.pack_md import PackManifest

_PROJECT_HELP = "In this project (.agents/packs, for everyone who works on it) instead of your own folder."
_project_option = click.option("--project", "is_project", is_flag=True, help=_PROJECT_HELP)
_yes_option = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
_MAX_SHOWN = 12
_MISSING_FIX = "Add it again, or forget it with: boathook pack remove {}"


@click.group("pack")
def pack_group() -> None:
    """Add packs of hooks, and turn their hooks on and off.

    \b
    A pack is a folder of hooks that somebody else wrote. Adding one copies its files; nothing of it runs then, and
    nothing updates it later unless you add it again. Its hooks are named OWNER/NAME:HOOK.
    """


@pack_group.command("add")
@click.argument("source", metavar="PACK")
@click.option("--only", metavar="HOOK,…", help="Turn only these hooks on.")
@click.option(
    "--name", metavar="OWNER/NAME", default="", help="The name of a pack in a folder (default: local/FOLDER)."
)
@click.option("--discard", is_flag=True, help="Replace files of the pack that were edited.")
@_project_option
@_yes_option
@json_option
def add_pack(
    source: str, only: str | None, name: str, discard: bool, is_project: bool, yes: bool, as_json: bool
) -> int:
    """Copy a pack to your hooks, or update it.

    PACK is a name, such as boathook/standard, or a folder. Names are those of the packs that are part of boathook, and
    of Python packages that offer some.

    \b
    Examples:
      boathook pack add boathook/standard
      boathook pack add boathook/standard --only git-force,machine
      boathook pack add ./guards --name acme/guards --project
    """
    place = _find_place(is_project=is_project)
    require_person(files=[place.packs_folder])
    found = find_pack_source(source, name)
    content = read_source_content(found)
    old = place.read_pack(found.name)
    change = compare_packs(content, old, read_lock(place.lock_path).get(found.name))
    if change.edited and not discard:
        _refuse_edited_files(change, place.get_pack_path(found.name))
    wanted = _read_only(only, content.manifest)
    if not as_json:
        _print_change(found, content, change, wanted, is_update=old is not None)
    is_changed = not change.is_empty or bool(change.edited)
    question = f"Copy it to {place.get_pack_path(found.name)}?"
    if is_changed and not confirm_change(question, yes=yes):
        return 1
    if is_changed:
        place.add_pack(content, found.origin)
    if wanted:
        switch_hooks(place.config_path, found.name, content.manifest, wanted)
    if as_json:
        print_json(_describe_result(found, content, change, place))
    elif is_changed:
        _print_done(place, found.name, "" if old is not None else _count_on(content.manifest, wanted))
    return 0


def _find_place(*, is_project: bool) -> PackPlace:
    if is_project:
        return PackPlace(PROJECT, f"{find_project_top(os.path.abspath(os.getcwd()))}/.agents")
    return find_user_packs()


def _refuse_edited_files(change: PackChange, path: str) -> None:
    files = ", ".join(change.edited[:_MAX_SHOWN]) + (" …" if len(change.edited) > _MAX_SHOWN else "")
    raise ConfigError(
        f"files of the pack in {path} were edited: {files}. To replace them, add --discard; to keep them, move the pack "
        "to another name"
    )


def _read_only(only: str | None, manifest: PackManifest) -> dict[str, bool]:
    """Return which hooks --only turns on and off."""
    if only is None:
        return {}
    names = [name.strip() for name in only.split(",") if name.strip()]
    for name in names:
        if name not in manifest.hooks:
            raise ConfigError(f"--only: the pack has no hook '{name}': {suggest(name, manifest.hooks)}")
    return {name: name in names for name in manifest.hooks}


def _print_change(
    source: PackSource, content: PackContent, change: PackChange, wanted: dict[str, bool], *, is_update: bool
) -> None:
    manifest = content.manifest
    echo(f"{source.name} {manifest.version} ({source.origin}): {manifest.description}", "bold")
    hooks = dict(content.hooks)
    for state, style in ((NEW, "green"), (CHANGED, "yellow"), (GONE, "bold red")):
        for name in change.list_hooks(state):
            is_on = wanted.get(name, manifest.has_on(name))
            about = hooks[name].description if name in hooks else "it does not guard any more"
            title = state if is_update else "on" if is_on else "off"
            suffix = "" if not is_update or state == GONE else f" ({'on' if is_on else 'off'})"
            echo(f"  {title:<8} {name:<20} {about}{suffix}", style if is_update else "" if is_on else "dim")
    if change.changes_shared_code:
        echo("  changed  lib or PACK.md, which all its hooks use", "yellow")
    same = change.list_hooks(SAME)
    if same:
        echo(f"  {format_count(len(same), 'hook')} as before")
    for path in change.edited:
        echo(f"  your edit of {path} will be lost", "bold red")


def _count_on(manifest: PackManifest, wanted: dict[str, bool]) -> str:
    on = sum(wanted.get(hook, manifest.has_on(hook)) for hook in manifest.hooks)
    return f": {format_count(on, 'hook')} on, {len(manifest.hooks) - on} off"


def _print_done(place: PackPlace, name: str, counts: str) -> None:
    echo(f"added {name} to {place.packs_folder}{counts}", "green")
    if place.scope == PROJECT:
        echo("  trust  boathook trust   (everyone who works on this project reviews its hooks once)")
    echo("  see    boathook pack list")
    echo(f"  on     boathook pack on {name}:HOOK")
    echo(f'  set    [packs."{name}"] in {place.config_path}: on, off, and a table of settings for each hook')


def _describe_result(source: PackSource, content: PackContent, change: PackChange, place: PackPlace) -> dict[str, Any]:
    return {
        "pack": source.name,
        "scope": place.scope,
        "path": place.get_pack_path(source.name),
        "release": content.manifest.version,
        "origin": source.origin,
        "changed": not change.is_empty,
        "hooks": [{"hook": name, "change": state} for name, state in change.hooks],
        "discarded": list(change.edited),
    }


@pack_group.command("list")
@json_option
def list_packs(as_json: bool) -> int:
    """List your packs and those of this project, and the packs that could be added."""
    packs = _list_all()
    sources = list_pack_sources()
    known = {pack.name for pack in packs}
    offered = [source for source in sources if source.name not in known]
    if as_json:
        rows = [_describe_pack(pack) for pack in packs]
        print_json({"packs": rows, "offered": [{"pack": one.name, "origin": one.origin} for one in offered]})
        return 0
    if packs:
        headers = ("PACK", "VERSION", "SCOPE", "ON", "OFF", "STATE")
        print_table(headers, [_make_row(pack) for pack in packs])
    for pack in packs:
        _print_details(pack)
    for source in offered:
        echo(f"{source.name} ({source.origin}) can be added: boathook pack add {source.name}", "dim")
    if not packs and not offered:
        echo("There are no packs.")
    return 0


def _list_all() -> list[InstalledPack]:
    catalog, sources = load_catalog(), list_pack_sources()
    packs = list_installed_packs(_find_place(is_project=False), catalog.hooks, sources)
    project = catalog.find_project("packs")
    if project:
        packs += list_installed_packs(PackPlace(PROJECT, f"{project}/.agents"), catalog.hooks, sources)
    return packs


def _make_row(pack: InstalledPack) -> tuple[str, ...]:
    on = sum(state == "on" for _, state in pack.hooks)
    counts = (str(on), str(len(pack.hooks) - on))
    return (pack.name, pack.version or "?", pack.scope, *counts, ", ".join(pack.states))


def _print_details(pack: InstalledPack) -> None:
    for state in dict.fromkeys(state for _, state in pack.hooks if state != "on"):
        names = [name for name, found in pack.hooks if found == state]
        echo(f"{pack.name}: {'off' if state == 'disabled' else state}: {', '.join(names)}")
    if any(state == "disabled" for _, state in pack.hooks):
        echo(f"to turn one on: boathook pack on {pack.name}:HOOK", "dim")
    if pack.edited:
        echo(f"{pack.name}: edited: {', '.join(pack.edited[:_MAX_SHOWN])}", "yellow")
    if MISSING in pack.states:
        echo(
            f"{pack.name}: {pack.path} is gone, so its hooks do not guard. {_MISSING_FIX.format(pack.name)}", "bold red"
        )
    if pack.newer:
        echo(f"{pack.name}: version {pack.newer} is here: boathook pack add {pack.name}", "yellow")


def _describe_pack(pack: InstalledPack) -> dict[str, Any]:
    return {
        "pack": pack.name,
        "scope": pack.scope,
        "path": pack.path,
        "release": pack.version,
        "description": pack.description,
        "ok": pack.states == (OK_STATE,),
        "states": list(pack.states),
        "hooks": [{"hook": name, "state": state} for name, state in pack.hooks],
        "edited": list(pack.edited),
        "newer": pack.newer or None,
    }


@pack_group.command("remove")
@click.argument("name", metavar="PACK")
@_project_option
@_yes_option
def remove_added_pack(name: str, is_project: bool, yes: bool) -> int:
    """Remove a pack; its hooks do not guard any more."""
    place = _find_place(is_project=is_project)
    require_person(files=[place.packs_folder])
    if not place.has_pack(name) and name not in read_lock(place.lock_path):
        known = [pack.name for pack in _list_all() if pack.scope == place.scope]
        raise ConfigError(f"there is no pack '{name}' in {place.packs_folder}: {suggest(name, known)}")
    hooks = [hook for hook in load_catalog().hooks if hook.pack == name and (hook.scope == USER) != is_project]
    active = [hook for hook in hooks if hook.state == ARMED]
    for hook in active:
        echo(f"  {hook.name} does not guard any more: {hook.description}", "yellow")
    if not confirm_change(f"Remove {name} and its {format_count(len(hooks), 'hook')}?", yes=yes):
        return 1
    place.remove_pack(name)
    echo(f"removed {name}. What {place.config_path} says about it has no effect any more")
    return 0


def _switch(names: tuple[str, ...], *, is_on: bool, is_project: bool, yes: bool) -> int:
    place = _find_place(is_project=is_project)
    require_person(files=[place.config_path])
    catalog = load_catalog()
    packs: dict[str, dict[str, bool]] = {}
    manifests: dict[str, PackManifest] = {}
    for name in names:
        pack, _, hook = name.rpartition(":")
        found = [one for one in catalog.hooks if one.pack and one.pack == pack]
        if not found:
            raise ConfigError(f"there is no hook '{name}': {_suggest_hook(name, catalog.hooks)}")
        hooks = {one.short_name: one.is_on for one in found}
        if hook not in hooks:
            raise ConfigError(f"the pack '{pack}' has no hook '{hook}': {suggest(hook, hooks)}")
        default = tuple(one for one, has_on in hooks.items() if has_on)
        manifests[pack] = PackManifest(pack, hooks=tuple(hooks), default=default)
        packs.setdefault(pack, {})[hook] = is_on
    if not is_on and not confirm_change(f"Turn {', '.join(names)} off?", yes=yes):
        return 1
    for pack, wanted in packs.items():
        changed = switch_hooks(place.config_path, pack, manifests[pack], wanted)
        word = "on" if is_on else "off"
        text = f"turned {word}" if changed else f"already {word}"
        echo(f"{text}: {', '.join(f'{pack}:{hook}' for hook in wanted)} (in {place.config_path})")
    return 0


def _suggest_hook(name: str, hooks: Iterable[Hook]) -> str:
    """Return how to write the name of a hook in a pack: people leave the pack or the hook out."""
    known = sorted({one.name for one in hooks if one.pack})
    packs = dict.fromkeys(one.rpartition(":")[0] for one in known)
    if pack := next((one for one in packs if name in (one, one.rpartition("/")[2])), ""):
        return f"it is a pack: name its hooks, as in {pack}:HOOK; boathook pack list shows which are on"
    near = [one for one in known if one.endswith(f":{name}")]
    return ask_if_meant(near[0]) if near else suggest(name, known, "boathook pack list shows the packs")


_names_argument = click.argument("names", nargs=-1, required=True, metavar="PACK:HOOK...", type=PACK_HOOK_NAME)


@pack_group.command("on")
@_names_argument
@_project_option
@_yes_option
def turn_on(names: tuple[str, ...], is_project: bool, yes: bool) -> int:
    """Turn hooks of a pack on, in hooks.toml."""
    return _switch(names, is_on=True, is_project=is_project, yes=yes)


@pack_group.command("off")
@_names_argument
@_project_option
@_yes_option
def turn_off(names: tuple[str, ...], is_project: bool, yes: bool) -> int:
    """Turn hooks of a pack off, in hooks.toml; they do not guard any more."""
    return _switch(names, is_on=False, is_project=is_project, yes=yes)
