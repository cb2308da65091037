"""The matrix of what was seen in which agent, as a page and as a table for a terminal, made of the results of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

Row = dict[str, Any]

COLUMNS = {
    "block": "blocks a command",
    "rewrite": "rewrites a command",
    "context": "context for the model",
    "stop": "refuses a stop",
    "background": "runs in the background",
}
HEAD = """# Seen in real agents

<!-- made by `make e2e-all WRITE=1`: change the code under e2e/, then run it again -->

The same eight hooks of [`e2e/hooks`](../../e2e/hooks), put into each agent by `boathook install`, and the agent itself in the
version that is named: headless, with a model that plays a script, in a network namespace with nothing but loopback. *Seen* means
that the effect is there, and that it is absent in a second run without hooks:

- **blocks a command**: the file that the command would have made is not there, and the reason is in the agent's next request.
- **rewrites a command**: the file of the new command is there, that of the old one is not.
- **context for the model**: what the hook said is in a request, named by event.
- **refuses a stop**: the agent made one more request, with the reason in it, and then stopped.
- **runs in the background**: a hook of five seconds came to its end, and the agent asked the model before that.

Nothing is *seen* in an agent that offers its model a tool of which nothing is known here, or whose command or path no guard
would find.

`make e2e` runs the first five on every change, `make e2e-all` all of them.
"""


def matrix_page(results: dict[str, Any]) -> str:
    """Give the page."""
    rows: list[Row] = [row for row in results["rows"] if set(row["results"]) == set(COLUMNS)]
    scenes: list[Row] = [row for row in results["rows"] if row not in rows]
    lines = [HEAD, f"| agent | version | {' | '.join(COLUMNS.values())} |", "|---" * (len(COLUMNS) + 2) + "|"]
    lines += [
        f"| {_title(row)} | {row['version']} | {' | '.join(_cell(row, name) for name in COLUMNS)} |" for row in rows
    ]
    for row in scenes:
        lines += ["", "Also:", ""] if row is scenes[0] else []
        lines += [f"- {row['title']} {row['version']}: {name}: {one['state']}." for name, one in row["results"].items()]
    notes = list(_notes(rows))
    if notes:
        lines += ["", "## Where it is otherwise", "", *notes]
    return "\n".join([*lines, ""])


def _title(row: Row) -> str:
    return f"{row['title']}, hooks of a project" if row["variant"] == "project" else str(row["title"])


def _cell(row: Row, name: str) -> str:
    state, note = row["results"][name]["state"], row["results"][name]["note"]
    if name == "context" and state == "seen":
        return f"{state}: {note}"
    return f"{state}{'*' if note else ''}"


def _notes(rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        for name, words in COLUMNS.items():
            note = row["results"][name]["note"]
            if note and not (name == "context" and row["results"][name]["state"] == "seen"):
                yield f"- **{_title(row)}**, {words}: {note}."


def table(rows: Iterable[Row]) -> str:
    """Give a table for a terminal."""
    head = ["host", "version", *COLUMNS.values(), "seconds"]
    found = [head]
    for row in rows:
        states = [row["results"][name]["state"] for name in COLUMNS]
        name = f"{row['host']} (project)" if row["variant"] == "project" else row["host"]
        found.append([name, row["version"], *states, f"{row['seconds']:.1f}"])
    widths = [max(len(line[column]) for line in found) for column in range(len(head))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in found
    )
