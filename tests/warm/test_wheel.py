"""The wheel with the client of the warm engine, and the wheel that is made without a compiler."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from boathook.entry.surroundings import PROTOCOL
from hatch_build import WITHOUT_CLIENT_VARIABLE, build_stamps, build_warm_parts
from tests.warm.warm_harness import PACKAGE, Client, TestResident, wait_for_age, wait_until

ROOT = Path(__file__).parent.parent.parent
# It writes a line to the file that comes after -o.
MAKES_NO_PROGRAM = '#!/bin/sh\nuntil [ "$1" = -o ]; do shift; done\necho > "$2"\n'
CALL = {"tool_name": "Shell", "tool_input": {"command": "ls"}}


def build_wheel(folder: Path, **variables: str) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, env={**os.environ, **variables})
    return next(folder.glob("*.whl"))


def install_wheel(wheel: Path, folder: Path) -> str:
    """Install a wheel in an environment of its own; return its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = str(folder / "bin/python")
    quiet = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-index", "--no-compile")
    subprocess.run([sys.executable, "-m", "pip", "--python", python, "install", *quiet, str(wheel)], check=True)
    for site in folder.glob("lib/python*/site-packages"):
        (site / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    return python


def answer_event(python: str, client: str, project) -> tuple[int, bytes, bytes]:
    """Answer an event as the line does that an agent of this installation has."""
    done = subprocess.run([python, "-c", "import boathook; print(boathook.__file__)"], capture_output=True, text=True)
    entry = str(Path(done.stdout.strip()).parent / "entry/hook_entry.py")
    words = [*([client] if client else []), python, "-I", "-S", entry, "--state", str(project.state)]
    return Client(project).run_words([*words, "--event", "PreToolUse"], CALL)


@pytest.mark.installed
def test_with_a_compiler_the_wheel_is_for_this_machine_and_has_a_client_that_works(project, tmp_path):
    wheel = build_wheel(tmp_path / "dist")
    assert wheel.name.endswith(f"-py3-none-{sysconfig.get_platform().replace('-', '_')}.whl")
    python = install_wheel(wheel, tmp_path / "environment")
    (client,) = (tmp_path / "environment").glob("lib/python*/site-packages/boathook/warm/client")
    assert subprocess.run([str(client), "--version"], capture_output=True).stdout == PROTOCOL + b"\n"
    code = "from boathook.warm.stamps import load_stamps_library; print(load_stamps_library() is not None)"
    assert subprocess.run([python, "-c", code], capture_output=True, text=True).stdout == "True\n"
    project.write_hook("guard", script="echo no >&2; exit 2")
    wait_for_age(client.parent.parent)
    resident = TestResident(project.state, package=client.parent.parent, python=python)

    def is_accepted() -> bool:
        # The client waits 50 ms to be accepted, which a busy machine may not manage at once.
        assert answer_event(python, str(client), project) == (2, b"", b"no\n")
        return resident.count_events() > 0

    try:
        wait_until(is_accepted, "an event by the client of the wheel")
    finally:
        resident.end()


@pytest.mark.installed
def test_without_a_compiler_the_wheel_is_pure_and_python_asks_the_warm_engine(project, tmp_path):
    wheel = build_wheel(tmp_path / "dist", **{WITHOUT_CLIENT_VARIABLE: "1"})
    assert wheel.name.endswith("-py3-none-any.whl")
    assert {"boathook/warm/client", "boathook/warm/stamps"}.isdisjoint(zipfile.ZipFile(wheel).namelist())
    python = install_wheel(wheel, tmp_path / "environment")
    project.write_hook("guard", script="echo no >&2; exit 2")
    assert answer_event(python, "", project) == (2, b"", b"no\n")


@pytest.mark.parametrize("compiler", ["", "#!/bin/sh\nexit 1\n", MAKES_NO_PROGRAM])
def test_a_compiler_that_is_missing_fails_or_makes_nothing_that_runs_leaves_no_file(tmp_path, monkeypatch, compiler):
    if compiler:
        (tmp_path / "cc").write_text(compiler)
        (tmp_path / "cc").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(WITHOUT_CLIENT_VARIABLE, raising=False)
    (tmp_path / "out").mkdir()
    assert build_warm_parts(PACKAGE / "warm", tmp_path / "out") == []
    assert not build_stamps(PACKAGE / "warm/stamps.c", tmp_path / "out/stamps")
    assert list((tmp_path / "out").iterdir()) == []
