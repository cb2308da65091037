#!/usr/bin/env python3
"""Asks before git rewrites or deletes what others have, or what recovery needs; blocks that for protected branches."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from call_programs import list_host_programs
from git_call import GitCall, iter_git_calls
from git_state import GitStates

from boathook.guards import GuardAnswer, GuardedCall, ask, block, run_guard
from boathook.shell.arguments import UNKNOWN

# Branches that nobody pushes over; patterns are allowed.
_PROTECTED = ("main", "master")
_LEASE = "`git push --force-with-lease` does it only if nobody else has pushed since"
_STAYS = "Ask whether it may go. With `--force-with-lease` it goes only if nobody else has pushed since"
_BACKUP = "Make a backup first (`git clone --mirror . ../backup.git`), and ask"
_KEEP = "Leave it to `git gc`, which keeps what is younger than two weeks"
_NOW = frozenset(("now", "all", "0", "never", "1.second.ago", "0.seconds.ago"))

# What changes which remotes there are, or what is known of their branches.
_REMOTE_CHANGES = frozenset(("remote", "config", "clone", "init", "fetch", "pull"))

_Rule = Callable[[GitCall, Sequence[str]], GuardAnswer | None]


def decide(call: GuardedCall) -> GuardAnswer | None:
    protected = call.list_setting("protected", _PROTECTED)
    answer = None
    knows_remotes = True
    for git in iter_git_calls(list_host_programs(call)):
        rule = _RULES.get(git.subcommand)
        found = rule(git, protected) if rule else None
        if git.subcommand == "push" and found is None:
            found = _judge_deleted(git, protected, knows_remotes=knows_remotes)
        knows_remotes = knows_remotes and git.subcommand not in _REMOTE_CHANGES
        if found is not None and found.decision == "block":
            return found
        answer = answer or found
    return answer or _judge_other_tools(call)


def _push(git: GitCall, protected: Sequence[str]) -> GuardAnswer | None:
    arguments = git.arguments
    if git.has("-n", "--dry-run"):
        return None
    specs = _list_specs(git)
    leases = arguments.get("--force-with-lease")
    has_lease = bool(leases) and not git.has("-f", "--force")
    forced = [spec.lstrip("+") for spec in specs if spec.startswith("+") and not _is_leased(spec, leases)]
    if _has_exactly(git, "-f", "--force") and not has_lease:
        forced = [spec.lstrip("+") for spec in specs] or [""]
    if git.has("--mirror"):
        return ask(
            "`git push --mirror` overwrites and deletes every branch and tag of the remote. Push what you mean by name."
        )
    if forced:
        return _judge_targets(git, "overwrites", forced, _LEASE, protected)
    # Without a pattern, nothing but what is pushed is compared.
    has_pattern = any("*" in spec or UNKNOWN in spec or spec in (":", "+:") for spec in specs)
    is_matching = git.settings.get("push.default") == "matching" and not specs
    if git.has("--prune") and (has_pattern or is_matching or git.has("--all", "--branches")):
        return ask("`git push --prune` deletes every branch of the remote that is not in this clone. Name what may go.")
    return None


def _list_specs(git: GitCall) -> list[str]:
    """Return what is pushed: all operands behind the remote."""
    return git.operands if git.arguments.get("--repo") else git.operands[1:]


def _judge_deleted(git: GitCall, protected: Sequence[str], *, knows_remotes: bool) -> GuardAnswer | None:
    """Object to branches that a push deletes, unless all their commits are also elsewhere in this clone, and a lease says so."""
    specs = _list_specs(git)
    deleted = specs if git.has("-d", "--delete") else [spec[1:] for spec in specs if re.fullmatch(r":.+", spec)]
    if not deleted or git.has("-n", "--dry-run"):
        return None
    answer = _judge_targets(git, "deletes", deleted, _STAYS, protected)
    remote = (git.arguments.get("--repo") or git.operands)[0]
    is_plain = (
        knows_remotes and not git.settings and not any(name.startswith("GIT_") for name, _ in git.program.variables)
    )
    state = GitStates().get(git.folder if is_plain else UNKNOWN)
    # What this clone knows of the remote may be old; with a lease the remote compares it.
    leases = [] if _has_exactly(git, "-f", "--force") else git.arguments.get("--force-with-lease")
    is_kept = all(
        state.keeps_remote_branch(remote, spec.removeprefix("refs/heads/"), is_fresh=_is_leased(spec, leases))
        for spec in deleted
    )
    return None if is_kept and answer.decision != "block" else answer


def _has_exactly(git: GitCall, letter: str, name: str) -> bool:
    """Whether an option is there by its whole name: `--force-with-lease` is another one."""
    return any(option.name in (letter, name) for option in git.arguments.options)


def _is_leased(spec: str, leases: list[str]) -> bool:
    """Whether the remote is checked before a `+` reference is overwritten."""
    target = spec.lstrip("+").rpartition(":")[2]
    return any(not lease or lease.partition(":")[0] in (target, target.removeprefix("refs/heads/")) for lease in leases)


def _judge_targets(git: GitCall, does: str, targets: list[str], instead: str, protected: Sequence[str]) -> GuardAnswer:
    names = [target.rpartition(":")[2].removeprefix("refs/heads/") for target in targets]
    if any(name in ("", "HEAD", "@") for name in names):
        branch = GitStates().get(git.folder).get_branch()
        names = [branch or "the current branch" if name in ("", "HEAD", "@") else name for name in names]
    hit = next((name for name in names if any(fnmatchcase(name, pattern) for pattern in protected)), "")
    if git.has("--all", "--branches") and does == "overwrites":
        hit = hit or (protected[0] if protected else "")
    if hit:
        return block(
            f"`git push` {does} {hit} on the remote, which is protected. Push a branch of your own, and let it be reviewed."
        )
    return ask(f"`git push` {does} {', '.join(names)} on the remote, for everybody. {instead}.")


def _filter_history(git: GitCall, _: Sequence[str]) -> GuardAnswer | None:
    # Without a filter, `filter-branch` makes the same commits again; with `-f` it replaces the backup of an earlier call.
    has_filter = any("-filter" in option.name or option.name in ("-f", "--force") for option in git.arguments.options)
    if git.has("--dry-run", "--analyze") or (git.subcommand == "filter-branch" and not has_filter):
        return None
    return ask(f"`git {git.subcommand}` rewrites the whole history. {_BACKUP}.")


def _reflog(git: GitCall, _: Sequence[str]) -> GuardAnswer | None:
    times = [*git.arguments.get("--expire", "--expire-unreachable")]
    if git.operands[:1] != ["expire"] or git.has("-n", "--dry-run") or not any(time in _NOW for time in times):
        return None
    return ask(f"`git reflog expire` with `now` deletes the record that lost commits are found by. {_KEEP}.")


def _collect_garbage(git: GitCall, _: Sequence[str]) -> GuardAnswer | None:
    times = [value for value in git.arguments.get("--prune") if value]
    if not times and not git.has("--no-prune"):
        times = [git.settings.get("gc.pruneexpire", "")]
    if not any(time in _NOW for time in times):
        return None
    return ask(f"`git gc --prune=now` deletes every commit and file that no branch holds. {_KEEP}.")


def _prune(git: GitCall, _: Sequence[str]) -> GuardAnswer | None:
    times = git.arguments.get("--expire")
    if git.has("-n", "--dry-run") or (times and not any(time in _NOW for time in times)):
        return None
    return ask(f"`git prune` deletes every commit and file that no branch holds. {_KEEP}.")


def _update_reference(git: GitCall, protected: Sequence[str]) -> GuardAnswer | None:
    if not git.has("-d", "--stdin"):
        return None
    name = (git.operands or [""])[0].removeprefix("refs/heads/")
    if any(fnmatchcase(name, pattern) for pattern in protected):
        return block(f"`git update-ref -d` deletes {name}, which is protected. Leave it as it is.")
    return ask(
        "`git update-ref` deletes or moves references without any check. `git branch -d` refuses what is not merged."
    )


def _tag(git: GitCall, _: Sequence[str]) -> GuardAnswer | None:
    if not git.has("-f", "--force") or not git.operands or git.has("-d", "--delete"):
        return None
    return ask("`git tag -f` moves a tag that others may rely on. Make a tag with a new name.")


def _repack(git: GitCall, _: Sequence[str]) -> GuardAnswer | None:
    if not any(time in _NOW for time in git.arguments.get("--unpack-unreachable", "--cruft-expiration")):
        return None
    return ask(f"`git repack` with `now` deletes every commit and file that no branch holds. {_KEEP}.")


_RULES: dict[str, _Rule] = {
    "push": _push,
    "filter-branch": _filter_history,
    "filter-repo": _filter_history,
    "reflog": _reflog,
    "gc": _collect_garbage,
    "prune": _prune,
    "update-ref": _update_reference,
    "tag": _tag,
    "repack": _repack,
}


def _judge_other_tools(call: GuardedCall) -> GuardAnswer | None:
    for program in list_host_programs(call):
        is_rewriting = program.name in ("bfg", "git-filter-repo", "git-filter-branch") or any(
            re.fullmatch(r"(?:.*/)?bfg[\w.-]*\.jar", word) for word in program.words[1:3]
        )
        if is_rewriting and not {"--help", "--version", "--dry-run", "--analyze"} & {*program.words}:
            return ask(f"This call of `{program.name}` rewrites the whole history. {_BACKUP}.")
    return None


if __name__ == "__main__":
    run_guard(decide)
