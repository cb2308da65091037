"""Scripts are checked in a time by their length."""

from __future__ import annotations

import pytest

from boathook.sources.shell_scripts import (
    find_blocking_exit_1,
    has_blocking_exit_1,
    is_shell_script,
    read_first_pipeline,
)
from tests.growth import grows_in_proportion


@pytest.mark.parametrize("text", ['"' + '\\"' * 40_000, "'" * 40_001, '"\\' * 30_000])
def test_an_open_quote_goes_to_the_end(text):
    assert has_blocking_exit_1(text) is False


def test_lines_are_checked_in_a_time_by_their_length():
    assert grows_in_proportion(lambda count: has_blocking_exit_1('"' + '\\"' * count), 1000)
    assert grows_in_proportion(lambda count: find_blocking_exit_1("exit 1\n" * count), 1000)
    assert grows_in_proportion(lambda count: read_first_pipeline("a " * count, {}), 2000)


@pytest.mark.parametrize(
    ("name", "first_line", "expected"),
    [
        ("run.sh", "", True),
        ("run.zsh", "echo", True),
        ("run", "#!/bin/sh", True),
        ("run", "#!/bin/bash -eu\r", True),
        ("run", "#!/usr/bin/env -S dash -e", True),
        ("run", "#!/usr/bin/env python3", False),
        ("run", "#!/usr/bin/fish", False),
        ("run", "bash", False),
        ("run.py", "", False),
        ("sh", "", False),
    ],
)
def test_a_shell_script_is_known_by_its_name_or_its_first_line(name, first_line, expected):
    assert is_shell_script(f"scripts/{name}", f"{first_line}\nbash\n".encode()) is expected
