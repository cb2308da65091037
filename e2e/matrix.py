"""The matrix of what was seen in which agent, as a page and as a table for a terminal, made of the results of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Row = dict[str, Any]

COLUMNS = {
    "block": "blocks a command",
    "rewrite": "rewrites a command",
    "context": "context for the model",
    "stop": "refuses a stop",
    "background": "runs in the background",
}
GUARDS = {
    "files": "every tool for files",
    "settings": "a guard of settings.json",
    "servers": "an MCP tool by one name",
    "together": "one of three calls",
    "folder": "a call in another folder",
    "subagents": "a subagent",
    "variables": "exports a variable",
}
PROTECTION = {
    "own-shell": "a command that changes a trusted hook",
    "own-file": "a tool for files that changes one",
    "allowed": "a person allows a call once",
    "removed": "a removed guard is on record",
}
ASK_COLUMNS = {
    "yes": "a person allows a call",
    "no": "a person denies a call",
    "own": "the agent answers itself",
    "silence": "no person answers",
    "killed": "the agent is killed",
    "alone": "no setting, no listener",
    "watched": "no setting, a listener",
    "dialog": "no setting, at a terminal",
}
HEAD = """# Seen in real agents

<!-- made by `make e2e-all WRITE=1`: change the code under e2e/, then run it again -->

The same eight hooks of `e2e/hooks`, put into each agent by `boathook install`, and the agent itself in the
version that is named: headless, with a model that plays a script, in a network namespace with nothing but loopback. *Seen* means
that the effect is there, and that it is absent in a second run without hooks:

- **blocks a command**: the file that the command would have made is not there, and the reason is in the agent's next request.
- **rewrites a command**: the file of the new command is there, that of the old one is not.
- **context for the model**: what the hook said is in a request, named by event.
- **refuses a stop**: the agent made one more request, with the reason in it, and then stopped.
- **runs in the background**: a hook of five seconds came to its end, and the agent asked the model before that.

Nothing is *seen* in an agent that offers its model a tool of which nothing is known here, or whose command or path no guard
would find.

`make e2e` runs the first five agents on every change, `make e2e-all` all of them.
"""
GUARD_HEAD = """## Guards

Hooks of a project that was trusted, `e2e/guard_hooks` and a
[settings.json](../../e2e/guard_settings/settings.json), in one session of each agent. *Seen* means here that the call had no
effect, that the reason was in the agent's next request, and that the call had its effect in a second session without hooks:

- **every tool for files**: a hook for `^(WriteFile|EditFile|DeleteFile)$` refused each tool that the agent offers for writing
  files. Some offer other tools to a model of another name; a row with that name has what depends on those tools.
- **a guard of settings.json**: the project's `.claude/settings.json` has a hook for `Write|Edit` that reads `file_path`.
- **an MCP tool by one name**: a hook for `^mcp__tiny__delete` refused `delete_note` of the server `tiny`, and let `keep_note` run.
- **one of three calls**: of three commands that the model sent at once, the middle one was refused and the others ran.
- **a call in another folder**: the call named a folder outside of the project, or one in it that has a folder for hooks of its own.
- **a subagent**: a `pre-subagent` hook refused the tool call that would have started it.
- **exports a variable**: what a `pre-session` hook exported was in the environment of a later command.
"""
PROTECTION_HEAD = """## Guards that stay

In the same sessions:

- **a command that changes a trusted hook**: `rm -r` of a part of a trusted hook did not run, because of
  [self-protection](../how-to/protect-the-guards.md), and neither did **a tool for files that changes one**.
- **a person allows a call once**: a guard refused a command; `boathook allow` was run on another terminal; then the same
  command ran.
- **a removed guard is on record**: a trusted guard was deleted while the agent worked. The next command that it would have
  refused ran, and the record of that call names the guard that was not asked.
"""
ASK_HEAD = """## Questions that wait for a person

A hook of the user asks about calls, in agents that ask no person themselves when they run headless. With `ask = "wait"` in
hooks.toml, *seen* means:

- **a person allows a call**: the call waited. `boathook asks`, run at another terminal, showed the whole command. The end of
  its digest was typed, and the call ran.
- **a person denies a call**: `no` was typed. The call did not run, and the next request has the answer in it.
- **the agent answers itself**: its own call of `boathook asks` was a question, too, which a person denied. Then a program that
  the agent had started tried to answer at terminals of its own, below the agent and apart from it. Both were refused, and the
  record of the question has the reasons.
- **no person answers**: the call did not run and is on record as `unanswered`, and the next request has that this is not
  consent. The next question of that session was denied at once. After `boathook allow`, calls waited again.
- **the agent is killed**: the question disappeared, and nothing was allowed.

Without a setting:

- **no setting, no listener**: the call did not run, and the reason is in the next request.
- **no setting, a listener**: while `boathook asks --watch` ran at another terminal, the call waited, was allowed there, and ran.
- **no setting, at a terminal**: the agent, run at a terminal, asked the person there itself, and boathook did not wait. The call
  ran after the person said yes.

[Who asks a person](hosts.md#who-asks-a-person) has a row for every agent: in which mode and from which version on it asks.
"""


def matrix_page(results: dict[str, Any]) -> str:
    """Give the page."""
    behaviours, guards, asks, scenes = _kinds(results["rows"])
    lines = [HEAD, *_lines(behaviours, COLUMNS)]
    for row in scenes:
        lines += ["", "Also:", ""] if row is scenes[0] else []
        lines += [f"- {row['title']} {row['version']}: {name}: {one['state']}." for name, one in row["results"].items()]
    if guards:
        lines += ["", GUARD_HEAD, *_lines(guards, GUARDS)]
    protected = _find_protected(guards)
    if protected:
        lines += ["", PROTECTION_HEAD, *_lines(protected, PROTECTION)]
    if asks:
        lines += ["", ASK_HEAD, *_lines(asks, ASK_COLUMNS)]
    notes = [*_notes(behaviours, COLUMNS), *_notes(guards, GUARDS), *_notes(protected, PROTECTION)]
    notes += _notes(asks, ASK_COLUMNS)
    if notes:
        lines += ["", "## Where it is otherwise", "", *notes]
    return "\n".join([*lines, ""])


def _kinds(rows: Iterable[Row]) -> tuple[list[Row], ...]:
    """Give the rows of behaviours, of guards, of questions, and of scenes."""
    columns = [{*COLUMNS}, {*GUARDS, *PROTECTION}, {*ASK_COLUMNS}]
    kinds: tuple[list[Row], ...] = tuple([] for _ in range(len(columns) + 1))
    for row in rows:
        matching = [number for number, names in enumerate(columns) if row["results"].keys() <= names]
        kinds[matching[0] if matching else -1].append(row)
    return kinds


def _find_protected(rows: Iterable[Row]) -> list[Row]:
    """Give the rows of sessions in which an agent tried to get rid of guards."""
    return [row for row in rows if not PROTECTION.keys().isdisjoint(row["results"])]


def _lines(rows: Iterable[Row], columns: Mapping[str, str]) -> Iterator[str]:
    """Give the lines of a table of the page."""
    yield f"| agent | version | {' | '.join(columns.values())} |"
    yield "|---" * (len(columns) + 2) + "|"
    for row in rows:
        yield f"| {_title(row)} | {row['version']} | {' | '.join(_cell(row, name) for name in columns)} |"


def _title(row: Row) -> str:
    if row["variant"] == "project":
        return f"{row['title']}, hooks of a project"
    model = row["variant"].partition("-")[2] if row["variant"].startswith("guards-") else ""
    return f"{row['title']}, {model}" if model else str(row["title"])


def _has_list(row: Row, name: str) -> bool:
    """Say whether the note of a result is the list of what was seen."""
    return (name == "context" or name in GUARDS or name in PROTECTION) and bool(row["results"][name]["state"] == "seen")


def _cell(row: Row, name: str) -> str:
    if name not in row["results"]:
        return "–"
    state, note = row["results"][name]["state"], row["results"][name]["note"]
    if _has_list(row, name) and note:
        return f"{state}: {note}"
    return f"{state}{'*' if note else ''}"


def _notes(rows: Iterable[Row], columns: Mapping[str, str]) -> Iterator[str]:
    for row in rows:
        for name, words in columns.items():
            note = row["results"].get(name, {}).get("note")
            if note and not _has_list(row, name):
                yield f"- **{_title(row)}**, {words}: {note}."


def tables(rows: Iterable[Row]) -> Iterator[str]:
    """Give a table of behaviours, one of guards, one of their protection and one of questions, for a terminal."""
    behaviours, guards, asks, _ = _kinds(rows)
    kinds = ((behaviours, COLUMNS), (guards, GUARDS), (_find_protected(guards), PROTECTION), (asks, ASK_COLUMNS))
    for found, columns in kinds:
        if found:
            yield _table(found, columns)


def _table(rows: Iterable[Row], columns: Mapping[str, str]) -> str:
    head = ["host", "version", *columns.values(), "seconds"]
    found = [head]
    for row in rows:
        states = [row["results"].get(name, {}).get("state", "–") for name in columns]
        name = row["host"] if row["variant"] in ("hooks", "guards", "asks") else f"{row['host']} ({row['variant']})"
        found.append([name, row["version"], *states, f"{row['seconds']:.1f}"])
    widths = [max(len(line[column]) for line in found) for column in range(len(head))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in found
    )
