#!/usr/bin/env python3
"""Formats the Python files that a tool has just written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path


def main() -> int:
    event = json.load(sys.stdin)
    project = Path(os.environ["AGENT_PROJECT_DIR"]).resolve()
    folder = Path(event.get("work_dir") or project)
    paths = sorted({(folder / file["path"]).resolve() for file in event["writes"]})
    python_files = [
        str(path)
        for path in paths
        if path.is_relative_to(project) and path.suffix in (".py", ".pyi") and path.is_file()
    ]
    own = project / ".venv/bin/ruff"
    ruff = str(own) if own.exists() else shutil.which("ruff")
    if not python_files or not ruff:
        return 0
    # What ruff cannot fix is for `make check`: this hook only tidies up.
    subprocess.run(
        [ruff, "check", "--fix-only", "--quiet", "--", *python_files], cwd=project, stdout=sys.stderr, check=False
    )
    return subprocess.run(
        [ruff, "format", "--quiet", "--", *python_files], cwd=project, stdout=sys.stderr, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
