#!/usr/bin/env python3
"""Blocks a delete of the whole project or of its git history."""

from __future__ import annotations

import os

from call_programs import list_host_programs
from path_losses import DELETE, MOVE, OVERWRITE, PathLoss, list_path_losses
from places import is_temporary, split_parts, split_place

from boathook.guards import GuardAnswer, GuardedCall, block, run_guard

_SMALLER = "Name the files or folders that you made, one by one"
_HISTORY = "Git's own folder is not repaired by deleting parts of it; ask, or clone it anew beside this one"
# What git cannot do without: commits, branches, and the record of both.
_STORES = frozenset(("objects", "refs", "logs", "packed-refs", "worktrees", "modules"))


def decide(call: GuardedCall) -> GuardAnswer | None:
    roots = _find_roots(call)
    for program in list_host_programs(call):
        for loss in list_path_losses(program):
            if reason := _find_reason(loss, roots):
                return block(reason)
    return None


def _find_roots(call: GuardedCall) -> list[tuple[str, ...]]:
    """Return the project, and the repository that the agent works in."""
    folders = [call.project] if call.project else []
    folder = call.work_dir
    while folder.strip("/"):
        if os.path.lexists(os.path.join(folder, ".git")):
            folders.append(folder)
            break
        folder = os.path.dirname(folder.rstrip("/"))
    parts = [split_parts(folder) for folder in folders or [call.work_dir]]
    return [one for one in parts if one]


def _find_reason(loss: PathLoss, roots: list[tuple[str, ...]]) -> str:
    if loss.is_narrowed:
        return ""
    if _hits_history(loss, roots):
        return f"`{loss.program}` would destroy the history of the repository. {_HISTORY}."
    parts = split_place(loss.path)
    if loss.way != DELETE or not loss.is_tree or parts is None:
        return ""
    if any(root[: len(parts)] == parts for root in roots):
        return f"`{loss.program}` would delete the whole project. {_SMALLER}."
    return ""


def _hits_history(loss: PathLoss, roots: list[tuple[str, ...]]) -> bool:
    """Whether a path is the `.git` of the project, or one of the stores in any repository that is not temporary."""
    parts = split_parts(loss.path)
    if parts is None or loss.way not in (DELETE, MOVE, OVERWRITE):
        return False
    at = next((index for index, name in enumerate(parts) if name.endswith(".git")), len(parts))
    is_own = parts[:at] in roots and parts[at : at + 1] == (".git",)
    if at == len(parts) or (is_temporary(loss.path) and not is_own):
        return False
    inner = parts[at + 1 :]
    if not inner:
        # A clone whose history nobody wants loses its `.git` every day.
        return is_own and loss.is_tree
    is_pattern = not set("*{").isdisjoint(inner[0]) and loss.way == DELETE
    return inner[0] in _STORES or is_pattern


if __name__ == "__main__":
    run_guard(decide)
