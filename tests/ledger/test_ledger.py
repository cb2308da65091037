"""The ledger: chained, bounded, private, never in the way, and honest about what happened to it."""

from __future__ import annotations

import json
import os
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boathook.ledger import writer as module
from boathook.ledger.reader import LedgerProblem, LedgerReader, LedgerReport, verify_chain
from boathook.ledger.record import MAX_RECORD_BYTES
from boathook.ledger.writer import (
    LOCK_NAME,
    NOT_A_SEGMENT,
    SPILL_NAME,
    Ledger,
    list_segments,
    make_segment_name,
    parse_segment_name,
)
from tests.example_counts import count_examples

DAY = 86400.0
NOON = 1_800_000_000.0  # 2027-01-15


def a_record(number: int = 0, **more):
    at = f"2027-01-15T{number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d}.000Z"
    return {"v": 1, "id": f"{number:012x}", "time": at, "type": "dispatch", "n": number, **more}


def at_noon(folder, **options) -> Ledger:
    return Ledger(str(folder), now=lambda: NOON, **options)


def filled(folder: Path, count: int = 3, **options) -> Path:
    """Return the segment of a ledger with some records."""
    found = [at_noon(folder, **options).append(a_record(number)) for number in range(count)]
    assert found == [""] * count
    return folder / "ledger-2027-01-15.jsonl"


def numbers(folder) -> list[int]:
    return [record["n"] for record in LedgerReader(str(folder)).read()]


def findings(folder) -> list[tuple[str, str]]:
    return [(finding.place, finding.kind) for finding in verify_chain(str(folder)).findings]


def test_a_record_is_a_line_that_ends_with_its_link(tmp_path):
    path = filled(tmp_path, 2)
    first, second = path.read_bytes().splitlines(keepends=True)
    one, two = json.loads(first), json.loads(second)
    assert first.endswith(f',"prev":"{"0" * 64}","hash":"{one["hash"]}"}}\n'.encode())
    assert (one["seq"], two["seq"], two["prev"]) == (1, 2, one["hash"])
    assert {key: one[key] for key in a_record()} == a_record()


def test_files_and_folder_are_private(tmp_path):
    path = filled(tmp_path / "made", 1)
    found = {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in path.parent.iterdir()}
    assert found == {path.name: 0o600, LOCK_NAME: 0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_an_untouched_ledger_verifies(tmp_path):
    path = filled(tmp_path, 3)
    last = json.loads(path.read_bytes().splitlines()[-1])
    assert verify_chain(str(tmp_path)) == LedgerReport(segments=1, records=3, first=1, last=3, hash=last["hash"])


def test_a_ledger_that_is_not_there_is_empty(tmp_path):
    assert (verify_chain(str(tmp_path)), verify_chain(str(tmp_path / "no"))) == (LedgerReport(), LedgerReport())
    assert list(LedgerReader(str(tmp_path / "no")).read()) == []


# What somebody did to it


def change(path: Path, number: int, edit) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    lines[number - 1 : number] = edit(lines[number - 1])
    path.write_bytes(b"".join(lines))


DONE = {
    "an edit": (2, lambda line: [line.replace(b'"n": 1', b'"n": 7')], [(":2", "edited")]),
    "a removed record": (2, lambda line: [], [(":2", "gap")]),
    "a doubled record": (2, lambda line: [line, line], [(":3", "gap")]),
    "an added record": (
        2,
        lambda line: [line, b'{"id": "x", "time": "2026-03-01T00:00:00.000Z", "type": "dispatch"}\n'],
        [(":3", "foreign")],
    ),
    "a first one removed": (1, lambda line: [], [(":1", "gap")]),
    "a last one removed": (4, lambda line: [], [("", "missing")]),
    "half of the last one": (4, lambda line: [line[:50]], [("", "missing")]),
    "garbage in the middle": (2, lambda line: [b"\xff\xfe garbage\n"], [(":2", "foreign"), (":3", "gap")]),
}


@pytest.mark.parametrize(("number", "edit", "expected"), DONE.values(), ids=DONE)
def test_verify_reports_where_the_ledger_was_changed(tmp_path, number, edit, expected):
    path = filled(tmp_path, 4)
    change(path, number, edit)
    assert findings(tmp_path) == [(path.name + place, kind) for place, kind in expected]


@pytest.mark.parametrize(("number", "edit", "expected"), DONE.values(), ids=DONE)
def test_what_was_done_is_seen_after_more_was_written_too(tmp_path, number, edit, expected):
    path = filled(tmp_path, 4)
    change(path, number, edit)
    assert at_noon(tmp_path).append(a_record(9)) == ""
    assert findings(tmp_path) != []
    assert numbers(tmp_path)[-1] == 9


def test_an_edit_with_a_new_hash_breaks_the_link_of_the_next_record(tmp_path):
    path = filled(tmp_path, 3)

    def forge(line: bytes) -> list[bytes]:
        text = line.rpartition(b',"hash":"')[0].replace(b'"n": 1', b'"n": 7')
        return [text + b',"hash":"' + module.sha256(text).hexdigest().encode() + b'"}\n']

    change(path, 2, forge)
    message = "record 3 does not follow the record before it"
    assert verify_chain(str(tmp_path)).findings == (LedgerProblem(f"{path.name}:3", "gap", message),)


def test_a_chain_written_anew_is_not_the_one_that_the_head_knows(tmp_path):
    path = filled(tmp_path / "a", 3)
    for number in range(3):
        at_noon(tmp_path / "b").append(a_record(number, forged=True))
    path.write_bytes((tmp_path / "b" / path.name).read_bytes())
    assert findings(tmp_path / "a") == [(f"{path.name}:3", "rewritten")]


def test_a_segment_removed_from_the_middle_is_a_gap_across_segments(tmp_path):
    for day in range(3):
        Ledger(str(tmp_path), now=lambda day=day: NOON + day * DAY).append(a_record(day))
    (tmp_path / "ledger-2027-01-16.jsonl").unlink()
    assert findings(tmp_path) == [("ledger-2027-01-17.jsonl:1", "gap")]


def test_a_removed_first_segment_is_missed_because_no_record_notes_its_removal(tmp_path):
    for day in range(2):
        Ledger(str(tmp_path), now=lambda day=day: NOON + day * DAY).append(a_record(day))
    (tmp_path / "ledger-2027-01-15.jsonl").unlink()
    message = "record 1 is missing, and no record says that they were removed for their size"
    assert verify_chain(str(tmp_path)).findings == (LedgerProblem("ledger-2027-01-16.jsonl:1", "gap", message),)


def test_foreign_files_are_named(tmp_path):
    filled(tmp_path, 1)
    (tmp_path / "ledger-old.jsonl").write_text("")
    (tmp_path / "ledger-2027-01-14.jsonl").symlink_to("/etc/passwd")
    (tmp_path / "sessions").mkdir()
    assert findings(tmp_path) == [("ledger-2027-01-14.jsonl", "foreign"), ("ledger-old.jsonl", "foreign")]


# What happened to writers


def test_a_line_of_a_writer_that_was_ended_is_closed_and_the_chain_goes_on(tmp_path):
    path = filled(tmp_path, 2)
    with path.open("ab") as file:
        file.write(b'{"v": 1, "id": "half')
    assert at_noon(tmp_path).append(a_record(2)) == ""
    report = verify_chain(str(tmp_path))
    assert (report.findings, report.torn, report.records) == ((), (f"{path.name}:3",), 3)
    reader = LedgerReader(str(tmp_path))
    assert ([record["n"] for record in reader.read()], reader.invalid_lines) == ([0, 1, 2], 1)


def test_a_writer_that_died_behind_its_write_is_followed(tmp_path):
    path = filled(tmp_path, 1)
    head = (tmp_path / LOCK_NAME).read_bytes()
    filled_more = at_noon(tmp_path).append(a_record(1))
    (tmp_path / LOCK_NAME).write_bytes(head)  # it died before it could keep the head
    assert (filled_more, at_noon(tmp_path).append(a_record(2)), findings(tmp_path)) == ("", "", [])
    assert numbers(tmp_path) == [0, 1, 2]
    assert path.exists()


@pytest.mark.parametrize("junk", [b"", b"junk", b"\0" * 192, b"ledger-2027-01-15.jsonl x y z"])
def test_without_a_head_the_last_record_is_found(tmp_path, junk):
    filled(tmp_path, 2)
    (tmp_path / LOCK_NAME).write_bytes(junk)
    message = "the head is missing or unreadable, so records may have been cut from the end"
    assert verify_chain(str(tmp_path)).findings == (LedgerProblem(LOCK_NAME, "missing", message),)
    assert (at_noon(tmp_path).append(a_record(2)), numbers(tmp_path)) == ("", [0, 1, 2])
    message = "the head was lost when record 3 was written, so records may have been cut before it"
    assert verify_chain(str(tmp_path)).findings == (LedgerProblem("ledger-2027-01-15.jsonl:3", "missing", message),)


def test_without_a_head_the_last_record_is_found_in_an_older_segment_too(tmp_path):
    filled(tmp_path, 2)
    (tmp_path / LOCK_NAME).unlink()
    (tmp_path / "ledger-2027-01-16.jsonl").write_bytes(b'{"v": 1')
    assert Ledger(str(tmp_path), now=lambda: NOON + DAY).append(a_record(2)) == ""
    assert numbers(tmp_path) == [0, 1, 2]
    assert findings(tmp_path) == [("ledger-2027-01-16.jsonl:2", "missing")]


def test_a_first_writer_that_died_behind_its_write_is_followed(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_try_write_head", lambda *_: None)
    path = filled(tmp_path, 1)
    assert (findings(tmp_path), path.exists()) == ([], True)
    monkeypatch.undo()
    assert (at_noon(tmp_path).append(a_record(1)), findings(tmp_path), numbers(tmp_path)) == ("", [], [0, 1])


def test_a_short_write_is_taken_back_and_reported(tmp_path, monkeypatch):
    path = filled(tmp_path, 1)
    before = path.read_bytes()
    write = os.write
    monkeypatch.setattr(module.os, "write", lambda handle, data: write(handle, data[: len(data) // 2]))
    reported = at_noon(tmp_path).append(a_record(1))
    assert reported == f"{tmp_path}/ledger cannot be written (not enough space for a whole record): the record is lost"
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert (at_noon(tmp_path).append(a_record(2)), findings(tmp_path), numbers(tmp_path)) == ("", [], [0, 2])


# Segments


def test_a_new_day_is_a_new_segment_and_a_clock_set_back_changes_no_order(tmp_path):
    for number, day in enumerate([0, 1, 0, 2]):
        Ledger(str(tmp_path), now=lambda day=day: NOON + day * DAY).append(a_record(number))
    found = {name: (tmp_path / name).read_text().splitlines() for name in list_segments(str(tmp_path))}
    assert {name: [json.loads(line)["n"] for line in lines] for name, lines in found.items()} == {
        "ledger-2027-01-15.jsonl": [0],
        "ledger-2027-01-16.jsonl": [1, 2],
        "ledger-2027-01-17.jsonl": [3],
    }
    assert findings(tmp_path) == []


def test_a_full_segment_is_followed_by_a_numbered_one(tmp_path):
    filled(tmp_path, 30, segment_limit=700)
    names = list_segments(str(tmp_path))
    assert names[:2] + names[-1:] == [
        "ledger-2027-01-15.jsonl",
        "ledger-2027-01-15.1.jsonl",
        f"ledger-2027-01-15.{len(names) - 1}.jsonl",
    ]
    assert len(names) > 10  # sorted by number, not by letter
    assert max((tmp_path / name).stat().st_size for name in names) <= 700
    assert (findings(tmp_path), numbers(tmp_path)) == ([], list(range(30)))


def test_the_oldest_segments_go_when_all_are_too_large_and_that_is_recorded(tmp_path):
    filled(tmp_path, 60, segment_limit=2000, total_limit=8000)
    report = verify_chain(str(tmp_path))
    assert sum(path.stat().st_size for path in tmp_path.glob("ledger-*")) <= 8000
    assert (report.findings, report.first > 1, report.pruned > 0) == ((), True, True)
    remaining = [record["n"] for record in LedgerReader(str(tmp_path)).read() if record["type"] == "dispatch"]
    assert remaining == list(range(remaining[0], 60))


def test_one_removed_by_hand_after_that_is_missed(tmp_path):
    filled(tmp_path, 60, segment_limit=2000, total_limit=8000)
    oldest = list_segments(str(tmp_path))[0]
    (tmp_path / oldest).unlink()
    assert [kind for _, kind in findings(tmp_path)] == ["gap"]


NAMES = {
    "ledger-2027-01-15.jsonl": ("2027-01-15", 0),
    "ledger-2027-01-15.12.jsonl": ("2027-01-15", 12),
    "ledger-2027-01-15.0.jsonl": NOT_A_SEGMENT,
    "ledger-2027-01-15..jsonl": NOT_A_SEGMENT,
    "ledger-2027-1-15.jsonl": NOT_A_SEGMENT,
    "ledger-spill.jsonl": NOT_A_SEGMENT,
    "ledger.lock": NOT_A_SEGMENT,
    "ledger-2027-01-15.jsonl.bak": NOT_A_SEGMENT,
    "": NOT_A_SEGMENT,
}


def test_names_of_segments_are_read_strictly():
    assert {name: parse_segment_name(name) for name in NAMES} == NAMES
    assert [make_segment_name("2027-01-15"), make_segment_name("2027-01-15", 12)] == list(NAMES)[:2]


# Errors


def test_what_cannot_be_a_folder_is_reported(tmp_path):
    (tmp_path / "file").write_text("")
    reported = Ledger(str(tmp_path / "file" / "below")).append(a_record())
    assert reported == f"{tmp_path}/file/below/ledger cannot be written (Not a directory): the record is lost"


def test_a_record_that_is_too_long_is_reported_and_never_torn(tmp_path):
    assert " cannot hold a record of " in at_noon(tmp_path).append(a_record(x="x" * 70_000))
    assert at_noon(tmp_path).append(a_record(x="x" * (MAX_RECORD_BYTES - 200))) == ""
    assert (findings(tmp_path), numbers(tmp_path)) == ([], [0])


def test_a_lock_that_is_never_released_sends_the_record_aside(tmp_path):
    filled(tmp_path, 1)
    with module.WriterLock(str(tmp_path / LOCK_NAME), 1.0):
        reported = at_noon(tmp_path, lock_seconds=0.1).append(a_record(1))
    why = f"another process has held {LOCK_NAME} for more than 0.1 s"
    assert reported == f"{tmp_path}/ledger cannot be written ({why}): the record went to {SPILL_NAME}"
    assert at_noon(tmp_path).append(a_record(2)) == ""
    assert [(record["n"], "spilled" in record) for record in LedgerReader(str(tmp_path)).read()] == [
        (0, False),
        (1, True),
        (2, False),
    ]
    report = verify_chain(str(tmp_path))
    assert (report.findings, report.records, report.spilled) == ((), 2, 1)


def test_what_was_put_aside_is_bounded_too(tmp_path):
    (tmp_path / SPILL_NAME).write_bytes(b"x" * 1500)
    (tmp_path / LOCK_NAME).mkdir()
    reported = at_noon(tmp_path, segment_limit=1500).append(a_record())
    assert reported == f"{tmp_path}/ledger cannot be written (Is a directory): the record is lost"


# Several writers, and readers


def test_threads_take_turns(tmp_path):
    troubles = []

    def write(worker: int) -> None:
        ledger = Ledger(str(tmp_path), lock_seconds=30.0)
        troubles.extend(ledger.append(a_record(worker * 100 + at)) for at in range(50))

    workers = [threading.Thread(target=write, args=(worker,)) for worker in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    report = verify_chain(str(tmp_path))
    assert (set(troubles), report.records, report.findings) == ({""}, 400, ())


def test_records_come_in_the_order_of_time_from_a_time_on(tmp_path):
    for number in (0, 2, 1, 5, 4):
        at_noon(tmp_path).append(a_record(number))
    (tmp_path / SPILL_NAME).write_text(json.dumps(a_record(3, spilled=True)) + "\n[1]\n")
    reader = LedgerReader(str(tmp_path))
    assert ([record["n"] for record in reader.read()], reader.invalid_lines) == ([0, 1, 2, 3, 4, 5], 1)
    assert [record["n"] for record in reader.read(since=a_record(3)["time"])] == [3, 4, 5]
    assert list(reader.read(since="2027-01-16")) == []


def test_a_reader_follows_across_segments(tmp_path):
    filled(tmp_path, 2)
    reader = LedgerReader(str(tmp_path))
    assert [record["n"] for record in reader.read()] == [0, 1]
    found = reader.follow(seconds=0)
    at_noon(tmp_path).append(a_record(2))
    Ledger(str(tmp_path), now=lambda: NOON + DAY).append(a_record(3))
    (tmp_path / SPILL_NAME).write_text(json.dumps(a_record(4, spilled=True)) + "\n{")
    assert [next(found)["n"] for _ in range(3)] == [2, 3, 4]
    assert next(found) is None
    Ledger(str(tmp_path), now=lambda: NOON + DAY).append(a_record(5))
    assert next(found)["n"] == 5


@given(st.lists(st.binary(max_size=40), max_size=8))
@settings(max_examples=count_examples(50))
def test_nothing_raises_with_any_bytes_in_the_files(tmp_path_factory, parts):
    folder = tmp_path_factory.mktemp("ledger")
    path = filled(folder, 2)
    path.write_bytes(path.read_bytes() + b"\n".join(parts))
    (folder / SPILL_NAME).write_bytes(b"\n".join(parts))
    (folder / LOCK_NAME).write_bytes(b" ".join(parts))
    assert at_noon(folder).append(a_record(2)) == ""
    verify_chain(str(folder))
    assert numbers(folder) == [0, 1, 2]


def test_a_very_long_line_is_passed_over_in_little_memory(tmp_path):
    path = filled(tmp_path, 1)
    with path.open("ab") as file:
        file.write(b"x" * (3 << 20) + b"\n")
    (tmp_path / LOCK_NAME).unlink()
    reader = LedgerReader(str(tmp_path))
    assert ([record["n"] for record in reader.read()], reader.invalid_lines) == ([0], 1)
    assert findings(tmp_path) == [(f"{path.name}:2", "foreign"), (LOCK_NAME, "missing")]


def test_a_segment_that_was_begun_by_a_writer_that_died_is_gone_on_with(tmp_path):
    """The head still names the segment before, and a shorter record would have room there."""
    folder = str(tmp_path)
    ledger = Ledger(folder, segment_limit=2000)
    for _ in range(3):
        assert (
            ledger.append({"v": 1, "id": "a", "time": "2026-03-01T00:00:00.000Z", "type": "doctor", "pad": "x" * 300})
            == ""
        )
    head = (tmp_path / "ledger.lock").read_bytes()
    assert (
        ledger.append({"v": 1, "id": "b", "time": "2026-03-01T00:00:00.000Z", "type": "doctor", "pad": "x" * 1500})
        == ""
    )
    assert len(list_segments(folder)) == 2
    (tmp_path / "ledger.lock").write_bytes(head)
    assert ledger.append({"v": 1, "id": "c", "time": "2026-03-01T00:00:00.000Z", "type": "doctor"}) == ""
    report = verify_chain(folder)
    assert (report.is_good, report.records, report.last) == (True, 5, 5)
