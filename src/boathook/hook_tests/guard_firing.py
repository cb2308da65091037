"""Fire a guard once: with the first case of its tests that it objects to and that needs nothing but the event."""

from __future__ import annotations

from boathook.core.hook import Hook
from boathook.core.value import Value
from boathook.hook_tests.case import OBJECTIONS, Case
from boathook.hook_tests.case_file import TESTS_FILE, read_case_file
from boathook.hook_tests.case_runner import CaseRules, RunSetup, run_cases
from boathook.hook_tests.missing_cases import is_guard


class FiredGuard(Value):
    """A guard, the case that it was fired with, and its answer: `got` is its word, `message` what was wrong."""

    hook: Hook
    case: Case
    got: str
    message: str = ""

    @property
    def has_objected(self) -> bool:
        return self.got in OBJECTIONS


def find_objection_case(hook: Hook) -> Case | None:
    """Return the first plain case that a guard objects to, None if its tests have none."""
    if not is_guard(hook):
        return None
    read = read_case_file(f"{hook.edited_folder}/{TESTS_FILE}")
    return next((one for one in read.cases if one.word in OBJECTIONS and one.is_plain and not one.is_todo), None)


def fire_guard(hook: Hook, case: Case, *, by_mounts: bool = False) -> FiredGuard:
    """Run a trusted guard on a case, in a scratch folder."""
    # The hook is trusted, and the case brings no code.
    setup = RunSetup(rules=CaseRules(is_hook_trusted=True), by_mounts=by_mounts)
    result = run_cases(hook, (case.replace(hosts=()),), setup)[0]
    return FiredGuard(hook, case, result.got, "; ".join(result.messages))
