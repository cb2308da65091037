"""`boathook list`: all hooks and their state."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click

from boathook.assembly import load_with_trust, locate, locate_all, resolve_state
from boathook.cli.common_options import EVENT, add_catalog_options, json_option
from boathook.cli.hook_causes import list_installed_hosts
from boathook.cli.show import (
    STATE_STYLES,
    echo,
    echo_lines,
    echo_wrapped,
    format_count,
    make_console,
    pick_fields,
    print_json,
    print_table,
    repeat_project,
    shorten_hook_name,
)
from boathook.core.catalog import Catalog
from boathook.core.event import find_kind
from boathook.core.hook import (
    ARMED,
    DISABLED,
    ERROR,
    HANDLER_NAMES,
    HIDDEN,
    INVALID,
    MODIFIED,
    NO_ENTRY,
    SCOPES,
    UNTRUSTED,
    WARNING,
    Command,
    Hook,
    HookHandler,
    Http,
)
from boathook.core.matcher import Matcher
from boathook.core.notices import list_names
from boathook.permits.unlock import describe_pause, read_unlock_end
from boathook.sources.double_hooks import describe_doubles, find_double_hooks
from boathook.sources.source import find_source
from boathook.sources.unused_sources import UnusedFile, find_unused_files
from boathook.system.locations import Locations

# More hooks than this in one state get one line.
_MAX_NOTES = 5
# `boathook check` reports these, with a fix
_CHECKED = (INVALID, NO_ENTRY, ERROR, WARNING)


@click.command("list")
@click.option("--event", type=EVENT, help="Only hooks of this event.")
@click.option(
    "--all", "everything", is_flag=True, help="Every hook of packs, and form, mode and priority of each hook."
)
@click.option("--prompt", is_flag=True, help="Only names and descriptions, for an agent's prompt.")
@json_option
@add_catalog_options
def list_hooks(event: str | None, everything: bool, prompt: bool, as_json: bool, **where: Any) -> int:
    """List all hooks and their state.

    Your own hooks come first, then those of the project, each in the order in which they run. Hooks of packs are
    counted, unless something is wrong with them; --all lists each. `boathook show NAME` shows all about one.

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
      boathook list --all
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
        rows = {"hooks": [hook_to_json(hook) for hook in hooks], "built_in": [*map(_built_in_to_json, built_in)]}
        print_json({**rows, "unused_files": [pick_fields(file, *file.FIELDS) for file in unused]})
    else:
        callers = [host.name for host in list_installed_hosts(locations.state, where.get("project"))]
        _print_hooks(catalog, hooks, callers, is_whole=everything)
        for hook in built_in:
            echo(f"Built in: {hook.name} ({describe_built_in(hook, pause_end)})", "dim")
        for line in (*_describe_unused_files(unused, locations), repeat_project(_find_next_step(hooks))):
            echo_wrapped(line, "dim")
    if not prompt:
        if doubles := describe_doubles(find_double_hooks(catalog.hooks)):
            echo(f"warning: {doubles}", STATE_STYLES["warning"], err=True)
        for diagnostic in catalog.diagnostics:
            echo(f"{diagnostic.level}: {diagnostic}", STATE_STYLES[diagnostic.level], err=True)
    return 0


def _describe_unused_files(files: Sequence[UnusedFile], locations: Locations) -> list[str]:
    """Return one line per file, and one that enables all of them: a second list of sources would be an error."""
    if not files:
        return []
    enabled = [one.without for one in map(find_source, (found.name for found in locations.sources)) if not one.part_of]
    names = ", ".join(f'"{name}"' for name in dict.fromkeys((*enabled, *(file.source for file in files))))
    place = f"{locations.config or '~/.config/agents'}/hooks.toml"
    lines = [f"Not enabled: {format_count(file.count, 'hook')} of {file.title} in {file.path}" for file in files]
    return [*lines, f"To run them in every agent, write sources = [{names}] under [hooks] in {place}"]


def hook_to_json(hook: Hook) -> dict[str, Any]:
    return {
        **pick_fields(hook, "name", "description", "scope", "trigger", "priority", "mode", "on_failure", "protected"),
        **pick_fields(hook, "sandbox", "network", "imports", "ask", "state", "path", "source", "place"),
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


def _print_hooks(catalog: Catalog, hooks: list[Hook], callers: list[str], *, is_whole: bool) -> None:
    if not hooks:
        echo(f"No hooks for {catalog.project or 'this folder'}. Create one: boathook new my-hook --event pre-tool-call")
        return
    own_calls = [hook for hook in hooks if hook.is_installed_call]
    rest = sorted((hook for hook in hooks if hook not in own_calls), key=lambda hook: SCOPES.index(hook.scope))
    shown = [hook for hook in rest if is_whole or not _is_summed_up(hook)]
    if shown:
        _print_rows(shown, is_whole=is_whole)
    for line in () if is_whole else _describe_packs(rest):
        echo(line)
    _print_notes([hook for hook in shown if not hook.is_off_in_pack])
    if callers:
        echo_wrapped(f"Agents that call boathook: {', '.join(callers)} (boathook status)", "dim")
    elif own_calls:
        files = ", ".join(sorted({hook.path for hook in own_calls}))
        echo_wrapped(f"boathook is installed in {files} ({format_count(len(own_calls), 'event')}).", "dim")
    if not rest:
        echo("There are no other hooks. Create one: boathook new my-hook --event pre-tool-call")


def _is_summed_up(hook: Hook) -> bool:
    """Whether a hook is only counted: it comes with a pack, and is as it should be."""
    return bool(hook.pack) and hook.state in (ARMED, DISABLED) and not hook.diagnostics


def _describe_packs(hooks: list[Hook]) -> Iterator[str]:
    packs = dict.fromkeys((hook.pack, hook.scope) for hook in hooks if _is_summed_up(hook))
    for pack, scope in packs:
        members = [hook for hook in hooks if (hook.pack, hook.scope) == (pack, scope) and _is_summed_up(hook)]
        on = sum(hook.state == ARMED for hook in members)
        yield f"Pack {pack} ({scope}): {format_count(on, 'hook')} on, {len(members) - on} off (boathook pack list)"


def _print_rows(hooks: list[Hook], *, is_whole: bool) -> None:
    # Where all hooks have the same form, the column would say nothing.
    has_sources = is_whole or len({hook.source for hook in hooks}) > 1
    columns: dict[str, Callable[[Hook], str]] = {
        "NAME": lambda hook: hook.name,
        "STATE": lambda hook: hook.state,
        "SCOPE": lambda hook: hook.scope,
        **({"SOURCE": lambda hook: hook.source} if has_sources else {}),
        "EVENT": lambda hook: hook.kind.name if hook.kind else "?",
        **({"MODE": lambda hook: hook.mode, "PRIORITY": lambda hook: str(hook.priority)} if is_whole else {}),
        "MATCHER": describe_matcher,
    }
    rows = [[make_cell(hook) for make_cell in columns.values()] for hook in hooks]
    console = make_console()
    room = console.width // 3 if console.is_terminal else sys.maxsize
    if any(len(hook.name) > room for hook in hooks):
        # The names of the hooks of a pack begin alike, and would end there.
        rows = [
            [shorten_hook_name(row[0], 0) if hook.pack else row[0], *row[1:]]
            for hook, row in zip(hooks, rows, strict=True)
        ]
    styles = [STATE_STYLES[hook.state] if hook.state != ARMED else "" for hook in hooks]
    print_table(list(columns), rows, styles, cut=("MATCHER", "EVENT", "NAME"))


def _print_notes(hooks: list[Hook]) -> None:
    """Print what is wrong with hooks; a state that many have gets one line."""
    states: dict[str, list[Hook]] = {}
    for hook in hooks:
        if hook.state != ARMED:
            states.setdefault(hook.state, []).append(hook)
    notes = [note for state, members in states.items() for note in _describe_state(state, members)]
    for hook in hooks:
        for problem in hook.diagnostics:
            line = f" (line {problem.line})" if problem.line else ""
            if problem.message != hook.state_reason:
                notes.append((f"  {hook.name}  {problem.level}: {problem.message}{line}", problem.level))
    for text, level in notes:
        echo_wrapped(text, STATE_STYLES[level])


def _find_next_step(hooks: list[Hook]) -> str:
    """Return what to do next about hooks."""
    mine = [hook for hook in hooks if not hook.is_installed_call and not hook.is_off_in_pack]
    levels = {problem.level for hook in mine for problem in hook.diagnostics} | {hook.state for hook in mine}
    if levels.intersection(_CHECKED):
        return "Next: boathook check shows how to fix it"
    if levels.intersection((UNTRUSTED, MODIFIED, HIDDEN)):
        return "Next: boathook trust shows what would run, and asks"
    shown = next((hook for hook in mine if hook.state == ARMED), None)
    return f"Next: boathook show {shown.name.partition('#')[0]} shows all about a hook" if shown else ""


def _describe_state(state: str, hooks: list[Hook]) -> list[tuple[str, str]]:
    if len(hooks) > _MAX_NOTES:
        return [(f"  {len(hooks)} are {state}: {list_names([hook.name for hook in hooks])}", state)]
    return [(f"  {hook.name}  {repeat_project(hook.state_text)}", state) for hook in hooks]


def describe_matcher(hook: Hook) -> str:
    tool, pattern = hook.matcher.tool, hook.matcher.pattern
    kinds = hook.matcher.tool_kinds
    parts = [f"kind {' or '.join(kinds)}" if kinds else "", f"tool {tool.display_text}" if tool else ""]
    parts += [f"input {pattern.display_text}" if pattern else ""]
    parts += [f"{name} {one.display_text}" for name, one in hook.matcher.fields]
    return ", ".join(part for part in parts if part) or "all"
