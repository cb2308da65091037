"""Writing the compiled catalogue: see `boathook.catalog_cache.format` for what it is and who reads it."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from boathook import version
from boathook.catalog_cache.format import compiled_path, list_fixed_paths, pack
from boathook.catalog_cache.host_section import make_host_sections, make_tools_section
from boathook.core.catalog import UNTRUSTED_STATES, Catalog, can_take_part, should_report_skip
from boathook.core.event import KINDS, RESET_KINDS, EventKind
from boathook.core.hook import BuiltIn, Hook, hook_to_data
from boathook.core.prefilter import EQUALS, GRAM_CHARS, PrefilterWords, index_words
from boathook.hosts import host as hosts
from boathook.hosts import tool_names as tools
from boathook.hosts.host import list_host_names
from boathook.system.files import write_private
from boathook.system.locations import Locations
from boathook.system.machine_id import MACHINE_FILE, find_machine_id
from boathook.system.programs import make_stamp

if TYPE_CHECKING:
    from boathook.sources.source import SourceRules

RACY_SECONDS = 2.0
_HOSTS_FOLDER = os.path.dirname(hosts.__file__)


def write_compiled(
    catalog: Catalog,
    watch: tuple[str, ...],
    locations: Locations,
    started: float,
    trusted_folders: tuple[str, ...] = (),
    racy_seconds: float | None = None,
) -> bool:
    """Keep a catalogue for the next start, and return whether that was possible. Never raises for what the disk does."""
    # `started` is when reading began: what changed shortly before or since may change again unnoticed. `trusted_folders` are
    # those in which hooks are trusted, whether or not any are there.
    head: dict[str, Any] = {
        "gram": GRAM_CHARS,
        "projects": catalog.projects,
        "with_tool": tuple(kind.name for kind in KINDS if kind.has_tool),
        "reset_kinds": tuple(kind.name for kind in RESET_KINDS),
        "settings": catalog.settings.to_tuple(),
        "is_warm": catalog.settings.warm == "on",
        "diagnostics": tuple(diagnostic.to_tuple() for diagnostic in catalog.diagnostics),
        "counts": catalog.counts,
        "is_judged": catalog.is_judged,
        "user_folders": catalog.user_folders,
        "trusted_keys": catalog.trusted_keys,
        "trusted_digest": catalog.trusted_digest,
        "trusted_folders": (trusted_folders, locations.list_around(trusted_folders)),
        "source_rules": catalog.settings.source_rules,
        "hook_set": catalog.hook_set,
        "boathook": version.__version__,
    }
    sections: dict[str, Any] = {}
    for kind in KINDS:
        hooks = catalog.find_hooks(kind)
        sections[f"rows {kind.name}"] = _make_rows(catalog, hooks, kind)
        built_in = tuple(hook for hook in catalog.built_in if hook.kind is kind)
        sections[f"built-in {kind.name}"] = _list_filter_rows(built_in)
        sections[f"hooks {kind.name}"] = tuple(map(hook_to_data, (*hooks, *built_in)))
    sections |= make_host_sections()
    sections["tools"] = make_tools_section()
    return _write_file(head, sections, watch, locations, started, racy_seconds)


def write_source_rules(rules: SourceRules, locations: Locations, started: float) -> bool:
    """Keep only which sources are enabled, where the default ones alone would be looked for: see `load_compiled`."""
    head = {"source_rules": rules, "trusted_folders": ((), ())}
    return _write_file(head, {}, (f"{locations.config}/hooks.toml",), locations, started)


def _write_file(
    head: dict[str, Any],
    sections: dict[str, Any],
    watch: tuple[str, ...],
    locations: Locations,
    started: float,
    racy_seconds: float | None = None,
) -> bool:
    path = compiled_path(locations)
    stamps = tuple((name, make_stamp(name)) for name in watch)
    newest = max((found[0] for _, found in stamps if found), default=0)
    # An upgrade writes the file of the version; the same version may come with other tables.
    modules = [f"{_HOSTS_FOLDER}/{name.replace('-', '_')}.py" for name in list_host_names()]
    modules += (version.__file__, tools.__file__, _HOSTS_FOLDER)
    fixed_paths = [path for path in list_fixed_paths(locations) if path not in watch]
    # Which sources are enabled does not depend on any table.
    stamps += tuple((name, make_stamp(name)) for name in (*(modules if sections else ()), *fixed_paths))
    age = RACY_SECONDS if racy_seconds is None else racy_seconds
    if path is None or newest / 1e9 > min(started, time.time()) - age:
        return False
    if sections:
        # With its folder, because a catalogue that trusts all hooks is for all state folders.
        head = {**head, "machine": (locations.state, find_machine_id(locations.state))}
        machine_path = f"{locations.state}/{MACHINE_FILE}"
        stamps += ((machine_path, make_stamp(machine_path)),)
    try:
        write_private(path, pack({"key": locations.key, "watch": stamps, **head}, sections))
    except (OSError, ValueError):
        return False
    return True


def _make_rows(catalog: Catalog, hooks: tuple[Hook, ...], kind: EventKind) -> tuple[Any, ...] | None:
    """Return what the fast path asks: words of the patterns, per tools, kinds and fields, or without a tool per hook.

    None: the engine must see every event.
    """
    active = [hook for hook in hooks if _is_active(hook)]
    has_skips = any(should_report_skip(hook) and not _is_active(hook) for hook in hooks)
    has_errors = any(diagnostic.level == "error" for diagnostic in catalog.diagnostics)
    needs_all = catalog.settings.debug or catalog.settings.record == "whole"
    if has_skips or has_errors or needs_all:
        return None
    if not kind.has_tool:
        field_rows = tuple(_list_field_words(hook) for hook in active)
        # A hook without such words may be for every event.
        return field_rows if all(field_rows) else None
    rows: dict[Any, Any] = {}
    for hook in active:
        tool = _tool_words(hook.matcher.tool.words if hook.matcher.tool else None, hook)
        key = tool, _list_field_words(hook)
        words = hook.matcher.pattern.words if hook.matcher.pattern else None
        if words is None or rows.get(key, ()) is None:
            rows[key] = None
        else:
            rows[key] = rows.get(key, ()) + words.any_of
    return tuple((*key, None if words is None else index_words(words)) for key, words in rows.items())


def _list_field_words(hook: Hook) -> tuple[Any, ...]:
    """Return per field of a matcher the texts of which it must be one, or of which it must contain one."""
    words = [(name, pattern.words) for name, pattern in hook.matcher.fields if pattern.words]
    return tuple((name, *((one.any_of, ()) if one.proof == EQUALS else ((), one.any_of))) for name, one in words)


def _list_filter_rows(hooks: tuple[Hook, ...]) -> tuple[Any, ...]:
    return tuple(hook.handler.filter_row for hook in hooks if isinstance(hook.handler, BuiltIn) and _is_active(hook))


def _is_active(hook: Hook) -> bool:
    # Untrusted hooks are reported when they match, as if they ran.
    return can_take_part(hook) or hook.state in UNTRUSTED_STATES


def _tool_words(words: PrefilterWords | None, hook: Hook) -> tuple[Any, Any, Any]:
    kinds = hook.matcher.tool_kinds
    if hook.matcher.tool is None or words is None:
        return (None, (), kinds)
    return (words.any_of, (), kinds) if words.proof == EQUALS else ((), words.any_of, kinds)
