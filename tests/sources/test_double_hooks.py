"""Hooks that run twice: what `convert` left in both places."""

from __future__ import annotations

import pytest

from boathook.assembly import load_catalog
from boathook.sources.double_hooks import find_double_hooks
from tests.scratch_project import make_settings


def find_names(project) -> list[tuple[str, str]]:
    doubles = find_double_hooks(load_catalog(str(project.path)).hooks)
    return [(double.hook.name, double.entry.place) for double in doubles]


@pytest.mark.parametrize("scope", ["user", "project"])
def test_a_converted_hook_and_its_entry_run_twice(project, scope):
    path = project.write_settings(scope, make_settings("sh ./guard.sh"))
    # A trusted entry runs private copies of the files that it names.
    (project.path / "guard.sh").write_text("exit 0\n")
    assert find_names(project) == []
    flags = ("--user",) if scope == "user" else ()
    assert project.run("convert", "to-hookmd", "--yes", *flags).returncode == 0
    project.run("trust", "--yes")
    assert find_names(project) == [("guard", "hooks.PreToolUse[0].hooks[0]")]
    double = find_double_hooks(load_catalog(str(project.path)).hooks)[0]
    folder = project.hooks_folder(scope) / "guard"
    assert double.text == f"'guard' runs twice: {path} has the same command, at hooks.PreToolUse[0].hooks[0]"
    assert double.fix == f"remove that entry, or the folder {folder}"
    path.write_text("{}")
    assert find_names(project) == []


@pytest.mark.parametrize("scope", ["user", "project"])
def test_a_hook_that_was_converted_to_settings_runs_twice(project, scope):
    project.write_hook("guard", "exit 0", scope=scope, fields={"dialect": "claude"})
    project.trust("guard") if scope == "project" else None
    flags = ("--user",) if scope == "user" else ()
    assert project.run("convert", "to-settings", "--yes", *flags).returncode == 0
    project.run("trust", "--yes")
    assert find_names(project) == [("guard", "hooks.PreToolUse[0].hooks[0]")]


def test_another_event_another_command_and_hooks_that_are_off_are_not_doubles(project):
    project.write_settings("user", make_settings("sh ./guard.sh"))
    project.run("convert", "to-hookmd", "--yes", "--user")
    content = make_settings("sh ./guard.sh")["hooks"]["PreToolUse"]
    for hooks in ({"PostToolUse": content}, make_settings("sh ./other.sh")["hooks"]):
        project.write_settings("user", {"hooks": hooks})
        assert find_names(project) == []
    project.write_settings("user", make_settings("sh ./guard.sh"))
    project.write_hooks_toml("user", '[[hooks.disable]]\nname = "guard"\n')
    assert find_names(project) == []


def test_several_hooks_that_run_twice_are_one_sentence(project):
    settings = make_settings("sh ./guard.sh")
    settings["hooks"]["Stop"] = [{"hooks": [{"type": "command", "command": "sh ./gate.sh"}]}]
    path = project.write_settings("user", settings)
    project.run("convert", "to-hookmd", "--yes", "--user")
    sentence = f"2 hooks run twice, because {path} has the same commands: gate, guard. Fix: remove one of each two"
    assert sentence in project.run("list").stderr
    assert sentence in project.run("status").stdout
