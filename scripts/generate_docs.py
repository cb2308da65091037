"""Makes the parts of the documentation that the code knows best; with --check, says whether they are up to date."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import json
import re
import runpy
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import FunctionType, MappingProxyType
from typing import Any

import click
from click.testing import CliRunner
from generate_fields import write_fields_page
from generate_forms import write_forms_page
from generate_pack import write_pack_page
from generate_schemas import FOLDER as SCHEMA_FOLDER
from generate_schemas import write_schemas

import boathook
from boathook import errors
from boathook.agent.builder import AgentBuilder
from boathook.agent.builtin_tools import make_tool
from boathook.agent.reference_agent import Agent
from boathook.agent.scripted import ScriptedModel
from boathook.cli.commands import cli
from boathook.command_rows import COMMANDS
from boathook.core.event import COMMON_FIELDS, KINDS, EventKind
from boathook.core.matcher import list_matcher_keys
from boathook.core.outcome import Decision, Outcome
from boathook.core.tool_kinds import ADDRESS, COMMAND, MARKS_OF_KINDS, MCP, PATH, TOOLS_OF_KINDS
from boathook.dialects.claude import DEFAULT_FIELDS
from boathook.hosts.capability_table import (
    CAPABILITY_WORDS,
    CASE_LEGEND,
    CONTINUE_WORDS,
    LEGEND,
    make_capability_table,
)
from boathook.hosts.claude import UNMAPPED_CLAUDE_EVENTS
from boathook.hosts.claude_events import CLAUDE_EVENTS, HookEvent
from boathook.hosts.host import (
    CAPABILITIES,
    SUBAGENT_KIND,
    Host,
    HostEvent,
    find_subagent_call,
    list_derived_kinds,
    list_host_names,
    load_host,
)
from boathook.hosts.setup import load_setup
from boathook.hosts.tool_names import TOOL_INPUT_KEYS, list_tool_names
from boathook.inprocess import matching
from boathook.inprocess.contexts import CHANGEABLE_FIELDS, CONTEXT_CLASSES, Context
from boathook.inprocess.hooks import list_decorators
from boathook.inprocess.layers import FAILURE_MODES
from boathook.inprocess.operations import ToolCall
from boathook.inprocess.stack import Stack
from boathook.system.locations import OWN_FOLDER

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs/reference"
PAGES = ROOT / "docs/how-to/hosts"
TESTS = ROOT / "tests"
PACKAGE = ROOT / "src/boathook"
MADE = "<!-- made by scripts/generate_docs.py: change the code, then run `make docs` -->\n\n"


def events() -> str:
    """Give the reference of events."""
    canonical, extensions = ([kind for kind in KINDS if kind.extension is own] for own in (False, True))
    lines = [
        "# Events",
        "",
        MADE.strip(),
        "",
        f"{len(canonical)} canonical events and {len(extensions)} extensions. Any spelling may stand in `trigger` and on the",
        "command line; a hook reads its own author's spelling back.",
        "",
        "| event | also spelled | own fields | `matcher` may have | a block means |",
        "|---|---|---|---|---|",
    ]
    for kind in (*canonical, *extensions):
        name = f"`{kind.name}`" + (" (extension)" if kind.extension else "")
        spellings = ", ".join(f"`{s}`" for s in kind.spellings) or "–"
        fields = ", ".join(f"`{f}`" for f in kind.fields)
        matched = ", ".join(f"`{key}`" for key in list_matcher_keys(kind)) or "–"
        lines.append(f"| {name} | {spellings} | {fields} | {matched} | {kind.block} |")
    lines += ["", "Every event also carries " + ", ".join(f"`{field}`" for field in COMMON_FIELDS) + ".", ""]
    rewriting = ", ".join(f"`{kind.name}`" for kind in KINDS if kind.rewrites_input)
    lines += [f"`modified_input` has an effect on {rewriting}; `modified_output` on `post-tool-call`.", ""]
    return "\n".join(lines)


def settings() -> str:
    """Give the reference of what hooks of settings.json can do, event by event."""
    lines = [
        "# settings.json, event by event",
        "",
        MADE.strip(),
        "",
        "What a hook of `settings.json` finds and can do in this engine, under any host. The rules are S13, S24 and S25 of the",
        "[specification](specification.md).",
        "",
        "| event | here | matcher asks | exit 2 or `block` | context for the model | rewrites | prompt hooks |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [f"| {' | '.join(_settings_cells(row))} |" for row in CLAUDE_EVENTS]
    lines += [
        "",
        "*reported*: such an event cannot be refused; the text goes to the person as a system message.",
        "*also plain text*: what a command prints there is context even if it is no JSON.",
        "",
        "On standard input every hook finds `session_id`, `cwd`, `hook_event_name` and all that the host sent. Hosts differ",
        "in what they send, so these fields are filled in if they are left out:",
        "",
        "| event | fields that are always there, and their value if the host leaves them out |",
        "|---|---|",
        f"| all | {_filled(DEFAULT_FIELDS)} |",
    ]
    lines += [f"| {row.name} | {_filled(row.filled)} |" for row in CLAUDE_EVENTS]
    names = ", ".join(f"`{name}`" for name in UNMAPPED_CLAUDE_EVENTS)
    lines += [
        "",
        f"Events of Claude Code that have no counterpart here, so that their hooks run there alone: {names}.",
        "",
    ]
    return "\n".join(lines)


def _settings_cells(row: HookEvent) -> list[str]:
    rewrites = [name for name, can in (("input", row.kind.rewrites_input), ("output", row.kind.rewrites_output)) if can]
    context = ("yes, also plain text" if row.plain else "yes") if row.context else "–"
    context = "sends the agent back to work, as `block` does" if row.continues_agent else context
    block = row.kind.block if row.refuses else "reported"
    theirs = {ours: name for name, ours in row.renames}
    needs_permission = f"`{theirs.get(row.subject, row.subject)}`" if row.subject else "–"
    return [
        f"`{row.name}`",
        f"`{row.kind_name}`",
        needs_permission,
        block,
        context,
        ", ".join(rewrites) or "–",
        "yes" if row.prompts else "–",
    ]


def _filled(pairs: tuple[tuple[str, Any], ...]) -> str:
    return ", ".join(f"`{name}` {json.dumps(value)}" for name, value in pairs)


def tools() -> str:
    """Give the reference of tool names that the checker knows."""
    lines = [
        "# Tool names",
        "",
        MADE.strip(),
        "",
        "`boathook check` warns of a `tool` pattern that matches none of these names (names of added servers, with `mcp` or `__`",
        "in them, are always possible).",
        "",
        "Under `run --host X` a tool has the name of the first column, and its input the keys of the second; the host's own",
        "name is `host_tool_name`. A `tool` pattern may mean our name, the host's or Claude Code's. Without `--host` nothing is",
        "translated: a hook finds the names that the caller uses.",
        "",
        "| name | keys of its input | in other agents |",
        "|---|---|---|",
    ]
    lines += [
        f"| `{name}` | {_codes(TOOL_INPUT_KEYS[name])} | {_codes(others)} |"
        for name, others in list_tool_names().items()
    ]
    lines += ["", *_list_tool_kinds()]
    return "\n".join(lines) + "\n"


KEYS_OF_SHAPES = {
    PATH: "a path, such as `path`, `filePath`, `files`, `uri`, `source`, or the places of a move, such as `from` and `to`",
    COMMAND: "a command, such as `command`, `cmd`, `script`, `code`",
    ADDRESS: "an address, such as `url`, `urls`, `link`",
}


def _list_tool_kinds() -> list[str]:
    rows = {kind: [ours for ours in TOOL_INPUT_KEYS if ours in names] for kind, names in TOOLS_OF_KINDS.items()}
    lines = [
        "## Kinds",
        "",
        "`matcher: {kind: …}` in HOOK.md means every tool of a kind, under each of its names. A tool that is not in the table",
        "above (of an MCP server, or unknown) is of a kind if its name has one of the parts and its input has the keys.",
        "",
        "| kind | tools | parts of other names | with keys for |",
        "|---|---|---|---|",
    ]
    for kind, names in rows.items():
        marks = [(parts, shape) for one, parts, shape in MARKS_OF_KINDS if one == kind] or [((), "")]
        for number, (parts, shape) in enumerate(marks):
            tools_of_kind = _codes(names) if number == 0 else ""
            any_name = "every tool of an MCP server" if kind == MCP else "any"
            shown = _codes(part.strip("_") for part in parts if part) or any_name
            lines.append(f"| `{kind}` | {tools_of_kind} | {shown} | {KEYS_OF_SHAPES.get(shape, '–')} |")
    return [*lines, "", "A shell command that has a patch in it is also of the kind `writes`."]


def _codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def hosts() -> str:
    """Give the reference of the hosts: how they are known, what they can do, how it is said."""
    tables = [load_host(name) for name in list_host_names()]
    lines = [
        "# Hosts",
        "",
        MADE.strip(),
        "",
        "The agents whose protocols `boathook run --host` speaks. *Run*: payloads were captured from that version, and answers",
        "were seen to work there, with a scripted model. *Read*: known only from documentation or source code.",
        "",
        "| `--host` | agent | evidence |",
        "|---|---|---|",
        *(f"| `{host.name}` | {host.title} | {host.evidence} |" for host in tables),
        "",
        "## What hooks can do there",
        "",
        ", ".join(f"{letter} {meaning}" for letter, meaning in LEGEND) + ".",
        f"{CASE_LEGEND}.",
        "",
        f"| event | {' | '.join(list_host_names())} |",
        f"|---|{'---|' * len(list_host_names())}",
        *(f"| `{name}` | {' | '.join(cells)} |" for name, *cells in make_capability_table()),
        "",
        "If an agent cannot do what a hook wants, you get a message, in the agent or on stderr. A question becomes a refusal where",
        "something can be refused, and a stop becomes a block; a new input becomes a refusal that names it, a new output",
        "is dropped, and context is shown to you.",
        "",
        "## What you see there",
        "",
        "Where a message reaches a person, as tried: that a hook is not trusted, failed or cannot be read, or what cannot be",
        "expressed.",
        "Where it does not, the model gets a notice once in a session, by count only, and is asked to inform you.",
        "The ledger has everything.",
        "",
        "| agent | messages are shown in | not shown in | the model gets it at |",
        "|---|---|---|---|",
        *(f"| {host.title} | {' | '.join(_list_visibility(host))} |" for host in tables),
    ]
    for host in tables:
        lines += _host(host)
    return "\n".join(lines) + "\n"


def _list_visibility(host: Host) -> tuple[str, str, str]:
    events = [f"`{row.name}`" for row in host.events if row.reaches_model and row.is_installed]
    hidden = host.message_unseen or ("–" if host.message_seen else "not tried")
    return host.message_seen or "not tried", hidden, ", ".join(events) if host.message_unseen else "–"


def _format_template(template: tuple[tuple[str, Any], ...]) -> str:
    pairs = [(place, str(value).lower() if isinstance(value, bool) else value) for place, value in template]
    return ", ".join(f"{place} {'…' if value in ('$', '$text') else value}" for place, value in pairs)


def _host(host: Host) -> list[str]:
    at = [
        " or ".join(f"`{place}`" for place in places)
        for places in (host.event_keys, host.session_keys, host.folder_keys)
    ]
    lines = [
        "",
        f"## {host.title}",
        "",
        f"Event in {at[0]}, session in {at[1]}, folder {f'in {at[2]}' if at[2] else 'not named: the one where it runs'}.",
        *([f"{host.block_side_effect}."] if host.block_side_effect else []),
        *([f"It also sends {_codes(host.subagent_events)} for its subagents."] if host.subagent_events else []),
        "",
        "| event | here | answers |",
        "|---|---|---|",
    ]
    for row in host.events:
        templates = {name: row.get_template(name) for name in CAPABILITIES if row.get_template(name)}
        answers = [f"{name}: `{_format_template(template)}`" for name, template in templates.items()]
        lines.append(f"| `{row.name}` | `{row.kind_name}` | {'; '.join(answers) or '–'} |")
    if host.unmapped_events:
        lines += ["", f"Events that boathook does not use, so their answer is empty: {_codes(host.unmapped_events)}."]
    lines += ["", "| tool | here | keys with other names |", "|---|---|---|"]
    for name, (ours, renames) in host.tools.items():
        keys = [f"`{place}` → `{key}`" if place else f"no `{key}`" for place, key in renames if place != key]
        lines.append(f"| `{name}` | `{ours}` | {', '.join(keys) or '–'} |")
    return lines


# Pages of hosts: written by hand, but for what stands between two marks

PART = re.compile(
    r"(<!-- generated: (?P<part>[a-z]+)(?: of (?P<host>[a-z-]+))?; `make docs` -->\n).*?(<!-- end -->)", re.DOTALL
)
KINDS_OF_AGENTS = {
    kind
    for name in list_host_names()
    for row in load_host(name).events
    for kind in (*row.kind_names, *list_derived_kinds(load_host(name), row))
}


def pages() -> Iterator[tuple[Path, str]]:
    """Give the pages of hosts with their generated parts made anew."""
    for path in [PAGES / "README.md", *(PAGES / f"{name}.md" for name in list_host_names())]:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        if not PART.search(text):
            raise SystemExit(f"{path} has no part to be generated: see another page of a host")
        yield path, PART.sub(_part, text)


def _part(found: re.Match[str]) -> str:
    lines = PARTS[found["part"]](found["host"])
    return found[1] + "".join(f"{line}\n" for line in lines) + found[4]


def _files_of(name: str) -> Iterator[str]:
    """Return where the files of a host are, and how all of it is known."""
    setup, host = load_setup(name), load_host(name)
    variable, below = setup.home
    path = "/".join(part for part in ("~", below, setup.user_file) if part)
    moved = f" (`{variable}` moves it)" if variable else ""
    where = f"`{setup.project_file}`" if setup.project_file else "–: it has no hooks of a project"
    yield from (
        "| | |",
        "|---|---|",
        f"| for all your projects | `{path}`{moved} |",
        f"| for one, `--project` | {where} |",
    )
    ways = (("", setup.runs_itself), ("at times ", setup.may_run_too))
    own_sources = ", ".join(f"{when}{_codes(names)}" for when, names in ways if names) or "none"
    yield f"| the project is | {_describe_project(host)} |"
    yield f"| sources that it runs itself | {own_sources}: {setup.evidence} |"
    shown, hidden, _ = _list_visibility(host)
    yield f"| messages are shown in | {shown} |"
    if host.message_unseen:
        yield f"| not in | {hidden}: there the model gets a notice once in a session, and is asked to inform you |"
    if host.subagent_events:
        yield f"| sent for subagents, too | {_codes(host.subagent_events)} |"
    yield f"| evidence | {host.evidence} |"


def _describe_project(host: Host) -> str:
    texts = []
    for place in host.project_at:
        if place == OWN_FOLDER:
            texts.append("the folder in which it starts boathook")
        elif place.startswith("$"):
            texts.append(f"what the variable `{place[1:]}` names")
        else:
            texts.append(f"what `{place}` of its payload names")
    return ", else ".join(texts)


def _capabilities_of(name: str) -> Iterator[str]:
    """Say what hooks can do in a host, event by event."""
    host, setup = load_host(name), load_setup(name)
    unanswered, derived, missing = [], [], []
    yield from ("| event | there | hooks can |", "|---|---|---|")
    for kind in KINDS:
        rows = [row for row in host.events if kind.name in row.kind_names and row.name in setup.events]
        if kind.name == SUBAGENT_KIND and (call := find_subagent_call(host)) is not None:
            rows = [call, *rows]
        if rows and (words := _describe_capabilities(host, rows[0])):
            yield f"| `{kind.name}` | {_there(kind, rows)} | {words} |"
        elif rows:
            unanswered.append(kind.name)
        elif any(kind.name in list_derived_kinds(host, row) for row in host.events):
            derived.append(kind.name)
        elif kind.name in KINDS_OF_AGENTS:
            missing.append(kind.name)
    notes = [
        "\\*: known only from its documentation; everything else was seen in a run."
        if host.version
        else "All of this is known only from its documentation."
    ]
    if unanswered:
        notes.append(f"Hooks run, but only you see their answers: {_codes(unanswered)}.")
    if derived:
        notes.append(
            f"Derived from a stop that no hook blocked; hooks run, but only you see their answers: {_codes(derived)}."
        )
    if missing:
        notes.append(f"It does not have these events, so hooks for them never run: {_codes(missing)}.")
    yield from ("", *notes)


def _there(kind: EventKind, rows: list[HostEvent]) -> str:
    names = ", ".join(f"`{row.name}`" for row in rows)
    if rows[0].kind_name == "pre-tool-call" != kind.name:
        return f"`{rows[0].name}` of the tool that starts it"
    return f"{names} of a tool that failed" if kind.name not in {row.kind_name for row in rows} else names


def _describe_capabilities(host: Host, row: HostEvent) -> str:
    words = []
    for name in CAPABILITIES:
        _, word = CAPABILITY_WORDS[name]
        if name == "block" and row.continues_agent:
            _, word = CONTINUE_WORDS
        elif name == "block" and not row.kind.is_pre:
            word = "send the model an objection"
        if row.get_template(name):
            words.append(word + ("\\*" if host.version and row.is_untested(name) else ""))
    return ", ".join(words)


def _overview(_: str | None) -> Iterator[str]:
    """Give all hosts, a line each."""
    yield from (
        "| agent | installed with | what is written for you | before a tool call hooks can |",
        "|---|---|---|---|",
    )
    for name in list_host_names():
        host, setup = load_host(name), load_setup(name)
        path = "/".join(part for part in ("~", setup.home[1], setup.user_file) if part)
        row = next(row for row in host.events if row.kind_name == "pre-tool-call")
        yield f"| [{host.title}]({name}.md) | `boathook install {name}` | `{path}` | {_describe_capabilities(host, row)} |"


PARTS: Mapping[str, Any] = {"files": _files_of, "capabilities": _capabilities_of, "overview": _overview}


def matrix() -> str:
    """Give the page of what was seen in real agents, of the results that `make e2e WRITE=1` wrote."""
    sys.path.insert(0, str(ROOT))
    from e2e.matrix import matrix_page

    return matrix_page(json.loads((ROOT / "e2e/results.json").read_text(encoding="utf-8")))


# In-process hooks

COMMON = {
    "kind": ("the kind of the event; `event` is its name", "`event_type`"),
    "session_id": ("the session, if there is one", "`session_id`"),
    "work_dir": ("the folder in which the agent works", "`work_dir`"),
    "state": ("the agent's own state; the agent of this package has an `AgentState`", "–"),
    "metadata": ("values for later hooks: `with_metadata`, `get`", "–"),
    "additional_context": ("context for the model: `add_context`", "–"),
    "messages": ("messages for the person: `add_message`", "–"),
    "extra": ("fields beyond those of the kind", "each by its name"),
}
LOOPS = (
    ("session", "pre-session", "a session begins"),
    ("session", "post-session", "a session ends, in any way"),
    ("turn", "pre-agent-turn", "a turn begins with a prompt"),
    ("turn", "pre-context-compact", "before a step, if the conversation exceeds its budget; or at `Session.compact`"),
    ("turn", "post-context-compact", "the conversation was compacted"),
    (
        "turn",
        "pre-agent-turn-stop",
        "the model called no tool, the person refused a call, or the limit of steps was reached",
    ),
    ("turn", "post-agent-turn-stop", "the agent stops, and no hook refused it"),
    ("turn", "post-agent-turn", "a turn ended that was not refused and did not fail"),
    ("turn", "turn-failure", "an error ended the turn"),
    ("step", "pre-step", "before a request to the model"),
    ("step", "post-step", "after the answer of the model and the results of the tools it called"),
    ("tool", "pre-tool-call", "a tool is about to be called"),
    ("tool", "permission-request", "before the person is asked: the tool needs permission, or a hook answered `ask`"),
    ("tool", "notification", "the person is asked now; or at `Session.notify`"),
    ("tool", "post-tool-call", "the tool returned a result"),
    ("tool", "post-tool-call-failure", "the tool raised an error"),
    ("tool", "pre-subagent", "the tool `Subagent` starts a subagent"),
    ("tool", "post-subagent", "the subagent wants to stop"),
)
ON_FAILURE = {
    "raise": "`process`, the guarded tool or the turn raises the error; the default of in-process hooks",
    "allow": "as if the hook had no opinion; with a warning in the log `boathook` and a message for the person",
    "block": "a block whose reason names the hook and the error",
}
OUTCOMES = {
    "proceed": " Also: None, and a bare context.",
    "block": "",
    "stop": "",
    "ask": " Has an effect at `pre-tool-call`.",
}
IN_PROCESS = f"""\
# In-process hooks

{MADE.strip()}

`Hooks` collects hooks into a `Stack`. A hook receives a context and returns an `Outcome`. How to write one:
[write a Python hook](../how-to/write-a-python-hook.md).

## Decorators

Each is a method of `Hooks`, used bare or with `match`, `priority` (0), `timeout` (seconds), `on_failure`, and for
`before_stop` also `max_rounds` (3). `hooks.on(name)` takes any [spelling](events.md) of an event; `hooks.add(name, hook)`
does the same without a decorator.

| decorator | event | context | may be changed | a block means | a stop |
|---|---|---|---|---|---|
%(decorators)s

A hook may add metadata, context for the model and messages for the person at every event. The last two columns are what
the agent of this package does. A guarded function and `Stack.run_tool` raise `Blocked` for a block (after the call, with
its `result`) and `Stopped` for a stop; `Stack.process` returns the outcome, and you decide.

## Outcomes

| made with | |
|---|---|
%(outcomes)s

| read with | |
|---|---|
%(readings)s

## Contexts

Contexts are immutable: a change makes a new one. `replace` changes the fields that the event allows, and raises
`HookError` for all others.

%(contexts)s

## Matchers

`match=` takes a text (like `tool_name`, at events with a tool), a callable that takes the context (like `where`), or a
matcher. Combine matchers with `&` and `|`, and negate one with `~`.

| matcher | |
|---|---|
%(matchers)s

## When a hook raises

| `on_failure` | |
|---|---|
%(failures)s

A hook that exceeds its timeout raises `HookTimeout`, which is handled in the same way.

## Errors

| error | is a | |
|---|---|---|
%(errors)s

## The agent's events, loop by loop

The agent that `AgentBuilder` builds has three nested loops: a session of turns, a turn of steps, and a step of one request
to the model and the tools it calls. Several tools run at the same time.

| loop | event | when |
|---|---|---|
%(loops)s

A session with all events: a tool that needs permission, one that fails, a subagent, a stop that is refused once, a
compaction, and a turn that fails.

```text
%(life)s
```
"""


def in_process() -> str:
    """Return the reference of in-process hooks."""
    parts = {
        "decorators": _decorator_rows(),
        "outcomes": (f"| {_call(Outcome, name)} | {_about(Outcome, name)}{note} |" for name, note in OUTCOMES.items()),
        "readings": _reading_rows(),
        "contexts": _contexts(),
        "matchers": (f"| {_call(matching, name)} | {_about(matching, name)} |" for name in MATCHERS),
        "failures": (f"| `{name}` | {ON_FAILURE[name]} |" for name in FAILURE_MODES),
        "errors": (
            f"| `{name}` | `{getattr(errors, name).__base__.__name__}` | {_about(errors, name)} |" for name in ERRORS
        ),
        "loops": (f"| {loop} | `{event}` | {when} |" for loop, event, when in LOOPS),
        "life": _life(),
    }
    return IN_PROCESS % {name: "\n".join(lines) for name, lines in parts.items()}


MATCHERS = ("tool_name", "tool_kind", "event_is", "where", "all_of", "any_of")
ERRORS = ("Blocked", "Stopped", "HookError", "HookTimeout", "UnknownEvent", "ConfigError")


def _decorator_rows() -> Iterator[str]:
    for name, kind in list_decorators().items():
        changes = ", ".join(f"`{field}`" for field in CHANGEABLE_FIELDS.get(kind.name, ())) or "–"
        context = CONTEXT_CLASSES[kind.name].__name__
        stop = "ends the run" if _ends_the_run(kind) else "comes too late"
        yield f"| `{name}` | `{kind.name}` | [`{context}`](#{context.lower()}) | {changes} | {kind.block} | {stop} |"


def _reading_rows() -> Iterator[str]:
    yield f"| `decision` | {' < '.join(word.upper() for word in Decision.NAMES)}; the highest of a chain wins |"
    yield "| `context` | the context to go on with; None if hooks did not change it |"
    for name in ("reason", "reasons", "is_blocked", "is_stopped", "is_final"):
        yield f"| `{name}` | {_about(Outcome, name)} |"


def _contexts() -> Iterator[str]:
    common = {field.name: COMMON[field.name] for field in dataclasses.fields(Context)}
    yield from ("### Context", "", _line(Context), "", "| field | | in file hooks |", "|---|---|---|")
    yield from (f"| `{name}` | {about} | {theirs} |" for name, (about, theirs) in common.items())
    yield from _methods(Context, {"apply_verdict"})
    for made in dict.fromkeys(CONTEXT_CLASSES.values()):
        kinds = ", ".join(f"`{name}`" for name, one in CONTEXT_CLASSES.items() if one is made)
        theirs = dict(field if isinstance(field, tuple) else (field, field) for field in made.EVENT_FIELDS)
        yield from ("", f"### {made.__name__}", "", f"{_line(made)} At {kinds}.", "")
        yield from ("| field | type | in file hooks |", "|---|---|---|")
        for field in dataclasses.fields(made):
            if field.name not in common:
                kind = str(field.type).replace("|", "\\|")
                yield f"| `{field.name}` | `{kind}` | {f'`{theirs[field.name]}`' if field.name in theirs else '–'} |"
        yield from _methods(made, set(dir(Context)), theirs)


def _methods(
    made: type[Context], left_out: set[str], theirs: Mapping[str, str] = MappingProxyType({})
) -> Iterator[str]:
    """Give what a context has beside its fields."""
    yield from ("", "| also | |", "|---|---|")
    for name, found in vars(made).items():
        if (
            isinstance(found, property | classmethod | FunctionType)
            and not name.startswith("_")
            and name not in left_out
        ):
            note = f" In file hooks: `{theirs[name]}`." if name in theirs else ""
            yield f"| {_call(made, name)} | {_about(made, name)}{note} |"


def _call(home: Any, name: str) -> str:
    """Give how something is called, as code."""
    if isinstance(vars(home)[name], property):
        return f"`{name}`"
    parameters = inspect.signature(getattr(home, name)).parameters.values()
    given = [_parameter(one) for one in parameters if one.name != "self"]
    prefix = f"{home.__name__}." if isinstance(vars(home)[name], classmethod) else "." if inspect.isclass(home) else ""
    return f"`{prefix}{name}({', '.join(given)})`"


def _parameter(one: inspect.Parameter) -> str:
    stars = "**" if one.kind is one.VAR_KEYWORD else "*" if one.kind is one.VAR_POSITIONAL else ""
    return f"{stars}{one.name}" + ("" if one.default is one.empty else f"={one.default!r}")


def _about(home: Any, name: str) -> str:
    return _line(getattr(home, name)).replace("|", "\\|")


def _line(thing: Any) -> str:
    """Give the first line of a docstring."""
    return (inspect.getdoc(thing) or "").partition("\n")[0]


def _life() -> list[str]:
    """Play a session in which every event happens; give the events, indented as they are nested."""
    events: list[tuple[str, str]] = []

    def write(context: Context) -> Outcome | None:
        events.append((context.event, context.tool))
        first_stop = [event for event, _ in events].count("pre-agent-turn-stop") == 1
        return Outcome.block("once more") if context.event == "pre-agent-turn-stop" and first_stop else None

    _play(_agent(Stack().with_(write)))
    loops = ("session", "turn", "step", "tool")
    depths = {event: loops.index(loop) for loop, event, _ in LOOPS}
    if {event for event, _ in events} != set(depths) or set(depths) != set(CONTEXT_CLASSES):
        raise AssertionError("LOOPS is to have every event, and every event is to happen")
    lines: list[str] = []
    inside = 0
    for event, tool in events:
        inside -= event == "post-subagent"
        lines.append("  " * (depths[event] + 2 * inside) + event + (f" ({tool})" if tool else ""))
        inside += event == "pre-subagent"
    return lines


def _agent(stack: Stack) -> Agent:
    """Build an agent that can be played as below."""

    def save() -> str:
        return "saved"

    def send() -> str:
        raise OSError("no line")

    task = ToolCall("Subagent", {"name": "scout", "task": "look"})
    model = ScriptedModel([ToolCall("save"), ToolCall("send"), task, "done", "done", OSError("away")])
    child = AgentBuilder().with_model(ScriptedModel(["seen"])).build()
    made = (
        AgentBuilder()
        .with_model(model)
        .with_tools(make_tool(save, needs_permission=True), send)
        .with_subagent("scout", child)
    )
    return made.with_permission(lambda _call, _why: True).with_hooks(stack).build()


def _play(agent: Agent) -> str:
    """Run two turns, a compaction between them; give how it ended."""
    try:
        with agent.session() as session:
            if session.run("go").status == "stopped":
                return "stopped"
            session.compact()
            session.run("once more")
    except errors.Stopped:
        return "stopped"
    except OSError:
        return "failed"
    return "done"


def _ends_the_run(kind: EventKind) -> bool:
    """Say whether a stop at an event ends the run, by trying."""
    return _play(_agent(Stack().with_(lambda _: Outcome.stop("enough"), on=kind))) == "stopped"


def command_line() -> str:
    """Give the reference of the command line, as the commands' own help says it."""
    parts = ["# Command line\n", MADE.strip() + "\n"]
    parts.append(EXIT_CODES)
    names = ["", *(name for command in COMMANDS for name in _with_its_own(command))]
    for name in names:
        title = f"boathook {name}".strip()
        parts.append(f"## {title}\n\n```text\n{_help(name)}```\n")
    return "\n".join(parts)


def _with_its_own(name: str) -> list[str]:
    """Give the name of a command, and those of the commands it has of its own."""
    found = cli.commands[name]
    return [name, *(f"{name} {own}" for own in sorted(found.commands))] if isinstance(found, click.Group) else [name]


EXIT_CODES = """\
| exit code | `run` | `check` | `agent` | others |
|---|---|---|---|---|
| 0 | answered; with `--json` always | clean | done | done |
| 1 | the input or the command line cannot be read | errors, wrong usage | an error, or not done | not done, or not all |
| 2 | blocked, the reasons on stderr | | blocked or stopped by a hook | |
| 3 | | | stopped although a hook refused that until its refusals were used up (`gate_lifted`) | |
| 128 + n | ended by signal n | | ended by signal n | |

Colour and tables are for terminals; a pipe gets plain text. `NO_COLOR` is honoured.
"""


def _help(name: str) -> str:
    found = CliRunner().invoke(cli, [*name.split(), "--help"], prog_name="boathook", terminal_width=100)
    return "\n".join(line.rstrip() for line in click.unstyle(found.output).splitlines()) + "\n"


def _rows() -> tuple[dict[str, Any], dict[int, str]]:
    """Load the rows, which live with their tests."""
    found: dict[str, Any] = runpy.run_path(str(TESTS / "faults/rows.py"))
    return found["ROWS"], found["NOTES"]


def faults() -> str:
    """Give the table of faults, each with the tests that name it."""
    tests, (all_rows, notes) = _tests_of_rows(), _rows()
    count = sum(len(rows) for rows in all_rows.values())
    lines = [
        "# Faults",
        "",
        MADE.strip(),
        "",
        f"{count} things that go wrong with hooks, and what happens then. Each has tests that carry its number, most of them in",
        "process and by command, under a watchdog: returned within timeout + 0.5 s, no process left (found by a mark in its",
        "environment), descriptors as before, memory bounded, exactly one record in the ledger, the decision as reported.",
    ]
    for group, rows in all_rows.items():
        lines += ["", f"## {group}", "", "| # | what goes wrong | what happens | tests |", "|---|---|---|---|"]
        for number, wrong, happens in rows:
            found = tests.get(number, {})
            if not found:
                raise SystemExit(f"no test names row {number} ({wrong})")
            where = ", ".join(f"`{name}` ({many})" for name, many in sorted(found.items()))
            note = f"; {notes[number]}" if number in notes else ""
            lines.append(f"| {number} | {_cell(wrong)} | {_cell(happens)} | {where}{note} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _tests_of_rows() -> dict[int, dict[str, int]]:
    """Give the files whose tests or cases carry the number of a row, with how many do."""
    found: dict[int, dict[str, int]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for number in set(re.findall(r"row_(\d\d)(?!\d)[a-z0-9_]*", path.read_text(encoding="utf-8"))):
            named = re.findall(
                rf"\brow_{number}_[a-z0-9_]+|test_row_{number}_[a-z0-9_]+", path.read_text(encoding="utf-8")
            )
            found.setdefault(int(number), {})[path.name] = len(set(named)) or 1
    return found


def write_stub() -> str:
    """Return `__init__.pyi`, from which type checkers know the names that the package imports lazily."""
    homes = {name: home for home, names in vars(boathook)["_PUBLIC_NAMES"].items() for name in names}
    homes["__version__"] = "version"
    imports = sorted((f"boathook.{home}", not name.isupper(), name) for name, home in homes.items())
    lines = (f"from {module} import {name} as {name}" for module, _, name in imports)
    return "\n".join(["# Generated from __init__.py by `make docs`.", *lines, ""])


def main() -> int:
    """Write or check the files; give the exit code."""
    made = {
        REFERENCE / "events.md": events(),
        REFERENCE / "fields.md": write_fields_page(MADE.strip()),
        REFERENCE / "settings.md": settings(),
        REFERENCE / "forms.md": write_forms_page(MADE.strip()),
        REFERENCE / "standard-pack.md": write_pack_page(MADE.strip()),
        REFERENCE / "tools.md": tools(),
        REFERENCE / "hosts.md": hosts(),
        REFERENCE / "cli.md": command_line(),
        REFERENCE / "in-process.md": in_process(),
        REFERENCE / "faults.md": faults(),
        REFERENCE / "matrix.md": matrix(),
        **dict(pages()),
        **dict(write_schemas()),
        PACKAGE / "__init__.pyi": write_stub(),
    }
    stale = 0
    for path, text in made.items():
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        if "--check" not in sys.argv:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif old != text:
            stale = 1
            sys.stdout.writelines(
                difflib.unified_diff(
                    old.splitlines(keepends=True), text.splitlines(keepends=True), path.name, "as the code says"
                )
            )
    for path in sorted({*SCHEMA_FOLDER.glob("*.json")} - {*made}):
        stale = 1
        print(f"{path.name} is not generated any more: remove it")
    if stale:
        print("generated documentation is stale: run `make docs`")
    return stale


if __name__ == "__main__":
    sys.exit(main())
