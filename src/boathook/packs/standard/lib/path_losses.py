"""What a program makes of files that are there: which paths it deletes, moves away, writes over, or makes unreadable."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import NamedTuple

from argument_list import ArgumentList
from places import is_disk

from boathook.core.interpreters import is_interpreter
from boathook.protection.code_texts import find_code, list_code_strings
from boathook.shell.arguments import UNKNOWN
from boathook.shell.find_search import list_found_paths
from boathook.shell.found_paths import FoundPath, QuotedName
from boathook.shell.path_change import EXACT
from boathook.shell.path_changes import list_path_changes
from boathook.shell.started_program import Started

DELETE, MOVE, OVERWRITE, ACCESS = "delete", "move", "overwrite", "access"
_MOVE_VALUES = "-t --target-directory -S --suffix"
_FIND_NEUTRAL = frozenset(
    (
        *("-delete", "-depth", "-d", "-mount", "-xdev", "-print", "-print0", "-ls", "-true", "-mindepth", "-maxdepth"),
        *(
            "-type",
            "-exec",
            "-execdir",
            "-ok",
            "-okdir",
            "-noleaf",
            "-follow",
            "-daystart",
            "-warn",
            "-nowarn",
            "-prune",
        ),
        *("!", "-not", "-o", "-or", "-a", "-and", "(", ")", ",", "-H", "-L", "-P"),
    )
)
# Programs that write over the files that they are given.
_OVERWRITERS = frozenset(
    (
        *(
            "cp",
            "gcp",
            "install",
            "tee",
            "truncate",
            "dd",
            "sponge",
            "sed",
            "gsed",
            "perl",
            "ruby",
            "yq",
            "curl",
            "wget",
        ),
        *("aria2c", "ed", "ex", "scp", "rsync", "openssl", "gpg", "sort", "patch"),
    )
)
# Programs that few machines have, and that are called like somebody's own script or function.
_RARE_PROGRAMS = frozenset(("wipe",))
# Commands of PowerShell that list files for one behind them in a pipe, and what makes it some of them only.
_ITEM_LISTERS = frozenset(("get-childitem", "gci", "dir", "get-item", "gi"))
_ITEM_FILTERS = ("-fi", "-i", "-n", "where", "?", "select", "-d")
# Programs that look for patterns by themselves, also for those in quotes.
_OWN_PATTERNS = frozenset(("rimraf", "del-cli", "shx", "remove-item", "ri", "del", "erase", "rd", "pwsh", "powershell"))
_CODE_DELETES = re.compile(
    r"rmtree|remove_tree|rm_rf|rm_r\b|rmSync|rmdirSync|rimraf|unlink|os\.remove|removedirs|\.rmdir|\brm\s*\(|Remove-Item"
    r"|deleteDirectory|Deno\.remove|fs\.rm\b|File\.delete|remove_dir_all",
    re.IGNORECASE,
)
_CODE_TREES = re.compile(
    r"rmtree|remove_tree|rm_rf|rm_r\b|rmSync|rimraf|\brm\s*\(|Remove-Item|deleteDirectory|recursive", re.I
)
_CODE_WRITES = re.compile(r"open\s*\([^)]*[\"'][rb]*[wa+]|write|O_WRONLY|O_RDWR", re.IGNORECASE)
_PLAIN_NAME = re.compile(r"[\w@+-][\w@+./-]{0,200}")
_PATH_LIKE = re.compile(r"(?:[~/.]|[A-Za-z]:\\).{0,300}")


class PathLoss(NamedTuple):
    """A path that is lost or changed; `path` begins at the root, or with `UNKNOWN`."""

    way: str
    path: str
    program: str
    # Whether all below the path is meant.
    is_tree: bool = False
    # Whether only some files below the path are meant, chosen by name, age or the like.
    is_narrowed: bool = False
    # Of these, the patterns of their names, if they are chosen by name.
    names: tuple[str, ...] = ()


LossRule = Callable[[Started], Iterator[PathLoss]]


def list_path_losses(program: Started) -> list[PathLoss]:
    """Return what a program deletes, moves, overwrites, or changes the access of."""
    rule = _RULES.get(program.name) or _POWERSHELL_RULES.get(program.name.lower())
    if program.name in _RARE_PROGRAMS and shutil.which(program.name) is None:
        rule = None
    losses: list[PathLoss] = []
    if rule is not None:
        losses += rule(program)
    elif UNKNOWN in program.words[0] and len(program.words) > 2 and not _is_called_by_input(program):
        # A program whose name is hidden is taken for the worst if it is called like it.
        losses += [loss for loss in _remove(program) if loss.is_tree]
    elif is_interpreter(program.name):
        losses += _run_code(program)
    if program.name in _OVERWRITERS:
        losses += _overwrite(program)
    losses += [_make(program, OVERWRITE, path) for path in program.outputs]
    absent = _list_absent_names(program)
    return [loss for loss in losses if loss.path not in absent] if absent else losses


def _is_called_by_input(program: Started) -> bool:
    """Whether `xargs` reads all that a program is called with: then nothing says what the program is."""
    return program.started_by[-1:] == ("xargs",) and {*program.words[1:]} <= {*program.read_paths}


def _list_absent_names(program: Started) -> set[str]:
    """Return the paths that look like patterns and are only there in quotes: they are names, and no file has this name."""
    if not _OWN_PATTERNS.isdisjoint((program.name.lower(), *program.started_by)):
        return set()
    quoted = {program.make_absolute(word) for word in program.words if isinstance(word, QuotedName)}
    paths = quoted - {program.make_absolute(word) for word in program.words if not isinstance(word, QuotedName)}
    return {path for path in paths if UNKNOWN not in path and not os.path.lexists(path)}


def _make(program: Started, way: str, path: str, *, is_tree: bool = False, is_narrowed: bool = False) -> PathLoss:
    names = path.filters.names if is_narrowed and isinstance(path, FoundPath) else ()
    shown = program.name.replace(UNKNOWN, "…")
    return PathLoss(way, program.make_absolute(str(path)), shown, is_tree, is_narrowed, names)


def _remove(program: Started) -> Iterator[PathLoss]:
    arguments = ArgumentList(program.words[1:])
    before = program.words[1:] if _reads_late_options(program) else takewhile(_is_option, program.words[1:])
    if ArgumentList(before).is_harmless:
        return
    is_recursive = arguments.has("-r", "-R", "--recursive") or program.name in ("rimraf", "del-cli")
    for path in arguments.operands:
        # What `find` hands over are files one by one.
        is_found = isinstance(path, FoundPath)
        is_narrowed = is_found and _is_narrowed_path(path)
        yield _make(program, DELETE, path, is_tree=is_recursive or is_found, is_narrowed=is_narrowed)


def _reads_late_options(program: Started) -> bool:
    """Whether options count behind the first file, as with GNU. Elsewhere `--help` is a file there."""
    names = {name for name, _ in program.variables} | {*(program.scope.variables if program.scope else ()), *os.environ}
    return sys.platform == "linux" and "POSIXLY_CORRECT" not in names


def _is_option(word: str) -> bool:
    return word.startswith("-")


def _remove_item(program: Started) -> Iterator[PathLoss]:
    """`Remove-Item -Recurse -Force PATH` of PowerShell, and its short names; names of options may be cut short."""
    lowered = [word.lower() for word in program.words[1:]]
    # With `-Confirm:$false` it asks nobody.
    if any(word.startswith(("-wh", "-conf")) and ":" not in word for word in lowered):
        return
    is_recursive = any(word.startswith("-r") for word in lowered) or "/s" in lowered
    for path in _list_item_paths(program):
        yield _make(program, DELETE, path, is_tree=is_recursive)
    for lister in program.feeders:
        if lister.name.lower() in _ITEM_LISTERS:
            words = [word.lower() for word in (*lister.words[1:], *(one.name for one in program.feeders))]
            is_narrowed = any(word.startswith(_ITEM_FILTERS) for word in words)
            for path in _list_item_paths(lister) or ["."]:
                yield _make(program, DELETE, path, is_tree=True, is_narrowed=is_narrowed)


def _list_item_paths(program: Started) -> list[str]:
    """Return the paths that a command of PowerShell or `cmd` is called with, as they are written elsewhere."""
    words = list(program.words[1:])
    values = {at + 1 for at, word in enumerate(words) if word.lower().startswith(("-e", "-i", "-fi", "-d"))}
    home = program.scope.given.get("HOME", UNKNOWN) if program.scope else UNKNOWN
    paths: list[str] = []
    for at, word in enumerate(words):
        if at in values or word.startswith("-") or word.lower() in ("/s", "/q", "/f", "/a"):
            continue
        path = re.sub(rf"(?i)^{UNKNOWN}:(?:userprofile|home)(?=/|$)", lambda _: home, word.replace("\\", "/"))
        path = re.sub(r"(?i)^%userprofile%(?=/|$)", lambda _: home, path)
        paths.append(re.sub(r"^[A-Za-z]:/*(.*)", r"/\1", path.rstrip(",")))
    return paths


def _is_narrowed_path(path: str) -> bool:
    if not isinstance(path, FoundPath):
        return False
    filters = path.filters
    is_chosen = filters.names or filters.paths or filters.narrowing or filters.is_empty or filters.is_selective
    return bool(is_chosen)


def _search(program: Started) -> Iterator[PathLoss]:
    words = list(program.words[1:])
    if "-delete" in words:
        is_narrowed = is_narrowed_search(words)
        for path in list_found_paths(words):
            yield _make(program, DELETE, path, is_tree=True, is_narrowed=is_narrowed)


def is_narrowed_search(words: list[str]) -> bool:
    """Whether `find` selects some files only: by name, age, size, owner and so on."""
    is_negated = False
    for word in words:
        if word in ("!", "-not"):
            is_negated = True
        elif word.startswith("-") and not word[1:].isdigit():
            if word not in _FIND_NEUTRAL and not is_negated:
                return True
            is_negated = False
    return False


def _move(program: Started) -> Iterator[PathLoss]:
    arguments = ArgumentList(program.words[1:], _MOVE_VALUES)
    if arguments.is_harmless:
        return
    targets = arguments.get("-t", "--target-directory")
    sources = arguments.operands if targets else arguments.operands[:-1]
    # Several files go only into a folder that is there.
    last = program.make_absolute((targets or arguments.operands[-1:] or [""])[0])
    if any("*" in path for path in sources) and UNKNOWN not in last and not os.path.isdir(last):
        return
    # What is there already stays where it is.
    top = last.rstrip("/")
    sources = [path for path in sources if program.make_absolute(path).rstrip("/").rpartition("/")[0] != top]
    for path in sources:
        yield _make(program, MOVE, path, is_tree=True)
    if not arguments.has("-n", "--no-clobber"):
        for target in targets or arguments.operands[-1:]:
            yield _make(program, OVERWRITE, target)
            for path in sources:
                yield _make(program, OVERWRITE, f"{target.rstrip('/')}/{path.rstrip('/').rpartition('/')[2]}")


def _mirror(program: Started) -> Iterator[PathLoss]:
    arguments = ArgumentList(
        program.words[1:], "-e --rsh --exclude --include --filter -f --port --log-file --rsync-path"
    )
    if arguments.is_harmless or arguments.has("-n", "--list-only"):
        return
    target = arguments.operands[-1:] if len(arguments.operands) > 1 else []
    is_deleting = any(option.name.startswith("--del") for option in arguments.options)
    for path in target:
        if is_deleting and ":" not in path.partition("/")[0]:
            yield _make(program, DELETE, path, is_tree=True)


def _change_access(program: Started) -> Iterator[PathLoss]:
    arguments = ArgumentList(program.words[1:], "--from --reference -m -x -M -X")
    # Cut as short as this, it may be `--recursive` or `--reference`, and is refused.
    if arguments.is_harmless or any(option.name in ("--r", "--re") for option in arguments.options):
        return
    operands = arguments.operands
    has_value = arguments.has("--reference") or program.name in ("setfacl", "chattr")
    is_found = any(isinstance(path, FoundPath) for path in operands)
    is_tree = is_found or arguments.has("-R", "--recursive")
    for path in operands if has_value else operands[1:]:
        yield _make(program, ACCESS, path, is_tree=is_tree, is_narrowed=_is_narrowed_path(path))


def _shred(program: Started) -> Iterator[PathLoss]:
    arguments = ArgumentList(program.words[1:], "-n --iterations -s --size --random-source")
    if not arguments.is_harmless:
        for path in arguments.operands:
            yield _make(program, DELETE, path)


def _overwrite(program: Started) -> Iterator[PathLoss]:
    arguments = ArgumentList(program.words[1:])
    if arguments.is_harmless or (program.name == "rsync" and arguments.has("-n", "--list-only")):
        return
    for change in list_path_changes(program) or []:
        if change.way == EXACT:
            yield _make(program, OVERWRITE, change.path)


def _run_code(program: Started) -> Iterator[PathLoss]:
    """Yield the paths in the code of an interpreter that deletes something."""
    code = find_code(program)
    if _CODE_WRITES.search(code):
        yield from (_make(program, OVERWRITE, text) for text in list_code_strings(code) if is_disk(text))
    if not _CODE_DELETES.search(code):
        return
    is_tree = bool(_CODE_TREES.search(code))
    home = program.scope.given.get("HOME", UNKNOWN) if program.scope else UNKNOWN
    for text in list_code_strings(code):
        if _PATH_LIKE.fullmatch(text) or _is_file_name(text, program):
            path = re.sub(r"^(?:~|\$HOME)(?=/|$)", lambda _: home, text)
            yield _make(program, DELETE, path, is_tree=is_tree or path.endswith("*"))


def _is_file_name(text: str, program: Started) -> bool:
    """Whether a text in code is the name of something in the folder that it runs in."""
    is_plain = bool(_PLAIN_NAME.fullmatch(text)) and UNKNOWN not in program.folder
    return is_plain and os.path.lexists(program.make_absolute(text))


_RULES: dict[str, LossRule] = {
    **dict.fromkeys(("rm", "grm", "srm", "unlink", "rimraf", "del-cli", "wipe"), _remove),
    "find": _search,
    **dict.fromkeys(("mv", "gmv"), _move),
    **dict.fromkeys(("rsync",), _mirror),
    **dict.fromkeys(("chmod", "chown", "chgrp", "setfacl", "chattr"), _change_access),
    "shred": _shred,
}
_POWERSHELL_RULES: dict[str, LossRule] = dict.fromkeys(
    ("remove-item", "ri", "del", "erase", "rd", "rmdir"), _remove_item
)
