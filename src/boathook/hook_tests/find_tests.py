"""Find the tests.txt of hooks: beside each HOOK.md, and beside the file that has the entries of another form."""

from __future__ import annotations

import os
from collections.abc import Iterable

from boathook.assembly import load_catalog
from boathook.core.catalog import Settings
from boathook.core.hook import (
    ARMED,
    CALLS_BOATHOOK,
    DENIED,
    DISABLED,
    ERROR,
    IS_INSTALLED_CALL,
    PROJECT,
    SHADOWED,
    USER,
    BuiltIn,
    Diagnostic,
    Hook,
    Http,
    Prompt,
    Script,
)
from boathook.core.near_words import suggest
from boathook.core.value import Value
from boathook.errors import ConfigError
from boathook.hook_tests.case import Case
from boathook.hook_tests.case_file import TESTS_FILE, CaseFile, read_case_file
from boathook.hook_tests.case_runner import CaseRules
from boathook.hook_tests.python_hooks import is_python_name
from boathook.sources.hook_md.folder import MANIFEST_NAMES, find_manifest, read_hook
from boathook.sources.hook_names import make_unknown_hook_error, match_hook_names
from boathook.sources.pack_folders import name_pack_hook
from boathook.sources.pack_md import PACK_MANIFEST, read_pack_manifest

# States that are about where a hook counts, and not about whether it works.
_TESTED_STATES = (ARMED, DISABLED, SHADOWED)
_HOOK_FOLDERS = (".agents/hooks", "hooks")
_PYTHON_FIX = "put the file beside a HOOK.md, or name an in-process hook above the case: hook guards.py:hooks"


class HookTests(Value):
    """The cases of a hook, or of several that are asked together; `reason` is why they cannot run, if they cannot."""

    # `project` is the real project of the hooks. `path` is the tests.txt, which need not exist.
    title: str
    hooks: tuple[Hook, ...]
    path: str
    rules: CaseRules
    cases: tuple[Case, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    project: str = ""
    reason: str = ""
    is_denied: bool = False

    @property
    def has_file(self) -> bool:
        return os.path.lexists(self.path)

    def select_line(self, line: int) -> HookTests:
        """Return the tests with one case only: the last one that begins at a line or above it."""
        before = [case for case in self.cases if case.line <= line]
        return self.replace(cases=tuple(before[-1:]))


class HookTestFinder:
    """Finds tests by the names of hooks that apply to a project, and by paths. Both catalogues are loaded once."""

    def __init__(self, project: str | None, state: str | None = None, *, without_sandbox: bool = False) -> None:
        self._without_sandbox = without_sandbox
        self._trusted = load_catalog(project, state=state)
        self._all = load_catalog(project, state=state, trust_all=True)
        self._trusted_hooks = {_get_key(hook): hook for hook in self._trusted.hooks}

    @property
    def settings(self) -> Settings:
        return self._all.settings

    @property
    def user_packs(self) -> list[str]:
        """The packs of the user that have hooks here."""
        return sorted({hook.pack for hook in self._all.hooks if _is_of_user_pack(hook)})

    def find_all(self, *, with_packs: bool = False) -> list[HookTests]:
        """Return the tests of all hooks that apply here; those of the user's packs are their authors' matter, and many."""
        return self._find_for(hook for hook in self._all.hooks if with_packs or not _is_of_user_pack(hook))

    def find(self, name: str) -> list[HookTests]:
        """Return the tests of a hook by its name, or of everything at a path; ConfigError if there is no such thing."""
        # A name is first: that of a hook in a pack looks like a path.
        of_pack = [hook for hook in self._all.hooks if hook.pack and hook.pack == name]
        named = of_pack or match_hook_names(self._all.hooks, name)
        if named:
            names = {hook.name for hook in named}
            return [tests for tests in self._find_for(named) if names & {hook.name for hook in tests.hooks}]
        if "/" in name or name in (".", "..", TESTS_FILE, *MANIFEST_NAMES) or os.path.isdir(name):
            return self._find_at(os.path.abspath(name))
        raise make_unknown_hook_error(self._all.hooks, name)

    def _find_for(self, hooks: Iterable[Hook]) -> list[HookTests]:
        own = (IS_INSTALLED_CALL, CALLS_BOATHOOK)
        asked = [hook for hook in hooks if hook.state_reason not in own and not isinstance(hook.handler, BuiltIn)]
        found = [self._make_tests(hook) for hook in asked if isinstance(hook.handler, Script)]
        folders = dict.fromkeys(os.path.dirname(hook.path) for hook in asked if not isinstance(hook.handler, Script))
        for folder in folders:
            entries = [
                hook
                for hook in self._all.hooks
                if not isinstance(hook.handler, Script)
                and os.path.dirname(hook.path) == folder
                and hook.state_reason not in own
            ]
            if os.path.lexists(f"{folder}/{TESTS_FILE}"):
                found += self._split_by_hook(folder, entries)
        return found

    def _make_tests(self, hook: Hook) -> HookTests:
        read = _read_if_there(f"{hook.edited_folder}/{TESTS_FILE}")
        runnable, rules = self._choose_hook(hook)
        wrong = [
            Diagnostic(read.path, case.line, "", ERROR, f"this is the file of '{hook.name}', not of '{case.hook}'")
            for case in read.cases
            if case.hook not in ("", hook.name)
        ]
        cases = tuple(case for case in read.cases if case.hook in ("", hook.name))
        project = self._all.find_project(hook.source)
        tests = HookTests(hook.name, (runnable,), read.path, rules, cases, (*read.diagnostics, *wrong), project)
        return _add_reason(tests, self._trusted_hooks.get(_get_key(hook), hook), hook)

    def _choose_hook(self, hook: Hook) -> tuple[Hook, CaseRules]:
        """Return the hook that runs: what a person trusted, or else the files as they are, for the sandbox."""
        trusted = self._trusted_hooks.get(_get_key(hook))
        is_own = hook.scope == USER
        is_trusted = is_own or (trusted is not None and trusted.state == ARMED)
        chosen = trusted if trusted is not None and trusted.state == ARMED else hook
        if hook.state in _TESTED_STATES:
            chosen = chosen.replace(state=ARMED, state_reason="")
        return chosen, CaseRules(is_trusted, is_own, self._without_sandbox)

    def _split_by_hook(self, folder: str, entries: list[Hook]) -> list[HookTests]:
        """Return the tests of the entries of other forms in a folder, by their `hook` lines; without one, all are asked."""
        read = read_case_file(f"{folder}/{TESTS_FILE}")
        found: list[HookTests] = []
        diagnostics = list(read.diagnostics)
        for name in dict.fromkeys(case.hook for case in read.cases):
            cases = tuple(case for case in read.cases if case.hook == name)
            hooks = [hook for hook in entries if name in ("", hook.name, _get_plain_name(hook))]
            if not name:
                hooks = [hook for hook in hooks if not isinstance(hook.handler, Prompt | Http)]
            if not hooks:
                fix = suggest(name, sorted({_get_plain_name(hook) for hook in entries}), "boathook list shows them")
                message = f"there is no hook '{name}' in {folder}"
                diagnostics.append(Diagnostic(read.path, cases[0].line, "", ERROR, message, fix))
                continue
            found.append(self._join_tests(name or folder, hooks, read.path, cases))
        if diagnostics:
            found.append(HookTests(folder, (), read.path, CaseRules(), (), tuple(diagnostics)))
        return found

    def _join_tests(self, title: str, hooks: list[Hook], path: str, cases: tuple[Case, ...]) -> HookTests:
        chosen = [self._choose_hook(hook) for hook in hooks]
        is_trusted = all(rules.is_hook_trusted for _, rules in chosen)
        is_file_trusted = all(rules.is_file_trusted for _, rules in chosen)
        rules = CaseRules(is_trusted, is_file_trusted, self._without_sandbox)
        project = self._all.find_project(hooks[0].source)
        return HookTests(title, tuple(hook for hook, _ in chosen), path, rules, cases, (), project)

    def _find_at(self, path: str) -> list[HookTests]:
        if not os.path.exists(path):
            raise ConfigError(
                f"{path} does not exist: name a hook, a hook folder, a folder of hooks, or a {TESTS_FILE}"
            )
        folder = path if os.path.isdir(path) else os.path.dirname(path)
        # A file stands for what is beside it only.
        folders = list_hook_folders(folder) if os.path.isdir(path) or find_manifest(folder) else []
        by_folder = {os.path.realpath(hook.edited_folder): hook for hook in self._all.hooks if hook.edited_folder}
        found: list[HookTests] = []
        for one in folders:
            hook = by_folder.get(os.path.realpath(one))
            found.append(self._make_tests(hook) if hook is not None else self._read_other(one))
        entries = [hook for hook in self._all.hooks if os.path.dirname(hook.path) == folder and not hook.edited_folder]
        found += [tests for tests in self._find_for(entries) if tests.has_file]
        if not found and os.path.lexists(f"{folder}/{TESTS_FILE}"):
            found += self._find_python(folder)
        if not found:
            raise ConfigError(f"there is no hook in {path}: name a hook folder, or a folder of hooks")
        return found

    def _find_python(self, folder: str) -> list[HookTests]:
        """Return the tests of in-process hooks: their `hook` lines name a Python file and an object in it."""
        read, found = read_case_file(f"{folder}/{TESTS_FILE}"), list[HookTests]()
        rules = CaseRules(without_sandbox=self._without_sandbox)
        for name in dict.fromkeys(case.hook for case in read.cases):
            cases = tuple(case for case in read.cases if case.hook == name)
            problem = Diagnostic(read.path, cases[0].line, "", ERROR, "no hook is known for this case", _PYTHON_FIX)
            problems = () if is_python_name(name) else (problem,)
            found.append(HookTests(name, (), read.path, rules, cases if not problems else (), problems))
        if read.diagnostics:
            found.append(HookTests(folder, (), read.path, rules, (), read.diagnostics))
        return found

    def _read_other(self, folder: str) -> HookTests:
        """Return the tests of a hook that does not apply here; it counts as one of a project that nobody trusts."""
        hook, _ = read_hook(find_manifest(folder) or folder, folder, PROJECT)
        pack, middle, _ = folder.rpartition("/hooks/")
        if middle and os.path.lexists(f"{pack}/{PACK_MANIFEST}"):
            # A pack that is being written: its hooks import what is in its `lib`.
            hook = name_pack_hook(hook, f"local/{os.path.basename(pack)}", read_pack_manifest(pack, PROJECT, pack))
        read = _read_if_there(f"{folder}/{TESTS_FILE}")
        rules = CaseRules(without_sandbox=self._without_sandbox)
        return _add_reason(HookTests(hook.name, (hook,), read.path, rules, read.cases, read.diagnostics), hook, hook)


def _add_reason(tests: HookTests, judged: Hook, hook: Hook) -> HookTests:
    if judged.state == DENIED:
        return tests.replace(reason=judged.state_text, is_denied=True)
    return tests if hook.state in _TESTED_STATES else tests.replace(reason=hook.state_text)


def _read_if_there(path: str) -> CaseFile:
    return read_case_file(path) if os.path.lexists(path) else CaseFile(path)


def list_hook_folders(folder: str) -> list[str]:
    if find_manifest(folder):
        return [folder]
    for place in (folder, *(f"{folder}/{name}" for name in _HOOK_FOLDERS)):
        if os.path.isdir(place):
            names = sorted(name for name in os.listdir(place) if not name.startswith("."))
            folders = [f"{place}/{name}" for name in names if find_manifest(f"{place}/{name}")]
            if folders:
                return folders
    return []


def _is_of_user_pack(hook: Hook) -> bool:
    return bool(hook.pack) and hook.scope == USER


def _get_key(hook: Hook) -> tuple[str, str, str, str]:
    return hook.source, hook.path, hook.name, hook.place


def _get_plain_name(hook: Hook) -> str:
    """Return the name of an entry without the digest that tells entries with the same command apart."""
    return hook.name.partition("#")[0]
