#!/usr/bin/env python3
"""Blocks commits on, and pushes to, branches that are changed by review only."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from call_programs import list_host_programs
from git_call import GitCall, iter_git_calls
from git_state import GitState, GitStates

from boathook.guards import GuardAnswer, GuardedCall, block, run_guard

# Patterns are allowed.
_PROTECTED = ("main", "master")
_CREATING = ("-b", "-B", "-c", "-C", "--create", "--force-create", "--orphan")
# Subcommands that add a commit to the branch that is checked out.
_COMMITTING = frozenset(("commit", "merge", "cherry-pick", "revert", "am"))
_NO_COMMIT = ("--no-commit", "-n", "--abort", "--quit", "--ff-only", "--skip")


def decide(call: GuardedCall) -> GuardAnswer | None:
    protected = call.list_setting("protected", _PROTECTED)
    # The branch that an earlier part of the command switched to, by folder.
    switched: dict[str, str] = {}
    states = GitStates()
    for git in iter_git_calls(list_host_programs(call)):
        state = states.get(git.folder)
        if git.subcommand in ("checkout", "switch"):
            if name := _find_switched(git, state):
                switched[git.folder] = name
            continue
        branch = switched.get(git.folder)
        reason = ""
        if git.subcommand in _COMMITTING:
            reason = _judge_commit(git, state, branch or state.get_branch(), protected)
        elif git.subcommand == "push" and not git.has("-n", "--dry-run"):
            reason = _judge_push(git, branch or state.get_branch() or "", protected)
        if reason:
            return block(reason)
    return None


def _find_switched(git: GitCall, state: GitState) -> str:
    if names := git.arguments.get(*_CREATING):
        return names[0]
    is_branch = len(git.operands) == 1 and not git.arguments.behind
    return git.operands[0] if is_branch and state.has_reference(f"refs/heads/{git.operands[0]}") else ""


def _judge_commit(git: GitCall, state: GitState, branch: str | None, protected: Sequence[str]) -> str:
    if git.subcommand != "commit" and git.has(*_NO_COMMIT):
        return ""
    if not branch or not _is_protected(branch, protected) or not state.has_commits():
        return ""
    return f"{branch} is changed by review only. Make a branch first: `git switch -c NAME`."


def _judge_push(git: GitCall, branch: str, protected: Sequence[str]) -> str:
    specs = git.operands[1:] if not git.arguments.get("--repo") else git.operands
    names = [spec.lstrip("+").rpartition(":")[2] or spec for spec in specs] or ["HEAD"]
    targets = [branch if name in ("HEAD", "@") else name.removeprefix("refs/heads/") for name in names]
    if git.has("--all", "--mirror", "--branches"):
        targets += protected[:1]
    if git.has("--tags") and not specs:
        return ""
    hit = next((name for name in targets if _is_protected(name, protected)), "")
    return f"{hit} is changed by review only. Push a branch of your own, and open a pull request." if hit else ""


def _is_protected(name: str, protected: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in protected)


if __name__ == "__main__":
    run_guard(decide)
