"""Generates docs/reference/hosts.md, and the parts of the pages in docs/how-to/hosts that the rows of agents know."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from generate_visibility import list_visibility

from boathook.core.event import KINDS, EventKind
from boathook.hosts.capability_table import (
    CAPABILITY_WORDS,
    CASE_LEGEND,
    CONTINUE_WORDS,
    LEGEND,
    make_capability_table,
)
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
from boathook.system.locations import OWN_FOLDER

PAGES = Path(__file__).resolve().parent.parent / "docs/how-to/hosts"


def format_codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def write_hosts_page(made: str) -> str:
    """Return the reference of the hosts: how they are known, what they can do, how it is said."""
    tables = [load_host(name) for name in list_host_names()]
    lines = [
        "# Hosts",
        "",
        made,
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
        "What you see of hooks in each agent is in [what each agent shows and hides](what-agents-show.md).",
        "",
        "## Who asks a person",
        "",
        "This is for a hook that asks about a tool call, if hooks.toml has no `ask`. Where the agent does not ask you, boathook",
        "waits for your answer while [something listens](../how-to/answer-a-question.md), and denies the call otherwise.",
        "",
        "| agent | the agent asks |",
        "|---|---|",
        *(f"| {host.title} | {_describe_asking(host)} |" for host in tables),
    ]
    for host in tables:
        lines += _describe_host(host)
    return "\n".join(lines) + "\n"


def _describe_asking(host: Host) -> str:
    """Return whether and where an agent asks a person if a hook wants that."""
    row = next((row for row in host.events if row.kind_name == "pre-tool-call"), None)
    if row is None or not row.ask:
        return "no"
    how = "yes" if host.version and "ask" not in row.untested.split() else "yes, by its documentation"
    if host.unasked_at:
        how += ", not with " + " or ".join(f"`{place.lstrip('$')}={value}`" for place, value in host.unasked_at)
    if rule := host.ask_versions:
        where = f"its version is read from `{rule.version_at.lstrip('$')}`"
        how += f"; from {rule.describe_since()} on, in every permission mode ({where}; an older or unknown one may run the call)"
    return how


def _format_template(template: tuple[tuple[str, Any], ...]) -> str:
    pairs = [(place, str(value).lower() if isinstance(value, bool) else value) for place, value in template]
    return ", ".join(f"{place} {'…' if value in ('$', '$text') else value}" for place, value in pairs)


def _describe_host(host: Host) -> list[str]:
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
        *([f"It also sends {format_codes(host.subagent_events)} for its subagents."] if host.subagent_events else []),
        "",
        "| event | here | answers |",
        "|---|---|---|",
    ]
    for row in host.events:
        templates = {name: row.get_template(name) for name in CAPABILITIES if row.get_template(name)}
        answers = [f"{name}: `{_format_template(template)}`" for name, template in templates.items()]
        lines.append(f"| `{row.name}` | `{row.kind_name}` | {'; '.join(answers) or '–'} |")
    if host.unmapped_events:
        lines += [
            "",
            f"Events that boathook does not use, so their answer is empty: {format_codes(host.unmapped_events)}.",
        ]
    lines += ["", "| tool | here | keys with other names |", "|---|---|---|"]
    for name, (ours, renames) in host.tools.items():
        keys = [f"`{place}` → `{key}`" if place else f"no `{key}`" for place, key in renames if place != key]
        lines.append(f"| `{name}` | `{ours}` | {', '.join(keys) or '–'} |")
    return lines


# Pages of hosts are written by hand, but for what is between two marks.

PART = re.compile(
    r"(<!-- generated: (?P<part>[a-z]+)(?: of (?P<host>[a-z-]+))?; `make docs` -->\n).*?(<!-- end -->)", re.DOTALL
)
KINDS_OF_AGENTS = {
    kind
    for name in list_host_names()
    for row in load_host(name).events
    for kind in (*row.kind_names, *list_derived_kinds(load_host(name), row))
}


def write_host_pages() -> Iterator[tuple[Path, str]]:
    """Yield the pages of hosts with their generated parts made anew."""
    for path in [PAGES / "README.md", *(PAGES / f"{name}.md" for name in list_host_names())]:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        if not PART.search(text):
            raise SystemExit(f"{path} has no part to be generated: see another page of a host")
        yield path, PART.sub(_write_part, text)


def _write_part(found: re.Match[str]) -> str:
    lines = PARTS[found["part"]](found["host"])
    return found[1] + "".join(f"{line}\n" for line in lines) + found[4]


def _list_files(name: str) -> Iterator[str]:
    """Yield where the files of a host are, and how all of it is known."""
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
    own_sources = ", ".join(f"{when}{format_codes(names)}" for when, names in ways if names) or "none"
    yield f"| the project is | {_describe_project(host)} |"
    yield f"| sources that it runs itself | {own_sources}: {setup.evidence} |"
    shown, hidden, _ = list_visibility(host)
    yield f"| messages are shown in | {shown} |"
    if host.message_unseen:
        yield f"| not in | {hidden}: there the model gets a notice once in a session, and is asked to inform you |"
    if host.subagent_events:
        yield f"| sent for subagents, too | {format_codes(host.subagent_events)} |"
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


def _list_capabilities(name: str) -> Iterator[str]:
    """Yield what hooks can do in a host, event by event."""
    host, setup = load_host(name), load_setup(name)
    unanswered, derived, missing = [], [], []
    yield from ("| event | there | hooks can |", "|---|---|---|")
    for kind in KINDS:
        rows = [row for row in host.events if kind.name in row.kind_names and row.name in setup.events]
        if kind.name == SUBAGENT_KIND and (call := find_subagent_call(host)) is not None:
            rows = [call, *rows]
        if rows and (words := _describe_capabilities(host, rows[0])):
            yield f"| `{kind.name}` | {_name_events(kind, rows)} | {words} |"
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
        notes.append(f"Hooks run, but only you see their answers: {format_codes(unanswered)}.")
    if derived:
        notes.append(
            f"Derived from a stop that no hook blocked; hooks run, but only you see their answers: {format_codes(derived)}."
        )
    if missing:
        notes.append(f"It does not have these events, so hooks for them never run: {format_codes(missing)}.")
    yield from ("", *notes)


def _name_events(kind: EventKind, rows: list[HostEvent]) -> str:
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


def _list_hosts(_: str | None) -> Iterator[str]:
    """Yield all hosts, a line each."""
    yield from (
        "| agent | installed with | what is written for you | before a tool call hooks can |",
        "|---|---|---|---|",
    )
    for name in list_host_names():
        host, setup = load_host(name), load_setup(name)
        path = "/".join(part for part in ("~", setup.home[1], setup.user_file) if part)
        row = next(row for row in host.events if row.kind_name == "pre-tool-call")
        yield f"| [{host.title}]({name}.md) | `boathook install {name}` | `{path}` | {_describe_capabilities(host, row)} |"


PARTS: Mapping[str, Any] = {"files": _list_files, "capabilities": _list_capabilities, "overview": _list_hosts}
