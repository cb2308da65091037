#!/usr/bin/env python3
"""Asks before git, or a delete, throws away work that is in no commit."""

from __future__ import annotations

import os
from collections.abc import Callable
from fnmatch import fnmatch
from glob import iglob
from itertools import islice

from call_programs import list_host_programs
from command_rules import CommandRule, judge_programs
from emptied_files import OlderVersions, list_emptied_files
from git_call import GitCall, iter_git_calls
from git_state import GitState, GitStates
from path_losses import DELETE, PathLoss, list_path_losses
from places import is_below

from boathook.core.interpreters import is_interpreter
from boathook.guards import GuardAnswer, GuardedCall, ask, run_guard
from boathook.shell.arguments import UNKNOWN
from boathook.shell.found_paths import FoundPath
from boathook.shell.started_program import Started

_CHANGES, _THEIR_CHANGES = "changes that are in no commit", "changes in these files that are in no commit"
_COMMITS = "commits that are on no other branch"
_SAVE = "Save them first: commit, or `git stash push -u -m NAME`"
_LOOK = "Look at it first (`git stash show -p`), or make a branch of it (`git stash branch NAME`)"
_SHELVE = "Save them first: commit, or `hg shelve`"
_BRANCH = "Keep them under another name first: `git branch backup/NAME COMMIT`"
# Names that stand for all of the work tree.
_EVERYTHING = frozenset((".", ":/", "*", "./"))

# A rule returns the reason to ask, "" if nothing is lost.
_Rule = Callable[[GitCall, GitState], str]


def decide(call: GuardedCall) -> GuardAnswer | None:
    states, saved, older = GitStates(), _SavedWork(call), OlderVersions()
    judges_deletes = call.settings.get("deletes", True)
    listers: list[GitCall] = []
    for program in list_host_programs(call):
        judges_files = judges_deletes and not saved.has_untracked_files
        is_delete = program.name.lower() in _DELETERS or is_interpreter(program.name)
        if judges_files and is_delete and (reason := _judge_delete(program, call, states)):
            return ask(reason)
        if judges_files and (reason := _judge_listed(program, listers, states)):
            return ask(reason)
        if judges_files and (reason := _judge_overwrite(program, call, states, older)):
            return ask(reason)
        for git in iter_git_calls([program]):
            rule = _RULES.get(git.subcommand)
            state = states.get(git.folder)
            reason = rule(git, state) if rule else ""
            if reason and not saved.covers(git):
                return ask(reason)
            if reason := saved.find_loss(git, state) or saved.find_dropped_commits(git, state):
                return ask(reason)
            saved.note(git, state)
            listers += [git] if _lists_work(git) else []
    return judge_programs(filter(_is_in_repository, list_host_programs(call)), _OTHER_SYSTEMS, {})


class _SavedWork:
    """What earlier parts of the same command put where it can be had back."""

    def __init__(self, call: GuardedCall) -> None:
        self.has_tracked = self.has_untracked_files = self._has_added = False
        # Whether the last stash is one that this command made, and whether it has printed what it could apply in reverse.
        self._has_stashed = self._has_diff = False
        # Whether the current commit has moved on, and whether it has another name now.
        self._has_committed = self._has_named = False
        # Behind `||` something runs only if it did not work.
        self._is_certain = not any("||" in text for text in call.commands)

    def note(self, git: GitCall, state: GitState) -> None:
        self._has_committed = self._has_committed or git.subcommand == "commit"
        is_name = git.subcommand in ("branch", "tag") and len(git.operands) == 1 and not git.arguments.options
        self._has_named = self._has_named or (is_name and self._is_certain)
        if _is_stash(git, "pop"):
            self.has_tracked = self.has_untracked_files = False
        if _leaves_changes(git, state):
            state.note_changes()
        if git.subcommand == "stash" and not _is_stash(git, "list", "show"):
            self._has_stashed = not git.operands or _is_stash(git, "push", "save")
        self._has_diff = self._has_diff or git.subcommand == "diff"
        if git.subcommand == "add" and (git.has("-A", "--all") or not _EVERYTHING.isdisjoint(git.operands)):
            self._has_added = self._is_certain
        elif git.subcommand == "commit" and not git.has("-p", "--patch"):
            self.has_tracked = self.has_tracked or self._has_added or (self._is_certain and git.has("-a", "--all"))
            self.has_untracked_files = self.has_untracked_files or self._has_added
        elif git.subcommand == "stash" and self._is_certain and _stashes_all(git):
            self.has_tracked = True
            self.has_untracked_files = self.has_untracked_files or git.has("-u", "--include-untracked", "-a", "--all")

    def find_loss(self, git: GitCall, state: GitState) -> str:
        """Return why to ask about a call that takes away what an earlier part of the command stashed or printed."""
        if self._has_stashed and _is_stash(git, "drop", "clear"):
            does = f"`git stash {git.operands[0]}` deletes what was stashed just before:"
            return _describe(does, is_there=state.has_changes(untracked=True), save=_LOOK)
        # A patch in a file can be applied again.
        is_reverse = git.subcommand == "apply" and git.has("-R", "--reverse") and git.operands in ([], ["-"])
        is_trial = git.has("--check", "--stat", "--numstat", "--summary", "--cached")
        if self._has_diff and is_reverse and not is_trial and not self.has_tracked:
            return _describe("`git apply -R` of a diff throws away", is_there=state.has_changes())
        return ""

    def find_dropped_commits(self, git: GitCall, state: GitState) -> str:
        """Return why to ask about a call that drops commits: to save changes does not save these."""
        rule = _COMMIT_RULES.get(git.subcommand)
        # A version that is counted from the last commit is another one after a new commit.
        is_moved = self._has_committed and any(word.startswith(("HEAD", "@")) for word in git.operands)
        return rule(git, state) if rule and not is_moved and not self._has_named else ""

    def covers(self, git: GitCall) -> bool:
        """Whether what a call throws away is saved."""
        if git.subcommand in _KEPT_APART:
            return False
        return self.has_untracked_files if git.subcommand == "clean" else self.has_tracked


def _is_stash(git: GitCall, *names: str) -> bool:
    return git.subcommand == "stash" and bool(git.operands) and git.operands[0] in names


def _leaves_changes(git: GitCall, state: GitState) -> bool:
    """Whether files have changes after a call, though they may have none before: of a stash, or of commits taken back."""
    if git.subcommand == "reset" and len(git.operands) == 1 and not git.has("--hard", "--merge", "--keep"):
        return state.is_other_commit(git.operands[0])
    return _is_stash(git, "pop") and state.has_reference("refs/stash") is not False


def _stashes_all(git: GitCall) -> bool:
    is_push = not git.operands or git.operands in (["push"], ["save"])
    return is_push and not git.has("-p", "--patch", "-S", "--staged", "-k", "--keep-index")


def _describe(does: str, *, is_there: bool | None, what: str = _CHANGES, save: str = _SAVE) -> str:
    if is_there is False:
        return ""
    certainty = what if is_there else f"{what} (whether there are any could not be checked)"
    return f"{does} {certainty}. {save}."


def _reset(git: GitCall, state: GitState) -> str:
    if not git.has("--hard", "--merge", "--keep"):
        return ""
    # It keeps changes, or refuses.
    has_changes = False if git.has("--keep") else state.has_changes()
    return _describe("`git reset --hard` throws away", is_there=has_changes)


def _reset_commits(git: GitCall, state: GitState) -> str:
    target = git.operands[0] if git.operands else "HEAD"
    if target == "HEAD" or not git.has("--hard", "--merge", "--keep"):
        return ""
    does = f"`git reset --{'keep' if git.has('--keep') else 'hard'}` drops"
    return _describe(does, is_there=state.drops_commits(target), what=_COMMITS, save=_BRANCH)


def _clean(git: GitCall, state: GitState) -> str:
    is_unforced = git.settings.get("clean.requireforce", "").lower() in ("false", "no", "off", "0")
    is_forced = git.has("-f", "--force") or is_unforced
    is_interactive = git.has("-i", "--interactive")
    if git.has("-n", "--dry-run") or not (_is_answered(git) if is_interactive else is_forced):
        return ""
    found = state.has_untracked_files(_list_paths(git), ignored=git.has("-x", "-X"))
    save = "See which with `git clean -n`; `git stash push -u` keeps them"
    return _describe("`git clean` deletes for good", is_there=found, what="files that git does not know", save=save)


def _is_answered(git: GitCall) -> bool:
    """Whether something answers what git asks, as in `yes | git checkout -p`."""
    program = git.program
    return bool(program.feeders or program.input_text or program.input_paths)


def _list_paths(git: GitCall) -> list[str]:
    return [path for path in git.operands if path]


def _checkout(git: GitCall, state: GitState) -> str:
    """`git checkout` of paths, or by force."""
    operands = git.operands
    if git.has("--orphan") or (git.has("-p", "--patch") and not _is_answered(git)):
        return ""
    if git.has("-p", "--patch"):
        return _describe("`git checkout -p` with answers throws away", is_there=state.has_changes())
    # Both sides of a conflict are in commits. Other files are thrown away as without these options.
    if git.has("--ours", "--theirs") and state.has_conflicts(git.arguments.behind or operands) is not False:
        return ""
    # Git refuses two versions.
    if git.arguments.behind and len(operands) - len(git.arguments.behind) > 1:
        return ""
    if git.has("-f", "--force"):
        return _describe("`git checkout -f` throws away", is_there=state.has_changes())
    if git.has("-b", "-B", "--detach", "-m", "--merge", "--track", "-t"):
        return ""
    paths = git.arguments.behind or _find_checked_out_paths(operands, state)
    if paths:
        return _describe("`git checkout` of paths throws away", is_there=state.has_changes(paths), what=_THEIR_CHANGES)
    # Another branch: git carries changes along, or refuses.
    return ""


def _find_checked_out_paths(operands: list[str], state: GitState) -> list[str]:
    """Return the operands that are paths: all behind a version, or the first if there is no branch of that name."""
    if not operands:
        return []
    # No branch has these signs in its name.
    is_pattern = not set("*?[").isdisjoint(operands[0])
    if is_pattern or operands[0] in _EVERYTHING or operands[0].startswith(("./", "../", "/", ":")):
        return operands
    if len(operands) > 1:
        is_version = state.has_reference(operands[0]) is not False
        return operands[1:] if is_version else operands
    is_file = state.is_known and os.path.lexists(os.path.join(state.folder, operands[0]))
    return operands if is_file and state.has_reference(operands[0]) is False else []


def _switch(git: GitCall, state: GitState) -> str:
    # Git refuses two branches.
    if len(git.operands) > 1:
        return ""
    if git.has("-f", "--force", "--discard-changes"):
        return _describe("`git switch --discard-changes` throws away", is_there=state.has_changes())
    return ""


def _move_branch(git: GitCall, state: GitState) -> str:
    """An option that makes a branch, or moves it if it is there."""
    options = ("-B",) if git.subcommand == "checkout" else ("-C", "--force-create")
    names = git.arguments.get(*options)
    # Git refuses two versions, and what is behind `--` are paths.
    if len(git.operands) > 1 or git.arguments.behind:
        return ""
    if not names or state.has_reference(f"refs/heads/{names[-1]}") is False:
        return ""
    if names[-1] == state.get_branch():
        is_there = state.drops_commits((git.operands or ["HEAD"])[0])
    else:
        is_merged = state.is_merged(names[-1])
        is_there = None if is_merged is None else not is_merged
    does = f"`git {git.subcommand} {options[0]}` drops"
    return _describe(does, is_there=is_there, what=_COMMITS, save=_BRANCH)


def _restore(git: GitCall, state: GitState) -> str:
    is_only_staged = git.has("-S", "--staged") and not git.has("-W", "--worktree")
    if git.has("--ours", "--theirs") or is_only_staged:
        return ""
    if git.has("-p", "--patch") if not _is_answered(git) else not (git.operands or git.has("-p", "--patch")):
        return ""
    return _describe("`git restore` throws away", is_there=state.has_changes(_list_paths(git)), what=_THEIR_CHANGES)


def _stash(git: GitCall, state: GitState) -> str:
    if git.operands[:1] not in (["drop"], ["clear"]):
        return ""
    has_stash = state.has_reference("refs/stash")
    return _describe(f"`git stash {git.operands[0]}` deletes", is_there=has_stash, what="stashed work", save=_LOOK)


def _branch(git: GitCall, state: GitState) -> str:
    is_deleting = git.has("-D") or (git.has("-d", "--delete") and git.has("-f", "--force"))
    is_moving = git.has("-f", "--force") and not is_deleting
    # Moving a branch that is not there makes a new one.
    is_new = is_moving and state.has_reference(f"refs/heads/{(git.operands or [''])[0]}") is False
    names = git.operands if is_deleting else git.operands[:1] if is_moving and not is_new else []
    if git.has("-r", "--remotes") or all(state.is_merged(name) for name in names):
        return ""
    return f"`git branch -{'D' if is_deleting else 'f'}` drops commits that may be on no other branch. {_BRANCH}."


def _worktree(git: GitCall, state: GitState) -> str:
    if git.operands[:1] != ["remove"] or not git.has("-f", "--force"):
        return ""
    path = (git.operands[1:] or [""])[0]
    there = state.get_other(path)
    is_there = there.has_changes(untracked=True) if there.is_repository() else None
    return _describe("`git worktree remove --force` deletes the folder with", is_there=is_there)


def _remove(git: GitCall, state: GitState) -> str:
    if not git.has("-f", "--force") or git.has("--cached", "-n") or not git.operands:
        return ""
    return _describe("`git rm -f` deletes", is_there=state.has_changes(_list_paths(git)), what=_THEIR_CHANGES)


def _read_tree(git: GitCall, state: GitState) -> str:
    if not (git.has("--reset") and git.has("-u")):
        return ""
    return _describe("`git read-tree --reset -u` throws away", is_there=state.has_changes())


def _checkout_index(git: GitCall, state: GitState) -> str:
    if not git.has("-f", "--force") or git.has("-n", "--no-create"):
        return ""
    return _describe("`git checkout-index -f` throws away", is_there=state.has_changes())


def _submodule(git: GitCall, _: GitState) -> str:
    if git.operands[:1] not in (["update"], ["deinit"]) or not git.has("-f", "--force"):
        return ""
    return _describe(
        f"`git submodule {git.operands[0]} -f` throws away", is_there=None, what=f"{_CHANGES}, in submodules"
    )


_RULES: dict[str, _Rule] = {
    "reset": _reset,
    "clean": _clean,
    "checkout": _checkout,
    "switch": _switch,
    "restore": _restore,
    "stash": _stash,
    "branch": _branch,
    "worktree": _worktree,
    "rm": _remove,
    "read-tree": _read_tree,
    "checkout-index": _checkout_index,
    "submodule": _submodule,
}
# What drops commits, which a stash before it does not save.
_COMMIT_RULES: dict[str, _Rule] = {"reset": _reset_commits, "checkout": _move_branch, "switch": _move_branch}
# What a stash or commit before them does not save.
_KEPT_APART = frozenset(("stash", "branch", "worktree", "submodule"))


def _judge_delete(program: Started, call: GuardedCall, states: GitStates) -> str:
    """Return why to ask about a delete: something of the project is lost that is in no commit and not ignored."""
    top = call.project or call.work_dir
    for loss in list_path_losses(program):
        is_ours = any(is_below(loss.path, folder) for folder in (top, call.work_dir) if folder.strip("/"))
        if loss.way != DELETE or not is_ours or (loss.is_narrowed and not loss.names):
            continue
        # All that is in a folder is the folder.
        path = os.path.normpath(loss.path[:-1] if loss.path.endswith("/*") else loss.path)
        lost = _list_lost_names(path, loss.names, states) if loss.names else _list_lost(path, loss, states)
        if lost:
            what = "which has changes or new files that are" if os.path.isdir(lost[0]) else "which is"
            return f"`{program.name}` deletes {os.path.relpath(lost[0], top)}, {what} in no commit. {_SAVE}."
    return ""


def _lists_work(git: GitCall) -> bool:
    """Whether git prints the names of files that are in no commit."""
    if git.subcommand == "status":
        return git.has("-s", "--short", "--porcelain")
    return git.subcommand == "ls-files" and git.has("-o", "--others") and not git.has("-i", "--ignored")


def _judge_listed(program: Started, listers: list[GitCall], states: GitStates) -> str:
    """Return why to ask about a delete of the files that git lists because they are in no commit."""
    if program.name not in _FILE_DELETERS:
        return ""
    for git in listers:
        is_status, state = git.subcommand == "status", states.get(git.folder)
        # In a loop, a word is all that is left of the list.
        is_found = not is_status and any(isinstance(word, FoundPath) for word in program.words)
        is_fed = is_found or any(one.words == git.program.words for one in program.substituted)
        is_lost = is_fed and (
            state.has_changes(untracked=True) if is_status else state.has_untracked_files(git.operands)
        )
        if is_lost:
            return f"`{program.name}` deletes what `git {git.subcommand}` lists: files that are in no commit. {_SAVE}."
    return ""


def _list_lost(path: str, loss: PathLoss, states: GitStates) -> list[str]:
    """Return a folder with changes or new files, or a new file. One that was committed can be had back."""
    if not set("*?[").isdisjoint(path) and not os.path.lexists(path):
        return _list_lost_matches(path, loss, states)
    state = states.get(os.path.dirname(path))
    if os.path.isdir(path):
        is_lost = loss.is_tree and state.has_changes([path], untracked=True)
    else:
        is_lost = _has_content(path) and state.has_untracked_files([path])
    return [path] if is_lost else []


def _list_lost_matches(pattern: str, loss: PathLoss, states: GitStates) -> list[str]:
    """Return what a pattern stands for that is lost: a new file, or a folder with changes or new files."""
    if UNKNOWN in pattern:
        return []
    folder = pattern[: min(pattern.find(sign) for sign in "*?[" if sign in pattern)].rpartition("/")[0]
    found = list(islice(iglob(pattern), _MAX_MATCHES))
    files = [path for path in found if _has_content(path)]
    new = {*(states.get(folder).list_untracked_files() or ())} if files else set()
    folders = [path for path in found if loss.is_tree and os.path.isdir(path) and not os.path.islink(path)]
    lost = [path for path in files if path in new]
    return lost or [path for path in folders if states.get(folder).has_changes([path], untracked=True)][:1]


def _has_content(path: str) -> bool:
    return os.path.isfile(path) and not os.path.islink(path) and os.path.getsize(path) > 0


def _list_lost_names(folder: str, names: tuple[str, ...], states: GitStates) -> list[str]:
    """Return the new files below a folder whose names match patterns."""
    new = states.get(folder).list_untracked_files() if os.path.isdir(folder) else None
    return [path for path in new or () if any(fnmatch(os.path.basename(path), name) for name in names)]


def _judge_overwrite(program: Started, call: GuardedCall, states: GitStates, older: OlderVersions) -> str:
    """Return why to ask about a program that empties files of the project, or writes older versions over them."""
    top = call.project or call.work_dir
    for path in _list_ours(older.list_replaced_files(program), program, call):
        # An archive of a version has all files.
        is_folder = os.path.isdir(path)
        state = states.get(path if is_folder else os.path.dirname(path))
        if (is_folder or _has_content(path)) and state.has_changes([path], untracked=not is_folder):
            shown = f"changed files in {os.path.relpath(path, top)}" if is_folder else os.path.relpath(path, top)
            return f"This writes an older version over {shown}: what is there now is in no commit. {_SAVE}."
    for path in _list_ours(list_emptied_files(program), program, call):
        if _has_content(path) and states.get(os.path.dirname(path)).has_changes([path], untracked=True):
            return f"This empties {os.path.relpath(path, top)}, which is in no commit as it is now. {_SAVE}."
    return ""


def _list_ours(paths: list[str], program: Started, call: GuardedCall) -> list[str]:
    """Return the whole paths of those that are known and in the project."""
    folders = [folder for folder in (call.project, call.work_dir) if folder.strip("/")]
    whole = [os.path.normpath(program.make_absolute(path)) for path in paths if UNKNOWN not in path]
    return [path for path in whole if UNKNOWN not in path and any(is_below(path, folder) for folder in folders)]


def _is_in_repository(program: Started) -> bool:
    """Whether a program may work in a repository of Mercurial or Subversion: the folder or one above has its store."""
    folder = program.folder
    is_there = program.name in ("hg", "svn") and UNKNOWN in folder
    while program.name in ("hg", "svn") and folder.strip("/") and not is_there:
        is_there = os.path.lexists(os.path.join(folder, f".{program.name}"))
        folder = os.path.dirname(folder.rstrip("/"))
    return is_there


# Other systems of versions: what throws away changes without a copy.
_OTHER_SYSTEMS = (
    CommandRule(
        "hg", "update|up|checkout|co", "throws away changes that are in no commit", _SHELVE, needs="-C --clean"
    ),
    CommandRule("hg", "revert", "throws away changes that are in no commit", _SHELVE, needs="--no-backup"),
    CommandRule(
        "hg",
        "purge|clean",
        "deletes files that are in no commit",
        "See which with `hg purge --print`",
        unless="-p --print",
    ),
    CommandRule(
        "svn", "revert", "throws away changes that are in no commit", "`svn diff > FILE` keeps them", operands=2
    ),
    CommandRule(
        "svn", "cleanup", "deletes files that are in no commit", "`svn status` shows them", needs="--remove-unversioned"
    ),
)
# How many files a pattern is looked up for.
_MAX_MATCHES = 1000
_FILE_DELETERS = frozenset(("rm", "grm", "srm", "unlink", "shred"))
_DELETERS = frozenset(
    (
        "rm",
        "grm",
        "srm",
        "rimraf",
        "find",
        "rsync",
        "unlink",
        "shred",
        "remove-item",
        "ri",
        "del",
        "erase",
        "rd",
        "rmdir",
    )
)


if __name__ == "__main__":
    run_guard(decide)
