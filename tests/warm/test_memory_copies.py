"""A fork copies in advance the memory that an event writes to."""

from __future__ import annotations

import functools
import os
import resource
import sys
from pathlib import Path

from boathook.warm.memory_copies import WrittenMemory, copy_pages, find_own_pages, map_files, merge_pages
from tests.warm.warm_harness import Client, TestResident, wait_until

PAGE = os.sysconf("SC_PAGESIZE")


def _run_in_fork(action) -> bytes:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writing, action())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as file:
        answer = file.read()
    os.waitpid(pid, 0)
    return answer


def _count_copies() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def _covers(ranges: list[tuple[int, int]], address: int) -> bool:
    return any(start <= address < start + size for start, size in ranges)


def test_what_a_fork_has_written_to_is_found_and_copied_in_advance_by_the_next():
    import ctypes

    size = 400 * PAGE
    memory = bytearray(b"x" * size)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))

    def write_and_look() -> bytes:
        # Pages that this process has for itself already: they count only if they are written to again.
        for at in range(size // 4, size, PAGE):
            memory[at] = 1
        written = WrittenMemory()
        for at in range(0, size // 2, PAGE):
            memory[at] = 2
        ranges = merge_pages(find_own_pages())
        written.close()
        return repr([_covers(ranges, start + at) for at in (size // 8, size * 3 // 8, size * 3 // 4)]).encode()

    assert _run_in_fork(write_and_look) == b"[True, True, False]"

    def count_copies_of_writing(is_copied: bool) -> bytes:
        if is_copied:
            copy_pages([(start // PAGE * PAGE, size // 2)])
        before = _count_copies()
        for at in range(0, size // 2, PAGE):
            memory[at] = 1
        return b"%d" % (_count_copies() - before)

    counts = [int(_run_in_fork(functools.partial(count_copies_of_writing, done))) for done in (True, False)]
    assert counts[0] * 4 < counts[1]


def test_the_fork_that_shares_pages_ends_with_the_process_that_asks():
    def begin_and_end() -> bytes:
        WrittenMemory()
        (child,) = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        return child.encode()

    child = int(_run_in_fork(begin_and_end))
    wait_until(lambda: not Path(f"/proc/{child}/stat").exists() or _is_zombie(child), "the end of the fork")


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_a_fork_maps_the_files_of_its_libraries_in_advance():
    def map_and_compare() -> bytes:
        before = _read_mapped_files()
        map_files()
        return repr(_read_mapped_files() > before).encode()

    assert _run_in_fork(map_and_compare) == b"True"


def _read_mapped_files() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssFile:"))


def test_memory_that_is_not_there_is_left_out():
    import ctypes

    size = 200 * PAGE
    memory = bytearray(b"x" * size)
    start = (ctypes.addressof(ctypes.c_char.from_buffer(memory)) // PAGE + 1) * PAGE

    pages = {*range(start // PAGE, start // PAGE + 198)}

    def copy_and_look() -> bytes:
        copy_pages([(PAGE, PAGE), (1 << 46, PAGE), (start, 100 * PAGE)])
        return b"%d" % len(pages & find_own_pages())

    assert int(_run_in_fork(copy_and_look)) == 100


def test_pages_that_follow_each_other_are_one_piece_of_memory():
    assert merge_pages({7, 3, 4, 9, 8}) == [(3 * PAGE, 2 * PAGE), (7 * PAGE, 3 * PAGE)]
    assert merge_pages(set()) == []


def test_of_the_forks_that_wait_only_the_next_one_has_copies(project, resident, patient_client):
    project.write_hook("guard", script="echo no >&2; exit 2")
    client = Client(project, patient_client)
    for _ in range(5):
        assert client.run({"tool_name": "Shell", "tool_input": {"command": "ls"}}, "--event", "PreToolUse")[0] == 2
        wait_until(lambda: resident.find_status()["waiting_forks"] == 2, "forks that wait")
        wait_until(lambda: resident.find_status()["running"] == 0, "the end of the event")
    children = Path(f"/proc/{resident.process.pid}/task/{resident.process.pid}/children").read_text().split()

    def has_one_copies() -> bool:
        fewest, most = sorted(_measure_own_bytes(int(pid)) for pid in children)
        return fewest + (1 << 20) < most

    wait_until(has_one_copies, "copies in one fork and not in the other")


def _measure_own_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Private_Dirty:"))


# Starts a resident that copies nothing of its own memory in advance.
WITHOUT_COPIES = """
import runpy, sys
sys.argv = sys.argv[1:]
sys.path[0] = sys.argv[0].rpartition("/boathook/")[0]
import site
site.main()
import boathook.warm.standby_pool
boathook.warm.standby_pool.copy_pages = lambda ranges: None
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_the_resident_copies_in_advance_what_it_writes_to_itself(project, patient_client, tmp_path):
    project.write_hook("guard", "echo no >&2; exit 2", fields={"matcher": "{pattern: deploy}"})
    script, python = tmp_path / "without.py", tmp_path / "python"
    script.write_text(WITHOUT_COPIES)
    # It is called as an interpreter is: -I -S ENTRY OPTIONS.
    python.write_text(f'#!/bin/sh\nshift 2\nexec {sys.executable} -I -S {script} "$@"\n')
    python.chmod(0o755)
    with_copies = _count_copies_of_rounds(project, patient_client, sys.executable)
    without_copies = _count_copies_of_rounds(project, patient_client, str(python))
    # On a busy machine a round may be counted before the fork was replaced, or while it is.
    assert min(with_copies) * 2 < max(without_copies)


def _count_copies_of_rounds(project, client_path: str, python: str) -> list[int]:
    """Return how many pages a resident copies for an event that it answers itself, after it has replaced a fork."""
    client, counts = Client(project, client_path), []
    resident = TestResident(project.state, "--config", str(project.config), python=python)
    try:
        # At first a fork answers, because the files of the hook are too new to be certain of them.
        wait_until(lambda: _run_command(client, "ls", 0) or resident.find_status()["answered"], "an answer of its own")
        forked = resident.find_status()["forked"]
        for _ in range(8):
            _run_command(client, "deploy", 2)
            before = _wait_for_calm(resident.process.pid)
            _run_command(client, "ls", 0)
            counts.append(_count_copies_of(resident.process.pid) - before)
        assert resident.find_status()["forked"] == forked + len(counts)
    finally:
        resident.end()
    return counts


def _run_command(client: Client, command: str, code: int) -> None:
    event = {"tool_name": "Shell", "tool_input": {"command": command}}
    assert client.run(event, "--event", "PreToolUse")[0] == code


def _wait_for_calm(pid: int) -> int:
    """Wait until a process writes to no new memory; return how many pages it has written to so far."""
    count = -1

    def is_calm() -> bool:
        nonlocal count
        before, count = count, _count_copies_of(pid)
        return before == count

    wait_until(is_calm, "a resident that does nothing")
    return count


def _count_copies_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[7])
