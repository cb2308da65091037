"""Guards: every hook by every agent. Whether it acts there, how often it did, and if not, why not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from boathook.cli.hook_facts import describe_hook_agents
from boathook.cli.show import format_count
from boathook.core.hook import ARMED, USER, Hook
from boathook.core.value import Value
from boathook.hosts.capabilities import find_unsupported
from boathook.hosts.host import load_host
from boathook.install.status import HEALTHY_STATUSES
from boathook.page.markup import Html, join_html, make_element
from boathook.page.page_facts import AgentFacts, ProjectFacts, name_agent
from boathook.page.parts import describe_age, make_copy_button, make_downloads, make_link, make_table

if TYPE_CHECKING:
    from boathook.page.page_context import PageContext, Query

ACTIVE, LIMITED, UNABLE, OFF, ABSENT, OWN = CELL_STATES = (
    "active", "limited", "cannot act there", "does not run", "not installed", "runs it itself",
)  # fmt: skip


class GuardCell(Value):
    """One hook in one agent: its state there, why, and how often it ran there."""

    agent: str
    state: str
    why: str = ""
    fired: int = 0
    last: str = ""
    record: str = ""


class GuardRow(Value):
    hook: Hook
    cells: tuple[GuardCell, ...]


def make_guards_screen(context: PageContext, query: Query) -> Html:
    is_whole = query.get("all") == "yes"
    agents = list_columns(context.facts.load_agents())
    facts = context.facts.load_project(query.get("project") or None)
    rows = list(list_guard_rows(context, facts, agents))
    shown = [row for row in rows if is_whole or not row.hook.is_off_in_pack]
    if not rows:
        empty = make_element("p", "There are no hooks here yet. ", make_copy_button("boathook setup"))
        return join_html((make_element("h1", "Guards"), empty))
    tables = []
    for scope, title in ((USER, "Yours, for all projects"), ("", "Of the project")):
        part = [row for row in shown if (row.hook.scope == USER) == (scope == USER)]
        cells = [(_make_name(row.hook, query), *map(_make_cell, row.cells)) for row in part]
        if cells:
            tables.append(make_table(("Hook", *map(name_agent, agents)), cells, title))
    left_out = len(rows) - len(shown)
    more = make_link(f"{left_out} hooks of packs are off: show them", "guards", all="yes") if left_out else None
    return join_html(
        (
            make_element("h1", "Guards and agents"),
            make_element(
                "p", f"Hooks for {facts.loaded.catalog.project or facts.project or 'this folder'}.", class_="note"
            ),
            make_element("div", tables, class_="matrix"),
            make_element("p", more) if more else None,
            make_downloads("guards", ("json", "csv"), query),
        )
    )


def list_columns(agents: AgentFacts) -> list[str]:
    """Return the agents of the matrix: those that call boathook, and those that are on this machine."""
    unwell = [status.host for status in agents.statuses if status.state not in HEALTHY_STATUSES]
    return list(dict.fromkeys((*(host.name for host in agents.installed), *unwell, *agents.present)))


def list_guard_rows(context: PageContext, facts: ProjectFacts, agents: list[str]) -> Iterator[GuardRow]:
    installed = {host.name for host in context.facts.load_agents().installed}
    hosts = [load_host(name) for name in agents]
    with context.index.lock:
        firings = {key: (one.count, one.time, one.id) for key, one in context.index.sums.firings.items()}
    for hook in facts.hooks:
        described = {row["agent"]: row for row in describe_hook_agents(hook, hosts)}
        cells = [
            _judge_cell(hook, name, described[name], is_installed=name in installed).replace(
                **dict(zip(("fired", "last", "record"), firings.get((hook.name, name), (0, "", "")), strict=True))
            )
            for name in agents
        ]
        yield GuardRow(hook, tuple(cells))


def _judge_cell(hook: Hook, agent: str, described: dict[str, Any], *, is_installed: bool) -> GuardCell:
    texts = "; ".join(described["unsupported"])
    if described["runs_itself"]:
        return GuardCell(agent, OWN, "it is in the files of this agent, which runs it without boathook")
    if hook.state != ARMED:
        return GuardCell(agent, OFF, hook.state_text)
    if not is_installed:
        return GuardCell(agent, ABSENT, f"this agent does not call boathook: boathook install {agent}")
    if any(one.is_never_asked for one in find_unsupported(hook, load_host(agent))):
        return GuardCell(agent, UNABLE, texts)
    return GuardCell(agent, LIMITED if texts else ACTIVE, texts)


def _make_name(hook: Hook, query: Query) -> Html:
    link = make_link(hook.name, "hook", name=hook.name, project=query.get("project", ""))
    return join_html((link, " ", make_element("span", hook.trigger, class_="note")))


def _make_cell(cell: GuardCell) -> Html:
    state = make_element("span", cell.state, class_=f"state {cell.state.split()[0]}", title=cell.why or None)
    fired = None
    if cell.fired:
        last = make_link(describe_age(cell.last), "record", id=cell.record)
        fired = make_element("span", f"{format_count(cell.fired, 'run')}, last ", last, class_="note")
    why = make_element("details", make_element("summary", "why"), cell.why) if cell.why else None
    return join_html((state, " ", fired, why))


def list_guards(context: PageContext, query: Query) -> list[dict[str, Any]]:
    agents = list_columns(context.facts.load_agents())
    facts = context.facts.load_project(query.get("project") or None)
    return [
        {"hook": row.hook.name, "scope": row.hook.scope, **cell.to_dict()}
        for row in list_guard_rows(context, facts, agents)
        for cell in row.cells
    ]
