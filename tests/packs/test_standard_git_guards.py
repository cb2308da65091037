"""Guards that ask git: hostile repositories, limits, and what the state of a repository decides."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.git_repository import run_git
from tests.packs.standard_guards import ask_guard, load_guard, make_project


@pytest.fixture(scope="module")
def discard():
    return load_guard("git-discard")


def test_nothing_that_a_repository_names_is_run(tmp_path, discard):
    project = make_project(tmp_path, "topic")
    mark = tmp_path / "was-run"
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> {mark}\ncat\n')
    program.chmod(0o755)
    hooks = project / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-index-change", "post-checkout", "pre-commit", "reference-transaction", "fsmonitor-watchman"):
        (hooks / name).write_text(program.read_text())
        (hooks / name).chmod(0o755)
    (project / ".gitattributes").write_text("*.txt filter=evil diff=evil\n")
    keys = ("core.fsmonitor", "core.pager", "pager.status", "pager.ls-files", "core.sshCommand", "diff.external")
    keys = (*keys, "filter.evil.clean", "filter.evil.process", "diff.evil.textconv", "core.askPass", "gpg.program")
    for key in keys:
        run_git(project, "config", key, str(program))
    run_git(project, "config", "filter.evil.required", "true")
    # The same size with another time makes git read the file again, through its filter.
    (project / "tracked.txt").write_text("two\n")
    os.utime(project / "tracked.txt", (1, 1))
    before = (project / ".git" / "index").read_bytes()
    for command in (
        "git reset --hard",
        "git clean -fdx",
        "git checkout -- tracked.txt",
        "git switch main",
        "rm -rf src",
    ):
        ask_guard(discard, project, command)
    answer = ask_guard(discard, project, "git restore tracked.txt")
    assert answer is not None
    assert not mark.exists(), mark.read_text()
    assert (project / ".git" / "index").read_bytes() == before


def test_what_is_missing_is_not_fetched(tmp_path, discard):
    project = make_project(tmp_path, "topic")
    mark = tmp_path / "was-run"
    settings = {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::touch {mark}",
        "protocol.ext.allow": "always",
    }
    for key, value in settings.items():
        run_git(project, "config", key, value)
    tree = run_git(project, "rev-parse", "HEAD^{tree}").strip()
    (project / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    answer = ask_guard(discard, project, "git reset --hard")
    assert answer is not None
    assert "could not be checked" in answer.reason
    assert not mark.exists()


def test_a_filter_that_no_option_can_switch_off_leaves_the_state_unknown(tmp_path, discard):
    project = make_project(tmp_path, "topic")
    mark = tmp_path / "was-run"
    with (project / ".git" / "config").open("a") as file:
        file.write(f'[filter "a=b"]\n\tclean = touch {mark}\n')
    (project / ".gitattributes").write_text("*.txt filter=a=b\n")
    (project / "tracked.txt").write_text("two\n")
    answer = ask_guard(discard, project, "git reset --hard")
    assert answer is not None
    assert "could not be checked" in answer.reason
    assert not mark.exists()


def test_a_repository_that_git_cannot_read_is_asked_about(tmp_path, discard):
    project = make_project(tmp_path, "topic")
    (project / ".git" / "index").write_bytes(b"no index")
    answer = ask_guard(discard, project, "git checkout -- .")
    assert answer is not None
    assert "could not be checked" in answer.reason


def test_without_a_repository_nothing_can_be_lost(tmp_path, discard):
    project = make_project(tmp_path)
    assert ask_guard(discard, project, "git reset --hard") is None
    assert ask_guard(discard, project, "git -C not-there clean -fd") is None


def test_git_is_not_asked_for_ever(tmp_path, discard):
    project = make_project(tmp_path, "topic")
    for number in range(80):
        (project / f"d{number}").mkdir()
    asked = []
    run = subprocess.run
    try:
        subprocess.run = lambda *words, **options: (asked.append(words), run(*words, **options))[1]
        answer = ask_guard(discard, project, "; ".join(f"git -C d{number} reset --hard" for number in range(80)))
    finally:
        subprocess.run = run
    assert len(asked) <= 60
    assert answer is not None
    assert "could not be checked" in answer.reason


def test_the_state_decides(tmp_path, discard):
    project = make_project(tmp_path, "topic")

    def is_asked(command):
        return ask_guard(discard, project, command) is not None

    assert not is_asked("git branch -D main")
    (project / "tracked.txt").write_text("two\n")
    run_git(project, "commit", "-qam", "two")
    run_git(project, "switch", "-q", "main")
    # Now `topic` has a commit that is nowhere else.
    assert is_asked("git branch -D topic")
    assert not is_asked("git reset --hard topic")
    run_git(project, "switch", "-q", "topic")
    assert is_asked("git reset --hard main")
    assert is_asked("git reset --hard HEAD~1")
    assert is_asked('git reset --hard "$COMMIT"')
    assert not is_asked("git reset --hard HEAD")
    run_git(project, "branch", "copy")
    assert not is_asked("git reset --hard main")
    run_git(project, "branch", "-D", "copy")
    run_git(project, "switch", "-q", "main")
    assert not is_asked("git stash drop")
    (project / "tracked.txt").write_text("three\n")
    run_git(project, "stash")
    assert is_asked("git stash drop")
    assert is_asked("git stash clear")
    assert not is_asked("git reset --hard")
    # New files are not what `reset` takes, and ignored ones not what `clean` takes without `-x`.
    (project / "new.txt").write_text("new\n")
    assert not is_asked("git reset --hard")
    assert is_asked("git clean -f")
    (project / ".git" / "info").mkdir(exist_ok=True)
    (project / ".git" / "info" / "exclude").write_text("new.txt\n")
    assert not is_asked("git clean -f")
    assert is_asked("git clean -fx")


def test_a_delete_asks_if_the_folder_has_work_that_is_in_no_commit(tmp_path, discard):
    project = make_project(tmp_path, "topic")
    (project / "report").mkdir()
    (project / "report" / "chapter.md").write_text("a day of work\n")
    (project / "node_modules").mkdir()
    (project / "node_modules" / "x.js").write_text("x\n")
    (project / ".git" / "info").mkdir(exist_ok=True)
    (project / ".git" / "info" / "exclude").write_text("node_modules/\n")
    for command, is_asked in (
        ("rm -rf report", True),
        (f"rm -rf {project}/report", True),
        ("cd report && rm -rf ../report", True),
        ("rm -rf node_modules", False),
        ("git add -A && git commit -qam x && rm -rf report", False),
        ("rm report/chapter.md", True),
        ("rm tracked.txt", False),
        ("find report -name '*.md' -delete", True),
        ("find report -name '*.tmp' -delete", False),
    ):
        assert (ask_guard(discard, project, command) is not None) is is_asked, command
        assert ask_guard(discard, project, command, deletes=False) is None


def test_a_work_tree_is_looked_at_before_it_is_removed(tmp_path, discard):
    project = make_project(tmp_path, "topic")
    run_git(project, "worktree", "add", "-q", "../tree", "-b", "tree")
    assert ask_guard(discard, project, "git worktree remove --force ../tree") is None
    (project.parent / "tree" / "new.txt").write_text("new\n")
    assert ask_guard(discard, project, "git worktree remove --force ../tree") is not None
    assert ask_guard(discard, project, "git worktree remove ../tree") is None


def test_protected_branches_are_a_setting(tmp_path):
    force, branch = load_guard("git-force"), load_guard("branch-guard")
    project = make_project(tmp_path, "release-1")
    decisions = [
        ask_guard(force, project, "git push -f origin release-1"),
        ask_guard(force, project, "git push -f origin release-1", protected=["release-*"]),
        ask_guard(force, project, "git push -f", protected=["release-*"]),
        ask_guard(force, project, "git push -f origin main", protected=["release-*"]),
        ask_guard(branch, project, "git commit -m x"),
        ask_guard(branch, project, "git commit -m x", protected=["release-*"]),
    ]
    assert [one and one.decision for one in decisions] == ["ask", "block", "block", "ask", None, "block"]
