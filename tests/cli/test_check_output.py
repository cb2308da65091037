"""What `check` prints: for people, as JSON and as annotations, and what it says if there is nothing to check."""

from __future__ import annotations

import json

import pytest


def _check(project, *words):
    done = project.run("check", "--json", *words)
    return done.returncode, json.loads(done.stdout)


def test_json_distinguishes_no_hooks_from_hooks_without_mistakes(project):
    nothing = {"version": 1, "ok": True, "hooks": 0, "agents": [], "waiting": [], "diagnostics": []}
    assert _check(project) == (0, nothing)
    assert _check(project, "--strict") == (1, {**nothing, "ok": False})
    project.write_hook("guard", fields={"trigger": "post-tool-call"})
    assert _check(project, "--strict") == (0, {**nothing, "hooks": 1})


def test_json_counts_the_hooks_at_a_path(project):
    for name in ("one", "two"):
        folder = project.write_hook(name, scope="project", fields={"trigger": "post-tool-call"})
    paths = {str(folder): 1, str(folder / "HOOK.md"): 1, str(folder.parent): 2, str(project.path): 2}
    assert {path: _check(project, path)[1]["hooks"] for path in paths} == paths
    # A file without hooks is nothing that is missing.
    toml = project.write_hooks_toml("project", "")
    assert _check(project, "--strict", str(toml)) == (0, {**_check(project, str(toml))[1], "hooks": 0, "ok": True})


def test_the_formats_print_the_same(project):
    project.write_hook("guard", scope="project", fields={"trigger": "pre-tool-cal"})
    assert project.run("check", "--json").stdout == project.run("check", "--format", "json").stdout
    assert project.run("check").stdout == project.run("check", "--format", "text").stdout


def test_annotations_have_a_path_in_the_repository_a_line_and_the_fix(project):
    project.write_hook("guard", scope="project", fields={"trigger": "pre-tool-cal"})
    done = project.run("check", "--format", "github")
    place = "file=.agents/hooks/guard/HOOK.md,line=4,title=boathook"
    message = "unknown event 'pre-tool-cal' (did you mean 'pre-tool-call'?)%0Afix: write 'pre-tool-call'"
    assert (done.returncode, done.stdout) == (1, f"::error {place}::{message}\n")


def test_no_text_of_a_file_begins_another_annotation(project):
    """Whoever sends a change chooses these texts, and a workflow does what such lines say."""
    name = "a%0A\\n::set-env name=X::y,line=9\\r\\x1b[2J"
    manifest = f'---\nname: guard\ndescription: x\ntrigger: post-tool-call\n"{name}": 1\n---\n'
    project.write_hook("guard", scope="project", manifest=manifest)
    lines = project.run("check", "--format", "github").stdout.splitlines()
    assert lines
    assert all(line.startswith(("::warning file=", "::error file=")) for line in lines)
    assert not any(char in line for line in lines for char in "\x1b\r"), lines


def test_annotations_report_that_there_are_no_hooks(project):
    done = project.run("check", "--strict", "--format", "github")
    assert (done.returncode, done.stdout) == (
        1,
        "::warning title=boathook::There are no hooks here: nothing to check.\n",
    )


@pytest.mark.parametrize("place", [".agents/hook", ".agent/hooks", ".claude/hooks"])
def test_hooks_in_a_folder_of_a_similar_name_are_found_at_the_path_of_a_project(project, place):
    folder = project.write_hook("guard", scope="project")
    (project.path / place).parent.mkdir(parents=True, exist_ok=True)
    folder.parent.rename(project.path / place)
    code, found = _check(project, "--strict", ".")
    (one,) = found["diagnostics"]
    assert (code, one["level"]) == (1, "warning")
    assert "read" in one["message"]
    assert one["fix"].startswith("mv " if place == ".agents/hook" else "mkdir -p ")


def test_a_path_that_does_not_exist_is_named(project):
    done = project.run("check", "nothing-here")
    assert (done.returncode, done.stderr) == (1, f"boathook: {project.path}/nothing-here does not exist\n")


def test_the_agents_that_call_boathook_are_taken_into_account(project):
    assert project.run("install", "windsurf", "--yes").returncode == 0
    project.write_hook("early", fields={"trigger": "pre-session"})
    project.write_hook("shell", fields={"trigger": "post-tool-call"})
    code, found = _check(project, "--strict")
    assert (code, found["agents"]) == (1, ["windsurf"])
    (one,) = [one for one in found["diagnostics"] if one["level"] == "warning"]
    assert one["message"].startswith("Windsurf never asks hook 'early'")
    assert project.run("install", "claude", "--yes").returncode == 0
    code, found = _check(project, "--strict")
    # Claude Code asks it, so that Windsurf does not is only noted.
    levels = {one["key"]: one["level"] for one in found["diagnostics"]}
    assert (code, found["agents"], {*levels.values()}) == (0, ["windsurf", "claude"], {"note"})
    assert "host windsurf" in levels


def test_sarif_has_for_each_finding_its_level_its_place_and_the_fix(project):
    project.write_hook("guard", scope="project", fields={"trigger": "pre-tool-cal"})
    odd = project.write_hook("two words", scope="project", fields={"trigger": "post-tool-call"})
    (odd / "scripts/run.sh").chmod(0o644)
    done = project.run("check", "--format", "sarif")
    log = json.loads(done.stdout)
    (run,) = log["runs"]
    assert (done.returncode, log["version"], run["tool"]["driver"]["name"]) == (1, "2.1.0", "boathook")
    places = [one["locations"][0]["physicalLocation"] for one in run["results"]]
    uris = {place["artifactLocation"]["uri"] for place in places}
    assert {".agents/hooks/guard/HOOK.md", ".agents/hooks/two%20words/scripts/run.sh"} <= uris
    assert all(place["region"]["startLine"] >= 1 for place in places)
    assert {one["level"] for one in run["results"]} == {"error", "warning"}
    first = next(one for one in run["results"] if one["level"] == "error" and "pre-tool-cal" in one["message"]["text"])
    message = "unknown event 'pre-tool-cal' (did you mean 'pre-tool-call'?)\nfix: write 'pre-tool-call'"
    assert (first["message"]["text"], first["ruleId"]) == (message, run["tool"]["driver"]["rules"][0]["id"])


def test_sarif_reports_that_there_are_no_hooks_and_hides_no_character(project):
    done = project.run("check", "--strict", "--format", "sarif")
    (result,) = json.loads(done.stdout)["runs"][0]["results"]
    assert (done.returncode, result["message"]["text"]) == (1, "There are no hooks here: nothing to check.")
    project.write_hook("guard", scope="project", manifest='---\nname: guard\n"\\e[2J\\u200b": 1\n---\n')
    assert project.run("check", "--format", "sarif").stdout.isascii()
