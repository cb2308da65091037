#!/usr/bin/env python3
"""Formats the Python files that a tool has just written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

FORMATTERS = {"ruff": ["ruff", "format", "--quiet"], "black": ["black", "--quiet"]}


def written_files(event: dict[str, Any]) -> list[Path]:
    """The files that are there, are Python, and lie inside the project."""
    folder = Path(event.get("work_dir") or ".").resolve()
    project = Path(os.environ.get("AGENT_PROJECT_DIR") or folder).resolve()
    paths = {(folder / file["path"]).resolve() for file in event["writes"]}
    return sorted(
        path for path in paths if path.is_relative_to(project) and path.suffix in (".py", ".pyi") and path.is_file()
    )


def formatter(project: Path) -> list[str] | None:
    settings = project / "pyproject.toml"
    likes_black = settings.is_file() and "[tool.black]" in settings.read_text(errors="replace")
    names = ["black", "ruff"] if likes_black else ["ruff", "black"]
    return next((FORMATTERS[name] for name in names if shutil.which(name)), None)


def main() -> int:
    paths = written_files(json.load(sys.stdin))
    if not paths:
        return 0
    command = formatter(Path(os.environ.get("AGENT_PROJECT_DIR") or "."))
    if command is None:
        print(f"neither ruff nor black is installed; {paths[0].name} stays as it is", file=sys.stderr)
        return 0
    return subprocess.run([*command, "--", *map(str, paths)], stdout=sys.stderr, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
