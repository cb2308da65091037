"""A host's table as plain values for the compiled catalogue: the door asks it without importing any of this package."""

from __future__ import annotations

from boathook.core.event import SPELLINGS
from boathook.core.tool_names import CLAUDE_TOOLS, KNOWN_TOOLS, find_canonical_name, find_claude_name
from boathook.hosts.host import list_derived_kinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from boathook.hosts.host import Host, HostEvent


def lean(host: Host) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what each name of an event comes to, and what each tool is called here."""
    names = {*SPELLINGS, *(name for row in host.events for name in (row.name, *row.other_names))} - {
        *host.unmapped_events
    }
    rows = {name: host.find_event(name) for name in sorted(names)}
    tools: dict[str, Any] = {}
    for theirs, (ours, renames) in host.tools.items():
        tools[theirs] = (tuple(dict.fromkeys((ours, theirs, find_claude_name(ours, theirs)))), renames)
    return {name: _event(host, row) for name, row in rows.items() if row is not None}, tools


def others() -> dict[str, Any]:
    """Return what a tool is called here that no table knows, under the names that it has anywhere."""
    found = {
        name: (find_canonical_name(name), name, find_claude_name(find_canonical_name(name), name))
        for name in (*KNOWN_TOOLS, *CLAUDE_TOOLS)
    }
    return {name: (tuple(dict.fromkeys(names)), ()) for name, names in found.items()}


def _event(host: Host, row: HostEvent) -> tuple[Any, ...]:
    """Return the kinds an event may come to, a field it needs, and where it has a tool's name and input."""
    has_tool = row.kind.has_tool
    places = {
        ours: (ours, *(theirs for theirs, name in row.renames if name == ours)) for ours in ("tool_name", "tool_input")
    }
    kinds = (*row.kind_names, *list_derived_kinds(host, row))
    return kinds, row.required_key, places["tool_name"] if has_tool else (), places["tool_input"] if has_tool else ()
