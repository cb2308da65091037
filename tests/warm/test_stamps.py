"""The library that looks at many files at once has the rule of `is_fresh`, and is used only if it is whole and its own."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from boathook.catalog_cache import format as compiled
from boathook.catalog_cache.format import is_fresh
from boathook.system.programs import make_stamp
from boathook.warm import stamps
from boathook.warm.stamps import load_stamps_library
from hatch_build import WITHOUT_CLIENT_VARIABLE, build_stamps
from tests.warm.warm_harness import COMPILER, PACKAGE

if TYPE_CHECKING:
    from boathook.system.programs import Stamp

pytestmark = pytest.mark.skipif(not COMPILER, reason="there is no compiler here")
SOURCE = PACKAGE / "warm/stamps.c"
HOOKS = 6
# More than the clock of any file system needs for the next time.
TICK_SECONDS = 0.03


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("library") / "stamps"
    assert build_stamps(SOURCE, path)
    return str(path)


@pytest.fixture(scope="module")
def pack(library):
    found = load_stamps_library(library)
    assert found is not None
    return found


def write_root(base: Path) -> Path:
    """Write a folder of hooks, one of which is a link, another one a link to a link."""
    root = base / "hooks"
    for number in range(HOOKS):
        folder = root / f"hook-{number}"
        folder.mkdir(parents=True)
        (folder / "HOOK.md").write_text(f"hook {number}\n")
    for name in ("one", "two"):
        (base / name).mkdir()
        (base / name / "HOOK.md").write_text(name)
    (base / "current").symlink_to(base / "one")
    (root / "link").symlink_to(base / "current")
    (root / "near").symlink_to(base / "two")
    return root


def watch_root(root: Path) -> list[tuple[str, Stamp]]:
    names = [*(f"hook-{number}" for number in range(HOOKS)), "link", "near", "later"]
    folders = [str(root), f"{root}/", f"{root.parent}/hooks.toml"]
    paths = [*folders, *(f"{root}/{name}/HOOK.md" for name in names), *(f"{root}/hook-{n}/" for n in range(HOOKS))]
    return [(path, make_stamp(path)) for path in paths]


def edit(root: Path) -> None:
    with (root / "hook-2/HOOK.md").open("a") as file:
        file.write("more")


def edit_unseen(root: Path) -> None:
    path = root / "hook-1/HOOK.md"
    before = path.stat()
    path.write_bytes(path.read_bytes()[::-1])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def edit_mapped(root: Path) -> None:
    with (root / "hook-4/HOOK.md").open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory[0:1] = b"X"
        memory.flush()


def replace(root: Path) -> None:
    path = root / "hook-0/HOOK.md"
    before = path.stat()
    (root.parent / "new").write_bytes(path.read_bytes())
    os.utime(root.parent / "new", ns=(before.st_atime_ns, before.st_mtime_ns))
    (root.parent / "new").replace(path)


def retarget(root: Path) -> None:
    (root.parent / "next").symlink_to(root.parent / "two")
    (root.parent / "next").replace(root.parent / "current")


def swap_folders(root: Path) -> None:
    (root / "hook-1").rename(root / ".aside")
    (root / "hook-2").rename(root / "hook-1")
    (root / ".aside").rename(root / "hook-2")


def move_root(root: Path) -> None:
    root.rename(root.parent / "away")
    root.mkdir()


EDITS: dict[str, Callable[[Path], object]] = {
    "a longer text": edit,
    "another text of the same size, with its time put back": edit_unseen,
    "a write through a mapping": edit_mapped,
    "an equal file in its place": replace,
    "a mode of a file": lambda root: (root / "hook-3/HOOK.md").chmod(0o600),
    "a mode of a folder": lambda root: (root / "hook-3").chmod(0o711),
    "a mode of the root": lambda root: root.chmod(0o777),
    "a new hook": lambda root: (root / "hook-new").mkdir(),
    "a manifest that was missing": lambda root: ((root / "later").mkdir(), (root / "later/HOOK.md").write_text("x")),
    "a removed manifest": lambda root: (root / "hook-5/HOOK.md").unlink(),
    "a removed hook": lambda root: (root / "hook-5").rename(root.parent / "gone"),
    "another name of a hook": lambda root: (root / "hook-5").rename(root / "hook-6"),
    "two hooks that change places": swap_folders,
    "another root": move_root,
    "a link behind a link to another folder": retarget,
    "a text behind a link": lambda root: (root.parent / "two/HOOK.md").write_text("owt"),
    "a link to nothing": lambda root: (root.parent / "two").rename(root.parent / "three"),
    "a file in place of a folder": lambda root: (
        (root / "hook-5").rename(root.parent / "gone"),
        (root / "hook-5").write_text(""),
    ),
    "a first hooks.toml": lambda root: (root.parent / "hooks.toml").write_text(""),
    "a link that leads to itself": lambda root: (
        (root.parent / "current").unlink(),
        (root.parent / "current").symlink_to("current"),
    ),
}
# They change what nobody looks at.
NO_EDITS: dict[str, Callable[[Path], object]] = {
    "nothing": lambda root: None,
    "a file beside a manifest": lambda root: (root / "hook-1/notes").write_text("x"),
    "a file beside the root": lambda root: (root.parent / "notes").write_text("x"),
}


@pytest.mark.parametrize("name", [*EDITS, *NO_EDITS])
def test_every_edit_is_noticed_by_python_and_by_the_library(tmp_path, pack, name):
    root = write_root(tmp_path)
    time.sleep(TICK_SECONDS)
    watch = watch_root(root)
    are_unchanged = pack(watch)
    assert (is_fresh(watch), are_unchanged()) == (True, True)
    {**EDITS, **NO_EDITS}[name](root)
    assert (is_fresh(watch), are_unchanged()) == ((name in NO_EDITS,) * 2)


Names = st.sampled_from(
    ["HOOK.md", "hook-0", "hook-1/HOOK.md", "link", "near", "later", "later/HOOK.md", "../two", "../one"]
)
Changes = st.sampled_from(["write", "remove", "rename", "link", "folder", "mode", "touch"])


def change(root: Path, kind: str, name: str, other: str, number: int) -> None:
    path, target = root / name, root / other
    with contextlib.suppress(OSError):
        match kind:
            case "write":
                path.write_text("x" * number)
            case "remove":
                path.unlink()
            case "rename":
                path.rename(target)
            case "link":
                path.symlink_to(target)
            case "folder":
                path.mkdir()
            case "mode":
                # The owner can always look into it, so that the next test can remove it.
                path.chmod(0o700 | number)
            case _:
                os.utime(path, ns=(number, number))


@given(
    watched=st.lists(st.tuples(Names, st.sampled_from(["", "/"])), max_size=12),
    before=st.lists(st.tuples(Changes, Names, Names, st.integers(0, 0o77)), max_size=4),
    after=st.lists(st.tuples(Changes, Names, Names, st.integers(0, 0o77)), max_size=4),
)
def test_after_any_changes_the_library_agrees_with_python(pack, watched, before, after):
    with tempfile.TemporaryDirectory() as base:
        root = write_root(Path(base))
        for one in before:
            change(root, *one)
        paths = [f"{root}/{name}{end}" for name, end in watched]
        watch = [*watch_root(root), *[(path, make_stamp(path)) for path in paths]]
        are_unchanged = pack(watch)
        for one in (None, *after):
            if one is not None:
                change(root, *one)
            assert are_unchanged() is is_fresh(watch)


Bounds = st.integers(-(2**63), 2**63 - 1)
Stamps = st.none() | st.tuples(Bounds, Bounds, Bounds)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_of_any_paths_and_stamps_the_library_agrees_with_python(tmp_path_factory, pack, data):
    base = tmp_path_factory.getbasetemp() / "any"
    if not base.exists():
        write_root(base)
    names = st.sampled_from(
        ["hook-0", "hook-0/", "link", "near/HOOK.md", "missing", "\udcff", "hook-1/../hook-2", "/hook-3/", ".", ""]
    )
    tops = st.sampled_from([str(base / "hooks"), f"{base}//hooks/", f"{base}/hooks/hook-1", "/", "", f"{base}/current"])
    paths = st.builds(lambda top, name: f"{top}/{name}", tops, names) | st.sampled_from(["/", ".", "x", "a/b/c", "//"])
    watched = data.draw(st.lists(paths, max_size=20))
    watch = [(path, data.draw(st.just(make_stamp(path)) | Stamps)) for path in watched]
    are_unchanged = pack(watch)
    assert are_unchanged is not None
    assert are_unchanged() is is_fresh(watch)


@pytest.mark.parametrize("path", ["/a\0b", "/\ud800"])
def test_a_path_that_c_cannot_have_is_left_to_python(pack, path):
    assert pack([(path, None)]) is None


def test_without_free_descriptors_it_returns_the_same(tmp_path, pack):
    root = write_root(tmp_path)
    watch = watch_root(root)
    are_unchanged = pack(watch)
    missing = [(f"{root}/no-{number}/x/HOOK.md", None) for number in range(8)]
    are_missing = pack(missing)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
    try:
        results = are_unchanged(), are_missing()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert results == (True, True)


def test_it_leaves_no_descriptor_open(tmp_path, pack):
    watch = watch_root(write_root(tmp_path))
    are_unchanged, is_changed = pack(watch), pack([*watch[:-1], (watch[-1][0], (1, 2, 3))])
    before = os.listdir("/proc/self/fd")
    assert (are_unchanged(), is_changed()) == (True, False)
    assert os.listdir("/proc/self/fd") == before


# Which library is used


def test_a_library_of_another_source_is_not_used(tmp_path, library):
    other = tmp_path / "stamps.c"
    other.write_bytes(SOURCE.read_bytes() + b"/* more */\n")
    assert load_stamps_library(library, str(SOURCE)) is not None
    assert load_stamps_library(library, str(other)) is None


WRONG = {
    "it always says yes": ("return result;", "return 1;"),
    "it always says no": ("return result;", "return 0;"),
    "it does not look at the owner": ("&& look->stamp[1] == (int64_t)now->st_uid", ""),
    "it does not look at the number of a file": (
        "if (look->stamp[2] < 0 || (uint64_t)look->stamp[2] != (uint64_t)now->st_ino)",
        "if (0)",
    ),
    "it looks at another time": ("== now->st_ctim.tv_nsec", "== 0"),
    "it takes what is missing for unchanged": ("return look->kind == ABSENT;", "return 1;"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_library_that_is_wrong_about_a_file_is_not_used(tmp_path, name):
    old, new = WRONG[name]
    text = SOURCE.read_text()
    assert old in text
    source = tmp_path / "stamps.c"
    source.write_text(text.replace(old, new))
    assert build_stamps(source, tmp_path / "stamps")
    assert load_stamps_library(str(tmp_path / "stamps"), str(source)) is None


@pytest.mark.parametrize("part", [0.01, 0.3, 0.6, 0.9, 0.999])
def test_a_library_that_was_cut_off_is_not_even_loaded(tmp_path, library, monkeypatch, part):
    monkeypatch.setattr(ctypes, "CDLL", lambda path: pytest.fail("it was loaded"))
    data = Path(library).read_bytes()
    (tmp_path / "stamps").write_bytes(data[: int(len(data) * part)])
    assert load_stamps_library(str(tmp_path / "stamps"), str(SOURCE)) is None


def test_a_file_with_the_right_digest_that_cannot_be_loaded_is_not_used(tmp_path, library):
    data, source = Path(library).read_bytes()[:-8], SOURCE.read_bytes()
    # The third one is for another kind of machine.
    for wrong in (b"", b"no library", data[:18] + b"\0\0" + data[20:]):
        (tmp_path / "stamps").write_bytes(wrong + stamps.compute_library_digest(wrong, source))
        assert load_stamps_library(str(tmp_path / "stamps"), str(SOURCE)) is None


def write_zeros(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(bytes(path.stat().st_size))


@pytest.mark.parametrize("damage", [lambda path: os.truncate(path, 0), write_zeros], ids=["cut off", "zeros"])
def test_a_file_that_is_overwritten_while_it_is_loaded_harms_no_one(tmp_path, library, damage):
    path = tmp_path / "stamps"
    path.write_bytes(Path(library).read_bytes())
    root = write_root(tmp_path)
    # The loader may end the process.
    pid = os.fork()
    if pid == 0:
        try:
            pack = load_stamps_library(str(path), str(SOURCE))
            damage(path)
            are_unchanged = pack(watch_root(root))
            is_seen = are_unchanged()
            edit(root)
            os._exit(0 if is_seen and not are_unchanged() else 1)
        finally:
            os._exit(2)
    assert os.waitpid(pid, 0)[1] == 0


@pytest.mark.parametrize("content", [None, b"", b"\x7fELF", b"no library"])
def test_a_library_that_is_missing_or_damaged_is_not_used(tmp_path, content):
    if content is not None:
        (tmp_path / "stamps").write_bytes(content)
    assert load_stamps_library(str(tmp_path / "stamps"), str(SOURCE)) is None


def test_without_a_compiler_none_is_built(tmp_path, monkeypatch):
    monkeypatch.setenv(WITHOUT_CLIENT_VARIABLE, "1")
    assert not build_stamps(SOURCE, tmp_path / "stamps")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("has_library", [True, False])
def test_a_kept_catalogue_is_looked_at_each_time(tmp_path, monkeypatch, pack, has_library):
    monkeypatch.setattr(compiled._KeptCatalogues, "is_on", True)
    monkeypatch.setattr(compiled._KeptCatalogues, "by_path", {})
    monkeypatch.setattr(compiled._KeptCatalogues, "pack_looks", staticmethod(pack) if has_library else None)
    root = write_root(tmp_path)
    path = tmp_path / "file.catalogue"
    path.write_bytes(compiled.pack({"key": ("k",), "watch": tuple(watch_root(root))}, {}))
    path.chmod(0o600)
    time.sleep(TICK_SECONDS)
    first = compiled.read_compiled(str(path), ("k",))
    assert first is not None
    assert first.is_fresh()
    assert compiled.read_compiled(str(path), ("k",)) is first
    edit_unseen(root)
    assert not first.is_fresh()
