"""A permit for a call that is made again: for that very call, for 15 minutes, with its record."""

from __future__ import annotations

import errno
import json
import os
import time

import pytest

from boathook.core.permit import REPEAT_SECONDS, Objection, Question
from boathook.errors import LedgerError
from boathook.permits.repeat_permits import end_repeat, find_repeat, list_repeats, note_repeat_use, write_repeat

OBJECTION = Objection("careful", "user", "HOOK.md", "/hook", "", "ok", "ask", "seen")


def make_question(**fields):
    about = {"host": "codex", "project": "/p", "session": "s", "event": "pre-tool-call", "work_dir": "/p"}
    call = {"tool": "Shell", "host_tool": "Bash", "tool_input": {"command": "ls"}, "objections": (OBJECTION,)}
    return Question(**{"id": "a" * 32, "time": time.time(), **about, **call, **fields})


@pytest.fixture
def state(tmp_path):
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    return str(folder)


def test_it_is_for_that_very_call_and_those_objections(state):
    now = time.time()
    permit = write_repeat(state, make_question(), "Bash ls", now)
    assert find_repeat(state, make_question(id="b" * 32, session="other"), now) == permit
    others = (
        {"tool_input": {"command": "ls "}}, {"host": "claude"}, {"project": "/q"}, {"work_dir": "/p/x"}, {"tool": "Write"},
        {"objections": (OBJECTION.replace(hook="other"),)}, {"objections": (OBJECTION.replace(decision="block"),)},
        {"objections": (OBJECTION, OBJECTION.replace(seen="x"))}, {"objections": (OBJECTION.replace(ask="strong"),)},
    )  # fmt: skip
    assert [find_repeat(state, make_question(**fields), now) for fields in others] == [None] * len(others)


def test_it_ends_after_a_quarter_of_an_hour_and_does_not_count_before_it_began(state):
    now = time.time()
    permit = write_repeat(state, make_question(), "", now)
    assert permit.end == now + REPEAT_SECONDS == now + 15 * 60
    assert find_repeat(state, make_question(), now - 1) is None
    assert find_repeat(state, make_question(), permit.end - 1) is not None
    assert find_repeat(state, make_question(), permit.end) is None
    assert list_repeats(state, permit.end) == []
    assert os.listdir(f"{state}/repeats") == []


def test_a_file_without_its_record_or_one_that_others_can_write_does_not_count(state):
    now = time.time()
    permit = write_repeat(state, make_question(), "", now)
    path = f"{state}/repeats/{permit.digest}.json"
    with open(path) as file:
        fields = json.load(file)
    for change in ({"end": permit.end - 60}, {"id": "b" * 32}, {"record": ""}, {"end": permit.end + 1}, {"more": ""}):
        with open(path, "w") as file:
            json.dump({**fields, **change}, file)
        assert find_repeat(state, make_question(), now) is None, change
    with open(path, "w") as file:
        json.dump(fields, file)
    assert find_repeat(state, make_question(), now) is not None
    os.chmod(path, 0o666)
    assert find_repeat(state, make_question(), now) is None


def test_a_permit_that_was_ended_does_not_count_if_its_file_is_put_back(state):
    now = time.time()
    permit = write_repeat(state, make_question(), "", now)
    path = f"{state}/repeats/{permit.digest}.json"
    with open(path, "rb") as file:
        data = file.read()
    # A use does not end it.
    assert note_repeat_use(state, make_question(), permit)
    assert find_repeat(state, make_question(), now) == permit
    assert end_repeat(state, permit.id, now) == permit
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        file.write(data)
    assert find_repeat(state, make_question(), now) is None
    assert list_repeats(state, now) == []
    # The same call can be allowed anew.
    assert write_repeat(state, make_question(), "", now) == find_repeat(state, make_question(), now)


def test_a_strong_hook_has_none(state):
    with pytest.raises(ValueError, match="second factor"):
        write_repeat(state, make_question(objections=(OBJECTION.replace(ask="strong"),)), "", time.time())
    assert not os.path.exists(f"{state}/repeats")


def test_without_a_record_nothing_is_allowed(state, monkeypatch):
    def fail(*_):
        raise LedgerError("full")

    monkeypatch.setattr("boathook.ledger.writer.Ledger.append_required", fail)
    with pytest.raises(LedgerError):
        write_repeat(state, make_question(), "", time.time())
    assert not os.path.exists(f"{state}/repeats")


def test_an_end_that_cannot_be_recorded_is_an_error_and_removes_the_permit(state, monkeypatch):
    def fail(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    now = time.time()
    permit = write_repeat(state, make_question(), "", now)
    monkeypatch.setattr("boathook.ledger.writer.Ledger._append_line", fail)
    with pytest.raises(LedgerError, match=r"is asked about again, but that could not be recorded, .*No space left"):
        end_repeat(state, permit.id, now)
    assert (find_repeat(state, make_question(), now), os.listdir(f"{state}/repeats")) == (None, [])


def test_it_is_ended_by_a_unique_part_of_its_id(state):
    now = time.time()
    write_repeat(state, make_question(), "", now)
    write_repeat(state, make_question(id="ab" * 16, tool_input={"command": "pwd"}), "", now)
    assert end_repeat(state, "", now) is None
    assert end_repeat(state, "a", now) is None
    assert end_repeat(state, "ab", now) is not None
    assert [permit.id for permit in list_repeats(state, now)] == ["a" * 32]
