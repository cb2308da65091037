"""Generates the pages that only list others: the decisions of docs/adr, and the schemas of docs/reference/schemas."""

from __future__ import annotations

from pathlib import Path

from generate_schemas import SCHEMAS

DECISIONS = Path(__file__).resolve().parent.parent / "docs/adr"


def write_decisions_page(made: str) -> str:
    """Return the list of decisions, in the order of their numbers."""
    lines = [
        "# Decisions",
        "",
        made,
        "",
        "Why things are as they are. A decision that was revised has the revision on its page.",
        "",
    ]
    for path in sorted(DECISIONS.glob("[0-9]*.md")):
        number, _, title = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ").partition(". ")
        lines.append(f"- {number}: [{title}]({path.name})")
    return "\n".join(lines) + "\n"


def write_schemas_page(made: str) -> str:
    """Return the list of schemas, with what each describes."""
    lines = ["# JSON schemas", "", made, ""]
    lines += ["For editors, and for programs that read the output of `--json`. All are JSON Schema, draft 2020-12.", ""]
    lines += ["| schema | describes |", "|---|---|"]
    lines += [f"| [{name}]({name}) | {build()['title']} |" for name, build in SCHEMAS.items()]
    return "\n".join(lines) + "\n"
