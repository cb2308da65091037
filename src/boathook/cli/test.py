"""`boathook test`: run the cases in the tests.txt of hooks."""

from __future__ import annotations

import os
import time
from typing import Any

import click

from boathook.cli.common_options import json_option, make_agent_option, project_option, state_option
from boathook.cli.name_completion import ANY_HOOK_NAME
from boathook.cli.show import STATE_STYLES, cut_text, echo, format_count, print_json, repeat_project
from boathook.core.notices import list_names
from boathook.errors import BoathookError
from boathook.hook_tests.case import CORPUS, DECISION_WORDS
from boathook.hook_tests.case_file import TESTS_FILE
from boathook.hook_tests.case_report import CaseReport, HookResults, describe_misses, write_junit
from boathook.hook_tests.case_runner import BAD_STATUSES, CASE_STATUSES, FIXED, NOT_RUN, PASSED, TODO, CaseResult
from boathook.hook_tests.find_tests import HookTestFinder, HookTests
from boathook.hook_tests.ledger_case import append_recorded_case
from boathook.hook_tests.run_tests import RunOptions, run_all_tests

_WATCH_SECONDS = 0.5
_NAME_WIDTH = 26
_STATUS_STYLES = {PASSED: "green", TODO: "yellow", FIXED: "yellow", NOT_RUN: "dim"}
_MAX_TITLE_CHARS = 100


class _WrongUsage(click.UsageError):
    """A usage error that ends with 2: no agent calls this command, and 1 says that cases failed."""

    exit_code = 2


class _CommandOfTests(click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            raise _WrongUsage(error.format_message(), error.ctx) from None


@click.command("test", cls=_CommandOfTests)
@click.argument("names", nargs=-1, metavar="[HOOK[:LINE]]...", type=ANY_HOOK_NAME)
@click.option("--packs", "with_packs", is_flag=True, help="Without HOOK: also test the hooks of your packs.")
@make_agent_option("hosts", "Also send every case in the words of this agent", multiple=True)
@click.option("--watch", is_flag=True, help="Run again whenever a hook or its tests change.")
@click.option("--fail-only", is_flag=True, help="Show only hooks with failures.")
@json_option
@click.option("--junit", metavar="FILE", type=click.Path(), help="Also write the results as JUnit XML.")
@click.option("--from-log", "record", metavar="ID", help="Add a recorded event to the tests of its hook; see --expect.")
@click.option("--expect", type=click.Choice(DECISION_WORDS), help="With --from-log: what the answer should have been.")
@click.option("--no-sandbox", is_flag=True, help="Run untrusted hooks and code in tests without a sandbox.")
@project_option
@state_option
def run_hook_cases(names: tuple[str, ...], record: str | None, expect: str | None, **options: Any) -> int:
    """Run the tests of hooks.

    Tests are the cases in `tests.txt` beside a HOOK.md, or beside the file that has entries of another form. HOOK is
    the name of a hook or a pack, or a path: a hook folder, a folder of hooks, or a tests.txt. Without it, the hooks of the
    project and your own are tested, but not those of packs, which bring the tests of their authors. Each case runs in a
    scratch project with a home and a PATH of its own. Untrusted hooks, and code that a project's tests bring, run only in
    the sandbox `isolated`.

    \b
    Exit codes: 0 all as expected, 1 some cases failed or could not run, 2 wrong usage.

    \b
    Examples:
      boathook test
      boathook test no-force-push:12 --agent codex
      boathook test boathook/standard
      boathook test .agents/hooks --junit results.xml
      boathook test --from-log 0197c3 --expect pass
    """
    try:
        if (record is None) != (expect is None):
            raise _WrongUsage("--from-log and --expect belong together: name the record and the right answer")
        if names and options["with_packs"]:
            raise _WrongUsage("HOOK and --packs exclude each other: name the packs, such as boathook/standard")
        finder = _make_finder(options)
        if record is not None and expect is not None:
            return _add_recorded_case(finder, record, expect, names, options["state"])
        if options["watch"]:
            return _watch(names, options)
        code = _run_once(_select(finder, names, options), finder, options)
        if not names and not options["as_json"] and not options["with_packs"]:
            _report_untested_packs(finder)
        return code
    except (BoathookError, OSError) as error:
        echo(f"boathook: {error}", err=True)
        return _WrongUsage.exit_code


def _make_finder(options: dict[str, Any]) -> HookTestFinder:
    return HookTestFinder(options["project"], options["state"], without_sandbox=options["no_sandbox"])


def _report_untested_packs(finder: HookTestFinder) -> None:
    if finder.user_packs:
        echo(f"not tested: {list_names(finder.user_packs)}. To test them, too: boathook test --packs", "dim")


def _select(finder: HookTestFinder, names: tuple[str, ...], options: dict[str, Any]) -> list[HookTests]:
    if not names:
        return finder.find_all(with_packs=options["with_packs"])
    selected: list[HookTests] = []
    for name in names:
        base, colon, line = name.rpartition(":")
        if colon and line.isascii() and line.isdigit():
            selected += [tests.select_line(int(line)) for tests in finder.find(base)]
        else:
            selected += finder.find(name)
    return selected


def _run_once(selected: list[HookTests], finder: HookTestFinder, options: dict[str, Any]) -> int:
    width = max([_NAME_WIDTH, *(len(tests.title) for tests in selected)])

    def show(results: HookResults) -> None:
        if not options["as_json"] and (results.is_bad or not options["fail_only"]):
            _print_hook(results, width)

    report = run_all_tests(selected, RunOptions(finder.settings, options["hosts"]), show)
    if options["junit"]:
        with open(options["junit"], "w", encoding="utf-8") as file:
            file.write(write_junit(report))
    if options["as_json"]:
        print_json(report.to_json())
    else:
        _print_summary(report)
    return int(not report.is_good)


def _watch(names: tuple[str, ...], options: dict[str, Any]) -> int:
    """Run the tests, and those of a hook again when something in its folder changes, until the person ends it."""
    finder = _make_finder(options)
    selected = _select(finder, names, options)
    while True:
        code = _run_once(selected, finder, options)
        stamps = _read_stamps(_select(finder, names, options))
        echo("waiting for changes; end with Ctrl-C", "dim")
        try:
            changed = _wait_for_change(stamps)
        except KeyboardInterrupt:
            return code
        finder = _make_finder(options)
        selected = [one for one in _select(finder, names, options) if os.path.dirname(one.path) in changed]


def _wait_for_change(before: dict[str, tuple[Any, ...]]) -> set[str]:
    while True:
        time.sleep(_WATCH_SECONDS)
        now = {folder: _read_stamp(folder) for folder in before}
        if changed := {folder for folder, stamp in now.items() if stamp != before[folder]}:
            return changed


def _read_stamps(selected: list[HookTests]) -> dict[str, tuple[Any, ...]]:
    return {folder: _read_stamp(folder) for folder in {os.path.dirname(tests.path) for tests in selected}}


def _read_stamp(folder: str) -> tuple[Any, ...]:
    """Return what changes when a file in a folder does; tools make `__pycache__` while hooks run."""
    found: list[tuple[str, int, int]] = []
    for top, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in ("__pycache__", ".git"))
        for name in sorted(files):
            try:
                status = os.stat(f"{top}/{name}", follow_symlinks=False)
            except OSError:
                continue
            found.append((f"{top}/{name}", status.st_mtime_ns, status.st_size))
    return tuple(found)


def _add_recorded_case(
    finder: HookTestFinder, record: str, expect: str, names: tuple[str, ...], state: str | None
) -> int:
    added = append_recorded_case(finder, record, expect, names, state)
    echo(f"added to {os.path.relpath(added.path)}:{added.line}", "green")
    for line in added.text.rstrip("\n").split("\n"):
        echo(f"  {line}")
    for note in added.notes:
        echo(f"note: {note}", "yellow")
    echo(repeat_project(f"run it: boathook test {added.hook}:{added.line}"))
    return 0


def _print_hook(results: HookResults, width: int) -> None:
    tests = results.tests
    title = f"{tests.title:{width}}"
    for diagnostic in tests.diagnostics:
        position = f"{_shorten_path(diagnostic.path)}:{diagnostic.line}" if diagnostic.line else diagnostic.path
        echo(f"{title} ERROR {position}: {diagnostic.message}", STATE_STYLES["error"])
        if diagnostic.fix:
            echo(f"    fix: {diagnostic.fix}", "dim")
    if tests.reason:
        echo(f"{title} not run: {tests.reason}", "dim" if tests.is_denied else STATE_STYLES["error"])
    elif not results.results and not tests.diagnostics:
        folder = _shorten_path(os.path.dirname(tests.path))
        echo(f"{title} no tests: write {folder}/{TESTS_FILE}", "dim")
    elif results.results:
        echo(f"{title} {_describe_counts(results)}", STATE_STYLES["error"] if results.is_bad else "")
    for result in results.results:
        if result.status in (*BAD_STATUSES, FIXED) or (result.status == NOT_RUN and not tests.reason):
            _print_case(tests, result)


def _describe_counts(results: HookResults) -> str:
    plain = [result for result in results.results if result.case.word != CORPUS]
    counts = {status: sum(result.status == status for result in plain) for status in CASE_STATUSES}
    words = [f"{count:3} {_shout(status)}" for status, count in counts.items() if count]
    for result in results.results:
        if result.case.word == CORPUS:
            name = os.path.basename(result.case.value or "")
            words.append(f"corpus {name}: {result.total - len(result.misses):,} of {result.total:,}")
    sandbox = "" if results.tests.rules.is_hook_trusted else "  (untrusted)"
    return ", ".join(words) + sandbox


def _shout(status: str) -> str:
    return status.upper() if status in BAD_STATUSES else status


def _print_case(tests: HookTests, result: CaseResult) -> None:
    case = result.case
    style = _STATUS_STYLES.get(result.status, STATE_STYLES["error"])
    echo(f"  {_shorten_path(tests.path)}:{case.line}  {cut_text(case.title, _MAX_TITLE_CHARS)}", style)
    for message in (*result.messages, *describe_misses(result)):
        for line in message.split("\n"):
            echo(f"      {line}")
    if result.is_bad and len(tests.cases) > 1:
        echo(repeat_project(f"      only this one: boathook test {_name_again(tests)}:{case.line}"), "dim")


def _name_again(tests: HookTests) -> str:
    return tests.title if tests.project and "/" not in tests.title else _shorten_path(os.path.dirname(tests.path))


def _shorten_path(path: str) -> str:
    near = os.path.relpath(path)
    return near if not near.startswith("../../..") else path


def _print_summary(report: CaseReport) -> None:
    tested = [results for results in report.hooks if results.results]
    counts = ", ".join(f"{count:,} {status}" for status, count in report.counts.items()) or "nothing to run"
    cases = format_count(sum(report.counts.values()), "case")
    text = f"{format_count(len(tested), 'hook')}, {cases} in {report.seconds:.1f} s: {counts}"
    echo(text, "green" if report.is_good else STATE_STYLES["error"])
