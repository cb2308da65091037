"""Hooks with bytes that are trusted in another folder, such as a second clone."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.terminal import run_boathook

QUESTION = "here, too? No shows what would run [y/N]: "


@pytest.fixture
def clone(project):
    """Return a second folder with the same hooks; those of the first are trusted."""
    project.write_hook("guard", scope="project", script="exit 2")
    project.write_hook("gate", scope="project", script="exit 0", fields={"trigger": "pre-agent-turn-stop"})
    assert project.trust().returncode == 0
    folder = project.path.parent / "clone"
    shutil.copytree(project.path, folder, symlinks=True)
    return folder


def read_states(project, folder):
    rows = json.loads(project.run("list", "--json", "--project", str(folder)).stdout)["hooks"]
    return {row["name"]: row["state"] for row in rows}


def trust(project, folder, *answers):
    return run_boathook(project, ["trust", "--project", str(folder)], answers)


def test_hooks_of_a_second_clone_are_one_question(project, clone):
    assert read_states(project, clone) == {"gate": "untrusted", "guard": "untrusted"}
    code, text = trust(project, clone, "y")
    assert f"guard has exactly the bytes that you trusted in {project.path} on 2" in text
    assert "Trust all of these " + QUESTION in text
    # Nothing else is shown or asked.
    assert (code, "| exit 2" in text, "[v]iew" in text) == (0, False, False)
    assert read_states(project, clone) == {"gate": "armed", "guard": "armed"}


def test_who_says_no_sees_everything_and_is_asked_about_each(project, clone):
    code, text = trust(project, clone, "", "y", "n")
    assert (code, "| exit 2" in text) == (1, True)
    assert f"  known     you trusted exactly these bytes in {project.path} on 2" in text
    assert sorted(read_states(project, clone).values()) == ["armed", "untrusted"]


def test_without_a_person_nothing_is_taken_over(project, clone):
    done = project.run("trust", "--project", str(clone))
    assert (done.returncode, "was not trusted: there is no terminal" in done.stderr) == (1, True)
    assert {*read_states(project, clone).values()} == {"untrusted"}
    waiting = json.loads(project.run("trust", "--json", "--project", str(clone)).stdout)["waiting"]
    assert {row["same_bytes_in"] for row in waiting} == {str(project.path)}


def test_other_bytes_are_reviewed(project, clone):
    (clone / ".agents/hooks/guard/scripts/run.sh").write_text("#!/bin/sh\nexit 0\n")
    code, text = trust(project, clone, "y", "n")
    assert "Trust it " + QUESTION in text
    assert (code, "guard has exactly" in text, "gate has exactly" in text) == (1, False, True)
    assert read_states(project, clone) == {"gate": "armed", "guard": "untrusted"}


def test_a_hook_that_runs_code_of_its_project_is_reviewed_in_each(project):
    project.write_hook("checks", scope="project", script="make check")
    assert project.trust().returncode == 0
    folder = project.path.parent / "clone"
    shutil.copytree(project.path, folder, symlinks=True)
    code, text = trust(project, folder, "n")
    assert (code, QUESTION in text, "| make check" in text) == (1, False, True)
    assert f"known     you trusted exactly these bytes in {project.path}" in text


def test_bytes_that_a_later_review_replaced_are_reviewed_again(project, clone):
    (project.path / ".agents/hooks/guard/scripts/run.sh").write_text("#!/bin/sh\nexit 3\n")
    project.trust("guard")
    _, text = trust(project, clone, "n", "q")
    assert ("guard has exactly" in text, "gate has exactly" in text) == (False, True)


def test_a_hook_that_would_replace_one_of_yours_is_reviewed(project, clone):
    project.write_hook("guard", scope="user")
    _, text = trust(project, clone, "n", "q")
    assert "guard has exactly" not in text
