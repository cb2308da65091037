"""The run of the tests itself: the same examples every time, and nothing skipped that is not on a list with its reason."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import settings

import boathook
from tests.conftest import SKIPS, find_unlisted_skips

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


# Suites that go across the package.
SUITES = {"conformance", "docs", "e2e", "examples", "faults", "fixtures", "fuzz", "model", "security"}


def list_folders(root: Path) -> set[str]:
    paths = (path.relative_to(root) for path in root.rglob("*") if path.is_dir())
    return {str(path) for path in paths if "__pycache__" not in path.parts}


def test_the_folders_of_the_tests_are_those_of_the_package():
    # The hooks of a pack are tested in one folder.
    package = {path for path in list_folders(Path(boathook.__file__).parent) if not path.startswith("packs/standard")}
    tests = {folder for folder in list_folders(HERE) if folder.split("/")[0] not in SUITES}
    # The engine is a module, with enough tests for a folder.
    assert tests - package == {"engine"}
    # The conformance runner is tested by the vectors; what Python starts with in hooks is no package.
    assert package - tests == {"testing", "process/python_start"}
