"""Codex runs a hook only if its config.toml holds the hash of that exact entry, under the location of the entry."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from typing import Any

from boathook.hosts.setup import Setup
from boathook.install.command_line import is_installed_command
from boathook.install.formats import TRUST_TABLES, HostFile
from boathook.install.json_edit import JsonEditor

# the table in config.toml with the trust of entries
ENTRY_TRUST_TABLE = ("hooks", "state")
_EVENTS_WITHOUT_MATCHER = ("UserPromptSubmit", "Stop")


def compute_trust_hash(event: str, handler: dict[str, Any], matcher: str | None = None) -> str:
    """Return the hash of an entry's canonical JSON, with the defaults that Codex fills in (tested with codex 0.166.0)."""
    complete: dict[str, Any] = {"async": False, **handler}
    identity: dict[str, Any] = {"event_name": make_event_label(event), "hooks": [complete]}
    if matcher is not None and event not in _EVENTS_WITHOUT_MATCHER:
        identity["matcher"] = matcher
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def make_event_label(event: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()


def make_trust_file(setup: Setup, home: str, hooks: str, text: str) -> HostFile:
    wanted: dict[tuple[str, ...], dict[str, Any]] = {}
    for event, at, group in _iter_objects(JsonEditor(text).get("hooks")):
        for _, index, handler in _iter_objects({event: group.get("hooks")}):
            if is_installed_command(handler.get("command"), setup.name):
                trust = {"trusted_hash": compute_trust_hash(event, handler, group.get("matcher"))}
                for path in _list_path_spellings(hooks):
                    wanted[*ENTRY_TRUST_TABLE, f"{path}:{make_event_label(event)}:{at}:{index}"] = trust
    return HostFile(os.path.join(home, "config.toml"), TRUST_TABLES, setup, wanted)


def _iter_objects(lists: Any) -> Iterator[tuple[str, int, dict[str, Any]]]:
    for event, items in lists.items() if isinstance(lists, dict) else ():
        for at, item in enumerate(items if isinstance(items, list) else ()):
            if isinstance(item, dict):
                yield event, at, item


def _list_path_spellings(path: str) -> tuple[str, ...]:
    """Return the paths that Codex may use for a file: it resolves links in $CODEX_HOME, but not in ~/.codex."""
    folder, name = os.path.split(path)
    return tuple(dict.fromkeys((path, os.path.join(os.path.realpath(folder), name))))
