"""Makes the parts of the documentation that the code knows best; with --check, says whether they are up to date."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import json
import re
import runpy
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FunctionType, MappingProxyType
from typing import Any

import click
from click.testing import CliRunner
from generate_api import write_api_page
from generate_bridges import write_bridges_page, write_framework_pages
from generate_fields import write_fields_page
from generate_forms import write_forms_page
from generate_hosts import format_codes, write_host_pages, write_hosts_page
from generate_indexes import DECISIONS, write_decisions_page, write_schemas_page
from generate_man import MAN_FOLDER, write_man_pages
from generate_pack import write_pack_page
from generate_schemas import FOLDER as SCHEMA_FOLDER
from generate_schemas import write_schemas
from generate_visibility import write_visibility_page

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
from boathook.hosts.claude import UNMAPPED_CLAUDE_EVENTS
from boathook.hosts.claude_events import CLAUDE_EVENTS, HookEvent
from boathook.hosts.tool_names import TOOL_INPUT_KEYS, list_tool_names
from boathook.inprocess import matching
from boathook.inprocess.contexts import CHANGEABLE_FIELDS, CONTEXT_CLASSES, Context
from boathook.inprocess.hooks import list_decorators
from boathook.inprocess.layers import FAILURE_MODES
from boathook.inprocess.operations import ToolCall
from boathook.inprocess.stack import Stack

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs/reference"
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
        f"{len(canonical)} canonical events and {len(extensions)} extensions. You can use any spelling in `trigger` and on the",
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
        "*also plain text*: what a command prints there is context even if it is not JSON.",
        "",
        "On standard input every hook finds `session_id`, `cwd`, `hook_event_name` and everything that the host sent. Hosts differ",
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
        "translated: a hook finds the names that the caller uses. A HOOK.md takes `Bash` for `Shell` there, too, and",
        "`Read`, `Write`, `Edit`, `TodoWrite`, `AskUserQuestion` for our names of these, and the other way round.",
        "",
        "| name | keys of its input | in other agents |",
        "|---|---|---|",
    ]
    lines += [
        f"| `{name}` | {format_codes(TOOL_INPUT_KEYS[name])} | {format_codes(others)} |"
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
            tools_of_kind = format_codes(names) if number == 0 else ""
            any_name = "every tool of an MCP server" if kind == MCP else "any"
            shown = format_codes(part.strip("_") for part in parts if part) or any_name
            lines.append(f"| `{kind}` | {tools_of_kind} | {shown} | {KEYS_OF_SHAPES.get(shape, '–')} |")
    return [*lines, "", "A shell command that has a patch in it is also of the kind `writes`."]


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
    ("turn", "post-agent-turn", "a turn ended that was not refused, in any way: also by an error or an interruption"),
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
    "allow": " Has an effect at `pre-tool-call` and `permission-request`.",
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
`before_stop` and `subagent_stop` also `max_rounds` (3). `hooks.on(name)` takes any [spelling](events.md) of an event;
`hooks.add(name, hook)` does the same without a decorator.

| decorator | event | context | may be changed | a block means | a stop |
|---|---|---|---|---|---|
%(decorators)s

A hook may add metadata, context for the model and messages for the person at every event. The last two columns are what
the agent of this package does. A guarded function and `Stack.run_tool` raise `Blocked` for a block (after the call, with
its `result`) and `Stopped` for a stop; `Stack.process` returns the outcome, and you decide.
In all of them, what file hooks call your tool is [guessed](run-object.md#names-of-tools) from its name (`bash` is `Shell`).

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
    yield "| `context` | the context to go on with, as hooks left it; `Stack.process` always returns one |"
    for name in ("reason", "reasons", "is_blocked", "is_stopped", "proceeds"):
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
| 141 | | the reader of the output has ended | the same | the same |

Colour and tables that fit are for terminals; a pipe gets whole lines of plain text. With `NO_COLOR` nothing is coloured,
bold or dim.

To complete commands, options, names of hooks and ids of records in your shell, add `eval "$(boathook completion bash)"` to its
startup file (`zsh` alike; `boathook completion --help` has fish). The wheel brings manual pages: `man boathook`,
`man boathook-log`.
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


def make_files() -> dict[Path, str]:
    """Return every generated file, and its text."""
    return {
        REFERENCE / "events.md": events(),
        REFERENCE / "fields.md": write_fields_page(MADE.strip()),
        REFERENCE / "settings.md": settings(),
        REFERENCE / "forms.md": write_forms_page(MADE.strip()),
        REFERENCE / "standard-pack.md": write_pack_page(MADE.strip()),
        REFERENCE / "tools.md": tools(),
        REFERENCE / "hosts.md": write_hosts_page(MADE.strip()),
        REFERENCE / "cli.md": command_line(),
        REFERENCE / "in-process.md": in_process(),
        REFERENCE / "faults.md": faults(),
        REFERENCE / "matrix.md": matrix(),
        REFERENCE / "api.md": write_api_page(MADE.strip()),
        REFERENCE / "what-agents-show.md": write_visibility_page(MADE.strip()),
        SCHEMA_FOLDER / "README.md": write_schemas_page(MADE.strip()),
        DECISIONS / "README.md": write_decisions_page(MADE.strip()),
        REFERENCE / "bridges.md": write_bridges_page(MADE.strip()),
        **dict(write_framework_pages(MADE.strip())),
        **dict(write_host_pages()),
        **dict(write_schemas()),
        **dict(write_man_pages()),
        PACKAGE / "__init__.pyi": write_stub(),
    }


def main() -> int:
    """Write or check the files; give the exit code."""
    made = make_files()
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
    for path in sorted({*SCHEMA_FOLDER.glob("*.json"), *MAN_FOLDER.glob("*.1")} - {*made}):
        stale = 1
        print(f"{path.name} is not generated any more: remove it")
    if stale:
        print("generated documentation is stale: run `make docs`")
    return stale


if __name__ == "__main__":
    sys.exit(main())
