"""Trusted hooks that are not there: where they are looked for, and what is known about them."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from boathook.assembly import load_catalog
from boathook.core.hook import GONE, HIDDEN
from tests.git_repository import add_work_tree, commit_all
from tests.scratch_project import make_settings

BLOCKS = "exit 2"


@pytest.fixture
def repository(project):
    project.write_hook("guard", scope="project", script=BLOCKS, fields={"matcher": "{tool: Shell, pattern: ls}"})
    commit_all(project.path)
    return project


def find_states(folder) -> dict[str, str]:
    return {hook.name: hook.state for hook in load_catalog(folder).hooks}


def test_the_definition_is_the_trusted_one(project):
    fields = {"matcher": "{tool: Shell, pattern: ls}", "priority": 7, "trigger": "post-tool-call"}
    folder = project.write_hook("guard", scope="project", script=BLOCKS, fields=fields)
    project.trust()
    before = load_catalog(project.path).hooks[0]
    shutil.rmtree(folder)
    (hook,) = load_catalog(project.path).hooks
    assert (hook.kind, hook.matcher, hook.priority, hook.path) == (
        before.kind,
        before.matcher,
        before.priority,
        before.path,
    )


def test_so_is_that_of_an_entry(project):
    entry = {"matcher": "Bash", "hooks": [{"type": "command", "command": "exit 2", "async": True}]}
    path = project.write_settings("project", {"hooks": {"PostToolUse": [entry]}})
    project.trust()
    before = load_catalog(project.path).hooks[0]
    path.unlink()
    (hook,) = load_catalog(project.path).hooks
    assert (hook.kind, hook.handler, hook.background, hook.path) == (
        before.kind,
        before.handler,
        before.background,
        before.path,
    )
    assert hook.matcher.tool.source == before.matcher.tool.source


def test_without_its_private_copy_every_call_of_a_tool_counts(project):
    folder = project.write_hook("guard", scope="project", script=BLOCKS, fields={"matcher": "{tool: Shell}"})
    project.trust()
    shutil.rmtree(folder)
    os.rename(project.state / "copies", project.base / "away")
    (hook,) = load_catalog(project.path).hooks
    assert (hook.name, hook.kind.name, hook.matcher.is_all) == ("guard", "pre-tool-call", True)


def test_a_work_tree_without_any_hooks_misses_those_of_its_repository(repository):
    linked = add_work_tree(repository.path, repository.base / "linked")
    repository.trust()
    shutil.rmtree(linked / ".agents")
    (linked / "deep" / "er").mkdir(parents=True)
    assert find_states(linked) == find_states(linked / "deep" / "er") == {"guard": GONE}
    assert find_states(repository.base) == {}


def test_a_folder_that_only_claims_to_be_a_work_tree_misses_nothing(repository):
    repository.trust()
    forged = repository.base / "forged"
    forged.mkdir()
    (forged / ".git").write_text(f"gitdir: {repository.path}/.git/worktrees/linked\n")
    assert find_states(forged) == {}


def test_acceptance_holds_in_all_work_trees(repository):
    (repository.path / "sub" / ".agents" / "hooks").mkdir(parents=True)
    (repository.path / "sub" / ".agents" / "hooks" / "keep").touch()
    commit_all(repository.path)
    linked = add_work_tree(repository.path, repository.base / "linked")
    repository.trust()
    assert find_states(linked / "sub") == {"guard": HIDDEN}
    repository.run("trust", "--yes", "--project", str(repository.path / "sub"))
    assert find_states(linked / "sub") == find_states(repository.path / "sub") == {}
    # Who withdraws the trust withdraws this, too.
    repository.run("untrust", "guard", "--yes")
    repository.trust()
    assert find_states(linked / "sub") == {"guard": HIDDEN}


def test_acceptance_can_be_withdrawn_and_is_listed(repository):
    sub = repository.path / "sub"
    (sub / ".agents" / "hooks").mkdir(parents=True)
    repository.trust()
    repository.run("trust", "--yes", "--project", str(sub))
    rows = json.loads(repository.run("trust", "--list", "--json").stdout)["hooks"]
    assert [(row["name"], row["state"], row["identity"]) for row in rows] == [
        ("guard", "trusted", ".agents/hooks/guard"),
        ("guard", "accepted", "../.agents/hooks/guard"),
    ]
    done = repository.run("untrust", "guard", "--yes", "--project", str(sub))
    assert done.stdout == f"guard is reported again where {sub} hides it\n"
    assert find_states(sub) == {"guard": HIDDEN}
    assert find_states(repository.path) == {"guard": "armed"}


def test_a_user_who_disabled_a_hook_does_not_miss_it(project):
    folder = project.write_hook("guard", scope="project", script=BLOCKS)
    project.trust()
    shutil.rmtree(folder)
    project.write_hooks_toml("project", "[hooks]\nenabled = false\n")
    assert find_states(project.path) == {"guard": GONE}
    project.write_hooks_toml("user", "[[hooks.disable]]\nname = 'guard'\n")
    assert find_states(project.path) == {"guard": "disabled"}


@pytest.mark.parametrize("form", ["hooks.toml", "disableAllHooks"])
def test_what_was_trusted_as_disabled_is_not_missed(project, form):
    if form == "hooks.toml":
        project.write_hook("guard", scope="project", script=BLOCKS)
        project.write_hooks_toml("project", "[[hooks.disable]]\nname = 'guard'\n")
        project.trust("guard")
    else:
        project.write_settings("project", make_settings("exit 2"))
        project.trust()
        project.write_settings("project", {**make_settings("exit 2"), "disableAllHooks": True})
        project.run("trust", "PreToolUse:exit", "--yes")
    shutil.rmtree(project.path / (".agents" if form == "hooks.toml" else ".claude"))
    assert find_states(project.path) == {}


def test_an_entry_that_equals_one_of_the_user_is_not_missed(project):
    project.write_settings("project", make_settings("exit 2"))
    project.trust()
    project.write_settings("user", make_settings("exit 2"))
    assert sorted(hook.state for hook in load_catalog(project.path).hooks) == ["armed", "shadowed"]


def test_settings_without_hooks_hide_nothing(project):
    project.write_settings("project", make_settings("exit 2"))
    project.trust()
    (project.path / "sub" / ".claude").mkdir(parents=True)
    (project.path / "sub" / ".claude" / "settings.json").write_text("{}")
    assert list(find_states(project.path / "sub").values()) == ["armed"]
    project.write_settings("project", {})
    assert list(find_states(project.path / "sub").values()) == [GONE]
