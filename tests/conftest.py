"""The scratch project of a test, how many examples hypothesis draws, and which tests may be skipped."""

from __future__ import annotations

import fcntl
import gc
import os
import re
import shutil
import signal
import termios
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from scripts.bare_python import pass_by_shims
from scripts.memory_folder import keep_scratch_files_in_memory
from tests.example_counts import USUAL
from tests.scratch_project import BOATHOOK_VARIABLES, ScratchProject, make_project

SLOW_IS_FINE = (HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large)
# `make test` draws the same examples every time; `make explore` and `make fuzz` draw more of them, at random.
settings.register_profile(
    "same", deadline=None, max_examples=USUAL // 3, derandomize=True, database=None, suppress_health_check=SLOW_IS_FINE
)
settings.register_profile(
    "explore", settings.get_profile("same"), derandomize=False, max_examples=USUAL, print_blob=True
)
settings.register_profile("thorough", settings.get_profile("explore"), max_examples=3000)
settings.load_profile("same")


def _leave_terminal() -> None:
    """Give up the terminal that the tests were started at: commands would ask their questions there."""
    try:
        handle = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return
    # The terminal of a session that this process leads is that of others, too.
    if os.getsid(0) != os.getpid():
        fcntl.ioctl(handle, termios.TIOCNOTTY)
    os.close(handle)


_leave_terminal()
pass_by_shims()
# Until all tests are collected there is no garbage, and looking for it takes a seventh of the time.
gc.disable()

SECURITY = "tests/security/"
# What may be skipped in continuous integration, and why.
SKIPS = Path(__file__).with_name("skips.toml")

# Variables that name where a host agent has its files.
HOST_VARIABLES = ("CODEX_HOME", "COPILOT_HOME", "COPILOT_HOOK_DIR", "GEMINI_CLI_HOME", "QWEN_HOME")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return how many workers `-n auto` is: some tests wait for a while, so there is one more than processors."""
    # Not more: each collects all tests, and has warm processes of its own.
    return (os.cpu_count() or 1) + 1


def pytest_configure(config: pytest.Config) -> None:
    """With several workers, have their scratch files in memory; with one, those of a failed test are kept to be looked at."""
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        keep_scratch_files_in_memory()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave what root cannot test to `make test-as-user`, which also runs everything about security."""
    mark_combinations(items)
    for item in items:
        if item.nodeid.startswith(SECURITY):
            item.add_marker("any_user")
    if os.geteuid() == 0:
        left_out = [item for item in items if item.get_closest_marker("ordinary_user")]
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)


def pytest_collection_finish() -> None:
    """Collect garbage from here on, and never look at the tests themselves: they stay."""
    gc.freeze()
    gc.enable()


def mark_combinations(items: Sequence[pytest.Item]) -> None:
    """Of a test that takes parameters one at a time, mark as long what shows no value of a parameter for the first time."""
    shown: set[tuple[str, tuple[str, ...], tuple[int, ...]]] = set()
    for item in items:
        if (
            item.get_closest_marker("one_at_a_time")
            and hasattr(item, "callspec")
            and not item.get_closest_marker("long")
        ):
            values = set(_list_parameter_values(item))
            if values <= shown:
                item.add_marker("long")
            shown |= values


def _list_parameter_values(item: pytest.Item) -> Iterator[tuple[str, tuple[str, ...], tuple[int, ...]]]:
    """Return the values of a test, those of the same row of a table together, as something that can be compared."""
    params = item.callspec.params
    rows = [mark.args[0] for mark in item.iter_markers("parametrize")]
    tables = [tuple(re.split(r"\W+", names)) if isinstance(names, str) else tuple(names) for names in rows]
    singles = [(name,) for name in params if not any(name in names for names in tables)]
    test = item.nodeid.partition("[")[0]
    for names in (*tables, *singles):
        yield test, names, tuple(id(params[name]) for name in names)


_skipped: list[str] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note what was skipped; xdist passes on the reports of its workers."""
    if report.skipped and not hasattr(report, "wasxfail"):
        _skipped.append(report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Note files that were skipped as a whole."""
    if report.skipped:
        _skipped.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail in continuous integration if anything was skipped that is not on the list."""
    config = session.config
    if os.environ.get("CI") != "true" or hasattr(config, "workerinput"):
        return
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    unlisted = find_unlisted_skips(_skipped, tomllib.loads(SKIPS.read_text(encoding="utf-8")))
    reporter.write_line(f"\n{len(_skipped)} skipped, {len(unlisted)} of them not in {SKIPS.name}")
    for name in unlisted:
        reporter.write_line(f"skipped, but not in {SKIPS.name}: {name}")
    if unlisted and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def find_unlisted_skips(skipped: Sequence[str], listed: Mapping[str, Any]) -> list[str]:
    """Return the skipped tests that no reason of the list covers; one that a program excuses counts only without that program."""
    allowed = {
        name
        for entry in listed["skips"]
        if not ("without" in entry and shutil.which(entry["without"]))
        for name in entry["tests"]
    }
    return [nodeid for nodeid in skipped if nodeid.partition("[")[0].rpartition("::")[2] not in allowed]


@pytest.fixture
def default_sigint() -> Iterator[None]:
    """Let SIGINT end what the test starts: the tests may have been started with it ignored, and children inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def ignored_sigint() -> Iterator[None]:
    """Let what the test starts inherit an ignored SIGINT, as from `nohup` in a script."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScratchProject:
    """A scratch project that this process is in: HOME and XDG_* lead to its folders, and it is the current folder."""
    made = make_project(tmp_path)
    for name in [name for name in os.environ if name.startswith((*BOATHOOK_VARIABLES, *HOST_VARIABLES))]:
        monkeypatch.delenv(name)
    for name, value in made.variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(made.path)
    return made


@pytest.fixture(scope="session")
def new_project(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], ScratchProject]:
    """Make scratch projects that outlive a test; this process is not in them."""
    return lambda name: make_project(tmp_path_factory.mktemp(name))
