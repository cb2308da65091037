"""Reading and writing files that somebody else may have prepared."""

from __future__ import annotations

import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.system.files import MAX_FILE_BYTES, FileError, read_regular, read_text, write_private
from boathook.system.programs import find_foreign_owner


def find_error(path, limit=MAX_FILE_BYTES) -> str:
    with pytest.raises(FileError) as error:
        read_text(str(path), limit)
    return str(error.value)


def test_a_regular_file_is_read_whole_up_to_the_limit(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"x" * 100)
    assert read_regular(str(path), 100) == b"x" * 100
    assert find_error(path, 99) == "is larger than 0 KiB"


def test_the_limit_of_a_manifest_is_a_mebibyte(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    assert find_error(path) == "is larger than 1024 KiB"
    os.truncate(path, MAX_FILE_BYTES)
    assert read_text(str(path)) == "x" * MAX_FILE_BYTES


def test_a_path_that_is_not_a_regular_file_is_not_read_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    assert [find_error(tmp_path / name) for name in ("fifo", "folder")] == ["is not a regular file"] * 2
    assert [find_error(path) for path in ("/dev/zero", "/dev/null")] == ["is not a regular file"] * 2


def test_a_file_that_grows_beyond_its_size_is_not_read_without_end():
    assert find_error("/proc/self/maps", 64) == "is larger than 0 KiB"


def test_a_file_that_cannot_be_opened_raises_an_error_with_the_reason(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert find_error(tmp_path / "gone") == "cannot be opened: No such file or directory"
    assert find_error(tmp_path / "loop") == "cannot be opened: Too many levels of symbolic links"
    assert find_error(f"{tmp_path}/nul\0") == "cannot be opened: its path contains a NUL"


TEXTS = {
    "a mark": (b"\xef\xbb\xbfhello", "hello"),
    "umlauts": ("é—😀".encode(), "é—😀"),
    "nothing": (b"", ""),
}


@pytest.mark.parametrize(("data", "expected"), TEXTS.values(), ids=TEXTS)
def test_text_is_utf_8_with_a_mark_forgiven(tmp_path, data, expected):
    (tmp_path / "file").write_bytes(data)
    assert read_text(str(tmp_path / "file")) == expected


def test_a_file_that_is_not_text_raises_an_error_with_the_place(tmp_path):
    (tmp_path / "latin").write_bytes(b"caf\xe9")
    (tmp_path / "nul").write_bytes(b"a\0b")
    assert find_error(tmp_path / "latin") == "is not UTF-8 at byte 3"
    assert find_error(tmp_path / "nul") == "contains a NUL character"


def test_a_folder_that_anybody_may_write_to_is_foreign(tmp_path):
    assert find_foreign_owner(str(tmp_path)) is None
    tmp_path.chmod(0o777)
    assert find_foreign_owner(str(tmp_path)) == "can be written by anybody (chmod o-w)"
    tmp_path.chmod(0o770)
    assert find_foreign_owner(str(tmp_path)) is None
    assert find_foreign_owner(str(tmp_path / "gone")) is None


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_a_folder_of_another_user_is_foreign(tmp_path):
    os.chown(tmp_path, 4711, -1)
    assert find_foreign_owner(str(tmp_path)) == "belongs to another user (uid 4711)"


@given(st.binary(max_size=300))
def test_a_private_file_holds_what_was_written(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("private") / "deep" / "file"
    write_private(str(path), data)
    assert (path.read_bytes(), [entry.name for entry in path.parent.iterdir()]) == (data, ["file"])


def test_a_private_file_and_its_folder_are_the_user_s_alone(tmp_path):
    path = tmp_path / "made" / "file"
    write_private(str(path), b"x")
    assert [stat.S_IMODE(p.stat().st_mode) for p in (path.parent, path)] == [0o700, 0o600]


def test_writing_replaces_a_file_in_one_step(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o666)
    with path.open("rb") as reader:
        write_private(str(path), b"new")
        assert reader.read() == b"old"
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o600)


def test_writing_replaces_a_link_and_not_what_it_points_to(tmp_path):
    (tmp_path / "target").write_bytes(b"precious")
    (tmp_path / "file").symlink_to(tmp_path / "target")
    write_private(str(tmp_path / "file"), b"new")
    assert ((tmp_path / "target").read_bytes(), (tmp_path / "file").is_symlink()) == (b"precious", False)


def test_a_failed_write_leaves_nothing_behind(tmp_path):
    (tmp_path / "file").mkdir()
    (tmp_path / "file" / "kept").write_text("")
    with pytest.raises(OSError, match="directory"):
        write_private(str(tmp_path / "file"), b"new")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_writing_where_no_folder_can_be_is_an_os_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"Not a directory|File exists"):
        write_private(str(tmp_path / "file" / "below"), b"x")
