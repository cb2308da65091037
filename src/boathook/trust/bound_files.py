"""Find the files of a project that a settings hook runs, so that trust covers them with its definition."""

# Only files that are plainly named are found: the program of a command, or the script that an interpreter is given. What these
# call in turn, and what only a shell can know, is not bound; `boathook trust` shows what is.

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator

from boathook.core.hook import OWN_IMPORTS, Command, Hook
from boathook.core.shell import ShellCommand, ShellWord
from boathook.core.value import Value
from boathook.sources.hook_md.folder import find_manifest
from boathook.sources.shell_scripts import (
    find_indirect_run,
    find_run_files,
    find_stdin_script,
    is_shell_script,
    read_plain_commands,
    remove_keywords,
    remove_prefix,
)
from boathook.sources.source import SOURCES
from boathook.trust.script_commands import find_entry_item, is_run_by_shell, read_script_commands
from boathook.trust.snapshot import FILE, IGNORED_NAMES, TEST_NAMES, Snapshot, SnapshotError, read_snapshot

_MAX_FOLDER_FILES, _MAX_FOLDER_BYTES = 64, 1 << 20


class BoundFile(Value):
    """A file that a command runs: its real path, and the word that names it, by its index or by where it begins in the line."""

    # A file that is named in another way (`npx`) has no word. It is covered, but it runs where it is.
    path: str
    position: int = -1
    word: str = ""


class BoundFiles(Value):
    # `files` are bound, `missing` do not exist yet, `unbound` are files of the project that are named in other ways; `programs`
    # run something that could not be found out; `unclear` is the part of the command that could not be read.
    files: tuple[BoundFile, ...] = ()
    missing: tuple[str, ...] = ()
    unbound: tuple[str, ...] = ()
    unclear: str = ""
    programs: tuple[str, ...] = ()

    def list_uncovered_files(self) -> list[str]:
        return [*self.unbound, *self.programs, *([self.unclear] if self.unclear else [])]


def find_bound_files(hook: Hook, project: str) -> BoundFiles:
    handler = hook.handler
    if not isinstance(handler, Command):
        return BoundFiles()
    tops = tuple(os.path.realpath(top).rstrip("/") + "/" for top in (project, handler.root) if top)
    project_variable, root_variable = hook.dialect.folder_variables
    names = (project_variable, *hook.dialect.project_variables)
    variables = {**dict.fromkeys(names, project), root_variable: handler.root, "HOME": os.environ.get("HOME", "")}
    variables = {name: value for name, value in (variables | dict(handler.variables)).items() if name}
    if handler.words is None:
        commands, unclear = read_plain_commands(handler.text, variables)
    else:
        commands, unclear = [_read_arguments(handler, variables)], ""
    files: list[BoundFile] = []
    missing: list[str] = []
    programs: list[str] = []
    # Python imports them only with `imports: project`. If they were bound, a module that is put there would disarm the hook.
    modules: list[str] = []
    start = os.path.join(project, handler.cwd)
    for base, command, words in _iter_commands(commands, start):
        for word in _find_run_words(command, words):
            if base is not None or (word.value or "").startswith("/"):
                path = _resolve_within(base or "/", word.text, tops)
                if path and os.path.isfile(path):
                    files.append(BoundFile(path, word.start, word.raw))
                elif path and not os.path.lexists(path):
                    missing.append(path)
        indirect = find_indirect_run(command, words)
        if indirect is not None:
            paths = [path for path in (_resolve_within(base or "/", name, tops) for name in indirect.paths) if path]
            existing = [path for path in paths if os.path.isfile(path)]
            if indirect.is_module:
                modules += existing
            else:
                files += [BoundFile(path) for path in existing]
                missing += [path for path in paths if not existing and not os.path.lexists(path)]
            programs += [indirect.text] if base is None or (indirect.is_open and not existing) else []
    words = [word for command in commands for word in (*command.words, *_list_inputs(command))]
    named = {*modules, *(_resolve_within(start, word.value, tops) for word in words if word.value)}
    unbound = sorted(path for path in named - {file.path for file in files} if path and os.path.isfile(path))
    return BoundFiles(tuple(files), tuple(dict.fromkeys(missing)), tuple(unbound), unclear, tuple(programs))


def find_uncovered_files(hook: Hook, snapshot: Snapshot, project: str) -> BoundFiles:
    """Return what a HOOK.md hook plainly runs outside of its folder: its digest does not cover that."""
    top = os.path.realpath(project).rstrip("/") + "/"
    prefixes = hook.dialect.variable_prefixes
    variables = dict.fromkeys((*hook.dialect.project_variables, *(f"{one}_PROJECT_DIR" for one in prefixes)), project)
    variables |= dict.fromkeys(("PWD", *(f"{one}_WORK_DIR" for one in prefixes)), project)
    variables |= {f"{one}_HOOK_DIR": hook.folder for one in prefixes} | {"HOME": os.environ.get("HOME", "")}
    entry = find_entry_item(snapshot)
    own = os.path.realpath(hook.folder) + "/"
    tests = tuple(f"{own}{name}" for name in TEST_NAMES)
    unbound: list[str] = []
    programs = [] if hook.imports == OWN_IMPORTS else ["modules of the project (imports: project)"]
    for item in snapshot.items:
        is_shell = is_shell_script(item.path, item.data) or (item == entry and is_run_by_shell(item, snapshot))
        if item.kind != FILE or not is_shell:
            continue
        commands, unclear = read_script_commands(item.data.decode("utf-8", "replace"), variables)
        programs += unclear
        for base, command, words in _iter_commands(commands, project):
            indirect = find_indirect_run(command, words)
            programs += [indirect.text] if indirect is not None else []
            for word in _find_run_words(command, words):
                path = _resolve_within(base or project, word.value, (top,)) if word.value else ""
                is_covered = path.startswith(own) and not path.startswith(tests)
                unbound += [path] if path and not is_covered else []
    return BoundFiles(unbound=tuple(dict.fromkeys(unbound)), programs=tuple(dict.fromkeys(programs)))


def _resolve_within(base: str, name: str, tops: tuple[str, ...]) -> str:
    try:
        path = os.path.realpath(os.path.join(base, name))
        os.fsencode(path)
    except ValueError:
        # A NUL, or a character that cannot be in the name of a file.
        return ""
    return path if path.startswith(tops) else ""


def _read_arguments(handler: Command, variables: dict[str, str]) -> ShellCommand:
    command = ShellCommand(0)
    for index, raw in enumerate((handler.text, *(handler.words or ()))):
        text = raw
        for name, value in variables.items():
            text = text.replace(f"${{{name}}}", value)
        command.words.append(ShellWord(raw, text, index))
    return command


def _iter_commands(
    commands: list[ShellCommand], project: str
) -> Iterator[tuple[str | None, ShellCommand, list[ShellWord]]]:
    """Yield each command with the folder that it runs in, None if that is not known, and its words without prefixes."""
    base: str | None = project
    for command in commands:
        words = remove_prefix(remove_keywords(command.words))
        if not words:
            continue
        if words[0].raw in ("cd", "pushd", "popd"):
            target = words[1].value if len(words) > 1 else None
            base = os.path.join(base, target) if base and target and target != "-" else None
            continue
        yield base, command, words


def _find_run_words(command: ShellCommand, words: list[ShellWord]) -> list[ShellWord]:
    if words[0].raw in (".", "source") and len(words) > 1:
        run_words = [words[1]]
    else:
        stdin_script = find_stdin_script(command, words)
        run_words = [file.word for file in find_run_files(words)] + ([stdin_script] if stdin_script else [])
    return [word for word in run_words if word.value]


def _list_inputs(command: ShellCommand) -> list[ShellWord]:
    return [each.target for each in command.redirections if each.operator == "<" and each.target is not None]


def choose_roots(files: tuple[BoundFile, ...], project: str) -> tuple[str, ...]:
    """Return what is hashed and copied for some files: the folder of each, because its helpers are there."""
    # It is the file alone if its folder is large, is the project itself, or is the one of a source.
    real = os.path.realpath(project)
    own = [folder for each in SOURCES for folder in (each.project_folder, *each.markers)]
    excluded = (real, *[real + folder for folder in own])
    roots = dict.fromkeys(_choose_root(file.path, excluded) for file in files)
    return tuple(root for root in roots if not any(_contains(other, root) for other in roots))


def _contains(folder: str, path: str) -> bool:
    inside = path.startswith(folder + "/")
    return inside and not set(path[len(folder) + 1 :].split("/")) & set(IGNORED_NAMES)


def _choose_root(path: str, excluded: tuple[str, ...]) -> str:
    folder = os.path.dirname(path)
    # Beside a HOOK.md, tests are not read: an entry that runs them there must not count as covered.
    if folder in excluded or find_manifest(folder) is not None:
        return path
    try:
        items = read_snapshot(folder).items
    except SnapshotError:
        return path
    is_small = len(items) <= _MAX_FOLDER_FILES and sum(len(item.data) for item in items) <= _MAX_FOLDER_BYTES
    return folder if is_small else path


def replace_with_copies(hook: Hook, files: tuple[BoundFile, ...], copies: dict[str, str]) -> Hook:
    handler = hook.handler
    if not isinstance(handler, Command):
        return hook
    words, text = list(handler.words or ()), handler.text
    for file in sorted(files, key=lambda each: -each.position):
        copy = _find_copy(file.path, copies) if file.word else None
        if copy is None:
            continue
        if handler.words is None:
            text = text[: file.position] + shlex.quote(copy) + text[file.position + len(file.word) :]
        elif file.position == 0:
            text = copy
        else:
            words[file.position - 1] = copy
    return hook.replace(handler=handler.replace(text=text, words=None if handler.words is None else tuple(words)))


def _find_copy(path: str, copies: dict[str, str]) -> str | None:
    for root, copy in copies.items():
        if path == root or _contains(root, path):
            return copy + path[len(root) :]
    return None
