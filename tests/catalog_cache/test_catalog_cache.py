"""The compiled catalogue: holds what the files define, notices every change, and is trusted no further than it can be checked."""

from __future__ import annotations

import marshal
import os
import re
import stat
import threading
import time
from _imp import source_hash
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import boathook
from boathook.catalog_cache import format as compiled
from boathook.catalog_cache.write import RACY_SECONDS, write_compiled
from boathook.core.catalog import Catalog, Settings
from boathook.core.event import KINDS
from boathook.hosts.host import list_host_names
from boathook.loader import load_hooks
from boathook.system.locations import Locations, SourceFolders
from boathook.system.programs import make_stamp
from tests.core.builders import a_hook
from tests.packs.toy_packs import PASS, find_pack, write_pack


class CachedProject(NamedTuple):
    """A project whose catalogue was cached."""

    project: object
    path: str

    def load(self):
        found = compiled.read_compiled(self.path, self.project.make_locations().key)
        return found if found is not None and found.is_fresh() else None


def load_files(project):
    return load_hooks(project.make_locations())


def write_cache(project, started: float | None = None) -> bool:
    now = time.time()
    loaded = load_files(project)
    return write_compiled(loaded.catalog, loaded.watch, project.make_locations(), now if started is None else started)


def the_file(project) -> str:
    return compiled.compiled_path(project.make_locations())


def of_kind(catalog: Catalog, kind) -> Catalog:
    built_in = tuple(hook for hook in catalog.built_in if hook.kind is kind)
    return catalog.replace(hooks=catalog.find_hooks(kind), built_in=built_in)


# What may change. Each takes a project before it is cached, and then changes it.


def bare(project):
    project.write_hook("guard")
    project.write_hook("local", scope="project")


def rewritten(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text().replace(old, new))


def edit(project):
    rewritten(project.hooks_folder("user") / "guard" / "HOOK.md", "a test", "another test")


def edit_unseen(project):
    path = project.hooks_folder("user") / "guard" / "HOOK.md"
    before = path.stat()
    rewritten(path, "pre-tool-call", "pre-tool-cull")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def replace_unseen(project):
    path = project.hooks_folder("project") / "local" / "HOOK.md"
    before = path.stat()
    other = path.with_name("other")
    other.write_text(path.read_text().replace("a test", "b test"))
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)


def empty_folder(project):
    bare(project)
    (project.hooks_folder("user") / "later").mkdir()


def with_small_letters(project):
    bare(project)
    project.write_hook("small", manifest_name="hook.md")


def without_script(project):
    bare(project)
    project.write_hook("idle", script=None)


def with_empty_scripts(project):
    bare(project)
    (project.write_hook("idle", script=None) / "scripts").mkdir()


def linked(project):
    bare(project)
    for name in ("one", "two"):
        project.write_hook(name).rename(project.base / name)
    (project.hooks_folder("user") / "link").symlink_to(project.base / "current")
    (project.base / "current").symlink_to(project.base / "one")


def retarget(project):
    (project.base / "current").unlink()
    (project.base / "current").symlink_to(project.base / "two")


def broken_link(project):
    bare(project)
    (project.hooks_folder("user") / "link").symlink_to(project.base / "target")


def fix_link(project):
    project.write_hook("target").rename(project.base / "target")


def with_toml(project):
    bare(project)
    project.write_hooks_toml("user", "[hooks]\nmax_stop_blocks = 7\n")
    project.write_hooks_toml("project", "[hooks]\n")


def equal_names(project):
    project.write_hook("guard")
    project.write_hook("guard", scope="project")


def twins(project):
    project.write_hook("a", fields={"name": "guard"})
    project.write_hook("b", fields={"name": "guard"})


def script_of(project, name: str, scope: str) -> Path:
    return project.hooks_folder(scope) / name / "scripts" / "run.sh"


def script_into(project, name: str) -> None:
    folder = project.hooks_folder("user") / name / "scripts"
    folder.mkdir(exist_ok=True)
    (folder / "run.sh").write_text("#!/bin/sh\n")


def exposed_pack(project):
    write_pack(find_pack(project), {"guard": PASS}).parent.chmod(0o777)


STALE = {
    "an edit": (bare, edit),
    "an edit of equal size with its time put back": (bare, edit_unseen),
    "another file of equal size and time": (bare, replace_unseen),
    "a new hook": (bare, lambda project: project.write_hook("new")),
    "a new project hook": (bare, lambda project: project.write_hook("new", scope="project")),
    "a removed hook": (bare, lambda w: (w.hooks_folder("user") / "guard").rename(w.base / "gone")),
    "a removed manifest": (bare, lambda w: (w.hooks_folder("user") / "guard" / "HOOK.md").unlink()),
    "a renamed hook": (bare, lambda w: (w.hooks_folder("user") / "guard").rename(w.hooks_folder("user") / "warden")),
    "HOOK.md in a folder that had none": (empty_folder, lambda project: project.write_hook("later")),
    "HOOK.md in place of hook.md": (
        with_small_letters,
        lambda project: project.write_hook("small", manifest_name="HOOK.md"),
    ),
    "an edit of hook.md": (
        with_small_letters,
        lambda w: rewritten(w.hooks_folder("user") / "small" / "hook.md", "a test", "b test"),
    ),
    "a script where there was none": (without_script, lambda project: script_into(project, "idle")),
    "a script in an empty folder": (with_empty_scripts, lambda project: script_into(project, "idle")),
    "a first hooks.toml": (bare, lambda project: project.write_hooks_toml("user", "[hooks]\nenabled = false\n")),
    "a first hooks.toml of the project": (
        bare,
        lambda project: project.write_hooks_toml("project", "[hooks]\nenabled = false\n"),
    ),
    "a changed hooks.toml": (with_toml, lambda project: project.write_hooks_toml("user", "[hooks]\ndebug = true\n")),
    "a changed hooks.toml of the project": (
        with_toml,
        lambda w: w.write_hooks_toml("project", "[hooks]\nenabled = false\n"),
    ),
    "a removed hooks.toml": (with_toml, lambda project: (project.config / "hooks.toml").unlink()),
    "a first user hook": (
        lambda w: w.write_hook("local", scope="project"),
        lambda project: project.write_hook("guard"),
    ),
    "a folder that anybody may write to": (bare, lambda project: project.hooks_folder("user").chmod(0o777)),
    "a folder above a pack that only its owner may write to again": (
        exposed_pack,
        lambda project: find_pack(project).parent.chmod(0o755),
    ),
    "a link that points elsewhere": (linked, retarget),
    "an edit behind a link": (linked, lambda w: rewritten(w.base / "one" / "HOOK.md", "a test", "b test")),
    "a broken link that is fixed": (broken_link, fix_link),
    "a replacing hook that loses its script": (equal_names, lambda w: script_of(w, "guard", "project").unlink()),
    "a first twin that loses its script": (twins, lambda w: script_of(w, "a", "user").unlink()),
}
FRESH = {
    "nothing": (bare, lambda project: None),
    "an edited script": (bare, lambda w: script_of(w, "guard", "user").write_text("#!/bin/sh\nexit 2\n")),
    "a file beside a manifest": (bare, lambda w: (w.hooks_folder("user") / "guard" / "notes").write_text("x")),
    "a file in the project": (bare, lambda project: (project.path / "main.py").write_text("x")),
    "another agent's folder": (bare, lambda project: (project.config / "skills").mkdir()),
}


def every_sort(project):
    """Fill a project with a hook of every kind and in every state."""
    for n, kind in enumerate(KINDS):
        project.write_hook(f"k{n}", fields={"trigger": kind.name, "priority": n * 10})
    project.write_hook("words", fields={"matcher": "{tool: '^(Shell|Bash)$', pattern: 'rm -rf|mkfs'}", "async": "true"})
    project.write_hook("regex", fields={"matcher": "{tool: 'mcp__.*', pattern: 'a.*b$'}", "on_failure": "block"})
    project.write_hook(
        "rich", fields={"requires": "{bins: [sh], os: linux}", "env": "[A]", "metadata": "{a: [1, ~, {b: c}]}"}
    )
    project.write_hook("invalid", manifest="---\nname: invalid\ntrigger: none\n---\n")
    project.write_hook("broken", manifest="nothing")
    project.write_hook("idle", script=None)
    project.write_hook("off")
    project.write_hook("warned", fields={"timeout": "1", "colour": "blue", "matcher": '{pattern: "\\.py"}'})
    project.write_hook("safe", fields={"protected": "true"})
    for name in ("safe", "k0", "local"):
        project.write_hook(name, scope="project")
    project.write_hook("bytes").rename(os.fsdecode(os.fsencode(project.hooks_folder("user")) + b"/\xff"))
    project.write_hooks_toml(
        "user", "[hooks]\nstrict_exit_codes = true\nmax_stop_blocks = 7\n[[hooks.disable]]\nname = 'off'\n"
    )
    project.write_hooks_toml("project", "[hooks]\ndebug = true\nodd = 1\n")


@pytest.fixture(scope="module")
def cached(new_project):
    """Projects for all these tests, old enough to be cached: all are written first, then one wait is enough."""
    builds = {
        f"{group} {name}": build for group, table in (("s", STALE), ("f", FRESH)) for name, (build, _) in table.items()
    }
    builds |= {"every sort": every_sort, "plain": bare, "damage": bare, "modes": bare, "heads": bare, "racy": bare}
    projects = {name: new_project("cached") for name in builds}
    for name, build in builds.items():
        build(projects[name])
    time.sleep(RACY_SECONDS + 0.1)
    assert [name for name, project in projects.items() if not write_cache(project)] == []
    return {name: CachedProject(project, the_file(project)) for name, project in projects.items()}


@pytest.mark.parametrize("name", STALE)
def test_a_change_is_noticed(cached, name):
    found = cached[f"s {name}"]
    assert found.load() is not None
    before = load_files(found.project).catalog
    STALE[name][1](found.project)
    assert load_files(found.project).catalog != before
    assert found.load() is None


@pytest.mark.parametrize("name", FRESH)
def test_what_changes_no_catalogue_does_not_make_it_stale(cached, name):
    found = cached[f"f {name}"]
    before = load_files(found.project).catalog
    FRESH[name][1](found.project)
    assert load_files(found.project).catalog == before
    assert found.load() is not None


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_what_the_cache_returns_equals_what_the_files_define(cached, kind):
    found = cached["every sort"]
    assert found.load().restore(kind) == of_kind(load_files(found.project).catalog, kind)


def test_the_project_of_every_sort_has_hooks_in_every_state(cached):
    hooks = load_files(cached["every sort"].project).catalog.hooks
    assert {hook.state for hook in hooks} == {"armed", "invalid", "shadowed", "disabled", "no-entry-point"}


# Not cached


def test_what_changed_a_moment_ago_is_not_cached(project):
    bare(project)
    assert write_cache(project) is False
    assert write_cache(project, started=time.time() + 1000) is False
    assert not project.cache.exists()


def test_what_changed_while_it_was_read_is_not_cached(cached):
    found = cached["racy"]
    os.unlink(found.path)
    changed = os.stat(found.project.hooks_folder("user") / "guard" / "HOOK.md").st_ctime
    assert write_cache(found.project, started=changed + RACY_SECONDS / 2) is False
    assert not os.path.exists(found.path)
    assert write_cache(found.project) is True


def locations_of(cache: str, project: str = "/p", trust: str = "") -> Locations:
    hook_md = SourceFolders("HOOK.md", "/a", project)
    return Locations(config="/a", state=trust, cache=cache, sources=(hook_md,))


def path_of(cache: str, project: str = "/p", trust: str = "") -> str | None:
    return compiled.compiled_path(locations_of(cache, project, trust))


def write_catalog(catalog: Catalog, locations: Locations) -> bool:
    return write_compiled(catalog, (), locations, time.time())


def keep_nothing(cache: str, project: str = "/p") -> bool:
    return write_catalog(Catalog(projects=(("HOOK.md", project),)), locations_of(cache, project))


def test_a_cache_that_cannot_be_written_is_not_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    assert keep_nothing(str(tmp_path / "file")) is False
    taken = Path(path_of(str(tmp_path / "cache")))
    taken.mkdir(parents=True)
    assert keep_nothing(str(tmp_path / "cache")) is False
    assert os.listdir(tmp_path / "cache") == [taken.name]


INSIDE = {
    ("/p/.cache/boathook", "/p"): True,
    ("/p/x/.cache/boathook", "/p"): True,
    ("/p", "/p"): True,
    ("/p2/.cache/boathook", "/p"): False,
    ("/home/me/.cache/boathook", "/home/me/work"): False,
    ("/home/me/.cache/boathook", ""): False,
    ("/.cache/boathook", "/"): False,
}


@pytest.mark.parametrize(("places", "inside"), INSIDE.items())
def test_a_cache_inside_the_project_is_not_used(places, inside):
    assert (path_of(*places) is None) is inside


def test_a_catalogue_whose_cache_is_inside_the_project_is_not_cached(project):
    inside = project.path / ".cache" / "boathook"
    assert keep_nothing(str(inside), str(project.path)) is False
    assert not inside.exists()


def test_a_project_with_a_very_long_name_is_cached_under_the_beginning_of_it():
    paths = [path_of("/c", "/" + name) for name in ("x" * 500, "x" * 501, "é" * 120, "é" * 121)]
    assert len(set(paths)) == 4
    assert all(len(path.removeprefix("/c/").encode()) <= compiled.MAX_NAME_BYTES for path in paths)
    assert re.fullmatch(r"/c/%2Fx\+[0-9a-f]{16}\.catalogue", path_of("/c", "/x"))


names = st.text(alphabet="ab%2F\udcff", min_size=1, max_size=6)
paths = st.lists(names, max_size=3).map(lambda found: f"/{'/'.join(found)}")


@given(paths, paths)
def test_every_project_has_a_file_of_its_own_directly_in_the_cache(one, other):
    files = [path_of("/c", one), path_of("/c", other)]
    assert [os.path.dirname(file) for file in files] == ["/c", "/c"]
    assert (files[0] == files[1]) == (one == other)


# How it is written


def test_it_is_written_for_the_user_alone_and_nothing_is_left_over(cached):
    project, path = cached["plain"]
    assert os.listdir(project.cache) == [os.path.basename(path)]
    assert [stat.S_IMODE(os.stat(name).st_mode) for name in (project.cache, path)] == [0o700, 0o600]


def test_many_who_write_the_cache_at_once_leave_one_whole_file(tmp_path):
    threads = [threading.Thread(target=keep_nothing, args=(str(tmp_path),)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    path = path_of(str(tmp_path), "/p")
    assert os.listdir(tmp_path) == [os.path.basename(path)]
    assert compiled.load_compiled(locations_of(str(tmp_path))) is not None


@pytest.mark.parametrize("trust", ["", "/s", "/t"])
def test_a_catalogue_is_only_for_the_trust_that_it_was_made_with(tmp_path, trust):
    trusts = ["", "/s", "/t"]
    paths = [path_of(str(tmp_path), "/p", one) for one in trusts]
    assert len(set(paths)) == 3
    write_catalog(Catalog(projects=(("HOOK.md", "/p"),)), locations_of(str(tmp_path), "/p", trust))
    made = paths[trusts.index(trust)]
    assert [path for path in paths if os.path.exists(path)] == [made]
    for path in paths:  # not even if it lay in another's place
        if path != made:
            Path(path).write_bytes(Path(made).read_bytes())
    found = [compiled.load_compiled(locations_of(str(tmp_path), "/p", one)) for one in trusts]
    assert [one is not None for one in found] == [one == trust for one in trusts]


def damages(data: bytes):
    step = max(len(data) // 100, 1)
    for at in range(0, len(data), step):
        yield data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :]
        yield data[:at]
    yield data + b"x"
    yield b""
    yield b"\0" * len(data)


def test_a_damaged_file_is_never_trusted_and_never_an_error(cached):
    found = cached["damage"]
    data = Path(found.path).read_bytes()
    trusted = []
    for damaged in damages(data):
        Path(found.path).write_bytes(damaged)
        if found.load() is not None:
            trusted.append(damaged)
    Path(found.path).write_bytes(data)
    assert trusted == []
    assert found.load() is not None


MODES = {0o600: True, 0o644: True, 0o400: True, 0o620: False, 0o602: False, 0o666: False}


@pytest.mark.parametrize(("mode", "trusted"), MODES.items(), ids=map(oct, MODES))
def test_a_file_that_others_may_write_is_not_trusted(cached, mode, trusted):
    found = cached["modes"]
    os.chmod(found.path, mode)
    assert (found.load() is not None) is trusted


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_a_file_of_another_user_is_not_trusted(cached):
    found = cached["modes"]
    os.chmod(found.path, 0o600)
    os.chown(found.path, 4711, -1)
    assert found.load() is None
    os.chown(found.path, os.getuid(), -1)
    assert found.load() is not None


def test_a_path_that_is_not_a_regular_file_is_not_trusted_and_not_waited_for(cached, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to(cached["plain"].path)
    names = ["fifo", "link", ".", "gone", "nul\0"]
    assert [
        compiled.read_compiled(f"{tmp_path}/{name}", cached["plain"].project.make_locations().key) for name in names
    ] == [None] * 5


def with_head(data: bytes, **changes) -> bytes:
    """Return the bytes of a compiled catalogue with another head, its checksum right."""
    start = len(compiled.MAGIC) + 8
    size = int.from_bytes(data[start : start + 4], "little")
    head = marshal.loads(data[start + 4 : start + 4 + size])
    top = marshal.dumps({**head, **changes})
    rest = len(top).to_bytes(4, "little") + top + data[start + 4 + size :]
    return compiled.MAGIC + source_hash(compiled.FORMAT, rest) + rest


FORMAT, PATH, HEX, TAG = compiled.VERSION
HEADS = {
    "the same": ({}, True),
    "another format": ({"version": (FORMAT + 1, PATH, HEX, TAG)}, False),
    "another Python": ({"version": (FORMAT, PATH, HEX + 1, TAG)}, False),
    "another implementation": ({"version": (FORMAT, PATH, HEX, "pypy311")}, False),
    "another installation": ({"version": (FORMAT, "/other/site-packages/boathook", HEX, TAG)}, False),
    "other locations": ({"key": ()}, False),
    "a file more to watch": ({"watch": (("/", (1, 2, 3)),)}, False),
    "a file that should be missing": ({"watch": (("/", None),)}, False),
    "a file that should be there": ({"watch": (("/no/such/file", (1, 2, 3)),)}, False),
    "a missing file that is missing": ({"watch": (("/no/such/file", None),)}, True),
}


@pytest.mark.parametrize(("changes", "trusted"), HEADS.values(), ids=HEADS)
def test_a_file_of_another_make_is_not_used(cached, tmp_path, changes, trusted):
    found = cached["heads"]
    (tmp_path / "file").write_bytes(with_head(Path(found.path).read_bytes(), **changes))
    (tmp_path / "file").chmod(0o600)
    loaded = compiled.read_compiled(str(tmp_path / "file"), found.project.make_locations().key)
    assert (loaded is not None and loaded.is_fresh()) is trusted


OTHER_LOCATIONS = {
    "the same": ((0, 0, 0, 0), True),
    "another config folder": ((1, 0, 0, 0), False),
    "another state folder": ((0, 1, 0, 0), False),
    "another folder of the source": ((0, 0, 1, 0), False),
    "another project of the source": ((0, 0, 0, 1), False),
}


@pytest.mark.parametrize(("others", "trusted"), OTHER_LOCATIONS.values(), ids=OTHER_LOCATIONS)
def test_a_file_for_other_locations_is_not_used(tmp_path, others, trusted):
    def locations(config: int, state: int, user: int, project: int) -> Locations:
        hook_md = SourceFolders("HOOK.md", f"/user{user}", f"/project{project}")
        return Locations(config=f"/c{config}", state=f"/s{state}", cache=str(tmp_path), sources=(hook_md,))

    assert write_catalog(Catalog(), locations(0, 0, 0, 0))
    path = compiled.compiled_path(locations(0, 0, 0, 0))
    assert (compiled.read_compiled(path, locations(*others).key) is not None) is trusted
    assert (compiled.compiled_path(locations(*others)) == path) is trusted


def test_a_source_that_is_left_out_makes_another_file(tmp_path):
    hook_md, empty = SourceFolders("HOOK.md", "/u", ""), SourceFolders("settings.json")
    paths = [
        compiled.compiled_path(Locations(cache=str(tmp_path), sources=sources))
        for sources in [(hook_md,), (hook_md, empty), (empty,), ()]
    ]
    assert len(set(paths)) == 4


def test_a_file_of_another_boathook_is_not_used(cached):
    """An installation has its own path, and a new version of it has new files."""
    assert compiled.__file__ == PATH
    head = cached["plain"].load().head
    watched = {path for path, _ in head["watch"]}
    hosts = Path(boathook.__file__).parent / "hosts"
    assert {str(hosts), *(str(hosts / f"{name.replace('-', '_')}.py") for name in list_host_names())} <= set(watched)
    # An upgrade in place writes this file.
    assert str(hosts.parent / "version.py") in watched


def test_the_stamp_of_a_file_changes_with_the_file(tmp_path):
    path = tmp_path / "file"
    assert make_stamp(str(path)) is None
    path.write_text("a")
    first = make_stamp(str(path))
    path.unlink()
    path.write_text("ab")
    assert first != make_stamp(str(path))
    assert make_stamp("/nul\0") is None


# What the fast path asks


@pytest.fixture
def rows(tmp_path):
    """Return what the fast path knows about every kind of event by a catalogue of some hooks."""

    def _rows(*hooks, **settings):
        catalog = Catalog(hooks, Settings(**settings), projects=(("HOOK.md", "/p"),))
        write_catalog(catalog, locations_of(str(tmp_path)))
        found = compiled.load_compiled(locations_of(str(tmp_path)))
        return {kind.name: found.section(f"rows {kind.name}") for kind in KINDS}

    return _rows


def test_a_catalogue_without_hooks_concerns_no_event(rows):
    assert set(rows().values()) == {()}


def test_the_engine_must_see_every_event_that_a_warning_could_be_about(rows):
    assert rows(a_hook(state="invalid"))["pre-tool-call"] is None
    assert rows(a_hook(state="no-entry-point"))["pre-tool-call"] is None
    assert set(rows(a_hook(kind=None, state="invalid")).values()) == {None}
    assert set(rows(debug=True).values()) == {None}


def test_a_disabled_hook_is_left_out_and_a_shadowed_one_of_the_user_is_reported(rows):
    assert [rows(a_hook(state=state))["pre-tool-call"] for state in ("disabled", "shadowed")] == [(), None]


def test_an_event_without_tool_that_has_a_hook_is_the_engine_s(rows):
    assert rows(a_hook(kind=KINDS[4]))["pre-agent-turn-stop"] is None
