"""What a settings hook consists of: its definition, and the files it runs that lie in the project.

Only files that are plainly named are found: the program of a command, or the script that an interpreter is given. What these
call in turn, and what the shell works out, is not bound; `boathook trust` shows what is.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator

from boathook.core.hook import Command, Hook
from boathook.core.shell import ShellWord
from boathook.core.value import Value
from boathook.sources import source
from boathook.sources.shell_scripts import find_run_files, read_plain_commands, remove_prefix
from boathook.trust.snapshot import IGNORED_NAMES, SnapshotError, read_snapshot

FEW_FILES, FEW_BYTES = 64, 1 << 20


class Bound(Value):
    """A file that a command runs: its real path, and where it is named (which word, or where in the line)."""

    path: str
    at: int
    raw: str


class Binding(Value):
    """What a command names: files that are bound, some that are not there yet, and what is left to itself.

    `loose` are files of the project that it names in other ways; `unclear` is what could not be read of it.
    """

    files: tuple[Bound, ...] = ()
    absent: tuple[str, ...] = ()
    loose: tuple[str, ...] = ()
    unclear: str = ""


def bind(hook: Hook, project: str) -> Binding:
    """Return which files of a project, or of the plugin, a hook's command runs."""
    handler = hook.handler
    if not isinstance(handler, Command):
        return Binding()
    tops = tuple(os.path.realpath(top).rstrip("/") + "/" for top in (project, handler.root) if top)
    known = {"CLAUDE_PROJECT_DIR": project, "CLAUDE_PLUGIN_ROOT": handler.root, "HOME": os.environ.get("HOME", "")}
    commands, unclear = (
        ([_words(handler, known)], "") if handler.words is not None else read_plain_commands(handler.text, known)
    )
    files: list[Bound] = []
    absent: list[str] = []
    for base, word in _run_by(commands, project):
        path = _real_within(base, word.value or "", tops)
        if path and os.path.isfile(path):
            files.append(Bound(path, word.start, word.raw))
        elif path and not os.path.lexists(path):
            absent.append(path)
    named = {_real_within(project, word.value, tops) for words in commands for word in words if word.value}
    loose = sorted(path for path in named - {file.path for file in files} if path and os.path.isfile(path))
    return Binding(tuple(files), tuple(dict.fromkeys(absent)), tuple(loose), unclear)


def _real_within(base: str, name: str, tops: tuple[str, ...]) -> str:
    """Return the real path of a name if it lies below one of some folders, else nothing."""
    try:
        path = os.path.realpath(os.path.join(base, name))
        os.fsencode(path)
    except ValueError:  # a NUL, or a character that no file can be named with
        return ""
    return path if path.startswith(tops) else ""


def _words(handler: Command, known: dict[str, str]) -> list[ShellWord]:
    """Read a program with its arguments; the place of a word is its number."""
    words = []
    for at, raw in enumerate((handler.text, *(handler.words or ()))):
        value = raw
        for name, text in known.items():
            value = value.replace(f"${{{name}}}", text)
        words.append(ShellWord(raw, value, at))
    return words


def _run_by(commands: list[list[ShellWord]], project: str) -> Iterator[tuple[str, ShellWord]]:
    """Return the words that name what is run, and where each is looked for; after a `cd` that is there, or nowhere."""
    base: str | None = project
    for command in commands:
        words = remove_prefix(command)
        if not words:
            continue
        if words[0].raw in ("cd", "pushd", "popd"):
            target = words[1].value if len(words) > 1 else None
            base = os.path.join(base, target) if base and target and target != "-" else None
            continue
        run = (
            [words[1]]
            if words[0].raw in (".", "source") and len(words) > 1
            else [n.word for n in find_run_files(words)]
        )
        for word in run:
            if word.value and (base is not None or word.value.startswith("/")):
                yield base or "/", word


def roots_of(files: tuple[Bound, ...], project: str) -> tuple[str, ...]:
    """Return what is to be hashed and copied for some files: each with its folder, so that its helpers come along.

    A folder that is the project itself, that of a source such as .claude, or large, is left; then it is the file alone.
    """
    real = os.path.realpath(project)
    never = (real, *[real + one.project_folder for one in source.SOURCES])
    chosen = dict.fromkeys(_with_helpers(file.path, never) for file in files)
    return tuple(root for root in chosen if not any(_holds(other, root) for other in chosen))


def _holds(folder: str, path: str) -> bool:
    """Whether the tree of a folder has a path in it."""
    inside = path.startswith(folder + "/")
    return inside and not set(path[len(folder) + 1 :].split("/")) & set(IGNORED_NAMES)


def _with_helpers(path: str, never: tuple[str, ...]) -> str:
    folder = os.path.dirname(path)
    if folder in never:
        return path
    try:
        tree = read_snapshot(folder)
    except SnapshotError:
        return path
    small = len(tree.parts) <= FEW_FILES and sum(len(part.data) for part in tree.parts) <= FEW_BYTES
    return folder if small else path


def rebound(hook: Hook, files: tuple[Bound, ...], places: dict[str, str]) -> Hook:
    """Return a hook that runs the private copies of its files; `places` says where the copy of each root is."""
    handler = hook.handler
    if not isinstance(handler, Command):
        return hook
    words, text = list(handler.words or ()), handler.text
    for file in sorted(files, key=lambda one: -one.at):
        copy = _copy_of(file.path, places)
        if copy is None:
            continue
        if handler.words is None:
            text = text[: file.at] + shlex.quote(copy) + text[file.at + len(file.raw) :]
        elif file.at == 0:
            text = copy
        else:
            words[file.at - 1] = copy
    return hook.replace(handler=handler.replace(text=text, words=None if handler.words is None else tuple(words)))


def _copy_of(path: str, places: dict[str, str]) -> str | None:
    for root, copy in places.items():
        if path == root or _holds(root, path):
            return copy + path[len(root) :]
    return None
