"""`boathook show`: everything about one hook."""

from __future__ import annotations

import json
import os
from typing import Any

import click
from rich.markdown import Markdown

from boathook.assembly import load_with_trust, locate
from boathook.cli.common_options import add_catalog_options, json_option
from boathook.cli.hook_facts import HookFacts, collect_facts
from boathook.cli.list import describe_matcher
from boathook.cli.name_completion import ANY_HOOK_NAME
from boathook.cli.record_text import SHORT_TIME, format_time
from boathook.cli.show import (
    DECISION_STYLES,
    STATE_STYLES,
    echo,
    echo_fact,
    echo_lines,
    format_count,
    make_console,
    make_printable,
    print_json,
    print_table,
    repeat_project,
    shorten_path,
)
from boathook.core.approval import ANYWHERE, IN_REPOSITORY
from boathook.core.hook import ARMED, BASIC, DENIED, MODIFIED, UNTRUSTED, USER, BuiltIn, Command, Hook, Http, Prompt
from boathook.core.verdict import OK
from boathook.sources.hook_names import find_named_hooks
from boathook.system.programs import find_entry_point

_SHOWN_DIGEST_CHARS = 12
_SCOPE_WORDS = {"user": "your own", "project": "of this project", "local": "of this project, for you only"}
_EXTENT_WORDS = {IN_REPOSITORY: ", in all work trees of its repository", ANYWHERE: ", in every folder"}
_RUN_COLUMNS = ("TIME", "ID", "DECISION", "AGENT", "PROJECT", "REASON")


@click.command("show")
@click.argument("name", metavar="HOOK", type=ANY_HOOK_NAME)
@json_option
@add_catalog_options
def show_hook(name: str, as_json: bool, **where: Any) -> int:
    """Show everything about one hook.

    That is: where it comes from, when it runs, whether it is trusted and since when, what it cannot do in the agents
    that call boathook, what it did and how long it took, its tests, its files and its description. Nothing of it is run.
    HOOK is a name from `boathook list`; the pack of a hook, and the digest of an entry, can be left out.

    \b
    Examples:
      boathook show no-force-push
      boathook show boathook/standard:git-force
      boathook show git-force --json
    """
    locations = locate(**where)
    loaded = load_with_trust(locations)[0]
    hook, *others = find_named_hooks(
        (*loaded.catalog.hooks, *loaded.catalog.built_in), name, loaded.catalog.diagnostics
    )
    facts = collect_facts(hook, tuple(others), loaded, locations.state, where["project"])
    if as_json:
        print_json(facts.to_json())
    else:
        _print_facts(facts)
    return 0


def _print_facts(facts: HookFacts) -> None:
    hook = facts.hook
    echo(f"{hook.name}  {hook.state}", STATE_STYLES[hook.state])
    if hook.description:
        echo(" ".join(hook.description.split()))
    echo("")
    if hook.state != ARMED:
        echo_fact("state", repeat_project(hook.state_text), STATE_STYLES[hook.state])
    echo_fact("from", _describe_origin(hook))
    echo_fact("file", f"{shorten_path(hook.path)} ({hook.place})" if hook.place else shorten_path(hook.path))
    for other in facts.others:
        echo_fact("", f"also in {shorten_path(other.path)} ({other.scope}, {other.state})", "dim")
    event = f"{hook.kind.name} ({hook.trigger})" if hook.kind and hook.kind.name != hook.trigger else hook.trigger
    echo_fact("runs at", f"{event}, {describe_matcher(hook)}")
    echo_fact("", _describe_way(hook))
    echo_fact("runs", _describe_handler(hook))
    _print_trust(facts)
    if hook.pack:
        values = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in facts.settings.items()]
        echo_fact("settings", ", ".join(values) or _describe_unset(hook))
    _print_tests(facts)
    _print_past(facts)
    _print_agents(facts)
    _print_files(facts)
    for diagnostic in hook.diagnostics:
        if diagnostic.message != hook.state_reason:
            echo(f"{diagnostic.level}: {diagnostic}", STATE_STYLES[diagnostic.level])
    if facts.body.strip():
        _print_body(facts)


def _describe_unset(hook: Hook) -> str:
    """Return which settings a hook of a pack has, and where to set them."""
    if hook.known_settings == ():
        return "it has none"
    table = f'[packs."{hook.pack}".{hook.short_name}] in hooks.toml'
    names = ", ".join(hook.known_settings or ())
    return f"{names or 'none'}{' (not set)' if names else ''}; set them under {table}"


def _print_title(text: str) -> None:
    echo(text, "bold")


def _describe_origin(hook: Hook) -> str:
    scope = _SCOPE_WORDS.get(hook.scope, hook.scope)
    if isinstance(hook.handler, BuiltIn):
        return "boathook itself"
    return f"the pack {hook.pack}, {scope}" if hook.pack else f"{hook.source}, {scope}"


def _describe_way(hook: Hook) -> str:
    words = [hook.mode, f"priority {hook.priority}", f"at most {hook.timeout:g} s"]
    if hook.on_failure == "block":
        words.append("if it fails, the call is blocked")
    if hook.protected:
        words.append("a project cannot replace it")
    if hook.sandbox != BASIC or hook.network:
        words.append(f"sandbox {hook.sandbox} {'with' if hook.network else 'without'} the network")
    return ", ".join(words)


def _describe_handler(hook: Hook) -> str:
    match hook.handler:
        case Command(line=text):
            return text
        case Prompt(text=text):
            return f"a model reads: {' '.join(text.split())}"
        case Http(safe_url=text):
            return f"the event is posted to {text}"
        case BuiltIn():
            return "within the engine"
    path = find_entry_point(hook.edited_folder)
    return os.path.relpath(path, hook.edited_folder) if path else "nothing: it has no script"


def _print_trust(facts: HookFacts) -> None:
    hook, trust = facts.hook, facts.trust
    if hook.scope == USER:
        owner = "a part of boathook" if isinstance(hook.handler, BuiltIn) else "your own"
        echo_fact("trust", f"not needed: it is {owner}")
    elif hook.state in (UNTRUSTED, MODIFIED):
        review = repeat_project(f"boathook trust {hook.name}")
        echo_fact("trust", f"it does not run until you review it: {review}", "yellow")
    elif trust["digest"] or hook.state == DENIED:
        word = "denied" if hook.state == DENIED else f"trusted as {(trust['digest'] or '')[:_SHOWN_DIGEST_CHARS]}"
        since = f" since {trust['since']}" if trust["since"] else ""
        echo_fact("trust", f"{word}{since}{_EXTENT_WORDS.get(trust['holds_in'] or '', '')}")
    elif hook.state == ARMED:
        echo_fact("trust", "all hooks count as trusted here (--trust-all)")


def _print_tests(facts: HookFacts) -> None:
    tests, hook = facts.tests, facts.hook
    if tests["path"]:
        echo_fact("tests", f"{format_count(tests['cases'], 'case')}: {repeat_project(f'boathook test {hook.name}')}")
    elif hook.edited_folder:
        echo_fact("tests", f"none: write {shorten_path(hook.edited_folder)}/tests.txt", "dim")


def _print_past(facts: HookFacts) -> None:
    if not facts.stats.times:
        echo_fact("past", "the ledger has no run of it", "dim")
        return
    counts = facts.stats.to_json()
    words = [format_count(counts[f"{key}s"], key) for key in ("run", "block", "failure", "timeout")]
    echo_fact("past", f"{', '.join(words)}; half within {counts['p50_ms']} ms, 95 % within {counts['p95_ms']} ms")
    echo("")
    _print_title("Last runs")
    rows, styles = [], []
    for run in reversed(facts.recent):
        word = run["decision"] if run["status"] == OK else run["status"]
        project = os.path.basename(run["project"])
        reason = " ".join((run["reason"] or "").split())
        rows.append((format_time(run, SHORT_TIME), run["id"], word, run["host"], project, reason))
        styles.append(DECISION_STYLES.get(word, "dim"))
    print_table(_RUN_COLUMNS, rows, styles, cut=("REASON", "PROJECT"))


def _print_agents(facts: HookFacts) -> None:
    echo("")
    _print_title("In the agents that call boathook")
    for row in facts.agents:
        can = f"it can {', '.join(row['can'])}" if row["can"] else "it can only look on"
        echo_fact(row["agent"], "runs it itself, without boathook" if row["runs_itself"] else can)
        for text in row["unsupported"]:
            echo_fact("", text, "yellow")
    if not facts.agents:
        echo_fact("none", "boathook install AGENT connects one", "dim")


def _print_files(facts: HookFacts) -> None:
    if not facts.files:
        return
    echo("")
    folder = facts.hook.edited_folder
    _print_title(f"Files in {shorten_path(folder)}" if folder else "Files")
    width = max((len(file["path"]) for file in facts.files), default=0)
    for file in facts.files:
        executable = ", executable" if file["executable"] else ""
        echo(f"  {file['path']:{width}}  {file['bytes']:>9,} bytes{executable}", "dim")


def _print_body(facts: HookFacts) -> None:
    """Print what a HOOK.md says to people: rendered at a terminal, else as it is; no character of it is hidden."""
    console, text = make_console(), make_printable(facts.body)
    echo("")
    _print_title(f"{os.path.basename(facts.hook.path)} says")
    if console.is_terminal:
        # Links are shown with their addresses, not as links of the terminal.
        console.print(Markdown(text, code_theme="bw", hyperlinks=False))
    else:
        echo_lines(text)
