"""Which file of a hook folder is run, and by what (S17)."""

from __future__ import annotations

import os
import sys

import pytest

from boathook.system.programs import (
    EntryPoint,
    choose_command,
    find_entry_point,
    find_interpreter_error,
    find_program,
    read_first_bytes,
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "scripts").mkdir()
    return tmp_path


def script(folder, name, text="#!/bin/sh\n", mode=0o755) -> str:
    path = folder / "scripts" / name
    path.write_bytes(text.encode("latin-1"))
    path.chmod(mode)
    return str(path)


def test_the_entry_point_is_the_first_regular_file_of_three(folder):
    assert find_entry_point(str(folder)) is None
    for name in ("run.py", "run.sh", "run"):
        path = script(folder, name)
        assert find_entry_point(str(folder)) == path


def test_a_path_that_is_not_a_regular_file_is_passed_over(folder):
    (folder / "scripts" / "run").mkdir()
    os.mkfifo(folder / "scripts" / "run.sh")
    assert find_entry_point(str(folder)) is None
    path = script(folder, "run.py")
    assert find_entry_point(str(folder)) == path


def test_a_link_to_a_file_is_an_entry_point_and_a_broken_one_is_not(folder):
    (folder / "scripts" / "run").symlink_to(folder / "gone")
    assert find_entry_point(str(folder)) is None
    (folder / "gone").write_text("")
    assert find_entry_point(str(folder)) == str(folder / "scripts" / "run")


def test_other_names_are_not_entry_points(folder):
    for name in ("Run", "run.bash", "main.py", "run.sh.bak"):
        script(folder, name)
    assert find_entry_point(str(folder)) is None


@pytest.mark.parametrize("name", ["run", "run.sh", "run.py"])
@pytest.mark.parametrize("start", ["#!/bin/sh\n", "\x7fELF", "\xcf\xfa\xed\xfe"])
def test_an_executable_script_or_binary_is_run_as_it_is(folder, name, start):
    path = script(folder, name, start)
    assert choose_command(path) == EntryPoint(path, (path,))


ODD = {
    "run": ("/bin/sh", "sh"),
    "run.sh": (find_program("bash") or "/bin/sh", "bash" if find_program("bash") else "sh"),
    "run.py": (sys.executable, os.path.basename(sys.executable)),
}


@pytest.mark.parametrize(("name", "by"), ODD.items())
def test_anything_else_is_run_by_an_interpreter_with_a_warning(folder, name, by):
    program, word = by
    path = script(folder, name, "echo hi\n", 0o755)
    message = f"scripts/{name} has no interpreter line (#!); it was run by {word}"
    assert choose_command(path) == EntryPoint(path, (program, path), message)
    os.chmod(path, 0o644)
    message = f"scripts/{name} is not executable (chmod +x); it was run by {word}"
    assert choose_command(path) == EntryPoint(path, (program, path), message)


def test_the_start_of_a_file_is_read_without_waiting(folder):
    os.mkfifo(folder / "fifo")
    path = script(folder, "run", "x" * 1000)
    assert read_first_bytes(path) == b"x" * 256
    assert read_first_bytes(path, 3) == b"xxx"
    assert [read_first_bytes(str(folder / name)) for name in ("fifo", "scripts", "gone")] == [b"", b"", b""]


FAULTS = {
    "fine": (b"#!/bin/sh\n", None),
    "no line": (b"echo", None),
    "empty": (b"#!\n", "its interpreter line is empty"),
    "missing": (b"#!/no/such/shell -e\n", "its interpreter /no/such/shell does not exist here"),
    "windows": (
        b"#!/bin/sh\r\n",
        "it has Windows line ends, so its interpreter reads as /bin/sh\\r (convert it to LF)",
    ),
    "env": (b"#!/usr/bin/env sh\n", None),
    "env of nothing": (b"#!/usr/bin/env no-such-program\n", "its interpreter no-such-program is not on the PATH"),
    "env with flags": (b"#!/usr/bin/env -S A=1 sh -e\n", None),
}


@pytest.mark.parametrize(("head", "expected"), FAULTS.values(), ids=FAULTS)
def test_a_wrong_interpreter_line_is_reported(head, expected):
    assert find_interpreter_error(head) == expected


def test_a_program_is_found_on_the_path(tmp_path):
    (tmp_path / "tool").write_text("")
    (tmp_path / "folder").mkdir()
    path = f"/gone:{tmp_path}"
    assert find_program("tool", path) is None
    (tmp_path / "tool").chmod(0o755)
    assert find_program("tool", path) == f"{tmp_path}/tool"
    assert (find_program("folder", path), find_program("other", path)) == (None, None)
    assert find_program(f"{tmp_path}/tool", "") == f"{tmp_path}/tool"
    assert find_program(f"{tmp_path}/other", "") is None
