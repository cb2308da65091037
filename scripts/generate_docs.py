"""Makes the parts of the documentation that the code knows best; with --check, says whether they are up to date."""

from __future__ import annotations

import difflib
import json
import sys
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner

from boathook.cli.commands import cli
from boathook.core.claude_events import ELSEWHERE, ROWS, Row
from boathook.core.event import COMMON_FIELDS, KINDS
from boathook.core.tools import TOOLS
from boathook.dialects.claude import FILLED

REFERENCE = Path(__file__).parent.parent / "docs/reference"
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
        "| event | also spelled | own fields | a block means |",
        "|---|---|---|---|",
    ]
    for kind in (*canonical, *extensions):
        name = f"`{kind.name}`" + (" (extension)" if kind.extension else "")
        spellings = ", ".join(f"`{s}`" for s in kind.spellings) or "–"
        fields = ", ".join(f"`{f}`" for f in kind.fields)
        lines.append(f"| {name} | {spellings} | {fields} | {kind.block} |")
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
    lines += [f"| {' | '.join(_settings_cells(row))} |" for row in ROWS]
    lines += [
        "",
        "*told*: such an event cannot be refused; the text goes to the person as a system message.",
        "*also plain text*: what a command prints there is context even if it is no JSON.",
        "",
        "On standard input every hook finds `session_id`, `cwd`, `hook_event_name` and all that the host sent. Hosts differ",
        "in what they send, so these fields are filled in if they are missing:",
        "",
        "| event | fields that are always there, and their value if the host is silent |",
        "|---|---|",
        f"| all | {_filled(FILLED)} |",
    ]
    lines += [f"| {row.name} | {_filled(row.filled)} |" for row in ROWS]
    names = ", ".join(f"`{name}`" for name in ELSEWHERE)
    lines += [
        "",
        f"Events of Claude Code that have no counterpart here, so that their hooks run there alone: {names}.",
        "",
    ]
    return "\n".join(lines)


def _settings_cells(row: Row) -> list[str]:
    rewrites = [name for name, can in (("input", row.kind.rewrites_input), ("output", row.kind.rewrites_output)) if can]
    context = ("yes, also plain text" if row.plain else "yes") if row.context else "–"
    block = row.kind.block if row.refuses else "told"
    theirs = {ours: name for name, ours in row.renames}
    asks = f"`{theirs.get(row.subject, row.subject)}`" if row.subject else "–"
    return [
        f"`{row.name}`",
        f"`{row.kind_name}`",
        asks,
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
        "in them, are always possible). Names are not translated in this version: to watch `Shell` in an agent that calls it",
        "`Bash`, write `^(Shell|Bash)$`.",
        "",
        "| name | in other agents |",
        "|---|---|",
    ]
    lines += [f"| `{name}` | {', '.join(f'`{other}`' for other in others)} |" for name, others in TOOLS.items()]
    return "\n".join(lines) + "\n"


def command_line() -> str:
    """Give the reference of the command line, as the commands' own help says it."""
    parts = ["# Command line\n", MADE.strip() + "\n"]
    parts.append(EXIT_CODES)
    names = ["", *sorted(cli.commands)]
    for name in names:
        title = f"boathook {name}".strip()
        parts.append(f"## {title}\n\n```text\n{_help(name)}```\n")
    return "\n".join(parts)


EXIT_CODES = """\
| exit code | `run` | `check` | others |
|---|---|---|---|
| 0 | answered; with `--json` always | clean | done |
| 1 | the input or the command line cannot be read | errors, or wrong usage | something given cannot be used |
| 2 | blocked, the reasons on stderr | | |
| 128 + n | ended by signal n | | |

Colour and tables are for terminals; a pipe gets plain text. `NO_COLOR` is honoured.
"""


def _help(name: str) -> str:
    found = CliRunner().invoke(cli, [*name.split(), "--help"], prog_name="boathook", terminal_width=100)
    return "\n".join(line.rstrip() for line in click.unstyle(found.output).splitlines()) + "\n"


def main() -> int:
    """Write or check the files; give the exit code."""
    made = {"events.md": events(), "settings.md": settings(), "tools.md": tools(), "cli.md": command_line()}
    stale = 0
    for name, text in made.items():
        path = REFERENCE / name
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
        elif old != text:
            stale = 1
            sys.stdout.writelines(
                difflib.unified_diff(
                    old.splitlines(keepends=True), text.splitlines(keepends=True), name, "as the code says"
                )
            )
    if stale:
        print("generated documentation is stale: run `make docs`")
    return stale


if __name__ == "__main__":
    sys.exit(main())
