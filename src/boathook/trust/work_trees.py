"""Find out which repository a folder belongs to, so that trust holds in all of its work trees."""

# Only files are read: git is never run and no variable counts. A `.git` file alone proves nothing, because anyone can write
# one: the repository must name the work tree, too. See docs/adr/0023-trust-in-work-trees.md.

from __future__ import annotations

import os
import stat

from boathook.core.approval import TrustPlace
from boathook.core.value import Value

_MAX_POINTER_BYTES = 8192
_POINTER_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class LocatedPlace(Value):
    """Where a project is for trust, and the paths that this depends on."""

    place: TrustPlace
    watch: tuple[str, ...] = ()


def find_trust_place(project: str) -> LocatedPlace:
    real = os.path.realpath(project)
    top, watch = _find_top(real)
    repository = _find_repository_of(top, watch) if top else ""
    folder = os.path.relpath(real, top) if repository else ""
    return LocatedPlace(TrustPlace(real, repository, folder), tuple(watch))


def list_work_trees(folder: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the work trees that a real folder is in, each with its repository, and the paths that this depends on."""
    found, watch = list[tuple[str, str]](), list[str]()
    while True:
        top, searched = _find_top(folder)
        watch += searched
        if not top:
            return found, watch
        repository = _find_repository_of(top, watch)
        found += [(top, repository)] if repository else []
        if top == "/":
            return found, watch
        folder = os.path.dirname(top)


def is_moved_work_tree(project: str) -> bool:
    """Whether a folder is in a work tree that its repository does not know at this place, as after a plain `mv`."""
    top, _ = _find_top(os.path.realpath(project))
    key, _, pointer = _read_pointer(f"{top}/.git").partition(" ") if top else ("", "", "")
    entry = os.path.realpath(os.path.join(top, pointer))
    is_linked = key == "gitdir:" and os.path.basename(os.path.dirname(entry)) == "worktrees"
    return is_linked and not _find_repository_of(top, [])


def _find_top(folder: str) -> tuple[str, list[str]]:
    """Return the nearest folder upwards that has `.git`, and where there was none."""
    watch: list[str] = []
    while True:
        path = f"{folder.rstrip('/')}/.git"
        try:
            os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            watch.append(path)
        except (OSError, ValueError):
            return "", [*watch, path]
        else:
            return folder, watch
        if folder == "/":
            return "", watch
        folder = os.path.dirname(folder)


def _find_repository_of(top: str, watch: list[str]) -> str:
    """Return the real path of the repository that a work tree belongs to, "" if that is not certain."""
    path = f"{top.rstrip('/')}/.git"
    if _is_own_folder(path):
        # Its content changes all the time, and does not count.
        watch.append(f"{path}/")
        return path
    watch.append(path)
    key, _, pointer = _read_pointer(path).partition(" ")
    if key != "gitdir:" or not pointer:
        return ""
    entry = os.path.join(top, pointer)
    watch += [f"{entry}/gitdir", f"{entry}/commondir"]
    entry = os.path.realpath(entry)
    worktrees = os.path.dirname(entry)
    repository = os.path.dirname(worktrees)
    # Of these only owner and mode count.
    watch += [f"{folder}/" for folder in (repository, worktrees, entry)]
    if os.path.basename(worktrees) != "worktrees" or not all(map(_is_own_folder, (repository, worktrees, entry))):
        return ""
    back, common = _read_pointer(f"{entry}/gitdir"), _read_pointer(f"{entry}/commondir")
    if not back or not common:
        return ""
    watch.append(os.path.join(entry, back))
    is_mutual = _resolve(entry, back) == path and _resolve(entry, common) == repository
    return repository if is_mutual else ""


def _resolve(base: str, path: str) -> str:
    return os.path.realpath(os.path.join(base, path))


def _is_own_folder(path: str) -> bool:
    """Whether a path is a folder, not a link to one, that nobody but the user and root can have made."""
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISDIR(status.st_mode) and _is_own(status)


def _is_own(status: os.stat_result) -> bool:
    return status.st_uid in (os.getuid(), 0) and not status.st_mode & stat.S_IWOTH


def _read_pointer(path: str) -> str:
    """Return the one line of a small file of the user, "" if it is anything else."""
    try:
        handle = os.open(path, _POINTER_FLAGS)
    except (OSError, ValueError):
        return ""
    try:
        status = os.fstat(handle)
        data = os.read(handle, _MAX_POINTER_BYTES + 1) if stat.S_ISREG(status.st_mode) and _is_own(status) else b""
    except OSError:
        return ""
    finally:
        os.close(handle)
    line = data.removesuffix(b"\n").removesuffix(b"\r")
    is_line = len(data) <= _MAX_POINTER_BYTES and not set(b"\0\r\n") & set(line)
    return os.fsdecode(line) if is_line else ""
