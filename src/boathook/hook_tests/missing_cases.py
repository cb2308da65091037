"""Find guards whose tests do not show that they refuse anything, or that they let anything pass."""

from __future__ import annotations

import os
from collections.abc import Iterable

from boathook.core.hook import ARMED, PROJECT, WARNING, Diagnostic, Hook, Script
from boathook.hook_tests.case import CORPUS, OBJECTIONS, PASS, SKIP, Case
from boathook.hook_tests.case_file import TESTS_FILE, read_case_file
from boathook.hook_tests.find_tests import list_hook_folders
from boathook.hosts.capabilities import list_wanted_capabilities
from boathook.sources.hook_md.folder import find_manifest, read_hook

_LETTING_PASS = (PASS, SKIP, "allow")


def is_guard(hook: Hook) -> bool:
    """Whether a HOOK.md hook may refuse a tool call; `metadata.effects` can say that it does not."""
    is_before_call = hook.kind is not None and hook.kind.has_tool and hook.kind.is_pre
    return (
        isinstance(hook.handler, Script) and is_before_call and bool({*OBJECTIONS} & {*list_wanted_capabilities(hook)})
    )


def find_missing_cases(hooks: Iterable[Hook]) -> list[Diagnostic]:
    """Return what is wrong with the tests of some hooks, and a warning for each guard without a case for either answer."""
    found: list[Diagnostic] = []
    for hook in hooks:
        if isinstance(hook.handler, Script) and hook.state == ARMED:
            found += _check_tests(hook)
    return found


def find_missing_cases_at(path: str) -> list[Diagnostic]:
    """Return what is wrong with the tests that are there, for a manifest, a hook folder, a folder of hooks, or a project."""
    # Who asks about one path asks whether that is right; that tests are missing is said about all hooks that apply.
    folder = os.path.abspath(path if os.path.isdir(path) else os.path.dirname(path) or ".")
    if not os.path.isdir(path) and os.path.basename(path) != os.path.basename(find_manifest(folder) or ""):
        return []
    folders = list_hook_folders(folder)
    tested = [one for one in folders if os.path.lexists(f"{one}/{TESTS_FILE}")]
    return find_missing_cases(read_hook(find_manifest(one) or one, one, PROJECT)[0] for one in tested)


def _check_tests(hook: Hook) -> list[Diagnostic]:
    path = f"{hook.edited_folder}/{TESTS_FILE}"
    if not os.path.lexists(path):
        message = f"the guard '{hook.name}' has no tests: nothing shows that it refuses what it should"
        fix = f"write {TESTS_FILE} beside it: a line 'block  CALL', and a line 'pass  CALL' or 'skip  CALL'"
        return [Diagnostic(hook.path, None, "", WARNING, message, fix)] if is_guard(hook) else []
    read = read_case_file(path)
    if not is_guard(hook) or read.diagnostics:
        return list(read.diagnostics)
    # A matcher that looks at the input skips what its hook does not concern.
    passing = SKIP if hook.matcher.pattern is not None else PASS
    wanted = (("refuses anything", OBJECTIONS, "block"), ("lets anything pass", _LETTING_PASS, passing))
    return [
        Diagnostic(path, None, "", WARNING, f"no case shows that '{hook.name}' {what}", f"add a line: {word}  VALUE")
        for what, words, word in wanted
        if not any(_has_word(case, words) for case in read.cases)
    ]


def _has_word(case: Case, words: tuple[str, ...]) -> bool:
    # A corpus has both, as a rule.
    return case.word in words or case.word == CORPUS
