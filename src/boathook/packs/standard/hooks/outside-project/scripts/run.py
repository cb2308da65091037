#!/usr/bin/env python3
"""Asks before files outside of the project are deleted, moved or overwritten."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from glob import iglob

from argument_list import ArgumentList
from call_programs import list_host_programs, list_remote_programs
from path_losses import DELETE, MOVE, OVERWRITE, PathLoss, list_path_losses
from places import is_below, is_temporary, split_parts

from boathook.guards import GuardAnswer, GuardedCall, ask, run_guard
from boathook.shell.started_program import Started
from boathook.system.files import may_exist

# Folders that programs fill by themselves, and may empty; `~` is the home folder. The setting `allow` adds more.
_FREE_FOLDERS = (
    *("~/.cache", "~/Library/Caches", "~/.npm/_cacache", "~/.local/share/Trash", "~/go/pkg/mod", "~/.cargo/registry"),
    *("~/.m2/repository", "~/.gradle/caches", "~/.nuget/packages", "~/.claude/plans", "~/.gemini/tmp"),
)
# Folders of the system on any machine.
_SYSTEM_FOLDERS = frozenset(("bin", "boot", "etc", "lib", "lib32", "lib64", "sbin", "usr", "System", "Library"))
# Programs behind which files have other names than before.
_OTHER_NAMES = frozenset(
    (
        *("ln", "link", "mv", "rename", "prename", "file-rename", "perl-rename", "mmv", "sshfs", "bindfs", "s3fs"),
        *("encfs", "gcsfuse", "chroot", "bwrap", "proot", "fakechroot", "unshare", "nsenter", "systemd-run"),
        *("systemd-nspawn",),
    )
)
_OTHER_PATTERNS = re.compile(r"glob|[@!+?*]\(")
_VERBS = {DELETE: "deletes", MOVE: "moves away", OVERWRITE: "overwrites"}
_INSTEAD = "Work on a copy in the project, or leave it to the person"


def decide(call: GuardedCall) -> GuardAnswer | None:
    inside = _list_inside(call)
    # A home, and what is beside a project, are somebody's also if they are in a temporary folder.
    owned = [folder for folder in (call.home, os.path.dirname(call.project)) if is_temporary(folder)]
    # What is not there now may be there then, and shells read some patterns in different ways.
    is_doubtful = any(map(_OTHER_PATTERNS.search, call.commands))
    for program in list_host_programs(call):
        is_doubtful = is_doubtful or not _OTHER_NAMES.isdisjoint(program.started_by)
        for loss in list_path_losses(program):
            is_lost = loss.way in _VERBS and _is_outside(loss.path, inside, owned) and not _is_cleanup(loss)
            if is_lost and (program.machine or _is_there(loss, is_doubtful=is_doubtful)):
                shown = f"{'files in ' if loss.is_narrowed else ''}{_shorten(loss.path, call.home)}"
                return ask(f"`{loss.program}` {_VERBS[loss.way]} {shown}, which is outside of the project. {_INSTEAD}.")
        if reason := _judge_remote_copy(program):
            return ask(reason)
        is_doubtful = is_doubtful or _gives_other_names(program)
    for program in list_remote_programs(call):
        if any(loss.way == DELETE and loss.is_tree for loss in list_path_losses(program)):
            return ask(
                f"`{program.name}` deletes folders on another machine. List them there first, and ask the person."
            )
    for write in call.writes:
        path = call.make_absolute(write.path)
        way = DELETE if write.change == "delete" else OVERWRITE
        if _is_outside(path, inside, owned) and os.path.isfile(path):
            return ask(f"This {_VERBS[way]} {_shorten(path, call.home)}, which is outside of the project. {_INSTEAD}.")
    return None


def _is_cleanup(loss: PathLoss) -> bool:
    """Whether only some files of the folder for temporary files itself are meant, such as old ones."""
    return loss.is_narrowed and not is_temporary(loss.path) and is_temporary(f"{loss.path.rstrip('/')}/file")


def _gives_other_names(program: Started) -> bool:
    """Whether a program makes files that are there reachable at another place: by a link, a mount, or another root."""
    return program.name in _OTHER_NAMES or any("mount" in word for word in program.words[:2])


def _is_there(loss: PathLoss, *, is_doubtful: bool) -> bool:
    """Whether there is something to be lost: a file, or for what takes whole folders anything at all."""
    path = os.path.normpath(loss.path)
    is_pattern = not set("*?").isdisjoint(path) and not os.path.lexists(path)
    # Settings of the system are often where only the administrator can see them.
    if loss.way == DELETE and is_below(path, "/etc") and not is_pattern:
        return loss.is_tree or not os.path.isdir(path)
    if not loss.is_tree:
        return os.path.isfile(path) or (may_exist(path) and not os.path.lexists(path))
    if is_doubtful or "[" in path or "^" in path:
        return True
    if is_pattern:
        return next(iglob(path, include_hidden=True), None) is not None
    return may_exist(path)


def _list_inside(call: GuardedCall) -> list[str]:
    """Return the folders in which work is free."""
    free = [*_FREE_FOLDERS, *call.list_setting("allow")]
    folders = [call.project, call.work_dir, *(call.make_absolute(path) for path in free)]
    return [folder.rstrip("/") for folder in folders if folder.strip("/")]


def _is_outside(path: str, inside: Sequence[str], owned: Sequence[str]) -> bool:
    """Whether a path is certainly outside; what is not known is not."""
    parts = split_parts(path)
    if parts is None or not parts or path.startswith("/dev/") or parts[0] == "proc":
        return False
    plain = "/" + "/".join(parts)
    if any(is_below(plain, folder) or fnmatchcase(plain, folder) for folder in inside):
        return False
    return not is_temporary(plain) or any(is_below(plain, folder) for folder in owned)


def _judge_remote_copy(program: Started) -> str:
    """Return why a copy to another machine is doubtful: it goes into the system there, or deletes what it does not have."""
    if program.name not in ("scp", "rsync"):
        return ""
    arguments = ArgumentList(
        program.words[1:], "-e --rsh -P -i -F -o -l -c -S -J --port --exclude --include --filter -f"
    )
    target = arguments.operands[-1] if len(arguments.operands) > 1 else ""
    host, _, path = target.partition(":")
    is_remote = bool(path) and "/" not in host
    if not is_remote or arguments.is_harmless or (program.name == "rsync" and arguments.has("-n", "--list-only")):
        return ""
    parts = split_parts(path)
    if parts is not None and (not parts or parts[0] in _SYSTEM_FOLDERS):
        instead = "Copy them to a home folder there, and let a person install them"
        return f"`{program.name}` overwrites files of the system on {host}. {instead}."
    if any(option.name.startswith("--del") for option in arguments.options):
        return f"`{program.name} --delete` deletes on {host} what is not here. Try it with `--dry-run` first, and show the result."
    return ""


def _shorten(path: str, home: str) -> str:
    plain = os.path.normpath(path)
    return f"~{plain[len(home) :]}" if home and is_below(plain, home) else plain


if __name__ == "__main__":
    run_guard(decide)
