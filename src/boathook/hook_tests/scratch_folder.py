"""The scratch folder of a case: a project, a home and a PATH of its own, with what the case says is there."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from types import TracebackType
from typing import Self

from boathook.core.hook import Command, Hook, Script
from boathook.core.value import Value
from boathook.errors import BoathookError
from boathook.hook_tests.case import DIRTY, EMPTY, Case, GitSetup
from boathook.system.programs import find_entry_point, find_program, read_first_bytes
from boathook.trust.bound_files import choose_roots, find_bound_files
from boathook.trust.snapshot import FILE, FOLDER, LINK, Snapshot, SnapshotError, read_snapshot

# What scripts rely on everywhere; a program that is not here must be in the case, or be named by the hook itself.
BASIC_PROGRAMS = (
    *(
        "sh",
        "bash",
        "env",
        "cat",
        "echo",
        "printf",
        "grep",
        "egrep",
        "fgrep",
        "sed",
        "awk",
        "head",
        "tail",
        "tr",
        "cut",
    ),
    *("wc", "sort", "uniq", "tee", "mkdir", "mktemp", "mv", "cp", "rm", "rmdir", "ln", "touch", "basename", "dirname"),
    *("realpath", "readlink", "date", "git", "ls", "pwd", "true", "false", "test", "[", "expr", "seq", "sleep", "stat"),
    *("find", "xargs", "diff", "cmp", "chmod", "id", "uname", "sha256sum", "base64", "od", "timeout", "jq"),
)
_WHO = (("NAME", "Somebody"), ("EMAIL", "somebody@example.org"))
_FIXED_VARIABLES = {
    "LANG": "C.UTF-8",
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in _WHO},
}
# Where a dynamic library of an interpreter may be found only by this.
_PASSED_VARIABLES = ("LD_LIBRARY_PATH",)
_MAIN_BRANCHES = ("main", "master")
_TRACKED_FILE = "tracked.txt"
# Whatever a repository says, git starts none of its programs.
_NO_PROGRAMS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
_HookKey = tuple[str, str, str]


class ScratchFolder(Value):
    """The folders of one case; `environ` is the environment of its hooks."""

    base: str
    environ: dict[bytes, bytes]

    @property
    def project(self) -> str:
        # In the home folder, as most projects are: what a command does to the folders above depends on it.
        return f"{self.home}/project"

    @property
    def home(self) -> str:
        return f"{self.base}/home"

    def resolve(self, path: str) -> str:
        return f"{self.home}/{path[2:]}" if path.startswith("~/") else f"{self.project}/{path}"


class ScratchRoot:
    """Makes the scratch folders of many cases; what they share is prepared once. Use it in a `with` statement."""

    def __init__(self, avoid: tuple[str, ...] = ()) -> None:
        self._folder = os.path.realpath(tempfile.mkdtemp(prefix="boathook-test-"))
        self._avoid, self._numbers = avoid, itertools.count(1)
        self._programs = _find_programs(BASIC_PROGRAMS, avoid) | {"python3": os.path.realpath(sys.executable)}
        self._own_programs: dict[_HookKey, dict[str, str]] = {}
        self._own_files: dict[_HookKey, list[tuple[str, Snapshot]]] = {}
        self._repositories: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        _remove_tree(self._folder)

    def prepare(self, hooks: tuple[Hook, ...], real_project: str, *, with_git: bool) -> None:
        """Prepare what the cases of some hooks share, so that several threads can make folders afterwards."""
        for hook in hooks:
            self._own_programs[_get_key(hook)] = _find_programs(_list_named_programs(hook), self._avoid)
            self._own_files[_get_key(hook)] = _read_own_files(hook, real_project)
        if with_git and not self._repositories:
            self._make_repositories()

    def make_folder(self, case: Case, hooks: tuple[Hook, ...]) -> ScratchFolder:
        """Make the folder of a case for some prepared hooks."""
        base = f"{self._folder}/{next(self._numbers)}"
        for name in ("", "/home", "/home/project", "/temp", "/bin"):
            os.mkdir(base + name)
        scratch = ScratchFolder(base, _make_environment(base, case))
        self._add_programs(f"{base}/bin", case, hooks)
        for hook in hooks:
            for path, snapshot in self._own_files[_get_key(hook)]:
                _write_files(snapshot, scratch.resolve(path))
        committed = case.git.committed if case.git else 0
        for path, text in case.files[:committed]:
            _write_text(scratch.resolve(path), text)
        if case.git is not None:
            self._add_repository(scratch, case.git)
        for path, text in case.files[committed:]:
            _write_text(scratch.resolve(path), text)
        return scratch

    def remove_folder(self, scratch: ScratchFolder) -> None:
        _remove_tree(scratch.base)

    def _add_programs(self, folder: str, case: Case, hooks: tuple[Hook, ...]) -> None:
        linked = {name: path for hook in hooks for name, path in self._own_programs[_get_key(hook)].items()}
        linked |= self._programs
        for name, text in case.programs:
            linked.pop(name, None)
            _write_text(f"{folder}/{name}", text)
            os.chmod(f"{folder}/{name}", 0o755)  # noqa: S103
        for name, target in linked.items():
            os.symlink(target, f"{folder}/{name}")

    def _make_repositories(self) -> None:
        """Make one repository of each sort, because copying one is much cheaper than starting git."""
        base = f"{self._folder}/repositories"
        environ = self._make_git_environment()
        for state in (EMPTY, DIRTY, ""):
            folder = f"{base}/{state or 'committed'}"
            os.makedirs(folder)
            _run_git(folder, environ, "init", "-q", "--template=")
            _run_git(folder, environ, "symbolic-ref", "HEAD", f"refs/heads/{_MAIN_BRANCHES[0]}")
            if state == DIRTY:
                _write_text(f"{folder}/{_TRACKED_FILE}", "committed\n")
                _run_git(folder, environ, "add", "-A")
            if state != EMPTY:
                _run_git(folder, environ, "commit", "-q", "--allow-empty", "-m", "start")
            self._repositories[state] = folder

    def _make_git_environment(self) -> dict[str, str]:
        # The home is not that of a case, whose .gitconfig could make git run a program outside of a sandbox.
        home = f"{self._folder}/repositories/home"
        os.makedirs(home, exist_ok=True)
        return {"PATH": os.environ.get("PATH", os.defpath), "HOME": home, **_FIXED_VARIABLES}

    def _add_repository(self, scratch: ScratchFolder, setup: GitSetup) -> None:
        _refuse_other_repositories(scratch.project)
        state = setup.state if setup.state in (EMPTY, DIRTY) else ""
        shutil.copytree(self._repositories[state], scratch.project, dirs_exist_ok=True)
        git = f"{scratch.project}/.git"
        first = f"{git}/refs/heads/{_MAIN_BRANCHES[0]}"
        _write_text(f"{git}/HEAD", f"ref: refs/heads/{setup.branch}\n")
        if state != EMPTY and setup.branch != _MAIN_BRANCHES[0]:
            with open(first, encoding="ascii") as file:
                commit = file.read()
            if setup.branch in _MAIN_BRANCHES or setup.branch.startswith(f"{_MAIN_BRANCHES[0]}/"):
                os.unlink(first)
            _write_text(f"{git}/refs/heads/{setup.branch}", commit)
        if setup.committed and state != EMPTY:
            environ = self._make_git_environment()
            _run_git(scratch.project, environ, "add", "-A")
            _run_git(scratch.project, environ, "commit", "-q", "-m", "files of the case")
        if state == DIRTY:
            _write_text(f"{scratch.project}/{_TRACKED_FILE}", "changed\n")


def _get_key(hook: Hook) -> _HookKey:
    return hook.path, hook.name, hook.place


def _make_environment(base: str, case: Case) -> dict[bytes, bytes]:
    passed = {name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ}
    folders = {"PATH": f"{base}/bin", "HOME": f"{base}/home", "TMPDIR": f"{base}/temp"}
    variables = {**passed, **_FIXED_VARIABLES, **folders, **dict(case.variables)}
    return {os.fsencode(name): os.fsencode(value) for name, value in variables.items()}


def _find_programs(names: tuple[str, ...], avoid: tuple[str, ...]) -> dict[str, str]:
    paths = {name: find_program(name, avoid=avoid) for name in names}
    return {name: path for name, path in paths.items() if path}


def _list_named_programs(hook: Hook) -> tuple[str, ...]:
    """Return the programs that a hook itself names: what it requires, the interpreter of its script, words of its command."""
    names = [*hook.needs.bins]
    if isinstance(hook.handler, Script) and (path := find_entry_point(hook.folder)):
        first_line = read_first_bytes(path).partition(b"\n")[0].decode("utf-8", "replace")
        if first_line.startswith("#!"):
            names += [word.rpartition("/")[2] for word in first_line[2:].split()]
    elif isinstance(hook.handler, Command):
        names += re.findall(r"(?<![\w./$-])[\w.+-]+(?![\w/=])", hook.handler.line)
    return tuple(dict.fromkeys(name for name in names if re.fullmatch(r"[\w+][\w.+-]*", name)))


def _read_own_files(hook: Hook, real_project: str) -> list[tuple[str, Snapshot]]:
    """Return the files of a project that a command runs, by their paths in it; a HOOK.md hook has its own folder."""
    if not isinstance(hook.handler, Command) or not real_project:
        return []
    top = os.path.realpath(real_project).rstrip("/") + "/"
    found: list[tuple[str, Snapshot]] = []
    for root in choose_roots(find_bound_files(hook, real_project).files, real_project):
        if root.startswith(top):
            try:
                found.append((root.removeprefix(top), read_snapshot(root)))
            except SnapshotError:
                continue
    return found


def _write_files(snapshot: Snapshot, root: str) -> None:
    os.makedirs(os.path.dirname(root), exist_ok=True)
    for item in snapshot.items:
        path = f"{root}/{item.path}" if item.path else root
        if item.kind == FOLDER:
            os.makedirs(path, exist_ok=True)
        elif item.kind == LINK and not os.path.lexists(path):
            os.symlink(item.data.decode("utf-8", "surrogateescape"), path)
        elif item.kind == FILE and not os.path.lexists(path):
            with open(path, "xb") as file:
                file.write(item.data)
            os.chmod(path, 0o755 if item.mode & 0o111 else 0o644)


def _remove_tree(root: str) -> None:
    shutil.rmtree(root, ignore_errors=True)
    if not os.path.lexists(root):
        return
    # A hook has left a folder that nobody may enter; links to folders elsewhere stay as they are.
    for top, folders, _ in os.walk(root):
        for name in folders:
            if not os.path.islink(f"{top}/{name}"):
                os.chmod(f"{top}/{name}", 0o700)
    shutil.rmtree(root, ignore_errors=True)


def _write_text(path: str, text: str) -> None:
    if path.endswith("/"):
        os.makedirs(path, exist_ok=True)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _refuse_other_repositories(project: str) -> None:
    """Refuse a project with a `.git` that is not ours: its settings could make git start a program outside of a sandbox."""
    found = [f"{project}/.git"] if os.path.lexists(f"{project}/.git") else []
    for top, folders, files in os.walk(project):
        found += [f"{top}/{name}" for name in (*folders, *files) if name.lower() == ".git"]
    if found:
        raise BoathookError(
            f"{found[0].removeprefix(project)[1:]} is there before the 'git' line: write it after that line"
        )


def _run_git(folder: str, environ: dict[str, str], *arguments: str) -> None:
    git = find_program("git")
    if git is None:
        raise BoathookError("a case has a 'git' line, but git is not installed: install it, or remove the line")
    done = subprocess.run(
        [git, *_NO_PROGRAMS, *arguments], cwd=folder, env=environ, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise BoathookError(f"git {arguments[0]} failed in a scratch project: {done.stderr.strip()}")
