"""Which processes `pkill` and `killall` would end, looked up on this machine."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from boathook.shell import read_command
from tests.packs.standard_guards import PACK

_NAME = f"boathook-sleeper-{os.getpid()}"
# Elsewhere nothing shows in which folder a process works.
_SHOWS_FOLDERS = os.path.exists("/proc/self/cwd")


@pytest.fixture
def running_processes(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(PACK / "lib"))
    return importlib.import_module("running_processes")


@pytest.fixture
def ends_only_own(running_processes: Any) -> Callable[..., bool]:
    def ask(text: str, *folders: Path) -> bool:
        return bool(running_processes.ends_only_own(read_command(text).programs[-1], [*map(str, folders)]))

    return ask


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[Path]:
    """Start a process that works in a folder, and that nobody has in a terminal; return the folder."""
    words = [_NAME, "-c", "import sys; print(flush=True); sys.stdin.read()"]
    with subprocess.Popen(
        words,
        executable=sys.executable,
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield tmp_path
        assert process.stdin is not None
        process.stdin.close()


def test_a_process_of_the_project_may_be_ended_by_its_name(sleeper: Path, ends_only_own: Any) -> None:
    assert ends_only_own(f"pkill -f {_NAME}", sleeper) is _SHOWS_FOLDERS
    assert ends_only_own(f"pkill -9 -f '^{_NAME} -c'", sleeper.parent) is _SHOWS_FOLDERS


def test_the_process_that_the_agent_started_and_those_above_it_are_not_its_own(
    sleeper: Path, ends_only_own: Any, running_processes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In the warm engine these are not above a hook.
    pid = next(one.pid for one in running_processes._list_processes() if _NAME in one.words)
    monkeypatch.setenv("BOATHOOK_CALLER", str(pid))
    assert not ends_only_own(f"pkill -f {_NAME}", sleeper)
    for text in ("", "x", "9" * 40):
        monkeypatch.setenv("BOATHOOK_CALLER", text)
        assert ends_only_own(f"pkill -f {_NAME}", sleeper) is _SHOWS_FOLDERS


def test_a_process_of_another_project_is_somebody_elses(sleeper: Path, ends_only_own: Any) -> None:
    assert not ends_only_own(f"pkill -f {_NAME}", sleeper / "other")


def test_a_name_that_no_process_has_ends_nothing(ends_only_own: Any) -> None:
    assert ends_only_own("pkill nobody-has-this-name")
    assert ends_only_own("killall -9 nobody-has-this-name")


def test_what_cannot_be_looked_up_is_not_own(ends_only_own: Any) -> None:
    commands = (
        "pkill -u root",
        "pkill -f '(a+)+b'",
        'pkill "$NAME"',
        "pkill -v no-such-name",
        "ssh web1 pkill no-such-name",
    )
    assert [command for command in commands if ends_only_own(command, Path("/"))] == []


def test_the_processes_above_are_the_agents(
    running_processes: Any, ends_only_own: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = running_processes.RunningProcess(os.getpid(), "agent", "agent --work", has_terminal=False)
    monkeypatch.setattr(running_processes, "_list_processes", lambda: iter([process]))
    assert not ends_only_own("pkill agent", Path.cwd())
