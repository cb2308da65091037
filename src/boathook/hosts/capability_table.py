"""What the hosts can do, side by side: for the command `hosts` and the reference."""

from __future__ import annotations

from boathook.core.event import KINDS
from boathook.hosts import host as h
from boathook.hosts.host import CAPABILITIES, Host, HostEvent, load_host

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Each capability: its letter in the table, and what it is.
CAPABILITY_WORDS = {
    "block": ("B", "block"),
    "ask": ("A", "ask a person"),
    "allow": ("L", "allow without asking"),
    "stop": ("X", "end the run"),
    "input": ("I", "rewrite the input"),
    "output": ("O", "rewrite the output"),
    "context": ("C", "add context for the model"),
}
# what a block is at a stop
CONTINUE_WORDS = ("G", "send the agent back to work")
_DERIVED = "~"
LEGEND = (
    CAPABILITY_WORDS["block"],
    CONTINUE_WORDS,
    *[words for name, words in CAPABILITY_WORDS.items() if name != "block"],
    ("·", "hooks run, but the agent takes no answer"),
    (_DERIVED, "derived from another event; hooks run, but only you see their answers"),
    ("–", "no such event"),
)
CASE_LEGEND = "upper case: seen in a run of the agent; lower case: known only from its documentation"


def format_capabilities(host: Host, row: HostEvent | None) -> str:
    if row is None:
        return "–"
    letters = ""
    for name in CAPABILITIES:
        letter, _ = CONTINUE_WORDS if name == "block" and row.continues_agent else CAPABILITY_WORDS[name]
        if row.get_template(name):
            letters += letter if host.version and not row.is_untested(name) else letter.lower()
    return letters or "·"


def make_capability_table() -> list[tuple[str, ...]]:
    hosts = [load_host(name) for name in h.list_host_names()]
    lines: list[tuple[str, ...]] = []
    for kind in KINDS:
        rows = [h.find_row(host, kind.name) for host in hosts]
        if not any(rows) and kind.name not in h.DERIVED_KINDS:
            continue
        cells: list[str] = []
        for host, row in zip(hosts, rows, strict=True):
            is_derived = row is None and any(kind.name in h.list_derived_kinds(host, one) for one in host.events)
            cells.append(_DERIVED if is_derived else format_capabilities(host, row))
        lines.append((kind.name, *cells))
    return lines


def host_to_json(host: Host) -> dict[str, Any]:
    return {
        "name": host.name,
        "title": host.title,
        "evidence": host.evidence,
        "version": host.version or None,
        "events": [_event_to_json(host, row) for row in host.events],
        "unmapped_events": list(host.unmapped_events),
        "tools": {
            name: {"tool": ours, "keys": {key: place for place, key in reversed(renames) if place}}
            for name, (ours, renames) in host.tools.items()
        },
    }


def _event_to_json(host: Host, row: HostEvent) -> dict[str, Any]:
    templates = {name: dict(row.get_template(name)) for name in CAPABILITIES if row.get_template(name)}
    return {
        "name": row.name,
        "event": row.kind_name,
        "capabilities": templates,
        "untested": [name for name in templates if not host.version or row.is_untested(name)],
    }
