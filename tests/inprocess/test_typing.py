"""Type checkers report nothing about good code that uses hooks, and an error at every marked line of bad code."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "typing_tests"
FILES = sorted(path.name for path in FOLDER.glob("*.py"))


def marked(name: str, checker: str) -> set[int]:
    """The lines that are meant to be errors of a checker."""
    lines = (FOLDER / name).read_text().splitlines()
    return {number for number, line in enumerate(lines, 1) if re.search(rf"#\s*error( in {checker})?$", line)}


def run(*command: str) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def by_mypy() -> dict[str, set[int]]:
    """The lines with errors that mypy finds, by file."""
    found: dict[str, set[int]] = {name: set() for name in FILES}
    for line in run(sys.executable, "-m", "mypy", "--output", "json", str(FOLDER)).splitlines():
        reported = json.loads(line)
        if reported["severity"] == "error":
            found[Path(reported["file"]).name].add(reported["line"])
    return found


def by_pyright() -> dict[str, set[int]]:
    """The lines with errors that pyright finds, by file."""
    found: dict[str, set[int]] = {name: set() for name in FILES}
    reported = json.loads(run(sys.executable, "-m", "pyright", "--outputjson", str(FOLDER)))
    for one in reported["generalDiagnostics"]:
        if one["severity"] == "error":
            found[Path(one["file"]).name].add(one["range"]["start"]["line"] + 1)
    return found


def shown(lines: dict[str, set[int]]) -> list[str]:
    """The lines with their texts, to be read when they are not what they should be."""
    texts = {name: (FOLDER / name).read_text().splitlines() for name in FILES}
    return [f"{name}:{number}: {texts[name][number - 1]}" for name in FILES for number in sorted(lines[name])]


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("name", "check"), [("mypy", by_mypy), ("pyright", by_pyright)])
def test_every_marked_line_is_an_error_and_no_other(name, check):
    meant = {file: marked(file, name) for file in FILES}
    assert (sorted(meant), meant["good.py"]) == (["bad.py", "good.py"], set())
    assert shown(check()) == shown(meant)
