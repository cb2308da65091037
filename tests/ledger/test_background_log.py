"""The log: bounded, private, and never in the way."""

from __future__ import annotations

import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.ledger.background_log import MAX_ENTRY_BYTES, MAX_LOG_BYTES, BackgroundLog


def test_lines_are_appended_to_a_private_file_in_a_folder_made_for_it(tmp_path):
    log = BackgroundLog(str(tmp_path / "made" / "log"))
    assert [log.write("one\n"), log.write("two é\n")] == [True, True]
    path = tmp_path / "made" / "log"
    assert path.read_text(encoding="utf-8") == "one\ntwo é\n"
    assert [stat.S_IMODE(p.stat().st_mode) for p in (path.parent, path)] == [0o700, 0o600]


def test_a_log_that_grows_beyond_its_limit_is_put_aside_once(tmp_path):
    path, aside = tmp_path / "log", tmp_path / "log.1"
    path.write_bytes(b"x" * (MAX_LOG_BYTES - 4))
    log = BackgroundLog(str(path))
    assert log.write("abc\n")
    assert (path.stat().st_size, aside.exists()) == (MAX_LOG_BYTES, False)
    assert log.write("last\n")
    assert (path.exists(), aside.stat().st_size) == (False, MAX_LOG_BYTES + 5)
    assert log.write("new\n")
    assert path.read_text() == "new\n"


def test_what_was_put_aside_before_is_replaced_so_that_two_files_are_the_most_there_are(tmp_path):
    path, aside = tmp_path / "log", tmp_path / "log.1"
    aside.write_text("older")
    path.write_bytes(b"x" * MAX_LOG_BYTES)
    assert BackgroundLog(str(path)).write("!\n")
    assert [entry.name for entry in tmp_path.iterdir()] == ["log.1"]
    assert aside.stat().st_size == MAX_LOG_BYTES + 2


def test_a_very_long_text_is_cut(tmp_path):
    assert BackgroundLog(str(tmp_path / "log")).write("x" * (MAX_ENTRY_BYTES + 100))
    assert (tmp_path / "log").stat().st_size == MAX_ENTRY_BYTES


@given(st.text(alphabet=st.characters(), max_size=20))
def test_any_text_can_be_written_even_lone_surrogates(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("log") / "log"
    assert BackgroundLog(str(path)).write(text)
    assert path.read_bytes() == text.encode("utf-8", "backslashreplace")


def test_a_fifo_is_refused_whether_or_not_somebody_reads_it(tmp_path):
    path = tmp_path / "log"
    os.mkfifo(path)
    assert BackgroundLog(str(path)).write("x") is False
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert BackgroundLog(str(path)).write("x") is False
        assert os.read(reader, 10) == b""
    finally:
        os.close(reader)


def test_a_link_is_refused_and_its_target_left_alone(tmp_path):
    (tmp_path / "target").write_text("precious")
    (tmp_path / "log").symlink_to(tmp_path / "target")
    assert BackgroundLog(str(tmp_path / "log")).write("x") is False
    assert (tmp_path / "target").read_text() == "precious"


@pytest.mark.parametrize("name", ["folder", "file/below"])
def test_a_path_that_cannot_be_a_log_is_not_written(tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    assert BackgroundLog(str(tmp_path / name)).write("x") is False


def test_a_full_disk_is_not_an_error():
    assert BackgroundLog("/dev/full").write("x") is False
