"""A folder cannot claim to be a work tree of a trusted repository: the repository must name it, too."""

from __future__ import annotations

import os
import shutil

import pytest

import boathook
from boathook.trust.work_trees import find_trust_place
from tests.git_repository import add_work_tree, commit_all, run_git
from tests.scratch_project import CALL, list_runs, list_skipped

ARMED = [("guard", "ok", "block")]


@pytest.fixture
def repository(project):
    """A trusted repository with a linked work tree, and a folder beside it with the same hook."""
    project.write_hook("guard", scope="project", script="exit 2")
    commit_all(project.path)
    add_work_tree(project.path, project.base / "linked")
    project.trust()
    shutil.copytree(project.path / ".agents", project.base / "evil" / ".agents")
    return project


def dispatch(folder):
    with boathook.load(folder) as engine:
        return engine.dispatch({**CALL, "work_dir": str(folder)}).to_json()


def forge_pointer(project, evil):
    (evil / ".git").write_text(f"gitdir: {project.path}/.git/worktrees/linked\n")


def copy_pointer(project, evil):
    shutil.copy(project.base / "linked" / ".git", evil / ".git")


def hard_link_pointer(project, evil):
    os.link(project.base / "linked" / ".git", evil / ".git")


def link_pointer(project, evil):
    (evil / ".git").symlink_to(project.base / "linked" / ".git")


def link_repository(project, evil):
    (evil / ".git").symlink_to(project.path / ".git")


def point_at_repository(project, evil):
    (evil / ".git").write_text(f"gitdir: {project.path}/.git\n")


def copy_repository(project, evil):
    shutil.copytree(project.path / ".git", evil / ".git")


def clone_entry(project, evil):
    """The entry lies in the folder itself and names the trusted repository as the common one."""
    entry = evil / "own" / "worktrees" / "x"
    entry.mkdir(parents=True)
    (evil / ".git").write_text(f"gitdir: {entry}\n")
    (entry / "gitdir").write_text(f"{evil}/.git\n")
    (entry / "commondir").write_text(f"{project.path}/.git\n")


def link_entry(project, evil):
    """The folder's `worktrees` is a link to the trusted repository's."""
    (evil / "own").mkdir()
    (evil / "own" / "worktrees").symlink_to(project.path / ".git" / "worktrees")
    (evil / ".git").write_text("gitdir: own/worktrees/linked\n")


def use_variables(project, evil):
    (evil / ".git").write_text("gitdir: $GIT_DIR/worktrees/linked\n")


def write_fifo(_project, evil):
    os.mkfifo(evil / ".git")


def write_endless(project, evil):
    (evil / ".git").write_text(f"gitdir: {project.path}/.git/worktrees/linked\n" + "x" * 100_000)


def write_nul(project, evil):
    (evil / ".git").write_text(f"gitdir: {project.path}/.git/worktrees/linked\0x\n")


def write_garbage(_project, evil):
    (evil / ".git").write_bytes(b"\xff\xfe\0gitdir")


def write_nothing(_project, evil):
    (evil / ".git").write_text("gitdir: \n")


FORGERIES = (
    forge_pointer,
    copy_pointer,
    hard_link_pointer,
    link_pointer,
    link_repository,
    point_at_repository,
    copy_repository,
    clone_entry,
    link_entry,
    use_variables,
    write_fifo,
    write_endless,
    write_nul,
    write_garbage,
    write_nothing,
)


@pytest.mark.any_user
@pytest.mark.parametrize("forge", FORGERIES)
def test_a_folder_that_only_claims_to_be_a_work_tree_has_no_trusted_hooks(repository, forge, monkeypatch):
    evil = repository.base / "evil"
    forge(repository, evil)
    monkeypatch.setenv("GIT_DIR", str(repository.path / ".git"))
    assert find_trust_place(str(evil)).place.repository != str(repository.path / ".git")
    found = dispatch(evil)
    assert (list_runs(found), list_skipped(found)) == ([], ["guard"])
    assert list_runs(dispatch(repository.base / "linked")) == ARMED


def test_a_folder_inside_a_trusted_one_is_another_project(repository):
    inner = repository.path / "vendor" / "evil"
    shutil.copytree(repository.base / "evil", inner)
    (inner / ".git").write_text("gitdir: ../../.git/worktrees/linked\n")
    found = dispatch(inner)
    assert (list_runs(found), list_skipped(found)[0]) == ([], "guard")


@pytest.mark.parametrize("name", ["gitdir", "commondir"])
@pytest.mark.parametrize("text", [None, "", "/nowhere/.git\n", "\0", "x" * 10_000])
def test_a_repository_that_does_not_name_the_work_tree_is_not_its_own(repository, name, text):
    path = repository.path / ".git" / "worktrees" / "linked" / name
    path.unlink()
    if text is not None:
        path.write_text(text)
    assert list_skipped(dispatch(repository.base / "linked")) == ["guard"]


def test_a_removed_work_tree_is_none(repository):
    linked = repository.base / "linked"
    shutil.copytree(linked, repository.base / "kept")
    run_git(repository.path, "worktree", "remove", "--force", str(linked))
    shutil.copytree(repository.base / "kept", linked)
    assert list_skipped(dispatch(linked)) == ["guard"]


def list_evidence(project):
    entry = project.path / ".git" / "worktrees" / "linked"
    return {
        "the pointer": project.base / "linked" / ".git",
        "the way back": entry / "gitdir",
        "the way to the repository": entry / "commondir",
        "the entry": entry,
        "the entries": entry.parent,
        "the repository": project.path / ".git",
    }


EVIDENCE = ("the pointer", "the way back", "the way to the repository", "the entry", "the entries", "the repository")


@pytest.mark.any_user
@pytest.mark.parametrize("name", EVIDENCE)
def test_evidence_of_another_user_does_not_count(repository, name, monkeypatch):
    path = list_evidence(repository)[name]
    linked = str(repository.base / "linked")
    assert find_trust_place(linked).place.repository
    if os.getuid() == 0:
        os.chown(path, 4242, -1)
    else:
        monkeypatch.setattr(os, "getuid", lambda: 4242)
    assert find_trust_place(linked).place.repository == ""


@pytest.mark.any_user
@pytest.mark.parametrize("name", EVIDENCE)
def test_evidence_that_everybody_can_write_does_not_count(repository, name):
    path = list_evidence(repository)[name]
    path.chmod(path.stat().st_mode | 0o002)
    assert list_skipped(dispatch(repository.base / "linked")) == ["guard"]


@pytest.mark.parametrize("name", EVIDENCE[1:3])
def test_evidence_that_is_not_a_plain_file_does_not_count(repository, name):
    path = list_evidence(repository)[name]
    text = path.read_text()
    path.unlink()
    os.mkfifo(path)
    assert list_skipped(dispatch(repository.base / "linked")) == ["guard"]
    path.unlink()
    (repository.base / "text").write_text(text)
    path.symlink_to(repository.base / "text")
    assert list_skipped(dispatch(repository.base / "linked")) == ["guard"]


@pytest.mark.ordinary_user
def test_a_repository_that_cannot_be_entered_proves_nothing(repository):
    folder = repository.path / ".git"
    folder.chmod(0)
    try:
        assert find_trust_place(str(repository.base / "linked")).place.repository == ""
        assert list_skipped(dispatch(repository.base / "linked")) == ["guard"]
    finally:
        folder.chmod(0o755)


@pytest.mark.parametrize("is_refused", [False, True], ids=["counts", "does not count"])
def test_every_path_that_the_decision_used_is_watched(repository, is_refused):
    evidence = list_evidence(repository)
    if is_refused:
        evidence["the entries"].chmod(0o777)
    watch = find_trust_place(str(repository.base / "linked")).watch
    assert {str(path) for path in evidence.values()} <= {path.rstrip("/") for path in watch}


def test_a_nested_work_tree_does_not_hide_trusted_guards_in_silence(repository):
    nested = add_work_tree(repository.path, repository.path / "nested")
    assert list_runs(dispatch(nested)) == ARMED
    shutil.rmtree(nested / ".agents" / "hooks" / "guard")
    (nested / ".agents" / "hooks" / ".keep").touch()
    found = dispatch(nested)
    # It is gone in this work tree, and hidden in the one around it.
    assert {skip["hook"] for skip in found["skipped"]} == {"guard"}
    assert any("you trusted it in a folder above" in skip["why"] for skip in found["skipped"])
