"""Where things live (S4)."""

from __future__ import annotations

import os
import pwd
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.catalog_cache.format import compiled_path
from boathook.sources.source import HOOK_MD_SOURCE, SETTINGS_JSON_SOURCE, SOURCES
from boathook.system import locations
from boathook.system.locations import (
    CACHE_FOLDER,
    CONFIG_FOLDER,
    STATE_FOLDER,
    is_dir,
    read_environment,
    resolve_folder,
    resolve_locations,
)


def find_project(start: str) -> str:
    return locations.find_project(start, HOOK_MD_SOURCE.markers)


def find_claude_project(start: str, env: dict[bytes, bytes]) -> str:
    return resolve_locations(SOURCES, start, env).find("settings.json").project


def claude_dir(env: dict[bytes, bytes]) -> str:
    return resolve_folder(SETTINGS_JSON_SOURCE.user_folder, env)


ACCOUNT = pwd.getpwuid(os.getuid()).pw_dir
FOLDERS = {
    "a home": ({b"HOME": b"/home/me"}, ("/home/me/.config", "/home/me/.cache", "/home/me/.local/state")),
    "absolute variables": (
        {b"HOME": b"/h", b"XDG_CONFIG_HOME": b"/c", b"XDG_CACHE_HOME": b"/k/", b"XDG_STATE_HOME": b"/s//"},
        ("/c", "/k", "/s"),
    ),
    "relative variables": (
        {b"HOME": b"/h", b"XDG_CONFIG_HOME": b"c", b"XDG_CACHE_HOME": b"./k", b"XDG_STATE_HOME": b""},
        ("/h/.config", "/h/.cache", "/h/.local/state"),
    ),
    "nothing": ({}, tuple(f"{ACCOUNT}/{name}" for name in (".config", ".cache", ".local/state"))),
    "a home that is not a path": (
        {b"HOME": b"h"},
        tuple(f"{ACCOUNT}/{name}" for name in (".config", ".cache", ".local/state")),
    ),
    "a name that is not text": (
        {b"XDG_CONFIG_HOME": b"/\xff", b"HOME": b"/h"},
        ("/\udcff", "/h/.cache", "/h/.local/state"),
    ),
}


@pytest.mark.parametrize(("env", "expected"), FOLDERS.values(), ids=FOLDERS)
def test_folders_follow_the_variables_where_they_are_absolute(env, expected):
    config, cache, state = expected
    found = tuple(resolve_folder(folder, env) for folder in (CONFIG_FOLDER, CACHE_FOLDER, STATE_FOLDER))
    assert found == (f"{config}/agents", f"{cache}/boathook", f"{state}/boathook")


def test_the_environment_is_that_of_this_process_as_bytes(monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", "/é")
    assert read_environment()[b"XDG_CONFIG_HOME"] == "/é".encode()
    assert dict(read_environment()) == dict(os.environb)


def test_the_project_is_the_nearest_folder_upwards_with_hooks(tmp_path):
    outer, inner = tmp_path / "outer", tmp_path / "outer" / "a" / "inner"
    (inner / "src" / "deep").mkdir(parents=True)
    (outer / ".agents" / "hooks").mkdir(parents=True)
    assert find_project(str(inner / "src" / "deep")) == str(outer)
    (inner / ".agents" / "hooks").mkdir(parents=True)
    assert [find_project(str(path)) for path in (inner / "src" / "deep", inner, inner.parent, outer)] == [
        str(inner),
        str(inner),
        str(outer),
        str(outer),
    ]
    assert find_project(f"{inner}/") == str(inner)


def test_a_folder_without_hooks_makes_no_project(tmp_path):
    (tmp_path / "a" / ".agents").mkdir(parents=True)
    assert find_project(str(tmp_path / "a")) == ""


def test_hooks_that_are_there_but_cannot_be_used_make_a_project_so_that_this_is_reported(tmp_path):
    for name in "bc":
        (tmp_path / name / ".agents").mkdir(parents=True)
    (tmp_path / "b" / ".agents" / "hooks").write_text("")
    (tmp_path / "c" / ".agents" / "hooks").symlink_to("nowhere")
    assert [find_project(str(tmp_path / name)) for name in "bc"] == [str(tmp_path / "b"), str(tmp_path / "c")]


def test_a_start_behind_a_link_is_looked_at_where_it_really_is(tmp_path):
    (tmp_path / "project" / ".agents" / "hooks").mkdir(parents=True)
    (tmp_path / "project" / "src").mkdir()
    (tmp_path / "link").symlink_to("project/src")
    assert find_project(str(tmp_path / "link")) == str(tmp_path / "project")


def test_a_start_that_does_not_exist_still_has_a_project_above_it(tmp_path):
    (tmp_path / ".agents" / "hooks").mkdir(parents=True)
    assert find_project(f"{tmp_path}/gone/deeper") == str(tmp_path)


@given(st.text(max_size=20))
def test_any_start_finds_an_ancestor_or_nothing(start):
    found = find_project(f"/nowhere/{start}")
    assert found == "" or PurePosixPath(found) in [PurePosixPath(f"/nowhere/{start}"), *PurePosixPath("/x/y").parents]


@pytest.mark.parametrize("start", ["", "/", "relative", "a/b", "/\0", "/\ud800"])
def test_an_odd_start_has_no_project(start):
    assert find_project(start) == ""


def test_only_a_folder_is_a_folder(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "broken").symlink_to(tmp_path / "gone")
    names = ["", "file", "link", "broken", "gone", "nul\0"]
    assert [is_dir(f"{tmp_path}/{name}") for name in names] == [True, False, True, False, False, False]


def with_settings(folder: Path, name: str = "settings.json") -> Path:
    (folder / ".claude").mkdir(parents=True, exist_ok=True)
    (folder / ".claude" / name).write_text("{}")
    return folder


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
def test_the_nearest_folder_with_settings_is_found_from_below(tmp_path, name):
    env = {b"HOME": b"/nowhere"}
    outer, inner = with_settings(tmp_path), with_settings(tmp_path / "a" / "b", name)
    starts = [inner / "src", inner, inner.parent, outer]
    assert [find_claude_project(str(start), env) for start in starts] == [
        str(inner),
        str(inner),
        str(outer),
        str(outer),
    ]
    assert find_claude_project("/nowhere/at/all", env) == ""


def test_the_home_folder_is_not_a_project_by_any_path_to_it(tmp_path):
    home = with_settings(tmp_path / "home")
    (tmp_path / "link").symlink_to(home)
    for variable in (home, tmp_path / "link"):
        env = {b"HOME": str(variable).encode()}
        assert [find_claude_project(str(start / "work"), env) for start in (home, tmp_path / "link")] == ["", ""]


def test_a_settings_folder_elsewhere_is_the_users_and_home_still_no_project(tmp_path):
    home, own = with_settings(tmp_path / "home"), with_settings(tmp_path / "home" / "work")
    env = {b"HOME": str(home).encode(), b"CLAUDE_CONFIG_DIR": f"{tmp_path}/elsewhere/".encode()}
    assert claude_dir(env) == f"{tmp_path}/elsewhere"
    assert [find_claude_project(str(start), env) for start in (home, own)] == ["", str(own)]


@pytest.mark.parametrize("value", [b"", b"relative"])
def test_a_settings_folder_that_is_not_absolute_does_not_count(value):
    assert claude_dir({b"HOME": b"/h", b"CLAUDE_CONFIG_DIR": value}) == "/h/.claude"


# All of them at once


def resolve(project, start: Path | None = None, env: dict[str, str] | None = None, **options):
    variables = {name.encode(): value.encode() for name, value in {**project.variables, **(env or {})}.items()}
    return resolve_locations(SOURCES, str(start or project.path), variables, **options)


def folders_of(found) -> dict[str, tuple[str, str]]:
    return {folders.name: (folders.user, folders.project) for folders in found.sources if folders.name != "packs"}


def test_every_folder_is_resolved_once(project):
    project.hooks_folder("project").mkdir(parents=True)
    below = with_settings(project.path / "pkg")
    found = resolve(project, below / "src")
    assert (found.start, found.config) == (f"{below}/src", str(project.config))
    assert (found.state, found.cache) == (str(project.state), str(project.cache))
    assert folders_of(found) == {
        "HOOK.md": (str(project.config), str(project.path)),
        "settings.json": (str(project.claude_folder), str(below)),
    }
    assert (found.untrusted, found.trust_all, found.projects) == ({}, False, (str(project.path), str(below)))


def test_a_given_folder_takes_precedence_over_variables(project):
    env = {"XDG_CONFIG_HOME": f"{project.path}/c", "CLAUDE_CONFIG_DIR": "/x", "XDG_STATE_HOME": f"{project.path}/s"}
    given = {"config": "/c", "claude": "relative", "state": "/s"}
    found = resolve(project, env=env, given=given)
    assert (found.config, found.state, found.untrusted) == ("/c", "/s", {})
    assert folders_of(found) == {"HOOK.md": ("/c", ""), "settings.json": (f"{os.getcwd()}/relative", "")}
    assert resolve(project, given={"config": "", "state": ""}).config == str(project.config)


@pytest.mark.parametrize(
    ("without", "left"),
    [
        ((), {"HOOK.md": "both", "settings.json": "both"}),
        (("settings",), {"HOOK.md": "both"}),
        (("hook-md",), {"settings.json": "both"}),
        (("settings", "hook-md"), {}),
        (("project-settings",), {"HOOK.md": "both", "settings.json": "user"}),
        (("project-hook-md", "settings"), {"HOOK.md": "user"}),
    ],
)
def test_sources_and_their_projects_can_be_left_out(project, without, left):
    project.hooks_folder("project").mkdir(parents=True)
    with_settings(project.path)
    users = {"HOOK.md": str(project.config), "settings.json": str(project.claude_folder)}
    found = resolve(project, without=without)
    assert folders_of(found) == {
        name: (users[name], str(project.path) if which == "both" else "") for name, which in left.items()
    }
    assert (found.config, found.find("other").user) == (str(project.config), "")


UNTRUSTED = {
    "XDG_CONFIG_HOME": ("config", "{}/x/agents", {"HOOK.md"}),
    "CLAUDE_CONFIG_DIR": ("claude", "{}/x", {"settings.json"}),
    "XDG_STATE_HOME": ("state", "{}/x/boathook", set()),
    "XDG_CACHE_HOME": ("cache", "{}/x/boathook", set()),
}


@pytest.mark.parametrize(("variable", "expected"), UNTRUSTED.items())
def test_a_folder_that_a_variable_puts_into_the_project_is_not_believed(project, variable, expected):
    (project.path / ".git").mkdir()
    with_settings(project.path)
    option, path, unread = expected
    found = resolve(project, env={variable: f"{project.path}/x"})
    assert found.untrusted == {option: path.format(project.path)}
    assert {name for name, (user, _) in folders_of(found).items() if not user} == unread
    assert bool(found.config) == (variable != "XDG_CONFIG_HOME")
    assert folders_of(found)["settings.json"][1] == str(project.path)
    assert compiled_path(found) is None


def test_the_folder_of_the_users_own_hooks_is_not_a_project(project):
    project.hooks_folder("user").mkdir(parents=True)
    (project.home / ".agents").symlink_to(project.config)
    (project.home / "work").mkdir()
    assert folders_of(resolve(project, project.home / "work"))["HOOK.md"] == (str(project.config), "")


def test_a_home_folder_inside_the_repository_makes_none_of_its_hooks_the_users_own(project):
    """The `.env` of a repository may set HOME; then a guard of the project must not pass for a file of the user."""
    (project.path / ".git").mkdir()
    with_settings(project.path)
    (project.path / ".config/agents/hooks").mkdir(parents=True)
    (project.path / ".agents").symlink_to(".config/agents")
    given = {"config": str(project.config), "claude": str(project.claude_folder), "state": str(project.state)}
    found = resolve(project, env={"HOME": str(project.path)}, given=given)
    assert found.projects == (str(project.path), str(project.path))
    assert "config" not in found.untrusted
    # The same if variables name the folders.
    variables = {"XDG_CONFIG_HOME": str(project.config.parent), "CLAUDE_CONFIG_DIR": str(project.claude_folder)}
    found = resolve(project, env={"HOME": str(project.path), **variables})
    assert (found.projects, found.config) == ((str(project.path), str(project.path)), str(project.config))


@pytest.mark.parametrize("given", [{}, {"config": "{}/.config/agents"}], ids=["variables", "an option"])
def test_a_variable_that_leads_to_another_folder_of_the_account_disables_neither(project, monkeypatch, given):
    """Hooks may be in a repository of their own, at the account's own place."""
    agents = project.home / ".config/agents"
    (agents / ".git").mkdir(parents=True)
    monkeypatch.setattr(locations, "account_home", lambda: str(project.home))
    given = {option: path.format(project.home) for option, path in given.items()}
    env = {"CLAUDE_CONFIG_DIR": str(agents), "XDG_CONFIG_HOME": ""}
    found = resolve(project, env=env, given=given)
    assert (found.config, found.untrusted) == (str(agents), {})
    assert folders_of(found)["settings.json"][0] == str(agents)


def test_what_is_not_believed_of_one_folder_does_not_count_for_a_given_one(project):
    (project.path / ".git").mkdir()
    shared = str(project.path / "mine")
    found = resolve(project, env={"CLAUDE_CONFIG_DIR": shared}, given={"config": shared, "state": shared})
    assert (found.config, found.untrusted) == (shared, {"claude": shared})


# Names that are too long (found by fuzzing)


def test_a_folder_whose_name_is_too_long_hides_no_guards_further_up(tmp_path):
    (tmp_path / ".agents/hooks").mkdir(parents=True)
    for below in ("x" * 300, "y/" * 5000, "z" * 70_000):
        assert find_project(f"{tmp_path}/{below}") == str(tmp_path)
