"""Guards take time in proportion to what they read, and never wait for it."""

from __future__ import annotations

import os
import runpy
from pathlib import Path
from typing import Any

import boathook
from tests.growth import grows_in_proportion

HOOKS = Path(boathook.__file__).parent / "packs/standard/hooks"


def _load(hook: str) -> dict[str, Any]:
    return runpy.run_path(str(HOOKS / hook / "scripts/run.py"))


def test_blank_lines_and_blanks_do_not_take_long() -> None:
    list_marks = _load("injection-scan")["_list_marks"]
    for text in ("\n", " ", "<  ", "ignore  "):
        assert grows_in_proportion(lambda size, text=text: list_marks(text * size), 2_000), text


def test_marks_of_conflicts_without_an_end_do_not_take_long(tmp_path: Path) -> None:
    has_marks = _load("clean-stop")["_has_marks"]
    path = tmp_path / "a"

    def look(size: int) -> None:
        path.write_bytes(b"<<<<<<< x\n=======\n" * size)
        assert not has_marks(path)

    assert grows_in_proportion(look, 500)
    path.write_bytes(b"<<<<<<< x\na\n=======\nb\n>>>>>>> y\n")
    assert has_marks(path)
    path.write_bytes(b">>>>>>> y\n=======\n<<<<<<< x\n")
    assert not has_marks(path)


def test_a_pipe_with_a_name_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert not _load("clean-stop")["_has_marks"](tmp_path / "pipe")
