"""Every vector, in process and through the command line; and that the runner can fail."""

from __future__ import annotations

import dataclasses
import functools
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from boathook.hosts.claude_events import CLAUDE_EVENTS_BY_NAME
from boathook.testing import conformance
from boathook.testing.conformance import Vector, check_command, check_in_process, has_library_part, load_vectors
from tests import forked

VECTORS = load_vectors()
IN_LIBRARY = [vector for vector in VECTORS if has_library_part(vector)]
BY_ID = {vector.id: vector for vector in VECTORS}
FIRST = set({vector.clause: vector.id for vector in reversed(VECTORS)}.values())  # of every clause
ONE_IN = 40  # so many vectors are tried by the command line in `make test-documents`; `make test-long` tries the others
OF_PROCESSES = ("S16", "S17")  # time, signals, what a hook is started with
CLAUSES = {f"S{number}" for number in (*range(1, 26), *range(29, 33), *range(35, 38))}  # the others are about a library


def _id(vector: Vector) -> str:
    return vector.id


def _start(vector: Vector) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Return how the commands of a vector are started: forked from a warm process, but for some.

    Some chosen by name, the first of every clause, what is about processes and what sets variables are processes of their own.
    """
    apart = vector.clause in OF_PROCESSES or "env" in vector.run or vector.id in FIRST or forked.goes_apart(vector.id)
    return functools.partial(forked.run, apart=apart)


def _split(vectors: Sequence[Vector], size: int) -> list[Any]:
    """Return the vectors in parts, each of one clause: so many tests of their own would take longer to report than to run."""
    clauses = [list(found) for _, found in groupby(vectors, key=lambda vector: vector.clause)]
    parts = [clause[at : at + size] for clause in clauses for at in range(0, len(clause), size)]
    return [pytest.param(part, id=f"{part[0].id} and {len(part) - 1} more") for part in parts]


def _find_errors(vectors: Sequence[Vector], check: Callable[[Vector], list[str]]) -> dict[str, list[str]]:
    """Return what is wrong, by vector."""
    return {vector.id: errors for vector in vectors if (errors := check(vector))}


@pytest.mark.document
@pytest.mark.parametrize("vectors", _split(IN_LIBRARY, 40))
def test_in_process(vectors: list[Vector]) -> None:
    assert _find_errors(vectors, functools.partial(check_in_process, run_process=forked.run)) == {}


def _is_short(vector: Vector) -> bool:
    return vector.id in FIRST or crc32(vector.id.encode()) % ONE_IN == 0


@pytest.mark.document
@pytest.mark.parametrize("vector", [vector for vector in VECTORS if vector.id in FIRST], ids=_id)
def test_command_line(vector: Vector) -> None:
    assert check_command(vector, run_process=_start(vector)) == []


@pytest.mark.document
@pytest.mark.parametrize("vector", [v for v in VECTORS if _is_short(v) and v.id not in FIRST], ids=_id)
def test_command_line_of_some(vector: Vector) -> None:
    assert check_command(vector, run_process=_start(vector)) == []


@pytest.mark.long
@pytest.mark.parametrize("vectors", _split([vector for vector in VECTORS if not _is_short(vector)], 10))
def test_command_line_of_the_others(vectors: list[Vector]) -> None:
    assert _find_errors(vectors, lambda vector: check_command(vector, run_process=_start(vector))) == {}


@pytest.mark.long
def test_command_line_that_met_the_files_before() -> None:
    vectors = [vector for vector in VECTORS if vector.clause in ("S11", "S13", "S14", "S15", "S29")]
    with ThreadPoolExecutor(24) as pool:  # most of the time is waiting for the files to grow old
        found = list(
            pool.map(
                lambda vector: (vector.id, check_command(vector, is_warm=True, run_process=_start(vector))), vectors
            )
        )
    assert [(name, faults) for name, faults in found if faults] == []


def test_every_clause_has_vectors() -> None:
    assert {vector.clause for vector in VECTORS} == CLAUSES


def test_there_are_enough_vectors() -> None:
    assert len(VECTORS) >= 1300
    assert sum(vector.clause in ("S13", "S24", "S25") for vector in VECTORS) >= 400


def test_ids_are_unique_and_name_their_clause() -> None:
    assert [name for name, count in Counter(map(_id, VECTORS)).items() if count > 1] == []
    assert [v.id for v in VECTORS if not v.id.startswith(f"s{int(v.clause[1:]):02d}-")] == []


def test_every_vector_states_its_rule_and_expects_something() -> None:
    assert [v.id for v in VECTORS if not v.title.endswith(".") or not v.expect] == []


def test_vectors_use_only_documented_keys() -> None:
    known = {"id", "clause", "title", "files", "event", "stdin", "before", "run", "expect"}
    assert [v.id for v in VECTORS if set(v.data) - known] == []
    circumstances = {"event", "cwd", "env", "debug", "wait_ms", "host", "without", "trust", "decisions"}
    assert [v.id for v in VECTORS if set(v.run) - circumstances] == []
    assert {v.run["trust"] for v in VECTORS if "trust" in v.run} == {"asked"}
    assert [v.id for v in VECTORS if set(v.expect) - {*conformance.COMMAND_CHECKS, "files"}] == []


def test_every_event_of_settings_is_read_and_refused_in_a_vector() -> None:
    assert [
        name for name in CLAUDE_EVENTS_BY_NAME if f"s24-stdin-{name}" not in BY_ID or f"s24-exit-2-{name}" not in BY_ID
    ] == []


def _changed(name: str, **expect: Any) -> Vector:
    """Return a vector with other expectations."""
    vector = BY_ID[name]
    return dataclasses.replace(vector, data={**vector.data, "expect": expect})


def _without(name: str, key: str) -> Vector:
    """Return a vector without one of its circumstances."""
    vector = BY_ID[name]
    run = {one: value for one, value in vector.run.items() if one != key}
    return dataclasses.replace(vector, data={**vector.data, "run": run})


BLOCKED = "s18-stderr-is-the-reason"
SETTINGS = "s24-permission-deny"
WRONG = {
    "decision": _changed(BLOCKED, verdict={"decision": "allow"}),
    "reason": _changed(BLOCKED, verdict={"reasons": ["another"]}),
    "reason text": _changed(BLOCKED, verdict={"reasons": [{"contains": "another"}]}),
    "reason to lack": _changed(BLOCKED, verdict={"reasons": [{"lacks": "house"}]}),
    "one run too many": _changed(BLOCKED, verdict={"runs": [{"hook": "guard"}, {"hook": "other"}]}),
    "no run": _changed(BLOCKED, verdict={"runs": []}),
    "run status": _changed(BLOCKED, verdict={"runs": [{"hook": "guard", "status": "failed"}]}),
    "flag for number": _changed(BLOCKED, verdict={"runs": [{"exit_code": True}]}),
    "unknown key": _changed(BLOCKED, verdict={"colour": "blue"}),
    "exit": _changed(BLOCKED, answer={"exit": 0}),
    "stdout": _changed(BLOCKED, answer={"exit": 2, "stdout": {"decision": "block"}}),
    "list state": _changed("s04-user-level", list=[{"name": "guard", "state": "shadowed"}]),
    "list length": _changed("s04-user-level", list=[]),
    "file text": _changed("s17-one-line", verdict={}, files={"project/lines.txt": "2\n"}),
    "file missing": _changed("s17-one-line", verdict={}, files={"project/none.txt": "1\n"}),
    "file too many": _changed("s17-one-line", verdict={}, files={"project/lines.txt": None}),
    "file json": _changed("s03-context-kept", verdict={}, files={"project/seen.json": {"json": {"context": {}}}}),
    "name up to its digest": _changed(SETTINGS, verdict={"runs": [{"hook": "PreToolUse:cat#*"}]}),
    "name whole": _changed(SETTINGS, verdict={"runs": [{"hook": "PreToolUse:echo#"}]}),
    "digest of no name": _changed("s25-timeout", list=[{"timeout_ms": "#*"}, {"timeout_ms": 5000}]),
    "file whole": _changed(
        "s24-stdin-SessionEnd", verdict={}, files={"project/seen.json": {"whole": {"reason": "logout"}}}
    ),
    "answer to a host": _changed("s24-host-message", answer={"exit": 0, "stdout": {"systemMessage": "another"}}),
    "part of an answer": _changed("s24-host-failure", answer={"exit": 0, "stdout": {"lacks": "oops"}}),
    "source not left out": _without("s24-without-settings", "without"),
    "trust not asked for": _without("s29-hook-md", "trust"),
    "decision not made": _without("s29-trusted", "decisions"),
}


@pytest.mark.parametrize("vector", WRONG.values(), ids=WRONG.keys())
def test_the_runner_notices_a_wrong_expectation(vector: Vector) -> None:
    assert check_in_process(vector) != []
    assert check_command(vector, run_process=_start(vector)) != []


ONLY_BY_COMMAND = {
    "stderr": _changed(BLOCKED, answer={"exit": 2, "stderr": "another"}),
    "check exit": _changed("s06-clean", check={"path": "user/hooks/guard", "exit": 1, "diagnostics": []}),
    "check key": _changed(
        "s06-timeout-too-short",
        check={"path": "user/hooks/guard", "exit": 1, "diagnostics": [{"key": "priority"}]},
    ),
    "prompt": _changed("s10-prompt", prompt={"contains": "nothing like it"}),
    "explain": _changed("s11-tool-exact", explain=[{"hook": "guard", "would_run": False}]),
}


@pytest.mark.parametrize("vector", ONLY_BY_COMMAND.values(), ids=ONLY_BY_COMMAND.keys())
def test_the_runner_notices_a_wrong_command_line(vector: Vector) -> None:
    assert check_command(vector) != []


def test_a_command_that_is_not_an_implementation_fails() -> None:
    assert check_command(BY_ID["s19-plain-text"], ["true"]) != []


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "boathook.testing.conformance", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_command_prints_a_table() -> None:
    done = _run("s19-decision-deny")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-2:] == [
        "S19             1        1 of 1             1",
        "all             1        1 of 1             1",
    ]


def test_the_command_reports_a_mismatch(tmp_path: Path) -> None:
    (tmp_path / "wrong.json").write_text(json.dumps([WRONG["decision"].data]), encoding="utf-8")
    done = _run("--vectors", str(tmp_path))
    assert done.returncode == 1
    assert f'{BLOCKED} (command line): verdict.decision: expected "allow", got "block"' in done.stdout
    assert f"{BLOCKED} (in process)" in done.stdout


def test_the_command_takes_another_implementation() -> None:
    done = _run("--command", "true", "s19-decision-deny")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "all             1             -             0"


def test_a_filter_without_vectors_is_a_failure() -> None:
    assert _run("no-such-vector").returncode == 1
