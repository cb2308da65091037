"""Trees: read once, bounded, no link followed; the digest changes with every byte, name and mode."""

from __future__ import annotations

import os
import socket
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.trust import snapshot as trees
from boathook.trust.snapshot import (
    Snapshot,
    SnapshotError,
    SnapshotItem,
    is_copy_of,
    read_snapshot,
    remove_snapshot,
    write_snapshot,
)


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "hook"
    (made / "scripts").mkdir(parents=True)
    (made / "HOOK.md").write_text("text")
    (made / "scripts" / "run.sh").write_text("#!/bin/sh\n")
    for path, mode in ((made, 0o755), (made / "scripts", 0o755), (made / "HOOK.md", 0o644)):
        path.chmod(mode)
    (made / "scripts" / "run.sh").chmod(0o755)
    return made


def test_a_tree_holds_every_part_in_order(folder):
    (folder / "scripts" / "also").symlink_to("run.sh")
    assert read_snapshot(str(folder)) == Snapshot(
        (
            SnapshotItem("", "folder", 0o755),
            SnapshotItem("HOOK.md", "file", 0o644, b"text"),
            SnapshotItem("scripts", "folder", 0o755),
            SnapshotItem("scripts/also", "link", 0, b"run.sh"),
            SnapshotItem("scripts/run.sh", "file", 0o755, b"#!/bin/sh\n"),
        )
    )


def test_a_single_file_is_a_tree_of_one_part(folder):
    assert read_snapshot(str(folder / "HOOK.md")) == Snapshot((SnapshotItem("", "file", 0o644, b"text"),))


CHANGES = {
    "a byte": lambda f: (f / "HOOK.md").write_text("texT"),
    "a byte more": lambda f: (f / "HOOK.md").write_text("text "),
    "a mode": lambda f: (f / "scripts" / "run.sh").chmod(0o744),
    "the mode of a folder": lambda f: (f / "scripts").chmod(0o700),
    "a new file": lambda f: (f / "lib.sh").write_text(""),
    "a new folder": lambda f: (f / "lib").mkdir(),
    "a name": lambda f: (f / "HOOK.md").rename(f / "hook.md"),
    "a file that is gone": lambda f: (f / "HOOK.md").unlink(),
    "a link": lambda f: (f / "also").symlink_to("HOOK.md"),
    "a file that became a link": lambda f: ((f / "HOOK.md").unlink(), (f / "HOOK.md").symlink_to("scripts/run.sh")),
    "a hidden file": lambda f: (f / ".env").write_text("A=1"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_digest_changes_with(folder, change):
    before = read_snapshot(str(folder)).compute_digest()
    CHANGES[change](folder)
    assert read_snapshot(str(folder)).compute_digest() != before


def test_the_digest_does_not_change_with_time_or_what_tools_leave(folder):
    before = read_snapshot(str(folder)).compute_digest()
    os.utime(folder / "HOOK.md", (1, 1))
    (folder / "scripts" / "__pycache__").mkdir()
    (folder / "scripts" / "__pycache__" / "x.pyc").write_bytes(b"evil")
    (folder / ".DS_Store").write_bytes(b"x")
    assert read_snapshot(str(folder)).compute_digest() == before
    assert not [part for part in read_snapshot(str(folder)).items if "__pycache__" in part.path]


def _fifo(folder):
    os.mkfifo(folder / "pipe")
    return f"{folder}/pipe is neither a file nor a folder"


def _socket(folder):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("socket")
    return f"{folder}/socket is neither a file nor a folder"


def _out(folder):
    (folder / "out").symlink_to("../../elsewhere")
    return f"{folder}/out is a link that leaves the folder"


def _absolute(folder):
    (folder / "out").symlink_to(folder / "HOOK.md")
    return f"{folder}/out is a link that leaves the folder"


def _through(folder):
    (folder / "in").symlink_to("scripts")
    (folder / "out").symlink_to("in/../HOOK.md")
    return f"{folder}/out is a link that leaves the folder"


def _many(folder):
    for at in range(trees.MAX_SNAPSHOT_FILES):
        (folder / f"{at}").touch()
    return f"{folder} has more than 512 files and folders. Move those that the hook does not need out of it"


def _large(folder):
    (folder / "large").write_bytes(b"")
    os.truncate(folder / "large", trees.MAX_SNAPSHOT_BYTES + 1)
    return f"{folder} has more than 8 MiB. Move large files out of it"


def _deep(folder):
    at = folder
    for _ in range(trees.MAX_SNAPSHOT_DEPTH + 1):
        at = at / "d"
    at.mkdir(parents=True)
    return f"{at} is more than 16 folders deep"


@pytest.mark.parametrize("make", [_fifo, _socket, _out, _absolute, _through, _many, _large, _deep])
def test_a_folder_is_refused_for(folder, make, monkeypatch):
    monkeypatch.chdir(folder)
    reported = make(folder)
    with pytest.raises(SnapshotError) as error:
        read_snapshot(str(folder))
    assert str(error.value) == reported


def test_a_root_that_is_a_link_or_a_device_is_refused(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    for path in (tmp_path / "link", "/dev/null", tmp_path / "gone"):
        with pytest.raises(SnapshotError):
            read_snapshot(str(path))


def test_a_copy_holds_the_same_and_is_read_only(folder, tmp_path):
    (folder / "scripts" / "also").symlink_to("run.sh")
    read = read_snapshot(str(folder))
    copy = tmp_path / "copy"
    write_snapshot(read, str(copy))
    assert is_copy_of(read, str(copy))
    modes = {p.name: stat.S_IMODE(p.lstat().st_mode) for p in copy.rglob("*") if not p.is_symlink()}
    assert modes == {"HOOK.md": 0o400, "scripts": 0o500, "run.sh": 0o500}
    (copy / "scripts" / "run.sh").chmod(0o600)
    (copy / "scripts" / "run.sh").write_text("evil")
    assert not is_copy_of(read, str(copy))
    remove_snapshot(str(copy))
    assert not copy.exists()


def test_tests_beside_a_manifest_are_left_out(folder):
    before = read_snapshot(str(folder)).compute_digest()
    (folder / "tests.txt").write_text("pass ls\n")
    (folder / "tests").mkdir()
    (folder / "tests" / "escaping").symlink_to("/etc/passwd")
    assert read_snapshot(str(folder)).compute_digest() == before
    (folder / "scripts" / "tests.txt").write_text("")
    assert read_snapshot(str(folder)).compute_digest() != before
    (folder / "HOOK.md").unlink()
    with pytest.raises(SnapshotError, match="is a link that leaves the folder"):
        read_snapshot(str(folder))


@pytest.mark.parametrize(
    ("path", "target", "is_refused"),
    [
        ("scripts/lib.sh", "../tests/lib.sh", True),
        ("scripts/deep/lib.sh", "../.././tests/lib.sh", True),
        ("lib.sh", "tests.txt", True),
        ("scripts/all", "../tests", True),
        ("scripts/lib.sh", "tests/lib.sh", False),
        ("lib.sh", "scripts/tests", False),
        ("scripts/up", "..", False),
    ],
)
def test_a_link_to_the_tests_is_refused(folder, path, target, is_refused):
    link = folder / path
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(target)
    if is_refused:
        with pytest.raises(SnapshotError, match="is a link to the tests of the hook"):
            read_snapshot(str(folder))
    else:
        read_snapshot(str(folder))


NAMES = st.text(st.characters(blacklist_characters="/\0", blacklist_categories=("Cs",)), min_size=1, max_size=8)
PARTS = st.builds(SnapshotItem, NAMES, st.sampled_from(["file", "link"]), st.integers(0, 0o7777), st.binary(max_size=8))
TREES = st.lists(PARTS, max_size=4)


@given(TREES, TREES)
def test_two_trees_have_one_digest_only_if_they_are_the_same(one, other):
    assert (Snapshot(tuple(one)).compute_digest() == Snapshot(tuple(other)).compute_digest()) == (one == other)
