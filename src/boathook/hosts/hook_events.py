"""The events of an agent as the hooks in its own files see them: what a matcher asks, and what an answer can do."""

from __future__ import annotations

from boathook.hosts.claude_events import CLAUDE_EVENTS_BY_KIND, HookEvent
from boathook.hosts.host import load_host

_FAILURE = "post-tool-call-failure"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from boathook.hosts.host import Host, HostEvent


def make_hook_event(host: Host, event: HostEvent) -> HookEvent:
    """Return the row of an event; what is not in the agent's own row is as in Claude Code at the same kind of event."""
    like = CLAUDE_EVENTS_BY_KIND.get(event.kind_name) or HookEvent(event.name, event.kind_name)
    theirs = {ours: theirs for theirs, ours in event.renames}
    ours = dict(like.renames)
    named = [(theirs.get(ours.get(key, key), key), value) for key, value in like.filled]
    known = {key for key, _ in (*event.hook_fields, *host.own.fields)}
    # An event of one tool has the input of this tool at the top.
    known |= {"tool_name", "tool_input"} if event.input_keys else set()
    filled = [(key, value) for key, value in named if key not in known]
    return HookEvent(
        event.name,
        event.kind_name,
        event.own.subject or like.subject,
        refuses=bool(event.block),
        context=bool(event.context),
        plain=event.plain_context,
        continues_agent=event.continues_agent,
        renames=event.renames,
        filled=(*filled, *event.hook_fields, *host.own.fields),
        tools=event.own.tools,
        matches_input=event.own.matches_input,
        has_names=event.own.has_names,
        note=event.own.note,
    )


def list_failure_events(name: str) -> dict[str, HookEvent]:
    """Return a second row for every event that an agent also sends if the tool failed, because that is another kind here."""
    host = load_host(name)
    rows = [make_hook_event(host, one) for one in host.events if one.failure_at]
    return {row.name: row.replace(kind_name=_FAILURE, label=f"{row.name}-failure") for row in rows}


def list_hook_events(name: str) -> dict[str, HookEvent]:
    """Return the rows of an agent's events by each of their names."""
    host = load_host(name)
    return {spelling: make_hook_event(host, one) for one in host.events for spelling in (one.name, *one.other_names)}
