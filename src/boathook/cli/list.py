"""`boathook list`: all hooks and their state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from boathook.assembly import load_with_trust, locate, locate_all, resolve_state
from boathook.cli.common_options import EVENT, add_catalog_options, json_option
from boathook.cli.show import STATE_STYLES, echo, echo_lines, format_count, pick_fields, print_json, print_table
from boathook.core.catalog import Catalog
from boathook.core.event import find_kind
from boathook.core.hook import (
    ARMED,
    ERROR,
    HANDLER_NAMES,
    INVALID,
    IS_INSTALLED_CALL,
    NO_ENTRY,
    WARNING,
    Command,
    Hook,
    HookHandler,
    Http,
)
from boathook.core.matcher import Matcher
from boathook.permits.unlock import describe_pause, read_unlock_end
from boathook.sources.source import find_source
from boathook.sources.unused_sources import UnusedFile, find_unused_files
from boathook.system.locations import Locations

# `boathook check` reports these, with a fix
_CHECKED = (INVALID, NO_ENTRY, ERROR, WARNING)


@click.command("list")
@click.option("--event", type=EVENT, help="Only hooks of this event.")
@click.option("--prompt", is_flag=True, help="Only names and descriptions, for an agent's prompt.")
@json_option
@add_catalog_options
def list_hooks(event: str | None, prompt: bool, as_json: bool, **where: Any) -> int:
    """List all hooks and their state.

    \b
    States:
      armed           it runs on every event that matches
      invalid         its definition has an error (see boathook check)
      no-entry-point  it has no script to run
      shadowed        another hook of the same name replaces it
      disabled        hooks.toml or disableAllHooks turns it off
      untrusted, modified, denied (see boathook trust)
      not in this checkout        you trusted it, and its files are not there
      hidden by a nearer project  you trusted it above, and other hooks count here

    \b
    Examples:
      boathook list
      boathook list --event pre-tool-call --json
    """
    locations = locate(**where)
    catalog = load_with_trust(locations)[0].catalog
    unused = find_unused_files(locate_all(**where), locations) if not prompt else ()
    hooks = [hook for hook in catalog.hooks if event is None or hook.kind is find_kind(event)]
    pause_end = read_unlock_end(resolve_state(where.get("state")))
    built_in = [hook for hook in catalog.built_in if event is None or hook.kind is find_kind(event)]
    if not hooks and catalog.hooks and not prompt and not as_json:
        echo(f"No hook here is for {event}; {format_count(len(catalog.hooks), 'hook')} for other events.")
        return 0
    if prompt:
        echo_lines(describe_for_prompt(hooks))
    elif as_json:
        rows = {"hooks": [_hook_to_json(hook) for hook in hooks], "built_in": [*map(_built_in_to_json, built_in)]}
        print_json({**rows, "unused_files": [pick_fields(file, *file.FIELDS) for file in unused]})
    else:
        _print_hooks(catalog, hooks)
        for hook in built_in:
            echo(f"Built in: {hook.name} ({describe_built_in(hook, pause_end)})", "dim")
        for line in _describe_unused(unused, locations):
            echo(line, "dim")
    if not prompt:
        for diagnostic in catalog.diagnostics:
            echo(f"{diagnostic.level}: {diagnostic}", STATE_STYLES[diagnostic.level], err=True)
    return 0


def _describe_unused(files: Sequence[UnusedFile], locations: Locations) -> list[str]:
    """Return one line per file, and one that enables all of them: a second list of sources would be an error."""
    if not files:
        return []
    enabled = [one.without for one in map(find_source, (found.name for found in locations.sources)) if not one.part_of]
    names = ", ".join(f'"{name}"' for name in dict.fromkeys((*enabled, *(file.source for file in files))))
    place = f"{locations.config or '~/.config/agents'}/hooks.toml"
    lines = [f"Not enabled: {format_count(file.count, 'hook')} of {file.title} in {file.path}" for file in files]
    return [*lines, f"To run them in every agent, write sources = [{names}] under [hooks] in {place}"]


def _hook_to_json(hook: Hook) -> dict[str, Any]:
    return {
        **pick_fields(hook, "name", "description", "scope", "trigger", "priority", "mode", "on_failure", "protected"),
        **pick_fields(hook, "sandbox", "network", "imports", "state", "path", "source", "place"),
        "trusted_in": hook.approval.extent if hook.approval else None,
        "event": hook.kind.name if hook.kind else None,
        "timeout_ms": round(hook.timeout * 1000),
        "why": hook.state_reason,
        "matcher": _matcher_to_json(hook.matcher),
        "dialect": hook.dialect.name,
        "handler": _handler_to_json(hook.handler),
        "metadata": hook.metadata,
        "diagnostics": [diagnostic.to_json() for diagnostic in hook.diagnostics],
    }


def _built_in_to_json(hook: Hook) -> dict[str, Any]:
    return {**pick_fields(hook, "name", "description", "state"), "why": hook.state_reason}


def _matcher_to_json(matcher: Matcher) -> dict[str, Any] | None:
    if matcher.is_all:
        return None
    tool, pattern = matcher.tool, matcher.pattern
    fields = {name: one.display_text for name, one in matcher.fields}
    if fields and tool is None and pattern is None and not matcher.tool_kinds:
        return fields
    shown = {"tool": tool.display_text if tool else None, "pattern": pattern.display_text if pattern else None}
    return shown | ({"kind": ", ".join(matcher.tool_kinds)} if matcher.tool_kinds else {}) | fields


def _handler_to_json(handler: HookHandler) -> dict[str, Any]:
    """Return the kind and the fields of a handler, without values of headers and variables, which may be secret."""
    fields = {name: value for name, value in handler.__dict__.items() if name in handler.FIELDS and value}
    if isinstance(handler, Http):
        fields |= {"url": handler.safe_url, "headers": [name for name, _ in handler.headers]}
    if isinstance(handler, Command) and handler.variables:
        fields["variables"] = [name for name, _ in handler.variables]
    return {"kind": HANDLER_NAMES[type(handler)], **fields}


def describe_built_in(hook: Hook, pause_end: float) -> str:
    if hook.state != ARMED:
        return hook.state_text
    return describe_pause(pause_end) if pause_end else hook.state


def describe_for_prompt(hooks: list[Hook]) -> str:
    armed = [hook for hook in hooks if hook.state == ARMED]
    if not armed:
        return "No hooks are active."
    lines = ["These hooks watch what you do. They run by themselves; a blocked action comes back with the reason.", ""]
    for hook in armed:
        kind = hook.kind.name if hook.kind else hook.trigger
        lines.append(f"- {hook.name} ({kind}): {' '.join(hook.description.split()) or 'no description'}")
    return "\n".join(lines)


def _print_hooks(catalog: Catalog, hooks: list[Hook]) -> None:
    if not hooks:
        echo(f"No hooks for {catalog.project or 'this folder'}. Create one: boathook new my-hook --event pre-tool-call")
        return
    own_calls = [hook for hook in hooks if hook.state_reason == IS_INSTALLED_CALL]
    off = [hook.pack for hook in hooks if hook.is_off_in_pack]
    hooks = [hook for hook in hooks if hook.state_reason != IS_INSTALLED_CALL and not hook.is_off_in_pack]
    if own_calls:
        files = ", ".join(sorted({hook.path for hook in own_calls}))
        echo(f"boathook is installed in {files} ({format_count(len(own_calls), 'event')}).", "dim")
    for pack in dict.fromkeys(off):
        count = format_count(off.count(pack), "hook")
        echo(f"{count} of {pack} not turned on (boathook pack list shows them).", "dim")
    if not hooks:
        echo("There are no other hooks. Create one: boathook new my-hook --event pre-tool-call")
        return
    rows = []
    # Where all hooks have the same form, the column would say nothing.
    has_sources = len({hook.source for hook in hooks}) > 1
    for hook in hooks:
        event = hook.kind.name if hook.kind else "?"
        source = (hook.source,) if has_sources else ()
        cells = (hook.name, hook.state, hook.scope, *source, event, hook.mode, str(hook.priority))
        rows.append((*cells, describe_matcher(hook)))
    styles = [STATE_STYLES[hook.state] if hook.state != ARMED else "" for hook in hooks]
    source = ("SOURCE",) if has_sources else ()
    print_table(("NAME", "STATE", "SCOPE", *source, "EVENT", "MODE", "PRIORITY", "MATCHER"), rows, styles)
    notes = [(hook, hook.state_text, hook.state) for hook in hooks if hook.state != ARMED]
    for hook in hooks:
        for problem in hook.diagnostics:
            line = f" (line {problem.line})" if problem.line else ""
            if problem.message != hook.state_reason:
                notes.append((hook, f"{problem.level}: {problem.message}{line}", problem.level))
    for hook, text, level in notes:
        echo(f"  {hook.name}  {text}", STATE_STYLES[level])
    if any(level in _CHECKED for _, _, level in notes):
        echo("  See how to fix this: boathook check", "dim")


def describe_matcher(hook: Hook) -> str:
    tool, pattern = hook.matcher.tool, hook.matcher.pattern
    kinds = hook.matcher.tool_kinds
    parts = [f"kind {' or '.join(kinds)}" if kinds else "", f"tool {tool.display_text}" if tool else ""]
    parts += [f"input {pattern.display_text}" if pattern else ""]
    parts += [f"{name} {one.display_text}" for name, one in hook.matcher.fields]
    return ", ".join(part for part in parts if part) or "all"
