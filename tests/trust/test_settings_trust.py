"""Settings of a project take nothing away from the user, and get nothing that was given to another."""

from __future__ import annotations

import json
from typing import Any

import pytest

import boathook
from boathook.core.hook import WARNING
from tests.scratch_project import list_runs, list_skipped, make_settings

GUARD = "echo no >&2; exit 2"
PROMPT = {"type": "prompt", "prompt": "is this fine?"}
OVERRIDE = '[[hooks.override]]\nname = "{}"\nenv = ["MY_TOKEN"]\n'


def a_plugin(project, content: object, name: str = "guard@m") -> None:
    """Install a plugin and let the user enable it."""
    root = project.claude_folder / "plugins" / "cache" / "guard"
    (root / "hooks").mkdir(parents=True)
    (root / "hooks" / "hooks.json").write_text(json.dumps(content))
    register = {"version": 2, "plugins": {name: [{"scope": "user", "installPath": str(root)}]}}
    (project.claude_folder / "plugins" / "installed_plugins.json").write_text(json.dumps(register))
    project.write_settings("user", {"enabledPlugins": {name: True}})


@pytest.mark.parametrize("scope", ["project", "local"])
def test_no_file_of_a_project_takes_away_a_plugin_of_the_user_s_and_that_is_reported(project, scope):
    a_plugin(project, make_settings(GUARD))
    path = project.write_settings(scope, {"enabledPlugins": {"guard@m": False, "other@m": False}})
    with boathook.load(project.path) as engine:
        messages = [(d.path, d.key, d.level, d.message) for d in engine.catalog.diagnostics]
    why = "a project cannot disable your plugins; 'guard@m' stays enabled"
    assert messages == [(str(path), "enabledPlugins", WARNING, why)]
    assert project.dispatch()["decision"] == "block"


def entries(*given: dict[str, Any]) -> dict[str, Any]:
    return {"hooks": {"PreToolUse": [{"hooks": list(given)}]}}


def states(project) -> list[tuple[str, str, str]]:
    with boathook.load(project.path) as engine:
        return sorted((hook.scope, hook.source, hook.state) for hook in engine.catalog.hooks)


@pytest.mark.parametrize("more", [{}, {"disableAllHooks": True}], ids=["untrusted", "disabled"])
@pytest.mark.parametrize("scope", ["project", "local"])
def test_a_copy_of_a_project_takes_no_place_from_a_plugin_of_the_user_s(project, scope, more):
    a_plugin(project, entries(PROMPT))
    project.write_settings(scope, {**entries(PROMPT), **more})
    found = "disabled" if more else "shadowed"
    source = "settings.json"
    assert states(project) == [(scope, source, found), ("user", "plugin", "armed")]


def test_an_untrusted_copy_takes_no_place_from_a_trusted_one_of_another_file(project):
    project.write_settings("project", make_settings(GUARD))
    project.trust()
    project.write_settings("local", make_settings(GUARD))
    found = project.dispatch()
    assert (found["decision"], [run["scope"] for run in found["runs"]], len(list_skipped(found))) == (
        "block",
        ["project"],
        1,
    )


def test_a_more_patient_copy_of_a_project_does_not_replace_the_user_s_guard(project, monkeypatch):
    monkeypatch.setenv("API_TOKEN", "t0ken")
    line = 'test -n "$API_TOKEN" && exit 2; exit 0'
    project.write_settings("user", make_settings(line, timeout=5))
    project.write_settings("project", make_settings(line, timeout=500))
    project.trust()
    found = project.dispatch()
    assert ([run["scope"] for run in found["runs"]], found["decision"]) == (["user"], "block")


@pytest.mark.parametrize("named", [False, True])
def test_a_grant_by_name_is_for_a_project_s_entry_only_if_it_names_the_project(project, monkeypatch, named):
    monkeypatch.setenv("MY_TOKEN", "t0ken")
    project.write_settings("project", make_settings('echo "<$MY_TOKEN>" >&2; exit 2'))
    project.trust()
    [(name, _, _)] = list_runs(project.dispatch())
    line = f"project = {json.dumps(str(project.path))}\n" if named else ""
    project.write_hooks_toml("user", OVERRIDE.format(name) + line)
    assert project.dispatch()["reasons"] == ["<t0ken>" if named else "<>"]
