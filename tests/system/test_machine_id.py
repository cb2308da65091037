"""The id of the machine: made once, whoever comes first, and private."""

from __future__ import annotations

import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from boathook.system.machine_id import MACHINE_FILE, find_machine_id


def test_the_id_is_random_made_once_and_private(tmp_path: Path) -> None:
    first, other = find_machine_id(str(tmp_path / "a")), find_machine_id(str(tmp_path / "b"))
    assert (len(first), first == other, find_machine_id(str(tmp_path / "a"))) == (32, False, first)
    path = tmp_path / "a" / MACHINE_FILE
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0o600, 0o700)
    assert [one.name for one in path.parent.iterdir()] == [MACHINE_FILE]


def test_many_that_make_it_at_once_get_the_same_one(tmp_path: Path) -> None:
    barrier = threading.Barrier(16)

    def find(_: int) -> str:
        barrier.wait()
        return find_machine_id(str(tmp_path))

    with ThreadPoolExecutor(16) as pool:
        ids = set(pool.map(find, range(16)))
    assert (len(ids), "" in ids) == (1, False)
    assert [one.name for one in tmp_path.iterdir()] == [MACHINE_FILE]


def test_a_file_with_something_else_is_not_an_id_and_stays(tmp_path: Path) -> None:
    for text in ("", "short\n", "x" * 32, "0" * 33):
        (tmp_path / MACHINE_FILE).write_text(text)
        assert (find_machine_id(str(tmp_path)), (tmp_path / MACHINE_FILE).read_text()) == ("", text)
    (tmp_path / MACHINE_FILE).unlink()
    (tmp_path / "elsewhere").write_text("0" * 32)
    (tmp_path / MACHINE_FILE).symlink_to(tmp_path / "elsewhere")
    assert find_machine_id(str(tmp_path)) == ""


def test_where_nothing_can_be_kept_there_is_no_id(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert find_machine_id(str(tmp_path / "file" / "state")) == ""
    os.mkfifo(tmp_path / MACHINE_FILE)
    assert find_machine_id(str(tmp_path)) == ""
