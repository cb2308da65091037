"""`boathook explain`: for each hook, whether it would run on an event, and why or why not. No hook is executed."""

from __future__ import annotations

import time
from typing import Any

import click

from boathook.assembly import load_catalog, resolve_start, resolve_state
from boathook.cli.common_options import EVENT, add_catalog_options, json_option
from boathook.cli.list import describe_matcher
from boathook.cli.show import STATE_STYLES, echo, pick_fields, print_json, print_table
from boathook.core.catalog import GROUP_ORDER, Catalog, deduplicate, should_block_unrun
from boathook.core.event import Event, find_kind
from boathook.core.hook import ARMED, BuiltIn, Command, Hook, Http, Prompt
from boathook.core.json_text import JsonError, loads
from boathook.core.pattern_search import SearchBudget
from boathook.errors import ConfigError
from boathook.permits.unlock import describe_pause, read_unlock_end
from boathook.process.hook_runner import find_unmet_need
from boathook.system.locations import read_environment
from boathook.system.programs import find_entry_point, find_interpreter_error, read_first_bytes

_ANSWERS = {True: "runs", False: "-", None: "maybe"}


@click.command("explain")
@click.argument("event", type=EVENT)
@click.option("--tool", metavar="NAME", help="The tool that is called.")
@click.option("--input", "tool_input", metavar="JSON", help="The input of the tool.")
@click.option("--data", metavar="JSON", help='Other fields of the event, such as \'{"source": "startup"}\'.')
@json_option
@add_catalog_options
def explain_event(
    event: str, tool: str | None, tool_input: str | None, data: str | None, as_json: bool, **where: Any
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
    rows = _explain_hooks(catalog, sample)
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
        print_json({"event": sample.kind.name, "hooks": rows, "built_in": built_in})
    elif not rows:
        echo(f"There is no hook for {sample.kind.name}.")
    else:
        _print_rows(rows)
    for row in built_in if not as_json else ():
        # Everyday calls do not concern it.
        if row["would_run"] or pause_end:
            echo(f"Built in: {row['hook']}: {row['why']}")
    return 0


def _read_fields(tool: str | None, tool_input: str | None, data: str | None) -> dict[str, Any]:
    fields = _parse_json("--data", data) if data is not None else {}
    if not isinstance(fields, dict):
        raise ConfigError("--data must be a JSON object")
    if tool is not None:
        fields["tool_name"] = tool
    if tool_input is not None:
        fields["tool_input"] = _parse_json("--input", tool_input)
    return fields


def _parse_json(option: str, text: str) -> Any:
    try:
        return loads(text)
    except JsonError as error:
        example = ' Example: --input \'{"command": "ls"}\'' if option == "--input" else ""
        raise ConfigError(f"{option} is not JSON: {error}.{example}") from None


def _explain_hooks(catalog: Catalog, event: Event) -> list[dict[str, Any]]:
    """Return a row per hook of the event's kind, in the order of running: sync ones first, then async ones."""
    hooks = sorted(
        catalog.find_hooks(event.kind),
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
    return rows


def _make_row(hook: Hook, why: str, *, would_run: bool | None) -> dict[str, Any]:
    about = {"would_run": would_run, "why": why, "matcher": describe_matcher(hook), "entry": _find_entry(hook)}
    return {"hook": hook.name, **pick_fields(hook, "scope", "state", "mode", "priority", "path", "place"), **about}


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


def _print_rows(rows: list[dict[str, Any]]) -> None:
    keys = ("hook", "mode", "priority", "scope", "why")
    cells = [[_ANSWERS[row["would_run"]], *(str(row[key]) for key in keys)] for row in rows]
    # An armed hook that does not run is dim.
    states = ["disabled" if row["would_run"] is False and row["state"] == ARMED else row["state"] for row in rows]
    print_table(("", *(key.upper() for key in keys)), cells, [STATE_STYLES[state] for state in states])
