"""Faults 77 to 84: the ledger, with real processes, real signals, and a disk that is full."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from boathook.ledger.reader import LedgerReader, LedgerReport, verify_chain
from boathook.ledger.writer import LOCK_NAME, SPILL_NAME, Ledger, list_segments
from tests.faults.harness import FaultProject, wait_until

WRITER = """
import os, resource, signal, sys, time
from boathook.ledger.writer import Ledger
folder, name, count, size, limit = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
ledger = Ledger(folder, segment_limit=int(sys.argv[6]), lock_seconds=30.0)
number = 0
while number < count or not count:
    number += 1
    while number == count and not os.path.exists(os.environ.get("GATE", "/")):
        time.sleep(0.01)
    record = {"v": 1, "id": f"{name}-{number}", "time": "2027-01-15T00:00:00.000Z", "type": "dispatch", "x": "x" * size}
    error = ledger.append(record)
    os.write(1, (f"! {error}\\n" if error else f"{name}-{number}\\n").encode())
"""
HOLDER = """
import os, sys
handle = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
os.lockf(handle, os.F_LOCK, 0)
os.write(1, b"held")
os.read(0, 1)
"""


def writer(
    folder: Path,
    name: str,
    out: Path,
    *,
    count: int = 0,
    size: int = 600,
    limit: int = 0,
    segment: int = 16 << 20,
    gate: Path = Path("/"),
) -> subprocess.Popen[bytes]:
    """Start a process that appends records and acknowledges each with a line; without a count it never ends.

    The last of its records waits for the gate.
    """
    argv = [sys.executable, "-c", WRITER, str(folder), name, str(count), str(size), str(limit), str(segment)]
    with out.open("ab") as file:
        return subprocess.Popen(argv, stdout=file, env={**os.environ, "GATE": str(gate)})


def acknowledged(*outs: Path) -> tuple[set[str], list[str]]:
    """Return what was acknowledged, and which errors were reported."""
    lines = [line for out in outs for line in out.read_text().split("\n")[:-1]]
    return {line for line in lines if line[0] != "!"}, [line for line in lines if line[0] == "!"]


def recorded(folder: Path) -> Counter[str]:
    return Counter(record["id"] for record in LedgerReader(str(folder)).read())


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Let another process hold the lock, and stop that process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    argv = [sys.executable, "-c", HOLDER, str(path)]
    holder = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.read(4) == b"held"
    os.kill(holder.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        holder.kill()
        holder.communicate()


def test_row_77_eight_writers_leave_whole_lines_in_one_chain(tmp_path):
    outs = [tmp_path / f"out{at}" for at in range(8)]
    folder = tmp_path / "ledger"
    writers = [writer(folder, f"w{at}", out, count=100, segment=100_000) for at, out in enumerate(outs)]
    assert [one.wait(60) for one in writers] == [0] * 8
    answer, troubles = acknowledged(*outs)
    report = verify_chain(str(folder))
    assert (report.findings, report.torn, report.records, report.spilled, troubles) == ((), (), 800, 0, [])
    assert (report.segments > 3, recorded(folder) == Counter(answer)) == (True, True)


def test_row_78_what_was_acknowledged_survives_kill_9(tmp_path):
    folder, outs = tmp_path / "ledger", [tmp_path / f"out{at}" for at in range(24)]
    for start in range(0, 24, 6):
        writers = [writer(folder, f"w{start + at}", outs[start + at], segment=200_000) for at in range(6)]
        assert wait_until(lambda outs=outs[start : start + 6]: all(out.stat().st_size > 200 for out in outs))
        for one in writers:
            one.kill()
            one.wait()
    answer, troubles = acknowledged(*outs)
    found = recorded(folder)
    report = verify_chain(str(folder))
    assert (report.findings, answer - found.keys(), troubles, max(found.values())) == ((), set(), [], 1)
    assert len(answer) > 100


def test_row_79_no_record_is_so_long_that_it_could_be_torn_and_a_torn_line_is_passed_over(
    project: FaultProject, way: str
):
    project.write_hook("says", "printf '%200000s' x >&2; exit 2")
    project.fire(way, {"tool_input": {"command": "x" * 1_000_000}})
    [path] = project.state.glob("ledger-*.jsonl")
    assert path.stat().st_size < 1 << 16
    with path.open("ab") as file:
        file.write(path.read_bytes()[:100])
    project.fire(way)
    reader = LedgerReader(str(project.state))
    assert ([record["decision"] for record in reader.read()], reader.invalid_lines) == (["block", "block"], 1)
    report = verify_chain(str(project.state))
    assert (report.findings, report.torn) == ((), (f"{path.name}:2",))


def test_row_80_a_full_disk_tears_no_line_and_is_reported(tmp_path):
    folder, out = tmp_path / "ledger", tmp_path / "out"
    assert writer(folder, "w", out, count=40, size=300, limit=10_000).wait(60) == 0
    answer, troubles = acknowledged(out)
    aside = sum(reported.endswith(SPILL_NAME) for reported in troubles)
    found = recorded(folder)
    assert (answer - found.keys(), len(answer) + aside, len(answer) + len(troubles)) == (set(), found.total(), 40)
    assert answer
    assert set(troubles) <= {
        f"! {folder}/ledger cannot be written ({why}): {where}"
        for why in ("not enough space for a whole record", "File too large")
        for where in ("the record is lost", f"the record went to {SPILL_NAME}")
    }
    report = verify_chain(str(folder))
    assert (report.findings, report.torn) == ((), ())
    assert Ledger(str(folder)).append({"id": "later", "time": "2026-03-01T00:00:00.000Z", "type": "dispatch"}) == ""
    assert verify_chain(str(folder)).findings == ()


def test_row_80_a_real_full_disk_is_reported_on_stderr_and_changes_no_decision(project: FaultProject):
    project.state.mkdir(parents=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(project.state)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("no tmpfs may be mounted here")
    try:
        (project.state / "filler").write_bytes(b"x" * 4096)
        (project.state / "other").write_bytes(b"x" * 4096)
        project.write_hook("says", "echo no >&2; exit 2")
        ends = [project.run_plain({"tool_input": {"command": "x" * 3000}}) for _ in range(4)]
        assert [end.code for end in ends] == [2] * 4
        assert b"/ledger cannot be written (" in ends[-1].stderr
        report = verify_chain(str(project.state))
        assert (report.findings, report.torn) == ((), ())
    finally:
        subprocess.run(["umount", str(project.state)], check=True)


def name_of_today() -> str:
    return time.strftime("ledger-%Y-%m-%d.jsonl", time.gmtime())


@pytest.mark.parametrize("name", ["segment", LOCK_NAME])
@pytest.mark.parametrize("kind", ["fifo", "link"])
def test_row_81_a_fifo_or_a_link_is_refused_and_never_waited_for(project: FaultProject, way: str, name: str, kind: str):
    project.state.mkdir(parents=True)
    path = project.state / (name if name == LOCK_NAME else name_of_today())
    precious = project.scratch / "precious"
    precious.write_text("precious")
    os.mkfifo(path) if kind == "fifo" else path.symlink_to(precious)
    project.write_hook("says", "echo no >&2; exit 2")
    result = project.fire(way)
    assert (result.decision, precious.read_text()) == ("block", "precious")
    why = f"{path.name} is not a regular file" if kind == "fifo" else "Too many levels of symbolic links"
    message = f"{project.state}/ledger cannot be written ({why}): the record went to {SPILL_NAME}"
    assert (result.skipped, result.verdict["id"]) == ({f"{project.state}/ledger": message}, None)
    [record] = LedgerReader(str(project.state)).read()
    assert (record["decision"], record["spilled"]) == ("block", True)


def test_row_82_a_stopped_writer_that_holds_the_lock_costs_a_second_and_no_record(project: FaultProject, way: str):
    project.write_hook("says", "echo no >&2; exit 2")
    with held(project.state / LOCK_NAME):
        result = project.fire(way)
    assert result.decision == "block"
    assert f"another process has held {LOCK_NAME} for more than 1 s" in result.skipped[f"{project.state}/ledger"]
    assert result.seconds <= 5
    project.fire(way)
    assert [record.get("spilled", False) for record in LedgerReader(str(project.state)).read()] == [True, False]
    assert verify_chain(str(project.state)).findings == ()


SECRETS = ("hunter2secret", "ghp_" + "a1" * 18, "sk-ant-api03-" + "b2" * 20)


def test_row_83_no_secret_reaches_the_disk(project: FaultProject, way: str):
    password, token, key = SECRETS
    (project.config / "hooks.toml").write_text("[hooks]\nrecord = 'whole'\n")
    project.write_hook("says", f"echo 'the key {key} is not allowed' >&2; exit 2")
    project.write_hook("later", f"echo {token}; exit 0", trigger="post-tool-call", background=True)
    command = f"deploy --password {password} --with {token}"
    project.fire(way, {"tool_input": {"command": command, "api_key": key, "env": {"DB_PASSWORD": password}}})
    project.fire(way, {"event_type": "post-tool-call", "tool_output": f"token={password}"})
    assert project.wait_until_gone() == []
    data = b"".join(path.read_bytes() for path in project.state.glob("ledger*"))
    assert [secret.encode() in data for secret in SECRETS] == [False] * 3
    assert data.count(b"[redacted ") >= 5


def damaged(folder: Path, damage: str) -> LedgerReport:
    """Do something to a ledger while writers write; return what verify reports afterwards."""
    outs = [folder.parent / f"out{at}" for at in range(4)]
    gate = folder.parent / "gate"
    writers = [writer(folder, f"w{at}", out, count=150, segment=30_000, gate=gate) for at, out in enumerate(outs)]
    while not folder.is_dir() or len(list_segments(str(folder))) < 4:
        time.sleep(0.005)
    names = list_segments(str(folder))
    path = folder / names[1 if damage in ("deleted", "edited") else -1]
    if damage == "truncated":
        while not path.stat().st_size:
            time.sleep(0.001)
        os.truncate(path, 0)
    elif damage == "edited":
        path.write_bytes(path.read_bytes().replace(b"xxx", b"yyy", 1))
    elif damage == "moved":
        path.rename(folder.parent / "aside")
    else:
        path.unlink()
    # So that something is written after the damage, however slow we were.
    gate.touch()
    assert [one.wait(60) for one in writers] == [0] * 4
    answer, troubles = acknowledged(*outs)
    assert (len(answer), troubles) == (600, [])
    return verify_chain(str(folder))


DAMAGES = {"truncated": "gap", "deleted": "gap", "moved": "gap", "edited": "edited", "current deleted": "gap"}


@pytest.mark.parametrize("damage", DAMAGES)
def test_row_84_damage_to_the_files_under_writers_is_found_and_stops_no_writer(tmp_path, damage):
    report = damaged(tmp_path / "ledger", damage)
    assert {finding.kind for finding in report.findings} == {DAMAGES[damage]}
    assert report.last == 600


def test_row_84_one_event_is_one_record_and_the_chain_goes_through_both_ways(project: FaultProject):
    project.write_hook("says", "exit 0")
    ids = [project.fire(way).verdict["id"] for way in ("in process", "by command", "in process")]
    records: list[dict[str, Any]] = list(LedgerReader(str(project.state)).read())
    assert [(record["id"], record["host"]) for record in records] == list(
        zip(ids, ["python", "native", "python"], strict=True)
    )
    assert verify_chain(str(project.state)).findings == ()
    assert json.loads((project.state / name_of_today()).read_bytes().splitlines()[0])["prev"] == "0" * 64
