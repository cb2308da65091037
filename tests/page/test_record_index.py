"""What the page keeps of the ledger: all that `LedgerReader` reads, the newest first, and never too much of it."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from boathook.ledger.reader import LedgerReader
from boathook.ledger.writer import SPILL_NAME, Ledger, make_segment_name
from boathook.page.record_index import RecordIndex
from boathook.page.record_lines import find_last_line_end, read_lines_backwards
from tests.hook_tests.test_ledger_case import make_hook
from tests.page.made_ledger import load_all, make_pack_record, make_record, write_records

SEGMENT = make_segment_name("2026-03-01")


def list_ids(index: RecordIndex) -> list[str]:
    return [row.id for row in index.list_rows()]


def load_index(folder: Path, **options) -> RecordIndex:
    index = RecordIndex(str(folder), **options)
    load_all(index)
    return index


def test_the_index_has_what_the_reader_of_the_ledger_reads(tmp_path: Path) -> None:
    write_records(tmp_path, map(make_record, range(600)))
    segment = tmp_path / SEGMENT
    lines = segment.read_bytes().splitlines(keepends=True)
    broken = [b"\n", b"not a record\n", b'{"v": 1, "id": "x"}\n', b"\xff\xfe\n", b'{"a": "' + b"x" * 70_000 + b'"}\n']
    segment.write_bytes(b"".join((*lines[:300], *broken, *lines[300:])))
    spilled = [make_record(1000 + number, time=make_record(number)["time"]) for number in (5, 400)]
    (tmp_path / SPILL_NAME).write_text("".join(json.dumps(one) + "\n" for one in spilled))
    reader, index = LedgerReader(str(tmp_path)), load_index(tmp_path)
    records = list(reader.read())
    assert len(records) == 602
    assert sorted(list_ids(index)) == sorted(record["id"] for record in records)
    assert [row.time for row in index.list_rows()] == sorted((record["time"] for record in records), reverse=True)
    assert index.describe_state().invalid_lines == reader.invalid_lines == 4
    whole = {record["id"]: record for record in records}
    assert all(index.read_record(row) == whole[row.id] for row in index.list_rows())


def test_the_newest_records_are_there_before_the_oldest_are_read(tmp_path: Path) -> None:
    write_records(tmp_path, map(make_record, range(3000)))
    index = RecordIndex(str(tmp_path))
    state = index.describe_state()
    assert next(index.list_rows()).id == make_record(2999)["id"]
    assert (50 < state.rows < 1000, state.is_complete) == (True, False)
    load_all(index)
    assert list_ids(index) == [make_record(number)["id"] for number in range(2999, -1, -1)]


@pytest.mark.parametrize("block", [1, 700, 900, 5000, 1 << 20])
def test_lines_are_read_backwards_whole_and_once_for_any_size_of_a_block(tmp_path: Path, block: int) -> None:
    write_records(tmp_path, map(make_record, range(20)))
    path = tmp_path / SEGMENT
    # A writer is in the middle of a line.
    path.write_bytes(path.read_bytes() + b'{"v": 1')
    end = find_last_line_end(str(tmp_path), SEGMENT)
    blocks = list(read_lines_backwards(str(tmp_path), SEGMENT, end, block))
    lines = [one for lines in reversed(blocks) for one in lines]
    assert b"".join(one.line for one in lines) + b'{"v": 1' == path.read_bytes()
    assert all(path.read_bytes()[one.offset :].startswith(one.line) for one in lines)


def test_new_records_come_in_their_order_and_half_a_line_waits_for_its_end(tmp_path: Path) -> None:
    write_records(tmp_path, map(make_record, range(3)))
    path = tmp_path / SEGMENT
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    index = load_index(tmp_path)
    assert (index.describe_state().rows, index.poll()) == (2, False)
    path.write_bytes(whole)
    position = index.position
    assert index.poll()
    ledger = Ledger(str(tmp_path))
    for number in (7, 8):
        assert ledger.append(make_record(number)) == ""
    assert index.poll()
    new = [make_record(number)["id"] for number in (2, 7, 8)]
    assert [row.id for row in index.list_rows_after(position)[0]] == new
    assert list_ids(index)[:3] == new[::-1]
    assert not index.poll()
    assert index.describe_state().invalid_lines == 0


def test_there_are_never_more_rows_than_the_limit_and_the_newest_stay(tmp_path: Path) -> None:
    write_records(tmp_path, map(make_record, range(700)))
    index = load_index(tmp_path, max_rows=400)
    assert index.describe_state().is_cut
    ledger = Ledger(str(tmp_path))
    for number in range(700, 1200):
        ledger.append(make_record(number))
        if number % 90 == 0:
            index.poll()
    index.poll()
    assert index.describe_state().rows == 400
    assert list_ids(index) == [make_record(number)["id"] for number in range(1199, 799, -1)]
    assert index.list_rows_after(499)[1] == index.position == 500
    assert [row.id for row in index.list_rows_after(498)[0]] == [make_record(number)["id"] for number in (1198, 1199)]


def test_a_record_whose_file_was_removed_or_replaced_is_not_shown_as_another(tmp_path: Path) -> None:
    write_records(tmp_path, map(make_record, range(2)))
    index = load_index(tmp_path)
    row = index.find_row(make_record(0)["id"])
    assert row is not None
    write_records(tmp_path, [make_record(5)])
    assert index.read_record(row) is None
    os.unlink(tmp_path / SEGMENT)
    assert index.read_record(row) is None


def test_a_record_is_found_by_the_beginning_of_its_id_if_no_other_begins_so(tmp_path: Path) -> None:
    write_records(
        tmp_path, [make_record(1, id="aa1"), make_record(2, id="aa2"), make_record(3, id="b3"), make_record(4, id="b")]
    )
    (tmp_path / SPILL_NAME).write_text(json.dumps(make_record(9, id="aa1", tool="Forged")) + "\n")
    index = load_index(tmp_path)
    found = {prefix: index.find_row(prefix) for prefix in ("aa1", "aa", "b", "b3", "c", "")}
    assert {prefix: row and row.id for prefix, row in found.items()} == {
        "aa1": "aa1",
        "aa": None,
        "b": "b",
        "b3": "b3",
        "c": None,
        "": None,
    }
    assert found["aa1"] is not None
    assert found["aa1"].tool == "Shell"


def test_sums_do_not_count_what_anybody_can_have_added(tmp_path: Path) -> None:
    write_records(tmp_path, map(make_record, range(10)))
    (tmp_path / SPILL_NAME).write_text(json.dumps(make_record(9, id="forged")) + "\n")
    index = load_index(tmp_path)
    sums, key = index.sums, ("no-force-push", "/home/me/hooks/no-force-push/HOOK.md")
    assert sums.hooks[key].to_json()["runs"] == 10
    assert sums.hooks[key].blocks == 1
    assert {name: one.count for name, one in sums.hosts.items()} == {"claude": 4, "codex": 3, "gemini": 3}
    hook = make_hook().replace(name=key[0], path=key[1])
    (runs,) = index.history.list_run_times(hook, "claude")
    assert (len(runs.runs), runs.record) == (4, make_record(9)["id"])
    assert (sums.sessions["session-0"].events, sums.sessions["session-0"].objections) == (10, 1)


def test_a_ledger_that_is_not_there_yet_is_followed_from_its_first_record(tmp_path: Path) -> None:
    index = load_index(tmp_path / "state")
    assert index.describe_state().rows == 0
    Ledger(str(tmp_path / "state")).append(make_record(1))
    assert index.poll()
    assert list_ids(index) == [make_record(1)["id"]]


FIRST_SCREEN = """
import resource, sys, time
from boathook.page.page_context import PageContext
from boathook.page.screen_rows import SCREENS
started = time.process_time()
context = PageContext("http://127.0.0.1:1", None, sys.argv[1])
assert len(SCREENS[0].make(context, {})) > 100
assert len(SCREENS[1].make(context, {})) > 100
print(time.process_time() - started)
if len(sys.argv) > 2:
    import starlette.applications, starlette.responses, uvicorn
    while not context.index.describe_state().is_complete:
        context.index.load_chunk(sys.maxsize)
    assert context.index.describe_state().rows == 100_000
    if sys.platform == "linux":
        # What `getrusage` has counts the process that started this one, too.
        print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024)
    else:
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20))
"""


@pytest.mark.long
def test_the_first_screen_with_a_hundred_times_the_records_costs_at_most_half_as_much_again(project, tmp_path) -> None:
    few, many = tmp_path / "few", tmp_path / "many"
    write_records(few, map(make_pack_record, range(1000)))
    write_records(many, map(make_pack_record, range(100_000)))

    def run(folder: Path, *more: str) -> list[float]:
        argv = [sys.executable, "-c", FIRST_SCREEN, str(folder), *more]
        done = subprocess.run(argv, capture_output=True, text=True, env=project.environment, check=True)
        return [float(line) for line in done.stdout.split()]

    ratios = [run(many)[0] / run(few)[0] for _ in range(7)]
    assert statistics.median(ratios) <= 1.5, ratios
    # Megabytes, with all records and the server.
    assert run(many, "all")[1] < 150
