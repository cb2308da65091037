#!/usr/bin/env python3
"""Runs the tests of the project, and sends the agent back if they fail."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

# A file of the project, a pattern that it must have, a program that must be there, and the command.
_ROWS: tuple[tuple[str, str, str, str], ...] = (
    ("Makefile", r"(?m)^test\s*:", "make", "make test"),
    ("justfile", r"(?m)^test\b.*:", "just", "just test"),
    ("pnpm-lock.yaml", "", "pnpm", "pnpm test"),
    ("yarn.lock", "", "yarn", "yarn test"),
    ("bun.lock", "", "bun", "bun run test"),
    ("package.json", r'"test"\s*:\s*"(?!echo \\"Error: no test)', "npm", "npm test"),
    ("Cargo.toml", "", "cargo", "cargo test --quiet"),
    ("go.mod", "", "go", "go test ./..."),
    ("mix.exs", "", "mix", "mix test"),
    (".rspec", "", "bundle", "bundle exec rspec"),
    ("pytest.ini", "", "pytest", "pytest -q"),
    ("conftest.py", "", "pytest", "pytest -q"),
    ("pyproject.toml", r"(?m)^\[tool\.pytest", "pytest", "pytest -q"),
    ("tests/conftest.py", "", "pytest", "pytest -q"),
)
# These only choose who runs the script of package.json.
_NODE_LOCKS = ("pnpm-lock.yaml", "yarn.lock", "bun.lock")
_PACKAGE = Path("package.json")
_NODE_TEST = _ROWS[5][1]
_DEFAULT_LINES = 20


def _find_command(settings: dict[str, object]) -> str:
    """Return the command that runs the tests, "" if the project has none."""
    if command := settings.get("command"):
        return str(command)
    own = Path(".agents/test-command")
    if own.is_file() and (lines := own.read_text(errors="replace").strip().splitlines()):
        return lines[0]
    has_node_tests = _has_pattern(_PACKAGE, _NODE_TEST)
    for name, pattern, program, command in _ROWS:
        if _has_pattern(Path(name), pattern) and shutil.which(program) and (name not in _NODE_LOCKS or has_node_tests):
            return command
    return ""


def _has_pattern(path: Path, pattern: str) -> bool:
    return path.is_file() and (not pattern or re.search(pattern, path.read_text(errors="replace")) is not None)


def _is_unchanged() -> bool:
    """Whether git says that nothing of the project was changed."""
    command = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", "status", "--porcelain"]
    ended = subprocess.run(command, capture_output=True, check=False)
    return ended.returncode == 0 and not ended.stdout.strip()


def main() -> int:
    """Return 2 if the tests fail, with the end of their output on stderr."""
    json.load(sys.stdin)
    settings = json.loads(os.environ.get("AGENT_HOOK_SETTINGS") or "{}")
    os.chdir(os.environ.get("AGENT_PROJECT_DIR") or ".")
    command = _find_command(settings)
    if not command:
        print("enforce-tests: found no tests to run", file=sys.stderr)
        return 0
    if settings.get("only_if_changed") and _is_unchanged():
        return 0
    # Tests import the project's own code, which hooks do not.
    os.environ.pop("PYTHONSAFEPATH", None)
    ended = subprocess.run(
        ["sh", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    if ended.returncode == 0:
        return 0
    lines = ended.stdout.decode("utf-8", "replace").splitlines()[-int(settings.get("lines", _DEFAULT_LINES)) :]
    head = f"The tests do not pass ({command}, exit code {ended.returncode}). Fix them before you finish. The end of their output:"
    print("\n".join((head, *lines)), file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
