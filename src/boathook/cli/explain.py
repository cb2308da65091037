"""`boathook explain`: for each hook, whether it would run on an event and why or why not. Nothing is executed."""

from __future__ import annotations

from typing import Any

import click

from boathook.assembly import load_catalog
from boathook.cli.common_options import EVENT, json_option, project_option, state_option, trust_all_option
from boathook.cli.list import matcher_text
from boathook.cli.show import STATE_STYLES, print_json, print_table, say
from boathook.core.catalog import TOGETHER, Catalog, deduplicate, is_hollow
from boathook.core.event import Event, find_kind
from boathook.core.hook import ARMED, Command, Hook, Http, Prompt
from boathook.core.json_text import JsonError, loads
from boathook.core.matcher import TOOL_NAME, Matcher
from boathook.errors import ConfigError
from boathook.process.hook_runner import find_unmet_need
from boathook.system.locations import read_environment
from boathook.system.programs import find_entry, find_interpreter_error, first_bytes

WORDS = {True: "runs", False: "-", None: "maybe"}


@click.command("explain")
@click.argument("event", type=EVENT)
@click.option("--tool", metavar="NAME", help="The tool that is called.")
@click.option("--input", "tool_input", metavar="JSON", help="The input of the tool.")
@click.option("--data", metavar="JSON", help='Other fields of the event, such as \'{"source": "startup"}\'.')
@json_option
@project_option
@state_option
@trust_all_option
def explain_event(
    event: str,
    tool: str | None,
    tool_input: str | None,
    data: str | None,
    as_json: bool,
    project: str | None,
    state: str | None,
    trust_all: bool,
) -> int:
    """Show which hooks would run on an event, and why.

    No hook is executed.

    \b
    Example:
      boathook explain pre-tool-call --tool Shell --input '{"command": "rm -rf /"}'
    """
    catalog = load_catalog(project, state=state, trust_all=trust_all)
    sample = Event.of(find_kind(event), **_fields(tool, tool_input, data))
    rows = _explain_hooks(catalog, sample)
    if as_json:
        print_json(rows)
    elif not rows:
        say(f"No hook is made for {sample.kind.name}.")
    else:
        _print(rows)
    return 0


def _fields(tool: str | None, tool_input: str | None, data: str | None) -> dict[str, Any]:
    fields = _json("--data", data) if data is not None else {}
    if not isinstance(fields, dict):
        raise ConfigError("--data must be a JSON object")
    if tool is not None:
        fields["tool_name"] = tool
    if tool_input is not None:
        fields["tool_input"] = _json("--input", tool_input)
    return fields


def _json(option: str, text: str) -> Any:
    try:
        return loads(text)
    except JsonError as error:
        raise ConfigError(f"{option} is not JSON: {error}") from None


def _explain_hooks(catalog: Catalog, event: Event) -> list[dict[str, Any]]:
    """Return a row per hook of the event's kind, in the order of running: sync ones first, then async ones."""
    hooks = sorted(catalog.concerned(event.kind), key=lambda hook: (hook.background, _place(hook)))
    rows = [(hook, *_why(hook, event, catalog.settings.model)) for hook in hooks]
    kept = deduplicate(tuple(hook for hook, would_run, _ in rows if would_run))
    return [_row(hook, *_first(hook, kept, would_run, why)) for hook, would_run, why in rows]


def _place(hook: Hook) -> tuple[object, ...]:
    return (TOGETHER, hook.order) if hook.together else (hook.order,)


def _first(hook: Hook, kept: tuple[Hook, ...], would_run: bool | None, why: str) -> tuple[bool | None, str]:
    """Report so if the same command runs already as another hook."""
    if not would_run or hook in kept:
        return would_run, why
    other = next(one.name for one in kept if one.handler == hook.handler)
    return False, f"the same command runs once, as '{other}'"


def _row(hook: Hook, would_run: bool | None, why: str) -> dict[str, Any]:
    return {
        "hook": hook.name,
        "scope": hook.scope,
        "state": hook.state,
        "mode": hook.mode,
        "priority": hook.priority,
        "would_run": would_run,
        "why": why,
        "matcher": matcher_text(hook),
        "entry": _entry(hook),
        "path": hook.path,
        "place": hook.place,
    }


def _why(hook: Hook, event: Event, model: str = "") -> tuple[bool | None, str]:
    """Whether a hook would run, and why; None if that depends on an input that was not given."""
    if hook.state != ARMED:
        blocks = " (set to block when it cannot run: such events are blocked)" if is_hollow(hook) else ""
        return False, f"{hook.state}: {hook.why}{blocks}"
    if _needs_input(hook, event):
        return None, f"depends on the input: give --input ({matcher_text(hook)})"
    if _needs_data(hook, event):
        return None, f"depends on '{hook.matcher.subject}': give --data ({matcher_text(hook)})"
    if why := hook.matcher.why_not(event):
        return False, why
    if why := find_unmet_need(hook, read_environment()):
        return False, f"refused: {why}"
    if isinstance(hook.handler, Prompt) and not hook.handler.choose(model)[0]:
        return False, "refused: no model is named for prompt hooks (model in hooks.toml)"
    if hook.folder and (wrong := find_interpreter_error(first_bytes(find_entry(hook.folder) or ""))):
        return False, f"it would fail to start: {wrong}"
    if hook.matcher.is_all or not (event.kind.has_tool or hook.matcher.subject in event.data):
        return True, "it takes every such event"
    return True, f"matches {matcher_text(hook)}"


def _entry(hook: Hook) -> str | None:
    """Return what a hook runs: its script, its command, its prompt or its address."""
    if hook.folder:
        return find_entry(hook.folder)
    handler = hook.handler
    if isinstance(handler, Command):
        return handler.line
    return handler.shown if isinstance(handler, Http) else handler.text if isinstance(handler, Prompt) else None


def _needs_input(hook: Hook, event: Event) -> bool:
    given = "tool_input" in event.data or not event.kind.has_tool
    return not given and hook.matcher.pattern is not None and not Matcher(hook.matcher.tool).why_not(event)


def _needs_data(hook: Hook, event: Event) -> bool:
    matcher = hook.matcher
    return matcher.subject != TOOL_NAME and matcher.tool is not None and matcher.subject not in event.data


def _print(rows: list[dict[str, Any]]) -> None:
    keys = ("hook", "mode", "priority", "scope", "why")
    print_table(
        ("", *(key.upper() for key in keys)),
        [[WORDS[row["would_run"]], *(str(row[key]) for key in keys)] for row in rows],
        [_style(row) for row in rows],
    )


def _style(row: dict[str, Any]) -> str:
    if row["state"] != ARMED:
        return STATE_STYLES[row["state"]]
    return "dim" if row["would_run"] is False else "green"
