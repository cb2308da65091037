"""Generates docs/reference/bridges.md, the matrix of bridges, from what `make bridges WRITE=1` has seen (tests/bridges/results).

And the lists of the pages in docs/how-to/frameworks.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.bridges.behaviours import BEHAVIOURS  # noqa: E402

RESULTS = ROOT / "tests/bridges/results"
PAGES = ROOT / "docs/how-to/frameworks"
INDEX = ROOT / "docs/README.md"
LISTED = re.compile(r"(<!-- generated: frameworks; `make docs` -->\n).*?(<!-- end -->)", re.DOTALL)
YES, CANNOT, FAILED, NO_WAY = "yes", "cannot", "FAILED", "–"
# What was seen with one framework: {"framework", "versions", "columns": {column: {behaviour: {way: "" or why not}}}}.
Result = dict[str, Any]


def read_results() -> list[Result]:
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))]


def write_bridges_page(made: str) -> str:
    """Return the page: versions, the matrix, and why something cannot be done."""
    results = read_results()
    lines = [
        "# What was tested in Python frameworks",
        "",
        made,
        "",
        "The same scenes in every framework, with a real release and a scripted model, offline: with the bridge, and again without",
        "it, where the opposite must happen. *cannot* means that boathook refuses to be attached, or that the run raises an error",
        "when it gets there, unless the reason says otherwise.",
        "",
        "How to attach a bridge: [in a Python framework](../how-to/frameworks/README.md).",
        "",
    ]
    return "\n".join([*lines, *write_tables(results), *write_overhead(results)]) + "\n"


def write_tables(results: list[Result]) -> Iterator[str]:
    """Return the lines of the tables."""
    columns = {column: cells for result in results for column, cells in result["columns"].items()}
    reasons = list(
        dict.fromkeys(why for cells in columns.values() for ways in cells.values() for why in ways.values() if why)
    )
    yield from ("| framework | versions | ways of running |", "|---|---|---|")
    for result in results:
        versions = ", ".join(f"{name} {number}" for name, number in result["versions"].items())
        for column, cells in result["columns"].items():
            yield f"| {column} | {versions} | {', '.join(list_ways(cells))} |"
    yield from ("", f"| behaviour | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|")
    for behaviour, sentence in BEHAVIOURS.items():
        cells = [write_cell(found.get(behaviour, {}), reasons) for found in columns.values()]
        yield f"| **{behaviour}**: {sentence} | {' | '.join(cells)} |"
    yield ""
    yield from (f"{number}. {why}" for number, why in enumerate(reasons, 1))


def write_overhead(results: list[Result]) -> Iterator[str]:
    """Return the table of what bridges cost."""
    overhead = {column: cases for result in results for column, cases in result.get("overhead", {}).items()}
    names = list(dict.fromkeys(case for cases in overhead.values() for case in cases))
    if not overhead:
        return
    yield from ("", "## What it costs", "")
    yield "Processor time per tool call, against the same agent without the bridge (`make bridges BENCH=1`). The model is a script,"
    yield "so a framework that does little itself has high ratios. Measured on a busy machine: 0.05 more or less may be chance."
    yield from ("", f"| | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|")
    for column, cases in overhead.items():
        yield f"| {column} | {' | '.join(f'{cases[name]:.2f}x' if name in cases else NO_WAY for name in names)} |"


def list_ways(cells: dict[str, dict[str, str]]) -> list[str]:
    """Return the ways of running that were tested, in the order sync, async, stream."""
    return sorted({way for ways in cells.values() for way in ways}, key=lambda way: (way == "stream", way != "sync"))


def write_cell(ways: dict[str, str], reasons: list[str]) -> str:
    """Return a cell: yes, cannot with the number of the reason, or yes with the ways in which it cannot."""
    missing = {way: why for way, why in ways.items() if why}
    if not ways:
        return NO_WAY
    if not missing:
        return YES
    notes = ", ".join(f"{way} ({reasons.index(why) + 1})" for way, why in missing.items())
    whole = ", ".join(dict.fromkeys(f"({reasons.index(why) + 1})" for why in missing.values()))
    return f"{CANNOT} {whole}" if len(missing) == len(ways) else f"{YES}, {CANNOT} {notes}"


def list_pages() -> Iterator[tuple[str, Path]]:
    """Return the pages of frameworks with their titles."""
    for path in sorted(PAGES.glob("*.md")):
        if path.name != "README.md":
            yield path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# "), path


def write_framework_pages(made: str) -> Iterator[tuple[Path, str]]:
    """Return the list of frameworks, and the index of the documentation with these pages in it."""
    lines = [
        "# In a Python framework",
        "",
        made,
        "",
        "A bridge attaches your hooks to the agents of a framework, in one line: HOOK.md, settings.json, packs, Python functions.",
        "Each is an extra of this package (`pip install 'boathook[NAME]'`), and imports its framework only when you import it.",
        "boathook is not on a package index yet: install it from a clone, `pip install 'PATH/TO/CLONE[NAME]'`.",
        "",
        *(f"- [{title}]({path.name})" for title, path in list_pages()),
        "",
        "- Texts of hooks for the person are logged when they come, by the logger `boathook` with the level INFO.",
        "- A hook cannot block a step (a request to the model), only stop the run there.",
        "- What each framework can and cannot do, and how that was tested: [the matrix](../../reference/bridges.md).",
        "- A loop of your own: [guard your own agent](../../tutorial/guard-your-own-agent.md).",
    ]
    yield PAGES / "README.md", "\n".join(lines) + "\n"
    items = "".join(f"- [{title}](how-to/frameworks/{path.name})\n" for title, path in list_pages())
    yield INDEX, LISTED.sub(lambda found: found[1] + items + found[2], INDEX.read_text(encoding="utf-8"))


def make_result(framework: str, report: dict[str, Any]) -> tuple[Result, list[str]]:
    """Return what a report of the tests shows, and a line for everything that failed."""
    columns: dict[str, dict[str, dict[str, str]]] = {}
    failures: list[str] = []
    for cell in report["cells"]:
        ways = columns.setdefault(cell["column"], {}).setdefault(cell["behaviour"], {})
        ways[cell["way"]] = cell["cannot"] or ways.get(cell["way"], "")
        if not cell["passed"]:
            failures.append(f"{cell['column']}, {cell['behaviour']}, {cell['way']}: {' '.join(cell['error'])}")
    return {"framework": framework, "versions": report["versions"], "columns": columns}, failures


def format_tables(results: Iterable[Result]) -> str:
    """Return the tables for a terminal."""
    known = [*results]
    return "\n".join([*write_tables(known), *write_overhead(known)])
