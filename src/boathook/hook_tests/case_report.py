"""The results of tests as values: what to show, what to write as JSON and as JUnit XML."""

from __future__ import annotations

from collections import Counter
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from boathook.core.text import reveal_text
from boathook.core.value import Value
from boathook.hook_tests.case import CORPUS
from boathook.hook_tests.case_runner import BAD_STATUSES, CASE_STATUSES, FAILED_CASE, NOT_RUN, TODO, CaseResult
from boathook.hook_tests.find_tests import HookTests

MAX_SHOWN_MISSES = 5


class HookResults(Value):
    """The results of the cases of one hook."""

    tests: HookTests
    results: tuple[CaseResult, ...] = ()

    @property
    def is_bad(self) -> bool:
        has_error = bool(self.tests.diagnostics) or (bool(self.tests.reason) and not self.tests.is_denied)
        return has_error or any(result.is_bad for result in self.results)

    def to_json(self) -> dict[str, Any]:
        tests = self.tests
        return {
            "hook": tests.title,
            "tests": tests.path if tests.has_file else None,
            "trusted": tests.rules.is_hook_trusted,
            "reason": tests.reason or None,
            "diagnostics": [diagnostic.to_json() for diagnostic in tests.diagnostics],
            "cases": [_case_to_json(result) for result in self.results],
        }


class CaseReport(Value):
    """The results of all hooks, and how many seconds all of them took together."""

    hooks: tuple[HookResults, ...]
    seconds: float = 0.0

    @property
    def is_good(self) -> bool:
        return not any(hook.is_bad for hook in self.hooks)

    @property
    def counts(self) -> dict[str, int]:
        """Return the number of cases by status; every entry of a corpus is a case."""
        counts = Counter[str]()
        for result in (result for hook in self.hooks for result in hook.results):
            if result.case.word == CORPUS and result.total:
                counts[FAILED_CASE] += len(result.misses)
                counts[CASE_STATUSES[0]] += result.total - len(result.misses)
            else:
                counts[result.status] += 1
        return {status: counts[status] for status in CASE_STATUSES if counts[status]}

    def to_json(self) -> dict[str, Any]:
        counts = {status.replace(" ", "_"): self.counts.get(status, 0) for status in CASE_STATUSES}
        return {
            "ok": self.is_good,
            "counts": counts,
            "ms": _to_ms(self.seconds),
            "hooks": [hook.to_json() for hook in self.hooks],
        }


def _case_to_json(result: CaseResult) -> dict[str, Any]:
    case = result.case
    misses = [
        {"value": miss.entry.value, "expected": miss.entry.expect, "got": miss.got, "message": miss.message or None}
        for miss in result.misses
    ]
    return {
        "line": case.line,
        "expected": case.word,
        "text": case.title,
        "status": result.status,
        "got": result.got or None,
        "agent": result.host or None,
        "messages": list(result.messages),
        "ms": _to_ms(result.seconds),
        "entries": result.total if case.word == CORPUS else None,
        "misses": misses if case.word == CORPUS else None,
    }


def _to_ms(seconds: float) -> float:
    return round(seconds * 1000, 1)


def describe_misses(result: CaseResult) -> list[str]:
    """Return the first entries of a corpus that were not answered as expected."""
    lines = [
        f"expected {miss.entry.expect}, got {miss.got}: {' '.join(miss.entry.value.split())}"
        + (f" ({miss.message})" if miss.message else "")
        for miss in result.misses[:MAX_SHOWN_MISSES]
    ]
    rest = len(result.misses) - MAX_SHOWN_MISSES
    return [*lines, f"and {rest:,} more (all of them: --json)"] if rest > 0 else lines


def write_junit(report: CaseReport) -> str:
    """Return the report as JUnit XML, which most continuous integration shows."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>"]
    for hook in report.hooks:
        cases = [_write_junit_case(hook, result) for result in hook.results]
        problems = [str(diagnostic) for diagnostic in hook.tests.diagnostics]
        problems += [hook.tests.reason] if hook.tests.reason and not hook.tests.is_denied else []
        cases += [_write_element(hook.tests.title, hook.tests.path, 0.0, "error", text) for text in problems]
        failed = sum(result.is_bad for result in hook.results)
        name = _quote(hook.tests.title)
        lines.append(f'  <testsuite name={name} tests="{len(cases)}" failures="{failed}" errors="{len(problems)}">')
        lines += [*cases, "  </testsuite>"]
    return "\n".join([*lines, "</testsuites>", ""])


def _write_junit_case(hook: HookResults, result: CaseResult) -> str:
    name = f"{hook.tests.path}:{result.case.line} {result.case.title}"
    element = "failure" if result.status in BAD_STATUSES else "skipped" if result.status in (TODO, NOT_RUN) else ""
    text = "\n".join((*result.messages, *describe_misses(result)))
    return _write_element(hook.tests.title, name, result.seconds, element, text)


def _write_element(hook: str, name: str, seconds: float, element: str, text: str) -> str:
    start = f'    <testcase classname={_quote(hook)} name={_quote(name)} time="{seconds:.3f}"'
    if not element:
        return f"{start}/>"
    shown = reveal_text(text, "\n\t")
    message = _quote(shown.partition("\n")[0])
    return f"{start}><{element} message={message}>{escape(shown)}</{element}></testcase>"


def _quote(text: str) -> str:
    return quoteattr(reveal_text(text))
