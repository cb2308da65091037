"""Interpreters are known by their names, whatever version is in them."""

from __future__ import annotations

import pytest

from boathook.core.interpreters import is_interpreter, is_python, list_interpreter_names, remove_version
from tests.tables import try_each


@try_each("name", list_interpreter_names())
def test_every_name_that_is_handed_over_is_one_of_an_interpreter(name: str) -> None:
    assert is_interpreter(name)


@pytest.mark.parametrize("name", ["python3.12", "pythonw", "python3w", "pypy3.10", "perl5.36.0", "lua5.4", "node22"])
def test_a_version_changes_nothing(name: str) -> None:
    assert is_interpreter(name)
    assert is_python(name) == name.startswith("py")


@pytest.mark.parametrize("name", ["", "pytest", "md5sum", "7z", "base64", "nodemon", "python-config", "3"])
def test_other_programs_are_not_interpreters(name: str) -> None:
    assert not is_interpreter(name)


def test_only_the_version_is_removed() -> None:
    assert [remove_version(name) for name in ("python3.12", "pip3", "luajit-2.1", "sh")] == [
        *("python", "pip", "luajit", "sh"),
    ]
