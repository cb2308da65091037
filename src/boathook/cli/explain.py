"""`boathook explain`: for each hook, whether it would run on an event and why or why not. Nothing is executed."""

from __future__ import annotations

from typing import Any

from boathook.assembly import load_catalog
from boathook.cli.list import matcher_text
from boathook.cli.show import STATE_STYLES, print_json, print_table, say
from boathook.core.catalog import Catalog, is_hollow
from boathook.core.event import Event, kind_of
from boathook.core.hook import ARMED, Hook
from boathook.core.jsontext import JsonFault, loads
from boathook.core.matcher import Matcher
from boathook.entry import find_entry, first_bytes, interpreter_fault
from boathook.errors import ConfigError
from boathook.places import environment
from boathook.runners.script import unmet

WORDS = {True: "runs", False: "-", None: "maybe"}


def explain(name: str, project: str | None, tool: str | None, tool_input: str | None, *, as_json: bool) -> int:
    """Print what would happen; give the exit code."""
    event = Event.of(kind_of(name), **_tool_fields(tool, tool_input))
    catalog = load_catalog(project)
    rows = explain_event(catalog, event)
    if as_json:
        print_json(rows)
    elif not rows:
        say(f"No hook is made for {event.kind.name}.")
    else:
        _print(rows)
    return 0


def _tool_fields(tool: str | None, tool_input: str | None) -> dict[str, Any]:
    fields: dict[str, Any] = {} if tool is None else {"tool_name": tool}
    if tool_input is not None:
        try:
            fields["tool_input"] = loads(tool_input)
        except JsonFault as fault:
            raise ConfigError(f"--input is not JSON: {fault}") from None
    return fields


def explain_event(catalog: Catalog, event: Event) -> list[dict[str, Any]]:
    """Give a row per hook of the event's kind, in the order of running: sync ones first, then async ones."""
    hooks = sorted(catalog.concerned(event.kind), key=lambda hook: (hook.background, hook.order))
    return [_row(hook, event) for hook in hooks]


def _row(hook: Hook, event: Event) -> dict[str, Any]:
    would_run, why = _why(hook, event)
    return {
        "hook": hook.name,
        "scope": hook.scope,
        "state": hook.state,
        "mode": hook.mode,
        "priority": hook.priority,
        "would_run": would_run,
        "why": why,
        "matcher": matcher_text(hook),
        "entry": find_entry(hook.handler.folder),
        "path": hook.path,
    }


def _why(hook: Hook, event: Event) -> tuple[bool | None, str]:
    """Say whether a hook would run, and why; None if that depends on an input that was not given."""
    if hook.state != ARMED:
        blocks = " (set to block when it cannot run: such events are blocked)" if is_hollow(hook) else ""
        return False, f"{hook.state}: {hook.why}{blocks}"
    if _needs_input(hook, event):
        return None, f"depends on the input: give --input ({matcher_text(hook)})"
    if why := hook.matcher.why_not(event):
        return False, why
    if why := unmet(hook, environment()):
        return False, f"refused: {why}"
    if wrong := interpreter_fault(first_bytes(find_entry(hook.handler.folder) or "")):
        return False, f"it would fail to start: {wrong}"
    if hook.matcher.is_all or not event.kind.has_tool:
        return True, "it takes every such event"
    return True, f"matches {matcher_text(hook)}"


def _needs_input(hook: Hook, event: Event) -> bool:
    given = "tool_input" in event.data or not event.kind.has_tool
    return not given and hook.matcher.pattern is not None and not Matcher(hook.matcher.tool).why_not(event)


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
