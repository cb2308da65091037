"""Hooks: how each is doing, the slow ones first; and one hook over time, with its agents and its tests."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from boathook.cli.call_history import list_run_places
from boathook.cli.hook_causes import find_own_host
from boathook.cli.hook_facts import describe_hook_agents, describe_hook_tests, describe_hook_trust
from boathook.cli.list import describe_matcher
from boathook.cli.record_text import name_agent
from boathook.cli.show import format_count
from boathook.cli.stats import HookStats
from boathook.core.hook import ARMED, Hook
from boathook.errors import BoathookError
from boathook.page.ledger_sums import DaySum, HookKey
from boathook.page.live_screen import ROW_HEADINGS, filter_rows, make_row
from boathook.page.markup import Html, join_html, make_element
from boathook.page.page_facts import ProjectFacts
from boathook.page.parts import (
    make_copy_button,
    make_downloads,
    make_facts,
    make_link,
    make_project_command,
    make_row_headings,
    make_show_command,
    make_table,
)
from boathook.sources.hook_names import find_named_hooks

if TYPE_CHECKING:
    from boathook.page.page_context import PageContext, Query

_SHOWN_RECORDS, _SHOWN_DAYS = 20, 30
_COUNTS = ("runs", "blocks", "failures", "timeouts", "p50_ms", "p95_ms", "p99_ms")
_SHARES = ("Share of hook time", "Share of session time")
_SHARE_NOTE = "Session time is the time from the first to the last event of the sessions that a hook ran in."
_BAR_WIDTH, _CHART_HEIGHT = 14, 60


def list_hook_sums(context: PageContext, query: Query) -> list[dict[str, Any]]:  # noqa: ARG001
    """Return what `boathook stats` counts, and each hook's shares of the time of all hooks and of its sessions; the slow first.

    Hooks that have not run come last, and with them those that are known only from records have their file.
    """
    known = _list_known_hooks(context)
    with context.index.lock:
        sums, shares = context.index.sums, context.index.sums.compute_session_shares()
        claimed = {key for keys in known.values() for key in keys}
        keys_of = {**known, **{key: (key,) for key in sums.hooks if key not in claimed}}
        stats = {key: sums.find_stats(keys) for key, keys in keys_of.items()}
    total = sum(sum(one.times) for one in stats.values()) or 1.0
    rows = [
        {
            "hook": key[0],
            **_count_runs(one),
            "share": round(100 * sum(one.times) / total, 1),
            "session_share": shares.get(key),
            "path": key[1],
        }
        for key, one in stats.items()
    ]
    return sorted(rows, key=lambda row: (not row["runs"], -row["p95_ms"], row["hook"]))


def _count_runs(stats: HookStats) -> dict[str, Any]:
    return stats.to_json() if stats.times else dict.fromkeys(_COUNTS, 0)


def _list_known_hooks(context: PageContext) -> dict[HookKey, list[HookKey]]:
    """Return the keys of the sums of each hook of the page's projects, by its name and file."""
    hooks = [hook for facts in context.facts.load_projects() for hook in facts.hooks if not hook.is_off_in_pack]
    return {(hook.name, hook.path): list_hook_keys(hook) for hook in hooks}


def list_hook_keys(hook: Hook) -> list[HookKey]:
    return [(hook.name, place) for place in list_run_places(hook)]


def make_hooks_screen(context: PageContext, query: Query) -> Html:
    sums = list_hook_sums(context, query)
    names = [row["hook"] for row in sums]
    projects = context.facts.load_projects()
    folders = {(hook.name, hook.path): facts.find_folder_of(hook) for facts in projects for hook in facts.hooks}
    rows = [
        (
            _make_hook_link(row, is_only=names.count(row["hook"]) == 1),
            *((f"{row[key]:,}" for key in _COUNTS[:4]) if row["runs"] else ("no run is recorded", "–", "–", "–")),
            *(f"{row[key]:g}" if row["runs"] else "–" for key in ("p50_ms", "p95_ms")),
            f"{row['share']:g} %" if row["runs"] else "–",
            "–" if row["session_share"] is None else f"{row['session_share']:g} %",
        )
        for row in sums
    ]
    commands = [make_show_command(row["hook"], folders.get((row["hook"], row["path"]), "")) for row in sums]
    headers = ("Hook", "Runs", "Blocks", "Failures", "Timeouts", "p50 ms", "p95 ms", *_SHARES)
    empty = make_element("p", "There are no hooks here, and none has run. ", make_copy_button("boathook setup"))
    table = make_table(headers, rows, commands) if rows else empty
    command = make_element("p", make_copy_button("boathook stats"))
    note = make_element("p", _SHARE_NOTE, class_="note") if rows else None
    parts = (make_element("h1", "Hooks, slowest first"), table, note, command)
    return join_html((*parts, make_downloads("hooks", ("json", "csv"), {})))


def _make_hook_link(row: dict[str, Any], *, is_only: bool) -> Html:
    """Return a link to a hook, with its file if others have its name."""
    if is_only:
        return make_link(row["hook"], "hook", name=row["hook"])
    place = make_element("span", row["path"], class_="note")
    return join_html((make_link(row["hook"], "hook", name=row["hook"], path=row["path"]), " ", place))


def make_hook_screen(context: PageContext, query: Query) -> Html:
    name = query.get("name", "")
    facts, hook = _find_hook(context, name, query.get("project", ""), query.get("path", ""))
    name = hook.name if hook is not None else name
    with context.index.lock:
        sums = context.index.sums
        paths = [query["path"]] if query.get("path") else [place for known, place in sums.hooks if known == name]
        keys = list_hook_keys(hook) if hook is not None else [(name, path) for path in paths]
        stats, days = sums.find_stats(keys), sums.find_days(keys)[-_SHOWN_DAYS:]
        counts = stats.to_json() if stats.times else {}
        share = next(filter(None, map(sums.compute_session_shares().get, keys)), None)
    past = {key.replace("_", " "): f"{value:,}" for key, value in counts.items()}
    if share is not None:
        past["share of session time"] = (
            f"{share:g} % of the time from the first to the last event of the sessions it ran in"
        )
    rows = (row for row in filter_rows(context, {"hook": name}) if name not in row.unreached)
    recent = [make_row(row) for row in islice(rows, _SHOWN_RECORDS)]
    return join_html(
        (
            make_element("h1", name),
            make_element(
                "p", make_copy_button(make_show_command(name, facts.find_folder_of(hook) if hook is not None else ""))
            ),
            _describe_hook(context, facts, hook) if hook is not None else _describe_unknown_hook(facts),
            make_element("h2", "What it did"),
            make_facts(past) if past else make_element("p", "It has not run in any record here."),
            draw_days(days) if days else None,
            make_row_headings(ROW_HEADINGS) if recent else None,
            make_element("ol", recent, class_="rows", aria_label="Its last records") if recent else None,
            make_element("p", make_link("All its records", "live", hook=name)),
        )
    )


def _find_hook(context: PageContext, name: str, project: str, path: str) -> tuple[ProjectFacts, Hook | None]:
    """Return a hook as it is in a project, or in the folder of the page; None if it is in neither, or is another file."""
    own = context.facts.load_project()
    for folder in dict.fromkeys((project, "")):
        with suppress(BoathookError, OSError):
            facts = context.facts.load_project(folder or None)
            hooks = find_named_hooks((*facts.hooks, *facts.loaded.catalog.built_in), name)
            if found := [hook for hook in hooks if path in ("", hook.path)]:
                return facts, found[0]
    return own, None


def _describe_hook(context: PageContext, facts: ProjectFacts, hook: Hook) -> Html:
    trust, tests = describe_hook_trust(hook, facts.loaded), describe_hook_tests(hook)
    about = {
        "state": _describe_state(context, facts, hook),
        "about": " ".join((hook.description or "").split()),
        "runs at": f"{hook.trigger}, {describe_matcher(hook)}",
        "file": hook.path,
        "scope": hook.scope,
        "trust": f"{trust['state']} {trust['since'] or ''}".strip() if trust["needed"] else "not needed: it is yours",
        "tests": f"{format_count(tests['cases'], 'case')} in {tests['path']}" if tests["path"] else "it has none",
    }
    rows = []
    agents = context.facts.load_agents(facts.project)
    for row in describe_hook_agents(hook, agents.installed):
        can = "; ".join(row["can"]) or ("this agent runs it itself" if row["runs_itself"] else "")
        problem = agents.find_problem(row["agent"])
        if problem is not None and not row["runs_itself"]:
            can = f"{'It is not called' if problem.is_off else problem.state}: {agents.describe_problem(problem)}"
        rows.append((name_agent(row["agent"]), can, "; ".join(row["unsupported"]) or "–"))
    # The command shows all agents at once.
    commands = [make_show_command(hook.name, facts.find_folder_of(hook))] * len(rows)
    title = "In the agents that boathook is installed in"
    table = (
        make_table(("Agent", "There the hook can", "What this agent cannot do for it"), rows, commands, title)
        if rows
        else None
    )
    run_tests = (
        make_copy_button(make_project_command(facts.find_folder_of(hook), "test", hook.name)) if tests["path"] else None
    )
    replay = make_link("Try it on recorded events", "replay", hook=hook.name, project=facts.project or "")
    return join_html((make_facts(about), table, make_element("p", run_tests, " ", replay)))


def _describe_state(context: PageContext, facts: ProjectFacts, hook: Hook) -> Html | str:
    """Return whether a hook runs; one that fails, or that no agent calls, guards nothing."""
    if hook.state != ARMED:
        return facts.describe_state(hook)
    with context.index.lock:
        runs = context.history.find_failing_runs(hook)
        is_asked = context.history.was_asked_by_program(hook)
    agents = context.facts.load_agents(facts.project)
    if runs.is_failing:
        where = f" in {name_agent(runs.agent)}" if runs.agent else ""
        return make_element("span", f"fails{where} ({runs.failures:,} of {runs.runs:,})", class_="state fails")
    if agents.installed and not agents.calling and not is_asked and find_own_host(hook) is None:
        return make_element("span", "armed, but no agent calls it", class_="state uncalled")
    failed = f", {runs.failures:,} of {format_count(runs.runs, 'run')} failed" if runs.failures else ""
    unproven = ", no run since it was changed" if runs.all_runs and not runs.runs else ""
    return f"{hook.state}{failed}{unproven}"


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
        counts = [format_count(getattr(one, word), word[:-1]) for word in ("runs", "blocks", "failures")]
        text = f"{day}: {', '.join(counts)}, {one.ms / one.runs:.1f} ms each"
        area = make_element("title", text)
        bars.append(make_element("rect", area, x=left, y=0, width=_BAR_WIDTH, height=_CHART_HEIGHT, class_="bar-area"))
    width = len(days) * _BAR_WIDTH
    label = f"Runs per day, {days[0][0]} to {days[-1][0]}, at most {most} a day"
    chart = make_element("svg", bars, viewBox=f"0 0 {width} {_CHART_HEIGHT}", role="img", aria_label=label, width=width)
    colours = [("blocks", "blocked"), ("failures", "failed")]
    marks = [
        make_element("span", f" ■ {text}", class_=f"mark-{name}")
        for name, text in colours
        if any(getattr(one, name) for _, one in days)
    ]
    return make_element("figure", chart, make_element("figcaption", label, marks))
