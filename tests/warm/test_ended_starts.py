"""What happens to a resident that is stopped, changed or left without its folder while it starts."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from boathook.warm import resident_control
from boathook.warm.resident_control import stop_residents
from boathook.warm.warm_folder import lock_folder
from tests.warm.warm_harness import PACKAGE, PATIENCE_SECONDS, wait_until


def is_locked(state: Path) -> bool:
    try:
        folder = os.open(state / "warm", os.O_PATH)
    except FileNotFoundError:
        return False
    try:
        with lock_folder(folder):
            return False
    except BlockingIOError:
        return True
    finally:
        os.close(folder)


def is_rehearsing(state: Path) -> bool:
    return (state / "warm/rehearsal/project").exists()


@contextmanager
def interrupt_start(state: Path, config: Path, is_reached: Callable[[Path], bool]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a resident that is halted at some point before it listens; it goes on after the block."""
    entry = str(PACKAGE / "warm/resident_entry.py")
    words = [sys.executable, "-I", "-S", entry, "--state", str(state), "--config", str(config)]
    process = _start_until(words, state, is_reached)
    # On a busy machine it may have gone on before it was halted.
    while not is_reached(state):
        process.kill()
        process.wait()
        shutil.rmtree(state)
        process = _start_until(words, state, is_reached)
    try:
        yield process
        process.send_signal(signal.SIGCONT)
        process.wait(PATIENCE_SECONDS)
    finally:
        process.kill()
        process.wait()


def _start_until(words: list[str], state: Path, is_reached: Callable[[Path], bool]) -> subprocess.Popen[bytes]:
    state.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen(words, env={}, start_new_session=True, cwd="/", stdin=subprocess.DEVNULL)
    wait_until(lambda: is_reached(state) or process.poll() is not None, "the point to halt at")
    process.send_signal(signal.SIGSTOP)
    return process


def test_one_that_starts_is_stopped_when_it_listens(tmp_path, monkeypatch):
    monkeypatch.setattr(resident_control, "_STOP_SECONDS", PATIENCE_SECONDS)
    with interrupt_start(tmp_path / "state", tmp_path, is_rehearsing) as process:
        threading.Timer(0.1, lambda: process.send_signal(signal.SIGCONT)).start()
        assert [one.pid for one in stop_residents(str(tmp_path / "state"))] == [process.pid]
    assert process.returncode == 0
    assert list((tmp_path / "state").iterdir()) == []


def test_one_that_hangs_while_it_starts_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(resident_control, "_STOP_SECONDS", 0.0)
    with interrupt_start(tmp_path / "state", tmp_path, is_rehearsing) as process:
        assert stop_residents(str(tmp_path / "state")) == []
        assert is_rehearsing(tmp_path / "state")
        process.send_signal(signal.SIGTERM)


def test_hooks_toml_that_is_changed_while_it_starts_ends_it(tmp_path):
    hooks_toml = tmp_path / "hooks.toml"
    hooks_toml.write_text('[hooks]\nwarm = "on"\n')
    with interrupt_start(tmp_path / "state", tmp_path, is_locked) as process:
        hooks_toml.write_text("[hooks]\n")
    assert process.returncode == 1
    assert list((tmp_path / "state/warm").iterdir()) == []


def test_one_that_is_ended_while_it_rehearses_leaves_no_file(tmp_path):
    with interrupt_start(tmp_path / "state", tmp_path, is_rehearsing) as process:
        process.send_signal(signal.SIGTERM)
    assert process.returncode == -signal.SIGTERM
    assert list((tmp_path / "state/warm").iterdir()) == []


def test_what_a_killed_one_has_left_is_removed_when_residents_are_stopped(tmp_path):
    with interrupt_start(tmp_path / "state", tmp_path, is_rehearsing) as process:
        process.kill()
    assert is_rehearsing(tmp_path / "state")
    assert stop_residents(str(tmp_path / "state")) == []
    assert list((tmp_path / "state").iterdir()) == []


@pytest.mark.parametrize("is_reached", [is_locked, is_rehearsing])
def test_a_folder_that_is_removed_while_it_starts_is_not_made_again(tmp_path, is_reached):
    with interrupt_start(tmp_path / "state", tmp_path, is_reached) as process:
        shutil.rmtree(tmp_path / "state")
    assert process.returncode == 1
    assert not (tmp_path / "state").exists()
