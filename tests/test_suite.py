"""The run of the tests itself: the same examples every time, and nothing skipped that is not on a list with its reason."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import settings

import boathook
from tests.conftest import SKIPS, find_unlisted_skips
from tests.tables import try_each

HERE = Path(__file__).parent
LISTED = {
    "skips": [
        {"reason": "r", "without": "no-such-program", "tests": ["test_a"]},
        {"reason": "r", "without": "sh", "tests": ["test_b"]},
        {"reason": "r", "tests": ["test_c"]},
    ]
}


def test_examples_are_the_same_in_every_run_and_have_no_deadline():
    assert settings.get_profile("same").derandomize is True
    assert settings.get_profile("explore").derandomize is False
    assert [settings.get_profile(name).deadline for name in ("same", "explore", "thorough")] == [None] * 3


@pytest.mark.parametrize(
    ("skipped", "unlisted"),
    [
        ("tests/x.py::test_a[1::2]", False),
        ("tests/x.py::test_b", True),
        ("tests/x.py::test_c", False),
        ("tests/x.py::test_d", True),
        ("tests/x.py", True),
    ],
)
def test_a_skip_needs_a_reason_that_holds_here(skipped, unlisted):
    assert find_unlisted_skips([skipped], LISTED) == [skipped] * unlisted


def test_every_skip_on_the_list_has_a_reason_and_is_a_test():
    text = "".join(path.read_text() for path in HERE.rglob("test_*.py"))
    for entry in tomllib.loads(SKIPS.read_text())["skips"]:
        assert entry["reason"]
        assert [name for name in entry["tests"] if f"def {name}(" not in text] == []


@pytest.mark.parametrize(("variable", "code"), [("true", 1), ("", 0)])
def test_a_run_in_continuous_integration_fails_if_a_skip_is_not_listed(tmp_path, variable, code):
    # One test per entry of the list, and one that is not listed. The PATH is empty, so that no program cancels an entry.
    listed = [entry["tests"][0] for entry in tomllib.loads(SKIPS.read_text())["skips"]]
    tests = [f"def {name}():\n    pytest.skip('it cannot run here')\n" for name in (*listed, "test_of_something_else")]
    (tmp_path / "test_skipping.py").write_text("\n\n".join(("import pytest", *tests)))
    env = {**os.environ, "CI": variable, "PATH": str(tmp_path), "PYTHONPATH": str(HERE.parent)}
    argv = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(tmp_path), "-p", "tests.conftest"]
    done = subprocess.run([*argv, "-p", "no:cacheprovider", tmp_path], env=env, capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    unlisted = "skipped, but not in skips.toml: test_skipping.py::test_of_something_else"
    total = f"{len(tests)} skipped, 1 of them not in skips.toml"
    assert (total in done.stdout, unlisted in done.stdout) == (code == 1, code == 1)


COMBINED = """
import pytest

@pytest.fixture(params=["by command", "in process"])
def way(request):
    return request.param

@pytest.mark.one_at_a_time
@pytest.mark.parametrize(("a", "b"), [(1, 1), (1, 2), (2, 2)])
@pytest.mark.parametrize("host", ["x", "y"])
def test_a(way, host, a, b):
    pass

@pytest.mark.parametrize("host", ["x", "y"])
def test_b(way, host):
    pass
"""


def test_of_a_test_that_varies_one_parameter_at_a_time_each_value_and_each_row_is_in_the_shorter_run(tmp_path):
    (tmp_path / "test_combined.py").write_text(COMBINED)
    env = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    argv = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(tmp_path), "-p", "tests.conftest"]
    argv += ["-p", "no:cacheprovider", "-W", "ignore", "--collect-only", "-m", "not long", str(tmp_path)]
    done = subprocess.run(argv, env=env, capture_output=True, text=True)
    names = [line.rpartition("::")[2] for line in done.stdout.splitlines() if "::" in line]
    alone = ["1-1", "1-2", "2-2"]
    first = [f"test_a[by command-x-{row}]" for row in alone]
    assert sorted(names) == sorted(
        [*first, "test_a[by command-y-1-1]", "test_a[in process-x-1-1]"]
        + [f"test_b[{way}-{host}]" for way in ("by command", "in process") for host in "xy"]
    )


# Suites that go across the package.
SUITES = {"conformance", "docs", "e2e", "examples", "faults", "fixtures", "fuzz", "model", "security"}


def list_folders(root: Path) -> set[str]:
    paths = (path.relative_to(root) for path in root.rglob("*") if path.is_dir())
    return {str(path) for path in paths if "__pycache__" not in path.parts}


def test_the_folders_of_the_tests_are_those_of_the_package():
    # The hooks of a pack are tested in one folder.
    package = {path for path in list_folders(Path(boathook.__file__).parent) if not path.startswith("packs/standard")}
    tests = {folder for folder in list_folders(HERE) if folder.split("/")[0] not in SUITES}
    # The engine is a module, with enough tests for a folder; snapshots are what commands print; bridges have adapters and data.
    extra = {"engine", "cli/snapshots", "bridges/adapters", "bridges/pins", "bridges/results"}
    assert tests - package == extra
    # The conformance runner is tested by the vectors; what Python starts with in hooks is no package.
    assert package - tests == {"testing", "process/python_start"}


def test_a_table_in_one_test_reports_every_row_that_fails_and_is_never_empty():
    tried = []

    @try_each("number word", [(1, "a"), (2, "b"), (3, "c")])
    def check(fixture, number, word):
        tried.append((fixture, word))
        assert number == 2

    assert [*inspect.signature(check).parameters] == ["fixture"]
    with pytest.raises(ExceptionGroup, match="2 of 3 rows") as reported:
        check(fixture="f")
    assert tried == [("f", "a"), ("f", "b"), ("f", "c")]
    assert "'word': 'c'" in reported.value.exceptions[1].__notes__[0]
    with pytest.raises(AssertionError):
        try_each("number", [])(lambda number: None)()


def test_scratch_files_are_in_memory_only_for_this_process_and_the_folder_goes_with_it(tmp_path):
    code = """
import os, tempfile
from scripts.memory_folder import keep_scratch_files_in_memory
keep_scratch_files_in_memory()
path = tempfile.mkdtemp()
os.mkdir(path + "/a")
print(os.path.dirname(path), os.stat(path).st_dev)
input()
"""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=HERE.parent,
        env=environment,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    folder, device = process.stdout.readline().split()
    # Without the right to mount, nothing changes.
    is_in_memory = folder != str(tmp_path)
    assert is_in_memory == (int(device) != tmp_path.stat().st_dev)
    assert not is_in_memory or os.listdir(folder) == ["in-use"]  # seen from here
    process.communicate("\n", timeout=60)
    assert (process.returncode, [path.name for path in tmp_path.glob("memory-*")]) == (0, [])
