"""The pytest plugin: collects each `tests.txt` that is beside a HOOK.md, one test per case."""

# pytest loads this at every start, also where there are no hooks: nothing but pytest is imported until such a file is found.

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from boathook.hook_tests.case import Case
    from boathook.hook_tests.find_tests import HookTests

_TESTS_FILE, _MANIFEST_NAMES = "tests.txt", ("HOOK.md", "hook.md")
_HOOKS_FOLDER = ".agents"
_OPTION = "--hooks-no-sandbox"


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "run untrusted hooks, and code that tests.txt files bring, without a sandbox"
    parser.getgroup("boathook").addoption(_OPTION, action="store_true", default=False, help=text)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Look for tests of hooks in `.agents`, which pytest leaves out like every folder that begins with a dot."""
    parts = collection_path.parts
    if _HOOKS_FOLDER not in parts or any(_HOOKS_FOLDER in Path(arg).parts for arg in config.args):
        return None
    below = parts[len(parts) - parts[::-1].index(_HOOKS_FOLDER) :]
    if not below:
        return None if not any((collection_path / "hooks").glob(f"*/{_TESTS_FILE}")) else False
    # Nothing else in there is collected because of us.
    is_on_the_way = below[0] == "hooks" and (len(below) < 3 or (len(below) == 3 and below[2] == _TESTS_FILE))
    return not is_on_the_way


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    is_tests_file = file_path.name == _TESTS_FILE
    if not is_tests_file or not any((file_path.parent / name).is_file() for name in _MANIFEST_NAMES):
        return None
    return CaseCollector.from_parent(parent, path=file_path)


class CaseCollector(pytest.File):
    """A tests.txt with its cases."""

    def collect(self) -> Iterable[pytest.Item]:
        from boathook.hook_tests.find_tests import HookTestFinder

        without_sandbox = bool(self.config.getoption(_OPTION))
        finder = HookTestFinder(str(self.path.parent), without_sandbox=without_sandbox)
        for tests in finder.find(str(self.path.parent)):
            if tests.reason and not tests.is_denied:
                raise self.CollectError(f"{tests.title}: {tests.reason}")
            for diagnostic in tests.diagnostics:
                raise self.CollectError(str(diagnostic))
            for case in tests.cases:
                name = f"{case.line}: {case.word} {case.title}".rstrip()
                yield CaseItem.from_parent(self, name=name, tests=tests, case=case)


class CaseItem(pytest.Item):
    def __init__(self, *, tests: HookTests, case: Case, **fields: Any) -> None:
        super().__init__(**fields)
        self._tests, self._case = tests, case

    def runtest(self) -> None:
        from boathook.hook_tests.case_report import describe_misses
        from boathook.hook_tests.case_runner import NOT_RUN, TODO
        from boathook.hook_tests.run_tests import run_all_tests

        tests = self._tests.replace(cases=(self._case,))
        [result] = run_all_tests([tests]).hooks[0].results
        text = "\n".join((*result.messages, *describe_misses(result)))
        if result.status == TODO:
            pytest.xfail(text)
        if result.status == NOT_RUN:
            pytest.skip(text)
        if result.is_bad:
            raise CaseFailure(text)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        return str(excinfo.value) if isinstance(excinfo.value, CaseFailure) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self._case.line - 1, f"{self._tests.title} {self.name}"


class CaseFailure(Exception):
    """A case that did not end as expected."""
