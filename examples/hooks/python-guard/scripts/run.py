#!/usr/bin/env python3
"""Blocks Python files that do not compile or have a debugger call left in them."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import Any

LEFTOVERS = {"breakpoint", "pdb.set_trace", "ipdb.set_trace", "pdb.post_mortem"}


def new_content(tool_input: dict[str, Any], path: Path) -> str | None:
    """What the file would hold after the tool has run, or None if that cannot be told."""
    if isinstance(tool_input.get("content"), str):
        return str(tool_input["content"])
    old, new = tool_input.get("old_string"), tool_input.get("new_string")
    if not isinstance(old, str) or not isinstance(new, str) or not path.is_file():
        return None
    present = path.read_text(encoding="utf-8")
    if old not in present:
        return None
    return present.replace(old, new, -1 if tool_input.get("replace_all") else 1)


def problem(source: str) -> str | None:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        return f"{getattr(error, 'msg', error)}{f', line {line}' if line else ''}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in LEFTOVERS:
            return f"{ast.unparse(node.func)}() left in, line {node.lineno}"
    return None


def main() -> int:
    event = json.load(sys.stdin)
    tool_input = event.get("tool_input") or {}
    name = str(tool_input.get("path") or tool_input.get("file_path") or "")
    if not name.endswith((".py", ".pyi")):
        return 0
    source = new_content(tool_input, Path(event.get("work_dir") or ".") / name)
    found = problem(source) if source is not None else None
    if found is None:
        return 0
    print(f"{name} would not be good Python: {found}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
