"""Where things live (S4)."""

from __future__ import annotations

import os
import pwd
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.places import agents_dir, cache_dir, environment, find_project, is_dir, state_dir

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
    "a home that is no path": (
        {b"HOME": b"h"},
        tuple(f"{ACCOUNT}/{name}" for name in (".config", ".cache", ".local/state")),
    ),
    "a name that is no text": (
        {b"XDG_CONFIG_HOME": b"/\xff", b"HOME": b"/h"},
        ("/\udcff", "/h/.cache", "/h/.local/state"),
    ),
}


@pytest.mark.parametrize(("env", "expected"), FOLDERS.values(), ids=FOLDERS)
def test_folders_follow_the_variables_where_they_are_absolute(env, expected):
    config, cache, state = expected
    found = (agents_dir(env), cache_dir(env), state_dir(env))
    assert found == (f"{config}/agents", f"{cache}/boathook", f"{state}/boathook")


def test_the_environment_is_that_of_this_process_as_bytes(monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", "/é")
    assert environment()[b"XDG_CONFIG_HOME"] == "/é".encode()
    assert dict(environment()) == dict(os.environb)


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


def test_hooks_that_are_there_but_cannot_be_used_make_a_project_so_that_this_is_told(tmp_path):
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
def test_any_start_gives_an_ancestor_or_nothing(start):
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
