"""The ledger is read after any damage: cut tails are noticed, and no line makes a command raise."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import boathook
from boathook.cli.ledger import verify_ledger
from boathook.cli.log import show_log
from boathook.cli.stats import show_stats
from boathook.cli.why import show_why
from boathook.ledger.reader import LedgerProblem, LedgerReader, verify_chain
from boathook.ledger.writer import LOCK_NAME, ChainLink, Ledger, chain_line, read_link
from tests.core.builders import json_values
from tests.example_counts import count_examples
from tests.scratch_project import CALL

GUARD = "echo no >&2; exit 2"


# A tail that was cut


def a_ledger(folder: Path, count: int = 3) -> Path:
    for number in range(count):
        record = {"v": 1, "id": f"{number:012x}", "time": f"2027-01-15T00:00:0{number}.000Z", "type": "dispatch"}
        assert Ledger(str(folder)).append(record) == ""
    [path] = folder.glob("ledger-*.jsonl")
    return path


def cut(path: Path) -> None:
    """Remove the last line."""
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


NO_HEAD = "the head is missing or unreadable, so records may have been cut from the end"
HEADS = {
    "removed": None,
    "empty": b"",
    "garbage": b"\xff garbage",
    "beyond measure": b"ledger-2027-01-15.jsonl 9 " + b"9" * 30,
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_records_without_a_head_are_a_finding(tmp_path, head):
    cut(a_ledger(tmp_path))
    (tmp_path / LOCK_NAME).unlink()
    if head is not None:
        (tmp_path / LOCK_NAME).write_bytes(head)
    assert verify_chain(str(tmp_path)).findings == (LedgerProblem(LOCK_NAME, "missing", NO_HEAD),)
    assert verify_ledger.callback(state=str(tmp_path), as_json=True) == 1


def test_what_is_written_after_the_head_was_lost_does_not_hide_it(tmp_path):
    path = a_ledger(tmp_path)
    cut(path)
    (tmp_path / LOCK_NAME).unlink()
    assert Ledger(str(tmp_path)).append({"id": "x", "time": "2027-01-15T00:00:09.000Z", "type": "dispatch"}) == ""
    message = "the head was lost when record 3 was written, so records may have been cut before it"
    assert verify_chain(str(tmp_path)).findings == (LedgerProblem(f"{path.name}:3", "missing", message),)


HOLDER = """
import os, sys
os.lockf(os.open(sys.argv[1], os.O_RDWR), os.F_LOCK, 0)
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Let another process hold the lock."""
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    try:
        yield
    finally:
        holder.communicate(b"")


def test_the_head_is_read_though_another_process_holds_the_lock(tmp_path):
    path = a_ledger(tmp_path)
    with held(tmp_path / LOCK_NAME):
        whole = verify_chain(str(tmp_path))
        cut(path)
        message = f"the records end with 2, but {LOCK_NAME} knows of 3"
        assert (whole.findings, verify_chain(str(tmp_path)).findings) == (
            (),
            (LedgerProblem(path.name, "missing", message),),
        )


# Lines that are not records

LINES = {
    "a long number": b'{"id": "a", "time": "2026-03-01T00:00:00.000Z", "type": "end", "seq":'
    + b"7" * 5000
    + b',"prev":"',
    "a number as a list": b'{"id": "a", "time": "2026-03-01T00:00:00.000Z", "type": "pruned", "before": "x", "segments": 5',
    "a number as a hook": b'{"id": "a", "time": "2026-03-01T00:00:00.000Z", "type": "dispatch", "hooks": [1]',
    "a number as an id": b'{"id": "a", "time": "2026-03-01T00:00:00.000Z", "type": "end", "dispatch": 5',
    "a number that is none": b'{"id": "a", "time": "2026-03-01T00:00:00.000Z", "type": "end", "ms": NaN',
    "a number beyond measure": b'{"id": "a", "time": "2026-03-01T00:00:00.000Z", "type": "end", "ms": 1' + b"0" * 400,
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_a_line_of_a_wrong_shape_is_counted_and_named_and_makes_nothing_raise(tmp_path, line, capsys):
    path = a_ledger(tmp_path)
    link = read_link(path.read_bytes().splitlines(keepends=True)[-1])
    made = line + b'0","hash":"' + b"0" * 64 + b'"}\n' if b'"seq"' in line else chain_line(line, link or ChainLink())[0]
    path.write_bytes(path.read_bytes() + made)
    reader = LedgerReader(str(tmp_path))
    assert (len(list(reader.read())), reader.invalid_lines) == (3, 1)
    report = verify_chain(str(tmp_path))
    assert [f.place for f in report.findings] + list(report.torn) == [f"{path.name}:4"]
    assert read_everything(tmp_path, "000000000000") == [0, 0, 0, int(not report.is_good)]


def test_a_number_of_a_link_has_at_most_18_digits():
    line = b'{"seq":%s,"prev":"%s","hash":"%s"}\n'
    found = [read_link(line % (b"9" * digits, b"0" * 64, b"0" * 64)) for digits in (18, 19, 5000)]
    assert found == [ChainLink(10**18 - 1, "0" * 64, "0" * 64), None, None]


LOG_OPTIONS = {"follow": False, "count": None, "everything": True, "is_utc": False}
WHY_OPTIONS = {"is_utc": False, "text": None, "tool": None, "tool_input": None}


def read_everything(folder: Path, id: str) -> list[int]:  # noqa: A002
    """Let every command read a ledger; return their exit codes."""
    state = str(folder)
    for as_json in (True, False):
        codes = [
            show_log.callback(state=state, as_json=as_json, **LOG_OPTIONS),
            show_why.callback(id=id, state=state, as_json=as_json, **WHY_OPTIONS),
            show_stats.callback(since=None, state=state, as_json=as_json),
            verify_ledger.callback(state=state, as_json=as_json),
        ]
    show_log.callback(state=state, as_json=False, **LOG_OPTIONS, hook="x", event="Stop")
    return codes


RUN = {
    "hook": "guard",
    "scope": "user",
    "source": "HOOK.md",
    "path": "/g",
    "status": "ok",
    "exit": 2,
    "ms": 1.5,
    "decision": "block",
    "reason": "no",
    "look": 2,
    "matched": {"event": "pre-tool-call", "tool": "Shell"},
    "notes": ["a note"],
    "approval": "abc",
    "stderr": "a warning",
}
ABOUT = {"v": 1, "time": "2027-01-15T00:00:00.000Z", "host": "native", "session": "s", "project": "/p", "event": "e"}
RECORDS: tuple[dict[str, Any], ...] = (
    {
        **ABOUT,
        "id": "a1",
        "type": "dispatch",
        "tool": "Shell",
        "input_sha256": "x",
        "input": {"command": "ls"},
        "decision": "block",
        "reasons": ["no"],
        "changed": {"tool_input": {"before": "x", "after": "y", "input": {}}, "output": {"after": "z"}, "context": 1},
        "ms": 2,
        "hooks": [RUN],
        "skipped": [{"hook": "other", "why": "not reached", "state": "shadowed"}],
        "background": [{"hook": "later", "pid": 7}],
    },
    {
        **ABOUT,
        "id": "a2",
        "type": "end",
        "hook": "later",
        "dispatch": "a1",
        "status": "ok",
        "exit": 0,
        "ms": 3,
        "detail": "d",
    },
    {"v": 1, "id": "a3", "time": ABOUT["time"], "type": "pruned", "segments": ["ledger-2027-01-14.jsonl"], "before": 1},
)


def spots(value: object, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Return the places of everything within a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*at, key)
        yield from spots(inner, (*at, key))


def spliced(value: Any, at: tuple[Any, ...], new: object) -> Any:
    """Return a value in which one place holds another value."""
    if not at:
        return new
    inner = spliced(value[at[0]], at[1:], new)
    if isinstance(value, dict):
        return {**value, at[0]: inner}
    return [*value[: at[0]], inner, *value[at[0] + 1 :]]


PLACES = [
    (number, at) for number, record in enumerate(RECORDS) for at in spots(record) if at not in (("id",), ("type",))
]
ODD = st.sampled_from([10**400, -1, 1e300, "\ud800", "", [[]], {"hook": 1}, {"": None}, [None], True, "dispatch"])


@given(st.sampled_from(PLACES), json_values | ODD)
@settings(max_examples=count_examples(150))
def test_no_reader_raises_with_any_value_in_a_field_of_a_record(tmp_path_factory, place, value):
    folder, (number, at) = tmp_path_factory.mktemp("ledger"), place
    records = [spliced(one, at, value) if at_record == number else one for at_record, one in enumerate(RECORDS)]
    for one in records:
        Ledger(str(folder)).append(one)
    known = next(record["id"] for record in LedgerReader(str(folder)).read())
    read_everything(folder, known)
    reader = LedgerReader(str(folder))
    found = list(reader.read())
    for record in found:
        show_why.callback(id=record["id"], state=str(folder), as_json=False, **WHY_OPTIONS)
    lines = sum(path.read_bytes().count(b"\n") for path in folder.glob("*.jsonl"))
    assert len(found) + reader.invalid_lines == lines  # what is not given is counted


def test_records_of_the_engine_are_read_as_they_were_written(project):
    project.write_hook("guard", script=GUARD)
    project.write_hook("later", script="exit 3", fields={"async": "true", "trigger": "post-tool-call"})
    with boathook.load(project.path) as engine:
        engine.dispatch(CALL)
        engine.dispatch({**CALL, "event_type": "post-tool-call"})
    [path] = project.state.glob("ledger-*.jsonl")
    written = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert sorted(one["type"] for one in written) == ["dispatch", "dispatch", "end"]
    assert sorted(LedgerReader(str(project.state)).read(), key=lambda one: one["seq"]) == written
