#!/usr/bin/env python3
"""Prints branch, last commit and changed files, as context for the agent."""

from __future__ import annotations

import json
import os
import subprocess
import sys

_LIMIT = 20


def _ask_git(*arguments: str) -> str | None:
    """Return what git prints, without the last line end, or None if it fails."""
    options = ("--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
    try:
        ended = subprocess.run(["git", *options, *arguments], capture_output=True, check=False)
    except FileNotFoundError:
        return None
    return ended.stdout.decode("utf-8", "replace").rstrip("\n") if ended.returncode == 0 else None


def main() -> None:
    """Print the state of the repository that the agent works in."""
    event = json.load(sys.stdin)
    settings = json.loads(os.environ.get("AGENT_HOOK_SETTINGS") or "{}")
    os.chdir(event.get("work_dir") or os.environ.get("AGENT_PROJECT_DIR") or ".")
    if _ask_git("rev-parse", "--is-inside-work-tree") != "true":
        return
    branch = _ask_git("symbolic-ref", "--short", "-q", "HEAD") or "no branch (detached)"
    counts = (_ask_git("rev-list", "--left-right", "--count", "@{upstream}...HEAD") or "").split()
    distance = (
        f" ({counts[1]} ahead, {counts[0]} behind its upstream)" if len(counts) == 2 and counts != ["0", "0"] else ""
    )
    changed = (_ask_git("status", "--porcelain") or "").splitlines()
    limit = int(settings.get("limit", _LIMIT))
    lines = [f"Git branch: {branch}{distance}", f"Last commit: {_ask_git('log', '-1', '--format=%h %s') or 'none yet'}"]
    lines.append(f"Changed files: {len(changed) or 'none'}")
    lines += changed[:limit]
    lines += [f"(and {len(changed) - limit} more)"] if len(changed) > limit else []
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
