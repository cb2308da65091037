"""The resident is killed at every moment, replaced under its callers, or has a disk and a clock that fail it."""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import time
import types
from pathlib import Path

import pytest

import boathook
from boathook.catalog_cache.format import is_fresh
from boathook.entry import warm_start
from boathook.warm import source_watch
from boathook.warm.source_watch import SourceWatch
from tests.warm.warm_harness import PACKAGE, Client, TestResident, wait_for_age

EVENT = ("--event", "PreToolUse", "--broken", "2", "--repair", "start again")
CALL = {"tool_name": "Shell", "tool_input": {"command": "deploy"}}
# Each event has a number, by which runs of the hook are counted.
COUNTING = 'grep -o "number-[0-9]*" >> "$HOME/runs"; echo no >&2; exit 2'
BROKEN = b"boathook cannot answer (the warm engine ended before it answered), so no hook decided. Fix: start again\n"


def kill_at_random(project, client: str, *, events: int) -> tuple[int, int]:
    """Kill the resident of each event at some moment; return how many were answered, and how many the client refused."""
    project.write_hook("guard", script=COUNTING)
    drawn, answered, refused = random.Random(18), 0, 0
    for number in range(events):
        resident = TestResident(project.state)
        call = {**CALL, "tool_input": {"command": f"number-{number}."}}
        with Client(project, client).start(*EVENT) as process:
            process.stdin.write(json.dumps(call).encode())
            process.stdin.flush()
            if drawn.random() < 0.7:
                process.stdin.close()
            time.sleep(drawn.uniform(0, 0.06))
            resident.process.kill()
            resident.process.wait()
            process.stdin.close()
            out, err = process.stdout.read(), process.stderr.read()
        assert (process.returncode, out) == (2, b"")
        assert err in (b"no\n", BROKEN)
        answered, refused = answered + (err == b"no\n"), refused + (err == BROKEN)
    return answered, refused


def check_runs(project, events: int, answered: int) -> None:
    """No event ran twice, and every answer of the hook is one of its runs."""
    path = project.home / "runs"
    runs = path.read_text().split() if path.exists() else []
    assert len(runs) == len(set(runs))
    assert answered <= len(runs) <= events
    records = project.run("log", "--json", "-n", "1000").stdout.count('"decision": "block"')
    assert records >= answered


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_a_hundred_kills_at_any_moment_lose_no_block_and_run_nothing_twice(project, patient_client):
    answered, refused = kill_at_random(project, patient_client, events=100)
    assert answered + refused == 100
    check_runs(project, 100, answered)


def test_where_nothing_can_be_written_the_answer_is_that_of_the_cold_path(project, resident, patient_client, cold):
    project.write_hook("guard", script="echo no >&2; exit 2")
    # No file may grow, which is what a full disk comes to.
    full = ("sh", "-c", 'ulimit -f 0; exec "$@"', "sh")
    warm_answer = Client(project, patient_client).run(CALL, *EVENT, before=full)
    assert resident.count_events() == 1
    assert warm_answer == cold.run(CALL, *EVENT, before=full)
    assert warm_answer[0] == 2


def test_without_a_folder_for_its_socket_no_resident_starts_and_events_are_answered(project, cold, tmp_path):
    project.write_hook("guard", script="echo no >&2; exit 2")
    project.state.mkdir(parents=True)
    (project.state / "warm").write_text("a file")
    resident = TestResident(project.state)
    assert resident.end() != 0
    assert cold.run(CALL, *EVENT) == (2, b"", b"no\n")


# The clock.


def test_a_start_in_the_future_does_not_keep_a_resident_from_starting(tmp_path, monkeypatch):
    for name in warm_start.UNWANTED_VARIABLES:
        monkeypatch.delenv(name.decode(), raising=False)
        monkeypatch.delitem(os.environb._data, name, raising=False)
        monkeypatch.delitem(warm_start.system.environ, name, raising=False)
    folder = tmp_path / "warm"
    assert warm_start._is_wanted(str(tmp_path))
    assert not warm_start._is_wanted(str(tmp_path))
    for jump in (3600, -3600):
        os.utime(folder, (time.time() + jump, time.time() + jump))
        assert warm_start._is_wanted(str(tmp_path))


def test_a_resident_that_started_before_its_modules_were_written_answers_no_one():
    newest = max(path.stat().st_ctime for path in PACKAGE.rglob("*.py"))
    assert SourceWatch([], time.time() + 10).is_current()
    assert not SourceWatch([], newest - 3600).is_current()


def test_modules_that_come_with_the_interpreter_are_not_looked_at_apart():
    folder = os.path.dirname(os.__file__)
    for path, is_left_out in (
        (os.__file__, True),
        (f"{folder}/lib-dynload/_socket.so", True),
        (f"{folder}/site-packages/yaml/__init__.py", False),
        (f"{folder}2/yaml.py", False),
        (boathook.__file__, False),
    ):
        assert source_watch._is_of_interpreter(path) == is_left_out, path


@pytest.mark.parametrize("has_library", [True, False])
def test_a_changed_library_of_others_is_noticed(tmp_path, monkeypatch, has_library):
    path = tmp_path / "library.py"
    path.write_text("one = 1\n")
    library = types.ModuleType("library")
    library.__file__ = str(path)
    monkeypatch.setitem(sys.modules, "library", library)
    # In place of the library in C, which only some machines can build.
    packed = []

    def pack_looks(watch):
        packed.extend(watch)
        return lambda: is_fresh(watch)

    watch = SourceWatch([], time.time() + 10, pack_looks if has_library else None)
    monkeypatch.setattr(source_watch, "_ALL_SECONDS", 0.0)
    assert watch.is_current()
    path.write_text("one = 11\n")
    assert not watch.is_current()
    assert bool(packed) == has_library


# Another version under it.


@pytest.fixture
def copied_package(tmp_path) -> Path:
    """A copy of the package, old enough to be certain of."""
    package = tmp_path / "lib/boathook"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    wait_for_age(package)
    return package


@pytest.mark.parametrize("name", ["version.py", pytest.param("entry/hook_entry.py", marks=pytest.mark.long)])
def test_an_upgraded_package_is_not_answered_by_the_old_one(project, patient_client, copied_package, name):
    project.write_hook("guard", script="echo no >&2; exit 2")
    resident = TestResident(project.state, package=copied_package)
    client = Client(project, patient_client, package=copied_package)
    try:
        assert client.run(CALL, *EVENT) == (2, b"", b"no\n")
        assert resident.count_events() == 1
        changed = copied_package / name
        changed.write_text(changed.read_text() + "\n# newer\n")
        assert client.run(CALL, *EVENT) == (2, b"", b"no\n")
        # The question itself lets it see that it is out of date.
        assert resident.find_status() == {}
        assert resident.process.wait(60) == 0
        assert not list((project.state / "warm").iterdir())
    finally:
        resident.end()


@pytest.mark.long
def test_a_package_that_is_gone_means_the_answer_of_a_broken_engine(project, patient_client, copied_package):
    project.write_hook("guard", script="echo no >&2; exit 2")
    resident = TestResident(project.state, package=copied_package)
    try:
        shutil.rmtree(copied_package)
        code, out, _ = Client(project, patient_client, package=copied_package).run(CALL, *EVENT)
        assert (code, out) == (2, b"")
    finally:
        resident.end()
