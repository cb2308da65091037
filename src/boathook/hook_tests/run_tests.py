"""Run the tests of hooks that were found: those of files in scratch folders, those of Python in this process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable

from boathook.core.catalog import Settings
from boathook.core.value import Value
from boathook.errors import BoathookError
from boathook.hook_tests.case_report import CaseReport, HookResults
from boathook.hook_tests.case_runner import NOT_RUN, REFUSED_CASE, CaseResult, CaseRunner, RunSetup
from boathook.hook_tests.find_tests import HookTests
from boathook.hook_tests.python_hooks import is_python_name, load_python_hook, run_python_cases
from boathook.hook_tests.scratch_folder import ScratchRoot

_NEEDS_NO_SANDBOX = "an in-process hook runs in this process, without a sandbox: read it, then add --no-sandbox"


class RunOptions(Value):
    """What holds for all hooks of a run: see `RunSetup`."""

    settings: Settings = Settings()
    hosts: tuple[str, ...] = ()
    corpus_step: int = 1


def run_all_tests(
    all_tests: Iterable[HookTests],
    options: RunOptions | None = None,
    report_hook: Callable[[HookResults], None] = lambda _: None,
) -> CaseReport:
    """Run the tests of many hooks; `report_hook` gets the results of each as soon as they are there."""
    started, results = time.perf_counter(), list[HookResults]()
    listed = list(all_tests)
    with ScratchRoot(tuple(dict.fromkeys(tests.project for tests in listed if tests.project))) as root:
        for tests in listed:
            results.append(run_hook_tests(tests, root, options or RunOptions()))
            report_hook(results[-1])
    return CaseReport(tuple(results), time.perf_counter() - started)


def run_hook_tests(tests: HookTests, root: ScratchRoot, options: RunOptions) -> HookResults:
    if tests.reason:
        return HookResults(tests, tuple(CaseResult(case, NOT_RUN, messages=(tests.reason,)) for case in tests.cases))
    if is_python_name(tests.title):
        return HookResults(tests, _run_python(tests, root))
    setup = RunSetup(
        tests.path,
        tests.project,
        tests.rules,
        options.hosts,
        options.settings,
        options.corpus_step,
    )
    return HookResults(tests, CaseRunner(root, tests.hooks, setup).run(tests.cases) if tests.cases else ())


def _run_python(tests: HookTests, root: ScratchRoot) -> tuple[CaseResult, ...]:
    if not tests.rules.without_sandbox:
        return tuple(CaseResult(case, REFUSED_CASE, messages=(_NEEDS_NO_SANDBOX,)) for case in tests.cases)
    try:
        hook = load_python_hook(os.path.dirname(tests.path), tests.title)
    except BoathookError as error:
        return tuple(CaseResult(case, REFUSED_CASE, messages=(str(error),)) for case in tests.cases)
    return run_python_cases(hook, tests.cases, root)
