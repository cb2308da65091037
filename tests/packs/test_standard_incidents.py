"""Commands of the shapes that destroyed people's work, and settings of the guards that could have asked."""

from __future__ import annotations

import pytest

from tests.git_repository import run_git
from tests.packs.standard_guards import GUARDS, ask_guard, load_guard, make_project

# Each with the guard that must object. The project has changes in tracked files, new files, and a stash.
LOSSES = (
    ("machine", 'rm -rf "$HOME"'),
    ("machine", "rm -rf /"),
    ("whole-project", "rm -rf .git src docs"),
    ("git-discard", "git reset --hard"),
    ("git-discard", "git reset --hard origin/main"),
    ("git-discard", "git reset --hard HEAD && git clean -fd"),
    ("git-discard", "git checkout -- ."),
    ("git-discard", "git reset HEAD && git checkout -- ."),
    ("git-discard", "git checkout ."),
    ("git-discard", "git checkout -f main"),
    ("git-discard", "git stash && git clean -fd"),
    ("git-discard", "git stash drop"),
    ("containers", "docker system prune -af --volumes"),
    ("git-discard", "rm -rf generated"),
    ("git-discard", "rm -rf ./generated && mkdir generated"),
    ("outside-project", "rm -rf ~/Desktop/notes"),
)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    made = make_project(tmp_path_factory.mktemp("incidents"), "topic")
    (made / "tracked.txt").write_text("stashed\n")
    run_git(made, "stash")
    (made / "tracked.txt").write_text("two\n")
    for folder in ("Desktop/notes", "scratch/x"):
        (made.parent / folder).mkdir(parents=True)
    (made / "generated").mkdir()
    (made / "generated" / "page.html").write_text("x\n")
    return made


def test_the_guards_object_to_what_destroyed_work(project):
    guards = {name: load_guard(name) for name in {name for name, _ in LOSSES}}
    answers = [(name, command, ask_guard(guards[name], project, command)) for name, command in LOSSES]
    assert [(name, command) for name, command, answer in answers if answer is None] == []


def test_folders_and_names_are_settings(project):
    outside, kubernetes = load_guard("outside-project"), load_guard("kubernetes")
    command = "rm -rf ~/scratch/x"
    assert ask_guard(outside, project, command) is not None
    assert ask_guard(outside, project, command, allow=["~/scratch"]) is None
    assert ask_guard(outside, project, "rm -rf /data/run-7", allow=["/data/run-*"]) is None
    delete = "kubectl -n eu1 delete pod web"
    decisions = [ask_guard(kubernetes, project, delete), ask_guard(kubernetes, project, delete, production=["eu*"])]
    assert [one and one.decision for one in decisions] == ["ask", "block"]


def test_a_command_that_cannot_be_read_is_asked_about_by_one_guard(project):
    command = "eval " * 40 + "ls"
    assert [name for name in GUARDS if ask_guard(load_guard(name), project, command)] == ["machine"]


def test_odd_commands_raise_nothing(project):
    texts = ("", " ", "'", "$(", "git", "git -C", "rm", "find", "kill", "docker", "kubectl -n", "\0", "mv", "((", "<<")
    texts += (
        "ssh x",
        "python -c",
        "bash -c",
        "xargs",
        "nc -e",
        "a(){",
        "while ((1))",
        "git -c",
        "for ((;",
        ">(",
        "{",
        "mv -t",
    )
    for name in GUARDS:
        guard = load_guard(name)
        for text in texts:
            ask_guard(guard, project, text)
