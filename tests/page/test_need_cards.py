"""The cards of Now: what happened when, what they open, and what they name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.page.served import serve_context
from tests.scratch_project import ScratchProject


def change_script(project: ScratchProject, name: str) -> Path:
    path = project.path / f".agents/hooks/{name}/scripts/run.sh"
    path.write_text("#!/bin/sh\nexit 0 # changed\n")
    return path


@pytest.fixture
def changed_hook(project: ScratchProject) -> ScratchProject:
    project.write_hook("not-yet", "exit 0", scope="project")
    project.trust("not-yet")
    change_script(project, "not-yet")
    return project


def test_a_changed_hook_names_when_it_was_trusted(changed_hook: ScratchProject) -> None:
    changed_hook.write_hook("new-one", "exit 0", scope="project")
    with serve_context() as page:
        text = re.sub(r"\s+", " ", page.show("now").text)
    moment = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
    assert re.search(rf"not-yet: changed since you trusted it [^(]*\(trusted {moment} \)", text), text
    assert re.search(rf"new-one: new, and not reviewed yet [^(]*\(file changed {moment} \)", text), text


def test_the_title_of_a_review_opens_the_review_and_that_of_a_hook_the_hook(changed_hook: ScratchProject) -> None:
    changed_hook.write_hook("no-script", None, scope="user")
    with serve_context() as page:
        html = page.show("now").html
    titles = dict(re.findall(r'</span> <a href="#/(\w+)\?[^"]*">(\S+?):? [^<]*</a></h2>', html))
    assert (titles["review"], titles["hook"]) == ("not-yet", "no-script")


def test_calls_that_are_allowed_again_are_below_what_needs_a_person(changed_hook: ScratchProject) -> None:
    with serve_context() as page:
        html = page.show("now").html
    assert re.findall(r'<div id="(\w+)"', html) == ["questions", "needs", "repeats", "agents"]
