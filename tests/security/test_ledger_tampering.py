"""Lines that were added to the ledger are found, or shown as what they are, and a roll-back can be noticed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from boathook.ledger.reader import LedgerReader, verify_chain
from boathook.ledger.writer import LOCK_NAME, SPILL_NAME, Ledger
from tests.faults.harness import wait_until
from tests.scratch_project import CALL

pytestmark = pytest.mark.any_user

FORGED = {"v": 1, "id": "f" * 12, "time": "2027-01-15T00:00:05.000Z", "type": "dispatch", "decision": "allow"}


def write_records(folder: Path, count: int = 3) -> Path:
    for number in range(count):
        record = {"v": 1, "id": f"{number:012x}", "time": f"2027-01-15T00:00:0{number}.000Z", "type": "dispatch"}
        assert Ledger(str(folder)).append(record) == ""
    [path] = folder.glob("ledger-2*.jsonl")
    return path


# Lines behind the last record, and between records

JUNK = {
    "an object": b'{"x":1}\n',
    "an object without an end of its line": b'{"x":1}',
    "half an object": b'{"time": ',
    "half an object of a line": b'{"time": \n',
    "a text": b"hello\n",
    "a number": b"1",
    "a whole object that begins like a record": b'{"v": 1, "id": "x"}\n',
    "a long line that begins like a record": b'{"v": 1, "id": "' + b"x" * 100_000,
    "a record that is not chained": json.dumps(FORGED).encode() + b"\n",
}


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK)
@pytest.mark.parametrize("where", ["behind the last record", "before the next record"])
def test_a_line_that_the_ledger_did_not_write_is_found(tmp_path, junk, where):
    path = write_records(tmp_path)
    with path.open("ab") as file:
        file.write(junk)
    if where == "before the next record":
        assert Ledger(str(tmp_path)).append({**FORGED, "id": "e" * 12}) == ""
    report = verify_chain(str(tmp_path))
    assert [(finding.place, finding.kind) for finding in report.findings] == [(f"{path.name}:4", "foreign")]
    assert (report.is_good, report.torn) == (False, ())


def test_the_command_reports_junk_behind_the_last_record(project):
    project.write_hook("guard", script="exit 0")
    project.dispatch()
    assert project.run("ledger", "verify").returncode == 0
    [path] = project.state.glob("ledger-2*.jsonl")
    with path.open("ab") as file:
        file.write(b'{"x":1}')
    done = project.run("ledger", "verify")
    message = f"{path.name}:2: foreign: neither a record nor the beginning of one: the ledger did not write this line"
    assert (done.returncode, done.stdout.splitlines()[0]) == (1, message)


UNFINISHED = {"one letter": 1, "half of its start": 9, "its start": 40, "all but its end": -2}


@pytest.mark.parametrize("until", UNFINISHED.values(), ids=UNFINISHED)
def test_what_a_killed_writer_left_is_listed_and_not_a_finding(tmp_path, until):
    path = write_records(tmp_path, 2)
    head = (tmp_path / LOCK_NAME).read_bytes()
    lines = path.read_bytes().splitlines(keepends=True)
    assert Ledger(str(tmp_path)).append(FORGED) == ""
    whole = path.read_bytes().splitlines(keepends=True)[2]
    path.write_bytes(b"".join(lines) + whole[:until])
    (tmp_path / LOCK_NAME).write_bytes(head)
    report = verify_chain(str(tmp_path))
    assert (report.findings, report.torn, report.records) == ((), (f"{path.name}:3",), 2)
    assert Ledger(str(tmp_path)).append(FORGED) == ""
    report = verify_chain(str(tmp_path))
    assert (report.findings, report.torn, report.records) == ((), (f"{path.name}:3",), 3)


def test_a_record_that_lacks_only_the_end_of_its_line_counts(tmp_path):
    path = write_records(tmp_path, 2)
    head = (tmp_path / LOCK_NAME).read_bytes()
    assert Ledger(str(tmp_path)).append(FORGED) == ""
    path.write_bytes(path.read_bytes()[:-1])
    (tmp_path / LOCK_NAME).write_bytes(head)
    assert Ledger(str(tmp_path)).append(FORGED) == ""
    report = verify_chain(str(tmp_path))
    assert (report.findings, report.torn, report.records, report.last) == ((), (), 4, 4)


def test_zeros_of_a_disk_that_lost_its_power_are_not_a_finding(tmp_path):
    path = write_records(tmp_path)
    path.write_bytes(path.read_bytes() + b"\0" * 500)
    assert (verify_chain(str(tmp_path)).findings, verify_chain(str(tmp_path)).torn) == ((), (f"{path.name}:4",))


# The file beside the chain


def add_spilled(folder: Path, **fields: Any) -> None:
    with (folder / SPILL_NAME).open("a") as file:
        file.write(json.dumps({**FORGED, **fields}) + "\n")


@pytest.mark.parametrize("fields", [{}, {"spilled": False}, {"seq": 4, "prev": "0" * 64, "hash": "0" * 64}], ids=str)
def test_a_forged_line_beside_the_chain_is_shown_as_unverified(project, fields):
    write_records(project.state)
    add_spilled(project.state, **fields)
    assert [record.get("spilled") for record in LedgerReader(str(project.state)).read()] == [None, None, None, True]
    shown = project.run("log").stdout.splitlines()
    assert [line.endswith("[unverified: not in the chain]") for line in shown[1:]] == [False, False, False, True]
    as_json = [json.loads(line) for line in project.run("log", "--json").stdout.splitlines()]
    assert [record.get("spilled", False) for record in as_json] == [False, False, False, True]
    assert project.run("why", FORGED["id"]).stdout.splitlines()[-1].startswith("unverified: ")
    verified = project.run("ledger", "verify").stdout
    assert (
        f"1 record outside the chain, in {SPILL_NAME}, because the ledger could not be written: not verified"
        in verified
    )


def test_a_forged_line_does_not_replace_a_record_of_the_chain(project):
    project.write_hook("guard", script="echo no >&2; exit 2")
    identifier = project.dispatch()["id"]
    add_spilled(project.state, id=identifier, time="2999-01-01T00:00:00.000Z")
    add_spilled(project.state, id=identifier, time="1999-01-01T00:00:00.000Z")
    assert json.loads(project.run("why", identifier, "--json").stdout)["record"]["decision"] == "block"


def read_by_type(project) -> dict[str, Any]:
    return {record["type"]: record for record in LedgerReader(str(project.state)).read()}


def test_a_forged_end_of_an_async_hook_does_not_replace_the_real_one(project):
    project.write_hook("later", script="exit 3", fields={"async": "true", "trigger": "post-tool-call"})
    project.run("run", stdin=json.dumps({**CALL, "event_type": "post-tool-call", "work_dir": str(project.path)}))
    assert wait_until(lambda: "end" in read_by_type(project))
    identifier = read_by_type(project)["dispatch"]["id"]
    forged = {"type": "end", "hook": "later", "dispatch": identifier, "status": "ok", "exit": 0}
    add_spilled(project.state, **forged, id="e" * 12, time="2999-01-01T00:00:00.000Z")
    assert "  later: failed, exit code 3" in project.run("why", identifier).stdout
    add_spilled(project.state, **{**forged, "hook": "other"}, id="d" * 12, time="2999-01-01T00:00:00.000Z")
    assert "not in the chain" not in project.run("why", identifier).stdout


# A roll-back


def read_ledger_row(project) -> dict[str, str]:
    rows = json.loads(project.run("doctor", "--json").stdout)["setup"]
    return next(row for row in rows if row["subject"] == "ledger")


def test_doctor_shows_the_number_of_records_and_the_last_hash(project):
    write_records(project.state)
    text = read_ledger_row(project)["text"]
    report = verify_chain(str(project.state))
    # doctor writes a record itself
    assert report.records == 4
    assert text == f"can be written, in {project.state}: 4 records so far, last hash {report.hash}"


def test_a_roll_back_is_whole_but_has_a_lower_number_and_no_record_of_the_known_hash(project):
    write_records(project.state)
    copy = project.base / "copy"
    shutil.copytree(project.state, copy)
    known = read_ledger_row(project)["text"].rpartition(" ")[2]
    assert any(known in path.read_text() for path in project.state.glob("ledger-2*.jsonl"))
    shutil.rmtree(project.state)
    shutil.copytree(copy, project.state)
    assert (verify_chain(str(project.state)).is_good, verify_chain(str(project.state)).records) == (True, 3)
    assert not any(known in path.read_text() for path in project.state.glob("ledger-2*.jsonl"))


def test_doctor_warns_if_others_can_write_to_the_folder(project):
    write_records(project.state)
    project.state.chmod(0o777)
    rows = json.loads(project.run("doctor", "--json").stdout)["setup"]
    found = [(row["level"], row["fix"]) for row in rows if row["subject"] == "ledger"]
    assert found == [("ok", ""), ("warning", f"chmod go-w {project.state}")]
