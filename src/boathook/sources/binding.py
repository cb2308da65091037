"""What a settings hook consists of: its definition, and the files it runs that lie in the project.

Only files that are plainly named are found: the program of a command, or the script that an interpreter is given. What these
call in turn, and what the shell works out, is not bound; `boathook trust` shows what is.
"""

from __future__ import annotations

import os
import shlex

from boathook.core.hook import Command, Hook
from boathook.core.value import Value
from boathook.sources.scripts import Named, Word, all_commands, files_in, without_prefix
from boathook.tree import TreeFault, read_tree

FEW_FILES, FEW_BYTES = 64, 1 << 20


class Bound(Value):
    """A file that a command runs: its real path, and where it is named (which word, or where in the line)."""

    path: str
    at: int
    raw: str


def bound_files(hook: Hook, project: str) -> tuple[Bound, ...]:
    """Give the files of a project, or of the plugin, that a hook's command runs."""
    handler = hook.handler
    if not isinstance(handler, Command):
        return ()
    tops = tuple(os.path.realpath(top) for top in (project, handler.root) if top)
    known = {"CLAUDE_PROJECT_DIR": project, "CLAUDE_PLUGIN_ROOT": handler.root, "HOME": os.environ.get("HOME", "")}
    named = _words(handler, known) if handler.words is not None else _in_line(handler.text, known)
    found = []
    for base, one in named:
        path = os.path.realpath(os.path.join(base or project, one.word.value or ""))
        if os.path.isfile(path) and any(path.startswith(top.rstrip("/") + "/") for top in tops):
            found.append(Bound(path, one.word.at, one.word.raw))
    return tuple(found)


def _words(handler: Command, known: dict[str, str]) -> list[tuple[str, Named]]:
    """Read a program with its arguments; the place of a word is its number."""
    words = []
    for at, raw in enumerate((handler.text, *(handler.words or ()))):
        value = raw
        for name, text in known.items():
            value = value.replace(f"${{{name}}}", text)
        words.append(Word(raw, value, at=at))
    return [("", one) for one in files_in(words)]


def _in_line(text: str, known: dict[str, str]) -> list[tuple[str, Named]]:
    """Read a line for the shell; after a `cd` relative names are looked for there, or not at all."""
    base: str | None = ""
    found = []
    for command in all_commands(text, known):
        words = without_prefix(command)
        if not words:
            continue
        if words[0].raw in ("cd", "pushd"):
            target = words[1].value if len(words) > 1 else None
            base = None if target is None or base is None else os.path.join(base or known["CLAUDE_PROJECT_DIR"], target)
        elif words[0].raw in (".", "source") and len(words) > 1:
            found += [(base, Named(words[1]))]
        else:
            found += [(base, one) for one in files_in(words)]
    return [(b or "", n) for b, n in found if n.word.value and (b is not None or n.word.value.startswith("/"))]


def roots_of(files: tuple[Bound, ...], project: str) -> tuple[str, ...]:
    """Give what is to be hashed and copied for some files: each with its folder, so that its helpers come along.

    A folder that is the project itself, the one of all settings, or large, is left; then it is the file alone.
    """
    real = os.path.realpath(project)
    chosen = dict.fromkeys(_with_helpers(file.path, (real, f"{real}/.claude")) for file in files)
    return tuple(root for root in chosen if not any(root.startswith(other + "/") for other in chosen))


def _with_helpers(path: str, never: tuple[str, ...]) -> str:
    folder = os.path.dirname(path)
    if folder in never:
        return path
    try:
        tree = read_tree(folder)
    except TreeFault:
        return path
    small = len(tree.parts) <= FEW_FILES and sum(len(part.data) for part in tree.parts) <= FEW_BYTES
    return folder if small else path


def rebound(hook: Hook, files: tuple[Bound, ...], places: dict[str, str]) -> Hook:
    """Give a hook that runs the private copies of its files; `places` says where the copy of each root is."""
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
        if path == root or path.startswith(root + "/"):
            return copy + path[len(root) :]
    return None
