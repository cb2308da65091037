"""Codex runs a hook only if its config.toml holds the hash of that very entry, by the place where it stands."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from typing import Any

from boathook.install.command_line import is_ours
from boathook.install.formats import TRUST, Part
from boathook.install.json_edit import Editor
from boathook.install.setups import Setup

WITHOUT_MATCHER = ("UserPromptSubmit", "Stop")


def trust_of(event: str, handler: dict[str, Any], matcher: str | None = None) -> str:
    """Return the hash of an entry: of its canonical JSON, as Codex fills it in.

    Proved with codex 0.166.0: entries with these hashes run without being asked about.
    """
    whole: dict[str, Any] = {"async": False, **handler}
    identity: dict[str, Any] = {"event_name": label(event), "hooks": [whole]}
    if matcher is not None and event not in WITHOUT_MATCHER:
        identity["matcher"] = matcher
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def label(event: str) -> str:
    """Return an event's name as the keys of trust spell it."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()


def trust_part(setup: Setup, home: str, hooks: str, text: str) -> Part:
    """Return what config.toml is to say so that our entries in a hooks.json run."""
    wanted: dict[tuple[str, ...], dict[str, Any]] = {}
    for event, at, group in _items(Editor(text).get("hooks")):
        for _, index, handler in _items({event: group.get("hooks")}):
            if is_ours(handler.get("command"), setup.name):
                hashed = {"trusted_hash": trust_of(event, handler, group.get("matcher"))}
                for path in ways_to(hooks):
                    wanted["hooks", "state", f"{path}:{label(event)}:{at}:{index}"] = hashed
    return Part(os.path.join(home, "config.toml"), TRUST, setup, wanted)


def _items(lists: Any) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Return the objects in lists by event, with their places."""
    for event, items in lists.items() if isinstance(lists, dict) else ():
        found: list[Any] = items if isinstance(items, list) else []
        yield from ((event, at, item) for at, item in enumerate(found) if isinstance(item, dict))


def ways_to(path: str) -> tuple[str, ...]:
    """Return the paths that Codex may call a file: it resolves links in $CODEX_HOME, but none in ~/.codex."""
    folder, name = os.path.split(path)
    return tuple(dict.fromkeys((path, os.path.join(os.path.realpath(folder), name))))
