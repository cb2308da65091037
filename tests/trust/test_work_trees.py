"""Trust holds in every work tree of a repository, for the same bytes."""

from __future__ import annotations

import json
import shutil
import time

import pytest

import boathook
from boathook.trust.work_trees import find_trust_place
from tests.git_repository import add_work_tree, commit_all, run_git
from tests.scratch_project import CALL, list_runs, list_skipped, make_settings

BLOCKS = "echo no >&2; exit 2"
ARMED = [("guard", "ok", "block")]


@pytest.fixture
def repository(project):
    """A scratch project that is a repository with one guard."""
    project.write_hook("guard", scope="project", script=BLOCKS)
    commit_all(project.path)
    return project


def dispatch(folder):
    with boathook.load(folder) as engine:
        return engine.dispatch({**CALL, "work_dir": str(folder)}).to_json()


def trust(project, folder, *flags):
    done = project.run("trust", "--yes", "--project", str(folder), *flags)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def list_decisions(project):
    return json.loads(project.run("trust", "--list", "--json").stdout)["hooks"]


# What a project is


def test_all_work_trees_of_a_repository_are_one_place(repository):
    linked = add_work_tree(repository.path, repository.base / "linked")
    places = [find_trust_place(str(folder)).place for folder in (repository.path, linked)]
    git = str(repository.path / ".git")
    assert [(place.repository, place.folder) for place in places] == [(git, "."), (git, ".")]
    assert [place.project for place in places] == [str(repository.path), str(linked)]


def test_the_folder_within_the_work_tree_counts(repository):
    linked = add_work_tree(repository.path, repository.base / "linked")
    (linked / "sub" / "deep").mkdir(parents=True)
    assert find_trust_place(str(linked / "sub" / "deep")).place.folder == "sub/deep"


def test_a_work_tree_inside_the_main_one_is_a_work_tree(repository):
    linked = add_work_tree(repository.path, repository.path / ".worktrees" / "one")
    assert find_trust_place(str(linked)).place.repository == str(repository.path / ".git")
    assert find_trust_place(str(linked)).place.folder == "."


def test_work_trees_with_relative_pointers_are_known(repository):
    linked = add_work_tree(repository.path, repository.base / "linked")
    (linked / ".git").write_text("gitdir: ../project/.git/worktrees/linked\n")
    (repository.path / ".git" / "worktrees" / "linked" / "gitdir").write_text("../../../../linked/.git\n")
    assert find_trust_place(str(linked)).place.repository == str(repository.path / ".git")


def test_the_work_trees_of_a_bare_repository_are_one_place(project):
    project.write_hook("guard", scope="project", script=BLOCKS)
    commit_all(project.path)
    bare = project.base / "bare.git"
    run_git(project.base, "clone", "-q", "--bare", str(project.path), str(bare))
    trees = [add_work_tree(bare, project.base / name) for name in ("one", "two")]
    trust(project, trees[0])
    assert list_runs(dispatch(trees[1])) == ARMED
    # The clone is another repository.
    assert list_skipped(dispatch(project.path)) == ["guard"]


def test_a_submodule_is_a_project_by_its_path(repository):
    outer = repository.base / "outer"
    outer.mkdir()
    commit_all(outer)
    run_git(outer, "submodule", "--quiet", "add", str(repository.path), "sub")
    assert find_trust_place(str(outer / "sub")).place.repository == ""
    trust(repository, outer / "sub")
    assert list_runs(dispatch(outer / "sub")) == ARMED
    assert list_skipped(dispatch(repository.path)) == ["guard"]
    # Its own work trees belong together.
    trees = [add_work_tree(outer / "sub", repository.base / name) for name in ("one", "two")]
    trust(repository, trees[0])
    assert list_runs(dispatch(trees[1])) == ARMED


# Decisions


@pytest.mark.parametrize("is_reverse", [False, True], ids=["in the main one", "in a linked one"])
def test_what_is_trusted_in_one_work_tree_runs_in_the_others(repository, is_reverse):
    linked = add_work_tree(repository.path, repository.base / "linked")
    one, other = (linked, repository.path) if is_reverse else (repository.path, linked)
    assert list_skipped(dispatch(other)) == ["guard"]
    done = trust(repository, one)
    assert f"exactly these bytes, for {one} and other work trees of its repository" in done.stdout
    assert list_runs(dispatch(other)) == ARMED
    row = json.loads(repository.run("list", "--json", "--project", str(other)).stdout)["hooks"][0]
    assert (row["state"], row["trusted_in"]) == ("armed", "repository")


def test_a_hook_in_a_folder_of_the_repository_is_trusted_there_only(repository):
    source = repository.path / ".agents"
    for name in ("a", "b"):
        shutil.copytree(source, repository.path / name / ".agents")
    commit_all(repository.path)
    linked = add_work_tree(repository.path, repository.base / "linked")
    trust(repository, repository.path / "a")
    assert list_runs(dispatch(linked / "a")) == ARMED
    assert list_skipped(dispatch(linked / "b"))[:1] == ["guard"]


def test_entries_of_settings_and_their_scripts_are_trusted_in_all_work_trees(project):
    script = project.path / "tools" / "guard.sh"
    script.parent.mkdir()
    script.write_text(f"#!/bin/sh\n{BLOCKS}\n")
    script.chmod(0o755)
    project.write_settings("project", make_settings('"$CLAUDE_PROJECT_DIR"/tools/guard.sh || exit 2; tools/later.sh'))
    commit_all(project.path)
    linked = add_work_tree(project.path, project.base / "linked")
    trust(project, project.path)
    assert dispatch(linked)["decision"] == "block"
    (linked / "tools" / "later.sh").write_text("exit 0\n")
    assert len(dispatch(linked)["skipped"]) == 1
    (linked / "tools" / "later.sh").unlink()
    (linked / "tools" / "guard.sh").write_text("#!/bin/sh\nexit 0\n")
    assert len(dispatch(linked)["skipped"]) == 1
    assert dispatch(project.path)["decision"] == "block"


def change_guard(folder, text="echo other >&2; exit 2\n"):
    (folder / ".agents" / "hooks" / "guard" / "scripts" / "run.sh").write_text(f"#!/bin/sh\n{text}")


def test_other_bytes_in_a_work_tree_are_modified_and_get_a_review_of_their_own(repository):
    linked = add_work_tree(repository.path, repository.base / "linked")
    trust(repository, repository.path)
    change_guard(linked)
    found = dispatch(linked)
    assert "it changed since it was trusted" in found["skipped"][0]["why"]
    assert list_runs(dispatch(repository.path)) == ARMED
    shown = trust(repository, linked).stdout
    assert f"changed since it was trusted in {repository.path}:" in shown
    assert "+echo other >&2; exit 2" in shown
    assert list_runs(dispatch(repository.path)) == list_runs(dispatch(linked)) == ARMED
    # What was reviewed in one work tree may come to the others by a merge.
    change_guard(repository.path)
    assert list_runs(dispatch(repository.path)) == ARMED


def test_a_later_review_does_not_turn_off_guards_of_work_trees_that_still_have_the_old_bytes(repository):
    linked = add_work_tree(repository.path, repository.base / "linked")
    trust(repository, repository.path)
    old = (repository.path / ".agents" / "hooks" / "guard" / "scripts" / "run.sh").read_text()
    change_guard(repository.path)
    trust(repository, repository.path)
    assert list_runs(dispatch(repository.path)) == list_runs(dispatch(linked)) == ARMED
    assert sorted(row["state"] for row in list_decisions(repository)) == ["earlier", "trusted"]
    # Where it was replaced, the old one needs a review again.
    change_guard(repository.path, old.partition("\n")[2])
    assert list_skipped(dispatch(repository.path)) == ["guard"]
    for number in range(10):
        change_guard(repository.path, f"exit {number}\n")
        trust(repository, repository.path)
    assert len(list_decisions(repository)) == 9


@pytest.mark.parametrize("is_reverse", [False, True])
def test_deny_and_untrust_hold_in_all_work_trees(repository, is_reverse):
    linked = add_work_tree(repository.path, repository.base / "linked")
    one, other = (linked, repository.path) if is_reverse else (repository.path, linked)
    trust(repository, one)
    repository.run("deny", "guard", "--project", str(other), "--yes")
    assert [dispatch(folder)["runs"] for folder in (one, other)] == [[], []]
    assert "guard is denied" in repository.run("trust", "guard", "--yes", "--project", str(one)).stderr
    assert repository.run("untrust", "guard", "--project", str(one), "--yes").returncode == 0
    assert [list_skipped(dispatch(folder)) for folder in (one, other)] == [["guard"], ["guard"]]
    assert "not trusted yet" in dispatch(other)["skipped"][0]["why"]
    trust(repository, one)
    repository.run("untrust", "--all", "--project", str(other), "--yes")
    assert [list_skipped(dispatch(folder)) for folder in (one, other)] == [["guard"], ["guard"]]
    assert all(row["when"] is None for row in list_decisions(repository))


def test_the_list_shows_where_a_decision_holds(repository):
    linked = add_work_tree(repository.path, repository.base / "linked")
    trust(repository, linked)
    (row,) = list_decisions(repository)
    assert (row["state"], row["holds_in"]) == ("trusted", "repository")
    assert row["repository"] == str(repository.path / ".git")


def test_a_guard_that_a_work_tree_lacks_is_named_by_list(repository):
    linked = add_work_tree(repository.path, repository.base / "linked")
    trust(repository, repository.path)
    shutil.rmtree(linked / ".agents" / "hooks" / "guard")
    listed = repository.run("list", "--project", str(linked)).stdout
    assert f"not in this checkout: you trusted it in {repository.path}, and this work tree does not have it" in listed
    assert f"end its trust in all work trees with: boathook untrust --project {linked} guard" in listed


def test_a_moved_work_tree_is_trusted_if_git_moved_it(repository):
    linked = add_work_tree(repository.path, repository.base / "linked")
    trust(repository, repository.path)
    moved = repository.base / "moved"
    run_git(repository.path, "worktree", "move", str(linked), str(moved))
    assert list_runs(dispatch(moved)) == ARMED
    shutil.move(moved, linked)
    assert list_skipped(dispatch(linked)) == ["guard"]
    assert "first run: git worktree repair" in repository.run("trust", "--project", str(linked)).stderr
    run_git(linked, "worktree", "repair")
    assert list_runs(dispatch(linked)) == ARMED
    assert "Nothing to review" in repository.run("trust", "--project", str(linked)).stdout


def test_variables_of_git_do_not_count(repository, monkeypatch):
    other = repository.base / "other"
    shutil.copytree(repository.path, other)
    trust(repository, repository.path)
    for name, value in (("GIT_DIR", ".git"), ("GIT_COMMON_DIR", ".git"), ("GIT_WORK_TREE", "")):
        monkeypatch.setenv(name, str(repository.path / value))
    assert list_skipped(dispatch(other)) == ["guard"]


def test_a_project_trusted_before_it_was_a_repository_stays_trusted(project):
    project.write_hook("guard", scope="project", script=BLOCKS)
    trust(project, project.path)
    commit_all(project.path)
    assert list_runs(dispatch(project.path)) == ARMED


# The compiled catalogue


def test_a_compiled_catalogue_watches_what_makes_a_work_tree(repository):
    linked = add_work_tree(repository.path, repository.base / "linked")
    trust(repository, repository.path)
    pointer = repository.path / ".git" / "worktrees" / "linked" / "gitdir"

    def run_entry():
        event = json.dumps({**CALL, "work_dir": str(linked)})
        return json.loads(repository.run("run", "--json", stdin=event).stdout)

    time.sleep(2.2)
    assert list_runs(run_entry()) == ARMED
    assert list((repository.cache).glob("*linked*.catalogue"))
    before = pointer.read_text()
    pointer.write_text(str(repository.base / "elsewhere" / ".git") + "\n")
    assert list_skipped(run_entry()) == ["guard"]
    time.sleep(2.2)
    assert list_skipped(run_entry()) == ["guard"]
    pointer.write_text(before)
    assert list_runs(run_entry()) == ARMED


def test_watched_paths_are_those_that_the_decision_was_made_from(repository):
    linked = add_work_tree(repository.path, repository.base / "linked")
    (linked / "sub").mkdir()
    entry = repository.path / ".git" / "worktrees" / "linked"
    assert find_trust_place(str(linked / "sub")).watch == (
        str(linked / "sub" / ".git"),
        str(linked / ".git"),
        str(entry / "gitdir"),
        str(entry / "commondir"),
        f"{repository.path}/.git/",
        f"{entry.parent}/",
        f"{entry}/",
        str(linked / ".git"),
    )
    assert find_trust_place(str(repository.path)).watch == (f"{repository.path}/.git/",)
