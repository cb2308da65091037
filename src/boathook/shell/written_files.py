"""Files that a shell text writes, copies or links before it runs them."""

from __future__ import annotations

import re

from boathook.shell.arguments import UNKNOWN, list_operands
from boathook.shell.code_sources import list_script_paths
from boathook.shell.printed_text import normalize_written
from boathook.shell.scope import ShellScope
from boathook.shell.started_program import Started

MAX_WRITTEN_CHARS = 64_000
_COPYING_PROGRAMS = frozenset(("cp", "mv", "install", "ln", "link", "dd", "rsync"))


def find_script_text(started: Started, scope: ShellScope) -> str:
    """Return the script that a program runs, or is, if the same text wrote it before."""
    if not scope.written:
        return ""
    paths = list_script_paths(started)
    texts = [scope.written.get(normalize_written(started.make_absolute(path)), "") for path in paths]
    return next(filter(None, texts), "")


def note_written_text(started: Started, scope: ShellScope) -> None:
    """Note the text that a program puts into files, if it is known."""
    if started.name in _COPYING_PROGRAMS:
        _note_copy(started, scope)
    outputs = [*started.outputs, *(list_operands(started.words[1:]) if started.name == "tee" else [])]
    if not outputs:
        return
    text = scope.find_program_output(started.words, started.input_text)
    if text == UNKNOWN:
        return
    for path in outputs:
        key = normalize_written(scope.make_absolute(path))
        scope.written[key] = f"{scope.written.get(key, '')}\n{text}"[-MAX_WRITTEN_CHARS:]


def _note_copy(started: Started, scope: ShellScope) -> None:
    operands = [re.sub("^[io]f=", "", word) for word in list_operands(started.words[1:])]
    if not scope.written or len(operands) != 2:
        return
    source, target = (normalize_written(scope.make_absolute(path)) for path in operands)
    if source in scope.written:
        scope.written[target] = scope.written[f"{target}/{source.rpartition('/')[2]}"] = scope.written[source]


def note_link(arguments: list[str], scope: ShellScope) -> None:
    paths = list_operands(arguments)
    if len(paths) == 1:
        paths = [*paths, paths[0].rstrip("/").rpartition("/")[2]]
    for target in paths[:-1]:
        link, real = scope.make_absolute(paths[-1]).rstrip("/"), scope.make_absolute(target)
        scope.links[link] = real
        scope.links[f"{link}/{target.rstrip('/').rpartition('/')[2]}"] = real
