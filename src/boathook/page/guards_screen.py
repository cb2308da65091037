"""Guards: every hook by every agent. Whether it acts there, how often it did, and if not, why not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from boathook.cli.hook_facts import describe_hook_agents
from boathook.cli.record_text import name_agent
from boathook.cli.show import format_count
from boathook.core.hook import ARMED, USER, Hook
from boathook.core.value import Value
from boathook.hosts.capabilities import find_unsupported
from boathook.hosts.host import list_host_names, load_host
from boathook.install.status import HEALTHY_STATUSES
from boathook.ledger.record import PYTHON_AGENT
from boathook.ledger.writer import make_timestamp
from boathook.page.markup import Html, join_html, make_element
from boathook.page.page_facts import AgentFacts, ProjectFacts
from boathook.page.parts import (
    make_copied_command,
    make_copy_button,
    make_downloads,
    make_link,
    make_show_command,
    make_table,
    make_text,
    make_time,
)

if TYPE_CHECKING:
    from boathook.page.page_context import PageContext, Query

ACTIVE, LIMITED, FAILING, UNABLE, OFF, ABSENT, OWN, UNCALLED = (
    "active", "limited", "fails", "cannot act there", "does not run", "not installed", "runs it itself", "not called",
)  # fmt: skip


class GuardCell(Value):
    """One hook in one agent: its state there, why, and how often it ran and failed there since its file changed."""

    agent: str
    state: str
    why: str = ""
    fired: int = 0
    failed: int = 0
    # The runs before its file changed, which say nothing about it.
    fired_before: int = 0
    last: str = ""
    record: str = ""


class GuardRow(Value):
    hook: Hook
    cells: tuple[GuardCell, ...]


def make_guards_screen(context: PageContext, query: Query) -> Html:
    is_whole = query.get("all") == "yes"
    facts = context.facts.load_project(query.get("project") or None)
    agents = list_columns(context, facts)
    rows = list(list_guard_rows(context, facts, agents))
    shown = [row for row in rows if is_whole or not row.hook.is_off_in_pack]
    if not rows:
        empty = make_element("p", "There are no hooks here yet. ", make_copy_button("boathook setup"))
        return join_html((make_element("h1", "Guards and agents"), empty))
    tables = []
    for scope, title in ((USER, "Yours, for all projects"), ("", "Of the project")):
        part = [row for row in shown if (row.hook.scope == USER) == (scope == USER)]
        cells = [(_make_name(row.hook, query), *map(_make_cell, row.cells)) for row in part]
        if cells:
            commands = [make_show_command(row.hook.name, facts.find_folder_of(row.hook)) for row in part]
            tables.append(make_table(("Hook", *map(name_agent, agents)), cells, commands, title))
    none = None
    if not agents:
        none = make_element(
            "p", "No agent was found here, so none calls these hooks. ", make_copy_button("boathook setup")
        )
    left_out = len(rows) - len(shown)
    text = f"{format_count(left_out, 'hook')} of packs {'is' if left_out == 1 else 'are'} off: show them"
    more = make_link(text, "guards", all="yes") if left_out else None
    return join_html(
        (
            make_element("h1", "Guards and agents"),
            make_element(
                "p", f"Hooks for {facts.loaded.catalog.project or facts.project or 'this folder'}.", class_="note"
            ),
            _make_project_links(context, facts),
            none,
            make_element("div", tables, class_="matrix"),
            make_element("p", more) if more else None,
            make_downloads("guards", ("json", "csv"), query),
        )
    )


def _make_project_links(context: PageContext, facts: ProjectFacts) -> Html | None:
    """Return links to the guards of the other projects of which something is recorded."""
    others = [one for one in context.facts.load_projects() if one.project != facts.project]
    names = {one.project or one.loaded.catalog.project or "the folder of the page": one.project or "" for one in others}
    links = [join_html((make_link(name, "guards", project=project), " ")) for name, project in names.items()]
    return make_element("p", "Other projects: ", links, class_="note") if links else None


def list_columns(context: PageContext, facts: ProjectFacts) -> list[str]:
    """Return the agents of the matrix: those that call boathook, those that are on this machine, and those with records."""
    agents, known = context.facts.load_agents(facts.project), {*list_host_names(), PYTHON_AGENT}
    with context.index.lock:
        recorded = [name for name in sorted(context.index.sums.hosts) if name in known]
    unwell = [status.host for status in agents.statuses if status.state not in HEALTHY_STATUSES]
    return list(dict.fromkeys((*(host.name for host in agents.installed), *unwell, *agents.present, *recorded)))


def list_guard_rows(context: PageContext, facts: ProjectFacts, columns: list[str]) -> Iterator[GuardRow]:
    agents = context.facts.load_agents(facts.project)
    hosts = [load_host(name) for name in columns if name != PYTHON_AGENT]
    for hook in facts.hooks:
        described = {row["agent"]: row for row in describe_hook_agents(hook, hosts)}
        cells = [
            _add_runs(context, hook, _judge_cell(facts, hook, name, described.get(name, {}), agents))
            for name in columns
        ]
        yield GuardRow(hook, tuple(cells))


def _add_runs(context: PageContext, hook: Hook, cell: GuardCell) -> GuardCell:
    """Return a cell with what is recorded; a hook that fails guards nothing."""
    with context.index.lock:
        runs = context.history.count_runs_of(hook, cell.agent)
        last = max(context.history.list_run_times(hook, cell.agent), key=lambda one: one.last, default=None)
    cell = cell.replace(fired=runs.runs, failed=runs.failures, fired_before=runs.all_runs - runs.runs)
    if last is not None:
        cell = cell.replace(last=make_timestamp(last.last), record=last.record)
    return cell.replace(state=FAILING) if runs.is_failing and cell.state in (ACTIVE, LIMITED) else cell


def _judge_cell(
    facts: ProjectFacts, hook: Hook, agent: str, described: dict[str, Any], agents: AgentFacts
) -> GuardCell:
    if agent == PYTHON_AGENT:
        # A program loads hooks when it runs, so there is nothing to install, and its records are the evidence.
        return GuardCell(agent, ACTIVE) if hook.state == ARMED else GuardCell(agent, OFF, facts.describe_state(hook))
    texts = "; ".join(described["unsupported"])
    if described["runs_itself"]:
        return GuardCell(agent, OWN, "it is in the files of this agent, which runs it without boathook")
    if hook.state != ARMED:
        return GuardCell(agent, OFF, facts.describe_state(hook))
    problem = agents.find_problem(agent)
    if problem is None and agent not in {host.name for host in agents.installed}:
        return GuardCell(agent, ABSENT, f"this agent does not call boathook: {make_copied_command('install', agent)}")
    if any(one.is_never_asked for one in find_unsupported(hook, load_host(agent))):
        return GuardCell(agent, UNABLE, texts)
    if problem is not None:
        # The word of `boathook status`, if it is not certain that the agent calls nothing of ours.
        return GuardCell(agent, UNCALLED if problem.is_off else problem.state, agents.describe_problem(problem))
    return GuardCell(agent, LIMITED if texts else ACTIVE, texts)


def _make_name(hook: Hook, query: Query) -> Html:
    link = make_link(hook.name, "hook", name=hook.name, project=query.get("project", ""))
    return join_html((link, " ", make_element("span", hook.trigger, class_="note")))


def _make_cell(cell: GuardCell) -> Html:
    class_name = "uncalled" if cell.state == UNCALLED else cell.state.split()[0]
    text, fired = cell.state, None
    if cell.state == FAILING:
        text = f"fails ({cell.failed:,} of {cell.fired:,})"
    elif cell.state == ACTIVE and not cell.fired:
        # A status is not shown as good without evidence.
        text = "active, no run since it was changed" if cell.fired_before else "active, no run recorded"
        class_name = "unproven"
    state = make_element("span", text, class_=f"state {class_name}", title=cell.why or None)
    if cell.last:
        last = make_link(make_time(cell.last), "record", id=cell.record)
        fired = make_element("span", f"{_describe_cell_runs(cell)}, last ", last, class_="note")
    why = make_element("details", make_element("summary", "why"), make_text(cell.why)) if cell.why else None
    return join_html((state, " ", fired, why))


def _describe_cell_runs(cell: GuardCell) -> str:
    if not cell.fired:
        return f"{format_count(cell.fired_before, 'run')} before it was changed"
    return (
        f"{cell.failed:,} of {format_count(cell.fired, 'run')} failed"
        if cell.failed
        else format_count(cell.fired, "run")
    )


def list_guards(context: PageContext, query: Query) -> list[dict[str, Any]]:
    facts = context.facts.load_project(query.get("project") or None)
    agents = list_columns(context, facts)
    return [
        {"hook": row.hook.name, "scope": row.hook.scope, **cell.to_dict()}
        for row in list_guard_rows(context, facts, agents)
        for cell in row.cells
    ]
