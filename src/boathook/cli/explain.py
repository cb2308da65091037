"""`boathook explain`: for each hook, whether it would run on an event, and why or why not. No hook is executed."""

from __future__ import annotations

import functools
import time
from typing import Any

import click

from boathook.assembly import load_catalog, resolve_start, resolve_state
from boathook.cli.call_history import CallHistory, read_history
from boathook.cli.common_options import EVENT, add_catalog_options, json_option
from boathook.cli.hook_causes import (
    check_edited_hook,
    explain_double,
    find_key_line,
    find_state_cause,
    find_unasked_cause,
    list_installed_hosts,
    list_other_events,
)
from boathook.cli.list import describe_matcher
from boathook.cli.sample_input import SHELL_TOOL, parse_json_option, parse_tool_input
from boathook.cli.show import STATE_STYLES, echo, pick_fields, print_json, print_table, repeat_project
from boathook.core.catalog import GROUP_ORDER, Catalog, deduplicate, should_block_unrun
from boathook.core.event import OTHER_NAMES, Event, EventKind, find_kind
from boathook.core.hook import ARMED, NOTE, WARNING, BuiltIn, Command, Diagnostic, Hook, Http, Prompt
from boathook.core.notices import list_names
from boathook.core.pattern_search import SearchBudget
from boathook.errors import ConfigError
from boathook.hosts.host import Host
from boathook.hosts.tool_names import find_canonical_name
from boathook.permits.unlock import describe_pause, read_unlock_end
from boathook.process.hook_runner import find_unmet_need
from boathook.sources.double_hooks import find_double_hooks
from boathook.system.locations import read_environment
from boathook.system.programs import find_entry_point, find_interpreter_error, read_first_bytes

# So many hooks of other events are shown with their files.
_MAX_PLACES = 3
_ANSWERS = {True: "runs", False: "-", None: "maybe"}
_PACK_ANSWERS = {True: "would run", None: "may run, which depends on the input", False: "would not"}


@click.command("explain")
@click.argument("event", type=EVENT)
@click.option("--tool", metavar="NAME", help="The tool that is called.")
@click.option("--input", "tool_input", metavar="JSON", help="The input of the tool; bare text is a shell command.")
@click.option("--data", metavar="JSON", help='Other fields of the event, such as \'{"source": "startup"}\'.')
@click.option("--all", "is_whole", is_flag=True, help="Show each hook of packs, too, instead of their number.")
@json_option
@add_catalog_options
def explain_event(
    event: str, tool: str | None, tool_input: str | None, data: str | None, is_whole: bool, as_json: bool, **where: Any
) -> int:
    """Show which hooks would run on an event, and why.

    No hook is executed.

    \b
    Example:
      boathook explain pre-tool-call --tool Shell --input '{"command": "rm -rf /"}'
    """
    catalog = load_catalog(**where)
    # Relative paths in a command are relative to the folder of the call.
    fields = {"work_dir": resolve_start(where.get("project")), **_read_fields(tool, tool_input, data)}
    sample = Event.of(find_kind(event), **fields)
    rows = _explain_hooks(catalog, sample, _Background(where.get("project"), where.get("state"), catalog))
    built_in = [
        _make_row(hook, why, would_run=would_run)
        for hook in catalog.built_in
        if hook.kind is sample.kind
        for would_run, why in (_explain_hook(hook, sample, ""),)
    ]
    pause_end = read_unlock_end(resolve_state(where.get("state")))
    if pause_end:
        built_in = [{**row, "would_run": False, "why": describe_pause(pause_end)} for row in built_in]
    if as_json:
        diagnostics = [diagnostic.to_json() for diagnostic in catalog.diagnostics]
        events = list_other_events(catalog, sample.kind)
        others = {name: [hook.name for hook in hooks] for name, hooks in events.items()}
        about = {"event": sample.kind.name, "other_events": others, "diagnostics": diagnostics}
        print_json({**about, "hooks": rows, "built_in": built_in})
    else:
        _print_explanation(rows, catalog, sample.kind, is_whole=is_whole)
        if tool is not None and (name := find_canonical_name(tool)) not in (tool, OTHER_NAMES.get(tool)):
            text = f"The agents that have a tool {tool} send it as {name}: hooks that match {name} would run there"
            echo(f"{text}. Try --tool {name}", STATE_STYLES[WARNING])
    for row in built_in if not as_json else ():
        # Everyday calls do not concern it.
        if row["would_run"] or pause_end:
            echo(f"Built in: {row['hook']}: {row['why']}")
    return 0


def _read_fields(tool: str | None, tool_input: str | None, data: str | None) -> dict[str, Any]:
    fields: Any = parse_json_option("--data", data) if data is not None else {}
    if not isinstance(fields, dict):
        raise ConfigError("--data must be a JSON object")
    if tool is not None:
        fields["tool_name"] = tool
    if tool_input is not None:
        fields["tool_input"] = parse_tool_input(tool_input, fields.get("tool_name"))
        if fields["tool_input"] == {"command": tool_input}:
            # A bare text is the command of a shell.
            fields.setdefault("tool_name", SHELL_TOOL)
    return fields


class _Background:
    """What is looked up only for hooks that may have a problem: the installed agents, and what the ledger knows."""

    def __init__(self, project: str | None, state: str | None, catalog: Catalog) -> None:
        self._project, self._state, self._catalog = project, resolve_state(state), catalog
        self._doubles = find_double_hooks(catalog.hooks)

    @functools.cached_property
    def hosts(self) -> tuple[Host, ...]:
        return list_installed_hosts(self._state, self._project)

    @functools.cached_property
    def history(self) -> CallHistory:
        return read_history(self._state, (path for _, path in self._catalog.projects), self._catalog.hooks)

    def list_causes(self, hook: Hook, event: Event, *, would_run: bool | None) -> list[Diagnostic]:
        """Return what may keep a hook from running or from answering, each with its place and its fix."""
        if hook.pack and hook.state == ARMED:
            return []
        state_cause = find_state_cause(hook)
        unasked = find_unasked_cause(hook, self.hosts) if hook.state == ARMED else None
        if unasked is not None and self.history.was_asked_by_program(hook):
            unasked = None
        # That of an untrusted hook has its fix in the row.
        is_new = state_cause is not None and state_cause.fix not in hook.state_text
        found = [
            *([state_cause] if state_cause and is_new else ()),
            *check_edited_hook(hook),
            *([unasked] if unasked else ()),
        ]
        found += [explain_double(one) for one in self._doubles if one.hook is hook]
        is_other_input = would_run is False and not hook.matcher.replace(pattern=None).explain_mismatch(event)
        if hook.state == ARMED and is_other_input and (unmatched := self.history.describe_unmatched_calls(hook)):
            line = find_key_line(hook.path, "pattern")
            fix = "if that call is meant, change the pattern"
            found.append(Diagnostic(hook.path, line, "matcher.pattern", NOTE, unmatched, fix))
        return found


def _explain_hooks(catalog: Catalog, event: Event, background: _Background) -> list[dict[str, Any]]:
    """Return a row per hook of the event's kind, in the order of running: sync ones first, then async ones."""
    hooks = sorted(
        (hook for hook in catalog.find_hooks(event.kind) if not hook.is_installed_call),
        key=lambda hook: (hook.background, *((GROUP_ORDER,) if hook.runs_together else ()), hook.order),
    )
    budget = SearchBudget(time.thread_time)
    answers = [(hook, *budget.call(_explain_hook, hook, event, catalog.settings.model)) for hook in hooks]
    running = deduplicate(tuple(hook for hook, would_run, _ in answers if would_run))
    rows = []
    for hook, would_run, why in answers:
        if would_run and hook not in running:
            twin = next(other.name for other in running if other.handler == hook.handler)
            rows.append(_make_row(hook, f"the same command runs only once, as '{twin}'", would_run=False))
        else:
            unfinished = budget.describe_unfinished(hook.matcher.pattern_sources) if would_run else ""
            rows.append(_make_row(hook, unfinished or why, would_run=would_run))
        causes = background.list_causes(hook, event, would_run=would_run)
        rows[-1]["diagnostics"] = [cause.to_json() for cause in causes]
    return rows


def _make_row(hook: Hook, why: str, *, would_run: bool | None) -> dict[str, Any]:
    about = {"would_run": would_run, "why": why, "matcher": describe_matcher(hook), "entry": _find_entry(hook)}
    fields = pick_fields(hook, "scope", "state", "mode", "priority", "path", "place")
    return {"hook": hook.name, **fields, **about, "diagnostics": list[dict[str, Any]]()}


def _explain_hook(hook: Hook, event: Event, model: str) -> tuple[bool | None, str]:
    """Return whether a hook would run, and why; None if that depends on a value that was not passed."""
    if hook.state != ARMED:
        blocks = " (its on_failure is block, so it blocks such events)" if should_block_unrun(hook) else ""
        return False, f"{hook.state_text}{blocks}"
    matcher, has_input = hook.matcher, "tool_input" in event.data or not event.kind.has_tool
    if not has_input and matcher.pattern is not None and not matcher.replace(pattern=None).explain_mismatch(event):
        return None, f"depends on the input: pass --input ({describe_matcher(hook)})"
    if why := matcher.explain_mismatch(event):
        return False, why
    if missing := [name for name, _ in matcher.fields if name not in event.data]:
        return None, f"depends on '{missing[0]}': pass --data ({describe_matcher(hook)})"
    if why := find_unmet_need(hook, read_environment()):
        return False, f"refused: {why}"
    if isinstance(hook.handler, BuiltIn):
        return _explain_built_in(hook, event, has_input=has_input)
    if isinstance(hook.handler, Prompt) and not hook.handler.choose_model(model)[0]:
        return False, "refused: no model is set for prompt hooks; set model in hooks.toml"
    if hook.folder and (error := find_interpreter_error(read_first_bytes(find_entry_point(hook.folder) or ""))):
        return False, f"it would not start: {error}"
    if matcher.is_all or not (event.kind.has_tool or matcher.fields):
        return True, "it matches every such event"
    return True, f"matches {describe_matcher(hook)}"


def _explain_built_in(hook: Hook, event: Event, *, has_input: bool) -> tuple[bool | None, str]:
    """Return whether self-protection objects to a call; it takes part only then."""
    if not has_input:
        return None, f"depends on the input: pass --input ({describe_matcher(hook)})"
    from boathook.protection.built_in_runner import find_hook_objection

    if reason := find_hook_objection(hook, event):
        # The line begins with its name already.
        return True, f"it asks: {reason.removeprefix(f'{hook.name.capitalize()}: ')}"
    return False, "it has no objection"


def _find_entry(hook: Hook) -> str | None:
    match hook.handler:
        case Command(line=text) | Prompt(text=text) | Http(safe_url=text):
            return text
    return find_entry_point(hook.folder) if hook.folder else None


def _print_explanation(rows: list[dict[str, Any]], catalog: Catalog, kind: EventKind, *, is_whole: bool) -> None:
    """Print the hooks of an event, then what keeps hooks from running, with its place and fix."""
    packs = {} if is_whole else {hook.name: hook.pack for hook in catalog.hooks if hook.pack}
    if own := [row for row in rows if row["hook"] not in packs]:
        _print_rows(own)
    for pack in dict.fromkeys(packs[row["hook"]] for row in rows if row["hook"] in packs):
        _print_pack(pack, [row for row in rows if packs.get(row["hook"]) == pack])
    if not rows:
        echo(f"There is no hook for {kind.name}.")
    found = [problem for row in rows for problem in row["diagnostics"]]
    for problem in [*found, *(diagnostic.to_json() for diagnostic in catalog.diagnostics)]:
        _print_problem(problem)
    _print_other_events(list_other_events(catalog, kind), kind)


def _print_other_events(others: dict[str, list[Hook]], kind: EventKind) -> None:
    """Print which hooks are for another event; of a few also where that is written."""
    is_short = sum(map(len, others.values())) <= _MAX_PLACES
    for name, hooks in others.items():
        names = list_names([hook.name for hook in hooks])
        echo(f"{names} {'is' if len(hooks) == 1 else 'are'} for {name}, not for {kind.name}.", "dim")
        for hook in hooks if is_short else ():
            line = find_key_line(hook.path, "trigger")
            place = f"{hook.path}:{line}" if line else hook.path
            echo(f"    if '{hook.name}' is meant for {kind.name}: change its event in {place}", "dim")


def _print_problem(problem: dict[str, Any]) -> None:
    place = f"{problem['path']}:{problem['line']}" if problem["line"] else problem["path"]
    echo(f"{problem['level']}: {place}: {problem['message']}", STATE_STYLES.get(problem["level"], "dim"))
    if problem["fix"]:
        echo(f"    fix: {repeat_project(problem['fix'])}", "dim")


def _print_pack(pack: str, rows: list[dict[str, Any]]) -> None:
    """Print how many hooks of a pack would run: a person who asks about a hook of their own would not find it among them."""
    counts = {text: sum(row["would_run"] is answer for row in rows) for answer, text in _PACK_ANSWERS.items()}
    text = ", ".join(f"{count} {text}" for text, count in counts.items() if count)
    echo(f"Pack {pack}: {text} (--all shows each)")


def _print_rows(rows: list[dict[str, Any]]) -> None:
    keys = ("hook", "mode", "priority", "scope", "why")
    cells = [[_ANSWERS[row["would_run"]], *(repeat_project(str(row[key])) for key in keys)] for row in rows]
    # An armed hook that does not run is dim.
    states = ["disabled" if row["would_run"] is False and row["state"] == ARMED else row["state"] for row in rows]
    print_table(("", *(key.upper() for key in keys)), cells, [STATE_STYLES[state] for state in states])
