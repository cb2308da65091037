"""Hosts as plain values for the compiled catalogue: the fast path reads these without importing any host."""

from __future__ import annotations

from boathook.core.event import OTHER_NAMES, SPELLINGS
from boathook.dialects.answers import OBJECT, TEXT
from boathook.dialects.dialect import NATIVE, find_host_dialect
from boathook.dialects.native import FIELD_TYPES
from boathook.hosts.host import Host, HostEvent, list_derived_kinds, list_host_names, load_host
from boathook.hosts.tool_names import FAMILIAR_TOOLS, find_aliases, find_canonical_name, list_known_tools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from boathook.core.event import EventKind
    from boathook.hosts.host import Renames


def make_host_sections() -> dict[str, Any]:
    events = {
        spelling: ((kind.name,), "", "", *_find_tool_places(kind.has_tool, ()), True, _find_field_places(kind, ()))
        for spelling, kind in SPELLINGS.items()
    }
    tools = {name: ((name, other), ()) for name, other in OTHER_NAMES.items()}
    sections: dict[str, Any] = {f"host {NATIVE}": (_make_native_rule(), events, tools)}
    for name in list_host_names():
        host = load_host(name)
        sections[f"host {name}"] = (_make_rule(host), _list_events(host), _list_tools(host))
    return sections


def make_tools_section() -> dict[str, Any]:
    names = {
        name: (find_canonical_name(name), *find_aliases(find_canonical_name(name), name))
        for name in (*list_known_tools(), *FAMILIAR_TOOLS)
    }
    return {name: (tuple(dict.fromkeys(all_names)), ()) for name, all_names in names.items()}


def _make_native_rule() -> dict[str, Any]:
    dialect = find_host_dialect(NATIVE)
    return {
        "event_keys": ("event_type",),
        "text_keys": tuple(key for key, field_type in FIELD_TYPES.items() if field_type == TEXT),
        "object_keys": tuple(key for key, field_type in FIELD_TYPES.items() if field_type == OBJECT),
        "folder_keys": ("work_dir",),
        "session_keys": ("session_id",),
        "hides_messages": dialect.hides_messages,
        "foreign_keys": (),
        "project_at": dialect.project_at,
        "knows_all_tools": False,
        "server_tool": "",
        "server_places": (),
        "server_callers": {},
        "answer": dialect.write_nothing().stdout,
    }


def _make_rule(host: Host) -> dict[str, Any]:
    return {
        "event_keys": host.event_keys,
        "text_keys": (*host.event_keys, *host.session_keys, *host.folder_keys),
        "object_keys": (),
        "folder_keys": host.folder_keys,
        "session_keys": host.session_keys,
        "hides_messages": bool(host.message_unseen),
        "foreign_keys": host.foreign_keys,
        "project_at": host.project_at,
        # A tool that is none of the host's may be that of another one.
        "knows_all_tools": True,
        "server_tool": host.server_tool,
        "server_places": host.server_places,
        "server_callers": dict(host.server_callers),
        "answer": find_host_dialect(host.name).write_nothing().stdout,
    }


def _list_events(host: Host) -> dict[str, Any]:
    names = {*SPELLINGS, *(name for event in host.events for name in (event.name, *event.other_names))}
    events = {name: host.find_event(name) for name in sorted(names - {*host.unmapped_events})}
    # An event that may come twice is for the engine, which knows what is installed.
    once = {name: event for name, event in events.items() if event is not None and event.same_call_as is None}
    return {name: _describe_event(host, event) for name, event in once.items()}


def _describe_event(host: Host, event: HostEvent) -> tuple[Any, ...]:
    kinds = (*event.kind_names, *list_derived_kinds(host, event))
    places = _find_tool_places(event.kind.has_tool, event.renames)
    field_places = _find_field_places(event.kind, event.renames)
    return (kinds, event.required_key, event.tool_name, *places, event.reaches_model, field_places)


def _find_tool_places(has_tool: bool, renames: tuple[tuple[str, str], ...]) -> tuple[tuple[str, ...], ...]:  # noqa: FBT001
    if not has_tool:
        return (), ()
    return tuple((ours, *(theirs for theirs, name in renames if name == ours)) for ours in ("tool_name", "tool_input"))


def _find_field_places(kind: EventKind, renames: Renames) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return where a payload has the fields that matchers ask about."""
    places = ((ours, *(theirs for theirs, name in renames if name == ours)) for ours in kind.matched_fields)
    return tuple((names[0], names) for names in places)


def _list_tools(host: Host) -> dict[str, Any]:
    return {
        theirs: (tuple(dict.fromkeys((ours, *find_aliases(ours, theirs)))), renames)
        for theirs, (ours, renames) in host.tools.items()
    }
