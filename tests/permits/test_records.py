"""What a person permits counts only if the ledger has a record of it."""

from __future__ import annotations

import json
import time

import pytest

from boathook.core.permit import Question
from boathook.errors import LedgerError
from boathook.ledger.find_record import find_later_records, find_record
from boathook.ledger.reader import LedgerReader, verify_chain
from boathook.ledger.writer import Ledger, find_newest_segment, make_record_id, make_timestamp
from boathook.permits.call_permits import take_permit, write_permit
from boathook.permits.unlock import read_unlock_end, write_unlock
from tests.permits.test_allow import NO, allow, send
from tests.terminal import type_digest

QUESTION = Question("0123456789ab", 0.0, "native", "/p", "s", "pre-tool-call", "/p", "Shell", "", {"command": "x"}, ())


def a_record(**fields):
    return {"v": 1, "id": make_record_id(), "time": make_timestamp(), "type": "test", **fields}


def take(state):
    return take_permit(str(state), QUESTION.digest, time.time())


def remove_ledger(state):
    for path in state.glob("ledger*"):
        path.unlink()


def edit_record(state):
    path = state / find_newest_segment(str(state))
    path.write_bytes(path.read_bytes().replace(b'"until": "2', b'"until": "3'))


def replace_ledger(state):
    """Leave a ledger that is whole, and has other records."""
    remove_ledger(state)
    for number in range(5):
        Ledger(str(state)).append(a_record(number=number))


DAMAGES = {"removed": remove_ledger, "edited": edit_record, "replaced": replace_ledger}


def test_a_permit_counts_with_its_record(tmp_path):
    write_permit(str(tmp_path), QUESTION, time.time())
    assert take(tmp_path) is not None


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_permit_without_its_record_does_not_count(tmp_path, damage):
    write_permit(str(tmp_path), QUESTION, time.time())
    damage(tmp_path)
    assert take(tmp_path) is None
    assert list((tmp_path / "permits").iterdir()) == []


def put_back(path, data):
    path.write_bytes(data)
    path.chmod(0o600)


def test_a_used_permit_whose_file_is_put_back_does_not_count(project):
    project.write_hook("guard", NO)
    allow(project, send(project))
    (path,) = (project.state / "permits").iterdir()
    data = path.read_bytes()
    assert send(project)["decision"] == "none"
    put_back(path, data)
    assert send(project)["decision"] == "block"
    # A person can still allow the call again.
    allow(project, send(project))
    assert send(project)["decision"] == "none"


def cut_end(state):
    path = state / find_newest_segment(str(state))
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


def edit_later_record(state):
    path = state / find_newest_segment(str(state))
    path.write_bytes(path.read_bytes().replace(b'"allowed": "0', b'"allowed": "1'))


def remove_later_record(state):
    path = state / find_newest_segment(str(state))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:1] + lines[2:]))


def remove_head(state):
    (state / "ledger.lock").unlink()


LATER_DAMAGES = [cut_end, edit_later_record, remove_later_record, remove_head]


@pytest.mark.parametrize("damage", LATER_DAMAGES)
def test_a_permit_does_not_count_if_a_record_after_it_cannot_be_read(tmp_path, damage):
    write_permit(str(tmp_path), QUESTION, time.time())
    for number in range(2):
        Ledger(str(tmp_path)).append(a_record(number=number, hooks=[{"hook": "x", "allowed": "0" * 12}]))
    damage(tmp_path)
    assert take(tmp_path) is None


LATER_RECORDS = {
    "another permit": ({"hooks": [{"hook": "x", "allowed": "ba9876543210"}]}, True),
    "its id as a text": ({"input": {"command": f"boathook allow {QUESTION.id}"}, "hooks": [{"hook": "x"}]}, True),
    "a text like a field": ({"reasons": ["totals"]}, True),
    "its use": ({"hooks": [{"hook": "y"}, {"hook": "x", "allowed": QUESTION.id}]}, False),
    "hooks left out": ({"hooks": [], "totals": {"hooks": 90}}, False),
}


@pytest.mark.parametrize(("fields", "counts"), LATER_RECORDS.values(), ids=LATER_RECORDS)
def test_a_permit_counts_until_a_record_of_its_use(tmp_path, fields, counts):
    write_permit(str(tmp_path), QUESTION, time.time())
    Ledger(str(tmp_path)).append(a_record(**fields))
    assert (take(tmp_path) is not None) == counts


def test_records_after_a_place_are_found_across_segments_and_torn_lines(tmp_path):
    ledger = Ledger(str(tmp_path), segment_limit=2000)
    place = ledger.append_required(a_record(mark="wanted")).to_text()
    for number in range(12):
        ledger.append(a_record(mark="wanted" if number % 2 else "other", number=number, pad="x" * 300))
        if number == 5:
            with (tmp_path / find_newest_segment(str(tmp_path))).open("ab") as file:
                file.write(b'{"v": 1, "id": "wanted')
    assert len([*tmp_path.glob("ledger-*.jsonl")]) > 2
    found = find_later_records(str(tmp_path), place, "wanted")
    assert [record["number"] for record in found] == [1, 3, 5, 7, 9, 11]
    with (tmp_path / find_newest_segment(str(tmp_path))).open("ab") as file:
        file.write(b'{"v": 1')
    assert find_later_records(str(tmp_path), place, "wanted") == found
    assert find_later_records(str(tmp_path), f"{place[:-1]}x", "wanted") is None
    assert find_later_records(str(tmp_path), "", "wanted") is None


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_pause_without_its_record_is_none(tmp_path, damage):
    write_unlock(str(tmp_path), 600)
    assert read_unlock_end(str(tmp_path)) > 0
    damage(tmp_path)
    assert read_unlock_end(str(tmp_path)) == 0.0


PLACES = [
    "", "x", "a b c", "../x 0 " + "0" * 64, "ledger-2026-01-01.jsonl -1 " + "0" * 64,
    "ledger-2026-01-01.jsonl ٣ " + "0" * 64, "ledger-2026-01-01.jsonl " + "9" * 30 + " " + "0" * 64,
    "ledger-2026-01-01.jsonl 0 " + "0" * 64,
]  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_a_place_that_no_command_writes_has_no_record(tmp_path, place):
    (tmp_path / "ledger-2026-01-01.jsonl").write_text("{}\n")
    assert find_record(str(tmp_path), place) == {}


def test_the_record_of_another_permit_is_not_its_own(tmp_path):
    write_permit(str(tmp_path), QUESTION, time.time())
    other = QUESTION.replace(id="ba9876543210", tool_input={"command": "y"})
    write_permit(str(tmp_path), other, time.time())
    mine, theirs = (tmp_path / "permits" / f"{one.digest}.json" for one in (QUESTION, other))
    fields = json.loads(mine.read_bytes())
    mine.write_text(json.dumps({**fields, "record": json.loads(theirs.read_bytes())["record"]}))
    assert take(tmp_path) is None
    assert take_permit(str(tmp_path), other.digest, time.time()) is not None


def test_the_record_of_an_earlier_pause_does_not_lengthen_it(tmp_path):
    write_unlock(str(tmp_path), 60)
    path = tmp_path / "unlocked.json"
    fields = json.loads(path.read_bytes())
    path.write_text(json.dumps({**fields, "end": fields["end"] + 600}))
    assert read_unlock_end(str(tmp_path)) == 0.0


def test_a_ledger_that_goes_on_in_other_segments_still_has_the_record(tmp_path):
    state = str(tmp_path)
    write_permit(state, QUESTION, time.time())
    write_unlock(state, 600)
    first = find_newest_segment(state)
    for number in range(50):
        Ledger(state, segment_limit=1000).append(a_record(number=number))
    # The next day.
    Ledger(state, now=lambda: time.time() + 24 * 3600).append(a_record())
    assert find_newest_segment(state) != first
    assert read_unlock_end(state) > 0
    assert take(tmp_path) is not None


def test_a_record_after_a_line_that_was_cut_off_is_found(tmp_path):
    state = str(tmp_path)
    Ledger(state).append(a_record())
    with (tmp_path / find_newest_segment(state)).open("ab") as file:
        file.write(b'{"v": 1, "id": "')
    write_permit(state, QUESTION, time.time())
    assert take(tmp_path) is not None


@pytest.mark.parametrize("write", [lambda state: write_permit(state, QUESTION, time.time()),
                                   lambda state: write_unlock(state, 600)], ids=["permit", "pause"])  # fmt: skip
def test_what_cannot_be_recorded_is_not_written_and_leaves_no_record_elsewhere(tmp_path, write):
    (tmp_path / "ledger.lock").mkdir()
    with pytest.raises(LedgerError, match=r"ledger cannot be written \(Is a directory\)"):
        write(str(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ledger.lock", "machine-id"]
    assert list(LedgerReader(str(tmp_path)).read()) == []


def test_allow_fails_if_it_cannot_be_recorded(project):
    project.write_hook("guard", NO)
    verdict = send(project)
    lock = project.state / "ledger.lock"
    lock.rename(project.base / "lock")
    lock.mkdir()
    code, text = allow(project, verdict)
    said = " ".join(text.split())
    assert (code, "Nothing was allowed, because it could not be recorded: " in said) == (1, True), text
    assert "Make room on the disk, or make the folder writable, then try again" in said
    lock.rmdir()
    (project.base / "lock").rename(lock)
    assert send(project)["decision"] == "block"
    # The question is still open.
    assert allow(project, verdict)[0] == 0
    assert send(project)["decision"] == "none"
    assert verify_chain(str(project.state)).is_good


def test_unlock_fails_if_it_cannot_be_recorded(project):
    (project.state / "ledger.lock").mkdir(parents=True)
    code, text = type_digest(project, "unlock", "30m")
    assert (code, "Nothing was changed, because it could not be recorded: " in " ".join(text.split())) == (1, True)
    assert read_unlock_end(str(project.state)) == 0.0


def test_a_permit_that_a_program_wrote_does_not_count_and_neither_does_its_pause(project):
    project.write_hook("guard", NO)
    allow(project, send(project))
    (permit,) = (project.state / "permits").iterdir()
    remove_ledger(project.state)
    assert send(project)["decision"] == "block"
    assert not permit.exists()
    path = project.state / "unlocked.json"
    path.write_text(json.dumps({"begin": time.time() - 1, "end": time.time() + 600, "record": ""}))
    path.chmod(0o600)
    assert project.run("unlock").stdout.startswith("Self-protection is on. ")
    send(project)
    assert not path.exists()
