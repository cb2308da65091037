"""Generates docs/reference/what-agents-show.md: what a person sees of hooks in each agent, from the rows of the hosts."""

from __future__ import annotations

from collections.abc import Iterator

from boathook.hosts.capability_table import make_capability_table
from boathook.hosts.host import Host, list_host_names, load_host

NO_EVENT = "–"

INTRODUCTION = """\
A hook gives a reason for every block, and boathook warns when a hook is not trusted, failed or cannot be read. Whether you
see either of them depends on the agent. *Not tried* means that the agent was not run, or that its screen was not watched.
"""
LEDGER = """\
## Where to look instead

The ledger has everything, whatever an agent hides: `boathook log` lists the decisions, and `boathook why ID` explains one.
`boathook doctor` tells you whether an agent asks your hooks at all. See [find out why](../how-to/find-out-why.md).
"""
MESSAGES = """\
## Warnings

That a hook is not trusted, failed or cannot be read, and what an agent cannot do for a hook. Where you do not see these
messages, the model gets a notice once in a session, by count only, and is asked to inform you.

| agent | you see them in | you do not see them in | the model gets the notice at |
|---|---|---|---|
"""
REASONS = """\
## Reasons and failures

A refused call does not run, and the model reads the reason as the result of the call. The exceptions:

| agent | what it does |
|---|---|
"""
EVENTS = """\
## Events that an agent does not have

A hook for one of these events never runs in that agent; `boathook install` and `boathook check --agent NAME` report it.
No agent in this list has `pre-step` and `post-step`: they are for [agents in Python](../how-to/embed-in-an-agent.md).
[What hooks can do](hosts.md#what-hooks-can-do-there) has the other events, and
[what was seen in real agents](matrix.md) the tests.

| agent | no such event |
|---|---|
"""


def write_visibility_page(made: str) -> str:
    """Return the page; `made` is the mark of a generated file."""
    hosts = [load_host(name) for name in list_host_names()]
    parts = [
        f"# What each agent shows and hides\n\n{made}\n\n{INTRODUCTION}",
        MESSAGES + "".join(f"| {host.title} | {' | '.join(list_visibility(host))} |\n" for host in hosts),
        REASONS + "".join(f"| {host.title} | {line} |\n" for host in hosts for line in _list_exceptions(host)),
        EVENTS + "".join(f"| {host.title} | {_list_missing_events(host)} |\n" for host in hosts),
        LEDGER,
    ]
    return "\n".join(parts)


def list_visibility(host: Host) -> tuple[str, str, str]:
    events = [f"`{row.name}`" for row in host.events if row.reaches_model and row.is_installed]
    hidden = host.message_unseen or ("–" if host.message_seen else "not tried")
    return host.message_seen or "not tried", hidden, ", ".join(events) if host.message_unseen else "–"


def _list_exceptions(host: Host) -> Iterator[str]:
    if host.block_side_effect:
        yield f"{host.block_side_effect}."
    if host.hides_reasons:
        yield "Neither you nor the model reads the reason of a refused call; the model gets it when the session goes on."
    if host.fails_closed:
        yield "If boathook itself fails before a tool call, the agent refuses the call and hides why."
    if not host.version:
        yield "Not tried: known only from its documentation."


def _list_missing_events(host: Host) -> str:
    column = list_host_names().index(host.name)
    missing = [f"`{name}`" for name, *cells in make_capability_table() if cells[column] == NO_EVENT]
    return ", ".join(missing) or "–"
