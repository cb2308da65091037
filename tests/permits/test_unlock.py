"""The file that pauses self-protection."""

from __future__ import annotations

import json
import os
import time

import pytest

from boathook.permits.unlock import MAX_UNLOCK_SECONDS, read_unlock_end, remove_unlock, write_unlock


def test_a_pause_lasts_until_its_end_and_can_be_ended(tmp_path):
    state = str(tmp_path / "state")
    assert read_unlock_end(state) == 0.0
    end = write_unlock(state, 600)
    assert read_unlock_end(state) == end
    assert time.time() < end <= time.time() + 600
    assert remove_unlock(state)
    assert read_unlock_end(state) == 0.0
    assert not remove_unlock(state)


def test_a_pause_is_never_longer_than_allowed(tmp_path):
    assert write_unlock(str(tmp_path), 10**9) <= time.time() + MAX_UNLOCK_SECONDS


def test_the_file_is_private(tmp_path):
    write_unlock(str(tmp_path), 600)
    assert os.stat(tmp_path / "unlocked.json").st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "null",
        '{"begin": 0}',
        '{"begin": "x", "end": 1}',
        json.dumps({"begin": 0, "end": 1}),
        json.dumps({"begin": 10**11, "end": 10**11 + 600}),
        json.dumps({"begin": 0, "end": 10**12}),
        '{"begin": NaN, "end": NaN}',
        '{"begin": -Infinity, "end": Infinity}',
        '{"begin": 0, "end": 1' + "0" * 400 + "}",
        "[" * 1_000,
    ],
)
def test_a_file_that_no_command_would_write_is_not_a_pause(tmp_path, text):
    path = tmp_path / "unlocked.json"
    path.write_text(text)
    path.chmod(0o600)
    assert read_unlock_end(str(tmp_path)) == 0.0


def test_a_file_that_others_can_write_is_not_a_pause(tmp_path):
    write_unlock(str(tmp_path), 600)
    os.chmod(tmp_path / "unlocked.json", 0o666)
    assert read_unlock_end(str(tmp_path)) == 0.0


def test_a_link_is_not_a_pause_if_it_can_be_written_by_others(tmp_path):
    write_unlock(str(tmp_path / "elsewhere"), 600)
    (tmp_path / "unlocked.json").symlink_to(tmp_path / "elsewhere" / "unlocked.json")
    assert read_unlock_end(str(tmp_path)) == 0.0
