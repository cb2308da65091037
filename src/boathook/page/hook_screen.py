"""Hooks: how each is doing, the slow ones first; and one hook over time, with its agents and its tests."""

from __future__ import annotations

import shlex
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from boathook.cli.hook_facts import describe_hook_agents, describe_hook_tests, describe_hook_trust
from boathook.cli.list import describe_matcher
from boathook.core.hook import ARMED, Hook
from boathook.errors import BoathookError
from boathook.page.ledger_sums import DaySum
from boathook.page.live_screen import filter_rows, make_row
from boathook.page.markup import Html, join_html, make_element
from boathook.page.page_facts import ProjectFacts
from boathook.page.parts import make_copy_button, make_downloads, make_facts, make_link, make_table
from boathook.sources.hook_names import find_named_hooks

if TYPE_CHECKING:
    from boathook.page.page_context import PageContext, Query

_SHOWN_RECORDS, _SHOWN_DAYS = 20, 30
_BAR_WIDTH, _CHART_HEIGHT = 14, 60


def list_hook_sums(context: PageContext, query: Query) -> list[dict[str, Any]]:  # noqa: ARG001
    """Return what `boathook stats` counts, and each hook's share of the time of all hooks; the slow ones first."""
    with context.index.lock:
        stats = {name: (one.to_json(), sum(one.times)) for name, one in context.index.sums.hooks.items() if one.times}
    total = sum(ms for _, ms in stats.values()) or 1.0
    rows = [{"hook": name, **counts, "share": round(100 * ms / total, 1)} for name, (counts, ms) in stats.items()]
    return sorted(rows, key=lambda row: (-row["p95_ms"], row["hook"]))


def make_hooks_screen(context: PageContext, query: Query) -> Html:
    rows = [
        (
            make_link(row["hook"], "hook", name=row["hook"]),
            *(f"{row[key]:,}" for key in ("runs", "blocks", "failures", "timeouts")),
            *(f"{row[key]:g}" for key in ("p50_ms", "p95_ms")),
            f"{row['share']:g} %",
        )
        for row in list_hook_sums(context, query)
    ]
    headers = ("Hook", "Runs", "Blocks", "Failures", "Timeouts", "p50 ms", "p95 ms", "Share of hook time")
    table = make_table(headers, rows) if rows else make_element("p", "No hook has run yet.")
    command = make_element("p", make_copy_button("boathook stats"))
    parts = (make_element("h1", "Hooks, the slow ones first"), table, command)
    return join_html((*parts, make_downloads("hooks", ("json", "csv"), {})))


def make_hook_screen(context: PageContext, query: Query) -> Html:
    name = query.get("name", "")
    facts, hook = _find_hook(context, name, query.get("project", ""))
    name = hook.name if hook is not None else name
    with context.index.lock:
        stats = context.index.sums.hooks.get(name)
        counts = stats.to_json() if stats is not None and stats.times else {}
        days = sorted(context.index.sums.days.get(name, {}).items())[-_SHOWN_DAYS:]
    past = {key.replace("_", " "): f"{value:,}" for key, value in counts.items()}
    recent = [make_row(row) for row in islice(filter_rows(context, {"hook": name}), _SHOWN_RECORDS)]
    here = f" --project {shlex.quote(facts.project)}" if facts.project else ""
    return join_html(
        (
            make_element("h1", name),
            make_element("p", make_copy_button(f"boathook show {shlex.quote(name)}{here}")),
            _describe_hook(context, facts, hook) if hook is not None else _describe_unknown_hook(facts),
            make_element("h2", "What it did"),
            make_facts(past) if past else make_element("p", "It has not run in any record here."),
            draw_days(days) if days else None,
            make_element("ol", recent, class_="rows", aria_label="Its last records") if recent else None,
            make_element("p", make_link("All its records", "live", hook=name)),
        )
    )


def _find_hook(context: PageContext, name: str, project: str) -> tuple[ProjectFacts, Hook | None]:
    """Return a hook as it is in a project, or in the folder of the page; None if it is in neither."""
    own = context.facts.load_project()
    for folder in dict.fromkeys((project, "")):
        with suppress(BoathookError, OSError):
            facts = context.facts.load_project(folder or None)
            catalog = facts.loaded.catalog
            return facts, find_named_hooks((*facts.hooks, *catalog.built_in), name)[0]
    return own, None


def _describe_hook(context: PageContext, facts: ProjectFacts, hook: Hook) -> Html:
    trust, tests = describe_hook_trust(hook, facts.loaded), describe_hook_tests(hook)
    about = {
        "state": hook.state if hook.state == ARMED else hook.state_text,
        "about": " ".join((hook.description or "").split()),
        "runs at": f"{hook.trigger}, {describe_matcher(hook)}",
        "file": hook.path,
        "scope": hook.scope,
        "trust": f"{trust['state']} {trust['since'] or ''}".strip() if trust["needed"] else "not needed: it is yours",
        "tests": f"{tests['cases']} cases in {tests['path']}" if tests["path"] else "it has none",
    }
    rows = []
    for row in describe_hook_agents(hook, context.facts.load_agents().installed):
        can = "; ".join(row["can"]) or ("this agent runs it itself" if row["runs_itself"] else "")
        rows.append((row["agent"], can, "; ".join(row["unsupported"]) or "–"))
    agents = make_table(("Agent", "It can", "It cannot"), rows, "In the agents that call boathook") if rows else None
    run_tests = make_copy_button(f"boathook test {shlex.quote(hook.name)}") if tests["path"] else None
    replay = make_link("Try it on recorded events", "replay", hook=hook.name, project=facts.project or "")
    return join_html((make_facts(about), agents, make_element("p", run_tests, " ", replay)))


def _describe_unknown_hook(facts: ProjectFacts) -> Html:
    where = facts.loaded.catalog.project or facts.project or "this folder"
    return make_element("p", f"It is not among the hooks of {where}; this is what the ledger has of it.", class_="note")


def draw_days(days: list[tuple[str, DaySum]]) -> Html:
    """Return a chart of runs per day; blocks and failures are in their own colours."""
    most = max(one.runs for _, one in days)
    bars = []
    for number, (day, one) in enumerate(days):
        left, bottom = number * _BAR_WIDTH, float(_CHART_HEIGHT)
        parts = [(one.failures, "failures"), (one.blocks, "blocks"), (one.runs - one.failures - one.blocks, "runs")]
        for count, name in parts:
            height = round(max(count, 0) / most * _CHART_HEIGHT, 1)
            bottom -= height
            bars.append(
                make_element(
                    "rect", x=left, y=round(bottom, 1), width=_BAR_WIDTH - 3, height=height, class_=f"bar-{name}"
                )
            )
        text = f"{day}: {one.runs} runs, {one.blocks} blocks, {one.failures} failures, {one.ms / one.runs:.1f} ms each"
        area = make_element("title", text)
        bars.append(make_element("rect", area, x=left, y=0, width=_BAR_WIDTH, height=_CHART_HEIGHT, class_="bar-area"))
    width = len(days) * _BAR_WIDTH
    label = f"Runs per day, {days[0][0]} to {days[-1][0]}, at most {most} a day"
    chart = make_element("svg", bars, viewBox=f"0 0 {width} {_CHART_HEIGHT}", role="img", aria_label=label, width=width)
    return make_element("figure", chart, make_element("figcaption", label))
