"""A fork copies in advance the memory that an event writes to."""

from __future__ import annotations

import functools
import os
import resource
from pathlib import Path

from boathook.warm.page_copies import copy_pages, find_own_pages, merge_pages
from tests.warm.warm_harness import Client, wait_until

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
        for at in range(0, size // 2, PAGE):
            memory[at] = 1
        ranges = merge_pages(find_own_pages())
        return repr([_covers(ranges, start + at) for at in (size // 4, size * 3 // 4)]).encode()

    assert _run_in_fork(write_and_look) == b"[True, False]"

    def count_copies_of_writing(is_copied: bool) -> bytes:
        if is_copied:
            copy_pages([(start // PAGE * PAGE, size // 2)])
        before = _count_copies()
        for at in range(0, size // 2, PAGE):
            memory[at] = 1
        return b"%d" % (_count_copies() - before)

    counts = [int(_run_in_fork(functools.partial(count_copies_of_writing, done))) for done in (True, False)]
    assert counts[0] * 4 < counts[1]


def test_memory_that_is_not_there_is_left_out():
    copy_pages([(PAGE, PAGE), (1 << 46, PAGE)])


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
