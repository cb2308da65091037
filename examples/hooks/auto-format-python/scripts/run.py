#!/usr/bin/env python3
"""Formats the Python file that a tool has just written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

FORMATTERS = {"ruff": ["ruff", "format", "--quiet"], "black": ["black", "--quiet"]}


def written_file(event: dict[str, Any]) -> Path | None:
    """The file, if it is a Python file inside the project."""
    tool_input = event.get("tool_input") or {}
    name = str(tool_input.get("path") or tool_input.get("file_path") or "")
    folder = Path(event.get("work_dir") or ".").resolve()
    project = Path(os.environ.get("AGENT_PROJECT_DIR") or folder).resolve()
    path = (folder / name).resolve()
    inside = path.is_relative_to(project)
    return path if inside and path.suffix in (".py", ".pyi") and path.is_file() else None


def formatter(project: Path) -> list[str] | None:
    settings = project / "pyproject.toml"
    likes_black = settings.is_file() and "[tool.black]" in settings.read_text(errors="replace")
    names = ["black", "ruff"] if likes_black else ["ruff", "black"]
    return next((FORMATTERS[name] for name in names if shutil.which(name)), None)


def main() -> int:
    path = written_file(json.load(sys.stdin))
    if path is None:
        return 0
    command = formatter(Path(os.environ.get("AGENT_PROJECT_DIR") or "."))
    if command is None:
        print(f"neither ruff nor black is installed; {path.name} stays as it is", file=sys.stderr)
        return 0
    return subprocess.run([*command, "--", str(path)], stdout=sys.stderr, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
