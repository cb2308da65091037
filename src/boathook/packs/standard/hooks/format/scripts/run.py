#!/usr/bin/env python3
"""Formats the files that a tool wrote, with the formatter of the project."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

_WEB = (
    ".js",
    ".jsx",
    ".ts",
    ".tsx",
    ".mjs",
    ".cjs",
    ".json",
    ".css",
    ".scss",
    ".html",
    ".vue",
    ".svelte",
    ".md",
    ".yaml",
    ".yml",
    ".graphql",
)
_BIOME = (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".json", ".css", ".graphql")
_SCRIPTS = (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".vue", ".svelte")
_PYTHON = (".py", ".pyi")
# A formatter: its endings, its command, the files that say that the project uses it, and a text that one of them must have.
# Without files, the formatter is the only one of its language.
_ROWS: tuple[tuple[tuple[str, ...], str, tuple[str, ...], str], ...] = (
    (_BIOME, "biome format --write", ("biome.json", "biome.jsonc"), ""),
    (
        _WEB,
        "prettier --write --log-level warn",
        (
            ".prettierrc",
            ".prettierrc.json",
            ".prettierrc.yaml",
            ".prettierrc.yml",
            ".prettierrc.js",
            ".prettierrc.mjs",
            ".prettierrc.cjs",
            ".prettierrc.toml",
            "prettier.config.js",
            "prettier.config.mjs",
            "prettier.config.cjs",
        ),
        "",
    ),
    (_WEB, "prettier --write --log-level warn", ("package.json",), '"prettier"'),
    (_SCRIPTS, "dprint fmt", ("dprint.json", ".dprint.json"), ""),
    (_SCRIPTS, "deno fmt --quiet", ("deno.json", "deno.jsonc"), ""),
    (
        _SCRIPTS,
        "eslint --fix",
        (
            "eslint.config.js",
            "eslint.config.mjs",
            "eslint.config.ts",
            ".eslintrc.json",
            ".eslintrc.js",
            ".eslintrc.cjs",
        ),
        "",
    ),
    (_PYTHON, "black --quiet", ("pyproject.toml",), "[tool.black]"),
    (_PYTHON, "ruff format --quiet", ("pyproject.toml",), "[tool.ruff"),
    (_PYTHON, "ruff format --quiet", ("ruff.toml", ".ruff.toml"), ""),
    (_PYTHON, "yapf --in-place", (".style.yapf",), ""),
    ((".rb",), "rubocop --autocorrect --format quiet", (".rubocop.yml",), ""),
    ((".php",), "php-cs-fixer fix --quiet", (".php-cs-fixer.php", ".php-cs-fixer.dist.php"), ""),
    ((".php",), "pint --quiet", ("pint.json",), ""),
    ((".c", ".h", ".cc", ".cpp", ".hpp", ".m", ".mm"), "clang-format -i", (".clang-format",), ""),
    ((".lua",), "stylua", ("stylua.toml", ".stylua.toml"), ""),
    ((".swift",), "swiftformat --quiet", (".swiftformat",), ""),
    ((".kt", ".kts"), "ktlint --format", (".editorconfig",), "ktlint"),
    ((".scala",), "scalafmt --quiet", (".scalafmt.conf",), ""),
    ((".sh", ".bash"), "shfmt -w", (".editorconfig",), "shell_variant"),
    ((".toml",), "taplo format", ("taplo.toml", ".taplo.toml"), ""),
    ((".go",), "gofmt -w", (), ""),
    ((".rs",), "rustfmt --quiet", (), ""),
    ((".tf", ".tfvars"), "terraform fmt", (), ""),
    ((".zig",), "zig fmt", (), ""),
    ((".ex", ".exs"), "mix format", (), ""),
    ((".dart",), "dart format --output=write", (), ""),
    ((".gleam",), "gleam format", (), ""),
    ((".nix",), "nixfmt", (), ""),
)
_OWN_FOLDERS = ("node_modules/.bin", ".venv/bin", "venv/bin", "vendor/bin")
_MAX_SETTINGS = 1_000_000


def _list_written_files(event: dict[str, Any], project: Path) -> list[Path]:
    """Return the files that were written, are there, and lie in the project."""
    folder = Path(event.get("work_dir") or ".").resolve()
    paths = {(folder / one["path"]).resolve() for one in event.get("writes", ()) if one.get("path")}
    return sorted(path for path in paths if path.is_relative_to(project) and path.is_file())


def _find_command(path: Path, project: Path, commands: dict[str, str]) -> list[str] | None:
    """Return the command that formats a file, or None if the project has none for it."""
    if path.suffix in commands:
        return shlex.split(commands[path.suffix])
    for endings, command, settings, text in _ROWS:
        if path.suffix in endings and (not settings or any(_has_text(project / name, text) for name in settings)):
            program, *options = shlex.split(command)
            if found := _find_program(program, project):
                return [found, *options]
    return None


def _has_text(path: Path, text: str) -> bool:
    return path.is_file() and (not text or text in path.read_text(errors="replace")[:_MAX_SETTINGS])


def _find_program(program: str, project: Path) -> str | None:
    own = [project / folder / program for folder in _OWN_FOLDERS]
    return next((str(path) for path in own if os.access(path, os.X_OK)), None) or shutil.which(program)


def main() -> int:
    """Format what was written; return the exit code of the last formatter that failed."""
    event = json.load(sys.stdin)
    settings = json.loads(os.environ.get("AGENT_HOOK_SETTINGS") or "{}")
    project = Path(os.environ.get("AGENT_PROJECT_DIR") or event.get("work_dir") or ".").resolve()
    failed = 0
    for path in _list_written_files(event, project):
        relative = str(path.relative_to(project))
        if any(fnmatch(relative, one) or fnmatch(path.name, one) for one in settings.get("skip", ())):
            continue
        command = _find_command(path, project, settings.get("commands", {}))
        if command is not None:
            ended = subprocess.run(
                [*command, str(path)], cwd=project, stdout=sys.stderr, stdin=subprocess.DEVNULL, check=False
            )
            failed = ended.returncode or failed
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
