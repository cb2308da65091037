"""Real git repositories for tests, without any configuration of the machine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
_ENVIRONMENT |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
_SETTINGS = ("user.name=x", "user.email=x@example.org", "init.defaultBranch=main", "protocol.file.allow=always")


def run_git(folder: Path, *arguments: str) -> str:
    """Run git in a folder; return what it printed."""
    options = [word for setting in _SETTINGS for word in ("-c", setting)]
    command = ["git", *options, *arguments]
    return subprocess.run(command, cwd=folder, env=_ENVIRONMENT, check=True, capture_output=True, text=True).stdout


def commit_all(folder: Path, message: str = "x") -> None:
    """Make a folder a repository if it is none, and commit everything in it."""
    if not (folder / ".git").exists():
        run_git(folder, "init", "-q", ".")
    run_git(folder, "add", "-A")
    run_git(folder, "commit", "-q", "--allow-empty", "-m", message)


def add_work_tree(repository: Path, folder: Path) -> Path:
    """Add a linked work tree with a branch of its own."""
    run_git(repository, "worktree", "add", "-q", str(folder), "-b", folder.name)
    return folder
