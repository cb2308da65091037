"""The page of benchmarks has every row of `bench/run.py`, with the goal that is set there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs/reference/benchmarks.md"


def make_pattern(node: ast.expr) -> str | None:
    """Return a pattern for what a title may be, None if it is a row of a table."""
    if isinstance(node, ast.Constant):
        return re.escape(str(node.value))
    if isinstance(node, ast.JoinedStr):
        return "".join(make_pattern(part) or ".*" for part in node.values)
    return None


def list_rows() -> list[tuple[str, str, float | None]]:
    """Return title, what it is compared to, and the goal of each row that says all of them."""
    tree = ast.parse((ROOT / "bench/run.py").read_text())
    found: list[tuple[str, str, float | None]] = []
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Row":
            what, against, goal = call.args[:3]
            number = goal.value if isinstance(goal, ast.Constant) and isinstance(goal.value, int | float) else None
            found.append((make_pattern(what) or "", make_pattern(against) or ".*", number))
    # Two sides of a sum that has a sentence, not a row.
    return [row for row in found if row[0] and row[0] != re.escape("empty stack")]


def test_the_page_of_benchmarks_has_every_row_and_its_goal():
    rows = [[cell.strip() for cell in line.strip("| \n").split(" | ")] for line in PAGE.read_text().splitlines()]
    shown = [(cells[0], cells[1], cells[6]) for cells in rows if len(cells) == 8]
    wanted = list_rows()
    assert len(wanted) > 20
    missing = [
        (what, goal)
        for what, against, goal in wanted
        if not any(
            re.fullmatch(what, title)
            and re.fullmatch(against, other)
            and (goal is None or text == (f"≤ {goal}x" if goal else "–"))
            for title, other, text in shown
        )
    ]
    assert missing == []
