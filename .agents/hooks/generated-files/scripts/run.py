#!/usr/bin/env python3
"""Refuses to change a file that a script makes: exit code 2, and the command that makes it."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

MARK = re.compile(r"(?:made by|generated (?:from|by))[^\n]*`(make [^`]+)`", re.IGNORECASE)
MARK_LINES = 6
SCHEMAS = "docs/reference/schemas/"
PART = re.compile(r"<!-- generated: .*?<!-- end -->", re.DOTALL)


def find_command(path: Path, name: str) -> str:
    """Return the command that makes a file, or ""."""
    if name.startswith(SCHEMAS) and path.suffix == ".json":
        return "make docs"
    if not path.is_file():
        return ""
    head = "\n".join(path.read_text(encoding="utf-8", errors="replace").splitlines()[:MARK_LINES])
    match = MARK.search(head)
    return match[1] if match else ""


def is_in_generated_part(path: Path, tool_input: dict[str, Any]) -> bool:
    """Whether an edit is about text of a generated part of a page."""
    old = tool_input.get("old_string")
    if not isinstance(old, str) or not old or not path.is_file():
        return False
    return any(old in part for part in PART.findall(path.read_text(encoding="utf-8", errors="replace")))


def main() -> int:
    event = json.load(sys.stdin)
    project = Path(os.environ["AGENT_PROJECT_DIR"]).resolve()
    folder = Path(event.get("work_dir") or project)
    for file in event["writes"]:
        path = (folder / file["path"]).resolve()
        if not path.is_relative_to(project):
            continue
        name = path.relative_to(project).as_posix()
        if command := find_command(path, name):
            print(f"{name} is generated. Change the code that it is made from, then run: {command}", file=sys.stderr)
            return 2
        if is_in_generated_part(path, event.get("tool_input") or {}):
            print(f"This part of {name} is generated. Change the code, then run: make docs", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
