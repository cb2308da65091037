#!/usr/bin/env python3
"""Sends the agent back if the repository is not in the state that the settings want."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

_DEFAULT = ("conflicts",)
_UNFINISHED = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")
# One after the other, so that a long file takes no longer than its length.
_MARKS = [re.compile(mark) for mark in (rb"(?m)^<{7} ", rb"(?m)^={7}$", rb"(?m)^>{7} ")]
_MAX_NAMED, _MAX_BYTES = 10, 1_000_000


def _ask_git(*arguments: str) -> str | None:
    """Return what git prints, or None if it fails. The repository's own programs are not started."""
    options = (
        "--no-optional-locks",
        "-c",
        "core.fsmonitor=false",
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "core.quotePath=false",
    )
    ended = subprocess.run(["git", *options, *arguments], capture_output=True, check=False)
    return ended.stdout.decode("utf-8", "replace") if ended.returncode == 0 else None


def _name_some(paths: list[str]) -> str:
    more = f" and {len(paths) - _MAX_NAMED} more" if len(paths) > _MAX_NAMED else ""
    return ", ".join(paths[:_MAX_NAMED]) + more


def _check_conflicts(status: list[str]) -> str:
    conflicts = [line[3:] for line in status if line[:2] in ("DD", "AU", "UD", "UA", "DU", "AA", "UU")]
    changed = [line[3:].rpartition(" -> ")[2] for line in status if line[:2].strip() and line[:2] != "??"]
    marked = [path for path in changed if path not in conflicts and _has_marks(Path(path))]
    if conflicts or marked:
        names = _name_some([*conflicts, *marked])
        return f"These files have conflicts: {names}. Resolve them and check the result, or say why they stay."
    folder = Path((_ask_git("rev-parse", "--git-dir") or "").strip() or ".git")
    unfinished = [name for name in _UNFINISHED if (folder / name).exists()]
    return (
        f"A merge or rebase is not finished ({unfinished[0]}). Finish it if you began it; else leave it, and say so."
        if unfinished
        else ""
    )


def _has_marks(path: Path) -> bool:
    try:
        # Something else than a file could be opened only when somebody writes to it.
        if not path.is_file():
            return False
        with path.open("rb") as file:
            text = file.read(_MAX_BYTES)
    except OSError:
        return False
    at: int | None = 0
    for mark in _MARKS:
        match = mark.search(text, at) if at is not None else None
        at = match.end() if match else None
    return at is not None


def _check_changed_files(status: list[str]) -> str:
    changed = [line[3:] for line in status if line[:2] != "??"]
    return f"These changes are not committed: {_name_some(changed)}. Commit them, or say why not." if changed else ""


def _check_untracked_files(status: list[str]) -> str:
    new = [line[3:] for line in status if line[:2] == "??"]
    return (
        f"Git does not have these files: {_name_some(new)}. Commit them, add them to .gitignore, or delete them."
        if new
        else ""
    )


def _check_unpushed_commits(_: list[str]) -> str:
    if not (_ask_git("remote") or "").strip() or _ask_git("rev-parse", "--verify", "-q", "HEAD") is None:
        return ""
    ahead = _ask_git("rev-list", "--count", "@{upstream}..HEAD")
    if ahead is None:
        return "The branch has no upstream. Push it: `git push -u origin HEAD`."
    return f"{ahead.strip()} commits are not pushed. Push them: `git push`." if ahead.strip() != "0" else ""


_CHECKS: dict[str, Callable[[list[str]], str]] = {
    "conflicts": _check_conflicts,
    "uncommitted": _check_changed_files,
    "untracked": _check_untracked_files,
    "unpushed": _check_unpushed_commits,
}


def main() -> int:
    """Return 2 if something is left to do, with what it is on stderr."""
    event = json.load(sys.stdin)
    settings = json.loads(os.environ.get("AGENT_HOOK_SETTINGS") or "{}")
    os.chdir(os.environ.get("AGENT_PROJECT_DIR") or ".")
    top = _ask_git("rev-parse", "--show-toplevel")
    if top is None:
        return 0
    os.chdir(top.strip())
    wanted = settings.get("require", _DEFAULT)
    # The agent was sent back already. Conflicts may be the person's, so that it can only say so.
    if event.get("stop_hook_active"):
        wanted = [word for word in wanted if word != "conflicts"]
    unknown = [word for word in wanted if word not in _CHECKS]
    if unknown:
        print(
            f"clean-stop: `{unknown[0]}` is not one of {', '.join(_CHECKS)}; correct `require` in hooks.toml",
            file=sys.stderr,
        )
    status = (_ask_git("status", "--porcelain") or "").splitlines()
    problems = [text for word in wanted if word in _CHECKS and (text := _CHECKS[word](status))]
    if problems:
        print("\n".join(problems), file=sys.stderr)
    return 2 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
