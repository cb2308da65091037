"""What the hosts can do, side by side: for the command `hosts` and the reference."""

from __future__ import annotations

from boathook.core.event import KINDS
from boathook.hosts.host import (
    CAPABILITIES,
    DERIVED_KINDS,
    Host,
    HostEvent,
    list_derived_kinds,
    list_host_names,
    load_host,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from boathook.hosts.host import Template

LETTERS = dict(zip(CAPABILITIES, "BALXIOC", strict=True))
GO_ON = "G"
MADE = "~"
SEEN = "upper case: seen in a run of the agent; lower case: known only from its documentation"
LEGEND = (
    ("B", "block"),
    ("G", "send the agent back to work"),
    ("A", "ask a person"),
    ("L", "allow without asking"),
    ("X", "end the run"),
    ("I", "rewrite the input"),
    ("O", "rewrite the output"),
    ("C", "add context for the model"),
    ("·", "hooks run, but the agent takes no answer"),
    (MADE, "derived from another event; hooks run, but only you see their answers"),
    ("–", "no such event"),
)


def letters(host: Host, row: HostEvent | None) -> str:
    if row is None:
        return "–"
    found = ""
    for what in CAPABILITIES:
        letter = GO_ON if what == "block" and row.continues_agent else LETTERS[what]
        if row.get_template(what):
            found += letter if host.version and what not in row.documented else letter.lower()
    return found or "·"


def capabilities() -> list[tuple[str, ...]]:
    hosts = [load_host(name) for name in list_host_names()]
    rows: list[tuple[str, ...]] = []
    for kind in KINDS:
        found = [next((row for row in host.events if kind.name in row.kind_names), None) for host in hosts]
        if not any(found) and kind.name not in DERIVED_KINDS:
            continue
        cells: list[str] = []
        for host, row in zip(hosts, found, strict=True):
            is_made = row is None and any(kind.name in list_derived_kinds(host, one) for one in host.events)
            cells.append(MADE if is_made else letters(host, row))
        rows.append((kind.name, *cells))
    return rows


def spoken(saying: Template) -> str:
    parts = [f"{place} {'…' if value == '$' else _word(value)}" for place, value in saying]
    return ", ".join(parts)


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def to_json(host: Host) -> dict[str, Any]:
    return {
        "name": host.name,
        "title": host.title,
        "evidence": host.evidence,
        "version": host.version or None,
        "events": [_event(host, row) for row in host.events],
        "elsewhere": list(host.unmapped_events),
        "tools": {
            name: {"tool": ours, "keys": {key: place for place, key in reversed(renames) if place}}
            for name, (ours, renames) in host.tools.items()
        },
    }


def _event(host: Host, row: HostEvent) -> dict[str, Any]:
    can = [what for what in CAPABILITIES if row.get_template(what)]
    return {
        "name": row.name,
        "event": row.kind_name,
        "can": {what: dict(row.get_template(what)) for what in can},
        "documented": [what for what in can if not host.version or what in row.documented],
    }
